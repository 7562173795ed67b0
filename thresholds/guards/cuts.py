"""Cutting labels at given ranks: the threshold there, and what it predicts.

A rank counts rows from the top; where weights are no whole numbers, the unit of weights is worth a
part of a row.
"""

from typing import Any, NamedTuple

import numpy as np

from thresholds._arrays.dtypes import ROUNDING, rounded_up, threshold_dtype
from thresholds._arrays.types import Floats, Ints
from thresholds._engine.cuts import Cuts
from thresholds._engine.histograms import Histograms
from thresholds._engine.placement import next_above
from thresholds._engine.problem import Problem
from thresholds.guards.base import NO_POSITIVES, SHRUNK, TIED, GuardedCuts

_COUNTABLE = 2.0**53  # Larger floats are all whole, whatever was meant.
_FIRST = 0.5  # a rank that the highest score has, whatever its weight


def rows_per_unit_of(problem: Problem) -> float:
    """Return what the unit of weights is worth in rows.

    Whole numbers count rows. Of others the mean is a row.
    """
    if problem.total_weight * problem.unit < _COUNTABLE and problem.has_whole_weights:
        return problem.unit
    return float(np.float64(problem.n_present) / np.float64(problem.total_weight))


class CountsAt(NamedTuple):
    """What lies above a score of each label, and what is in the bin that it lies in; by weight, (n_labels,) each."""

    above: Ints
    tp_above: Ints
    tied: Ints  # 0 between two bins
    tp_tied: Ints
    bin: Ints  # the first bin that is not wholly above; of a label without one the number of all bins


def count_at(found: Histograms, thresholds: Floats) -> CountsAt:
    """Count what lies above a threshold of each label, (n_labels,), and in the bin that it lies in."""
    place = found.offsets[:-1] + found.n_above(thresholds)
    padded = np.where(place < found.offsets[1:], place, found.lowest.size)
    is_inside = np.append(found.highest, -np.inf)[padded] >= thresholds
    is_inside &= padded < found.lowest.size
    hits, weights = np.append(found.hits, 0)[padded], np.append(found.weights, 0)[padded]
    so_far, hits_so_far = np.append(0, found.weights.cumsum()), np.append(0, found.hits.cumsum())
    return CountsAt(
        above=so_far[place] - so_far[found.offsets[:-1]],
        tp_above=hits_so_far[place] - hits_so_far[found.offsets[:-1]],
        tied=np.where(is_inside, weights, 0),
        tp_tied=np.where(is_inside, hits, 0),
        bin=padded,
    )


def cut_at_ranks(
    found: Histograms, problem: Problem, ranks: Floats, rows_per_unit: Floats
) -> GuardedCuts:
    """Cut at ranks, counted in rows from the top; 0 is above the highest score, -1 never.

    `rows_per_unit` (n_labels,) is what the unit of the weights is worth in rows. Positive iff score >= threshold. A bin
    is predicted whole, or not at all.
    """
    dtype = threshold_dtype(problem.scores.dtype)
    present = found.present  # (n_labels,)

    # 1. The score at each rank, held within the data.
    n_rows = present * rows_per_unit
    wanted = np.clip(ranks, 1, np.maximum(n_rows, 1))  # (n_labels,), in rows
    held = np.where(ranks > 0, wanted, 0)
    thresholds = _scores_between(found, held, present, rows_per_unit, dtype)
    if problem.keep_sparse:
        thresholds = np.maximum(thresholds, problem.missing)
    counts = count_at(found, thresholds)
    lowest, highest = (
        np.append(edge, np.nan)[counts.bin] for edge in (found.lowest, found.highest)
    )
    thresholds = np.where(counts.tied > 0, lowest, thresholds)

    # 2. The bin there is left out if what is predicted without it is nearer to the rank, in ratio. So are several
    #    `missing` scores, of which the sample says nothing, and all of them if predictions stay sparse.
    rows_without = np.maximum(counts.above * rows_per_unit, 1)
    rows_with = (counts.above + counts.tied) * rows_per_unit
    nearer_without = rows_with / wanted > wanted / rows_without
    several = (counts.tied * rows_per_unit > 1) | problem.keep_sparse
    is_missing = (thresholds <= problem.missing) & (problem.missing <= np.fmax(thresholds, highest))
    left_out = nearer_without | (ranks <= 0) | (is_missing & several)
    ends = np.where(counts.tied > 0, highest, thresholds)
    thresholds = np.where(left_out, next_above(ends, dtype), rounded_up(thresholds, dtype))
    tp = counts.tp_above + np.where(left_out, 0, counts.tp_tied)
    predicted = counts.above + np.where(left_out, 0, counts.tied)

    unpredicted = (ranks < 0) | (present == 0)
    thresholds[unpredicted] = np.inf
    tp[unpredicted] = 0
    predicted[unpredicted] = 0

    # 3. The next number above that is not subnormal may pass over subnormal scores: count again.
    tiny = left_out & (np.abs(thresholds) <= np.finfo(dtype).tiny)
    if tiny.any():
        counts = count_at(found, thresholds)
        tp[tiny] = (counts.tp_above + counts.tp_tied)[tiny]
        predicted[tiny] = (counts.above + counts.tied)[tiny]

    reason = np.where(left_out, TIED, SHRUNK)
    return GuardedCuts(thresholds, tp, predicted, np.where(ranks <= 0, NO_POSITIVES, reason))


def lowest_cut_within(found: Histograms, problem: Problem, most: Floats) -> Cuts:
    """Return the lowest cut of each label that predicts at most as much, with a positive there or not."""
    allowed = found.lowest > -np.inf  # (n_bins,)
    if problem.keep_sparse:
        allowed &= found.lowest > problem.missing
    # Predictions grow: once they are too many they remain so.
    allowed &= found.predicted <= np.floor(most * (1 + ROUNDING))[found.label]
    n_allowed = np.bincount(found.label, allowed, found.n_labels).astype(np.int64)
    return found.cuts_after(n_allowed)


def representable(score: Floats, upper: Floats, dtype: np.dtype[Any]) -> Floats:
    """Round scores up in a dtype, no further than `upper`; none is subnormal unless that is."""
    score = np.minimum(rounded_up(score, dtype).astype(np.float64), upper)
    tiny = float(np.finfo(dtype).tiny)
    normal = np.minimum(np.where(score > 0, tiny, 0), upper)
    is_subnormal = (score != 0) & (np.abs(score) < tiny)
    return np.asarray(np.where(is_subnormal, normal, score) + 0.0)  # -0.0 becomes 0.0


def _scores_between(
    found: Histograms, ranks: Floats, present: Ints, rows_per_unit: Floats, dtype: np.dtype[Any]
) -> Floats:
    """Return the score at each rank, linear between whole ranks, rounded up in that dtype."""
    # A rank that is whole but for rounding is whole.
    ranks = np.minimum(ranks, present * rows_per_unit)
    nearest = np.rint(ranks)
    ranks = np.where(np.abs(ranks - nearest) < ROUNDING * nearest, nearest, ranks)
    whole = np.floor(ranks)

    # The bins at the whole ranks on both sides; the last rank has none below.
    is_last = whole + 1 > present * rows_per_unit * (1 + ROUNDING)
    both = np.stack([whole, whole + ~is_last]) / rows_per_unit * (1 - ROUNDING)  # (2, n_labels)
    both = np.maximum(np.minimum(both, present), _FIRST)
    first, second = found.bins_at(both[0]), found.bins_at(both[1])
    # What follows the whole rank is the highest of the next bin, unless it is in the same.
    padded_lowest = np.append(found.lowest, -np.inf).astype(np.float64)
    padded_highest = np.append(found.highest, -np.inf).astype(np.float64)
    upper = padded_lowest[first]
    lower = np.where(second == first, upper, padded_highest[second])

    # Between them; at the upper one where the gap exceeds float64.
    with np.errstate(invalid="ignore", over="ignore"):
        score = np.where(upper > lower, upper + (ranks - whole) * (lower - upper), upper)
    score = np.where(np.isfinite(score) | (score == upper), score, upper)

    return representable(score, upper, dtype)
