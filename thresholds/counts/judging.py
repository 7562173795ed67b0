"""Rules judged by counts of rows: what they decide, and which labels may be relied on."""

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from thresholds import _checks
from thresholds._arrays.dtypes import rounded_up
from thresholds._arrays.types import Booleans, Floats
from thresholds._checks import InputError, shown
from thresholds._engine.histograms import Histograms
from thresholds._results.words import counted
from thresholds.counts.problem import CountedProblem
from thresholds.diagnosis.diagnosing import conclude_from
from thresholds.diagnosis.evidence import Criteria, evidence_of
from thresholds.diagnosis.result import Diagnosis
from thresholds.guards.cuts import CountsAt, count_at
from thresholds.metrics.counts import ConfusionCounts
from thresholds.rule import Rule

IN_BINS = (
    "judged by counts: what the rule decides is counted exactly; what the scores know of the labels is read from bins,"
    " where scores of one bin count as equal"
)


def bins_to_judge(problem: CountedProblem, rules: Sequence[Rule]) -> Booleans:
    """Tell of each bin, (n_bins,), whether thresholds of rules part its scores."""
    bins = problem.bins
    # The last stands for labels without a bin.
    is_wanted = np.zeros(bins.lowest.size + 1, np.bool_)
    for rule in rules:
        for scores in _switches(rule, problem):
            at = count_at(bins, scores)
            is_wanted[at.bin[_are_within_bins(at, bins, scores)]] = True
    return is_wanted[:-1]


def diagnose(
    problem: CountedProblem, rule: Rule, criteria: Criteria, *, n_jobs: int | None, progress: bool
) -> Diagnosis:
    """Diagnose the labels of a rule by counts of rows that weigh 1 each."""
    decided = confusion(problem, rule)
    if not problem.counts_rows:
        raise InputError(
            "counts are of weighted rows, expected those of rows without sample_weight: whether scores know a label is"
            " tested on rows"
        )
    rule = _in_order_of(rule, problem)
    if problem.label_names is None:
        problem = replace(problem, label_names=rule.label_names)
    # What was counted score by score depends on the rule: it is left out here, so that evidence does not.
    in_bins = replace(problem, finest=problem.bins)
    evidence = evidence_of(in_bins, criteria, n_jobs=n_jobs, progress=progress)
    diagnosis = conclude_from(
        decided, problem, rule, evidence, criteria, on_own_rows=_was_fitted_on(rule, problem)
    )
    bins = problem.bins
    return diagnosis if (bins.lowest == bins.highest).all() else replace(diagnosis, note=IN_BINS)


def confusion(problem: CountedProblem, rule: Rule) -> ConfusionCounts:
    """Count what a rule decides, label by label, in the weights of the rows."""
    # A label is predicted from its first switch on, no more from the second on, again from the third on.
    bins = problem.finest
    tp, predicted = np.zeros((2, problem.n_labels), np.int64)
    for number, scores in enumerate(_switches(rule, problem)):
        at = count_at(bins, scores)
        if _are_within_bins(at, bins, scores).any():
            raise InputError(
                "counts are in bins, in some of which thresholds of the rule lie, expected every score there to be"
                " counted, too: with_scores, in the ranges that needed_to_judge returns"
            )
        sign = -1 if number % 2 else 1
        tp += sign * (at.tp_above + at.tp_tied)
        predicted += sign * (at.above + at.tied)
    sums = np.stack([tp, predicted, bins.positives])  # (3, n_labels)
    unit = problem.unit if problem.totals.is_weighted else 1  # numbers of rows are whole
    names = range(problem.n_labels) if problem.label_names is None else list(problem.label_names)
    return ConfusionCounts(sums, problem.weight_of_label, unit=unit, labels=names)


def _are_within_bins(at: CountsAt, bins: Histograms, scores: Floats) -> Booleans:
    """Tell which scores, one of each label, part the scores of a bin, (n_labels,)."""
    lowest = np.append(bins.lowest, np.inf)[at.bin]
    return np.asarray((at.tied > 0) & (lowest < scores))


def _switches(rule: Rule, problem: CountedProblem) -> Iterator[Floats]:
    """Return the first, second, ... score of each label at which a rule begins, or ends, to predict it, (n_labels,)."""
    _refuse(rule, problem)
    switches = _in_order_of(rule, problem).switch_scores()
    assert switches is not None, "refused before"
    for number in range(max(own.size for own in switches)):
        scores = [own[number] if number < own.size else np.inf for own in switches]
        yield rounded_up(np.array(scores), problem.dtype)


def _refuse(rule: object, problem: CountedProblem) -> None:
    """Refuse what is no rule of these labels that cuts scores."""
    if not isinstance(rule, Rule):
        raise InputError(f"rule is {shown(rule)}, expected a rule")
    if rule.n_labels is not None and rule.n_labels != problem.n_labels:
        raise InputError(
            f"rule has {counted(rule.n_labels, 'label')}, expected {problem.n_labels} as the counts have"
        )
    if rule.switch_scores() is None:
        raise InputError(
            f"rule is a {type(rule).__name__}, which decides by all scores of a row, and counts have no rows;"
            " expected a rule that decides by each label's own score"
        )
    if problem.is_sparse and rule.missing != problem.missing:
        raise InputError(
            f"rule has missing={rule.missing}, expected {problem.missing} as the counts have"
        )


def _in_order_of(rule: Rule, problem: CountedProblem) -> Rule:
    """Return the rule with its labels in the order of the counts, where both have names."""
    order = _checks.places(
        problem.label_names, rule.label_names, "counts", "the labels of the rule"
    )
    return rule if order is None else rule.reordered(np.argsort(order))


def _was_fitted_on(rule: Rule, problem: CountedProblem) -> bool:
    """Whether a rule seems to be fitted on these rows: as many, with as many positives of each label."""
    if rule.fitted_on is None or rule.fitted_on.n_samples != problem.n_samples:
        return False
    weights = problem.finest.positives * problem.unit
    return np.array_equal(rule.fitted_on.positives, weights)
