"""Budgets of predictions from the definitions: every choice of cuts is tried, in exact arithmetic."""

from collections.abc import Iterator
from fractions import Fraction
from itertools import product
from typing import Any, NamedTuple

import numpy as np


class Counted(NamedTuple):
    """What a cut of one label counts, in rows or their weight."""

    tp: Fraction
    predicted: Fraction
    positives: Fraction


def f_of(counts: Counted, beta: Fraction, zero_division: int) -> Fraction:
    """F-beta of counts."""
    weight = beta * beta
    denominator = weight * counts.positives + counts.predicted
    return (1 + weight) * counts.tp / denominator if denominator else Fraction(zero_division)


def cuts_of(truth: Any, scores: Any, weights: Any) -> Iterator[Counted]:
    """All cuts of one label: never, and at or above each of its scores."""
    rows = [(float(s), int(t), Fraction(float(w))) for s, t, w in zip(scores, truth, weights, strict=True)]
    positives = sum((w for _, t, w in rows if t), Fraction(0))
    for cut in [np.inf, *sorted({s for s, _, _ in rows})]:
        above = [(t, w) for s, t, w in rows if s >= cut]
        tp = sum((w for t, w in above if t), Fraction(0))
        yield Counted(tp, sum((w for _, w in above), Fraction(0)), positives)


def mean_f(choice: Any, average: str, beta: Fraction, zero_division: int) -> Fraction:
    """The F-measure of a choice of one cut for each label."""
    if average == "micro":
        return f_of(Counted(*map(sum, zip(*choice, strict=True))), beta, zero_division)
    positives = [counts.positives for counts in choice]
    shares = positives if average == "weighted" else [Fraction(1)] * len(choice)
    total = sum(shares)
    if not total:
        return Fraction(zero_division)
    values = [f_of(counts, beta, zero_division) for counts in choice]
    return sum((share * f for share, f in zip(shares, values, strict=True)), Fraction(0)) / total


def best_f_within(
    truth: Any, scores: Any, most: float, average: str, beta: float = 1.0, zero_division: int = 0, weights: Any = None
) -> Fraction:
    """The highest F-measure of thresholds, one for each label, that predict at most so much in all."""
    weights = np.ones(len(truth)) if weights is None else weights
    columns = [list(cuts_of(truth[:, j], scores[:, j], weights)) for j in range(truth.shape[1])]
    return max(
        mean_f(choice, average, Fraction(beta), zero_division)
        for choice in product(*columns)
        if sum(counts.predicted for counts in choice) <= most
    )


def best_shared_f_within(truth: Any, scores: Any, most: float, average: str) -> Fraction:
    """The highest F1 of one threshold for all labels that predicts at most so many cells."""
    found = []
    for cut in [np.inf, *np.unique(scores)]:
        marks = scores >= cut
        if marks.sum() > most:
            continue
        axis = 1 if average == "samples" else 0
        parts = ((truth & marks).sum(axis=axis), marks.sum(axis=axis), truth.sum(axis=axis))
        counts = [Counted(*map(Fraction, map(int, own))) for own in zip(*parts, strict=True)]
        found.append(mean_f(counts, "macro" if average == "samples" else average, Fraction(1), 0))
    return max(found)


def capped(decided: Any, gains: Any, k: int) -> Any:
    """At most k of the labels that are predicted in each row: those of highest gain, of equal ones the first."""
    kept = np.zeros_like(decided)
    for row in range(decided.shape[0]):
        labels = [j for j in range(decided.shape[1]) if decided[row, j]]
        labels.sort(key=lambda j: (-gains[row, j], j))
        kept[row, labels[:k]] = 1
    return kept
