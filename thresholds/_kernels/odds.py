"""Loops that see scores through bins of about 3 % each, so that sums over the highest cells need no sort.

A bin holds the float32 values of one sign, exponent and first five bits of the mantissa: its number is read off the
score, without a logarithm. Probabilities are folded at 1/2, so that bins are as fine towards 1 as towards 0, and start
at 1e-6.
"""

from typing import Any

import numpy as np
import numpy.typing as npt

from thresholds._kernels._jit import kernel

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
Scores = npt.NDArray[Any]  # float32 or float64
Hits = npt.NDArray[Any]  # uint8, or int64 in the unit of the weights

SHIFT = 18
LEAST = 1e-6
LOWEST = int(np.float32(LEAST).view(np.uint32)) >> SHIFT
SIDE = (int(np.float32(0.5).view(np.uint32)) >> SHIFT) - LOWEST + 1  # bins from LEAST to 1/2
MARGIN_BINS = 1 << (32 - SHIFT)

_LARGEST = float(np.finfo(np.float32).max)
_SIGN = np.uint32(1 << 31)


@kernel
def bin_of(score: float, probable: bool) -> np.int64:
    """Give the bin of a probability, of 2 `SIDE`, or of a margin, of `MARGIN_BINS`."""
    if probable:
        up = np.int64(np.float32(max(min(score, 1.0 - score), LEAST)).view(np.uint32) >> np.uint32(SHIFT)) - LOWEST
        return 2 * SIDE - 1 - up if score > 0.5 else up
    bits = np.float32(max(min(score, _LARGEST), -_LARGEST) + 0.0).view(np.uint32)  # -0.0 becomes 0.0.
    return np.int64((~bits if bits & _SIGN else bits ^ _SIGN) >> np.uint32(SHIFT))


@kernel
def count_bins(
    scores: Scores, hits: Hits, weights: Ints, missing: float, probable: bool, total: Ints, positive: Ints
) -> None:
    """Add cells up by bin, those that are `missing` in the last; cells of score -inf do not count.

    No weights at all (an empty array) stand for ones, and no hits for none.
    """
    for i in range(scores.size):
        score = np.float64(scores[i])
        if score == -np.inf:
            continue
        at = total.size - 1 if score == missing else bin_of(score, probable)
        total[at] += 1 if weights.size == 0 else weights[i]
        if hits.size > 0 and hits[i] > 0:
            positive[at] += hits[i]


@kernel
def expected_f_at_ratios(
    starts: Ints,
    scores: Scores,
    weights: Ints,
    missing: float,
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
    place = bin_of(missing, probable) if missing > -np.inf else 0
    for k in range(n_bins + 1):
        b = n_bins - 1 - k
        order[k] = b if b >= place else (n_bins if b == place - 1 else b + 1)
    counts, unused = np.empty(n_bins + 1, np.int64), np.empty(0, np.int64)
    no_hits = np.empty(0, np.uint8)
    for j in range(n_labels):
        if positives[j] == 0:
            continue
        first, last = starts[j], starts[j + 1]
        own = weights if weights.size == 0 else weights[first:last]
        counts[:] = 0
        count_bins(scores[first:last], no_hits, own, missing, probable, counts, unused)
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
