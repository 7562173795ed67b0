"""Exact binomial tests of a floor: of precision, n rows that are predicted; of recall, n positives.

Of n rows that are drawn alike, each a hit with probability q, the number of hits is binomial. Where q is below the
floor, at least `hits` of them are hits with a probability of less than

    p = P(Bin(n, floor) >= hits) = I_floor(hits, n - hits + 1),

so a floor is *shown* at level delta where p <= delta (Clopper & Pearson 1934; I is the regularised incomplete beta
function). For recall the same test says that a Beta law stays above the floor: a cut at the r-th lowest of P positives
has the recall Beta(P - r + 1, r), whose tail is that of the binomial law, P(Beta(P - r + 1, r) < floor) =
P(Bin(P, floor) >= P - r + 1) (docs/proofs.md).
"""

import numpy as np

from thresholds._arrays.dtypes import ROUNDING
from thresholds._arrays.types import Booleans, Floats, Numbers
from thresholds.metrics.intervals import p_at_most

_MOST_ROWS = 2.0**53  # More rows than can be counted exactly are never enough.


def p_of_floor(hits: Numbers | float, n: Numbers | float, floor: Floats | float) -> Floats:
    """Return p of the test that at least the floor of what is drawn are hits; arrays are broadcast.

    It is 1 where the share of hits is not above the floor, as the exact p is at least 1/2 there; 0 where the floor is
    0, which everything keeps.
    """
    hits, n, floor = np.broadcast_arrays(hits, n, floor)
    p = np.where(floor == 0, 0.0, 1.0)
    above = (hits > n * floor) & (floor > 0)
    p[above] = p_at_most(hits[above], n[above], n[above], floor[above], beta=0)
    return p


def is_shown(
    hits: Numbers | float, n: Numbers | float, floor: Floats | float, delta: Floats | float
) -> Booleans:
    """Tell where hits among n rows show that the floor is kept, with an error of at most `delta`: p <= delta."""
    return p_of_floor(hits, n, floor) <= delta


def divergence(hits: Numbers, n: Numbers, floor: Floats) -> Floats:
    """Return n times the divergence of the share of hits from the floor: the larger, the more clearly it is shown."""
    from scipy.special import rel_entr

    return np.asarray(rel_entr(hits, n * floor) + rel_entr(n - hits, n * (1 - floor)))


def least_hits(n: Numbers, floor: Floats, delta: Floats) -> Floats:
    """Return the least number of hits among n rows (n_labels,) that shows a floor; n + 1 where none does, NaN for NaN.

    Examples
    --------
    >>> least_hits(np.array([28, 29, 100]), np.full(3, 0.9), np.full(3, 0.05))
    array([29., 29., 96.])
    """
    from scipy.special import bdtrik

    # The quantile of the binomial law, to whole numbers; one less, or one more, where that is what the test says.
    # It is unknown to SciPy where no hit at all is so likely.
    hits = np.ceil(bdtrik(1 - delta, n, floor)) + 1
    hits = np.where(np.isnan(hits), 1, hits)
    hits = np.where(is_shown(hits - 1, n, floor, delta), hits - 1, hits)
    hits = np.where(is_shown(hits, n, floor, delta), hits, hits + 1)
    return np.where(np.isnan(floor), np.nan, np.minimum(hits, n + 1.0))


def positives_needed(floor: Floats | float, delta: Floats | float) -> Floats:
    """Return the least n of which n hits show the floor: floor^n <= delta; 0 for a floor of 0, inf for 1.

    For recall so many positives are needed before any cut but "always" can be shown; for precision so many rows,
    none of them negative.

    Examples
    --------
    >>> positives_needed(0.9, 0.05)
    array(29.)
    """
    floor, delta = np.broadcast_arrays(np.float64(floor), np.float64(delta))
    with np.errstate(divide="ignore", invalid="ignore"):
        n = np.ceil(np.log(delta) / np.log(floor))
        # The logarithms round: one less, or one more, where that is what the powers say.
        n = np.where((n > 0) & (floor ** (n - 1) <= delta), n - 1, n)
        n = np.where(floor**n > delta, n + 1, n)
    return np.where(floor == 0, 0.0, np.where(floor == 1, np.inf, n))


def predictions_needed(
    floor: Floats | float, delta: Floats | float, precision: Floats | float
) -> Floats:
    """Return how many predictions, of that precision, would show a floor; inf where it is not above the floor.

    An n for which P(Bin(n, floor) >= precision n, rounded down) <= delta, found by halving. Hits are whole numbers, so
    a few rows less may do, too. NaN for a precision that is not known.

    Examples
    --------
    >>> predictions_needed(0.9, 0.05, [1.0, 0.95, 0.9])
    array([ 29., 116.,  inf])
    """
    floor, delta, precision = np.broadcast_arrays(
        np.float64(floor), np.float64(delta), np.float64(precision)
    )

    def is_enough(n: Floats) -> Booleans:
        hits = np.floor(n * precision * (1 + ROUNDING))
        return is_shown(hits, n, floor, delta)

    # Doubling from the least number that is ever enough, where some number is.
    can_be_shown = precision > floor
    enough = np.where(can_be_shown, np.maximum(positives_needed(floor, delta), 1), 1)
    while (grows := can_be_shown & (enough <= _MOST_ROWS) & ~is_enough(enough)).any():
        enough = np.where(grows, 2 * enough, enough)

    # Halving.
    too_few = np.floor(enough / 2)
    while (enough - too_few > 1).any():
        middle = np.floor((enough + too_few) / 2)
        enough, too_few = np.where(is_enough(middle), (middle, too_few), (enough, middle))
    found = np.where(can_be_shown & (enough <= _MOST_ROWS), enough, np.inf)
    return np.where(np.isnan(precision) | np.isnan(floor), np.nan, found)
