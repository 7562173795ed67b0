"""Measures of a rule as a whole, each with its interval: precision and recall of all marks, and averages of F.

All are figures of the rule's decisions in the table of judged rules (`metrics/judged_rules.py`).
"""

import numpy as np

from thresholds.metrics.averages import PRECISION, RECALL, average_of, f_score
from thresholds.metrics.counts import ConfusionCounts
from thresholds.metrics.judged_rules import JudgedRules
from thresholds.report.content import Change, Figure
from thresholds.report.wording import of_change
from thresholds.rule import Rule

NEW = "new"  # names of rules in the table of judged rules: the rule of the report, and that it is held against
OLD = "old"
MEASURES = {
    "precision": "Of all marks, the share that is right.",
    "recall": "Of all marks that should be made, the share that is made.",
    "micro": "Precision and recall of all marks in one number; frequent labels count most.",
    "macro": "The mean over the labels; a rare label counts as much as a frequent one.",
    "macro_supported": "The mean over the labels that some row here truly is.",
    "weighted": "The mean over the labels, each counted as often as it is true.",
    "samples": "The mean over the rows, each by its own marks.",
}
_SHARES = {"precision": PRECISION, "recall": RECALL}


def name_of(measure: str, beta: float) -> str:
    """Name a measure as an engineer does."""
    if measure in _SHARES:
        return f"micro {measure}"
    if measure == "macro_supported":
        return f"macro F{beta:g} of labels with positives"
    return f"{measure} F{beta:g}"


def figures_of(
    table: JudgedRules, rule: Rule, of_folds: ConfusionCounts | None, confidence: float
) -> tuple[Figure, ...]:
    """Return the measures of a rule, which the table has as `NEW`: of its own decisions, or of out-of-fold ones.

    Out-of-fold decisions about the same rows are known by label, not by row. So "samples" is left out there, and
    intervals are as wide as those of the rule's own decisions, which differ in few cells.
    """
    figures = []
    for measure in _measures_of(table):
        value, lower, upper = table.interval(NEW, measure, confidence)
        if of_folds is not None:
            if measure == "samples":
                continue
            own, value = value, _of_counts(measure, of_folds, rule)
            shift = value - own
            lower, upper = max(lower + shift, 0.0), min(upper + shift, 1.0)
        name = name_of(measure, rule.beta)
        figures.append(Figure(measure, name, value, lower, upper, MEASURES[measure]))
    return tuple(figures)


def changes_of(table: JudgedRules, beta: float, confidence: float) -> tuple[Change, ...]:
    """Hold each measure of the rule that the table has as `NEW` against that of `OLD`, paired by rows or groups."""
    changes = []
    for measure in _measures_of(table):
        before, after = (table.interval(age, measure, confidence).value for age in (OLD, NEW))
        difference = table.difference(NEW, OLD, measure, confidence)
        name = name_of(measure, beta)
        changes.append(Change(measure, name, before, after, difference, of_change(difference)))
    return tuple(changes)


def _measures_of(table: JudgedRules) -> list[str]:
    """Return which measures are shown: F of labels with positives where it is another than F of all."""
    has_positives = table.counts[NEW].by_label.positives > 0  # (n_labels,)
    return [name for name in MEASURES if name != "macro_supported" or not np.all(has_positives)]


def _of_counts(measure: str, counts: ConfusionCounts, rule: Rule) -> float:
    """Return a measure of counts by label."""
    if measure in _SHARES:
        return average_of(_SHARES[measure], counts, "micro", 0.0)
    if measure == "macro_supported":
        counts = counts.take(counts.positives > 0)
    average = measure.removesuffix("_supported")
    return average_of(f_score(rule.beta), counts, average, rule.zero_division)
