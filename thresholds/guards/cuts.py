"""Cutting labels at given ranks: the threshold there, what it predicts, and why it is not the in-sample optimum."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from thresholds._arrays.dtypes import rounded_up, threshold_dtype
from thresholds._arrays.types import Floats, Ints, Texts
from thresholds._checks import Placement
from thresholds._kernels.guards import count_at_keys, keys_at_ranks
from thresholds._kernels.keys import to_keys, to_scores
from thresholds.data.problem import Items, Problem
from thresholds.guards.limits import Limits
from thresholds.metrics.counts import f_of_counts
from thresholds.rule.guard_report import GuardReport
from thresholds.search import staircase
from thresholds.search.staircase import Cuts

_ROUNDING = 1e-12  # of ranks, where the unit of weights is no row

SHRUNK, TIED, NO_POSITIVES, LIMITED = "shrunk", "tied scores", "no positives", "limits"
ALWAYS, ALWAYS_LIMITED, NO_HIT = "always", "always, within limits", "no hit within limits"  # of labels that fell back


class GuardedCuts(NamedTuple):
    """What a guard makes of some labels."""

    thresholds: Floats
    tp: Ints
    predicted: Ints
    reason: Texts


class Guarded(NamedTuple):
    """The cuts of all labels, beside those of the in-sample optimum."""

    made: GuardedCuts
    optimum: Cuts

    @property
    def cuts(self) -> Cuts:
        """The counts as cuts, which lie where the thresholds do."""
        at, tp, predicted, _ = self.made
        return Cuts(at, np.full_like(at, np.nan), tp, predicted, self.optimum.positives)

    def report(
        self, problem: Problem, guard: str | None, beta: float, zero_division: float, placement: Placement
    ) -> GuardReport:
        """Say what was moved."""
        positives, before = self.optimum.positives, self.optimum.predicted
        return GuardReport(
            guard=guard,
            unguarded=self.optimum.placed(problem, placement),
            guarded=self.made.thresholds,
            predicted_before=before * problem.unit,
            predicted_after=self.made.predicted * problem.unit,
            f_before=f_of_counts(self.optimum.tp, before, positives, beta, zero_division),
            f_after=f_of_counts(self.made.tp, self.made.predicted, positives, beta, zero_division),
            reason=np.where(before == self.made.predicted, "", self.made.reason),
            label_names=problem.label_names,
            fell_back=np.isin(self.made.reason, (ALWAYS, ALWAYS_LIMITED, NO_HIT)),
        )


def joined(parts: Sequence[GuardedCuts]) -> GuardedCuts:
    """Join the cuts of consecutive labels."""
    return GuardedCuts(*(np.concatenate(arrays) for arrays in zip(*parts, strict=True)))


def fall_back(
    problem: Problem,
    items: Items,
    cuts: GuardedCuts,
    positives: Ints,
    beta: float,
    limits: Limits,
    placement: Placement,
) -> GuardedCuts:
    """Predict a label always if that has a higher F-beta than its cut; then keep the limits.

    Always is the lowest score: all cells but those that are masked and, where predictions stay sparse, `missing`; of a
    label that has no score but `missing` the sample says nothing, and it keeps its cut. What falls back (or was always
    predicted already), and hits nothing where the limits allow it, is never predicted: its highest scores are the
    least likely.
    """
    always = _cut_below_all(problem, items, placement)
    f = f_of_counts(cuts.tp, cuts.predicted, positives, beta, 0.0)
    f_always = f_of_counts(always.tp, always.predicted, positives, beta, 0.0)
    better = f_always > f
    already = (cuts.predicted == always.predicted) & (f_always > 0)
    falls = better | already
    best = _chosen(better, always, cuts)
    best = best._replace(reason=np.where(falls, ALWAYS, best.reason))

    found = within_limits(problem, items, best, limits, placement)
    moved = falls & (found.reason == LIMITED)
    found = found._replace(reason=np.where(moved, ALWAYS_LIMITED, found.reason))
    return _chosen(moved & (found.tp == 0), _never(falls.size, NO_HIT), found)


def within_limits(
    problem: Problem, items: Items, cuts: GuardedCuts, limits: Limits, placement: Placement
) -> GuardedCuts:
    """Replace cuts that break limits; where only limits were asked for, also those that predict nothing.

    If a label is predicted too often, as much as is allowed is predicted: the lowest cut, whether or not a positive
    lies there. If that breaks another limit, the step that keeps all and predicts most nearly as much.
    """
    if not limits.any:
        return cuts
    positives = np.add.reduceat(items.positive_weights, items.starts[:-1], dtype=np.int64)
    broken = ~limits.kept(cuts.tp, cuts.predicted, positives) | ((cuts.reason == LIMITED) & (cuts.predicted == 0))
    if not broken.any():
        return cuts
    nearest = limits.nearest(staircase.of_items(items).cuttable(problem), cuts.predicted)
    reason = np.full(positives.size, LIMITED)
    found = GuardedCuts(nearest.placed(problem, placement), nearest.tp, nearest.predicted, reason)
    if limits.max_overprediction is not None:
        most = limits.max_overprediction * positives
        lowest = _lowest_within(problem, items, most)
        allowed = limits.kept(lowest.tp, lowest.predicted, positives) & (lowest.predicted > 0)
        allowed &= (cuts.predicted > most) | (cuts.reason == LIMITED)
        capped = GuardedCuts(lowest.placed(problem, placement), lowest.tp, lowest.predicted, reason)
        found = _chosen(allowed, capped, found)
    return _chosen(broken, found, cuts)


def _cut_below_all(problem: Problem, items: Items, placement: Placement) -> GuardedCuts:
    """Cut each label at the lowest score that it may be cut at; one that has no score but `missing` never."""
    lowest = _lowest_within(problem, items, _present(problem, items).astype(np.float64))
    reason = np.full(lowest.tp.size, ALWAYS)
    cuts = GuardedCuts(lowest.placed(problem, placement), lowest.tp, lowest.predicted, reason)
    above, _, _, _ = _count_at(items, lowest.score, problem)
    unscored = (lowest.score == problem.missing) & (above == 0)
    return _chosen(unscored, _never(unscored.size, ALWAYS), cuts)


def _never(n_labels: int, reason: str) -> GuardedCuts:
    """Predict none of some labels."""
    nothing = np.zeros(n_labels, np.int64)
    return GuardedCuts(np.full(n_labels, np.inf), nothing, nothing, np.full(n_labels, reason))


def _chosen(where: npt.NDArray[np.bool_], first: GuardedCuts, second: GuardedCuts) -> GuardedCuts:
    """Take the cuts of the first where told so, else of the second."""
    return GuardedCuts(*(np.where(where, *pair) for pair in zip(first, second, strict=True)))


def _lowest_within(problem: Problem, items: Items, most: Floats) -> Cuts:
    """Return the lowest cut of each label that predicts at most as much, whether or not a positive lies there."""
    present = _present(problem, items)
    ranks = np.minimum(np.floor(most * (1 + _ROUNDING)), present)

    def at(ranks: Floats) -> Floats:
        return to_scores(keys_at_ranks(items.starts, items.keys, items.weights, ranks)).astype(np.float64)

    score = at(np.stack([np.maximum(ranks, 0.5)] * 2))[0]  # One rank is wanted; two are what the kernel gives.
    if problem.keep_sparse:
        score = np.maximum(score, problem.missing)
    above, hits_above, tied, hits_tied = _count_at(items, score, problem)
    whole = (above + tied <= ranks) & ~(problem.keep_sparse & (score == problem.missing))
    tp, predicted = hits_above + np.where(whole, hits_tied, 0), above + np.where(whole, tied, 0)
    upper, lower = at(np.stack([np.maximum(predicted, 0.5), np.minimum(predicted + 1, np.maximum(present, 1))]))
    lower = np.where(predicted < present, lower, np.nan)
    return Cuts(np.where(predicted > 0, upper, np.inf), lower, tp, predicted, np.zeros_like(tp))


def cut_at_ranks(problem: Problem, items: Items, ranks: Floats, rows_per_unit: float) -> GuardedCuts:
    """Cut at ranks, counted in rows from the top; 0 is above the highest score, -1 never.

    `rows_per_unit` is what the unit of the weights is worth in rows. Positive iff score >= threshold; the tie group at
    the threshold is left out if predicted rows with it, times those without it, exceed rank^2 (it is nearer to the
    rank without it, in ratio), and if it is that of several `missing` scores.
    """
    dtype = threshold_dtype(problem.scores.dtype)
    present = _present(problem, items)
    wanted = np.clip(ranks, 1, np.maximum(present * rows_per_unit, 1))
    t = _scores_at(items, np.where(ranks > 0, wanted, 0), present, rows_per_unit, dtype)
    if problem.keep_sparse:
        t = np.maximum(t, problem.missing)
    above, hits_above, tied, hits_tied = _count_at(items, t, problem)
    left_out = ((above + tied) * rows_per_unit / wanted > wanted / np.maximum(above * rows_per_unit, 1)) | (ranks <= 0)
    left_out |= (t == problem.missing) & ((tied * rows_per_unit > 1) | problem.keep_sparse)
    t = np.where(left_out, _next_above(t, dtype), t)
    tp, predicted = hits_above + np.where(left_out, 0, hits_tied), above + np.where(left_out, 0, tied)
    never = (ranks < 0) | (present == 0)
    t[never], tp[never], predicted[never] = np.inf, 0, 0
    tiny = left_out & (np.abs(t) <= np.finfo(dtype).tiny)
    if tiny.any():  # The next normal number may pass over subnormal scores.
        again = _count_at(items, t, problem)
        tp[tiny], predicted[tiny] = (again[1] + again[3])[tiny], (again[0] + again[2])[tiny]
    reason = np.where(ranks <= 0, NO_POSITIVES, np.where(left_out, TIED, SHRUNK))
    return GuardedCuts(t, tp, predicted, reason)


def _present(problem: Problem, items: Items) -> Ints:
    """Return the weight of the cells of each label that are not masked."""
    masked = to_keys(np.array([-np.inf], problem.dtype))[0]
    if items.weights.size == 0 and items.keys.min() > masked:
        return np.diff(items.starts)
    shown = items.keys > masked
    weights = shown if items.weights.size == 0 else np.where(shown, items.weights, 0)
    return np.asarray(np.add.reduceat(weights, items.starts[:-1], dtype=np.int64))


def _scores_at(items: Items, ranks: Floats, present: Ints, rows_per_unit: float, dtype: np.dtype[Any]) -> Floats:
    """Return the score at each rank, linear between whole ranks, rounded up in the dtype of the scores."""
    ranks = np.minimum(ranks, present * rows_per_unit)
    near = np.rint(ranks)
    ranks = np.where(np.abs(ranks - near) < _ROUNDING * near, near, ranks)
    whole = np.floor(ranks)
    last = whole + 1 > present * rows_per_unit * (1 + _ROUNDING)
    between = np.stack([whole, whole + ~last]) / rows_per_unit * (1 - _ROUNDING)
    between = np.maximum(np.minimum(between, present), 0.5)  # The highest score has half of the smallest unit.
    upper, lower = to_scores(keys_at_ranks(items.starts, items.keys, items.weights, between)).astype(np.float64)
    with np.errstate(invalid="ignore", over="ignore"):
        t = np.where(upper > lower, upper + (ranks - whole) * (lower - upper), upper)
    t = np.where(np.isfinite(t) | (t == upper), t, upper)  # The gap exceeds float64.
    t = np.minimum(rounded_up(t, dtype).astype(np.float64), upper)
    tiny = float(np.finfo(dtype).tiny)
    return np.asarray(np.where((t != 0) & (np.abs(t) < tiny), np.minimum(np.where(t > 0, tiny, 0), upper), t) + 0.0)


def _count_at(items: Items, t: Floats, problem: Problem) -> Ints:
    """Count what lies above, and at, the thresholds."""
    keys = to_keys(np.ascontiguousarray(rounded_up(t, problem.dtype)))
    return count_at_keys(items.starts, items.keys, items.positive_weights, items.weights, keys)


def _next_above(t: Floats, dtype: np.dtype[Any]) -> Floats:
    """Return the next number above that is not subnormal."""
    with np.errstate(over="ignore"):  # Above the largest number lies +inf.
        after = np.nextafter(t.astype(dtype), dtype.type(np.inf)).astype(np.float64)
    tiny = float(np.finfo(dtype).tiny)
    return np.where(np.abs(after) < tiny, np.where(after > 0, tiny, 0.0), after)
