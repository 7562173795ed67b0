"""Loops that count true positives, predictions and positives: by label, by row, by class."""

import numpy as np
import numpy.typing as npt

from thresholds._arrays.types import AnyFloats, Bytes, Dense, Ints
from thresholds._kernels._jit import kernel

_FULL = 255  # Rows that a byte can count.


def count_by_label(truth: Bytes, predicted: Bytes, counts: Ints) -> None:
    """Add true positives, predictions and positives of each label to `counts` (3, n_labels)."""
    for sums, cells in zip(counts, (truth & predicted, predicted, truth), strict=True):
        sums += count_columns(cells)


def count_columns(cells: Bytes) -> Ints:
    """Count the ones of each column of a matrix of 0 and 1 that lies in one piece, (n_columns,)."""
    # As many rows as a byte can count, each of which holds many: a sixteenth of the time of sums of 64 bits.
    n_rows, n_columns = cells.shape
    n_together = n_rows // _FULL
    first, rest = cells[: _FULL * n_together], cells[_FULL * n_together :]
    sums = first.reshape(_FULL, -1).sum(axis=0, dtype=np.uint8)
    counts: Ints = sums.reshape(n_together, n_columns).sum(axis=0, dtype=np.int64)
    counts += rest.sum(axis=0, dtype=np.int64)
    return counts


@kernel
def weigh_by_label(truth: Bytes, predicted: Bytes, weights: Ints, counts: Ints) -> None:
    """Add the weights of true positives, predictions and positives of each label to `counts` (3, n_labels).

    Row by row with one accumulator a label: the inner loop is vectorised and reads memory in order.
    """
    for i in range(truth.shape[0]):
        w = weights[i]
        for j in range(truth.shape[1]):
            counts[0, j] += w * (truth[i, j] & predicted[i, j])
            counts[1, j] += w * predicted[i, j]
            counts[2, j] += w * truth[i, j]


def count_by_sample(truth: Bytes, predicted: Bytes, counts: Ints) -> None:
    """Write true positives, predictions and positives of each row to `counts` (3, n_samples)."""
    # A product: a third of the time of sums. Floats of 32 bits count exactly up to 2^24 labels.
    dtype = np.float32 if truth.shape[1] < 2**24 else np.float64
    ones: AnyFloats = np.ones(truth.shape[1], dtype)
    # Kernels of OpenBLAS may flag an invalid operation in lanes without data; sums of 0 and 1 have none.
    with np.errstate(invalid="ignore"):
        for sums, cells in zip(counts, (truth & predicted, predicted, truth), strict=True):
            sums[:] = cells @ ones


@kernel
def count_sparse(
    true_starts: Dense,
    true_columns: Dense,
    starts: Dense,
    columns: Dense,
    weights: Ints,
    by_label: Ints,
    by_sample: Ints,
) -> None:
    """Add weights of true positives, predictions and positives by label, and write their numbers by row.

    Both matrices are CSR, all stored cells 1. A row's true columns are marked with its number and looked up: no branch
    to mispredict, a third of the time of merging two sorted rows.
    """
    # The last row, from 1, in which a column was true.
    row_of = np.zeros(by_label.shape[1], np.int64)  # (n_labels,)
    for i in range(starts.size - 1):
        w, row, both = weights[i], np.int64(i + 1), np.int64(0)
        for k in range(true_starts[i], true_starts[i + 1]):
            j = true_columns[k]
            row_of[j] = row
            by_label[2, j] += w
        for k in range(starts[i], starts[i + 1]):
            j = columns[k]
            hit = np.int64(row_of[j] == row)
            by_label[1, j] += w
            by_label[0, j] += w * hit
            both += hit
        by_sample[0, i] = both
        by_sample[1, i] = starts[i + 1] - starts[i]
        by_sample[2, i] = true_starts[i + 1] - true_starts[i]


def count_classes(true: Ints, predicted: Ints, weights: Ints, counts: Ints) -> None:
    """Add the weights of true positives, predictions and positives of each class to `counts` (3, n_classes)."""
    right = true == predicted
    np.add.at(counts[0], true[right], weights[right])
    np.add.at(counts[1], predicted, weights)
    np.add.at(counts[2], true, weights)


@kernel
def ranks_of_positives(
    true_starts: Ints,
    true_columns: Ints,
    starts: Ints,
    columns: Ints,
    scores: npt.NDArray[np.float64],
    missing: float,
    n_labels: int,
) -> Ints:
    """Return the rank, from 0, that the score of each positive has in its row; equal scores rank by column.

    Both matrices are CSR, columns rising. Ranks are counted, not sorted for: rows have few positives.
    """
    ranks = np.zeros(true_columns.size, np.int64)
    for i in range(starts.size - 1):
        row_columns, row_scores = (
            columns[starts[i] : starts[i + 1]],
            scores[starts[i] : starts[i + 1]],
        )
        for p in range(true_starts[i], true_starts[i + 1]):
            column = true_columns[p]
            before = np.searchsorted(row_columns, column)
            stored = before < row_columns.size and row_columns[before] == column
            x = row_scores[before] if stored else missing
            for k in range(before):
                ranks[p] += row_scores[k] >= x
            for k in range(before, row_scores.size):
                ranks[p] += row_scores[k] > x
            if missing > x:
                ranks[p] += n_labels - row_columns.size
            elif missing == x:
                ranks[p] += column - before
    return ranks
