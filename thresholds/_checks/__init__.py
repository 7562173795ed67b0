"""What is wrong with what I passed? Arrays and options come in as users have them, and leave checked, in one form.

A refusal is an `InputError` that names the argument, what was found and what was expected.
"""

from thresholds._checks.arrays import (
    FlushToZeroWarning,
    indicator,
    label_count,
    missing,
    pair,
    probabilities,
    rising,
    same_shape,
    sample_weights,
    scores,
    thresholds,
    too_heavy,
    truth,
    weights,
    weights_of_rows,
)
from thresholds._checks.frames import (
    RowOrderWarning,
    aligned,
    aligned_rows,
    kept,
    like_frame,
    named,
    places_in_row,
    warn_caller,
)
from thresholds._checks.groups import group_numbers
from thresholds._checks.labels import (
    common_places,
    different,
    in_order,
    listed,
    names_of_labels,
    one_name_each,
    place_of,
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
    counts,
    finite,
    finites,
    flag,
    inside,
    is_default,
    option,
    positive,
    real,
    reals,
    refuse_unknown,
    seed,
    share,
    text,
    zero_division,
)
from thresholds._checks.plain import is_vector, numbers, plain
from thresholds._checks.tensors import from_tensor, like_tensor
from thresholds.errors import InputError, shown
