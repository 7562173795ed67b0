"""What is read off a label's sorted scores: its staircase.

Scores are keys (`keys.py`). Those that weigh 1 each come sorted by NumPy, beside those of the positives
(`data/panels.py`). Where rows must travel with scores, both are sorted as one number.
"""

import itertools

import numpy as np

from thresholds._arrays.grouped import group_of, sums_of_groups, sums_so_far
from thresholds._arrays.types import Bytes, Ints, Keys, SmallInts

# Offsets; of each step its key, the next lower key, true and false positives, and what is higher.
Steps = tuple[Ints, Keys, Keys, Ints, Ints, Ints]


def sorted_with_rows(keys: Keys) -> tuple[Keys, SmallInts]:
    """Return keys upwards, and where each was, leaving `keys` alone."""
    if keys.itemsize == 4:
        # Both in one number: NumPy sorts these several times as fast.
        both = np.sort(
            (keys.astype(np.uint64) << np.uint64(32)) | np.arange(keys.size, dtype=np.uint64)
        )
        return (both >> np.uint64(32)).astype(np.uint32), both.astype(np.int32)
    rows = keys.argsort(kind="stable").astype(np.int32)
    return keys[rows], rows


def sorted_groups(starts: Ints, keys: Keys) -> tuple[Keys, SmallInts]:
    """Sort the keys of each group upwards, and return where each was in its group."""
    up, rows = np.empty_like(keys), np.empty(keys.size, np.int32)
    for first, last in itertools.pairwise(starts.tolist()):
        up[first:last], rows[first:last] = sorted_with_rows(keys[first:last])
    return up, rows


def listed_positives(starts: Ints, keys: Keys, truth: Bytes) -> tuple[Ints, Keys]:
    """Return the keys of each group that are positive, those of group j being `offsets[j]:offsets[j + 1]`."""
    groups = itertools.pairwise(starts.tolist())
    offsets = np.append(
        0, [np.count_nonzero(truth[own]) for own in itertools.starmap(slice, groups)]
    )
    return offsets.cumsum(), keys[truth.view(np.bool_)]


def unit_staircases(
    starts: Ints, up: Keys, true_starts: Ints, true_keys: Keys, marks: Bytes
) -> Steps:
    """Return the staircase of each group of keys from those of its positives, all sorted upwards, each counting once.

    Marks the keys that are positive, the first of equal ones.
    """
    # From the top down: where each positive lies among all keys says what is predicted.
    falling = np.empty_like(true_keys)  # (n_positives,)
    lower = np.zeros_like(true_keys)
    predicted, higher = np.empty((2, true_keys.size), np.int64)
    groups = zip(
        itertools.pairwise(starts.tolist()), itertools.pairwise(true_starts.tolist()), strict=True
    )
    for (first, last), (first_true, last_true) in groups:
        if first_true < last_true:
            own = up[first:last]
            positives = falling[first_true:last_true] = true_keys[first_true:last_true][::-1]
            at_or_above = own.searchsorted(positives, "left")
            above = own.searchsorted(positives, "right")
            predicted[first_true:last_true] = own.size - at_or_above
            higher[first_true:last_true] = own.size - above
            has_lower = at_or_above > 0
            lower[first_true:last_true][has_lower] = own[at_or_above[has_lower] - 1]
            place = (
                np.arange(positives.size)
                - positives.size
                + positives[::-1].searchsorted(positives, "right")
            )
            marks[first + at_or_above + place] = 1
    # A step is the last of equal positives of a label.
    is_last = np.append(falling[1:] != falling[:-1], True)[: falling.size]
    is_last[true_starts[1:][true_starts[1:] > 0] - 1] = True
    steps = np.flatnonzero(is_last)
    rank = 1 + np.arange(falling.size) - np.repeat(true_starts[:-1], np.diff(true_starts))
    tp = rank[steps]
    offsets = np.searchsorted(steps, true_starts)
    return offsets, falling[steps], lower[steps], tp, predicted[steps] - tp, higher[steps]


def weighted_staircases(starts: Ints, keys: Keys, positive_weights: Ints, weights: Ints) -> Steps:
    """Return the staircases of the labels whose items are `starts[j]:starts[j + 1]`.

    An item is a score with its weight and the part of the weight that is positive: a weighted or
    soft cell, or all cells absent from a sparse column at once.
    """
    n_labels = starts.size - 1
    label = group_of(starts)  # (n_items,)

    # The items of each label that weigh something, from the top down.
    down, rows = sorted_groups(starts, ~keys)
    order = rows + starts[label]
    is_kept = weights[order] > 0
    order, key, label = order[is_kept], ~down[is_kept], label[is_kept]  # (n_kept,)

    # Equal keys of a label are one run.
    is_first = np.append(True, (label[1:] != label[:-1]) | (key[1:] != key[:-1]))[: key.size]
    firsts = np.flatnonzero(is_first)  # (n_runs,)
    key, label = key[firsts], label[firsts]
    bounds = np.append(firsts, order.size)
    hits = sums_of_groups(bounds, positive_weights[order])
    sizes = sums_of_groups(bounds, weights[order])
    offsets = label.searchsorted(np.arange(n_labels + 1))
    tp, predicted = sums_so_far(offsets, hits), sums_so_far(offsets, sizes)
    lower = np.append(key[1:], key.dtype.type(0))[: key.size]
    lower[offsets[1:][np.diff(offsets) > 0] - 1] = 0

    # A run is a step if it has a positive.
    steps = np.flatnonzero(hits > 0)
    return (
        steps.searchsorted(offsets),
        key[steps],
        lower[steps],
        tp[steps],
        (predicted - tp)[steps],
        (predicted - sizes)[steps],
    )
