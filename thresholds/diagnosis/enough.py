"""After how many more observations will a test have decided, and with what probability?

A test looks at a mean of N observations, and decides where it lies far enough above one value, or below another. Of the
N, n have been seen, and their mean is x. The k = N - n to come have the mean y. What is known of y is what the n have
shown: it is normal, with

    mean m and variance s^2 (1 / n' + 1 / k)

where m, s and n' are mean, standard deviation and number of the observations so far, with a few more added so that few
observations claim no certainty (each caller says which). So the mean of all is normal, too, with

    mean (n x + k m) / N    and standard deviation (k / N) s sqrt(1 / n' + 1 / k)

and a test that asks for x_N - c / (2 N) >= a + z s_a / sqrt(N), c for continuity, decides with a probability that is
read off it. This is the predictive probability of trials that are looked at before they end (Spiegelhalter, Freedman
and Blackburn 1986; Jennison and Turnbull 2000, "Group Sequential Methods with Applications to Clinical Trials", section
10.3): unlike a power, it allows for how little is known of the effect. As k grows it tends to the probability that the
effect is one that can be shown, which may be less than what is asked for: then no number is enough.

The three numbers that are given are those at which it reaches `LEVELS`: enough in one case of ten, in eight, in nine.
"""

from typing import NamedTuple

import numpy as np

from thresholds._arrays.blocks import row_blocks
from thresholds._arrays.types import Booleans, Floats

# Probabilities of having decided: the lower end, what is needed, the upper end.
LEVELS = (0.1, 0.8, 0.9)

_MOST = 10**7  # observations that are thought of
_PER_DECADE = 60


class Course(NamedTuple):
    """A mean that a test looks at; (n_labels,) each."""

    seen: Floats  # n
    mean: Floats  # x; anything where nothing was seen
    expected: Floats  # m
    spread: Floats  # s
    known: Floats  # n'


class Bar(NamedTuple):
    """What the mean must lie beyond, and how far; (n_labels,) each."""

    value: Floats  # a; NaN where there is no such test
    quantile: Floats  # z
    spread: Floats  # s_a
    step: Floats  # c


class More(NamedTuple):
    """How many more observations decide with the probabilities of `LEVELS`; (n_labels,) each, inf for never."""

    low: Floats
    needed: Floats
    high: Floats


def more_needed(course: Course, above: Bar, below: Bar, is_asked: Booleans | bool = True) -> More:
    """Find how many more observations are needed to show that a mean is above one bar, or below another.

    `is_asked` (n_labels,) are the labels that this is asked of; the numbers of others are infinite.
    """
    numbers = _numbers()
    found = np.full((len(LEVELS), course.seen.size), np.inf)
    asked = np.flatnonzero(np.broadcast_to(is_asked, course.seen.shape))
    for block in row_blocks(asked.size, numbers.size):
        labels = asked[block]
        # (n_labels of the block, n_numbers)
        p = _p_decided(
            Course._make(values[labels, np.newaxis] for values in course),
            Bar._make(values[labels, np.newaxis] for values in above),
            Bar._make(values[labels, np.newaxis] for values in below),
            numbers,
        )
        reached = np.maximum.accumulate(p, axis=1)
        for row, level in zip(found, LEVELS, strict=True):
            is_enough = reached >= level
            first = is_enough.argmax(axis=1)
            row[labels] = np.where(is_enough.any(axis=1), numbers[first], np.inf)
    return More(*found)


def _numbers() -> Floats:
    """Return the numbers of observations that are tried, from 1 on: each that is a twenty-fifth more than the last."""
    decades = np.log10(_MOST)
    return np.unique(np.rint(np.logspace(0, decades, int(_PER_DECADE * decades) + 1)))


def _p_decided(course: Course, above: Bar, below: Bar, more: Floats) -> Floats:
    """Return the probability that a test has decided after so many more observations."""
    from scipy.special import ndtr

    # The mean of all observations.
    total = course.seen + more
    mean = (course.seen * course.mean + more * course.expected) / total
    spread = more / total * course.spread * np.sqrt(1 / course.known + 1 / more)

    # Where each test begins to decide.
    with np.errstate(divide="ignore", invalid="ignore"):
        root = np.sqrt(total)
        least = above.value + above.quantile * above.spread / root + above.step / (2 * total)
        most = below.value - below.quantile * below.spread / root - below.step / (2 * total)
        p_above = ndtr((mean - least) / spread)
        p_below = ndtr((most - mean) / spread)
    return np.asarray(np.minimum(np.nan_to_num(p_above) + np.nan_to_num(p_below), 1.0))
