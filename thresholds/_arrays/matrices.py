"""Parts of matrices as problems take them: some rows, columns side by side, entries of sparse ones."""

from typing import Any

import numpy as np

from thresholds._arrays.blocks import in_pieces
from thresholds._arrays.sparse import is_sparse
from thresholds._arrays.types import Dense, Ints, Matrix

_ROWS_AT_ONCE = 512  # of 16 float32 columns are transposed inside the first-level cache


class RowsOf:
    """Some rows of a dense matrix, which stands for them until they are read."""

    def __init__(self, matrix: Dense, rows: Ints) -> None:
        self.matrix = matrix
        self.rows = rows
        self.dtype = matrix.dtype
        self.shape = (rows.size, matrix.shape[1])
        self.size = rows.size * matrix.shape[1]

    def __len__(self) -> int:
        return int(self.rows.size)

    def __getitem__(self, key: Any) -> Dense:
        rows, *columns = key if isinstance(key, tuple) else (key,)
        if isinstance(rows, slice) and columns and isinstance(columns[0], np.ndarray):
            # All of these rows by all of these columns; two arrays are pairs, as in NumPy.
            return np.asarray(self.matrix[np.ix_(self.rows[rows], columns[0])])
        return np.asarray(self.matrix[(self.rows[rows], *columns)])


def stored(matrix: Matrix) -> int:
    """Return the number of cells that take room."""
    return int(matrix.nnz if is_sparse(matrix) else matrix.size)


def compressed(matrix: Matrix, form: str) -> Matrix:
    """Return a sparse matrix in that form with sorted indices, a dense one as it is."""
    if not is_sparse(matrix):
        return matrix
    matrix = matrix.asformat(form)
    matrix.sort_indices()
    return matrix


def coordinates(matrix: Matrix) -> tuple[Ints, Ints]:
    """Return group and place within the group of each stored entry."""
    group = np.repeat(np.arange(matrix.indptr.size - 1), np.diff(matrix.indptr))
    return group, matrix.indices.astype(np.int64)


def transposed(matrix: Dense, first: int, last: int, dtype: np.dtype[Any]) -> Dense:
    """Copy columns `first:last` into the rows of a new array, a block of rows at a time."""
    tile = np.empty((last - first, len(matrix)), dtype)
    for rows in in_pieces(slice(0, len(matrix)), _ROWS_AT_ONCE):
        tile[:, rows] = matrix[rows, first:last].T
    return tile
