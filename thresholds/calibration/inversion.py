"""At which scores does a calibrated rule of thresholds predict?

A curve from scores to probabilities rises or falls all the way, but for the score `missing` and masked cells, which
have probabilities of their own. So probabilities reach a threshold in a region of scores, found here by halving the
range of all scores of a dtype, with the library's own curves: to the last bit, in which other exps differ.
"""

from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from thresholds._arrays.types import Booleans, Dense, Floats
from thresholds._kernels.keys import to_keys, to_scores
from thresholds.calibration.calibrator import Calibrator
from thresholds.calibration.platt import LogisticCurves
from thresholds.rule import RegionRule


def region_of(
    calibrator: Calibrator, thresholds: Floats, dtype: "np.dtype[np.floating[Any]]"
) -> RegionRule:
    """Return the rule for scores that predicts where their probabilities are at or above thresholds.

    Parameters
    ----------
    calibrator : Calibrator
    thresholds : (n_labels,), of probabilities
    dtype : float32 or float64
        The regions are right for scores of this dtype, and of those whose scores it holds.

    Returns
    -------
    RegionRule
    """
    kind = dtype.type
    ends = np.finfo(dtype)
    points = [
        np.full(thresholds.shape, kind(-np.inf)),
        np.full(thresholds.shape, ends.min),
        _crossings(_without_missing(calibrator), thresholds, dtype),
    ]
    with np.errstate(over="ignore"):
        missing = kind(calibrator.missing)
    if missing == calibrator.missing and np.isfinite(missing):
        points += [
            np.full(thresholds.shape, score)
            for score in (missing, np.nextafter(missing, kind(np.inf)))
        ]

    # Between these scores nothing changes, so that switches are those at which it does.
    scores = np.sort(np.stack(points), axis=0)  # (n_points, n_labels)
    predicted = _reached(calibrator, scores, thresholds)
    changes = predicted != np.concatenate([np.zeros_like(predicted[:1]), predicted[:-1]])
    switches = [scores[changes[:, j], j].astype(np.float64) for j in range(calibrator.n_labels)]
    return RegionRule(switches, missing=calibrator.missing, label_names=calibrator.label_names)


def _crossings(
    calibrator: Calibrator, thresholds: Floats, dtype: "np.dtype[np.floating[Any]]"
) -> npt.NDArray[Any]:
    """Return the lowest score of each label that is decided as the highest one is, (n_labels,)."""
    ends = np.finfo(dtype)
    highest = np.full(thresholds.shape, ends.max)
    goal = _reached(calibrator, highest[np.newaxis], thresholds)[0]
    low = to_keys(np.full(thresholds.shape, ends.min))
    high = to_keys(highest)
    while (low < high).any():
        middle = low + (high - low) // 2
        is_there = _reached(calibrator, to_scores(middle)[np.newaxis], thresholds)[0] == goal
        high = np.where(is_there, middle, high)
        low = np.where(is_there, low, np.minimum(middle + 1, high))
    return to_scores(low)


def _reached(calibrator: Calibrator, scores: Dense, thresholds: Floats) -> Booleans:
    """Tell at which scores, (n_scores, n_labels), probabilities reach the thresholds."""
    return np.asarray(calibrator.read(scores) >= thresholds)


def _without_missing(calibrator: Calibrator) -> Calibrator:
    """Return the calibrator whose curves are read at the score `missing`, too."""
    curves = calibrator._curves
    if not isinstance(curves.by_group, LogisticCurves):
        return calibrator
    return replace(
        calibrator, _curves=replace(curves, by_group=replace(curves.by_group, missing=np.nan))
    )
