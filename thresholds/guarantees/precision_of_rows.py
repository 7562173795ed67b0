"""The points of a path at which a floor of precision, micro or mean over rows, is promised.

Precision may fall and rise as cuts fall, so each point is tested, in a sequence that is fixed before: from a starting
point down, until one is not shown. Some of the rows, the *scouts*, fix path and start, by their scores and their truth;
the others are bet on (`bets.py`). If any point that is shown breaks the floor, then so does the first of them in the
sequence, which is one fixed point, and was shown with a probability of at most delta: nothing is corrected for the
number of points (Angelopoulos et al. 2021, "Learn then Test", section 2.3, fixed sequence testing).

The start is the highest point at which capital is expected to grow nearly most, by what the scouts gain, among those
with at most half the predictions of their best F; where that is too little, among all.
"""

import math
from typing import NamedTuple

import numpy as np

from thresholds._arrays.types import Booleans, Floats, Ints
from thresholds._engine.problem import Problem
from thresholds.guarantees.bets import Gamblers, growth, rows_needed
from thresholds.guarantees.gains import RowFloor
from thresholds.guarantees.paths import Path
from thresholds.guarantees.tallies import FAlong, Measure, Tally, tallies
from thresholds.guarantees.units import Units

_AMPLE = 2.0  # times the capital, in logarithms, that shows a floor
_NEARLY = 0.75  # of the most that is expected


class Promised(NamedTuple):
    """The points of a path at which a floor is shown."""

    shown: Booleans  # (n_points,)
    f: Floats  # (n_points,) F-beta on all rows
    needed: float  # units that would show the floor somewhere, at what is seen; inf for no number of them


def shown_along(
    problem: Problem,
    path: Path,
    floor: RowFloor,
    delta: float,
    scouts: Units,
    tested: Units,
    measure: Measure,
) -> Promised:
    """Test the points of a path from a start down; `measure` is average, beta and zero_division of F."""
    n_points = path.n_points
    most_lost = floor.most_lost(problem.n_labels)
    gamblers = Gamblers(n_points, tested.n, most_lost, delta)
    f = FAlong(*measure, n_points)

    # What the scouts see fixes the start.
    n_predicted = np.zeros(n_points, np.int64)
    for tally in tallies(problem, path, scouts):
        f.add(tally)
        gamblers.watch(_gains(floor, tally))
        n_predicted += tally.predicted.sum(axis=0)
    start = _start(gamblers, f.values(), n_predicted, tested.n, delta)

    # The others bet.
    for tally in tallies(problem, path, tested):
        f.add(tally)
        gamblers.bet(_gains(floor, tally))
    shown = gamblers.has_shown
    shown[:start] = False
    shown[start:] = np.logical_and.accumulate(shown[start:])

    needed = rows_needed(gamblers.mean, gamblers.variance, most_lost, delta).min()
    return Promised(shown, f.values(), float(needed))


def _gains(floor: RowFloor, tally: Tally) -> Floats:
    """Return the gain of each unit, (n_units, n_points)."""
    return tally.units.means(floor.gains(tally.tp, tally.predicted, tally.positives))


def _start(gamblers: Gamblers, f: Floats, n_predicted: Ints, n: int, delta: float) -> int:
    """Return the first point to be tested, from what the scouts have seen."""
    expected = n * growth(gamblers.mean, gamblers.variance, gamblers.stakes)  # (n_points,)
    ample = _AMPLE * math.log(1 / delta)
    is_high = n_predicted <= n_predicted[f.argmax()] / 2
    for capital in (np.where(is_high, expected, -np.inf), expected):
        if capital.max() >= ample:
            return int(np.flatnonzero(capital >= max(ample, _NEARLY * capital.max()))[0])
    return int(expected.argmax())
