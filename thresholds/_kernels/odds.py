"""Loops that see scores through bins of about 3 % each, so that sums over the highest cells need no sort.

Scores come as keys of float32 (`keys.py`). A bin holds the values of one sign, exponent and first five bits of the
mantissa: its number is read off the key, in .3 ns for margins, where a logarithm takes ten times as long. Probabilities
are folded at 1/2, so that bins are as fine towards 1 as towards 0, and start at 1e-6.
"""

from typing import Any

import numpy as np
import numpy.typing as npt

from thresholds._kernels._jit import kernel

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
Keys = npt.NDArray[np.uint32]
Hits = npt.NDArray[Any]  # weights, or what of them is positive: int64, or uint8 for ones

SHIFT = 18
LEAST = 1e-6
LOWEST = int(np.float32(LEAST).view(np.uint32)) >> SHIFT
SIDE = (int(np.float32(0.5).view(np.uint32)) >> SHIFT) - LOWEST + 1  # bins from LEAST to 1/2
MARGIN_BINS = 1 << (32 - SHIFT)

_SHIFT, _SIGN = np.uint32(SHIFT), np.uint32(1 << 31)


@kernel
def bin_of(key: np.uint32, probable: bool) -> np.int64:
    """Give the bin of a probability, of 2 `SIDE`, or of a margin, of `MARGIN_BINS`."""
    if not probable:
        return np.int64(key >> _SHIFT)
    p = np.float64(np.uint32(key ^ _SIGN if key & _SIGN else ~key).view(np.float32))
    up = np.int64(np.float32(max(min(p, 1.0 - p), LEAST)).view(np.uint32) >> _SHIFT) - LOWEST
    return 2 * SIDE - 1 - up if p > 0.5 else up


@kernel
def _weight_at(keys: Keys, weights: Hits, key: np.uint32) -> np.int64:
    """Add up the weights of one key; a loop of its own is vectorised."""
    total = np.int64(0)
    if weights.size == 0:
        for i in range(keys.size):
            total += keys[i] == key
    else:
        for i in range(keys.size):
            if keys[i] == key:
                total += weights[i]
    return total


@kernel
def count_bins(keys: Keys, weights: Hits, missing: np.uint32, masked: np.uint32, probable: bool, total: Ints) -> None:
    """Add weights up by bin, those of cells that are `missing` in the last; `masked` cells do not count.

    No weights at all (an empty array) stand for ones.
    """
    if weights.size == 0:
        for i in range(keys.size):
            total[bin_of(keys[i], probable)] += 1
    else:
        for i in range(keys.size):
            if weights[i] > 0:
                total[bin_of(keys[i], probable)] += weights[i]
    of_missing, of_masked = _weight_at(keys, weights, missing), _weight_at(keys, weights, masked)
    total[bin_of(masked, probable)] -= of_masked
    if missing != masked:
        total[bin_of(missing, probable)] -= of_missing
        total[total.size - 1] += of_missing


@kernel
def expected_f_at_ratios(
    starts: Ints,
    keys: Keys,
    weights: Ints,
    missing: np.uint32,
    masked: np.uint32,
    probable: bool,
    p: Floats,
    positives: Ints,
    ratios: Floats,
    beta_squared: float,
) -> Floats:
    """Give F-beta of expected counts of each label when `ratios` times its positives are predicted.

    `p` has the probability of each bin and, last, of what is `missing`, which ranks just below its own bin.
    """
    n_labels, n_bins = starts.size - 1, p.size - 1
    f = np.zeros((n_labels, ratios.size))
    order = np.empty(n_bins + 1, np.int64)
    place = bin_of(missing, probable)
    for k in range(n_bins + 1):
        b = n_bins - 1 - k
        order[k] = b if b >= place else (n_bins if b == place - 1 else b + 1)
    counts = np.empty(n_bins + 1, np.int64)
    for j in range(n_labels):
        if positives[j] == 0:
            continue
        first, last = starts[j], starts[j + 1]
        own = weights if weights.size == 0 else weights[first:last]
        counts[:] = 0
        count_bins(keys[first:last], own, missing, masked, probable, counts)
        most, everything = np.int64(last - first), 0.0
        if own.size > 0:
            most = own.sum()
        for b in range(n_bins + 1):
            everything += counts[b] * p[b]
        k, before, found = 0, np.int64(0), 0.0
        for g in range(ratios.size):
            wanted = min(ratios[g] * positives[j], float(most))
            while k <= n_bins and before + counts[order[k]] < wanted:
                before += counts[order[k]]
                found += counts[order[k]] * p[order[k]]
                k += 1
            hits = found if k > n_bins else found + (wanted - before) * p[order[k]]
            denominator = beta_squared * everything + wanted
            if denominator > 0:
                f[j, g] = (1.0 + beta_squared) * hits / denominator
    return f
