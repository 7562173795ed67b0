"""Fitting counts: which scores have to be known one by one, and the rule of all rows."""

from dataclasses import replace
from typing import Any

from thresholds._arrays.types import Booleans
from thresholds._checks import InputError
from thresholds._engine.best_cuts import best_among
from thresholds._engine.choosing import CountLimits
from thresholds._engine.cuts import Cuts
from thresholds.counts.open_bins import open_bins, open_near
from thresholds.counts.problem import CountedProblem
from thresholds.fitting.empirical import rule_of
from thresholds.fitting.options import FitOptions
from thresholds.fitting.searches import FoundCuts, found_by_guard, limits_of, search_options
from thresholds.guards.fitting import GuardedFit, guarded_fit
from thresholds.guards.limits import Limits, limited_cuts
from thresholds.rule import FittedOn, ThresholdRule
from thresholds.rule.fitted_on import SAMPLE_CELLS


def fit_counts(problem: CountedProblem, options: FitOptions) -> ThresholdRule:
    """Fit the thresholds of all rows that were counted, score by score where that matters."""
    found = _search(problem, options)
    in_brief = FittedOn.from_scores(
        problem.scores,
        problem.missing,
        found.cuts.positives * problem.unit,
        problem.known,
        some_scores=problem.some_scores(SAMPLE_CELLS),
    )
    rule = rule_of(problem, options, found, fitted_on=in_brief)
    assert rule.made_by is not None, "fits say so"
    return replace(rule, made_by=replace(rule.made_by, function="Counts.fit"))


def _search(problem: CountedProblem, options: FitOptions) -> FoundCuts:
    """Choose the cut of every label."""
    optimum = _optimum(problem, options)
    if options.guarded_by is None:
        return FoundCuts(optimum)
    limits = limits_of(problem, options)
    if options.chosen_guard is not None:
        return found_by_guard(problem, options, _guarded(problem, options, limits))
    allowed = limits.candidates(problem, problem.finest)
    best = best_among(allowed, "macro", options.beta)
    cuts = limited_cuts(problem, limits, search_options(options), best)
    return found_by_guard(problem, options, GuardedFit(cuts, optimum))


def _optimum(problem: CountedProblem, options: FitOptions) -> Cuts:
    """Choose the best cuts in the sample."""
    steps = problem.finest.steps.cuttable(problem)
    return best_among(steps, options.average, options.beta)


def _guarded(problem: CountedProblem, options: FitOptions, limits: Limits) -> GuardedFit:
    """Choose the cuts of a guard, which reads the bins that it reads of rows."""
    guard, optimum = options.chosen_guard, _optimum(problem, options)
    assert guard is not None, "asked for where there is one"
    bins = problem.bins.merged()
    return guarded_fit(problem, guard, limits, search_options(options), optimum, bins)


def bins_to_fit(problem: CountedProblem, options: FitOptions) -> Booleans:
    """Tell of each bin, (n_bins,), whether every score in it is to be counted for a fit.

    What is open is read off the bins of all scores, so that it stays the same once some scores are known.
    """
    above = problem.missing if problem.keep_sparse else None
    limits = limits_of(problem, options)
    of_counts = limits.counts if limits.any else None
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
        free = Limits(CountLimits.none(problem.n_labels))
        guarded = _guarded(problem, options, free)
        broken = limits.are_broken(guarded.guarded_cuts, guarded.optimum.positives)
        predicted = guarded.guarded_cuts.predicted
        wanted |= open_near(problem.bins, options.beta, predicted, broken, of_counts, above=above)
    return wanted


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
