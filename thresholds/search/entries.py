"""The staircases of sparse scores, all labels at once, from the entries as they lie in the rows.

    candidates of a label = the distinct scores of its positives
    tp at a candidate     = the positives at or above it
    predicted there       = the entries, and absent cells, at or above it

Positives are few. Their scores are looked up in the rows, listed by label and sorted. One pass over all entries then
keeps those that are not below the lowest candidate of their label, which are counted at and between the candidates.
Nothing else is sorted: time and memory are those of the entries, of the true cells and of the labels, never of labels
times rows.

With `keep_sparse` only scores above `missing` are candidates, and what is absent lies below all of them.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate
from typing import Any, NamedTuple, TypeVar

import numpy as np

from thresholds._arrays import threads
from thresholds._arrays.blocks import ceil_div, equal_parts, in_pieces
from thresholds._arrays.sparse import entries_of_rows
from thresholds._arrays.threads import workers
from thresholds._arrays.types import Buckets, Ints, Keys
from thresholds._kernels.entries import (
    add_up_steps,
    count_entries,
    found_entries,
    keep_entries,
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
_BLOCK = 2**22  # entries that are brought to their parts at once
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


class _Kept(NamedTuple):
    """Entries that are not below all candidates of their label: those of part p at `segments[:, p:p + 2]`."""

    columns: Buckets  # (n_entries,) from the first of the part
    keys: Keys  # (n_entries,)
    weights: Ints  # (n_entries,), or empty where each weighs 1
    segments: Ints  # (n_blocks, n_parts + 1)


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
        return _Rows(*entries_of_rows(scores), cells.view(self.missing.dtype))

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
        return entries_of_rows(
            self.problem.sparse_truth(self.problem.truth, type(self.problem.scores))
        )

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

        self._run(find, self._pieces_of_rows())

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
        """Return true and false positives, what is higher, and the next lower key, at each candidate.

        The first are written over `hits`.
        """
        problem = self.problem
        width = self._width_of_parts()
        kept, below, stored = self._kept(offsets, candidates, width)
        fp, higher = np.empty((2, hits.size), np.int64)
        lower = np.empty_like(candidates)

        def count(labels: slice) -> None:
            # All arrays of the part, (n_candidates,) or (n_labels,).
            at = slice(offsets[labels.start], offsets[labels.stop])
            own = offsets[labels.start : labels.stop + 1] - at.start, candidates[at]
            counted = fp[at], higher[at], lower[at]
            part = labels.start >> int(width)
            count_entries(part, *kept, *own, below[:, labels].max(axis=0), *counted)
            absent = stored[0, labels]  # empty where they matter to none
            if stored.size:
                absent = problem.weight_of_label[labels] - stored[:, labels].sum(axis=0)
            add_up_steps(*own, hits[at], *counted, absent, self.missing)

        self._run(count, in_pieces(slice(0, problem.n_labels), 1 << int(width)), "labels")
        return hits, fp, higher, lower

    def _width_of_parts(self) -> np.uint32:
        """Return the logarithm of how many labels a part has."""
        n_parts = min(ceil_div(self.entries.columns.size, _ENTRIES_OF_PART), _MAX_PARTS)
        n_labels = ceil_div(self.problem.n_labels, max(n_parts, 1))
        return np.uint32(min((n_labels - 1).bit_length(), _MAX_BITS))

    def _kept(self, offsets: Ints, candidates: Keys, width: np.uint32) -> tuple[_Kept, Keys, Ints]:
        """Keep the entries that are not below all candidates of their label, each piece of the rows on a thread.

        Returns too, of each piece, the highest key of each label below these and the weight of all its entries,
        (n_pieces, n_labels); the latter is (n_pieces, 0) where absent cells matter to none.
        """
        entries, weights, n_labels = self.entries, self.weights, self.problem.n_labels
        n_entries = entries.columns.size
        # A piece keeps something for each label: no more than all entries are.
        n_pieces = max(min(workers(self.n_jobs), n_entries // n_labels), 1)
        pieces = list(equal_parts(slice(0, self.problem.n_samples), n_pieces))
        n_blocks = [
            ceil_div(int(entries.starts[rows.stop] - entries.starts[rows.start]), _BLOCK)
            for rows in pieces
        ]
        firsts = [0, *accumulate(n_blocks)]  # of each piece
        kept = _Kept(
            np.empty(n_entries, np.uint16),
            np.empty(n_entries, candidates.dtype),
            np.empty(n_entries if weights.size else 0, np.int64),
            np.empty((firsts[-1], ceil_div(n_labels, 1 << int(width)) + 1), np.int64),
        )
        stored = np.zeros((len(pieces), 0 if self.problem.keep_sparse else n_labels), np.int64)

        def keep(piece: int) -> Keys:
            rows = pieces[piece]
            return keep_entries(
                *entries,
                self.sign,
                weights,
                rows.start,
                rows.stop,
                offsets,
                candidates,
                self.nothing,
                width,
                _BLOCK,
                kept.columns,
                kept.keys,
                kept.weights,
                kept.segments[firsts[piece] : firsts[piece + 1]],
                stored[piece],
            )

        below = self._run(keep, range(len(pieces)), "entries")
        return kept, np.array(below), stored

    def _pieces_of_rows(self) -> Iterator[slice]:
        """Return pieces of the rows, some for each thread."""
        n_pieces = _PIECES_PER_THREAD * workers(self.n_jobs)
        return equal_parts(slice(0, self.problem.n_samples), n_pieces)

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
