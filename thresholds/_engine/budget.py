"""The best cut of each label where all labels together may predict only so much.

    maximise  sum_j value_j(cut_j)    subject to  sum_j predicted_j(cut_j) <= N

is the multiple-choice knapsack problem (Sinha & Zoltners 1979, "The multiple-choice knapsack
problem"): one choice for each label, a step of its staircase or never. At a price for each
prediction, each label chooses on its own what is worth most after the price. What that leaves,

    D(price) = sum_j max over cuts of (value_j - price predicted_j) + price N

is at least the optimum, whatever the price (Lagrange, Everett 1963). The least D is the value of the
concave majorants of all labels at N, and the bound that is reported. The choices at a price are
optimal for what they predict themselves, seldom for N: between two of them lie N and the optimum.

The optimum is then searched for among the few choices that it may hold. The regret of a choice is
what it is worth less, after the price, than the best of its label. All regrets of a solution, and
the price of what it leaves of N, are what it falls short of D. So a choice whose regret exceeds what
D is above a solution that is known belongs to no better one, and a label that keeps a single choice
is settled. The others are taken one after another, with all totals that may still lead to something
better (dynamic programming over a core; Pisinger 1995, "A minimal algorithm for the multiple-choice
knapsack problem"). docs/proofs.md has the proof.
"""

from dataclasses import dataclass, replace
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from thresholds._arrays.dtypes import ROUNDING
from thresholds._arrays.grouped import group_of
from thresholds._arrays.types import Booleans, Floats, Ints
from thresholds._checks import Average
from thresholds._engine.choosing import best_joint_steps, best_steps, highest_ratio
from thresholds._engine.cuts import Cuts
from thresholds._engine.f_measure import f_of_counts
from thresholds._engine.staircase import Steps

_MOST_TOTALS = 2**15  # that are gone on with from one label to the next
# Of what is open, searched one after another: little is soon done.
_SHARES = (2**-6, 2**-4, 2**-2, 1.0)
_MARGIN = 1e-9  # relative: a bound is raised by more than what float64 loses in sums of weights


class Within(NamedTuple):
    """Choices within a budget."""

    chosen: Ints  # (n_labels,) positions among all choices
    value: float
    bound: float  # that no choices within the budget exceed, raised by `_MARGIN`
    is_optimal: bool  # shown, but for rounding


@dataclass(frozen=True, slots=True)
class Choices:
    """What each label may choose, by rising predictions: those of label j are `starts[j]:starts[j + 1]`.

    The first choice of each label predicts nothing.
    """

    starts: Ints  # (n_labels + 1,)
    predicted: Ints  # (n_choices,)
    value: Floats  # (n_choices,)

    @property
    def label(self) -> Ints:
        """The label of each choice."""
        return group_of(self.starts)

    def at_price(self, price: float) -> Ints:
        """Return the choice of each label that is worth most after a price; of equal ones the least predicted."""
        worth = self.value - price * self.predicted  # (n_choices,)
        best = np.maximum.reduceat(worth, self.starts[:-1])  # (n_labels,)
        are_best = np.flatnonzero(worth == np.repeat(best, np.diff(self.starts)))
        return are_best[np.searchsorted(are_best, self.starts[:-1])]

    def totals(self, chosen: Ints) -> tuple[int, float]:
        """Return predictions and value of a choice of each label."""
        return int(self.predicted[chosen].sum()), float(self.value[chosen].sum())


def best_within(
    choices: Choices, most: int, *, known: Ints | None = None, unit: float = 0.0
) -> Within:
    """Return the choice of each label of the highest sum of values, with at most so many predictions.

    `known` are choices within the budget, which others are to exceed. Of values that are all multiples
    of `unit`, others exceed them by as much.
    """
    free = choices.at_price(0.0)
    predicted, value = choices.totals(free)
    if predicted <= most:
        return Within(free, value, _raised(value), True)

    # The least bound, and choices that come near it.
    price, low, high = _least_bound(choices, free, most)
    worth = choices.value - price * choices.predicted  # (n_choices,)
    best = np.maximum.reduceat(worth, choices.starts[:-1])  # (n_labels,)
    bound = float(best.sum()) + price * most
    chosen = _filled(choices, _between(choices, low, high, most), most)
    if known is not None and choices.totals(known)[1] >= choices.totals(chosen)[1]:
        chosen = known
    _, value = choices.totals(chosen)

    # What lies between is searched.
    regret = np.repeat(best, np.diff(choices.starts)) - worth  # (n_choices,)
    gap = bound - value - max(unit / 2, ROUNDING * abs(bound))  # of what is better
    core = _Core(choices, regret, price, most)
    for share in _SHARES:
        found, is_complete = core.search(share * gap)
        if found is not None or not is_complete:
            break
    if found is not None and choices.totals(found)[1] > value:
        chosen = found
        _, value = choices.totals(chosen)
    return Within(chosen, value, _raised(bound), is_complete)


def _raised(bound: float) -> float:
    """Return a bound that holds whatever rounding does."""
    return bound + _MARGIN * abs(bound)


def _least_bound(choices: Choices, free: Ints, most: int) -> tuple[float, Ints, Ints]:
    """Return the price of the least bound, and choices at that price that keep the budget, and that do not.

    The line through two choices, one within the budget and one beyond it, has a price for its slope.
    Either the choices at this price lie above the line, and one of the two is replaced, or no price
    has a lower bound.
    """
    low, high = choices.starts[:-1], free  # never, and without a price
    while True:
        low_predicted, low_value = choices.totals(low)
        high_predicted, high_value = choices.totals(high)
        price = (high_value - low_value) / (high_predicted - low_predicted)
        chosen = choices.at_price(price)
        predicted, value = choices.totals(chosen)
        above = (value - low_value) - price * (predicted - low_predicted)
        is_between = low_predicted < predicted < high_predicted
        if not is_between or above <= ROUNDING * abs(high_value):
            return price, low, high
        low, high = (chosen, high) if predicted <= most else (low, chosen)


def _between(choices: Choices, low: Ints, high: Ints, most: int) -> Ints:
    """Return choices of one price that keep a budget: labels go over from `low` to `high`, the largest steps first."""
    chosen = low.copy()
    more = choices.predicted[high] - choices.predicted[low]  # (n_labels,)
    left = most - int(choices.predicted[low].sum())
    for j in np.argsort(-more, kind="stable").tolist():
        if more[j] <= left:
            chosen[j] = high[j]
            left -= int(more[j])
    return chosen


def _filled(choices: Choices, chosen: Ints, most: int) -> Ints:
    """Return choices that use what is left of a budget, as long as another choice of one label adds value."""
    label = choices.label
    chosen = chosen.copy()
    left = most - int(choices.predicted[chosen].sum())
    while left > 0:
        more = choices.predicted - choices.predicted[chosen][label]  # (n_choices,)
        gain = choices.value - choices.value[chosen][label]  # (n_choices,)
        gain[more > left] = 0.0
        best = int(gain.argmax())
        if gain[best] <= 0:
            break
        chosen[label[best]] = best
        left -= int(more[best])
    return chosen


class _ReachableTotals(NamedTuple):
    """What the labels so far may come to, and how: which totals before, and which choice."""

    predicted: Ints  # (n_totals,)
    regret: Floats  # (n_totals,)
    before: Ints  # (n_totals,)
    choice: Ints  # (n_totals,)


@dataclass(frozen=True, slots=True)
class _Core:
    """The search for the optimum among choices of little regret."""

    choices: Choices
    regret: Floats  # (n_choices,)
    price: float
    most: int

    def search(self, gap: float) -> tuple[Ints | None, bool]:
        """Return the best choices that fall short of the bound by at most `gap`, and whether all were looked at.

        None for the choices if there are none.
        """
        if gap < 0:
            return None, True
        kept = np.flatnonzero(self.regret <= gap)  # (n_kept,) rising
        bounds = np.searchsorted(kept, self.choices.starts)  # (n_labels + 1,)
        sizes = np.diff(bounds)
        chosen = kept[bounds[:-1]]  # of a label that is settled
        open_labels = np.flatnonzero(sizes > 1)
        settled = int(self.choices.predicted[chosen[sizes == 1]].sum())

        # Those whose second choice costs least first.
        second = [
            np.partition(self.regret[kept[bounds[j] : bounds[j + 1]]], 1)[1] for j in open_labels
        ]
        open_labels = open_labels[np.argsort(second, kind="stable")]
        options = [kept[bounds[j] : bounds[j + 1]] for j in open_labels]
        least = np.array([self.choices.predicted[own[0]] for own in options], np.int64)
        largest = np.array([self.choices.predicted[own[-1]] for own in options], np.int64)
        if settled + least.sum() > self.most:
            return (
                None,
                True,
            )  # Rounding may tell apart choices that are equal, and keep the larger.
        least_later = np.append(least[::-1].cumsum()[::-1], 0)[1:]  # (n_open,)
        largest_later = np.append(largest[::-1].cumsum()[::-1], 0)[1:]  # (n_open,)

        # Add one label after another to all totals that may still be those of the optimum.
        zero = np.zeros(1, np.int64)
        stages = [_ReachableTotals(zero + settled, np.zeros(1), zero, zero)]
        is_complete = True
        for own, least_after, largest_after in zip(
            options, least_later, largest_later, strict=True
        ):
            totals = self._with_label(stages[-1], own)
            unused = np.maximum(self.most - totals.predicted - largest_after, 0)
            short = totals.regret + self.price * unused  # (n_totals,) of the bound, at least
            may_be_best = (totals.predicted + least_after <= self.most) & (short <= gap)
            totals = self._undominated(_some(totals, may_be_best))
            if totals.regret.size > _MOST_TOTALS:
                is_complete = False
                nearest = np.argpartition(totals.regret, _MOST_TOTALS)[:_MOST_TOTALS]
                totals = _some(totals, np.sort(nearest))
            stages.append(totals)
        if not stages[-1].regret.size:
            return None, is_complete

        # The last totals that fall short of the bound by least, and the choices that led there.
        last = stages[-1]
        at = int((last.regret + self.price * (self.most - last.predicted)).argmin())
        for j, totals in zip(open_labels[::-1], stages[:0:-1], strict=True):
            chosen[j] = totals.choice[at]
            at = int(totals.before[at])
        return chosen, is_complete

    def _with_label(self, totals: _ReachableTotals, own: Ints) -> _ReachableTotals:
        """Add each choice of a label to all totals: (n_totals x n_own,)."""
        before = np.repeat(np.arange(totals.regret.size), own.size)
        choice = np.tile(own, totals.regret.size)
        return _ReachableTotals(
            totals.predicted[before] + self.choices.predicted[choice],
            totals.regret[before] + self.regret[choice],
            before,
            choice,
        )

    def _undominated(self, totals: _ReachableTotals) -> _ReachableTotals:
        """Leave out totals where others predict no more and are worth as much, before the price."""
        worth = self.price * totals.predicted - totals.regret
        order = np.lexsort((-worth, totals.predicted))
        worth = worth[order]
        is_more = np.append(True, worth[1:] > np.maximum.accumulate(worth)[:-1])[: worth.size]
        return _some(totals, order[is_more])


def _some(totals: _ReachableTotals, wanted: Booleans | Ints) -> _ReachableTotals:
    """Take some totals."""
    predicted, regret, before, choice = totals
    return _ReachableTotals(predicted[wanted], regret[wanted], before[wanted], choice[wanted])


class CutsInBudget(NamedTuple):
    """The cuts of labels within a budget, and what is known of them."""

    cuts: Cuts
    bound: (
        float | None
    )  # that the F of no cuts within the budget exceeds; None where the best cuts of all keep it
    is_optimal: bool  # shown, but for rounding


def best_cuts_within(
    steps: Steps, most: int, average: Average, beta: float, zero_division: float
) -> CutsInBudget:
    """Return the cuts of highest F-beta that predict at most so much, in the unit of the weights; of all steps.

    Where the best cuts without a budget keep it, they are taken, with their ties.
    """
    jointly = average == "micro"
    chosen = best_joint_steps(steps, beta**2)[0] if jointly else best_steps(steps, beta**2)
    free = steps.at(chosen)
    if int(free.predicted.sum()) <= most:
        return CutsInBudget(free, None, True)
    steps = steps.where(_may_pay(steps, most, None if jointly else beta))
    if jointly:
        return _micro_within(steps, most, beta)
    return _mean_within(steps, most, average, beta, zero_division)


def _may_pay(steps: Steps, most: int, beta: float | None) -> Booleans:
    """Tell which steps keep the budget by themselves, and, with a beta, reach more F than all above: (n_steps,)."""
    within = steps.predicted <= most
    if beta is None:
        return within
    f = f_of_counts(steps.tp, steps.predicted, steps.positives[steps.label], beta, 0.0)
    before = np.zeros_like(f)  # the highest F above each step, never among it
    for first, last in pairwise(steps.offsets.tolist()):
        np.maximum.accumulate(f[first : last - 1], out=before[first + 1 : last])
    return within & (f > before)


def _mean_within(
    steps: Steps, most: int, average: Average, beta: float, zero_division: float
) -> CutsInBudget:
    """Return the cuts of the highest mean of F over labels."""
    shares = _shares(average, steps.positives)  # (n_labels,)
    choices = _choices_of(steps, np.zeros(0))
    f = f_of_counts(
        _with_never(steps, steps.tp),
        choices.predicted,
        steps.positives[choices.label],
        beta,
        zero_division,
    )
    choices = replace(choices, value=f * shares[choices.label])
    found = best_within(choices, most)
    return CutsInBudget(_cuts(steps, choices, found.chosen), found.bound, found.is_optimal)


def _micro_within(steps: Steps, most: int, beta: float) -> CutsInBudget:
    """Return the cuts of the highest micro F.

    F = (1 + b^2) tp / (b^2 P + predicted) by Dinkelbach's iteration, as without a budget, each of
    its steps a search within it.
    """
    tp = _with_never(steps, steps.tp)  # (n_choices,)
    all_tp = _choices_of(steps, tp.astype(np.float64))
    fixed = beta**2 * int(steps.positives.sum())
    found = best_within(all_tp, most, unit=1.0)

    def choose(ratio: float) -> tuple[int, int, Ints]:
        nonlocal found
        if ratio > 0:
            after = replace(all_tp, value=tp - ratio * all_tp.predicted)
            found = best_within(after, most, known=found.chosen)
        return int(tp[found.chosen].sum()), int(all_tp.predicted[found.chosen].sum()), found.chosen

    ratio, chosen = highest_ratio(choose, fixed)
    bound = (1 + beta**2) * _least_ratio(all_tp, most, fixed, ratio)
    return CutsInBudget(_cuts(steps, all_tp, chosen), bound, found.is_optimal)


def _least_ratio(all_tp: Choices, most: int, fixed: float, ratio: float) -> float:
    """Return a ratio tp / (fixed + predicted) that none within the budget exceeds: above `ratio`, which one has.

    No ratio is above r if tp - r predicted is at most r fixed, and so if its least bound is. That less
    r fixed is convex in r, and falls: Newton's steps come up to the r where it is 0, and end there.
    """
    while True:
        after = replace(all_tp, value=all_tp.value - ratio * all_tp.predicted)
        bound, predicted = _bound(after, most)
        higher = ratio + (bound - ratio * fixed) / max(fixed + predicted, 1)
        if higher <= ratio * (1 + ROUNDING):
            return _raised(ratio)  # which is not below `higher`
        ratio = higher


def _bound(choices: Choices, most: int) -> tuple[float, int]:
    """Return the least bound of the sum of values within a budget, and what is predicted there."""
    free = choices.at_price(0.0)
    predicted, value = choices.totals(free)
    if predicted <= most:
        return value, predicted
    price, low, _ = _least_bound(choices, free, most)
    low_predicted, low_value = choices.totals(low)
    return low_value + price * (most - low_predicted), most


def _choices_of(steps: Steps, value: Floats) -> Choices:
    """Return the choices of labels: never, and each step."""
    starts = steps.offsets + np.arange(steps.offsets.size)
    return Choices(starts, _with_never(steps, steps.predicted), value)


def _with_never(steps: Steps, counts: Ints) -> Ints:
    """Put a 0, of never, before the counts of each label's steps: (n_choices,)."""
    return np.insert(counts, steps.offsets[:-1], 0)


def _cuts(steps: Steps, choices: Choices, chosen: Ints) -> Cuts:
    """Return the cuts of the choice of each label."""
    places = chosen - np.arange(chosen.size) - 1
    return steps.at(np.where(chosen == choices.starts[:-1], -1, places))


def _shares(average: Average, positives: Ints) -> Floats:
    """Return the weight of each label's F in the mean: (n_labels,)."""
    weights = positives if average == "weighted" else np.ones_like(positives)
    return np.asarray(weights / weights.sum())
