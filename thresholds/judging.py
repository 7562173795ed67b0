"""Counting what a rule decides, a block of rows at a time.

Thresholds are chosen on staircases; what is reported about other data, or of a cut that all labels share, is judged
here, on predictions.
"""

from typing import NamedTuple

import numpy as np

from thresholds import metrics
from thresholds._checks import Matrix, is_sparse
from thresholds.metrics import Counts
from thresholds.problem import Problem
from thresholds.rule import Rule, ThresholdRule


class Judged(NamedTuple):
    """Counts of a rule's decisions, by label (in the unit of the weights) and by row (unweighted)."""

    by_label: Counts
    by_sample: Counts


def judge(rule: Rule, problem: Problem) -> Judged:
    """Count the decisions of a rule on all rows."""
    parts = []
    for rows in problem.row_blocks():
        truth, predicted = problem.truth[rows], _decisions(rule, problem.scores[rows])
        weights = None if problem.weights is None else problem.weights[rows]
        parts.append((metrics.count_by_label(truth, predicted, weights), metrics.count_by_sample(truth, predicted)))
    labels, samples = zip(*parts, strict=True)
    return Judged(
        Counts(*(np.add.reduce(counts) for counts in zip(*labels, strict=True))),
        Counts(*(np.concatenate(counts) for counts in zip(*samples, strict=True))),
    )


def f_measure(judged: Judged, problem: Problem, average: str, beta: float, zero_division: float) -> float:
    """Average F-beta over labels or rows, as `metrics.fbeta_score` does."""
    counts = judged.by_sample if average == "samples" else judged.by_label
    return float(metrics.average_f(counts, average, beta, zero_division, problem.weights))


def _decisions(rule: Rule, scores: Matrix) -> Matrix:
    """Predict; densely where the scores that a sparse matrix leaves out are predicted too."""
    if isinstance(rule, ThresholdRule) and is_sparse(scores):
        return rule._decide(scores, dense=rule.predicts_missing)
    return rule._decide(scores)
