"""The columns of sparse scores: what is stored of each label, one label after another.

A cut above the score of absent cells predicts stored ones only, so that predictions are as sparse. Positives that are
not stored, or not above it, are then never predicted, but count among the positives. Else all absent cells of a label
are one tie group, whose score is `missing`: it joins the column as two cells, of the positives' and the negatives'
weight.
"""

from typing import Any

import numpy as np

from thresholds._arrays.grouped import sums_of_groups
from thresholds._arrays.matrices import compressed
from thresholds._arrays.sparse import is_sparse, with_cells
from thresholds._arrays.types import Booleans
from thresholds._engine.problem import Problem
from thresholds._engine.staircase import Columns
from thresholds._engine.unknown import without_entries


def sparse_columns(problem: Problem) -> Columns:
    """Put the stored cells of known truth in the order of the labels."""
    from scipy import sparse

    # 1. Stored scores by label, without those of unknown cells, and which of them are of positives.
    scores = problem.scores
    if problem.unknown is not None:
        scores = without_entries(scores, problem.unknown)
    scores = compressed(scores, "csc")
    truth = problem.truth
    truth = compressed(truth, "csc") if is_sparse(truth) else sparse.csc_array(truth != 0)
    is_hit = _are_stored(scores, truth)  # (n_entries,)
    data = scores.data.astype(problem.dtype, copy=False)
    offsets = scores.indptr.astype(np.int64)  # (n_labels + 1,)

    # 2. Weigh them, and the positives of each label. Leave out cells without weight.
    weights = None
    positives = np.diff(truth.indptr).astype(np.int64)  # (n_labels,)
    if problem.unit_weights is not None:
        weights = problem.unit_weights[scores.indices]
        positives = truth.T.astype(np.int64) @ problem.unit_weights
        counts = weights > 0
        if not counts.all():
            data, is_hit, weights = data[counts], is_hit[counts], weights[counts]
            offsets = np.append(0, counts.cumsum())[offsets]

    # 3. What positives are left without a score.
    scored = sums_of_groups(offsets, is_hit if weights is None else np.where(is_hit, weights, 0))
    truth_of_cells = is_hit.view(np.uint8)
    return Columns(data, truth_of_cells, weights, offsets[:-1], offsets[1:], positives - scored)


def predictable(problem: Problem, columns: Columns) -> Columns:
    """Return the cells of some labels that a cut may predict: those above `missing`, or absent ones, too."""
    if not is_sparse(problem.scores):
        return columns
    if not problem.keep_sparse:
        return with_absent(problem, columns)
    counts = columns.scores > problem.missing  # (n_cells,)
    if counts.all():
        return columns
    offsets = np.append(columns.starts, columns.ends[-1])
    hits = columns.truth if columns.weights is None else columns.truth * columns.weights
    left = np.append(0, counts.cumsum())[offsets]
    return columns._replace(
        scores=columns.scores[counts],
        truth=columns.truth[counts],
        weights=None if columns.weights is None else columns.weights[counts],
        starts=left[:-1],
        ends=left[1:],
        more=columns.more + sums_of_groups(offsets, np.where(counts, 0, hits)),
    )


def _are_stored(scores: Any, truth: Any) -> Booleans:
    """Tell which entries of one CSC array another has, too, (n_entries,)."""
    numbered = with_cells(scores, np.arange(1, scores.nnz + 1))
    both = numbered.multiply(truth != 0)
    are_stored = np.zeros(scores.nnz, np.bool_)
    are_stored[both.data - 1] = True
    return are_stored


def with_absent(problem: Problem, columns: Columns) -> Columns:
    """Return all cells of some labels, those that are absent as two: the positives and the others, if they weigh."""
    if not is_sparse(problem.scores):
        return columns
    weights = columns.weights
    if weights is None:
        weights = np.ones(columns.scores.size, np.int64)
    own = slice(columns.first, columns.first + columns.n_labels)
    stored = sums_of_groups(np.append(columns.starts, columns.ends[-1]), weights)
    absent_hits = columns.more
    absent_rest = problem.weight_of_label[own] - stored - absent_hits
    added = np.stack([absent_hits, absent_rest], axis=1).reshape(-1)  # (2 n_labels,)
    some = added > 0
    at = np.repeat(columns.ends, 2)[some]
    is_hit = np.tile(np.array([1, 0], np.uint8), columns.n_labels)
    n_added = some.reshape(-1, 2).sum(axis=1)  # (n_labels,)
    ends = columns.ends + n_added.cumsum()
    return columns._replace(
        scores=np.insert(columns.scores, at, problem.missing),
        truth=np.insert(columns.truth, at, is_hit[some]),
        weights=np.insert(weights, at, added[some]),
        starts=ends - n_added - (columns.ends - columns.starts),
        ends=ends,
        more=np.zeros_like(columns.more),
    )
