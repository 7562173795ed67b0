"""The one way to cut rows, labels and ranges into pieces; the last ends where the whole does."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

_BLOCK_ROWS = 4096  # are enough for a call of NumPy
_BLOCK_CELLS = 2**22  # a few megabytes, however wide the rows are


def row_blocks(n_rows: int, cells_per_row: int) -> Iterator[slice]:
    """Return blocks of rows that are small enough for copies of them."""
    block_rows = min(_BLOCK_ROWS, max(1, _BLOCK_CELLS // max(1, cells_per_row)))
    return in_pieces(slice(0, n_rows), block_rows)


def by_cells(n_groups: int, n_cells: int, max_cells: int) -> Iterator[slice]:
    """Return pieces of groups (labels, or rows) of `n_cells` in all: `max_cells` each, or a group."""
    return in_pieces(slice(0, n_groups), max(1, max_cells * n_groups // max(1, n_cells)))


def equal_parts(whole: slice, n_parts: int) -> Iterator[slice]:
    """Return at most so many parts of a range, all of one size but the last."""
    return in_pieces(whole, max(1, ceil_div(whole.stop - whole.start, n_parts)))


def ceil_div(number: int, divisor: int) -> int:
    """Return number / divisor, rounded up: in how many pieces of a size so many things come."""
    return -(-number // divisor)


def in_pieces(whole: slice, size: int) -> Iterator[slice]:
    """Return pieces of a range, all of one size but the last."""
    starts = range(whole.start, whole.stop, size)
    return (slice(start, min(start + size, whole.stop)) for start in starts)


def bounded_parts(costs: npt.NDArray[np.number[Any]], most: float) -> Iterator[slice]:
    """Return parts of consecutive items with given costs: of `most` in all and one item more, at most."""
    if costs.size:
        number = (costs.cumsum() - costs) // most  # of the part that each item is in, (n_items,)
        ends = [*(np.flatnonzero(np.diff(number)) + 1).tolist(), costs.size]
        yield from map(slice, [0, *ends[:-1]], ends)
