"""Cutting rows, labels and ranges into pieces."""

from collections.abc import Iterator

_BLOCK_ROWS = 4096  # of 16 float32 columns are transposed inside the second-level cache
_BLOCK_CELLS = 2**22  # a few megabytes, however wide the rows are


def row_blocks(n_rows: int, cells_per_row: int) -> Iterator[slice]:
    """Return blocks of rows that are small enough for copies of them."""
    step = min(_BLOCK_ROWS, max(1, _BLOCK_CELLS // max(1, cells_per_row)))
    return (slice(row, row + step) for row in range(0, n_rows, step))
