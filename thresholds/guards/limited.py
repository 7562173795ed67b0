"""Cuts within limits: the best that keep them, or the nearest to a cut that does not."""

from typing import NamedTuple

import numpy as np

from thresholds._arrays.types import Booleans, Ints
from thresholds._checks import Placement
from thresholds._engine.best_cuts import best_cuts_within
from thresholds._engine.choosing import best_steps
from thresholds._engine.cuts import Cuts
from thresholds.data.problem import Items, Problem
from thresholds.data.tiles import map_tiles
from thresholds.guarantees.floors import Floors, ShownFloors, joined_floors
from thresholds.guards.base import LIMITED, GuardedCuts, GuardedFit, either, to_be_written, write
from thresholds.guards.cuts import lowest_cut_within
from thresholds.guards.limits import Limits, nearest
from thresholds.search import staircase
from thresholds.search.staircase import Staircase, without_steps


class LimitedFit(NamedTuple):
    """The best cuts within limits, and what is shown of floors that are to hold on new rows, if there are any."""

    fit: GuardedFit
    shown: ShownFloors | None


def fit_limited(
    problem: Problem,
    limits: Limits,
    floors: Floors | None,
    beta: float,
    placement: Placement,
    n_jobs: int | None,
    progress: bool,
) -> LimitedFit:
    """Take the best step of each label that keeps the limits, else as much as they allow."""
    if floors is None:
        fit = _fit_within(problem, limits, beta, placement, n_jobs, progress)
        return LimitedFit(fit, None)
    optimum, cuts = to_be_written(problem.n_labels)

    def choose(first: int, last: int) -> ShownFloors:
        # Floors take some of equal scores, row by row: they need items in the order of rows.
        items = problem.label_items(first, last)
        stairs = staircase.of_items(items)
        shown = floors.show(items, stairs, first, last)
        own_limits = limits.of_labels(first, last)._replace(shown=shown.allowed)
        allowed = own_limits.candidates(problem, items, stairs)
        best = allowed.cuts_at(allowed.best(beta))
        guarded = _as_guarded(best, problem, placement)
        guarded = within_limits(problem, items, guarded, own_limits, placement, allowed)
        write(cuts, first, guarded)
        stairs = stairs.cuttable(problem)
        write(optimum, first, stairs.cuts_at(stairs.best(beta)))
        return shown

    shown = map_tiles(problem, choose, n_jobs=n_jobs, progress=progress, in_steps=True)
    problem.forget()
    return LimitedFit(GuardedFit(cuts, optimum), joined_floors(shown))


def _fit_within(
    problem: Problem,
    limits: Limits,
    beta: float,
    placement: Placement,
    n_jobs: int | None,
    progress: bool,
) -> GuardedFit:
    """Take the best step of each label that keeps limits of counts, else as much as they allow."""
    optimum, best = best_within(problem, limits, beta, n_jobs, progress)
    cuts = _as_guarded(best, problem, placement)

    # Labels without a step that keeps the limits: they may be predicted above their highest positive.
    are_left = (cuts.predicted == 0) & (optimum.positives > 0)  # (n_labels,)

    def predict_most(first: int, last: int) -> None:
        own = first + np.flatnonzero(are_left[first:last])
        if not own.size:
            return
        labels = slice(own[0], own[-1] + 1)  # all between them, too
        items = problem.label_items(labels.start, labels.stop)
        own_limits = limits.of_labels(labels.start, labels.stop)
        found = cuts.of_labels(labels.start, labels.stop)
        allowed = without_steps(optimum.positives[labels], problem.dtype)
        write(
            cuts,
            labels.start,
            within_limits(problem, items, found, own_limits, placement, allowed),
        )

    if limits.max_overprediction is not None and are_left.any():
        map_tiles(
            problem,
            predict_most,
            n_jobs=n_jobs,
            progress=progress,
            light=problem.is_dense_unweighted,
        )
    problem.forget()
    return GuardedFit(cuts, optimum)


def best_within(
    problem: Problem, limits: Limits, beta: float, n_jobs: int | None, progress: bool
) -> tuple[Cuts, Cuts]:
    """Return the best cut of each label, and the best that keeps limits of counts."""
    of_counts = limits.of_counts(problem.n_labels)
    if not problem.is_counted:
        return best_cuts_within(problem, of_counts, beta, n_jobs=n_jobs, progress=progress)
    steps = staircase.all_steps(problem, n_jobs=n_jobs, progress=progress)
    allowed = steps.where(of_counts.allow_steps(steps))
    return steps.at(best_steps(steps, beta**2)), allowed.at(best_steps(allowed, beta**2))


def show_floors(
    problem: Problem, floors: Floors, n_jobs: int | None, progress: bool
) -> ShownFloors:
    """Find the thresholds of all labels that are shown to keep their floors, before a guard chooses among them."""

    def show(first: int, last: int) -> ShownFloors:
        items = problem.label_items(first, last)
        return floors.show(items, staircase.of_items(items), first, last)

    return joined_floors(map_tiles(problem, show, n_jobs=n_jobs, progress=progress, in_steps=True))


def within_limits(
    problem: Problem,
    items: Items,
    cuts: GuardedCuts,
    limits: Limits,
    placement: Placement,
    allowed: Staircase | None = None,
) -> GuardedCuts:
    """Replace cuts that break limits of the items' labels; without a guard, also those that predict nothing.

    `allowed` are the cuts that keep the limits, where they are known.
    """
    if not limits.any:
        return cuts
    if allowed is None:
        starts = items.starts[:-1]
        positives = np.add.reduceat(items.positive_weights, starts, dtype=np.int64)  # (n_labels,)
    else:
        positives = allowed.positives
    broken = breaks_limits(cuts, limits, positives)
    if not broken.any():
        return cuts

    # The step that keeps all limits and predicts most nearly as much.
    if allowed is None:
        allowed = limits.candidates(problem, items, staircase.of_items(items))
    allowed = allowed.where(broken[allowed.label])
    replaced = _as_guarded(nearest(allowed, cuts.predicted), problem, placement)

    # A label that is predicted too often is predicted as much as is allowed, whether or not a
    # positive lies at the cut; unless that breaks another limit.
    if limits.max_overprediction is not None:
        most = limits.max_overprediction * positives
        lowest = _as_guarded(lowest_cut_within(problem, items, most), problem, placement)
        keeps = limits.keep(lowest.thresholds, lowest.tp, lowest.predicted, positives)
        keeps &= (lowest.predicted > 0) & ((cuts.predicted > most) | (cuts.reason == LIMITED))
        replaced = either(keeps, lowest, replaced)
    return either(broken, replaced, cuts)


def breaks_limits(cuts: GuardedCuts, limits: Limits, positives: Ints) -> Booleans:
    """Return which cuts break limits, (n_labels,); those that are best within them do if they predict nothing."""
    broken = ~limits.keep(cuts.thresholds, cuts.tp, cuts.predicted, positives)
    broken |= (cuts.reason == LIMITED) & (cuts.predicted == 0)
    return broken


def _as_guarded(cuts: Cuts, problem: Problem, placement: Placement) -> GuardedCuts:
    """Return cuts that limits led to."""
    reason = np.full(cuts.tp.size, LIMITED)
    return GuardedCuts(cuts.placed(problem, placement), cuts.tp, cuts.predicted, reason)
