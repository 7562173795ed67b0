"""Fitting under a guard, or limits, and what they did."""

from typing import Any

import numpy as np

from thresholds import staircase
from thresholds._checks import Placement
from thresholds.guards.choice import SCutFBR, Shrink
from thresholds.guards.cutting import LIMITED, Guarded, GuardedCuts
from thresholds.guards.limits import Limits
from thresholds.guards.scut_fbr import fit_scut_fbr
from thresholds.guards.shrink import fit_shrunk
from thresholds.problem import Problem
from thresholds.staircase import Cuts, Staircase


def fit_guarded(
    problem: Problem, guard: Shrink | SCutFBR | None, limits: Limits, beta: float, placement: Placement, **run: Any
) -> Guarded:
    """Choose the cut of every label; None is the best cut within the limits. `run` has n_jobs and progress."""
    if isinstance(guard, Shrink):
        return fit_shrunk(problem, guard, limits, beta, placement, **run)
    if isinstance(guard, SCutFBR):
        return fit_scut_fbr(problem, guard, limits, beta, placement, **run)
    return _limited(problem, limits, beta, placement, **run)


def _limited(problem: Problem, limits: Limits, beta: float, placement: Placement, **run: Any) -> Guarded:
    """Take the best step of each label that keeps the limits."""

    def choose(stairs: Staircase) -> tuple[Cuts, Cuts]:
        allowed = limits.within(stairs)
        return allowed.cuts_at(allowed.best(beta)), stairs.cuts_at(stairs.best(beta))

    parts = staircase.map_labels(problem, choose, **run)
    cuts, optimum = (staircase.all_cuts([part[k] for part in parts]) for k in (0, 1))
    reason = np.full(cuts.tp.size, LIMITED)
    return Guarded(GuardedCuts(cuts.placed(problem, placement), cuts.tp, cuts.predicted, reason), optimum)
