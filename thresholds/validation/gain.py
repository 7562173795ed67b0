"""Does one threshold of each label reach more F than another, on rows that chose neither?

Rows that only one of the two predicts decide. A fresh threshold gains over an old one if

    (1 + b^2) (tp added - tp dropped) > F (predictions added - predictions dropped),    F that of the old one,

that is, if the rows that it adds are true more often than F / (1 + b^2), and those that it drops less often (Lipton et
al. 2013, section 5). If it neither gains nor loses, such a row is true with that probability, and the numbers of true
ones are binomial: the p-value is exact. For many rows, and for weights, it is that of the normal distribution; then a
weight counts as many rows as in Kish 1965. For micro, F is that of all labels together.
"""

from typing import NamedTuple

import numpy as np

from thresholds._arrays.matrices import compressed
from thresholds._arrays.sparse import to_dense
from thresholds._arrays.types import Booleans, Floats, Numbers
from thresholds._engine.f_measure import f_of_counts
from thresholds._engine.problem import Problem
from thresholds.metrics.averages import average_of, f_score
from thresholds.metrics.counts import ConfusionCounts
from thresholds.metrics.judging import judge
from thresholds.rule import ThresholdRule
from thresholds.significance import effective_rows
from thresholds.validation.cross_fit import CrossFit

_LARGEST_EXACT = 1000  # rows that only one of two thresholds predicts: above, their number of true ones is normal


class BothCounts(NamedTuple):
    """What is counted on the judged rows, (3, n_labels) each: true positives, predictions, positives."""

    old: Floats  # by the old thresholds; those of new labels by the folds'
    fresh: Floats  # by the thresholds of the folds
    added: Floats  # (2, n_labels): true ones and all of the rows that only the folds' thresholds predict
    dropped: Floats  # (2, n_labels): of those that only the old ones do

    @classmethod
    def of(cls, problem: Problem, found: CrossFit, thresholds_before: Floats) -> "BothCounts":
        """Judge both thresholds of each label, fold by fold."""
        shape = (3, problem.n_labels)
        counts = cls(
            np.zeros(shape), np.zeros(shape), np.zeros((2, shape[1])), np.zeros((2, shape[1]))
        )
        for k, of_fold in enumerate(found.fold_thresholds):
            rows = problem.at_rows(np.flatnonzero(found.folds == k))
            before = np.where(np.isnan(thresholds_before), of_fold, thresholds_before)
            by_old = _counted(before, rows)
            by_fold = _counted(of_fold, rows)
            counts.old[:] += by_old
            counts.fresh[:] += by_fold
            # Of two cuts of one label the lower one predicts all that the other does.
            more = (by_fold - by_old)[:2]
            counts.added[:] += np.where(of_fold < before, more, 0.0)
            counts.dropped[:] -= np.where(of_fold > before, more, 0.0)
        return counts

    def sums(self, takes_fresh: Booleans) -> Floats:
        """Return the counts of fresh thresholds of some labels and old ones of the others: (3, n_labels)."""
        return np.where(takes_fresh, self.fresh, self.old)

    def f(self, takes_fresh: Booleans, rule: ThresholdRule) -> float:
        """Return the average F of fresh thresholds of some labels and old ones of the others."""
        assert rule.average is not None, "fits have one"
        counts = ConfusionCounts(self.sums(takes_fresh), float("inf"))
        return average_of(f_score(rule.beta), counts, rule.average, rule.zero_division)


def _counted(thresholds: Floats, rows: Problem) -> Floats:
    """Return true positives, predictions and positives, (3, n_labels)."""
    rule = ThresholdRule(thresholds, missing=rows.missing, label_names=rows.label_names)
    counts = judge(rule, rows).by_label
    return np.stack([counts.tp, counts.predicted, counts.positives]).astype(np.float64)


def rows_of_weight(problem: Problem) -> Floats | None:
    """Return how many rows a weight of 1 of each label counts as evidence (Kish 1965); None without weights."""
    weights = problem.sample_weight
    if weights is None:
        return None
    if problem.unknown is None:
        return np.full(problem.n_labels, _rows_of_weight(weights))
    unknown = compressed(problem.unknown, "csc")
    return np.array(
        [
            _rows_of_weight(weights[~to_dense(unknown[:, [label]])[:, 0]])
            for label in range(problem.n_labels)
        ]
    )


def _rows_of_weight(weights: Numbers) -> float:
    """Return how many rows a weight of 1 counts as evidence; 1 where none has any."""
    total = np.sum(weights, dtype=np.float64)
    return float(effective_rows(weights) / total) if total > 0 else 1.0


def p_of_gain(counts: BothCounts, rule: ThresholdRule, scale: Floats | None) -> Floats:
    """Return the one-sided p-values of the fresh thresholds' gain in F; NaN where both decide alike.

    `scale` is what `rows_of_weight` gives.
    """
    # The share of true rows at which neither gains; half a row more keeps it from 0.
    beta2 = rule.beta * rule.beta
    tp, predicted, positives = counts.old
    if rule.average == "micro":
        tp, predicted, positives = (np.full(tp.size, part.sum()) for part in counts.old)
    f = f_of_counts(tp + 0.5, predicted + 0.5, positives + 0.5, rule.beta, 0.0)
    even = np.clip(f / (1 + beta2), 1e-12, 1 - 1e-12)  # (n_labels,)

    p = np.full(tp.size, np.nan)
    for j in np.flatnonzero(counts.added[1] + counts.dropped[1] > 0):
        rows = 1.0 if scale is None else scale[j]
        added = counts.added[:, j] * rows
        dropped = counts.dropped[:, j] * rows
        is_exact = scale is None and added[1] + dropped[1] <= _LARGEST_EXACT
        upper_tail = _exact if is_exact else _normal
        p[j] = upper_tail(added, dropped, float(even[j]))
    return p


def _exact(added: Floats, dropped: Floats, even: float) -> float:
    """Return the probability that as many rows more are true, among those added than among those dropped."""
    n_added = round(added[1])
    n_dropped = round(dropped[1])
    # Of added less dropped, from -n_dropped on.
    probabilities = np.convolve(_binomial(n_added, even), _binomial(n_dropped, even)[::-1])
    least = round(added[0]) - round(dropped[0])
    return float(min(probabilities[least + n_dropped :].sum(), 1.0))


def _binomial(n: int, p: float) -> Floats:
    """Return the probabilities of 0 to n."""
    from scipy.special import gammaln

    k = np.arange(n + 1)
    ways = gammaln(n + 1) - gammaln(k + 1) - gammaln(n - k + 1)
    return np.asarray(np.exp(ways + k * np.log(p) + (n - k) * np.log1p(-p)))


def _normal(added: Floats, dropped: Floats, even: float) -> float:
    """Return the same of the normal distribution, half a row apart."""
    from scipy.special import ndtr

    excess = added[0] - dropped[0] - even * (added[1] - dropped[1]) - 0.5
    return float(ndtr(-excess / np.sqrt(even * (1 - even) * (added[1] + dropped[1]))))
