"""Platt calibration: sigmoid(a x + b), with a and b of least log-loss against smoothed targets.

    t = (P + 1) / (P + 2) for positives,  1 / (N + 2) for negatives,    of which there are P and N

Platt 1999, "Probabilistic outputs for support vector machines", in the numerically sound form of
Lin, Lin and Weng 2007, "A note on Platt's probabilistic outputs for support vector machines". x is
the logit of scores that all lie in [0, 1], so that probabilities that are right already stay (a = 1,
b = 0), and the score itself otherwise. Cells whose score is `missing` are no part of this: they get
the share of positives among them.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from thresholds._arrays.types import Floats, Ints
from thresholds._kernels.calibration import fit_logistic
from thresholds.calibration.cells import Cells, log_odds, map_labels

# Scores in [0, 1] are brought between these for their logit; None: no logit.
Limits = tuple[float, float] | None

_MOST_UNITS = 1e300  # that the weight 1 may count
_LARGEST = float(np.finfo(np.float64).max)


@dataclass(frozen=True, eq=False, slots=True)
class LogisticCurves:
    """A logistic curve for each label, or one for all, and the probability of cells that are `missing`."""

    curves: Floats  # (4, n_groups): scale, centre, slope and intercept
    limits: Limits
    missing: float
    at_missing: Floats  # (n_groups,)

    def at(self, starts: Ints, scores: Floats, first: int = 0) -> Floats:
        """Return the probabilities of scores, one group after another, from group `first` on."""
        group = np.repeat(np.arange(first, first + starts.size - 1), np.diff(starts))
        probabilities = _read(self.curves[:, group], _abscissae(scores, self.limits))
        return np.where(scores == self.missing, self.at_missing[group], probabilities)


def fit_logistic_curves(
    cells: Cells,
    missing: float,
    dtype: np.dtype[Any],
    unit: float,
    n_jobs: int | None,
    progress: bool,
) -> LogisticCurves:
    """Fit a curve to each group of cells; `dtype` is that of the scores, `unit` that of the weights."""
    scores = cells.scores
    probable = bool(np.all((scores == missing) | ((scores >= 0) & (scores <= 1))))
    limits = _limits(dtype) if probable else None
    smoothing = min(1 / unit, _MOST_UNITS)

    def fit(first: int, last: int) -> tuple[Floats, Floats]:
        return _fit(cells.group(first, last), missing, limits, smoothing)

    pieces = map_labels(cells.starts, fit, n_jobs=n_jobs, progress=progress)
    curves = np.concatenate([curves for curves, _ in pieces], axis=1)
    at_missing = np.concatenate([at_missing for _, at_missing in pieces])
    return LogisticCurves(curves, limits, missing, at_missing)


def _fit(cells: Cells, missing: float, limits: Limits, smoothing: float) -> tuple[Floats, Floats]:
    """Return the curve and the probability of `missing` of each group."""
    starts = cells.starts
    is_missing = cells.scores == missing
    x = _abscissae(cells.scores, limits)
    x[is_missing] = np.nan
    curves = fit_logistic(starts, x, cells.truth, cells.weights, smoothing)

    # Weights of all cells and of those that are missing, (n_groups,).
    weights = cells.weights if cells.weights.size else np.ones(cells.scores.size, np.int64)
    positive_weights = np.where(cells.truth, weights, 0)
    total = _sums(weights, starts)
    positive = _sums(positive_weights, starts)
    missing_total = _sums(np.where(is_missing, weights, 0), starts)
    missing_positive = _sums(np.where(is_missing, positive_weights, 0), starts)

    # Without cells to fit a curve to, the rate of all, smoothed alike; without any cell at all, never.
    rate = np.log((positive + smoothing) / (total - positive + smoothing))
    constant = np.where(total > 0, rate, -np.inf)
    curves[3] = np.where(total == missing_total, constant, curves[3])

    # Of missing cells the share of positives; without any, what the curve says.
    at_missing = _read(curves, _abscissae(np.full(total.size, max(missing, -_LARGEST)), limits))
    np.divide(missing_positive, missing_total, out=at_missing, where=missing_total > 0)
    return curves, at_missing


def _read(curves: Floats, x: Floats) -> Floats:
    """Return sigmoid(slope (x / scale - centre) + intercept)."""
    from scipy.special import expit

    scale, centre, slope, intercept = curves
    with np.errstate(over="ignore"):
        return np.asarray(expit(slope * (x / scale - centre) + intercept))


def _sums(values: Ints, starts: Ints) -> Ints:
    """Add up the values of each group."""
    return np.diff(np.append(0, values.cumsum())[starts])


def _limits(dtype: np.dtype[Any]) -> tuple[float, float]:
    """Return the numbers next to 0 and to 1 in the dtype of the scores."""
    kind = dtype.type if dtype.kind == "f" else np.float64
    return float(np.nextafter(kind(0), kind(1))), float(np.nextafter(kind(1), kind(0)))


def _abscissae(scores: Floats, limits: Limits) -> Floats:
    """Return what a curve is a function of, as a new array."""
    return scores.copy() if limits is None else log_odds(np.clip(scores, *limits))
