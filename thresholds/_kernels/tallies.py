"""Loops over items by label and rising key: adding those of equal key, counting them at candidates, joining two lists.

`data/tallies.py` says what they are for.
"""

import numpy as np

from thresholds._arrays.types import Bytes, Halves, Ints, Keys, SmallInts, Weights
from thresholds._kernels._jit import kernel

_N_HALVES = 2**16  # patterns of float16

# Highest keys, positive weights and weights of runs and candidates, by turns.
Written = tuple[Keys, Ints, Ints]


@kernel
def add_equal_keys(
    starts: Ints, up: Keys, row: SmallInts, positive_weights: Weights, weights: Ints
) -> tuple[Ints, Keys, Ints, Ints]:
    """Add up items of equal key, which rise in `up`: offsets, keys, positive weights and weights of groups.

    `row` is where each item was in its label; without `weights` each weighs 1. Items without weight are left out.
    """
    offsets = np.zeros(starts.size, np.int64)
    key = np.empty(up.size, up.dtype)
    hits, weight = np.empty(up.size, np.int64), np.empty(up.size, np.int64)
    group = np.int64(0)
    for j in range(starts.size - 1):
        first, last = starts[j], starts[j + 1]
        i = first
        while i < last:
            x = up[i]
            hit_sum, weight_sum = np.int64(0), np.int64(0)
            while i < last and up[i] == x:
                at = first + row[i]
                hit_sum += np.int64(positive_weights[at])
                weight_sum += np.int64(1) if weights.size == 0 else weights[at]
                i += 1
            if weight_sum > 0:
                key[group], hits[group], weight[group] = x, hit_sum, weight_sum
                group += 1
        offsets[j + 1] = group
    # Copies, as views would keep room for every item alive.
    return offsets, key[:group].copy(), hits[:group].copy(), weight[:group].copy()


@kernel
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
    for j in range(starts.size - 1):
        i, last = starts[j], starts[j + 1]
        item = 2 * candidate_starts[j] + j
        for k in range(candidate_starts[j], candidate_starts[j + 1] + 1):
            is_last = k == candidate_starts[j + 1]
            # What lies below the candidate, then what equals it.
            while i < last and (is_last or up[i] < candidates[k]):
                highest[item] = up[i]
                hits[item] += positive_weights[i]
                sums[item] += weights[i]
                i += 1
            if is_last:
                break
            item += 1
            highest[item] = candidates[k]
            while i < last and up[i] == candidates[k]:
                hits[item] += positive_weights[i]
                sums[item] += weights[i]
                i += 1
            item += 1


@kernel
def half_histograms(bits: Halves, truth: Bytes) -> tuple[Ints, Halves, Ints, Ints]:
    """Return the distinct float16 scores of each row of `bits` (n_labels, n_samples): offsets, bits, positives, cells.

    Scores rise; `-0.0` is `0.0`.
    """
    n_labels, n = bits.shape
    offsets = np.zeros(n_labels + 1, np.int64)
    size = n_labels * min(n, _N_HALVES)
    found = np.empty(size, np.uint16)
    hits, cells = np.empty(size, np.int64), np.empty(size, np.int64)
    # Cells in the lower half of each number, positives in the upper: one increment for both.
    counts = np.zeros(_N_HALVES, np.uint64)
    one, half = np.uint64(1), np.uint64(32)
    sign, all_bits = np.uint64(0x8000), np.uint64(0xFFFF)
    group = np.int64(0)
    for j in range(n_labels):
        lowest, highest = np.uint64(_N_HALVES - 1), np.uint64(0)
        for i in range(n):
            # As keys: the sign bit of a score that is not negative flips, all bits of others.
            b = np.uint64(bits[j, i])
            negative = (b & sign) != 0 and b != sign
            at = b ^ all_bits if negative else b | sign
            counts[at] += one + (np.uint64(truth[j, i]) << half)
            lowest, highest = min(lowest, at), max(highest, at)
        for code in range(np.int64(lowest), np.int64(highest) + 1):
            count = counts[code]
            if count > 0:
                counts[code] = 0
                key = np.uint64(code)
                found[group] = key ^ sign if key & sign else key ^ all_bits
                hits[group], cells[group] = count >> half, count & np.uint64(0xFFFFFFFF)
                group += 1
        offsets[j + 1] = group
    return offsets, found[:group].copy(), hits[:group].copy(), cells[:group].copy()


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
