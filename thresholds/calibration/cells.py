"""What lies at which score of a label: what curves are fitted to, and measured on."""

from collections.abc import Callable
from itertools import pairwise
from typing import Any, NamedTuple, TypeVar

import numpy as np

from thresholds._arrays import threads
from thresholds._arrays.dtypes import least_positive, threshold_dtype
from thresholds._arrays.types import Floats, Ints
from thresholds._engine.histograms import Histograms

Result = TypeVar("Result")

_CELLS_PER_PIECE = 2**18


class Cells(NamedTuple):
    """Scores of labels and what weighs there, one label after another; those of label j are `starts[j]:starts[j + 1]`.

    Cells of one score count as one, which may have positives and negatives.
    """

    starts: Ints  # (n_labels + 1,)
    scores: Floats  # (n_cells,) or what else stands in their place: probabilities, log odds
    hits: Ints  # (n_cells,) weight of the positives, in the problem's unit
    weights: Ints  # (n_cells,)

    @classmethod
    def of_bins(cls, bins: Histograms) -> "Cells":
        """Put the cells of each bin at its middle."""
        return cls(bins.offsets, bins.middle, bins.hits, bins.weights)

    def group(self, first: int, last: int) -> "Cells":
        """Return the cells of labels `first:last`, as views."""
        at = slice(self.starts[first], self.starts[last])
        starts = self.starts[first : last + 1] - self.starts[first]
        return Cells(starts, self.scores[at], self.hits[at], self.weights[at])

    def in_blocks(self) -> "Cells":
        """Take neighbours of a label together that are equal."""
        starts, scores, hits, weights = self
        begins = np.append(True, scores[1:] != scores[:-1])[: scores.size]  # (n_cells,)
        begins[starts[:-1][np.diff(starts) > 0]] = True
        firsts = np.flatnonzero(begins)
        if firsts.size == scores.size:
            return self
        sums = (np.add.reduceat(part, firsts) for part in (hits, weights))
        return Cells(np.searchsorted(firsts, starts), scores[firsts], *sums)

    def pooled(self) -> "Cells":
        """Take all labels for one."""
        return self._replace(starts=self.starts[[0, -1]])


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
