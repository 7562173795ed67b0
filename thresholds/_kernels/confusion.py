"""Loops that count true, predicted and correctly predicted labels of indicator matrices."""

import numpy as np
import numpy.typing as npt

from thresholds._kernels._jit import kernel

Ints = npt.NDArray[np.int64]
Cells = npt.NDArray[np.uint8]


@kernel
def count_by_label(truth: Cells, predicted: Cells, weights: Ints, counts: Ints) -> None:
    """Add true positives, predictions and positives of each label to `counts` (3, n_labels).

    Row by row with one accumulator a label: the inner loop is vectorised and reads memory in order.
    """
    for i in range(truth.shape[0]):
        w = weights[i]
        for j in range(truth.shape[1]):
            counts[0, j] += w * (truth[i, j] & predicted[i, j])
            counts[1, j] += w * predicted[i, j]
            counts[2, j] += w * truth[i, j]


@kernel
def count_by_sample(truth: Cells, predicted: Cells, counts: Ints) -> None:
    """Write true positives, predictions and positives of each row to `counts` (3, n_samples)."""
    for i in range(truth.shape[0]):
        for j in range(truth.shape[1]):
            counts[0, i] += truth[i, j] & predicted[i, j]
            counts[1, i] += predicted[i, j]
            counts[2, i] += truth[i, j]


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
    """Give the rank, from 0, that the score of each positive has in its row; equal scores rank by column.

    Both matrices are CSR, columns rising. Ranks are counted, not sorted for: rows have few positives.
    """
    ranks = np.zeros(true_columns.size, np.int64)
    for i in range(starts.size - 1):
        row_columns, row_scores = columns[starts[i] : starts[i + 1]], scores[starts[i] : starts[i + 1]]
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
