"""Loops of the guards: F-beta when a given number of cells is predicted, the scores at given ranks, and bins of odds.

A rank counts cells from the top, by weight; no weights at all (an empty array) stand for ones.

Bins are about 3 % wide, so that sums over the highest cells need no sort. Their scores come as keys of float32
(`keys.py`). A bin holds the values of one sign, exponent and first five bits of the
mantissa: its number is read off the key, in .3 ns for margins, where a logarithm takes ten times as long. Probabilities
are folded at 1/2, so that bins are as fine towards 1 as towards 0, and start at 1e-6.
"""

from typing import Any

import numpy as np

from thresholds._arrays.types import Floats, Ints, Keys, Weights
from thresholds._kernels._jit import kernel

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
    """Return F-beta of each label when `ratios` times its positives are predicted, ties in equal parts.

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
    """Return the key of the cell that holds `rank`, by digits of 11 bits: only its own bucket is looked at again."""
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
    """Return the keys at two ranks of each label, (2, n_labels): the second rank is at least the first."""
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
def count_at_keys(starts: Ints, keys: Keys, hits: Weights, weights: Ints, at: Keys) -> Ints:
    """Return weight and hits of the cells above a key of each label, and of those at the key, (4, n_labels).

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


SHIFT = 18
LEAST = 1e-6
LOWEST = int(np.float32(LEAST).view(np.uint32)) >> SHIFT
SIDE = (int(np.float32(0.5).view(np.uint32)) >> SHIFT) - LOWEST + 1  # bins from LEAST to 1/2
MARGIN_BINS = 1 << (32 - SHIFT)

_SHIFT, _SIGN = np.uint32(SHIFT), np.uint32(1 << 31)


@kernel
def bin_of(key: np.uint32, probable: bool) -> np.int64:
    """Return the bin of a probability, of 2 `SIDE`, or of a margin, of `MARGIN_BINS`."""
    if not probable:
        return np.int64(key >> _SHIFT)
    p = np.float64(np.uint32(key ^ _SIGN if key & _SIGN else ~key).view(np.float32))
    up = np.int64(np.float32(max(min(p, 1.0 - p), LEAST)).view(np.uint32) >> _SHIFT) - LOWEST
    return 2 * SIDE - 1 - up if p > 0.5 else up


@kernel
def _weight_at(keys: Keys, weights: Weights, key: np.uint32) -> np.int64:
    """Add up the weights of one key; a loop of its own is vectorised."""
    total = np.int64(0)
    if weights.size == 0:
        for i in range(keys.size):
            total += keys[i] == key
    else:
        for i in range(keys.size):
            if keys[i] == key:
                total += weights[i]
    return total


@kernel
def count_bins(
    keys: Keys, weights: Weights, missing: np.uint32, masked: np.uint32, probable: bool, total: Ints
) -> None:
    """Add weights up by bin, those of cells that are `missing` in the last; `masked` cells do not count.

    No weights at all (an empty array) stand for ones.
    """
    if weights.size == 0:
        for i in range(keys.size):
            total[bin_of(keys[i], probable)] += 1
    else:
        for i in range(keys.size):
            if weights[i] > 0:
                total[bin_of(keys[i], probable)] += weights[i]
    of_missing, of_masked = _weight_at(keys, weights, missing), _weight_at(keys, weights, masked)
    total[bin_of(masked, probable)] -= of_masked
    if missing != masked:
        total[bin_of(missing, probable)] -= of_missing
        total[total.size - 1] += of_missing


@kernel
def expected_f_at_ratios(
    starts: Ints,
    keys: Keys,
    weights: Ints,
    missing: np.uint32,
    masked: np.uint32,
    probable: bool,
    p: Floats,
    positives: Ints,
    ratios: Floats,
    beta_squared: float,
) -> Floats:
    """Return F-beta of expected counts of each label when `ratios` times its positives are predicted.

    `p` has the probability of each bin and, last, of what is `missing`, which ranks just below its own bin.
    """
    n_labels, n_bins = starts.size - 1, p.size - 1
    f = np.zeros((n_labels, ratios.size))
    order = np.empty(n_bins + 1, np.int64)
    place = bin_of(missing, probable)
    for k in range(n_bins + 1):
        b = n_bins - 1 - k
        order[k] = b if b >= place else (n_bins if b == place - 1 else b + 1)
    counts = np.empty(n_bins + 1, np.int64)
    for j in range(n_labels):
        if positives[j] == 0:
            continue
        first, last = starts[j], starts[j + 1]
        own = weights if weights.size == 0 else weights[first:last]
        counts[:] = 0
        count_bins(keys[first:last], own, missing, masked, probable, counts)
        most, everything = np.int64(last - first), 0.0
        if own.size > 0:
            most = own.sum()
        for b in range(n_bins + 1):
            everything += counts[b] * p[b]
        k, before, found = 0, np.int64(0), 0.0
        for g in range(ratios.size):
            wanted = min(ratios[g] * positives[j], float(most))
            while k <= n_bins and before + counts[order[k]] < wanted:
                before += counts[order[k]]
                found += counts[order[k]] * p[order[k]]
                k += 1
            hits = found if k > n_bins else found + (wanted - before) * p[order[k]]
            denominator = beta_squared * everything + wanted
            if denominator > 0:
                f[j, g] = (1.0 + beta_squared) * hits / denominator
    return f
