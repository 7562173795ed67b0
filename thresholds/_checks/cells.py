"""Which cell is bad, in words: "NaN at row 3, label 'cat'"; and objects as numbers, or which of them is none."""

from collections.abc import Callable, Sequence
from numbers import Integral
from typing import Any

import numpy as np

from thresholds._arrays.blocks import row_blocks
from thresholds._arrays.sparse import is_sparse
from thresholds._arrays.types import Dense, Matrix
from thresholds._checks.options import LARGEST_EXACT_INTEGER, is_number
from thresholds._checks.unknown import Unknown, hint, lists_labels
from thresholds.errors import InputError, shown


def first_bad_cell(
    array: Matrix,
    is_bad: Callable[[Dense], Dense],
    label_names: Sequence[str] | None = None,
    *,
    first_row: int = 0,
    signed: bool = False,
) -> str:
    """Say what the first bad cell is, row by row, and where; there must be one.

    `first_row` is the number of the array's first row, in a file that is read block by block. `signed` writes +inf
    with its sign, where -inf is a good one.
    """
    row, column = _first(array, is_bad)
    return bad_cell(array[row, column], first_row + row, column, label_names, signed=signed)


def first_value(array: Matrix, is_bad: Callable[[Dense], Dense]) -> Any:
    """Return the first bad cell, row by row; there must be one."""
    return array[_first(array, is_bad)]


def bad_cell(
    cell: Any,
    row: int,
    column: int,
    label_names: Sequence[str] | None = None,
    *,
    signed: bool = False,
) -> str:
    """Say what a cell is, and where."""
    if cell != cell:
        word = "NaN"
    elif signed and cell == np.inf:
        word = "+inf"
    else:
        word = str(cell)
    return f"{word} at row {row}, {label_at(column, label_names)}"


def label_at(column: int, label_names: Sequence[str] | None = None) -> str:
    """Say which label a column is, by its name if it has one."""
    if label_names is None or column >= len(label_names):
        return f"label {column}"
    return f"label {shown(label_names[column])}"


def _first(array: Matrix, is_bad: Callable[[Dense], Dense]) -> tuple[int, int]:
    """Return row and column of the first bad cell, row by row."""
    if is_sparse(array):
        entry = int(np.flatnonzero(is_bad(array.data))[0])
        row = int(np.searchsorted(array.indptr, entry, side="right")) - 1
        return row, int(array.indices[entry])
    for block in row_blocks(*array.shape):
        places = np.argwhere(is_bad(array[block]))
        if len(places):
            return block.start + int(places[0, 0]), int(places[0, 1])
    raise AssertionError("no bad cell")


def numbers_of_objects(
    array: Dense, name: str, unknown: Unknown = (), columns: Sequence[str] | None = None
) -> Dense:
    """Return an object array of numbers as float64; refuse any other object, an id perhaps, of a frame with its place.

    `unknown` is what stands for truth that is not known, `columns` are the names of a frame's.
    """
    for number, cell in enumerate(array.flat):
        if not is_number(cell):
            at = ""
            if columns is not None:
                row, column = divmod(number, len(columns))
                at = f" at row {row}, column {shown(columns[column])}"
            advice = hint(name, cell, unknown) if array.ndim or lists_labels(cell) else ""
            raise InputError(
                f"{name} has {shown(cell)} of type {type(cell).__name__}{at}, expected real numbers{advice}"
            )
        if isinstance(cell, Integral) and abs(int(cell)) > LARGEST_EXACT_INTEGER:
            raise InputError(
                f"{name} has the integer {shown(cell)}, expected at most 2**53 in absolute value"
            )
    try:
        return array.astype(np.float64)
    except (OverflowError, TypeError, ValueError) as error:
        raise InputError(f"{name} has a number that is no float64 ({error})") from None
