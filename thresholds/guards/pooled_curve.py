"""One logistic curve of truth on score for all labels: what a cell's score is worth anywhere.

The bins of all labels are added up in bins that they share (`_kernels/guards.py`): sums of whole numbers, so that the
curve depends neither on the order of cells nor on threads.
"""

from dataclasses import dataclass

import numpy as np

from thresholds._arrays.types import Dense, Floats, Ints
from thresholds._engine.histograms import Histograms
from thresholds._engine.problem import Problem
from thresholds._kernels import guards as kernels
from thresholds._kernels.calibration import fit_logistic
from thresholds._kernels.keys import to_keys, to_scores
from thresholds._log_odds import sigmoid

_LARGEST = float(np.finfo(np.float32).max)


@dataclass(frozen=True)
class PooledCurve:
    """What a cell of any label is worth at each score.

    Scores in [0, 1] enter by their log odds, others as they are. Cells that are `missing` get the share of positives
    among them, those that are masked nothing.
    """

    missing: float
    p_missing: float
    of_bins: Floats  # the probability in each bin that labels share
    is_probable: bool

    @classmethod
    def from_labels(
        cls, found: Histograms, problem: Problem, weight_of_row: float
    ) -> "PooledCurve | None":
        """Fit Platt's curve to the cells of all labels; None if truth does not rise with the score.

        `weight_of_row` is that of one row, in the unit of the weights.
        """
        # 1. Whether scores are probabilities, but for those apart.
        is_missing = found.lowest == problem.missing  # (n_bins,)
        apart = is_missing | (found.lowest == -np.inf)
        is_inside = (found.lowest >= 0) & (found.highest <= 1)
        is_probable = bool((is_inside | apart).all())

        # 2. Add up the bins of all labels by the middle of their scores.
        n_bins = 2 * kernels.SIDE if is_probable else kernels.MARGIN_BINS
        total, positive = np.zeros((2, n_bins), np.int64)
        place = _places(found, is_probable)[~apart]
        np.add.at(total, place, found.weights[~apart])
        np.add.at(positive, place, found.hits[~apart])

        # 3. Fit the curve to the bins that have cells.
        filled = np.flatnonzero(total)
        if not positive.any() or not (total - positive).any():
            return None
        x, group = _values(is_probable)[filled], np.array([0, filled.size])
        curve = fit_logistic(group, x, positive[filled], total[filled], weight_of_row)  # (4, 1)
        if not curve[2, 0] > 0:  # the slope
            return None
        n_missing, hits_missing = found.weights[is_missing].sum(), found.hits[is_missing].sum()
        p_missing = (hits_missing + weight_of_row / 2) / (n_missing + weight_of_row)
        return cls(problem.missing, p_missing, _read(curve[:, 0], is_probable), is_probable)

    def probabilities(self, found: Histograms) -> Floats:
        """Return the probability in each bin of some labels, (n_bins,)."""
        p = self.of_bins[_places(found, self.is_probable)]
        p[found.lowest == self.missing] = self.p_missing
        p[found.lowest == -np.inf] = 0.0
        return p


def _places(found: Histograms, probable: bool) -> Ints:
    """Return the bin that labels share in which the middle of each bin lies, (n_bins,)."""
    return kernels.bins_of(_narrow_keys(found.middle), probable)


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
