"""Thresholds of all labels that fall together, point by point; and what rows count along them.

A path has points; from each to the next no threshold rises. It is fixed by some of the rows, and what is guaranteed
along it is shown on others. Either all labels share one threshold, or they go along the path of joint micro F: where
each label takes the cut of highest tp - r predicted, lowering r from 1 to 0 leads along the vertices of the labels'
hulls, in the order of their slopes. It ends at the lowest positive of each label; from there all labels go on together,
by ranks, to their lowest scores.
"""

from collections.abc import Iterable, Iterator
from typing import NamedTuple

import numpy as np

from thresholds._arrays.matrices import coordinates
from thresholds._arrays.sparse import is_sparse, to_dense
from thresholds._arrays.types import Booleans, Floats, Ints
from thresholds._engine.f_measure import f_of_counts
from thresholds._engine.histograms import Histograms, over_histograms
from thresholds._engine.placement import place
from thresholds._engine.problem import Problem
from thresholds._engine.search_options import SearchOptions
from thresholds._engine.staircase import Steps, joined
from thresholds._engine.unknown import are_among, without_entries
from thresholds._kernels.choosing import upper_hulls
from thresholds.guarantees.independent_rows import SamplingUnits

_MOST_POINTS = 256  # each predicts a few per cent more than the one before
_POINTS_BELOW = 32  # of the joint path, under the lowest positives
_MOST_COUNTS = 2**21  # of a block: rows times points

RowCells = tuple[Ints, Ints, Floats, Booleans]


def cells_of_rows(problem: Problem, rows: Ints) -> RowCells:
    """List the cells of some rows that a cut may predict: place of the row, label, score and truth, (n_cells,) each.

    Of dense scores these are all cells whose truth is known. Of sparse ones they are the stored ones: no cut that is
    tested leads down to what a sparse matrix leaves out.
    """
    scores, truth = problem.scores[rows], problem.truth[rows]
    unknown = None if problem.unknown is None else problem.unknown[rows]
    if is_sparse(scores):
        if unknown is not None:
            scores = without_entries(scores, unknown)
        row, label = coordinates(scores)
        return row, label, scores.data.astype(np.float64), are_among(scores, truth)
    known = np.ones(scores.shape, np.bool_) if unknown is None else ~to_dense(unknown)
    row, label = np.nonzero(known)
    return row, label, scores[known].astype(np.float64), to_dense(truth)[known] != 0


def positives_of_rows(problem: Problem, rows: Ints) -> Ints:
    """Count the true cells of some rows, those without a score among them: (n_rows,)."""
    return np.asarray(problem.truth[rows].sum(axis=1, dtype=np.int64)).reshape(-1)


def shared_path(problem: Problem, units: SamplingUnits) -> Floats:
    """Return thresholds that all labels share, (n_points, n_labels): scores of some rows, at geometric ranks."""
    _, _, score, _ = cells_of_rows(problem, units.rows)
    lowest = problem.missing if is_sparse(problem.scores) else -np.inf
    score = np.sort(score[score > lowest])[::-1]  # (n_cells,) falling
    cuts = np.unique(score[_geometric(score.size)])[::-1]  # (n_points,)
    return np.broadcast_to(cuts[:, np.newaxis], (cuts.size, problem.n_labels))


def joint_path(problem: Problem, options: SearchOptions) -> Floats:
    """Return thresholds along the path of joint micro F of all rows of a problem, (n_points, n_labels)."""

    def descend(found: Histograms, first: int) -> _Descent:
        return _descent(problem, found, options)

    parts = over_histograms(problem, descend, n_jobs=options.n_jobs)
    hulls, slopes, placed, below = zip(*parts, strict=True)
    steps, slope = joined(hulls), np.concatenate(slopes)  # (n_steps,)
    point, n_points = _points_of(steps, slope)
    path = np.full((n_points, problem.n_labels), np.inf)
    # Of the steps of a label that lead to one point the last stays.
    path[point, steps.label] = np.concatenate(placed)
    path = np.vstack([path, np.concatenate(below, axis=1)])
    return np.minimum.accumulate(path)


class _Descent(NamedTuple):
    """How some labels go down: the vertices of their hulls, and what lies below."""

    hull: Steps  # the steps at which tp - r predicted is highest for some r
    slope: Floats  # (n_steps,) of the edge that ends at each: tp gained for each prediction
    placed: Floats  # (n_steps,) their thresholds
    below: Floats  # (n_points_below, n_labels) thresholds under the lowest positives


def _descent(problem: Problem, found: Histograms, options: SearchOptions) -> _Descent:
    """Return how some labels go down."""
    steps = found.steps.cuttable(problem)
    _, vertex, slope = upper_hulls(steps.offsets, steps.tp, steps.predicted - steps.tp)
    is_vertex = np.zeros(steps.cut.size, np.bool_)
    is_vertex[vertex] = True
    hull = steps.where(is_vertex)
    lower = np.fmax(hull.lower, problem.missing) if problem.keep_sparse else hull.lower
    placed = place(hull.cut, lower, options.placement, problem.scores.dtype)

    # Below its hull, a label that has positives goes on from what it predicts there.
    last = np.flatnonzero(np.diff(hull.label, append=-1))
    n_predicted = np.ones(found.n_labels)
    n_predicted[hull.label[last]] = hull.predicted[last]
    return _Descent(hull, slope, placed, _below(found.cuts.cuttable(problem), n_predicted))


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


def _below(cuts: Steps, n_predicted: Floats) -> Floats:
    """Return thresholds from so many predictions of each label to all its scores, (n_points_below, n_labels).

    The numbers of predictions grow geometrically, from 1 where a label has no positives. `cuts` are those at all scores
    that may be predicted; a label without one is never predicted here.
    """
    shares = np.arange(1, _POINTS_BELOW + 1) / _POINTS_BELOW
    thresholds = np.full((_POINTS_BELOW, n_predicted.size), np.inf)
    for label in np.flatnonzero(np.diff(cuts.offsets)):
        own = slice(cuts.offsets[label], cuts.offsets[label + 1])
        predicted = cuts.predicted[own]
        fewest = np.clip(n_predicted[label], 1, predicted[-1])
        ranks = np.rint(fewest ** (1 - shares) * predicted[-1] ** shares).astype(np.int64)
        thresholds[:, label] = cuts.cut[own][predicted.searchsorted(ranks)]
    return thresholds


def _geometric(n: int) -> Ints:
    """Return at most `_MOST_POINTS` places below n, each some per cent further than the one before."""
    if n == 0:
        return np.empty(0, np.int64)
    return np.unique(np.rint(np.geomspace(1, n, _MOST_POINTS)).astype(np.int64)) - 1


def first_points(path: Floats, label: Ints, score: Floats) -> Ints:
    """Return the first point at which each of some cells is predicted, `n_points` for none; (n_cells,).

    Found by halving: thresholds fall from point to point.
    """
    first, last = np.zeros(label.size, np.int64), np.full(label.size, len(path))
    while (is_open := first < last).any():
        middle = (first + last) // 2
        is_reached = path[np.minimum(middle, len(path) - 1), label] <= score
        last = np.where(is_open & is_reached, middle, last)
        first = np.where(is_open & ~is_reached, middle + 1, first)
    return first


class CountsAlong(NamedTuple):
    """What the rows of some units count at every point of a path."""

    units: SamplingUnits
    tp: Ints  # (n_rows, n_points)
    predicted: Ints  # (n_rows, n_points)
    positives: Ints  # (n_rows, 1)


def counts_along(problem: Problem, path: Floats, units: SamplingUnits) -> Iterator[CountsAlong]:
    """Count the rows of units, in their order, at every point of a path, block by block."""
    n_points = len(path)
    max_rows = max(1, _MOST_COUNTS // max(n_points, problem.stored_per_row))
    for block in units.blocks(max_rows):
        row, label, score, is_true = cells_of_rows(problem, block.rows)
        point = first_points(path, label, score)  # (n_cells,)
        is_reached = point < n_points

        shape = (block.rows.size, n_points)
        yield CountsAlong(
            block,
            tp=_reached_so_far(row, point, is_reached & is_true, shape),
            predicted=_reached_so_far(row, point, is_reached, shape),
            positives=positives_of_rows(problem, block.rows)[:, np.newaxis],
        )


def _reached_so_far(row: Ints, point: Ints, counted: Booleans, shape: tuple[int, int]) -> Ints:
    """Return how many of the cells of each row that count have been reached at each point, (n_rows, n_points)."""
    n_rows, n_points = shape
    at = row[counted] * n_points + point[counted]
    reached = np.bincount(at, minlength=n_rows * n_points)
    return np.asarray(reached.reshape(shape).cumsum(axis=1))


class FAlong:
    """F-beta at every point of a path, of rows that are added: micro, or the mean over rows."""

    def __init__(self, options: SearchOptions, n_points: int) -> None:
        """Begin without rows."""
        self._by_row = options.average == "samples"
        self._of_f = options.beta, options.zero_division
        self._sums = np.zeros((3, n_points), np.int64)
        self._f_sum = np.zeros(n_points)
        self._n_rows = 0

    def add(self, counts: CountsAlong) -> None:
        """Count more rows."""
        _, *of_rows = counts
        tp, predicted, positives = np.broadcast_arrays(*of_rows)
        if self._by_row:
            self._f_sum += f_of_counts(tp, predicted, positives, *self._of_f).sum(axis=0)
        else:
            self._sums += np.stack([tp.sum(axis=0), predicted.sum(axis=0), positives.sum(axis=0)])
        self._n_rows += len(tp)

    def values(self) -> Floats:
        """Return F of the rows so far, (n_points,)."""
        if self._by_row:
            return self._f_sum / max(self._n_rows, 1)
        tp, predicted, positives = self._sums
        return f_of_counts(tp, predicted, positives, *self._of_f)


def f_along(
    problem: Problem, path: Floats, parts: Iterable[SamplingUnits], options: SearchOptions
) -> Floats:
    """Return F-beta of the rows of some units at every point of a path, (n_points,)."""
    f = FAlong(options, len(path))
    for units in parts:
        for counts in counts_along(problem, path, units):
            f.add(counts)
    return f.values()
