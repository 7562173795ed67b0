"""Truth, scores and weights in the pieces that kernels take: tiles of labels, blocks of rows.

A piece holds a few columns or rows, so that a fit of one threshold for each label needs little memory beside its input.
Scores become keys (`_kernels/keys.py`) here, whatever their dtype and layout.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from thresholds import _checks
from thresholds._arrays.blocks import row_blocks
from thresholds._arrays.dtypes import key_dtype
from thresholds._arrays.sparse import is_sparse, to_dense
from thresholds._arrays.types import Dense, Ints, Matrix
from thresholds._kernels.keys import to_keys

Axis = Literal["labels", "samples"]


class Items(NamedTuple):
    """Cells by group (a label, or an instance): group g is `starts[g]:starts[g + 1]`.

    The last item of a group of a sparse matrix stands for all its absent cells.
    """

    starts: Ints  # (n_groups + 1,)
    keys: Dense  # (n_items,)
    hits: npt.NDArray[Any]  # the part of the weight that is positive
    weights: Ints


@dataclass(frozen=True)
class Problem:
    """What a rule is fitted on, checked."""

    truth: Matrix  # (n_samples, n_labels) 0/1, or degrees of truth
    scores: Matrix  # (n_samples, n_labels)
    weights: Ints | None  # (n_samples,) in multiples of `unit`
    unit: float
    measured: Any  # the weights as metrics take them: whole numbers, floats or None
    missing: float
    label_names: tuple[str, ...] | None
    soft: bool = False
    keep_sparse: bool = False  # cut sparse scores above `missing` only

    @classmethod
    def of(
        cls,
        y_true: object,
        y_score: object,
        *,
        sample_weight: object = None,
        missing: object = 0.0,
        label_names: object = None,
        soft: bool = False,
        keep_sparse: bool = False,
        n_jobs: int | None = 1,
    ) -> "Problem":
        """Check the arguments of a fit, on threads if there are many cells, and keep them together."""
        sample_weight = _checks.aligned_rows(sample_weight, "sample_weight", y_score=y_score, y_true=y_true)
        truth, scores, names = _checks.pair(y_true, y_score, label_names, soft=soft, n_jobs=n_jobs)
        if soft and sample_weight is None:
            sample_weight = np.ones(scores.shape[0])
        weights, unit = _checks.weights(sample_weight, *scores.shape, coarse=not soft)
        measured, _ = _checks.weights_of_rows(sample_weight, scores.shape[0])
        missing = _checks.missing(missing, scores.dtype)
        return cls(truth, scores, weights, unit, measured, missing, names, soft, keep_sparse and is_sparse(scores))

    @property
    def n_samples(self) -> int:
        """Number of rows."""
        return int(self.scores.shape[0])

    @property
    def n_labels(self) -> int:
        """Number of columns."""
        return int(self.scores.shape[1])

    @property
    def n_stored(self) -> int:
        """Number of scores that take room."""
        return stored(self.scores)

    @property
    def dtype(self) -> np.dtype[Any]:
        """float32 or float64: what the keys are made of."""
        return key_dtype(self.scores.dtype)

    @property
    def plain(self) -> bool:
        """Whether every cell is a dense score with unit weight: the fast path."""
        return self.weights is None and not is_sparse(self.scores)

    @property
    def exactly_weighted(self) -> bool:
        """Whether weights are whole multiples of the unit, so that sums are those of metrics."""
        return self.weights is None or np.array_equal(self.weights, self.measured)

    @cached_property
    def row_weights(self) -> Ints:
        """Sample weights, ones where none were given."""
        return np.ones(self.n_samples, np.int64) if self.weights is None else self.weights

    @cached_property
    def by_label(self) -> tuple[Matrix, Matrix]:
        """Truth and scores, the sparse ones compressed by column."""
        return _compressed(self.truth, "csc"), _compressed(self.scores, "csc")

    def prepare(self, axis: Axis) -> None:
        """Convert once what every thread will read."""
        if axis == "labels":
            _ = self.by_label

    def size(self, axis: Axis) -> int:
        """Number of groups along an axis."""
        return self.n_labels if axis == "labels" else self.n_samples

    def row_blocks(self) -> Iterator[slice]:
        """Return blocks of rows that are small enough for copies of their scores."""
        return row_blocks(self.n_samples, self.n_stored // self.n_samples)

    def rows(self, part: slice) -> tuple[Matrix, Matrix]:
        """Return truth and scores of a block of rows as CSR arrays; all dense scores are stored."""
        from scipy import sparse

        scores = self.scores[part]
        if not is_sparse(scores):
            columns = np.tile(np.arange(self.n_labels), len(scores))
            starts = np.arange(len(scores) + 1) * self.n_labels
            cells = scores.astype(np.float64).reshape(-1)
            scores = sparse.csr_array((cells, columns, starts), shape=scores.shape)
        return self._sparse_truth(self.truth[part], sparse.csr_array), scores

    def tile(self, first: int, last: int) -> tuple[Dense, npt.NDArray[np.uint8]]:
        """Return keys and truth of labels `first:last`, both (last - first, n_samples), of a plain problem."""
        keys = to_keys(_transposed(self.scores, first, last, self.dtype))
        truth = self.by_label[0]
        if is_sparse(truth):
            return keys, np.ascontiguousarray(truth[:, first:last].toarray().T, np.uint8)
        return keys, _transposed(truth, first, last, np.dtype(np.uint8))

    def cells(self, first: int, last: int) -> Items:
        """Return the items of labels `first:last`, without weights (an empty array) where all are 1."""
        if not self.plain:
            return self.items("labels", first, last)
        keys, truth = self.tile(first, last)
        starts = np.arange(last - first + 1) * self.n_samples
        return Items(starts, keys.reshape(-1), truth.reshape(-1), np.empty(0, np.int64))

    def take(self, rows: Ints) -> "Problem":
        """Return the problem of some of the rows."""
        weights, measured = (None if values is None else values[rows] for values in (self.weights, self.measured))
        return replace(self, truth=self.truth[rows], scores=self.scores[rows], weights=weights, measured=measured)

    def pooled(self) -> "Problem | None":
        """Return all cells of a plain problem as those of one label; None where that would take a copy."""
        for order, name in (("C", "c_contiguous"), ("F", "f_contiguous")):
            if all(isinstance(cells, np.ndarray) and getattr(cells.flags, name) for cells in (self.truth, self.scores)):
                truth, scores = (cells.reshape((-1, 1), order=order) for cells in (self.truth, self.scores))
                return replace(self, truth=truth, scores=scores, label_names=None)
        return None

    def view(self, rows: Ints) -> "Problem":
        """Return the plain problem of some of the rows, whose scores are copied only in pieces that are asked for."""
        return replace(self, truth=self.truth[rows], scores=_RowsOf(self.scores, rows))

    def items(self, axis: Axis, first: int, last: int) -> Items:
        """Return the items of groups `first:last`."""
        if is_sparse(self.scores):
            return self._sparse_items(axis, first, last)
        if axis == "labels":
            keys = to_keys(_transposed(self.scores, first, last, self.dtype))
            truth = to_dense(self.by_label[0][:, first:last]).T
        else:
            keys = to_keys(np.array(self.scores[first:last], self.dtype, order="C"))
            truth = to_dense(self.truth[first:last])
        by_row = self.row_weights if axis == "labels" else self._present(first, last)[:, np.newaxis]
        weights = np.broadcast_to(by_row, keys.shape)
        hits = self._hits(truth, weights)
        starts = np.arange(len(keys) + 1) * keys.shape[1]
        return Items(starts, keys.reshape(-1), hits.reshape(-1), np.ascontiguousarray(weights).reshape(-1))

    def _present(self, first: int, last: int) -> Ints:
        """Return 0 for cells of rows without weight, and for all others 1, or as many units where truth is soft."""
        weight = 1 << (60 - self.n_labels.bit_length()) if self.soft else 1
        return (self.row_weights[first:last] > 0).astype(np.int64) * weight

    def _sparse_truth(self, truth: Matrix, kind: Any) -> Matrix:
        """Return a piece of the truth as a sparse array of that kind."""
        if is_sparse(truth):
            return truth
        return kind(truth.astype(np.float64) if self.soft else truth != 0)

    def _hits(self, truth: Dense, weights: Ints) -> Ints:
        """Return the positive part of weights."""
        if self.soft:
            return np.rint(truth * weights).astype(np.int64)
        return np.where(truth != 0, weights, 0)

    def _sparse_items(self, axis: Axis, first: int, last: int) -> Items:
        """Return items from stored entries, one more per group for the absent ones."""
        if axis == "labels":
            truth, scores = (_compressed(part[:, first:last], "csc") for part in self.by_label)
        else:
            truth, scores = (_compressed(part[first:last], "csr") for part in (self.truth, self.scores))
        truth = self._sparse_truth(truth, type(scores))
        n_groups, length = scores.indptr.size - 1, self.size(_other(axis))
        group, at = _coordinates(scores)
        true_group, true_at = _coordinates(truth)
        if axis == "labels":
            per_row, row, true_row = self.row_weights, at, true_at
            total = np.full(n_groups, per_row.sum())
        else:
            per_row, row, true_row = self._present(first, last), group, true_group
            total = per_row * length
        place = np.arange(scores.nnz) + group  # Each group before this one has an item for its absent cells.
        starts = scores.indptr.astype(np.int64) + np.arange(n_groups + 1)
        absent = starts[1:] - 1
        keys = np.full(scores.nnz + n_groups, self.missing, self.dtype)
        hits, weights = np.zeros(keys.size, np.int64), np.zeros(keys.size, np.int64)
        keys[place], weights[place] = scores.data, per_row[row]
        weights[absent] = total - np.add.reduceat(np.append(weights, 0), starts[:-1])
        stored, wanted = group * length + at, true_group * length + true_at
        where = np.minimum(np.searchsorted(stored, wanted), max(stored.size - 1, 0))
        found = stored[where] == wanted if stored.size else np.zeros(wanted.size, np.bool_)
        true_weight = self._hits(truth.data, per_row[true_row])
        hits[place[where[found]]] = true_weight[found]
        np.add.at(hits, absent[true_group[~found]], true_weight[~found])
        return Items(starts, to_keys(keys), hits, weights)


class _RowsOf:
    """Some rows of a dense matrix, which stands for them until they are read."""

    def __init__(self, matrix: Dense, rows: Ints) -> None:
        self._matrix, self._rows = matrix, rows
        self.dtype, self.shape = matrix.dtype, (rows.size, matrix.shape[1])
        self.size = rows.size * matrix.shape[1]

    def __len__(self) -> int:
        return int(self._rows.size)

    def __getitem__(self, key: Any) -> Dense:
        rows, *columns = key if isinstance(key, tuple) else (key,)
        return np.asarray(self._matrix[(self._rows[rows], *columns)])


def stored(matrix: Matrix) -> int:
    """Return the number of cells that take room."""
    return int(matrix.nnz if is_sparse(matrix) else matrix.size)


def _other(axis: Axis) -> Axis:
    """Return the axis that runs within a group."""
    return "samples" if axis == "labels" else "labels"


def _compressed(matrix: Matrix, form: str) -> Matrix:
    """Return a sparse matrix in that form with sorted indices, a dense one as it is."""
    if not is_sparse(matrix):
        return matrix
    matrix = matrix.asformat(form)
    matrix.sort_indices()
    return matrix


def _coordinates(matrix: Matrix) -> tuple[Ints, Ints]:
    """Return group and place within the group of each stored entry."""
    return np.repeat(np.arange(matrix.indptr.size - 1), np.diff(matrix.indptr)), matrix.indices.astype(np.int64)


def _transposed(matrix: Dense, first: int, last: int, dtype: np.dtype[Any]) -> Dense:
    """Copy columns `first:last` into the rows of a new array, a block of rows at a time."""
    tile = np.empty((last - first, len(matrix)), dtype)
    for rows in row_blocks(len(matrix), last - first):
        tile[:, rows] = matrix[rows, first:last].T
    return tile
