"""Are scores probabilities, or do they pass for such?"""

from collections.abc import Iterator

import numpy as np

from thresholds._arrays.sparse import is_sparse, to_dense
from thresholds._arrays.types import Dense
from thresholds._engine.problem import Problem
from thresholds._engine.unknown import without_entries


def are_probable(problem: Problem) -> bool:
    """Whether all scores of known cells lie in [0, 1], in rows that weigh, those apart that are missing or masked."""
    if problem.unit_weights is not None and not problem.unit_weights.all():
        problem = problem.at_rows(np.flatnonzero(problem.unit_weights))
    return all(_is_probable(block, problem.missing) for block in _known_scores(problem))


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
