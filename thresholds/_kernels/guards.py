"""Loops of the guards: what the highest cells of a label hold, and where pooled thresholds lie.

Bins of one curve for all labels are about 3 % wide. Their scores come as keys of float32 (`keys.py`). A bin holds the
values of one sign, exponent and first five bits of the mantissa: its number is read off the key, which takes no
logarithm. Probabilities are folded at 1/2, so that bins are as fine towards 1 as towards 0, and start at 1e-6.
"""

import math

import numpy as np

from thresholds._arrays.types import AnyFloats, Floats, Ints, Keys
from thresholds._kernels._jit import kernel


@kernel
def among_highest(offsets: Ints, weights: Ints, amounts: Floats, wanted: Floats) -> Floats:
    """Return what the highest cells of labels hold, as many by weight as are `wanted`, (n_labels, n_wanted).

    The numbers that are wanted of a label rise. The bins of label j are `offsets[j]:offsets[j + 1]`, from the highest
    down. Cells of one bin count in equal parts. NumPy's bisection of each label takes ten times as long.
    """
    found = np.zeros(wanted.shape)
    for j in range(wanted.shape[0]):
        at, last = offsets[j], offsets[j + 1]
        above, held = np.int64(0), 0.0
        for k in range(wanted.shape[1]):
            while at < last and above + weights[at] <= wanted[j, k]:
                above += weights[at]
                held += amounts[at]
                at += 1
            found[j, k] = held
            if at < last:
                found[j, k] += amounts[at] * (wanted[j, k] - above) / weights[at]
    return found


@kernel
def counts_at_cuts(
    offsets: Ints,
    lowest: AnyFloats,
    highest: AnyFloats,
    hits: Ints,
    weights: Ints,
    cuts: Floats,
    tp: AnyFloats,
    predicted: AnyFloats,
) -> None:
    """Add what each label has at or above cuts, which fall, to `tp` and `predicted`, (n_labels or 1, n_cuts).

    With a single row labels are added up. The cells of a bin of several scores are spread over it evenly. Bins and cuts
    are gone through together: NumPy's bisection takes ten times as long.
    """
    for label in range(offsets.size - 1):
        row = label if tp.shape[0] > 1 else 0
        at, last = offsets[label], offsets[label + 1]
        hits_above, above = 0.0, 0.0
        for k in range(cuts.size):
            while at < last and lowest[at] >= cuts[k]:
                hits_above += hits[at]
                above += weights[at]
                at += 1
            share = 0.0
            if at < last and highest[at] > cuts[k]:
                bottom, top = np.float64(lowest[at]), np.float64(highest[at])
                share = (top - cuts[k]) / (top - bottom)
            own_hits, own = 0.0, 0.0
            if share > 0:
                own_hits, own = share * hits[at], share * weights[at]
            tp[row, k] += hits_above + own_hits
            predicted[row, k] += above + own


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
