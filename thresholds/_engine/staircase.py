"""The steps of a label, by sorting: what small problems are fitted with, and what tests of the kernels compare with.

    F_beta / (1 + B) = t / (B P + k)        B = beta^2, P positives, k predicted, t of them true

A cut predicts every score that is not below it. Between the scores of two positives t stays and k grows, so that F is
best at the score of a positive: a *step* (Lipton et al. 2013, section 5, in its empirical form; docs/proofs.md). A
threshold may lie anywhere between the step and the next lower score.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from thresholds._arrays.grouped import group_of
from thresholds._arrays.types import Booleans, Bytes, Floats, Ints, Scores
from thresholds._engine.cuts import Cuts
from thresholds._engine.problem import Problem


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
        """Return scores, truth and weights of the cells of one label."""
        cells = slice(self.starts[label], self.ends[label])
        weights = self.weights
        if weights is not None and weights.size == self.scores.size:
            weights = weights[cells]
        return self.scores[cells], self.truth[cells], weights

    def of_labels(self, labels: slice) -> "Columns":
        """Return the columns of some labels, as views."""
        starts, ends = self.starts[labels], self.ends[labels]
        cells = slice(starts[0], ends[-1])
        weights = self.weights
        if weights is not None and weights.size == self.scores.size:
            weights = weights[cells]
        return Columns(
            self.scores[cells],
            self.truth[cells],
            weights,
            starts - cells.start,
            ends - cells.start,
            self.more[labels],
            self.first + labels.start,
        )

    def in_pieces(self, n_cells: int) -> Iterator["Columns"]:
        """Return a few labels at a time that have some such number of cells, or one label that has more."""
        first = 0
        while first < self.n_labels:
            last = int(self.ends.searchsorted(self.starts[first] + n_cells, "right"))
            last = max(last, first + 1)
            yield self.of_labels(slice(first, last))
            first = last

    def of_cells(self, wanted: Booleans) -> "Columns":
        """Leave out the cells that are not wanted, (n_cells,)."""
        weights = self.weights
        if weights is not None:
            weights = np.resize(weights, self.scores.size)[wanted]
        left = np.append(0, wanted.cumsum())
        return self._replace(
            scores=self.scores[wanted],
            truth=self.truth[wanted],
            weights=weights,
            starts=left[self.starts],
            ends=left[self.ends],
        )

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
        return group_of(self.offsets)

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

    def cuttable(self, problem: Problem) -> "Steps":
        """Leave out the steps at which a fit to the problem may not cut."""
        return self.where(self.cut > problem.missing) if problem.keep_sparse else self

    def with_labels(self, wanted: Booleans, others: "Steps") -> "Steps":
        """Take the steps of wanted labels, (n_labels,), from others; they have none here."""
        order = np.append(self.label, others.label).argsort(kind="stable")
        n_steps = np.diff(self.offsets) + np.diff(others.offsets)
        return Steps(
            _offsets(n_steps),
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


def steps_by_sorting(columns: Columns) -> Steps:
    """Return all steps of some labels."""
    return _steps(columns) if columns.weights is None else _weighted_steps(columns)


def _steps(columns: Columns) -> Steps:
    """Return the steps of cells that weigh 1 each."""
    scores, truth, _, starts, ends, more, _ = columns
    # 1. List the scores of positives; those of label j are `firsts[j]:lasts[j]`.
    hit_cells = np.flatnonzero(truth.view(np.bool_))  # (n_positives,)
    hits = scores[hit_cells]
    firsts = hit_cells.searchsorted(starts)  # (n_labels,)
    lasts = hit_cells.searchsorted(ends)
    # 2. Sort each label and its positives, upwards. Look up what lies below each positive.
    ranked = scores.copy()
    cut, n_below, n_hits_below = [hits[:0]], [firsts[:0]], [firsts[:0]]
    for label in range(columns.n_labels - 1, -1, -1):
        own = ranked[starts[label] : ends[label]]
        own.sort()
        own_hits = hits[firsts[label] : lasts[label]]
        own_hits.sort()
        cut.append(own_hits)
        n_below.append(own.searchsorted(own_hits))
        n_hits_below.append(own_hits.searchsorted(own_hits))
    # 3. From the last label up to the first they rise: turned round, labels rise, and scores fall within each.
    n_hits = lasts - firsts  # (n_labels,)
    offsets = _offsets(n_hits)
    below = np.concatenate(n_below)[::-1]  # (n_steps,)
    place = np.repeat(starts, n_hits) + below
    lower = ranked[place - 1].astype(np.float64)
    lower[below == 0] = np.nan
    return Steps(
        offsets,
        cut=np.concatenate(cut, dtype=np.float64)[::-1],
        lower=lower,
        tp=np.repeat(n_hits, n_hits) - np.concatenate(n_hits_below)[::-1],
        predicted=np.repeat(ends, n_hits) - place,
        positives=n_hits + more,
    )


def _weighted_steps(columns: Columns) -> Steps:
    """Return the steps of cells that have weights: sums in place of counts."""
    cut, lower, tp, predicted, n_steps, positives = [], [], [], [], [], []
    for label in range(columns.n_labels):
        scores, truth, weights = columns.of_label(label)
        assert weights is not None, "asked for where there are some"
        falling = scores.argsort()[::-1]
        ranked = scores[falling]  # (n_cells,)
        weight = weights[falling]
        hit_weight = weight * truth[falling]
        # A cut at the last of equal scores predicts all of them.
        is_last = np.append(ranked[1:] != ranked[:-1], True)[: ranked.size]
        last = np.flatnonzero(is_last)  # (n_distinct,)
        distinct = np.append(ranked[last], np.nan)
        sums, hit_sums = weight.cumsum()[last], hit_weight.cumsum()[last]
        step = np.flatnonzero(np.diff(hit_sums, prepend=0))  # (n_steps,)
        cut.append(distinct[step])
        lower.append(distinct[step + 1])
        tp.append(hit_sums[step])
        predicted.append(sums[step])
        n_steps.append(step.size)
        positives.append(hit_weight.sum())
    return Steps(
        _offsets(np.array(n_steps, np.int64)),
        cut=np.concatenate(cut, dtype=np.float64),
        lower=np.concatenate(lower, dtype=np.float64),
        tp=np.concatenate(tp),
        predicted=np.concatenate(predicted),
        positives=np.array(positives, np.int64) + columns.more,
    )


def _offsets(sizes: Ints) -> Ints:
    """Return where each of some lists of these sizes begins, and where the last ends, (n_lists + 1,)."""
    offsets = np.zeros(sizes.size + 1, np.int64)
    sizes.cumsum(out=offsets[1:])
    return offsets


def joined(parts: Sequence[Steps]) -> Steps:
    """Join the steps of consecutive labels."""
    if len(parts) == 1:
        return parts[0]
    n_steps = np.concatenate([np.diff(part.offsets) for part in parts])  # (n_labels,)
    return Steps(
        _offsets(n_steps),
        cut=np.concatenate([part.cut for part in parts]),
        lower=np.concatenate([part.lower for part in parts]),
        tp=np.concatenate([part.tp for part in parts]),
        predicted=np.concatenate([part.predicted for part in parts]),
        positives=np.concatenate([part.positives for part in parts]),
    )
