"""Fitting under a guard, or limits: what is asked of a few labels at a time, then of all."""

from collections.abc import Sequence
from typing import Any, NamedTuple

from thresholds._checks import Placement
from thresholds._engine.best_cuts import WithinLimits, best_of
from thresholds._engine.choosing import best_steps
from thresholds._engine.columns import Memory, over_labels
from thresholds._engine.cuts import Cuts
from thresholds._engine.cuts import joined as joined_cuts
from thresholds._engine.histograms import (
    MOST_BINS,
    Histograms,
    Reading,
    joined,
    over_histograms,
)
from thresholds._engine.problem import Problem
from thresholds._engine.staircase import Columns
from thresholds.guarantees.floors_of_labels import CertifiedFloors, LabelFloors, joined_floors
from thresholds.guards.base import BaseGuard, GuardedFit
from thresholds.guards.base import joined as joined_guarded
from thresholds.guards.groups import groups_of, rows_alike
from thresholds.guards.limited import keep_limits, limited_fit, shown_fit
from thresholds.guards.limits import Limits


class Aim(NamedTuple):
    """What a fit maximises, and where it puts thresholds."""

    average: str
    beta: float
    placement: Placement
    n_jobs: int | None
    progress: bool


class GuardedSearch:
    """The search for the cuts of a guard: the best cuts in the sample, and what weighs at which score."""

    def __init__(
        self,
        problem: Problem,
        guard: BaseGuard,
        limits: Limits,
        aim: Aim,
        ratio: float | None = None,
    ) -> None:
        """Prepare it; `ratio` is a guess of T / (B P + K), where all labels are searched jointly."""
        self._problem, self._guard, self._limits, self._aim = problem, guard, limits, aim
        run: Any = {"n_jobs": aim.n_jobs, "progress": aim.progress}
        self._best: Any = best_of(problem, aim.average, aim.beta, ratio=ratio, **run)
        self.ratio: float | None = self._best.ratio
        self._read = Reading(problem, MOST_BINS)

    def __call__(self, columns: Columns, memory: Memory) -> tuple[Any, Histograms]:
        """Read some labels."""
        return self._best(columns, memory), self._read(columns, memory)

    def fit(self, found: list[tuple[Any, Histograms]]) -> GuardedFit:
        """Choose the cuts of all labels; what was found is let go."""
        optimum = self._best.cuts([best for best, _ in found])
        read = [bins for _, bins in found]
        found.clear()
        return guarded_fit(
            self._problem, self._guard, self._limits, self._aim, optimum, joined(read)
        )


def guarded_fit(
    problem: Problem,
    guard: BaseGuard,
    limits: Limits,
    aim: Aim,
    optimum: Cuts,
    found: Histograms,
) -> GuardedFit:
    """Choose the cuts of all labels under a guard, from the best in the sample and from histograms."""
    average, beta, placement, n_jobs, _ = aim
    groups = groups_of(problem)
    alike = None if groups is None else rows_alike(problem, groups, optimum, beta)
    chosen = guard.cuts(found, problem, optimum, alike, average, beta, placement, n_jobs)
    chosen = keep_limits(problem, chosen, optimum, limits, placement, n_jobs)
    return GuardedFit(chosen, optimum)


class LimitedSearch:
    """The search for the best cuts within limits of counts."""

    ratio: float | None = None  # No label needs to know of the others.

    def __init__(self, problem: Problem, limits: Limits, aim: Aim) -> None:
        self._problem, self._limits, self._aim = problem, limits, aim
        self._best = WithinLimits(problem, limits.of_counts(problem.n_labels), aim.beta)

    def __call__(self, columns: Columns, memory: Memory) -> tuple[Cuts, Cuts]:
        """Search some labels."""
        return self._best(columns, memory)

    def fit(self, found: Sequence[tuple[Cuts, Cuts]]) -> GuardedFit:
        """Choose the cuts of all labels."""
        optimum, best = self._best.cuts(found)
        return limited_fit(
            self._problem, optimum, best, self._limits, self._aim.placement, self._aim.n_jobs
        )


def fit_with_floors(
    problem: Problem, guard: BaseGuard | None, limits: Limits, floors: LabelFloors, aim: Aim
) -> tuple[GuardedFit, CertifiedFloors]:
    """Choose the cuts of every label among those that are shown to keep floors on new rows."""
    if guard is not None:
        shown = _shown(problem, floors, aim)
        limits = limits._replace(shown=shown.allowed)
        search = GuardedSearch(problem, guard, limits, aim)
        parts = over_labels(problem, search, n_jobs=aim.n_jobs, progress=aim.progress)
        return search.fit(parts), shown

    def choose(found: Histograms, first: int) -> tuple[GuardedFit, CertifiedFloors]:
        labels = slice(first, first + found.n_labels)
        own_shown = floors.certify(found, labels.start, labels.stop)
        own_limits = limits.of_labels(labels)._replace(shown=own_shown.allowed)
        steps = found.steps.cuttable(problem)
        optimum = steps.at(best_steps(steps, aim.beta**2))
        fit = shown_fit(problem, found, optimum, own_limits, aim.beta, aim.placement)
        return fit, own_shown

    run: Any = {"n_jobs": aim.n_jobs, "progress": aim.progress}
    pieces = over_histograms(problem, choose, **run)
    fits, of_floors = zip(*pieces, strict=True)
    cuts = joined_guarded([fit.guarded_cuts for fit in fits])
    return GuardedFit(cuts, joined_cuts([fit.optimum for fit in fits])), joined_floors(of_floors)


def _shown(problem: Problem, floors: LabelFloors, aim: Aim) -> CertifiedFloors:
    """Find the thresholds of all labels that are shown to keep their floors, before a guard chooses among them."""

    def show(found: Histograms, first: int) -> CertifiedFloors:
        return floors.certify(found, first, first + found.n_labels)

    run: Any = {"n_jobs": aim.n_jobs, "progress": aim.progress}
    return joined_floors(over_histograms(problem, show, **run))
