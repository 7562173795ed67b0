"""The bootstrap of thresholds, from the definitions: the same random words, exact tables, a loop over every cut.

What is looked up in a table there is summed up here, in decimal numbers; counts and F are fractions.
"""

import math
from collections.abc import Iterator, Sequence
from decimal import Decimal, localcontext
from fractions import Fraction
from functools import cache
from typing import NamedTuple

WORD = 2**64
STEP = 0x9E3779B97F4A7C15


class Replicate(NamedTuple):
    """What a bootstrap sample of a label gives."""

    score: float  # at which it would be cut, infinite for never
    left_out: tuple[Fraction, Fraction, Fraction]  # true positives, predictions, positives to be expected of weight 0


def random_word(counter: int) -> int:
    """SplitMix64, as published."""
    z = (counter + STEP) % WORD
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9 % WORD
    z = (z ^ (z >> 27)) * 0x94D049BB133111EB % WORD
    return z ^ (z >> 31)


def keyed(key: int, number: int) -> int:
    """The word of a number, counted from a key on."""
    return random_word((key + number * STEP) % WORD)


def uniform(counter: int) -> float:
    """A number of 53 bits between 0 and 1."""
    return ((random_word(counter) >> 11) + 0.5) / 2**53


@cache
def cumulative(mean: int, k: int) -> Decimal:
    """Pr(X <= k) of a Poisson number."""
    with localcontext() as context:
        context.prec = 80
        chance = (-Decimal(mean)).exp() * Decimal(mean) ** k / math.factorial(k) if mean else Decimal(k == 0)
        return chance + (cumulative(mean, k - 1) if k else 0)


def poisson(mean: int, word: int) -> int:
    """The Poisson number of a word: the first value whose cumulative chance lies above its share of all words."""
    if mean > 64:
        return transformed_rejection(mean, word)
    with localcontext() as context:
        context.prec = 80
        share = Decimal((word >> 2) + 1) / 2**62  # The words of a value are as many as its chance has room for.
        k = 0
        while cumulative(mean, k) < share and k < 10_000:
            k += 1
    return k


def transformed_rejection(mean: float, word: int) -> int:
    """PTRS of Hoermann 1993, steps 0 to 3."""
    b = 0.931 + 2.53 * math.sqrt(mean)
    a = -0.059 + 0.02483 * b
    while True:
        u = uniform(word) - 0.5
        v = uniform((word + STEP) % WORD)
        word = (word + 2 * STEP) % WORD
        us = 0.5 - abs(u)
        k = math.floor((2 * a / us + b) * u + mean + 0.43)
        if us >= 0.07 and v <= 0.9277 - 3.6224 / (b - 2):
            return k
        if k < 0 or (us < 0.013 and v > us):
            continue
        inverse_alpha = 1.1239 + 1.1328 / (b - 3.4)
        accepted = -mean + k * math.log(mean) - math.lgamma(k + 1)
        if math.log(v * inverse_alpha / (a / us**2 + b)) <= accepted:
            return k


def replicate(
    truth: Sequence[int],
    scores: Sequence[float],
    seed: int,
    label: int,
    number: int,
    *,
    beta: float = 1,
    above: float = -math.inf,
) -> Replicate:
    """Weigh the rows of a label and cut it where F is highest, at the score of a positive that lies `above`."""
    key = keyed(keyed(seed, label), number)
    cuts = sorted({s for s, t in zip(scores, truth, strict=True) if t and s > above}, reverse=True)
    true_groups, false_groups = zip(*_groups(truth, scores, cuts), strict=True) if cuts else ((), ())
    below = sum(truth) - sum(true_groups)
    true_weights = [poisson(n, keyed(keyed(key, 0), k)) for k, n in enumerate((*true_groups, below))]
    false_weights = [poisson(n, keyed(keyed(key, 1), k)) for k, n in enumerate(false_groups)]

    # F at every cut.
    best, highest = -1, Fraction(0)
    beta2 = Fraction(beta) ** 2
    for k in range(len(cuts)):
        tp, fp = sum(true_weights[: k + 1]), sum(false_weights[: k + 1])
        if tp and (1 + beta2) * tp / (beta2 * sum(true_weights) + tp + fp) > highest:
            best, highest = k, (1 + beta2) * tp / (beta2 * sum(true_weights) + tp + fp)

    # What of weight 0 lies above it.
    true_left = [_left_out(n, w) for n, w in zip((*true_groups, below), true_weights, strict=True)]
    false_left = [_left_out(n, w) for n, w in zip(false_groups, false_weights, strict=True)]
    hits = sum(true_left[: best + 1], Fraction(0))
    alarms = sum(false_left[: best + 1], Fraction(0))
    return Replicate(cuts[best] if best >= 0 else math.inf, (hits, hits + alarms, sum(true_left, Fraction(0))))


def _groups(truth: Sequence[int], scores: Sequence[float], cuts: Sequence[float]) -> Iterator[tuple[int, int]]:
    """Count the positives and negatives from each cut up to the one before."""
    before = math.inf
    for cut in cuts:
        cells = [t for t, s in zip(truth, scores, strict=True) if cut <= s < before]
        yield sum(cells), len(cells) - sum(cells)
        before = cut


def _left_out(n: int, weight: int) -> Fraction:
    """Return how many of n boxes stay empty, on average, where so many balls fall into them."""
    return n * Fraction(n - 1, n) ** weight if n else Fraction(0)


def corrected_f(f: float, left: float, by_chance: float) -> float:
    """Return the estimate .632+ of Efron and Tibshirani 1997, equations 24 and 29 to 32, for F in place of errors."""
    seen = 1 - math.exp(-1)
    left = min(max(left, by_chance), f)
    overfitted = (f - left) / (f - by_chance) if f > by_chance else 0.0
    weight = seen / (1 - (1 - seen) * overfitted)
    return (1 - weight) * f + weight * left
