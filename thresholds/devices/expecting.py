"""Decisions from probabilities alone, on a device: what `expected_counts` and `expectation` do in host memory.

Rows are taken in blocks, so that intermediate arrays have at most as many cells as `block` says. Sums are float64 where
the device has it.
"""

from functools import lru_cache

import numpy as np

from thresholds._arrays.dtypes import rounded_up
from thresholds._arrays.types import Floats
from thresholds.devices.cells import BLOCK, row_blocks
from thresholds.devices.deciding import mark_highest
from thresholds.devices.namespaces import Array, Namespace, beside, best_float, own, to_host

_LEAST = np.finfo(np.float64).smallest_subnormal
_N_NODES = (32, 48)  # of Gauss-Laguerre quadrature, with beta up to 1 and above, as in host memory
_EQUAL = 1e-12  # Sets whose expectations differ by less, relatively, count as equal,
_ROUNDINGS = 16  # or by less than so many units in the last place, without float64.
_LARGEST = 1e30  # for beta^2 without float64: F is that of any larger one.


def best_cuts(probabilities: Array, beta: float, pooled: bool, *, block: int = BLOCK) -> tuple[Floats, Floats]:
    """Return the cut F* / (1 + b^2) of each label, or that of their pooled counts, and what it counts.

        F / (1 + b^2) = tp / (b^2 positives + predicted),    tp = sum over p >= cut of p,    positives = sum of p

    takes the place of the cut until that no longer rises (Dinkelbach 1967; docs/proofs.md). Sums per label are
    all that leaves the device.

    Parameters
    ----------
    probabilities : (n_samples, n_labels), checked
    beta : weight of recall against precision
    pooled : one cut, that of the counts added over labels
    block : cells at a time

    Returns
    -------
    cuts : float64 (n_labels,), positive; +inf for labels whose probabilities are all 0, if pooled only where all are
    counts : float64 (3, n_labels), the expected true positives, predictions and positives at the cuts
    """
    xp, p = own(probabilities)
    cuts, positives = np.full(p.shape[1], _LEAST), None
    while True:
        tp, predicted = _sums_above(xp, p, cuts, block)
        positives = tp if positives is None else positives  # The first cut is exceeded by all that is not 0.
        counts = np.stack([tp, predicted, positives])
        counts[:, positives == 0] = 0.0
        reached = _ratio(counts.sum(axis=1, keepdims=True) if pooled else counts, beta * beta)
        if not (reached > cuts).any():
            nothing = (positives == 0).all() if pooled else positives == 0
            return np.where(nothing, np.inf, cuts), counts
        cuts = np.maximum(cuts, reached)


def best_sets(probabilities: Array, beta: float, zero_division: float, *, block: int = BLOCK) -> tuple[Array, float]:
    """Mark, in each row, the set with the highest exact expectation of F-beta, if labels are independent.

    The sets of the k highest probabilities are compared, by the integrals of `thresholds/_kernels/outcomes.py`. Of
    sets whose expectations differ by less than 1e-12 (2e-6 on a device without float64), relatively, the smallest is
    taken; of equal probabilities the first labels. Zeros are never predicted.

    Parameters
    ----------
    probabilities : (n_samples, n_labels), checked
    beta : weight of recall against precision
    zero_division : 0.0 or 1.0, the F of a row with neither positives nor predictions
    block : cells at a time

    Returns
    -------
    marks : uint8 (n_samples, n_labels), on the device of the probabilities
    expected : the mean of the sets' expectations
    """
    xp, p = own(probabilities)
    dtype = best_float(xp, p)[0]
    blocks = (xp.astype(p[rows, :], dtype) for rows in row_blocks(p.shape, block))
    with np.errstate(divide="ignore"):  # Of log(0), where something is sure
        parts = [_best_of_rows(xp, cells, beta, zero_division) for cells in blocks]
    marks, expected = (xp.concat(list(of_all), axis=0) for of_all in zip(*parts, strict=True))
    return marks, float(to_host(xp, xp.mean(expected)))


def _sums_above(xp: Namespace, p: Array, cuts: Floats, block: int) -> Floats:
    """Return sum and number of what lies at or above the cuts, (2, n_labels); blocks are added up in float64."""
    dtype, in_numpy = best_float(xp, p)
    low, parts = beside(p, xp, rounded_up(cuts, in_numpy)), []
    for rows in row_blocks(p.shape, block):
        cells = xp.astype(p[rows, :], dtype)
        kept = xp.astype(cells >= low, dtype)
        parts.append(xp.stack([xp.sum(cells * kept, axis=0), xp.sum(kept, axis=0)]))
    return np.asarray(to_host(xp, xp.stack(parts)).sum(axis=0, dtype=np.float64))


def _ratio(counts: Floats, beta_squared: float) -> Floats:
    """Return F / (1 + b^2); 0 where nothing is."""
    tp, predicted, positives = counts
    below = beta_squared * positives + predicted
    return np.asarray(tp / np.where(below > 0, below, 1.0))


def _best_of_rows(xp: Namespace, p: Array, beta: float, zero_division: float) -> tuple[Array, Array]:
    """Mark the best set of each row, and give what is expected of it, (n_samples, 1)."""
    falling = -xp.sort(-p, axis=1)
    size, expected = _best_sizes(xp, falling, beta, zero_division)
    lowest = xp.min(xp.where(_numbers(xp, p, p.shape[1]) <= size, falling, np.inf), axis=1, keepdims=True)
    return mark_highest(xp, p, lowest, xp.astype(size, xp.int32)), expected


def _best_sizes(xp: Namespace, falling: Array, beta: float, zero_division: float) -> tuple[Array, Array]:
    """Give, for each row of falling probabilities, how many of them to predict, and the expectation, (n_samples, 1).

    E F of the k highest is at most (1 + B) m / (B m + k), m their sum and B = b^2 (Jensen); that falls with k, and ends
    the search. One scale of the integrals serves until k + B S has trebled.
    """
    few = falling.dtype == xp.float32
    squared = min(beta * beta, _LARGEST) if few else beta * beta
    nearly = 1.0 + max(_EQUAL, _ROUNDINGS * float(xp.finfo(falling.dtype).eps))
    k, top = _numbers(xp, falling, falling.shape[1]), xp.cumulative_sum(falling, axis=1)
    bound = (1.0 + squared) * top / (squared * top + k)
    reach = squared * _centre(xp, falling)
    best = zero_division * xp.exp(xp.sum(xp.log1p(-falling), axis=1, keepdims=True))
    size, done = xp.zeros_like(best), xp.zeros_like(best)
    while True:
        last = xp.ceil(3.0 * (done + 1.0 + reach) - reach)
        wanted = (k > done) & (k <= last) & (falling > 0) & (bound >= best)
        width = int(xp.max(xp.where(wanted, k, 0.0)))
        if width == 0:
            return size, best
        scale = 3.0**0.5 * (done + 1.0 + reach)
        f = xp.where(wanted[:, :width], _expectations(xp, falling, width, scale, squared, beta > 1), 0.0)
        highest = xp.max(f, axis=1, keepdims=True)
        smallest = xp.min(xp.where(f * nearly >= highest, k[:width], np.inf), axis=1, keepdims=True)
        better = highest > best * nearly
        best, size = xp.where(better, highest, best), xp.where(better, smallest, size)
        done = last


def _expectations(xp: Namespace, falling: Array, width: int, scale: Array, beta_squared: float, many: bool) -> Array:
    """Return E F of the 1, 2, ..., `width` highest probabilities of each row, with nodes of one scale each.

    E F = (1 + B) integral of u^(k - 1) G(v) H(v) du,    u = exp(-z / scale),    v = u^B,
    G(v) = product over all labels of (1 - p + p v),    H(v) = sum over the k highest of p v / (1 - p + p v)
    """
    k, tiny = _numbers(xp, falling, width), float(xp.finfo(falling.dtype).smallest_normal)
    total = xp.zeros_like(falling[:, :width])
    for z, log_weight in _nodes(many):
        x = z / scale
        v = xp.clip(xp.exp(-beta_squared * x), tiny, 1.0)
        hit = falling * v
        factors = (1.0 - falling) + hit  # Without underflow: their product is at least exp(-3.8 z), z at most 173.
        g = xp.prod(factors, axis=1, keepdims=True)
        h = xp.cumulative_sum((hit / factors)[:, :width], axis=1)
        total = total + xp.exp(log_weight - x * k) * g * h
    return (1.0 + beta_squared) * total / scale


def _centre(xp: Namespace, p: Array) -> Array:
    """Return the geometric mean of the ends of what S takes, given S > 0: five standard deviations from its mean."""
    mean = xp.sum(p, axis=1, keepdims=True)
    spread = 5.0 * xp.sqrt(xp.sum(p * (1.0 - p), axis=1, keepdims=True))
    least = xp.ones_like(mean)
    return xp.sqrt(xp.where(mean - spread > 1, mean - spread, least) * (xp.where(mean > 1, mean, least) + spread))


def _numbers(xp: Namespace, like: Array, n: int) -> Array:
    """Return 1, 2, ..., n in the dtype of an array, beside it."""
    return xp.astype(beside(like, xp, np.arange(1, n + 1, dtype=np.int32)), like.dtype)


@lru_cache(maxsize=2)
def _nodes(many: bool) -> tuple[tuple[float, float], ...]:
    """Return the points z of Gauss-Laguerre quadrature, and log(weight exp(z))."""
    points, weights = np.polynomial.laguerre.laggauss(_N_NODES[many])
    logs = np.log(weights) + points
    return tuple(zip(points.tolist(), logs.tolist(), strict=True))
