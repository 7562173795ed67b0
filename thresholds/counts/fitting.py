"""Fitting counts: which scores have to be known one by one, and the rule of all rows."""

from typing import TYPE_CHECKING, Any

from thresholds._checks import InputError
from thresholds._engine.best_cuts import best_among
from thresholds.counts.open_bins import open_bins
from thresholds.counts.problem import CountedProblem
from thresholds.counts.ranges import ScoreRanges
from thresholds.fitting.empirical import rule_of
from thresholds.fitting.options import FitOptions
from thresholds.fitting.searches import Found, aim_of, limits_of, of_guard
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
    in_brief = FittedOn.of(
        problem.scores,
        problem.missing,
        found.cuts.positives * problem.unit,
        problem.known,
        some_scores=problem.some_scores(SAMPLE_CELLS),
    )
    return rule_of(problem, options, found, described={"fitted_on": in_brief})


def _search(problem: CountedProblem, options: FitOptions) -> Found:
    """Choose the cut of every label."""
    steps = problem.finest.steps.cuttable(problem)
    if options.guarded_by is None:
        return Found(best_among(steps, options.average, options.beta))
    from thresholds.guards.fitting import guarded_fit
    from thresholds.guards.limited import limited_fit

    limits, aim = limits_of(problem, options), aim_of(options)
    optimum = best_among(steps, options.average, options.beta)
    guard = options.chosen_guard
    if guard is not None:
        # The guard reads the bins that it reads of rows.
        bins = problem.bins.merged()
        return of_guard(problem, options, guarded_fit(problem, guard, limits, aim, optimum, bins))
    allowed = limits.candidates(problem, problem.finest)
    best = best_among(allowed, "macro", options.beta)
    fit = limited_fit(problem, optimum, best, limits, options.placement, options.n_jobs)
    return of_guard(problem, options, fit)


def _needed(
    counts: "Counts", problem: CountedProblem, options: FitOptions
) -> ScoreRanges | None:
    """Return in which ranges every score is to be counted."""
    limits = None
    if options.guarded_by is not None and options.chosen_guard is None:
        limits = limits_of(problem, options).of_counts(problem.n_labels)
    wanted = open_bins(
        problem.finest,
        options.average,
        options.beta,
        above=problem.missing if problem.keep_sparse else None,
        limits=limits,
    )
    wanted &= problem.finest.lowest < problem.finest.highest
    return ScoreRanges.of_bins(counts.kind, problem.finest, wanted) if wanted.any() else None


def _problem(counts: "Counts", options: FitOptions) -> CountedProblem:
    """Return what a fit takes, if counts tell all that its options ask."""
    _refuse(options)
    keeps_sparse = options.keep_sparse is not False and counts.kind.is_sparse
    return counts.problem(keep_sparse=keeps_sparse)


def _refuse(options: FitOptions) -> None:
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
