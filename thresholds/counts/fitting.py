"""Fitting counts: which scores have to be known one by one, and the rule of all rows."""

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from thresholds._checks import InputError
from thresholds._engine.best_cuts import best_among
from thresholds._engine.cuts import Cuts
from thresholds.counts.open_bins import open_bins, open_near
from thresholds.counts.problem import CountedProblem
from thresholds.counts.ranges import ScoreRanges
from thresholds.fitting.empirical import rule_of
from thresholds.fitting.options import FitOptions
from thresholds.fitting.searches import Found, aim_of, limits_of, of_guard
from thresholds.guards.base import GuardedFit
from thresholds.guards.fitting import guarded_fit
from thresholds.guards.limited import breaks_limits, limited_fit
from thresholds.guards.limits import Limits
from thresholds.rule import FittedOn, ThresholdRule
from thresholds.rule.fitted_on import SAMPLE_CELLS

if TYPE_CHECKING:
    from thresholds.counts.counts import Counts


def needed_for(counts: "Counts", options: FitOptions) -> ScoreRanges | None:
    """Return in which ranges every score is to be counted for a fit; None where the counts suffice."""
    problem = _problem(counts, options)
    return _needed(counts, problem, options)


def fit_counts(counts: "Counts", options: FitOptions) -> ThresholdRule:
    """Fit the thresholds of all rows that were counted."""
    problem = _problem(counts, options)
    if _needed(counts, problem, options) is not None:
        raise InputError(
            "counts are in bins, in some of which the best thresholds may lie, expected every score there to be"
            " counted, too: with_scores, in the ranges that needed_for returns"
        )
    found = _search(problem, options)
    in_brief = FittedOn.from_scores(
        problem.scores,
        problem.missing,
        found.cuts.positives * problem.unit,
        problem.known,
        some_scores=problem.some_scores(SAMPLE_CELLS),
    )
    rule = rule_of(problem, options, found, kept={"fitted_on": in_brief})
    assert rule.made_by is not None, "fits say so"
    return replace(rule, made_by=replace(rule.made_by, function="Counts.fit"))


def _search(problem: CountedProblem, options: FitOptions) -> Found:
    """Choose the cut of every label."""
    optimum = _optimum(problem, options)
    if options.guarded_by is None:
        return Found(optimum)
    limits = limits_of(problem, options)
    if options.chosen_guard is not None:
        return of_guard(problem, options, _guarded(problem, options, limits))
    allowed = limits.candidates(problem, problem.finest)
    best = best_among(allowed, "macro", options.beta)
    fit = limited_fit(problem, optimum, best, limits, options.placement, options.n_jobs)
    return of_guard(problem, options, fit)


def _optimum(problem: CountedProblem, options: FitOptions) -> Cuts:
    """Choose the best cuts in the sample."""
    steps = problem.finest.steps.cuttable(problem)
    return best_among(steps, options.average, options.beta)


def _guarded(problem: CountedProblem, options: FitOptions, limits: Limits) -> GuardedFit:
    """Choose the cuts of a guard, which reads the bins that it reads of rows."""
    guard, aim = options.chosen_guard, aim_of(options)
    assert guard is not None, "asked for where there is one"
    bins = problem.bins.merged()
    return guarded_fit(problem, guard, limits, aim, _optimum(problem, options), bins)


def _needed(counts: "Counts", problem: CountedProblem, options: FitOptions) -> ScoreRanges | None:
    """Return in which ranges every score is to be counted.

    What is open is read off the bins of all scores, so that it stays the same once some scores are known.
    """
    above = problem.missing if problem.keep_sparse else None
    limits = limits_of(problem, options)
    of_counts = limits.of_counts(problem.n_labels) if limits.any else None
    is_guarded = options.chosen_guard is not None
    wanted = open_bins(
        problem.bins,
        options.average,
        options.beta,
        above=above,
        limits=None if is_guarded else of_counts,
    )
    if is_guarded and of_counts is not None:
        # Labels whose cuts by the guard break limits are cut near them.
        guarded = _guarded(problem, options, Limits())
        broken = breaks_limits(guarded.guarded_cuts, limits, guarded.optimum.positives)
        predicted = guarded.guarded_cuts.predicted
        wanted |= open_near(problem.bins, options.beta, predicted, broken, of_counts, above=above)
    return counts.lacking(wanted)


def _problem(counts: "Counts", options: FitOptions) -> CountedProblem:
    """Return what a fit takes, if counts tell all that its options ask."""
    refuse_for_counts(options)
    keeps_sparse = options.keep_sparse is not False and counts.kind.is_sparse
    return counts.problem(keep_sparse=keeps_sparse)


def refuse_for_counts(options: FitOptions) -> None:
    """Refuse what counts of labels do not tell."""
    if options.named.method != "thresholds":
        raise InputError(
            f"rule is {options.rule!r}, which is not fitted from counts; expected a rule that cuts scores, or"
            " thresholds.fit with the rows"
        )
    refused: dict[str, tuple[Any, Any, str]] = {
        "max_predicted_per_row": (options.max_predicted_per_row, None, "a limit of rows"),
        "per_label": (options.per_label, True, "one threshold for all labels together"),
        "max_predicted": (options.max_predicted, None, "a budget of all labels together"),
        "confidence": (options.confidence, None, "a test of every score"),
    }
    if options.average == "samples":
        raise InputError(
            "average is 'samples', a mean over rows, which counts do not have; expected 'macro', 'weighted' or"
            " 'micro', or fit_empirical with the rows"
        )
    for name, (value, usual, what) in refused.items():
        if value != usual:
            raise InputError(
                f"{name} is {value}, {what}, which counts do not tell; expected {usual}, or fit_empirical with the rows"
            )
