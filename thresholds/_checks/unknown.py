"""Truth that is not known: how callers say so, and which cells it is.

A cell of `y_true` whose truth nobody knows is NaN (or None, `pandas.NA`, masked), or a number such as -1. What it is,
`unknown=` says: without it such a cell is refused, in a sentence that names the option.
"""

import math
import numbers
from typing import Any, NamedTuple

import numpy as np

from thresholds._arrays.libraries import imported
from thresholds._arrays.sparse import is_sparse
from thresholds._arrays.types import Booleans, Dense, Matrix, Numbers
from thresholds._checks.options import real
from thresholds.errors import InputError, shown

_NAN = "nan"


class Truth(NamedTuple):
    """Truth of some cells, checked."""

    cells: Matrix  # (n_samples, n_labels) 0/1, or degrees of truth; 0 where it is not known
    # (n_samples, n_labels) bool, CSR where `cells` is; None where all is known.
    unknown: Matrix | None


def unknown_value(value: object, name: str = "unknown") -> float | None:
    """Check what stands for truth that is not known: None for nothing, NaN for cells without a value, or a number."""
    if value is None:
        return None
    if isinstance(value, str) and value == _NAN:
        return math.nan
    if isinstance(value, numbers.Real) and not isinstance(value, bool | np.bool_):
        number = real(value, name)
        if math.isnan(number) or (math.isfinite(number) and number not in (0, 1)):
            return number
    raise InputError(
        f"{name} is {shown(value)}, expected 'nan', a number other than 0 and 1 (as -1), or None"
    )


def reads_absent(unknown: object) -> bool:
    """Whether cells without a value are read as NaN."""
    value = unknown_value(unknown)
    return value is not None and math.isnan(value)


def is_unknown(cells: Dense, value: float) -> Booleans:
    """Mark the cells that are not known."""
    if not math.isnan(value):
        return np.asarray(cells == value)
    return np.isnan(cells) if cells.dtype.kind == "f" else np.zeros(cells.shape, np.bool_)


def are_unknown(array: Dense, unknown: object) -> Booleans | None:
    """Mark the cells, of whatever dtype, that `unknown` says are not known; None where it says nothing."""
    value = unknown_value(unknown)
    if value is None or array.dtype.kind not in "biufO":
        return None
    if array.dtype.kind != "O":
        return is_unknown(array, value)
    if math.isnan(value):
        marked = [isinstance(cell, numbers.Real) and cell != cell for cell in array.flat]
    else:
        marked = [isinstance(cell, numbers.Real) and cell == value for cell in array.flat]
    return np.array(marked, np.bool_).reshape(array.shape)


def hint(name: str, cell: object = math.nan) -> str:
    """Say how to leave a cell of the truth out, if it may be one that is not known: no number, or a negative one."""
    if name not in ("y_true", "y"):
        return ""
    if not isinstance(cell, numbers.Real) or cell != cell:
        return "; unknown='nan' leaves cells out whose truth is not known"
    if cell < 0:
        return f"; unknown={cell:g} leaves cells out whose truth is not known"
    return ""


def divided(array: Matrix, value: float, name: str, *, some_known: bool = True) -> Truth:
    """Part a matrix into what is known, 0 elsewhere, and the cells that are not, None if there are none.

    Nothing may be known unless `some_known` has to be.
    """
    cells = array.data if is_sparse(array) else array
    if cells.dtype.kind == "b" or (math.isnan(value) and cells.dtype.kind != "f"):
        return Truth(array, None)
    unknown = is_unknown(cells, value)
    n_unknown = int(np.count_nonzero(unknown))
    if not n_unknown:
        return Truth(array, None)
    if some_known and n_unknown == math.prod(array.shape):
        raise InputError(f"{name} has no known cell, expected at least one")
    if not is_sparse(array):
        return Truth(np.where(unknown, cells.dtype.type(0), cells), unknown)
    return Truth(_entries(array, ~unknown, array.data), _entries(array, unknown, unknown))


def _entries(array: Any, wanted: Booleans, data: Dense) -> Any:
    """Return a CSR array of some of the stored entries."""
    starts = np.append(0, np.cumsum(wanted))[array.indptr].astype(array.indptr.dtype)
    return type(array)((data[wanted], array.indices[wanted], starts), shape=array.shape)


def refuse_weightless(weights: Numbers) -> None:
    """Refuse weights, of the rows that have a known cell, if all of them are 0."""
    if not weights.any():
        raise InputError(
            "sample_weight is 0 for every row with a known cell, expected at least one positive weight"
        )


def filled(value: Any) -> Any:
    """Return an array, or a list of them, with NaN for masked cells."""
    if isinstance(value, np.ma.MaskedArray):
        if value.dtype.kind not in "biufO":
            return value
        cells = value.data.astype(object if value.dtype.kind == "O" else np.float64)
        cells[np.ma.getmaskarray(value)] = np.nan
        return cells
    if isinstance(value, list | tuple) and any(isinstance(x, np.ma.MaskedArray) for x in value):
        return [filled(item) for item in value]
    return value


def without_absent(array: Dense) -> Dense:
    """Return an object array with NaN for None and for the missing values of pandas."""
    if array.dtype.kind != "O":
        return array
    pandas = imported("pandas")
    if pandas is not None:
        absent = np.asarray(pandas.isna(array))
    else:
        absent = np.array([cell is None for cell in array.flat], np.bool_).reshape(array.shape)
    return np.where(absent, np.nan, array) if absent.any() else array
