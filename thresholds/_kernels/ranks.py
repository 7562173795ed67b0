"""Loops over ranks: F-beta when a given number of cells is predicted, and the scores that lie at given ranks.

A rank counts cells from the top, by weight; no weights at all (an empty array) stand for ones.
"""

from typing import Any

import numpy as np
import numpy.typing as npt

from thresholds._kernels._jit import kernel

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
Keys = npt.NDArray[Any]  # uint32 or uint64
Hits = npt.NDArray[Any]  # uint8, or int64 in the unit of the weights

_DIGIT = 11


@kernel
def f_at_ratios(
    offsets: Ints,
    tp: Ints,
    predicted: Ints,
    higher: Ints,
    positives: Ints,
    most: int,
    ratios: Floats,
    beta_squared: float,
) -> Floats:
    """Give F-beta of each label when `ratios` times its positives are predicted, ties in equal parts.

    It is read off a staircase: between two steps nothing is hit. Where `ratios` ask for more than `most`, the weight
    of all cells, these are predicted.
    """
    f = np.zeros((positives.size, ratios.size))
    for j in range(positives.size):
        if positives[j] == 0:
            continue
        k, before = offsets[j], np.int64(0)
        for g in range(ratios.size):
            wanted = ratios[g] * positives[j]
            rank = min(wanted, float(most))
            while k < offsets[j + 1] and predicted[k] < rank:
                before = tp[k]
                k += 1
            hits = float(before)
            if k < offsets[j + 1] and rank > higher[k]:
                hits += (tp[k] - before) * (rank - higher[k]) / (predicted[k] - higher[k])
            f[j, g] = (1.0 + beta_squared) * hits / (beta_squared * positives[j] + wanted)
    return f


@kernel
def _key_at_rank(keys: Keys, weights: Ints, rank: float, places: Ints, spare: Keys, spare_weights: Ints) -> Any:
    """Give the key of the cell that holds `rank`, by digits of 11 bits: only its own bucket is looked at again."""
    as_key = keys.dtype.type
    above, low = np.int64(0), 8 * keys.itemsize
    while low > 0:
        width = min(low, _DIGIT)
        low -= width
        shift, mask = as_key(low), as_key((1 << width) - 1)
        places[:] = 0
        for i in range(keys.size):
            places[(keys[i] >> shift) & mask] += 1 if weights.size == 0 else weights[i]
        digit = (1 << width) - 1
        while digit > 0 and above + places[digit] < rank:
            above += places[digit]
            digit -= 1
        n, wanted = np.int64(0), as_key(digit)
        for i in range(keys.size):  # Branch-free: always write, advance on a match.
            x = keys[i]
            spare[n] = x
            if weights.size > 0:
                spare_weights[n] = weights[i]
            n += ((x >> shift) & mask) == wanted
        keys = spare[:n]
        if weights.size > 0:
            weights = spare_weights[:n]
    return keys[0]


@kernel
def keys_at_ranks(starts: Ints, keys: Keys, weights: Ints, ranks: Floats) -> Keys:
    """Give the keys at two ranks of each label, (2, n_labels): the second rank is at least the first."""
    n_labels = starts.size - 1
    longest = np.int64(0)
    for j in range(n_labels):
        longest = max(longest, starts[j + 1] - starts[j])
    spare, spare_weights = np.empty(longest, keys.dtype), np.empty(longest if weights.size > 0 else 0, np.int64)
    places = np.empty(1 << _DIGIT, np.int64)
    found = np.zeros((2, n_labels), keys.dtype)
    for j in range(n_labels):
        own = keys[starts[j] : starts[j + 1]]
        heavy = weights if weights.size == 0 else weights[starts[j] : starts[j + 1]]
        key = _key_at_rank(own, heavy, ranks[0, j], places, spare, spare_weights)
        found[0, j] = key
        if weights.size == 0:
            reached, below, none = np.int64(0), keys.dtype.type(0), keys.dtype.type(0)
            for i in range(own.size):
                reached += own[i] >= key
            for i in range(own.size):  # The next lower score is the next rank: vectorised, .03 ns a score.
                below = max(below, own[i] if own[i] < key else none)
            found[1, j] = key if reached >= ranks[1, j] or below == none else below
        else:
            found[1, j] = _key_at_rank(own, heavy, ranks[1, j], places, spare, spare_weights)
    return found


@kernel
def count_at_keys(starts: Ints, keys: Keys, hits: Hits, weights: Ints, at: Keys) -> Ints:
    """Give weight and hits of the cells above a key of each label, and of those at the key, (4, n_labels).

    Without weights the loops are vectorised: .2 ns a score, where one loop for both cases takes 3.
    """
    counts = np.zeros((4, starts.size - 1), np.int64)
    for j in range(starts.size - 1):
        above, hits_above, tied, hits_tied = np.int64(0), np.int64(0), np.int64(0), np.int64(0)
        key, own, hit = at[j], keys[starts[j] : starts[j + 1]], hits[starts[j] : starts[j + 1]]
        if weights.size == 0:
            for i in range(own.size):
                above += own[i] > key
            for i in range(own.size):
                tied += own[i] == key
            for i in range(own.size):
                hits_above += hit[i] & (own[i] > key)
            for i in range(own.size):
                hits_tied += hit[i] & (own[i] == key)
        else:
            heavy = weights[starts[j] : starts[j + 1]]
            for i in range(own.size):
                if own[i] > key:
                    above += heavy[i]
                    hits_above += hit[i]
                elif own[i] == key:
                    tied += heavy[i]
                    hits_tied += hit[i]
        counts[0, j], counts[1, j], counts[2, j], counts[3, j] = above, hits_above, tied, hits_tied
    return counts
