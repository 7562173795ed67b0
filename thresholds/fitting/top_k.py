"""The number of labels that every row gets, fitted on labels (RCut)."""

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from thresholds import _checks
from thresholds._arrays.types import Floats, Ints
from thresholds._kernels.confusion import ranks_of_positives
from thresholds.data.problem import Problem
from thresholds.metrics.counts import count_by_sample
from thresholds.metrics.judging import f_measure, judge
from thresholds.rule import TopKRule

_EQUAL = 1e-13  # F-measures of two k that differ by less, relatively, count as equal.


def fit_top_k(
    y_true: object,
    y_score: object,
    *,
    beta: float = 1.0,
    sample_weight: object = None,
    zero_division: float = 0.0,
    missing: float = 0.0,
    label_names: object = None,
) -> TopKRule:
    """Fit the number k of labels to predict in every row that maximises samples F-beta, exactly.

        F(k) = sum over rows of w (1 + b^2) hits(k) / (b^2 a + k),    divided by the sum of w,

    with a the number of positives of a row, hits(k) those among its k highest scores, w its weight.

    Parameters
    ----------
    y_true : (n_samples, n_labels) 0/1 or bool, dense or scipy.sparse
    y_score : same shape, real scores, dense or scipy.sparse
    beta, sample_weight, zero_division, missing, label_names : as in `fit_empirical`

    Returns
    -------
    TopKRule
        Its `objective` is the samples F-beta of `predict` on this data. k may be 0; the smallest of equally good k
        wins; equal scores rank by label.

    Raises
    ------
    InputError
        As `fit_empirical` does.

    References
    ----------
    RCut: Yang 2001, "A study of thresholding strategies for text categorization", section 2.1.

    Examples
    --------
    >>> import thresholds
    >>> thresholds.fit_top_k([[1, 0, 0], [1, 1, 0]], [[0.9, 0.2, 0.1], [0.8, 0.7, 0.3]]).k
    1
    """
    beta, zero_division = _checks.beta(beta), _checks.zero_division(zero_division)
    problem = Problem.of(
        y_true, y_score, sample_weight=sample_weight, missing=missing, label_names=label_names
    )
    f = _f_of_top_k(problem, beta, zero_division)
    best = int(np.argmax(f >= f.max() * (1 - _EQUAL)))
    fitted = TopKRule(
        best,
        missing=problem.missing,
        label_names=problem.label_names,
        average="samples",
        beta=beta,
        zero_division=zero_division,
    )
    objective = f_measure(
        judge(fitted, problem), problem.sample_weight, "samples", beta, zero_division
    )
    return replace(fitted, objective=objective)


def _f_of_top_k(problem: Problem, beta: float, zero_division: float) -> Floats:
    """Return the sum of the rows' F-beta for k = 0, 1, ..., n_labels, from the ranks of the positives."""
    ranks, n_true, weights = (
        np.concatenate(arrays) for arrays in zip(*_ranks(problem), strict=True)
    )
    k = np.arange(1, problem.n_labels + 1)
    f = np.zeros(problem.n_labels + 1)
    for a in np.unique(n_true):
        same = n_true == a  # positives in rows with a positives
        hits = np.bincount(ranks[same], weights[same], problem.n_labels).cumsum()
        f[1:] += (1 + beta**2) * hits / (beta**2 * a + k)
    empty = count_by_sample(problem.truth, problem.truth).positives == 0
    f[0] = zero_division * problem.row_weights[empty].sum()
    return f


def _ranks(problem: Problem) -> Iterator[tuple[Ints, Ints, Ints]]:
    """Give, of every positive, its rank in the row, the number of positives there, and the row's weight."""
    for part in problem.row_blocks():
        truth, scores = problem.sparse_rows(part)
        found = ranks_of_positives(
            truth.indptr.astype(np.int64),
            truth.indices.astype(np.int64),
            scores.indptr.astype(np.int64),
            scores.indices.astype(np.int64),
            scores.data.astype(np.float64),
            problem.missing,
            problem.n_labels,
        )
        n_true = np.diff(truth.indptr)
        yield found, np.repeat(n_true, n_true), np.repeat(problem.row_weights[part], n_true)
