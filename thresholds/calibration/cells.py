"""The cells of a problem in one list, label after label: what calibration is fitted to and measured on."""

from collections.abc import Callable
from itertools import pairwise
from typing import Any, NamedTuple, TypeVar

import numpy as np

from thresholds._arrays import threads
from thresholds._arrays.blocks import by_cells
from thresholds._arrays.dtypes import least_positive, threshold_dtype
from thresholds._arrays.types import Bytes, Floats, Ints
from thresholds._kernels.keys import to_scores
from thresholds.data.problem import Items, Problem

Result = TypeVar("Result")

_CELLS_PER_PIECE = 2**18
_NO_WEIGHTS = np.empty(0, np.int64)


class Cells(NamedTuple):
    """Cells of positive weight and known truth that are not masked; label j has `starts[j]:starts[j + 1]`.

    The cells that a sparse column leaves out are two at most: its positives and its negatives.
    """

    starts: Ints  # (n_labels + 1,)
    scores: Floats  # (n_cells,)
    truth: Bytes  # (n_cells,)
    weights: Ints  # (n_cells,) in the problem's unit; empty where all are 1

    def group(self, first: int, last: int) -> "Cells":
        """Return the cells of labels `first:last`, as views."""
        at = slice(self.starts[first], self.starts[last])
        starts = self.starts[first : last + 1] - self.starts[first]
        weights = self.weights[at] if self.weights.size else _NO_WEIGHTS
        return Cells(starts, self.scores[at], self.truth[at], weights)

    def in_blocks(self) -> "Cells":
        """Take neighbours of a label of equal score together, negatives and positives each."""
        starts, scores, truth, weights = self
        is_first = np.append(True, scores[1:] != scores[:-1])[: scores.size]  # (n_cells,)
        is_first[starts[:-1][np.diff(starts) > 0]] = True
        number = np.append(0, is_first.cumsum())  # of blocks before each cell

        # Negatives, then positives of each block.
        sums = np.zeros(2 * number[-1], np.int64)
        np.add.at(sums, 2 * (number[1:] - 1) + truth, weights)
        some = sums > 0
        return Cells(
            np.append(0, some.cumsum())[2 * number[starts]],
            np.repeat(scores[is_first], 2)[some],
            np.tile(np.array([0, 1], np.uint8), number[-1])[some],
            sums[some],
        )

    def pooled(self) -> "Cells":
        """Take all labels for one."""
        return self._replace(starts=self.starts[[0, -1]])


def cells_of(problem: Problem, n_jobs: int | None) -> Cells:
    """Collect the cells of a problem, on threads."""
    problem.prepare("labels")

    def collect(labels: slice) -> Cells:
        items = problem.group_items("labels", labels.start, labels.stop)
        return _cells(items, problem.is_plain)

    pieces = list(by_cells(problem.n_labels, problem.n_stored, _CELLS_PER_PIECE))
    collected = threads.run(collect, pieces, n_jobs=n_jobs)
    sizes = np.concatenate([np.diff(cells.starts) for cells in collected])
    return Cells(
        np.append(0, sizes.cumsum()),
        np.concatenate([cells.scores for cells in collected]),
        np.concatenate([cells.truth for cells in collected]),
        np.concatenate([cells.weights for cells in collected]),
    )


def map_labels(
    starts: Ints,
    function: Callable[[int, int], Result],
    *,
    n_jobs: int | None = -1,
    progress: bool = False,
) -> list[Result]:
    """Apply `function` to the first and last label of pieces of cells, on threads, in order."""
    n_labels = starts.size - 1

    # The label at every so many cells; a label with more is a piece of its own.
    ends = np.searchsorted(starts[:-1], np.arange(0, starts[-1], _CELLS_PER_PIECE))
    ends = np.unique(np.concatenate([[0], ends, [n_labels]]))
    return threads.run(
        lambda piece: function(*piece),
        list(pairwise(ends.tolist())),
        n_jobs=n_jobs,
        progress=progress,
        title="labels",
    )


def _cells(items: Items, unweighted: bool) -> Cells:
    """Split items into cells of one truth, without those of score -inf."""
    starts, keys, positive_weights, weights = items
    scores = to_scores(keys).astype(np.float64)
    truth = positive_weights > 0

    # An item with positives and negatives, as absent cells are, becomes two cells: positives first.
    is_mixed = truth & (positive_weights < weights)
    if is_mixed.any():
        item = np.repeat(np.arange(truth.size), 1 + is_mixed)
        is_second = np.append(False, item[1:] == item[:-1])
        starts = np.append(0, (1 + is_mixed).cumsum())[starts]
        truth = truth[item] & ~is_second
        scores = scores[item]
        positive_weights = positive_weights[item]
        weights = np.where(truth, positive_weights, weights[item] - positive_weights)

    # Cells that count.
    counts = (weights > 0) & (scores > -np.inf)
    if not counts.all():
        starts = np.append(0, counts.cumsum())[starts]
        scores = scores[counts]
        truth = truth[counts]
        weights = weights[counts]
    return Cells(starts, scores, truth.view(np.uint8), _NO_WEIGHTS if unweighted else weights)


def beside_groups(starts: Ints, values: Floats, first: int) -> tuple[Ints, Floats]:
    """Return numbers of groups, from `first` on, and values of their cells, one group after another, to go beside each.

    Groups of one size are the rows of a matrix, where one number serves a row.
    """
    n_groups = starts.size - 1
    sizes = np.diff(starts)  # (n_groups,)
    groups = np.arange(first, first + n_groups)
    if n_groups and (sizes == sizes[0]).all():
        return groups[:, np.newaxis], values.reshape(n_groups, -1)
    return np.repeat(groups, sizes), values


def limits_of(dtype: np.dtype[Any]) -> tuple[float, float]:
    """Return the numbers next to 0 and to 1 in the dtype of the scores."""
    kind = threshold_dtype(dtype)
    return least_positive(kind), float(np.nextafter(kind.type(1), kind.type(0)))
