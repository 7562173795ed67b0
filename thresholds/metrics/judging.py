"""Counting what a rule decides, a block of rows at a time.

Thresholds are chosen on staircases; what is reported about other data, or of a cut that all labels share, is judged
here, on predictions.
"""

from typing import Any, NamedTuple, Protocol

from thresholds._arrays.sparse import is_sparse
from thresholds._arrays.types import Matrix
from thresholds.data.problem import Problem
from thresholds.metrics.averages import average_of, f_score
from thresholds.metrics.counts import ConfusionCounts, count_both_ways, stacked


class Decides(Protocol):
    """What turns checked scores into decisions: every rule."""

    @property
    def predicts_missing(self) -> bool:
        """Whether entries that a sparse matrix leaves out are predicted for some label: a dense answer."""

    def _decide(self, scores: Matrix, /, *, dense: bool = False) -> Matrix:
        """Decide; densely if asked to, which a sparse matrix needs if what it leaves out is predicted."""


class Judged(NamedTuple):
    """Counts of a rule's decisions, by label (in the unit of the weights) and by row (unweighted)."""

    by_label: ConfusionCounts
    by_sample: ConfusionCounts


def judge(rule: Decides, problem: Problem) -> Judged:
    """Count the decisions of a rule on all rows."""
    by_label, by_sample = None, []
    for rows in problem.row_blocks():
        truth, predicted = problem.truth[rows], _decisions(rule, problem.scores[rows])
        weights = None if problem.sample_weight is None else problem.sample_weight[rows]
        by_label, rows_of_block = count_both_ways(truth, predicted, weights, before=by_label)
        by_sample.append(rows_of_block)
    assert by_label is not None, "problems have rows"
    return Judged(by_label, stacked(by_sample))


def f_measure(judged: Judged, weights: Any, average: str, beta: float, zero_division: float) -> float:
    """Average F-beta over labels or rows, as `metrics.fbeta_score` does; `weights` are those measured of the rows."""
    counts = judged.by_sample if average == "samples" else judged.by_label
    return average_of(f_score(beta), counts, average, zero_division, weights)


def _decisions(rule: Decides, scores: Matrix) -> Matrix:
    """Predict; densely where the scores that a sparse matrix leaves out are predicted too."""
    if is_sparse(scores) and rule.predicts_missing:
        return rule._decide(scores, dense=True)
    return rule._decide(scores)
