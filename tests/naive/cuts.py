"""The best cuts of labels from their definition, in whole numbers and fractions: every cut is counted by itself."""

from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]


class Step(NamedTuple):
    """A cut at the score of a positive."""

    score: float
    lower: float  # the next lower score, NaN without one
    tp: int
    predicted: int


NEVER = Step(np.inf, np.nan, 0, 0)


class Label(NamedTuple):
    """The steps of a label from the highest down, and the weight of all its positives."""

    steps: list[Step]
    positives: int


def label(scores: Array, truth: Array, weights: Array, known: Array, above: float | None = None) -> Label:
    """Count each step of a label; all arguments are (n_cells,), weights whole numbers.

    A cell of unknown truth, or without weight, is none. With `above`, no cut predicts a score that is not above it.
    """
    counts = known & (weights > 0)
    scores, truth, weights = scores[counts].astype(np.float64) + 0.0, truth[counts] > 0, weights[counts]
    positives = int(weights[truth].sum())
    if above is not None:
        is_above = scores > above
        scores, truth, weights = scores[is_above], truth[is_above], weights[is_above]
    steps = []
    for cut in sorted(set(scores[truth].tolist()), reverse=True):
        reaches = scores >= cut
        lower = scores[~reaches].max() if not reaches.all() else np.nan
        steps.append(Step(cut, float(lower), int(weights[reaches & truth].sum()), int(weights[reaches].sum())))
    return Label(steps, positives)


def best(
    of_label: Label, beta: float, keeps: Callable[[Step, int], bool] = lambda *_: True, *, exactly: bool = True
) -> Step:
    """The step of highest F-beta of those that keep limits, of equal ones the highest; never where there is none."""
    ratio = exact_ratio if exactly else ratio_in_floats
    steps = [step for step in of_label.steps if keeps(step, of_label.positives)]
    return max(steps, key=lambda step: ratio(step.tp, step.predicted, of_label.positives, beta), default=NEVER)


def are_jointly_best(labels: Sequence[Label], chosen: Sequence[Step], beta: float) -> bool:
    """Whether no choice of a step of each label reaches more micro F-beta, and of equal steps the highest are chosen.

    Let r be T / (B P + K) of what is chosen. Where each label has the highest tp - r k that it can, so has their sum:
    no other choice has T' - r (B P + K') above 0.
    """
    positives = sum(each.positives for each in labels)
    tp, predicted = sum(step.tp for step in chosen), sum(step.predicted for step in chosen)
    ratio = exact_ratio(tp, predicted, positives, beta)
    return all(
        step.score == max([NEVER, *each.steps], key=lambda step: step.tp - ratio * step.predicted).score
        for each, step in zip(labels, chosen, strict=True)
    )


def exact_ratio(tp: int, predicted: int, positives: int, beta: float) -> Fraction:
    """F / (1 + B) = tp / (B P + k); 0 where nothing is positive and nothing predicted."""
    over, under = (part**2 for part in float(beta).as_integer_ratio())  # B is their quotient
    return Fraction(under * tp, over * positives + under * predicted or 1)


def ratio_in_floats(tp: int, predicted: int, positives: int, beta: float) -> float:
    """The same in float64, which decides what is equal where products of counts, or beta^2, are not exact in it."""
    return float(tp) / (beta**2 * positives + predicted or 1.0)
