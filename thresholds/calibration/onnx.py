"""Calibrated rules in ONNX: curves as operations, or the regions of scores that they amount to."""

from itertools import pairwise
from typing import TYPE_CHECKING, cast

import numpy as np

from thresholds._arrays.types import Dense, Floats
from thresholds.calibration.curves import Curves
from thresholds.calibration.inversion import region_of
from thresholds.calibration.isotonic import IsotonicCurves
from thresholds.calibration.platt import LARGEST, LogisticCurves
from thresholds.calibration.stretched import LEAST, MOST, StretchedCurves
from thresholds.rule import ThresholdRule
from thresholds.rule.serving.onnx import best_sets, unless_nan
from thresholds.rule.serving.recording import Value

if TYPE_CHECKING:
    from thresholds.calibration.rule import CalibratedRule


def decisions(rule: "CalibratedRule", scores: Value) -> Value:
    """Record decisions about scores, float32 or float64."""
    calibrator = rule.calibrator
    if isinstance(rule.rule, ThresholdRule):
        region = region_of(calibrator, rule.rule.thresholds, scores.dtype)
        return cast(Value, region.decide_in_onnx(scores))

    def decide(cells: Value) -> Value:
        p = probabilities(calibrator._curves, cells)
        return best_sets(p, rule.rule.beta, rule.rule.zero_division)

    return unless_nan(scores, decide)


def probabilities(curves: Curves, scores: Value) -> Value:
    """Return the probabilities of scores, (n_samples, n_labels) float64; of masked cells 0."""
    xp = scores.__array_namespace__()
    x = xp.astype(scores, xp.float64)
    is_masked = x == -np.inf
    x = xp.where(is_masked, 0.0, x)
    by_group = curves.by_group
    if isinstance(by_group, IsotonicCurves):
        p = _isotonic(by_group, x)
    elif isinstance(by_group, StretchedCurves):
        p = _stretched(by_group, x)
    else:
        p = _logistic(by_group, x)
    return xp.where(is_masked, 0.0, p)


def _logistic(curves: LogisticCurves, scores: Value) -> Value:
    """Return sigmoid(slope (x / scale - centre) + intercept), x the score or its logit."""
    xp = scores.__array_namespace__()
    x = scores if curves.limits is None else _log_odds(xp.clip(scores, *curves.limits))
    scale, centre, slope, intercept = curves.curves[:, np.newaxis]  # of (1, n_groups)
    place = xp.clip(x / scale - centre, -LARGEST, LARGEST)
    p = _sigmoid(_line(place, slope, intercept))
    return xp.where(scores == curves.missing, curves.at_missing[np.newaxis], p)


def _stretched(curves: StretchedCurves, scores: Value) -> Value:
    """Return sigmoid(slope logit g + intercept), g the curve of all labels."""
    xp = scores.__array_namespace__()
    common = xp.clip(_isotonic(curves.common, scores), LEAST, MOST)
    slope, intercept = curves.lines[:, np.newaxis]  # of (1, n_labels)
    return _sigmoid(_line(_log_odds(common), slope, intercept))


def _isotonic(curves: IsotonicCurves, scores: Value) -> Value:
    """Return piecewise linear curves at scores, by the arithmetic of `_kernels/calibration.py`."""
    xp = scores.__array_namespace__()
    first, sizes, knots, values = _tables(curves)

    # The knots on both sides of each score: the last one at or below it, and the next.
    n_passed = _passed(first, sizes, knots, scores)
    left = first + xp.maximum(n_passed - 1, 0)
    right = first + xp.minimum(n_passed, sizes - 1)
    below, above = (xp.take(xp.asarray(knots), at) for at in (left, right))
    low, high = (xp.take(xp.asarray(values), at) for at in (left, right))

    # Halves, where the knots are further apart than float64 can tell.
    factor = 1.0
    with np.errstate(over="ignore"):
        if np.isinf(np.diff(knots)).any():
            factor = 0.5
    share = (scores * factor - below * factor) / (above * factor - below * factor)
    between = xp.minimum(low + share * (high - low), high)
    return xp.where((scores > below) & (low != high), between, low)


def _tables(curves: IsotonicCurves) -> tuple[Dense, Dense, Floats, Floats]:
    """Return first knot and number of knots of each group, (1, n_groups), scores and probabilities of all knots.

    A NaN ends each group, at which no search passes. A group without knots gets one, of probability 0.
    """
    knots, values = [], []
    for start, end in pairwise(curves.offsets.tolist()):
        own = slice(start, end)
        knots.append(np.append(curves.scores[own] if end > start else 0.0, np.nan))
        values.append(np.append(curves.probabilities[own] if end > start else 0.0, np.nan))
    sizes = np.array([scores.size for scores in knots])
    first = np.cumsum(sizes) - sizes
    return (
        first[np.newaxis],
        sizes[np.newaxis] - 1,
        np.concatenate(knots),
        np.concatenate(values),
    )


def _passed(first: Dense, sizes: Dense, knots: Floats, scores: Value) -> Value:
    """Count the knots of each cell's group at or below its score, by halving."""
    xp = scores.__array_namespace__()
    table = xp.asarray(knots)
    n_passed = xp.astype(xp.zeros_like(scores), xp.int64)
    step = 1 << int(sizes.max()).bit_length() - 1
    while step:
        # The knot after so many; where there are fewer, the NaN behind them.
        further = n_passed + step
        knot = xp.take(table, xp.minimum(further - 1, sizes) + first)
        n_passed = xp.where(knot <= scores, further, n_passed)
        step //= 2
    return n_passed


def _line(x: Value, slope: Floats, intercept: Floats) -> Value:
    """Return slope x + intercept; -inf, for never, whatever x is, which is finite."""
    return x * np.where(np.isneginf(intercept), 0.0, slope) + intercept


def _log_odds(p: Value) -> Value:
    """Return log(p / (1 - p))."""
    return p.__array_namespace__().log(p / (1.0 - p))


def _sigmoid(x: Value) -> Value:
    """Return 1 / (1 + exp(-x)), without overflow."""
    xp = x.__array_namespace__()
    away = xp.exp(-xp.abs(x))
    return xp.where(x >= 0.0, 1.0, away) / (1.0 + away)
