"""A few labels at a time, as contiguous columns, on threads: the only walker over labels.

NumPy transposes some labels, a block of rows after another, into memory that is used again: fresh memory costs about as
much as the search. That is also where types, strides and the order of memory end. Whoever is called gets float32 or
float64, one label after another, without the cells that do not count.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, TypeVar

import numpy as np

from thresholds._arrays import threads
from thresholds._arrays.blocks import ceil_div, equal_parts, in_pieces
from thresholds._arrays.matrices import compressed
from thresholds._arrays.sparse import is_sparse, to_dense
from thresholds._arrays.threads import workers
from thresholds._arrays.types import Bytes, Scores
from thresholds._engine.problem import Problem
from thresholds._engine.sparse import sparse_columns
from thresholds._engine.staircase import Columns

Result = TypeVar("Result")

_STRIPE = 16  # labels, whose float32 scores of a row fill a line of the cache
_LEAST_CELLS = 2**16  # of a stripe: fewer are not worth a call
_MOST_BYTES = 400 * 2**20  # of a stripe and its copies: of very many rows it has fewer labels
_BLOCK = 1024  # rows that are transposed together


class Memory:
    """What a thread needs for the labels that it works on, used again for the next."""

    def __init__(self, problem: Problem, n_labels: int) -> None:
        self.scores = np.empty((n_labels, problem.n_samples), problem.dtype)
        self.truth = np.empty((n_labels, problem.n_samples), np.uint8)
        # Of the kernels, made when they are first called.
        self.room: Any = None
        self.sorting: Any = None
        self.bins: Any = None  # columns, how many bins, and these as they were read off the columns
        self._of_folds: dict[int, tuple[Scores, Bytes]] = {}

    def of_folds(self, number: int, n_cells: int) -> tuple[Scores, Bytes]:
        """Return room for the scores and the truth of so many cells, of one of two kinds."""
        found = self._of_folds.get(number)
        if found is None or found[0].size < n_cells:
            found = np.empty(n_cells, self.scores.dtype), np.empty(n_cells, np.uint8)
            self._of_folds[number] = found
        return found


def over_labels(
    problem: Problem,
    function: Callable[[Columns, Memory], Result],
    *,
    n_copies: int = 1,
    n_jobs: int | None = -1,
    progress: bool = False,
) -> list[Result]:
    """Apply `function` to a few labels at a time, on threads; return the results in the order of the labels.

    Columns of sparse scores have the cells that are stored. Whoever copies them says how many copies there are in all.
    """
    sparse = sparse_columns(problem) if is_sparse(problem.scores) else None
    if sparse is None:
        problem = _by_label(problem)
    n_cells = problem.n_stored if sparse is None else sparse.scores.size
    # As many parts for each thread, none of them wider than a stripe unless labels are short.
    width = max(_STRIPE, _LEAST_CELLS * problem.n_labels // max(1, n_cells))
    if sparse is None:
        label_bytes = n_copies * problem.n_samples * (problem.dtype.itemsize + 1)
        width = min(width, max(1, _MOST_BYTES // label_bytes))
    n_workers = workers(n_jobs)
    n_parts = ceil_div(ceil_div(problem.n_labels, width), n_workers) * n_workers
    if n_cells < _LEAST_CELLS:
        n_parts = 1
    parts = list(equal_parts(slice(0, problem.n_labels), n_parts))
    n_copied = parts[0].stop if sparse is None and not _lies_in_columns(problem) else 0
    unused: list[Memory] = []

    def apply(labels: slice) -> Result:
        try:
            memory = unused.pop()
        except IndexError:
            memory = Memory(problem, n_copied)
        columns = _read(problem, labels, memory) if sparse is None else sparse.of_labels(labels)
        result = function(columns, memory)
        unused.append(memory)
        return result

    return threads.run(
        apply, parts, n_jobs=n_jobs, cells=n_cells, progress=progress, title="labels"
    )


def ask(
    problem: Problem,
    questions: Sequence[Callable[[Columns, Memory], Any]],
    *,
    n_jobs: int | None = -1,
    progress: bool = False,
) -> list[list[Any]]:
    """Ask several questions of a few labels at a time; return the answers to each, in the order of the labels."""

    def each(columns: Columns, memory: Memory) -> list[Any]:
        return [question(columns, memory) for question in questions]

    parts = over_labels(problem, each, n_jobs=n_jobs, progress=progress)
    return [list(answers) for answers in zip(*parts, strict=True)]


def _by_label(problem: Problem) -> Problem:
    """Compress sparse truth of dense scores by label, and sparse unknown cells, once for all parts."""
    if not (is_sparse(problem.truth) or is_sparse(problem.unknown)):
        return problem
    unknown = None if problem.unknown is None else compressed(problem.unknown, "csc")
    return replace(problem, truth=compressed(problem.truth, "csc"), unknown=unknown)


def _lies_in_columns(problem: Problem) -> bool:
    """Whether the labels of dense scores lie in memory as they are searched."""
    scores, truth = problem.scores, problem.truth
    if not (isinstance(scores, np.ndarray) and isinstance(truth, np.ndarray)):
        return False
    lie_so = scores.flags.f_contiguous and truth.flags.f_contiguous
    return lie_so and scores.dtype == problem.dtype and truth.itemsize == 1


def _read(problem: Problem, labels: slice, memory: Memory) -> Columns:
    """Return the columns of some labels of dense scores."""
    n_labels = labels.stop - labels.start
    scores, truth = _cells(problem, labels, memory)
    ends = np.arange(1, n_labels + 1) * problem.n_samples
    nothing = np.zeros(n_labels, np.int64)
    weights = problem.unit_weights
    are_all = problem.unknown is None and (weights is None or bool(weights.all()))
    if are_all:
        starts = ends - problem.n_samples
        flat = scores.reshape(-1), truth.reshape(-1)
        return Columns(*flat, weights, starts, ends, nothing, labels.start)
    # Leave out the cells that do not count.
    counts = np.ones((n_labels, problem.n_samples), np.bool_)
    if problem.unknown is not None:
        counts &= ~to_dense(problem.unknown[:, labels]).T.astype(np.bool_)
    if weights is not None:
        counts &= weights > 0
        weights = np.broadcast_to(weights, counts.shape)[counts]
    n_cells = counts.sum(axis=1)
    ends = n_cells.cumsum()
    return Columns(
        scores[counts], truth[counts], weights, ends - n_cells, ends, nothing, labels.start
    )


def _cells(problem: Problem, labels: slice, memory: Memory) -> tuple[Scores, Bytes]:
    """Return scores and truth of some labels, (n_labels, n_samples) each."""
    if _lies_in_columns(problem):
        return problem.scores[:, labels].T, problem.truth[:, labels].T.view(np.uint8)
    n_labels = labels.stop - labels.start
    scores, truth = memory.scores[:n_labels], memory.truth[:n_labels]
    all_truth = problem.truth
    if is_sparse(all_truth):
        truth[:] = all_truth[:, labels].toarray().T
    for rows in in_pieces(slice(0, problem.n_samples), _BLOCK):
        scores[:, rows] = problem.scores[rows, labels].T
        if not is_sparse(all_truth):
            truth[:, rows] = all_truth[rows, labels].T
    return scores, truth
