"""Are scores probabilities, or do they pass for such?"""

from collections.abc import Iterator

import numpy as np

from thresholds._arrays.sparse import is_sparse, to_dense
from thresholds._arrays.types import Dense
from thresholds._engine.problem import Problem
from thresholds._engine.unknown import without_entries
from thresholds._kernels.keys import to_keys, to_scores
from thresholds.data.counted import CountedProblem


def are_probable(problem: Problem) -> bool:
    """Whether all scores of known cells lie in [0, 1], in rows that weigh, those apart that are missing or masked."""
    if isinstance(problem, CountedProblem):
        return _are_items_probable(problem)
    if problem.unit_weights is not None and not problem.unit_weights.all():
        problem = problem.at_rows(np.flatnonzero(problem.unit_weights))
    return all(_is_probable(block, problem.missing) for block in _known_scores(problem))


def _are_items_probable(problem: CountedProblem) -> bool:
    """Whether the scores of all items that weigh lie in [0, 1], those apart that are missing or masked."""
    zero, missing, masked = to_keys(np.array([0.0, problem.missing, -np.inf], problem.dtype))
    are_probable = True
    for labels, items in problem.pieces():  # All of them, as each notes what it cannot tell.
        items.ask_between(np.array([zero]))
        for key in (missing, masked):
            items.ask_at(np.full(labels.stop - labels.start, key))
        weighs = items.weights > 0  # (n_items,)
        are_probable &= all(
            _is_probable(to_scores(keys[weighs]), problem.missing)
            for keys in (items.keys, items.at_floors().keys)
        )
    return are_probable


def _known_scores(problem: Problem) -> Iterator[Dense]:
    """Return the scores that are stored, but for those of cells whose truth is not known, block by block."""
    scores, unknown = problem.scores, problem.unknown
    if is_sparse(scores):
        yield (scores if unknown is None else without_entries(scores, unknown)).data
        return
    for rows in problem.row_blocks():
        yield scores[rows] if unknown is None else scores[rows][~to_dense(unknown[rows])]


def _is_probable(block: Dense, missing: float) -> bool:
    """Whether the scores of a block lie in [0, 1], or are missing or masked."""
    if block.size == 0 or (block.min() >= 0 and block.max() <= 1):
        return True
    is_inside = (block >= 0) & (block <= 1)
    return bool((is_inside | (block == missing) | (block == -np.inf)).all())
