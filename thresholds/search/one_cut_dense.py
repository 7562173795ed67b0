"""One cut for ALL labels of dense scores: the highest mean of F-beta over groups, exactly.

As in `counting/`: count all groups at a few cuts; between two cuts the mean is at most the mean of
what each group can reach there; go on between the outermost intervals that remain, until few cells
are left; sort these.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from thresholds._arrays import threads
from thresholds._arrays.blocks import by_cells, in_pieces
from thresholds._arrays.sparse import to_dense
from thresholds._arrays.types import Bytes, Dense, Floats, Ints, Keys, SmallInts
from thresholds._checks import Average
from thresholds._kernels.keys import to_keys, to_scores
from thresholds._kernels.one_cut import (
    add_means,
    collect_cells,
    count_columns,
    count_rows,
    sweep_cells,
)
from thresholds._kernels.sorting import sorted_with_rows
from thresholds.data.problem import Problem
from thresholds.metrics.counts import count_by_label, count_by_sample

UNIT = 2.0**61  # of a mean of 1: whole numbers, whose sums do not depend on threads
EQUAL = 2**11  # units: what the F of all groups, computed in float64, can be off by together

_N_CUTS = 16
_MAX_ROUNDS = 4
_SAMPLE_CELLS = 2**20
BLOCK_CELLS = 2**16
_PIECE_CELLS = 2**22
_FEW = 64  # Cells are few when they are one in so many of all,
_MANY = 8  # and too many to sort at once when they are more than one in so many.


class Interval(NamedTuple):
    """The scores [low, high) among which the best cut lies, and the mean of predicting nothing."""

    low: Any
    high: Any
    nothing: int  # in units


class Cells(NamedTuple):
    """Cells between two scores, sorted upwards."""

    keys: Keys  # (n_cells,)
    rows: SmallInts  # (n_cells,) where each was in `owners`
    owners: Ints  # (n_cells,) twice the group, 1 more for a positive
    below: Any  # the next lower key


def shares_of(average: Average, positives: Ints, row_weights: Ints | None) -> Floats:
    """Return the weight of each group's F-beta in the mean; they sum to 1. Only a mean over rows asks for theirs."""
    weights = np.ones_like(positives)
    if average == "samples":
        assert row_weights is not None, "given where groups are rows"
        weights = row_weights
    elif average == "weighted":
        weights = positives
    return np.asarray(weights / weights.sum(), np.float64)


@dataclass(frozen=True)
class MeanCut:
    """The search for the cut of the highest mean over groups: labels, or rows for "samples"."""

    problem: Problem  # dense and unweighted
    average: Average
    beta: float
    zero_division: float
    n_jobs: int | None = -1
    progress: bool = False

    def best(self) -> tuple[float, float] | None:
        """Return the best cut and the next lower score; None if too many cells are left to sort.

        +inf predicts nothing.
        """
        if not self.positives.any():
            return np.inf, np.nan
        interval = self._narrow()
        if interval is None:
            return None

        # Sort what is left, and let the cut fall through it.
        cells = self._collect(interval.low, interval.high)
        means = self._sweep(cells, interval.high)

        # The highest cut wins among those that are equal but for rounding.
        enough = max(interval.nothing, int(means.max(initial=-1))) - EQUAL - self.shares.size
        if interval.nothing >= enough:
            return np.inf, np.nan
        key = cells.keys[np.flatnonzero(means >= enough)[-1]]
        n_lower = int(np.searchsorted(cells.keys, key))
        lower = cells.keys[n_lower - 1] if n_lower else cells.below
        return tuple(to_scores(np.array([key, lower])).tolist())

    def _sweep(self, cells: Cells, high: Any) -> Ints:
        """Return the mean once the cut has fallen from `high` to each key that a positive has, -1 at others."""
        tp, predicted = self._counts_at(high)
        return sweep_cells(
            cells.keys,
            cells.rows,
            cells.owners,
            tp,
            predicted,
            self.positives,
            self.shares,
            self._measure,
        )

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
        if self._by_row:
            return count_by_sample(truth, truth).positives
        return count_by_label(truth, truth, None).positives

    @cached_property
    def shares(self) -> Floats:
        """The weight of each group's F in the mean."""
        return shares_of(self.average, self.positives, self.problem.row_weights)

    def _narrow(self) -> Interval | None:
        """Return the scores among which the best cut lies; None if they are too many to sort."""
        low: Any = -np.inf
        high: Any = np.inf
        best = nothing = 0
        n_left = n_cells = self.problem.n_stored
        for _ in range(_MAX_ROUNDS):
            # Cuts at quantiles of what is left of the sample, and at both ends.
            sample = self._sample[(self._sample < high) & (self._sample >= low)]
            if sample.size == 0:
                break
            at = np.arange(1, _N_CUTS + 1) * (sample.size - 1) // _N_CUTS
            cuts = np.concatenate([[high], sample[at], [low]]).astype(self.problem.dtype)
            means, most, predicted = self._means(cuts)
            if high == np.inf:
                nothing = int(means[0])
            best = max(best, int(means.max()))

            # The interval goes from the first to the last one that may reach the best mean.
            hot = np.flatnonzero(most >= best - EQUAL - self.shares.size)
            if hot.size == 0:  # Every interval is beaten: predicting nothing is best.
                return Interval(low, low, nothing)
            n_before = n_left
            n_left = int(predicted[hot[-1] + 1] - predicted[hot[0]])
            low = cuts[hot[-1] + 1]
            high = cuts[hot[0]]
            is_slow = 2 * n_left > n_before
            if n_left * _FEW <= n_cells or (is_slow and n_left * _MANY <= n_cells):
                break
        return Interval(low, high, nothing) if n_left * _MANY <= n_cells else None

    @cached_property
    def _sample(self) -> Dense:
        """Scores of some positives, falling: of evenly spaced rows."""
        step = max(1, self.problem.n_stored // _SAMPLE_CELLS)
        truth = to_dense(self.problem.truth[::step])
        scores = self.problem.scores[::step][truth != 0].astype(self.problem.dtype)
        return -np.sort(-scores) if scores.size else np.zeros(1, self.problem.dtype)

    def _means(self, cuts: Dense) -> tuple[Ints, Ints, Ints]:
        """Return the mean at each cut, the most between two, and the cells at or above each."""

        def row_means(rows: slice) -> tuple[Ints, Ints, Ints]:
            tp, predicted = self._count(rows, cuts)
            return *self._add(tp, predicted, rows), predicted.sum(axis=1)

        if self._by_row:  # Each piece has the whole of its groups, so that means are added up.
            return tuple(sum(parts) for parts in zip(*self._map(row_means), strict=True))
        tp, predicted = sum(self._map(lambda rows: np.stack(self._count(rows, cuts))))
        return *self._add(tp, predicted, slice(None)), predicted.sum(axis=1)

    def _counts_at(self, cut: Any) -> tuple[Ints, Ints]:
        """Return tp and predicted of all groups at one cut, (n_groups,) each."""
        cuts = np.array([cut], self.problem.dtype)
        parts = self._map(lambda rows: np.concatenate(self._count(rows, cuts)))
        tp, predicted = np.concatenate(parts, axis=1) if self._by_row else sum(parts)
        return tp, predicted

    def _count(self, rows: slice, cuts: Dense) -> tuple[Ints, Ints]:
        """Count the groups in some rows at cuts: tp and predicted, (n_cuts, n_groups)."""
        n_groups = rows.stop - rows.start if self._by_row else self.problem.n_labels
        tp, predicted = np.zeros((2, cuts.size, n_groups), np.int64)
        for block, scores, truth in self._blocks(rows):
            if self._by_row:
                groups = slice(block.start - rows.start, block.stop - rows.start)
                tp[:, groups], predicted[:, groups] = count_rows(scores, truth, cuts)
            else:
                count_columns(scores, truth, cuts, tp, predicted)
        return tp, predicted

    def _add(self, tp: Ints, predicted: Ints, groups: slice) -> tuple[Ints, Ints]:
        """Add up means of some groups: at cuts (n_cuts,), and the most between (n_cuts - 1,)."""
        at_cuts = np.zeros(len(tp), np.int64)
        most = np.zeros(len(tp) - 1, np.int64)
        positives = self.positives[groups]
        shares = self.shares[groups]
        add_means(tp, predicted, positives, shares, self._measure, at_cuts, most)
        return at_cuts, most

    def _collect(self, low: Any, high: Any) -> Cells:
        """Return the cells in [low, high)."""

        def collect(rows: slice) -> tuple[Dense, Ints, Dense]:
            below = np.full(self.problem.n_labels, -np.inf, self.problem.dtype)
            score_parts = []
            owner_parts = []
            for block, scores, truth in self._blocks(rows):
                kept = np.empty(scores.size + 1, scores.dtype)
                owners = np.empty(scores.size + 1, np.int64)
                group = (block.start, 1, 0) if self._by_row else (0, 0, 1)
                ends = (scores.dtype.type(low), scores.dtype.type(high))
                n_kept = collect_cells(scores, truth, *ends, group, kept, owners, below)
                score_parts.append(kept[:n_kept].copy())
                owner_parts.append(owners[:n_kept].copy())
            return np.concatenate(score_parts), np.concatenate(owner_parts), below

        parts = zip(*self._map(collect), strict=True)
        kept, owners, below = (np.concatenate(arrays) for arrays in parts)
        keys, rows = sorted_with_rows(to_keys(kept))
        next_lower = to_keys(below[np.newaxis].max(axis=1))[0]
        return Cells(keys, rows, owners, next_lower)

    def _blocks(self, rows: slice) -> Iterator[tuple[slice, Dense, Bytes]]:
        """Return blocks as kernels take them: which rows, scores and truth (n_rows, n_labels)."""
        for block in in_pieces(rows, max(1, BLOCK_CELLS // self.problem.n_labels)):
            scores = np.array(self.problem.scores[block], self.problem.dtype, order="C")
            truth = np.array(to_dense(self.problem.truth[block]), np.uint8, order="C")
            yield block, scores, truth

    def _map(self, function: Callable[[slice], Any]) -> list[Any]:
        """Apply `function` to pieces of the rows, on threads."""
        pieces = list(by_cells(self.problem.n_samples, self.problem.n_stored, _PIECE_CELLS))
        run = {"n_jobs": self.n_jobs, "cells": self.problem.n_stored}
        return threads.run(function, pieces, **run, progress=self.progress, title="cells")
