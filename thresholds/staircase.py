"""The staircase of a label: what every rule fitted on labels reads.

Its steps are the distinct scores of the label's positives, from the highest down, each with the weight of true
and false positives when everything at or above it is predicted, and with the next lower score. The best cut for
F-beta, (1 + b^2) tp / (b^2 positives + tp + fp), is always a step: between two steps only fp grows (Lipton et al.
2013, section 5, in its empirical form; docs/architecture.md).
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from thresholds import engines
from thresholds._kernels.keys import to_scores
from thresholds._kernels.sorting import unit_staircases, weighted_staircases
from thresholds.problem import Problem

Ints = npt.NDArray[np.int64]

Result = TypeVar("Result")

_WIDEST_TILE = 16  # float32 columns that share a cache line
_TILES_PER_THREAD = 40


@dataclass(frozen=True, slots=True)
class Staircase:
    """The steps of some labels, one label after another: label j has steps `offsets[j]:offsets[j + 1]`."""

    offsets: Ints  # (n_labels + 1,)
    score: npt.NDArray[Any]  # (n_steps,) falling within a label
    lower: npt.NDArray[Any]  # (n_steps,) the next lower score, NaN without one
    tp: Ints  # (n_steps,) in the unit of the problem's weights
    fp: Ints
    positives: Ints  # (n_labels,)

    def take(self, offsets: Ints, steps: Ints) -> "Staircase":
        """Give a staircase of some of the steps."""
        return Staircase(offsets, self.score[steps], self.lower[steps], self.tp[steps], self.fp[steps], self.positives)

    def above(self, floor: float) -> "Staircase":
        """Leave out the steps at or below `floor`; positives still count there."""
        kept = np.flatnonzero(self.score > floor)
        return self.take(np.searchsorted(kept, self.offsets), kept)

    def increments(self, counts: Ints) -> Ints:
        """Give what each step adds to cumulative `counts`."""
        added = np.diff(counts, prepend=0)
        starts = self.offsets[:-1][np.diff(self.offsets) > 0]
        added[starts] = counts[starts]
        return added


def concatenate(parts: Sequence[Staircase]) -> Staircase:
    """Join the staircases of consecutive labels."""
    sizes = np.concatenate([np.diff(part.offsets) for part in parts])
    fields = ("score", "lower", "tp", "fp", "positives")
    joined = (np.concatenate([getattr(part, name) for part in parts]) for name in fields)
    return Staircase(np.append(0, sizes.cumsum()), *joined)


def of_labels(problem: Problem, first: int, last: int) -> Staircase:
    """Count the staircases of labels `first:last`."""
    if problem.plain:
        keys, truth = problem.tile(first, last)
        positives = np.array([np.count_nonzero(row) for row in truth])
        offsets, key, lower, tp, fp = unit_staircases(keys, truth)
    else:
        items = problem.items("labels", first, last)
        positives = np.add.reduceat(items.hits, items.starts[:-1])
        offsets, key, lower, tp, fp = weighted_staircases(*items)
    stairs = Staircase(offsets, to_scores(key), to_scores(lower), tp, fp, positives)
    return stairs.above(problem.missing) if problem.keep_sparse else stairs


def map_tiles(
    problem: Problem,
    function: Callable[[int, int], Result],
    *,
    n_jobs: int | None = None,
    progress: bool = False,
) -> list[Result]:
    """Apply `function` to the first and last label of one tile after another, on threads, in order.

    Only what `function` returns is kept. Tiles are so narrow that a macro fit takes less than a quarter of dense
    scores and truth on top of them, even if nearly every cell is positive.
    """
    width = max(1, min(_WIDEST_TILE, problem.n_labels // (_TILES_PER_THREAD * engines.worker_count(n_jobs))))
    problem.prepare("labels")
    tiles = [(j, min(j + width, problem.n_labels)) for j in range(0, problem.n_labels, width)]
    size = problem.n_stored
    return engines.run(
        lambda tile: function(*tile), tiles, n_jobs=n_jobs, cells=size, progress=progress, title="labels"
    )


def map_labels(
    problem: Problem,
    function: Callable[[Staircase], Result],
    *,
    n_jobs: int | None = None,
    progress: bool = False,
) -> list[Result]:
    """Apply `function` to the staircases of one tile of labels after another, on threads, in order."""

    def of_tile(first: int, last: int) -> Result:
        return function(of_labels(problem, first, last))

    return map_tiles(problem, of_tile, n_jobs=n_jobs, progress=progress)
