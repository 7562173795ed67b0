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
from thresholds._checks import Placement
from thresholds._kernels.keys import to_scores
from thresholds._kernels.sorting import unit_staircases, weighted_staircases
from thresholds.blocks import Problem

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]

Result = TypeVar("Result")

_WIDEST_TILE = 16  # float32 columns that share a cache line
_TILES_A_THREAD = 32
_LOW = 1 / 1024  # how far above the next lower score the placement "low" lies, as a share of the gap


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


def map_labels(
    problem: Problem,
    function: Callable[[Staircase], Result],
    *,
    n_jobs: int | None = None,
    progress: bool = False,
) -> list[Result]:
    """Apply `function` to the staircases of one tile of labels after another, on threads, in order.

    Only what `function` returns is kept. Tiles are so narrow that keys, truth and steps of those in work take less
    than a quarter of dense scores even if every cell is positive.
    """
    width = max(1, min(_WIDEST_TILE, problem.n_labels // (_TILES_A_THREAD * engines.worker_count(n_jobs))))
    problem.prepare("labels")
    tiles = [(j, min(j + width, problem.n_labels)) for j in range(0, problem.n_labels, width)]
    return engines.run(
        lambda tile: function(of_labels(problem, *tile)), tiles, n_jobs=n_jobs, progress=progress, title="labels"
    )


def place(score: Floats, lower: Floats, placement: Placement, dtype: np.dtype[Any]) -> Floats:
    """Put thresholds into the gaps `(lower, score]`, representable in the scores' dtype; see `fit_empirical`.

    All thresholds in a gap decide alike on the data of the fit. A gap without a lower end gets the score itself.
    """
    kind = dtype if dtype.kind == "f" else np.dtype(np.float64)
    inside = np.isfinite(lower) & np.isfinite(score)
    top, bottom = score[inside].astype(kind), lower[inside].astype(kind)
    if placement == "low":
        low, high = bottom.astype(np.float64), top.astype(np.float64)
        with np.errstate(over="ignore"):
            wanted = low + (high - low) * _LOW
        wanted = np.where(np.isinf(wanted), low * (1 - _LOW) + high * _LOW, wanted)  # The gap exceeds float64.
        at = np.maximum(_rounded_up(wanted, kind), np.nextafter(bottom, kind.type(np.inf)))
    elif placement == "mid":
        at = (bottom.astype(np.float64) / 2 + top.astype(np.float64) / 2).astype(kind)
        at = np.where(at > bottom, at, top)
    else:
        at = top
    tiny = np.finfo(kind).tiny
    normal = np.where((at > 0) & ((tiny <= top) | (bottom >= 0)), tiny, kind.type(0))
    at = np.where(np.abs(at) < tiny, normal, at)  # Some runtimes flush subnormals to zero.
    placed = score.astype(np.float64) + 0.0
    placed[inside] = np.where(placement == "score", top, np.minimum(at, top)).astype(np.float64) + 0.0
    return placed


def _rounded_up(values: Floats, dtype: np.dtype[Any]) -> npt.NDArray[Any]:
    """Round float64 values to the next value of `dtype` that is not below."""
    rounded = values.astype(dtype)
    return np.where(rounded < values, np.nextafter(rounded, dtype.type(np.inf)), rounded)
