"""The rows of a label by folds: what is asked of all of them, and of those outside each fold, while they are at hand.

Rows are put in the order of their folds once. Those outside a fold then lie in two pieces, which are copied as fast as
memory goes: half of the time of reading them again.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from thresholds._arrays.sparse import is_sparse
from thresholds._arrays.types import Ints
from thresholds._engine.columns import Memory, over_labels
from thresholds._engine.problem import Problem
from thresholds._engine.staircase import Columns

Question = Callable[[Columns, Memory], Any]


def are_whole(problem: Problem) -> bool:
    """Whether all labels have all rows, which folds part alike: dense scores, all truth known, no weight of 0."""
    weights = problem.unit_weights
    has_weights = weights is None or bool(weights.all())
    return not is_sparse(problem.scores) and problem.unknown is None and has_weights


def over_folds(
    problem: Problem,
    folds: Ints,
    of_all: Sequence[Question],
    of_outside: Sequence[Question],
    *,
    n_jobs: int | None = -1,
    progress: bool = False,
) -> tuple[list[list[Any]], list[list[Any]]]:
    """Ask questions of a few labels at a time, some of all rows and one of those outside each fold.

    `folds` (n_samples,) are whole numbers from 0 to n_folds - 1, or -1 for rows that are outside every fold. Returns
    the answers to each question, in the order of the labels.
    """
    if len(of_outside) < 2**15:
        folds = folds.astype(np.int16)  # NumPy sorts numbers of 16 bits in a quarter of the time.
    order = np.argsort(folds, kind="stable")  # (n_samples,)
    ends = np.searchsorted(folds[order], np.arange(len(of_outside) + 1))  # (n_folds + 1,)
    rows = [slice(*both) for both in zip(ends[:-1].tolist(), ends[1:].tolist(), strict=True)]

    def ask(columns: Columns, memory: Memory) -> list[Any]:
        answers = [question(columns, memory) for question in of_all]
        in_order = _in_order(columns, order, memory)
        for question, fold in zip(of_outside, rows, strict=True):
            answers.append(question(_without(in_order, fold, memory), memory))
        return answers

    # Beside the columns of the rows there are these in the order of the folds, and those outside a fold.
    parts = over_labels(problem, ask, n_copies=3, n_jobs=n_jobs, progress=progress)
    answers = [list(of_question) for of_question in zip(*parts, strict=True)]
    return answers[: len(of_all)], answers[len(of_all) :]


def _in_order(columns: Columns, order: Ints, memory: Memory) -> Columns:
    """Put the rows of all labels in another order."""
    shape = columns.n_labels, order.size
    ordered = memory.of_folds(0, columns.scores.size)
    cells = []
    for values, room in zip((columns.scores, columns.truth), ordered, strict=True):
        taken = room[: columns.scores.size].reshape(shape)
        np.take(values.reshape(shape), order, axis=1, out=taken, mode="clip")
        cells.append(taken.reshape(-1))
    weights = columns.weights
    if weights is not None:
        weights = weights.reshape(-1, order.size)[0][order]
    return columns._replace(scores=cells[0], truth=cells[1], weights=weights)


def _without(columns: Columns, rows: slice, memory: Memory) -> Columns:
    """Leave out some rows of all labels."""
    n_labels = columns.n_labels
    n_rows = columns.scores.size // n_labels
    n_left = n_rows - (rows.stop - rows.start)
    outside = memory.of_folds(1, columns.scores.size)
    cells = []
    for values, room in zip((columns.scores, columns.truth), outside, strict=True):
        matrix = values.reshape(n_labels, n_rows)
        left = room[: n_labels * n_left].reshape(n_labels, n_left)
        np.concatenate([matrix[:, : rows.start], matrix[:, rows.stop :]], axis=1, out=left)
        cells.append(left.reshape(-1))
    weights = columns.weights
    if weights is not None:
        weights = np.concatenate([weights[: rows.start], weights[rows.stop :]])
    ends = np.arange(1, n_labels + 1) * n_left
    return columns._replace(
        scores=cells[0], truth=cells[1], weights=weights, starts=ends - n_left, ends=ends
    )
