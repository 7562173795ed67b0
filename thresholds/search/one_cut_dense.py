"""One threshold for all labels of dense scores: the highest mean of F-beta over groups, labels or rows, exactly.

As in `counting/`: count all groups at a few cuts; between two cuts the mean is at most the mean of what each group
can reach there; go on between the outermost intervals that remain, until few cells are left; sort these.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from thresholds._arrays import threads
from thresholds._arrays.sparse import is_sparse, to_dense
from thresholds._arrays.types import Dense, Floats, Ints
from thresholds._checks import Average
from thresholds._kernels.keys import to_keys, to_scores
from thresholds._kernels.one_cut import add_means, collect_cells, count_columns, count_rows, sweep_cells
from thresholds._kernels.sorting import sorted_with_rows
from thresholds.data.problem import Problem
from thresholds.metrics.counts import count_by_label, count_by_sample

Block = tuple[int, Dense, npt.NDArray[np.uint8]]

UNIT = 2.0**61  # A mean F-beta is an integer number of these, so that sums do not depend on threads.
EQUAL = 2**11  # units: what the F of all groups, computed in float64, can be off by together

_CUTS = 16
_ROUNDS = 4
_SAMPLE_CELLS = 2**20
_BLOCK_CELLS = 2**16
_PIECE_CELLS = 2**22
_FEW = 64  # Cells are few when they are such a part of all,
_MANY = 8  # and too many to sort at once when they are more than such a part.


def shares_of(average: Average, positives: Ints, row_weights: Ints) -> Floats:
    """Return the weight of each group's F-beta in the mean; they sum to 1."""
    weights = np.ones_like(positives)
    if average == "samples":
        weights = row_weights
    elif average == "weighted":
        weights = positives
    return np.asarray(weights / weights.sum(), np.float64)


@dataclass(frozen=True)
class MeanCut:
    """The search for the cut of the highest mean; groups are labels, or rows for the samples average."""

    problem: Problem  # plain
    average: Average
    beta: float
    zero_division: float
    n_jobs: int | None = -1
    progress: bool = False

    def best(self) -> tuple[float, float] | None:
        """Return the best cut and the next lower score; +inf predicts nothing; None if sorting few cells fails."""
        if not self.positives.any():
            return np.inf, np.nan
        found = self._narrow()
        if found is None:
            return None
        low, high, nothing = found
        up, rows, of, below = self._collect(low, high)
        means = sweep_cells(up, rows, of, *self._state(high), self.positives, self.shares, self._measure)
        enough = max(nothing, int(means.max(initial=-1))) - EQUAL - self.shares.size
        if nothing >= enough:
            return np.inf, np.nan
        key = up[np.flatnonzero(means >= enough)[-1]]
        lower = int(np.searchsorted(up, key))
        return tuple(to_scores(np.array([key, up[lower - 1] if lower else below])).tolist())

    @property
    def _by_row(self) -> bool:
        """Whether groups are rows."""
        return self.average == "samples"

    @property
    def _measure(self) -> tuple[float, float, float]:
        """What the kernels need to know of F."""
        return self.beta**2, self.zero_division, UNIT

    @cached_property
    def positives(self) -> Ints:
        """The positives of each group."""
        truth = self.problem.truth
        counts = count_by_sample(truth, truth) if self._by_row else count_by_label(truth, truth, None)
        return counts.positives

    @cached_property
    def shares(self) -> Floats:
        """The weight of each group's F in the mean."""
        return shares_of(self.average, self.positives, self.problem.row_weights)

    def _narrow(self) -> tuple[Any, Any, int] | None:
        """Return the scores between which the best cut lies, and the mean of predicting nothing."""
        low, high, nothing, best = -np.inf, np.inf, 0, 0
        n_cells = left = self.problem.n_stored
        for _ in range(_ROUNDS):
            sample = self._sample[(self._sample < high) & (self._sample >= low)]
            if sample.size == 0:
                break
            at = np.arange(1, _CUTS + 1) * (sample.size - 1) // _CUTS
            cuts = np.concatenate([[high], sample[at], [low]]).astype(self.problem.dtype)
            means, most, predicted = self._means(cuts)
            nothing = int(means[0]) if high == np.inf else nothing
            best = max(best, int(means.max()))
            hot = np.flatnonzero(most >= best - EQUAL - self.shares.size)
            if hot.size == 0:
                return low, low, nothing  # Nothing is left, nothing is best.
            before, left = left, int(predicted[hot[-1] + 1] - predicted[hot[0]])
            low, high = cuts[hot[-1] + 1], cuts[hot[0]]
            if left * _FEW <= n_cells or 2 * left > before:
                break
        return (low, high, nothing) if left * _MANY <= n_cells else None

    @cached_property
    def _sample(self) -> Dense:
        """Scores of some positives, falling: of evenly spaced rows."""
        step = max(1, self.problem.n_stored // _SAMPLE_CELLS)
        truth, scores = self.problem.truth[::step], self.problem.scores[::step]
        cells = scores[to_dense(truth) != 0].astype(self.problem.dtype)
        return -np.sort(-cells) if cells.size else np.zeros(1, self.problem.dtype)

    def _means(self, cuts: Dense) -> tuple[Ints, Ints, Ints]:
        """Return the mean at each cut, what it is at most between two cuts, and how many cells lie at or above each."""

        def of_rows(rows: slice) -> tuple[Ints, Ints, Ints]:
            tp, predicted = self._count(rows, cuts)
            return *self._add(tp, predicted, rows), predicted.sum(axis=1)

        if self._by_row:
            return tuple(sum(parts) for parts in zip(*self._map(of_rows), strict=True))
        tp, predicted = sum(self._map(lambda rows: np.stack(self._count(rows, cuts))))
        return *self._add(tp, predicted, slice(None)), predicted.sum(axis=1)

    def _state(self, cut: Any) -> tuple[Ints, Ints]:
        """Count all groups at one cut."""
        parts = self._map(lambda rows: np.concatenate(self._count(rows, np.array([cut], self.problem.dtype))))
        tp, predicted = np.concatenate(parts, axis=1) if self._by_row else sum(parts)
        return tp, predicted

    def _count(self, rows: slice, cuts: Dense) -> tuple[Ints, Ints]:
        """Count the groups in some rows at cuts: tp and predicted, (n_cuts, n_groups)."""
        shape = (cuts.size, rows.stop - rows.start if self._by_row else self.problem.n_labels)
        tp, predicted = np.zeros(shape, np.int64), np.zeros(shape, np.int64)
        for first, scores, truth in self._blocks(rows):
            if self._by_row:
                part = slice(first - rows.start, first - rows.start + len(scores))
                tp[:, part], predicted[:, part] = count_rows(scores, truth, cuts)
            else:
                count_columns(scores, truth, cuts, tp, predicted)
        return tp, predicted

    def _add(self, tp: Ints, predicted: Ints, groups: slice) -> tuple[Ints, Ints]:
        """Add up the means of some groups, at cuts and at most between them."""
        at, most = np.zeros(len(tp), np.int64), np.zeros(len(tp) - 1, np.int64)
        add_means(tp, predicted, self.positives[groups], self.shares[groups], self._measure, at, most)
        return at, most

    def _collect(self, low: Any, high: Any) -> tuple[Dense, Dense, Ints, Any]:
        """Return the keys in [low, high) upwards, where each was, of what group and truth, and the next lower key."""

        def collect(rows: slice) -> tuple[Dense, Ints, Dense]:
            below = np.full(self.problem.n_labels, -np.inf, self.problem.dtype)
            found = []
            for first, scores, truth in self._blocks(rows):
                kept, of = np.empty(scores.size + 1, scores.dtype), np.empty(scores.size + 1, np.int64)
                group = (first, 1, 0) if self._by_row else (0, 0, 1)
                n = collect_cells(
                    scores, truth, scores.dtype.type(low), scores.dtype.type(high), group, kept, of, below
                )
                found.append((kept[:n].copy(), of[:n].copy()))
            cells, groups = (np.concatenate(arrays) for arrays in zip(*found, strict=True))
            return cells, groups, below

        kept, of, below = (np.concatenate(arrays) for arrays in zip(*self._map(collect), strict=True))
        up, rows = sorted_with_rows(to_keys(kept))
        return up, rows, of, to_keys(below[np.newaxis].max(axis=1))[0]

    def _blocks(self, rows: slice) -> Iterator[Block]:
        """Return blocks of rows as kernels take them: where they start, scores and truth."""
        step = max(1, _BLOCK_CELLS // self.problem.n_labels)
        for first in range(rows.start, rows.stop, step):
            part = slice(first, min(first + step, rows.stop))
            truth = self.problem.truth[part]
            truth = truth.toarray() if is_sparse(truth) else truth
            yield (
                first,
                np.array(self.problem.scores[part], self.problem.dtype, order="C"),
                np.array(truth, np.uint8, order="C"),
            )

    def _map(self, function: Any) -> list[Any]:
        """Apply `function` to pieces of the rows, on threads."""
        n, step = self.problem.n_samples, max(1, _PIECE_CELLS // self.problem.n_labels)
        pieces = [slice(first, min(first + step, n)) for first in range(0, n, step)]
        run = {"n_jobs": self.n_jobs, "cells": self.problem.n_stored}
        return threads.run(function, pieces, **run, progress=self.progress, title="cells")
