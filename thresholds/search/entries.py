"""The staircases of sparse scores, all labels at once, from the entries as they lie in the rows.

    candidates of a label = the distinct scores of its positives
    tp at a candidate     = the positives at or above it
    predicted there       = the entries, and absent cells, at or above it

Positives are few. Their scores are looked up in the rows, listed by label and sorted. Of all entries those that are not
below the lowest candidate of their label are then listed by label, and counted at and between the candidates, in parts
of the labels. Nothing else is sorted: time and memory are those of the entries, of the true cells and of the labels,
never of labels times rows.

With `keep_sparse` only scores above `missing` are candidates, and what is absent lies below all of them.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple, TypeVar

import numpy as np

from thresholds._arrays import threads
from thresholds._arrays.blocks import ceil_div, equal_parts, in_pieces
from thresholds._arrays.sparse import entries_of_rows
from thresholds._arrays.threads import workers
from thresholds._arrays.types import Ints, Keys
from thresholds._engine.unknown import without_entries
from thresholds._kernels.entries import count_entries, found_entries, part_entries, weigh_entries
from thresholds._kernels.keys import to_keys
from thresholds._kernels.sorting import sorted_lists
from thresholds.data.problem import Problem

Result = TypeVar("Result")

# A part of the labels has so many entries that what is made of them stays in the cache.
_ENTRIES_OF_PART = 2**18
_MAX_PARTS = 256  # into which entries are written side by side
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
    """Entries part by part of the labels: those of part p are at `segments[:, p:p + 2]`."""

    columns: Ints  # (n_entries,)
    keys: Keys  # (n_entries,)
    weights: Ints  # (n_entries,), or empty where each weighs 1
    segments: Ints  # (n_pieces of the rows, n_parts + 1)


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
        columns, keys, weights, segments = self._parted(width)
        fp, higher = np.empty((2, hits.size), np.int64)
        lower = np.empty_like(candidates)

        def count(labels: slice) -> None:
            at = slice(offsets[labels.start], offsets[labels.stop])  # the candidates of the part
            count_entries(
                columns,
                keys,
                weights,
                segments,
                labels.start >> int(width),
                labels.start,
                offsets[labels.start : labels.stop + 1] - at.start,
                candidates[at],
                self.nothing,
                self.missing,
                _NOTHING if problem.keep_sparse else problem.weight_of_label[labels],
                hits[at],
                fp[at],
                higher[at],
                lower[at],
            )

        self._run(count, in_pieces(slice(0, problem.n_labels), 1 << int(width)), "labels")
        return hits, fp, higher, lower

    def _width_of_parts(self) -> np.uint32:
        """Return the logarithm of how many labels a part has."""
        n_parts = min(ceil_div(self.entries.columns.size, _ENTRIES_OF_PART), _MAX_PARTS)
        n_labels = ceil_div(self.problem.n_labels, max(n_parts, 1))
        return np.uint32((n_labels - 1).bit_length())

    def _parted(self, width: np.uint32) -> _Parted:
        """Bring the entries of each part of the labels together, each piece of the rows on a thread."""
        entries, weights = self.entries, self.weights
        n_parts = ceil_div(self.problem.n_labels, 1 << int(width))
        pieces = list(equal_parts(slice(0, self.problem.n_samples), workers(self.n_jobs)))
        parted = _Parted(
            np.empty_like(entries.columns),
            np.empty_like(entries.bits),
            np.empty(entries.columns.size if weights.size else 0, np.int64),
            np.empty((len(pieces), n_parts + 1), np.int64),
        )

        def part(piece: int) -> None:
            part_entries(
                *entries,
                self.sign,
                weights,
                pieces[piece].start,
                pieces[piece].stop,
                width,
                parted.columns,
                parted.keys,
                parted.weights,
                parted.segments[piece],
            )

        self._run(part, range(len(pieces)), "entries")
        return parted

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
