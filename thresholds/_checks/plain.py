"""Whatever holds values as a NumPy array: lists, frames, tensors, scikit-learn's lists of probabilities."""

from numbers import Integral, Real
from typing import Any

import numpy as np

from thresholds._arrays.libraries import is_lazy
from thresholds._arrays.sparse import is_sparse
from thresholds._arrays.types import Dense
from thresholds._checks.frames import read_frame, refuse_lazy
from thresholds._checks.options import LARGEST_EXACT_INTEGER
from thresholds._checks.tensors import from_tensor, without_bfloat16
from thresholds._checks.unknown import Unknown, filled, has_nan, hint, without_absent
from thresholds.errors import InputError, shown


def plain(value: object, name: str, unknown: Unknown = ()) -> Dense:
    """Return an array of whatever dtype, without masked cells; strings in lists stay as they are, objects.

    Where `unknown` has NaN, that stands where there is no value: in cells that are masked, None, or missing in pandas'
    way.
    """
    if type(value) is np.ndarray and value.dtype.isbuiltin == 1 and not unknown:
        return value  # as most are: neither frame nor tensor, nothing masked
    if has_nan(unknown):
        return without_absent(_plain(filled(value), name, unknown))
    return _plain(value, name, unknown)


def _plain(value: object, name: str, unknown: Unknown) -> Dense:
    """Return an array of whatever dtype, without masked cells."""
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
        return np.asarray(value, object) if array.dtype.kind == "U" and is_list else array
    except InputError:
        raise
    except Exception as error:  # Whatever a foreign object's conversion raises.
        raise InputError(
            f"{name} cannot be read as an array ({' '.join(str(error).split())})"
        ) from None


def is_vector(value: Any, name: str = "y_score") -> bool:
    """Whether values have one dimension: an array or tensor, a column of a frame, or a list of numbers."""
    if is_sparse(value) or hasattr(type(value), "columns"):  # PyArrow's frames have no `ndim`.
        return False
    if isinstance(value, list | tuple):
        first = value[0] if value else []
        return getattr(first, "ndim", 1 if hasattr(first, "__len__") else 0) == 0
    ndim = getattr(value, "ndim", None)
    return (ndim if isinstance(ndim, int) else plain(value, name).ndim) == 1


def _has_masked(value: object) -> bool:
    """Whether an array has masked cells."""
    return isinstance(value, np.ma.MaskedArray) and bool(np.ma.getmaskarray(value).any())


def _plain_numbers(array: Dense, name: str, unknown: Unknown) -> Dense:
    """Turn an object array of numbers into float64."""
    for cell in array.flat:
        if not isinstance(cell, Real | np.bool_):
            advice = hint(name, None, unknown) if array.ndim and not isinstance(cell, str) else ""
            raise InputError(
                f"{name} has {shown(cell)} of type {type(cell).__name__}, expected real numbers{advice}"
            )
        if isinstance(cell, Integral) and abs(int(cell)) > LARGEST_EXACT_INTEGER:
            raise InputError(
                f"{name} has the integer {shown(cell)}, expected at most 2**53 in absolute value"
            )
    try:
        return array.astype(np.float64)
    except (OverflowError, TypeError, ValueError) as error:
        raise InputError(f"{name} has a number that is no float64 ({error})") from None


def numbers(value: object, name: str, unknown: Unknown = ()) -> Dense:
    """Return an array of real numbers without masked cells."""
    array = plain(value, name, unknown)
    if array.dtype.kind == "O":
        array = _plain_numbers(array, name, unknown)
    if array.dtype.kind not in "biuf":
        raise InputError(f"{name} has dtype {array.dtype}, expected real numbers")
    return array


def stacked(value: Any, name: str) -> Any:
    """Return a list of (n_samples, 2), one for each label, as one matrix of the second columns; else what was given.

    Such are the probabilities of scikit-learn's forests, trees and neighbours.
    """
    if not isinstance(value, list | tuple) or not value:
        return value
    if any(len(getattr(item, "shape", ())) != 2 for item in value):
        return value
    arrays = [item.toarray() if is_sparse(item) else plain(item, name) for item in value]
    has_one_length = len({len(array) for array in arrays}) == 1
    if not has_one_length or any(array.shape[1] > 2 for array in arrays):
        raise InputError(
            f"{name} is a list of arrays of shapes {arrays[0].shape} to {arrays[-1].shape}, expected (n_samples, 2),"
            " one for each label; batches of rows need to be joined"
        )
    for label, array in enumerate(arrays):
        if array.shape[1] != 2:
            raise InputError(
                f"{name} has {array.shape[1]} column for label {label}, which had one class in training, expected 2:"
                " say which by thresholds.sklearn.stack_scores(y_score, classes, n_labels)"
            )
    return np.stack([array[:, 1] for array in arrays], axis=1)
