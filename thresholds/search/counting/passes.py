"""The few steps of staircases among which the optimum must lie, found without sorting.

    r_j(cut) = tp / (B P + predicted) = F / (1 + B),    B = beta^2, P the positives of label j

Count at 32 cuts, at quantiles of the label's positives. Between two cuts the best case is "all its positives come
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

from thresholds._arrays import threads
from thresholds._arrays.threads import workers
from thresholds._arrays.types import Ints, Scores
from thresholds._kernels._jit import StandIns
from thresholds._kernels.counting import collect, collect_few, count_lists_at_cuts, mark_between, note_positives
from thresholds._kernels.keys import to_keys
from thresholds.data.problem import Problem
from thresholds.search.counting.blocks import Lanes
from thresholds.search.counting.bounds import Between
from thresholds.search.counting.codes import CodedCuts
from thresholds.search.counting.refine import Lists
from thresholds.search.staircase import Staircase, map_labels

Result = TypeVar("Result")

_WORTH_COUNTING = 2**19  # cells: sorting fewer is faster, a third for many labels
_SECONDS, _SECONDS_JOINTLY = 3e-8, 2e-7  # that stand-ins take for a cell, and for one in a joint search, about
_SECONDS_BY_LABEL = 1e-4
_LONGEST = 2**20  # rows that are sorted instead of counted: in small memory, and so fast that Ctrl-C need not wait
_LEAST_TASK, _MOST_CELLS = 2**20, 2**23  # of a task
_TASKS_EACH = 4  # tasks, or more, of each thread and stripe
_MOST_PIECES = 64
_PARTS = 16  # of what is sorted
_STRIPE = 2048  # labels: short pieces of long rows take longer to read, and kept scores of more leave the cache
_NOTES = 128  # positives of a label, or more, at whose quantiles cuts lie
_CUTS = 32
_SHARE = 4  # Scores that are kept, and those of positives, take this part of the memory of all.
_LEAST_PANEL = 2**22  # bytes


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
    if not problem.is_dense_unweighted or _sorting_is_faster(problem, jointly):
        return map_labels(problem, function, n_jobs=n_jobs, progress=progress)
    passes = _Passes(problem, n_jobs, progress)
    positives, values = passes.note()
    coded = CodedCuts.near(values)
    hits, tp, predicted = passes.count(positives, coded)
    between = Between.of(_with_ends(coded.cuts), tp, predicted, beta, jointly)
    room = problem.n_samples * problem.n_labels * problem.dtype.itemsize // _SHARE - hits.keys.nbytes
    panels = between.panels(max(room, _LEAST_PANEL) // problem.dtype.itemsize)
    return [result for panel in panels for result in passes.settle(hits, between, panel, function)]


@dataclass(frozen=True)
class _Passes:
    """The passes over a problem."""

    problem: Problem
    n_jobs: int | None
    progress: bool

    @cached_property
    def rows(self) -> list[slice]:
        """Pieces of the rows, each enough for a thread."""
        n, n_workers = self.problem.n_samples, workers(self.n_jobs)
        cells, n_stripes = n * min(self.problem.n_labels, _STRIPE), -(-self.problem.n_labels // _STRIPE)
        wanted = max(-(-_TASKS_EACH * n_workers // n_stripes), -(-cells // _MOST_CELLS))
        even = -(-wanted // n_workers) * n_workers  # No thread should wait for the last piece of another.
        step = -(-n // max(1, min(even, cells // _LEAST_TASK, _MOST_PIECES)))
        return [slice(first, min(first + step, n)) for first in range(0, n, step)]

    def note(self) -> tuple[Ints, Scores]:
        """Count the positives (n_pieces, n_labels), and give quantiles (_CUTS, n_labels) of the scores of some."""

        def note(lanes: Lanes) -> Scores:
            room = -(-_NOTES // (lanes.folds * len(self.rows)))
            positives, rows = np.zeros(lanes.width, np.int32), np.zeros((lanes.width, room), np.int32)
            noted, wanted = np.zeros_like(positives), np.ones(lanes.width, np.uint8)
            of_lanes = (positives, wanted.view(np.uint64), wanted, noted, rows)
            for at, words in lanes.truth_blocks():
                note_positives(words, at, *of_lanes)
            row = lanes.by_fold(lanes.rows.start + lanes.folds * rows.T.astype(np.int64))
            row += np.arange(lanes.folds)[:, np.newaxis]
            known = np.arange(room)[:, np.newaxis, np.newaxis] < lanes.by_fold(noted)
            label = np.broadcast_to(np.arange(lanes.labels.start, lanes.labels.stop), row.shape)
            found = np.full((1 + row[:, :, 0].size, lanes.n_labels), np.nan)
            found[0] = lanes.by_fold(positives).sum(axis=0)
            found[1:].reshape(row.shape)[known] = self.problem.scores[row[known], label[known]]
            return found

        found = self._over_lanes(note).reshape(len(self.rows), -1, self.problem.n_labels)
        positives, noted = found[:, 0].astype(np.int64), found[:, 1:].reshape(-1, self.problem.n_labels)
        values = -np.sort(-noted.astype(self.problem.dtype), axis=0)  # NaN last
        known = np.count_nonzero(~np.isnan(values), axis=0)
        at = np.ceil(known * np.arange(1, _CUTS + 1)[:, np.newaxis] / _CUTS).astype(np.int64) - 1
        quantiles = np.take_along_axis(values, np.maximum(at, 0), axis=0)
        return positives, np.where(known > 0, quantiles, values.dtype.type(np.inf))

    def count(self, positives: Ints, coded: CodedCuts) -> tuple[Lists, Ints, Ints]:
        """List the scores of positives; count them, and all scores of each piece of the rows, at or above the cuts."""
        starts, size = _starts(positives)
        hits = np.empty(size, self.problem.dtype)

        def count(lanes: Lanes) -> Ints:
            counter = coded.over(lanes)
            place, labels = starts[self.piece(lanes), lanes.labels].copy(), lanes.label_of_lane
            for scores, words in lanes.blocks():
                counter.add(scores)
                collect_few(scores, words, labels, place, hits)
            counted = np.zeros((_CUTS + 2, 1, lanes.n_labels), np.int64)
            counted[1:-1, 0] = lanes.by_fold(counter.counts[:, : lanes.width]).sum(axis=1)
            counted[-1] = lanes.n_rows
            return counted

        counted = self._over_lanes(count, axis=1, title="counting")
        lists = Lists(starts[0], positives.sum(axis=0), hits)

        def count_hits(labels: slice) -> Ints:
            of_part = np.ascontiguousarray(coded.cuts[:, labels])
            tp = np.zeros((_CUTS + 2, of_part.shape[1]), np.int64)
            count_lists_at_cuts(*lists.of(labels).arrays, of_part, tp[1:-1])
            tp[-1] = lists.sizes[labels]
            return tp

        tp = np.concatenate(self._run(count_hits, _parts(lists.sizes), ""), axis=1)
        return lists, tp, counted

    def piece(self, lanes: Lanes) -> int:
        """Return the number of the piece of rows."""
        return int(lanes.rows.start) // int(self.rows[0].stop - self.rows[0].start)

    def settle(
        self, hits: Lists, between: Between, panel: slice, function: Callable[[Staircase], Result]
    ) -> list[Result]:
        """Collect what is left of some labels, narrow it further and sort it."""
        starts, size = _starts(between.sizes[:, panel])
        kept = np.empty(size, self.problem.dtype)

        def gather(lanes: Lanes) -> Scores:
            inside = slice(lanes.labels.start - panel.start, lanes.labels.stop - panel.start)
            place, labels = starts[self.piece(lanes), inside].copy(), lanes.label_of_lane
            low, high = (lanes.spread(values[lanes.labels], np.inf) for values in (between.low, between.high))
            below = np.full(lanes.width, -np.inf, low.dtype)
            marks = np.zeros((lanes.block_rows, lanes.width), np.uint8)
            for scores in lanes.score_blocks():
                mark_between(scores, low, high, marks, below)
                collect(scores, marks, labels, place, kept)
            return np.asarray(lanes.by_fold(below).max(axis=0, keepdims=True))

        below = to_keys(self._over_lanes(gather, title="collecting", labels=panel).max(axis=0))
        scores_left = Lists(starts[0], between.sizes[:, panel].sum(axis=0), kept)

        def finish(part: slice) -> Result:
            labels = slice(panel.start + part.start, panel.start + part.stop)
            return function(between.left(scores_left.part(part), hits.part(labels), below[part], labels).staircase())

        return self._run(finish, _parts(scores_left.sizes), "sorting")

    def _over_lanes(
        self, function: Callable[[Lanes], Scores], axis: int = 0, title: str = "", labels: slice | None = None
    ) -> Scores:
        """Apply `function` to stripes of labels, in pieces of rows; join what pieces give along `axis`, labels last."""
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
        progress = self.progress and bool(title)
        return threads.run(
            function, tasks, n_jobs=self.n_jobs, cells=self.problem.n_stored, progress=progress, title=title
        )


def _sorting_is_faster(problem: Problem, jointly: bool) -> bool:
    """Whether to sort: what is small, or at first, as long as that takes less time than to load kernels."""
    n_samples, n_labels = problem.n_samples, problem.n_labels
    if n_samples * n_labels < _WORTH_COUNTING:
        return True
    by_cell = _SECONDS_JOINTLY if jointly else _SECONDS
    seconds = (n_samples * by_cell + _SECONDS_BY_LABEL) * n_labels
    return n_samples <= _LONGEST and not note_positives.is_loaded and StandIns.can_do(seconds)


def _with_ends(cuts: Scores) -> Scores:
    """Add a cut above all scores, and one below."""
    ends = np.full((1, cuts.shape[1]), np.inf, cuts.dtype)
    return np.concatenate([ends, cuts, -ends])


def _starts(sizes: Ints) -> tuple[Ints, int]:
    """Return the place of each piece (n_pieces, n_labels) where labels follow each other, and the room of all."""
    ends = sizes.T.reshape(-1).cumsum()
    return (ends - sizes.T.reshape(-1)).reshape(sizes.T.shape).T, int(ends[-1])


def _parts(sizes: Ints) -> list[slice]:
    """Part labels into about _PARTS slices of as much work."""
    work = sizes.cumsum() + np.arange(1, sizes.size + 1)
    edges = np.unique(np.searchsorted(work, np.linspace(0, work[-1], _PARTS + 1)[1:-1]))
    return [slice(*edge) for edge in itertools.pairwise([0, *edges[edges > 0].tolist(), sizes.size])]
