"""Counting what a rule decides, a block of rows at a time.

Thresholds are chosen on staircases; what is reported about other data, or of a cut that all labels share, is judged
here, on predictions.
"""

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from thresholds import _checks
from thresholds.data.problem import Problem
from thresholds.metrics.averages import average_of, f_score
from thresholds.metrics.counts import ConfusionCounts, count_both_ways, stacked

if TYPE_CHECKING:
    from thresholds.rule import Rule


class Judged(NamedTuple):
    """Counts of a rule's decisions, by label (in the unit of the weights) and by row (unweighted)."""

    by_label: ConfusionCounts
    by_sample: ConfusionCounts


def judge(rule: "Rule", problem: Problem) -> Judged:
    """Count the decisions of a rule on all rows; it finds its labels by name."""
    order = _checks.places(
        problem.label_names, rule.label_names, "y_score", "the labels of the rule"
    )
    back = None if order is None else np.argsort(order)  # (n_labels,)
    dense = rule.needs_dense(problem.scores)
    by_label = None
    by_sample = []
    for rows in problem.row_blocks():
        # (n_rows, n_labels), in the order of the rule's labels
        scores = _checks.in_order(problem.scores[rows], order)
        decided = rule.decide(scores, dense=dense)
        predicted = _checks.in_order(decided, back)
        weights = None if problem.sample_weight is None else problem.sample_weight[rows]
        by_label, rows_of_block = count_both_ways(
            problem.truth[rows], predicted, weights, before=by_label
        )
        by_sample.append(rows_of_block)
    assert by_label is not None, "problems have rows"
    return Judged(by_label, stacked(by_sample))


def f_measure(
    judged: Judged, weights: Any, average: str, beta: float, zero_division: float
) -> float:
    """Average F-beta over labels or rows, as `metrics.fbeta_score` does; `weights` are those measured of the rows."""
    counts = judged.by_sample if average == "samples" else judged.by_label
    return average_of(f_score(beta), counts, average, zero_division, weights)
