"""Rows that are there several times: whoever counts them as independent promises too much."""

import numpy as np

from thresholds import _checks
from thresholds._arrays.blocks import row_blocks
from thresholds._arrays.sparse import is_sparse
from thresholds._arrays.types import Ints
from thresholds.data.folds import SEED
from thresholds.data.problem import Problem

_LEAST_KINDS = 30  # of rows; fewer may be alike by chance
_MOSTLY = 0.9  # of the kinds of rows have a score of a label to themselves, where scores are not votes or levels


def warn_of_copies(problem: Problem) -> None:
    """Warn where most rows are exact copies of others, in dense scores and truth, and no groups are given.

    Of a single label copies cannot be told from ties, which are as they should be.
    """
    is_dense = not (is_sparse(problem.scores) or is_sparse(problem.truth))
    if problem.groups is not None or not is_dense or problem.n_labels < 2:
        return
    _, first, times = np.unique(_marks(problem), return_index=True, return_counts=True)
    n_copies = int(times[times > 1].sum())
    if 2 * n_copies <= problem.n_samples or first.size < _LEAST_KINDS:
        return
    kinds = np.asarray(problem.scores[first])  # (n_kinds, n_labels)
    if not any(np.unique(scores).size >= _MOSTLY * first.size for scores in kinds.T):
        return
    _checks.warn_caller(
        f"{n_copies:,} of {problem.n_samples:,} rows are copies of others, in scores and truth, and a promise takes"
        " rows as independent: give each row once, or groups, with one number for all copies of a row",
        UserWarning,
    )


def _marks(problem: Problem) -> Ints:
    """Return a number for each row, (n_samples,), that equal rows have in common."""
    factors = (
        np.random.default_rng(SEED).integers(1, 2**62, (2, problem.n_labels), np.uint64) * 2 + 1
    )
    marks = np.empty(problem.n_samples, np.uint64)
    for rows in row_blocks(problem.n_samples, problem.n_labels):
        scores = np.asarray(problem.scores[rows], np.float64) + 0.0  # -0.0 becomes 0.0
        bits = np.ascontiguousarray(scores).view(np.uint64)
        bits ^= bits >> np.uint64(29)
        truth = np.asarray(problem.truth[rows]).astype(np.uint64)
        marks[rows] = (bits * factors[0] + truth * factors[1]).sum(axis=1, dtype=np.uint64)
    return marks.view(np.int64)
