"""The highest cut at which a floor of recall, micro or mean over rows, is promised.

What a row gains (`gains.py`) can only rise as the cut falls, and so does what all rows show. So cuts may be chosen by
looking: if the cut that is chosen breaks the floor, then any cut below it that breaks the floor, too, would have been
shown as well, and the lowest of these is a fixed one. Nothing is corrected for the number of cuts (Bates et al. 2021,
"Distribution-free, risk-controlling prediction sets", theorem A.1). Bets must keep this order: all cuts are bet on with
the same stakes, which suit the cut at which the rows before break even.

In expectation (Angelopoulos et al. 2022, "Conformal risk control", theorem 1, for the loss floor asked - found <= b):
the highest cut with

    sum of gains >= b,   b = floor most,

has a gain in the next row whose expectation, over the fit's rows and the next, is not negative.
"""

import math
from typing import NamedTuple

import numpy as np

from thresholds._arrays.types import Dense, Floats, Ints
from thresholds.guarantees.bets import epochs, spread, stake

_ROUNDING = 1e-12  # relative, of sums of recalls of rows


class Finds(NamedTuple):
    """What is found as a cut falls: the positives, from the highest score down."""

    score: Dense  # (n_positives,)
    unit: Ints  # (n_positives,)
    found: Floats  # (n_positives,) what each adds to `found` of its unit
    asked: Floats  # (n_units,)

    @classmethod
    def of(cls, score: Dense, unit: Ints, found: Floats, asked: Floats) -> "Finds":
        """Sort positives by score."""
        order = np.argsort(-score, kind="stable")
        return cls(score[order], unit[order], found[order], asked)

    @property
    def n(self) -> int:
        """How many units there are."""
        return int(self.asked.size)

    def before(self, unit: int) -> "Finds":
        """Return what is found in the units before one."""
        kept = self.unit < unit
        return Finds(self.score[kept], self.unit[kept], self.found[kept], self.asked[:unit])

    def ends(self) -> Ints:
        """Return how many positives lie at or above each distinct score, from the highest down."""
        return np.append(np.flatnonzero(np.diff(self.score)), self.score.size - 1) + 1

    def gains(self, n_found: int, floor: float) -> Floats:
        """Return the gain of each unit where so many positives are found."""
        unit, each = self.unit[:n_found], self.found[:n_found]
        found = np.bincount(unit, weights=each, minlength=self.n)  # (n_units,)
        return np.asarray(found - floor * self.asked)

    def least_for(self, wanted: float) -> int | None:
        """Return the least number of positives that find so much together, None if all do not."""
        sums = self.found.cumsum()
        enough = int(np.searchsorted(sums, wanted * (1 - _ROUNDING)))
        return enough + 1 if enough < sums.size else None


def highest_cut_expected(finds: Finds, floor: float, most_lost: float) -> float | None:
    """Return the highest cut that keeps a floor of recall in expectation; None if no cut does."""
    if not finds.score.size:
        return None
    n_found = finds.least_for(floor * float(finds.asked.sum()) + most_lost)
    return None if n_found is None else float(finds.score[n_found - 1])


def highest_cut_shown(finds: Finds, floor: float, most_lost: float, delta: float) -> float | None:
    """Return the highest cut at which a floor of recall is shown with error `delta`; None if none is."""
    if not finds.score.size:
        return None
    stakes = _stakes(finds, floor, most_lost, delta)
    ends = finds.ends()  # (n_scores,)

    def is_shown(at: int) -> bool:
        gains = finds.gains(int(ends[at]), floor)
        highest = np.log1p(stakes * gains).cumsum().max()
        return bool(gains.sum() > 0 and highest >= -math.log(delta))

    # What is shown can only rise as the cut falls: the first of the cuts that are shown, by halves.
    if not is_shown(ends.size - 1):
        return None
    not_shown, shown = -1, ends.size - 1
    while shown - not_shown > 1:
        middle = (shown + not_shown) // 2
        if is_shown(middle):
            shown = middle
        else:
            not_shown = middle
    return float(finds.score[ends[shown] - 1])


def _stakes(finds: Finds, floor: float, most_lost: float, delta: float) -> Floats:
    """Return what is staked on each unit, whatever the cut: fixed by the units before it."""
    stakes = np.empty(finds.n)
    for rows in epochs(finds.n):
        before = finds.before(rows.start)
        # The variance of gains where those before break even.
        n_found = before.least_for(floor * float(before.asked.sum()))
        gains = before.gains(before.score.size if n_found is None else n_found, floor)
        variance = spread(before.n, gains.sum(), np.square(gains).sum())
        stakes[rows] = stake(variance, finds.n, most_lost, delta)
    return stakes
