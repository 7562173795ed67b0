"""The cells of a problem in one list, label after label: what calibration is fitted to and measured on."""

from collections.abc import Callable
from itertools import pairwise
from typing import NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt

from thresholds._arrays import threads
from thresholds._arrays.blocks import by_cells
from thresholds._arrays.types import Floats, Ints
from thresholds._kernels.keys import to_scores
from thresholds.data.problem import Items, Problem

Result = TypeVar("Result")

_CELLS_PER_PIECE = 2**18
_NO_WEIGHTS = np.empty(0, np.int64)


class Cells(NamedTuple):
    """Cells of positive weight that are not masked; label j has `starts[j]:starts[j + 1]`.

    The cells that a sparse column leaves out are two at most: its positives and its negatives.
    """

    starts: Ints  # (n_labels + 1,)
    scores: Floats  # (n_cells,)
    truth: npt.NDArray[np.uint8]
    weights: Ints  # in the problem's unit; empty where all are 1

    def group(self, first: int, last: int) -> "Cells":
        """Return the cells of labels `first:last`, as views."""
        at = slice(self.starts[first], self.starts[last])
        starts = self.starts[first : last + 1] - self.starts[first]
        return Cells(starts, self.scores[at], self.truth[at], self.weights[at] if self.weights.size else _NO_WEIGHTS)

    def pooled(self) -> "Cells":
        """Take all labels for one."""
        return self._replace(starts=self.starts[[0, -1]])


def cells_of(problem: Problem, n_jobs: int | None) -> Cells:
    """Collect the cells of a problem, on threads."""
    problem.prepare("labels")

    def collect(labels: slice) -> Cells:
        return _cells(problem.items("labels", labels.start, labels.stop), problem.is_dense_unweighted)

    pieces = list(by_cells(problem.n_labels, problem.n_stored, _CELLS_PER_PIECE))
    parts = threads.run(collect, pieces, n_jobs=n_jobs)
    sizes = np.concatenate([np.diff(part.starts) for part in parts])
    columns = (np.concatenate(arrays) for arrays in list(zip(*parts, strict=True))[1:])
    return Cells(np.append(0, sizes.cumsum()), *columns)


def map_labels(
    starts: Ints,
    function: Callable[[int, int], Result],
    *,
    n_jobs: int | None = -1,
    progress: bool = False,
) -> list[Result]:
    """Apply `function` to the first and last label of pieces of cells, on threads, in order."""
    n_labels = starts.size - 1
    marks = np.searchsorted(starts[:-1], np.arange(0, starts[-1], _CELLS_PER_PIECE))
    cuts = np.unique(np.concatenate([[0], marks, [n_labels]])).tolist()
    pieces = list(pairwise(cuts))
    return threads.run(lambda piece: function(*piece), pieces, n_jobs=n_jobs, progress=progress, title="labels")


def _cells(items: Items, plain: bool) -> Cells:
    """Split items into cells of one truth, without those of score -inf."""
    starts, weights, hits = items.starts, items.weights, items.positive_weights
    scores = to_scores(items.keys).astype(np.float64)
    mixed = (hits > 0) & (hits < weights)
    if mixed.any():
        twice = np.repeat(np.arange(hits.size), 1 + mixed)
        again = np.append(False, twice[1:] == twice[:-1])
        starts = np.append(0, (1 + mixed).cumsum())[starts]
        truth = (hits[twice] > 0) & ~again
        scores, weights = scores[twice], np.where(truth, hits[twice], weights[twice] - hits[twice])
    else:
        truth = hits > 0
    kept = (weights > 0) & (scores > -np.inf)
    if not kept.all():
        starts = np.append(0, kept.cumsum())[starts]
        scores, truth, weights = scores[kept], truth[kept], weights[kept]
    return Cells(starts, scores, truth.view(np.uint8), _NO_WEIGHTS if plain else weights)


def log_odds(p: Floats) -> Floats:
    """Return log(p / (1 - p)), near 1/2 from 2 p - 1, which is exact there (the `logit` of SciPy 1.13 is not)."""
    middle = np.abs(p - 0.5) < 0.25
    with np.errstate(divide="ignore"):
        return np.where(middle, np.log1p((2 * p - 1) / (1 - p)), np.log(p / (1 - p)))
