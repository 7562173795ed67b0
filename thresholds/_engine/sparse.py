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
from thresholds._arrays.sparse import is_sparse
from thresholds._arrays.types import Booleans, Ints
from thresholds._engine.problem import Problem
from thresholds._engine.staircase import Columns
from thresholds._engine.unknown import without_entries


def sparse_columns(problem: Problem, *, stored: bool = False) -> Columns:
    """Put the entries of both matrices in the order of the labels: all `stored` ones, or those a cut may predict."""
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
    label = np.repeat(np.arange(problem.n_labels), np.diff(scores.indptr))  # (n_entries,)

    # 2. Weigh them, and the positives of each label.
    weights = None
    if problem.unit_weights is not None:
        weights = problem.unit_weights[scores.indices]
        positives = truth.T.astype(np.int64) @ problem.unit_weights  # (n_labels,)
    else:
        positives = np.diff(truth.indptr).astype(np.int64)

    # 3. Leave out what no cut may predict, and cells without weight; or add the absent cells of each label.
    if problem.keep_sparse or stored:
        counts = np.full(data.size, True) if stored else data > problem.missing
        if weights is not None:
            counts &= weights > 0
        if not counts.all():
            data, is_hit, label = data[counts], is_hit[counts], label[counts]
            weights = None if weights is None else weights[counts]
    else:
        entry_weights = np.ones(data.size, np.int64) if weights is None else weights
        data, is_hit, label, weights = _with_absent(
            problem, data, is_hit, label, entry_weights, positives
        )

    # 4. What positives are left without a score.
    n_entries = np.bincount(label, minlength=problem.n_labels)
    ends = n_entries.cumsum()
    hit_weights = is_hit if weights is None else np.where(is_hit, weights, 0)
    scored = sums_of_groups(np.append(0, ends), hit_weights)
    return Columns(data, is_hit.view(np.uint8), weights, ends - n_entries, ends, positives - scored)


def _are_stored(scores: Any, truth: Any) -> Booleans:
    """Tell which entries of one CSC array another has, too, (n_entries,)."""
    numbered = type(scores)(
        (np.arange(1, scores.nnz + 1), scores.indices, scores.indptr), shape=scores.shape
    )
    both = numbered.multiply(truth != 0)
    are_stored = np.zeros(scores.nnz, np.bool_)
    are_stored[both.data - 1] = True
    return are_stored


def _with_absent(
    problem: Problem, data: Any, is_hit: Booleans, label: Ints, weights: Ints, positives: Ints
) -> tuple[Any, Booleans, Ints, Ints]:
    """Add two cells of each label for all that are absent; return scores, truth, labels and weights in their order."""
    n_labels = problem.n_labels
    # Sums of whole numbers, exactly.
    stored, stored_hits = np.zeros((2, n_labels), np.int64)
    np.add.at(stored, label, weights)
    np.add.at(stored_hits, label[is_hit], weights[is_hit])
    absent_hits = positives - stored_hits
    absent_rest = problem.weight_of_label - stored - absent_hits
    every = np.arange(n_labels)
    data = np.concatenate([data, np.full(2 * n_labels, problem.missing, data.dtype)])
    is_hit = np.concatenate([is_hit, np.ones(n_labels, np.bool_), np.zeros(n_labels, np.bool_)])
    label = np.concatenate([label, every, every])
    weights = np.concatenate([weights, absent_hits, absent_rest])
    order = np.argsort(label, kind="stable")
    order = order[weights[order] > 0]
    return data[order], is_hit[order], label[order], weights[order]
