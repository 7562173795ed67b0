"""The few steps of staircases among which the optimum must lie, found without sorting.

    r_j(cut) = tp / (B P + predicted) = F / (1 + B),    B = beta^2, P the positives of label j

Count at 16 cuts, at quantiles of the label's positives. Between two cuts the best case is "all its positives come
first": tp of the lower, and the predictions of the upper cut and these positives. Where that is worse than some cut,
the optimum cannot be. What lies between the outermost intervals that remain is collected in a second pass, narrowed
once more by finer counts, and only the rest is sorted. docs/performance.md has the bound and what it leaves.
"""

import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from thresholds import engines
from thresholds._kernels.keys import to_keys, to_scores
from thresholds._kernels.narrowing import (
    collect,
    collect_few,
    count_at_cuts,
    count_lists_at_cuts,
    keep_between,
    mark_between,
    note_positives,
    refine,
)
from thresholds._kernels.sorting import staircases_between
from thresholds.lanes import Lanes
from thresholds.problem import Problem
from thresholds.staircase import Staircase, map_labels

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
Scores = npt.NDArray[Any]
Result = TypeVar("Result")

_WORTH_COUNTING = 2**16  # cells: sorting fewer is faster
_TASK_CELLS = 2**22
_MOST_PIECES = 64
_PARTS = 64  # of what is sorted
_STRIPE = 512  # labels: what is kept of them while rows pass stays in the second-level cache
_NOTES = 128  # positives of a label, or more, at whose quantiles cuts lie
_CUTS = 16
_SHARE = 4  # Scores that are kept, and those of positives, take this part of the memory of all.
_LEAST_PANEL = 2**22  # bytes
_ROUNDING = 1e-12  # relative, of a value of tp - r predicted: a hundred times more than it can be


def useful_staircases(
    problem: Problem,
    function: Callable[[Staircase], Result],
    beta: float,
    *,
    jointly: bool,
    n_jobs: int | None = None,
    progress: bool = False,
) -> list[Result]:
    """Apply `function` to the steps among which the best of each label lies, or of all labels `jointly`, in order."""
    if not problem.plain or problem.n_samples * problem.n_labels < _WORTH_COUNTING:
        return map_labels(problem, function, n_jobs=n_jobs, progress=progress)
    passes = _Passes(problem, n_jobs, progress)
    positives, cuts = passes.note()
    hits, predicted = passes.count(positives, cuts)
    between = _Between.of(hits, predicted, cuts, beta, jointly)
    room = problem.n_samples * problem.n_labels * problem.dtype.itemsize // _SHARE - hits.scores.nbytes
    panels = between.panels(max(room, _LEAST_PANEL) // problem.dtype.itemsize)
    return [result for panel in panels for result in passes.settle(hits, between, panel, function)]


@dataclass(frozen=True)
class _Lists:
    """Scores of each label, one label after another."""

    firsts: Ints  # (n_labels,)
    sizes: Ints
    scores: Scores


@dataclass(frozen=True)
class _Between:
    """The scores of each label that are left, those in [low, high), and what bounds the best ratio."""

    low: Scores  # (n_labels,)
    high: Scores
    sizes: Ints  # (n_pieces, n_labels) of what is left
    above: Ints  # (n_labels,) what lies above what is left
    hits_above: Ints
    any_below: npt.NDArray[np.bool_]
    low_ratio: Floats  # between which the best ratio lies
    high_ratio: Floats
    recall_part: Floats  # B P; -1 where the ratio is not that of the label alone
    slack: float

    @classmethod
    def of(cls, hits: _Lists, of_pieces: Ints, cuts: Scores, beta: float, jointly: bool) -> "_Between":
        """Bound the best cut of each label from what is at or above each cut, (n_cuts, n_pieces, n_labels)."""
        tp = np.empty(cuts.shape, np.int64)
        count_lists_at_cuts(hits.firsts, hits.sizes, hits.scores, cuts, tp)
        predicted = of_pieces.sum(axis=1)
        n_samples, gained = int(predicted[-1, 0]), np.diff(tp, axis=0)
        slack = _ROUNDING * n_samples
        recall_part = beta**2 * hits.sizes
        at_best = (tp[1:], predicted[:-1] + gained)  # All hits come first.
        if jointly:
            low = np.full(hits.sizes.size, _joint_ratio(tp, predicted, recall_part.sum()) * (1 - _ROUNDING))
            high = np.full(hits.sizes.size, _joint_ratio(*at_best, recall_part.sum()) * (1 + _ROUNDING))
            recall_part = np.full(hits.sizes.size, -1.0)
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

    def panels(self, room: int) -> list[slice]:
        """Part the labels so that no more scores than `room` are left of a panel, unless of a single label."""
        used, ends = self.sizes.sum(axis=0).cumsum(), [0]
        while ends[-1] < used.size:
            before = used[ends[-1] - 1] if ends[-1] else 0
            ends.append(max(ends[-1] + 1, int(np.searchsorted(used, before + room, side="right"))))
        return [slice(first, last) for first, last in itertools.pairwise(ends)]


def _joint_ratio(tp: Ints, predicted: Ints, recall_part: float) -> float:
    """Give the highest tp / (recall_part + predicted), one cut for each label, by Dinkelbach's iteration."""
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


@dataclass(frozen=True)
class _Passes:
    """The passes over a problem."""

    problem: Problem
    n_jobs: int | None
    progress: bool

    @cached_property
    def rows(self) -> list[slice]:
        """Pieces of the rows, each enough for a thread."""
        n, width = self.problem.n_samples, min(self.problem.n_labels, _STRIPE)
        step = -(-n // min(max(1, n * width // _TASK_CELLS), _MOST_PIECES))
        return [slice(first, min(first + step, n)) for first in range(0, n, step)]

    def note(self) -> tuple[Ints, Scores]:
        """Count the positives (n_pieces, n_labels), and choose cuts (_CUTS + 2, n_labels) at quantiles of some of them.

        The first cut is above all scores, the last one below.
        """

        def note(lanes: Lanes) -> Scores:
            room = -(-_NOTES // (lanes.folds * len(self.rows)))
            positives, rows = np.zeros(lanes.width, np.int32), np.zeros((lanes.width, room), np.int32)
            wanted = np.ones(lanes.width, np.uint8)
            for at, words in lanes.truth_blocks():
                note_positives(words, words.view(np.uint8), at, positives, wanted, rows)
            row = lanes.by_fold(lanes.rows.start + lanes.folds * rows.T)
            row += np.arange(lanes.folds)[:, np.newaxis]
            known = np.arange(room)[:, np.newaxis, np.newaxis] < lanes.by_fold(positives)
            label = np.broadcast_to(np.arange(lanes.labels.start, lanes.labels.stop), row.shape)
            noted = np.full((1 + row[:, :, 0].size, lanes.n_labels), np.nan)
            noted[0] = lanes.by_fold(positives).sum(axis=0)
            noted[1:].reshape(row.shape)[known] = self.problem.scores[row[known], label[known]]
            return noted

        noted = self._over_lanes(note).reshape(len(self.rows), -1, self.problem.n_labels)
        positives, noted = noted[:, 0].astype(np.int64), noted[:, 1:].reshape(-1, self.problem.n_labels)
        values = -np.sort(-noted.astype(self.problem.dtype), axis=0)  # NaN last
        known = np.count_nonzero(~np.isnan(values), axis=0)
        at = np.ceil(known * np.arange(1, _CUTS + 1)[:, np.newaxis] / _CUTS).astype(np.int64) - 1
        cuts = np.full((_CUTS + 2, known.size), np.inf, values.dtype)
        cuts[1:-1, known > 0] = np.take_along_axis(values, np.maximum(at, 0), axis=0)[:, known > 0]
        cuts[-1] = -np.inf
        return positives, cuts

    def count(self, positives: Ints, cuts: Scores) -> tuple[_Lists, Ints]:
        """List the scores of positives, and count all scores at or above the cuts (_CUTS + 2, n_pieces, n_labels)."""
        starts, size = _starts(positives)
        hits = np.empty(size, self.problem.dtype)

        def count(lanes: Lanes) -> Ints:
            of_lanes = lanes.spread(cuts[1:-1, lanes.labels], np.inf)
            counts = np.zeros(of_lanes.shape, np.int32)
            place, labels = starts[self.piece(lanes), lanes.labels].copy(), lanes.label_of_lane
            for scores, words in lanes.blocks():
                count_at_cuts(scores, of_lanes, counts)
                collect_few(scores, words, labels, place, hits)
            counted = np.zeros((_CUTS + 2, 1, lanes.n_labels), np.int64)
            counted[1:-1, 0], counted[-1] = lanes.by_fold(counts).sum(axis=1), lanes.n_rows
            return counted

        counted = self._over_lanes(count, axis=1, title="counting")
        return _Lists(starts[0], positives.sum(axis=0), hits), counted

    def piece(self, lanes: Lanes) -> int:
        """Give the number of the piece of rows."""
        return lanes.rows.start // (self.rows[0].stop - self.rows[0].start)

    def settle(
        self, hits: _Lists, between: _Between, panel: slice, function: Callable[[Staircase], Result]
    ) -> list[Result]:
        """Collect what is left of some labels, narrow it further and sort it."""
        starts, size = _starts(between.sizes[:, panel])
        kept = np.empty(size, self.problem.dtype)

        def gather(lanes: Lanes) -> Scores:
            inside = slice(lanes.labels.start - panel.start, lanes.labels.stop - panel.start)
            place, labels = starts[self.piece(lanes), inside].copy(), lanes.label_of_lane
            low, high = (lanes.spread(values[lanes.labels], np.inf) for values in (between.low, between.high))
            below = np.full(lanes.width, -np.inf, low.dtype)
            for scores in lanes.score_blocks():
                marks = np.empty(scores.shape, np.uint8)
                mark_between(scores, low, high, marks, below)
                collect(scores, marks, labels, place, kept)
            return lanes.by_fold(below).max(axis=0, keepdims=True)

        below = to_keys(self._over_lanes(gather, title="collecting", labels=panel).max(axis=0))
        left = _Lists(starts[0], between.sizes[:, panel].sum(axis=0), to_keys(kept))

        def finish(labels: slice) -> Result:
            return function(self.sort(left, hits, between, below[labels], panel.start, labels))

        return self._run(finish, _parts(left.sizes), "sorting")

    def sort(self, left: _Lists, hits: _Lists, between: _Between, below: Scores, offset: int, part: slice) -> Staircase:
        """Give the steps of some labels among what is left of them."""
        labels = slice(offset + part.start, offset + part.stop)
        firsts, sizes, keys = left.firsts[part], left.sizes[part].copy(), left.scores
        hit_firsts, hit_sizes = hits.firsts[labels], hits.sizes[labels].copy()
        first, last = int(hit_firsts[0]), int(hit_firsts[-1] + hit_sizes[-1])
        keep_between(hit_firsts, hit_sizes, hits.scores, between.low[labels], between.high[labels])
        hit_keys = to_keys(hits.scores[first:last])
        hit_firsts = hit_firsts - first
        above, hits_above = between.above[labels].copy(), between.hits_above[labels].copy()
        below = np.where(between.any_below[labels], below, 0).astype(below.dtype)
        counts = (firsts, sizes, keys, hit_firsts, hit_sizes, hit_keys, above, hits_above, below)
        bounds = (between.low_ratio[labels], between.high_ratio[labels], between.recall_part[labels], between.slack)
        refine(*counts, *bounds, np.empty(max(int(sizes.max()), int(hit_sizes.max()), 2), self.problem.dtype))
        offsets, key, lower, tp, fp, higher = staircases_between(*counts)
        return Staircase(offsets, to_scores(key), to_scores(lower), tp, fp, higher, hits.sizes[labels])

    def _over_lanes(
        self, function: Callable[[Lanes], Scores], axis: int = 0, title: str = "", labels: slice | None = None
    ) -> Scores:
        """Apply `function` to stripes of labels in pieces of rows, and join results: pieces along `axis`, labels last."""
        labels = slice(0, self.problem.n_labels) if labels is None else labels
        n_stripes = -(-(labels.stop - labels.start) // _STRIPE)
        edges = np.linspace(labels.start, labels.stop, n_stripes + 1).astype(np.int64).tolist()
        stripes = [slice(*edge) for edge in itertools.pairwise(edges)]
        tasks = [Lanes(self.problem, stripe, rows) for stripe in stripes for rows in self.rows]
        found = self._run(function, tasks, title)
        pieces = range(0, len(tasks), len(self.rows))
        joined = [np.concatenate(found[first : first + len(self.rows)], axis=axis) for first in pieces]
        return np.concatenate(joined, axis=-1)

    def _run(self, function: Callable[[Any], Any], tasks: Sequence[Any], title: str) -> list[Any]:
        """Run on threads, with a bar if there is a title."""
        settings = {"n_jobs": self.n_jobs, "progress": self.progress and bool(title), "title": title}
        return engines.run(function, tasks, cells=self.problem.n_stored, **settings)


def _starts(sizes: Ints) -> tuple[Ints, int]:
    """Give the place of each piece (n_pieces, n_labels) where labels follow each other, and the room of all."""
    ends = sizes.T.reshape(-1).cumsum()
    return (ends - sizes.T.reshape(-1)).reshape(sizes.T.shape).T, int(ends[-1])


def _parts(sizes: Ints) -> list[slice]:
    """Part labels into about _PARTS slices of as much work."""
    work = sizes.cumsum() + np.arange(1, sizes.size + 1)
    edges = np.unique(np.searchsorted(work, np.linspace(0, work[-1], _PARTS + 1)[1:-1]))
    return [slice(*edge) for edge in itertools.pairwise([0, *edges[edges > 0].tolist(), sizes.size])]
