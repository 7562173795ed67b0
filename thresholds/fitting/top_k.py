"""The number of labels that every row gets, fitted on labels (RCut)."""

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from thresholds import _checks
from thresholds._arrays.blocks import row_blocks
from thresholds._arrays.sparse import entries_of_rows, is_sparse, row_of_entries
from thresholds._arrays.types import Floats, Ints, Matrix
from thresholds._engine.f_measure import f_of_counts
from thresholds._engine.problem import Problem
from thresholds._kernels.confusion import ranks_of_positives
from thresholds.fitting.record import with_record
from thresholds.metrics.counts import count_by_sample
from thresholds.rule import TopKRule
from thresholds.rule.made_by import MadeBy

_EQUAL = 1e-13  # F-measures of two k that differ by less, relatively, count as equal.


def fit_top_k(
    y_true: object,
    y_score: object,
    *,
    beta: float = 1.0,
    sample_weight: object = None,
    zero_division: float = 0.0,
    missing: float = 0.0,
    unknown: object = None,
    label_names: object = None,
) -> TopKRule:
    """Fit the number k of labels to predict in every row that maximises samples F-beta, exactly.

        F(k) = sum over rows of w (1 + b^2) tp(k) / (b^2 a + k),    divided by the sum of w,

    with a the number of positives of a row, tp(k) those among its k highest scores, w its weight. Where truth is not
    known, k is the number of known labels among these.

    Parameters
    ----------
    y_true : (n_samples, n_labels) 0/1 or bool, dense or scipy.sparse
    y_score : same shape, real scores, dense or scipy.sparse
    beta, sample_weight, zero_division, missing, unknown, label_names : as in `fit_empirical`

    Returns
    -------
    TopKRule
        1. `objective` is the samples F-beta of `rule.predict(y_score)`.
        2. k may be 0. Of equally good k the smallest wins.
        3. Equal scores rank by label.

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
    beta = _checks.beta(beta)
    zero_division = _checks.zero_division(zero_division)
    problem = Problem.of(
        y_true,
        y_score,
        sample_weight=sample_weight,
        missing=missing,
        unknown=unknown,
        label_names=label_names,
    )
    rule = best_top_k(problem, beta, zero_division)
    options = {"beta": beta, "zero_division": zero_division}
    return with_record(rule, problem, MadeBy.from_call(fit_top_k, options))


def best_top_k(problem: Problem, beta: float, zero_division: float) -> TopKRule:
    """Return the best number of labels for what is checked already, without what a rule keeps of its fit."""
    f = _f_of_each_k(problem, beta, zero_division)  # (n_labels + 1,)
    best = int(np.argmax(f >= f.max() * (1 - _EQUAL)))
    return TopKRule(
        best,
        missing=problem.missing,
        label_names=problem.label_names,
        average="samples",
        beta=beta,
        zero_division=zero_division,
    )


class _Positives(NamedTuple):
    """Positive cells, row by row."""

    ranks: Ints  # (n_positives,), from 0 for the highest score of the row
    in_row: Ints  # (n_positives,), the number of positives of the row
    weights: Ints  # (n_positives,), of the row


def _f_of_each_k(problem: Problem, beta: float, zero_division: float) -> Floats:
    """Return the sum of the rows' F-beta for k = 0, 1, ..., n_labels, from the ranks of the positives."""
    if problem.unknown is not None:
        return _f_of_known(problem, problem.unknown, beta, zero_division)
    blocks = list(_ranked(problem))
    ranks = np.concatenate([block.ranks for block in blocks])
    in_row = np.concatenate([block.in_row for block in blocks])
    weights = np.concatenate([block.weights for block in blocks])

    # Rows with equally many positives share the denominators, so that their true positives add up.
    k = np.arange(1, problem.n_labels + 1)
    f = np.zeros(problem.n_labels + 1)
    for a in np.unique(in_row):
        same = in_row == a
        tp = np.bincount(ranks[same], weights[same], problem.n_labels).cumsum()  # (n_labels,)
        f[1:] += (1 + beta**2) * tp / (beta**2 * a + k)

    # Without predictions, F is `zero_division` for rows without positives, and 0 for others.
    has_none = count_by_sample(problem.truth, problem.truth).positives == 0  # (n_samples,)
    f[0] = zero_division * problem.row_weights[has_none].sum()
    return f


def _f_of_known(problem: Problem, unknown: Matrix, beta: float, zero_division: float) -> Floats:
    """Do the same where some truth is not known: what is predicted counts in known cells only."""
    f = np.zeros(problem.n_labels + 1)
    k = np.arange(problem.n_labels + 1)
    for rows in row_blocks(problem.n_samples, problem.n_labels):
        truth, scores = problem.sparse_rows(rows)
        weights = problem.row_weights[rows]  # (n_rows,), 0 for rows without a known cell

        # Of each row and k: true positives, and predictions in known cells.
        tp = _up_to_each_k(truth, scores, problem)  # (n_rows, n_labels + 1)
        cells = unknown[rows] if is_sparse(unknown) else type(scores)(unknown[rows])
        predicted = k - _up_to_each_k(cells, scores, problem)  # (n_rows, n_labels + 1)
        positives = np.broadcast_to(np.diff(truth.indptr)[:, np.newaxis], tp.shape)
        of_rows = f_of_counts(tp, predicted, positives, beta, zero_division)
        f += np.einsum("i,ik->k", weights.astype(np.float64), of_rows)
    return f


def _up_to_each_k(marked: Any, scores: Any, problem: Problem) -> Ints:
    """Count the marked cells of each row among its k highest scores, (n_rows, n_labels + 1)."""
    counts = np.zeros((marked.shape[0], problem.n_labels + 1), np.int64)
    counts[row_of_entries(marked), 1 + _ranks(marked, scores, problem)] = 1
    return counts.cumsum(axis=1)


def _ranks(marked: Any, scores: Any, problem: Problem) -> Ints:
    """Return the rank of each marked cell in its row, (n_marked,), 0 for the highest score; both are CSR."""
    return ranks_of_positives(
        *entries_of_rows(marked),
        *entries_of_rows(scores),
        scores.data.astype(np.float64),
        problem.missing,
        problem.n_labels,
    )


def _ranked(problem: Problem) -> Iterator[_Positives]:
    """Rank the positives of each row, a block of rows at a time."""
    for rows in problem.row_blocks():
        truth, scores = problem.sparse_rows(rows)
        ranks = _ranks(truth, scores, problem)
        n_positives = np.diff(truth.indptr)  # (n_rows,)
        yield _Positives(
            ranks=ranks,
            in_row=np.repeat(n_positives, n_positives),
            weights=np.repeat(problem.row_weights[rows], n_positives),
        )
