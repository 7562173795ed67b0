"""One cut for ALL labels, exactly: a pooled sweep for any average of F-beta.

The candidates are the distinct scores of all positives. One pass pools them, another counts, for
each, what changes as the cut falls there, and short ones find the positives of each group and the
score below the cut. Macro and weighted averages sum over labels, samples over rows: in each case
only the F of the group that owns a cell changes with it (Lipton et al. 2013, section 2.1, has the
averages).
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from threading import Lock
from typing import Any, NamedTuple, TypeVar

import numpy as np

from thresholds._arrays import threads
from thresholds._arrays.blocks import by_cells
from thresholds._arrays.sparse import is_sparse
from thresholds._arrays.types import Floats, Ints, Keys, Numbers
from thresholds._checks import Average
from thresholds._engine.best_cuts import best_cuts
from thresholds._engine.f_measure import f_of_counts
from thresholds._kernels.keys import to_keys, to_scores
from thresholds._kernels.one_cut import pooled_counts, pooled_gains
from thresholds._kernels.sorting import sorted_with_rows
from thresholds.data.problem import Axis, Items, Problem
from thresholds.search.one_cut_dense import EQUAL, UNIT, MeanCut, shares_of
from thresholds.search.one_cut_shares import MeanCutOfShares

Result = TypeVar("Result")

_CELLS_PER_PIECE = 2**21  # few enough to sort near the cache, and worth a sweep of the grid
# Of another search than that of `counting/passes.py`, and so another number.
_WORTH_COUNTING = 2**16  # cells: fewer are sorted as fast
_MOST_ASKED = 1024  # candidates at which counts are to be told apart at once
_WORTH_BOUNDING = 16  # labels: with fewer, bounds are loose, and sorting may be four times as fast


class _Pool(NamedTuple):
    """Candidate cuts, rising, with the positive weight at each."""

    grid: Keys  # (n_candidates,)
    positive_weights: Ints  # (n_candidates,)


def best_shared_cut(
    problem: Problem,
    average: Average,
    beta: float,
    zero_division: float,
    *,
    most: int | None = None,
    n_jobs: int | None = -1,
    progress: bool = False,
) -> tuple[float, float]:
    """Return the score at which to cut all labels for the highest F-beta, and the next lower score.

    `+inf` predicts nothing; NaN is no lower score. The highest cut wins among equals: means that
    differ by no more than the rounding of their terms, 2**-50 and 2**-61 more for each group, count
    as equal. With `most`, cuts that predict more than so much, in the unit of the weights, are left out.
    """
    return _Search(problem, average, beta, zero_division, most, n_jobs, progress).best()


@dataclass(frozen=True)
class _Search:
    """The search for one cut; groups are labels, or rows for the samples average."""

    problem: Problem
    average: Average
    beta: float
    zero_division: float
    most: int | None = None
    n_jobs: int | None = -1
    progress: bool = False

    def best(self) -> tuple[float, float]:
        """Return the best cut and the next lower score."""
        may_narrow = self.problem.is_dense_unweighted or self._has_shares_of_truth
        narrowed = self._narrowed() if may_narrow and self.most is None else None
        if narrowed is not None:
            return narrowed

        # Pool the scores of positives, and count what changes as the cut falls to each.
        pool = self._pool()
        if self.problem.has_runs and pool.grid.size:
            self._ask(pool)
        if self.most is not None:
            pool = self._within(pool, self.most)
        if not pool.grid.size:
            return np.inf, np.nan
        chosen = self._best_micro(pool) if self.average == "micro" else self._best_mean(pool)
        if chosen is None:
            return np.inf, np.nan
        key = pool.grid[chosen]
        below = max(self._map(lambda items, _: _highest_below(items, key)))
        score, lower = to_scores(np.array([key, below], pool.grid.dtype)).tolist()
        return score, lower

    def _narrowed(self) -> tuple[float, float] | None:
        """Find the best cut without sorting most scores; None where that cannot be or pay."""
        run: dict[str, Any] = {"n_jobs": self.n_jobs, "progress": self.progress}
        if self.average != "micro":
            kind = MeanCutOfShares if self.problem.soft else MeanCut
            search = kind(self.problem, self.average, self.beta, self.zero_division, **run)
            many_cells = self.problem.n_stored >= _WORTH_COUNTING
            many_labels = self.problem.n_labels >= _WORTH_BOUNDING
            return search.best() if many_cells and many_labels else None

        # Micro F of all cells is the F of one label that has them all.
        pooled = self.problem.pooled()
        if pooled is None:
            return None
        cuts = best_cuts(pooled, self.beta, **run)
        return float(cuts.score[0]), float(cuts.lower[0])

    @property
    def _has_shares_of_truth(self) -> bool:
        """Whether dense scores of rows that all weigh something are themselves the truth."""
        problem = self.problem
        is_own_truth = problem.soft and not is_sparse(problem.scores) and problem.unknown is None
        return is_own_truth and self.average == "samples" and bool(problem.row_weights.all())

    @property
    def axis(self) -> Axis:
        """What the groups are."""
        return "samples" if self.average == "samples" else "labels"

    @cached_property
    def positives(self) -> Ints:
        """The positive weight of each group."""

        def count(items: Items, _: slice) -> Ints:
            return np.add.reduceat(items.positive_weights, items.starts[:-1])

        return np.concatenate(self._map(count))

    def _map(
        self,
        function: Callable[[Items, slice], Result],
        title: str = "",
        axis: Axis | None = None,
    ) -> list[Result]:
        """Apply `function` to pieces of about two million cells, on threads; `axis` says what groups are, if others."""
        axis = self.axis if axis is None else axis
        n_groups = self.problem.size(axis)
        pieces = list(by_cells(n_groups, self.problem.n_stored, _CELLS_PER_PIECE))

        def run(groups: slice) -> Result:
            return function(self.problem.group_items(axis, groups.start, groups.stop), groups)

        self.problem.prepare(axis)
        progress = self.progress and bool(title)
        return threads.run(run, pieces, n_jobs=self.n_jobs, progress=progress, title=title)

    def _total(self, function: Callable[[Items, slice], Ints], axis: Axis | None = None) -> Ints:
        """Add up what `function` returns for the pieces; each is dropped as soon as it is added."""
        total: Ints | None = None
        lock = Lock()

        def add(items: Items, groups: slice) -> None:
            nonlocal total
            counts = function(items, groups)
            with lock:
                total = counts if total is None else np.add(total, counts, out=total)

        self._map(add, title="cells", axis=axis)
        return np.asarray(total)

    def _pool(self) -> _Pool:
        """Collect the distinct scores of positives, as far as cuts may lie there."""

        def collect(items: Items, _: slice) -> _Pool:
            positive = items.positive_weights > 0  # (n_items,)
            if self.problem.keep_sparse:
                missing = to_keys(np.array([self.problem.missing], self.problem.dtype))
                positive &= items.keys > missing
            return _distinct(items.keys[positive], items.positive_weights[positive])

        pools = self._map(collect, title="positives")
        keys = np.concatenate([pool.grid for pool in pools])
        positive_weights = np.concatenate([pool.positive_weights for pool in pools])
        return _distinct(keys, positive_weights)

    def _within(self, pool: _Pool, most: int) -> _Pool:
        """Leave out candidates that predict more."""
        kept = self._predicted(pool) <= most  # (n_candidates,)
        return _Pool(pool.grid[kept], pool.positive_weights[kept])

    def _ask(self, pool: _Pool) -> None:
        """Say at which candidates counts are to tell what each label predicts: those that may be the best.

        A run that a candidate parts is predicted there as a whole, at most, and not at all, at least.
        """
        most_predicted = self._predicted(pool)  # (n_candidates,)
        least_predicted = self._predicted(pool, at_floors=True)
        at_least = self._values(pool, most_predicted)
        at_most = self._values(pool, least_predicted, at_floors=True)

        # What is surely reached within the budget; others are open that may be within, or may reach as much.
        may_be_within, is_within = np.ones((2, pool.grid.size), np.bool_)
        if self.most is not None:
            may_be_within, is_within = least_predicted <= self.most, most_predicted <= self.most
        enough = np.max(at_least, where=is_within, initial=0) - self._slack
        is_open = (least_predicted < most_predicted) & may_be_within
        is_open &= (at_most >= enough) | ~is_within
        asked = np.flatnonzero(is_open)
        if asked.size > _MOST_ASKED:
            asked = asked[np.linspace(0, asked.size - 1, _MOST_ASKED).astype(np.int64)]
        cuts = pool.grid[asked]
        self._map(lambda items, _: items.ask_between(cuts))

    def _values(self, pool: _Pool, predicted: Ints, *, at_floors: bool = False) -> Numbers:
        """Return what is maximised at each candidate: micro F-beta, or the mean in units, (n_candidates,)."""
        return (
            self._micro(pool, predicted)
            if self.average == "micro"
            else self._means(pool, at_floors=at_floors)
        )

    @property
    def _slack(self) -> int:
        """By how much means in units may differ, and count as equal."""
        return 0 if self.average == "micro" else EQUAL + self.positives.size

    def _predicted(self, pool: _Pool, *, at_floors: bool = False) -> Ints:
        """Return what is predicted at each candidate, (n_candidates,), by weight; `at_floors` what surely is.

        Labels are counted whatever the average: items of a row do not weigh what the row does.
        """
        if not pool.grid.size:
            return np.zeros(0, np.int64)

        def count(items: Items, _: slice) -> Ints:
            items = items.at_floors() if at_floors else items
            return pooled_counts(pool.grid, *sorted_with_rows(items.keys), items.weights)

        return _from_the_top(self._total(count, axis="labels"))

    def _best_micro(self, pool: _Pool) -> int:
        """Return the candidate of highest micro F-beta."""
        f = self._micro(pool, self._predicted(pool))
        return int(f.size - 1 - np.argmax(f[::-1]))  # the highest of equal ones

    def _micro(self, pool: _Pool, predicted: Ints) -> Floats:
        """Return the micro F-beta of each candidate, (n_candidates,)."""
        tp = _from_the_top(pool.positive_weights)  # (n_candidates,)
        positives = np.full_like(tp, self.positives.sum())
        return f_of_counts(tp, predicted, positives, self.beta, 0.0)

    def _best_mean(self, pool: _Pool) -> int | None:
        """Return the candidate of highest mean F-beta, None if predicting nothing is as good."""
        means = self._means(pool)

        # The highest cut wins among those that are equal but for rounding.
        enough = max(self._nothing, int(means.max())) - self._slack
        return None if self._nothing >= enough else int(np.flatnonzero(means >= enough)[-1])

    @cached_property
    def _shares(self) -> Floats:
        """The weight of each group's F-beta in the mean."""
        row_weights = self.problem.row_weights if self.axis == "samples" else None
        return shares_of(self.average, self.positives, row_weights)

    @cached_property
    def _nothing(self) -> int:
        """The mean of predicting nothing, in units."""
        empty = self.positives == 0
        return int(np.rint(self._shares[empty] * self.zero_division * UNIT).astype(np.int64).sum())

    def _means(self, pool: _Pool, *, at_floors: bool = False) -> Ints:
        """Return the mean F-beta of each candidate in units, (n_candidates,)."""

        def sweep(items: Items, groups: slice) -> Ints:
            items = items.at_floors() if at_floors else items
            return pooled_gains(
                pool.grid,
                *sorted_with_rows(items.keys),
                items.starts,
                items.positive_weights,
                items.weights,
                self.positives[groups],
                self._shares[groups],
                self.beta**2,
                self.zero_division,
                UNIT,
            )

        # What each candidate adds to the mean of predicting nothing.
        return self._nothing + _from_the_top(self._total(sweep))


def _distinct(keys: Keys, positive_weights: Ints) -> _Pool:
    """Sort keys and add up the weights of equal ones."""
    order = np.argsort(keys)
    keys = keys[order]
    positive_weights = positive_weights[order]
    first = np.flatnonzero(np.append(True, keys[1:] != keys[:-1])[: keys.size])
    if not first.size:
        return _Pool(keys, positive_weights)
    return _Pool(keys[first], np.add.reduceat(positive_weights, first))


def _highest_below(items: Items, key: np.unsignedinteger[Any]) -> int:
    """Return the highest key under `key`, 0 for none."""
    return int(items.keys[(items.keys < key) & (items.weights > 0)].max(initial=0))


def _from_the_top(counts: Ints) -> Ints:
    """Add up from the highest candidate down."""
    return counts[::-1].cumsum()[::-1]
