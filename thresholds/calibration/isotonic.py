"""Isotonic calibration: the rising curve of least squares, constant on blocks of scores.

    minimise  sum over cells of  w (y - g(s))^2,    g never falling

Ayer, Brunk, Ewing, Reid and Silverman 1955; as calibration: Zadrozny and Elkan 2002. A block's probability is the
share of positives in it. Between two blocks g is linear, beyond all it is constant, as in scikit-learn's
`IsotonicRegression(out_of_bounds="clip")`.
"""

from dataclasses import dataclass

import numpy as np

from thresholds._arrays.types import AnyFloats, Floats, Ints
from thresholds._kernels.calibration import interpolate
from thresholds._kernels.keys import to_keys, to_scores
from thresholds._kernels.sorting import unit_staircases, weighted_staircases
from thresholds.calibration.cells import Cells, map_labels

_Knots = tuple[AnyFloats, Floats]


@dataclass(frozen=True, eq=False, slots=True)
class IsotonicCurves:
    """A piecewise linear curve for each label, or one for all: group g has knots `offsets[g]:offsets[g + 1]`."""

    offsets: Ints
    scores: Floats
    probabilities: Floats

    def at(self, starts: Ints, scores: Floats, first: int = 0) -> Floats:
        """Return the probabilities of scores, one group after another, from group `first` on."""
        offsets = self.offsets[first : first + starts.size]
        return interpolate(starts, scores, offsets, self.scores, self.probabilities)


def fit_isotonic(cells: Cells, n_jobs: int | None, progress: bool) -> IsotonicCurves:
    """Fit a curve to each group of cells."""

    def fit(first: int, last: int) -> list[_Knots]:
        return [_knots(cells.group(g, g + 1)) for g in range(first, last)]

    parts = map_labels(cells.starts, fit, n_jobs=n_jobs, progress=progress)
    curves = [curve for part in parts for curve in part]
    offsets = np.append(0, np.cumsum([scores.size for scores, _ in curves]))
    scores, probabilities = (np.concatenate(parts) for parts in zip(*curves, strict=True))
    return IsotonicCurves(offsets, scores, probabilities)


def _knots(cells: Cells) -> _Knots:
    """Return the ends of the blocks of one group, from the lowest up, and their probabilities."""
    score, lower, hits, weights = _steps(cells)
    if score.size == 0:
        return np.empty(0), np.empty(0)
    ends = rising_blocks(hits, weights)
    rates = np.diff(hits[ends]) / np.diff(weights[ends])
    bottom, top = score[ends[:-1]], np.append(lower[ends[1:-1]], score[ends[-2]])
    knots, values = np.stack([bottom, top], axis=1).reshape(-1), np.repeat(rates, 2)
    if not np.isnan(lower[0]):  # Negatives below all positives.
        knots, values = np.append(lower[0], knots), np.append(0.0, values)
    first = np.append(True, knots[1:] > knots[:-1])
    return knots[first], values[first]


def _steps(cells: Cells) -> tuple[AnyFloats, AnyFloats, Ints, Ints]:
    """Return the scores of positives, rising, the next lower score of each, and what lies below, in hits and weight.

    Negatives between two positives count to the lower one: they pool with it in any case, as 0 is below every rate.
    """
    keys, ends = to_keys(cells.scores.copy()), np.array([0, cells.scores.size])
    if cells.weights.size:
        found = weighted_staircases(ends, keys, np.where(cells.truth, cells.weights, 0), cells.weights)
    elif keys.size:
        found = unit_staircases(keys[np.newaxis], cells.truth[np.newaxis])
    else:
        return np.empty(0), np.empty(0), np.zeros(1, np.int64), np.zeros(1, np.int64)
    _, key, lower, tp, fp, _ = found
    hits, weights = (np.append(0, np.diff(sums, prepend=0)[::-1].cumsum()) for sums in (tp, tp + fp))
    return to_scores(key)[::-1], to_scores(lower)[::-1], hits, weights


def rising_blocks(hits: Ints, weights: Ints) -> Ints:
    """Return the ends of the blocks of steps, from sums over the steps below each."""
    from scipy.optimize import isotonic_regression

    of_step, weight = np.diff(hits), np.diff(weights).astype(np.float64)
    ends = isotonic_regression(of_step / weight, weights=weight).blocks.astype(np.int64)
    while True:  # SciPy's means are sums of rounded means: those that are equal may look like rising ones.
        rates = np.diff(hits[ends]) / np.diff(weights[ends])
        rising = np.append(True, rates[1:] > rates[:-1])
        if rising.all():
            return ends  # type: ignore[no-any-return]
        ends = np.append(ends[:-1][rising], ends[-1])
