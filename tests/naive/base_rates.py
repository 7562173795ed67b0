"""Base rates without labels, from their definitions, one row after another: the witness of `estimate_base_rates`.

Nothing comes from the library. Moved probabilities are in exact arithmetic.
"""

import math
from collections.abc import Callable, Sequence
from fractions import Fraction

Function = Callable[[float], float]  # of a score


def moved(p: float, before: float, after: float) -> Fraction:
    """The probability of a score for another base rate (Saerens et al. 2002, equation 4)."""
    exact, r, t = Fraction(p), Fraction(before), Fraction(after)
    hit = exact * t / r
    miss = (1 - exact) * (1 - t) / (1 - r)
    return hit / (hit + miss)


def by_em(p: Sequence[float], weights: Sequence[float], before: float, rounds: int = 20_000) -> float:
    """The rate that expectation and maximisation end at (Saerens et al. 2002, equations 8 to 10)."""
    rate = before
    for _ in range(rounds):
        hits = [each * rate / before for each in p]
        misses = [(1 - each) * (1 - rate) / (1 - before) for each in p]
        posterior = [hit / (hit + miss) for hit, miss in zip(hits, misses, strict=True)]
        mean = sum(w * each for w, each in zip(weights, posterior, strict=True)) / sum(weights)
        if abs(mean - rate) < 1e-16:
            break
        rate = mean
    return rate


def square_of_gap(rate: float, new: Sequence[float], positives: "Means", negatives: "Means") -> float:
    """How many variances the mean of a function of new rows is from that of the mixture, squared."""
    n = len(new)
    expected = rate * positives.mean + (1 - rate) * negatives.mean
    square = rate * positives.square + (1 - rate) * negatives.square
    variance = (square - expected**2) / n
    variance += rate**2 * positives.variance + (1 - rate) ** 2 * negatives.variance
    return (math.fsum(new) / n - expected) ** 2 / variance


class Means:
    """Mean, mean square, and variance of the mean of a function on the rows of one class of the calibration.

    Its variance has one row more, which is spread over the bins as the curve spreads the class.
    """

    def __init__(self, values: Sequence[float], of_bins: Sequence[float], spread: Sequence[float]) -> None:
        n = len(values)
        self.mean = math.fsum(values) / n
        self.square = math.fsum(value**2 for value in values) / n
        total = math.fsum(spread)
        weights = [1 / (n + 1)] * n + [share / total / (n + 1) for share in spread]
        both = [*values, *of_bins]
        centre = math.fsum(w * value for w, value in zip(weights, both, strict=True))
        self.variance = math.fsum(w * (value - centre) ** 2 for w, value in zip(weights, both, strict=True)) / n
