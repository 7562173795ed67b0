"""Cuts of all labels that fall together: one threshold that they share, or the path of joint micro F.

A path has C points; from each to the next no threshold rises. It is fixed by some of the rows, and what is promised
along it is shown on others.

The joint path: where each label takes the cut of highest tp - r predicted (`search/joint_micro.py`), lowering r from 1
to 0 leads along the vertices of the labels' hulls, in the order of their slopes. It ends at the lowest positive of each
label; from there all labels go on together, by ranks, to their lowest scores.

Of many labels few fall at a point. So a path is kept as its falls, and takes the memory of scores, not that of points
times labels.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from thresholds._arrays.sparse import is_sparse, to_dense
from thresholds._arrays.types import Dense, Floats, Ints
from thresholds._checks import Placement
from thresholds._engine.placement import place
from thresholds._engine.unknown import without_entries
from thresholds._kernels.keys import to_keys, to_scores
from thresholds._kernels.sorting import sorted_groups
from thresholds.data.problem import Problem
from thresholds.data.tiles import map_tiles
from thresholds.guarantees.units import Units
from thresholds.search import staircase
from thresholds.search.joint_micro import Hull

_MOST_POINTS = 256  # each predicts a few per cent more than the one before
_POINTS_BELOW = 32  # of the joint path, under the lowest positives


class Falls(NamedTuple):
    """The points at which thresholds fall, label by label, all (n_falls,)."""

    label: Ints
    point: Ints  # rising within a label
    threshold: Floats  # from this point on; falling within a label


@dataclass(frozen=True)
class Path:
    """The thresholds of each label along the path, from the highest down; above its first fall one is +inf."""

    n_points: int
    falls: Falls  # of each label; of a threshold that all labels share, those of label 0
    is_shared: bool = False

    def at(self, point: int, n_labels: int) -> Floats:
        """Return the threshold of each label at a point."""
        thresholds = np.full(n_labels, np.inf)
        is_above = self.falls.point <= point  # (n_falls,)
        # The last of a label stays.
        thresholds[self.falls.label[is_above]] = self.falls.threshold[is_above]
        return np.full(n_labels, thresholds[0]) if self.is_shared else thresholds

    def places(self, label: Ints, score: Floats) -> Ints:
        """Return the first point at which each of some cells is predicted, `n_points` for none; (n_cells,)."""
        if self.is_shared:
            label = np.zeros_like(label)
        # The first fall to the score or below it, if it is one of the same label.
        at = np.searchsorted(self._in_order, _pairs(label, -score))
        is_reached = np.append(self.falls.label, -1)[at] == label
        return np.where(is_reached, np.append(self.falls.point, self.n_points)[at], self.n_points)

    @cached_property
    def _in_order(self) -> Dense:
        """The falls as pairs of label and threshold, the latter negated, so that all of them rise."""
        return _pairs(self.falls.label, -self.falls.threshold)


def _pairs(first: Ints, second: Dense) -> Dense:
    """Return pairs of numbers that are compared by the first, and where that is equal by the second.

    As complex numbers: NumPy orders them so.
    """
    pairs = np.empty(first.size, np.complex128)
    pairs.real = first
    pairs.imag = second
    return pairs


def shared_path(problem: Problem, units: Units) -> Path:
    """Return thresholds that all labels share: scores of some rows, as geometric ranks pick them."""
    scores = problem.scores[units.rows]
    unknown = None if problem.unknown is None else problem.unknown[units.rows]
    if is_sparse(scores):
        cells = (scores if unknown is None else without_entries(scores, unknown)).data
    else:
        cells = np.asarray(scores if unknown is None else scores[~to_dense(unknown)]).reshape(-1)
    lowest = problem.missing if is_sparse(scores) else -np.inf
    cells = np.sort(cells[cells > lowest])[::-1].astype(np.float64)  # (n_cells,) falling
    cuts = np.unique(cells[_geometric(cells.size)])[::-1]  # (n_points,)
    falls = Falls(np.zeros(cuts.size, np.int64), np.arange(cuts.size), cuts)
    return Path(cuts.size, falls, is_shared=True)


def joint_path(problem: Problem, placement: Placement, n_jobs: int | None = -1) -> Path:
    """Return the path of joint micro F of all rows of a problem."""
    hull = _joined(staircase.map_labels(problem, Hull.of, n_jobs=n_jobs))
    stairs = hull.stairs
    lower = np.fmax(stairs.lower, problem.missing) if problem.keep_sparse else stairs.lower
    score, lower = stairs.score.astype(np.float64), lower.astype(np.float64)
    placed = place(score, lower, placement, problem.scores.dtype)  # (n_steps,)

    # Of the steps of a label that lead to one point the last stays.
    label = stairs.label
    point, n_points = _points_of(hull)
    is_kept = np.append((label[1:] != label[:-1]) | (point[1:] != point[:-1]), True)[: label.size]
    along = Falls(label[is_kept], point[is_kept], placed[is_kept])

    # Below the lowest positives of the labels.
    last = np.flatnonzero(np.diff(label, append=-1))  # the lowest step of each label that has one
    lowest = np.full(problem.n_labels, np.inf)
    lowest[label[last]] = placed[last]
    n_predicted = np.ones(problem.n_labels)
    n_predicted[label[last]] = stairs.predicted[last]
    below = _below(problem, lowest, n_predicted, n_jobs)
    below = below._replace(point=n_points + below.point)
    return Path(n_points + _POINTS_BELOW, _in_labels(along, below))


def _points_of(hull: Hull) -> tuple[Ints, int]:
    """Return the point at which each step of the hulls is reached, (n_steps,), and the number of points."""
    # Go down the hulls of all labels in the order of their slopes; those of a label fall.
    order = np.argsort(-hull.slope, kind="stable")  # (n_steps,)
    stairs = hull.stairs
    predicted = stairs.increments(stairs.predicted)[order].cumsum()  # (n_steps,)
    is_last = np.append(hull.slope[order][1:] != hull.slope[order][:-1], True)[: order.size]
    ends = np.flatnonzero(is_last)  # (n_slopes,) the last step of each slope

    # Stop where some per cent more are predicted.
    total = int(predicted[-1]) if predicted.size else 0
    ends = np.unique(ends[np.searchsorted(predicted[ends], _geometric(total) + 1)])
    point = np.empty_like(order)
    point[order] = np.searchsorted(ends, np.arange(order.size))
    return point, ends.size


def _below(problem: Problem, lowest: Floats, n_predicted: Floats, n_jobs: int | None) -> Falls:
    """Return the falls of labels in `_POINTS_BELOW` points from so many predictions of each to all its scores.

    The numbers of predictions grow geometrically, from 1 where a label has no positives. Nothing falls before it is
    under the `lowest` threshold so far.
    """
    shares = np.arange(1, _POINTS_BELOW + 1)[:, np.newaxis] / _POINTS_BELOW
    left_out = to_keys(np.array([problem.missing], problem.dtype))

    def cut(first: int, last: int) -> Falls:
        starts, keys, _, _ = problem.label_items(first, last)
        rising, _ = sorted_groups(starts, keys)
        n_below = np.zeros(last - first, np.int64)  # (n_labels,) of this tile, never cut
        if problem.keep_sparse:
            n_below = np.add.reduceat(rising <= left_out, starts[:-1], dtype=np.int64)
        sizes = np.diff(starts) - n_below  # (n_labels,)

        # Thresholds at ranks from the top, under those before: (1 + n_points, n_own).
        own = np.flatnonzero(sizes)
        sizes = sizes[own]
        fewest = np.clip(n_predicted[first + own], 1, sizes)
        ranks = np.rint(fewest ** (1 - shares) * sizes**shares).astype(np.int64)
        scores = to_scores(rising[starts[own + 1] - ranks]).astype(np.float64)
        along = np.minimum.accumulate(np.vstack([lowest[first + own], scores]))
        label, point = np.nonzero((along[1:] < along[:-1]).T)
        return Falls(first + own[label], point, along[1 + point, label])

    tiles = map_tiles(problem, cut, n_jobs=n_jobs)
    return Falls(*(np.concatenate(values) for values in zip(*tiles, strict=True)))


def _in_labels(first: Falls, then: Falls) -> Falls:
    """Join falls that lie one under another."""
    joined = [np.concatenate(values) for values in zip(first, then, strict=True)]
    order = np.argsort(joined[0], kind="stable")
    return Falls(*(values[order] for values in joined))


def _joined(hulls: list[Hull]) -> Hull:
    """Join the hulls of consecutive labels."""
    return Hull(
        staircase.concatenate([hull.stairs for hull in hulls]),
        np.concatenate([hull.slope for hull in hulls]),
    )


def _geometric(n: int) -> Ints:
    """Return at most `_MOST_POINTS` places below n, each some per cent further than the one before."""
    if n == 0:
        return np.empty(0, np.int64)
    return np.unique(np.rint(np.geomspace(1, n, _MOST_POINTS)).astype(np.int64)) - 1
