"""One count of true and false positives and negatives, by label, by class or by row, that every metric reads.

Whatever the input is (dense, sparse, a vector of classes, a chunk of rows), it is counted once; the ratios of the
counts have one definition each, here, and are NaN where they are 0/0.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any, ClassVar, TypeAlias

import numpy as np

from thresholds import _checks
from thresholds._arrays.blocks import row_blocks
from thresholds._arrays.sparse import entries_of_rows, is_sparse, to_dense
from thresholds._arrays.types import Bytes, Floats, Ints, Matrix, Numbers
from thresholds._checks import InputError
from thresholds._engine.f_measure import f_of_counts
from thresholds._results.fields import record
from thresholds._results.result import Result
from thresholds._results.tables import Column, count
from thresholds._results.words import figure

Labels: TypeAlias = range | list[int] | list[str]

_MOST = 2**62  # that sums of int64 may reach


_COLUMNS = (
    Column("label", is_words=True),
    *(Column(name, name, count) for name in ("tp", "fp", "fn", "tn")),
    *(Column(name, name, figure) for name in ("precision", "recall", "f1")),
)


@record
class ConfusionCounts(Result):
    """True and false positives and negatives of each group: of each label or class, or of each row.

    Counts by label of chunks of rows add up, with `+` or `sum`, to what the rows together give. The ratios are arrays
    with one value for each group, NaN where they are 0/0; `pooled()` adds the groups up before dividing, which is
    micro-averaging.

    Attributes
    ----------
    tp, fp, fn, tn : (n_groups,) int64, or float64 sums of sample weights
    predicted, positives : (n_groups,) tp + fp and tp + fn
    labels : the columns or classes that are the groups; None for rows
    """

    _columns: ClassVar[Sequence[Column]] = _COLUMNS

    sums: Numbers  # (3, n_groups): true positives, predictions, positives
    # Of all cells of a group; (n_groups,) where groups differ, as some truth is not known.
    total: float | Numbers
    unit: float | None = None  # of whole sums that stand for weights
    labels: Labels | None = None

    @property
    def tp(self) -> Numbers:
        """True positives."""
        return self._in_weights(self.sums[0])

    @property
    def predicted(self) -> Numbers:
        """What is predicted, tp + fp."""
        return self._in_weights(self.sums[1])

    @property
    def positives(self) -> Numbers:
        """What is true, tp + fn: the support."""
        return self._in_weights(self.sums[2])

    @property
    def fp(self) -> Numbers:
        """False positives."""
        return self._in_weights(self.sums[1] - self.sums[0])

    @property
    def fn(self) -> Numbers:
        """False negatives."""
        return self._in_weights(self.sums[2] - self.sums[0])

    @property
    def tn(self) -> Numbers:
        """True negatives."""
        return self._in_weights(np.maximum(self._right() - self.sums[0], 0))

    def __add__(self, other: "ConfusionCounts") -> "ConfusionCounts":
        """Count the rows of both."""
        if not isinstance(other, ConfusionCounts):
            return NotImplemented
        if self.labels is None or other.labels is None:
            raise InputError(
                "counts to be added are by row, or taken from others, expected counts by label"
            )
        if self.labels != other.labels:
            theirs = _checks.shown(list(other.labels))
            mine = _checks.shown(list(self.labels))
            raise InputError(
                f"counts to be added are of labels {theirs}, expected {mine} as the others"
            )
        sums = self._in_weights(self.sums) + other._in_weights(other.sums)
        total = self.total * (self.unit or 1) + other.total * (other.unit or 1)
        return ConfusionCounts(sums, total, labels=self.labels)

    def __radd__(self, nothing: int) -> "ConfusionCounts":
        """Start `sum`."""
        return self if isinstance(nothing, int) and nothing == 0 else NotImplemented

    def take(self, groups: Any) -> "ConfusionCounts":
        """Return the counts of some groups."""
        total = self.total[groups] if isinstance(self.total, np.ndarray) else self.total
        return replace(self, sums=self.sums[:, groups], total=total, labels=None)

    def pooled(self) -> "ConfusionCounts":
        """Add up all groups."""
        totals = self.total.tolist() if isinstance(self.total, np.ndarray) else None
        # Python's numbers do not overflow.
        total: Any = self.total * self.sums.shape[1] if totals is None else sum(totals)
        sums = self.sums if total < _MOST else self.sums.astype(np.float64)
        return replace(self, sums=sums.sum(axis=1, keepdims=True), total=total, labels=None)

    def _freeze(self) -> None:
        """Leave the arrays as they are: counts are made wherever rows are judged, some of parts of others."""

    def _rows(self) -> dict[str, Any]:
        """Return columns, one row a group: counts, and the ratios that are read most."""
        names = range(self.sums.shape[1]) if self.labels is None else self.labels
        counts = {"tp": self.tp, "fp": self.fp, "fn": self.fn, "tn": self.tn}
        ratios = {"precision": self.precision(), "recall": self.recall(), "f1": self.f_score()}
        return {"label": list(names), **counts, **ratios}

    def precision(self) -> Floats:
        """Return tp / (tp + fp), the share of predictions that are right, in [0, 1]; 0/0 without predictions."""
        return _ratio(self.sums[0], self.sums[1])

    def recall(self) -> Floats:
        """Return tp / (tp + fn), the share of positives that are predicted, in [0, 1]; 0/0 without positives."""
        return _ratio(self.sums[0], self.sums[2])

    def f_score(self, beta: float = 1.0) -> Floats:
        """Return (1 + b^2) tp / (b^2 (tp + fn) + tp + fp), b = beta, in [0, 1].

        0/0 where tp + fp + fn = 0. It is 0, not 0/0, where precision and recall are both 0. With beta 0 it is
        precision, 0/0 without predictions.
        """
        tp, predicted, positives = self.sums
        return f_of_counts(tp, predicted, positives, _checks.beta(beta, measures=True), np.nan)

    def jaccard(self) -> Floats:
        """Return tp / (tp + fp + fn) = F1 / (2 - F1), in [0, 1]; 0/0 where tp + fp + fn = 0."""
        tp, predicted, positives = self.sums
        fp = predicted - tp
        return _ratio(tp, positives + fp)

    def accuracy(self) -> Floats:
        """Return (tp + tn) / (tp + fp + fn + tn), in [0, 1]; 0/0 without rows of positive weight."""
        return _ratio(self._right(), np.full_like(self.sums[0], self.total))

    def skill(self) -> Floats:
        """Return max(0, (accuracy - v) / (1 - v)), v that of predicting the majority class everywhere, in [0, 1].

        0/0 where the majority class is the only one.
        """
        majority = np.maximum(self.sums[2], self.total - self.sums[2])
        return _ratio(np.maximum(self._right() - majority, 0), self.total - majority)

    def _right(self) -> Numbers:
        """Return tp + tn, exactly all if nothing is wrong."""
        tp, predicted, positives = self.sums
        fp = predicted - tp
        fn = positives - tp
        return np.asarray(np.maximum(self.total - (fp + fn), 0))

    def _in_weights(self, sums: Numbers) -> Numbers:
        """Return sums as the caller weighs rows."""
        return sums if self.unit is None else sums * self.unit


def count_by_label(
    truth: Matrix, predicted: Matrix, weights: Numbers | None, before: ConfusionCounts | None = None
) -> ConfusionCounts:
    """Count checked indicator matrices label by label, in units of the weights, going on from the rows `before`."""
    from thresholds._kernels import confusion

    if is_sparse(truth) and is_sparse(predicted):
        by_label, _ = _count_sparse(truth, predicted, weights, before)
        return by_label
    n_samples, n_labels = truth.shape
    sums = _sums(n_labels, weights, before)  # (3, n_labels)
    if weights is None and _by_column(truth) and _by_column(predicted):
        # Columns are read as rows of the transposed matrices.
        for columns, true_block, predicted_block in _row_blocks(truth.T, predicted.T):
            sums[:, columns] += _by_row(true_block, predicted_block)
    else:
        for rows, true_block, predicted_block in _row_blocks(truth, predicted):
            if weights is None:
                confusion.count_by_label(true_block, predicted_block, sums)
            else:
                confusion.weigh_by_label(true_block, predicted_block, weights[rows], sums)
    return ConfusionCounts(sums, _total(n_samples, weights, before), labels=range(n_labels))


def count_by_sample(truth: Matrix, predicted: Matrix) -> ConfusionCounts:
    """Count checked indicator matrices row by row."""
    from thresholds._kernels import confusion

    if is_sparse(truth) and is_sparse(predicted):
        _, by_sample = _count_sparse(truth, predicted, None)
        return by_sample
    sums = np.zeros((3, truth.shape[0]), np.int64)
    if _by_column(truth) and _by_column(predicted):
        # Columns are read as rows of the transposed matrices.
        for _, true_block, predicted_block in _row_blocks(truth.T, predicted.T):
            confusion.count_by_label(true_block, predicted_block, sums)
    else:
        for rows, true_block, predicted_block in _row_blocks(truth, predicted):
            sums[:, rows] = _by_row(true_block, predicted_block)
    return ConfusionCounts(sums, truth.shape[1])


def count_both_ways(
    truth: Matrix, predicted: Matrix, weights: Numbers | None, before: ConfusionCounts | None = None
) -> tuple[ConfusionCounts, ConfusionCounts]:
    """Count by label and by row, sparse matrices in one go."""
    if is_sparse(truth) and is_sparse(predicted):
        return _count_sparse(truth, predicted, weights, before)
    return count_by_label(truth, predicted, weights, before), count_by_sample(truth, predicted)


def count_by_class(
    true: Ints, predicted: Ints, n_classes: int, weights: Numbers | None
) -> ConfusionCounts:
    """Count vectors of class numbers class by class, each against the rest; numbers beyond the classes are rest."""
    from thresholds._kernels import confusion

    sums = _sums(n_classes + 1, weights)  # (3, n_classes + 1), the rest last
    row_weights = np.ones(true.size, np.int64) if weights is None else weights
    confusion.count_classes(true, predicted, row_weights, sums)
    return ConfusionCounts(sums[:, :n_classes], _total(true.size, weights))


def stacked(blocks: Sequence[ConfusionCounts]) -> ConfusionCounts:
    """Join the counts of groups that follow each other, such as blocks of rows."""
    sums = np.concatenate([block.sums for block in blocks], axis=1)
    total = blocks[0].total
    if any(isinstance(block.total, np.ndarray) for block in blocks):
        sizes = [block.sums.shape[1:] for block in blocks]
        totals = zip(blocks, sizes, strict=True)
        total = np.concatenate([np.broadcast_to(block.total, size) for block, size in totals])
    return ConfusionCounts(sums, total)


def _count_sparse(
    truth: Matrix, predicted: Matrix, weights: Numbers | None, before: ConfusionCounts | None = None
) -> tuple[ConfusionCounts, ConfusionCounts]:
    """Count two CSR matrices by label and by row, reading stored entries only."""
    from thresholds._kernels import confusion

    n_samples, n_labels = truth.shape
    row_weights = np.ones(n_samples, np.int64) if weights is None else weights
    label_sums = _sums(n_labels, weights, before)  # (3, n_labels)
    row_sums = np.zeros((3, n_samples), np.int64)
    confusion.count_sparse(
        *entries_of_rows(truth),
        *entries_of_rows(predicted),
        row_weights,
        label_sums,
        row_sums,
    )
    total = _total(n_samples, weights, before)
    by_label = ConfusionCounts(label_sums, total, labels=range(n_labels))
    return by_label, ConfusionCounts(row_sums, n_labels)


def _sums(n_groups: int, weights: Numbers | None, before: ConfusionCounts | None = None) -> Numbers:
    """Return sums to add to: those before, which are changed, or zeros."""
    if before is not None:
        return before.sums
    return np.zeros((3, n_groups), np.int64 if weights is None else weights.dtype)


def _total(n_samples: int, weights: Numbers | None, before: ConfusionCounts | None = None) -> float:
    """Add up the weights one by one, as the loops do, so that a label without negatives has none."""
    start: Any = 0 if before is None else before.total
    if weights is None:
        return start + n_samples  # type: ignore[no-any-return]
    sums = np.append(weights.dtype.type(start), weights).cumsum()
    return sums[-1].item()  # type: ignore[no-any-return]


def _by_column(matrix: Matrix) -> bool:
    """Whether columns lie in one piece in memory, and rows do not."""
    return not is_sparse(matrix) and matrix.flags.f_contiguous and not matrix.flags.c_contiguous


def _row_blocks(truth: Matrix, predicted: Matrix) -> Iterator[tuple[slice, Bytes, Bytes]]:
    """Return blocks of rows of 0/1 matrices as C-contiguous uint8, without a copy where they are that already."""
    for rows in row_blocks(*truth.shape):
        yield rows, _cells(truth[rows]), _cells(predicted[rows])


def _by_row(truth: Bytes, predicted: Bytes) -> Ints:
    """Return true positives, predictions and positives of each row of a block, (3, n_rows)."""
    from thresholds._kernels import confusion

    sums = np.empty((3, len(truth)), np.int64)
    confusion.count_by_sample(truth, predicted, sums)
    return sums


def _cells(block: Matrix) -> Bytes:
    """Return a block as bytes."""
    dense = to_dense(block)
    if dense.dtype == np.bool_:
        dense = dense.view(np.uint8)
    return np.ascontiguousarray(dense, np.uint8)


def _ratio(numerator: Numbers, denominator: Numbers) -> Floats:
    """Divide; NaN for 0/0, the only case in which counts have a denominator of 0."""
    ratio = numerator / np.where(denominator == 0, np.nan, denominator)
    return np.minimum(ratio, 1.0)  # Rounding may exceed 1.
