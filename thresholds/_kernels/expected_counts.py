"""Loops that add up probabilities: expected true positives, predictions and positives of labels.

Each adds to the sums in the order of the rows, so that dense and sparse matrices, and cuts and the
decisions they lead to, give the same bits.
"""

import numpy as np

from thresholds._arrays.types import Bytes, Dense, Floats
from thresholds._kernels._jit import kernel


@kernel
def add_rows(
    p: Dense,
    weights: Floats,
    low: Floats,
    tp: Floats,
    predicted: Floats,
    positives: Floats,
    least: Floats,
) -> None:
    """Add dense rows, predicted where p >= low.

    `least` is the lowest p predicted in a row with weight.
    """
    for i in range(p.shape[0]):
        weight = weights[i]
        if weight == 0:
            continue
        # All labels of a row at once, without a branch: vectorised, hardly slower than reading.
        for j in range(p.shape[1]):
            x = p[i, j]
            weighted = weight * x
            is_predicted = x >= low[j]
            positives[j] += weighted
            tp[j] += weighted if is_predicted else 0.0
            predicted[j] += weight if is_predicted else 0.0
            least[j] = min(least[j], x if is_predicted else np.inf)


@kernel
def add_sparse_rows(
    starts: Dense,
    labels: Dense,
    p: Dense,
    weights: Floats,
    low: Floats,
    tp: Floats,
    predicted: Floats,
    positives: Floats,
    least: Floats,
) -> None:
    """Add the stored entries of CSR rows, predicted where p >= low; `least` as in `add_rows`."""
    for i in range(weights.size):
        for k in range(starts[i], starts[i + 1]):
            j = labels[k]
            weighted = weights[i] * p[k]
            positives[j] += weighted
            if p[k] >= low[j] and weights[i] > 0:
                tp[j] += weighted
                predicted[j] += weights[i]
                least[j] = min(least[j], p[k])


@kernel
def add_decisions(
    p: Dense,
    decided: Bytes,
    weights: Floats,
    tp: Floats,
    predicted: Floats,
    positives: Floats,
) -> None:
    """Add dense rows, predicted as decided."""
    for i in range(p.shape[0]):
        weight = weights[i]
        # Without a branch, as above.
        for j in range(p.shape[1]):
            weighted = weight * p[i, j]
            is_predicted = decided[i, j] != 0
            positives[j] += weighted
            tp[j] += weighted if is_predicted else 0.0
            predicted[j] += weight if is_predicted else 0.0


@kernel
def add_sparse_decisions(
    starts: Dense,
    labels: Dense,
    p: Dense,
    decided_starts: Dense,
    decided_labels: Dense,
    weights: Floats,
    tp: Floats,
    predicted: Floats,
    positives: Floats,
) -> None:
    """Add CSR rows, predicted as CSR rows of decisions say."""
    # The last row that each label was predicted in, so that no row is searched.
    last_row = np.full(tp.size, -1, np.int64)
    for i in range(weights.size):
        for k in range(decided_starts[i], decided_starts[i + 1]):
            last_row[decided_labels[k]] = i
            predicted[decided_labels[k]] += weights[i]
        for k in range(starts[i], starts[i + 1]):
            weighted = weights[i] * p[k]
            positives[labels[k]] += weighted
            if last_row[labels[k]] == i:
                tp[labels[k]] += weighted
