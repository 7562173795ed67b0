"""Rows that are there several times: whoever counts them as independent promises too much."""

import numpy as np

from thresholds import _checks
from thresholds._arrays.blocks import row_blocks
from thresholds._arrays.sparse import is_sparse
from thresholds._arrays.types import Booleans, Ints
from thresholds._engine.problem import Problem
from thresholds.data.folds import SEED

_LEAST_KINDS = 30  # of rows; fewer may be alike by chance
_MOSTLY = 0.9  # of the kinds of rows have a score of a label to themselves, where scores are not votes or levels


def warn_of_copies(problem: Problem) -> None:
    """Warn where most rows are exact copies of others, in dense scores and truth, and no groups are given.

    Of a single label copies cannot be told from ties, which are as they should be. Rows without weight, or without a
    known truth, do not count, and rows whose scores are all equal may be such as a classifier never looked at.
    """
    is_dense = not (is_sparse(problem.scores) or is_sparse(problem.truth))
    if problem.groups is not None or not is_dense or problem.n_labels < 2:
        return
    marks, is_constant = _marks(problem)  # (n_samples,) each
    counted = np.flatnonzero((problem.row_weights > 0) & ~is_constant)  # (n_counted,) rows
    _, first, times = np.unique(marks[counted], return_index=True, return_counts=True)
    n_copies = int(times[times > 1].sum())
    if 2 * n_copies <= counted.size or first.size < _LEAST_KINDS:
        return
    kinds = np.asarray(problem.scores[counted[first]])  # (n_kinds, n_labels)
    if not any(np.unique(scores).size >= _MOSTLY * first.size for scores in kinds.T):
        return
    _checks.warn_caller(
        f"{n_copies:,} of {counted.size:,} rows are copies of others, in scores and truth, and a promise takes"
        " rows as independent: give each row once, or groups, with one number for all copies of a row",
        UserWarning,
    )


def _marks(problem: Problem) -> tuple[Ints, Booleans]:
    """Return a number that equal rows have in common, and whether the scores of a row are all equal: (n_samples,)."""
    factors = (
        np.random.default_rng(SEED).integers(1, 2**62, (2, problem.n_labels), np.uint64) * 2 + 1
    )
    marks = np.empty(problem.n_samples, np.uint64)
    is_constant = np.empty(problem.n_samples, np.bool_)
    for rows in row_blocks(problem.n_samples, problem.n_labels):
        scores = np.asarray(problem.scores[rows], np.float64) + 0.0  # -0.0 becomes 0.0
        is_constant[rows] = (scores == scores[:, :1]).all(axis=1)
        bits = np.ascontiguousarray(scores).view(np.uint64)
        bits ^= bits >> np.uint64(29)
        truth = np.asarray(problem.truth[rows]).astype(np.uint64)
        marks[rows] = (bits * factors[0] + truth * factors[1]).sum(axis=1, dtype=np.uint64)
    return marks.view(np.int64), is_constant
