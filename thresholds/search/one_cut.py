"""One threshold for all labels, exactly: a pooled sweep for macro, weighted, micro and samples F-beta.

The candidates are the distinct scores of all positives. One pass pools them, another counts, for each, what changes
as the cut falls there, and short ones find the positives of each group and the score below the cut. Macro and weighted
averages sum over labels, samples over rows: in each case only the F of the group that owns a cell changes with it
(Lipton et al. 2013, section 2.1, has the averages).
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from threading import Lock
from typing import Any, NamedTuple, TypeVar

import numpy as np

from thresholds._arrays import threads
from thresholds._arrays.types import Dense, Ints
from thresholds._checks import Average
from thresholds._kernels.keys import to_keys, to_scores
from thresholds._kernels.one_cut import pooled_counts, pooled_gains
from thresholds._kernels.sorting import sorted_with_rows
from thresholds.data.problem import Axis, Items, Problem
from thresholds.metrics.counts import f_of_counts
from thresholds.search.counting.passes import useful_staircases
from thresholds.search.one_cut_dense import EQUAL, UNIT, MeanCut, shares_of

Piece = tuple[int, int]
Result = TypeVar("Result")

_CELLS_PER_PIECE = 2**21  # Small enough to sort near the cache, large enough to sweep the grid once for each.
_WORTH_COUNTING = 2**16  # cells: sorting fewer is as fast
_WORTH_BOUNDING = 16  # labels: with fewer, the bounds of rows are loose, and sorting is up to four times as fast


class _Pool(NamedTuple):
    """Candidate cuts, rising, with the positive weight at each."""

    grid: Dense
    hits: Ints


def best_shared_cut(
    problem: Problem,
    average: Average,
    beta: float,
    zero_division: float,
    *,
    n_jobs: int | None = None,
    progress: bool = False,
) -> tuple[float, float]:
    """Return the score at which to cut all labels for the highest F-beta, and the next lower score (NaN without one).

    `+inf` predicts nothing. The highest cut wins among equals: means that differ by no more than the rounding of
    their terms, 2**-50 and 2**-61 more for each group, count as equal.
    """
    return _Search(problem, average, beta, zero_division, n_jobs, progress).best()


@dataclass(frozen=True)
class _Search:
    """The search for one cut; groups are labels, or rows for the samples average."""

    problem: Problem
    average: Average
    beta: float
    zero_division: float
    n_jobs: int | None = None
    progress: bool = False

    def best(self) -> tuple[float, float]:
        """Return the best cut and the next lower score."""
        narrowed = self._narrowed() if self.problem.is_dense_unweighted else None
        if narrowed is not None:
            return narrowed
        pool = self._pool()
        best = self._best_micro if self.average == "micro" else self._best_mean
        chosen = best(pool) if pool.grid.size else None
        if chosen is None:
            return np.inf, np.nan
        key = pool.grid[chosen]
        below = max(self._map(lambda items, _: _highest_below(items, key)))
        score, lower = to_scores(np.array([key, below], pool.grid.dtype)).tolist()
        return score, lower

    def _narrowed(self) -> tuple[float, float] | None:
        """Find the best cut of dense scores without sorting most of them; None where that does not pay, or cannot."""
        run: dict[str, Any] = {"n_jobs": self.n_jobs, "progress": self.progress}
        if self.average != "micro":
            search = MeanCut(self.problem, self.average, self.beta, self.zero_division, **run)
            worth = self.problem.n_stored >= _WORTH_COUNTING and self.problem.n_labels >= _WORTH_BOUNDING
            return search.best() if worth else None
        pooled = self.problem.pooled()
        if pooled is None:
            return None
        (stairs,) = useful_staircases(pooled, lambda stairs: stairs, self.beta, jointly=False, **run)
        f = f_of_counts(stairs.tp, stairs.predicted, np.full_like(stairs.tp, stairs.positives[0]), self.beta, 0.0)
        return (float(stairs.score[f.argmax()]), float(stairs.lower[f.argmax()])) if f.size else (np.inf, np.nan)

    @property
    def axis(self) -> Axis:
        """What the groups are."""
        return "samples" if self.average == "samples" else "labels"

    @cached_property
    def positives(self) -> Ints:
        """The positive weight of each group."""
        return np.concatenate(self._map(lambda items, _: np.add.reduceat(items.positive_weights, items.starts[:-1])))

    def _map(self, function: Callable[[Items, slice], Result], title: str = "") -> list[Result]:
        """Apply `function` to pieces of about two million cells, on threads."""
        n_groups = self.problem.size(self.axis)
        step = max(1, _CELLS_PER_PIECE * n_groups // max(1, self.problem.n_stored))
        pieces = [(first, min(first + step, n_groups)) for first in range(0, n_groups, step)]

        def run(piece: Piece) -> Result:
            return function(self.problem.items(self.axis, *piece), slice(*piece))

        self.problem.prepare(self.axis)
        return threads.run(run, pieces, n_jobs=self.n_jobs, progress=self.progress and bool(title), title=title)

    def _total(self, function: Callable[[Items, slice], Ints]) -> Ints:
        """Add up what `function` gives for the pieces; a worker's part is dropped as soon as it is added."""
        total: Ints | None = None
        lock = Lock()

        def add(items: Items, groups: slice) -> None:
            nonlocal total
            part = function(items, groups)
            with lock:
                total = part if total is None else np.add(total, part, out=total)

        self._map(add, title="cells")
        return np.asarray(total)

    def _pool(self) -> _Pool:
        """Collect the distinct scores of positives, as far as cuts may lie there."""

        def collect(items: Items, _: slice) -> _Pool:
            positive = items.positive_weights > 0
            if self.problem.keep_sparse:
                positive &= items.keys > to_keys(np.array([self.problem.missing], self.problem.dtype))
            return _distinct(items.keys[positive], items.positive_weights[positive])

        parts = self._map(collect, title="positives")
        return _distinct(*(np.concatenate(arrays) for arrays in zip(*parts, strict=True)))

    def _best_micro(self, pool: _Pool) -> int:
        """Return the candidate of highest micro F-beta."""
        counts = self._total(lambda items, _: pooled_counts(pool.grid, *sorted_with_rows(items.keys), items.weights))
        tp, predicted = _from_the_top(pool.hits), _from_the_top(counts)
        positives = np.full_like(tp, self.positives.sum())
        f = f_of_counts(tp, predicted, positives, self.beta, 0.0)
        return int(f.size - 1 - np.argmax(f[::-1]))

    def _best_mean(self, pool: _Pool) -> int | None:
        """Return the candidate of highest mean F-beta over groups, None if predicting nothing is as good."""
        shares = shares_of(self.average, self.positives, self.problem.row_weights)

        def sweep(items: Items, groups: slice) -> Ints:
            settings = (self.beta**2, self.zero_division, UNIT)
            starts, keys, hits, weights = items
            of_groups = (self.positives[groups], shares[groups])
            return pooled_gains(pool.grid, *sorted_with_rows(keys), starts, hits, weights, *of_groups, *settings)

        empty = self.positives == 0
        nothing = int(np.rint(shares[empty] * self.zero_division * UNIT).astype(np.int64).sum())
        value = nothing + _from_the_top(self._total(sweep))
        enough = max(nothing, int(value.max())) - EQUAL - shares.size
        return None if nothing >= enough else int(np.flatnonzero(value >= enough)[-1])


def _distinct(keys: Dense, hits: Ints) -> _Pool:
    """Sort keys and add up the weights of equal ones."""
    order = np.argsort(keys)
    keys, hits = keys[order], hits[order]
    first = np.flatnonzero(np.append(True, keys[1:] != keys[:-1])[: keys.size])
    return _Pool(keys[first], np.add.reduceat(hits, first) if first.size else hits)


def _highest_below(items: Items, key: np.unsignedinteger[Any]) -> int:
    """Return the highest key under `key`, 0 for none."""
    return int(items.keys[(items.keys < key) & (items.weights > 0)].max(initial=0))


def _from_the_top(counts: Ints) -> Ints:
    """Add up from the highest candidate down."""
    return counts[::-1].cumsum()[::-1]
