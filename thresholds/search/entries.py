"""The staircases of sparse scores, all labels at once, from the entries as they lie in the rows.

    candidates of a label = the distinct scores of its positives
    tp at a candidate     = the positives at or above it
    predicted there       = the entries, and absent cells, at or above it

Positives are few. Their scores are looked up in the rows, listed by label and sorted; one pass over all entries then
counts at and between these candidates, and notes the next lower score of each. Nothing else is sorted, and no entry is
moved: time and memory are those of the entries, of the true cells and of the labels, never of labels times rows.

With `keep_sparse` only scores above `missing` are candidates, and what is absent lies below all of them.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from thresholds._arrays import threads
from thresholds._arrays.blocks import equal_parts
from thresholds._arrays.threads import workers
from thresholds._arrays.types import Ints, Keys, Matrix
from thresholds._kernels.entries import (
    count_entries,
    found_entries,
    steps_of_counts,
    weigh_entries,
)
from thresholds._kernels.keys import to_keys
from thresholds._kernels.sorting import sorted_lists
from thresholds.data.problem import Problem
from thresholds.data.unknown import without_entries

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

    # 3. Count all entries at and between the candidates, each piece of rows by itself.
    lowest = _lowest_of_labels(offsets, candidates, nothing)

    def count(rows: slice) -> tuple[Keys, Ints, Ints, Keys]:
        own_lowest = lowest.copy()
        tied, between = np.zeros_like(hits), np.zeros_like(hits)
        lower = np.full_like(candidates, nothing)
        span = rows.start, rows.stop
        counted = own_lowest, tied, between, lower
        count_entries(*entries, weights, *span, offsets, candidates, *counted)
        return counted

    # What the pieces count takes together no more than the entries do.
    most_pieces = entries.columns.size // (2 * candidates.size + problem.n_labels)
    pieces = over_rows(count, max(1, min(workers(n_jobs), most_pieces)), "entries")
    lowest, tied, between, lower = pieces[0]
    for other_lowest, other_tied, other_between, other_lower in pieces[1:]:
        np.maximum(lowest, other_lowest, out=lowest)
        np.maximum(lower, other_lower, out=lower)
        tied += other_tied
        between += other_between
    has_steps = offsets[1:] > offsets[:-1]
    lower[offsets[1:][has_steps] - 1] = lowest[has_steps, 1]

    # 4. Add up, the absent cells among them.
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
