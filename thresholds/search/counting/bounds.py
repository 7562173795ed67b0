"""Which scores of each label the optimum may lie at, from counts at a few cuts.

    r(cut) = tp / (B P + predicted) = F / (1 + B),    B = beta^2, P the positives of one label or all

Between two cuts the best case is that all positives come first: the true positives of the lower
cut, and the predictions of the upper one and of these positives. If one cut has a higher tp - r
predicted than that, whatever ratio r the optimum may have, the optimum is not there.
docs/performance.md has the proof.
"""

import itertools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from thresholds._arrays.types import Booleans, Floats, Ints, Keys, Scores
from thresholds._kernels.counting import keep_between
from thresholds._kernels.keys import to_keys
from thresholds._kernels.refine import OF_ALL_LABELS
from thresholds.search.counting.refine import (
    KeyLists,
    LastSteps,
    Remaining,
    UnitRemaining,
    WeightedRemaining,
)
from thresholds.search.joint_micro import highest_ratio_at_cuts

# Whether counts keep limits: true positives and predictions (n_cuts, n_labels), and positives (n_labels,).
Keeps: TypeAlias = Callable[[Ints, Ints, Ints], Booleans]

_ROUNDING = 1e-12  # relative, of a value of tp - r predicted: a hundred times more than it can be


@dataclass(frozen=True)
class Candidates:
    """The scores that the optimum of each label may lie at, [low, high), and bounds of its ratio."""

    low: Scores  # (n_labels,)
    high: Scores  # (n_labels,)
    sizes: Ints  # (n_pieces, n_labels) how many lie there, in each piece of the rows
    above: Ints  # (n_labels,) how many scores lie above, or what these weigh
    tp_above: Ints  # (n_labels,) how many of these are positives', or what those weigh
    any_below: Booleans  # (n_labels,)
    low_ratio: Floats  # (n_labels,) between which the best ratio lies
    high_ratio: Floats  # (n_labels,)
    beta2_positives: Floats  # (n_labels,) B P, or OF_ALL_LABELS
    slack: float
    positives: Ints  # (n_labels,) how many there are, or what they weigh
    # (n_labels,) whether the best within limits, which may be another, is among them
    are_for_both: Booleans
    lowest: LastSteps  # what is known of a step right below these scores

    @classmethod
    def of(
        cls,
        cuts: Scores,
        tp: Ints,
        piece_counts: Ints,
        beta: float,
        jointly: bool,
        weights: Ints | None = None,
        keeps: Keeps | None = None,
    ) -> "Candidates":
        """Bound the best cut of each label from what lies at or above cuts (n_cuts, n_labels).

        With limits, what `keeps` them, the best within these is bounded, too.

        Cuts fall, from above all scores to below all. `piece_counts` (n_cuts, n_pieces,
        n_labels) has the predictions in each piece of the rows. Where rows have weights, `weights`
        (n_cuts, n_labels) has what these weigh, and `tp` what positives do.
        """
        counts = piece_counts.sum(axis=1)  # (n_cuts, n_labels)
        predicted = counts if weights is None else weights
        positives = tp[-1]  # (n_labels,), as the last cut lies below all scores
        slack = _ROUNDING * float(predicted[-1].max())

        # Best case of each interval between two cuts: its positives come first. Where it holds a single value, they do
        # not: all is predicted or nothing.
        gained = np.diff(tp, axis=0)  # (n_cuts - 1, n_labels)
        best_tp = tp[1:]
        with np.errstate(over="ignore", under="ignore"):
            is_single = cuts[:-1] == np.nextafter(cuts[1:], cuts.dtype.type(np.inf))
        best_predicted = np.where(is_single, predicted[1:], predicted[:-1] + gained)

        # The ratio of the optimum lies between that of the best cut and that of the best cases.
        beta2_positives = beta**2 * positives
        if jointly:
            beta2_all = beta2_positives.sum()
            low = highest_ratio_at_cuts(tp, predicted, beta2_all) * (1 - _ROUNDING)
            high = highest_ratio_at_cuts(best_tp, best_predicted, beta2_all) * (1 + _ROUNDING)
            low_ratio = np.full(positives.size, low)
            high_ratio = np.full(positives.size, high)
            beta2_positives = np.full(positives.size, OF_ALL_LABELS)
        else:
            low_ratio = high_ratio = (tp / np.maximum(beta2_positives + predicted, 1)).max(axis=0)

        # An interval is out if one counted cut beats its best case at both ratios: both values are
        # linear in the ratio, so it is beaten at all ratios between. Without a positive it has no
        # step of the staircase.
        out = gained == 0
        for ratio in (low_ratio, high_ratio):
            best_cut = (tp - ratio * predicted).argmax(axis=0)[np.newaxis]  # (1, n_labels)
            out_for_this_cut = np.ones(gained.shape, np.bool_)
            for end in (low_ratio, high_ratio):
                reached = np.take_along_axis(tp - end * predicted, best_cut, axis=0)
                out_for_this_cut &= best_tp - end * best_predicted + slack < reached
            out |= out_for_this_cut

        # The best within limits is the same, unless the optimum may break them.
        are_for_both = np.zeros(positives.size, np.bool_)
        if keeps is not None:
            ratios = tp / np.maximum(beta2_positives + predicted, 1)
            least_ratio = np.where(keeps(tp, predicted, positives), ratios, 0).max(axis=0)
            out_within = ~keeps(best_tp, predicted[:-1], positives) | (gained == 0)
            out_within |= best_tp - least_ratio * (beta2_positives + best_predicted) + slack < 0
            are_for_both = ~(out | keeps(tp[:-1], predicted[1:], positives)).all(axis=0)
            out &= out_within | ~are_for_both

        # Keep everything between the outermost intervals that are left.
        first = out.argmin(axis=0)  # (n_labels,) the cut above them
        last = len(out) - out[::-1].argmin(axis=0)  # (n_labels,) the cut below them
        # Nothing is left, and predicting nothing is best: an empty interval above all scores.
        last = np.where(out.all(axis=0), 0, last)

        # A single value at their lower end, which may be that of nearly all scores, is a step of which everything is
        # known. It is not collected: unless others are, and lower ones exist, of which the highest would be wanted too.
        any_below = _at_cut(counts, last) < counts[-1]  # (n_labels,)
        is_known = _at_cut(is_single, np.maximum(last - 1, 0)) & (last > first)
        is_known &= (last - 1 == first) | ~any_below
        lowest = LastSteps(
            is_known,
            score=_at_cut(cuts, last),
            tp=_at_cut(tp, last),
            predicted=_at_cut(predicted, last),
            higher=_at_cut(predicted, np.maximum(last - 1, 0)),
            any_below=any_below,
        )
        last = np.where(is_known, last - 1, last)
        # Below such a step the next lower score is looked for, else below what is collected.
        is_alone = is_known & (last == first)
        return cls(
            low=np.where(is_alone, lowest.score, _at_cut(cuts, last)),
            high=np.where(is_alone, lowest.score, _at_cut(cuts, first)),
            sizes=_at_cut(piece_counts, last) - _at_cut(piece_counts, first),
            above=_at_cut(predicted, first),
            tp_above=_at_cut(tp, first),
            any_below=any_below | (is_known & ~is_alone),
            low_ratio=low_ratio,
            high_ratio=high_ratio,
            beta2_positives=beta2_positives,
            slack=slack,
            positives=positives,
            are_for_both=are_for_both,
            lowest=lowest,
        )

    def remaining(
        self,
        scores: KeyLists,
        positives: KeyLists,
        below: Keys,
        labels: slice,
    ) -> Remaining:
        """Return what is left of some labels, from candidates' scores and those of all positives.

        Scores become keys, in the same memory; `below` (n_labels,) has the next lower key.
        """
        n_positives = positives.sizes.copy()
        keep_between(*positives.arrays, self.low[labels], self.high[labels])
        return UnitRemaining(
            KeyLists(scores.firsts, scores.sizes, to_keys(scores.keys)),
            positives=KeyLists(positives.firsts, positives.sizes, to_keys(positives.keys)),
            n_positives=n_positives,
            **self._outside(below, labels),
        )

    def remaining_weighted(
        self, scores: KeyLists, below: Keys, labels: slice, row_weights: Ints
    ) -> Remaining:
        """Do as `remaining` does, for rows with weights, from scores with their rows."""
        return WeightedRemaining(
            KeyLists(scores.firsts, scores.sizes, to_keys(scores.keys), scores.rows),
            row_weights=row_weights,
            n_positives=self.positives[labels],
            **self._outside(below, labels),
        )

    def _outside(self, below: Keys, labels: slice) -> dict[str, Any]:
        """Return what is known of some labels outside of these scores."""
        return {
            "above": self.above[labels].copy(),
            "tp_above": self.tp_above[labels].copy(),
            "below": np.where(self.any_below[labels], below, 0).astype(below.dtype),
            "low_ratio": self.low_ratio[labels],
            "high_ratio": self.high_ratio[labels],
            "beta2_positives": self.beta2_positives[labels],
            "slack": self.slack,
            "are_for_both": self.are_for_both[labels],
            "lowest": self.lowest.of(labels),
        }


def panels(sizes: Ints, room: int) -> list[slice]:
    """Part labels of so many scores, (n_labels,), so that at most `room` are of a panel, unless of a single label."""
    used = sizes.cumsum()  # (n_labels,) of all labels up to each
    ends = [0]
    while ends[-1] < used.size:
        before = used[ends[-1] - 1] if ends[-1] else 0
        end = int(np.searchsorted(used, before + room, side="right"))
        ends.append(max(ends[-1] + 1, end))
    return [slice(first, last) for first, last in itertools.pairwise(ends)]


def _at_cut(values: npt.NDArray[Any], cut: Ints) -> npt.NDArray[Any]:
    """Return the values (n_cuts, ..., n_labels) of each label at its own cut, (..., n_labels)."""
    # NumPy puts the axis of labels first, as the two lists of places stand apart; `.T` puts it last.
    return values[cut, ..., np.arange(cut.size)].T
