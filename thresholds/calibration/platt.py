"""Platt calibration: sigmoid(a x + b), with a and b of least log-loss against smoothed targets.

    t = (P + 1) / (P + 2) for positives,  1 / (N + 2) for negatives,    of which there are P and N

Platt 1999, "Probabilistic outputs for support vector machines", in the numerically sound form of
Lin, Lin and Weng 2007, "A note on Platt's probabilistic outputs for support vector machines". x is
the logit of scores that all lie in [0, 1], so that probabilities that are right already stay (a = 1,
b = 0), and the score itself otherwise. Cells whose score is `missing` are no part of this: they get
the share of positives among them.

Curves that lean on each other (`hierarchy.py`) have shares of missing cells that do so as well:

    (k + strength m) / (n + strength),    of n missing cells of a label, k of them positive

m is the share among the missing cells of all labels. The strength is that of the beta distribution of
labels' shares under which these counts are likeliest (beta-binomial; Griffiths 1973, "Maximum
likelihood estimation for the beta-binomial distribution").
"""

from dataclasses import replace
from typing import Any, TypeAlias

import numpy as np

from thresholds._arrays.dtypes import least_positive, threshold_dtype
from thresholds._arrays.grouped import sums_of_groups
from thresholds._arrays.types import Floats, Ints
from thresholds._kernels.calibration import fit_logistic
from thresholds._log_odds import log_odds
from thresholds.calibration.curves import LARGEST, CalibrationCurves, Limits
from thresholds.calibration.hierarchy import fit_leaning_lines
from thresholds.calibration.points import Points, map_labels

# Sums over groups, (n_groups,) each: of all cells, of positives, of missing cells, of the positives of those.
Weights: TypeAlias = tuple[Ints, ...]

_MOST_UNITS = 1e300  # that the weight 1 may count
_STRENGTHS = (1.0, 1e8)  # that the shares of all labels have among those of one, in rows


def limits_of(dtype: np.dtype[Any]) -> tuple[float, float]:
    """Return the numbers next to 0 and to 1 in the dtype of the scores."""
    kind = threshold_dtype(dtype)
    return least_positive(kind), float(np.nextafter(kind.type(1), kind.type(0)))


def fit_logistic_curves(
    points: Points,
    by: str,
    missing: float,
    limits: Limits,
    row_weight: float,
    n_jobs: int | None,
    progress: bool,
) -> CalibrationCurves:
    """Fit a curve to each label, to all, or to each that leans on all; `row_weight` is the weight 1 in the unit."""
    if by == "pooled":
        points = points.pooled()
    x = _abscissae(points.scores, limits)  # (n_points,)
    x[points.scores == missing] = np.nan
    if by == "shrink":
        lines = fit_leaning_lines(points, x, row_weight, n_jobs, progress)
    else:
        lines = _own_lines(points, x, missing, row_weight, n_jobs, progress)
    scale, centre, slope, intercept = lines  # (n_groups,) each
    curves = CalibrationCurves(
        pooled=by == "pooled",
        slope=slope,
        intercept=intercept,
        scale=scale,
        centre=centre,
        limits=limits,
    )
    shares = _leaning_shares if by == "shrink" else _own_shares
    by_curve = curves.reader()(np.full(slope.size, max(missing, -LARGEST)))
    weights = _weights_of(points, missing)
    return replace(curves, at_missing=shares(by_curve, weights, row_weight), missing=missing)


def weight_of_row(unit: float) -> float:
    """Return what the weight 1 counts in the unit of the weights."""
    return min(1 / unit, _MOST_UNITS)


def _own_lines(
    points: Points,
    x: Floats,
    missing: float,
    row_weight: float,
    n_jobs: int | None,
    progress: bool,
) -> Floats:
    """Fit a line to each group by itself, in the form of `fit_logistic`: (4, n_groups)."""

    def fit(first: int, last: int) -> Floats:
        starts, own, hits, weights = points._replace(scores=x).group(first, last)
        return fit_logistic(starts, own, hits, weights, row_weight)

    lines = np.concatenate(map_labels(points.starts, fit, n_jobs=n_jobs, progress=progress), axis=1)

    # Without cells to fit a line to, the rate of all, smoothed alike; without any cell at all, never.
    total, positive, missing_total, _ = _weights_of(points, missing)
    rate = np.log((positive + row_weight) / (total - positive + row_weight))
    constant = np.where(total > 0, rate, -np.inf)
    lines[3] = np.where(total == missing_total, constant, lines[3])
    return lines


def _own_shares(by_curve: Floats, weights: Weights, row_weight: float) -> Floats:
    """Return the share of positives among the missing cells of each group; without any, what its curve says."""
    _, _, missing_total, missing_positive = weights
    return np.divide(missing_positive, missing_total, out=by_curve, where=missing_total > 0)


def _leaning_shares(by_curve: Floats, weights: Weights, row_weight: float) -> Floats:
    """Return such shares that lean on each other; where no label has missing cells, what the curves say."""
    total, _, missing_total, missing_positive = (sums / row_weight for sums in weights)  # in rows
    if not missing_total.any():
        return by_curve
    mean = (missing_positive.sum() + 0.5) / (missing_total.sum() + 1)
    strength = _strength(missing_positive, missing_total, mean)
    shares = (missing_positive + strength * mean) / (missing_total + strength)
    return np.where(total > 0, shares, 0.0)


def _strength(positive: Floats, total: Floats, mean: float) -> float:
    """Return the strength of the beta distribution, of that mean, under which the counts of labels are likeliest."""
    from scipy.optimize import brentq
    from scipy.special import psi

    def rise(log_strength: float) -> float:
        # The derivative of the log-likelihood by the strength, by its three parts.
        strength = np.exp(log_strength)
        parts = ((positive, mean), (total - positive, 1 - mean), (total, -1.0))
        return float(
            sum(
                np.sum(share * (psi(counts + abs(share) * strength) - psi(abs(share) * strength)))
                for counts, share in parts
            )
        )

    least, most = np.log(_STRENGTHS)
    if rise(least) <= 0:
        return _STRENGTHS[0]
    if rise(most) >= 0:
        return _STRENGTHS[1]
    return float(np.exp(brentq(rise, least, most, xtol=1e-12)))


def _weights_of(points: Points, missing: float) -> Weights:
    """Return the weights of each group's cells, of its positives, of its missing cells, of the positives of those."""
    is_missing = points.scores == missing
    of_all = [points.weights, points.hits]
    of_missing = [np.where(is_missing, part, 0) for part in of_all]
    return tuple(sums_of_groups(points.starts, part) for part in of_all + of_missing)


def _abscissae(scores: Floats, limits: Limits) -> Floats:
    """Return what a curve is a function of, as a new array."""
    return scores.copy() if limits is None else log_odds(np.clip(scores, *limits))
