"""The measures of given predictions, from their definitions in exact arithmetic: the witness for `metrics`.

A *group* is the confusion of one label, of one class against the others, or of one row. Each measure is a ratio of
its four weights; 0/0 is None, which also stands for NaN in means: they leave it out. Nothing comes from the library:
read it as the specification.

Vectors are lists of classes, matrices lists of rows of 0 and 1. Weights are non-negative and not all zero, one
Fraction for each row, or None; `undefined` is what replaces 0/0 (0, 1 or None).
"""

from collections.abc import Callable, Sequence
from fractions import Fraction
from itertools import product
from math import inf
from typing import NamedTuple

Vector = Sequence[object]
Matrix = Sequence[Sequence[int]]
Weights = Sequence[Fraction] | None
Value = Fraction | None


class Group(NamedTuple):
    """Weights of true positives, false positives, false negatives and true negatives."""

    tp: Fraction
    fp: Fraction
    fn: Fraction
    tn: Fraction


# Measures of one group


def ratio(part: Fraction, whole: Fraction) -> Value:
    """Part / whole, None for 0/0."""
    return None if part == whole == 0 else Fraction(part) / whole


def precision(g: Group) -> Value:
    """The share of the predictions that are true."""
    return ratio(g.tp, g.tp + g.fp)


def recall(g: Group) -> Value:
    """The share of the positives that are predicted."""
    return ratio(g.tp, g.tp + g.fn)


def f_beta(g: Group, beta: float = 1.0) -> Value:
    """(1 + B) tp / ((1 + B) tp + B fn + fp), B = beta^2."""
    b = Fraction(beta) ** 2
    return ratio((1 + b) * g.tp, (1 + b) * g.tp + b * g.fn + g.fp)


def jaccard(g: Group) -> Value:
    """The share that is both true and predicted, of what is either."""
    return ratio(g.tp, g.tp + g.fp + g.fn)


def accuracy(g: Group) -> Value:
    """The share that is right."""
    return ratio(g.tp + g.tn, sum(g))


def skill(g: Group) -> Value:
    """How far the accuracy gets from that of the majority class, at least 0, to 1; None with one class only."""
    positive = ratio(g.tp + g.fn, sum(g))
    return None if positive is None else over_majority(accuracy(g), max(positive, 1 - positive))


def over_majority(accuracy: Fraction, majority: Fraction) -> Value:
    """(accuracy - majority) / (1 - majority), at least 0; None where the majority is all."""
    return None if majority == 1 else max(Fraction(0), (accuracy - majority) / (1 - majority))


# Groups of truth and predictions


def weights_of(weights: Weights, n_samples: int) -> Sequence[Fraction]:
    """The weights, one each without any."""
    return [Fraction(1)] * n_samples if weights is None else weights


def group(truth: Sequence[bool], predicted: Sequence[bool], weights: Weights = None) -> Group:
    """The confusion of one sequence of cells."""
    cells = list(zip(truth, predicted, weights_of(weights, len(truth)), strict=True))
    kinds = ((True, True), (False, True), (True, False), (False, False))
    return Group(*(sum((w for y, h, w in cells if (bool(y), bool(h)) == kind), Fraction(0)) for kind in kinds))


def is_vector(y: Vector | Matrix) -> bool:
    """Whether this is a vector of classes."""
    return not isinstance(y[0], list | tuple)


def classes(y_true: Vector, y_pred: Vector) -> list[object]:
    """The classes of truth and predictions in order."""
    return sorted({*y_true, *y_pred})


def columns(y: Vector | Matrix, labels: Sequence[object]) -> list[list[bool]]:
    """The cells of each label: membership of each class, or the columns of a matrix."""
    if is_vector(y):
        return [[c == label for c in y] for label in labels]
    return [[bool(row[label]) for row in y] for label in labels]


def groups(
    y_true: Vector | Matrix, y_pred: Vector | Matrix, labels: Sequence[object] | None = None, weights: Weights = None
) -> list[Group]:
    """The confusion of each label or class."""
    if labels is None:
        labels = classes(y_true, y_pred) if is_vector(y_true) else range(len(y_true[0]))
    return [group(y, h, weights) for y, h in zip(columns(y_true, labels), columns(y_pred, labels), strict=True)]


def rows(y_true: Matrix, y_pred: Matrix, labels: Sequence[int] | None = None, weights: Weights = None) -> list[Group]:
    """The confusion of each row, over the given labels; all 0 where the row has no weight."""
    labels = range(len(y_true[0])) if labels is None else labels
    cells = zip(y_true, y_pred, weights_of(weights, len(y_true)), strict=True)
    return [group([y[j] for j in labels], [h[j] for j in labels], [w] * len(labels)) for y, h, w in cells]


def pooled(parts: Sequence[Group]) -> Group:
    """The sum of the groups."""
    return Group(*(sum(column, Fraction(0)) for column in zip(*parts, strict=True)))


# Averages


def mean(values: Sequence[Value], weights: Weights = None) -> Value:
    """The weighted mean of what is not None, the plain mean if that has no weight; None if there is nothing."""
    known = [(v, w) for v, w in zip(values, weights_of(weights, len(values)), strict=True) if v is not None]
    if not any(w for _, w in known):
        known = [(v, Fraction(1)) for v, _ in known]
    return sum((v * w for v, w in known), Fraction(0)) / sum(w for _, w in known) if known else None


def score(
    measure: Callable[[Group], Value],
    y_true: Vector | Matrix,
    y_pred: Vector | Matrix,
    average: str | None,
    undefined: Value = None,
    labels: Sequence[object] | None = None,
    weights: Weights = None,
) -> Value | list[Value]:
    """The measure, averaged as named: see `metrics.fbeta_score`."""

    def known(g: Group) -> Value:
        value = measure(g)
        return undefined if value is None else value

    if average == "samples":
        return mean([known(g) for g in rows(y_true, y_pred, labels, weights)], weights)
    parts = groups(y_true, y_pred, labels, weights)
    if average is None:
        return [known(g) for g in parts]
    if average == "micro":
        return known(pooled(parts))
    supports = [g.tp + g.fn for g in parts] if average == "weighted" else None
    return mean([known(g) for g in parts], supports)


def f_of_averages(
    y_true: Vector | Matrix,
    y_pred: Vector | Matrix,
    beta: float = 1.0,
    undefined: Value = None,
    labels: Sequence[object] | None = None,
    weights: Weights = None,
) -> Value:
    """F of the labels' mean precision P and mean recall R: (1 + B) P R / (B P + R), 0 where either is 0."""
    p, r = (score(m, y_true, y_pred, "macro", undefined, labels, weights) for m in (precision, recall))
    if p == 0 or r == 0:
        return Fraction(0)
    b = Fraction(beta) ** 2
    return None if p is None or r is None else (1 + b) * p * r / (b * p + r)


# Measures of all cells or rows at once


def share_of_right_rows(y_true: Vector | Matrix, y_pred: Vector | Matrix, weights: Weights = None) -> Fraction:
    """The weight of the rows that are right, of all."""
    w = weights_of(weights, len(y_true))
    return sum((v for y, h, v in zip(y_true, y_pred, w, strict=True) if y == h), Fraction(0)) / sum(w)


def share_of_right_cells(y_true: Matrix, y_pred: Matrix, weights: Weights = None) -> Fraction:
    """The weight of the cells that are right, of all: 1 - Hamming loss."""
    return accuracy(pooled(groups(y_true, y_pred, None, weights)))


def vector_skill(y_true: Vector, y_pred: Vector, weights: Weights = None) -> Value:
    """The skill of a vector of classes, two or more."""
    w = weights_of(weights, len(y_true))
    supports = [sum((v for y, v in zip(y_true, w, strict=True) if y == c), Fraction(0)) for c in {*y_true}]
    return over_majority(share_of_right_rows(y_true, y_pred, weights), max(supports) / sum(w))


def auroc(truth: Sequence[int], scores: Sequence[float], weights: Weights = None) -> Value:
    """The share of pairs of a positive and a negative whose positive scores higher, ties counting half."""
    w = weights_of(weights, len(truth))
    items = list(zip(truth, (-inf if s == -inf else Fraction(s) for s in scores), w, strict=True))
    pairs = [(p, n, v * u) for (y, p, v), (z, n, u) in product(items, items) if y and not z]
    won = sum((v * (Fraction(1, 2) if p == n else int(p > n)) for p, n, v in pairs), Fraction(0))
    return ratio(won, sum((v for _, _, v in pairs), Fraction(0)))
