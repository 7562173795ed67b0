"""Expected counts: true positives, predictions and positives, from probabilities alone.

With probabilities p, decisions h and row weights w they are, for each label, the sums of w p h, of
w h and of w p. F-beta of expected counts is highest for the labels with

    p >= F* / (1 + b^2),    F* the highest value, b = beta

(Lipton et al. 2013, theorem 5.1 and corollary 5.2, for any beta; docs/proofs.md). The cut is found
without sorting, as the limit of F / (1 + b^2) of what the last such cut predicts.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from thresholds import _checks
from thresholds._arrays import threads
from thresholds._arrays.blocks import ceil_div, in_pieces
from thresholds._arrays.dtypes import key_dtype, least_positive
from thresholds._arrays.sparse import entries_of_rows, is_sparse, to_dense, transposed
from thresholds._arrays.types import Dense, Floats, Matrix, Places
from thresholds._checks import InputError
from thresholds._kernels import expected_counts as kernels
from thresholds.metrics.counts import ConfusionCounts

_CHUNK_CELLS = 2**22  # enough for a thread; sums of chunks are added in order, whatever the threads
_MOST_CHUNKS = 64
_BLOCK_ROWS = 4096  # whose sums are added up before they join the others
_PIECE_CELLS = 2**21  # of dense rows, small enough for copies
_STRIDES = (64, 8)  # Every 64th, then every 8th row leads to a cut from which few passes are left.
_LEAST_SAMPLE = 256  # rows
_COPY_BELOW = 1 / 8  # of the labels: those still climbing are copied out then


@dataclass(frozen=True)
class Probabilities:
    """Checked probabilities and weights of rows."""

    matrix: Matrix  # (n_samples, n_labels) in [0, 1]
    weights: Floats  # (n_samples,) in multiples of `unit`
    unit: float
    chunk: int  # rows whose sums are added up by one thread
    label_names: tuple[str, ...] | None = None

    @classmethod
    def of(
        cls,
        probabilities: object,
        sample_weight: object = None,
        label_names: object = None,
    ) -> "Probabilities":
        """Check arguments and keep them together."""
        sample_weight = _checks.aligned_rows(
            sample_weight, "sample_weight", probabilities=probabilities
        )
        probabilities, names = _checks.named(probabilities, "probabilities", label_names)
        matrix = _checks.probabilities(probabilities, label_names=names)
        n_samples, n_labels = matrix.shape
        _checks.one_name_each(names, n_labels)
        row_weights, unit = _checks.weights_of_rows(sample_weight, n_samples, some=False)
        if row_weights is None:
            row_weights = np.ones(n_samples)
        if not row_weights.any():
            expected = "at least one positive weight"
            raise InputError(f"sample_weight is 0 for every row, expected {expected}")
        weights = row_weights.astype(np.float64)
        return cls(matrix, weights, unit, _chunk(n_samples, n_labels), names)

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
        matrix = self.matrix[::stride]
        if not is_sparse(matrix):
            matrix = loopable(matrix)
        weights = self.weights[::stride].copy()
        return Probabilities(matrix, weights, self.unit, _chunk(*matrix.shape))

    def of_labels(self, labels: Places) -> "Probabilities":
        """Return some labels; their sums stay the same to the last bit."""
        return replace(self, matrix=_columns(self.matrix, labels))


def _chunk(n_samples: int, n_labels: int) -> int:
    """Choose a number of rows that depends on the shape alone.

    Chunks are few where many labels make sums long.
    """
    n_chunks = min(n_samples * n_labels // _CHUNK_CELLS, _CHUNK_CELLS // n_labels, _MOST_CHUNKS)
    return ceil_div(n_samples, max(n_chunks, 2))


def counts_above(p: Probabilities, cuts: Floats, n_jobs: int | None = -1) -> ConfusionCounts:
    """Return the expected counts of predicting what lies at or above the cut of each label."""
    sums, _ = _sums_above(p, cuts, n_jobs)
    return _counts(p, sums)


def counts_of_rows(p: Probabilities, decided: Matrix, n_jobs: int | None = -1) -> ConfusionCounts:
    """Return the expected counts of 0/1 decisions, by row, without weights."""
    chunk = _chunk(p.n_labels, p.n_samples)
    rows = Probabilities(transposed(p.matrix), np.ones(p.n_labels), 1.0, chunk)
    return replace(counts_of_decisions(rows, transposed(decided), n_jobs), labels=None)


def counts_of_decisions(
    p: Probabilities,
    decided: Matrix,
    n_jobs: int | None = -1,
) -> ConfusionCounts:
    """Return the expected counts of 0/1 decisions, by label."""

    def add(rows: slice, sums: Floats, _: Floats) -> None:
        block = p.matrix[rows]
        marks = decided[rows]
        weights = p.weights[rows]
        tp, predicted, positives = sums
        if is_sparse(block) and is_sparse(marks):
            kernels.add_sparse_decisions(
                *entries_of_rows(block),
                loopable(block.data),
                *entries_of_rows(marks),
                weights,
                tp,
                predicted,
                positives,
            )
        else:
            cells = loopable(to_dense(block))
            dense_marks = np.ascontiguousarray(to_dense(marks), np.uint8)
            kernels.add_decisions(cells, dense_marks, weights, tp, predicted, positives)

    sums, _ = _over_chunks(p, add, n_jobs)
    return _counts(p, sums)


def best_cuts(
    p: Probabilities,
    beta: float,
    *,
    pooled: bool,
    n_jobs: int | None = -1,
    progress: bool = False,
) -> tuple[Floats, ConfusionCounts]:
    """Return F* / (1 + b^2) of each label, above 0, and what that cut counts.

    `pooled` is for the ratio of the pooled counts of all labels, the same for each.
    """
    # Samples of the rows lead to a cut near the best.
    cuts = np.zeros(1 if pooled else p.n_labels)
    for stride in _STRIDES:
        if p.n_samples >= _LEAST_SAMPLE * stride:
            cuts, _ = _climb(p.every(stride), cuts, beta, pooled, n_jobs)
    cuts, sums = _climb(p, cuts, beta, pooled, n_jobs, progress)
    cuts = np.broadcast_to(cuts, p.n_labels)

    # A label whose probabilities are all 0 is not predicted. Where F is too small for a float, the
    # smallest float is the cut: count again.
    sums[:, sums[2] == 0] = 0.0
    smallest = least_positive(np.dtype(np.float64))
    if (cuts[sums[2] > 0] == 0).any():
        sums, _ = _sums_above(p, np.maximum(cuts, smallest), n_jobs)
    return np.maximum(cuts, smallest), _counts(p, sums)


def _climb(
    p: Probabilities,
    start: Floats,
    beta: float,
    pooled: bool,
    n_jobs: int | None,
    progress: bool = False,
) -> tuple[Floats, Floats]:
    """Replace each cut by F / (1 + b^2) of what it predicts, until that predicts the same.

    Returns the cuts (n_labels,), or (1,) of pooled counts, and the sums (3, n_labels) there. F of
    any decisions is at most F*, so that from the second step on cuts lie below the optimum and only
    rise: Newton's method on a convex function (Dinkelbach 1967).
    """
    cuts = start.copy()
    counted = np.zeros((3, p.n_labels))

    # About the labels that still climb, or about all of them pooled.
    climbing = np.arange(start.size)
    low = start
    done = np.zeros(start.size, np.bool_)
    value = np.full(start.size, -np.inf)  # F / (1 + b^2) of what `low` predicts
    least = np.full(start.size, np.inf)  # the lowest probability that is predicted

    while not done.all():
        # What the cuts predict.
        before = value
        least_before = least
        sums, least = _sums_above(p, np.tile(low, p.n_labels // low.size), n_jobs, progress)
        tp, predicted, positives = sums
        n_cells = p.weights.sum()
        if pooled:
            tp, predicted, positives = sums.sum(axis=1, keepdims=True)
            least = least.min(keepdims=True)
            n_cells = n_cells * p.n_labels

        # Its value, at least that of predicting everything.
        of_cut = ratio(tp, predicted, positives, beta)
        of_everything = ratio(positives, n_cells, positives, beta)
        value = np.maximum(of_cut, of_everything)

        # A cut is settled if the next one predicts the same. But for rounding, what a step has left
        # out without gain lay at the optimum: the step is undone.
        rising = low == before
        undone = rising & (before > least_before) & (value <= before)
        settled = undone | ((value <= least) & (rising | (value >= low)))
        updated = np.broadcast_to(~(done | undone), p.n_labels)
        counted[:, updated if pooled else climbing[updated]] = sums[:, updated]

        # The next cut; one that rises never falls again.
        following = np.where(rising, np.maximum(value, low), value)
        following = np.where(undone, least_before, following)
        low = np.where(done, low, following)
        cuts[climbing] = low
        done = done | settled

        # Labels that are done are left out once they are many.
        still = ~done
        if not pooled and np.count_nonzero(still) <= _COPY_BELOW * done.size:
            p = p.of_labels(np.flatnonzero(still))
            climbing = climbing[still]
            low = low[still]
            value = value[still]
            least = least[still]
            done = done[still]
    return cuts, counted


def _sums_above(
    p: Probabilities,
    low: Floats,
    n_jobs: int | None = -1,
    progress: bool = False,
) -> tuple[Floats, Floats]:
    """Return the expected counts (3, n_labels) of what lies at or above the cuts.

    Beside them the lowest probability (n_labels,) there.
    """

    def add(rows: slice, sums: Floats, least: Floats) -> None:
        block = p.matrix[rows]
        weights = p.weights[rows]
        tp, predicted, positives = sums
        if is_sparse(block):
            kernels.add_sparse_rows(
                *entries_of_rows(block),
                loopable(block.data),
                weights,
                low,
                tp,
                predicted,
                positives,
                least,
            )
        else:
            kernels.add_rows(loopable(block), weights, low, tp, predicted, positives, least)

    return _over_chunks(p, add, n_jobs, progress)


def _over_chunks(
    p: Probabilities,
    add: Callable[[slice, Floats, Floats], None],
    n_jobs: int | None,
    progress: bool = False,
) -> tuple[Floats, Floats]:
    """Let `add` put rows into the sums (3, n_labels), and lower the least (n_labels,), on threads.

    Returns both over all rows. Sums are added up block by block, so that many equal terms stay
    precise. Dense blocks come in pieces that are small enough for copies.
    """
    rows_at_once = _BLOCK_ROWS if is_sparse(p.matrix) else max(1, _PIECE_CELLS // p.n_labels)

    def add_chunk(chunk: slice) -> tuple[Floats, Floats]:
        total = np.zeros((3, p.n_labels))
        least = np.full(p.n_labels, np.inf)
        for block in in_pieces(chunk, _BLOCK_ROWS):
            sums = np.zeros((3, p.n_labels))
            for piece in in_pieces(block, rows_at_once):
                add(piece, sums, least)
            total += sums
        return total, least

    chunks = threads.run(
        add_chunk,
        list(in_pieces(slice(0, p.n_samples), p.chunk)),
        n_jobs=n_jobs,
        cells=p.matrix.nnz if is_sparse(p.matrix) else p.matrix.size,
        progress=progress,
        title="probabilities",
    )
    total = np.add.reduce([total for total, _ in chunks])
    least = np.minimum.reduce([least for _, least in chunks])
    return total, least


def _counts(p: Probabilities, sums: Floats) -> ConfusionCounts:
    """Return sums over all rows as counts."""
    return ConfusionCounts(sums, float(p.weights.sum()), p.unit, range(p.n_labels))


def ratio(tp: Floats, predicted: Floats, positives: Floats, beta: float) -> Floats:
    """Return F / (1 + b^2) = tp / (b^2 positives + predicted); 0 where nothing is."""
    below = beta * beta * positives + predicted
    return np.asarray(tp / np.where(below > 0, below, 1.0))


def _columns(matrix: Matrix, labels: Places) -> Matrix:
    """Return some columns, dense ones row by row: NumPy's index lays them out by column, to be copied once more."""
    return matrix[:, labels] if is_sparse(matrix) else np.take(matrix, labels, axis=1)


def loopable(cells: Dense) -> Dense:
    """Return C-contiguous float32 or float64, the caller's memory where it is that."""
    return np.ascontiguousarray(cells, key_dtype(cells.dtype))
