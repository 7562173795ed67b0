"""The best cut of each label: by itself, within limits, or jointly for the highest micro F.

Small problems are sorted by NumPy, large ones searched by Numba's kernels, with the same result: `is_small` decides.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from thresholds._engine.choosing import CountLimits, best_joint_steps, best_steps
from thresholds._engine.columns import Memory, over_labels
from thresholds._engine.cuts import Cuts
from thresholds._engine.cuts import joined as joined_cuts
from thresholds._engine.problem import Problem
from thresholds._engine.sparse import predictable
from thresholds._engine.staircase import Columns, Steps, joined, steps_by_sorting

# NumPy sorts so many cells in less time than Numba takes to be imported. A label costs as much as a thousand cells,
# however few it has.
_MOST_SORTED_CELLS = 10**6
_CELLS_OF_A_LABEL = 1000

# Where all labels are searched jointly, the best ratio is guessed from every 16th row. It is too high, as the best of
# fewer rows is: the range goes further down.
_ONE_ROW_IN = 16
_RANGE = (0.93, 1.01)
_WORTH_A_GUESS = 2**11  # cells of a label, or more: of fewer, each 16th row tells nothing


class StepCriterion(NamedTuple):
    """Which steps of labels are looked for."""

    beta2: float
    # Where all labels are searched jointly, the best ratio lies in this range.
    low: float = 0.0
    high: float = 1.0
    is_joint: bool = False


def is_small(problem: Problem) -> bool:
    """Whether NumPy sorts all scores of a fit; else the kernels sort those that may matter."""
    n_cells = problem.n_stored + _CELLS_OF_A_LABEL * problem.n_labels
    return n_cells < _MOST_SORTED_CELLS


def best_cuts(
    problem: Problem, beta: float, *, n_jobs: int | None = -1, progress: bool = False
) -> Cuts:
    """Return the cut of highest F-beta of each label; of equal ones the highest."""
    search = EachLabel(problem, beta)
    return search.cuts(over_labels(problem, search, n_jobs=n_jobs, progress=progress))


def best_cuts_within(
    problem: Problem,
    limits: CountLimits,
    beta: float,
    *,
    n_jobs: int | None = -1,
    progress: bool = False,
) -> tuple[Cuts, Cuts]:
    """Return the best cut of each label, and the best that keeps its limits; never where none does."""
    search = WithinLimits(problem, limits, beta)
    return search.cuts(over_labels(problem, search, n_jobs=n_jobs, progress=progress))


def best_joint_cuts(
    problem: Problem, beta: float, *, n_jobs: int | None = -1, progress: bool = False
) -> Cuts:
    """Return the cuts of highest micro F-beta, one of each label; of equal ones the highest."""
    search = AllLabels(problem, beta, n_jobs=n_jobs, progress=progress)
    return search.cuts(over_labels(problem, search, n_jobs=n_jobs, progress=progress))


def all_steps(problem: Problem, *, n_jobs: int | None = -1, progress: bool = False) -> Steps:
    """Return all steps of all labels, each of them once."""

    def distinct(columns: Columns, _: Memory) -> Steps:
        steps = steps_by_sorting(predictable(problem, columns))
        is_first = np.diff(steps.predicted, prepend=-1) != 0
        is_first[steps.offsets[:-1][np.diff(steps.offsets) > 0]] = True
        return steps.where(is_first)

    return joined(over_labels(problem, distinct, n_jobs=n_jobs, progress=progress))


def best_of(
    problem: Problem,
    average: str,
    beta: float,
    *,
    ratio: float | None = None,
    n_jobs: int | None = -1,
    progress: bool = False,
) -> "AllLabels | EachLabel":
    """Return the search for the cuts that an average asks for: jointly for "micro", else of each label by itself."""
    if average == "micro":
        return AllLabels(problem, beta, ratio=ratio, n_jobs=n_jobs, progress=progress)
    return EachLabel(problem, beta)


def best_among(steps: Steps, average: str, beta: float) -> Cuts:
    """Return the cuts that an average asks for, where all steps are at hand."""
    if average == "micro":
        return steps.at(best_joint_steps(steps, beta**2)[0])
    return steps.at(best_steps(steps, beta**2))


class EachLabel:
    """The search for the cut of highest F-beta of each label: of columns, then of all that was found."""

    ratio: float | None = None  # No label needs to know of the others.

    def __init__(self, problem: Problem, beta: float) -> None:
        self._search = _StepSearch(problem, StepCriterion(beta**2))

    def __call__(self, columns: Columns, memory: Memory) -> Cuts:
        """Return the best cut of some labels."""
        return self._search.best(columns, memory)

    def cuts(self, found: Sequence[Cuts]) -> Cuts:
        """Return those of all labels."""
        return joined_cuts(found)


class WithinLimits:
    """The search for the best cut of each label, and the best that keeps its limits."""

    def __init__(self, problem: Problem, limits: CountLimits, beta: float) -> None:
        self._search = _StepSearch(problem, StepCriterion(beta**2))
        self._limits = limits

    def __call__(self, columns: Columns, memory: Memory) -> tuple[Cuts, Cuts]:
        """Return both of some labels."""
        free = self._search.best(columns, memory)
        limits = self._limits.of_labels(slice(columns.first, columns.first + columns.n_labels))
        # Only labels whose best cut breaks their limits are searched again.
        breaks = ~limits.allow(free.tp, free.predicted, free.positives)
        if not breaks.any():
            return free, free
        again = self._search.best(columns.where(breaks), memory, limits)
        return free, free.but(breaks, again)

    def cuts(self, found: Sequence[tuple[Cuts, Cuts]]) -> tuple[Cuts, Cuts]:
        """Return both of all labels."""
        free, within = zip(*found, strict=True)
        return joined_cuts(free), joined_cuts(within)


class AllLabels:
    """The search for the cuts of all labels that have the highest micro F-beta together.

    Kernels keep the steps that may be best for ratios in a range, the best of some rows and what lies about it. Whether
    the best ratio lies in it is seen from these: what T - r (B P + K) is at most, over the choices of all labels, is
    above 0 for r below the best ratio, and falls with r. If the range was wrong, it is moved, and the labels are
    searched again: the guess costs time only.
    """

    def __init__(
        self,
        problem: Problem,
        beta: float,
        *,
        ratio: float | None = None,
        n_jobs: int | None = -1,
        progress: bool = False,
    ) -> None:
        """Guess the best `ratio` where it is not given."""
        self._problem = problem
        self._run: Any = {"n_jobs": n_jobs, "progress": progress}
        self.ratio = ratio
        is_worth_it = problem.n_stored >= _WORTH_A_GUESS * problem.n_labels
        if ratio is None and is_worth_it and not is_small(problem):
            some_rows = problem.at_rows(slice(None, None, _ONE_ROW_IN))
            fewer = AllLabels(some_rows, beta, n_jobs=n_jobs)
            fewer.cuts(over_labels(some_rows, fewer, n_jobs=n_jobs))
            self.ratio = fewer.ratio
        low, high = 0.0, 1.0
        if self.ratio is not None:
            low, high = _RANGE[0] * self.ratio, min(_RANGE[1] * self.ratio, 1.0)
        self._search = _StepSearch(problem, StepCriterion(beta**2, low, high, is_joint=True))

    def __call__(self, columns: Columns, memory: Memory) -> Steps:
        """Return the steps of some labels among which the best are."""
        return self._search.steps(columns, memory)

    def cuts(self, found: Sequence[Steps]) -> Cuts:
        """Return the cuts of all labels; `ratio` is then T / (B P + K) of these."""
        beta2, low, high, _ = self._search.aim
        while True:
            steps = joined(found)
            chosen, self.ratio = best_joint_steps(steps, beta2)
            is_below_high = high >= 1 or _most(steps, high, beta2) <= 0
            is_above_low = low <= 0 or _most(steps, low, beta2) >= 0
            if self._search.by_sorting or (is_below_high and is_above_low):
                return steps.at(chosen)
            # What was reached is no more than the best ratio.
            low, high = (self.ratio * (1 - 1e-9), low) if is_below_high else (high, 1.0)
            self._search = _StepSearch(
                self._problem, StepCriterion(beta2, low, high, is_joint=True)
            )
            found = over_labels(self._problem, self, **self._run)


def _most(steps: Steps, ratio: float, beta2: float) -> float:
    """Return what T - ratio (B P + K) is at most, over the choices of all labels."""
    worth = np.maximum(steps.tp - ratio * steps.predicted, 0.0)  # (n_steps,)
    firsts = steps.offsets[:-1][np.diff(steps.offsets) > 0]
    most = float(np.maximum.reduceat(worth, firsts).sum()) if firsts.size else 0.0
    return most - ratio * beta2 * float(steps.positives.sum())


class _StepSearch:
    """The search for steps of labels with an aim."""

    def __init__(self, problem: Problem, aim: StepCriterion) -> None:
        self.aim = aim
        self.by_sorting = is_small(problem)
        self._problem = problem

    def best(self, columns: Columns, memory: Memory, limits: CountLimits | None = None) -> Cuts:
        """Return the best cut of each label by itself."""
        steps = self.steps(columns, memory, limits)
        return steps.at(best_steps(steps, self.aim.beta2))

    def steps(self, columns: Columns, memory: Memory, limits: CountLimits | None = None) -> Steps:
        """Return the steps of some labels among which the best are: all of them by sorting, else few."""
        columns = predictable(self._problem, columns)
        if self.by_sorting:
            return _kept(steps_by_sorting(columns), limits)
        return self._by_kernels(columns, memory, limits)

    def _by_kernels(self, columns: Columns, memory: Memory, limits: CountLimits | None) -> Steps:
        """Search some labels with the kernels, and sort those that are too hard for these."""
        # Numba is imported here, where it is first needed.
        from thresholds._engine import kernels

        longest = int((columns.ends - columns.starts).max(initial=0))
        is_weighted = columns.weights is not None
        if memory.room is None or memory.room.bucket.size < longest:
            memory.room = kernels.room_for(longest, columns.scores.dtype, weighted=is_weighted)
        kept = CountLimits.none(columns.n_labels) if limits is None else limits
        *found, n_steps, positives = kernels.useful_steps(
            columns.scores,
            columns.truth,
            columns.weights,
            columns.starts,
            columns.ends,
            columns.more,
            *self.aim,
            np.stack(kept),
            memory.room,
            kernels.found_for(columns.n_labels),
        )
        offsets = np.append(0, np.maximum(n_steps, 0).cumsum())
        cut, lower, tp, predicted = (column.copy() for column in found)
        steps = Steps(offsets, cut, lower, tp, predicted, positives)
        kernels.look_up_lower(columns.scores, columns.starts, columns.ends, offsets, cut, lower)
        is_hard = n_steps == kernels.TOO_HARD  # (n_labels,)
        if is_hard.any():
            steps = steps.with_labels(
                is_hard, _kept(steps_by_sorting(columns.where(is_hard)), limits)
            )
        return steps


def _kept(steps: Steps, limits: CountLimits | None) -> Steps:
    """Leave out the steps that break limits."""
    return steps if limits is None else steps.where(limits.allow_steps(steps))
