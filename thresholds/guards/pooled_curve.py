"""One logistic curve of truth on score for all labels: what a cell's score is worth anywhere.

The bins of all labels are added up in bins that they share (`_kernels/guards.py`): sums of whole numbers, so that the
curve depends neither on the order of cells nor on threads.
"""

import numpy as np

from thresholds._arrays.types import Dense, Floats
from thresholds._engine.histograms import Histograms
from thresholds._engine.problem import Problem
from thresholds._kernels import guards as kernels
from thresholds._kernels.calibration import fit_logistic
from thresholds._kernels.keys import to_keys, to_scores
from thresholds.log_odds import sigmoid

_LARGEST = float(np.finfo(np.float32).max)


def probabilities_of_bins(
    found: Histograms, problem: Problem, weight_of_row: float
) -> Floats | None:
    """Fit Platt's curve to the cells of all labels, and return the probability in each bin, (n_bins,).

    None if truth does not rise with the score. `weight_of_row` is that of one row, in the unit of the weights. Scores
    in [0, 1] enter by their log odds, others as they are. Cells that are `missing` get the share of positives among
    them, those that are masked nothing.
    """
    # 1. Whether scores are probabilities, but for those apart.
    is_missing, is_masked = found.lowest == problem.missing, found.lowest == -np.inf  # (n_bins,)
    on_curve = ~(is_missing | is_masked)
    probable = bool((found.lowest[on_curve] >= 0).all() and (found.highest[on_curve] <= 1).all())

    # 2. Add up the bins of all labels by the middle of their scores.
    middle = np.where(
        found.lowest == found.highest, found.lowest, found.lowest / 2 + found.highest / 2
    )
    place = kernels.bins_of(_narrow_keys(middle), probable)
    n_bins = 2 * kernels.SIDE if probable else kernels.MARGIN_BINS
    total, positive = np.zeros((2, n_bins), np.int64)
    np.add.at(total, place[on_curve], found.weights[on_curve])
    np.add.at(positive, place[on_curve], found.hits[on_curve])

    # 3. Fit the curve to the bins that have cells.
    filled = np.flatnonzero(total)
    if not positive.any() or not (total - positive).any():
        return None
    x, group = _values(probable)[filled], np.array([0, filled.size])
    curve = fit_logistic(group, x, positive[filled], total[filled], weight_of_row)  # (4, 1)
    if not curve[2, 0] > 0:  # the slope
        return None

    # 4. Read the curve in each bin.
    p = _read(curve[:, 0], probable)[place]
    missing_total, missing_positive = found.weights[is_missing].sum(), found.hits[is_missing].sum()
    p[is_missing] = (missing_positive + weight_of_row / 2) / (missing_total + weight_of_row)
    p[is_masked] = 0.0
    return p


def _narrow_keys(scores: Dense) -> Dense:
    """Return the keys of scores as float32; what is beyond its range becomes its largest number."""
    if scores.dtype != np.float32:
        scores = np.clip(scores, -_LARGEST, _LARGEST).astype(np.float32)
    return to_keys(np.array(scores, order="C"))


def _values(probable: bool) -> Floats:
    """Return the middle (n_bins,) of each bin: its log odds, or its margin."""
    shift = np.uint32(kernels.SHIFT)
    middle = np.uint32(1 << (kernels.SHIFT - 1))  # bits below those of the bin
    if not probable:
        keys = (np.arange(kernels.MARGIN_BINS, dtype=np.uint32) << shift) | middle
        with np.errstate(invalid="ignore"):  # Bins of NaN.
            return to_scores(keys).astype(np.float64)

    # Probabilities up to 1/2; those above mirror them.
    bins = np.arange(kernels.LOWEST, kernels.LOWEST + kernels.SIDE, dtype=np.uint32)
    bits = (bins << shift) | middle
    p = np.minimum(bits.view(np.float32).astype(np.float64), 0.5)
    log_odds = np.log(p / (1 - p))  # (SIDE,)
    return np.concatenate([log_odds, -log_odds[::-1]])


def _read(curve: Floats, probable: bool) -> Floats:
    """Return the probability (n_bins,) of each bin; bins that no number has get none."""
    scale, centre, slope, intercept = curve
    with np.errstate(over="ignore"):
        z = slope * (_values(probable) / scale - centre) + intercept
        return np.asarray(np.nan_to_num(sigmoid(z)))
