"""Cells whose truth is not known: leaving them out of decisions and of sums.

Wherever truth, decisions and scores are counted, such a cell counts for nothing: its row is left out of its label, and
its label out of its row.
"""

from typing import Any

import numpy as np

from thresholds._arrays.blocks import by_cells
from thresholds._arrays.matrices import coordinates
from thresholds._arrays.sparse import is_sparse, row_of_entries, to_dense
from thresholds._arrays.types import Booleans, Ints, Matrix, Numbers

UNKNOWN = -1  # what truth that is handed on has in cells that are not known
_CELLS_PER_PIECE = 2**20


def coded(truth: Matrix, unknown: Matrix | None) -> Matrix:
    """Return truth as int8 with `UNKNOWN` in the cells that are not known, as fits take it; both dense, or CSR."""
    cells = truth.astype(np.int8)
    if unknown is None:
        return cells
    if is_sparse(cells):
        return cells + UNKNOWN * unknown.astype(np.int8)
    return np.where(unknown, np.int8(UNKNOWN), cells)


def blanked(matrix: Matrix, unknown: Matrix | None) -> Matrix:
    """Return a 0/1 matrix with 0 in the cells that are not known."""
    if unknown is None:
        return matrix
    if is_sparse(matrix):
        return without_entries(matrix, unknown)
    if is_sparse(unknown):
        cells = np.array(matrix)
        cells[row_of_entries(unknown), unknown.indices] = 0
        return cells
    return np.where(unknown, matrix.dtype.type(0), matrix)


def without_entries(matrix: Any, unknown: Matrix) -> Any:
    """Return a CSR or CSC array without the stored entries of cells that are not known."""
    known = ~are_among(matrix, unknown)
    if known.all():
        return matrix
    starts = np.append(0, np.cumsum(known))[matrix.indptr].astype(matrix.indptr.dtype)
    parts = (matrix.data[known], matrix.indices[known], starts)
    return type(matrix)(parts, shape=matrix.shape)


def are_among(matrix: Any, cells: Matrix) -> Booleans:
    """Tell which stored entries of a CSR or CSC array are cells that another matrix marks, (n_stored,)."""
    group, place = coordinates(matrix)
    if not is_sparse(cells):
        rows, columns = (group, place) if matrix.format == "csr" else (place, group)
        return np.asarray(cells[rows, columns] != 0)

    # Both as cell numbers, which rise.
    cells = cells.asformat(matrix.format)
    cells.sort_indices()
    length = matrix.shape[1] if matrix.format == "csr" else matrix.shape[0]
    other_group, other_place = coordinates(cells)
    other = other_group * length + other_place  # (n_marked,)
    if not other.size:
        return np.zeros(place.size, np.bool_)
    cell = group * length + place  # (n_stored,)
    at = np.minimum(np.searchsorted(other, cell), other.size - 1)
    return np.asarray(other[at] == cell)


def unknown_along(unknown: Matrix, axis: int) -> Ints:
    """Count the unknown cells of each column (axis 0) or row (axis 1)."""
    return np.asarray(unknown.sum(axis=axis, dtype=np.int64)).reshape(-1)


def known_weights(unknown: Matrix, weights: Numbers | None) -> Numbers:
    """Add up the weights of the rows in which each label is known, (n_labels,); without weights, count them.

    Floats are added one by one, as if the other rows were not there.
    """
    n_samples, n_labels = unknown.shape
    if weights is None:
        return np.asarray(n_samples - unknown_along(unknown, 0))
    if weights.dtype.kind in "iu":
        if is_sparse(unknown):
            lost = unknown.T.astype(np.int64) @ weights  # (n_labels,)
        else:
            lost = np.einsum("ij,i->j", unknown, weights, dtype=np.int64)
        return np.asarray(weights.sum() - lost)
    by_label = unknown.tocsc() if is_sparse(unknown) else unknown
    sums = np.zeros(n_labels)
    for labels in by_cells(n_labels, n_samples * n_labels, _CELLS_PER_PIECE):
        left_out = to_dense(by_label[:, labels])  # (n_samples, n_labels of the piece)
        sums[labels] = np.where(left_out, 0.0, weights[:, np.newaxis]).cumsum(axis=0)[-1]
    return sums
