"""Fitting under a guard, or limits, and what they did."""

from typing import Any

import numpy as np

from thresholds._checks import Placement
from thresholds.data.problem import Problem
from thresholds.data.tiles import map_tiles
from thresholds.guards.cuts import LIMITED, Guarded, GuardedCuts, joined, within_limits
from thresholds.guards.limits import Limits
from thresholds.guards.options import Shrink
from thresholds.guards.shrink import fit_shrunk
from thresholds.search import staircase
from thresholds.search.staircase import Cuts


def guard_name(guard: Shrink | None, limits: Limits) -> str | None:
    """Name what keeps a fit from its in-sample optimum; None is nothing."""
    parts = ([] if guard is None else [str(guard)]) + ([str(limits)] if limits.any else [])
    return ", ".join(parts) or None


def fit_guarded(
    problem: Problem,
    guard: Shrink | None,
    limits: Limits,
    average: str,
    beta: float,
    placement: Placement,
    **run: Any,
) -> Guarded:
    """Choose the cut of every label; None is the best cut within the limits. `run` has n_jobs and progress."""
    if isinstance(guard, Shrink):
        return fit_shrunk(problem, guard, limits, average, beta, placement, **run)
    return _limited(problem, limits, beta, placement, **run)


def _limited(problem: Problem, limits: Limits, beta: float, placement: Placement, **run: Any) -> Guarded:
    """Take the best step of each label that keeps the limits; if there is none, as much as they allow."""

    def choose(first: int, last: int) -> tuple[GuardedCuts, Cuts]:
        items = problem.cells(first, last)
        stairs = staircase.of_items(items).cuttable(problem)
        allowed = limits.within(stairs)
        best = allowed.cuts_at(allowed.best(beta))
        reason = np.full(best.tp.size, LIMITED)
        cuts = GuardedCuts(best.placed(problem, placement), best.tp, best.predicted, reason)
        return within_limits(problem, items, cuts, limits, placement), stairs.cuts_at(stairs.best(beta))

    parts = map_tiles(problem, choose, **run)
    return Guarded(joined([cuts for cuts, _ in parts]), staircase.all_cuts([optimum for _, optimum in parts]))
