"""Isotonic calibration: the rising curve of least squares, constant on blocks of scores.

    minimise  sum over cells of  w (y - g(s))^2,    g never falling

Ayer, Brunk, Ewing, Reid and Silverman 1955; as calibration: Zadrozny and Elkan 2002. A block's
probability is the share of positives in it. Between two blocks g is linear, beyond all it is
constant, as in scikit-learn's `IsotonicRegression(out_of_bounds="clip")`.

A block is an edge of the upper hull of (predicted, true positives) at the steps of the group's
staircase, and its probability is the slope of that: the greatest convex minorant of Barlow, Bartholomew,
Bremner and Brunk 1972, "Statistical inference under order restrictions", section 1.2, seen from above.
Negatives between two positives count to the lower one: they pool with it in any case, as 0 is below every rate.
"""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from thresholds._arrays.grouped import group_of
from thresholds._arrays.types import Booleans, Floats, Ints
from thresholds._engine.histograms import Histograms
from thresholds._kernels.calibration import interpolate
from thresholds._kernels.choosing import upper_hulls

# How many knots each group has, their scores and their probabilities.
Knots = tuple[Ints, Floats, Floats]


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
        sizes = np.diff(self.offsets)[places]  # (n_groups,)
        offsets = np.append(0, sizes.cumsum())
        knots = np.repeat(self.offsets[places] - offsets[:-1], sizes) + np.arange(offsets[-1])
        return IsotonicCurves(offsets, self.scores[knots], self.probabilities[knots])


def joined(knots: Sequence[Knots]) -> IsotonicCurves:
    """Return the curves of all groups, whose knots were found some groups at a time."""
    sizes, scores, probabilities = (np.concatenate(parts) for parts in zip(*knots, strict=True))
    return IsotonicCurves(np.append(0, sizes.cumsum()), scores, probabilities)


def begins_block(probabilities: Floats) -> Booleans:
    """Return which knots, of groups side by side, lie above the knot before: the lowest scores of their blocks."""
    return np.diff(probabilities, prepend=0.0) > 0


def knots_of(groups: Histograms) -> Knots:
    """Return how many knots each group has; their scores, rising within a group; and the probabilities there."""
    steps = groups.steps

    # The blocks of each group, from the highest down. Each has its lowest score, and its highest, which is the next
    # below the block before; the curve is constant above the first block's lowest.
    starts, last_step, rate = upper_hulls(steps.offsets, steps.tp, steps.predicted - steps.tp)
    group = group_of(starts)  # (n_blocks,)
    bottom = steps.cut[last_step]
    is_first = np.diff(group, prepend=-1) > 0
    top = np.where(is_first, bottom, steps.lower[np.roll(last_step, 1)])

    # Negatives below all positives, whose next lower score is NaN where there are none.
    is_last = np.diff(group, append=-1) != 0  # (n_blocks,)
    below = steps.lower[last_step[is_last]]

    # All of these, rising, each once.
    of_knots = np.concatenate([group, group, group[is_last]])
    scores = np.concatenate([bottom, top, below])
    values = np.concatenate([rate, rate, np.zeros(below.size)])
    order = np.lexsort((scores, of_knots))
    of_knots, scores, values = of_knots[order], scores[order], values[order]
    is_new = (of_knots[1:] != of_knots[:-1]) | (scores[1:] != scores[:-1])
    kept = np.append(True, is_new)[: scores.size] & ~np.isnan(scores)
    return np.bincount(of_knots[kept], minlength=starts.size - 1), scores[kept], values[kept]
