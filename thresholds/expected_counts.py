"""Expected counts, what rules from probabilities alone read: true positives, predictions and positives of each label.

With probabilities p, decisions h and row weights w they are the sums of w p h, of w h and of w p. F-beta of expected
counts is highest for the labels with

    p >= F* / (1 + b^2),    F* the highest value, b = beta

(Lipton et al. 2013, theorem 5.1 and corollary 5.2, for any beta; docs/architecture.md). The cut is found without
sorting, as the limit of F / (1 + b^2) of what the last such cut predicts.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from thresholds import _checks, engines
from thresholds._checks import Dense, InputError, Matrix, is_sparse
from thresholds._kernels.expected_counts import add_decisions, add_rows, add_sparse_decisions, add_sparse_rows
from thresholds.metrics.counts import ConfusionCounts

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.intp]

_CHUNK_CELLS = 2**22  # Enough for a thread; sums of chunks are added in order, whatever the number of threads.
_MOST_CHUNKS = 64
_PIECE_CELLS = 2**20  # converted at once where the loops need another dtype or layout
_STRIDES = (64, 8)  # Samples of every 64th, then every 8th row lead to a cut from which few passes are left.
_LEAST_SAMPLE = 256  # rows
_FEW = 8  # The last labels are copied out once they are fewer than a part like this.


@dataclass(frozen=True)
class Probabilities:
    """Checked probabilities and weights of rows."""

    matrix: Matrix  # (n_samples, n_labels) in [0, 1]
    weights: Floats  # (n_samples,)
    label_names: tuple[str, ...] | None = None

    @classmethod
    def of(cls, probabilities: object, sample_weight: object = None, label_names: object = None) -> "Probabilities":
        """Check arguments and keep them together."""
        names = None if label_names is None else _checks.names_of_labels(label_names)
        matrix = _checks.probabilities(probabilities, label_names=names)
        if names is not None and len(names) != matrix.shape[1]:
            raise InputError(f"label_names has {len(names)} names, expected {matrix.shape[1]}, one for each label")
        weights, _ = _checks.weights_of_rows(sample_weight, matrix.shape[0], some=False)
        if weights is not None and not weights.any():
            raise InputError("sample_weight is 0 for every row, expected at least one positive weight")
        ones = np.ones(matrix.shape[0])
        return cls(matrix, ones if weights is None else weights.astype(np.float64), names)

    @property
    def n_samples(self) -> int:
        """Number of rows."""
        return int(self.matrix.shape[0])

    @property
    def n_labels(self) -> int:
        """Number of columns."""
        return int(self.matrix.shape[1])

    def chunks(self) -> list[slice]:
        """Cut the rows into chunks that depend on the shape alone."""
        step = max(_CHUNK_CELLS // self.n_labels, -(-self.n_samples // _MOST_CHUNKS), 1)
        return [slice(row, min(row + step, self.n_samples)) for row in range(0, self.n_samples, step)]

    def every(self, stride: int) -> "Probabilities":
        """Give every so many rows."""
        return self._with(self.matrix[::stride], self.weights[::stride])

    def of_labels(self, labels: Ints) -> "Probabilities":
        """Give some labels."""
        return self._with(self.matrix[:, labels], self.weights)

    def _with(self, matrix: Matrix, weights: Floats) -> "Probabilities":
        """Give other cells."""
        return replace(self, matrix=matrix if is_sparse(matrix) else _loopable(matrix), weights=weights)


def counts_above(p: Probabilities, cuts: Floats, n_jobs: int | None = None) -> ConfusionCounts:
    """Give the expected counts of predicting what lies at or above the cut of each label."""
    sums, _ = _sums_above(p, cuts, n_jobs, progress=False)
    return ConfusionCounts(sums, float(p.weights.sum()), labels=range(p.n_labels))


def counts_of_rows(p: Probabilities, decided: Matrix, n_jobs: int | None = None) -> ConfusionCounts:
    """Give the expected counts of 0/1 decisions, by row, without weights."""
    rows = Probabilities(_transposed(p.matrix), np.ones(p.n_labels))
    return replace(counts_of_decisions(rows, _transposed(decided), n_jobs), labels=None)


def counts_of_decisions(p: Probabilities, decided: Matrix, n_jobs: int | None = None) -> ConfusionCounts:
    """Give the expected counts of 0/1 decisions, by label."""

    def add(rows: slice) -> Floats:
        sums = np.zeros((3, p.n_labels))
        if is_sparse(p.matrix) and is_sparse(decided):
            of_rows, marks = p.matrix[rows], decided[rows]
            places = (of_rows.indptr, of_rows.indices, _loopable(of_rows.data), marks.indptr, marks.indices)
            add_sparse_decisions(*places, p.weights[rows], *sums)
        else:
            for piece in _pieces(rows, p.n_labels):
                cells, marks = (_dense(matrix[piece]) for matrix in (p.matrix, decided))
                add_decisions(_loopable(cells), np.ascontiguousarray(marks, np.uint8), p.weights[piece], *sums)
        return sums

    parts = engines.run(add, p.chunks(), n_jobs=n_jobs)
    return ConfusionCounts(_added(parts), float(p.weights.sum()), labels=range(p.n_labels))


def best_cuts(
    p: Probabilities, beta: float, *, pooled: bool, n_jobs: int | None = None, progress: bool = False
) -> Floats:
    """Give F* / (1 + b^2) of each label, or, for each, that of their pooled counts; 0 where all probabilities are."""
    start = np.zeros(p.n_labels)
    for stride in _STRIDES:
        if p.n_samples >= _LEAST_SAMPLE * stride:
            start = _climb(p.every(stride), start, beta, pooled, n_jobs)
    return _climb(p, start, beta, pooled, n_jobs, progress)


def _climb(
    p: Probabilities, start: Floats, beta: float, pooled: bool, n_jobs: int | None, progress: bool = False
) -> Floats:
    """Replace each cut by F / (1 + b^2) of what it predicts, until that predicts the same.

    F of any decisions is at most F*, so that from the second step on cuts lie below the optimum and only rise: Newton's
    method on a convex function (Dinkelbach 1967). Labels that are settled are left out once they are many.
    """
    low, rising = start, False
    cuts, left = start.copy(), np.arange(p.n_labels)
    while True:
        sums, least = _sums_above(p, low, n_jobs, progress)
        if pooled:
            sums, least = sums.sum(axis=1, keepdims=True), least.min()
        everything = np.full_like(sums[2], p.weights.sum() * (p.n_labels if pooled else 1))
        ratio = np.maximum(_ratio(sums, beta), _ratio(np.stack([sums[2], everything, sums[2]]), beta))
        settled = np.broadcast_to((ratio <= least) & (rising | (ratio >= low)), left.shape)
        low, rising = np.maximum(ratio, low) if rising else ratio + np.zeros(left.size), True
        cuts[left] = low
        if settled.all():
            return cuts
        if not pooled and settled.size >= _FEW * np.count_nonzero(~settled):
            left, low, p = left[~settled], low[~settled], p.of_labels(np.flatnonzero(~settled))


def _sums_above(p: Probabilities, low: Floats, n_jobs: int | None, progress: bool) -> tuple[Floats, Floats]:
    """Give the expected counts of what lies at or above the cuts, (3, n_labels), and the lowest probability there."""

    def add(rows: slice) -> Floats:
        sums = np.zeros((4, p.n_labels))
        sums[3] = np.inf
        if is_sparse(p.matrix):
            part = p.matrix[rows]
            add_sparse_rows(part.indptr, part.indices, _loopable(part.data), p.weights[rows], low, *sums)
        else:
            for piece in _pieces(rows, p.n_labels):
                add_rows(_loopable(p.matrix[piece]), p.weights[piece], low, *sums)
        return sums

    parts = engines.run(add, p.chunks(), n_jobs=n_jobs, progress=progress, title="probabilities")
    return _added([part[:3] for part in parts]), np.min([part[3] for part in parts], axis=0)


def _added(parts: Sequence[Floats]) -> Floats:
    """Add up the sums of chunks, in order."""
    return np.add.reduce(parts)  # type: ignore[no-any-return]


def _ratio(sums: Floats, beta: float) -> Floats:
    """Give F / (1 + b^2) = tp / (b^2 positives + predicted); 0 where nothing is."""
    below = beta * beta * sums[2] + sums[1]
    return np.asarray(sums[0] / np.where(below > 0, below, 1.0))


def _transposed(matrix: Matrix) -> Matrix:
    """Give columns as rows."""
    return matrix.T.tocsr() if is_sparse(matrix) else matrix.T


def _pieces(rows: slice, n_labels: int) -> list[slice]:
    """Cut a chunk into pieces that are small enough for copies."""
    step = max(1, _PIECE_CELLS // n_labels)
    return [slice(row, min(row + step, rows.stop)) for row in range(rows.start, rows.stop, step)]


def _loopable(cells: Dense) -> Dense:
    """Give C-contiguous float32 or float64, the caller's memory where it is that."""
    return np.ascontiguousarray(cells, _checks.key_dtype(cells.dtype))


def _dense(matrix: Matrix) -> Any:
    """Give a small piece as a dense array."""
    return matrix.toarray() if is_sparse(matrix) else matrix
