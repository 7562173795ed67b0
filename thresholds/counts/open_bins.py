"""In which bins the best cuts may lie.

A bin is known by its weight and that of its positives, and so are the cuts at its ends. A cut within it predicts, with
so many true positives, no less than these; so it is at best a cut at which all positives of the bin are predicted, and
nothing else of it (docs/proofs.md, inequality (2) of docs/performance.md). Where that is worse than a cut that is
known, the bin needs no closer look. As a rule one bin in a hundred is left.
"""

from typing import NamedTuple

import numpy as np

from thresholds._arrays.dtypes import ROUNDING
from thresholds._arrays.grouped import follow, highest_of_groups, precede
from thresholds._arrays.types import Booleans, Floats, Ints
from thresholds._engine.choosing import CountLimits, best_joint_steps
from thresholds._engine.histograms import Histograms
from thresholds._engine.staircase import Steps


class _Cases(NamedTuple):
    """What the cuts of each bin may reach, (n_bins,) each."""

    label: Ints
    tp: Ints  # down to the end of the bin
    predicted: Ints  # at its end
    fewest: Ints  # with which all positives of the bin can be predicted
    before: Ints  # predicted above the bin
    base: Floats  # beta^2 times the positives of the label
    ends_are_cuts: Booleans  # whether its end may be cut at
    may_be_cut: Booleans  # whether it has positives, and may be cut somewhere


def open_bins(
    bins: Histograms,
    average: str,
    beta: float,
    *,
    above: float | None = None,
    limits: CountLimits | None = None,
) -> Booleans:
    """Tell which bins have to be known score by score, (n_bins,), so that the best cuts are found.

    Cuts lie `above` a score, None for anywhere; limits are those of each label. Bins of a single score may be among
    them.
    """
    cases = _cases(bins, beta, above)
    wanted = _open_jointly(bins, cases, beta) if average == "micro" else _open_each(bins, cases)
    if limits is not None:
        wanted |= _open_within(bins, cases, limits)
    # A threshold lies in the gap below its cut, which ends at the next lower score.
    return np.asarray(wanted | follow(bins.offsets, wanted))


def _cases(bins: Histograms, beta: float, above: float | None) -> _Cases:
    """Work out what the cuts of each bin may reach."""
    label, predicted = bins.label, bins.predicted
    everywhere = np.ones(label.size, np.bool_)
    return _Cases(
        label,
        bins.tp,
        predicted,
        fewest=predicted - bins.weights + bins.hits,
        before=predicted - bins.weights,
        base=np.asarray(beta**2 * bins.positives, np.float64)[label],
        ends_are_cuts=everywhere if above is None else bins.lowest > above,
        may_be_cut=(bins.hits > 0) & (everywhere if above is None else bins.highest > above),
    )


def _open_each(bins: Histograms, cases: _Cases) -> Booleans:
    """Tell in which bins the best cut of a label by itself may lie: as good a one as is known."""
    reached = np.where(cases.ends_are_cuts, _ratio(cases, cases.predicted), 0.0)
    best: Floats = highest_of_groups(bins.offsets, reached)[cases.label]
    return cases.may_be_cut & (_ratio(cases, cases.fewest) >= best * (1 - ROUNDING))


def _open_within(bins: Histograms, cases: _Cases, limits: CountLimits) -> Booleans:
    """Tell the same of the best cut that keeps the limits, or of the lowest cut that predicts no more than allowed."""
    within = _within(bins, cases, limits)
    best = highest_of_groups(
        bins.offsets, np.where(within.ends, _ratio(cases, cases.predicted), 0.0)
    )[cases.label]
    is_better = _ratio(cases, cases.fewest) >= best * (1 - ROUNDING)
    # Where no cut is known to keep them, a label may be predicted as much as is allowed.
    return np.asarray((within.may_be & is_better) | (within.is_last & (best == 0)))


class _Within(NamedTuple):
    """Which bins have cuts that keep limits, (n_bins,) each."""

    ends: Booleans  # at its end
    may_be: Booleans  # somewhere, at best
    is_last: Booleans  # the bin in which no more may be predicted, and the one before


def _within(bins: Histograms, cases: _Cases, limits: CountLimits) -> _Within:
    """Tell which bins have cuts that keep the limits of their labels."""
    own = limits.of_labels(cases.label)
    positives = bins.positives[cases.label]
    ends = own.allow(cases.tp, cases.predicted, positives) & cases.ends_are_cuts
    # The best case has all positives of the bin, and predicts nothing else of it.
    no_limit = np.full(positives.size, np.inf)
    floors = own._replace(most_over=no_limit)
    most = np.where(np.isfinite(own.most_over), own.most_over, 0.0) * positives * (1 + ROUNDING)
    most = np.where(np.isfinite(own.most_over), most, no_limit)
    may_be = floors.allow(cases.tp, cases.fewest, positives) & (cases.before < most)
    is_reached = (cases.before <= most) & (cases.predicted > most)
    return _Within(ends, may_be & cases.may_be_cut, is_reached | precede(bins.offsets, is_reached))


def open_near(
    bins: Histograms,
    beta: float,
    predicted: Ints,
    labels: Booleans,
    limits: CountLimits,
    *,
    above: float | None = None,
) -> Booleans:
    """Tell which bins have to be known score by score to find the cuts within limits that are nearest to others.

    `predicted` is what these predict, (n_labels,); `labels` are those whose cuts break the limits.
    """
    cases = _cases(bins, beta, above)
    within = _within(bins, cases, limits)
    aim = np.maximum(predicted, 0.5)[cases.label]  # (n_bins,)
    # The nearest step at an end that keeps them; a bin has cuts between one more than above it and all of it.
    distance = np.abs(np.log(cases.predicted / aim))
    is_step = within.ends & (bins.hits > 0)
    nearest = highest_of_groups(bins.offsets, np.where(is_step, -distance, -np.inf), -np.inf)
    least = np.abs(np.log(np.clip(aim, cases.before + 1, cases.predicted) / aim))
    is_near = least <= -nearest[cases.label] * (1 + ROUNDING)
    wanted = (within.may_be & is_near) | within.is_last
    wanted &= labels[cases.label]
    return np.asarray(wanted | follow(bins.offsets, wanted))


def _open_jointly(bins: Histograms, cases: _Cases, beta: float) -> Booleans:
    """Tell in which bins the cuts of the highest micro F-beta may lie."""
    # 1. The best ratio T / (B P + K) lies between what is reached at ends of bins, and what the best cases would reach.
    ends = _steps(bins, cases.predicted).where(cases.ends_are_cuts)
    chosen, low = best_joint_steps(ends, beta**2)
    best_cases = _steps(bins, cases.fewest).where(cases.may_be_cut)
    high = max(low, best_joint_steps(best_cases, beta**2)[1])

    # 2. Two cuts of each label: the best at either ratio. Never is one that is worth nothing.
    at_low, at_high = (_at(ends, one) for one in (chosen, _best_at(ends, high)))
    # Both are worth the same at a ratio between: there the better of them is worth least.
    with np.errstate(divide="ignore", invalid="ignore"):
        between = (at_low[0] - at_high[0]) / (at_low[1] - at_high[1])
    between = np.where(np.isfinite(between), np.clip(between, low, high), low)  # (n_labels,)

    # 3. A bin whose best case is worse at all three ratios is so at each between, as the difference is convex.
    is_worse = np.ones(cases.label.size, np.bool_)
    for ratio in (np.full(bins.n_labels, low), np.full(bins.n_labels, high), between):
        worth = np.maximum(at_low[0] - ratio * at_low[1], at_high[0] - ratio * at_high[1])
        slack = ROUNDING * np.maximum(bins.totals, 1)
        of_bin = cases.tp - ratio[cases.label] * cases.fewest
        is_worse &= of_bin < (worth - slack)[cases.label]
    return np.asarray(cases.may_be_cut & ~is_worse)


def _ratio(cases: _Cases, predicted: Ints) -> Floats:
    """Return T / (B P + K) of cuts, 0 where nothing is predicted or true."""
    return np.asarray(cases.tp / np.maximum(cases.base + predicted, 1))


def _steps(bins: Histograms, predicted: Ints) -> Steps:
    """Return the bins as steps that predict so much."""
    score = bins.lowest.astype(np.float64)
    return Steps(bins.offsets, score, score, bins.tp, predicted, bins.positives)


def _best_at(steps: Steps, ratio: float) -> Ints:
    """Return the step of each label that is worth most at a ratio, (n_labels,), -1 for never."""
    worth = steps.tp - ratio * steps.predicted  # (n_steps,)
    has_steps = np.diff(steps.offsets) > 0
    chosen = np.full(has_steps.size, -1)
    order = np.lexsort((-worth, steps.label))  # stable: of equal ones the highest cut
    best = order[steps.offsets[:-1][has_steps]]
    chosen[has_steps] = np.where(worth[best] > 0, best, -1)
    return chosen


def _at(steps: Steps, chosen: Ints) -> tuple[Ints, Ints]:
    """Return what a step of each label counts: true positives and predictions, (n_labels,) each."""
    cuts = steps.at(chosen)
    return cuts.tp, cuts.predicted
