"""Limits that the cut of every label must keep: the best cut within them, or the nearest to one that breaks them."""

from typing import NamedTuple

import numpy as np

from thresholds._arrays.types import Booleans, Ints
from thresholds._engine.choosing import CountLimits, best_steps
from thresholds._engine.cuts import Cuts
from thresholds._engine.histograms import Histograms, histograms
from thresholds._engine.problem import Problem
from thresholds._engine.search_options import SearchOptions
from thresholds._engine.staircase import Steps
from thresholds.guarantees.tests_of_labels import Ranges, certified_cuts
from thresholds.guards.base import (
    ALWAYS,
    ALWAYS_LIMITED,
    LIMITED,
    NO_HIT,
    GuardedCuts,
    either,
    never,
    placed,
)
from thresholds.guards.cuts import lowest_cut_within


class Limits(NamedTuple):
    """What the cut of each label may predict. To predict nothing keeps all but floors of recall."""

    counts: CountLimits  # on the rows of the fit
    certified: Ranges | None = None  # thresholds that are shown to keep floors on new rows

    @property
    def any(self) -> bool:
        """Whether there is a limit."""
        return self.certified is not None or self.counts.any

    @property
    def has_overprediction(self) -> bool:
        """Whether predictions are limited by the number of positives."""
        return bool((self.counts.most_over < np.inf).any())

    def of_labels(self, labels: slice | Ints) -> "Limits":
        """Return the limits of some labels."""
        certified = None if self.certified is None else self.certified.of_labels(labels)
        return Limits(self.counts.of_labels(labels), certified)

    def candidates(self, problem: Problem, found: Histograms) -> Steps:
        """Return the cuts that keep all limits, of which the best is chosen; `found` has a bin for each score."""
        steps = found.steps if self.certified is None else certified_cuts(found, self.certified)
        steps = steps.cuttable(problem)
        # If two steps break limits of counts, so does every cut between them.
        return steps.where(self.counts.allow_steps(steps))

    def keep(self, cuts: GuardedCuts, positives: Ints) -> Booleans:
        """Return which cuts, one of each label, keep all limits."""
        allowed = self.counts.allow(cuts.tp, cuts.predicted, positives)
        return (
            allowed if self.certified is None else allowed & self.certified.contain(cuts.thresholds)
        )

    def are_broken(self, cuts: GuardedCuts, positives: Ints) -> Booleans:
        """Return which cuts break limits, (n_labels,); those that are best within them do if they predict nothing."""
        if not self.any:
            return np.zeros(positives.size, np.bool_)
        is_nothing = (cuts.reason == LIMITED) & (cuts.predicted == 0)
        return np.asarray(~self.keep(cuts, positives) | is_nothing)


def limited_cuts(
    problem: Problem, limits: Limits, options: SearchOptions, best: Cuts
) -> GuardedCuts:
    """Take the best cut of each label within limits of counts; where no step keeps them, as much as they allow."""
    cuts = placed(best, problem, options, LIMITED)
    # Labels without a step that keeps the limits may be predicted above their highest positive.
    left = np.flatnonzero((cuts.predicted == 0) & (best.positives > 0))
    if not limits.has_overprediction or not left.size:
        return cuts
    return _with_nearest(problem, limits, options, cuts, left)


def certified_limited_cuts(
    problem: Problem, limits: Limits, options: SearchOptions, found: Histograms
) -> GuardedCuts:
    """Take the best of the cuts that are shown to keep floors on new rows, within limits.

    `found` has all scores of some labels.
    """
    allowed = limits.candidates(problem, found)
    best = allowed.at(best_steps(allowed, options.beta**2))
    cuts = placed(best, problem, options, LIMITED)
    labels = np.flatnonzero(limits.are_broken(cuts, best.positives))
    own = nearest_cuts(
        problem, limits.of_labels(labels), options, found.take(labels), cuts.take(labels)
    )
    return cuts.with_labels(labels, own)


def kept_limits(
    problem: Problem, limits: Limits, options: SearchOptions, cuts: GuardedCuts, positives: Ints
) -> GuardedCuts:
    """Replace the cuts of a guard that break limits: exactly, as bins may hide a cut that keeps them."""
    broken = np.flatnonzero(limits.are_broken(cuts, positives))
    if not broken.size:
        return cuts
    limited = _with_nearest(problem, limits, options, cuts, broken)

    # What fell back, and has no true positive where the limits allow it, is never predicted: its
    # highest scores are the least likely.
    moved = (cuts.reason == ALWAYS) & (limited.reason == LIMITED)
    reason = np.where(moved, ALWAYS_LIMITED, limited.reason)
    limited = limited._replace(reason=reason)
    return either(moved & (limited.tp == 0), never(moved.size, NO_HIT), limited)


def _with_nearest(
    problem: Problem, limits: Limits, options: SearchOptions, cuts: GuardedCuts, labels: Ints
) -> GuardedCuts:
    """Replace the cuts of some labels, whose scores are read one by one."""
    found = histograms(problem, None, labels=labels, n_jobs=options.n_jobs)
    own = nearest_cuts(problem, limits.of_labels(labels), options, found, cuts.take(labels))
    return cuts.with_labels(labels, own)


def nearest_cuts(
    problem: Problem,
    limits: Limits,
    options: SearchOptions,
    found: Histograms,
    cuts: GuardedCuts,
) -> GuardedCuts:
    """Replace cuts of some labels by such as keep the limits; `found` has a bin for each of their scores."""
    # The step that keeps all limits and predicts most nearly as much.
    nearest = nearest_steps(limits.candidates(problem, found), cuts.predicted)
    replaced = placed(nearest, problem, options, LIMITED)
    if not limits.has_overprediction:
        return replaced

    # A label that is predicted too often is predicted as much as is allowed, whether or not a
    # positive lies at the cut; unless that breaks another limit.
    positives = found.positives
    most = limits.counts.most_over * positives
    lowest = placed(lowest_cut_within(found, problem, most), problem, options, LIMITED)
    keeps = limits.keep(lowest, positives)
    keeps &= (lowest.predicted > 0) & ((cuts.predicted > most) | (cuts.reason == LIMITED))
    return either(keeps, lowest, replaced)


def nearest_steps(allowed: Steps, predicted: Ints) -> Cuts:
    """Return the allowed cut of each label that predicts most nearly as much; never without one."""
    # Distance of each step in ratio; from nothing as from a half.
    label = allowed.label
    distance = np.abs(np.log(allowed.predicted / np.maximum(predicted, 0.5)[label]))  # (n_steps,)
    order = np.lexsort((distance, label))  # stable: of equal ones the highest cut
    has_steps = np.diff(allowed.offsets) > 0
    chosen = np.full(has_steps.size, -1)
    chosen[has_steps] = order[allowed.offsets[:-1][has_steps]]
    return allowed.at(chosen)
