"""Sparse matrices and dense ones, seen alike."""

from typing import Any

import numpy as np

from thresholds._arrays.libraries import imported
from thresholds._arrays.types import Ints, Matrix, Places


def is_sparse(value: object) -> bool:
    """Whether `value` is a scipy.sparse matrix or array, without importing SciPy."""
    if type(value) is np.ndarray:  # asked thousands of times
        return False
    sparse = imported("scipy.sparse")
    return sparse is not None and bool(sparse.issparse(value))


def to_dense(matrix: Any) -> Any:
    """Return a small matrix as a dense array."""
    return matrix.toarray() if is_sparse(matrix) else matrix


def stored_cells(matrix: Any) -> Any:
    """Return the cells that a matrix stores: of a sparse one a vector, of a dense one all of them, as they lie."""
    return matrix.data if is_sparse(matrix) else matrix


def with_cells(matrix: Any, cells: Any) -> Any:
    """Return a matrix with other cells in place of those that it stores."""
    if not is_sparse(matrix):
        return cells
    return type(matrix)((cells, matrix.indices, matrix.indptr), shape=matrix.shape)


def transposed(matrix: Any) -> Any:
    """Return columns as rows: a view of a dense matrix, a CSR array of a sparse one."""
    return matrix.T.tocsr() if is_sparse(matrix) else matrix.T


def entries_of_rows(array: Any) -> tuple[Ints, Ints]:
    """Return where the entries of each row of a CSR array begin, (n_rows + 1,), and their columns, (n_entries,).

    Each has one type, whatever it has in the array, as loops are compiled for each: that of most arrays for columns.
    """
    columns = np.int32 if array.shape[1] < 2**31 else np.int64
    return array.indptr.astype(np.int64, copy=False), array.indices.astype(columns, copy=False)


def row_of_entries(array: Any) -> Places:
    """Return the row of each stored entry of a CSR array."""
    return np.repeat(np.arange(array.shape[0]), np.diff(array.indptr))


def as_csr(cells: Matrix) -> Any:
    """Return a matrix of 0 and 1 as a CSR array of uint8 that stores the ones."""
    from scipy import sparse

    if is_sparse(cells):
        return sparse.csr_array(cells, dtype=np.uint8)
    # Look for the ones in all rows as if these were one: SciPy, which looks in two dimensions, takes 3 times as long.
    is_one = np.not_equal(cells, 0)
    n_rows, n_columns = is_one.shape
    place = np.flatnonzero(is_one)  # (n_ones,)
    starts = place.searchsorted(np.arange(n_rows + 1) * n_columns)  # (n_rows + 1,)
    is_small = max(n_columns, place.size) <= np.iinfo(np.int32).max
    number = np.int32 if is_small else np.int64
    column = (place % max(n_columns, 1)).astype(number)
    parts = (np.ones(place.size, np.uint8), column, starts.astype(number))
    return sparse.csr_array(parts, is_one.shape)
