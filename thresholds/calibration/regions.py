"""Thresholds for probabilities, as regions of the scores that the probabilities come from.

    { s : p(s) >= t },    p the curve of a label, t its threshold

A curve rises, or, by Platt's method, falls; so the scores that reach a threshold begin, or end, at one number. It is
found by halving the range of float64, with the curve itself as the judge. Two groups of cells lie apart from the curve:
masked ones, of probability 0, and, by Platt's method, those that are `missing`.
"""

import math
from collections.abc import Callable
from dataclasses import replace

import numpy as np

from thresholds._arrays.types import Booleans, Floats, Keys
from thresholds._engine.placement import next_above
from thresholds._kernels.keys import to_keys, to_scores
from thresholds.calibration.curves import LARGEST, CalibrationCurves


def regions_of(curves: CalibrationCurves, missing: float, thresholds: Floats) -> tuple[Floats, ...]:
    """Return, for each label, the rising scores at which its probability begins or ends to reach the threshold.

    A score a few units in the last place of float64 from such a number may lie on its other side: rounding may keep a
    curve from rising there. Scores of float32 lie further apart. A score that is subnormal in float64 counts as
    `missing` where that is 0, as some runtimes take it for 0.
    """
    on_curve, anywhere = curves.reader(), replace(curves, at_missing=None).reader()

    # Whether the probability reaches the threshold, (n_labels,) each, at one score.
    at_masked = thresholds <= 0.0
    at_missing = on_curve(np.full(thresholds.size, missing)) >= thresholds
    at_missing_by_curve = anywhere(np.full(thresholds.size, missing)) >= thresholds
    at_lowest = anywhere(np.full(thresholds.size, -LARGEST)) >= thresholds
    at_highest = anywhere(np.full(thresholds.size, LARGEST)) >= thresholds
    changes = _first_change(anywhere, thresholds, at_highest)  # (n_labels,)
    after_missing = float(next_above(np.array([missing]), np.dtype(np.float64))[0])

    regions = []
    for label in range(thresholds.size):
        # Each of these scores turns over the decision on it and on all above it.
        turns = {-math.inf} if at_masked[label] else set()
        if at_lowest[label] != at_masked[label]:
            turns ^= {-LARGEST}
        if at_highest[label] != at_lowest[label]:
            turns ^= {float(changes[label])}
        if at_missing[label] != at_missing_by_curve[label]:
            turns ^= {missing, after_missing}
        regions.append(np.array(sorted(turns), np.float64))
    return tuple(regions)


def _first_change(
    read: Callable[[Floats], Floats], thresholds: Floats, at_highest: Booleans
) -> Floats:
    """Return the lowest score of each label from which on it is decided as at the highest: (n_labels,)."""
    ends = np.repeat([[-LARGEST], [LARGEST]], thresholds.size, axis=1)  # (2, n_labels)
    low, high = to_keys(ends)
    while (low < high).any():
        middle = low + (high - low) // np.uint64(2)
        is_as_highest = (read(_scores(middle)) >= thresholds) == at_highest
        high = np.where(is_as_highest, middle, high)
        low = np.where(is_as_highest, low, middle + np.uint64(1))
    return _scores(high) + 0.0  # without the sign of -0.0


def _scores(keys: Keys) -> Floats:
    """Return the scores of keys."""
    return to_scores(keys).astype(np.float64, copy=False)
