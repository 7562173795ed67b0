"""Rules of the same labels, judged on the same rows: what each reaches, how sure that is, and where they differ."""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from functools import cached_property, partial
from typing import Any

import numpy as np

from thresholds import _checks
from thresholds._arrays import threads
from thresholds._arrays.sparse import is_sparse
from thresholds._arrays.threads import ALL_CORES
from thresholds._arrays.types import Ints
from thresholds._engine.problem import Problem
from thresholds.calibration import CalibratedRule, CalibrationMeasures, Calibrator
from thresholds.calibration.measures import UNKNOWN, measure_problem
from thresholds.comparison.agreement import agreement_of
from thresholds.comparison.certainty import Certainty, certainty_of
from thresholds.comparison.result import (
    OFTEN,
    Comparison,
    Measures,
)
from thresholds.diagnosis.evidence import Criteria, LabelEvidence, are_backwards, evidence_of
from thresholds.diagnosis.own_rows import was_fitted_on
from thresholds.diagnosis.states import states_of
from thresholds.metrics.averages import average_of, f_score, mean_of_defined
from thresholds.metrics.counts import ConfusionCounts
from thresholds.metrics.jackknife import Interval, leave_out_of
from thresholds.metrics.judging import (
    Made,
    count_truth,
    f_measure,
    judge_again,
    judge_all,
    positives_of,
)
from thresholds.metrics.leaving_out import units_of
from thresholds.metrics.ranking import aurocs_of
from thresholds.results import names_of
from thresholds.rule import InstanceRule, Rule, ThresholdRule
from thresholds.rule.watching.noticing import change_to_warn_of, warn_of


class _Scores:
    """What the scores know of the labels, whatever the rule; found when it is first asked for."""

    def __init__(self, problem: Problem) -> None:
        self._problem = problem
        self._evidence: dict[float, LabelEvidence] = {}
        self._calibrated: dict[int, CalibrationMeasures] = {}  # by identity of the calibrator

    def ask_together(self, rules: Collection[Rule]) -> None:
        """Ask all that rules need before memory is needed for decisions; two questions at a time."""
        problem = self._problem
        calibrated = [rule for rule in rules if _takes_probabilities(rule)]
        questions: list[Callable[[], object]] = [
            *(partial(self.evidence, missing) for missing in {rule.missing for rule in rules}),
            *(
                partial(_calibration, one_of_them, problem, self)
                for one_of_them in {_source(rule): rule for rule in calibrated}.values()
            ),
        ]
        threads.run(lambda ask: ask(), questions, at_most=2, cells=problem.n_stored)

    @cached_property
    def as_probabilities(self) -> CalibrationMeasures:
        """How far they are from probabilities."""
        problem = self._problem
        probabilities = _checks.probabilities(problem.scores, "y_score", problem.label_names)
        if probabilities is not problem.scores or problem.missing != 0:
            problem = replace(problem, scores=probabilities, missing=0.0)
        return measure_problem(problem, ALL_CORES)

    def as_calibrated(self, calibrator: Calibrator) -> CalibrationMeasures:
        """How far what a calibrator makes of them is from probabilities."""
        if id(calibrator) not in self._calibrated:
            self._calibrated[id(calibrator)] = calibrator.measure(self._problem)
        return self._calibrated[id(calibrator)]

    def evidence(self, missing: float) -> LabelEvidence:
        """Test each label, absent entries having the score `missing`."""
        if missing not in self._evidence:
            problem = _unweighted(self._problem)
            if problem.missing != missing:
                problem = replace(problem, missing=missing)
            self._evidence[missing] = evidence_of(problem, Criteria())
        return self._evidence[missing]

    def macro_auroc(self, missing: float) -> float:
        """Average AUROC over the labels with both classes, rows counting as they weigh."""
        problem = self._problem
        if problem.sample_weight is None:
            return float(mean_of_defined(self.evidence(missing).auroc, False))  # type: ignore[arg-type]
        aurocs = aurocs_of(replace(problem, missing=missing), problem.sample_weight)
        return float(mean_of_defined(aurocs, False))  # type: ignore[arg-type]


def judge_side_by_side(
    rules: Mapping[str, Rule],
    problem: Problem,
    *,
    beta: float,
    zero_division: float,
    groups: Ints | None,
    confidence: float | None,
    baseline: str | None = None,
) -> Comparison:
    """Judge rules of the labels of a problem; `groups` are numbered from 0, differences are those from a baseline."""

    def change_since_fit(name: str) -> str | None:
        rules[name].validate(problem.scores)
        order = _checks.places(
            problem.label_names, rules[name].label_names, "y_score", f"those of {name!r}"
        )
        return change_to_warn_of(rules[name], problem.scores, order=order)

    names = list(rules)
    changes = threads.run(change_since_fit, names, cells=problem.n_stored)
    for name, change in zip(names, changes, strict=True):
        warn_of(rules[name], change)

    # What the scores know of labels, before memory is needed for decisions.
    scores = _Scores(problem)
    scores.ask_together(rules.values())

    # What each rule decides, and the same where rows count alike, by row as well.
    judged = judge_all([*rules.values()], problem, keep=True, n_jobs=ALL_CORES)
    by_label = {name: of_rule.by_label for name, of_rule in zip(names, judged, strict=True)}
    decided = [of_rule.decided for of_rule in judged if of_rule.decided is not None]
    alike = _unweighted(problem)

    def look_again(decisions: Made) -> tuple[ConfusionCounts, float]:
        # Counts of rows take more memory than all else that is kept.
        again = judge_again(decisions, alike)
        samples = f_measure(again, problem.sample_weight, "samples", beta, zero_division)
        return again.by_label, samples

    found = threads.run(look_again, decided, cells=problem.n_stored)
    unweighted = [counts for counts, _ in found]

    agreement = None
    if len(rules) > 1:
        predicted = [counts.predicted for counts in unweighted]
        agreement = agreement_of(rules, decided, predicted, problem)

    # Absent entries score as they do for the first rule.
    missing = next(iter(rules.values())).missing
    measures = [
        _measures(
            name,
            rule,
            by_label[name],
            samples,
            counts,
            problem,
            scores,
            beta,
            zero_division,
        )
        for (name, rule), (counts, samples) in zip(rules.items(), found, strict=True)
    ]

    # How sure each figure is.
    certainty = Certainty({}, {}, ())
    if confidence is not None:
        if not is_sparse(problem.truth):
            _ = problem.bits_of_truth  # once, for all threads
        units = units_of(problem, groups)
        kept = dict(zip(names, decided, strict=True))
        certainty = certainty_of(
            measures,
            lambda name: leave_out_of(
                kept[name], problem, by_label[name], beta, units, zero_division
            ),
            baseline,
            confidence,
            problem.n_stored,
        )
        measures = _with_intervals(measures, certainty)
    return Comparison(
        measures=tuple(measures),
        beta=beta,
        zero_division=zero_division,
        confidence=confidence,
        paired_by="row" if groups is None else "group",
        agreement=agreement,
        behind_best=certainty.behind_best,
        differences=certainty.differences,
        **_about_data(rules, problem, scores, missing),
    )


def _defined(intervals: dict[str, Interval], measures: Measures) -> dict[str, Interval]:
    """Return intervals, NaN for a measure that is not defined."""
    unknown = Interval(np.nan, np.nan, np.nan)
    return {
        measure: unknown if np.isnan(getattr(measures, measure)) else interval
        for measure, interval in intervals.items()
    }


def _about_data(
    rules: Mapping[str, Rule], problem: Problem, scores: _Scores, missing: float
) -> dict[str, Any]:
    """Return what a comparison says of rows and labels, and which rules were fitted on them."""
    evidence = scores.evidence(missing)
    gold = count_truth(problem)
    is_often = gold.positives > OFTEN * gold.total  # (n_labels,)
    has_both = (gold.positives > 0) & (gold.positives < gold.total)  # (n_labels,)
    backwards = are_backwards(evidence, Criteria())  # (n_labels,)
    names = names_of(problem.label_names, problem.n_labels)
    positives = positives_of(problem)
    return {
        "n_samples": problem.n_samples,
        "n_labels": problem.n_labels,
        "n_cells": problem.n_known_cells,
        "fitted_here": tuple(
            name
            for name, rule in rules.items()
            if was_fitted_on(rule, problem, f"rule {name!r}", positives)
        ),
        "n_supported": int(np.count_nonzero(gold.positives)),
        "n_with_both_classes": int(np.count_nonzero(has_both)),
        "macro_auroc": scores.macro_auroc(missing),
        "gold_per_row": float(gold.positives.sum() / _weight_of_rows(problem, gold)),
        "labels_gold_often": int(np.count_nonzero(is_often)),
        "labels_tested": int(np.count_nonzero(~np.isnan(evidence.p_backwards))),
        "backwards": tuple(names[backwards].tolist()),
    }


def _with_intervals(measures: Sequence[Measures], certainty: Certainty) -> list[Measures]:
    """Return measures with their intervals."""
    return [
        replace(of_rule, intervals=_defined(certainty.intervals[of_rule.rule], of_rule))
        for of_rule in measures
    ]


def _measures(
    name: str,
    rule: Rule,
    by_label: ConfusionCounts,
    samples: float,
    unweighted: ConfusionCounts,
    problem: Problem,
    scores: _Scores,
    beta: float,
    zero_division: float,
) -> Measures:
    """Sum up what a rule reaches, label by label, and on average over rows, which is given."""
    supported = by_label.take(by_label.positives > 0)
    is_often = by_label.predicted > OFTEN * by_label.total  # (n_labels,)
    state = states_of(unweighted, scores.evidence(rule.missing), Criteria())  # (n_labels,)

    def reached(average: str) -> float:
        return average_of(f_score(beta), by_label, average, zero_division)

    calibration = _calibration(rule, problem, scores)
    return Measures(
        rule=name,
        micro=reached("micro"),
        macro_supported=average_of(f_score(beta), supported, "macro", zero_division),
        macro=reached("macro"),
        weighted=reached("weighted"),
        samples=samples,
        macro_skill=float(mean_of_defined(by_label.skill(), False)),  # type: ignore[arg-type]
        predicted_per_row=float(by_label.predicted.sum() / _weight_of_rows(problem, by_label)),
        platypus=int(np.count_nonzero(state == "platypus")),
        suspect=int(np.count_nonzero(state == "suspect")),
        labels_predicted_often=int(np.count_nonzero(is_often)),
        sum_over_positives=calibration.sum_over_positives,
        calibration_slope=calibration.slope,
    )


def _weight_of_rows(problem: Problem, counts: ConfusionCounts) -> float:
    """Return the weight of the rows that have a known cell, in the unit of counts by label."""
    if problem.unknown is None:
        return float(counts.total)
    is_known = problem.known_in_row > 0  # (n_samples,)
    weights = problem.sample_weight
    return float(is_known.sum() if weights is None else weights[is_known].sum())


def _calibration(rule: Rule, problem: Problem, scores: _Scores) -> CalibrationMeasures:
    """Measure what a rule takes for probabilities: calibrated scores, the scores themselves, or nothing."""
    rule = rule.uncapped
    if isinstance(rule, CalibratedRule):
        return scores.as_calibrated(rule.calibrator)
    return scores.as_probabilities if _takes_probabilities(rule) else UNKNOWN


def _source(rule: Rule) -> int | None:
    """Return which calibrator makes the probabilities that a rule takes, by its identity; None where scores are."""
    rule = rule.uncapped
    return id(rule.calibrator) if isinstance(rule, CalibratedRule) else None


def _takes_probabilities(rule: Rule) -> bool:
    """Whether a rule takes the scores for probabilities, or what a calibrator makes of them."""
    rule = rule.uncapped
    is_label_free = isinstance(rule, ThresholdRule) and rule.expected is not None
    return is_label_free or isinstance(rule, CalibratedRule | InstanceRule)


def _unweighted(problem: Problem) -> Problem:
    """Leave out weights, which a diagnosis has no use for."""
    if problem.sample_weight is None:
        return problem
    return replace(problem, unit_weights=None, unit=1.0, sample_weight=None)
