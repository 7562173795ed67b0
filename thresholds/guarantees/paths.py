"""Cuts of all labels that fall together: one threshold that they share, or the path of joint micro F.

A path has C points; from each to the next no threshold rises. It is fixed by some of the rows, and what is promised
along it is shown on others.

The joint path: where each label takes the cut of highest tp - r predicted (`search/joint_micro.py`), lowering r from 1
to 0 leads along the vertices of the labels' hulls, in the order of their slopes. It ends at the lowest positive of each
label; from there all labels go on together, by ranks, to their lowest scores.
"""

from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from thresholds._arrays.sparse import is_sparse, to_dense
from thresholds._arrays.types import Dense, Floats, Ints
from thresholds._checks import Placement
from thresholds._kernels.keys import to_scores
from thresholds.data.problem import Problem
from thresholds.data.tiles import map_tiles
from thresholds.data.unknown import without_entries
from thresholds.guarantees.units import Units
from thresholds.search import staircase
from thresholds.search.joint_micro import Hull
from thresholds.search.placement import place

_MOST_POINTS = 256  # each predicts a few per cent more than the one before
_POINTS_BELOW = 32  # of the joint path, under the lowest positives


@dataclass(frozen=True)
class Path:
    """The thresholds of each label along the path, from the highest down."""

    # (n_points, n_labels), or (n_points, 1) of a threshold that all labels share.
    thresholds: Floats

    @property
    def n_points(self) -> int:
        """Number of points."""
        return len(self.thresholds)

    def at(self, point: int, n_labels: int) -> Floats:
        """Return the threshold of each label at a point."""
        return np.array(np.broadcast_to(self.thresholds[point], n_labels))

    def places(self, scores: Dense) -> Ints:
        """Return the first point at which each cell is predicted, `n_points` for none; (n_rows, n_labels)."""
        if self.thresholds.shape[1] == 1:
            return self._places(self.thresholds[:, 0], scores)
        by_label = [
            self._places(cuts, cells)
            for cuts, cells in zip(self.thresholds.T, scores.T, strict=True)
        ]
        return np.stack(by_label, axis=1)

    def _places(self, cuts: Floats, cells: Dense) -> Ints:
        """Return how many cuts lie above each cell."""
        return self.n_points - np.searchsorted(cuts[::-1], cells, side="right")


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
    cuts = cells[_geometric(cells.size)]
    return Path(np.unique(cuts)[::-1, np.newaxis])


def joint_path(problem: Problem, placement: Placement, n_jobs: int | None = -1) -> Path:
    """Return the path of joint micro F of all rows of a problem."""
    hull = _joined(staircase.map_labels(problem, Hull.of, n_jobs=n_jobs))
    stairs = hull.stairs
    lower = np.fmax(stairs.lower, problem.missing) if problem.keep_sparse else stairs.lower
    score, lower = stairs.score.astype(np.float64), lower.astype(np.float64)
    placed = place(score, lower, placement, problem.scores.dtype)  # (n_steps,)

    # Go down the hulls of all labels in the order of their slopes; those of a label fall.
    order = np.argsort(-hull.slope, kind="stable")  # (n_steps,)
    predicted = stairs.increments(stairs.predicted)[order].cumsum()  # (n_steps,)
    is_last = np.append(hull.slope[order][1:] != hull.slope[order][:-1], True)[: order.size]
    ends = np.flatnonzero(is_last)  # (n_slopes,) the last step of each slope

    # Stop where some per cent more are predicted.
    total = int(predicted[-1]) if predicted.size else 0
    ends = np.unique(ends[np.searchsorted(predicted[ends], _geometric(total) + 1)])
    along = np.full((ends.size, problem.n_labels), np.inf)
    at = np.full(problem.n_labels, np.inf)
    first = 0
    for point, end in enumerate(ends.tolist()):
        steps = order[first : end + 1]
        at[stairs.label[steps]] = placed[steps]  # The last of a label stays.
        along[point] = at
        first = end + 1

    # Below the lowest positives of the labels.
    n_predicted = np.zeros(problem.n_labels)
    np.add.at(n_predicted, stairs.label, stairs.increments(stairs.predicted))
    below = np.minimum(_below(problem, n_predicted, n_jobs), at)
    return Path(np.concatenate([along, below]))


def _below(problem: Problem, n_predicted: Floats, n_jobs: int | None) -> Floats:
    """Return thresholds (_POINTS_BELOW, n_labels) from so many predictions of each label to all its scores.

    The numbers of predictions grow geometrically, from 1 where a label has no positives.
    """
    shares = np.arange(1, _POINTS_BELOW + 1) / _POINTS_BELOW

    def cut(first: int, last: int) -> Floats:
        items = problem.label_items(first, last)
        columns = np.full((_POINTS_BELOW, last - first), np.inf)
        for column, (start, stop) in enumerate(pairwise(items.starts)):
            scores = np.sort(to_scores(items.keys[start:stop]))[::-1]
            if problem.keep_sparse:
                scores = scores[scores > problem.missing]
            if scores.size:
                fewest = np.clip(n_predicted[first + column], 1, scores.size)
                ranks = fewest ** (1 - shares) * scores.size**shares  # (_POINTS_BELOW,)
                columns[:, column] = scores[np.rint(ranks).astype(np.int64) - 1]
        return columns

    return np.concatenate(map_tiles(problem, cut, n_jobs=n_jobs), axis=1)


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
