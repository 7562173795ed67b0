"""Cuts within limits: the best that keep them, or the nearest to a cut that does not."""

import numpy as np

from thresholds._arrays.types import Booleans, Ints
from thresholds._checks import Placement
from thresholds._engine.choosing import best_steps
from thresholds._engine.cuts import Cuts
from thresholds._engine.histograms import Histograms, histograms
from thresholds._engine.problem import Problem
from thresholds.guards.base import (
    ALWAYS,
    ALWAYS_LIMITED,
    LIMITED,
    NO_HIT,
    GuardedCuts,
    GuardedFit,
    either,
    never,
)
from thresholds.guards.cuts import lowest_cut_within
from thresholds.guards.limits import Limits, nearest


def limited_fit(
    problem: Problem,
    optimum: Cuts,
    best: Cuts,
    limits: Limits,
    placement: Placement,
    n_jobs: int | None,
) -> GuardedFit:
    """Take the best cut of each label within limits of counts; where no step keeps them, as much as they allow."""
    cuts = _as_guarded(best, problem, placement)
    # Labels without a step that keeps the limits may be predicted above their highest positive.
    left = np.flatnonzero((cuts.predicted == 0) & (optimum.positives > 0))
    if limits.max_overprediction is None or not left.size:
        return GuardedFit(cuts, optimum)
    return GuardedFit(
        within_limits(problem, cuts, left, optimum, limits, placement, n_jobs), optimum
    )


def shown_fit(
    problem: Problem,
    found: Histograms,
    optimum: Cuts,
    limits: Limits,
    beta: float,
    placement: Placement,
) -> GuardedFit:
    """Take the best of the cuts that are shown to keep floors on new rows, within limits.

    `found` has all scores of some labels.
    """
    allowed = limits.candidates(problem, found)
    best = _as_guarded(allowed.at(best_steps(allowed, beta**2)), problem, placement)
    labels = np.flatnonzero(breaks_limits(best, limits, optimum.positives))
    own = _replaced(
        problem,
        found.take(labels),
        best.take(labels),
        limits.of_labels(labels),
        placement,
    )
    return GuardedFit(best.with_labels(labels, own), optimum)


def keep_limits(
    problem: Problem,
    cuts: GuardedCuts,
    optimum: Cuts,
    limits: Limits,
    placement: Placement,
    n_jobs: int | None,
) -> GuardedCuts:
    """Replace the cuts of a guard that break limits: exactly, as bins may hide a cut that keeps them."""
    broken = np.flatnonzero(breaks_limits(cuts, limits, optimum.positives))
    if not broken.size:
        return cuts
    limited = within_limits(problem, cuts, broken, optimum, limits, placement, n_jobs)

    # What fell back, and has no true positive where the limits allow it, is never predicted: its
    # highest scores are the least likely.
    moved = (cuts.reason == ALWAYS) & (limited.reason == LIMITED)
    reason = np.where(moved, ALWAYS_LIMITED, limited.reason)
    limited = limited._replace(reason=reason)
    return either(moved & (limited.tp == 0), never(moved.size, NO_HIT), limited)


def within_limits(
    problem: Problem,
    cuts: GuardedCuts,
    labels: Ints,
    optimum: Cuts,
    limits: Limits,
    placement: Placement,
    n_jobs: int | None,
) -> GuardedCuts:
    """Replace the cuts of some labels, whose scores are read one by one."""
    found = histograms(problem, None, labels=labels, n_jobs=n_jobs)
    own = _replaced(problem, found, cuts.take(labels), limits.of_labels(labels), placement)
    return cuts.with_labels(labels, own)


def breaks_limits(cuts: GuardedCuts, limits: Limits, positives: Ints) -> Booleans:
    """Return which cuts break limits, (n_labels,); those that are best within them do if they predict nothing."""
    if not limits.any:
        return np.zeros(positives.size, np.bool_)
    broken = ~limits.keep(cuts.thresholds, cuts.tp, cuts.predicted, positives)
    broken |= (cuts.reason == LIMITED) & (cuts.predicted == 0)
    return broken


def _replaced(
    problem: Problem,
    found: Histograms,
    cuts: GuardedCuts,
    limits: Limits,
    placement: Placement,
) -> GuardedCuts:
    """Replace cuts of some labels by such as keep the limits; `found` has a bin for each of their scores."""
    # The step that keeps all limits and predicts most nearly as much.
    allowed = limits.candidates(problem, found)
    replaced = _as_guarded(nearest(allowed, cuts.predicted), problem, placement)
    if limits.max_overprediction is None:
        return replaced

    # A label that is predicted too often is predicted as much as is allowed, whether or not a
    # positive lies at the cut; unless that breaks another limit.
    positives = found.positives
    most = limits.max_overprediction * positives.astype(np.float64)
    within = lowest_cut_within(found, problem, most)
    lowest = _as_guarded(within, problem, placement)
    keeps = limits.keep(lowest.thresholds, lowest.tp, lowest.predicted, positives)
    keeps &= (lowest.predicted > 0) & ((cuts.predicted > most) | (cuts.reason == LIMITED))
    return either(keeps, lowest, replaced)


def _as_guarded(cuts: Cuts, problem: Problem, placement: Placement) -> GuardedCuts:
    """Return cuts that limits led to."""
    reason = np.full(cuts.tp.size, LIMITED)
    return GuardedCuts(cuts.placed(problem, placement), cuts.tp, cuts.predicted, reason)
