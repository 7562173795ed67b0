"""Falling back on always: what is best where the scores know next to nothing."""

import numpy as np

from thresholds._arrays.types import Ints
from thresholds._checks import Placement
from thresholds._engine.f_measure import f_of_counts
from thresholds.data.problem import Items, Problem
from thresholds.guards.base import (
    ALWAYS,
    ALWAYS_LIMITED,
    LIMITED,
    NO_HIT,
    GuardedCuts,
    either,
    never,
)
from thresholds.guards.cuts import lowest_cut_within
from thresholds.guards.limited import within_limits
from thresholds.guards.limits import Limits
from thresholds.search.ranks import count_at, weight_present


def is_below_always(
    problem: Problem,
    cuts: GuardedCuts,
    positives: Ints,
    average: str,
    beta: float,
) -> bool:
    """Whether the labels' average F-beta is below that of predicting each on every row.

    It is the average that is fitted: labels with positives count alike for macro, by their
    positives for weighted F.
    """
    label_weights = positives if average == "weighted" else positives > 0
    total = problem.weight_of_label  # (n_labels,)
    f = f_of_counts(cuts.tp, cuts.predicted, positives, beta, 0.0)
    f_always = f_of_counts(positives, total, positives, beta, 0.0)
    return bool((label_weights * f).sum() < (label_weights * f_always).sum())


def fall_back(
    problem: Problem,
    items: Items,
    cuts: GuardedCuts,
    positives: Ints,
    beta: float,
    limits: Limits,
    placement: Placement,
) -> GuardedCuts:
    """Predict a label always if that has a higher F-beta than its cut; then keep the limits.

    Always is the lowest score: all cells but those that are masked and, where predictions stay
    sparse, `missing`; of a label that has no score but `missing` the sample says nothing, and it
    keeps its cut.
    """
    # The better of the cut and always.
    always = _cut_below_all(problem, items, placement)
    f = f_of_counts(cuts.tp, cuts.predicted, positives, beta, 0.0)
    f_always = f_of_counts(always.tp, always.predicted, positives, beta, 0.0)
    is_better = f_always > f
    best = either(is_better, always, cuts)

    # A label that was always predicted already has fallen back, too.
    already = (cuts.predicted == always.predicted) & (f_always > 0)
    falls = is_better | already
    best = best._replace(reason=np.where(falls, ALWAYS, best.reason))

    limited = within_limits(problem, items, best, limits, placement)
    moved = falls & (limited.reason == LIMITED)
    limited = limited._replace(reason=np.where(moved, ALWAYS_LIMITED, limited.reason))

    # What fell back, and has no true positive where the limits allow it, is never predicted: its
    # highest scores are the least likely.
    return either(moved & (limited.tp == 0), never(falls.size, NO_HIT), limited)


def _cut_below_all(problem: Problem, items: Items, placement: Placement) -> GuardedCuts:
    """Cut each label at the lowest score that is allowed; one that has no score but `missing` never."""
    lowest = lowest_cut_within(problem, items, weight_present(problem, items).astype(np.float64))
    reason = np.full(lowest.tp.size, ALWAYS)
    cuts = GuardedCuts(lowest.placed(problem, placement), lowest.tp, lowest.predicted, reason)
    above = count_at(items, lowest.score).above
    is_unscored = (lowest.score == problem.missing) & (above == 0)
    return either(is_unscored, never(is_unscored.size, ALWAYS), cuts)
