"""Dense cells a block of rows at a time, on threads: what asks whole rows of a problem walks here."""

from collections.abc import Callable
from typing import TypeVar

import numpy as np

from thresholds._arrays import threads
from thresholds._arrays.blocks import in_pieces
from thresholds._arrays.sparse import to_dense
from thresholds._arrays.types import Dense, Scores
from thresholds._engine.problem import Problem

Result = TypeVar("Result")


def over_rows(
    problem: Problem,
    function: Callable[[slice, Scores, Dense], Result],
    n_cells: int,
    *,
    n_jobs: int | None = -1,
    progress: bool = False,
) -> list[Result]:
    """Apply `function` to blocks of rows of about `n_cells`, on threads; return the results in the order of the rows.

    It is given which rows, their scores (n_rows, n_labels) as float32 or float64, and their truth as uint8, or the
    scores again where they are degrees of truth. Both are in C order: views where the matrices are so, else copies.
    """

    def apply(rows: slice) -> Result:
        scores = np.ascontiguousarray(problem.scores[rows], problem.dtype)
        if problem.soft:
            return function(rows, scores, scores)
        truth = to_dense(problem.truth[rows])
        return function(rows, scores, np.ascontiguousarray(truth, np.uint8))

    n_rows = max(1, n_cells // problem.n_labels)
    return threads.run(
        apply,
        list(in_pieces(slice(0, problem.n_samples), n_rows)),
        n_jobs=n_jobs,
        cells=problem.n_stored,
        progress=progress,
        title="cells",
    )
