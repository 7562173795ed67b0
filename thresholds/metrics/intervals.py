"""Within what bounds does the F of a population lie, given counts of some of its rows?

Only rows that are true, predicted or both have a part in F: u = predicted + positives - tp of them, tp, fn and fp. With
B = beta^2, F_beta of the population is f if and only if the mean of Z is 0 over these rows,

    Z = (1 - f) on tp,    -f B / (1 + B) on fn,    -f / (1 + B) on fp

The bounds are those f that the score test does not reject (Rao 1948): with Z summed over the rows, and V the variance
of Z at the likeliest shares of tp, fn and fp that have F_beta = f,

    |sum Z| <= z sqrt(u V),    z the normal quantile

For beta = 1 the mistakes weigh alike. Then tp is binomial with the Jaccard index J of the population, given u; the
bounds are those of Wilson 1927 ("Probable inference, the law of succession, and statistical inference") for J, mapped
to F1 = 2 J / (1 + J), which rises with J; and tests of F1 are exact, by binomial tails. For beta = 0 they are those for
precision.

Wilson's bounds are too bold where few rows are right, or few wrong: they hold J in .84 of the samples where .18 of them
are expected, not in .95. So what they exclude has to be excluded by a binomial tail as well, of 1 - confidence:

    P(as many tp or more) < 1 - confidence    or    P(as many or fewer) < 1 - confidence

This tells where fewer than about ten are right, or wrong. It is the modification of Brown, Cai and DasGupta 2001
("Interval estimation for a binomial proportion", section 4.1.1), for counts of any size, and sums of weights.

The score test of other betas restricts the likelihood as Miettinen and Nurminen 1985 do ("Comparative analysis of two
rates"). Its bounds are as bold, and are not widened: mistakes of two kinds that weigh unlike have no binomial tail.

Nothing is drawn. A bootstrap would give 0 to 0 where tp = 0, however few rows there are.
"""

from typing import Any

import numpy as np

from thresholds import _checks
from thresholds._arrays.types import Floats
from thresholds._checks import InputError
from thresholds._engine.f_measure import f_of_counts

_HALVINGS = 50  # of an interval in [0, 1]


def f_interval(
    tp: object, predicted: object, positives: object, *, beta: float = 1.0, confidence: float = 0.95
) -> tuple[Any, Any]:
    """Bound F-beta of the population that rows were drawn from, given their counts.

    For beta = 1 Wilson's score interval for the Jaccard index, J = tp / (tp + fp + fn), mapped to F1 = 2 J / (1 + J);
    for other betas the score interval of which that is a case (formulas in `thresholds.metrics.intervals`). The
    decisions must not have been fitted on these rows.

    Intervals of 95 % hold F1 of the population in .92 of the samples or more, however few rows are right, or wrong:
    there Wilson's is widened. Those for betas other than 0 and 1 are not, and hold F in .88 of the samples where less
    than half a right row, or half a mistake, is expected (`experiments/intervals/coverages.txt`).

    Parameters
    ----------
    tp, predicted, positives : counts of rows, or sums of weights, of shapes that broadcast
        Weights count as so many rows.
    beta : weight of recall; 0 for precision
    confidence : in (0, 1)

    Returns
    -------
    low, high : float64 arrays in [0, 1], floats for numbers
        0 and 1 where nothing is predicted or true: without a row that counts, any F is possible.

    Raises
    ------
    InputError
        For counts that are negative or not finite, more true positives than predictions or positives, shapes that do
        not broadcast, a bad `beta` or `confidence`.

    References
    ----------
    Wilson 1927. Brown, Cai and DasGupta 2001, section 4.1.1. Takahashi et al. 2022, "Confidence interval for
    micro-averaged F1 and macro-averaged F1 scores", for intervals by the delta method, which have no width at F of 0
    and 1.

    Examples
    --------
    >>> from thresholds.metrics import f_interval
    >>> low, high = f_interval(0, 8, 4)  # 8 predictions, all of them wrong
    >>> round(low, 3), round(high, 3)
    (0.0, 0.39)
    >>> f_interval([0, 90], [0, 100], [0, 100])[0].round(3)
    array([0.   , 0.848])
    """
    beta = _checks.beta(beta, measures=True)
    confidence = _checks.inside(confidence, "confidence")
    tp, predicted, positives = _counts(tp, predicted, positives)
    low, high = score_interval(tp, predicted, positives, beta, confidence)
    return (low, high) if tp.ndim else (float(low), float(high))


def score_interval(
    tp: Floats, predicted: Floats, positives: Floats, beta: float, confidence: float
) -> tuple[Floats, Floats]:
    """Return `f_interval` of checked counts of one shape."""
    if beta == 1:
        low, high = share_interval(
            tp, predicted + positives - tp, confidence
        )  # of the Jaccard index
        return 2 * low / (1 + low), 2 * high / (1 + high)
    if beta == 0:
        return share_interval(tp, predicted, confidence)

    # Halve, on either side of F here, what holds the place where the test begins to reject.
    z = _quantile(confidence)
    f = f_of_counts(tp, predicted, positives, beta, 0.5)
    rejected_below = np.zeros_like(f)
    kept_below = f
    kept_above = f
    rejected_above = np.ones_like(f)
    for _ in range(_HALVINGS):
        middle = (rejected_below + kept_below) / 2
        is_rejected = _score(tp, predicted, positives, middle, beta) > z
        rejected_below = np.where(is_rejected, middle, rejected_below)
        kept_below = np.where(is_rejected, kept_below, middle)
        middle = (kept_above + rejected_above) / 2
        is_rejected = _score(tp, predicted, positives, middle, beta) < -z
        rejected_above = np.where(is_rejected, middle, rejected_above)
        kept_above = np.where(is_rejected, kept_above, middle)
    # Both ends are exact where nothing is right, nothing is wrong, and where there is nothing at all.
    is_faultless = (tp == predicted) & (tp == positives)
    return np.where(tp == 0, 0.0, kept_below), np.where(is_faultless, 1.0, kept_above)


def share_interval(successes: Floats, trials: Floats, confidence: float) -> tuple[Floats, Floats]:
    """Return Wilson's interval for a share, widened where few succeed or few fail; 0 to 1 without trials."""
    from scipy.special import betaincinv

    # Where as many successes or more, and where as many failures or more, have the probability 1 - confidence.
    failures = trials - successes
    some, level = np.where(successes > 0, successes, 1.0), 1 - confidence
    lower = np.where(successes > 0, betaincinv(some, failures + 1, level), 0.0)
    some = np.where(failures > 0, failures, 1.0)
    upper = np.where(failures > 0, 1 - betaincinv(some, successes + 1, level), 1.0)
    low, high = _wilson(successes, trials, confidence)
    return np.minimum(low, lower), np.maximum(high, upper)


def _wilson(successes: Floats, trials: Floats, confidence: float) -> tuple[Floats, Floats]:
    """Return Wilson's interval for a share, 0 to 1 without trials."""
    z2 = _quantile(confidence) ** 2
    failures = trials - successes
    centre = successes + z2 / 2
    half = np.sqrt(z2 * (successes * failures / np.where(trials > 0, trials, 1.0) + z2 / 4))
    # Both ends are exact where all succeed or all fail.
    low = np.where(successes == 0, 0.0, (centre - half) / (trials + z2))
    high = np.where(failures == 0, 1.0, (centre + half) / (trials + z2))
    return low, high


def p_at_most(
    tp: Floats, predicted: Floats, positives: Floats, bar: Floats, beta: float = 1.0
) -> Floats:
    """Return the p-value, one-sided, of the hypothesis that F-beta is at most `bar`: small where it is shown higher.

    Exact for beta = 1 and 0, by binomial tails; the score test otherwise. At least 1/2 where nothing is predicted or
    true.
    """
    from scipy.special import betainc, ndtr

    if beta not in (0, 1):
        return np.asarray(ndtr(-_score(tp, predicted, positives, bar, beta)))
    trials, share = _binomial(tp, predicted, positives, bar, beta)
    return np.where(tp > 0, betainc(np.where(tp > 0, tp, 1.0), trials - tp + 1, share), 1.0)


def p_at_least(
    tp: Floats, predicted: Floats, positives: Floats, bar: Floats, beta: float = 1.0
) -> Floats:
    """Return the p-value, one-sided, of the hypothesis that F-beta is at least `bar`: small where it is shown lower.

    As `p_at_most`.
    """
    from scipy.special import betainc, ndtr

    if beta not in (0, 1):
        return np.asarray(ndtr(_score(tp, predicted, positives, bar, beta)))
    trials, share = _binomial(tp, predicted, positives, bar, beta)
    failures = trials - tp
    tail = betainc(np.where(failures > 0, failures, 1.0), tp + 1, 1 - share)
    return np.where(failures > 0, tail, 1.0)


def _binomial(
    tp: Floats, predicted: Floats, positives: Floats, bar: Floats, beta: float
) -> tuple[Floats, Floats]:
    """Return the rows among which tp is binomial, and its probability where F-beta is the bar."""
    if beta == 0:
        return predicted, bar
    return predicted + positives - tp, bar / (2 - bar)


def _score(tp: Floats, predicted: Floats, positives: Floats, f: Floats, beta: float) -> Floats:
    """Return sum Z / sqrt(u V), 0 where there is nothing to judge by."""
    mean, null_variance, _ = moments(tp, predicted, positives, f, beta)
    rows = predicted + positives - tp
    with np.errstate(divide="ignore", invalid="ignore"):
        score = mean * np.sqrt(rows / null_variance)
    return np.where(rows > 0, score, 0.0)


def moments(
    tp: Floats, predicted: Floats, positives: Floats, f: Floats, beta: float
) -> tuple[Floats, Floats, Floats]:
    """Return of Z the mean over the rows, its variance if F-beta is f, in (0, 1), and its variance as it is here.

    The shares of tp, fn and fp that are likeliest if F-beta is f are q1, q2 and q3 with

        q1 a - q2 b - q3 c = 0,    q1 + q2 + q3 = 1,    a = 1 - f,  b = f B / (1 + B),  c = f / (1 + B)

    so that q1 = (c + q2 (b - c)) / (a + c) and q3 = (a - q2 (a + b)) / (a + c). The likelihood's derivative in q2 is 0
    at a root of a quadratic; the derivative falls, so it is the first root from 0 on.
    """
    beta2 = beta * beta
    a = 1 - f
    b = f * (beta2 / (1 + beta2))
    c = f / (1 + beta2)
    fn = positives - tp
    fp = predicted - tp
    rows = tp + fn + fp

    # The quadratic, square q2^2 + linear q2 + constant.
    square = -rows * (b - c) * (a + b)
    linear = (tp + fn) * (b - c) * a - (fn + fp) * (a + b) * c
    constant = fn * a * c
    root = np.sqrt(np.maximum(linear**2 - 4 * square * constant, 0))
    with np.errstate(divide="ignore", invalid="ignore"):
        q2 = np.where(linear > 0, (-linear - root) / (2 * square), 2 * constant / (root - linear))
        mean = (tp * a - fn * b - fp * c) / rows
        variance = (tp * a**2 + fn * b**2 + fp * c**2) / rows - mean**2
    q2 = np.clip(np.nan_to_num(q2), 0, a / (a + b))
    q1 = (c + q2 * (b - c)) / (a + c)
    q3 = (a - q2 * (a + b)) / (a + c)
    return mean, q1 * a**2 + q2 * b**2 + q3 * c**2, np.maximum(variance, 0)


def rows_needed(
    tp: Floats,
    predicted: Floats,
    positives: Floats,
    bar: Floats,
    level: Floats,
    beta: float = 1.0,
    power: float = 0.8,
) -> Floats:
    """Return how many rows with a part in F would show, with probability `power`, on which side of the bar F-beta is.

    If the shares of tp, fn and fp are what they are here, and `level` is the p-value that a test must reach. Normal,
    with the correction for continuity of Fleiss, Levin and Paik 2003 ("Statistical Methods for Rates and Proportions",
    section 2.5). Infinite where F-beta is the bar.
    """
    from scipy.special import ndtri

    mean, null_variance, variance = moments(tp, predicted, positives, bar, beta)
    spread = ndtri(1 - level) * np.sqrt(null_variance) + ndtri(power) * np.sqrt(variance)
    # How much, on average over the two kinds of mistakes, Z rises if one becomes right.
    step = 1 - bar / 2
    with np.errstate(divide="ignore", invalid="ignore"):
        rows = (spread / mean) ** 2
        corrected = rows / 4 * (1 + np.sqrt(1 + 2 * step / (rows * np.abs(mean)))) ** 2
    return np.where(mean == 0, np.inf, corrected)


def _quantile(confidence: float) -> float:
    """Return the normal quantile of a two-sided interval."""
    from scipy.special import ndtri

    return float(ndtri((1 + confidence) / 2))


def _counts(*values: object) -> list[Floats]:
    """Check counts of true positives, predictions and positives, and give them one shape."""
    arrays = []
    for value, name in zip(values, ("tp", "predicted", "positives"), strict=True):
        array = _checks.numbers(value, name).astype(np.float64)
        if not (np.isfinite(array) & (array >= 0)).all():
            raise InputError(f"{name} has negative or infinite values or NaN, expected counts")
        arrays.append(array)
    shapes = [array.shape for array in arrays]
    try:
        tp, predicted, positives = np.broadcast_arrays(*arrays)
    except ValueError:
        raise InputError(
            f"tp, predicted and positives have the shapes {shapes}, expected such as broadcast"
        ) from None
    if (tp > predicted).any() or (tp > positives).any():
        raise InputError(
            "tp is more than predicted or positives somewhere, expected at most as many as either"
        )
    return [tp, predicted, positives]
