"""The loops that deal rows, or groups of rows, out to folds, label by label."""

import numpy as np

from thresholds._arrays.types import Integers, Ints, SmallInts
from thresholds._kernels._jit import kernel


def labels_of_groups(
    row_starts: Ints, labels: SmallInts, rows: Ints, group_starts: Ints, n_labels: int
) -> tuple[Ints, SmallInts, SmallInts]:
    """Return where the labels of each group of rows start, these labels, and how often the group has each.

    Group g has `rows[group_starts[g]:group_starts[g + 1]]`, and row r `labels[row_starts[r]:row_starts[r + 1]]`.
    """
    starts = np.zeros_like(group_starts)
    found, times = np.empty_like(labels), np.empty_like(labels)
    place = np.full(n_labels, -1)  # in `found`, where each label came last
    write_labels_of_groups(row_starts, labels, rows, group_starts, place, starts, found, times)
    return starts, found[: starts[-1]], times[: starts[-1]]


@kernel
def write_labels_of_groups(
    row_starts: Ints,
    labels: SmallInts,
    rows: Ints,
    group_starts: Ints,
    place: Ints,
    starts: Ints,
    found: SmallInts,
    times: SmallInts,
) -> None:
    """Write the labels of each group of rows, and how often it has each, into arrays that are given."""
    n = 0
    for g in range(group_starts.size - 1):
        for at in range(group_starts[g], group_starts[g + 1]):
            row = rows[at]
            for i in range(row_starts[row], row_starts[row + 1]):
                j = labels[i]
                if place[j] < starts[g]:
                    place[j] = n
                    found[n] = j
                    times[n] = 0
                    n += 1
                times[place[j]] += 1
        starts[g + 1] = n


def units_by_label(
    unit_starts: Ints, labels: SmallInts, counts: SmallInts, order: Integers, n_labels: int
) -> tuple[Ints, Integers, SmallInts]:
    """Return where the units of each label start, these units as `order` has them, and how often each has the label.

    Unit u has `labels[unit_starts[u]:unit_starts[u + 1]]`, each `counts` times. An empty array of counts is for once;
    so is the last result.
    """
    starts = np.append(0, np.bincount(labels, minlength=n_labels).cumsum())
    units, times = np.empty(labels.size, order.dtype), np.empty_like(counts)
    places = starts[:-1].copy()  # of the next unit of each label
    write_units_by_label(unit_starts, labels, counts, order, places, units, times)
    return starts, units, times


@kernel
def write_units_by_label(
    unit_starts: Ints,
    labels: SmallInts,
    counts: SmallInts,
    order: Integers,
    places: Ints,
    units: Integers,
    times: SmallInts,
) -> None:
    """Write the units of each label at its places, and how often each has it, into arrays that are given."""
    for u in order:
        for i in range(unit_starts[u], unit_starts[u + 1]):
            at = places[labels[i]]
            places[labels[i]] += 1
            units[at] = u
            if counts.size > 0:
                times[at] = counts[i]


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
    units: Integers,
    unit_starts: Ints,
    labels: SmallInts,
    counts: SmallInts,
    sizes: Ints,
    first: SmallInts,
    order: Integers,
    n_folds: int,
) -> Ints:
    """Return the fold of each unit, by iterative stratification.

    Label j is true in `units[label_starts[j]:label_starts[j + 1]]`, in the order in which they are dealt out; unit u
    has `labels[unit_starts[u]:unit_starts[u + 1]]`, each `counts` times (an empty array: once), and `sizes[u]` rows
    (an empty array: one). Ties between folds go to the first from `first[u]` on; units without labels come last, in
    `order`.
    """
    n_labels = label_starts.size - 1
    fold = np.full(first.size, -1, np.int64)  # of each unit
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
            size[k] += 1 if sizes.size == 0 else sizes[u]
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
            k = _neediest(size, size, first[u])
            fold[u] = k
            size[k] += 1 if sizes.size == 0 else sizes[u]
    return fold
