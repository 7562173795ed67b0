"""Whatever holds values as a NumPy array: lists, frames, tensors, scikit-learn's lists of probabilities."""

from typing import Any

import numpy as np

from thresholds._arrays.libraries import is_lazy
from thresholds._arrays.sparse import is_sparse
from thresholds._arrays.types import Dense
from thresholds._checks.cells import numbers_of_objects
from thresholds._checks.frames import is_reader, read_frame, refuse_lazy
from thresholds._checks.tensors import from_tensor, without_bfloat16
from thresholds._checks.unknown import Unknown, filled, has_nan, hint, lists_labels, without_absent
from thresholds.errors import InputError


def plain(value: object, name: str, unknown: Unknown = ()) -> Dense:
    """Return an array of whatever dtype, without masked cells; strings in lists stay as they are, objects.

    Where `unknown` has NaN, that stands where there is no value: in cells that are masked, None, or missing in pandas'
    way.
    """
    if type(value) is np.ndarray and value.dtype.isbuiltin == 1 and not unknown:
        return value  # as most are: neither frame nor tensor, nothing masked
    if has_nan(unknown):
        value = filled(value)
    frame = read_frame(value, name, unknown)
    value = value if frame is None else frame.cells
    is_list = isinstance(value, list | tuple)
    items: Any = value if is_list else [value]
    if any(map(_has_masked, items)):
        advice = hint(name, None, unknown)
        if name == "y_score":
            advice = ": use -inf for a label that must not be predicted"
        raise InputError(f"{name} has masked cells, expected none{advice}")
    for item in filter(is_lazy, items):
        refuse_lazy(item, name)
    try:
        array = without_bfloat16(np.asarray(from_tensor(value, name)))
        if array.dtype.kind == "U" and is_list:
            array = np.asarray(value, object)
    except InputError:
        raise
    except Exception as error:  # Whatever a foreign object's conversion raises.
        is_of_lists = is_list and any(map(lists_labels, items))
        raise InputError(
            f"{name} cannot be read as an array ({' '.join(str(error).split())})"
            f"{hint(name, items, unknown) if is_of_lists else ''}"
        ) from None
    return without_absent(array) if has_nan(unknown) else array


def is_vector(value: Any, name: str = "y_score") -> bool:
    """Whether values have one dimension: an array or tensor, a column of a frame, or a list of numbers."""
    # PyArrow's frames have no `ndim`.
    if is_sparse(value) or hasattr(type(value), "columns") or is_reader(value):
        return False
    if isinstance(value, list | tuple):
        first = value[0] if value else []
        return getattr(first, "ndim", 1 if hasattr(first, "__len__") else 0) == 0
    ndim = getattr(value, "ndim", None)
    return (ndim if isinstance(ndim, int) else plain(value, name).ndim) == 1


def _has_masked(value: object) -> bool:
    """Whether an array has masked cells."""
    return isinstance(value, np.ma.MaskedArray) and bool(np.ma.getmaskarray(value).any())


def numbers(value: object, name: str, unknown: Unknown = ()) -> Dense:
    """Return an array of real numbers without masked cells."""
    array = plain(value, name, unknown)
    if array.dtype.kind == "O":
        array = numbers_of_objects(array, name, unknown)
    if array.dtype.kind not in "biuf":
        advice = (
            hint(name, array.flat[0], unknown) if array.dtype.kind == "U" and array.size else ""
        )
        raise InputError(f"{name} has dtype {array.dtype}, expected real numbers{advice}")
    return array


def stacked(value: Any, name: str) -> Any:
    """Return a list of arrays, one for each label, as one matrix; else what was given.

    Of (n_samples, 2) the second columns, as scikit-learn's forests, trees and neighbours give probabilities; of
    (n_samples, 1) the only ones, as a network gives that has a head for each label.
    """
    if not isinstance(value, list | tuple) or not value:
        return value
    if any(len(getattr(item, "shape", ())) != 2 for item in value):
        return value
    arrays = [item.toarray() if is_sparse(item) else plain(item, name) for item in value]
    widths = {array.shape[1] for array in arrays}
    if len({len(array) for array in arrays}) > 1 or not widths <= {1, 2}:
        raise InputError(
            f"{name} is a list of arrays of shapes {arrays[0].shape} to {arrays[-1].shape}, expected (n_samples, 2),"
            " or (n_samples, 1), one for each label; batches of rows need to be joined"
        )
    # A label of one class in training has the probability 1 of it in every row.
    are_certain = [array.shape[1] == 1 and bool((array == 1).all()) for array in arrays]
    if widths == {2} or (widths == {1} and not all(are_certain)):
        return np.stack([array[:, -1] for array in arrays], axis=1)
    expected = "say which by thresholds.sklearn.stack_scores(y_score, classes, n_labels)"
    single = [label for label, array in enumerate(arrays) if array.shape[1] == 1]
    if all(are_certain[label] for label in single):
        raise InputError(
            f"{name} has 1 column for label {single[0]}, which had one class in training, expected 2:"
            f" {expected}"
        )
    raise InputError(
        f"{name} has 1 column for label {single[0]} and 2 for others, expected as many for each: {expected}"
    )
