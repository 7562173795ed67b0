"""Does one threshold of each label reach more F than another, on rows that chose neither?

Rows that only one of the two predicts decide. A fresh threshold gains over an old one if

    (1 + b^2) (tp added - tp dropped) > F (predictions added - predictions dropped),    F that of the old one,

that is, if the rows that it adds are true more often than F / (1 + b^2), and those that it drops less often (Lipton et
al. 2013, section 5). If it neither gains nor loses, such a row is true with that probability, and the numbers of true
ones are binomial: the p-value is exact. For many rows, and for weights, it is that of the normal distribution; then a
weight counts as many rows as in Kish 1965. For micro, F is that of all labels together.
"""

import numpy as np

from thresholds._arrays.matrices import compressed
from thresholds._arrays.sparse import to_dense
from thresholds._arrays.types import Floats, Numbers
from thresholds._engine.f_measure import f_of_counts
from thresholds._engine.problem import Problem
from thresholds._significance import effective_rows
from thresholds.rule import ThresholdRule

_LARGEST_EXACT = 1000  # rows that only one of two thresholds predicts: above, their number of true ones is normal


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


def p_of_gain(
    old: Numbers, added: Numbers, dropped: Numbers, rule: ThresholdRule, scale: Floats | None
) -> Floats:
    """Return the one-sided p-values of the fresh thresholds' gain in F; NaN where both decide alike.

    `old` (3, n_labels) are true positives, predictions and positives of the old thresholds, `added` those of the rows
    that only the fresh ones predict, `dropped` of those that only the old ones do. `scale` is what `rows_of_weight`
    gives.
    """
    # The share of true rows at which neither gains; half a row more keeps it from 0.
    beta2 = rule.beta * rule.beta
    tp, predicted, positives = old
    if rule.average == "micro":
        tp, predicted, positives = (np.full(tp.size, part.sum()) for part in old)
    f = f_of_counts(tp + 0.5, predicted + 0.5, positives + 0.5, rule.beta, 0.0)
    even = np.clip(f / (1 + beta2), 1e-12, 1 - 1e-12)  # (n_labels,)

    p = np.full(tp.size, np.nan)
    for j in np.flatnonzero(added[1] + dropped[1] > 0):
        rows = 1.0 if scale is None else scale[j]
        more = added[:2, j] * rows
        fewer = dropped[:2, j] * rows
        is_exact = scale is None and more[1] + fewer[1] <= _LARGEST_EXACT
        upper_tail = _exact if is_exact else _normal
        p[j] = upper_tail(more, fewer, float(even[j]))
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
