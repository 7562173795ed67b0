"""The steps of a label, by sorting: what small problems are fitted with, and what tests of the kernels compare with.

    F_beta / (1 + B) = t / (B P + k)        B = beta^2, P positives, k predicted, t of them true

A cut predicts every score that is not below it. Between the scores of two positives t stays and k grows, so that F is
best at the score of a positive: a *step* (Lipton et al. 2013, section 5, in its empirical form; docs/proofs.md). A
threshold may lie anywhere between the step and the next lower score.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from thresholds._arrays.types import Booleans, Bytes, Floats, Ints, Scores
from thresholds._engine.cuts import Cuts


class Columns(NamedTuple):
    """The cells of some labels, one label after another; those of label j are `starts[j]:ends[j]`.

    Only cells that count are among them: their truth is known, and they weigh more than 0.
    """

    scores: Scores  # (n_cells,) float32 or float64, no NaN, no +inf
    truth: Bytes  # (n_cells,) 0 or 1
    weights: (
        Ints | None
    )  # (n_cells,), or (n_rows,) where all labels have all rows; None where each cell weighs 1
    starts: Ints  # (n_labels,)
    ends: Ints  # (n_labels,)
    more: Ints  # (n_labels,) weight of positives that have no score, and that no cut predicts
    first: int = 0  # the number of the first label among all

    @property
    def n_labels(self) -> int:
        """Number of labels."""
        return self.ends.size

    def of_label(self, label: int) -> tuple[Scores, Bytes, Ints | None]:
        """Return scores, truth and weights of one label."""
        cells = slice(self.starts[label], self.ends[label])
        weights = self.weights
        if weights is not None and weights.size == self.scores.size:
            weights = weights[cells]
        return self.scores[cells], self.truth[cells], weights

    def where(self, wanted: Booleans) -> "Columns":
        """Leave the other labels, (n_labels,), without cells."""
        return self._replace(ends=np.where(wanted, self.ends, self.starts))


@dataclass(frozen=True, slots=True)
class Steps:
    """The steps of labels, one label after another; those of label j are `offsets[j]:offsets[j + 1]`.

    They may be all, or those among which the best must be. Where positives tie, a step may stand there more than once.
    """

    offsets: Ints  # (n_labels + 1,)
    cut: Floats  # (n_steps,) scores of positives, falling within a label
    lower: Floats  # (n_steps,) the next lower score of the label, NaN without one
    tp: Ints  # (n_steps,) weight of positives at or above the cut
    predicted: Ints  # (n_steps,) weight of all cells at or above the cut
    positives: Ints  # (n_labels,) weight of all positives

    @property
    def label(self) -> Ints:
        """The label of each step, (n_steps,)."""
        return np.repeat(np.arange(self.positives.size), np.diff(self.offsets))

    def where(self, wanted: Booleans) -> "Steps":
        """Leave out the steps that are not wanted, (n_steps,)."""
        return Steps(
            np.append(0, np.cumsum(wanted))[self.offsets],
            cut=self.cut[wanted],
            lower=self.lower[wanted],
            tp=self.tp[wanted],
            predicted=self.predicted[wanted],
            positives=self.positives,
        )

    def with_labels(self, wanted: Booleans, others: "Steps") -> "Steps":
        """Take the steps of wanted labels, (n_labels,), from others; they have none here."""
        order = np.append(self.label, others.label).argsort(kind="stable")
        n_steps = np.diff(self.offsets) + np.diff(others.offsets)
        return Steps(
            np.append(0, n_steps.cumsum()),
            cut=np.append(self.cut, others.cut)[order],
            lower=np.append(self.lower, others.lower)[order],
            tp=np.append(self.tp, others.tp)[order],
            predicted=np.append(self.predicted, others.predicted)[order],
            positives=np.where(wanted, others.positives, self.positives),
        )

    def at(self, chosen: Ints) -> Cuts:
        """Return one step of each label, (n_labels,); -1 is never."""
        has_cut = chosen >= 0
        steps = chosen[has_cut]
        # Never: a cut above all scores, which predicts nothing.
        cuts = Cuts(
            score=np.full(chosen.size, np.inf),
            lower=np.full(chosen.size, np.nan),
            tp=np.zeros(chosen.size, np.int64),
            predicted=np.zeros(chosen.size, np.int64),
            positives=self.positives,
        )
        cuts.score[has_cut] = self.cut[steps]
        cuts.lower[has_cut] = self.lower[steps]
        cuts.tp[has_cut] = self.tp[steps]
        cuts.predicted[has_cut] = self.predicted[steps]
        return cuts


class LabelSteps(NamedTuple):
    """The steps of one label, as `Steps` has those of many."""

    cut: Scores  # (n_steps,)
    lower: Scores  # (n_steps,)
    tp: Ints  # (n_steps,)
    predicted: Ints  # (n_steps,)
    positives: int


def staircase(scores: Scores, truth: Bytes, weights: Ints | None = None) -> LabelSteps:
    """Return all steps of one label, from the highest score of a positive down; all arguments are (n_cells,)."""
    if weights is not None:
        return _weighted_staircase(scores, truth, weights)
    # 1. Sort all scores, and those of the positives.
    hits = np.sort(scores[truth.view(np.bool_)])  # (n_positives,) rising
    ranked = np.sort(scores)  # (n_cells,) rising
    # 2. Look up how many lie below each positive, from the highest positive down.
    n_below = ranked.searchsorted(hits)[::-1]  # (n_positives,)
    n_hits_below = hits.searchsorted(hits)[::-1]  # (n_positives,)
    # 3. Read the next lower score; the place before the first stands for none.
    lower = ranked[n_below - 1]
    lower[n_below == 0] = np.nan
    return LabelSteps(hits[::-1], lower, hits.size - n_hits_below, ranked.size - n_below, hits.size)


def _weighted_staircase(scores: Scores, truth: Bytes, weights: Ints) -> LabelSteps:
    """Return the steps of a label whose cells have weights: sums in place of counts."""
    falling = scores.argsort()[::-1]
    ranked = scores[falling]  # (n_cells,)
    weight = weights[falling]  # (n_cells,)
    hit_weight = weight * truth[falling]  # (n_cells,)
    # A cut at the last of equal scores predicts all of them.
    is_last = np.append(ranked[1:] != ranked[:-1], True)[: ranked.size]
    last = np.flatnonzero(is_last)  # (n_distinct,)
    tp = hit_weight.cumsum()[last]
    predicted = weight.cumsum()[last]
    cut = ranked[last]
    lower = np.append(cut[1:], np.nan).astype(cut.dtype)[: cut.size]
    is_step = np.diff(tp, prepend=0) > 0
    return LabelSteps(
        cut[is_step], lower[is_step], tp[is_step], predicted[is_step], int(hit_weight.sum())
    )


def steps_by_sorting(columns: Columns) -> Steps:
    """Return all steps of some labels."""
    labels = [staircase(*columns.of_label(label)) for label in range(columns.n_labels)]
    n_steps = [len(steps.cut) for steps in labels]
    return Steps(
        offsets=np.append(0, np.cumsum(n_steps)),
        cut=np.concatenate([steps.cut for steps in labels], dtype=np.float64),
        lower=np.concatenate([steps.lower for steps in labels], dtype=np.float64),
        tp=np.concatenate([steps.tp for steps in labels]),
        predicted=np.concatenate([steps.predicted for steps in labels]),
        positives=np.array([steps.positives for steps in labels], np.int64) + columns.more,
    )


def joined(parts: Sequence[Steps]) -> Steps:
    """Join the steps of consecutive labels."""
    if len(parts) == 1:
        return parts[0]
    n_steps = np.concatenate([np.diff(part.offsets) for part in parts])  # (n_labels,)
    return Steps(
        np.append(0, n_steps.cumsum()),
        cut=np.concatenate([part.cut for part in parts]),
        lower=np.concatenate([part.lower for part in parts]),
        tp=np.concatenate([part.tp for part in parts]),
        predicted=np.concatenate([part.predicted for part in parts]),
        positives=np.concatenate([part.positives for part in parts]),
    )
