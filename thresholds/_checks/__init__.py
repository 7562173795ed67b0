"""What is wrong with what I passed? Arrays and options come in as users have them, and leave checked, in one form.

A refusal is an `InputError` that names the argument, what was found and what was expected.
"""

from thresholds._checks.arrays import (
    indicator,
    label_count,
    missing,
    pair,
    probabilities,
    rising,
    same_shape,
    scores,
    thresholds,
    weights,
    weights_of_rows,
)
from thresholds._checks.classes import class_labels, class_vectors, column_labels, is_class
from thresholds._checks.frames import (
    RowOrderWarning,
    aligned,
    aligned_rows,
    like_frame,
    named,
    read_frame,
    warn_caller,
)
from thresholds._checks.labels import (
    different,
    in_order,
    listed,
    names_of_labels,
    one_name_each,
    places,
)
from thresholds._checks.options import (
    AVERAGES,
    PLACEMENTS,
    Average,
    Placement,
    a_list,
    beta,
    count,
    finite,
    inside,
    option,
    positive,
    real,
    share,
    text,
    zero_division,
)
from thresholds._checks.outcomes import draws, joint_probabilities, number_of_powers, power_sums
from thresholds._checks.plain import plain
from thresholds._checks.strict_json import read_json
from thresholds._checks.tensors import from_tensor, like_tensor
from thresholds.errors import InputError, shown

__all__ = [
    "AVERAGES",
    "PLACEMENTS",
    "Average",
    "InputError",
    "Placement",
    "RowOrderWarning",
    "a_list",
    "aligned",
    "aligned_rows",
    "beta",
    "class_labels",
    "class_vectors",
    "column_labels",
    "count",
    "different",
    "draws",
    "finite",
    "from_tensor",
    "in_order",
    "indicator",
    "inside",
    "is_class",
    "joint_probabilities",
    "label_count",
    "like_frame",
    "like_tensor",
    "listed",
    "missing",
    "named",
    "names_of_labels",
    "number_of_powers",
    "one_name_each",
    "option",
    "pair",
    "places",
    "plain",
    "positive",
    "power_sums",
    "probabilities",
    "read_frame",
    "read_json",
    "real",
    "rising",
    "same_shape",
    "scores",
    "share",
    "shown",
    "text",
    "thresholds",
    "warn_caller",
    "weights",
    "weights_of_rows",
    "zero_division",
]
