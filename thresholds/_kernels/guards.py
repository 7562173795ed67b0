"""Loops of the guards: F-beta when a number of cells is predicted, scores at ranks, bins of odds.

A rank counts cells from the top, by weight; no weights at all (an empty array) stand for ones.

Bins are about 3 % wide, so that sums over the highest cells need no sort. Their scores come as keys
of float32 (`keys.py`). A bin holds the values of one sign, exponent and first five bits of the
mantissa: its number is read off the key, in .3 ns for margins, where a logarithm takes ten times as
long. Probabilities are folded at 1/2, so that bins are as fine towards 1 as towards 0, and start at
1e-6.
"""

import math
from typing import Any

import numpy as np

from thresholds._arrays.types import AnyFloats, Buckets, Bytes, Floats, Ints, Keys, Weights
from thresholds._kernels._jit import kernel

_DIGIT_BITS = 11
_HIGH_BITS = 16
# So many cells of a label are sorted by insertion, in less time than digits or bins are cleared.
_FEW = 64
_STRIDE = 16  # keys that are skipped at a time, where they rise


@kernel
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
    for j in range(positives.size):
        if positives[j] == 0:
            continue
        # Ratios rise, and so do the steps of the staircase: how many true positives are there.
        g = 0
        tp_before = np.int64(0)
        for k in range(offsets[j], offsets[j + 1]):
            while g < ratios.size:
                rank = min(ratios[g] * positives[j], float(most[j]))
                if rank > predicted[k]:
                    break
                # Between two steps there is none; within a tie group they are spread evenly.
                f[j, g] = tp_before
                if rank > higher[k]:
                    among = (tp[k] - tp_before) * (rank - higher[k])
                    f[j, g] += among / (predicted[k] - higher[k])
                g += 1
            tp_before = tp[k]
        for later in range(g, ratios.size):
            f[j, later] = tp_before
        for g in range(ratios.size):  # A loop of its own is vectorised.
            wanted = ratios[g] * positives[j]
            f[j, g] = (1.0 + beta_squared) * f[j, g] / (beta_squared * positives[j] + wanted)
    return f


@kernel
def _key_at_rank(
    keys: Keys,
    weights: Ints,
    rank: float,
    counts: Ints,
    spare: Keys,
    spare_weights: Ints,
) -> Any:
    """Return the key of the cell that holds `rank`, by digits of 11 bits.

    `counts` has room for all digits, `spare` and `spare_weights` for all keys.
    """
    as_key = keys.dtype.type
    above = np.int64(0)
    low = 8 * keys.itemsize
    while low > 0:
        # The weight of each digit, from the highest bits down.
        width = min(low, _DIGIT_BITS)
        low -= width
        shift, mask = as_key(low), as_key((1 << width) - 1)
        counts[:] = 0
        for i in range(keys.size):
            counts[(keys[i] >> shift) & mask] += 1 if weights.size == 0 else weights[i]

        # The digit of the rank.
        digit = (1 << width) - 1
        while digit > 0 and above + counts[digit] < rank:
            above += counts[digit]
            digit -= 1

        # Only the keys of that digit are looked at again.
        n = np.int64(0)
        wanted = as_key(digit)
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
def _keys_at_ranks_of_few(
    keys: Keys, weights: Ints, rank: float, later: float, up: Keys, up_weights: Ints
) -> tuple[Any, Any]:
    """Return the keys of the cells that hold two ranks, the second no less, by sorting into `up` and `up_weights`."""
    # 1. By insertion, with the weights.
    for i in range(keys.size):
        key, weight = keys[i], np.int64(1) if weights.size == 0 else weights[i]
        k = i
        while k > 0 and up[k - 1] > key:
            up[k], up_weights[k] = up[k - 1], up_weights[k - 1]
            k -= 1
        up[k], up_weights[k] = key, weight

    # 2. From the top down; the lowest key holds all ranks that are left.
    k = keys.size - 1
    above = up_weights[k]
    while k > 0 and above < rank:
        k -= 1
        above += up_weights[k]
    key = up[k]
    while k > 0 and above < later:
        k -= 1
        above += up_weights[k]
    return key, up[k]


@kernel
def keys_at_ranks(starts: Ints, keys: Keys, weights: Ints, ranks: Floats) -> Keys:
    """Return the keys at two ranks of each label, (2, n_labels); the second rank is no less."""
    n_labels = starts.size - 1
    longest = np.int64(0)
    for j in range(n_labels):
        longest = max(longest, starts[j + 1] - starts[j])
    spare = np.empty(longest, keys.dtype)
    spare_weights = np.empty(max(longest if weights.size > 0 else 0, _FEW), np.int64)
    counts = np.empty(1 << _DIGIT_BITS, np.int64)
    keys_found = np.zeros((2, n_labels), keys.dtype)
    for j in range(n_labels):
        own = keys[starts[j] : starts[j + 1]]
        own_weights = weights if weights.size == 0 else weights[starts[j] : starts[j + 1]]
        rank, later = ranks[0, j], ranks[1, j]
        if own.size <= _FEW:
            keys_found[0, j], keys_found[1, j] = _keys_at_ranks_of_few(
                own, own_weights, rank, later, spare, spare_weights
            )
            continue
        key = _key_at_rank(own, own_weights, rank, counts, spare, spare_weights)
        keys_found[0, j] = key
        if weights.size == 0:
            # Without weights the second is the same or the next lower: vectorised, .03 ns a score.
            none = keys.dtype.type(0)
            n_reached, below = np.int64(0), none
            for i in range(own.size):
                n_reached += own[i] >= key
            for i in range(own.size):
                below = max(below, own[i] if own[i] < key else none)
            keys_found[1, j] = key if n_reached >= later or below == none else below
        else:
            keys_found[1, j] = _key_at_rank(own, own_weights, later, counts, spare, spare_weights)
    return keys_found


@kernel
def count_at_keys(
    starts: Ints,
    keys: Keys,
    positive_weights: Weights,
    weights: Ints,
    label_keys: Keys,
) -> Ints:
    """Return weight and true positives above a key of each label, then those at it, (4, n_labels)."""
    counts = np.zeros((4, starts.size - 1), np.int64)
    for j in range(starts.size - 1):
        above, tp_above = np.int64(0), np.int64(0)
        tied, tp_tied = np.int64(0), np.int64(0)
        key = label_keys[j]
        own = keys[starts[j] : starts[j + 1]]
        positive = positive_weights[starts[j] : starts[j + 1]]
        if weights.size == 0:
            # Four loops that are vectorised: .2 ns a score, where one loop for both cases takes 3.
            for i in range(own.size):
                above += own[i] > key
            for i in range(own.size):
                tied += own[i] == key
            for i in range(own.size):
                tp_above += positive[i] & (own[i] > key)
            for i in range(own.size):
                tp_tied += positive[i] & (own[i] == key)
        else:
            own_weights = weights[starts[j] : starts[j + 1]]
            for i in range(own.size):
                if own[i] > key:
                    above += own_weights[i]
                    tp_above += positive[i]
                elif own[i] == key:
                    tied += own_weights[i]
                    tp_tied += positive[i]
        counts[0, j] = above
        counts[1, j] = tp_above
        counts[2, j] = tied
        counts[3, j] = tp_tied
    return counts


@kernel
def counts_at_cuts(
    starts: Ints,
    keys: Keys,
    positive_weights: Weights,
    weights: Ints,
    cuts: Keys,
) -> Ints:
    """Return true positives and weight of each label at or above each cut, (2, n_labels, n_cuts); cuts rise."""
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


@kernel
def pooled_depths(
    tp: AnyFloats,
    predicted: AnyFloats,
    depth: Floats,
    width: Floats,
    prior: Floats,
    ratio: float,
    n_sharpnesses: int,
) -> tuple[Floats, Floats]:
    """Return each label's mean depth under exp(sharpness (tp - ratio predicted + prior)), (n_labels, n_pairs).

    Depths rise with the cuts; sharpnesses are 1, 2, 4 and so on, the pairs those of a prior (n_priors,
    n_cuts) and a sharpness. The other result, (2, n_pairs), has the tp and predictions of all rows if
    each is decided by the mean that it has without itself.
    """
    n_labels, n_cuts = tp.shape
    n_pairs = prior.shape[0] * n_sharpnesses
    means = np.empty((n_labels, n_pairs))
    left_out = np.zeros((2, n_pairs))
    density = np.empty(n_cuts)
    for j in range(n_labels):
        for p in range(prior.shape[0]):
            # exp of the gain, 1 at its highest.
            highest = -np.inf
            for k in range(n_cuts):
                gain = np.float64(tp[j, k]) - ratio * np.float64(predicted[j, k])
                density[k] = gain + prior[p, k]
                highest = max(highest, density[k])
            for k in range(n_cuts):
                density[k] = math.exp(density[k] - highest)

            for s in range(n_sharpnesses):
                # Twice as sharp is squared.
                total, moment = 0.0, 0.0
                for k in range(n_cuts):
                    if s > 0:
                        density[k] *= density[k]
                    total += width[k] * density[k]
                    moment += width[k] * density[k] * depth[k]
                pair = p * n_sharpnesses + s
                means[j, pair] = moment / total

                # Leave out the cells between two cuts, from the lowest up: without a positive the lower
                # cuts are less likely, without a negative more.
                sharpness = 2.0**s
                without_positive = math.exp(-sharpness * (1.0 - ratio))
                without_negative = math.exp(sharpness * ratio)
                total_below, moment_below = 0.0, 0.0
                for k in range(n_cuts - 1, 0, -1):
                    total_below += width[k] * density[k]
                    moment_below += width[k] * density[k] * depth[k]
                    n_tp = np.float64(tp[j, k]) - np.float64(tp[j, k - 1])
                    n_more = np.float64(predicted[j, k]) - np.float64(predicted[j, k - 1])
                    n_fp = n_more - n_tp
                    gap = depth[k] - depth[k - 1]
                    if n_tp > 0:
                        mean = (moment - moment_below + without_positive * moment_below) / (
                            total - total_below + without_positive * total_below
                        )
                        share = min(max((mean - depth[k - 1]) / gap, 0.0), 1.0)
                        left_out[0, pair] += n_tp * share
                        left_out[1, pair] += n_tp * share
                    if n_fp > 0:
                        mean = (moment - moment_below + without_negative * moment_below) / (
                            total - total_below + without_negative * total_below
                        )
                        share = min(max((mean - depth[k - 1]) / gap, 0.0), 1.0)
                        left_out[1, pair] += n_fp * share
    return means, left_out


_ALIKE_FACTORS = 12.0  # logarithm of the largest ratio of two: differences of sums keep 10 digits


def _n_exps(*arguments: Any) -> float:
    """Return how many values of a density are computed for groups that are left out."""
    tp, prior, n_sharpnesses, offsets = (arguments[k] for k in (0, 4, 6, 8))
    return float(offsets.size * tp.shape[1] * prior.shape[0] * (1 + n_sharpnesses))


@kernel
def left_out_groups(
    tp: AnyFloats,
    predicted: AnyFloats,
    depth: Floats,
    width: Floats,
    prior: Floats,
    ratio: float,
    n_sharpnesses: int,
    starts: Ints,
    offsets: Ints,
    cuts: Ints,
    run_tp: Floats,
    run_predicted: Floats,
) -> Floats:
    """Return the tp and predictions, (2, n_pairs), if each group is decided by the mean without it.

    All but the groups is as for `pooled_depths`. Label j has the groups `starts[j]:starts[j + 1]`, group g of them the
    runs `offsets[g]:offsets[g + 1]`, each of which is predicted from one of the `cuts` on, which rise.
    """
    n_labels, n_cuts = tp.shape
    left_out = np.zeros((2, prior.shape[0] * n_sharpnesses))
    gains = np.empty(n_cuts)
    density = np.empty(n_cuts)
    totals = np.zeros(n_cuts + 1)  # of the density up to each cut, and of depths
    moments = np.zeros(n_cuts + 1)
    for j in range(n_labels):
        for p in range(prior.shape[0]):
            # exp of the gain, 1 at its highest.
            highest = -np.inf
            for k in range(n_cuts):
                gain = np.float64(tp[j, k]) - ratio * np.float64(predicted[j, k])
                gains[k] = gain + prior[p, k]
                highest = max(highest, gains[k])
            for k in range(n_cuts):
                density[k] = math.exp(gains[k] - highest)

            for s in range(n_sharpnesses):
                # Twice as sharp is squared.
                for k in range(n_cuts):
                    if s > 0:
                        density[k] *= density[k]
                    totals[k + 1] = totals[k] + width[k] * density[k]
                    moments[k + 1] = moments[k] + width[k] * density[k] * depth[k]
                sharpness = 2.0**s
                pair = p * n_sharpnesses + s
                for g in range(starts[j], starts[j + 1]):
                    # What the group adds to the gain, from the first cut on and after each of its runs.
                    own, least, most = 0.0, 0.0, 0.0
                    for run in range(offsets[g], offsets[g + 1]):
                        own += run_tp[run] - ratio * run_predicted[run]
                        least, most = min(least, own), max(most, own)

                    # Without the group the density between two runs is less by one factor: its sums are enough, but
                    # where factors differ so much that differences of sums would be rounding.
                    total, moment = 0.0, 0.0
                    if sharpness * (most - least) <= _ALIKE_FACTORS:
                        own, first = 0.0, 0
                        for run in range(offsets[g], offsets[g + 1] + 1):
                            last = cuts[run] if run < offsets[g + 1] else n_cuts
                            factor = math.exp(sharpness * (least - own))
                            total += factor * (totals[last] - totals[first])
                            moment += factor * (moments[last] - moments[first])
                            if run < offsets[g + 1]:
                                own += run_tp[run] - ratio * run_predicted[run]
                                first = last
                    else:
                        own, run = 0.0, offsets[g]
                        highest = -np.inf
                        for k in range(n_cuts):
                            while run < offsets[g + 1] and cuts[run] == k:
                                own += run_tp[run] - ratio * run_predicted[run]
                                run += 1
                            highest = max(highest, gains[k] - own)
                        own, run = 0.0, offsets[g]
                        for k in range(n_cuts):
                            while run < offsets[g + 1] and cuts[run] == k:
                                own += run_tp[run] - ratio * run_predicted[run]
                                run += 1
                            likely = width[k] * math.exp(sharpness * (gains[k] - own - highest))
                            total += likely
                            moment += likely * depth[k]
                    mean = moment / total
                    for run in range(offsets[g], offsets[g + 1]):
                        k = cuts[run]
                        share = (mean - depth[k - 1]) / (depth[k] - depth[k - 1])
                        share = min(max(share, 0.0), 1.0)
                        left_out[0, pair] += run_tp[run] * share
                        left_out[1, pair] += run_predicted[run] * share
    return left_out


# Bins: the upper bits of a float32.
SHIFT = 18
LEAST = 1e-6
LOWEST = int(np.float32(LEAST).view(np.uint32)) >> SHIFT
SIDE = (int(np.float32(0.5).view(np.uint32)) >> SHIFT) - LOWEST + 1  # bins from LEAST to 1/2
MARGIN_BINS = 1 << (32 - SHIFT)

_SHIFT = np.uint32(SHIFT)
_SIGN = np.uint32(1 << 31)


@kernel
def bin_of(key: np.uint32, probable: bool) -> np.int64:
    """Return the bin of a probability, of 2 `SIDE`, or of a margin, of `MARGIN_BINS`."""
    if not probable:
        return np.int64(key >> _SHIFT)
    # Back to the float: a key has the sign bit turned, or all bits of a negative number.
    p = np.float64(np.uint32(key ^ _SIGN if key & _SIGN else ~key).view(np.float32))
    from_end = np.float32(max(min(p, 1.0 - p), LEAST))
    place = np.int64(from_end.view(np.uint32) >> _SHIFT) - LOWEST
    return 2 * SIDE - 1 - place if p > 0.5 else place


@kernel
def _weight_at(keys: Keys, weights: Weights, key: np.uint32) -> np.int64:
    """Add up the weights of one key."""
    total = np.int64(0)  # a loop of its own is vectorised
    if weights.size == 0:
        for i in range(keys.size):
            total += keys[i] == key
    else:
        for i in range(keys.size):
            if keys[i] == key:
                total += weights[i]
    return total


def bins_of(keys: Keys, probable: bool) -> Ints:
    """Return the bin of each key, as `bin_of` does."""
    if not probable:
        return (keys >> _SHIFT).astype(np.int64)
    p = np.where(keys & _SIGN, keys ^ _SIGN, ~keys).view(np.float32).astype(np.float64)
    from_end = np.maximum(np.minimum(p, 1.0 - p), LEAST).astype(np.float32)
    place = (from_end.view(np.uint32) >> _SHIFT).astype(np.int64) - LOWEST
    return np.where(p > 0.5, 2 * SIDE - 1 - place, place)


def _add_bins_in_numpy(keys: Keys, weights: Weights, probable: bool, total: Ints) -> None:
    """Stand in for `_add_bins`."""
    np.add.at(total, bins_of(keys, probable), 1 if weights.size == 0 else weights)


@kernel
def _add_bins(keys: Keys, weights: Weights, probable: bool, total: Ints) -> None:
    """Add weights up by bin."""
    if weights.size == 0:
        for i in range(keys.size):
            total[bin_of(keys[i], probable)] += 1
    else:
        for i in range(keys.size):
            if weights[i] > 0:
                total[bin_of(keys[i], probable)] += weights[i]


@kernel
def count_bins(
    keys: Keys,
    weights: Weights,
    missing: np.uint32,
    masked: np.uint32,
    probable: bool,
    total: Ints,
) -> None:
    """Add weights up by bin, (n_bins + 1,): those of cells that are `missing` in the last.

    `masked` cells do not count. No weights at all (an empty array) stand for ones.
    """
    _add_bins(keys, weights, probable, total)
    # Few cells are apart: they are moved from their bins afterwards, which spares a branch for each.
    missing_weight = _weight_at(keys, weights, missing)
    total[bin_of(masked, probable)] -= _weight_at(keys, weights, masked)
    if missing != masked:
        total[bin_of(missing, probable)] -= missing_weight
        total[total.size - 1] += missing_weight


@kernel
def _list_bins(
    keys: Keys,
    weights: Weights,
    missing: np.uint32,
    masked: np.uint32,
    probable: bool,
    order: Ints,
    listed: Ints,
    listed_weights: Ints,
) -> np.int64:
    """List the places in `order` at which few cells lie, rising, with their weight; return how many.

    `order` has the bins, the last of which is that of what is `missing`; `masked` cells are left out.
    """
    n_bins = order.size - 1
    place = bin_of(missing, probable)
    n = np.int64(0)
    for i in range(keys.size):
        key, weight = keys[i], np.int64(1) if weights.size == 0 else np.int64(weights[i])
        if weight == 0 or key == masked:
            continue
        if key == missing:
            at = n_bins - place
        else:
            bin_of_key = bin_of(key, probable)
            at = n_bins - bin_of_key - (bin_of_key >= place)

        # By insertion; those of one bin are added up.
        k = n
        while k > 0 and listed[k - 1] > at:
            k -= 1
        if k > 0 and listed[k - 1] == at:
            listed_weights[k - 1] += weight
            continue
        for later in range(n, k, -1):
            listed[later], listed_weights[later] = listed[later - 1], listed_weights[later - 1]
        listed[k], listed_weights[k] = at, weight
        n += 1
    return n


@kernel
def _first_of_bin(up: Keys, end: Any, own: Any, probable: bool) -> Any:
    """Return the first place of keys of a bin, or of higher ones, among the first keys up to `end`, which rise."""
    i = end
    while i >= _STRIDE and bin_of(up[i - _STRIDE], probable) >= own:
        i -= _STRIDE
    while i > 0 and bin_of(up[i - 1], probable) >= own:
        i -= 1
    return i


@kernel
def _list_bins_of_rising(
    keys: Keys,
    part: Keys,
    weights: Weights,
    missing: np.uint32,
    masked: np.uint32,
    probable: bool,
    order: Ints,
    listed: Ints,
    listed_weights: Ints,
) -> np.int64:
    """List bins as `_list_bins` does, of keys without a part of them: both rise, and there are no weights."""
    n_bins = order.size - 1
    place, place_of_masked = bin_of(missing, probable), bin_of(masked, probable)
    n, i, p = np.int64(0), np.int64(keys.size), np.int64(part.size)
    while i > 0:
        # Cells of a bin lie together.
        own, end, part_end = bin_of(keys[i - 1], probable), i, p
        i, p = _first_of_bin(keys, i, own, probable), _first_of_bin(part, p, own, probable)
        n_cells = (end - i) - (part_end - p)

        # Of a bin that has cells apart, the others; then those that are missing.
        n_missing, n_masked = np.int64(0), np.int64(0)
        if own == place and missing != masked:
            n_missing = _weight_at(keys[i:end], weights, missing)
            n_missing -= _weight_at(part[p:part_end], weights, missing)
        if own == place_of_masked:
            n_masked = _weight_at(keys[i:end], weights, masked)
            n_masked -= _weight_at(part[p:part_end], weights, masked)
        if n_cells > n_missing + n_masked:
            listed[n] = n_bins - own - (own >= place)
            listed_weights[n] = n_cells - n_missing - n_masked
            n += 1
        if n_missing > 0:
            listed[n], listed_weights[n] = n_bins - place, n_missing
            n += 1
    return n


@kernel
def _list_filled(counts: Ints, order: Ints, filled: Ints, weight: Ints) -> np.int64:
    """List the places in `order` of bins with cells, and the weight of each; return how many."""
    n = np.int64(0)
    for k in range(order.size):  # Branch-free: always write, advance on a bin with cells.
        filled[n], weight[n] = k, counts[order[k]]
        n += counts[order[k]] > 0
    return n


def _filled_bins_in_numpy(
    starts: Ints,
    keys: Keys,
    weights: Ints,
    missing: np.uint32,
    masked: np.uint32,
    probable: bool,
    part_starts: Ints,
    part: Keys,
    order: Ints,
    positives: Ints,
    total: Ints,
) -> tuple[Ints, Buckets, Ints]:
    """Stand in for `filled_bins`."""
    place_of_missing = bins_of(np.array([missing]), probable)

    def places(cells: Keys) -> Ints:
        own = bins_of(cells, probable)
        own += own >= place_of_missing
        return order.size - 1 - np.where(cells == missing, place_of_missing, own)

    offsets = np.zeros_like(starts)
    bins, bin_weights = [np.empty(0, np.uint16)], [np.empty(0, np.int64)]
    for j in range(starts.size - 1):
        own = slice(starts[j], starts[j + 1])
        counts = (keys[own] != masked).astype(np.int64)
        if weights.size > 0:
            counts *= weights[own]
        found, at = np.unique(places(keys[own]), return_inverse=True)
        sums = np.zeros(found.size, np.int64)
        np.add.at(sums, at, counts)
        if part_starts.size > 0:
            left_out = part[part_starts[j] : part_starts[j + 1]]
            left_out = left_out[left_out != masked]
            np.subtract.at(sums, found.searchsorted(places(left_out)), 1)

        filled, sums = order[found[sums > 0]], sums[sums > 0]
        total[filled] += sums
        if positives[j] > 0:
            bins.append(filled.astype(np.uint16))
            bin_weights.append(sums)
            offsets[j + 1] = filled.size
    return offsets.cumsum(), np.concatenate(bins), np.concatenate(bin_weights)


@kernel
def filled_bins(
    starts: Ints,
    keys: Keys,
    weights: Ints,
    missing: np.uint32,
    masked: np.uint32,
    probable: bool,
    part_starts: Ints,
    part: Keys,
    order: Ints,
    positives: Ints,
    total: Ints,
) -> tuple[Ints, Buckets, Ints]:
    """Return the bins of each label that have cells, in an order of all, with their weight, and add up what these have.

    The bins of label j are `offsets[j]:offsets[j + 1]`, none of a label without positives. Where `part_starts` are
    not empty, keys rise in each label, without weights, and so does a part of them that is left out.
    """
    n_labels, n_bins = starts.size - 1, order.size
    most = np.int64(0)
    for j in range(n_labels):
        if positives[j] > 0:
            most += min(starts[j + 1] - starts[j], n_bins)
    bins, bin_weights = np.empty(most, np.uint16), np.empty(most, np.int64)
    offsets = np.zeros(n_labels + 1, np.int64)
    counts = np.empty(n_bins, np.int64)
    filled, weight = np.empty(n_bins, np.int64), np.empty(n_bins, np.int64)
    for j in range(n_labels):
        first, last = starts[j], starts[j + 1]
        own = weights if weights.size == 0 else weights[first:last]
        n_filled = np.int64(0)
        if part_starts.size > 0:
            left_out = part[part_starts[j] : part_starts[j + 1]]
            n_filled = _list_bins_of_rising(
                keys[first:last], left_out, own, missing, masked, probable, order, filled, weight
            )
        elif last - first <= _FEW:
            n_filled = _list_bins(
                keys[first:last], own, missing, masked, probable, order, filled, weight
            )
        else:
            counts[:] = 0
            count_bins(keys[first:last], own, missing, masked, probable, counts)
            n_filled = _list_filled(counts, order, filled, weight)
        for k in range(n_filled):
            total[order[filled[k]]] += weight[k]
        if positives[j] == 0:
            n_filled = np.int64(0)
        at = offsets[j]
        for k in range(n_filled):
            bins[at + k], bin_weights[at + k] = order[filled[k]], weight[k]
        offsets[j + 1] = at + n_filled
    # Copies, as views would keep room for every cell alive.
    return offsets, bins[: offsets[-1]].copy(), bin_weights[: offsets[-1]].copy()


@kernel
def expected_f_at_ratios(
    offsets: Ints,
    bins: Buckets,
    weight: Ints,
    most: Ints,
    p: Floats,
    positives: Ints,
    ratios: Floats,
    beta_squared: float,
) -> Floats:
    """Return F-beta of expected counts when `ratios` times a label's positives are predicted, (n_labels, n_ratios).

    The bins of a label are listed from the highest down, as `filled_bins` does. `p` has the probability of each bin
    and, last, of what is missing. Where `ratios` ask for more than `most`, the weight of all cells of a label, these
    are predicted.
    """
    n_labels = offsets.size - 1
    f = np.zeros((n_labels, ratios.size))
    for j in range(n_labels):
        if positives[j] == 0:
            continue
        first, last = offsets[j], offsets[j + 1]

        # Bins are added up as they are numbered: from the lowest up, what is missing last.
        expected_positives, of_missing = 0.0, 0.0
        for k in range(last - 1, first - 1, -1):
            share = weight[k] * p[bins[k]]
            if bins[k] == p.size - 1:
                of_missing = share
            else:
                expected_positives += share
        expected_positives += of_missing

        # Ratios rise, and take up one bin after another; a part of the last one.
        k = first
        before = np.int64(0)
        tp_before = 0.0
        for g in range(ratios.size):
            wanted = min(ratios[g] * positives[j], float(most[j]))
            while k < last and before + weight[k] < wanted:
                before += weight[k]
                tp_before += weight[k] * p[bins[k]]
                k += 1
            f[j, g] = tp_before if k == last else tp_before + (wanted - before) * p[bins[k]]
        for g in range(ratios.size):  # A loop of its own is vectorised.
            wanted = min(ratios[g] * positives[j], float(most[j]))
            denominator = beta_squared * expected_positives + wanted
            f[j, g] = (1.0 + beta_squared) * f[j, g] / denominator if denominator > 0 else 0.0
    return f


def _add_to_rows_in_numpy(sums: Floats, rows: Ints, figures: Floats) -> None:
    """Stand in for `add_to_rows`."""
    np.add.at(sums, rows, figures)


@kernel
def add_to_rows(sums: Floats, rows: Ints, figures: Floats) -> None:
    """Add figures (n, n_columns), one row after another, to `rows` (n,) of the sums."""
    for i in range(rows.size):
        for k in range(figures.shape[1]):
            sums[rows[i], k] += figures[i, k]


@kernel
def between_ranks(starts: Ints, up: Keys, truth: Bytes, ranks: Ints) -> tuple[Ints, Ints, Ints]:
    """Return where the keys of each sorted group lie from one rank to another, (2, n_groups), those of equal keys too.

    Returns the first place, the place after the last, and the number of positives above. It is the highest key alone
    where the first rank is beyond the group, or the second rank.
    """
    n_groups = starts.size - 1
    firsts, ends = np.empty(n_groups, np.int64), np.empty(n_groups, np.int64)
    n_true_above = np.zeros(n_groups, np.int64)
    for j in range(n_groups):
        first = max(starts[j + 1] - ranks[1, j], starts[j])
        end = min(starts[j + 1] - ranks[0, j] + 1, starts[j + 1])
        if first >= end:
            first, end = starts[j + 1] - 1, starts[j + 1]
        while first > starts[j] and up[first - 1] == up[first]:
            first -= 1
        while end < starts[j + 1] and up[end] == up[end - 1]:
            end += 1
        n_true = np.int64(0)
        for i in range(end, starts[j + 1]):
            n_true += truth[i]
        firsts[j], ends[j], n_true_above[j] = first, end, n_true
    return firsts, ends, n_true_above
