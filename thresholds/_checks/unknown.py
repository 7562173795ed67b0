"""Truth that is not known: how callers say so, and which cells it is.

A cell of `y_true` whose truth nobody knows is NaN (or None, `pandas.NA`, masked), or a number such as -1, or there are
cells of both kinds. What it is, `unknown=` says: without it such a cell is refused, in a sentence that names it.
"""

import math
import numbers
import re
from collections.abc import Iterable, Mapping, Set
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from thresholds._arrays.libraries import imported
from thresholds._arrays.sparse import is_sparse, stored_cells
from thresholds._arrays.types import Booleans, Dense, Matrix, Numbers
from thresholds._checks.options import is_number, real
from thresholds.errors import InputError, shown

# What stands for truth that is not known, checked: NaN first (for cells without a value), then numbers that rise.
# Empty where all has to be known.
Unknown: TypeAlias = tuple[float, ...]

_NAN = "nan"
_TRUTH = ("y_true", "y")
_LISTED = "; thresholds.from_label_lists makes 0 and 1 of the labels that each row lists"
_YES_OR_NO = re.compile("yes|no|y|n|true|false|t|f|ja|nein|x|positive|negative", re.IGNORECASE)


class Truth(NamedTuple):
    """Truth of some cells, checked."""

    cells: Matrix  # (n_samples, n_labels) 0/1, or degrees of truth; 0 where it is not known
    # (n_samples, n_labels) bool, CSR where `cells` is; None where all is known.
    unknown: Matrix | None


def unknown_values(value: object, name: str = "unknown") -> Unknown:
    """Check what stands for truth that is not known: "nan" for cells without a value, a number, or several of these."""
    if value is None:
        return ()
    several = value.ravel().tolist() if isinstance(value, np.ndarray) else value
    items = list(several) if isinstance(several, list | tuple | Set) else [value]
    found = {_unknown_value(item, name) for item in items}
    if not found or None in found:
        raise InputError(
            f"{name} is {shown(value)}, expected 'nan', a number other than 0 and 1 (as -1), or None; or several, as"
            " ('nan', -1)"
        )
    stands_for = {number for number in found if number is not None}
    absent = [math.nan] if any(map(math.isnan, stands_for)) else []
    return (*absent, *sorted(number for number in stands_for if number == number))


def _unknown_value(item: object, name: str) -> float | None:
    """Return a single one as a number; None for what cannot be one."""
    if isinstance(item, str):
        return math.nan if item == _NAN else None
    if not isinstance(item, numbers.Real) or isinstance(item, bool | np.bool_):
        return None
    number = real(item, name)
    return None if number in (0, 1) or math.isinf(number) else number


def said(unknown: Unknown) -> str:
    """Write what stands for truth that is not known as a caller does: 'nan', -1, or ('nan', -1)."""
    words = ["'nan'" if math.isnan(value) else repr(value).removesuffix(".0") for value in unknown]
    return words[0] if len(words) == 1 else f"({', '.join(words)})"


def has_nan(unknown: Unknown) -> bool:
    """Whether cells without a value are read as NaN."""
    return any(map(math.isnan, unknown))


def reads_absent(unknown: object) -> bool:
    """Whether cells without a value are read as NaN, as a caller says it."""
    return has_nan(unknown_values(unknown))


def is_unknown(cells: Dense, unknown: Unknown) -> Booleans:
    """Mark the cells, numbers, that are not known."""
    marked = np.zeros(cells.shape, np.bool_)
    for value in unknown:
        if not math.isnan(value):
            marked |= cells == value
        elif cells.dtype.kind == "f":
            marked |= np.isnan(cells)
    return marked


def are_unknown(array: Dense, unknown: Unknown) -> Booleans | None:
    """Mark the cells, of whatever dtype, that are not known; None where nothing can be."""
    if not unknown or array.dtype.kind not in "biufO":
        return None
    if array.dtype.kind != "O":
        return is_unknown(array, unknown)
    with_absent = has_nan(unknown)
    marked = [
        is_number(cell) and (cell in unknown or (with_absent and cell != cell))
        for cell in array.flat
    ]
    return np.array(marked, np.bool_).reshape(array.shape)


def hint(
    name: str, cell: object = math.nan, unknown: Unknown = (), *, has_zeros: bool = True
) -> str:
    """Say what to do with a cell of the truth that is neither 0 nor 1, if it tells what it means.

    One that is no number, or a negative one, may be not known: it is left out beside what `unknown` says already. One
    that names labels is what `from_label_lists` takes, and scores by label are to be columns. Where no cell
    is 0, a negative one may be what is not true.
    """
    is_of_truth = name in (*_TRUTH, "y_pred")
    if isinstance(cell, Mapping) and not is_of_truth:
        rows = name
        if {"label", "score"} <= cell.keys():
            rows = f"[{{item['label']: item['score'] for item in row}} for row in {name}]"
        return f"; pandas.DataFrame({rows}) has a column for each label"
    if not is_of_truth:
        return ""
    if lists_labels(cell):
        return _LISTED
    if isinstance(cell, str):
        if _YES_OR_NO.fullmatch(cell.strip()):
            return f"; {name} == 'yes' is true where that is the word for it"
        is_text = any(map(str.isalpha, cell))
        return f"{_LISTED} (of text: cell.split('|') for each cell)" if is_text else ""
    if name not in _TRUTH:
        return ""
    more = and_one_more(cell, unknown)
    if not more:
        return ""
    advice = f"; unknown={said(more)} leaves cells out whose truth is not known"
    word = f"{float(cell):g}" if is_number(cell) and cell == cell else "NaN"
    return advice if has_zeros else f"{advice}; {name} > 0 is the truth if {word} means not true"


def and_one_more(cell: object, unknown: Unknown) -> Unknown:
    """Return what stands for truth that is not known, and a cell that may, NaN or a negative number; else nothing."""
    value = float(cell) if is_number(cell) else math.nan
    if value >= 0 or math.isinf(value):
        return ()
    return unknown_values((*unknown, value))


def lists_labels(cell: object) -> bool:
    """Whether a cell is a list, or the like, in which the labels of a row may stand."""
    is_several = isinstance(cell, Iterable) and not isinstance(cell, str | bytes)
    return is_several and getattr(cell, "ndim", 1) == 1


def divided(array: Matrix, stands_for: Unknown, name: str, *, some_known: bool = True) -> Truth:
    """Part a matrix into what is known, 0 elsewhere, and the cells that are not, None if there are none.

    Nothing may be known unless `some_known` has to be.
    """
    cells = stored_cells(array)
    if cells.dtype.kind != "f":
        stands_for = tuple(value for value in stands_for if value == value)
    if cells.dtype.kind == "b" or not stands_for:
        return Truth(array, None)
    unknown = is_unknown(cells, stands_for)
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


def without_absent(column: Any) -> Dense:
    """Return an array, or an array of a column; of objects with NaN for None and for the missing values of pandas."""
    array = np.asarray(column)
    if array.dtype.kind != "O":
        return array
    pandas = imported("pandas")
    none = {id(None)} if pandas is None else {id(None), id(pandas.NA), id(pandas.NaT)}
    absent = np.array([id(cell) in none for cell in array.flat], np.bool_).reshape(array.shape)
    return np.where(absent, np.nan, array) if absent.any() else array
