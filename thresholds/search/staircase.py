"""The staircase of a label: what every rule fitted on labels reads.

Its steps are the distinct scores of the label's positives, from the highest down, each with the weight of true
and false positives when everything at or above it is predicted, and with the next lower score. The best cut for
F-beta, (1 + b^2) tp / (b^2 positives + tp + fp), is always a step: between two steps only fp grows (Lipton et al.
2013, section 5, in its empirical form; docs/proofs.md).
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt

from thresholds._arrays.types import Floats, Ints
from thresholds._checks import Placement
from thresholds._kernels.choosing import best_steps
from thresholds._kernels.keys import to_scores
from thresholds._kernels.sorting import unit_staircases, weighted_staircases
from thresholds.data.problem import Items, Problem
from thresholds.data.tiles import map_tiles
from thresholds.search.placement import place

Result = TypeVar("Result")


class Cuts(NamedTuple):
    """The cut of each label: the score it lies at, the next lower score, and what it counts."""

    score: Floats  # +inf for never
    lower: Floats  # NaN without one
    tp: Ints
    predicted: Ints
    positives: Ints

    def placed(self, problem: Problem, placement: Placement) -> Floats:
        """Put thresholds into the gaps below the cuts."""
        # Sparse predictions stay above `missing` also where no cell of a label is absent.
        lower = np.fmax(self.lower, problem.missing) if problem.keep_sparse else self.lower
        return place(self.score, lower, placement, problem.scores.dtype)


@dataclass(frozen=True, slots=True)
class Staircase:
    """The steps of some labels, one label after another: label j has steps `offsets[j]:offsets[j + 1]`."""

    offsets: Ints  # (n_labels + 1,)
    score: npt.NDArray[Any]  # (n_steps,) falling within a label
    lower: npt.NDArray[Any]  # (n_steps,) the next lower score, NaN without one
    tp: Ints  # (n_steps,) in the unit of the problem's weights
    fp: Ints
    higher: Ints  # what has a higher score; the next step begins there, as others may lie between two steps
    positives: Ints  # (n_labels,)

    @property
    def predicted(self) -> Ints:
        """What is predicted at each step."""
        return self.tp + self.fp

    @property
    def label(self) -> Ints:
        """The label of each step."""
        return np.repeat(np.arange(self.positives.size), np.diff(self.offsets))

    def take(self, offsets: Ints, steps: Ints) -> "Staircase":
        """Return a staircase of some of the steps."""
        of_steps = (self.score, self.lower, self.tp, self.fp, self.higher)
        score, lower, tp, fp, higher = (values[steps] for values in of_steps)
        return Staircase(offsets, score, lower, tp, fp, higher, self.positives)

    def where(self, kept: npt.NDArray[np.bool_]) -> "Staircase":
        """Leave out the other steps; positives still count there."""
        steps = np.flatnonzero(kept)
        return self.take(np.searchsorted(steps, self.offsets), steps)

    def cuttable(self, problem: Problem) -> "Staircase":
        """Leave out the steps at which a fit to the problem may not cut."""
        return self.where(self.score > problem.missing) if problem.keep_sparse else self

    def best(self, beta: float) -> Ints:
        """Return the step of highest F-beta of each label, -1 for never; ties go to the highest cut."""
        return best_steps(self.offsets, self.tp, self.fp, self.positives, beta**2)

    def cuts_at(self, steps: Ints) -> Cuts:
        """Read one step of each label; -1 is never."""
        chosen = steps >= 0
        at = steps[chosen]
        score, lower = np.full(steps.size, np.inf), np.full(steps.size, np.nan)
        tp, predicted = np.zeros_like(steps), np.zeros_like(steps)
        score[chosen], lower[chosen] = self.score[at], self.lower[at]
        tp[chosen], predicted[chosen] = self.tp[at], self.tp[at] + self.fp[at]
        return Cuts(score, lower, tp, predicted, self.positives)

    def increments(self, counts: Ints) -> Ints:
        """Return what each step adds to cumulative `counts`."""
        added = np.diff(counts, prepend=0)
        starts = self.offsets[:-1][np.diff(self.offsets) > 0]
        added[starts] = counts[starts]
        return added


def all_cuts(parts: Sequence[Cuts]) -> Cuts:
    """Join the cuts of consecutive labels."""
    return Cuts(*(np.concatenate(arrays) for arrays in zip(*parts, strict=True)))


def concatenate(parts: Sequence[Staircase]) -> Staircase:
    """Join the staircases of consecutive labels."""
    sizes = np.concatenate([np.diff(part.offsets) for part in parts])
    fields = ("score", "lower", "tp", "fp", "higher", "positives")
    joined = (np.concatenate([getattr(part, name) for part in parts]) for name in fields)
    return Staircase(np.append(0, sizes.cumsum()), *joined)


def of_labels(problem: Problem, first: int, last: int) -> Staircase:
    """Count the staircases of labels `first:last`."""
    return of_items(problem.cells(first, last)).cuttable(problem)


def of_items(items: Items) -> Staircase:
    """Count the staircase of each group of items."""
    if items.weights.size == 0:
        keys, truth = (cells.reshape(items.starts.size - 1, -1) for cells in (items.keys, items.positive_weights))
        positives = np.array([np.count_nonzero(row) for row in truth])
        offsets, key, lower, tp, fp, higher = unit_staircases(keys, truth)
    else:
        positives = np.add.reduceat(items.positive_weights, items.starts[:-1])
        offsets, key, lower, tp, fp, higher = weighted_staircases(*items)
    return Staircase(offsets, to_scores(key), to_scores(lower), tp, fp, higher, positives)


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
