"""Whether a mean over rows is positive, shown by betting on it row after row.

Rows are independent, their gains X_i are at least -b, and b is known without looking. If E X <= 0, then a gambler whose
stake l_i is fixed by the rows before i, 0 <= l_i < 1 / b, cannot expect to win: the capital

    (1 + l_1 X_1) (1 + l_2 X_2) ... (1 + l_i X_i)

is a supermartingale that starts at 1, and ever reaches 1 / delta with a probability of at most delta (Ville 1939).
So E X > 0 is shown at level delta where it does, however X is distributed (Waudby-Smith & Ramdas 2023, "Estimating
means of bounded random variables by betting", section 4; Bates et al. 2021, section 3.1.3, for risks).

Stakes are theirs, sqrt(2 ln(1 / delta) / (n variance)), with the variance of the rows before; they change at rows 16,
32, 64, ... only. experiments/guarantees/bounds.txt has the power of other bounds.
"""

import math
from collections.abc import Iterator

import numpy as np

from thresholds._arrays.types import Booleans, Floats

_MOST_STAKED = 0.95  # of what would lose all capital in one row
_FIRST_CHANGE = 16  # rows after which stakes are set by what was seen
_PRIOR_VARIANCE = 0.25  # counted as that of one row


def stake(variance: Floats | float, n: int, most_lost: float, delta: float) -> Floats:
    """Return what is staked on each of n rows whose gains have that variance, and are at least `-most_lost`."""
    wanted = np.sqrt(2 * math.log(1 / delta) / (n * np.asarray(variance, np.float64)))
    return np.minimum(wanted, _MOST_STAKED / most_lost)


def variance_of(n: int, total: Floats | float, of_squares: Floats | float) -> Floats:
    """Return the variance of n gains by their sum and the sum of their squares, and of one prior row."""
    about_mean = np.maximum(of_squares - np.square(total) / max(n, 1), 0.0)
    return np.asarray((_PRIOR_VARIANCE + about_mean) / (n + 1))


def epochs(n: int) -> Iterator[slice]:
    """Return the rows between two changes of stakes."""
    start, stop = 0, _FIRST_CHANGE
    while start < n:
        yield slice(start, min(stop, n))
        start, stop = stop, 2 * stop


def growth(mean: Floats, variance: Floats, stakes: Floats) -> Floats:
    """Return by how much the logarithm of capital grows with a row, to second order in the stake."""
    return np.asarray(stakes * mean - stakes**2 * (variance + mean**2) / 2)


def rows_needed(
    mean: Floats | float, variance: Floats | float, most_lost: float, delta: float
) -> Floats:
    """Return about how many rows with such gains would show that their mean is positive; inf if it is not."""
    mean, variance = np.asarray(mean, np.float64), np.asarray(variance, np.float64)
    best = np.minimum(np.maximum(mean, 0.0) / (variance + mean**2), _MOST_STAKED / most_lost)
    rate = growth(mean, variance, best)
    with np.errstate(divide="ignore"):
        return np.ceil(math.log(1 / delta) / np.maximum(rate, 0.0))


def is_positive(gains: Floats, stakes: Floats, delta: float) -> bool:
    """Whether bets with given stakes show that the mean of gains, (n_rows,) each, is positive."""
    highest = np.log1p(stakes * gains).cumsum().max()
    return bool(gains.sum() > 0 and highest >= -math.log(delta))


class Gamblers:
    """Gamblers, one for each cut, who bet on the same rows, each with stakes of its own."""

    def __init__(self, n_cuts: int, n: int, most_lost: float, delta: float) -> None:
        """Begin with capital 1; n rows will be bet on."""
        self._n = n
        self._most_lost = most_lost
        self._delta = delta
        self._n_seen = 0
        self._total = np.zeros(n_cuts)
        self._of_squares = np.zeros(n_cuts)
        self._left = [rows.stop - rows.start for rows in epochs(n)]  # rows left in each epoch
        self._stakes: Floats | None = None  # (n_cuts,) of this epoch, None before its first row
        self._won = np.zeros(n_cuts)  # the sum of the gains that were bet on
        self._log_capital = np.zeros(n_cuts)
        self._highest = np.zeros(n_cuts)

    @property
    def mean(self) -> Floats:
        """The mean of the gains seen, and of one prior row that gains nothing."""
        return self._total / (self._n_seen + 1)

    @property
    def variance(self) -> Floats:
        """The variance of the gains seen."""
        return variance_of(self._n_seen, self._total, self._of_squares)

    @property
    def stakes(self) -> Floats:
        """What would be staked on the next row."""
        return stake(self.variance, self._n, self._most_lost, self._delta)

    @property
    def has_shown(self) -> Booleans:
        """Tell where the capital has reached 1 / delta, and the gains add up to something."""
        return (self._highest >= -math.log(self._delta)) & (self._won > 0)

    def watch(self, gains: Floats) -> None:
        """See gains (n_rows, n_cuts) without a bet."""
        self._n_seen += len(gains)
        self._total += gains.sum(axis=0)
        self._of_squares += np.einsum("ij,ij->j", gains, gains)

    def bet(self, gains: Floats) -> None:
        """Bet on the next rows, (n_rows, n_cuts)."""
        while len(gains):
            # Stakes are set by what was seen before the first row of an epoch.
            if self._stakes is None:
                self._stakes = self.stakes
            piece, gains = gains[: self._left[0]], gains[self._left[0] :]
            capital = np.log1p(self._stakes * piece).cumsum(axis=0)
            capital += self._log_capital
            np.maximum(self._highest, capital.max(axis=0), out=self._highest)
            self._log_capital = capital[-1]
            self._won += piece.sum(axis=0)
            self.watch(piece)
            self._left[0] -= len(piece)
            if not self._left[0]:
                self._left.pop(0)
                self._stakes = None
