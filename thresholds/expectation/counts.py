"""Expected counts, what rules from probabilities alone read: true positives, predictions and positives of each label.

With probabilities p, decisions h and row weights w they are the sums of w p h, of w h and of w p. F-beta of expected
counts is highest for the labels with

    p >= F* / (1 + b^2),    F* the highest value, b = beta

(Lipton et al. 2013, theorem 5.1 and corollary 5.2, for any beta; docs/proofs.md). The cut is found without
sorting, as the limit of F / (1 + b^2) of what the last such cut predicts.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from thresholds import _checks
from thresholds._arrays import threads
from thresholds._arrays.blocks import in_pieces
from thresholds._arrays.dtypes import key_dtype
from thresholds._arrays.sparse import is_sparse, to_dense, transposed
from thresholds._arrays.types import Dense, Floats, Matrix, Places
from thresholds._checks import InputError
from thresholds._kernels.expected_counts import add_decisions, add_rows, add_sparse_decisions, add_sparse_rows
from thresholds.metrics.counts import ConfusionCounts

_CHUNK_CELLS = 2**22  # Enough for a thread; sums of chunks are added in order, whatever the number of threads.
_MOST_CHUNKS = 64
_BLOCK_ROWS = 4096  # whose sums are added up before they join the others
_PIECE_CELLS = 2**21
_LEAST = np.finfo(np.float64).smallest_subnormal
_STRIDES = (64, 8)  # Samples of every 64th, then every 8th row lead to a cut from which few passes are left.
_LEAST_SAMPLE = 256  # rows
_FEW = 8  # The last labels are copied out once they are fewer than a part like this.


@dataclass(frozen=True)
class Probabilities:
    """Checked probabilities and weights of rows."""

    matrix: Matrix  # (n_samples, n_labels) in [0, 1]
    weights: Floats  # (n_samples,) in multiples of `unit`
    unit: float
    chunk: int  # rows whose sums are added up by one thread
    label_names: tuple[str, ...] | None = None

    @classmethod
    def of(cls, probabilities: object, sample_weight: object = None, label_names: object = None) -> "Probabilities":
        """Check arguments and keep them together."""
        sample_weight = _checks.aligned_rows(sample_weight, "sample_weight", probabilities=probabilities)
        probabilities, names = _checks.named(probabilities, "probabilities", label_names)
        matrix = _checks.probabilities(probabilities, label_names=names)
        _checks.one_name_each(names, matrix.shape[1])
        found, unit = _checks.weights_of_rows(sample_weight, matrix.shape[0], some=False)
        if found is not None and not found.any():
            raise InputError("sample_weight is 0 for every row, expected at least one positive weight")
        weights = np.ones(matrix.shape[0]) if found is None else found.astype(np.float64)
        return cls(matrix, weights, unit, _chunk(*matrix.shape), names)

    @property
    def n_samples(self) -> int:
        """Number of rows."""
        return int(self.matrix.shape[0])

    @property
    def n_labels(self) -> int:
        """Number of columns."""
        return int(self.matrix.shape[1])

    def every(self, stride: int) -> "Probabilities":
        """Return every so many rows."""
        matrix = _copied(self.matrix[::stride])
        return Probabilities(matrix, self.weights[::stride], self.unit, _chunk(*matrix.shape))

    def of_labels(self, labels: Places) -> "Probabilities":
        """Return some labels; their sums stay the same to the last bit."""
        return replace(self, matrix=_copied(self.matrix[:, labels]))


def _chunk(n_samples: int, n_labels: int) -> int:
    """Choose a number of rows that depends on the shape alone; chunks are few where many labels make sums long."""
    wanted = min(n_samples * n_labels // _CHUNK_CELLS, _CHUNK_CELLS // n_labels, _MOST_CHUNKS)
    return -(-n_samples // max(wanted, 2))


def counts_above(p: Probabilities, cuts: Floats, n_jobs: int | None = None) -> ConfusionCounts:
    """Return the expected counts of predicting what lies at or above the cut of each label."""
    return _counts(p, _sums_above(p, cuts, n_jobs)[0])


def counts_of_rows(p: Probabilities, decided: Matrix, n_jobs: int | None = None) -> ConfusionCounts:
    """Return the expected counts of 0/1 decisions, by row, without weights."""
    rows = Probabilities(transposed(p.matrix), np.ones(p.n_labels), 1.0, _chunk(p.n_labels, p.n_samples))
    return replace(counts_of_decisions(rows, transposed(decided), n_jobs), labels=None)


def counts_of_decisions(p: Probabilities, decided: Matrix, n_jobs: int | None = None) -> ConfusionCounts:
    """Return the expected counts of 0/1 decisions, by label."""

    def add(rows: slice, sums: Floats, _: Floats) -> None:
        part, marks, weights = p.matrix[rows], decided[rows], p.weights[rows]
        if is_sparse(part) and is_sparse(marks):
            places = (part.indptr, part.indices, _loopable(part.data), marks.indptr, marks.indices)
            add_sparse_decisions(*places, weights, *sums)
        else:
            cells = _loopable(to_dense(part))
            add_decisions(cells, np.ascontiguousarray(to_dense(marks), np.uint8), weights, *sums)

    return _counts(p, _over_chunks(p, add, n_jobs)[0])


def best_cuts(
    p: Probabilities, beta: float, *, pooled: bool, n_jobs: int | None = None, progress: bool = False
) -> tuple[Floats, ConfusionCounts]:
    """Return F* / (1 + b^2) of each label, or, for each, that of their pooled counts, and what it counts; above 0."""
    cuts = np.zeros(1 if pooled else p.n_labels)
    for stride in _STRIDES:
        if p.n_samples >= _LEAST_SAMPLE * stride:
            cuts, _ = _climb(p.every(stride), cuts, beta, pooled, n_jobs)
    cuts, sums = _climb(p, cuts, beta, pooled, n_jobs, progress)
    cuts = np.broadcast_to(cuts, p.n_labels)
    sums[:, sums[2] == 0] = 0.0
    if (cuts[sums[2] > 0] == 0).any():  # F is too small for a float.
        sums, _ = _sums_above(p, np.maximum(cuts, _LEAST), n_jobs)
    return np.maximum(cuts, _LEAST), _counts(p, sums)


def _climb(
    p: Probabilities, start: Floats, beta: float, pooled: bool, n_jobs: int | None, progress: bool = False
) -> tuple[Floats, Floats]:
    """Replace each cut by F / (1 + b^2) of what it predicts, until that predicts the same; give the sums, too.

    F of any decisions is at most F*, so that from the second step on cuts lie below the optimum and only rise: Newton's
    method on a convex function (Dinkelbach 1967). Labels that are settled are left out once they are many.
    """
    low, left = start, np.arange(start.size)  # `low` is about the labels that are left, or about all of them pooled.
    cuts, counted, done = start.copy(), np.zeros((3, p.n_labels)), np.zeros(start.size, np.bool_)
    value, least = np.full(start.size, -np.inf), np.full(start.size, np.inf)
    while not done.all():
        before, lowest = value, least
        sums, least = _sums_above(p, np.broadcast_to(low, p.n_labels), n_jobs, progress)
        tp, predicted, positives = sums
        everything = p.weights.sum()
        if pooled:
            tp, predicted, positives = sums.sum(axis=1, keepdims=True)
            least, everything = least.min(keepdims=True), everything * p.n_labels
        value = np.maximum(_ratio(tp, predicted, positives, beta), _ratio(positives, everything, positives, beta))
        rising = low == before
        undone = rising & (before > lowest) & (value <= before)  # But for rounding, what went lay at the optimum.
        settled = undone | ((value <= least) & (rising | (value >= low)))
        kept = np.broadcast_to(~(done | undone), p.n_labels)
        counted[:, kept if pooled else left[kept]] = sums[:, kept]
        low = np.where(done, low, np.where(undone, lowest, np.where(rising, np.maximum(value, low), value)))
        cuts[left] = low
        done = done | settled
        if not pooled and done.size >= _FEW * np.count_nonzero(~done):
            p, left = p.of_labels(np.flatnonzero(~done)), left[~done]
            low, value, least, done = low[~done], value[~done], least[~done], done[~done]
    return cuts, counted


def _sums_above(
    p: Probabilities, low: Floats, n_jobs: int | None = None, progress: bool = False
) -> tuple[Floats, Floats]:
    """Return the expected counts of what lies at or above the cuts, (3, n_labels), and the lowest probability there."""

    def add(rows: slice, sums: Floats, least: Floats) -> None:
        part, weights = p.matrix[rows], p.weights[rows]
        if is_sparse(part):
            add_sparse_rows(
                part.indptr, part.indices, _loopable(part.data), weights, low, sums[0], sums[1], sums[2], least
            )
        else:
            add_rows(_loopable(part), weights, low, sums[0], sums[1], sums[2], least)

    return _over_chunks(p, add, n_jobs, progress)


def _over_chunks(
    p: Probabilities, add: Callable[[slice, Floats, Floats], None], n_jobs: int | None, progress: bool = False
) -> tuple[Floats, Floats]:
    """Let `add` put rows into the sums, (3, n_labels), and lower the least, on threads; give both over all rows.

    Sums are added up block by block, so that many equal terms stay precise. Dense blocks come in pieces that are small
    enough for copies.
    """
    rows_at_once = _BLOCK_ROWS if is_sparse(p.matrix) else max(1, _PIECE_CELLS // p.n_labels)

    def of_chunk(chunk: slice) -> tuple[Floats, Floats]:
        total, least = np.zeros((3, p.n_labels)), np.full(p.n_labels, np.inf)
        for block in in_pieces(chunk, _BLOCK_ROWS):
            sums = np.zeros((3, p.n_labels))
            for piece in in_pieces(block, rows_at_once):
                add(piece, sums, least)
            total += sums
        return total, least

    chunks = list(in_pieces(slice(0, p.n_samples), p.chunk))
    size = p.matrix.nnz if is_sparse(p.matrix) else p.matrix.size
    parts = threads.run(of_chunk, chunks, n_jobs=n_jobs, cells=size, progress=progress, title="probabilities")
    return np.add.reduce([total for total, _ in parts]), np.minimum.reduce([least for _, least in parts])


def _counts(p: Probabilities, sums: Floats) -> ConfusionCounts:
    """Return sums over all rows as counts."""
    return ConfusionCounts(sums, float(p.weights.sum()), p.unit, range(p.n_labels))


def _ratio(tp: Floats, predicted: Floats, positives: Floats, beta: float) -> Floats:
    """Return F / (1 + b^2) = tp / (b^2 positives + predicted); 0 where nothing is."""
    below = beta * beta * positives + predicted
    return np.asarray(tp / np.where(below > 0, below, 1.0))


def _copied(matrix: Matrix) -> Matrix:
    """Return a part in one piece of memory."""
    return matrix if is_sparse(matrix) else _loopable(matrix)


def _loopable(cells: Dense) -> Dense:
    """Return C-contiguous float32 or float64, the caller's memory where it is that."""
    return np.ascontiguousarray(cells, key_dtype(cells.dtype))
