"""Loops over items: what lies at a key of each group, and where ranks lie."""

import itertools

import numpy as np

from thresholds._arrays.grouped import sums_of_groups
from thresholds._arrays.types import Bytes, Floats, Ints, Keys, Weights
from thresholds._kernels._jit import kernel

_HIGH_BITS = 16  # of a key, which leave few cuts among which it may lie


def f_at_ratios(
    offsets: Ints,
    tp: Ints,
    predicted: Ints,
    higher: Ints,
    positives: Ints,
    most: Ints,
    ratios: Floats,
    beta_squared: float,
) -> Floats:
    """Return F-beta of each label when `ratios` times its positives are predicted, (n_labels, n_ratios).

    Ties count in equal parts. Where `ratios` ask for more than `most`, the weight of all cells of a
    label, these are predicted.
    """
    f = np.zeros((positives.size, ratios.size))
    with np.errstate(all="ignore"):
        for j, (first, last) in enumerate(itertools.pairwise(offsets.tolist())):
            if positives[j] == 0 or first == last:
                continue
            wanted = ratios * positives[j]
            rank = np.minimum(wanted, float(most[j]))  # (n_ratios,)
            # The step that holds each rank; behind the last one there are no more true positives.
            step = predicted[first:last].searchsorted(rank)
            so_far = np.append(0, tp[first:last])
            found = so_far[step].astype(np.float64)
            own = np.append(first + np.arange(last - first), first)[step]
            is_within = (step < last - first) & (rank > higher[own])
            own, before = own[is_within], so_far[step[is_within]]
            among = (tp[own] - before) * (rank[is_within] - higher[own])
            found[is_within] += among / (predicted[own] - higher[own])
            f[j] = (1.0 + beta_squared) * found / (beta_squared * positives[j] + wanted)
    return f


def keys_at_ranks(starts: Ints, keys: Keys, weights: Ints, ranks: Floats) -> Keys:
    """Return the keys at two ranks of each label, (2, n_labels); the second rank is no less."""
    found = np.zeros((2, starts.size - 1), keys.dtype)
    for j, (first, last) in enumerate(itertools.pairwise(starts.tolist())):
        falling = keys[first:last].argsort()[::-1]
        if weights.size == 0:
            places = np.ceil(ranks[:, j]).astype(np.int64) - 1
        else:
            places = weights[first:last][falling].cumsum().searchsorted(ranks[:, j])
        found[:, j] = keys[first:last][falling[places.clip(0, last - first - 1)]]
    return found


def count_at_keys(
    starts: Ints,
    keys: Keys,
    positive_weights: Weights,
    weights: Ints,
    label_keys: Keys,
) -> Ints:
    """Return weight and true positives above a key of each label, then those at it, (4, n_labels)."""
    own = label_keys.repeat(np.diff(starts))  # (n_items,)
    counts = np.empty((4, label_keys.size), np.int64)
    for row, marks in ((0, keys > own), (2, keys == own)):
        counts[row] = sums_of_groups(starts, marks if weights.size == 0 else marks * weights)
        counts[row + 1] = sums_of_groups(starts, marks * positive_weights)
    return counts


@kernel
def counts_at_cuts(
    starts: Ints,
    keys: Keys,
    positive_weights: Weights,
    weights: Ints,
    cuts: Keys,
) -> Ints:
    """Return true positives and weight of each label at or above each cut, (2, n_labels, n_cuts); cuts rise.

    NumPy's bisection takes eight times as long: every step of it is mispredicted.
    """
    # 1. How many cuts are below each value of a key's highest bits: few are left to search then.
    as_key = keys.dtype.type
    shift = as_key(8 * keys.itemsize - _HIGH_BITS)
    below = np.zeros((1 << _HIGH_BITS) + 1, np.int32)
    for k in range(cuts.size):
        below[np.int64(cuts[k] >> shift) + 1] += 1
    most = np.int32(0)
    for value in range(1, below.size):
        most = max(most, below[value])
        below[value] += below[value - 1]
    first_step = np.uint64(1)
    while 2 * first_step <= most:
        first_step *= np.uint64(2)
    # No score has the highest key: as many steps are taken for each key, beyond the last cut, too.
    padded = np.full(cuts.size + 2 * np.int64(first_step), ~as_key(0), keys.dtype)
    padded[: cuts.size] = cuts

    n_labels, one = starts.size - 1, np.uint64(1)
    counts = np.zeros((2, n_labels, cuts.size), np.int64)
    own = np.empty((cuts.size + 1, 2), np.int64)
    for j in range(n_labels):
        # 2. What has so many cuts at or below its score. Branch-free: a search would mispredict.
        own[:] = 0
        for i in range(starts[j], starts[j + 1]):
            key = keys[i]
            n = np.uint64(below[np.int64(key >> shift)])
            step = first_step
            while step > 0:
                n += step * np.uint64(padded[n + step - one] <= key)
                step >>= one
            own[n, 0] += positive_weights[i]
            own[n, 1] += 1 if weights.size == 0 else weights[i]

        # 3. What lies between two cuts becomes what lies above the lower one.
        positives_above, above = np.int64(0), np.int64(0)
        for k in range(cuts.size, 0, -1):
            positives_above += own[k, 0]
            above += own[k, 1]
            counts[0, j, k - 1], counts[1, j, k - 1] = positives_above, above
    return counts


def between_ranks(starts: Ints, up: Keys, truth: Bytes, ranks: Ints) -> tuple[Ints, Ints, Ints]:
    """Return where the keys of each sorted group lie from one rank to another, (2, n_groups), those of equal keys too.

    Returns the first place, the place after the last, and the number of positives above. It is the highest key alone
    where the first rank is beyond the group, or the second rank.
    """
    firsts, ends, n_true_above = np.zeros((3, starts.size - 1), np.int64)
    for j, (start, stop) in enumerate(itertools.pairwise(starts.tolist())):
        own = up[start:stop]
        first = max(own.size - int(ranks[1, j]), 0)
        end = min(own.size - int(ranks[0, j]) + 1, own.size)
        if first >= end:
            first, end = own.size - 1, own.size
        if own.size > 0:
            first, end = own.searchsorted(own[first]), own.searchsorted(own[end - 1], "right")
        firsts[j], ends[j] = start + first, start + end
        n_true_above[j] = np.count_nonzero(truth[start + end : stop])
    return firsts, ends, n_true_above
