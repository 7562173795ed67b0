"""Averages of F without some rows, from the definitions, in exact fractions."""

from collections.abc import Sequence
from fractions import Fraction

Cells = Sequence[Sequence[int]]


def averages(
    truth: Cells, predicted: Cells, weights: Sequence[int], beta: int, zero_division: int = 0
) -> dict[str, Fraction]:
    """Return every average of F-beta on weighted rows, the F of a label or row that is 0/0 being `zero_division`."""
    n_labels = len(truth[0])
    by_label = [_counts([row[j] for row in truth], [row[j] for row in predicted], weights) for j in range(n_labels)]
    f = [_f(*counts, beta, zero_division) for counts in by_label]
    positives = [counts[2] for counts in by_label]
    pooled = [sum(counts[k] for counts in by_label) for k in range(3)]
    ones = [1] * n_labels
    rows = [_f(*_counts(*pair, ones), beta, zero_division) for pair in zip(truth, predicted, strict=True)]
    return {
        "micro": _f(*pooled, beta, zero_division),
        "macro": _mean(f, ones),
        "macro_supported": _mean(f, [int(count > 0) for count in positives]),
        "weighted": _mean(f, positives if any(positives) else ones),
        "samples": _mean(rows, weights),
    }


def without(
    rows: set[int], truth: Cells, predicted: Cells, weights: Sequence[int], beta: int, zero_division: int = 0
) -> dict[str, Fraction]:
    """Return the averages of all rows but some."""
    kept = [i for i in range(len(truth)) if i not in rows]
    cells = [truth[i] for i in kept], [predicted[i] for i in kept], [weights[i] for i in kept]
    return averages(*cells, beta, zero_division)


def _counts(truth: Sequence[int], predicted: Sequence[int], weights: Sequence[int]) -> tuple[int, int, int]:
    """Return true positives, predictions and positives."""
    cells = list(zip(truth, predicted, weights, strict=True))
    return (
        sum(w for t, p, w in cells if t and p),
        sum(w for _, p, w in cells if p),
        sum(w for t, _, w in cells if t),
    )


def _f(tp: int, predicted: int, positives: int, beta: int, zero_division: int) -> Fraction:
    """Return F-beta of counts."""
    bottom = beta**2 * positives + predicted
    return Fraction((1 + beta**2) * tp, bottom) if bottom else Fraction(zero_division)


def _mean(values: Sequence[Fraction], weights: Sequence[int]) -> Fraction:
    """Return the weighted mean, 0 where nothing has weight."""
    total = sum(weights)
    return sum((v * w for v, w in zip(values, weights, strict=True)), Fraction(0)) / total if total else Fraction(0)
