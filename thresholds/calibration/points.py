"""What lies at which score of a label: what curves are fitted to, and measured on."""

from collections.abc import Callable
from itertools import pairwise
from typing import NamedTuple, TypeVar

import numpy as np

from thresholds._arrays import threads
from thresholds._arrays.types import Floats, Ints
from thresholds._engine.histograms import Histograms

Result = TypeVar("Result")

_POINTS_PER_PIECE = 2**18


class Points(NamedTuple):
    """Scores of labels and what weighs there, one label after another; those of label j are `starts[j]:starts[j + 1]`.

    Cells of one score are one point, which may have positives and negatives.
    """

    starts: Ints  # (n_labels + 1,)
    scores: Floats  # (n_points,) or what else stands in their place: probabilities, log odds
    hits: Ints  # (n_points,) weight of the positives, in the problem's unit
    weights: Ints  # (n_points,)

    @classmethod
    def of_bins(cls, bins: Histograms) -> "Points":
        """Put the cells of each bin at its middle."""
        return cls(bins.offsets, bins.middle, bins.hits, bins.weights)

    def group(self, first: int, last: int) -> "Points":
        """Return the points of labels `first:last`, as views."""
        at = slice(self.starts[first], self.starts[last])
        starts = self.starts[first : last + 1] - self.starts[first]
        return Points(starts, self.scores[at], self.hits[at], self.weights[at])

    def in_blocks(self) -> "Points":
        """Take neighbours of a label together that are equal."""
        starts, scores, hits, weights = self
        begins = np.append(True, scores[1:] != scores[:-1])[: scores.size]  # (n_points,)
        begins[starts[:-1][np.diff(starts) > 0]] = True
        firsts = np.flatnonzero(begins)
        if firsts.size == scores.size:
            return self
        sums = (np.add.reduceat(part, firsts) for part in (hits, weights))
        return Points(np.searchsorted(firsts, starts), scores[firsts], *sums)

    def pooled(self) -> "Points":
        """Take all labels for one."""
        return self._replace(starts=self.starts[[0, -1]])


def map_labels(
    starts: Ints,
    function: Callable[[int, int], Result],
    *,
    n_jobs: int | None = -1,
    progress: bool = False,
) -> list[Result]:
    """Apply `function` to the first and last label of pieces of points, on threads, in order."""
    n_labels = starts.size - 1

    # The label at every so many points; a label with more is a piece of its own.
    ends = np.searchsorted(starts[:-1], np.arange(0, starts[-1], _POINTS_PER_PIECE))
    ends = np.unique(np.concatenate([[0], ends, [n_labels]]))
    return threads.run(
        lambda piece: function(*piece),
        list(pairwise(ends.tolist())),
        n_jobs=n_jobs,
        progress=progress,
        title="labels",
    )
