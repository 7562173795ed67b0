"""How often is each label true at a score near its threshold, and how well is that known?

A logistic curve of truth on score is fitted to each label, with Platt's targets (`calibration/platt.py`). The best
threshold of a label lies where its probability is F / (1 + b^2) (Lipton et al. 2013, section 5), so a threshold has a
reason to move where this curve moves. The curve is known far better than the threshold itself, which is the best of
many: so two fits on other rows are held against each other by their curves.

With rows of weight w and probability p, x the score and a one beside it,

    I = sum w p (1 - p) x x^T,    M = sum w (truth - p)^2 x x^T,    k = sum w^2 / sum w,

the covariance of slope and intercept is k I^-1 if the curve is right, and k I^-1 M I^-1 whether it is or not (White
1982, "Maximum likelihood estimation of misspecified models"; too small for a few positives; k by Kish 1965). Taken is
the one that is larger at the threshold.

Curves are fitted to histograms (`_engine/histograms.py`): a bin of several scores stands at the middle of its ends.
"""

from typing import Any, NamedTuple

import numpy as np

from thresholds._arrays.dtypes import least_positive
from thresholds._arrays.grouped import group_of
from thresholds._arrays.sparse import is_sparse
from thresholds._arrays.types import Booleans, Floats, Ints
from thresholds._engine.columns import Memory, over_labels
from thresholds._engine.histograms import MOST_BINS, Histograms, Reading, histograms
from thresholds._engine.problem import Problem
from thresholds._engine.staircase import Columns
from thresholds._engine.unknown import known_weights
from thresholds._kernels.calibration import fit_logistic
from thresholds._log_odds import log_odds
from thresholds._significance import effective_rows
from thresholds.calibration.points import Points
from thresholds.data.probable import are_probable
from thresholds.rule import ThresholdRule
from thresholds.rule.odds import OddsByScore

# Digits that are kept of at, level, slope and their errors: enough for figures that have errors, and for scores that
# lie far from 0.
_DIGITS = (9, 6, 6, 6, 6)
_POWERS = np.array([float(f"1e{k}") for k in range(23)])  # of ten, all that are floats
_NEAR_MIDDLE = 1e-5  # a hundred times what rounding does to a number of 9 digits
_MOST_UNITS = 1e300  # that the weight 1 may count
_LEAST_DETERMINANT = 1e-9  # relative to the product of the diagonal: below, the slope is not known

_UNKNOWN = np.array([[0.0], [0.0], [0.0], [np.inf], [np.inf]])  # at, level, slope and their errors


class _Covariances(NamedTuple):
    """Of slope and intercept, one entry a label."""

    slope: Floats
    both: Floats
    intercept: Floats

    def at(self, x: Floats) -> Floats:
        """Return the variance of the curve at x."""
        return self.slope * x * x + 2 * self.both * x + self.intercept


def odds_by_score(
    problem: Problem, thresholds: Floats, *, n_jobs: int | None = -1, progress: bool = False
) -> OddsByScore:
    """Fit the curves of all labels; `thresholds` (n_labels,) say where they are to be known best."""
    curves = CurveFits(problem)
    parts = over_labels(problem, curves, n_jobs=n_jobs, progress=progress)
    return curves.odds(np.concatenate(parts, axis=1), thresholds)


class CurveFits:
    """Fits the curves of the labels of a problem: a function for `over_labels`."""

    def __init__(self, problem: Problem) -> None:
        self._problem = problem
        self._of_shares = are_probable(problem)
        self._smoothing = min(1 / problem.unit, _MOST_UNITS)
        self._read = Reading(problem, MOST_BINS)

    def __call__(self, columns: Columns, memory: Memory) -> Floats:
        """Fit the curves of some labels, (10, n_labels), as `of` does."""
        return self.of(self._read(columns, memory))

    def of(self, found: Histograms) -> Floats:
        """Fit the curves of the labels of histograms; return what `odds` reads, (10, n_labels)."""
        bins = _bins_of(self._problem, found, self._of_shares)
        return _fit(bins, self._smoothing, self._problem.unit)

    def odds(self, figures: Floats, thresholds: Floats) -> OddsByScore:
        """Return the curves of all labels, (10, n_labels), which are to be known best at `thresholds`, (n_labels,)."""
        at = thresholds
        if self._of_shares:  # Infinite thresholds, and shares of 0 and 1, lie nowhere.
            at = log_odds(np.clip(at, 0.0, 1.0))
        values: Any = _known_best(figures, _weight_per_row(self._problem), at)
        for row, digits in zip(values, _DIGITS, strict=True):
            row[:] = rounded(row, digits)
        return OddsByScore(self._of_shares, *values)


@np.errstate(divide="ignore", invalid="ignore")
def rounded(values: Floats, digits: int) -> Floats:
    """Round to so many digits, to the floats that `float(f"{value:.{digits}g}")` gives, in a tenth of the time."""
    # Scaled by a power of ten to a number of so many digits before the point, and rounded to a whole one.
    places = digits - 1 - np.floor(np.log10(np.abs(values)))  # (n_labels,) after the point
    is_exact = np.abs(places) < _POWERS.size
    power = _POWERS[np.where(is_exact, np.abs(places), 0).astype(np.int64)]
    scaled = np.where(places < 0, values / power, values * power)
    whole = np.rint(scaled)
    # The whole number and the power are floats, so that what both give is the float next to the decimal number.
    found: Floats = np.where(places < 0, whole * power, whole / power)

    # Scaling rounds, too: next to the middle of two whole numbers text decides.
    is_exact &= np.abs(np.abs(scaled - whole) - 0.5) > _NEAR_MIDDLE
    is_exact &= (np.abs(whole) >= _POWERS[digits - 1]) & (np.abs(whole) <= _POWERS[digits])
    stays = (values == 0) | np.isinf(values)
    found[stays] = values[stays]
    others = np.flatnonzero(~(is_exact | stays))
    found[others] = [float(f"{value:.{digits}g}") for value in values[others].tolist()]
    return found


def _weight_per_row(problem: Problem) -> Floats:
    """Return the weight of the rows of each label over the number of equal rows that tell as much, (n_labels,)."""
    weights = problem.row_weights * problem.unit  # (n_samples,)
    if problem.unknown is None:
        return np.full(problem.n_labels, weights.sum() / effective_rows(weights))
    # Shares do not overflow. A label without a known row has no curve.
    shares = weights / weights.sum()
    sums, squares = (known_weights(problem.unknown, own) for own in (shares, shares**2))
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(sums > 0, weights.sum() * squares / sums, 1.0)


def cells_in_bins(
    problem: Problem, *, n_jobs: int | None = -1, progress: bool = False
) -> tuple[Points, bool]:
    """Return the cells of all labels, those of neighbouring scores taken together, and whether x is their log odds.

    A bin is a cell, with x in the place of its score.
    """
    of_shares = are_probable(problem)
    bins = _bins_of(problem, histograms(problem, n_jobs=n_jobs, progress=progress), of_shares)
    return Points(bins.starts, bins.x, bins.positive, bins.total), of_shares


class OddsChange(NamedTuple):
    """How the odds of truth at one score differ between two fits, one entry a label."""

    ratio: Floats  # those of the new fit over those of the old one; NaN where either knows nothing
    p_value: Floats  # two-sided; 1 where either knows nothing


def change_of_odds(
    old: OddsByScore, new: OddsByScore, old_thresholds: Floats, new_thresholds: Floats
) -> OddsChange:
    """Hold two fits of the same labels, on scores of one kind, against each other, between their thresholds.

    z = (log odds of new - log odds of old) / sqrt(sum of their variances), at the middle of both thresholds.
    """
    from scipy.special import ndtr

    x = _middle(old.abscissae(old_thresholds), new.abscissae(new_thresholds), new)
    log_odds_before, variance_before = old.read(x)
    log_odds_after, variance_after = new.read(x)
    off = log_odds_after - log_odds_before
    error = np.sqrt(variance_before + variance_after)
    with np.errstate(over="ignore"):
        ratio = np.where(np.isfinite(error), np.exp(off), np.nan)
    return OddsChange(ratio, np.asarray(2 * ndtr(-np.abs(off / error))))


def change_between(
    old: ThresholdRule, new: ThresholdRule, at_old: Ints, at_new: Ints
) -> OddsChange | None:
    """Return how the odds of labels have changed from one rule to another; None where a rule does not know them.

    `at_old` and `at_new` (n_common,) are where these labels are in each.
    """
    if old.odds is None or new.odds is None or old.odds.of_shares != new.odds.of_shares:
        return None
    return change_of_odds(
        old.odds.taken(at_old),
        new.odds.taken(at_new),
        old.thresholds[at_old],
        new.thresholds[at_new],
    )


def _middle(old: Floats, new: Floats, odds: OddsByScore) -> Floats:
    """Return the middle of both thresholds of each label; of one infinite the other; of two, where odds are known."""
    with np.errstate(invalid="ignore"):
        middle = old / 2 + new / 2
    one = np.where(np.isfinite(old), old, new)
    one = np.where(np.isfinite(one), one, odds.at)
    return np.where(np.isfinite(old) & np.isfinite(new), middle, one)


class _BinsOnCurves(NamedTuple):
    """Bins of histograms that lie on curves, label after label."""

    starts: Ints  # (n_labels + 1,)
    x: Floats  # (n_bins,) what curves are a function of
    positive: Ints  # (n_bins,) weights
    total: Ints  # (n_bins,)


def _bins_of(problem: Problem, found: Histograms, of_shares: bool) -> _BinsOnCurves:
    """Return the bins of histograms that have a place on curves."""
    # Neither absent nor masked scores do.
    has_place = found.lowest > -np.inf
    if is_sparse(problem.scores):
        has_place &= (found.lowest > problem.missing) | (found.highest < problem.missing)
    found = found.where(has_place)
    lowest, highest = found.lowest.astype(np.float64), found.highest.astype(np.float64)
    if of_shares:
        lowest, highest = (
            _log_odds_of_shares(ends, found.lowest.dtype) for ends in (lowest, highest)
        )
    x = lowest / 2 + highest / 2
    return _BinsOnCurves(found.offsets, x, found.hits, found.weights)


def _log_odds_of_shares(shares: Floats, dtype: np.dtype[Any]) -> Floats:
    """Return log odds; 0 and 1 count as the numbers of a dtype next to them, as in Platt calibration."""
    most = float(np.nextafter(dtype.type(1), dtype.type(0)))
    return log_odds(np.clip(shares, least_positive(dtype), most))


@np.errstate(divide="ignore", over="ignore", invalid="ignore")
def _fit(bins: _BinsOnCurves, smoothing: float, unit: float) -> Floats:
    """Return, (10, n_labels), scale, centre, slope, intercept and both covariances; NaN where these are not known."""
    n_labels = bins.starts.size - 1
    label = group_of(bins.starts)  # (n_bins,)
    curves = fit_logistic(
        bins.starts, bins.x.astype(np.float64), bins.positive, bins.total, smoothing
    )
    scale, centre, slope, intercept = curves  # (n_labels,) each
    x = bins.x / scale[label] - centre[label]
    p = 1 / (1 + np.exp(-(slope[label] * x + intercept[label])))
    positive = bins.positive * unit
    negative = (bins.total - bins.positive) * unit

    def moments(of_bins: Floats) -> _Covariances:
        squares, products, sums = (
            np.bincount(label, part, n_labels).astype(np.float64)
            for part in (of_bins * x * x, of_bins * x, of_bins)
        )
        return _Covariances(squares, products, sums)

    inverse, is_known = _inverse(moments((positive + negative) * p * (1 - p)))
    robust = _between(inverse, moments(positive * (1 - p) ** 2 + negative * p**2))
    figures = np.stack([*curves, *inverse, *robust])
    figures[:, ~is_known] = np.nan
    return figures


@np.errstate(divide="ignore", over="ignore", invalid="ignore")
def _known_best(figures: Floats, of_rows: Floats, at: Floats) -> Floats:
    """Return at, level, slope, and the errors of level and slope, of each label: (5, n_labels).

    A curve is not known where a figure of it is not finite, as with scores next to 0 or to the largest float.
    """
    scale, centre, slope, intercept = figures[:4]
    inverse, robust = _Covariances(*figures[4:7]), _Covariances(*figures[7:])

    # Of both covariances that which is larger at the threshold.
    here = np.where(np.isfinite(at), at / scale - centre, 0.0)  # (n_labels,)
    is_right = inverse.at(here) >= robust.at(here)
    slope_variance, both, intercept_variance = (
        of_rows * np.where(is_right, one, other) for one, other in zip(inverse, robust, strict=True)
    )

    # In the terms of the scores, about the point where slope and level have nothing in common.
    point = -both / slope_variance
    level_variance = intercept_variance + both * point
    values = np.stack(
        [
            (point + centre) * scale,
            slope * point + intercept,
            slope / scale,
            np.sqrt(np.maximum(level_variance, 0.0)),
            np.sqrt(slope_variance) / scale,
        ]
    )
    values[:, ~np.isfinite(values).all(axis=0)] = _UNKNOWN
    return values


def _inverse(matrix: _Covariances) -> tuple[_Covariances, Booleans]:
    """Invert symmetric matrices of two rows, and tell which have an inverse."""
    square = matrix.slope * matrix.intercept
    determinant = square - matrix.both**2
    is_regular = determinant > _LEAST_DETERMINANT * square
    divisor = np.where(is_regular, determinant, 1.0)
    parts = (matrix.intercept / divisor, -matrix.both / divisor, matrix.slope / divisor)
    return _Covariances(*parts), is_regular


def _between(outer: _Covariances, inner: _Covariances) -> _Covariances:
    """Return outer inner outer, of symmetric matrices of two rows."""
    a, b, c = outer
    d, e, f = inner
    first = (a * d + b * e, a * e + b * f)  # the first row of outer inner
    second = (b * d + c * e, b * e + c * f)
    return _Covariances(
        first[0] * a + first[1] * b, first[0] * b + first[1] * c, second[0] * b + second[1] * c
    )
