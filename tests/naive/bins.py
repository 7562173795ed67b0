"""Bins of neighbouring scores from their definition, and every threshold tried on the rows themselves."""

import struct
from fractions import Fraction
from itertools import product
from typing import Any, NamedTuple


class Bin(NamedTuple):
    """Cells whose keys are alike but for their last bits."""

    lowest: float
    highest: float
    positives: Fraction
    weight: Fraction


def key(score: float, itemsize: int) -> int:
    """A score as a whole number in the same order: its bits, those of a negative one flipped."""
    letters = {4: ("<f", "<I"), 8: ("<d", "<Q")}[itemsize]
    bits = struct.unpack(letters[1], struct.pack(letters[0], score + 0.0))[0]
    sign = 1 << (8 * itemsize - 1)
    return 2 * sign - 1 - bits if bits & sign else bits + sign


def bins_of(truth: Any, scores: Any, weights: Any, itemsize: int, most: int | None) -> tuple[int, list[Bin]]:
    """How many last bits are dropped of the keys of one label, and its bins from the highest down."""
    cells = [(float(s), int(t), Fraction(float(w))) for s, t, w in zip(scores, truth, weights, strict=True) if w > 0]
    dropped = 0
    while most is not None and len({key(s, itemsize) >> dropped for s, _, _ in cells}) > most:
        dropped += 1
    found = []
    for shared in sorted({key(s, itemsize) >> dropped for s, _, _ in cells}, reverse=True):
        inside = [cell for cell in cells if key(cell[0], itemsize) >> dropped == shared]
        found.append(
            Bin(
                min(s for s, _, _ in inside),
                max(s for s, _, _ in inside),
                sum((w for _, t, w in inside if t), Fraction(0)),
                sum((w for _, _, w in inside), Fraction(0)),
            )
        )
    return dropped, found


def f(tp: Fraction, predicted: Fraction, positives: Fraction, beta: Fraction, zero_division: int) -> Fraction:
    """F-beta of counts."""
    denominator = beta**2 * positives + predicted
    return (1 + beta**2) * tp / denominator if denominator else Fraction(zero_division)


def highest_f(labels: list[list[Bin]], average: str, beta: Fraction, zero_division: int) -> Fraction:
    """The highest F of any order in which the cells of each bin may lie, and of any cuts between them.

    Positives first is the best order, but for bins of one score, whose cells stay together.
    """
    cuts = []  # of each label: tp, predicted, positives
    for bins in labels:
        positives = sum((b.positives for b in bins), Fraction(0))
        of_label = [(Fraction(0), Fraction(0), positives)]
        tp = weight = Fraction(0)
        for b in bins:
            if b.lowest < b.highest:
                of_label.append((tp + b.positives, weight + b.positives, positives))
            tp, weight = tp + b.positives, weight + b.weight
            of_label.append((tp, weight, positives))
        cuts.append(of_label)
    if average == "micro":
        return max(f(*map(sum, zip(*choice, strict=True)), beta, zero_division) for choice in product(*cuts))
    best = [max(f(*cut, beta, zero_division) for cut in of_label) for of_label in cuts]
    support = [of_label[0][2] for of_label in cuts]
    if average == "macro" or not sum(support):
        support = [Fraction(1)] * len(best)
    return sum((value * share for value, share in zip(best, support, strict=True)), Fraction(0)) / sum(support)
