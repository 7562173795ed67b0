"""Loops that sweep the sorted scores of many labels, or rows, at once: one cut shared by all.

Items come as keys sorted upwards, each with the row of `hits` and `weights` where it was.
"""

from typing import Any

import numpy as np
import numpy.typing as npt

from thresholds._kernels._jit import kernel

Keys = npt.NDArray[Any]  # uint32 or uint64
Rows = npt.NDArray[np.int32]
Ints = npt.NDArray[np.int64]


@kernel
def pooled_counts(grid: Keys, up: Keys, row: Rows, weights: Ints) -> Ints:
    """Give the weight of the items in `[grid[k], grid[k + 1])`, for a grid that increases."""
    counts = np.zeros(grid.size, np.int64)
    k = grid.size - 1
    for i in range(up.size - 1, -1, -1):
        while k >= 0 and grid[k] > up[i]:
            k -= 1
        if k < 0:
            break
        counts[k] += weights[row[i]]
    return counts


@kernel
def pooled_gains(
    grid: Keys,
    up: Keys,
    row: Rows,
    starts: Ints,
    hits: Ints,
    weights: Ints,
    positives: Ints,
    shares: npt.NDArray[np.float64],
    beta_squared: float,
    zero_division: float,
    unit: float,
) -> Ints:
    """Give the change of the mean F-beta over groups as the shared cut falls to `grid[k]`, in multiples of 1/unit.

    A group (a label, or an instance) is the items `starts[g]:starts[g + 1]`; its F-beta enters with `shares[g]`.
    Each group's F is rounded to an integer once, so that differences telescope and their sums are exact.
    """
    gains = np.zeros(grid.size, np.int64)
    n_groups = starts.size - 1
    group = np.empty(up.size, np.int32)
    tp, predicted = np.zeros(n_groups, np.int64), np.zeros(n_groups, np.int64)
    now = np.zeros(n_groups, np.int64)
    for g in range(n_groups):
        group[starts[g] : starts[g + 1]] = g
        if positives[g] == 0:
            now[g] = np.int64(np.rint(shares[g] * zero_division * unit))
    k = grid.size - 1
    for i in range(up.size - 1, -1, -1):
        while k >= 0 and grid[k] > up[i]:
            k -= 1
        if k < 0:
            break
        if weights[row[i]] == 0:
            continue
        g = group[row[i]]
        tp[g] += hits[row[i]]
        predicted[g] += weights[row[i]]
        f = (1.0 + beta_squared) * tp[g] / (beta_squared * positives[g] + predicted[g])
        after = np.int64(np.rint(shares[g] * f * unit))
        gains[k] += after - now[g]
        now[g] = after
    return gains
