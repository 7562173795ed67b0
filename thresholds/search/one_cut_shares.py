"""One cut for ALL labels of dense probabilities, each the share of its cell that is true: the highest mean over rows.

The search is that of `one_cut_dense.py`. True positives are sums of shares, in whole units of a cell's weight.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from thresholds._arrays.blocks import in_pieces
from thresholds._arrays.types import Bytes, Dense, Ints
from thresholds._kernels.keys import to_scores
from thresholds._kernels.one_cut import add_means_of_shares
from thresholds.search.one_cut_dense import BLOCK_CELLS, Cells, MeanCut

_SAMPLE_CELLS = 2**16


@dataclass(frozen=True)
class MeanCutOfShares(MeanCut):
    """The search for the cut of the highest mean over rows."""

    @cached_property
    def positives(self) -> Ints:
        """The positive weight of each row."""
        positives, _, _ = self._sums_above(-np.inf)
        return positives

    @cached_property
    def _sample(self) -> Dense:
        """Scores of evenly spaced rows, each as often as cells of its score are true, falling."""
        step = max(1, self.problem.n_stored // _SAMPLE_CELLS)
        scores = np.sort(self.problem.scores[::step].astype(self.problem.dtype), axis=None)
        shares_so_far = scores.cumsum(dtype=np.float64)  # (n_sampled,)
        n_taken = int(shares_so_far[-1])
        if n_taken == 0:
            return scores[-1:]
        wanted = (np.arange(n_taken) + 0.5) / n_taken * shares_so_far[-1]  # (n_taken,)
        places = np.searchsorted(shares_so_far, wanted)
        return np.asarray(scores[places][::-1])

    def _means(self, cuts: Dense) -> tuple[Ints, Ints, Ints]:
        """Return the mean at each cut, the most between two, and the cells at or above each."""

        def means_of(rows: slice) -> tuple[Ints, Ints, Ints]:
            sums = (
                np.zeros(cuts.size, np.int64),
                np.zeros(cuts.size - 1, np.int64),
                np.zeros(cuts.size, np.int64),
            )
            weight = float(self.problem.weight_of_cell)
            for block, scores in self._blocks_of_scores(rows):
                shares = self.shares[block]
                add_means_of_shares(scores, weight, shares, cuts, self._measure, *sums)
            return sums

        at_cuts, most, above = (sum(parts) for parts in zip(*self._map(means_of), strict=True))
        return at_cuts, most, above

    def _sums_above(self, cut: float) -> tuple[Ints, Ints, Ints]:
        """Return positive weight of each row, true positives and what is predicted at a cut, (n_samples,) each."""

        def add(rows: slice) -> Ints:
            sums = []
            for _, scores in self._blocks_of_scores(rows):
                positive = self._positive_weights(scores)  # (n_rows, n_labels)
                is_above = scores >= cut
                predicted = np.count_nonzero(is_above, axis=1) * self.problem.weight_of_cell
                tp = (positive * is_above).sum(axis=1)
                sums.append(np.stack([positive.sum(axis=1), tp, predicted]))
            return np.concatenate(sums, axis=1)

        positives, tp, predicted = np.concatenate(self._map(add), axis=1)
        return positives, tp, predicted

    def _positive_weights(self, scores: Dense) -> Ints:
        """Return the shares of truth in units of weight."""
        return np.rint(scores * np.float64(self.problem.weight_of_cell)).astype(np.int64)

    def _sweep(self, cells: Cells, high: Any) -> Ints:
        """Return the mean once the cut has fallen from `high` to each key that a positive has, -1 at others."""
        positives, tp, predicted = self._sums_above(high)
        owners = cells.owners[cells.rows]  # (n_cells,) as keys are, rising
        group = owners >> 1

        # Cells row by row, the highest first: what each adds up to, and so its row's F.
        falling = np.arange(group.size)[::-1]
        order = falling[np.argsort(group[::-1], kind="stable")]
        row = group[order]
        is_first = np.diff(row, prepend=-1) != 0
        start = np.maximum.accumulate(np.where(is_first, np.arange(row.size), 0))

        def so_far(gained: Ints, before: Ints) -> Ints:
            # Sums over rows may wrap around; of a row, their differences are right all the same.
            total = gained.cumsum()
            return np.asarray(before[row] + total - (total - gained)[start])

        gained = self._positive_weights(to_scores(cells.keys[order]))
        weights = np.full(row.size, self.problem.weight_of_cell)
        now = self._units(so_far(gained, tp), so_far(weights, predicted), positives[row], row)
        all_rows = np.arange(positives.size)
        at_first = self._units(tp, predicted, positives, all_rows)  # (n_samples,)
        before = np.append(0, now[:-1])[: now.size]
        before[is_first] = at_first[row[is_first]]

        # What each cell changes, from the highest key down; equal keys are passed together.
        change = np.empty_like(now)
        change[order] = now - before
        means = at_first.sum() + change[::-1].cumsum()[::-1]  # (n_cells,)
        is_lowest = np.append(True, cells.keys[1:] != cells.keys[:-1])[: means.size]
        is_candidate = is_lowest & (owners % 2 == 1)
        return np.where(is_candidate, means, -1)

    def _units(self, tp: Ints, predicted: Ints, positives: Ints, rows: Ints) -> Ints:
        """Return F-beta of rows times their shares, in units."""
        beta_squared, zero_division, unit = self._measure
        denominator = beta_squared * positives + predicted
        f = (1.0 + beta_squared) * tp / np.where(positives > 0, denominator, 1.0)
        f = np.where((positives == 0) & (predicted == 0), zero_division, f)
        return np.rint(self.shares[rows] * f * unit).astype(np.int64)

    def _blocks(self, rows: slice) -> Iterator[tuple[slice, Dense, Bytes]]:
        """Return blocks as kernels take them: which rows, scores, and whether they are true at all."""
        for block, scores in self._blocks_of_scores(rows):
            yield block, scores, (self._positive_weights(scores) > 0).view(np.uint8)

    def _blocks_of_scores(self, rows: slice) -> Iterator[tuple[slice, Dense]]:
        """Return blocks: which rows, and scores."""
        for block in in_pieces(rows, max(1, BLOCK_CELLS // self.problem.n_labels)):
            yield block, np.array(self.problem.scores[block], self.problem.dtype, order="C")
