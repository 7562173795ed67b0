"""The best cut of each label: by itself, within limits, or jointly for the highest micro F.

Small problems are sorted by NumPy, large ones searched by Numba's kernels, with the same result: `is_small` decides.
"""

from typing import NamedTuple

import numpy as np

from thresholds._arrays.types import Ints
from thresholds._engine.choosing import Limits, best_joint_steps, best_steps
from thresholds._engine.columns import Memory, over_labels
from thresholds._engine.cuts import Cuts
from thresholds._engine.cuts import joined as joined_cuts
from thresholds._engine.problem import Problem
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


class Aim(NamedTuple):
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
    search = _Search(Aim(beta**2), by_sorting=is_small(problem))
    return joined_cuts(over_labels(problem, search.best, n_jobs=n_jobs, progress=progress))


def best_cuts_within(
    problem: Problem,
    limits: Limits,
    beta: float,
    *,
    n_jobs: int | None = -1,
    progress: bool = False,
) -> tuple[Cuts, Cuts]:
    """Return the best cut of each label, and the best that keeps its limits; never where none does."""
    search = _Search(Aim(beta**2), by_sorting=is_small(problem))

    def best(columns: Columns, memory: Memory) -> tuple[Cuts, Cuts]:
        free = search.best(columns, memory)
        own_limits = limits.of_labels(columns.first, columns.first + columns.n_labels)
        # Only labels whose best cut breaks their limits are searched again.
        breaks = ~own_limits.allow(free.tp, free.predicted, free.positives)
        again = search.best(columns.where(breaks), memory, own_limits)
        return free, free.but(breaks, again)

    found = over_labels(problem, best, n_jobs=n_jobs, progress=progress)
    free, within = zip(*found, strict=True)
    return joined_cuts(free), joined_cuts(within)


def best_joint_cuts(
    problem: Problem, beta: float, *, n_jobs: int | None = -1, progress: bool = False
) -> Cuts:
    """Return the cuts of highest micro F-beta, one of each label; of equal ones the highest."""
    if is_small(problem):
        search = _Search(Aim(beta**2, is_joint=True), by_sorting=True)
        steps = joined(over_labels(problem, search.steps, n_jobs=n_jobs, progress=progress))
        chosen, _ = best_joint_steps(steps, beta**2)
    else:
        steps, chosen, _ = _best_jointly(problem, beta**2, n_jobs, progress)
    return steps.at(chosen)


def all_steps(problem: Problem, *, n_jobs: int | None = -1, progress: bool = False) -> Steps:
    """Return all steps of all labels, each of them once."""

    def distinct(columns: Columns, _: Memory) -> Steps:
        steps = steps_by_sorting(columns)
        is_first = np.diff(steps.predicted, prepend=-1) != 0
        is_first[steps.offsets[:-1][np.diff(steps.offsets) > 0]] = True
        return steps.where(is_first)

    return joined(over_labels(problem, distinct, n_jobs=n_jobs, progress=progress))


def _best_jointly(
    problem: Problem, beta2: float, n_jobs: int | None, progress: bool
) -> tuple[Steps, Ints, float]:
    """Return steps, those of highest micro F-beta, (n_labels,), and the best ratio, by the kernels.

    Steps are kept for ratios in the range of the guess. Whether the best ratio lies in it is seen from them: what
    T - r (B P + K) is at most, over the choices of all labels, is above 0 for r below the best ratio, and falls with r.
    If the range was wrong, it is moved: the guess costs time only.
    """
    low, high = 0.0, 1.0
    if problem.n_stored >= _WORTH_A_GUESS * problem.n_labels:
        some_rows = problem.at_rows(slice(None, None, _ONE_ROW_IN))
        _, _, guess = _best_jointly(some_rows, beta2, n_jobs, False)
        low, high = _RANGE[0] * guess, min(_RANGE[1] * guess, 1.0)
    while True:
        search = _Search(Aim(beta2, low, high, True), by_sorting=False)
        steps = joined(over_labels(problem, search.steps, n_jobs=n_jobs, progress=progress))
        chosen, ratio = best_joint_steps(steps, beta2)
        is_below_high = high >= 1 or _most(steps, high, beta2) <= 0
        is_above_low = low <= 0 or _most(steps, low, beta2) >= 0
        if is_below_high and is_above_low:
            return steps, chosen, ratio
        # What was reached is no more than the best ratio.
        low, high = (ratio * (1 - 1e-9), low) if is_below_high else (high, 1.0)


def _most(steps: Steps, ratio: float, beta2: float) -> float:
    """Return what T - ratio (B P + K) is at most, over the choices of all labels."""
    worth = np.maximum(steps.tp - ratio * steps.predicted, 0.0)  # (n_steps,)
    firsts = steps.offsets[:-1][np.diff(steps.offsets) > 0]
    most = float(np.maximum.reduceat(worth, firsts).sum()) if firsts.size else 0.0
    return most - ratio * beta2 * float(steps.positives.sum())


class _Search:
    """The search for steps of labels with an aim."""

    def __init__(self, aim: Aim, *, by_sorting: bool) -> None:
        self.aim = aim
        self.by_sorting = by_sorting

    def best(self, columns: Columns, memory: Memory, limits: Limits | None = None) -> Cuts:
        """Return the best cut of each label by itself."""
        steps = self.steps(columns, memory, limits)
        return steps.at(best_steps(steps, self.aim.beta2))

    def steps(self, columns: Columns, memory: Memory, limits: Limits | None = None) -> Steps:
        """Return the steps of some labels among which the best are: all of them by sorting, else few."""
        if self.by_sorting:
            return _kept(steps_by_sorting(columns), limits)
        return self._by_kernels(columns, memory, limits)

    def _by_kernels(self, columns: Columns, memory: Memory, limits: Limits | None) -> Steps:
        """Search some labels with the kernels, and sort those that are too hard for these."""
        # Numba is imported here, where it is first needed.
        from thresholds._engine import kernels

        longest = int((columns.ends - columns.starts).max(initial=0))
        is_weighted = columns.weights is not None
        if memory.room is None or memory.room.bucket.size < longest:
            memory.room = kernels.room_for(longest, columns.scores.dtype, weighted=is_weighted)
        kept = Limits.none(columns.n_labels) if limits is None else limits
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


def _kept(steps: Steps, limits: Limits | None) -> Steps:
    """Leave out the steps that break limits."""
    return steps if limits is None else steps.where(limits.allow_steps(steps))
