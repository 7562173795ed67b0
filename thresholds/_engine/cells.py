"""Cells with the group that each belongs to: its label, its row, or one group of all. Cuts of all labels read them.

Dense cells come a block of rows at a time. Sparse ones are one list.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Literal, NamedTuple, TypeAlias, TypeVar

import numpy as np

from thresholds._arrays.grouped import group_of
from thresholds._arrays.sparse import is_sparse, to_dense
from thresholds._arrays.types import Dense, Ints, Keys, Numbers, Places, Scores
from thresholds._engine.blocks import over_rows
from thresholds._engine.problem import Problem
from thresholds._engine.sparse import predictable, sparse_columns
from thresholds._kernels.keys import to_keys

Result = TypeVar("Result")
Owner: TypeAlias = Literal["label", "row", "all"]

_BLOCK_CELLS = 2**17  # What is made of them stays in the cache.
_UNCOUNTED = -np.nan  # Its key is lower than that of any score.
_ROW_BITS = 60  # Where truth is soft, the cells of a row weigh less than 2**60 units together.


class CellsBetween(NamedTuple):
    """Cells from one score to another, and what lies above these in each group."""

    keys: Keys  # (n_cells,)
    group: Ints  # (n_cells,)
    positive_weights: Ints  # (n_cells,)
    weights: Ints  # (n_cells,)
    above: Ints  # (2, n_groups) positive weight and weight

    @classmethod
    def joined(cls, parts: "Iterable[CellsBetween]") -> "CellsBetween":
        """Join cells of the same groups."""
        keys, group, positive_weights, weights, above = zip(*parts, strict=True)
        return cls(
            np.concatenate(keys),
            np.concatenate(group),
            np.concatenate(positive_weights),
            np.concatenate(weights),
            np.sum(above, axis=0),
        )

    def added_up(self, grid: Keys) -> "CellsBetween":
        """Make one cell of those of a group that lie between the same keys of a grid, if these pairs are few."""
        n_pairs = self.above.shape[1] * grid.size
        if n_pairs > self.keys.size:
            return self
        pair = self.group * grid.size + np.searchsorted(grid, self.keys, side="right") - 1
        sums = sums_by(pair, (self.positive_weights, self.weights), n_pairs)
        filled = np.flatnonzero(sums[1])
        group, number = np.divmod(filled, grid.size)
        positive_weights, weights = sums[:, filled]
        return CellsBetween(grid[number], group, positive_weights, weights, self.above)


class CellBlock(NamedTuple):
    """Some cells. Those that do not count have NaN as their score. A list has a cell in each row."""

    scores: Scores  # (n_rows, n_columns)
    truth: Dense  # (n_rows, n_columns) 0 and 1, or degrees of truth
    weights: Ints  # (n_rows,) of a cell
    group_of_row: Ints  # (n_rows,) among the groups of the block; these or the next are 0
    group_of_column: Ints  # (n_columns,)
    groups: slice  # those of the block

    def positives(self) -> Places:
        """Return the places of the cells that are true."""
        return np.flatnonzero((self.truth != 0) & (self.scores == self.scores))

    def at(self, places: Places) -> tuple[Ints, Ints, Ints]:
        """Return group, positive weight and weight of cells at some places."""
        row, column = np.divmod(places, self.scores.shape[1])
        truth, weights = self.truth.reshape(-1)[places], self.weights[row]
        positive_weights = truth * weights
        if truth.dtype.kind == "f":
            positive_weights = np.rint(truth * weights.astype(np.float64)).astype(np.int64)
        return self.group_of_row[row] + self.group_of_column[column], positive_weights, weights

    def sums_at(self, places: Places) -> Ints:
        """Return positive weight and weight of cells at some places in each group, (2, n_groups)."""
        group, *weights = self.at(places)
        return sums_by(group, weights, self.groups.stop - self.groups.start)

    def between(self, low: Any, high: Any) -> CellsBetween:
        """Return the cells from one score to another."""
        inside = np.flatnonzero((self.scores >= low) & (self.scores <= high))
        above = self.sums_at(np.flatnonzero(self.scores > high))
        return CellsBetween(to_keys(self.scores.reshape(-1)[inside]), *self.at(inside), above)


@dataclass(frozen=True)
class GroupedCells:
    """All cells of a problem, each owned by its label, its row, or the one group of all."""

    problem: Problem
    owner: Owner
    n_jobs: int | None = -1
    progress: bool = False

    @property
    def n_groups(self) -> int:
        """Number of groups."""
        if self.owner == "all":
            return 1
        return self.problem.n_samples if self.owner == "row" else self.problem.n_labels

    @property
    def are_listed(self) -> bool:
        """Whether all cells are one list."""
        return is_sparse(self.problem.scores)

    @property
    def without_score(self) -> Ints:
        """The weight of the positives of each group that no cut predicts, (n_groups,)."""
        return self._list[1] if self.are_listed else np.zeros(self.n_groups, np.int64)

    def over(self, function: Callable[[CellBlock], Result], n_cells: int = 0) -> list[Result]:
        """Apply `function` to one block after another, on threads; dense blocks have `n_cells` or more."""
        if self.are_listed:
            return [function(self._list[0])]
        problem = self.problem
        weights = self._weights_of_cells  # (n_samples,)
        is_whole = problem.unknown is None and bool(weights.all())

        def apply(rows: slice, scores: Scores, truth: Dense) -> Result:
            own = weights[rows]
            if not is_whole:
                counts = np.broadcast_to(own[:, np.newaxis] > 0, scores.shape)
                if problem.unknown is not None:
                    counts = counts & (to_dense(problem.unknown[rows]) == 0)
                scores = np.where(counts, scores, scores.dtype.type(_UNCOUNTED))
            of_row, of_column = (np.zeros(size, np.int64) for size in scores.shape)
            groups = slice(0, self.n_groups)
            if self.owner == "row":
                of_row, groups = np.arange(len(scores)), rows
            elif self.owner == "label":
                of_column = np.arange(problem.n_labels)
            return function(CellBlock(scores, truth, own, of_row, of_column, groups))

        n_cells = max(n_cells, _BLOCK_CELLS)
        return over_rows(problem, apply, n_cells, n_jobs=self.n_jobs, progress=self.progress)

    @property
    def _weights_of_cells(self) -> Ints:
        """The weight of a cell of each row, (n_samples,): that of the row; or as much in each row that has any.

        In a row of soft truth that is the largest power of two with which sums of all its cells are exact.
        """
        weights = self.problem.row_weights
        if self.owner != "row":
            return weights
        n_bits = _ROW_BITS - self.problem.n_labels.bit_length() if self.problem.soft else 0
        return np.where(weights > 0, 2**n_bits, 0)

    @cached_property
    def _list(self) -> tuple[CellBlock, Ints]:
        """All cells, and the weight of positives of each group that are not among them."""
        group, scores, truth, weights, more = self._stored()
        if self.owner == "all":
            group, more = np.zeros_like(group), more.sum(keepdims=True)
        column = np.zeros(1, np.int64)
        matrices = scores[:, np.newaxis], truth[:, np.newaxis]
        return CellBlock(*matrices, weights, group, column, slice(0, self.n_groups)), more

    def _stored(self) -> tuple[Ints, Scores, Dense, Ints, Ints]:
        """List the cells of sparse scores: group, score, truth, weight, and the positives of each group without one."""
        problem = self.problem
        if self.owner == "row":  # Rows are the labels of the transposed problem.
            unknown = None if problem.unknown is None else problem.unknown.T
            matrices: Any = {
                "truth": problem.truth.T,
                "scores": problem.scores.T,
                "unknown": unknown,
            }
            problem = replace(problem, **matrices, unit_weights=None, sample_weight=None)
        columns = predictable(problem, sparse_columns(problem))
        group = group_of(np.append(columns.starts, columns.scores.size))
        weights = np.ones(group.size, np.int64) if columns.weights is None else columns.weights
        scores, truth, more = columns.scores, columns.truth, columns.more
        if problem.soft:
            truth, more = scores, np.zeros_like(more)
        if self.owner == "row":
            of_row = self._weights_of_cells
            weights, more = weights * of_row[group], more * (of_row > 0)
            scores = np.where(weights > 0, scores, scores.dtype.type(_UNCOUNTED))
        return group, scores, truth, weights, more


def sums_by(number: Ints, values: Iterable[Numbers], n_sums: int) -> Ints:
    """Add up each array of whole numbers by the number that each of its items has, (n_arrays, n_sums)."""
    sums = []
    for each in values:
        sums.append(np.zeros(n_sums, np.int64))
        np.add.at(sums[-1], number, each)
    return np.stack(sums)
