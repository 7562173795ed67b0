"""What is counted in each row at every point of a path, block by block; and F there."""

from collections.abc import Iterable, Iterator
from typing import NamedTuple

import numpy as np

from thresholds._arrays.types import Booleans, Floats, Ints
from thresholds._checks import Average
from thresholds._engine.f_measure import f_of_counts
from thresholds._engine.problem import Problem
from thresholds.guarantees.cells import Cells, positives_in
from thresholds.guarantees.paths import Path
from thresholds.guarantees.units import Units

_MOST_COUNTS = 2**21  # of a block: rows times points


class Tally(NamedTuple):
    """Counts of the rows of some units."""

    units: Units
    tp: Ints  # (n_rows, n_points)
    predicted: Ints  # (n_rows, n_points)
    positives: Ints  # (n_rows, 1)


def tallies(problem: Problem, path: Path, units: Units) -> Iterator[Tally]:
    """Count the rows of units, in their order, at every point of a path."""
    max_rows = max(1, _MOST_COUNTS // max(path.n_points, problem.stored_per_row))
    for block in units.blocks(max_rows):
        cells = Cells.of(problem, block.rows)
        place = path.places(cells.label, cells.score)  # (n_cells,)
        is_reached = place < path.n_points
        shape = (block.rows.size, path.n_points)
        yield Tally(
            block,
            tp=_counts_along(cells.row, place, is_reached & cells.is_true, shape),
            predicted=_counts_along(cells.row, place, is_reached, shape),
            positives=positives_in(problem, block.rows)[:, np.newaxis],
        )


def _counts_along(row: Ints, place: Ints, counted: Booleans, shape: tuple[int, int]) -> Ints:
    """Return how many of the cells of each row that count have been reached at each point, (n_rows, n_points)."""
    n_rows, n_points = shape
    at = row[counted] * n_points + place[counted]
    reached = np.bincount(at, minlength=n_rows * n_points)
    return np.asarray(reached.reshape(shape).cumsum(axis=1))


Measure = tuple[Average, float, float]  # average, beta and zero_division of F


def f_along(problem: Problem, path: Path, rows: Iterable[Units], measure: Measure) -> Floats:
    """Return F-beta of some rows at every point of a path, (n_points,)."""
    along = FAlong(*measure, path.n_points)
    for units in rows:
        for tally in tallies(problem, path, units):
            along.add(tally)
    return along.values()


class FAlong:
    """F-beta at every point of a path: micro, or the mean over rows."""

    def __init__(self, average: Average, beta: float, zero_division: float, n_points: int) -> None:
        """Begin without rows."""
        self._by_row = average == "samples"
        self._beta = beta
        self._zero_division = zero_division
        self._sums = np.zeros((3, n_points), np.int64)
        self._f_sum = np.zeros(n_points)
        self._n_rows = 0

    def add(self, tally: Tally) -> None:
        """Count more rows."""
        tp, predicted, positives = np.broadcast_arrays(tally.tp, tally.predicted, tally.positives)
        if self._by_row:
            f = f_of_counts(tp, predicted, positives, self._beta, self._zero_division)
            self._f_sum += f.sum(axis=0)
        self._sums += np.stack([tp.sum(axis=0), predicted.sum(axis=0), positives.sum(axis=0)])
        self._n_rows += len(tp)

    def values(self) -> Floats:
        """Return F of the rows so far, (n_points,)."""
        if self._by_row:
            return self._f_sum / max(self._n_rows, 1)
        tp, predicted, positives = self._sums
        return f_of_counts(tp, predicted, positives, self._beta, self._zero_division)
