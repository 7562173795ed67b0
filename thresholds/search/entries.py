"""The staircases of sparse scores, all labels at once, from the entries as they lie in the rows.

    candidates of a label = the distinct scores of its positives
    tp at a candidate     = the positives at or above it
    predicted there       = the entries, and absent cells, at or above it

Positives are few. Their scores are looked up in the rows, listed by label and sorted; one pass over all entries then
counts at and between these candidates, and notes the next lower score of each. Nothing else is sorted, and no entry is
moved: time and memory are those of the entries, of the true cells and of the labels, never of labels times rows.

With `keep_sparse` only scores above `missing` are candidates, and what is absent lies below all of them.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple, TypeVar

import numpy as np

from thresholds._arrays import threads
from thresholds._arrays.blocks import ceil_div, equal_parts, in_pieces
from thresholds._arrays.threads import workers
from thresholds._arrays.types import Buckets, Ints, Keys, Words
from thresholds._kernels.entries import (
    add_up_steps,
    count_entries,
    count_parts,
    found_entries,
    part_entries,
    weigh_entries,
)
from thresholds._kernels.keys import to_keys
from thresholds._kernels.sorting import sorted_lists
from thresholds.data.problem import Problem
from thresholds.data.unknown import without_entries

Result = TypeVar("Result")

# A part of the labels has so many entries that what is made of them stays in the cache.
_ENTRIES_OF_PART = 2**18
_MAX_PARTS = 256  # into which entries are written side by side
_MAX_BITS = 16  # of a label within its part
_PIECES_PER_THREAD = 4  # of the rows

_NOTHING = np.empty(0, np.int64)


class Steps(NamedTuple):
    """The steps of all labels: those of label j are `offsets[j]:offsets[j + 1]`, and fall."""

    offsets: Ints  # (n_labels + 1,)
    key: Keys  # (n_steps,)
    tp: Ints  # (n_steps,) in the unit of the weights
    fp: Ints  # (n_steps,)
    higher: Ints  # (n_steps,) the weight of all cells above
    lower: Keys  # (n_steps,) the next lower key, 0 without one
    positives: Ints  # (n_labels,)


def steps_of_entries(problem: Problem, *, n_jobs: int | None = -1, progress: bool = False) -> Steps:
    """Count the steps of all labels of sparse scores; the truth is not soft."""
    passes = _Passes(problem, n_jobs, progress)
    offsets, candidates, hits = passes.candidates()
    tp, fp, higher, lower = passes.count(offsets, candidates, hits)
    return Steps(offsets, candidates, tp, fp, higher, lower, passes.positives)


class _Rows(NamedTuple):
    """Entries row by row, as kernels take them: those of row i are `starts[i]:starts[i + 1]`."""

    starts: Ints  # (n_samples + 1,)
    columns: Ints  # (n_entries,)
    bits: Keys  # (n_entries,) the scores, read as unsigned integers


class _Parted(NamedTuple):
    """Entries part by part, in any order within a part."""

    columns: Buckets  # (n_entries,) from the first of the part
    bits: Keys  # (n_entries,)
    weights: Ints  # (n_entries,), or empty where each weighs 1

    def at(self, place: slice) -> "_Parted":
        """Return some of them, as views."""
        return _Parted(self.columns[place], self.bits[place], self.weights[place])


@dataclass(frozen=True)
class _Passes:
    """The passes over the entries of a problem."""

    problem: Problem
    n_jobs: int | None
    progress: bool

    @cached_property
    def entries(self) -> _Rows:
        """The stored scores whose truth is known, a view of them where their dtype is that of keys."""
        scores = self.problem.scores
        if self.problem.unknown is not None:
            scores = without_entries(scores, self.problem.unknown)
        cells = scores.data.astype(self.problem.dtype, copy=False)
        return _Rows(scores.indptr, scores.indices, cells.view(self.missing.dtype))

    @cached_property
    def missing(self) -> Any:
        """The key of absent cells."""
        return to_keys(np.full(1, self.problem.missing, self.problem.dtype))[0]

    @property
    def nothing(self) -> Any:
        """The key below all that counts: that of absent cells, where these may not be predicted."""
        return self.missing if self.problem.keep_sparse else self.missing.dtype.type(0)

    @property
    def sign(self) -> Any:
        """The sign bit of a score."""
        return self.missing.dtype.type(1 << (8 * self.missing.itemsize - 1))

    @cached_property
    def truth(self) -> tuple[Ints, Ints]:
        """Where the true cells of each row begin, (n_samples + 1,), and their columns, (n_true,)."""
        truth = self.problem.sparse_truth(self.problem.truth, type(self.problem.scores))
        return truth.indptr.astype(np.int64), truth.indices.astype(np.int64)

    @cached_property
    def weights(self) -> Ints:
        """Weights of the rows; empty where each weighs 1."""
        return _NOTHING if self.problem.unit_weights is None else self.problem.row_weights

    @cached_property
    def positives(self) -> Ints:
        """Weight of the true cells of each label, (n_labels,)."""
        positives = np.zeros(self.problem.n_labels, np.int64)
        weigh_entries(*self.truth, self.weights, positives)
        return positives

    def candidates(self) -> tuple[Ints, Keys, Ints]:
        """Return the distinct scores of each label's positives, falling, with their offsets and the weight at each."""
        starts, columns = self.truth
        keys = np.empty(columns.size, self.missing.dtype)

        # 1. Find the score of each true cell in its row.
        def find(rows: slice) -> None:
            ends = rows.start, rows.stop
            found_entries(*self.entries, self.sign, starts, columns, *ends, self.missing, keys)

        self._run(find, self._rows(_PIECES_PER_THREAD))

        # 2. Sort those of each label, a range of labels on each thread.
        weights = np.repeat(self.weights, np.diff(starts)) if self.weights.size else _NOTHING
        lowest = self.nothing + self.missing.dtype.type(1)

        def sort(labels: slice) -> tuple[Ints, Keys, Ints]:
            return sorted_lists(columns, keys, weights, labels.start, labels.stop, lowest)

        labels = equal_parts(slice(0, self.problem.n_labels), workers(self.n_jobs))
        offsets, candidates, hits = zip(*self._run(sort, labels), strict=True)
        sizes = np.concatenate([np.diff(own) for own in offsets])  # (n_labels,)
        return np.append(0, sizes.cumsum()), np.concatenate(candidates), np.concatenate(hits)

    def count(self, offsets: Ints, candidates: Keys, hits: Ints) -> tuple[Ints, Ints, Ints, Keys]:
        """Return true and false positives, what is higher, and the next lower key, at each candidate."""
        problem = self.problem
        width = self._width_of_parts()
        parted, starts = self._parted(width)
        tp = hits.copy()
        fp, higher = np.zeros_like(hits), np.zeros_like(hits)
        lower = np.full_like(candidates, self.nothing)
        stored = _NOTHING if problem.keep_sparse else np.zeros(problem.n_labels, np.int64)

        def count(labels: slice) -> None:
            # All arrays of the part, (n_candidates,) or (n_labels,).
            part = labels.start >> int(width)
            at = slice(offsets[labels.start], offsets[labels.stop])
            own = offsets[labels.start : labels.stop + 1] - at.start, candidates[at]
            counted = fp[at], higher[at], lower[at]
            entries = parted.at(slice(starts[part], starts[part + 1]))
            count_entries(*entries, self.sign, *own, *counted, stored[labels])
            absent = (
                stored if problem.keep_sparse else problem.weight_of_label[labels] - stored[labels]
            )
            add_up_steps(*own, tp[at], *counted, absent, self.missing)

        self._run(count, in_pieces(slice(0, problem.n_labels), 1 << int(width)), "labels")
        return tp, fp, higher, lower

    def _width_of_parts(self) -> np.uint32:
        """Return the logarithm of how many labels a part has."""
        n_parts = min(ceil_div(self.entries.columns.size, _ENTRIES_OF_PART), _MAX_PARTS)
        n_labels = ceil_div(self.problem.n_labels, max(n_parts, 1))
        return np.uint32(min((n_labels - 1).bit_length(), _MAX_BITS))

    def _parted(self, width: np.uint32) -> tuple[_Parted, Ints]:
        """Move the entries to parts of the labels; return where each begins, (n_parts + 1,), too."""
        entries, weights = self.entries, self.weights
        n_parts = ceil_div(self.problem.n_labels, 1 << int(width))
        pieces = self._rows(1)

        # 1. How many entries of each piece of the rows come to each part: these lie side by side.
        def size(rows: slice) -> Ints:
            sizes = np.zeros(n_parts, np.int64)
            count_parts(entries.starts, entries.columns, width, rows.start, rows.stop, sizes)
            return sizes

        sizes = np.array(self._run(size, pieces))  # (n_pieces, n_parts)
        ends = sizes.T.cumsum().reshape(n_parts, -1).T  # (n_pieces, n_parts)
        begins = np.ascontiguousarray(ends - sizes, np.uint64)

        # 2. Move them.
        n_entries = entries.columns.size
        parted = _Parted(
            np.empty(n_entries, np.uint16),
            np.empty(n_entries, entries.bits.dtype),
            np.empty(n_entries if weights.size else 0, np.int64),
        )

        def move(task: tuple[slice, Words]) -> None:
            rows, place = task
            part_entries(*entries, weights, width, rows.start, rows.stop, place, *parted)

        self._run(move, zip(pieces, begins, strict=True), "entries")
        return parted, np.append(0, ends[-1])

    def _rows(self, n_per_thread: int) -> list[slice]:
        """Return pieces of the rows."""
        n_pieces = n_per_thread * workers(self.n_jobs)
        return list(equal_parts(slice(0, self.problem.n_samples), n_pieces))

    def _run(
        self, function: Callable[[Any], Result], tasks: Iterable[Any], title: str = ""
    ) -> list[Result]:
        """Run on threads, with a bar if there is a title."""
        return threads.run(
            function,
            list(tasks),
            n_jobs=self.n_jobs,
            cells=self.entries.columns.size,
            progress=self.progress and bool(title),
            title=title,
        )
