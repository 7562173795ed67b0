"""One threshold for all labels, exactly: a pooled sweep for macro, weighted, micro and samples F-beta.

The candidates are the distinct scores of all positives. A first pass pools them; a second counts, for each, what
changes as the cut falls there. Macro and weighted averages sum over labels, samples over rows: in each case only
the F of the group that owns a cell changes with it (Lipton et al. 2014, section 2.1, has the averages).
"""

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from thresholds import engines
from thresholds._checks import Dense
from thresholds._kernels.keys import to_scores
from thresholds._kernels.sorting import pooled_counts, pooled_gains
from thresholds.blocks import Axis, Items, Problem
from thresholds.metrics import Average, Counts, f_of_counts

Ints = npt.NDArray[np.int64]

_CELLS_PER_PIECE = 2**21  # Small enough to sort near the cache, large enough to sweep the grid once for each.
_UNIT = 2.0**61  # A mean F-beta is an integer number of these, so that sums do not depend on threads.


class _Settings(NamedTuple):
    """What the two passes need to know."""

    average: Average
    beta: float
    zero_division: float
    n_jobs: int | None
    progress: bool


class _Pool(NamedTuple):
    """Candidate cuts, rising, with the positive weight at each."""

    grid: Dense
    hits: Ints


def best_threshold(
    problem: Problem,
    average: Average,
    beta: float,
    zero_division: float,
    *,
    n_jobs: int | None = None,
    progress: bool = False,
) -> tuple[float, float]:
    """Give the score at which to cut for the highest F-beta, and the next lower score (NaN without one).

    `+inf` predicts nothing. The highest cut wins among equals: F-measures closer than 2**-61 for each label
    (macro, weighted) or each row (samples) count as equal.
    """
    settings = _Settings(average, beta, zero_division, n_jobs, progress)
    axis: Axis = "samples" if average == "samples" else "labels"
    pieces = _pieces(problem, axis)
    pool = _pool_positives(problem, axis, pieces, settings)
    if pool.grid.size == 0:
        return np.inf, np.nan
    chosen = _best_micro(problem, pieces, pool, settings) if average == "micro" else None
    if average != "micro":
        chosen = _best_mean(problem, axis, pieces, pool, settings)
    if chosen is None:
        return np.inf, np.nan
    key = pool.grid[chosen]
    below = engines.run(lambda piece: _highest_below(problem.items(axis, *piece), key), pieces, n_jobs=n_jobs)
    score, lower = to_scores(np.array([key, max(below)], pool.grid.dtype)).tolist()
    return score, lower


def _pieces(problem: Problem, axis: Axis) -> list[tuple[int, int]]:
    """Cut an axis into pieces of about two million cells."""
    groups = problem.size(axis)
    cells = max(1, problem.n_samples * problem.n_labels // groups)
    step = max(1, _CELLS_PER_PIECE // cells)
    return [(first, min(first + step, groups)) for first in range(0, groups, step)]


def _pool_positives(problem: Problem, axis: Axis, pieces: list[tuple[int, int]], settings: _Settings) -> _Pool:
    """Collect the distinct scores of positives."""

    def collect(piece: tuple[int, int]) -> _Pool:
        items = problem.items(axis, *piece)
        positive = items.hits > 0
        if axis == "samples":
            positive &= np.repeat(problem.row_weights[slice(*piece)] > 0, np.diff(items.starts))
        return _distinct(items.keys[positive], items.hits[positive])

    parts = engines.run(collect, pieces, n_jobs=settings.n_jobs, progress=settings.progress, title="positives")
    return _distinct(*(np.concatenate(arrays) for arrays in zip(*parts, strict=True)))


def _distinct(keys: Dense, hits: Ints) -> _Pool:
    """Sort keys and add up the weights of equal ones."""
    order = np.argsort(keys)
    keys, hits = keys[order], hits[order]
    first = np.flatnonzero(np.append(True, keys[1:] != keys[:-1])[: keys.size])
    return _Pool(keys[first], np.add.reduceat(hits, first) if first.size else hits)


def _best_micro(problem: Problem, pieces: list[tuple[int, int]], pool: _Pool, settings: _Settings) -> int | None:
    """Give the candidate of highest micro F-beta."""

    def count(piece: tuple[int, int]) -> Ints:
        items = problem.items("labels", *piece)
        return pooled_counts(pool.grid, items.keys, items.weights)

    parts = engines.run(count, pieces, n_jobs=settings.n_jobs, progress=settings.progress, title="cells")
    predicted = _sum(parts)[::-1].cumsum()[::-1]
    tp = pool.hits[::-1].cumsum()[::-1]
    f = f_of_counts(Counts(tp, predicted, np.broadcast_to(tp[0], tp.shape)), settings.beta, 0.0)
    return int(f.size - 1 - np.argmax(f[::-1]))


def _best_mean(
    problem: Problem, axis: Axis, pieces: list[tuple[int, int]], pool: _Pool, settings: _Settings
) -> int | None:
    """Give the candidate of highest mean F-beta over labels or rows, None if predicting nothing is better."""
    positives = _positives(problem, axis, pieces, settings)
    shares = _shares(problem, positives, settings.average)

    def sweep(piece: tuple[int, int]) -> Ints:
        part = slice(*piece)
        items = problem.items(axis, *piece)
        return pooled_gains(
            pool.grid,
            *items,
            positives[part],
            shares[part],
            settings.beta**2,
            settings.zero_division,
            _UNIT,
        )

    parts = engines.run(sweep, pieces, n_jobs=settings.n_jobs, progress=settings.progress, title="cells")
    nothing = int(np.rint(shares[positives == 0] * settings.zero_division * _UNIT).astype(np.int64).sum())
    value = nothing + _sum(parts)[::-1].cumsum()[::-1]
    highest = max(nothing, int(value.max()))
    equal = shares.size  # Each group is off by at most half a unit: equal means differ by no more than this.
    if nothing >= highest - equal:
        return None
    return int(np.flatnonzero(value >= highest - equal)[-1])


def _positives(problem: Problem, axis: Axis, pieces: list[tuple[int, int]], settings: _Settings) -> Ints:
    """Give the positive weight of each group."""

    def add(piece: tuple[int, int]) -> Ints:
        items = problem.items(axis, *piece)
        return np.add.reduceat(items.hits, items.starts[:-1])

    return np.concatenate(engines.run(add, pieces, n_jobs=settings.n_jobs))


def _shares(problem: Problem, positives: Ints, average: Average) -> npt.NDArray[np.float64]:
    """Give the weight of each group's F-beta in the average; they sum to 1."""
    weights = {"samples": problem.row_weights, "weighted": positives}.get(average, np.ones_like(positives))
    return np.divide(weights, weights.sum(), dtype=np.float64)


def _highest_below(items: Items, key: np.unsignedinteger[Any]) -> int:
    """Give the highest key under `key`, 0 for none."""
    return int(items.keys[(items.keys < key) & (items.weights > 0)].max(initial=0))


def _sum(parts: list[Ints]) -> Ints:
    """Add arrays up in place."""
    total = parts[0]
    for part in parts[1:]:
        total += part
    return total
