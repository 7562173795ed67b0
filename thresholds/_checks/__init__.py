"""The only place that refuses arrays and options: they come in as users have them, and leave checked, in one form.

A refusal is an `InputError` that names the argument, what was found and what was expected.
"""

from thresholds._checks.arrays import (
    Dense,
    Matrix,
    filled,
    indicator,
    key_dtype,
    label_count,
    missing,
    pair,
    probabilities,
    row_blocks,
    same_shape,
    scores,
    weights,
    weights_of_rows,
)
from thresholds._checks.classes import class_labels, class_vectors, column_labels, is_class
from thresholds._checks.cuts import rising, thresholds
from thresholds._checks.errors import InputError, shown
from thresholds._checks.frames import RowOrderWarning, aligned, aligned_rows, like_frame, named, read_frame
from thresholds._checks.libraries import imported
from thresholds._checks.options import (
    AVERAGES,
    PLACEMENTS,
    Average,
    Placement,
    a_list,
    beta,
    count,
    finite,
    names_of_labels,
    one_name_each,
    option,
    positive,
    real,
    share,
    text,
    zero_division,
)
from thresholds._checks.outcomes import draws, joint_probabilities, number_of_powers, power_sums
from thresholds._checks.plain import plain
from thresholds._checks.sparse import dense, is_sparse, row_of_entries, transposed
from thresholds._checks.strict_json import read_json
from thresholds._checks.tensors import from_tensor, like_tensor
from thresholds._checks.threads import on_threads, workers

__all__ = [
    "AVERAGES",
    "PLACEMENTS",
    "Average",
    "Dense",
    "InputError",
    "Matrix",
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
    "dense",
    "draws",
    "filled",
    "finite",
    "from_tensor",
    "imported",
    "indicator",
    "is_class",
    "is_sparse",
    "joint_probabilities",
    "key_dtype",
    "label_count",
    "like_frame",
    "like_tensor",
    "missing",
    "named",
    "names_of_labels",
    "number_of_powers",
    "on_threads",
    "one_name_each",
    "option",
    "pair",
    "plain",
    "positive",
    "power_sums",
    "probabilities",
    "read_frame",
    "read_json",
    "real",
    "rising",
    "row_blocks",
    "row_of_entries",
    "same_shape",
    "scores",
    "share",
    "shown",
    "text",
    "thresholds",
    "transposed",
    "weights",
    "weights_of_rows",
    "workers",
    "zero_division",
]
