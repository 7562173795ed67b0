"""The loop that deals rows, or groups of rows, out to folds, label by label."""

from heapq import heapify, heappop, heappush

import numpy as np

from thresholds._arrays.types import Ints
from thresholds._kernels._jit import kernel


@kernel
def _neediest(placed: Ints, size: Ints, first: int) -> int:
    """Return the fold with the least placed, then of the smallest size, then the first from `first` on."""
    best = first
    for step in range(1, size.size):
        k = (first + step) % size.size
        if placed[k] < placed[best] or (placed[k] == placed[best] and size[k] < size[best]):
            best = k
    return best


@kernel
def deal_out(
    label_starts: Ints,
    units: Ints,
    unit_starts: Ints,
    labels: Ints,
    counts: Ints,
    sizes: Ints,
    first: Ints,
    order: Ints,
    n_folds: int,
) -> Ints:
    """Return the fold of each unit, by iterative stratification.

    Label j is true in `units[label_starts[j]:label_starts[j + 1]]`, in the order in which they are dealt out; unit u
    has `labels[unit_starts[u]:unit_starts[u + 1]]`, each `counts` times, and `sizes[u]` rows. Ties between folds go
    to the first from `first[u]` on; units without labels come last, in `order`.
    """
    n_labels = label_starts.size - 1
    fold = np.full(sizes.size, -1, np.int64)  # of each unit
    placed = np.zeros((n_labels, n_folds), np.int64)  # positives of each label in each fold
    size = np.zeros(n_folds, np.int64)  # rows in each fold
    left = np.zeros(n_labels, np.int64)  # positives of each label that are not dealt out
    for i in range(labels.size):
        left[labels[i]] += counts[i]

    # The label with the fewest left is dealt out next. A heap finds it, so that the work grows with the number of
    # positives, not with its product with the number of labels.
    heap = [(left[j], np.int64(j)) for j in range(n_labels)]
    heapify(heap)
    while len(heap) > 0:
        rest, j = heappop(heap)
        if rest == 0 or rest != left[j]:
            continue  # All dealt out, or an older entry of the label.
        for at in range(label_starts[j], label_starts[j + 1]):
            u = units[at]
            if fold[u] >= 0:
                continue
            # To the fold that needs the label most; all other labels of the unit go along.
            k = _neediest(placed[j], size, first[u])
            fold[u] = k
            size[k] += sizes[u]
            for i in range(unit_starts[u], unit_starts[u + 1]):
                other = labels[i]
                placed[other, k] += counts[i]
                left[other] -= counts[i]
                if other != j and left[other] > 0:
                    heappush(heap, (left[other], other))

    # Units without labels even out the sizes.
    for u in order:
        if fold[u] < 0:
            fold[u] = _neediest(size, size, first[u])
            size[fold[u]] += sizes[u]
    return fold
