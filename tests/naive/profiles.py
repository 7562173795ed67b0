"""What scores look like, from the definitions, one score at a time."""

from collections.abc import Sequence
from fractions import Fraction
from math import comb

LEVELS = [Fraction(level) for level in ("0.01", "0.1", "0.25", "0.5", "0.75", "0.9", "0.99")]


def quantiles(scores: Sequence[float]) -> list[float]:
    """The lowest score with at least each share of all scores at or below it."""
    return [min(s for s in scores if Fraction(sum(t <= s for t in scores), len(scores)) >= level) for level in LEVELS]


def distance(before: Sequence[float], now: Sequence[float]) -> float:
    """How far the shares of new scores up to each quantile are outside what ties leave them; the largest."""
    found = Fraction(0)
    for level, point in zip(LEVELS, quantiles(before), strict=True):
        rank = -(-level * len(before) // 1)  # rounded up
        share = Fraction(rank, len(before))
        below = Fraction(sum(s < point for s in now), len(now))
        up_to = Fraction(sum(s <= point for s in now), len(now))
        found = max(found, below - share, share - up_to)
    return float(found)


def p_of_more(before: int, n_before: int, now: int, n_now: int) -> Fraction:
    """Fisher's exact test: the chance of so many among the new ones, given how many there are in all."""
    n, in_all = n_before + n_now, before + now
    ways = sum(comb(n_now, k) * comb(n_before, in_all - k) for k in range(now, min(n_now, in_all) + 1))
    return Fraction(ways, comb(n, in_all))


def p_above_threshold(predicted: int, n_before: int, now: int, n_now: int) -> Fraction:
    """The chance of so many of new scores above the next score below those predicted, all orders being equally likely.

    At least `now` lie above it iff, of the `predicted` + `now` highest of all, no more than `predicted` are old.
    """
    n, highest = n_before + n_now, predicted + now
    ways = sum(comb(n_before, k) * comb(n_now, highest - k) for k in range(min(predicted, highest) + 1))
    return Fraction(ways, comb(n, highest))
