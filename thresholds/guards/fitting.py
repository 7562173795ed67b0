"""Fitting under a guard, or limits."""

from thresholds._checks import Placement
from thresholds.data.problem import Problem
from thresholds.guarantees.floors import Floors
from thresholds.guards.base import BaseGuard
from thresholds.guards.limited import LimitedFit, fit_limited, show_floors
from thresholds.guards.limits import Limits


def fit_guarded(
    problem: Problem,
    guard: BaseGuard | None,
    limits: Limits,
    floors: Floors | None,
    average: str,
    beta: float,
    placement: Placement,
    n_jobs: int | None,
    progress: bool,
) -> LimitedFit:
    """Choose the cut of every label; without a guard the best cut within the limits.

    `floors` are to hold on new rows, those of `limits` on the rows of the fit.
    """
    if guard is None:
        return fit_limited(problem, limits, floors, beta, placement, n_jobs, progress)
    shown = None
    if floors is not None:
        shown = show_floors(problem, floors, n_jobs, progress)
        limits = limits._replace(shown=shown.allowed)
    fit = guard.fit(problem, limits, average, beta, placement, n_jobs, progress)
    return LimitedFit(fit, shown)
