"""Expected F, by trying every outcome and every set: the witness of the rules that need probabilities alone.

    E F(h) = sum over outcomes y of Pr(y) (1 + B) TP / (B |y| + |h|),    B = beta^2,  0/0 worth `zero_division`.

The first half is exact: every float stands for the rational number it is, and nothing relies on which sets can win.
The second half does the same in floats for hundreds of labels, by recursions that only add up positive terms; both
are written from the definition, and nothing comes from the library. Read the first half as the specification.

A *cell* is one probability that one label applies to one sample; cells are independent unless a joint distribution
is given. Probabilities lie in [0, 1]; weights are non-negative and not all zero.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from fractions import Fraction
from itertools import product

import numpy as np
from numpy.typing import NDArray

from tests.naive.exhaustive import Array, candidates, decide, exact_weights, f_beta, plain, pooled, score

Floats = NDArray[np.float64]
Set = tuple[int, ...]  # an outcome or a decision: 0 or 1 for each cell
Joint = dict[Set, Fraction | int]  # outcomes with weights proportional to their probabilities
ZERO = Fraction(0)


# Distributions of outcomes


def whole(values: Iterable[float]) -> tuple[list[int], int]:
    """The values in whole units, and how many units make one."""
    exact = [plain(value).as_integer_ratio() for value in values]
    one = max((denominator for _, denominator in exact), default=1)  # powers of two
    return [numerator * (one // denominator) for numerator, denominator in exact], one


def independent(probabilities: Iterable[float]) -> Joint:
    """All outcomes of independent cells that can occur."""
    cells, one = whole(probabilities)
    joint: Joint = {(): 1}
    for p in cells:
        joint = {
            (*y, bit): mass * (p if bit else one - p)
            for y, mass in joint.items()
            for bit in (0, 1)
            if (p if bit else one - p)
        }
    return joint


def of_draws(draws: Iterable[Iterable[int]]) -> Joint:
    """The empirical distribution of draws of a set."""
    return dict(Counter(tuple(int(bit) for bit in draw) for draw in draws))


def by_size(joint: Joint) -> tuple[list[list[Fraction]], Fraction]:
    """Pr(y_j = 1, |y| = s) for s = 1 ... n_labels in column s - 1, and the probability of no label."""
    total, n_labels = sum(joint.values()), len(next(iter(joint)))
    table = [[ZERO] * n_labels for _ in range(n_labels)]
    none = ZERO
    for y, mass in joint.items():
        for j in (j for j, bit in enumerate(y) if bit):
            table[j][sum(y) - 1] += Fraction(mass) / total
        none += Fraction(mass) / total if not any(y) else 0
    return table, none


# Exact expected F of decisions


def value_of_set(joint: Joint, decided: Set, beta: float, zero_division: float) -> Fraction:
    """E F of a set under a joint distribution."""
    masses: dict[tuple[int, int], Fraction | int] = {}
    for y, mass in joint.items():
        key = sum(b for b, h in zip(y, decided, strict=True) if h), sum(y)
        masses[key] = masses.get(key, 0) + mass
    c = Fraction(sum(decided))
    terms = (mass * f_beta(Fraction(tp), c, Fraction(a), beta, zero_division) for (tp, a), mass in masses.items())
    return sum(terms, ZERO) / sum(joint.values())


def value_of_cells(probabilities: Array, decided: Array, beta: float, zero_division: float) -> Fraction:
    """E F of decisions on independent cells, counted together: one label, one row, or all cells (micro)."""
    return value_of_set(independent(probabilities.flat), tuple(map(int, decided.flat)), beta, zero_division)


def value_of_labels(probabilities: Array, y_pred: Array, beta: float, zero_division: float) -> list[Fraction]:
    """E F of each label."""
    columns = zip(probabilities.T, y_pred.T, strict=True)
    return [value_of_cells(p, h, beta, zero_division) for p, h in columns]


def value_of_samples(
    probabilities: Array, y_pred: Array, beta: float, zero_division: float, sample_weight: Array | None = None
) -> Fraction:
    """The weighted mean over rows of E F of the row."""
    w = exact_weights(sample_weight, len(y_pred))
    rows = [value_of_cells(p, h, beta, zero_division) for p, h in zip(probabilities, y_pred, strict=True)]
    return sum((weight * f for weight, f in zip(w, rows, strict=True)), ZERO) / sum(w)


def value_over_outcomes(
    probabilities: Array,
    y_pred: Array,
    average: str,
    beta: float,
    zero_division: float,
    sample_weight: Array | None = None,
) -> Fraction:
    """E of any averaged F of `naive.AVERAGES`: the F of every outcome of a tiny matrix, times its probability."""
    joint = independent(probabilities.flat)
    total = ZERO
    for y, mass in joint.items():
        truth = np.array(y, np.uint8).reshape(probabilities.shape)
        total += mass * score(truth, y_pred, average, beta, zero_division, sample_weight)
    return total / sum(joint.values())


# Sets that maximise it


def all_sets(n_cells: int) -> Iterator[Set]:
    """Every decision on so many cells, small sets first."""
    return iter(sorted(product((0, 1), repeat=n_cells), key=sum))


def best_set(joint: Joint, beta: float, zero_division: float) -> tuple[Set, Fraction]:
    """The set of the highest E F, the smallest among equals, and its E F."""
    n_labels = len(next(iter(joint)))
    return max(
        ((decided, value_of_set(joint, decided, beta, zero_division)) for decided in all_sets(n_labels)),
        key=lambda item: item[1],
    )


def values_of_cuts(column: Array, beta: float, zero_division: float) -> dict[float, Fraction]:
    """E F of predicting `p >= t` for every threshold worth trying, from never down."""
    joint = independent(column)
    cuts = candidates(column, [Fraction(1)] * len(column))
    return {t: value_of_set(joint, tuple(int(plain(p) >= t) for p in column), beta, zero_division) for t in cuts}


def best_cut(column: Array, beta: float, zero_division: float) -> tuple[float, Fraction]:
    """The threshold of the highest E F of one label, the highest among equals, and its E F."""
    return max(values_of_cuts(column, beta, zero_division).items(), key=lambda item: item[1])


# F of expected counts, which is the F of soft labels


def soft_counts(probabilities: Array, decided: Array, weights: list[Fraction]) -> tuple[Fraction, Fraction, Fraction]:
    """Sum of w p h, of w h and of w p over the cells of one group."""
    (exact, one), (heavy, unit) = whole(probabilities), whole(weights)
    cells = list(zip(exact, decided, heavy, strict=True))
    tp = Fraction(sum(w * p for p, h, w in cells if h), one * unit)
    predicted = Fraction(sum(w for _, h, w in cells if h), unit)
    positives = Fraction(sum(w * p for p, _, w in cells), one * unit)
    return tp, predicted, positives


def soft_labels(
    probabilities: Array, y_pred: Array, beta: float, zero_division: float, sample_weight: Array | None = None
) -> list[Fraction]:
    """F of the expected counts of each label."""
    w = exact_weights(sample_weight, len(y_pred))
    columns = zip(probabilities.T, y_pred.T, strict=True)
    return [f_beta(*soft_counts(p, h, w), beta, zero_division) for p, h in columns]


def soft_macro(
    probabilities: Array, y_pred: Array, beta: float, zero_division: float, sample_weight: Array | None = None
) -> Fraction:
    """The mean over labels."""
    per_label = soft_labels(probabilities, y_pred, beta, zero_division, sample_weight)
    return sum(per_label, ZERO) / len(per_label)


def soft_weighted(
    probabilities: Array, y_pred: Array, beta: float, zero_division: float, sample_weight: Array | None = None
) -> Fraction:
    """The mean over labels, weighted by expected positives; the plain mean where none are expected."""
    w = exact_weights(sample_weight, len(y_pred))
    per_label = soft_labels(probabilities, y_pred, beta, zero_division, sample_weight)
    supports = [soft_counts(p, p, w)[2] for p in probabilities.T]
    if sum(supports) == 0:
        return sum(per_label, ZERO) / len(per_label)
    return sum((s * f for s, f in zip(supports, per_label, strict=True)), ZERO) / sum(supports)


def soft_micro(
    probabilities: Array, y_pred: Array, beta: float, zero_division: float, sample_weight: Array | None = None
) -> Fraction:
    """F of the expected counts of all labels together."""
    cells, w = pooled(probabilities, sample_weight)
    return f_beta(*soft_counts(cells, y_pred.reshape(-1), w), beta, zero_division)


def soft_samples(
    probabilities: Array, y_pred: Array, beta: float, zero_division: float, sample_weight: Array | None = None
) -> Fraction:
    """The weighted mean over rows of F of the row's expected counts, in which each cell counts once."""
    w = exact_weights(sample_weight, len(y_pred))
    rows = soft_labels(probabilities.T, y_pred.T, beta, zero_division)
    return sum((weight * f for weight, f in zip(w, rows, strict=True)), ZERO) / sum(w)


SOFT: dict[str, Callable[..., Fraction]] = {
    "macro": soft_macro,
    "weighted": soft_weighted,
    "micro": soft_micro,
    "samples": soft_samples,
}


def best_soft_set(
    probabilities: Array, weights: list[Fraction], beta: float, zero_division: float
) -> tuple[Set, Fraction]:
    """The set of cells with the highest F of expected counts, and that F, over all sets.

    The largest set wins among equals. Cells without weight count as absent; without any expected positives nothing
    is predicted, since F is 0 for whatever is.
    """
    (exact, one), (heavy, unit) = whole(probabilities), whole(weights)
    exact = [w * p for p, w in zip(exact, heavy, strict=True)]
    positives = Fraction(sum(exact), one * unit)
    if positives == 0:
        return (0,) * len(exact), f_beta(ZERO, ZERO, ZERO, beta, zero_division)
    sums = [((), 0, 0)]
    for j in (j for j, w in enumerate(weights) if w > 0):
        sums += [((*chosen, j), tp + exact[j], c + heavy[j]) for chosen, tp, c in sums]
    best, f = max(
        (
            (chosen, f_beta(Fraction(tp, one * unit), Fraction(c, unit), positives, beta, zero_division))
            for chosen, tp, c in sums
        ),
        key=lambda item: (item[1], len(item[0])),
    )
    return tuple(int(j in best) for j in range(len(exact))), f


def best_soft_shared(
    probabilities: Array, average: str, beta: float, zero_division: float, sample_weight: Array | None = None
) -> Fraction:
    """The highest averaged F of expected counts that one threshold for all labels reaches."""
    cuts = candidates(*pooled(probabilities, sample_weight))
    decisions = (decide(probabilities, t) for t in cuts)
    return max(SOFT[average](probabilities, h, beta, zero_division, sample_weight) for h in decisions)


def break_even(f: Fraction, beta: float) -> Fraction:
    """F / (1 + B): where predicting a cell neither raises nor lowers the highest F of expected counts."""
    return f / (1 + Fraction(beta) ** 2)


# The same in floats: every set of a few cells, for many rows at once


def f_of_all_pairs(n_cells: int, beta: float, zero_division: float) -> tuple[Array, Floats]:
    """All sets, and F of each as a decision (row) where each is the outcome (column)."""
    sets = np.array(list(all_sets(n_cells)), dtype=np.int64)
    sizes = sets.sum(axis=1)
    bottom = beta**2 * sizes[None, :] + sizes[:, None]
    f = np.full(bottom.shape, float(zero_division))
    np.divide((1 + beta**2) * (sets @ sets.T), bottom, out=f, where=bottom > 0)
    return sets, f


def values_of_all_sets(rows: Floats, beta: float, zero_division: float) -> tuple[Array, Floats]:
    """Every set of the labels, small ones first, and its E F in each row: (n_rows, n_sets)."""
    sets, f = f_of_all_pairs(rows.shape[1], beta, zero_division)
    rows = rows.astype(np.float64)[:, None, :]
    chances = np.where(sets[None] == 1, rows, 1 - rows).prod(axis=2)
    return sets, chances @ f.T


# In floats for long rows: distributions of counts


def joined(counts: Floats, probabilities: Iterable[float]) -> Floats:
    """The distribution of a count after further independent cells."""
    for p in probabilities:
        counts = np.convolve(counts, [1 - p, p])
    return counts


def count_distribution(probabilities: Iterable[float]) -> Floats:
    """Pr(s of the cells are positive), s = 0 ... n."""
    return joined(np.ones(1), probabilities)


def counts_without_each(probabilities: list[float], others: Floats | None = None) -> Floats:
    """Row j: the distribution of the number of positives among all cells but j.

    Half of the cells join the others, and the other half is left; so on until one cell is left.
    """
    others = np.ones(1) if others is None else others
    if len(probabilities) == 1:
        return others[None]
    left, right = probabilities[: len(probabilities) // 2], probabilities[len(probabilities) // 2 :]
    parts = [counts_without_each(left, joined(others, right)), counts_without_each(right, joined(others, left))]
    return np.concatenate(parts)


def values_of_prefixes(probabilities: Iterable[float], beta: float, zero_division: float) -> Floats:
    """E F of the first k cells, for k = 0 ... n: (1 + B) sum over s of E[TP; s positives] / (B s + k)."""
    p = [float(x) for x in probabilities]
    size = np.arange(1, len(p) + 1)
    hits = np.cumsum(np.array(p)[:, None] * counts_without_each(p), axis=0)  # (k, s): E[TP of the first k; |y| = s]
    values = (1 + beta**2) * (hits / (beta**2 * size[None, :] + size[:, None])).sum(axis=1)
    return np.concatenate([[zero_division * np.prod(1 - np.array(p))], values])


def by_probability(row: Array) -> NDArray[np.int64]:
    """The cells from the most probable down, first ones first among equals."""
    return np.argsort(-row.astype(np.float64), kind="stable")


def values_of_top_k(row: Array, beta: float, zero_division: float) -> Floats:
    """E F of the k most probable cells, for k = 0 ... n."""
    return values_of_prefixes(row[by_probability(row)], beta, zero_division)


def value_of_long(probabilities: Array, decided: Array, beta: float, zero_division: float) -> float:
    """E F of any decisions on independent cells: sum over how many are hit and how many are missed."""
    p, h = probabilities.ravel().astype(np.float64), decided.ravel().astype(bool)
    hit, missed = count_distribution(p[h]), count_distribution(p[~h])
    tp, fn = np.arange(len(hit))[:, None], np.arange(len(missed))[None, :]
    bottom = beta**2 * (tp + fn) + h.sum()
    f = np.full(bottom.shape, float(zero_division))
    np.divide((1 + beta**2) * tp, bottom, out=f, where=bottom > 0)
    return float(hit @ f @ missed)


def value_of_long_weighted(probabilities: Array, y_pred: Array, beta: float, zero_division: float) -> float:
    """E of the support-weighted mean of F: sum over a label's hits and misses and the positives of all others."""
    total, b = 0.0, beta**2
    p, h = probabilities.astype(np.float64), y_pred.astype(bool)
    for j in range(p.shape[1]):
        hit, missed = count_distribution(p[h[:, j], j]), count_distribution(p[~h[:, j], j])
        others = count_distribution(np.delete(p, j, axis=1).ravel())
        own, rest = np.ogrid[: p.shape[0] + 1, : len(others)]
        share = (own / np.maximum(own + rest, 1)) @ others
        tp, fn = np.ogrid[: len(hit), : len(missed)]
        f = (1 + b) * tp / np.maximum(b * (tp + fn) + h[:, j].sum(), np.finfo(float).tiny)
        total += float(hit @ (share[tp + fn] * f) @ missed)
    nothing = zero_division * (~h.any(axis=0)).mean()
    return total + nothing * float(np.prod(1 - p))


def best_soft_prefix(probabilities: Array, weights: Array, beta: float) -> tuple[float, int]:
    """The highest F of expected counts, and how many cells it predicts: sort, add up, take the best whole tie group."""
    p, w = probabilities.astype(np.longdouble), weights.astype(np.longdouble)
    order = by_probability(probabilities)
    tp, c = np.cumsum((w * p)[order]), np.cumsum(w[order])
    f = (1 + np.longdouble(beta) ** 2) * tp / (np.longdouble(beta) ** 2 * tp[-1] + c)
    ends = np.append(np.diff(p[order]) != 0, True)
    best = int(np.flatnonzero(ends)[np.argmax(f[ends])])
    return float(f[best]), best + 1


# F of expected counts


def best_cut_of_counts(p: Array, weights: Array, beta: float) -> tuple[Fraction, Fraction, Fraction]:
    """F* / (1 + b^2) of the cells of one label in rational numbers, and tp and predicted at or above it."""
    cells = [(Fraction(float(x)), Fraction(float(w))) for x, w in zip(p, weights, strict=True)]
    positives = sum((x * w for x, w in cells), Fraction(0))

    def counts(cut: Fraction) -> tuple[Fraction, Fraction]:
        above = [(x, w) for x, w in cells if x >= cut]
        return sum((x * w for x, w in above), Fraction(0)), sum((w for _, w in above), Fraction(0))

    ratios = []
    for cut in {x for x, _ in cells if x > 0}:
        tp, predicted = counts(cut)
        below = Fraction(beta) ** 2 * positives + predicted
        ratios.append(tp / below if below else Fraction(0))
    best = max(ratios)
    return best, *counts(best)
