"""Fitting under a guard, or limits, once the best cuts of all labels and their histograms are known."""

from typing import Any, NamedTuple

import numpy as np

from thresholds._engine.best_cuts import best_of
from thresholds._engine.choosing import best_steps
from thresholds._engine.columns import ask
from thresholds._engine.cuts import Cuts
from thresholds._engine.cuts import joined as joined_cuts
from thresholds._engine.f_measure import f_of_counts
from thresholds._engine.histograms import (
    MOST_BINS,
    Histograms,
    Reading,
    joined,
    over_histograms,
)
from thresholds._engine.problem import Problem
from thresholds._engine.search_options import SearchOptions
from thresholds.guarantees.floors_of_labels import CertifiedFloors, LabelFloors, joined_floors
from thresholds.guards.base import (
    ALWAYS,
    REASONS,
    UNMOVED,
    BaseGuard,
    GuardedCuts,
    GuardInput,
)
from thresholds.guards.base import joined as joined_guarded
from thresholds.guards.groups import groups_of, rows_alike
from thresholds.guards.limits import Limits, certified_limited_cuts, kept_limits
from thresholds.rule.guard_report import GuardReport


class GuardedFit(NamedTuple):
    """What a guard found for all labels: its cuts, and those of the in-sample optimum."""

    guarded_cuts: GuardedCuts
    optimum: Cuts

    @property
    def cuts(self) -> Cuts:
        """The guard's cuts as others have them; each lies at its threshold, with no gap below."""
        thresholds, tp, predicted, _ = self.guarded_cuts
        no_lower_score = np.broadcast_to(np.nan, thresholds.shape)
        return Cuts(thresholds, no_lower_score, tp, predicted, self.optimum.positives)

    def report(self, problem: Problem, guard: str | None, options: SearchOptions) -> GuardReport:
        """Return what was moved; `guard` is what rules say that guards them."""
        before, after = self.optimum, self.guarded_cuts
        reason = np.where(before.predicted != after.predicted, after.reason, UNMOVED)
        positives, of_f = before.positives, (options.beta, options.zero_division)
        return GuardReport(
            guard=guard,
            unguarded=before.placed(problem, options.placement),
            guarded=after.thresholds,
            predicted_before=before.predicted * problem.unit,
            predicted_after=after.predicted * problem.unit,
            f_before=f_of_counts(before.tp, before.predicted, positives, *of_f),
            f_after=f_of_counts(after.tp, after.predicted, positives, *of_f),
            reason=np.array(REASONS)[reason],
            label_names=problem.label_names,
            fell_back=after.reason >= ALWAYS,
        )


def bins_for_guards(problem: Problem) -> Reading:
    """Return what reads the histograms that a guard is given."""
    return Reading(problem, MOST_BINS)


def guarded_fit(
    problem: Problem,
    guard: BaseGuard,
    limits: Limits,
    options: SearchOptions,
    optimum: Cuts,
    found: Histograms,
) -> GuardedFit:
    """Choose the cuts of all labels under a guard, from the best in the sample and from histograms."""
    groups = groups_of(problem)
    alike = None if groups is None else rows_alike(problem, groups, optimum, options.beta)
    chosen = guard.cuts(GuardInput(found, problem, optimum, alike, options))
    chosen = kept_limits(problem, limits, options, chosen, optimum.positives)
    return GuardedFit(chosen, optimum)


def fit_with_floors(
    problem: Problem,
    guard: BaseGuard | None,
    limits: Limits,
    floors: LabelFloors,
    options: SearchOptions,
) -> tuple[GuardedFit, CertifiedFloors]:
    """Choose the cuts of every label among those that are shown to keep floors on new rows."""
    run: Any = {"n_jobs": options.n_jobs, "progress": options.progress}
    if guard is not None:
        # Which thresholds are shown is known before a guard chooses among them.
        parts = over_histograms(problem, floors.certify, **run)
        certified = joined_floors(parts)
        limits = limits._replace(certified=certified.allowed)
        best = best_of(problem, options.average, options.beta, **run)
        cuts, bins = ask(problem, [best, bins_for_guards(problem)], **run)
        fit = guarded_fit(problem, guard, limits, options, best.cuts(cuts), joined(bins))
        return fit, certified

    def choose(found: Histograms, first: int) -> tuple[GuardedCuts, Cuts, CertifiedFloors]:
        certified = floors.certify(found, first)
        own = limits.of_labels(slice(first, first + found.n_labels))
        own = own._replace(certified=certified.allowed)
        steps = found.steps.cuttable(problem)
        optimum = steps.at(best_steps(steps, options.beta**2))
        return certified_limited_cuts(problem, own, options, found), optimum, certified

    chosen, optimum, of_floors = zip(*over_histograms(problem, choose, **run), strict=True)
    fit = GuardedFit(joined_guarded(chosen), joined_cuts(optimum))
    return fit, joined_floors(of_floors)
