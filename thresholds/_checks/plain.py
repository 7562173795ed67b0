"""Whatever holds values as a NumPy array: lists, frames, tensors, scikit-learn's lists of probabilities."""

from numbers import Integral, Real
from typing import Any

import numpy as np

from thresholds._arrays.sparse import is_sparse
from thresholds._arrays.types import Dense
from thresholds._checks.frames import read_frame
from thresholds._checks.tensors import from_tensor, without_bfloat16
from thresholds.errors import InputError, shown

LARGEST_EXACT_INTEGER = 2**53


def plain(value: object, name: str) -> Dense:
    """Return an array of whatever dtype, without masked cells; strings in lists stay as they are, objects."""
    frame = read_frame(value, name)
    value = value if frame is None else frame.cells
    is_list = isinstance(value, list | tuple)
    parts: Any = value if is_list else [value]
    if any(map(_has_masked, parts)):
        hint = ": use -inf for a label that must not be predicted" if name == "y_score" else ""
        raise InputError(f"{name} has masked cells, expected none{hint}")
    try:
        array = without_bfloat16(np.asarray(from_tensor(value, name)))
        return np.asarray(value, object) if array.dtype.kind == "U" and is_list else array
    except InputError:
        raise
    except Exception as error:  # Whatever a foreign object's conversion raises.
        raise InputError(
            f"{name} cannot be read as an array ({' '.join(str(error).split())})"
        ) from None


def _has_masked(part: object) -> bool:
    """Whether an array has masked cells."""
    return isinstance(part, np.ma.MaskedArray) and bool(np.ma.getmaskarray(part).any())


def _plain_numbers(array: Dense, name: str) -> Dense:
    """Turn an object array of numbers into float64."""
    for cell in array.flat:
        if not isinstance(cell, Real | np.bool_):
            raise InputError(
                f"{name} has {shown(cell)} of type {type(cell).__name__}, expected real numbers"
            )
        if isinstance(cell, Integral) and abs(int(cell)) > LARGEST_EXACT_INTEGER:
            raise InputError(
                f"{name} has the integer {shown(cell)}, expected at most 2**53 in absolute value"
            )
    try:
        return array.astype(np.float64)
    except (OverflowError, TypeError, ValueError) as error:
        raise InputError(f"{name} has a number that is no float64 ({error})") from None


def numbers(value: object, name: str) -> Dense:
    """Return an array of real numbers without masked cells."""
    array = plain(value, name)
    if array.dtype.kind == "O":
        array = _plain_numbers(array, name)
    if array.dtype.kind not in "biuf":
        raise InputError(f"{name} has dtype {array.dtype}, expected real numbers")
    return array


def stacked(value: Any, name: str) -> Any:
    """Return a list of (n_samples, 2), one for each label, as one matrix of the second columns; else what was given.

    Such are the probabilities of scikit-learn's forests, trees and neighbours.
    """
    if (
        not isinstance(value, list | tuple)
        or not value
        or any(len(getattr(part, "shape", ())) != 2 for part in value)
    ):
        return value
    parts = [part.toarray() if is_sparse(part) else plain(part, name) for part in value]
    if len({len(part) for part in parts}) > 1 or any(part.shape[1] > 2 for part in parts):
        raise InputError(
            f"{name} is a list of arrays of shapes {parts[0].shape} to {parts[-1].shape}, expected (n_samples, 2), one"
            " for each label; batches of rows need to be joined"
        )
    for label, part in enumerate(parts):
        if part.shape[1] != 2:
            raise InputError(
                f"{name} has {part.shape[1]} column for label {label}, which had one class in training, expected 2: say"
                " which by thresholds.sklearn.stack_scores(y_score, classes, n_labels)"
            )
    return np.stack([part[:, 1] for part in parts], axis=1)
