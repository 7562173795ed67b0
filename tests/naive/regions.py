"""Regions of scores from their definition: bins, and every union of them, in exact arithmetic.

A bin is a list of neighbouring distinct scores. F of a union of bins depends on the weight of its positives and of
all in it alone, so 2^n unions of n bins are tried. Nothing comes from the library.
"""

import math
from collections.abc import Sequence
from fractions import Fraction
from itertools import accumulate

import numpy as np
from numpy.typing import NDArray

from tests.naive.exhaustive import Array, exact_weights, f_beta, plain

Bin = tuple[Fraction, Fraction]  # the weight of the positives, and of all
Bins = dict[tuple[float, ...], Bin]  # by the distinct scores in each, from the lowest
Union = tuple[int, ...]  # 0 or 1 for each bin


# Bins


def groups(truth: Array, scores: Array, sample_weight: Array | None = None) -> Bins:
    """Each distinct score that carries weight as a bin."""
    weights = exact_weights(sample_weight, len(truth))
    cells = [(plain(s), y, w) for s, y, w in zip(scores, truth, weights, strict=True) if w > 0]
    return {
        (score,): (
            sum((w for s, y, w in cells if s == score and y), Fraction(0)),
            sum((w for s, _, w in cells if s == score), Fraction(0)),
        )
        for score in sorted({s for s, _, _ in cells})
    }


def positions(of_groups: Bins) -> list[Fraction]:
    """Where the middle of each score lies in [0, 1], positives and negatives counted half and half."""
    positives = sum(hits for hits, _ in of_groups.values())
    negatives = sum(weight - hits for hits, weight in of_groups.values())
    shares = [
        (hits / positives if positives else Fraction(0)) + ((weight - hits) / negatives if negatives else Fraction(0))
        for hits, weight in of_groups.values()
    ]
    sums = list(accumulate(shares))
    return [(up_to - share / 2) / sums[-1] for up_to, share in zip(sums, shares, strict=True)]


def histogram(of_groups: Bins, n_bins: int) -> Bins:
    """Scores whose middles lie in the same of `n_bins` equal parts of [0, 1] make a bin."""
    parts: dict[int, list[tuple[tuple[float, ...], Bin]]] = {}
    for item, at in zip(of_groups.items(), positions(of_groups), strict=True):
        parts.setdefault(math.floor(at * n_bins), []).append(item)
    return {
        sum((scores for scores, _ in items), ()): (sum(b[0] for _, b in items), sum(b[1] for _, b in items))
        for items in parts.values()
    }


def is_on_an_edge(of_groups: Bins, n_bins: int) -> bool:
    """Whether a middle lies between two parts, where rounding may put it into either."""
    return any(at * n_bins % 1 == 0 for at in positions(of_groups))


# Unions of bins


def all_unions(bins: Sequence[Bin]) -> list[tuple[Union, Fraction, Fraction]]:
    """Every union of the bins, with the weight of its positives and of all in it."""
    found = [((), Fraction(0), Fraction(0))]
    for hits, weight in bins:
        without = [((*union, 0), tp, predicted) for union, tp, predicted in found]
        found = without + [((*union, 1), tp + hits, predicted + weight) for union, tp, predicted in found]
    return found


def best_union(bins: Sequence[Bin], beta: float, zero_division: float) -> tuple[Union, Fraction]:
    """The union of the highest F, the largest among equals, and its F; nothing where there are no positives."""
    positives = sum((hits for hits, _ in bins), Fraction(0))
    if positives == 0:
        return (0,) * len(bins), f_beta(Fraction(0), Fraction(0), positives, beta, zero_division)
    values = [(union, f_beta(*sums, positives, beta, zero_division)) for union, *sums in all_unions(bins)]
    return max(values, key=lambda item: (item[1], sum(item[0])))


def decide(bins: Bins, union: Union, scores: Array) -> NDArray[np.uint8]:
    """1 for the scores of the bins in a union, 0 for others, and 2 for those of rows without weight, in no bin."""
    chosen = {s: hit for of_bin, hit in zip(bins, union, strict=True) for s in of_bin}
    return np.array([chosen.get(plain(s), 2) for s in scores], np.uint8)
