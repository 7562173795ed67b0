"""Which thresholds are shown to keep a floor of micro precision or recall, or of its mean over rows.

Each of these is a ratio of two means over rows, E found / E asked, with 0 <= found_i <= asked_i <= most:

    micro recall         found = tp,                 asked = positives             most = n_labels
    micro precision      found = tp,                 asked = predictions           most = n_labels
    mean row recall      found = tp / positives,     asked = 1 if any are true     most = 1
    mean row precision   found = tp / predictions,   asked = 1 if any is predicted most = 1

so a row without positives has no recall, one without predictions no precision, and neither is counted (as in
`metrics.recall_score(..., average="samples", zero_division=nan)`). A floor is kept iff the mean *gain* is not negative:

    E found >= floor E asked   iff   E (found - floor asked) >= 0,   each gain being at least -floor most.

**Recall.** What a row gains can only rise as the cut falls, and so does what all rows show. So cuts may be chosen by
looking: if the cut that is chosen breaks the floor, then any cut below it that breaks the floor, too, would have been
shown as well, and the lowest of these is a fixed one. Nothing is corrected for the number of cuts (Bates et al. 2021,
"Distribution-free, risk-controlling prediction sets", theorem A.1). Bets must keep this order: all cuts are bet on with
the same stakes, which suit the cut at which the rows before break even.

In expectation (Angelopoulos et al. 2022, "Conformal risk control", theorem 1, for the loss floor asked - found <= b):
the highest cut with

    sum of gains >= b,   b = floor most,

has a gain in the next row whose expectation, over the fit's rows and the next, is not negative.

**Precision** may fall and rise as cuts fall, so each point of a path is tested, in a sequence that is fixed before:
from a starting point down, until one is not shown. Some of the rows, the *scouts*, fix path and start, by their scores
and their truth; the others are bet on. If any point that is shown breaks the floor, then so does the first of them in
the sequence, which is one fixed point, and was shown with a probability of at most delta: nothing is corrected for the
number of points (Angelopoulos et al. 2021, "Learn then Test", section 2.3, fixed sequence testing).

The start is the highest point at which capital is expected to grow nearly most, by what the scouts gain, among those
with at most half the predictions of their best F; where that is too little, among all.
"""

import math
from typing import Literal, NamedTuple

import numpy as np

from thresholds._arrays.dtypes import ROUNDING
from thresholds._arrays.types import Booleans, Dense, Floats, Ints, Numbers
from thresholds._engine.problem import Problem
from thresholds._engine.search_options import SearchOptions
from thresholds.guarantees.bets import (
    Gamblers,
    epochs,
    growth,
    is_positive,
    rows_needed,
    stake,
    variance_of,
)
from thresholds.guarantees.independent_rows import SamplingUnits
from thresholds.guarantees.paths import CountsAlong, FAlong, counts_along

_AMPLE = 2.0  # times the capital, in logarithms, that shows a floor
_NEARLY = 0.75  # of the most that is expected


class RowFloor(NamedTuple):
    """A floor of micro precision or recall, or of its mean over rows."""

    measure: Literal["precision", "recall"]
    floor: float
    by_row: bool  # a mean over rows, not micro

    def most_lost(self, n_labels: int) -> float:
        """Return the most that can be lost in a row."""
        return self.floor * (1 if self.by_row else n_labels)

    def asked(self, tp: Numbers, predicted: Numbers, positives: Numbers) -> tuple[Floats, Floats]:
        """Return what is found and what is asked, of the shape of `tp`."""
        is_precision = self.measure == "precision"
        among = predicted if is_precision else np.broadcast_to(positives, tp.shape)
        if not self.by_row:
            return np.asarray(tp, np.float64), np.asarray(among, np.float64)
        return tp / np.maximum(among, 1), (among > 0).astype(np.float64)

    def gains(self, tp: Numbers, predicted: Numbers, positives: Numbers) -> Floats:
        """Return the gain of each row, of the shape of `tp`."""
        found, asked = self.asked(tp, predicted, positives)
        return np.asarray(found - self.floor * asked)


# Recall


class RankedPositives(NamedTuple):
    """What is found as a cut falls: the positives, from the highest score down."""

    score: Dense  # (n_positives,)
    unit: Ints  # (n_positives,)
    found: Floats  # (n_positives,) what each adds to `found` of its unit
    asked: Floats  # (n_units,)

    @classmethod
    def from_unordered(
        cls, score: Dense, unit: Ints, found: Floats, asked: Floats
    ) -> "RankedPositives":
        """Sort positives by score."""
        order = np.argsort(-score, kind="stable")
        return cls(score[order], unit[order], found[order], asked)

    def before(self, unit: int) -> "RankedPositives":
        """Return the positives of the units before one."""
        kept = self.unit < unit
        return RankedPositives(
            self.score[kept], self.unit[kept], self.found[kept], self.asked[:unit]
        )

    def gains(self, n_found: int | None, floor: float) -> Floats:
        """Return the gain of each unit, (n_units,), where so many positives are found, None for all."""
        unit, each = self.unit[:n_found], self.found[:n_found]
        found = np.bincount(unit, weights=each, minlength=self.asked.size)
        return np.asarray(found - floor * self.asked)

    def least_for(self, wanted: float) -> int | None:
        """Return the least number of positives that find so much together, None if all do not."""
        sums = self.found.cumsum()
        enough = int(np.searchsorted(sums, wanted * (1 - ROUNDING)))
        return enough + 1 if enough < sums.size else None


def highest_cut_expected(ranked: RankedPositives, floor: float, most_lost: float) -> float | None:
    """Return the highest cut that keeps a floor of recall in expectation; None if no cut does."""
    n_found = ranked.least_for(floor * float(ranked.asked.sum()) + most_lost)
    return None if n_found is None else float(ranked.score[n_found - 1])


def highest_cut_certified(
    ranked: RankedPositives, floor: float, most_lost: float, delta: float
) -> float | None:
    """Return the highest cut at which a floor of recall is shown with error `delta`; None if none is."""
    if not ranked.score.size:
        return None
    stakes = _stakes(ranked, floor, most_lost, delta)
    # How many positives lie at or above each distinct score, from the highest down.
    ends = np.append(np.flatnonzero(np.diff(ranked.score)), ranked.score.size - 1) + 1

    # What is shown can only rise as the cut falls: the first of the cuts that are shown, by halves.
    if not is_positive(ranked.gains(None, floor), stakes, delta):
        return None
    not_shown, shown = -1, ends.size - 1
    while shown - not_shown > 1:
        middle = (shown + not_shown) // 2
        if is_positive(ranked.gains(int(ends[middle]), floor), stakes, delta):
            shown = middle
        else:
            not_shown = middle
    return float(ranked.score[ends[shown] - 1])


def _stakes(ranked: RankedPositives, floor: float, most_lost: float, delta: float) -> Floats:
    """Return what is staked on each unit, (n_units,), whatever the cut: fixed by the units before it."""
    n = ranked.asked.size
    stakes = np.empty(n)
    for units in epochs(n):
        before = ranked.before(units.start)
        # The variance of gains where those before break even.
        gains = before.gains(before.least_for(floor * float(before.asked.sum())), floor)
        variance = variance_of(units.start, gains.sum(), np.square(gains).sum())
        stakes[units] = stake(variance, n, most_lost, delta)
    return stakes


# Precision


class CertifiedPoints(NamedTuple):
    """The points of a path at which a floor of precision is shown."""

    shown: Booleans  # (n_points,)
    f: Floats  # (n_points,) F-beta on all rows
    needed: float  # units that would show the floor somewhere, at what is seen; inf for no number


def certified_points(
    problem: Problem,
    path: Floats,
    floor: RowFloor,
    delta: float,
    scouts: SamplingUnits,
    tested: SamplingUnits,
    options: SearchOptions,
) -> CertifiedPoints:
    """Test the points of a path, (n_points, n_labels), from a start down."""
    n_points = len(path)
    most_lost = floor.most_lost(problem.n_labels)
    gamblers = Gamblers(n_points, tested.n, most_lost, delta)
    f = FAlong(options, n_points)

    # What the scouts see fixes the start.
    n_predicted = np.zeros(n_points, np.int64)
    for counts in counts_along(problem, path, scouts):
        f.add(counts)
        gamblers.watch(_gains(floor, counts))
        n_predicted += counts.predicted.sum(axis=0)
    start = _start(gamblers, f.values(), n_predicted, tested.n, delta)

    # The others bet.
    for counts in counts_along(problem, path, tested):
        f.add(counts)
        gamblers.bet(_gains(floor, counts))
    shown = gamblers.has_shown
    shown[:start] = False
    shown[start:] = np.logical_and.accumulate(shown[start:])

    needed = rows_needed(gamblers.mean, gamblers.variance, most_lost, delta).min()
    return CertifiedPoints(shown, f.values(), float(needed))


def _gains(floor: RowFloor, counts: CountsAlong) -> Floats:
    """Return the gain of each unit, (n_units, n_points)."""
    return counts.units.means(floor.gains(counts.tp, counts.predicted, counts.positives))


def _start(gamblers: Gamblers, f: Floats, n_predicted: Ints, n: int, delta: float) -> int:
    """Return the first point to be tested, from what the scouts have seen."""
    expected = n * growth(gamblers.mean, gamblers.variance, gamblers.stakes)  # (n_points,)
    ample = _AMPLE * math.log(1 / delta)
    is_high = n_predicted <= n_predicted[f.argmax()] / 2
    for capital in (np.where(is_high, expected, -np.inf), expected):
        if capital.max() >= ample:
            return int(np.flatnonzero(capital >= max(ample, _NEARLY * capital.max()))[0])
    return int(expected.argmax())
