"""How a fit searches labels: what it asks of a few labels at a time, and the cuts that it makes of all answers.

`cross_fit` asks the same of the rows outside each fold, label by label, while these are at hand.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from thresholds._arrays.types import Floats
from thresholds._engine.best_cuts import WithinLimits, best_of
from thresholds._engine.columns import Memory
from thresholds._engine.cuts import Cuts
from thresholds._engine.problem import Problem
from thresholds._engine.search_options import SearchOptions
from thresholds._engine.staircase import Columns
from thresholds.fitting.options import FitOptions

if TYPE_CHECKING:
    from thresholds._engine.budget import CutsInBudget
    from thresholds.guards.fitting import GuardedFit
    from thresholds.guards.limits import Limits
    from thresholds.rule.guarantees import Guarantees
    from thresholds.rule.guard_report import GuardReport
    from thresholds.rule.row_guarantees import RowGuarantees


class FoundCuts(NamedTuple):
    """The cuts of all labels, and what was found with them."""

    cuts: Cuts
    thresholds: Floats | None = None  # (n_labels,) where they are placed already
    report: "GuardReport | None" = None
    guarantees: "Guarantees | RowGuarantees | None" = None
    in_budget: "CutsInBudget | None" = None


class Search(NamedTuple):
    """What a fit asks of some labels, and what it makes of all answers, which come in the order of the labels."""

    ask: Callable[[Columns, Memory], Any]
    choose: Callable[[list[Any]], FoundCuts]
    ratio: float | None = None  # T / (B P + K) as guessed, where all labels are searched jointly


def search_of(
    problem: Problem, options: FitOptions, *, ratio: float | None = None
) -> Search | None:
    """Return the search of a fit; None for one that needs more than its labels one by one.

    `ratio` is a guess of T / (B P + K), where all labels are searched jointly.
    """
    has_other_way = options.promises_rows or options.confidence is not None
    if not options.per_label or options.max_predicted is not None or has_other_way:
        return None
    if options.guarded_by is not None and options.chosen_guard is None:
        return _search_within_limits(problem, options)
    run: Any = {"n_jobs": options.n_jobs, "progress": options.progress}
    best: Any = best_of(problem, options.average, options.beta, ratio=ratio, **run)
    if options.guarded_by is None:
        return Search(best, lambda answers: FoundCuts(best.cuts(answers)), best.ratio)

    # A guard reads histograms beside the best cuts.
    from thresholds._engine.histograms import joined
    from thresholds.guards.fitting import bins_for_guards, guarded_fit

    read = bins_for_guards(problem)

    def ask(columns: Columns, memory: Memory) -> Any:
        return best(columns, memory), read(columns, memory)

    def choose(answers: list[Any]) -> FoundCuts:
        of_best, bins = (list(column) for column in zip(*answers, strict=True))
        guard, limits = options.chosen_guard, limits_of(problem, options)
        assert guard is not None, "there is one"
        given = guard, limits, search_options(options), best.cuts(of_best), joined(bins)
        return found_by_guard(problem, options, guarded_fit(problem, *given))

    return Search(ask, choose, best.ratio)


def _search_within_limits(problem: Problem, options: FitOptions) -> Search:
    """Return the search for the best cuts within limits of counts."""
    from thresholds.guards.fitting import GuardedFit
    from thresholds.guards.limits import limited_cuts

    limits = limits_of(problem, options)
    best = WithinLimits(problem, limits.counts, options.beta)

    def choose(answers: list[Any]) -> FoundCuts:
        optimum, within = best.cuts(answers)
        chosen = limited_cuts(problem, limits, search_options(options), within)
        return found_by_guard(problem, options, GuardedFit(chosen, optimum))

    return Search(best, choose)


def search_options(options: FitOptions) -> SearchOptions:
    """Return the options that every search reads."""
    return SearchOptions(
        average=options.average,
        beta=options.beta,
        zero_division=options.zero_division,
        placement=options.placement,
        n_jobs=options.n_jobs,
        progress=options.progress,
    )


def limits_of(problem: Problem, options: FitOptions) -> "Limits":
    """Return the limits on the rows of the fit; floors that are to hold on new rows are none."""
    from thresholds._engine.choosing import CountLimits
    from thresholds.guards.limits import Limits

    limits = CountLimits.none(problem.n_labels)
    if options.max_overprediction is not None:
        limits.most_over[:] = options.max_overprediction
    if options.confidence is None:
        min_precision, min_recall = floors_of(problem, options)
        limits.least_precision[:] = np.nan_to_num(min_precision)
        limits.least_recall[:] = np.nan_to_num(min_recall)
    return Limits(limits)


def floors_of(problem: Problem, options: FitOptions) -> tuple[Floats, Floats]:
    """Return the floors of precision and of recall of each label, (n_labels,) each, NaN for none."""
    from thresholds._checks.floors import floors_of_labels

    names, n_labels = problem.label_names, problem.n_labels
    return (
        floors_of_labels(options.min_precision, "min_precision", names, n_labels),
        floors_of_labels(options.min_recall, "min_recall", names, n_labels),
    )


def found_by_guard(problem: Problem, options: FitOptions, guarded: "GuardedFit") -> FoundCuts:
    """Return what a guard found, or limits."""
    report = guarded.report(problem, options.guarded_by, search_options(options))
    return FoundCuts(guarded.cuts, report.guarded, report)
