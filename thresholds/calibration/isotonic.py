"""Isotonic calibration: the rising curve of least squares, constant on blocks of scores.

    minimise  sum over cells of  w (y - g(s))^2,    g never falling

Ayer, Brunk, Ewing, Reid and Silverman 1955; as calibration: Zadrozny and Elkan 2002. A block's
probability is the share of positives in it. Between two blocks g is linear, beyond all it is
constant, as in scikit-learn's `IsotonicRegression(out_of_bounds="clip")`.
"""

from collections.abc import Hashable
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from thresholds._arrays.types import AnyFloats, Floats, Ints
from thresholds._kernels.calibration import interpolate
from thresholds._kernels.keys import to_keys, to_scores
from thresholds._kernels.sorting import unit_staircases, weighted_staircases
from thresholds.calibration.cells import Cells, map_labels

_Knots = tuple[AnyFloats, Floats]


@dataclass(frozen=True, eq=False, slots=True)
class IsotonicCurves:
    """A piecewise linear curve for each label, or one for all.

    Group g has knots `offsets[g]:offsets[g + 1]`.
    """

    offsets: Ints  # (n_groups + 1,)
    scores: Floats  # (n_knots,)
    probabilities: Floats  # (n_knots,)

    def parts(self) -> list[Hashable]:
        """Return the bytes of each curve."""
        ends = pairwise(self.offsets.tolist())
        knots = [slice(first, last) for first, last in ends]
        return [(self.scores[own].tobytes(), self.probabilities[own].tobytes()) for own in knots]

    def at(self, starts: Ints, scores: Floats, first: int = 0) -> Floats:
        """Return the probabilities of scores, one group after another, from group `first` on."""
        offsets = self.offsets[first : first + starts.size]
        return interpolate(starts, scores, offsets, self.scores, self.probabilities)

    def reordered(self, places: Ints) -> "IsotonicCurves":
        """Return the curves of the groups at some places, in that order."""
        sizes = np.diff(self.offsets)  # (n_groups,)
        knots = np.concatenate(
            [np.arange(self.offsets[k], self.offsets[k + 1]) for k in places.tolist()]
        )
        offsets = np.append(0, np.cumsum(sizes[places]))
        return IsotonicCurves(offsets, self.scores[knots], self.probabilities[knots])


def fit_isotonic(cells: Cells, n_jobs: int | None, progress: bool) -> IsotonicCurves:
    """Fit a curve to each group of cells."""

    def fit(first: int, last: int) -> list[_Knots]:
        return [_knots(cells.group(g, g + 1)) for g in range(first, last)]

    pieces = map_labels(cells.starts, fit, n_jobs=n_jobs, progress=progress)
    curves = [curve for piece in pieces for curve in piece]
    return IsotonicCurves(
        offsets=np.append(0, np.cumsum([scores.size for scores, _ in curves])),
        scores=np.concatenate([scores for scores, _ in curves]),
        probabilities=np.concatenate([probabilities for _, probabilities in curves]),
    )


def _knots(cells: Cells) -> _Knots:
    """Return the ends of the blocks of one group, from the lowest up, and their probabilities."""
    score, lower, positives, weights = _steps(cells)
    if score.size == 0:
        return np.empty(0), np.empty(0)
    ends = rising_blocks(positives, weights)
    rates = np.diff(positives[ends]) / np.diff(weights[ends])  # (n_blocks,)

    # Each block has two knots: its lowest score, and its highest.
    bottom = score[ends[:-1]]
    top = np.append(lower[ends[1:-1]], score[ends[-2]])
    knots = np.stack([bottom, top], axis=1).reshape(-1)
    values = np.repeat(rates, 2)

    # Negatives below all positives.
    if not np.isnan(lower[0]):
        knots = np.append(lower[0], knots)
        values = np.append(0.0, values)
    is_new = np.append(True, knots[1:] > knots[:-1])
    return knots[is_new], values[is_new]


def _steps(cells: Cells) -> tuple[AnyFloats, AnyFloats, Ints, Ints]:
    """Return the scores of positives, rising, the next lower score of each, and what lies below.

    That is the weight of positives and of all, (n_steps + 1,). Negatives between two positives count
    to the lower one: they pool with it in any case, as 0 is below every rate.
    """
    if cells.scores.size == 0:
        return np.empty(0), np.empty(0), np.zeros(1, np.int64), np.zeros(1, np.int64)
    keys = to_keys(cells.scores.copy())
    if cells.weights.size:
        starts = np.array([0, keys.size])
        positive_weights = np.where(cells.truth, cells.weights, 0)
        stairs = weighted_staircases(starts, keys, positive_weights, cells.weights)
    else:
        stairs = unit_staircases(keys[np.newaxis], cells.truth[np.newaxis])
    _, key, lower, tp, fp, _ = stairs
    return to_scores(key)[::-1], to_scores(lower)[::-1], _sums_below(tp), _sums_below(tp + fp)


def _sums_below(sums: Ints) -> Ints:
    """Return what lies below each step, rising, from sums from the top down."""
    return np.append(0, np.diff(sums, prepend=0)[::-1].cumsum())


def rising_blocks(positives: Ints, weights: Ints) -> Ints:
    """Return the ends of the blocks of steps, from sums over the steps below each."""
    from scipy.optimize import isotonic_regression

    step_weights = np.diff(weights).astype(np.float64)
    step_rates = np.diff(positives) / step_weights
    ends = isotonic_regression(step_rates, weights=step_weights).blocks.astype(np.int64)

    # SciPy's means are sums of rounded means: those that are equal may look like rising ones.
    while True:
        rates = np.diff(positives[ends]) / np.diff(weights[ends])
        rising = np.append(True, rates[1:] > rates[:-1])
        if rising.all():
            return ends  # type: ignore[no-any-return]
        ends = np.append(ends[:-1][rising], ends[-1])
