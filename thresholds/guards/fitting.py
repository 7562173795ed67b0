"""Fitting under a guard, or limits."""

from thresholds._checks import Placement
from thresholds.data.problem import Problem
from thresholds.guards.base import BaseGuard, GuardedFit
from thresholds.guards.limited import fit_limited
from thresholds.guards.limits import Limits


def guard_name(guard: BaseGuard | None, limits: Limits) -> str | None:
    """Name what keeps a fit from its in-sample optimum; None is nothing."""
    names = [str(guard)] if guard is not None else []
    if limits.any:
        names.append(str(limits))
    return ", ".join(names) or None


def fit_guarded(
    problem: Problem,
    guard: BaseGuard | None,
    limits: Limits,
    average: str,
    beta: float,
    placement: Placement,
    n_jobs: int | None,
    progress: bool,
) -> GuardedFit:
    """Choose the cut of every label; without a guard the best cut within the limits."""
    if guard is None:
        return fit_limited(problem, limits, beta, placement, n_jobs, progress)
    return guard.fit(problem, limits, average, beta, placement, n_jobs, progress)
