"""Loops that narrow the keys of labels down to those among which their best cuts lie, by counting in 2048 buckets.

That takes 4 ns a key, a sort 8 to 25, and leaves few: of 200,000 x 400 scores 11 % come here, and
.4 % are sorted. The keys of label j are `sizes[j]` from `firsts[j]` on; buckets lie like keys.
"""

import numpy as np

from thresholds._arrays.types import Buckets, Floats, Ints, Keys, Scores, SmallInts
from thresholds._kernels._jit import kernel

BUCKETS = 2048
# In place of a label's beta^2 P, where the ratio is that of all labels together.
OF_ALL_LABELS = -1.0


@kernel
def extremes(firsts: Ints, sizes: Ints, keys: Keys, ends: Keys) -> None:
    """Write the lowest and the highest key of each label to `ends` (n_labels, 2)."""
    for j in range(firsts.size):
        label_keys = keys[firsts[j] : firsts[j] + sizes[j]]
        lowest, highest = ends[j, 0], ends[j, 1]
        for i in range(label_keys.size):
            lowest, highest = min(lowest, label_keys[i]), max(highest, label_keys[i])
        ends[j, 0], ends[j, 1] = lowest, highest


@kernel
def to_buckets(
    firsts: Ints,
    sizes: Ints,
    keys: Keys,
    ends: Keys,
    scales: Floats,
    bits: Keys,
    scores: Scores,
    buckets: Buckets,
) -> None:
    """Write the bucket of each key, in the order of keys: linear in the score where there is a scale, else in its bits.

    Within one sign bits are linear in each octave, which suits probabilities; across 0 they would
    waste nearly all buckets on the smallest numbers. `bits` and `scores` are the same memory, room
    for a label.
    """
    sign = keys.dtype.type(1) << keys.dtype.type(8 * keys.itemsize - 1)
    most = keys.dtype.type(BUCKETS - 1)
    # The way is chosen once for a label, so that its loops have no branch.
    for j in range(firsts.size):
        label_keys = keys[firsts[j] : firsts[j] + sizes[j]]
        label_buckets = buckets[firsts[j] : firsts[j] + sizes[j]]
        lowest = ends[j, 0]
        if scales[j] == 0:
            shift = keys.dtype.type(0)
            while ((ends[j, 1] - lowest) >> shift) > most:
                shift += keys.dtype.type(1)
            for i in range(label_keys.size):
                label_buckets[i] = np.uint16((label_keys[i] - lowest) >> shift)
            continue
        bits[0] = ~lowest  # of a negative score
        low, scale = np.float64(scores[0]), scales[j]
        for i in range(label_keys.size):
            k = label_keys[i]
            bits[i] = k ^ sign if k & sign else ~k
        for i in range(label_keys.size):
            label_buckets[i] = np.uint16(np.int32((np.float64(scores[i]) - low) * scale))


@kernel
def count_buckets(firsts: Ints, sizes: Ints, buckets: Buckets, counts: Ints) -> None:
    """Count what each bucket of each label holds, in (n_labels, BUCKETS) zeros."""
    for j in range(firsts.size):
        label_buckets = buckets[firsts[j] : firsts[j] + sizes[j]]
        # The counters of one label stay in the first-level cache.
        for i in range(label_buckets.size):
            counts[j, label_buckets[i]] += 1


@kernel
def weigh_buckets(
    firsts: Ints,
    sizes: Ints,
    buckets: Buckets,
    rows: SmallInts,
    row_weights: Ints,
    sums: Ints,
    positive_sums: Ints,
) -> None:
    """Add up the weights in each bucket of each label, and those of positives, in (n_labels, BUCKETS) zeros.

    `rows` have ~row, which is below 0, for a positive.
    """
    for j in range(firsts.size):
        for i in range(firsts[j], firsts[j] + sizes[j]):
            is_positive = np.int64(rows[i] < 0)
            weight = row_weights[rows[i] ^ -is_positive]
            sums[j, buckets[i]] += weight
            positive_sums[j, buckets[i]] += weight * is_positive


@kernel
def bound_buckets(
    counts: Ints,
    positives: Ints,
    above: Ints,
    tp_above: Ints,
    low_ratio: Floats,
    high_ratio: Floats,
    beta2_positives: Floats,
    slack: float,
    bottom: Ints,
    top: Ints,
) -> None:
    """Find the first and last bucket of each label that may hold the best cut, and what lies above the first.

    A cut within a bucket has at most its positives and at least the predictions above it and these
    positives. Where tp - r predicted then is less than that of one cut between buckets, for both
    ratios r, the best cut is not there. The ratios rise to the best tp / (beta2_positives +
    predicted) where that is the label's own.
    """
    for j in range(above.size):
        # 1. The best ratio of the label itself, at the cuts between buckets.
        low, high = low_ratio[j], high_ratio[j]
        if beta2_positives[j] >= 0:  # not OF_ALL_LABELS
            tp, predicted = tp_above[j], above[j]
            for b in range(BUCKETS - 1, -1, -1):
                tp += positives[j, b]
                predicted += counts[j, b]
                low = max(low, tp / max(beta2_positives[j] + predicted, 1.0))
            high = low

        # 2. The cut that is best for the lower ratio, and the one that is best for the higher: each
        # at both ratios.
        tp, predicted = tp_above[j], above[j]
        low_low, low_high = tp - low * predicted, tp - high * predicted
        high_low, high_high = low_low, low_high
        for b in range(BUCKETS - 1, -1, -1):
            tp += positives[j, b]
            predicted += counts[j, b]
            at_low, at_high = tp - low * predicted, tp - high * predicted
            if at_low > low_low:
                low_low, low_high = at_low, at_high
            if at_high > high_high:
                high_low, high_high = at_low, at_high

        # 3. The outermost buckets whose best case neither of these beats.
        tp, predicted = tp_above[j], above[j]
        top[j], bottom[j] = -1, 0
        for b in range(BUCKETS - 1, -1, -1):
            gained = positives[j, b]
            at_low = tp + gained - low * (predicted + gained) + slack
            at_high = tp + gained - high * (predicted + gained) + slack
            beaten = (at_low < low_low and at_high < low_high) or (
                at_low < high_low and at_high < high_high
            )
            if gained > 0 and not beaten:
                if top[j] < 0:
                    top[j], tp_above[j], above[j] = b, tp, predicted
                bottom[j] = b
            tp += gained
            predicted += counts[j, b]


@kernel
def keep_buckets(
    firsts: Ints, sizes: Ints, keys: Keys, buckets: Buckets, bottom: Ints, top: Ints, below: Keys
) -> None:
    """Keep the keys of the buckets from `bottom` to `top` of each label; `below` rises to the highest under them."""
    none = keys.dtype.type(0)
    for j in range(firsts.size):
        label_keys = keys[firsts[j] : firsts[j] + sizes[j]]
        label_buckets = buckets[firsts[j] : firsts[j] + sizes[j]]
        floor = np.uint16(bottom[j])
        width = np.uint16(top[j] - bottom[j] + 1)  # 0 where none are kept
        highest = below[j]
        for i in range(label_keys.size):  # A loop of its own, without a branch.
            highest = max(highest, label_keys[i] if label_buckets[i] < floor else none)
        below[j] = highest
        n = np.int64(0)
        for i in range(label_keys.size):  # Branch-free: always write, advance on a key to keep.
            label_keys[n] = label_keys[i]
            # The difference wraps below the floor; `-` would warn.
            n += np.subtract(label_buckets[i], floor) < width
        sizes[j] = n
