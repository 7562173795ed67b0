"""Measures of a rule as a whole, each with its interval: averages of F, and the shares of all marks that are right.

Precision and recall of all marks are ratios of two sums over rows, as micro-F is. So they are known without each row,
or group, and their intervals are made as those of F are (`metrics/jackknife.py`).
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from thresholds._arrays.types import Ints, Numbers
from thresholds._engine.problem import Problem
from thresholds.diagnosis.evidence import Criteria
from thresholds.metrics.averages import average_of, f_score
from thresholds.metrics.counts import ConfusionCounts
from thresholds.metrics.jackknife import Interval, difference_of, interval_of
from thresholds.metrics.judging import Judged, count_decisions, decide_all
from thresholds.metrics.leaving_out import LeftOut, leave_out_of
from thresholds.report.content import Change, Figure
from thresholds.report.wording import of_change
from thresholds.rule import Rule

MEASURES = {
    "precision": "Of all marks, the share that is right.",
    "recall": "Of all marks that should be made, the share that is made.",
    "micro": "Precision and recall of all marks in one number; frequent labels count most.",
    "macro": "The mean over the labels; a rare label counts as much as a frequent one.",
    "macro_supported": "The mean over the labels that some row here truly is.",
    "weighted": "The mean over the labels, each counted as often as it is true.",
    "samples": "The mean over the rows, each by its own marks.",
}
_SHARES = ("precision", "recall")


def name_of(measure: str, beta: float) -> str:
    """Name a measure as an engineer does."""
    if measure in _SHARES:
        return f"micro {measure}"
    if measure == "macro_supported":
        return f"macro F{beta:g} of labels with positives"
    return f"{measure} F{beta:g}"


def measures_of(judged: Judged) -> tuple[str, ...]:
    """Return which measures are shown: F of labels with positives where it is another than F of all."""
    measures = dict(MEASURES)
    if judged.by_label.positives.all():
        del measures["macro_supported"]
    return tuple(measures)


class Asked(NamedTuple):
    """How measures are taken, of all rules alike."""

    beta: float
    zero_division: float
    groups: Ints | None  # (n_samples,) numbers from 0; None where each row stands for itself
    confidence: float
    group_name: str = "group"
    min_f: float = Criteria().min_f
    min_skill: float = Criteria().min_skill

    @property
    def alpha(self) -> float:
        """The rate of errors, or of false discoveries, that the confidence leaves."""
        return round(1 - self.confidence, 12)

    @property
    def criteria(self) -> Criteria:
        """What is asked of labels."""
        return Criteria(alpha=self.alpha, min_f=self.min_f, min_skill=self.min_skill)


class Reached(NamedTuple):
    """The measures of one rule, each on all rows and without each row, or each group."""

    averages: LeftOut  # of F
    shares: Mapping[str, LeftOut]  # "precision" and "recall"

    def interval(self, measure: str, confidence: float) -> Interval:
        """Return a measure with its interval."""
        return interval_of(self.of(measure), measure, confidence)

    def of(self, measure: str) -> LeftOut:
        """Return what has a measure."""
        return self.shares.get(measure, self.averages)


def reached_by(rule: Rule, problem: Problem, asked: Asked) -> tuple[Judged, Reached]:
    """Count what a rule decides on all rows, and without each row or group."""
    judged = count_decisions(decide_all(rule, problem), problem)
    assert judged.by_sample is not None, "rows are counted"
    averages = leave_out_of(judged.decided, problem, asked.beta, asked.groups, asked.zero_division)
    tp, predicted, positives = judged.by_sample.sums  # (n_samples,) each
    units = np.arange(tp.size) if asked.groups is None else asked.groups  # (n_samples,)
    right = np.bincount(units, tp)  # (n_units,)
    shares = {
        "precision": _share_left_out("precision", right, np.bincount(units, predicted)),
        "recall": _share_left_out("recall", right, np.bincount(units, positives)),
    }
    return judged, Reached(averages, shares)


def _share_left_out(measure: str, right: Numbers, whole: Numbers) -> LeftOut:
    """Return a ratio of two sums over units, on all and without each; only units of a part in `whole` count."""
    without = _share(right.sum() - right, whole.sum() - whole)  # (n_units,)
    return LeftOut(
        on_all={measure: float(_share(right.sum(), whole.sum()))},
        changes={measure: without - without.mean()},
        n_active=int(np.count_nonzero(whole)),
    )


def figures_of(reached: Reached, measures: Sequence[str], asked: Asked) -> tuple[Figure, ...]:
    """Return measures with their names and intervals."""
    return tuple(
        Figure(
            measure,
            name_of(measure, asked.beta),
            *reached.interval(measure, asked.confidence),
            MEASURES[measure],
        )
        for measure in measures
    )


def moved_to(
    figures: Sequence[Figure], of_folds: ConfusionCounts, asked: Asked
) -> tuple[Figure, ...]:
    """Give measures the values of out-of-fold decisions about the same rows, which are known by label, not by row.

    So "samples" is left out, and intervals are as wide as those of the rule's own decisions, which differ in few cells.
    """
    moved = []
    for figure in figures:
        if figure.measure == "samples":
            continue
        value = _of_counts(figure.measure, of_folds, asked)
        shift = value - figure.value
        lower = max(figure.lower + shift, 0.0)
        upper = min(figure.upper + shift, 1.0)
        moved.append(replace(figure, value=value, lower=lower, upper=upper))
    return tuple(moved)


def _of_counts(measure: str, counts: ConfusionCounts, asked: Asked) -> float:
    """Return a measure of counts by label."""
    if measure in _SHARES:
        tp, predicted, positives = counts.pooled().sums[:, 0]
        return float(_share(tp, predicted if measure == "precision" else positives))
    if measure == "macro_supported":
        return _of_counts("macro", counts.take(counts.positives > 0), asked)
    return average_of(f_score(asked.beta), counts, measure, asked.zero_division)


def change_of(measure: str, old: Reached, new: Reached, asked: Asked) -> Change:
    """Hold a measure of two rules against each other, paired by rows or groups."""
    name = name_of(measure, asked.beta)
    before = old.of(measure)
    after = new.of(measure)
    difference = difference_of(after, before, measure, asked.confidence)
    return Change(
        measure,
        name,
        before.on_all[measure],
        after.on_all[measure],
        difference,
        of_change(difference),
    )


def _share(part: Numbers, whole: Numbers) -> Numbers:
    """Divide; 0 where there is nothing to divide by."""
    return np.asarray(part / np.maximum(whole, 1))
