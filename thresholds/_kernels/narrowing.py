"""Loops that find, without sorting, the few scores among which the best cut of each label lies.

Cells come in rows of *lanes*: a lane is a column of a block, of one label. Truth, and marks, come as words of eight
lanes, so that eight cells without a positive cost one comparison.
"""

from typing import Any

import numpy as np
import numpy.typing as npt

from thresholds._kernels._jit import kernel

Scores = npt.NDArray[Any]  # float32 or float64
Keys = npt.NDArray[Any]  # uint32 or uint64
Words = npt.NDArray[np.uint64]
Bytes = npt.NDArray[np.uint8]
Ints = npt.NDArray[np.int64]
Counts = npt.NDArray[np.int32]
Places = npt.NDArray[np.int32]
Buckets = npt.NDArray[np.uint16]
Floats = npt.NDArray[np.float64]

ROWS_AT_ONCE = 8  # Blocks have a multiple of so many rows.

_LANES_AT_ONCE = 128  # Their cuts and counters stay in the first-level cache.
_BUCKETS = 2048
_FEW = 4096  # scores that are sorted faster than narrowed further
_ONE = np.uint64(1)
_BYTES = np.uint64(0x0001020304050607)
_TOP_BYTE = np.uint64(56)


@kernel
def _marked(words: Words, cells: Places) -> tuple[int, int]:
    """List the cells of a row that are marked, few of them.

    Words that are not 0 are listed first, without a branch, which would be mispredicted for each: twice as fast. The
    cells follow them, from the first place given to the second.
    """
    n_words, n = 0, 0
    for q in range(words.size):
        cells[n_words] = q
        n_words += words[q] != 0
    n = n_words
    for a in range(n_words):
        q = np.int64(cells[a])
        word = words[q]
        while word != 0:
            bit = word & (~word + _ONE)
            cells[n] = 8 * q + np.int64((bit * _BYTES) >> _TOP_BYTE)  # The product has the bit's byte number on top.
            n += 1
            word ^= bit
    return n_words, n


@kernel
def note_positives(words: Words, truth: Bytes, first_row: int, positives: Counts, wanted: Bytes, rows: Counts) -> None:
    """Count the positives of each lane, and note the rows of the first ones, as far as `rows` (n_lanes, room) goes.

    `words` and `truth` are the same memory. Lanes with room left are 1 in `wanted`, the others 0 and cost no more.
    """
    cells = np.empty(16 * words.shape[1], np.int32)
    masked, mask = np.empty(words.shape[1], np.uint64), wanted.view(np.uint64)
    noted = np.empty(positives.size, np.int32)
    for lane in range(positives.size):
        noted[lane] = positives[lane] if wanted[lane] else 0
    for i in range(words.shape[0]):
        for q in range(masked.size):
            masked[q] = words[i, q] & mask[q]
        start, end = _marked(masked, cells)
        for a in range(start, end):
            lane = cells[a]
            rows[lane, noted[lane]] = first_row + i
            noted[lane] += 1
            wanted[lane] = noted[lane] < rows.shape[1]
        for lane in range(positives.size):
            positives[lane] += truth[i, lane]


@kernel
def count_at_cuts(scores: Scores, cuts: Scores, counts: Counts) -> None:
    """Count the scores at or above each cut (CUTS, n_lanes); eight rows for each time that a counter is loaded."""
    n_lanes = scores.shape[1]
    for first in range(0, n_lanes, _LANES_AT_ONCE):
        last = min(first + _LANES_AT_ONCE, n_lanes)
        for i in range(0, scores.shape[0], ROWS_AT_ONCE):
            s0, s1, s2 = scores[i, first:last], scores[i + 1, first:last], scores[i + 2, first:last]
            s3, s4, s5 = scores[i + 3, first:last], scores[i + 4, first:last], scores[i + 5, first:last]
            s6, s7 = scores[i + 6, first:last], scores[i + 7, first:last]
            for k in range(cuts.shape[0]):
                cut, count = cuts[k, first:last], counts[k, first:last]
                for j in range(last - first):
                    x = cut[j]
                    n = count[j]
                    n += np.int32(s0[j] >= x)
                    n += np.int32(s1[j] >= x)
                    n += np.int32(s2[j] >= x)
                    n += np.int32(s3[j] >= x)
                    n += np.int32(s4[j] >= x)
                    n += np.int32(s5[j] >= x)
                    n += np.int32(s6[j] >= x)
                    n += np.int32(s7[j] >= x)
                    count[j] = n


@kernel
def count_lists_at_cuts(firsts: Ints, sizes: Ints, scores: Scores, cuts: Scores, counts: Ints) -> None:
    """Count the scores of each label's list at or above each of its cuts (n_cuts, n_labels)."""
    for j in range(firsts.size):
        of_label = scores[firsts[j] : firsts[j] + sizes[j]]
        for k in range(cuts.shape[0]):
            cut, n = cuts[k, j], np.int32(0)
            for i in range(of_label.size):
                n += np.int32(of_label[i] >= cut)
            counts[k, j] = n


@kernel
def keep_between(firsts: Ints, sizes: Ints, scores: Scores, low: Scores, high: Scores) -> None:
    """Keep the scores of each label's list in [low, high), in place."""
    for j in range(firsts.size):
        of_label = scores[firsts[j] : firsts[j] + sizes[j]]
        n = 0
        for i in range(of_label.size):
            x = of_label[i]
            of_label[n] = x
            n += (x >= low[j]) & (x < high[j])
        sizes[j] = n


@kernel
def mark_between(scores: Scores, low: Scores, high: Scores, marks: Bytes, below: Scores) -> None:
    """Mark the scores in [low, high) of each lane, and raise `below` to the highest one under `low`."""
    none = scores.dtype.type(-np.inf)
    for i in range(0, scores.shape[0], 4):
        s0, s1, s2, s3 = scores[i], scores[i + 1], scores[i + 2], scores[i + 3]
        m0, m1, m2, m3 = marks[i], marks[i + 1], marks[i + 2], marks[i + 3]
        for j in range(scores.shape[1]):
            m0[j] = np.uint8((s0[j] >= low[j]) & (s0[j] < high[j]))
            m1[j] = np.uint8((s1[j] >= low[j]) & (s1[j] < high[j]))
            m2[j] = np.uint8((s2[j] >= low[j]) & (s2[j] < high[j]))
            m3[j] = np.uint8((s3[j] >= low[j]) & (s3[j] < high[j]))
        for j in range(scores.shape[1]):
            x, highest = low[j], below[j]
            highest = max(highest, s0[j] if s0[j] < x else none)
            highest = max(highest, s1[j] if s1[j] < x else none)
            highest = max(highest, s2[j] if s2[j] < x else none)
            highest = max(highest, s3[j] if s3[j] < x else none)
            below[j] = highest


@kernel
def collect(scores: Scores, marks: Bytes, labels: Ints, place: Ints, kept: Scores) -> None:
    """Write marked scores where the label of their lane has its places; without a branch, as many are marked."""
    cells = np.empty(scores.shape[1] + 1, np.int32)
    for i in range(marks.shape[0]):
        n = 0
        for lane in range(marks.shape[1]):
            cells[n] = lane
            n += marks[i, lane]
        for a in range(n):
            lane = cells[a]
            to = place[labels[lane]]
            kept[to] = scores[i, lane]
            place[labels[lane]] = to + 1


@kernel
def collect_few(scores: Scores, words: Words, labels: Ints, place: Ints, kept: Scores) -> None:
    """Do as `collect` does, where few are marked, in words of eight lanes."""
    cells = np.empty(16 * words.shape[1], np.int32)
    for i in range(words.shape[0]):
        start, end = _marked(words[i], cells)
        for a in range(start, end):
            lane = cells[a]
            to = place[labels[lane]]
            kept[to] = scores[i, lane]
            place[labels[lane]] = to + 1


@kernel
def _to_buckets(keys: Keys, lowest: Any, highest: Any, bits: Keys, scores: Scores, buckets: Buckets) -> bool:
    """Give each key a bucket, in the order of keys: linear in the score where scores lie on both sides of 0, else in bits.

    Within one sign bits are linear in each octave, which suits probabilities; across 0 they would waste nearly all
    buckets on the smallest numbers. `bits` and `scores` are the same memory. False where there is no linear scale.
    """
    sign = keys.dtype.type(1) << keys.dtype.type(8 * keys.itemsize - 1)
    if (lowest & sign) == (highest & sign):
        shift = keys.dtype.type(0)
        while ((highest - lowest) >> shift) >= keys.dtype.type(_BUCKETS):
            shift += keys.dtype.type(1)
        for i in range(keys.size):
            buckets[i] = np.uint16((keys[i] - lowest) >> shift)
        return True
    bits[0], bits[1] = ~lowest, highest ^ sign
    low = np.float64(scores[0])
    scale = (_BUCKETS - 1) / (np.float64(scores[1]) - low)
    if not 0 < scale < np.inf:
        return False
    for i in range(keys.size):
        k = keys[i]
        bits[i] = k ^ sign if k & sign else ~k
    for i in range(keys.size):
        buckets[i] = np.uint16(np.int32((np.float64(scores[i]) - low) * scale))
    return True


@kernel
def _bound(
    counts: Ints, hits: Ints, above: int, hits_above: int, ratios: tuple[float, float], recall_part: float, slack: float
) -> tuple[int, int, int, int]:
    """Give the first and last bucket that may hold the best cut, and what lies above the first: predictions and hits.

    A cut within a bucket has at most its hits and at least the predictions above it and these hits. Where tp - r
    predicted then is less than that of one cut between buckets, for both ratios r, the best cut is not there.
    """
    low, high = ratios
    if recall_part >= 0:
        tp, predicted = hits_above, above
        for b in range(_BUCKETS - 1, -1, -1):
            tp += hits[b]
            predicted += counts[b]
            low = max(low, tp / (recall_part + predicted))
        high = low
    tp, predicted = hits_above, above
    best_low = (tp - low * predicted, tp - high * predicted)  # of the cut that is best for the lower ratio
    best_high = best_low
    for b in range(_BUCKETS - 1, -1, -1):
        tp += hits[b]
        predicted += counts[b]
        values = (tp - low * predicted, tp - high * predicted)
        if values[0] > best_low[0]:
            best_low = values
        if values[1] > best_high[1]:
            best_high = values
    top, bottom = -1, 0
    tp, predicted, tp_top, predicted_top = hits_above, above, hits_above, above
    for b in range(_BUCKETS - 1, -1, -1):
        if hits[b] > 0:
            most = (
                tp + hits[b] - low * (predicted + hits[b]) + slack,
                tp + hits[b] - high * (predicted + hits[b]) + slack,
            )
            beaten = most[0] < best_low[0] and most[1] < best_low[1]
            if not (beaten or (most[0] < best_high[0] and most[1] < best_high[1])):
                if top < 0:
                    top, tp_top, predicted_top = b, tp, predicted
                bottom = b
        tp += hits[b]
        predicted += counts[b]
    return top, bottom, predicted_top, tp_top


@kernel
def _keep(keys: Keys, buckets: Buckets, bottom: int, top: int) -> tuple[int, Any]:
    """Move the keys of the buckets from `bottom` to `top` to the front; give how many, and the highest below them."""
    floor, span = np.uint16(bottom), np.uint16(top - bottom)
    below = keys.dtype.type(0)
    for i in range(keys.size):
        below = max(below, keys[i] if buckets[i] < floor else keys.dtype.type(0))
    n = 0
    for i in range(keys.size):  # Branch-free: always write, advance on a key to keep.
        keys[n] = keys[i]
        n += np.uint16(buckets[i] - floor) <= span
    return n, below


@kernel
def refine(
    firsts: Ints,
    sizes: Ints,
    keys: Keys,
    hit_firsts: Ints,
    hit_sizes: Ints,
    hit_keys: Keys,
    above: Ints,
    hits_above: Ints,
    below: Keys,
    low_ratio: Floats,
    high_ratio: Floats,
    recall_part: Floats,
    slack: float,
    scores: Scores,
) -> None:
    """Drop keys among which no best cut can lie, in place, by counting in buckets, as long as that halves them.

    Label j has `sizes[j]` keys from `firsts[j]` on, `above[j]` scores lie higher, `below[j]` is the next lower key; the
    same for its hits. Its best ratio lies between two ratios, or is at least them, tp / (recall_part + predicted), where
    `recall_part` is not negative. `scores` is room for those of a label.
    """
    bits = scores.view(keys.dtype)
    buckets, hit_buckets = np.empty(scores.size, np.uint16), np.empty(scores.size, np.uint16)
    counts, hits = np.empty(_BUCKETS, np.int64), np.empty(_BUCKETS, np.int64)
    for j in range(firsts.size):
        before = 2 * sizes[j]
        while sizes[j] > _FEW and 2 * sizes[j] <= before and hit_sizes[j] > 0:
            before = sizes[j]
            left, hits_left = (
                keys[firsts[j] : firsts[j] + sizes[j]],
                hit_keys[hit_firsts[j] : hit_firsts[j] + hit_sizes[j]],
            )
            lowest, highest = left.min(), left.max()
            if not _to_buckets(left, lowest, highest, bits, scores, buckets):
                break
            _to_buckets(hits_left, lowest, highest, bits, scores, hit_buckets)
            counts[:] = 0
            hits[:] = 0
            for i in range(left.size):
                counts[buckets[i]] += 1
            for i in range(hits_left.size):
                hits[hit_buckets[i]] += 1
            ratios = (low_ratio[j], high_ratio[j])
            found = _bound(counts, hits, above[j], hits_above[j], ratios, recall_part[j], slack)
            top, bottom, above[j], hits_above[j] = found
            if top < 0:
                sizes[j] = hit_sizes[j] = 0
                break
            sizes[j], under = _keep(left, buckets[: left.size], bottom, top)
            hit_sizes[j], _ = _keep(hits_left, hit_buckets[: hits_left.size], bottom, top)
            below[j] = max(below[j], under)
