"""Rules judged by counts of rows: what they decide, what the scores know of the labels, and which rule is better.

Decisions of a rule that cuts scores are counts at its thresholds. From tie groups all that `diagnose` says of labels is
that of the rows. From counts at candidates so is all that the order of positives among the others tells: AUROC, its
variance, the best F1 of any cut. Which negatives between two positives are tied is not known; they count as if no two
were. That widens the distribution of the sum of ranks, and adds cuts that may reach the best F1 by chance: the p-values
of both are those of the rows or higher. (Above a half a wider distribution has lower p-values; but these count twice,
and so as 1. Where the test is a sum of p-values, each is taken for the variance that makes it larger.)

There is one exception. Where one score has more than a tenth of the rows, the test of ranks asks how many positives lie
outside that tie group. If no positive has that score, counts do not know the group, and the p-value is that of another
approximation: it may be lower, too. experiments/scale/ties.py counts how often. (Of p-values below 1e-12 nothing is
said but that.)

Counts have no rows: F over rows, intervals, and calibration are left out of a comparison.
"""

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from thresholds import _checks
from thresholds._checks import InputError, shown
from thresholds.comparison.compare import common_names, refuse_no_rules
from thresholds.comparison.result import Comparison
from thresholds.comparison.side_by_side import counts_side_by_side
from thresholds.data.counted import CountedProblem
from thresholds.diagnosis.evidence import Criteria, evidence_of
from thresholds.diagnosis.result import Diagnosis
from thresholds.diagnosis.states import conclude
from thresholds.metrics.counts import ConfusionCounts
from thresholds.metrics.judging import judge
from thresholds.results import counted, shown_name
from thresholds.rule import Rule

ABOUT_TIES = (
    "judged by counts at candidates: scores of negatives between two candidates count as untied, so that p-values"
    " are those of the rows or higher, unless more than a tenth of these have one score that no positive has"
)


def decisions_of(rule: object, problem: CountedProblem, *, sparse: bool) -> ConfusionCounts:
    """Count what a rule decides, label by label, in the weights of the rows."""
    checked = _judgeable(rule, "rule", problem, sparse=sparse)
    counts = judge(checked, problem).by_label
    names = None if problem.label_names is None else list(problem.label_names)
    return counts if names is None else replace(counts, labels=names)


def diagnosis_of(
    rule: object,
    problem: CountedProblem,
    criteria: Criteria,
    *,
    sparse: bool,
    n_jobs: int | None,
    progress: bool,
) -> Diagnosis:
    """Diagnose the labels of a rule by counts of rows that weigh 1 each."""
    checked = _judgeable(rule, "rule", problem, sparse=sparse)
    _refuse_weights(problem)
    if problem.label_names is None:
        problem = replace(problem, label_names=checked.label_names)
    order = _checks.places(
        problem.label_names, checked.label_names, "counts", "the labels of the rule"
    )
    if order is not None:
        checked = checked.reordered(np.argsort(order))
    evidence = evidence_of(problem, criteria, n_jobs=n_jobs, progress=progress)
    diagnosis = conclude(problem, checked, evidence, criteria)
    return replace(diagnosis, note=ABOUT_TIES) if problem.has_runs else diagnosis


def comparison_of(
    rules: object,
    problem: CountedProblem,
    *,
    sparse: bool,
    beta: float,
    zero_division: float,
) -> Comparison:
    """Judge rules side by side by counts of rows that weigh 1 each."""
    if not isinstance(rules, Mapping):
        raise InputError(f"rules is {shown(rules)}, expected a mapping of names to rules")
    refuse_no_rules(rules)
    checked = {
        name: _judgeable(rule, f"rule {name!r}", problem, sparse=sparse)
        for name, rule in rules.items()
    }
    _refuse_weights(problem)
    if problem.label_names is None:
        problem = replace(problem, label_names=common_names(checked))
    comparison = counts_side_by_side(checked, problem, beta=beta, zero_division=zero_division)
    return replace(comparison, rows=_about_rows(comparison))


def _about_rows(comparison: Comparison) -> str:
    """Say on what rules were judged, which were fitted there, and what is left out."""
    judged = f"rules as given, judged on counts of {counted(comparison.n_samples, 'row')}"
    if comparison.fitted_here:
        names = ", ".join(map(shown_name, comparison.fitted_here))
        judged = f"{judged}; fitted on these: {names}, whose figures are too high"
    without = "F over rows, intervals and calibration"
    if comparison.agreement is None and len(comparison.measures) > 1:
        without = "F over rows, intervals, calibration and how far the rules decide alike"
    return f"{judged}; {without} take rows, and are left out"


def _judgeable(rule: object, name: str, problem: CountedProblem, *, sparse: bool) -> Rule:
    """Refuse what is no rule of these labels that cuts scores."""
    if not isinstance(rule, Rule):
        raise InputError(f"{name} is {shown(rule)}, expected a rule")
    if rule.n_labels is not None and rule.n_labels != problem.n_labels:
        raise InputError(
            f"{name} has {counted(rule.n_labels, 'label')}, expected {problem.n_labels} as the counts have"
        )
    if rule.switch_scores() is None:
        raise InputError(
            f"{name} is a {type(rule).__name__}, which decides by all scores of a row, and counts have no rows;"
            " expected a rule that decides by each label's own score"
        )
    if sparse and rule.missing != problem.missing:
        raise InputError(
            f"{name} has missing={rule.missing}, expected {problem.missing} as the counts have"
        )
    return rule


def _refuse_weights(problem: CountedProblem) -> None:
    """Refuse weights, as tests count rows."""
    if not problem.counts_rows:
        raise InputError(
            "counts are of weighted rows, expected those of rows without sample_weight: whether scores know a label is"
            " tested on rows"
        )
