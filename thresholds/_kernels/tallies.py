"""Loops over items by label and rising key: adding those of equal key, counting them at candidates, joining two lists.

`data/tallies.py` says what they are for.
"""

import itertools

import numpy as np

from thresholds._arrays.grouped import group_of, sums_of_groups
from thresholds._arrays.types import Ints, Keys, SmallInts, Weights
from thresholds._kernels._jit import kernel

# Highest keys, positive weights and weights of runs and candidates, by turns.
Written = tuple[Keys, Ints, Ints]


def add_equal_keys(
    starts: Ints, up: Keys, row: SmallInts, positive_weights: Weights, weights: Ints
) -> tuple[Ints, Keys, Ints, Ints]:
    """Add up items of equal key, which rise in `up`: offsets, keys, positive weights and weights of groups.

    `row` is where each item was in its label; without `weights` each weighs 1. Items without weight are left out.
    """
    order = np.arange(up.size)
    if row.size > 0:
        order = row + starts[group_of(starts)]
    weights = np.ones(up.size, np.int64) if weights.size == 0 else weights[order]
    positive_weights = positive_weights[order]

    # Where each group of equal keys begins.
    is_first = np.append(True, up[1:] != up[:-1])[: up.size]
    is_first[starts[:-1][np.diff(starts) > 0]] = True
    firsts = np.flatnonzero(is_first)
    bounds = np.append(firsts, up.size)
    weight = sums_of_groups(bounds, weights)
    hits = sums_of_groups(bounds, positive_weights)
    is_kept = weight > 0
    offsets = np.append(0, is_kept.cumsum())[firsts.searchsorted(starts)]
    return offsets, up[firsts[is_kept]], hits[is_kept], weight[is_kept]


def count_between(
    starts: Ints,
    up: Keys,
    positive_weights: Ints,
    weights: Ints,
    candidate_starts: Ints,
    candidates: Keys,
    written: Written,
) -> None:
    """Count items, whose keys rise in each label, at each candidate and in the runs between two."""
    highest, hits, sums = written
    for j, (first, last) in enumerate(itertools.pairwise(starts.tolist())):
        own = candidates[candidate_starts[j] : candidate_starts[j + 1]]
        items = 2 * candidate_starts[j] + j
        highest[items + 1 : items + 2 * own.size : 2] = own
        # What lies below a candidate is in the run before it.
        below = own.searchsorted(up[first:last])
        is_candidate = np.append(own, up.dtype.type(0))[below] == up[first:last]
        is_candidate &= below < own.size
        place = items + 2 * below + is_candidate
        np.add.at(hits, place, positive_weights[first:last])
        np.add.at(sums, place, weights[first:last])
        # Of equal places the last is the highest key.
        highest[place] = up[first:last]


@kernel
def add_lists(
    starts: Ints,
    keys: Keys,
    positive_weights: Ints,
    weights: Ints,
    other_starts: Ints,
    other_keys: Keys,
    other_positive_weights: Ints,
    other_weights: Ints,
) -> tuple[Ints, Keys, Ints, Ints]:
    """Return the keys of two lists of each label, which rise, each once, and add up what weighs there.

    Returns offsets, keys, positive weights and weights. All weights may be left empty, and are then.
    """
    size = keys.size + other_keys.size
    n_weights = size if weights.size + other_weights.size > 0 else 0
    offsets = np.zeros(starts.size, np.int64)
    key = np.empty(size, keys.dtype)
    hits, sums = np.zeros(n_weights, np.int64), np.zeros(n_weights, np.int64)
    n = np.int64(0)
    for j in range(starts.size - 1):
        a, b = starts[j], other_starts[j]
        last, other_last = starts[j + 1], other_starts[j + 1]
        while a < last or b < other_last:
            # From one list, or from both if they have the same key.
            from_other = b < other_last and (a == last or other_keys[b] <= keys[a])
            from_first = a < last and (not from_other or other_keys[b] == keys[a])
            key[n] = keys[a] if from_first else other_keys[b]
            if n_weights > 0:
                if from_first:
                    hits[n] += positive_weights[a]
                    sums[n] += weights[a]
                if from_other:
                    hits[n] += other_positive_weights[b]
                    sums[n] += other_weights[b]
            a += np.int64(from_first)
            b += np.int64(from_other)
            n += np.int64(1)
        offsets[j + 1] = n
    # Copies, as views would keep all of the room alive; empty weights stay empty.
    return offsets, key[:n].copy(), hits[:n].copy(), sums[:n].copy()
