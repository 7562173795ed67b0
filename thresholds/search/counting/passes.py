"""The few steps of staircases among which the optimum must lie, found without sorting.

    r_j(cut) = tp / (B P + predicted) = F / (1 + B),    B = beta^2, P the positives of label j

Count at 32 cuts, at quantiles of the label's positives. Between two cuts the best case is "all its
positives come first": tp of the lower, and the predictions of the upper cut and these positives.
Where that is worse than some cut, the optimum cannot be. What lies between the outermost intervals
that remain is collected in a second pass, narrowed once more by finer counts, and only the rest is
sorted. docs/performance.md has the bound and what it leaves.
"""

import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from threading import Lock
from typing import Any, TypeVar

import numpy as np

from thresholds import _checks
from thresholds._arrays import threads
from thresholds._arrays.blocks import ceil_div, equal_parts, in_pieces
from thresholds._arrays.threads import workers
from thresholds._arrays.types import Dense, Floats, Ints, Scores
from thresholds._kernels.counting import (
    collect,
    collect_few,
    collect_rows,
    count_lists_at_cuts,
    mark_between,
    note_positives,
)
from thresholds._kernels.keys import to_keys
from thresholds.data.problem import Problem
from thresholds.search.counting.blocks import Blocks, padded_rows
from thresholds.search.counting.bounds import Candidates, Keeps, panels
from thresholds.search.counting.codes import CodedCuts
from thresholds.search.counting.refine import KeyLists
from thresholds.search.counting.weights import RowWeights
from thresholds.search.staircase import Staircase, map_labels

Result = TypeVar("Result")

# When sorting is faster. (One cut for all labels has another limit, in `one_cut.py`.)
_WORTH_COUNTING = 2**19  # cells: fewer are sorted in less time than counting takes
_LEAST_WEIGHTED_LABELS = 8  # A row of a block is padded to 64 cells, as it has one weight.

# How rows and labels are shared out.
_MIN_CELLS_PER_TASK = 2**20
_MAX_CELLS_PER_TASK = 2**23
_TASKS_PER_THREAD = 4  # or more, of each stripe
_MAX_PIECES = 64  # of the rows
_MAX_STRIPE = 2048  # labels: fewer take longer to read, and kept scores of more leave the cache
_N_PARTS = 16  # of what is sorted,
_MIN_SCORES_PER_PART = 2**15  # each of so many: some take as long to sort
_SCORES_PER_LABEL = 2**8  # as a label takes itself
_PART_OF_MEMORY = 4  # What is kept, and scores of positives, take one in so many bytes of all,
_MOST_KEPT_BYTES = 3 * 2**28  # and no more than that of scores that are larger than memory.
_MOST_LISTED_BYTES = 2**29  # Scores of positives: of more, a few labels are taken at a time.
_MIN_PANEL_BYTES = 2**25

# Where cuts lie.
_N_CUTS = 32
_MIN_NOTES = 128  # positives of a label, or more, at whose quantiles cuts lie,
_PARTS_OF_PIECE = 4  # the first ones of each part of a piece of the rows: scores may rise with rows

# Which values have a cut directly on either side.
_SAMPLED_ROWS = 64
_TIMES_REPEATED = 6  # among these
_MOST_REPEATED = 4  # of a label


def map_useful_steps(
    problem: Problem,
    function: Callable[[Staircase], Result],
    beta: float,
    *,
    jointly: bool,
    keeps: Keeps | None = None,
    n_jobs: int | None = -1,
    progress: bool = False,
) -> list[Result]:
    """Apply `function` to the steps among which the best lie, of each label or of all `jointly`.

    With limits, what `keeps` them, the best step of each label that does is among these, too. Scores that nobody has
    read are checked while they are counted.
    """
    if problem.is_dense and problem.unit_weights is not None and (problem.unit_weights == 1).all():
        problem = replace(problem, unit_weights=None)
    if not counting_is_faster(problem):
        return map_labels(problem, function, n_jobs=n_jobs, progress=progress)
    passes = _Passes(problem, n_jobs, progress)

    # 1. Note some positives of each label: their quantiles are good places to cut.
    piece_positives, quantiles = passes.find_quantiles()
    coded = CodedCuts.near(quantiles, passes.find_repeated())

    # 2. Count at these cuts: that bounds where the best cut may lie. Scores of positives are listed, of as many labels
    # at a time as memory has room for; none where rows have weights.
    itemsize = passes.bytes_of_listed
    n_listed = (
        piece_positives.sum(axis=0)
        if passes.weights is None
        else np.zeros_like(coded.cuts[0], np.int64)
    )
    parts = []
    for panel in panels(n_listed, _MOST_LISTED_BYTES // itemsize):
        positives, *counts = passes.count(piece_positives, coded, panel)
        parts.append(counts)
    tp, piece_counts, *weights = (
        np.concatenate(arrays, axis=-1) for arrays in zip(*parts, strict=True)
    )
    between = weights[0] if weights else None
    candidates = Candidates.of(
        _with_ends(coded.cuts), tp, piece_counts, beta, jointly, between, keeps
    )

    # 3. Collect what lies there, narrow it further and sort it, again a few labels at a time.
    all_listed = len(parts) == 1
    n_bytes = problem.n_samples * problem.n_labels * problem.dtype.itemsize
    room = min(n_bytes // _PART_OF_MEMORY, _MOST_KEPT_BYTES)
    n_left = candidates.sizes.sum(axis=0)  # (n_labels,)
    if all_listed:
        room -= positives.keys.size * itemsize
    else:
        n_left += n_listed
    results = []
    for panel in panels(n_left, max(room, _MIN_PANEL_BYTES) // itemsize):
        if all_listed:
            of_panel = positives.part(panel)
        else:  # Those of the panel are listed once more.
            of_panel, *_ = passes.count(piece_positives, coded, panel)
        results += passes.collect_and_sort(of_panel, candidates, panel, function)
    return results


@dataclass(frozen=True)
class _Passes:
    """The passes over a problem."""

    problem: Problem
    n_jobs: int | None
    progress: bool

    @cached_property
    def weights(self) -> RowWeights | None:
        """The weights of the rows; None where all weigh 1."""
        given = self.problem.unit_weights
        return None if given is None else RowWeights.of(given)

    @property
    def bytes_of_listed(self) -> int:
        """How many a score takes that is listed, with its row where rows have weights."""
        row_bytes = 0 if self.weights is None else np.dtype(np.int32).itemsize
        return int(self.problem.dtype.itemsize) + row_bytes

    @cached_property
    def rows(self) -> list[slice]:
        """Pieces of the rows, each enough for a thread."""
        n_samples = self.problem.n_samples
        n_workers = workers(self.n_jobs)
        n_cells = n_samples * min(self.problem.n_labels, _MAX_STRIPE)  # of a stripe
        n_stripes = ceil_div(self.problem.n_labels, _MAX_STRIPE)
        for_threads = ceil_div(_TASKS_PER_THREAD * n_workers, n_stripes)
        wanted = max(for_threads, ceil_div(n_cells, _MAX_CELLS_PER_TASK))
        # No thread should wait for the last piece of another.
        even = ceil_div(wanted, n_workers) * n_workers
        n_pieces = max(1, min(even, n_cells // _MIN_CELLS_PER_TASK, _MAX_PIECES))
        return list(in_pieces(slice(0, n_samples), padded_rows(ceil_div(n_samples, n_pieces))))

    def find_quantiles(self) -> tuple[Ints, Scores]:
        """Return positives (n_pieces, n_labels), and quantiles (_N_CUTS, n_labels) of some scores."""
        # In one array, (n_pieces, 1 + n_notes, n_labels): the positives, and the scores of the
        # first ones.
        notes = self._over_blocks(self._note_first).reshape(
            len(self.rows), -1, self.problem.n_labels
        )
        positives = notes[:, 0].astype(np.int64)
        scores = notes[:, 1:].reshape(-1, self.problem.n_labels)  # (n_pieces * n_notes, n_labels)

        # Quantiles of what is known of each label; without a positive cuts lie above all scores.
        falling = -np.sort(-scores.astype(self.problem.dtype), axis=0)  # NaN last
        n_known = np.count_nonzero(~np.isnan(falling), axis=0)  # (n_labels,)
        number = np.arange(1, _N_CUTS + 1)[:, np.newaxis]  # (_N_CUTS, 1)
        at = np.ceil(n_known * number / _N_CUTS).astype(np.int64) - 1  # (_N_CUTS, n_labels)
        quantiles = np.take_along_axis(falling, np.maximum(at, 0), axis=0)
        return positives, np.where(n_known > 0, quantiles, falling.dtype.type(np.inf))

    def find_repeated(self) -> Scores:
        """Return values that a good part of the cells of a label have, (n_values, n_labels), +inf for none.

        There are as many as the label has that has most; none where rows have weights, which are not added up there.
        """
        problem = self.problem
        n_rows = 0 if self.weights is not None else min(_SAMPLED_ROWS, problem.n_samples)
        rows = np.linspace(0, problem.n_samples - 1, n_rows).astype(np.int64)
        sampled = problem.scores[rows].astype(problem.dtype)  # (n_rows, n_labels)
        rising = np.sort(np.ascontiguousarray(sampled.T), axis=1)  # (n_labels, n_rows)

        # The first of each run of so many equal values, as 0/1 beside the value.
        values = rising[:, : max(n_rows - _TIMES_REPEATED + 1, 0)]
        is_first = values == rising[:, _TIMES_REPEATED - 1 :]
        is_first[:, 1:] &= values[:, 1:] != values[:, :-1]

        # A few of each label: the others become +inf, and come last.
        found = np.sort(np.where(is_first, values, np.inf), axis=1)[:, :_MOST_REPEATED]
        n_values = int(is_first.sum(axis=1).max(initial=0))
        return np.ascontiguousarray(found[:, :n_values].T.astype(problem.dtype))

    def _note_first(self, blocks: Blocks) -> Floats:
        """Return positives, and the scores of the first ones or NaN, (1 + n_notes, n_labels)."""
        # Note in which rows of the blocks the first positives of each column are, in each part of the piece.
        n_rows = ceil_div(blocks.n_rows, blocks.rows_side_by_side)
        n_parts = min(_PARTS_OF_PIECE, ceil_div(n_rows, blocks.block_rows))
        n_per_column = ceil_div(_MIN_NOTES, blocks.rows_side_by_side * len(self.rows))
        n_per_part = ceil_div(n_per_column, n_parts)
        positives = np.zeros(blocks.n_columns, np.int32)
        noted = np.zeros((n_parts, blocks.n_columns), np.int32)
        wanted = np.ones(blocks.n_columns, np.uint8)
        block_rows = np.zeros((n_parts, blocks.n_columns, n_per_part), np.int32)
        # The same memory as words: a column that has enough drops out of the mask at once.
        mask = wanted.view(np.uint64)
        for first_row, words in blocks.truth():
            part = n_parts * first_row // n_rows
            wanted[:] = noted[part] < n_per_part
            note_positives(words, first_row, positives, mask, wanted, noted[part], block_rows[part])

        # Which row of the matrix is that, and of which label? All arrays are
        # (n_parts, n_per_part, rows_side_by_side, n_labels).
        first_row_of_columns = blocks.rows_side_by_side * block_rows.swapaxes(1, 2).astype(np.int64)
        row = blocks.by_row(blocks.rows.start + first_row_of_columns)
        row += np.arange(blocks.rows_side_by_side)[:, np.newaxis]
        label = np.broadcast_to(np.arange(blocks.labels.start, blocks.labels.stop), row.shape)
        number = np.arange(n_per_part)[:, np.newaxis, np.newaxis]
        known = number < blocks.by_row(noted)[:, np.newaxis]

        # As many of each piece, whatever its parts: those that are not known are NaN.
        most_notes = n_per_column + _PARTS_OF_PIECE - 1
        scores = np.full((most_notes, blocks.rows_side_by_side, blocks.n_labels), np.nan)
        of_parts = scores[: n_parts * n_per_part].reshape(row.shape)
        of_parts[known] = self.problem.scores[row[known], label[known]]
        label_positives = blocks.by_row(positives).sum(axis=0)  # (n_labels,)
        return np.concatenate([label_positives[np.newaxis], scores.reshape(-1, blocks.n_labels)])

    def count(
        self, piece_positives: Ints, coded: CodedCuts, panel: slice
    ) -> tuple[KeyLists, *tuple[Ints, ...]]:
        """List the scores of positives of some labels; count them, and all scores of each piece, above cuts.

        Counts are (n_cuts, n_labels), and of the pieces (n_cuts, n_pieces, n_labels), with a cut above and one below.
        Where rows have weights, positives are weighed and not listed, and one more array (n_cuts, n_labels) has what
        all scores above each cut weigh.
        """
        if self.weights is not None:
            return self._weigh(self.weights, coded, panel)
        piece_positives = piece_positives[:, panel]
        starts, n_positives = _starts(piece_positives)
        listed = self._room_for(n_positives)
        n_cuts = len(coded.cuts)

        def count(blocks: Blocks) -> Ints:
            counter = coded.over(blocks)
            in_panel = slice(blocks.labels.start - panel.start, blocks.labels.stop - panel.start)
            place = starts[self._piece(blocks), in_panel].copy()
            labels = blocks.column_labels
            for rows, (scores, words) in zip(
                blocks.row_slices(), blocks.scores_and_truth(), strict=True
            ):
                self._check(rows, blocks.labels)
                counter.add(scores)
                collect_few(scores, words, labels, place, listed.keys)
            counts = np.zeros((n_cuts + 2, 1, blocks.n_labels), np.int64)
            of_labels = blocks.by_row(counter.all_counts).sum(axis=1)  # (n_cuts, n_labels)
            counts[1:-1, 0] = coded.falling(of_labels, blocks.labels)
            counts[-1] = blocks.known()
            return counts

        # One pass over the matrix: code and count all scores, and list those of positives.
        piece_counts = self._over_blocks(count, axis=1, title="counting", labels=panel)
        positives = replace(listed, firsts=starts[0], sizes=piece_positives.sum(axis=0))

        def count_positives(labels: slice) -> Ints:
            of_labels = slice(panel.start + labels.start, panel.start + labels.stop)
            cuts = np.ascontiguousarray(coded.cuts[:, of_labels])
            tp = np.zeros((n_cuts + 2, cuts.shape[1]), np.int64)
            of_part = positives.part(labels)
            count_lists_at_cuts(*of_part.arrays, cuts, tp[1:-1])
            tp[-1] = of_part.sizes
            return tp

        # One over what was listed.
        tp = np.concatenate(self._run(count_positives, _parts(positives.sizes), ""), axis=1)
        return positives, tp, piece_counts

    def _weigh(
        self, weights: RowWeights, coded: CodedCuts, panel: slice
    ) -> tuple[KeyLists, *tuple[Ints, ...]]:
        """Do as `count` does, where rows have weights."""
        n_labels = panel.stop - panel.start
        n_cuts = len(coded.cuts)
        weighed = np.zeros((2, n_cuts + 2, n_labels), np.int64)
        adding = Lock()

        def weigh(blocks: Blocks) -> Ints:
            weigher = coded.weighing(blocks)
            in_panel = slice(blocks.labels.start - panel.start, blocks.labels.stop - panel.start)
            for rows, (scores, words) in zip(
                blocks.row_slices(), blocks.scores_and_truth(), strict=True
            ):
                own = weights.of_block(rows, len(scores))
                weigher.add(scores, words, own, weights.shift)
            found = weigher.found[: blocks.n_labels].transpose(1, 2, 0)  # (3, n_cuts + 1, n_labels)
            with adding:
                weighed[:, 1:, in_panel] += found[1:]
            counts = np.zeros((n_cuts + 2, 1, blocks.n_labels), np.int64)
            counts[1:-1, 0] = found[0, :-1]
            counts[-1] = blocks.known()
            return counts

        piece_counts = self._over_blocks(weigh, axis=1, title="counting", labels=panel)
        of_all, tp = weighed
        # All scores weigh what all rows do in which their labels are known.
        of_all[-1] = self.problem.weight_of_label[panel]
        nothing = np.zeros(n_labels, np.int64)
        positives = replace(self._room_for(0), firsts=nothing, sizes=nothing)
        return positives, tp, piece_counts, of_all

    def collect_and_sort(
        self,
        positives: KeyLists,
        candidates: Candidates,
        panel: slice,
        function: Callable[[Staircase], Result],
    ) -> list[Result]:
        """Collect what is left of some labels, narrow it further and sort it."""
        starts, n_kept = _starts(candidates.sizes[:, panel])
        kept = self._room_for(n_kept)
        weights = self.weights

        def gather(blocks: Blocks) -> Scores:
            in_panel = slice(blocks.labels.start - panel.start, blocks.labels.stop - panel.start)
            place = starts[self._piece(blocks), in_panel].copy()
            low = blocks.to_columns(candidates.low[blocks.labels], np.inf)
            high = blocks.to_columns(candidates.high[blocks.labels], np.inf)
            below = np.full(blocks.n_columns, -np.inf, low.dtype)
            marks = np.zeros((blocks.block_rows, blocks.n_columns), np.uint8)
            if weights is not None:
                for rows, (scores, words) in zip(
                    blocks.row_slices(), blocks.scores_and_truth(), strict=True
                ):
                    cells = words.view(np.uint8), rows.start
                    own_marks = marks[: len(scores)]
                    mark_between(scores, low, high, own_marks, below)
                    collect_rows(scores, own_marks, *cells, place, kept.keys, kept.rows)
                return np.asarray(blocks.by_row(below).max(axis=0, keepdims=True))
            for scores in blocks.scores():
                own_marks = marks[: len(scores)]
                mark_between(scores, low, high, own_marks, below)
                if n_kept > 0:
                    collect(scores, own_marks, blocks.column_labels, place, kept.keys)
            return np.asarray(blocks.by_row(below).max(axis=0, keepdims=True))

        # One more pass over the matrix: keep the candidates, and the next lower score. There may be neither, where most
        # scores are equal.
        highest_below = np.full((1, starts.shape[1]), -np.inf, self.problem.dtype)
        if n_kept > 0 or candidates.any_below[panel].any():
            highest_below = self._over_blocks(gather, title="collecting", labels=panel)
        below = to_keys(highest_below.max(axis=0))  # (n_labels,)
        scores = replace(kept, firsts=starts[0], sizes=candidates.sizes[:, panel].sum(axis=0))

        def finish(part: slice) -> Result:
            labels = slice(panel.start + part.start, panel.start + part.stop)
            own, own_below = scores.part(part), below[part]
            if weights is None:
                left = candidates.remaining(own, positives.part(part), own_below, labels)
            else:
                left = candidates.remaining_weighted(own, own_below, labels, weights.units)
            return function(replace(left.staircase(), first=labels.start))

        # The rest stays in the cache, label by label.
        return self._run(finish, _parts(scores.sizes), "sorting")

    def _check(self, rows: slice, labels: slice) -> None:
        """Refuse NaN and +inf where nobody has; what is read for it is in the cache when it is coded."""
        problem = self.problem
        _ = problem

    def _room_for(self, n_listed: int) -> KeyLists:
        """Return room for so many scores, with their rows where rows have weights, in lists that are to be said."""
        nothing = np.empty(0, np.int64)
        rows = np.empty(0 if self.weights is None else n_listed, np.int32)
        return KeyLists(nothing, nothing, np.empty(n_listed, self.problem.dtype), rows)

    def _piece(self, blocks: Blocks) -> int:
        """Return the number of the piece of rows."""
        return int(blocks.rows.start) // int(self.rows[0].stop - self.rows[0].start)

    def _over_blocks(
        self,
        function: Callable[[Blocks], Dense],
        axis: int = 0,
        title: str = "",
        labels: slice | None = None,
    ) -> Dense:
        """Apply `function` to stripes of labels in pieces of rows; join these along `axis`."""
        labels = slice(0, self.problem.n_labels) if labels is None else labels
        n_stripes = ceil_div(labels.stop - labels.start, _MAX_STRIPE)
        stripes = list(equal_parts(labels, n_stripes))
        tasks = [Blocks(self.problem, stripe, rows) for stripe in stripes for rows in self.rows]
        results = self._run(function, tasks, title)
        n_pieces = len(self.rows)
        by_stripe = [results[number * n_pieces :][:n_pieces] for number in range(len(stripes))]
        return np.concatenate([np.concatenate(pieces, axis=axis) for pieces in by_stripe], axis=-1)

    def _run(self, function: Callable[[Any], Any], tasks: Sequence[Any], title: str) -> list[Any]:
        """Run on threads, with a bar if there is a title."""
        progress = self.progress and bool(title)
        return threads.run(
            function,
            tasks,
            n_jobs=self.n_jobs,
            cells=self.problem.n_stored,
            progress=progress,
            title=title,
        )


def counting_is_faster(problem: Problem) -> bool:
    """Whether to count: not what is small."""
    if not problem.is_dense or problem.n_samples * problem.n_labels < _WORTH_COUNTING:
        return False
    return problem.unit_weights is None or problem.n_labels >= _LEAST_WEIGHTED_LABELS


def _with_ends(cuts: Scores) -> Scores:
    """Add a cut above all scores, and one below."""
    ends = np.full((1, cuts.shape[1]), np.inf, cuts.dtype)
    return np.concatenate([ends, cuts, -ends])


def _with_lowest(cuts: Scores) -> Scores:
    """Add a cut below all scores."""
    return np.concatenate([cuts, np.full((1, cuts.shape[1]), -np.inf, cuts.dtype)])


def _starts(sizes: Ints) -> tuple[Ints, int]:
    """Return where pieces (n_pieces, n_labels) start if labels follow each other, and the end."""
    ends = sizes.T.reshape(-1).cumsum()  # (n_labels * n_pieces,), a label's pieces side by side
    starts = ends - sizes.T.reshape(-1)
    return np.ascontiguousarray(starts.reshape(sizes.T.shape).T), int(ends[-1])


def _parts(sizes: Ints) -> list[slice]:
    """Part labels into slices of as much work, at most _N_PARTS or so."""
    # A label without scores is work, too.
    work = sizes.cumsum() + _SCORES_PER_LABEL * np.arange(1, sizes.size + 1)  # (n_labels,)
    n_parts = min(_N_PARTS, ceil_div(int(work[-1]), _MIN_SCORES_PER_PART))
    ends = np.searchsorted(work, np.linspace(0, work[-1], n_parts + 1)[1:-1])
    edges = [0, *np.unique(ends[ends > 0]).tolist(), sizes.size]
    return [slice(first, last) for first, last in itertools.pairwise(edges)]
