"""Cutting labels at given ranks: the threshold there, and what it predicts.

A rank counts rows from the top; where weights are no whole numbers, the unit of weights is worth a
part of a row.
"""

from typing import Any

import numpy as np

from thresholds._arrays.dtypes import rounded_up, threshold_dtype
from thresholds._arrays.types import Floats, Ints
from thresholds._engine.cuts import Cuts
from thresholds.data.problem import Items, Problem
from thresholds.guards.base import NO_POSITIVES, SHRUNK, TIED, GuardedCuts
from thresholds.search.ranks import count_at, next_above, scores_at, weight_present

_ROUNDING = 1e-12  # of ranks, where the unit of weights is no row
_COUNTABLE = 2.0**53  # Larger floats are all whole, whatever was meant.
_FIRST = 0.5  # a rank that the highest score has, whatever its weight


def rows_per_unit_of(problem: Problem) -> float:
    """Return what the unit of weights is worth in rows.

    Whole numbers count rows. Of others the mean is a row.
    """
    if problem.total_weight * problem.unit < _COUNTABLE and problem.has_whole_weights:
        return problem.unit
    return float(np.float64(problem.n_present) / np.float64(problem.total_weight))


def cut_at_ranks(
    problem: Problem,
    items: Items,
    ranks: Floats,
    rows_per_unit: float | Floats,
) -> GuardedCuts:
    """Cut at ranks, counted in rows from the top; 0 is above the highest score, -1 never.

    `rows_per_unit` is what the unit of the weights is worth in rows, of all labels or of each,
    (n_labels,). Positive iff score >= threshold.
    """
    dtype = threshold_dtype(problem.scores.dtype)
    present = weight_present(problem, items)  # (n_labels,)

    # The score at each rank, held within the data.
    n_rows = present * rows_per_unit
    wanted = np.clip(ranks, 1, np.maximum(n_rows, 1))  # (n_labels,), in rows
    held = np.where(ranks > 0, wanted, 0)
    thresholds = _scores_between(items, held, present, rows_per_unit, dtype)
    if problem.keep_sparse:
        thresholds = np.maximum(thresholds, problem.missing)
    counts = count_at(items, thresholds)

    # The tie group there is left out if what is predicted without it is nearer to the rank, in ratio.
    rows_without = np.maximum(counts.above * rows_per_unit, 1)
    rows_with = (counts.above + counts.tied) * rows_per_unit
    nearer_without = rows_with / wanted > wanted / rows_without
    # So are several `missing` scores, of which the sample says nothing, and all of them if
    # predictions stay sparse.
    several = (counts.tied * rows_per_unit > 1) | problem.keep_sparse
    left_out = nearer_without | (ranks <= 0) | ((thresholds == problem.missing) & several)

    thresholds = np.where(left_out, next_above(thresholds, dtype), thresholds)
    tp = counts.tp_above + np.where(left_out, 0, counts.tp_tied)
    predicted = counts.above + np.where(left_out, 0, counts.tied)

    unpredicted = (ranks < 0) | (present == 0)
    thresholds[unpredicted] = np.inf
    tp[unpredicted] = 0
    predicted[unpredicted] = 0

    # The next number above that is not subnormal may pass over subnormal scores: count again.
    tiny = left_out & (np.abs(thresholds) <= np.finfo(dtype).tiny)
    if tiny.any():
        counts = count_at(items, thresholds)
        tp[tiny] = (counts.tp_above + counts.tp_tied)[tiny]
        predicted[tiny] = (counts.above + counts.tied)[tiny]

    reason = np.where(left_out, TIED, SHRUNK)
    return GuardedCuts(thresholds, tp, predicted, np.where(ranks <= 0, NO_POSITIVES, reason))


def lowest_cut_within(problem: Problem, items: Items, most: Floats) -> Cuts:
    """Return the lowest cut of each label that predicts at most as much, with a positive there or not."""
    present = weight_present(problem, items)  # (n_labels,)
    ranks = np.minimum(np.floor(most * (1 + _ROUNDING)), present)

    # One rank is wanted; two are what the kernel gives.
    held = np.maximum(ranks, _FIRST)
    score, _ = scores_at(items, held, held)  # (n_labels,)
    if problem.keep_sparse:
        score = np.maximum(score, problem.missing)
    counts = count_at(items, score)

    # The tie group at that score is predicted if all of it fits.
    absent = problem.keep_sparse & (score == problem.missing)
    fits = (counts.above + counts.tied <= ranks) & ~absent
    tp = counts.tp_above + np.where(fits, counts.tp_tied, 0)
    predicted = counts.above + np.where(fits, counts.tied, 0)

    # The gap that the cut lies in: between the last score that is predicted and the next.
    after = np.minimum(predicted + 1, np.maximum(present, 1))
    upper, lower = scores_at(items, np.maximum(predicted, _FIRST), after)
    lower = np.where(predicted < present, lower, np.nan)
    return Cuts(np.where(predicted > 0, upper, np.inf), lower, tp, predicted, np.zeros_like(tp))


def representable(score: Floats, upper: Floats, dtype: np.dtype[Any]) -> Floats:
    """Round scores up in a dtype, no further than `upper`; none is subnormal unless that is."""
    score = np.minimum(rounded_up(score, dtype).astype(np.float64), upper)
    tiny = float(np.finfo(dtype).tiny)
    normal = np.minimum(np.where(score > 0, tiny, 0), upper)
    is_subnormal = (score != 0) & (np.abs(score) < tiny)
    return np.asarray(np.where(is_subnormal, normal, score) + 0.0)  # -0.0 becomes 0.0


def _scores_between(
    items: Items,
    ranks: Floats,
    present: Ints,
    rows_per_unit: float | Floats,
    dtype: np.dtype[Any],
) -> Floats:
    """Return the score at each rank, linear between whole ranks, rounded up in that dtype."""
    # A rank that is whole but for rounding is whole.
    ranks = np.minimum(ranks, present * rows_per_unit)
    nearest = np.rint(ranks)
    ranks = np.where(np.abs(ranks - nearest) < _ROUNDING * nearest, nearest, ranks)
    whole = np.floor(ranks)

    # The scores at the whole ranks on both sides; the last rank has none below.
    is_last = whole + 1 > present * rows_per_unit * (1 + _ROUNDING)
    both = np.stack([whole, whole + ~is_last]) / rows_per_unit * (1 - _ROUNDING)  # (2, n_labels)
    both = np.maximum(np.minimum(both, present), _FIRST)
    upper, lower = scores_at(items, both[0], both[1])

    # Between them; at the upper one where the gap exceeds float64.
    with np.errstate(invalid="ignore", over="ignore"):
        score = np.where(upper > lower, upper + (ranks - whole) * (lower - upper), upper)
    score = np.where(np.isfinite(score) | (score == upper), score, upper)

    return representable(score, upper, dtype)
