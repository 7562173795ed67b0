"""Decisions from probabilities alone, on a device: what `expectation/` does in host memory.

Rows are taken in blocks, so that intermediate arrays have at most as many cells as `block` says.
Sums are float64 where the device has it.
"""

from functools import lru_cache
from typing import Any

import numpy as np

from thresholds._arrays.dtypes import least_positive, rounded_up
from thresholds._arrays.types import Floats
from thresholds._devices.cells import BLOCK, row_blocks
from thresholds._devices.deciding import mark_highest
from thresholds._devices.namespaces import Array, Namespace, beside, best_float, own, to_host

# Of Gauss-Laguerre quadrature, with beta up to 1, and many above it, as in host memory.
_N_NODES = 32
_N_MANY_NODES = 48

# Sets whose expectations differ by less, relatively, count as equal; without float64, by less than
# so many units in the last place.
_EQUAL = 1e-12
_EQUAL_UNITS = 16
_LARGEST_BETA_SQUARED = 1e30  # without float64; F is that of any larger one


def best_cuts(
    probabilities: Array,
    beta: float,
    pooled: bool,
    *,
    block: int = BLOCK,
) -> tuple[Floats, Floats]:
    """Return the cut F* / (1 + b^2) of each label, or of their pooled counts, and what it counts.

        F / (1 + b^2) = tp / (b^2 positives + predicted)
        tp = sum over p >= cut of p,    positives = sum of p

    takes the place of the cut until that no longer rises (Dinkelbach 1967; docs/proofs.md). Sums
    per label are all that leaves the device.

    Parameters
    ----------
    probabilities : (n_samples, n_labels), checked
    beta : weight of recall against precision
    pooled : one cut, that of the counts added over labels
    block : cells at a time

    Returns
    -------
    cuts : float64 (n_labels,), positive
        +inf for labels whose probabilities are all 0; if pooled only where all are.
    counts : float64 (3, n_labels)
        The expected true positives, predictions and positives at the cuts.
    """
    xp, p = own(probabilities)

    # The first cut is exceeded by all that is not 0, so that its true positives are all positives.
    cuts = np.full(p.shape[1], least_positive(np.dtype(np.float64)))
    tp, predicted = _sums_above(xp, p, cuts, block)
    positives = tp
    while True:
        counts = np.stack([tp, predicted, positives])
        counts[:, positives == 0] = 0.0
        ratio_counts = counts.sum(axis=1, keepdims=True) if pooled else counts
        ratio = _ratio(ratio_counts, beta * beta)
        if not (ratio > cuts).any():
            break
        cuts = np.maximum(cuts, ratio)
        tp, predicted = _sums_above(xp, p, cuts, block)

    is_nothing = (positives == 0).all() if pooled else positives == 0
    return np.where(is_nothing, np.inf, cuts), counts


def best_sets(
    probabilities: Array,
    beta: float,
    zero_division: float,
    *,
    block: int = BLOCK,
) -> tuple[Array, float]:
    """Mark, in each row, the set of highest expected F-beta, if labels are independent.

    The sets of the k highest probabilities are compared, by the integrals of
    `thresholds/_kernels/outcomes.py`. Of sets whose expectations differ by less than 1e-12 (2e-6 on
    a device without float64), relatively, the smallest is taken; of equal probabilities the first
    labels. Zeros are never predicted.

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
    dtype, _ = best_float(xp, p)
    marks = []
    expected = []
    with np.errstate(divide="ignore"):  # of log(0), where something is sure
        for rows in row_blocks(p.shape, block):
            cells = xp.astype(p[rows, :], dtype)
            row_marks, row_expected = best_of_rows(xp, cells, beta, zero_division)
            marks.append(row_marks)
            expected.append(row_expected)
    mean = xp.mean(xp.concat(expected, axis=0))
    return xp.concat(marks, axis=0), float(to_host(xp, mean))


def _sums_above(xp: Namespace, p: Array, cuts: Floats, block: int) -> Floats:
    """Return sum and number (2, n_labels) of what lies at or above the cuts."""
    dtype, host_dtype = best_float(xp, p)
    low = beside(p, xp, rounded_up(cuts, host_dtype))
    sums = []
    for rows in row_blocks(p.shape, block):
        cells = xp.astype(p[rows, :], dtype)
        predicted = xp.astype(cells >= low, dtype)  # 0 or 1
        sums.append(xp.stack([xp.sum(cells * predicted, axis=0), xp.sum(predicted, axis=0)]))

    # Blocks are added up in float64, in host memory.
    return np.asarray(to_host(xp, xp.stack(sums)).sum(axis=0, dtype=np.float64))


def _ratio(counts: Floats, beta_squared: float) -> Floats:
    """Return F / (1 + b^2); 0 where nothing is."""
    tp, predicted, positives = counts
    below = beta_squared * positives + predicted
    return np.asarray(tp / np.where(below > 0, below, 1.0))


def best_of_rows(
    xp: Namespace,
    p: Array,
    beta: float,
    zero_division: float,
    *,
    stepwise: bool = True,
) -> tuple[Array, Array]:
    """Return marks of the best set of each row, and what is expected of it, (n_samples, 1).

    Probabilities are of the dtype that is computed with. Without `stepwise` no operation depends on
    their values, as a graph of operations needs it: each set is compared, also those that cannot be
    the best.
    """
    falling = -xp.sort(-p, axis=1)
    search = SizeSearch(xp, falling, _numbers(xp, falling, falling.shape[1]), beta, zero_division)
    size, expected = _best_sizes(search) if stepwise else _best_sizes_in_all(search)
    is_chosen = _numbers(xp, p, p.shape[1]) <= size
    lowest = xp.min(xp.where(is_chosen, falling, np.inf), axis=1, keepdims=True)  # (n_samples, 1)
    return mark_highest(xp, p, lowest, xp.astype(size, xp.int32)), expected


def _best_sizes(search: "SizeSearch") -> tuple[Array, Array]:
    """Return how many of the falling probabilities of each row to predict, and the expectation.

    Both are (n_samples, 1).
    """
    xp = search.xp
    best, size, done = search.begin()
    while True:
        wanted = search.wanted(best, done)
        width = int(xp.max(xp.where(wanted, search.k, 0.0)))
        if width == 0:
            return size, best
        best, size, done = search.go_on(wanted, width, best, size, done)


def _best_sizes_in_all(search: "SizeSearch") -> tuple[Array, Array]:
    """Return the same by as many steps as any probabilities of so many labels take."""
    n_labels = search.k.shape[1]
    best, size, done = search.begin()
    served = 0
    while served < n_labels:
        served = 3 * (served + 1)  # at least; more where the sum of the probabilities counts
        wanted = search.wanted(best, done)
        best, size, done = search.go_on(wanted, n_labels, best, size, done)
    return size, best


class SizeSearch:
    """The steps of a search for the number of falling probabilities to predict in each row.

    E F of the k highest is at most (1 + B) m / (B m + k), m their sum and B = b^2 (Jensen); that
    falls with k, and ends the search. One scale of the integrals serves until k + B S has trebled.

    A step takes and gives, for each row, (n_samples, 1): the best expectation so far, the size of
    its set, and the size up to which sets are compared.
    """

    def __init__(
        self, xp: Namespace, falling: Array, k: Array, beta: float, zero_division: float
    ) -> None:
        self.xp = xp
        self.falling = falling  # (n_samples, n_labels)
        self.k = k  # (1, n_labels): 1, 2, ..., n_labels
        self.many = beta > 1
        self.zero_division = zero_division
        self.beta_squared = beta * beta
        if falling.dtype == xp.float32:
            self.beta_squared = min(self.beta_squared, _LARGEST_BETA_SQUARED)
        self.nearly = 1.0 + max(_EQUAL, _EQUAL_UNITS * float(xp.finfo(falling.dtype).eps))

        # The bound of each k, (n_samples, n_labels).
        top = xp.cumulative_sum(falling, axis=1)
        self.bound = (1.0 + self.beta_squared) * top / (self.beta_squared * top + k)
        self.reach = self.beta_squared * _centre(xp, falling)

    def begin(self) -> tuple[Array, Array, Array]:
        """Return what a search begins with: the empty set, until another is better."""
        xp = self.xp
        chance_of_none = xp.exp(xp.sum(xp.log1p(-self.falling), axis=1, keepdims=True))
        best = self.zero_division * chance_of_none
        return best, xp.zeros_like(best), xp.zeros_like(best)

    def wanted(self, best: Array, done: Array) -> Array:
        """Mark the sizes that one scale serves, as far as the bound does not rule them out."""
        last = self._last(done)
        is_next = (self.k > done) & (self.k <= last)
        return is_next & (self.falling > 0) & (self.bound >= best)

    def go_on(
        self, wanted: Array, width: Any, best: Array, size: Array, done: Array
    ) -> tuple[Array, Array, Array]:
        """Compare the sets that are wanted, all of them of sizes up to `width`."""
        xp = self.xp
        k = self.k[:, :width]  # (1, width)
        scale = 3.0**0.5 * (done + 1.0 + self.reach)
        f = _expectations(xp, self.falling, k, width, scale, self.beta_squared, self.many)
        f = xp.where(wanted[:, :width], f, 0.0)

        # The smallest of those that are nearly the best, if it beats what was best before.
        highest = xp.max(f, axis=1, keepdims=True)
        nearly_best = xp.where(f * self.nearly >= highest, k, np.inf)
        smallest = xp.min(nearly_best, axis=1, keepdims=True)
        is_better = highest > best * self.nearly
        best = xp.where(is_better, highest, best)
        size = xp.where(is_better, smallest, size)
        return best, size, self._last(done)

    def _last(self, done: Array) -> Array:
        """Return the last size that the scale from `done` on serves."""
        return self.xp.ceil(3.0 * (done + 1.0 + self.reach) - self.reach)


def _expectations(
    xp: Namespace,
    falling: Array,
    k: Array,
    width: Any,
    scale: Array,
    beta_squared: float,
    many: bool,
) -> Array:
    """Return E F of the 1, 2, ..., `width` highest probabilities of each row, (n_samples, width).

    E F = (1 + B) integral of u^(k - 1) G(v) H(v) du,    u = exp(-z / scale),    v = u^B,
    G(v) = product over all labels of (1 - p + p v)
    H(v) = sum over the k highest of p v / (1 - p + p v)

    k is 1, 2, ..., `width`, (1, width). The nodes of a row have one scale, (n_samples, 1).
    """
    tiny = float(xp.finfo(falling.dtype).smallest_normal)
    total = xp.zeros_like(falling[:, :width])
    for z, log_weight in _nodes(many):
        x = z / scale
        v = xp.clip(xp.exp(-beta_squared * x), tiny, 1.0)
        # Without underflow: the product is at least exp(-3.8 z), z at most 173.
        p_v = falling * v
        factors = (1.0 - falling) + p_v
        g = xp.prod(factors, axis=1, keepdims=True)
        h = xp.cumulative_sum((p_v / factors)[:, :width], axis=1)
        total = total + xp.exp(log_weight - x * k) * g * h
    return (1.0 + beta_squared) * total / scale


def _centre(xp: Namespace, p: Array) -> Array:
    """Return the geometric mean of the ends of what S takes, given S > 0, (n_samples, 1)."""
    # The ends lie five standard deviations from the mean.
    mean = xp.sum(p, axis=1, keepdims=True)
    spread = 5.0 * xp.sqrt(xp.sum(p * (1.0 - p), axis=1, keepdims=True))
    one = xp.ones_like(mean)
    low = xp.where(mean - spread > 1, mean - spread, one)
    high = xp.where(mean > 1, mean, one) + spread
    return xp.sqrt(low * high)


def _numbers(xp: Namespace, like: Array, n: int) -> Array:
    """Return 1, 2, ..., n in the dtype of an array, beside it: (1, n)."""
    numbers = np.arange(1, n + 1, dtype=np.int32)[np.newaxis]
    return xp.astype(beside(like, xp, numbers), like.dtype)


@lru_cache(maxsize=2)
def _nodes(many: bool) -> tuple[tuple[float, float], ...]:
    """Return the points z of Gauss-Laguerre quadrature, and log(weight exp(z))."""
    n_nodes = _N_MANY_NODES if many else _N_NODES
    points, weights = np.polynomial.laguerre.laggauss(n_nodes)
    logs = np.log(weights) + points
    return tuple(zip(points.tolist(), logs.tolist(), strict=True))
