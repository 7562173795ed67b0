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
def count_ranks(scores: npt.NDArray[np.float64], truth: Cells, weights: Ints, n_true: Ints, counts: Ints) -> None:
    """Add the weight of every positive to `counts[n_true[i], rank]`, its rank in the row from 0.

    The rank is counted, not sorted for: rows have few positives. Equal scores rank by column.
    """
    for i in range(truth.shape[0]):
        for j in range(truth.shape[1]):
            if truth[i, j]:
                rank = 0
                for other in range(j):
                    rank += scores[i, other] >= scores[i, j]
                for other in range(j + 1, truth.shape[1]):
                    rank += scores[i, other] > scores[i, j]
                counts[n_true[i], rank] += weights[i]
