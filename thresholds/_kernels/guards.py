"""Loops of the guards: F-beta when a number of cells is predicted, scores at ranks, bins of odds.

A rank counts cells from the top, by weight; no weights at all (an empty array) stand for ones.

Bins are about 3 % wide, so that sums over the highest cells need no sort. Their scores come as keys
of float32 (`keys.py`). A bin holds the values of one sign, exponent and first five bits of the
mantissa: its number is read off the key, which takes no logarithm. Probabilities are folded at 1/2,
so that bins are as fine towards 1 as towards 0, and start at 1e-6.
"""

import itertools
import math

import numpy as np

from thresholds._arrays.grouped import sums_of_groups
from thresholds._arrays.types import AnyFloats, Buckets, Bytes, Floats, Ints, Keys, Weights
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


def bins_of(keys: Keys, probable: bool) -> Ints:
    """Return the bin of each key: of a probability, of 2 `SIDE`, or of a margin, of `MARGIN_BINS`."""
    if not probable:
        return (keys >> _SHIFT).astype(np.int64)
    # Back to the float: a key has the sign bit turned, or all bits of a negative number.
    p = np.where(keys & _SIGN, keys ^ _SIGN, ~keys).view(np.float32).astype(np.float64)
    from_end = np.maximum(np.minimum(p, 1.0 - p), LEAST).astype(np.float32)
    place = (from_end.view(np.uint32) >> _SHIFT).astype(np.int64) - LOWEST
    return np.where(p > 0.5, 2 * SIDE - 1 - place, place)


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
    # What weighs nothing may be any score.
    is_kept = keys != masked
    if weights.size > 0:
        is_kept &= weights > 0
    place = np.where(keys == missing, total.size - 1, bins_of(keys, probable))[is_kept]
    if weights.size == 0:
        total += np.bincount(place, minlength=total.size)
    else:
        # NumPy adds up values of the same type forty times as fast.
        np.add.at(total, place, weights[is_kept].astype(np.int64))


def filled_bins(
    starts: Ints,
    keys: Keys,
    weights: Ints,
    missing: np.uint32,
    masked: np.uint32,
    probable: bool,
    order: Ints,
    positives: Ints,
    total: Ints,
) -> tuple[Ints, Buckets, Ints]:
    """Return the bins of each label that have cells, in an order of all, with their weight, and add up what these have.

    The bins of label j are `offsets[j]:offsets[j + 1]`, none of a label without positives.
    """
    offsets = np.zeros_like(starts)
    bins, bin_weights = [np.empty(0, np.uint16)], [np.empty(0, np.int64)]
    for j, (first, last) in enumerate(itertools.pairwise(starts.tolist())):
        counts = np.zeros(order.size, np.int64)
        count_bins(keys[first:last], weights[first:last], missing, masked, probable, counts)
        total += counts
        if positives[j] > 0:
            filled = order[counts[order] > 0]
            bins.append(filled.astype(np.uint16))
            bin_weights.append(counts[filled])
            offsets[j + 1] = filled.size
    return offsets.cumsum(), np.concatenate(bins), np.concatenate(bin_weights)


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
    f = np.zeros((offsets.size - 1, ratios.size))
    for j, (first, last) in enumerate(itertools.pairwise(offsets.tolist())):
        if positives[j] == 0:
            continue
        own = weight[first:last]
        of_bin = p[bins[first:last]]
        shares = own * of_bin
        # Bins are added up from the lowest up, what is missing last.
        is_missing = bins[first:last] == p.size - 1
        rising = np.append(0.0, np.where(is_missing, 0.0, shares)[::-1])
        expected_positives = rising.cumsum()[-1] + shares[is_missing].sum()

        # The bin that each ratio ends in, and a part of it.
        wanted = np.minimum(ratios * positives[j], float(most[j]))  # (n_ratios,)
        so_far = np.append(0, own.cumsum())
        found = np.append(0.0, shares).cumsum()
        at = so_far[1:].searchsorted(wanted)
        found = found[at]
        is_within = at < last - first
        rest = wanted[is_within] - so_far[at[is_within]]
        found[is_within] += rest * of_bin[at[is_within]]
        denominator = beta_squared * expected_positives + wanted
        with np.errstate(all="ignore"):
            f[j] = np.where(denominator > 0, (1.0 + beta_squared) * found / denominator, 0.0)
    return f


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
