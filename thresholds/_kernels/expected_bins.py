"""Loops that add up probabilities by bins of their bits, in whole numbers, so that sums of parts add up exactly.

Each bin has four sums: of what cells weigh, and of what they weigh times the probability, each in two parts of 27
bits. A bin has `sums[label, bin]`, side by side, as a cell adds to all four.
"""

import numpy as np

from thresholds._arrays.types import Dense, Floats, Integers, Ints
from thresholds._kernels._jit import kernel

# Lowest and highest bits, shifts, scales of sums, whether what is below all bins is added.
Bins = tuple[Ints, Ints, Ints, Floats, bool]


@kernel
def _add(
    x: float,
    b: np.int64,
    j: np.int64,
    weight: float,
    coarse: int,
    fine: int,
    bins: Bins,
    sums: Dense,
) -> None:
    """Add a cell to its bin: bin 0 has what lies below `low`, the last one reaches to `high`."""
    low, high, shifts, scales, with_below = bins
    if b >= high[j]:
        return
    if b < low[j]:
        if not with_below:
            return
        place = 0
    else:
        place = min(1 + ((b - low[j]) >> shifts[j]), sums.shape[1] - 1)
    whole = int(np.rint(weight * x * scales[j, place]))  # below 2^55
    of_bin = sums[j, place]
    of_bin[0] += coarse
    of_bin[1] += fine
    of_bin[2] += whole >> 27
    of_bin[3] += whole & 0x7FFFFFF


@kernel
def bin_rows(
    p: Dense,
    bits: Integers,
    weights: Floats,
    coarse: Ints,
    fine: Ints,
    low: Ints,
    high: Ints,
    shifts: Ints,
    scales: Floats,
    with_below: bool,
    sums: Dense,
) -> None:
    """Add dense rows; `coarse` and `fine` are the parts of the weights of rows."""
    bins = low, high, shifts, scales, with_below
    for i in range(p.shape[0]):
        for j in range(p.shape[1]):
            x = p[i, j]
            if x > 0 and weights[i] > 0:
                b = np.int64(bits[i, j])
                _add(x, b, np.int64(j), weights[i], coarse[i], fine[i], bins, sums)


@kernel
def bin_sparse_rows(
    starts: Dense,
    labels: Dense,
    p: Dense,
    bits: Integers,
    weights: Floats,
    coarse: Ints,
    fine: Ints,
    low: Ints,
    high: Ints,
    shifts: Ints,
    scales: Floats,
    with_below: bool,
    sums: Dense,
) -> None:
    """Add the stored entries of CSR rows; all else as in `bin_rows`."""
    bins = low, high, shifts, scales, with_below
    for i in range(weights.size):
        for k in range(starts[i], starts[i + 1]):
            x = p[k]
            if x > 0 and weights[i] > 0:
                b = np.int64(bits[k])
                _add(x, b, np.int64(labels[k]), weights[i], coarse[i], fine[i], bins, sums)
