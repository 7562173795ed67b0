"""Rules of the same labels, judged on the same rows: what each reaches, how sure that is, and where they differ."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from thresholds import _checks
from thresholds._arrays.threads import ALL_CORES
from thresholds._arrays.types import Ints
from thresholds._engine.problem import Problem
from thresholds._results.result import names_of
from thresholds.calibration import CalibratedRule, CalibrationMeasures
from thresholds.calibration.measures import UNKNOWN, measure_problem
from thresholds.comparison.agreement import agreement_of
from thresholds.comparison.result import (
    MEASURED,
    OFTEN,
    Behind,
    Comparison,
    Measures,
    RuleGain,
)
from thresholds.diagnosis.evidence import Criteria, LabelEvidence, evidence_of, shown_of
from thresholds.diagnosis.own_rows import was_fitted_on
from thresholds.diagnosis.states import states_of
from thresholds.metrics.averages import average_of, f_score, mean_of_defined
from thresholds.metrics.counts import ConfusionCounts
from thresholds.metrics.jackknife import Interval, behind
from thresholds.metrics.judged_rules import JudgedRules
from thresholds.metrics.judging import count_truth, decide_all, positives_of
from thresholds.metrics.ranking import aurocs_of
from thresholds.rule import InstanceRule, Rule, ThresholdRule


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
    _warn_of_changes(rules, problem)

    # What the scores know of labels, whatever the rule; absent entries score as they do for the rule.
    unweighted = _without_weights(problem)
    evidence = {
        missing: evidence_of(replace(unweighted, missing=missing), Criteria())
        for missing in {rule.missing for rule in rules.values()}
    }

    # What each rule decides, counts and reaches.
    table = JudgedRules(
        {name: decide_all(rule, problem) for name, rule in rules.items()},
        problem,
        beta=beta,
        zero_division=zero_division,
        groups=groups,
    )
    calibration = _calibration_of(rules, problem)
    measures = []
    for name, rule in rules.items():
        counts = table.counts[name].by_label
        measures.append(
            Measures(
                rule=name,
                **_reached(table, name, counts, beta, zero_division),
                predicted_per_row=float(counts.predicted.sum() / _weight_of_rows(problem, counts)),
                labels_predicted_often=int(
                    np.count_nonzero(counts.predicted > OFTEN * counts.total)
                ),
                **_flagged(table.unweighted(name), evidence[rule.missing]),
                sum_over_positives=calibration[name].sum_over_positives,
                calibration_slope=calibration[name].slope,
            )
        )

    # How sure that is.
    sure: dict[str, Any] = {}
    if confidence is not None:
        measures = [
            replace(row, intervals=_intervals_of(table, row, confidence)) for row in measures
        ]
        sure = {
            "behind_best": _behind_best(table, measures, confidence),
            "differences": _differences(table, baseline, confidence),
        }
    first = next(iter(rules.values()))
    return Comparison(
        measures=tuple(measures),
        beta=beta,
        zero_division=zero_division,
        confidence=confidence,
        paired_by="row" if groups is None else "group",
        agreement=agreement_of(table.decided, problem) if len(rules) > 1 else None,
        **sure,
        **_about_data(rules, problem, evidence[first.missing], first.missing),
    )


def _warn_of_changes(rules: Mapping[str, Rule], problem: Problem) -> None:
    """Refuse scores that a rule cannot take, and warn of those that differ gravely from those of its fit."""
    for name, rule in rules.items():
        rule.validate(problem.scores)
        order = _checks.places(
            problem.label_names, rule.label_names, "y_score", f"those of {name!r}"
        )
        rule.warn_if_changed(problem.scores, order=order)


def _without_weights(problem: Problem) -> Problem:
    """Leave out weights, which a diagnosis has no use for."""
    return replace(problem, unit_weights=None, unit=1.0, sample_weight=None)


def _reached(
    table: JudgedRules, name: str, counts: ConfusionCounts, beta: float, zero_division: float
) -> dict[str, Any]:
    """Return what a rule reaches by each measure."""
    supported = counts.take(counts.positives > 0)
    skill: Any = mean_of_defined(counts.skill(), False)
    return {
        "micro": table.figure(name, "micro"),
        "macro_supported": average_of(f_score(beta), supported, "macro", zero_division),
        "macro": table.figure(name, "macro"),
        "weighted": table.figure(name, "weighted"),
        "samples": table.figure(name, "samples"),
        "macro_skill": float(skill),
    }


def _flagged(counts: ConfusionCounts, evidence: LabelEvidence) -> dict[str, Any]:
    """Count the labels that `diagnose` flags, from unweighted counts."""
    state = states_of(counts, evidence, Criteria())  # (n_labels,)
    return {name: int(np.count_nonzero(state == name)) for name in ("platypus", "suspect")}


def _weight_of_rows(problem: Problem, counts: ConfusionCounts) -> float:
    """Return the weight of the rows that have a known cell, in the unit of counts by label."""
    if problem.unknown is None:
        return float(counts.total)
    is_known = problem.known_in_row > 0  # (n_samples,)
    weights = problem.sample_weight
    return float(is_known.sum() if weights is None else weights[is_known].sum())


def _intervals_of(table: JudgedRules, row: Measures, confidence: float) -> dict[str, Interval]:
    """Return the interval of each measure of a rule; NaN for a measure that is not defined."""
    unknown = Interval(np.nan, np.nan, np.nan)
    return {
        measure: unknown
        if np.isnan(getattr(row, measure))
        else table.interval(row.rule, measure, confidence)
        for measure in MEASURED
    }


def _behind_best(
    table: JudgedRules, rows: list[Measures], confidence: float
) -> dict[str, dict[str, Behind]]:
    """Return how far each rule is behind the best by each measure; nothing for a single rule."""
    if len(rows) == 1:
        return {}
    found: dict[str, dict[str, Behind]] = {}
    for measure in MEASURED:
        # Of equals the first is the best; a measure that no rule has is 0.
        best = max(rows, key=lambda row: float(np.nan_to_num(getattr(row, measure))))
        found[measure] = {}
        for name, left_out in table.left_out.items():
            interval, is_tied = behind(
                table.left_out[best.rule], left_out, measure, confidence, len(rows)
            )
            found[measure][name] = Behind(*interval, is_tied)
    return found


def _differences(
    table: JudgedRules, baseline: str | None, confidence: float
) -> tuple[RuleGain, ...]:
    """Return how much more each rule reaches than the baseline, if there is one."""
    if baseline is None:
        return ()
    return tuple(
        RuleGain(name, baseline, measure, *table.difference(name, baseline, measure, confidence))
        for name in table.decided
        if name != baseline
        for measure in MEASURED
    )


def _about_data(
    rules: Mapping[str, Rule], problem: Problem, evidence: LabelEvidence, missing: float
) -> dict[str, Any]:
    """Return what a comparison says of rows and labels, and which rules were fitted on them."""
    gold = count_truth(problem)
    has_both = (gold.positives > 0) & (gold.positives < gold.total)  # (n_labels,)
    _, _, backwards = shown_of(evidence, Criteria())  # (n_labels,)
    names = names_of(problem.label_names, problem.n_labels)
    aurocs = evidence.auroc  # (n_labels,), of rows that weigh 1 each
    if problem.sample_weight is not None:
        aurocs = aurocs_of(replace(problem, missing=missing), problem.sample_weight)
    macro_auroc: Any = mean_of_defined(aurocs, False)
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
        "macro_auroc": float(macro_auroc),
        "gold_per_row": float(gold.positives.sum() / _weight_of_rows(problem, gold)),
        "labels_gold_often": int(np.count_nonzero(gold.positives > OFTEN * gold.total)),
        "labels_tested": int(np.count_nonzero(~np.isnan(evidence.p_backwards))),
        "backwards": tuple(names[backwards].tolist()),
    }


def _calibration_of(rules: Mapping[str, Rule], problem: Problem) -> dict[str, CalibrationMeasures]:
    """Measure what each rule takes for probabilities: calibrated scores, the scores themselves, or nothing."""
    measured: dict[int | None, CalibrationMeasures] = {}  # by identity of the calibrator
    found = {}
    for name, rule in rules.items():
        found[name] = UNKNOWN
        taken = rule.uncapped
        if isinstance(taken, CalibratedRule):
            calibrator = taken.calibrator
            if id(calibrator) not in measured:
                measured[id(calibrator)] = calibrator.measure(problem)
            found[name] = measured[id(calibrator)]
        elif isinstance(taken, InstanceRule) or (
            isinstance(taken, ThresholdRule) and taken.expected is not None
        ):
            if None not in measured:
                probabilities = _checks.probabilities(
                    problem.scores, "y_score", problem.label_names
                )
                of_scores = replace(problem, scores=probabilities, missing=0.0)
                measured[None] = measure_problem(of_scores, ALL_CORES)
            found[name] = measured[None]
    return found
