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
    Integers,
    Ints,
    Scores,
    SmallInts,
    Words,
)
from thresholds._kernels._jit import kernel

ROWS_AT_ONCE = 16  # Blocks have a multiple of so many rows.
LOWEST_CODE = -128
N_CODES = 256

MOST_PORTION = 2**16 // 8 - 1  # of the weight of a row: those of eight rows fit into 16 bits

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
_MOST_OF_16_BITS = 2**16 - 1


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
def weigh_codes(codes: Codes, under: Codes, rows: Ints, portions: Integers, sums: Ints) -> None:
    """Add up, for each column, portions of the weights of rows whose codes lie above each of those in `under`.

    A row that weighs much is listed more than once: no portion exceeds `MOST_PORTION`. There are a multiple of
    `ROWS_AT_ONCE` of them, and sums are (n_cuts, n_columns).
    """
    partial = np.zeros(under.shape, np.uint16)
    none = np.uint16(0)
    # Codes are compared as bytes, portions added in 16 bits, for as many rows as these can hold: that takes a third
    # longer than to count.
    held = np.int64(0)
    for first in range(0, rows.size, 8):
        added = np.int64(0)
        for i in range(first, first + 8):
            added += portions[i]
        if held + added > _MOST_OF_16_BITS:
            _add_and_clear(partial, sums)
            held = np.int64(0)
        held += added
        r0, r1, r2, r3 = rows[first], rows[first + 1], rows[first + 2], rows[first + 3]
        r4, r5, r6, r7 = rows[first + 4], rows[first + 5], rows[first + 6], rows[first + 7]
        c0, c1, c2, c3 = codes[r0], codes[r1], codes[r2], codes[r3]
        c4, c5, c6, c7 = codes[r4], codes[r5], codes[r6], codes[r7]
        own = portions[first : first + 8]
        w0, w1, w2, w3 = own[0], own[1], own[2], own[3]
        w4, w5, w6, w7 = own[4], own[5], own[6], own[7]
        for k in range(under.shape[0]):
            cut, total = under[k], partial[k]
            for j in range(cut.size):
                x, n = cut[j], total[j]
                n += w0 if c0[j] > x else none
                n += w1 if c1[j] > x else none
                n += w2 if c2[j] > x else none
                n += w3 if c3[j] > x else none
                n += w4 if c4[j] > x else none
                n += w5 if c5[j] > x else none
                n += w6 if c6[j] > x else none
                n += w7 if c7[j] > x else none
                total[j] = n
    _add_and_clear(partial, sums)


@kernel
def _add_and_clear(partial: Integers, sums: Ints) -> None:
    """Add what short counters hold to `sums`, and empty them."""
    for k in range(partial.shape[0]):
        short, total = partial[k], sums[k]
        for j in range(short.size):
            total[j] += short[j]
            short[j] = 0


@kernel
def weigh_lists_at_cuts(
    firsts: Ints, sizes: Ints, scores: Scores, weights: Ints, cuts: Scores, sums: Ints
) -> None:
    """Add up the weights of each label's scores at or above each of its cuts (n_cuts, n_labels)."""
    for j in range(firsts.size):
        label_scores = scores[firsts[j] : firsts[j] + sizes[j]]
        label_weights = weights[firsts[j] : firsts[j] + sizes[j]]
        for k in range(cuts.shape[0]):
            cut, n = cuts[k, j], np.int64(0)
            for i in range(label_scores.size):
                n += label_weights[i] if label_scores[i] >= cut else np.int64(0)
            sums[k, j] = n


@kernel
def mark_and_weigh(
    scores: Scores,
    low: Scores,
    high: Scores,
    weights: Ints,
    marks: Bytes,
    below: Scores,
    above: Ints,
) -> None:
    """Do as `mark_between` does, for rows that weigh anything, and add what weighs at or above `high` to `above`."""
    none = scores.dtype.type(-np.inf)
    for i in range(0, scores.shape[0], 4):
        s0, s1, s2, s3 = scores[i], scores[i + 1], scores[i + 2], scores[i + 3]
        m0, m1, m2, m3 = marks[i], marks[i + 1], marks[i + 2], marks[i + 3]
        w0, w1, w2, w3 = weights[i], weights[i + 1], weights[i + 2], weights[i + 3]
        p0, p1, p2, p3 = w0 > 0, w1 > 0, w2 > 0, w3 > 0
        for j in range(scores.shape[1]):
            m0[j] = np.uint8((s0[j] >= low[j]) & (s0[j] < high[j]) & p0)
            m1[j] = np.uint8((s1[j] >= low[j]) & (s1[j] < high[j]) & p1)
            m2[j] = np.uint8((s2[j] >= low[j]) & (s2[j] < high[j]) & p2)
            m3[j] = np.uint8((s3[j] >= low[j]) & (s3[j] < high[j]) & p3)
        for j in range(scores.shape[1]):
            x, highest = low[j], below[j]
            highest = max(highest, s0[j] if (s0[j] < x) & p0 else none)
            highest = max(highest, s1[j] if (s1[j] < x) & p1 else none)
            highest = max(highest, s2[j] if (s2[j] < x) & p2 else none)
            highest = max(highest, s3[j] if (s3[j] < x) & p3 else none)
            below[j] = highest
        for j in range(scores.shape[1]):
            x, weight = high[j], above[j]
            weight += w0 if s0[j] >= x else np.int64(0)
            weight += w1 if s1[j] >= x else np.int64(0)
            weight += w2 if s2[j] >= x else np.int64(0)
            weight += w3 if s3[j] >= x else np.int64(0)
            above[j] = weight


@kernel
def collect_with_rows(
    scores: Scores,
    words: Words,
    first_row: int,
    place: Ints,
    kept: Scores,
    rows: SmallInts,
) -> None:
    """Do as `collect_few` does, each column being a label, and write the rows along with the scores."""
    cells = np.empty(16 * words.shape[1], np.int32)
    for i in range(words.shape[0]):
        start, end = _marked(words[i], cells)
        for a in range(start, end):
            label = cells[a]
            to = place[label]
            kept[to] = scores[i, label]
            rows[to] = first_row + i
            place[label] = to + 1
