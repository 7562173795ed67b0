"""Loops that add up probabilities: expected true positives, predictions and positives of each label.

Each adds to the sums in the order of the rows, so that dense and sparse matrices, and cuts and the decisions they lead
to, give the same bits.
"""

from typing import Any

import numpy as np
import numpy.typing as npt

from thresholds._arrays.types import Dense, Floats
from thresholds._kernels._jit import kernel


@kernel
def add_rows(
    p: Dense, weights: Floats, low: Floats, tp: Floats, predicted: Floats, positives: Floats, least: Floats
) -> None:
    """Add dense rows, predicted where p >= low; `least` is the lowest p predicted in a row with weight.

    All labels of a row at once, without a branch: vectorised, hardly slower than reading the matrix.
    """
    for i in range(p.shape[0]):
        weight = weights[i]
        if weight == 0:
            continue
        for j in range(p.shape[1]):
            x = p[i, j]
            part = weight * x
            kept = x >= low[j]
            positives[j] += part
            tp[j] += part if kept else 0.0
            predicted[j] += weight if kept else 0.0
            least[j] = min(least[j], x if kept else np.inf)


@kernel
def add_sparse_rows(
    starts: npt.NDArray[Any],
    labels: npt.NDArray[Any],
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
            part = weights[i] * p[k]
            positives[j] += part
            if p[k] >= low[j] and weights[i] > 0:
                tp[j] += part
                predicted[j] += weights[i]
                least[j] = min(least[j], p[k])


@kernel
def add_decisions(
    p: Dense, decided: npt.NDArray[np.uint8], weights: Floats, tp: Floats, predicted: Floats, positives: Floats
) -> None:
    """Add dense rows, predicted as decided."""
    for i in range(p.shape[0]):
        weight = weights[i]
        for j in range(p.shape[1]):
            part = weight * p[i, j]
            kept = decided[i, j] != 0
            positives[j] += part
            tp[j] += part if kept else 0.0
            predicted[j] += weight if kept else 0.0


@kernel
def add_sparse_decisions(
    starts: npt.NDArray[Any],
    labels: npt.NDArray[Any],
    p: Dense,
    decided_starts: npt.NDArray[Any],
    decided_labels: npt.NDArray[Any],
    weights: Floats,
    tp: Floats,
    predicted: Floats,
    positives: Floats,
) -> None:
    """Add CSR rows, predicted as CSR rows of decisions say; a mark for each label spares a search."""
    mark = np.full(tp.size, -1, np.int64)
    for i in range(weights.size):
        for k in range(decided_starts[i], decided_starts[i + 1]):
            mark[decided_labels[k]] = i
            predicted[decided_labels[k]] += weights[i]
        for k in range(starts[i], starts[i + 1]):
            part = weights[i] * p[k]
            positives[labels[k]] += part
            if mark[labels[k]] == i:
                tp[labels[k]] += part
