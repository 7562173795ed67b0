"""Sparse matrices and dense ones, seen alike."""

from typing import Any

import numpy as np

from thresholds._arrays.libraries import imported
from thresholds._arrays.types import Places


def is_sparse(value: object) -> bool:
    """Whether `value` is a scipy.sparse matrix or array, without importing SciPy."""
    sparse = imported("scipy.sparse")
    return sparse is not None and bool(sparse.issparse(value))


def to_dense(matrix: Any) -> Any:
    """Return a small matrix as a dense array."""
    return matrix.toarray() if is_sparse(matrix) else matrix


def transposed(matrix: Any) -> Any:
    """Return columns as rows: a view of a dense matrix, a CSR array of a sparse one."""
    return matrix.T.tocsr() if is_sparse(matrix) else matrix.T


def row_of_entries(array: Any) -> Places:
    """Return the row of each stored entry of a CSR array."""
    return np.repeat(np.arange(array.shape[0]), np.diff(array.indptr))
