"""The loops that deal rows, or groups of rows, out to folds, label by label."""

import numpy as np

from thresholds._arrays.types import Ints, SmallInts
from thresholds._kernels._jit import kernel


def units_by_label(unit_starts: Ints, labels: SmallInts, order: Ints) -> Ints:
    """Return the units of each label, one label after another, as `order` has them.

    Unit u has `labels[unit_starts[u]:unit_starts[u + 1]]`.
    """
    # Entries in the order of their units, then, as they come, by label.
    sizes = np.diff(unit_starts)[order]  # (n_units,)
    firsts = unit_starts[:-1][order]
    entries = np.arange(labels.size) + (firsts - (sizes.cumsum() - sizes)).repeat(sizes)
    own = labels[entries]
    if own.max(initial=0) < 2**16:
        own = own.astype(np.uint16)  # NumPy sorts numbers of 16 bits in a quarter of the time.
    by_label = own.argsort(kind="stable")
    units: Ints = order.repeat(sizes)[by_label]
    return units


@kernel
def _neediest(placed: Ints, size: Ints, first: int) -> int:
    """Return the fold with the least placed, then of the smallest size, then the first from `first` on."""
    best = k = first
    for _ in range(1, size.size):
        k += 1
        if k == size.size:
            k = 0
        if placed[k] < placed[best] or (placed[k] == placed[best] and size[k] < size[best]):
            best = k
    return best


@kernel
def _sift_up(heap: Ints, place: Ints, left: Ints, at: int) -> None:
    """Move the label at a place of the heap up to where all above it come first."""
    j = heap[at]
    while at > 0:
        parent = (at - 1) // 2
        above = heap[parent]
        if left[above] < left[j] or (left[above] == left[j] and above < j):
            break
        heap[at] = above
        place[above] = at
        at = parent
    heap[at] = j
    place[j] = at


@kernel
def _sift_down(heap: Ints, place: Ints, left: Ints, size: int, at: int) -> None:
    """Move the label at a place of the heap, of which `size` are left, down to where all below it come later."""
    j = heap[at]
    while 2 * at + 1 < size:
        child = 2 * at + 1
        if child + 1 < size:
            one, other = heap[child], heap[child + 1]
            child += left[other] < left[one] or (left[other] == left[one] and other < one)
        below = heap[child]
        if left[j] < left[below] or (left[j] == left[below] and j < below):
            break
        heap[at] = below
        place[below] = at
        at = child
    heap[at] = j
    place[j] = at


@kernel
def deal_out(
    label_starts: Ints,
    units: Ints,
    unit_starts: Ints,
    labels: SmallInts,
    counts: Ints,
    sizes: Ints,
    first: Ints,
    order: Ints,
    n_folds: int,
) -> Ints:
    """Return the fold of each unit, by iterative stratification.

    Label j is true in `units[label_starts[j]:label_starts[j + 1]]`, in the order in which they are dealt out; unit u
    has `labels[unit_starts[u]:unit_starts[u + 1]]`, each `counts` times (an empty array: once), and `sizes[u]` rows.
    Ties between folds go to the first from `first[u]` on; units without labels come last, in `order`.
    """
    n_labels = label_starts.size - 1
    fold = np.full(sizes.size, -1, np.int64)  # of each unit
    placed = np.zeros((n_labels, n_folds), np.int64)  # positives of each label in each fold
    size = np.zeros(n_folds, np.int64)  # rows in each fold
    left = np.zeros(n_labels, np.int64)  # positives of each label that are not dealt out
    for i in range(labels.size):
        left[labels[i]] += 1 if counts.size == 0 else counts[i]

    # The label with the fewest left is dealt out next, the first of several. A heap of labels knows it; the place of
    # each is kept, so that a label moves up when it has fewer left.
    heap = np.arange(n_labels)
    place = np.arange(n_labels)
    for at in range(n_labels // 2 - 1, -1, -1):
        _sift_down(heap, place, left, n_labels, at)
    for n_waiting in range(n_labels - 1, -1, -1):
        j = heap[0]
        place[j] = -1
        if n_waiting > 0:
            heap[0] = heap[n_waiting]
            _sift_down(heap, place, left, n_waiting, 0)
        if left[j] == 0:
            continue
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
                times = 1 if counts.size == 0 else counts[i]
                placed[other, k] += times
                left[other] -= times
                # Few labels move up: to see that before the call halves the time of the whole.
                at_other = place[other]
                if at_other > 0 and left[other] <= left[heap[(at_other - 1) >> 1]]:
                    _sift_up(heap, place, left, at_other)

    # Units without labels even out the sizes.
    for u in order:
        if fold[u] < 0:
            fold[u] = _neediest(size, size, first[u])
            size[fold[u]] += sizes[u]
    return fold
