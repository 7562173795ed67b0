"""Loops over scores in 8 bits: of these, 32 are compared at once, where a register holds eight floats.

With 32 cuts that is 1.5 ns a score and thread, half of it for reading; comparing floats with 16 took as long.
"""

from typing import Any

import numpy as np
import numpy.typing as npt

from thresholds._kernels._jit import kernel

Scores = npt.NDArray[Any]  # float32 or float64
Bits = npt.NDArray[Any]  # int32 or int64
Codes = npt.NDArray[np.int8]
Counts = npt.NDArray[np.int32]

LOWEST_CODE, N_CODES = -128, 256

_ROWS_BEFORE_OVERFLOW = 248
_WIDTH = np.int32(N_CODES - 1)
_SHIFT = np.int32(LOWEST_CODE)


@kernel
def code_by_value(scores: Scores, scale: Scores, lowest: Scores, codes: Codes) -> None:
    """Give each score of a lane the whole part of its multiple by `scale`, as far as codes from `lowest` on go."""
    width = scores.dtype.type(N_CODES - 1)
    for i in range(scores.shape[0]):
        row, code = scores[i], codes[i]
        for j in range(row.size):
            u, low = row[j] * scale[j], lowest[j]
            high = low + width
            u = u if u > low else low  # NaN, too
            u = u if u < high else high
            code[j] = np.int8(np.int32(np.floor(u) - low) + _SHIFT)


@kernel
def code_by_bits(bits: Bits, shift: Bits, lowest: Bits, codes: Codes) -> None:
    """Give each score of a lane the upper bits of how far its pattern lies above `lowest`, which is not negative."""
    width = bits.dtype.type(N_CODES - 1)
    for i in range(bits.shape[0]):
        row, code = bits[i], codes[i]
        for j in range(row.size):
            above = bits.dtype.type(max(row[j], lowest[j]) - lowest[j])
            code[j] = np.int8(np.int32(min(np.right_shift(above, shift[j]), width)) + _SHIFT)


@kernel
def count_codes(codes: Codes, under: Codes, counts: Counts) -> None:
    """Count the codes of each lane above each of those in `under` (n_cuts, n_lanes).

    Eight rows are compared for each time that a counter is loaded, which is a byte for as many rows as it can be.
    """
    partial = np.empty(under.shape, np.uint8)
    for first in range(0, codes.shape[0], _ROWS_BEFORE_OVERFLOW):
        partial[:] = 0
        for i in range(first, min(first + _ROWS_BEFORE_OVERFLOW, codes.shape[0]), 8):
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
