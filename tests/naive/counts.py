"""What is counted of blocks of rows, from the definition: a dictionary of cells, one after another."""

from collections import Counter, defaultdict
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from tests.naive.exhaustive import exact_weights, plain

Array = NDArray[np.generic]
# (label, score) -> weight of the positives, weight of all
Groups = dict[tuple[int, float], tuple[Fraction, Fraction]]
# (label, "at", candidate) or (label, "run", number of candidates below) -> positives, weight, highest score
Pieces = dict[tuple[int, str, float], tuple[Fraction, Fraction, float]]


def tie_groups(y_true: Array, y_score: Array, sample_weight: Array | None = None, known: Array | None = None) -> Groups:
    """What weighs at each distinct score of a label, of cells that are known and have weight."""
    positives: Counter[tuple[int, float]] = Counter()
    weights: Counter[tuple[int, float]] = Counter()
    for i, weight in enumerate(exact_weights(sample_weight, len(y_score))):
        for j in range(y_score.shape[1]):
            if weight > 0 and (known is None or known[i, j]):
                group = (j, plain(y_score[i, j]))
                weights[group] += weight
                positives[group] += weight * int(y_true[i, j])
    return {group: (positives[group], weights[group]) for group in weights}


def candidates(groups: Groups, n_labels: int) -> list[list[float]]:
    """The scores of each label's positives, rising."""
    return [sorted(x for (j, x), (hits, _) in groups.items() if j == label and hits > 0) for label in range(n_labels)]


def pieces(groups: Groups, cuts: list[list[float]]) -> Pieces:
    """What weighs at the cuts of each label, and between them."""
    found: Pieces = defaultdict(lambda: (Fraction(0), Fraction(0), -np.inf))
    for (j, x), (hits, weight) in groups.items():
        key = (j, "at", x) if x in cuts[j] else (j, "run", float(sum(cut < x for cut in cuts[j])))
        before = found[key]
        found[key] = (before[0] + hits, before[1] + weight, max(before[2], x))
    return dict(found)
