"""What tests of many labels have in common: tails, two counts compared, and which hypotheses fall."""

import math

import numpy as np
import numpy.typing as npt

from thresholds._arrays.types import Floats, Numbers

# The approximate p-value of two counts is at least .69 of the exact one; tests hold it to that.
_TO_BOUND = 1.5

_erfc = np.vectorize(math.erfc, otypes=[np.float64])


def rejected(p: Floats, alpha: float) -> npt.NDArray[np.bool_]:
    """Reject with a false discovery rate of at most `alpha` (Benjamini & Hochberg 1995); never where p is NaN."""
    marks = np.zeros(p.size, np.bool_)
    order = np.argsort(p)[: np.count_nonzero(~np.isnan(p))]
    # The k-th smallest p-value is compared with its share of alpha; all up to the last that is small enough fall.
    k = np.arange(1, order.size + 1)
    small_enough = np.flatnonzero(p[order] <= alpha * k / max(order.size, 1))
    if small_enough.size:
        marks[order[: small_enough[-1] + 1]] = True
    return marks


def effective_rows(weights: Numbers) -> float:
    """Return how many rows of equal weight tell as much as rows of these weights: (sum w)^2 / sum w^2.

    Kish 1965, "Survey Sampling", section 11.2. Weights are not all 0; shares of them do not overflow.
    """
    shares = np.asarray(weights, np.float64) / np.sum(weights, dtype=np.float64)
    return float(1 / np.square(shares).sum())


def p_of_z(z: Floats) -> Floats:
    """Return the upper tail of the normal distribution, without SciPy."""
    return np.asarray(_erfc(z / math.sqrt(2)) / 2)


def z_of_more(
    before: Numbers, n_before: Numbers | int, now: Numbers, n_now: Numbers | int
) -> Floats:
    """Return how clearly `now` of `n_now` rows is a larger share than `before` of `n_before`: a normal deviate, or 0.

    It is the signed root of the likelihood ratio of two binomials with half a row moved to either side, as Yates 1934
    moves it for Pearson's statistic:

        z^2 / 2 = n_before KL(a / n_before, q) + n_now KL(x / n_now, q),    q = (a + x) / (n_before + n_now),
        a = before + 1/2,    x = now - 1/2.

    1.5 times its normal tail is at least the p-value of Fisher's exact test, also for counts of 0. That test is also
    right for thresholds that lie just above the k-th score of the rows before, as those of fits do: how many new scores
    lie above is then hypergeometric, too. Numbers of rows may be arrays, and 0: then z is 0.
    """
    a = np.minimum(before + 0.5, n_before)
    x = np.maximum(now - 0.5, 0.0)
    # Of very many labels most have no more, mostly as they are not there at all: logarithms are for the others.
    with np.errstate(invalid="ignore"):
        is_more = np.asarray(x * n_before > a * n_now)
    z = np.zeros(is_more.shape)
    a, x, n_before, n_now = (
        np.broadcast_to(value, is_more.shape)[is_more] for value in (a, x, n_before, n_now)
    )
    with np.errstate(divide="ignore", invalid="ignore"):
        q = (a + x) / (n_before + n_now)
        half_square = _divergence(a, n_before, q) + _divergence(x, n_now, q)
    z[is_more] = np.sqrt(2 * np.maximum(half_square, 0))
    return z


def p_of_best(z: Floats, n_tests: int) -> Floats:
    """Return the p-value of the largest of so many deviates of `z_of_more` (Bonferroni)."""
    return np.minimum(n_tests * _TO_BOUND * p_of_z(z), 1.0)


def p_of_means(
    before: tuple[float, float], n_before: int, now: tuple[float, float], n_now: int
) -> float:
    """Test that two means are equal, each given with its standard deviation, two-sided.

    Welch's statistic, its Student's t turned into a normal deviate with the degrees of freedom of the smaller sample
    (Wallace 1959, in short: t (1 - 1 / (4 v)) / sqrt(1 + t^2 / (2 v))).
    """
    freedom = max(min(n_before, n_now) - 1, 1)
    variance = before[1] ** 2 / n_before + now[1] ** 2 / n_now
    difference = abs(now[0] - before[0])
    if variance == 0:
        return 1.0 if difference == 0 else 0.0
    t = difference / math.sqrt(variance)
    z = t * (1 - 1 / (4 * freedom)) / math.sqrt(1 + t * t / (2 * freedom))
    return math.erfc(z / math.sqrt(2))


def _divergence(count: Floats, n: Numbers | int, q: Floats) -> Floats:
    """Return n times the Kullback-Leibler divergence of the share count / n from q; 0 log 0 is 0."""
    rest = n - count
    hits = np.where(count > 0, count * np.log(count / (n * q)), 0.0)
    misses = np.where(rest > 0, rest * np.log(rest / (n * (1 - q))), 0.0)
    return hits + misses
