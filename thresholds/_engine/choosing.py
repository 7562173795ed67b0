"""Which step of each label is the best: of a label by itself, within limits, or of all labels together."""

from collections.abc import Callable
from typing import NamedTuple, TypeVar

import numpy as np

from thresholds._arrays.types import Booleans, Floats, Ints, Numbers
from thresholds._engine.staircase import Steps

Chosen = TypeVar("Chosen")


class CountLimits(NamedTuple):
    """What a cut of each label must keep, (n_labels,) each."""

    most_over: Floats  # predictions over positives, at most; +inf for no limit
    least_recall: Floats  # 0 for no limit
    least_precision: Floats

    @classmethod
    def none(cls, n_labels: int) -> "CountLimits":
        """Return limits that every cut keeps."""
        return cls(np.full(n_labels, np.inf), np.zeros(n_labels), np.zeros(n_labels))

    @property
    def any(self) -> bool:
        """Whether there is a limit."""
        most_over, *least = self
        return bool((most_over < np.inf).any() or any((floor > 0).any() for floor in least))

    def of_labels(self, labels: slice | Ints) -> "CountLimits":
        """Return the limits of some labels."""
        return CountLimits._make(limit[labels] for limit in self)

    def allow(self, tp: Ints, predicted: Ints, positives: Ints) -> Booleans:
        """Tell which counts keep the limits, one for each: (n_labels,) all. 0/0 keeps every limit."""
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.asarray(
                ~(predicted / positives > self.most_over)
                & ~(tp / positives < self.least_recall)
                & ~(tp / predicted < self.least_precision)
            )

    def allow_steps(self, steps: Steps) -> Booleans:
        """Tell which steps keep the limits of their labels, (n_steps,)."""
        label = steps.label
        return self.of_labels(label).allow(steps.tp, steps.predicted, steps.positives[label])


def best_steps(steps: Steps, beta2: float) -> Ints:
    """Return the step of highest F-beta of each label, (n_labels,), -1 for never; of equal ones the highest cut."""
    return best_of_each(steps.offsets, steps.tp, steps.predicted, steps.positives, beta2)


def best_of_each(offsets: Ints, tp: Ints, predicted: Ints, positives: Ints, beta2: float) -> Ints:
    """Return the same of steps that are known by their counts; those of label j are `offsets[j]:offsets[j + 1]`."""
    n_steps = offsets[1:] - offsets[:-1]  # (n_labels,)
    has_steps = n_steps > 0
    best = np.full(n_steps.size, -1)
    if not has_steps.any():
        return best
    # F / (1 + B) is highest where F is.
    base = np.repeat(beta2 * positives, n_steps)  # (n_steps,)
    ratio = tp / (base + predicted)
    firsts = offsets[:-1][has_steps]
    highest = np.maximum.reduceat(ratio, firsts)
    is_best = np.flatnonzero(ratio == np.repeat(highest, n_steps[has_steps]))
    best[has_steps] = is_best[is_best.searchsorted(firsts)]
    return best


def best_joint_steps(steps: Steps, beta2: float) -> tuple[Ints, float]:
    """Return the step of each label of highest micro F-beta, (n_labels,), -1 for never, and the ratio T / (B P + K).

    T and K are true positives and predictions of all labels together. At the best ratio r each label takes the step
    where tp - r predicted is highest, and never if that is not above 0. What all of them then reach is the next r. It
    rises until it is the best (Dinkelbach 1967; docs/proofs.md).
    """
    chosen = np.full(steps.positives.size, -1)
    n_steps = np.diff(steps.offsets)
    has_steps = n_steps > 0
    firsts = steps.offsets[:-1][has_steps]
    n_steps = n_steps[has_steps]
    base = _whole(beta2 * int(steps.positives.sum()))
    numerator: int = 0
    denominator: float = 1
    while firsts.size:
        # 1. Let each label take what is worth most at this ratio, exactly.
        value = _product(steps.tp, denominator) - _product(steps.predicted, numerator)
        highest = np.maximum.reduceat(value, firsts)
        is_best = np.flatnonzero(value == np.repeat(highest, n_steps))
        best = is_best[is_best.searchsorted(firsts)]  # of equal ones the highest cut
        best = np.where(highest > 0, best, -1)
        taken = best[best >= 0]
        # 2. See what all of them reach.
        tp = int(steps.tp[taken].sum())
        reached = base + int(steps.predicted[taken].sum())
        if not taken.size or tp / reached < numerator / denominator:
            break  # It fell, by rounding: the choice before was the best.
        chosen[has_steps] = best
        if tp / reached == numerator / denominator:
            break
        numerator, denominator = tp, reached
    return chosen, numerator / denominator


def highest_ratio(
    choose: Callable[[float], tuple[int, int, Chosen]],
    beta2_positives: float,
) -> tuple[float, Chosen]:
    """Return the highest tp / (beta2_positives + predicted), and the choice that reaches it.

    `choose` returns tp, predicted and the choice for which tp - ratio predicted is highest: this is
    Dinkelbach's iteration.
    """
    ratio = 0.0
    tp, predicted, best = choose(ratio)
    reached = tp / max(beta2_positives + predicted, 1)
    while reached > ratio:
        ratio = reached
        tp, predicted, chosen = choose(ratio)
        reached = tp / max(beta2_positives + predicted, 1)
        if reached >= ratio:  # If it fell, by rounding, the choice before was the best.
            best = chosen
    return ratio, best


def _whole(number: float) -> float:
    """Return a whole number as an int, whose products are exact."""
    return int(number) if number == int(number) else number


def _product(counts: Ints, factor: float) -> Numbers:
    """Return the product of whole numbers, with Python's where 64 bits are too few."""
    is_too_large = isinstance(factor, int) and int(counts.max(initial=0)) * factor >= 2**62
    return counts.astype(object) * factor if is_too_large else np.asarray(counts * factor)
