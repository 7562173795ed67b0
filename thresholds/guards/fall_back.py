"""Falling back on always: what is best where the scores know next to nothing."""

import numpy as np

from thresholds._arrays.types import Ints
from thresholds._checks import Placement
from thresholds._engine.f_measure import f_of_counts
from thresholds._engine.histograms import Histograms
from thresholds._engine.problem import Problem
from thresholds.guards.base import ALWAYS, GuardedCuts, either, never
from thresholds.guards.cuts import count_at, lowest_cut_within


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
    found: Histograms,
    problem: Problem,
    cuts: GuardedCuts,
    positives: Ints,
    beta: float,
    placement: Placement,
) -> GuardedCuts:
    """Predict a label always if that has a higher F-beta than its cut.

    Always is the lowest score: all cells but those that are masked and, where predictions stay
    sparse, `missing`; of a label that has no score but `missing` the sample says nothing, and it
    keeps its cut.
    """
    # The better of the cut and always.
    always = _cut_below_all(found, problem, placement)
    f = f_of_counts(cuts.tp, cuts.predicted, positives, beta, 0.0)
    f_always = f_of_counts(always.tp, always.predicted, positives, beta, 0.0)
    is_better = f_always > f
    best = either(is_better, always, cuts)

    # A label that was always predicted already has fallen back, too.
    already = (cuts.predicted == always.predicted) & (f_always > 0)
    return best._replace(reason=np.where(is_better | already, ALWAYS, best.reason))


def _cut_below_all(found: Histograms, problem: Problem, placement: Placement) -> GuardedCuts:
    """Cut each label at the lowest score that is allowed; one that has no score but `missing` never."""
    lowest = lowest_cut_within(found, problem, found.present.astype(np.float64))
    reason = np.full(lowest.tp.size, ALWAYS)
    cuts = GuardedCuts(lowest.placed(problem, placement), lowest.tp, lowest.predicted, reason)
    above = count_at(found, lowest.score).above
    is_unscored = (lowest.score == problem.missing) & (above == 0)
    return either(is_unscored, never(is_unscored.size, ALWAYS), cuts)
