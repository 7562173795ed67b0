"""At most so many of the labels that are predicted in a row: those that come first in an order."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from thresholds._arrays.types import Floats
from thresholds._devices.cells import BLOCK, row_blocks
from thresholds._devices.deciding import highest_of_rows
from thresholds._devices.namespaces import Array, Namespace, beside, best_float, dtype_name, own


def at_most(
    scores: Array,
    decided: Array,
    k: int,
    table: Sequence[Floats],
    of_shares: bool,
    *,
    block: int = BLOCK,
) -> Array:
    """Return uint8 on the device of checked scores: the k of highest priority of those that are decided for.

    Of equal ones the first labels are taken. Other arguments as in `priorities`.
    """
    xp, cells = own(scores)
    dtype, number = best_float(xp, cells)
    numbers = [beside(cells, xp, in_float(row, number)) for row in table]
    marks = []
    for rows in row_blocks(cells.shape, block):
        ranked = priorities(xp, xp.astype(cells[rows, :], dtype), numbers, of_shares)
        marks.append(first_of_rows(xp, ranked, own(decided)[1][rows, :], k))
    return xp.concat(marks, axis=0)


def first_of_rows(xp: Namespace, ranked: Array, decided: Array, k: int) -> Array:
    """Mark the k of highest priority among those of each row that are decided for, of all rows at once."""
    is_decided = decided > 0
    marks = highest_of_rows(xp, xp.where(is_decided, ranked, -np.inf), k)
    return xp.astype(is_decided & (marks > 0), xp.uint8)


def priorities(xp: Namespace, cells: Array, table: Sequence[Array], of_shares: bool) -> Array:
    """Return which cells go first, a finite number for each: the higher the earlier.

        without a table      s, the score
        with (t,)            s - t, its margin above a threshold
        with (at, level, slope, worth, even)
                             worth (p - even),    p = sigmoid(level + slope (x - at))

    x is the score, or its log odds if the table is `of_shares`. Priorities are the same in NumPy, too.

    Parameters
    ----------
    cells : (n_rows, n_labels) floats, -inf among them
    table : rows of numbers (n_labels,), on the same device and of the same dtype
    """
    largest = float(np.finfo(np.dtype(dtype_name(cells))).max)
    if not table:
        return xp.clip(cells, -largest, largest)
    if len(table) == 1:
        return xp.clip(cells - table[0], -largest, largest)
    at, level, slope, worth, even = table
    x = _log_odds(xp, cells) if of_shares else cells
    away = xp.clip(x - at, -largest, largest)  # so that no slope of 0 meets infinity
    p = 1.0 / (1.0 + xp.exp(-(level + slope * away)))
    return worth * (p - even)


def in_float(row: Floats, dtype: np.dtype[Any]) -> Floats:
    """Return numbers of labels in a dtype, infinite ones as its largest."""
    largest = np.finfo(dtype).max
    return np.clip(row, -largest, largest).astype(dtype)


def _log_odds(xp: Namespace, cells: Array) -> Array:
    """Return the log odds of shares; 0 and 1 count as the numbers next to them, and what lies beyond as 0 or 1."""
    number = np.finfo(np.dtype(dtype_name(cells)))
    shares = xp.clip(cells, float(number.tiny), 1 - float(number.epsneg))
    return xp.log(shares) - xp.log1p(-shares)
