"""The staircases of sparse scores, all labels at once, from the entries as they lie in the rows.

    candidates of a label = the distinct scores of its positives
    tp at a candidate     = the positives at or above it
    predicted there       = the entries, and absent cells, at or above it

Positives are few. Their scores are looked up in the rows, listed by label and sorted; one pass over all entries then
counts at and between these candidates, and notes the next lower score of each. Nothing else is sorted, and no entry is
moved: time and memory are those of the entries, of the true cells and of the labels, never of labels times rows.

With `keep_sparse` only scores above `missing` are candidates, and what is absent lies below all of them.
"""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from thresholds._arrays import threads
from thresholds._arrays.blocks import ceil_div, equal_parts
from thresholds._arrays.threads import workers
from thresholds._arrays.types import Ints, Keys, Matrix, SmallInts
from thresholds._kernels.entries import (
    count_entries,
    count_parts,
    found_entries,
    sift_entries,
    steps_of_counts,
    weigh_entries,
)
from thresholds._kernels.keys import to_keys
from thresholds._kernels.sorting import sorted_lists
from thresholds.data.problem import Problem
from thresholds.data.unknown import without_entries

_CANDIDATES_OF_PART = 2**14  # with 24 bytes each
_MAX_PARTS = 256  # into which entries are written side by side

_UNWEIGHTED = np.empty(0, np.int64)


class Steps(NamedTuple):
    """The steps of all labels: those of label j are `offsets[j]:offsets[j + 1]`, and fall."""

    offsets: Ints  # (n_labels + 1,)
    key: Keys  # (n_steps,)
    lower: Keys  # (n_steps,) the next lower key, 0 without one
    tp: Ints  # (n_steps,) in the unit of the weights
    fp: Ints  # (n_steps,)
    higher: Ints  # (n_steps,) the weight of all cells above
    positives: Ints  # (n_labels,)


class _Entries(NamedTuple):
    """Stored scores as kernels take them: those of row i are `starts[i]:starts[i + 1]`."""

    starts: Ints  # (n_samples + 1,)
    columns: Ints  # (n_entries,)
    bits: Keys  # (n_entries,) the scores, read as unsigned integers
    sign: Any  # the sign bit


class _Kept(NamedTuple):
    """Entries that are counted among the candidates of their labels."""

    columns: SmallInts  # (n_kept,)
    keys: Keys  # (n_kept,)
    weights: Ints  # (n_kept,), or empty where each weighs 1

    @classmethod
    def room_for(cls, n_entries: int, dtype: Any, *, is_weighted: bool) -> "_Kept":
        """Return arrays of which only what is written takes memory."""
        weights = np.empty(n_entries if is_weighted else 0, np.int64)
        return cls(np.empty(n_entries, np.int32), np.empty(n_entries, dtype), weights)

    def at(self, place: slice) -> "_Kept":
        """Return some of them, as views."""
        return _Kept(self.columns[place], self.keys[place], self.weights[place])

    @classmethod
    def joined(cls, parts: "Sequence[_Kept]") -> "_Kept":
        """Return all of them, one after another."""
        if len(parts) == 1:
            return parts[0]
        return cls(*(np.concatenate(arrays) for arrays in zip(*parts, strict=True)))


def steps_of_entries(
    problem: Problem, *, n_jobs: int | None = -1, progress: bool = False
) -> Steps:
    """Count the steps of all labels of sparse scores; the truth is not soft."""
    entries = _entries_of(problem)
    true_starts, true_columns = _true_cells(problem)
    weights = _UNWEIGHTED if problem.unit_weights is None else problem.row_weights
    # The key of absent cells; where these may not be predicted, they lie below all that counts.
    missing = to_keys(np.full(1, problem.missing, problem.dtype))[0]
    nothing = missing if problem.keep_sparse else missing.dtype.type(0)

    def over_rows(function: Callable[[slice], Any], n_pieces: int, title: str = "") -> list[Any]:
        pieces = list(equal_parts(slice(0, problem.n_samples), n_pieces))
        return threads.run(
            function,
            pieces,
            n_jobs=n_jobs,
            cells=entries.columns.size,
            progress=progress,
            title=title,
        )

    # 1. Find the scores of the positives.
    true_keys = np.empty(true_columns.size, missing.dtype)

    def find(rows: slice) -> None:
        span = rows.start, rows.stop
        found_entries(*entries, true_starts, true_columns, *span, missing, true_keys)

    over_rows(find, 4 * workers(n_jobs))

    # 2. List them by label: the distinct ones are candidates.
    positives = np.zeros(problem.n_labels, np.int64)
    weigh_entries(true_starts, true_columns, weights, 0, problem.n_samples, positives)
    true_weights = np.repeat(weights, np.diff(true_starts)) if weights.size else weights
    lowest_key = nothing + missing.dtype.type(1)
    offsets, candidates, hits = sorted_lists(
        problem.n_labels, true_columns, true_keys, true_weights, lowest_key
    )

    # 3. Keep the entries that are not below all candidates of their label, in parts of the labels:
    # what is counted there stays in the cache.
    lowest = _lowest_of_labels(offsets, candidates, nothing)
    width = np.uint32(_width_of_parts(problem.n_labels, candidates.size))
    n_parts = ceil_div(problem.n_labels, 1 << int(width))

    def sift(rows: slice) -> tuple[Keys, Ints, Ints, _Kept]:
        sizes = np.zeros(n_parts, np.int64)
        count_parts(entries.starts, entries.columns, width, rows.start, rows.stop, sizes)
        begins = np.append(0, sizes.cumsum())
        ends = begins[:-1].astype(np.uint64)
        kept = _Kept.room_for(int(begins[-1]), missing.dtype, is_weighted=weights.size > 0)
        own = lowest.copy()
        sift_entries(*entries, weights, rows.start, rows.stop, own, width, ends, *kept)
        return own, begins, ends, kept

    pieces = over_rows(sift, workers(n_jobs), "entries")
    for own, *_ in pieces:
        np.maximum(lowest, own, out=lowest)

    # 4. Count at and between the candidates.
    tied, between = np.zeros_like(hits), np.zeros_like(hits)
    lower = np.full_like(candidates, nothing)

    def count(part: int) -> None:
        found = [kept.at(slice(int(begins[part]), int(ends[part]))) for _, begins, ends, kept in pieces]
        first = part << int(width)
        last = min(first + (1 << int(width)), problem.n_labels)
        count_entries(*_Kept.joined(found), first, last, offsets, candidates, tied, between, lower)

    threads.run(count, range(n_parts), n_jobs=n_jobs, cells=entries.columns.size)
    has_steps = offsets[1:] > offsets[:-1]
    lower[offsets[1:][has_steps] - 1] = lowest[has_steps, 1]

    # 5. Add up, the absent cells among them.
    absent = _UNWEIGHTED if problem.keep_sparse else _absent_weights(problem, entries, weights)
    counts = hits, tied, between
    tp, fp, higher = steps_of_counts(offsets, candidates, *counts, lower, absent, missing)
    return Steps(offsets, candidates, lower, tp, fp, higher, positives)


def _entries_of(problem: Problem) -> _Entries:
    """Return the stored scores whose truth is known, their bits a view of them where their dtype is that of keys."""
    scores = problem.scores
    if problem.unknown is not None:
        scores = without_entries(scores, problem.unknown)
    bits = scores.data.astype(problem.dtype, copy=False).view(f"u{problem.dtype.itemsize}")
    sign = bits.dtype.type(1 << (8 * bits.itemsize - 1))
    return _Entries(scores.indptr, scores.indices, bits, sign)


def _true_cells(problem: Problem) -> tuple[Ints, Ints]:
    """Return where the true cells of each row begin, (n_samples + 1,), and their columns, (n_true,)."""
    truth: Matrix = problem.sparse_truth(problem.truth, type(problem.scores))
    return truth.indptr.astype(np.int64), truth.indices.astype(np.int64)


def _width_of_parts(n_labels: int, n_candidates: int) -> int:
    """Return the logarithm of how many labels a part has, so that its candidates and their counts stay in the cache."""
    wanted = _CANDIDATES_OF_PART * n_labels // max(1, n_candidates)
    widest = max(wanted, ceil_div(n_labels, _MAX_PARTS), 1)
    return (widest - 1).bit_length()


def _lowest_of_labels(offsets: Ints, candidates: Keys, nothing: Any) -> Keys:
    """Return the lowest candidate of each label, and the key of nothing below it, (n_labels, 2)."""
    # Where there is no candidate all keys are below the lowest, and none is noted.
    lowest = np.full((offsets.size - 1, 2), np.iinfo(candidates.dtype).max, candidates.dtype)
    has_candidates = offsets[1:] > offsets[:-1]
    lowest[has_candidates, 0] = candidates[offsets[1:][has_candidates] - 1]
    lowest[has_candidates, 1] = nothing
    return lowest


def _absent_weights(problem: Problem, entries: _Entries, weights: Ints) -> Ints:
    """Return the weight that the entries leave of each label, (n_labels,)."""
    stored = np.zeros(problem.n_labels, np.int64)
    weigh_entries(entries.starts, entries.columns, weights, 0, problem.n_samples, stored)
    return problem.weight_of_label - stored
