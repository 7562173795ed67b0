"""Which cuts are shown to keep a floor of precision: exact tests down a sequence that is fixed without truth.

To test every cut and take any that passes would promise too much: the best of many is best in part by luck. In a fixed
sequence each is tested at the full level, and the first that fails ends it (Learn then Test; Angelopoulos, Bates,
Candes, Jordan & Lei 2021, section 3.2). The highest cuts hold too few rows to show anything, so the sequence starts at
a rank, and as the best rank is not known there are several starts, which share the error that is allowed:

    start i lies below n_i rows, n_0 being the least number of which all hits show the floor, n_i = 4^i n_0,
    and has the share (3 / 4) (1 / 4)^i of the error.

A start at the score s of rank n_i + 1 is tested with what lies strictly above s: given s, these are rows drawn alike
from those above it. If they show the floor, every cut at a lower score follows, groups of equal scores whole, until one
does not show it. docs/proofs.md has the proof that this is exact for any law of scores and truth, ties included.
"""

import math
from typing import NamedTuple

import numpy as np

from thresholds._arrays.dtypes import threshold_dtype
from thresholds._arrays.types import Booleans, Floats, Ints
from thresholds.data.problem import Items, Problem
from thresholds.guarantees.exact_tests import p_of_floor, positives_needed
from thresholds.guarantees.ranges import Ranges
from thresholds.search.ranks import count_at, next_above, scores_at
from thresholds.search.staircase import Staircase

# Chosen on simulated labels (two normal laws; 500 to 20,000 rows, base rates .01 to .5, AUROC .8 to .995, floors .5 to
# .9): one start, starts closer together and equal shares all reached less F on average.
_TIMES_THE_ROWS = 4
_SHARE_HANDED_ON = 0.25
FIRST_SHARE = 1 - _SHARE_HANDED_ON  # of the error, to the first start


class Starts(NamedTuple):
    """Where the sequences of each label start; NaN where it has fewer rows than that."""

    n_above: Floats  # (n_starts, n_labels), rows above the start
    delta: Floats  # (n_starts, n_labels), the error that it is allowed


def starts_of(floor: Floats, delta: Floats, n_rows: Floats) -> Starts:
    """Choose the starts of labels (n_labels,) by floor, allowed error and number of rows; nothing else is looked at.

    Examples
    --------
    >>> starts_of(np.array([0.9]), np.array([0.05]), np.array([1000.0])).n_above.ravel()
    array([ 32., 128., 512.,  nan])
    """
    first = positives_needed(floor, FIRST_SHARE * delta)  # (n_labels,)
    most = float(np.nanmax(n_rows / first, initial=0.0))
    n_starts = 1 + max(math.ceil(math.log(most, _TIMES_THE_ROWS)), 0) if most > 1 else 1
    i = np.arange(n_starts)[:, np.newaxis]
    n_above = first * float(_TIMES_THE_ROWS) ** i
    shares = FIRST_SHARE * delta * _SHARE_HANDED_ON**i
    fits = n_above < n_rows  # A start has a row at its rank.
    return Starts(np.where(fits, n_above, np.nan), np.where(fits, shares, np.nan))


def shown_precision(
    problem: Problem, items: Items, stairs: Staircase, floor: Floats, delta: Floats
) -> Ranges:
    """Return the thresholds of labels that are shown to keep a floor of precision.

    Parameters
    ----------
    problem : what the items are of, for the dtype of its scores
    items, stairs : of some labels: the rows that are tested, each of weight 1 or 0, and their staircase
    floor : (n_labels,), NaN for a label without one
    delta : (n_labels,), the error allowed to each label

    Returns
    -------
    Ranges (n_starts of them for each label), of which a label without a floor has none
    """
    n_rows = _rows_of(items)  # (n_labels,)
    starts = starts_of(floor, delta, n_rows)
    p = _p_of_steps(stairs, floor)  # (n_steps,)
    found = [
        _down_from(problem, items, stairs, p, floor, n_above, share)
        for n_above, share in zip(*starts, strict=True)
    ]
    return Ranges(*(np.stack(ends) for ends in zip(*found, strict=True)))


def _rows_of(items: Items) -> Floats:
    """Return the number of rows (n_labels,) of each label."""
    if items.is_unweighted:
        return np.diff(items.starts).astype(np.float64)
    return np.add.reduceat(items.weights, items.starts[:-1]).astype(np.float64)


def _p_of_steps(stairs: Staircase, floor: Floats) -> Floats:
    """Return the larger p (n_steps,) of each step and of the cut just above it, after which the sequence gets there.

    Between two steps hits stay and predictions grow: the lowest of these cuts is the hardest to show.
    """
    of_label = floor[stairs.label]
    p = p_of_floor(stairs.tp, stairs.predicted, of_label)
    tp_above = stairs.tp - stairs.increments(stairs.tp)
    predicted_above = stairs.predicted - stairs.increments(stairs.predicted)
    has_between = stairs.higher > predicted_above
    between = p_of_floor(tp_above[has_between], stairs.higher[has_between], of_label[has_between])
    p[has_between] = np.maximum(p[has_between], between)
    return p


def _down_from(
    problem: Problem,
    items: Items,
    stairs: Staircase,
    p: Floats,
    floor: Floats,
    n_above: Floats,
    delta: Floats,
) -> tuple[Floats, Floats]:
    """Return low and high ends (n_labels,) of what is shown from one start of each label; NaN for nothing."""
    dtype = threshold_dtype(problem.scores.dtype)
    has_start = ~np.isnan(n_above)

    # The gate: what lies strictly above the score at the start.
    ranks = np.where(has_start, n_above + 1, 1)
    start, _ = scores_at(items, ranks, ranks)  # (n_labels,)
    counts = count_at(problem, items, start)
    passes = has_start & (p_of_floor(counts.tp_above, counts.above, floor) <= delta)

    # It is covered at the next number above the start alone, if no score lies between.
    just_above = next_above(start, dtype)
    is_next = np.abs(just_above) > np.finfo(dtype).tiny
    if not is_next.all():
        at = count_at(problem, items, just_above)
        is_next |= at.above + at.tied == counts.above
    high = np.where(is_next, just_above, start)

    # The first step at or below the start, and the first from there on that does not show the floor.
    first = _first_steps_below(stairs, start)  # (n_labels,)
    fails = np.flatnonzero(~(p <= delta[stairs.label]))
    after = np.append(fails, p.size)[np.searchsorted(fails, first)]
    after = np.minimum(after, stairs.offsets[1:])

    # What is shown ends at the score below the last step that shows it; without one, at the start.
    goes_on = after > first
    low = start.copy()
    low[goes_on] = stairs.lower[after[goes_on] - 1]
    low[np.isnan(low)] = -np.inf
    low = np.where(passes, low, np.nan)
    return low, np.where(passes, high, np.nan)


def _first_steps_below(stairs: Staircase, scores: Floats) -> Ints:
    """Return the first step (n_labels,) of each label at or below a score."""
    is_above: Booleans = stairs.score > scores[stairs.label]
    n_above = np.bincount(stairs.label[is_above], minlength=scores.size)
    return np.asarray(stairs.offsets[:-1] + n_above)
