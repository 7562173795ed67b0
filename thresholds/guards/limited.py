"""Cuts within limits: the best that keep them, or the nearest to a cut that does not."""

import numpy as np

from thresholds._checks import Placement
from thresholds.data.problem import Items, Problem
from thresholds.data.tiles import map_tiles
from thresholds.guards.base import LIMITED, GuardedCuts, GuardedFit, either, joined
from thresholds.guards.cuts import lowest_cut_within
from thresholds.guards.limits import Limits
from thresholds.search import staircase
from thresholds.search.staircase import Cuts


def fit_limited(
    problem: Problem,
    limits: Limits,
    beta: float,
    placement: Placement,
    n_jobs: int | None,
    progress: bool,
) -> GuardedFit:
    """Take the best step of each label that keeps the limits, else as much as they allow."""

    def choose(first: int, last: int) -> tuple[GuardedCuts, Cuts]:
        items = problem.label_items(first, last)
        stairs = staircase.of_items(items).cuttable(problem)
        allowed = limits.within(stairs)
        best = allowed.cuts_at(allowed.best(beta))
        guarded = _as_guarded(best, problem, placement)
        guarded = within_limits(problem, items, guarded, limits, placement)
        return guarded, stairs.cuts_at(stairs.best(beta))

    tiles = map_tiles(problem, choose, n_jobs=n_jobs, progress=progress)
    guarded = joined([cuts for cuts, _ in tiles])
    optimum = staircase.all_cuts([best for _, best in tiles])
    return GuardedFit(guarded, optimum)


def within_limits(
    problem: Problem,
    items: Items,
    cuts: GuardedCuts,
    limits: Limits,
    placement: Placement,
) -> GuardedCuts:
    """Replace cuts that break limits; without a guard, also those that predict nothing."""
    if not limits.any:
        return cuts
    starts = items.starts[:-1]
    positives = np.add.reduceat(items.positive_weights, starts, dtype=np.int64)  # (n_labels,)
    is_limited = cuts.reason == LIMITED
    broken = ~limits.allow(cuts.tp, cuts.predicted, positives)
    broken |= is_limited & (cuts.predicted == 0)
    if not broken.any():
        return cuts

    # The step that keeps all limits and predicts most nearly as much.
    stairs = staircase.of_items(items).cuttable(problem)
    replaced = _as_guarded(limits.nearest(stairs, cuts.predicted), problem, placement)

    # A label that is predicted too often is predicted as much as is allowed, whether or not a
    # positive lies at the cut; unless that breaks another limit.
    if limits.max_overprediction is not None:
        most = limits.max_overprediction * positives
        lowest = lowest_cut_within(problem, items, most)
        allowed = limits.allow(lowest.tp, lowest.predicted, positives) & (lowest.predicted > 0)
        allowed &= (cuts.predicted > most) | is_limited
        replaced = either(allowed, _as_guarded(lowest, problem, placement), replaced)
    return either(broken, replaced, cuts)


def _as_guarded(cuts: Cuts, problem: Problem, placement: Placement) -> GuardedCuts:
    """Return cuts that limits led to."""
    reason = np.full(cuts.tp.size, LIMITED)
    return GuardedCuts(cuts.placed(problem, placement), cuts.tp, cuts.predicted, reason)
