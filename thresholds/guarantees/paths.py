"""Cuts of all labels that fall together: one threshold that they share, or the path of joint micro F.

A path has C points; from each to the next no threshold rises. It is fixed by some of the rows, and what is promised
along it is shown on others.

The joint path: where each label takes the cut of highest tp - r predicted, lowering r from 1
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
from thresholds._engine.histograms import Histograms, over_histograms
from thresholds._engine.placement import place
from thresholds._engine.problem import Problem
from thresholds._engine.staircase import Steps, joined
from thresholds._engine.unknown import without_entries
from thresholds._kernels.choosing import upper_hulls
from thresholds.guarantees.units import Units

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

    def descend(found: Histograms, first: int) -> _Descent:
        return _descent(problem, found, first, placement)

    parts = over_histograms(problem, descend, n_jobs=n_jobs)
    hulls, slopes, placed, below = zip(*parts, strict=True)
    steps, slope = joined(hulls), np.concatenate(slopes)  # (n_steps,)
    point, n_points = _points_of(steps, slope)

    # Of the steps of a label that lead to one point the last stays.
    label = steps.label
    is_kept = np.append((label[1:] != label[:-1]) | (point[1:] != point[:-1]), True)[: label.size]
    along = Falls(label[is_kept], point[is_kept], np.concatenate(placed)[is_kept])
    under = Falls(*map(np.concatenate, zip(*below, strict=True)))
    under = under._replace(point=n_points + under.point)
    return Path(n_points + _POINTS_BELOW, _in_labels(along, under))


class _Descent(NamedTuple):
    """How some labels go down: the vertices of their hulls, and what lies below."""

    hull: Steps  # the steps at which tp - r predicted is highest for some r
    slope: Floats  # (n_steps,) of the edge that ends at each: tp gained for each prediction
    placed: Floats  # (n_steps,) their thresholds
    below: Falls  # under the lowest positives


def _descent(problem: Problem, found: Histograms, first: int, placement: Placement) -> _Descent:
    """Return how some labels, the first of which has that number, go down."""
    steps = found.steps.cuttable(problem)
    _, vertex, slope = upper_hulls(steps.offsets, steps.tp, steps.predicted - steps.tp)
    is_vertex = np.zeros(steps.cut.size, np.bool_)
    is_vertex[vertex] = True
    hull = steps.where(is_vertex)
    lower = np.fmax(hull.lower, problem.missing) if problem.keep_sparse else hull.lower
    placed = place(hull.cut, lower, placement, problem.scores.dtype)

    # Where each label that has positives leaves its hull.
    label = hull.label
    last = np.flatnonzero(np.diff(label, append=-1))
    lowest = np.full(found.n_labels, np.inf)
    lowest[label[last]] = placed[last]
    n_predicted = np.ones(found.n_labels)
    n_predicted[label[last]] = hull.predicted[last]
    cuts = found.cuts.cuttable(problem)
    below = _below(cuts, lowest, n_predicted)
    return _Descent(hull, slope, placed, below._replace(label=first + below.label))


def _points_of(steps: Steps, slope: Floats) -> tuple[Ints, int]:
    """Return the point at which each step of the hulls is reached, (n_steps,), and the number of points."""
    # What each step adds to what its label predicts above.
    added = np.diff(steps.predicted, prepend=0)  # (n_steps,)
    firsts = steps.offsets[:-1][np.diff(steps.offsets) > 0]
    added[firsts] = steps.predicted[firsts]

    # Go down the hulls of all labels in the order of their slopes; those of a label fall.
    order = np.argsort(-slope, kind="stable")  # (n_steps,)
    predicted = added[order].cumsum()  # (n_steps,)
    is_last = np.append(slope[order][1:] != slope[order][:-1], True)[: order.size]
    ends = np.flatnonzero(is_last)  # (n_slopes,) the last step of each slope

    # Stop where some per cent more are predicted.
    total = int(predicted[-1]) if predicted.size else 0
    ends = np.unique(ends[np.searchsorted(predicted[ends], _geometric(total) + 1)])
    point = np.empty_like(order)
    point[order] = np.searchsorted(ends, np.arange(order.size))
    return point, ends.size


def _below(cuts: Steps, lowest: Floats, n_predicted: Floats) -> Falls:
    """Return the falls of labels in `_POINTS_BELOW` points from so many predictions of each to all its scores.

    The numbers of predictions grow geometrically, from 1 where a label has no positives. Nothing falls before it is
    under the `lowest` threshold so far. `cuts` are those at all scores that may be predicted.
    """
    shares = np.arange(1, _POINTS_BELOW + 1)[:, np.newaxis] / _POINTS_BELOW
    own = np.flatnonzero(np.diff(cuts.offsets))  # (n_own,) labels that have such scores
    firsts, lasts = cuts.offsets[own], cuts.offsets[own + 1]
    sizes = cuts.predicted[lasts - 1]

    # Thresholds at ranks from the top, under those before: (1 + n_points, n_own).
    fewest = np.clip(n_predicted[own], 1, sizes)
    ranks = np.rint(fewest ** (1 - shares) * sizes**shares).astype(np.int64)
    scores = np.empty(ranks.shape)
    for j, (first, last) in enumerate(zip(firsts.tolist(), lasts.tolist(), strict=True)):
        at = first + cuts.predicted[first:last].searchsorted(ranks[:, j])
        scores[:, j] = cuts.cut[at]
    along = np.minimum.accumulate(np.vstack([lowest[own], scores]))
    label, point = np.nonzero((along[1:] < along[:-1]).T)
    return Falls(own[label], point, along[1 + point, label])


def _in_labels(first: Falls, then: Falls) -> Falls:
    """Join falls that lie one under another."""
    joined = [np.concatenate(values) for values in zip(first, then, strict=True)]
    order = np.argsort(joined[0], kind="stable")
    return Falls(*(values[order] for values in joined))


def _geometric(n: int) -> Ints:
    """Return at most `_MOST_POINTS` places below n, each some per cent further than the one before."""
    if n == 0:
        return np.empty(0, np.int64)
    return np.unique(np.rint(np.geomspace(1, n, _MOST_POINTS)).astype(np.int64)) - 1
