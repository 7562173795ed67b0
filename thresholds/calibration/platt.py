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

from collections.abc import Hashable
from dataclasses import dataclass, replace

import numpy as np

from thresholds._arrays.grouped import sums_of_groups
from thresholds._arrays.types import Floats, Ints
from thresholds._kernels.calibration import fit_logistic
from thresholds.calibration.cells import Cells, beside_groups, map_labels
from thresholds.calibration.hierarchy import fit_leaning_lines
from thresholds.log_odds import log_odds, sigmoid

# Scores in [0, 1] are brought between these for their logit; None: no logit.
Limits = tuple[float, float] | None

_MOST_UNITS = 1e300  # that the weight 1 may count
_LARGEST = float(np.finfo(np.float64).max)
_STRENGTHS = (1.0, 1e8)  # that the shares of all labels have among those of one, in rows


@dataclass(frozen=True, eq=False, slots=True)
class LogisticCurves:
    """A logistic curve for each label, or one for all, and the probability of cells that are `missing`."""

    curves: Floats  # (4, n_groups): scale, centre, slope and intercept
    limits: Limits
    missing: float
    at_missing: Floats  # (n_groups,)

    def parts(self) -> list[Hashable]:
        """Return the numbers of each curve."""
        numbers = [*self.curves.tolist(), self.at_missing.tolist()]
        return [(self.limits, *own) for own in zip(*numbers, strict=True)]

    def at(self, starts: Ints, scores: Floats, first: int = 0) -> Floats:
        """Return the probabilities of scores, one group after another, from group `first` on."""
        group, of_groups = beside_groups(starts, scores, first)
        probabilities = _read(self.curves[:, group], _abscissae(of_groups, self.limits))
        is_missing = of_groups == self.missing
        if is_missing.any():
            probabilities = np.where(is_missing, self.at_missing[group], probabilities)
        return probabilities.reshape(-1)

    def reordered(self, places: Ints) -> "LogisticCurves":
        """Return the curves of the groups at some places, in that order."""
        return replace(self, curves=self.curves[:, places], at_missing=self.at_missing[places])


def fit_logistic_curves(
    cells: Cells,
    missing: float,
    limits: Limits,
    row_weight: float,
    n_jobs: int | None,
    progress: bool,
    *,
    leaning: bool = False,
) -> LogisticCurves:
    """Fit a curve to each group of cells; `row_weight` is the weight 1 in the unit of the weights.

    With `leaning`, those of labels lean on each other.
    """

    def fit(first: int, last: int) -> tuple[Floats, Floats]:
        return _fit(cells.group(first, last), missing, limits, row_weight)

    if leaning:
        x = _abscissae(cells.scores, limits)
        x[cells.scores == missing] = np.nan
        curves = fit_leaning_lines(cells, x, row_weight, n_jobs, progress)
        at_missing = _leaning_shares(cells, curves, missing, limits, row_weight)
        return LogisticCurves(curves, limits, missing, at_missing)
    pieces = map_labels(cells.starts, fit, n_jobs=n_jobs, progress=progress)
    curves = np.concatenate([curves for curves, _ in pieces], axis=1)
    at_missing = np.concatenate([at_missing for _, at_missing in pieces])
    return LogisticCurves(curves, limits, missing, at_missing)


def weight_of_row(unit: float) -> float:
    """Return what the weight 1 counts in the unit of the weights."""
    return min(1 / unit, _MOST_UNITS)


def _fit(cells: Cells, missing: float, limits: Limits, smoothing: float) -> tuple[Floats, Floats]:
    """Return the curve and the probability of `missing` of each group."""
    x = _abscissae(cells.scores, limits)
    x[cells.scores == missing] = np.nan
    curves = fit_logistic(cells.starts, x, cells.hits, cells.weights, smoothing)

    # Without cells to fit a curve to, the rate of all, smoothed alike; without any cell at all, never.
    total, positive, missing_total, missing_positive = _weights_of(cells, missing)
    rate = np.log((positive + smoothing) / (total - positive + smoothing))
    constant = np.where(total > 0, rate, -np.inf)
    curves[3] = np.where(total == missing_total, constant, curves[3])

    # Of missing cells the share of positives; without any, what the curve says.
    at_missing = _read_at(curves, missing, limits)
    np.divide(missing_positive, missing_total, out=at_missing, where=missing_total > 0)
    return curves, at_missing


def _leaning_shares(
    cells: Cells, curves: Floats, missing: float, limits: Limits, row_weight: float
) -> Floats:
    """Return the probability of `missing` of each label; where no cell is, what its curve says."""
    weights = [sums / row_weight for sums in _weights_of(cells, missing)]  # in rows
    total, _, missing_total, missing_positive = weights
    if not missing_total.any():
        return _read_at(curves, missing, limits)
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


def _weights_of(cells: Cells, missing: float) -> tuple[Ints, Ints, Ints, Ints]:
    """Return the weights of each group's cells, of its positives, of its missing cells, of the positives of those."""
    is_missing = cells.scores == missing
    of_all = [cells.weights, cells.hits]
    sums = of_all + [np.where(is_missing, part, 0) for part in of_all]
    total, positives, missing_total, missing_positive = (
        sums_of_groups(cells.starts, values) for values in sums
    )
    return total, positives, missing_total, missing_positive


def _read(curves: Floats, x: Floats) -> Floats:
    """Return sigmoid(slope (x / scale - centre) + intercept); x, of that shape, is overwritten."""
    scale, centre, slope, intercept = curves
    has_cells = intercept > -np.inf
    with np.errstate(over="ignore", invalid="ignore"):
        x /= scale
        x -= centre
        np.clip(x, -_LARGEST, _LARGEST, out=x)  # a slope of 0 makes 0 of it
        x *= slope
        x += intercept
    return sigmoid(x if has_cells.all() else np.where(has_cells, x, -np.inf))


def _read_at(curves: Floats, score: float, limits: Limits) -> Floats:
    """Return the probability of one score on each curve."""
    scores = np.full(curves.shape[1], max(score, -_LARGEST))
    return _read(curves, _abscissae(scores, limits))


def _abscissae(scores: Floats, limits: Limits) -> Floats:
    """Return what a curve is a function of, as a new array."""
    return scores.copy() if limits is None else log_odds(np.clip(scores, *limits))
