"""Which scores of each label the optimum may lie at, from counts at a few cuts.

Between two cuts the best case is that all positives come first: the true positives of the lower cut, and the
predictions of the upper one and of these positives. If one cut has a higher tp - r predicted than that, whatever ratio
r the optimum may have, the optimum is not there. docs/performance.md has the proof.
"""

import itertools
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from thresholds._arrays.types import Floats, Ints, Scores
from thresholds._kernels.counting import keep_between
from thresholds._kernels.keys import to_keys
from thresholds.search.counting.refine import Left, Lists

_ROUNDING = 1e-12  # relative, of a value of tp - r predicted: a hundred times more than it can be


@dataclass(frozen=True)
class Between:
    """The scores of each label that are left, those in [low, high), and what bounds the best ratio."""

    low: Scores  # (n_labels,)
    high: Scores
    sizes: Ints  # (n_pieces, n_labels) of what is left
    above: Ints  # (n_labels,) what lies above what is left
    hits_above: Ints
    any_below: npt.NDArray[np.bool_]
    low_ratio: Floats  # between which the best ratio lies
    high_ratio: Floats
    recall_part: npt.NDArray[Any]  # B P; -1 where the ratio is not that of the label alone
    slack: float

    @classmethod
    def of(cls, cuts: Scores, tp: Ints, of_pieces: Ints, beta: float, jointly: bool) -> "Between":
        """Bound the best cut of each label from what lies at or above cuts (n_cuts, n_labels), falling.

        The first cut is above all scores, the last below. `of_pieces` (n_cuts, n_pieces, n_labels) has the predictions
        in each piece of the rows.
        """
        positives, predicted = tp[-1], of_pieces.sum(axis=1)
        n_samples, gained = int(predicted[-1, 0]), np.diff(tp, axis=0)
        slack = _ROUNDING * n_samples
        recall_part = beta**2 * positives
        at_best = (tp[1:], predicted[:-1] + gained)  # All hits come first.
        if jointly:
            low = np.full(positives.size, _joint_ratio(tp, predicted, recall_part.sum()) * (1 - _ROUNDING))
            high = np.full(positives.size, _joint_ratio(*at_best, recall_part.sum()) * (1 + _ROUNDING))
            recall_part = np.full(positives.size, -1.0)
        else:
            low = high = (tp / np.maximum(recall_part + predicted, 1)).max(axis=0)
        beaten = _beaten(tp, predicted, at_best, low, high, slack) | (gained == 0)
        first = beaten.argmin(axis=0)
        last = np.where(beaten.all(axis=0), 0, len(beaten) - beaten[::-1].argmin(axis=0))

        def at(values: npt.NDArray[Any], cut: Ints) -> npt.NDArray[Any]:
            return values[cut, ..., np.arange(cut.size)].T

        return cls(
            low=at(cuts, last),
            high=at(cuts, first),
            sizes=at(of_pieces, last) - at(of_pieces, first),
            above=at(predicted, first),
            hits_above=at(tp, first),
            any_below=at(predicted, last) < n_samples,
            low_ratio=low,
            high_ratio=high,
            recall_part=recall_part,
            slack=slack,
        )

    def left(self, scores: Lists, hits: Lists, below: Scores, labels: slice) -> Left:
        """Say what is left of some labels, from the scores that are and those of all positives, which become keys."""
        positives = hits.sizes.copy()
        keep_between(hits.firsts, hits.sizes, hits.keys, self.low[labels], self.high[labels])
        return Left(
            Lists(scores.firsts, scores.sizes, to_keys(scores.keys)),
            Lists(hits.firsts, hits.sizes, to_keys(hits.keys)),
            above=self.above[labels].copy(),
            hits_above=self.hits_above[labels].copy(),
            below=np.where(self.any_below[labels], below, 0).astype(below.dtype),
            positives=positives,
            low_ratio=self.low_ratio[labels],
            high_ratio=self.high_ratio[labels],
            recall_part=self.recall_part[labels],
            slack=self.slack,
        )

    def panels(self, room: int) -> list[slice]:
        """Part the labels so that no more scores than `room` are left of a panel, unless of a single label."""
        used, ends = self.sizes.sum(axis=0).cumsum(), [0]
        while ends[-1] < used.size:
            before = used[ends[-1] - 1] if ends[-1] else 0
            ends.append(max(ends[-1] + 1, int(np.searchsorted(used, before + room, side="right"))))
        return [slice(first, last) for first, last in itertools.pairwise(ends)]


def _joint_ratio(tp: Ints, predicted: Ints, recall_part: float) -> float:
    """Return the highest tp / (recall_part + predicted), one cut for each label, by Dinkelbach's iteration."""
    ratio = 0.0
    while True:
        best = (tp - ratio * predicted).argmax(axis=0)[np.newaxis]
        hits, cost = (int(np.take_along_axis(values, best, axis=0).sum()) for values in (tp, predicted))
        better = hits / max(recall_part + cost, 1)
        if better <= ratio:
            return ratio
        ratio = better


def _beaten(
    tp: Ints, predicted: Ints, at_best: tuple[Ints, Ints], low: Floats, high: Floats, slack: float
) -> npt.NDArray[np.bool_]:
    """Tell which intervals hold nothing as good as one cut, whatever the ratio between `low` and `high`."""
    at_low, at_high = (tp - ratio * predicted for ratio in (low, high))
    most_low, most_high = (at_best[0] - ratio * at_best[1] + slack for ratio in (low, high))
    beaten = np.zeros(most_low.shape, np.bool_)
    for values in (at_low, at_high):
        best = values.argmax(axis=0)[np.newaxis]
        beaten |= (most_low < np.take_along_axis(at_low, best, axis=0)) & (
            most_high < np.take_along_axis(at_high, best, axis=0)
        )
    return beaten
