"""One cut for ALL labels, exactly: the highest F-beta of all cells, or mean of F-beta over labels or rows.

Candidates are the distinct scores of all positives. As the cut falls past a cell, only the F of the group that owns the
cell changes, be that a label (macro, weighted) or a row (samples); all cells are one group for micro. Lipton et al.
2013, section 2.1, has the averages.

    1. Of many cells few are sorted. All are counted in bins of neighbouring scores. Within a bin, the F of a group is
       at most what it is if its positives come first. Where the mean of that is below the mean at the end of some bin,
       the best cut is not. What is left is counted again, in finer bins.
    2. The cells that are left are sorted, and each candidate gets what they change.
"""

from dataclasses import dataclass, replace
from functools import cached_property
from threading import Lock
from typing import Any, NamedTuple

import numpy as np

from thresholds._arrays.blocks import in_pieces
from thresholds._arrays.grouped import sums_so_far
from thresholds._arrays.types import Floats, Ints, Keys, Numbers, Scores
from thresholds._checks import Average
from thresholds._engine.best_cuts import best_cuts
from thresholds._engine.cells import CellBlock, CellsBetween, GroupedCells, Owner, sums_by
from thresholds._engine.f_measure import f_of_counts
from thresholds._engine.problem import Problem
from thresholds._kernels.keys import to_keys, to_scores

_UNIT = 2.0**61  # of a mean of 1: whole numbers, whose sums do not depend on threads
_EQUAL = 2**11  # units: what the F of all groups, computed in float64, can be off by together

_MOST_POOLED_CELLS = 2**25  # The kernels take 44 bytes for each cell of a label.

_MIN_CELLS_TO_NARROW = 2**14  # Fewer are sorted in less time.
_FEW = 1 / 64  # of the cells: few enough to sort
_MOST_ROUNDS = 5
_MOST_BINS = 2**16
_CELLS_OF_BIN = 32  # of a label, if that is not too few bins
_LEAST_BINS = 256
_MARGIN = 1e-9  # of a mean, and relative of a count: more than float64 loses


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
    if average == "micro" and most is None:
        pooled = _pooled(problem)
        if pooled is not None:
            cut = best_cuts(pooled, beta, n_jobs=n_jobs, progress=progress)
            return float(cut.score[0]), float(cut.lower[0])
    owners: dict[str, Owner] = {"micro": "all", "samples": "row"}
    cells = GroupedCells(problem, owners.get(average, "label"), n_jobs, progress)
    return _SharedCutSearch(problem, cells, average, beta, zero_division, most).best()


def _pooled(problem: Problem) -> Problem | None:
    """Return all cells as those of one label, whose best cut has the highest micro F; None where that takes a copy."""
    truth, scores = problem.truth, problem.scores
    is_plain = problem.is_dense_unweighted and problem.is_dense
    if not is_plain or problem.n_stored > _MOST_POOLED_CELLS:
        return None
    if not (isinstance(truth, np.ndarray) and isinstance(scores, np.ndarray)):
        return None
    for matrices in ((truth, scores), (truth.T, scores.T)):
        if all(matrix.flags.c_contiguous for matrix in matrices):
            truth, scores = (matrix.reshape(-1, 1) for matrix in matrices)
            return replace(problem, truth=truth, scores=scores, label_names=None)
    return None


class _KeyBins(NamedTuple):
    """Bins of neighbouring keys, all of one width: number 0 is below the lowest, the last above the highest."""

    low: int
    high: int
    shift: int  # A bin is 2**shift keys wide.

    @classmethod
    def of_candidates(cls, keys: Keys, most: int) -> "_KeyBins":
        """Part the keys of candidates into at most so many bins, or half as many."""
        # The lowest may lie far below all others, as -inf does, and 0. It is left to the bin below these.
        others = keys[keys > keys.min()]
        keys = others if others.size else keys
        low, high = int(keys.min()), int(keys.max())
        return cls(low, high, max(0, (high - low).bit_length() - most.bit_length() + 1))

    @property
    def n_bins(self) -> int:
        """Number of bins."""
        return ((self.high - self.low) >> self.shift) + 3

    def of_keys(self, keys: Keys) -> Keys:
        """Return the bin of each key, as uint32."""
        as_key = keys.dtype.type
        low, high = as_key(self.low), as_key(self.high)
        bins = (np.clip(keys, low, high) - low) >> as_key(self.shift)
        bins += keys >= low
        bins += keys > high
        return np.asarray(bins, np.uint32)

    def of_scores(self, scores: Scores) -> Keys:
        """Return the bin of each score."""
        return self.of_keys(to_keys(scores.copy()))


class _ScoresOfBins(NamedTuple):
    """What is known of each bin, (n_bins,)."""

    mean: Floats  # of a cut at its lowest key
    bound: Floats  # that the mean of no cut in it exceeds
    predicted: Floats  # weight at or above its lowest key
    weight: Floats  # of its cells


def _distinct(keys: Keys) -> Keys:
    """Return each key once, rising: `np.unique` hashes keys that are nearly all different, which takes far longer."""
    rising = np.sort(keys)
    is_first = np.append(True, rising[1:] != rising[:-1])[: rising.size]
    return np.asarray(rising[is_first])


@dataclass(frozen=True)
class _SharedCutSearch:
    """The search for one cut."""

    problem: Problem
    cells: GroupedCells
    average: Average
    beta: float
    zero_division: float
    most: int | None = None

    def best(self) -> tuple[float, float]:
        """Return the best cut and the next lower score."""
        _, keys = self._positives
        if keys.size and self._is_worth_narrowing:
            keys = self._narrowed(keys)
        grid = _distinct(keys)  # (n_candidates,) rising
        if grid.size and self.most is not None:
            grid = grid[self._predicted(grid) <= self.most]
        if not grid.size:
            return np.inf, np.nan

        # The highest cut wins among those that are equal but for rounding.
        values = self._values(grid)
        enough = max(self._nothing, values.max()) - self._slack
        if self._nothing >= enough:
            return np.inf, np.nan
        score = to_scores(grid[values >= enough][-1:])[0]
        return float(score), self._next_lower(score)

    def _next_lower(self, score: Any) -> float:
        """Return the next lower score, NaN if there is none."""

        def highest_below(block: CellBlock) -> float:
            is_below = block.scores < score
            return np.where(is_below, block.scores, -np.inf).max() if is_below.any() else np.nan

        lower = np.fmax.reduce(self.cells.over(highest_below))
        # Sparse predictions stay above `missing`, which is not among the cells then.
        return float(np.fmax(lower, self.problem.missing) if self.problem.keep_sparse else lower)

    @cached_property
    def _positives(self) -> tuple[Ints, Keys]:
        """The positive weight of each group, and the keys of positives at which may be cut."""
        positives = self.cells.without_score.copy()
        adding = Lock()

        def add(block: CellBlock) -> Keys:
            places = block.positives()
            with adding:
                positives[block.groups] += block.sums_at(places)[0]
            scores = block.scores.reshape(-1)[places]
            if self.problem.keep_sparse:
                scores = scores[scores > self.problem.missing]
            return to_keys(scores)

        return positives, np.concatenate(self.cells.over(add))

    # What is maximised

    @cached_property
    def _shares(self) -> Floats:
        """The weight of each group's F-beta in the mean, (n_groups,); they sum to 1."""
        weights, _ = self._positives
        if self.average == "samples":
            weights = self.problem.row_weights
        elif self.average != "weighted":
            weights = np.ones_like(weights)
        return np.asarray(weights / max(weights.sum(), 1), np.float64)

    @cached_property
    def _nothing(self) -> int:
        """What predicting nothing reaches: micro F, or the mean in units."""
        nothing = np.zeros(self.cells.n_groups, np.int64)
        return (
            0 if self.average == "micro" else int(self._units(nothing, nothing, slice(None)).sum())
        )

    @property
    def _slack(self) -> int:
        """By how much means in units may differ, and count as equal."""
        return 0 if self.average == "micro" else _EQUAL + self.cells.n_groups

    def _terms(self, tp: Numbers, predicted: Numbers, groups: Any) -> Floats:
        """Return F-beta of groups times their shares; tp has an item, or a row, for each of `groups`."""
        shape = (-1, *[1] * (tp.ndim - 1))
        positives = self._positives[0][groups].reshape(shape)
        beta2 = self.beta**2
        with np.errstate(invalid="ignore"):
            f = (1.0 + beta2) * tp / (beta2 * positives + predicted)
        if not predicted.all():
            np.copyto(f, np.where(positives == 0, self.zero_division, 0.0), where=predicted == 0)
        return np.asarray(self._shares[groups].reshape(shape) * f)

    def _units(self, tp: Ints, predicted: Ints, groups: Any) -> Ints:
        """Return the same in units."""
        return np.rint(self._terms(tp, predicted, groups) * _UNIT).astype(np.int64)

    # 1. Where the best cut may be

    @property
    def _is_worth_narrowing(self) -> bool:
        """Whether cells are many, and can be counted in bins."""
        problem = self.problem
        if self.cells.are_listed or problem.n_stored < _MIN_CELLS_TO_NARROW:
            return False
        if self.average != "samples":
            return True
        return self.most is None or problem.unit_weights is None

    def _narrowed(self, keys: Keys) -> Keys:
        """Leave the candidates among which the best is."""
        count = self._count_rows if self.cells.owner == "row" else self._count_groups
        most_bins = _MOST_BINS
        if self.cells.owner == "label":
            most_bins = min(max(self.problem.n_samples // _CELLS_OF_BIN, _LEAST_BINS), _MOST_BINS)
        most = np.inf if self.most is None else self.most
        best = self._nothing / _UNIT
        left = np.inf
        for _ in range(_MOST_ROUNDS):
            bins = _KeyBins.of_candidates(keys, most_bins)
            found = count(bins)
            # No cut in a bin predicts less than one at the next bin.
            is_within = found.predicted <= most * (1 - _MARGIN)
            may_be_within = np.append(found.predicted[1:], 0) <= most * (1 + _MARGIN)
            best = found.mean.max(where=is_within, initial=best)
            may_be_best = may_be_within & (found.bound >= best - _MARGIN)
            keys = keys[may_be_best[bins.of_keys(keys)]]
            before, left = left, found.weight[may_be_best].sum()
            if left <= _FEW * found.weight.sum() or 2 * left > before or not keys.size:
                break
        return keys

    def _count_groups(self, bins: _KeyBins) -> _ScoresOfBins:
        """Count labels, or all cells, in bins."""
        n_groups, n_bins = self.cells.n_groups, bins.n_bins
        counts = np.zeros((2, n_groups * n_bins))  # positive weight and weight
        adding = Lock()

        def count(block: CellBlock) -> None:
            place = (bins.of_scores(block.scores) + block.group_of_column * n_bins).reshape(-1)
            positives = np.flatnonzero(block.truth)
            of_positives = of_all = None
            if not (self.problem.is_plain and not self.problem.soft):
                of_all = np.repeat(block.weights.astype(np.float64), block.scores.shape[1])
                of_positives = of_all[positives] * block.truth.reshape(-1)[positives]
            gained = np.bincount(place[positives], of_positives, counts.shape[1])
            more = np.bincount(place, of_all, counts.shape[1])
            with adding:
                counts[0] += gained
                counts[1] += more

        self.cells.over(count, n_cells=counts.shape[1])
        of_groups = counts.reshape(2, n_groups, n_bins)
        found = _ScoresOfBins(*np.zeros((4, n_bins)))
        # Some groups at a time, as these take many numbers.
        for groups in in_pieces(slice(0, n_groups), max(1, _MOST_BINS // n_bins)):
            gained, more = of_groups[:, groups]
            tp, predicted = _from_the_top(gained), _from_the_top(more)
            found.mean[:] += self._terms(tp, predicted, groups).sum(axis=0)
            above = np.pad(predicted[:, 1:], ((0, 0), (0, 1)))
            found.bound[:] += self._terms(tp, above + gained, groups).sum(axis=0)
            found.predicted[:] += predicted.sum(axis=0)
            found.weight[:] += more.sum(axis=0)
        return found

    def _count_rows(self, bins: _KeyBins) -> _ScoresOfBins:
        """Count what each cell changes in bins: cells of a row from the highest bin down, positives of a bin first."""
        sums = np.zeros((3, bins.n_bins))  # change of the mean, rise alone, and cells
        adding = Lock()

        def count(block: CellBlock) -> None:
            tp, own = _soft_rows(block, bins) if self.problem.soft else _hard_rows(block, bins)
            weights = block.weights[:, np.newaxis]  # (n_rows, 1) of a cell
            tp *= weights
            predicted = weights * np.arange(1, tp.shape[1] + 1)
            nothing = np.zeros((len(tp), 1), np.int64)
            before = self._terms(nothing, nothing, block.groups)
            mean = self._terms(tp, predicted, block.groups)
            change = np.diff(mean, axis=1, prepend=before).reshape(-1)
            own = own.reshape(-1)
            with adding:
                sums[0] += np.bincount(own, change, bins.n_bins)
                sums[1] += np.bincount(own, np.maximum(change, 0), bins.n_bins)
                sums[2] += np.bincount(own, minlength=bins.n_bins)

        self.cells.over(count)
        change, rise, weight = sums
        mean = self._nothing / _UNIT + _from_the_top(change)
        return _ScoresOfBins(mean, mean - change + rise, _from_the_top(weight), weight)

    # 2. What candidates reach

    def _values(self, grid: Keys) -> Numbers:
        """Return what is maximised at each candidate: micro F-beta, or the mean in units, (n_candidates,)."""
        if self.average != "micro":
            return self._means(grid)
        tp, predicted = _totals(grid, self.cells)
        positives, _ = self._positives
        return f_of_counts(tp, predicted, positives, self.beta, 0.0)

    def _predicted(self, grid: Keys) -> Ints:
        """Return what is predicted at each candidate, (n_candidates,): cells weigh what their rows do."""
        cells = replace(self.cells, owner="all")
        _, predicted = _totals(grid, cells)
        return np.asarray(predicted)

    def _means(self, grid: Keys) -> Ints:
        """Return the mean F-beta of each candidate in units, (n_candidates,)."""
        cells = self.cells
        low, high = to_scores(grid[[0, -1]])
        changes = np.zeros(grid.size, np.int64)
        adding = Lock()

        def sweep(between: CellsBetween, groups: slice) -> int:
            # Cells of each group, those first that the highest candidates predict.
            number = np.searchsorted(grid, between.keys, side="right") - 1
            order = np.argsort(between.group * grid.size - number)
            number, group = number[order], between.group[order]
            starts = np.flatnonzero(np.diff(group, prepend=-1, append=groups.stop))

            # What each adds up to in its group, and how that changes the mean.
            tp_above, above = between.above  # (n_groups,) each
            tp = sums_so_far(starts, between.positive_weights[order]) + tp_above[group]
            predicted = sums_so_far(starts, between.weights[order]) + above[group]
            own = np.arange(groups.start, groups.stop)
            at_top = self._units(tp_above, above, own)
            now = self._units(tp, predicted, own[group])
            before = np.append(0, now)[:-1]
            before[starts[:-1]] = at_top[group[starts[:-1]]]
            with adding:
                np.add.at(changes, number, now - before)
            return int(at_top.sum())

        if cells.owner == "row":  # A block has whole rows, but no whole label.
            at_top = sum(cells.over(lambda block: sweep(block.between(low, high), block.groups)))
        else:
            parts = cells.over(lambda block: block.between(low, high).added_up(grid))
            at_top = sweep(CellsBetween.joined(parts), slice(0, cells.n_groups))
        return np.asarray(at_top + _from_the_top(changes))


def _hard_rows(block: CellBlock, bins: _KeyBins) -> tuple[Numbers, Ints]:
    """Return positives so far, and the bins, of the cells of each row from the top down, positives of a bin first."""
    numbers = bins.of_scores(block.scores)  # (n_rows, n_labels)
    numbers <<= 1
    numbers |= block.truth
    numbers.sort(axis=1)
    falling = numbers[:, ::-1].astype(np.int64, order="C")
    return (falling & 1).cumsum(axis=1), falling >> 1


def _soft_rows(block: CellBlock, bins: _KeyBins) -> tuple[Numbers, Ints]:
    """Return the same of probabilities, of which the highest come first, in a bin as well; none is 0."""
    falling = np.fmax(block.scores, 0)  # (n_rows, n_labels)
    falling.sort(axis=1)
    falling = falling[:, ::-1]
    return falling.cumsum(axis=1, dtype=np.float64), bins.of_scores(falling).astype(np.int64)


def _totals(grid: Keys, cells: GroupedCells) -> Ints:
    """Return positive weight and weight at or above each candidate, (2, n_candidates)."""
    low, high = to_scores(grid[[0, -1]])

    def count(block: CellBlock) -> Ints:
        between = block.between(low, high)
        number = np.searchsorted(grid, between.keys, side="right") - 1
        counts = sums_by(number, (between.positive_weights, between.weights), grid.size)
        counts[:, -1] += between.above.sum(axis=1)
        return counts

    return _from_the_top(np.sum(cells.over(count), axis=0))


def _from_the_top(values: Numbers) -> Numbers:
    """Add up from the highest down, along the last axis."""
    return values[..., ::-1].cumsum(axis=-1)[..., ::-1]
