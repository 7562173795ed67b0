"""The best F1 of one threshold a label, found by trying every cut, in fractions."""

from fractions import Fraction
from typing import Any

import numpy as np


def best_f1(y_true: Any, y_score: Any, known: Any = True, zero_division: int = 0) -> float:
    """The highest macro F1 of the cells that are known: of each label, the best of all cuts."""
    truth, scores = np.asarray(y_true), np.asarray(y_score)  # (n_samples, n_labels)
    is_known = np.broadcast_to(known, truth.shape)
    total = Fraction(0)
    for label in range(truth.shape[1]):
        rows = is_known[:, label]
        gold, values = truth[rows, label] == 1, scores[rows, label]
        cuts = [np.inf, *np.unique(values)]
        total += max(f1(gold, values >= cut, zero_division) for cut in cuts)
    return float(total / truth.shape[1])


def f1(gold: Any, decided: Any, zero_division: int = 0) -> Fraction:
    """The F1 of one label: twice the true positives, of positives and predictions."""
    marks = int(gold.sum()) + int(decided.sum())
    return Fraction(2 * int((gold & decided).sum()), marks) if marks else Fraction(zero_division)
