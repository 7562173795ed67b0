"""Loops that find, without sorting, the few scores among which the best cut of each label lies.

Cells come in blocks, a *column* of which belongs to one label (`search/counting/blocks.py`). Truth,
and marks, come as words of eight columns, the last of which need no scores, so that eight cells
without a positive cost one comparison.

Most blocks come as scores in 8 bits: 32 of these are compared at once, where a register holds eight
floats. With 32 cuts that is 1.5 ns a score and thread, half of it for reading; comparing floats
with 16 took as long.
"""

from typing import Any

import numpy as np

from thresholds._arrays.types import (
    Bytes,
    Codes,
    Dense,
    Halves,
    Ints,
    Scores,
    SmallInts,
    Words,
)
from thresholds._kernels._jit import kernel

ROWS_AT_ONCE = 16  # Blocks have a multiple of so many rows.
LOWEST_CODE = -128
N_CODES = 256

_ROWS_PER_BYTE = 255  # whose positives a byte can count
_CODED_ROWS_PER_BYTE = 248  # as many, in whole times eight
_SIZE_OF_HALF = np.int32(0x7FFF)  # all but the sign
_EXPONENT_OF_HALF = np.int32(0x7C00)
_MORE_EXPONENT = np.int32((127 - 15) << 23)  # of float32
_ONE_EXPONENT = np.int32(1 << 23)
_SMALLEST_HALF = np.float32(2.0**-14)  # that is normal
_ONE = np.uint64(1)
_BYTES = np.uint64(0x0001020304050607)
_TOP_BYTE = np.uint64(56)
_SMALL_LOWEST_CODE = np.int32(LOWEST_CODE)
# Bins of the codes of eight columns, and one more with nothing.
_SIZE_OF_BINS = 8 * (N_CODES + 1)
_FLIPPED = np.uint64(0x8080808080808080)  # The lowest code, as a byte, becomes 0.
_BITS_1, _BITS_2, _BITS_3, _BITS_4, _BITS_5, _BITS_6, _BITS_7 = np.arange(8, 64, 8, dtype=np.uint64)
_LABEL_1, _LABEL_2, _LABEL_3, _LABEL_4, _LABEL_5, _LABEL_6, _LABEL_7 = np.arange(
    1, 8, dtype=np.uint64
)


@kernel
def _marked(words: Words, cells: SmallInts) -> tuple[Any, Any]:
    """List the columns that are marked in a row, few of them; return where they start and end in `cells`."""
    # Words that are not 0 come first, without a branch, which would be mispredicted for each:
    # twice as fast.
    n_words = np.int64(0)
    for q in range(words.size):
        cells[n_words] = q
        n_words += words[q] != 0
    n = n_words
    for a in range(n_words):
        q = cells[a]
        word = words[q]
        while word != 0:
            bit = word & (~word + _ONE)
            # The product wraps, and has the number of the bit's byte on top; `*` would warn.
            product = np.multiply(bit, _BYTES)
            cells[n] = 8 * q + np.int64(product >> _TOP_BYTE)
            n += np.int64(1)
            word ^= bit
    return n_words, n


@kernel
def note_positives(
    words: Words,
    first_row: int,
    positives: SmallInts,
    mask: Words,
    wanted: Bytes,
    noted: SmallInts,
    rows: SmallInts,
) -> None:
    """Count the positives of each column, and note the rows of the first ones, as far as `rows` (n_columns, room) goes.

    `mask` and `wanted` are the same memory: columns with room left are 1 there, others 0 and cost
    no more.
    """
    cells = np.empty(2 * positives.size, np.int32)
    masked, sums = np.empty(mask.size, np.uint64), np.empty(mask.size, np.uint64)
    column_sums = sums.view(np.uint8)
    # Words are added up as they are, eight counters at once: .3 ns a cell, most of it for reading.
    for first in range(0, words.shape[0], _ROWS_PER_BYTE):
        sums[:] = 0
        for i in range(first, min(first + _ROWS_PER_BYTE, words.shape[0])):
            for q in range(masked.size):
                sums[q] += words[i, q]
                masked[q] = words[i, q] & mask[q]
            start, end = _marked(masked, cells)
            for a in range(start, end):
                column = cells[a]
                rows[column, noted[column]] = first_row + i
                noted[column] += 1
                wanted[column] = noted[column] < rows.shape[1]
        for column in range(positives.size):
            positives[column] += column_sums[column]


@kernel
def count_lists_at_cuts(
    firsts: Ints, sizes: Ints, scores: Scores, cuts: Scores, counts: Ints
) -> None:
    """Count the scores of each label's list at or above each of its cuts (n_cuts, n_labels)."""
    for j in range(firsts.size):
        label_scores = scores[firsts[j] : firsts[j] + sizes[j]]
        # One cut after another over a list that stays in the cache, without a branch.
        for k in range(cuts.shape[0]):
            cut, n = cuts[k, j], np.int32(0)
            for i in range(label_scores.size):
                n += np.int32(label_scores[i] >= cut)
            counts[k, j] = n


@kernel
def keep_between(firsts: Ints, sizes: Ints, scores: Scores, low: Scores, high: Scores) -> None:
    """Keep the scores of each label's list in [low, high), in place."""
    for j in range(firsts.size):
        label_scores = scores[firsts[j] : firsts[j] + sizes[j]]
        n = np.int64(0)
        for i in range(label_scores.size):  # Branch-free: always write, advance on a score to keep.
            x = label_scores[i]
            label_scores[n] = x
            n += (x >= low[j]) & (x < high[j])
        sizes[j] = n


@kernel
def mark_between(scores: Scores, low: Scores, high: Scores, marks: Bytes, below: Scores) -> None:
    """Mark the scores in [low, high) of each column, and raise `below` to the highest one under `low`."""
    none = scores.dtype.type(-np.inf)
    # Four rows for each time that bounds are loaded, without a branch: .6 ns a score, of which
    # reading takes .4.
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
    """Write marked scores, many of them, where the label of their column has its places."""
    cells = np.empty(marks.shape[1] + 1, np.int32)
    for i in range(marks.shape[0]):
        # Marks are listed without a branch, .3 to .6 ns a score: a branch would be mispredicted, 5
        # to 10 ns each.
        n = np.int64(0)
        for column in range(marks.shape[1]):
            cells[n] = column
            n += marks[i, column]
        for a in range(n):
            column = cells[a]
            to = place[labels[column]]
            kept[to] = scores[i, column]
            place[labels[column]] = to + 1


@kernel
def collect_few(scores: Scores, words: Words, labels: Ints, place: Ints, kept: Scores) -> None:
    """Do as `collect` does, where few are marked, in words of eight columns: eight cells cost one comparison."""
    cells = np.empty(16 * words.shape[1], np.int32)
    for i in range(words.shape[0]):
        start, end = _marked(words[i], cells)
        for a in range(start, end):
            column = cells[a]
            to = place[labels[column]]
            kept[to] = scores[i, column]
            place[labels[column]] = to + 1


@kernel
def _find_bins(scores: Scores, bits: Dense, bins: Any, places: SmallInts) -> None:
    """Find the bin of each score of a row: `ScoreBins` says what they are. What is no number lies in the first."""
    by_bits, from_score, factor, from_bits, shift, n_bins = bins
    # Loops that are vectorised: .5 ns a score.
    if by_bits:
        top = bits.dtype.type(n_bins - 1)
        for j in range(places.size):
            place = (max(bits[j], from_bits) - from_bits) >> shift
            places[j] = np.int32(min(place, top))
    else:
        none, highest = scores.dtype.type(0), scores.dtype.type(n_bins - 1)
        for j in range(places.size):
            x = (scores[j] - from_score) * factor
            x = x if x > none else none
            places[j] = np.int32(x if x < highest else highest)


@kernel
def count_between_cuts(
    scores: Scores,
    bits: Dense,
    truth: Bytes,
    lists: Ints,
    bins: Any,
    firsts: SmallInts,
    first_step: int,
    cuts: Scores,
    counts: Ints,
) -> None:
    """Add each cell, and 2**32 more if it is true, to the number of its list and of the cuts at or below its score.

    `firsts` has the number of cuts in the bins before each. `counts` are (n_lists, n_cuts + 1).
    """
    places = np.empty(scores.shape[1], np.int32)
    one = np.uint32(1)
    for i in range(scores.shape[0]):
        # 1. Few steps are left from its bin, all of which are taken, in loops without a branch: 3 ns a score in all,
        # where a search that is mispredicted takes 5 to 10.
        _find_bins(scores[i], bits[i], bins, places)
        for j in range(places.size):
            places[j] = firsts[np.uint32(places[j])]
        step = np.uint32(first_step)
        while step > 0:
            for j in range(places.size):
                n = np.uint32(places[j])
                places[j] = n + step * np.uint32(cuts[np.uint32(n + step - one)] <= scores[i, j])
            step >>= one
        # 2. Cells side by side are of different lists: no number waits for the one before.
        for j in range(places.size):
            counts[np.uint32(lists[j]), np.uint32(places[j])] += 1 + (np.int64(truth[i, j]) << 32)


@kernel
def count_in_bins(
    scores: Scores,
    bits: Dense,
    truth: Bytes,
    bins: Any,
    counts: SmallInts,
    lowest: Scores,
    highest: Scores,
) -> None:
    """Count cells, and positives, in their bins, (2, n_bins + 1), those without a score in the last.

    The lowest and the highest score of each column go on falling and rising.
    """
    places = np.empty(scores.shape[1], np.int32)
    masked, nowhere = scores.dtype.type(-np.inf), np.int32(counts.shape[1] - 1)
    for i in range(scores.shape[0]):
        _find_bins(scores[i], bits[i], bins, places)
        for j in range(places.size):
            x = scores[i, j]
            is_score = x > masked
            places[j] = places[j] if is_score else nowhere
            lowest[j] = min(lowest[j], x if is_score else lowest[j])
            highest[j] = max(highest[j], x if is_score else highest[j])
        for j in range(places.size):
            counts[0, np.uint32(places[j])] += 1
        # Positives are listed without a branch: always write, advance on one.
        n = np.uint32(0)
        for j in range(places.size):
            places[n] = places[j]
            n += np.uint32(truth[i, j])
        for a in range(n):
            counts[1, np.uint32(places[a])] += 1


@kernel
def collect_from_bins(
    scores: Scores,
    bits: Dense,
    truth: Bytes,
    bins: Any,
    wanted: Bytes,
    kept: Scores,
    kept_truth: Bytes,
) -> int:
    """Write the scores of cells in wanted bins, (n_bins + 1,), one after another, and their truth; return how many.

    There is room for one more than there are cells.
    """
    places = np.empty(scores.shape[1], np.int32)
    masked, nowhere = scores.dtype.type(-np.inf), np.int32(wanted.size - 1)
    n = np.uint64(0)
    for i in range(scores.shape[0]):
        _find_bins(scores[i], bits[i], bins, places)
        # Branch-free: always write, advance on a score to keep.
        for j in range(places.size):
            x = scores[i, j]
            kept[n] = x
            kept_truth[n] = truth[i, j]
            place = places[j] if x > masked else nowhere
            n += np.uint64(wanted[np.uint32(place)])
    return int(n)


@kernel
def widen_halves(halves: Halves, words: SmallInts, scores: Scores) -> None:
    """Write float16 numbers, given as bits, as float32; `words` and `scores` are the same memory, and may be larger.

    NumPy turns them one by one, six times as slowly.
    """
    for i in range(halves.shape[0]):
        row, word, score = halves[i], words[i], scores[i]
        # Exponents count from another number. That of infinity stays the highest; below the smallest normal number
        # there is no leading 1, which is taken off again.
        for j in range(row.size):
            half = np.int32(row[j])
            exponent = half & _EXPONENT_OF_HALF
            wide = ((half & _SIZE_OF_HALF) << np.int32(13)) + _MORE_EXPONENT
            wide += _MORE_EXPONENT if exponent == _EXPONENT_OF_HALF else np.int32(0)
            wide += _ONE_EXPONENT if exponent == 0 else np.int32(0)
            word[j] = wide
        for j in range(row.size):
            half = np.int32(row[j])
            x = score[j]
            x = x - _SMALLEST_HALF if half & _EXPONENT_OF_HALF == 0 else x
            score[j] = -x if half > _SIZE_OF_HALF else x


@kernel
def code_by_value(scores: Scores, scale: Scores, lowest: Scores, codes: Codes) -> None:
    """Write the whole part of each score's multiple by `scale`, counted from `lowest`, as far as codes go."""
    width = scores.dtype.type(N_CODES - 1)
    # Choices instead of branches: reading and coding take .7 ns a score, reading alone .4.
    for i in range(scores.shape[0]):
        row, code = scores[i], codes[i]
        for j in range(row.size):
            u, low = row[j] * scale[j], lowest[j]
            high = low + width
            u = u if u > low else low  # NaN, too
            u = u if u < high else high
            code[j] = np.int8(np.int32(np.floor(u) - low) + _SMALL_LOWEST_CODE)


@kernel
def code_by_bits(bits: Dense, shift: Dense, lowest: Dense, codes: Codes) -> None:
    """Write the upper bits of how far each score's pattern lies above `lowest`, which is not negative."""
    width = bits.dtype.type(N_CODES - 1)
    for i in range(bits.shape[0]):
        row, code = bits[i], codes[i]
        for j in range(row.size):
            above = bits.dtype.type(max(row[j], lowest[j]) - lowest[j])
            code[j] = np.int8(
                np.int32(min(np.right_shift(above, shift[j]), width)) + _SMALL_LOWEST_CODE
            )


@kernel
def count_codes(codes: Codes, under: Codes, counts: SmallInts) -> None:
    """Count the codes of each column above each of those in `under` (n_cuts, n_columns)."""
    partial = np.empty(under.shape, np.uint8)
    # Eight rows are compared for each time that a counter is loaded, which is a byte for as many
    # rows as it can be: 32 codes a cycle, .016 ns for each score and cut.
    for first in range(0, codes.shape[0], _CODED_ROWS_PER_BYTE):
        partial[:] = 0
        for i in range(first, min(first + _CODED_ROWS_PER_BYTE, codes.shape[0]), 8):
            c0, c1, c2, c3 = codes[i], codes[i + 1], codes[i + 2], codes[i + 3]
            c4, c5, c6, c7 = codes[i + 4], codes[i + 5], codes[i + 6], codes[i + 7]
            for k in range(under.shape[0]):
                cut, count = under[k], partial[k]
                for j in range(cut.size):
                    x, n = cut[j], count[j]
                    n += np.uint8(c0[j] > x)
                    n += np.uint8(c1[j] > x)
                    n += np.uint8(c2[j] > x)
                    n += np.uint8(c3[j] > x)
                    n += np.uint8(c4[j] > x)
                    n += np.uint8(c5[j] > x)
                    n += np.uint8(c6[j] > x)
                    n += np.uint8(c7[j] > x)
                    count[j] = n
        for k in range(under.shape[0]):
            total, count = counts[k], partial[k]
            for j in range(count.size):
                total[j] += count[j]


@kernel
def count_scores(scores: Scores, cuts: Scores, counts: SmallInts) -> None:
    """Count the scores of each column at or above its cuts (n_cuts, n_columns), which may lie anywhere."""
    # Four rows for each time that a cut and its counter are loaded.
    for i in range(0, scores.shape[0], 4):
        s0, s1, s2, s3 = scores[i], scores[i + 1], scores[i + 2], scores[i + 3]
        for k in range(cuts.shape[0]):
            cut, count = cuts[k], counts[k]
            for j in range(scores.shape[1]):
                x, n = cut[j], count[j]
                n += np.int32(s0[j] >= x)
                n += np.int32(s1[j] >= x)
                n += np.int32(s2[j] >= x)
                n += np.int32(s3[j] >= x)
                count[j] = n


@kernel
def weigh_codes(
    codes: Words, truth: Words, weights: Words, shift: int, firsts: Dense, found: Ints
) -> None:
    """Add what each column has from the bins `firsts` (n_columns, n_cuts) on to `found` (n_columns, 3, n_cuts).

    That is the number of scores, what their rows weigh, and the weight of positives. Codes come in words of eight
    columns as truth does; a code lies in the bin as many above 0 as codes are above the lowest, and from bin
    `N_CODES` on there is nothing. `weights` (n_rows,) have 1, and above `shift` bits the weight, or 0 for no row; all
    of them together fit.
    """
    low, one, three = np.uint64(N_CODES - 1), np.uint64(1), np.uint64(3)
    bits = np.uint64(shift)
    ones = (one << bits) - one
    most = np.int64(ones)  # rows that can be counted in so many bits
    bins, true_bins = np.empty(_SIZE_OF_BINS, np.uint64), np.empty(_SIZE_OF_BINS, np.uint64)
    listed = np.empty(min(most, codes.shape[0]) + 1, np.int64)
    for first in range(0, codes.shape[0], most):
        # Slices are read from 0 on, so that no place may be negative, which would be looked at each time.
        own_codes, own_truth = codes[first : first + most], truth[first : first + most]
        own_weights = weights[first : first + most]
        for q in range(truth.shape[1]):
            for b in range(_SIZE_OF_BINS):
                bins[b], true_bins[b] = 0, 0
            # 1. A number and a weight are added at once, to counters of eight labels, which stay in the first-level
            # cache: .4 ns a score, where comparing codes to 32 cuts takes as long for numbers, three times as long for
            # weights. Rows with a positive are listed without a branch.
            n = np.int64(0)
            for i in range(own_codes.shape[0]):
                listed[n] = i
                n += own_truth[i, q] != 0
                w, x = own_weights[i], own_codes[i, q] ^ _FLIPPED
                bins[(x & low) << three] += w
                bins[((x >> _BITS_1) & low) << three | _LABEL_1] += w
                bins[((x >> _BITS_2) & low) << three | _LABEL_2] += w
                bins[((x >> _BITS_3) & low) << three | _LABEL_3] += w
                bins[((x >> _BITS_4) & low) << three | _LABEL_4] += w
                bins[((x >> _BITS_5) & low) << three | _LABEL_5] += w
                bins[((x >> _BITS_6) & low) << three | _LABEL_6] += w
                bins[(x >> _BITS_7) << three | _LABEL_7] += w

            # 2. Eight cells of which one is true, or more: each adds its weight or 0.
            for a in range(n):
                row = np.uint64(listed[a])
                t, w, x = own_truth[row, q], own_weights[row], own_codes[row, q] ^ _FLIPPED
                true_bins[(x & low) << three] += w * (t & one)
                true_bins[((x >> _BITS_1) & low) << three | _LABEL_1] += w * ((t >> _BITS_1) & one)
                true_bins[((x >> _BITS_2) & low) << three | _LABEL_2] += w * ((t >> _BITS_2) & one)
                true_bins[((x >> _BITS_3) & low) << three | _LABEL_3] += w * ((t >> _BITS_3) & one)
                true_bins[((x >> _BITS_4) & low) << three | _LABEL_4] += w * ((t >> _BITS_4) & one)
                true_bins[((x >> _BITS_5) & low) << three | _LABEL_5] += w * ((t >> _BITS_5) & one)
                true_bins[((x >> _BITS_6) & low) << three | _LABEL_6] += w * ((t >> _BITS_6) & one)
                true_bins[(x >> _BITS_7) << three | _LABEL_7] += w * (t >> _BITS_7)

            # 3. Each bin gets what lies above it, too; then those at cuts are taken apart.
            for b in range(8 * N_CODES - 8, -1, -8):
                for k in range(b, b + 8):
                    bins[k] += bins[k + 8]
                    true_bins[k] += true_bins[k + 8]
            for k in range(8):
                label_firsts, of_label = firsts[8 * q + k], found[8 * q + k]
                for c in range(label_firsts.size):
                    at = 8 * np.int64(label_firsts[c]) + k
                    of_label[0, c] += np.int64(bins[at] & ones)
                    of_label[1, c] += np.int64(bins[at] >> bits)
                    of_label[2, c] += np.int64(true_bins[at] >> bits)


@kernel
def collect_rows(
    scores: Scores,
    marks: Bytes,
    truth: Bytes,
    first_row: int,
    place: Ints,
    kept: Scores,
    rows: SmallInts,
) -> None:
    """Do as `collect` does, each column being a label, and write the rows along: of a positive ~row, which is < 0."""
    cells = np.empty(marks.shape[1] + 1, np.int32)
    for i in range(marks.shape[0]):
        n = np.int64(0)
        for label in range(marks.shape[1]):
            cells[n] = label
            n += marks[i, label]
        row = np.int32(first_row + i)
        for a in range(n):
            label = cells[a]
            to = place[label]
            kept[to] = scores[i, label]
            rows[to] = row ^ -np.int32(truth[i, label])
            place[label] = to + 1
