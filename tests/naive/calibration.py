"""Calibration from its definitions, the witness of `thresholds.calibration`; nothing comes from the library.

Isotonic curves and reliability are in exact arithmetic: every float stands for the rational number it is. Platt's
curve and the slope are found by a general minimiser of SciPy, on the loss that their papers state.

A cell is (score, truth, weight); cells of weight 0 and of score -inf are to be left out by the caller, `cells_of`.
"""

import math
from collections.abc import Callable, Sequence
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize
from scipy.special import expit

from tests.naive.exhaustive import Array, exact_weights, plain

Cell = tuple[float, int, Fraction]
Curve = dict[float, Fraction]
Loss = Callable[[NDArray[np.float64]], float]  # of a and b
BINS = 20


def cells_of(y_true: Array, y_score: Array, sample_weight: Array | None = None) -> list[Cell]:
    """The cells of one label, or of all for matrices, that count."""
    y_true, y_score = (array.reshape(len(array), -1) for array in (y_true, y_score))
    weights = exact_weights(sample_weight, len(y_true))
    return [
        (plain(s), int(y), w)
        for scores, truths, w in zip(y_score, y_true, weights, strict=True)
        for s, y in zip(scores, truths, strict=True)
        if w > 0 and plain(s) > -math.inf
    ]


# Isotonic regression


def isotonic(cells: Sequence[Cell]) -> Curve:
    """The rising curve of least squares at each distinct score, by its max-min formula.

    g(s) = max over a <= s of min over b >= s of the mean truth of the cells with scores from a to b
    (Robertson, Wright and Dykstra 1988, theorem 1.4.4).
    """
    scores = sorted({s for s, _, _ in cells})
    hits = [Fraction(0)] + [sum((w for x, y, w in cells if x <= s and y), Fraction(0)) for s in scores]
    weight = [Fraction(0)] + [sum((w for x, _, w in cells if x <= s), Fraction(0)) for s in scores]

    def mean(a: int, b: int) -> Fraction:
        return (hits[b + 1] - hits[a]) / (weight[b + 1] - weight[a])

    n = len(scores)
    return {s: max(min(mean(a, b) for b in range(i, n)) for a in range(i + 1)) for i, s in enumerate(scores)}


def read_off(curve: Curve, score: float) -> Fraction:
    """The curve at any score: linear between the nearest known ones, constant beyond them, 0 without any."""
    if not curve or score == -math.inf:
        return Fraction(0)
    below = max((s for s in curve if s <= score), default=None)
    above = min((s for s in curve if s >= score), default=None)
    if below is None or above is None:
        return curve[above if below is None else below]
    if below == above:
        return curve[below]
    share = (Fraction(score) - Fraction(below)) / (Fraction(above) - Fraction(below))
    return curve[below] + share * (curve[above] - curve[below])


def squares(cells: Sequence[Cell], curve: Curve) -> Fraction:
    """What isotonic regression minimises."""
    return sum((w * (y - curve[s]) ** 2 for s, y, w in cells), Fraction(0))


# Platt's curve


def log_odds(p: float) -> float:
    """ln(p / (1 - p))."""
    return math.log(p) - math.log1p(-p)


def smoothed_loss(cells: Sequence[Cell]) -> Loss:
    """The log-loss of sigmoid(a x + b) against Platt's targets (Lin, Lin and Weng 2007, equations 3 and 4)."""
    positive = float(sum(w for _, y, w in cells if y))
    negative = float(sum(w for _, y, w in cells if not y))
    target = {1: (positive + 1) / (positive + 2), 0: 1 / (negative + 2)}
    x, y, w = (np.array([float(part) for part in parts]) for parts in zip(*cells, strict=True))
    return log_loss_of_line(x, np.where(y == 1, target[1], target[0]), w)


def plain_loss(cells: Sequence[Cell]) -> Loss:
    """The log-loss of sigmoid(a x + b) against the truth."""
    return log_loss_of_line(*(np.array([float(part) for part in parts]) for parts in zip(*cells, strict=True)))


def log_loss_of_line(x: NDArray[np.float64], t: NDArray[np.float64], w: NDArray[np.float64]) -> Loss:
    """The log-loss of sigmoid(a x + b) against targets."""

    def loss(ab: NDArray[np.float64]) -> float:
        z = ab[0] * x + ab[1]
        return float(np.sum(w * (t * np.logaddexp(0, -z) + (1 - t) * np.logaddexp(0, z))))

    return loss


def least(loss_of: Callable[[Sequence[Cell]], Loss], cells: Sequence[Cell]) -> tuple[Fraction, list[float]]:
    """Find a and b of least loss: a, and a x + b of each cell. The search takes x by its distance from the mean."""
    exact = [Fraction(x) for x, _, _ in cells]
    centre = sum(exact) / len(exact)
    farthest = max(abs(x - centre) for x in exact) or Fraction(1)
    inner = [(float((x - centre) / farthest), y, w) for x, (_, y, w) in zip(exact, cells, strict=True)]
    loss, precise = loss_of(inner), {"xatol": 1e-9, "fatol": 1e-14, "maxiter": 2000}
    found = minimize(loss, [0.0, 0.0], method="Nelder-Mead", options=precise)
    for method, options in (("BFGS", {"gtol": 1e-9}), ("Nelder-Mead", precise)):
        found = min(found, minimize(loss, found.x, method=method, options=options), key=lambda r: r.fun)
    a, b = found.x.tolist()
    return Fraction(a) / farthest, [a * x + b for x, _, _ in inner]


def sigmoid(z: float) -> float:
    """1 / (1 + e^-z)."""
    return float(expit(z))


# Measures


def log_loss(cells: Sequence[Cell]) -> float:
    """Mean negative logarithm of the probability of what came."""
    losses = []
    for p, y, w in cells:
        if p == 1 - y:
            return math.inf
        losses.append(float(w) * (-math.log(p) if y else -math.log1p(-p)))
    return math.fsum(losses) / float(sum(w for _, _, w in cells))


def reliability(cells: Sequence[Cell]) -> Fraction:
    """Sum over bins of share (mean p - rate)^2; the bin is 20 (weight of lower p) / (weight of all), rounded down."""
    total = sum((w for _, _, w in cells), Fraction(0))
    bins: dict[int, list[Cell]] = {}
    below, order = Fraction(0), sorted(cells)
    for p in sorted({p for p, _, _ in cells}):
        tied = [cell for cell in order if cell[0] == p]
        bins.setdefault(math.floor(BINS * below / total), []).extend(tied)
        below += sum(w for _, _, w in tied)
    gaps = []
    for members in bins.values():
        weight = sum(w for _, _, w in members)
        gap = sum(w * (Fraction(p) - y) for p, y, w in members) / weight
        gaps.append(weight / total * gap**2)
    return sum(gaps, Fraction(0))


def sum_over_positives(cells: Sequence[Cell]) -> float:
    """Sum of p / number of positives; a number over 0 is inf, 0 over 0 NaN."""
    expected = sum((Fraction(p) * w for p, _, w in cells), Fraction(0))
    positives = sum((w for _, y, w in cells if y), Fraction(0))
    if positives == 0:
        return math.inf if expected else math.nan
    return float(expected / positives)


def slope(cells: Sequence[Cell]) -> float:
    """The slope of the logistic regression of truth on log-odds, NaN where one side of a cut has all positives."""
    inner = [(log_odds(p), y, w) for p, y, w in cells if 0 < p < 1]
    odds = {truth: [x for x, y, _ in inner if y == truth] for truth in (0, 1)}
    if not odds[0] or not odds[1] or max(odds[0]) <= min(odds[1]) or max(odds[1]) <= min(odds[0]):
        return math.nan
    return float(least(plain_loss, inner)[0])
