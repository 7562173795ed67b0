"""The diagnosis of labels from its definitions, the witness of `thresholds.diagnose`; nothing comes from the library.

Counts, ratios, areas, variances and the permutation p-value are in exact arithmetic; the distributions and their
square roots are floats. Everything is slow and obvious: all pairs, all placements of the positives, all cuts.

A label is a pair of columns, truth (0 and 1) and scores (real or -inf); `decided` is what a rule makes of the scores.
"""

import math
from collections import Counter
from collections.abc import Sequence
from fractions import Fraction
from itertools import combinations

import numpy as np
from scipy.stats import norm, t

from tests.naive.exhaustive import Array, plain

DECIDED_BY_RANKS = 1e-12  # p_rank up to which p_max_f is left at 1
ENOUGH = 5  # positives, and negatives, for the test against a least AUROC
NAN = math.nan
STATES = ("backwards", "platypus", "suspect", "unsupported", "overpredicted", "restrained")
Row = dict[str, float | bool | str]


def by_truth(truth: Array, scores: Array) -> tuple[list[float], list[float]]:
    """The scores of the positives and those of the negatives."""
    cells = [(int(y), plain(s)) for y, s in zip(truth, scores, strict=True)]
    return [s for y, s in cells if y], [s for y, s in cells if not y]


def ratio(above: float, below: float) -> float:
    """A ratio of counts, NaN for 0/0."""
    return float(Fraction(above) / Fraction(below)) if below else NAN


# F over the cuts of a label


def groups(scores: Array) -> list[int]:
    """How many cells share each distinct score, from the highest score down."""
    sizes = Counter(plain(s) for s in scores)
    return [sizes[s] for s in sorted(sizes, reverse=True)]


def f1(tp: int, predicted: int, positives: int) -> Fraction:
    """2 TP / (P + C) of a label with positives."""
    return Fraction(2 * tp, positives + predicted)


def highest_f(truth: Array, scores: Array) -> Fraction:
    """The highest F1 over all cuts between distinct scores, predict-all included, of a label with positives."""
    positives, negatives = (np.array(side) for side in by_truth(truth, scores))
    cuts = [(int(np.sum(positives >= t)), int(np.sum(negatives >= t))) for t in {*positives, *negatives}]
    return max(f1(hits, hits + misses, positives.size) for hits, misses in cuts)


def p_max_f_by_enumeration(truth: Array, scores: Array) -> Fraction:
    """The share of all placements of the positives over the rows whose highest F1 reaches the observed one."""
    observed, n, positives = highest_f(truth, scores), len(truth), int(np.sum(truth))
    placements = [np.isin(np.arange(n), chosen) for chosen in combinations(range(n), positives)]
    return Fraction(sum(highest_f(placed, scores) >= observed for placed in placements), len(placements))


def p_max_f(truth: Array, scores: Array) -> Fraction:
    """The same, by counting the placements that stay below the observed F1 at every cut, one tie group at a time."""
    observed, n, positives = highest_f(truth, scores), len(truth), int(np.sum(truth))
    below, predicted = {0: 1}, 0  # placements by their true positives so far
    for size in groups(scores):
        predicted += size
        reached: dict[int, int] = {}
        for tp, ways in below.items():
            for more in range(min(size, positives - tp) + 1):
                reached[tp + more] = reached.get(tp + more, 0) + ways * math.comb(size, more)
        below = {tp: ways for tp, ways in reached.items() if f1(tp, predicted, positives) < observed}
    every = math.comb(n, positives)
    return Fraction(every - below.get(positives, 0), every)


# Ranks


def placements_among(others: Sequence[float], scores: Sequence[float]) -> list[Fraction]:
    """The share of the others that each score lies above, ties counted half."""
    values = np.array(others)
    return [Fraction(int(2 * np.sum(values < s) + np.sum(values == s)), 2 * len(others)) for s in scores]


def auroc(truth: Array, scores: Array) -> Fraction:
    """P(score of a positive > that of a negative) + P(equal) / 2, over all pairs."""
    positives, negatives = by_truth(truth, scores)
    return sum(placements_among(negatives, positives), Fraction(0)) / len(positives)


def standardised(difference: Fraction, variance: Fraction | float) -> float:
    """difference / sqrt(variance); without variance infinite, or 0 without a difference."""
    if variance == 0:
        return math.copysign(math.inf, difference) if difference else 0.0
    return float(difference) / math.sqrt(variance)


def p_rank(truth: Array, scores: Array, *, lower: bool = False) -> float:
    """One-sided Mann-Whitney, positives score higher (lower), given those outside a tie group of over a tenth."""
    given = p_rank_given_ties if 10 * max(groups(scores)) > len(scores) else p_rank_normal
    return given(truth, scores, lower=lower)


def p_rank_normal(truth: Array, scores: Array, *, lower: bool = False) -> float:
    """The normal approximation with tie and continuity correction."""
    positives, negatives = by_truth(truth, scores)
    p, q = len(positives), len(negatives)
    n = p + q
    ties = sum((Fraction(t**3 - t) for t in groups(scores)), Fraction(0))
    variance = Fraction(p * q, 12) * (n + 1 - ties / (n * (n - 1)))
    excess = (auroc(truth, scores) * p * q - Fraction(p * q, 2)) * (-1 if lower else 1) - Fraction(1, 2)
    return float(norm.sf(standardised(excess, variance)))


def mid_ranks(scores: Array) -> list[Fraction]:
    """The rank of each score from the lowest, 1, up; equal scores share the mean of theirs."""
    values = np.array([plain(s) for s in scores])
    return [Fraction(int(2 * np.sum(values < x) + np.sum(values == x)) + 1, 2) for x in values]


def p_rank_given_ties(truth: Array, scores: Array, *, lower: bool = False) -> float:
    """P(rank sum of the positives >= the observed one, or <=), normal given how many lie outside the largest tie group.

    Their number k is hypergeometric. The k ranks are drawn without replacement from the ranks outside the group, the
    lowest of the largest groups; the other positives have the group's rank.
    """
    ranks = mid_ranks(scores)
    sizes = Counter(ranks)
    tied = min(sizes, key=lambda rank: (-sizes[rank], rank))
    others = [rank for rank in ranks if rank != tied]
    n, p, m = len(ranks), int(np.sum(truth)), len(others)
    observed = sum((rank for rank, y in zip(ranks, truth, strict=True) if y), Fraction(0))
    mean = sum(others, Fraction(0)) / m if m else Fraction(0)
    variance = sample_variance(others) if m > 1 else Fraction(0)
    chance = 0.0
    for k in range(max(0, p - (n - m)), min(p, m) + 1):
        weight = Fraction(math.comb(m, k) * math.comb(n - m, p - k), math.comb(n, p))
        expected, spread = k * mean + (p - k) * tied, variance * k * (1 - Fraction(k, max(m, 1)))
        excess = (expected - observed) if lower else (observed - expected)
        if spread == 0:
            chance += float(weight) * (excess <= 0)
        else:
            z = standardised(excess - Fraction(1, 2), spread)
            chance += float(weight) * float(norm.sf(z))
    return chance


def p_informative(truth: Array, scores: Array) -> float:
    """min(1, 2 min(p_rank, p_max_f)), NaN without positives or without negatives."""
    if not 0 < np.sum(truth) < len(truth):
        return NAN
    of_ranks = p_rank(truth, scores)
    of_f = 1.0 if of_ranks <= DECIDED_BY_RANKS else float(p_max_f(truth, scores))
    return min(1.0, 2 * min(of_ranks, of_f))


# The test of AUROC >= min_auroc


def sample_variance(values: Sequence[Fraction]) -> Fraction:
    """Mean squared distance from the mean, over one less than their number."""
    mean = sum(values, Fraction(0)) / len(values)
    return sum(((value - mean) ** 2 for value in values), Fraction(0)) / (len(values) - 1)


def placements(truth: Array, scores: Array) -> tuple[list[Fraction], list[Fraction]]:
    """The share of negatives below each positive, and that of positives above each negative."""
    positives, negatives = by_truth(truth, scores)
    return placements_among(negatives, positives), [1 - share for share in placements_among(positives, negatives)]


def p_delong(truth: Array, scores: Array, least: float) -> float:
    """Normal, with the variance of DeLong, DeLong and Clarke-Pearson 1988 from the placements."""
    of_positives, of_negatives = placements(truth, scores)
    variance = sample_variance(of_positives) / len(of_positives) + sample_variance(of_negatives) / len(of_negatives)
    return float(norm.cdf(standardised(auroc(truth, scores) - Fraction(least), variance)))


def p_hanley_mcneil(truth: Array, scores: Array, least: float) -> float:
    """Normal, with the variance of Hanley and McNeil 1982 at the least AUROC."""
    p, q = (len(side) for side in by_truth(truth, scores))
    a = Fraction(least)
    q1, q2 = a / (2 - a), 2 * a**2 / (1 + a)
    variance = (a * (1 - a) + (p - 1) * (q1 - a**2) + (q - 1) * (q2 - a**2)) / (p * q)
    return float(norm.cdf(standardised(auroc(truth, scores) - a, variance)))


def p_uninformative(truth: Array, scores: Array, least: float) -> float:
    """The larger of both, NaN with fewer than 5 positives or negatives."""
    if min(len(side) for side in by_truth(truth, scores)) < ENOUGH:
        return NAN
    return max(p_delong(truth, scores, least), p_hanley_mcneil(truth, scores, least))


def p_student(truth: Array, scores: Array) -> float:
    """Student's t for a mean placement of 1/2, lower tail: Welch's test, 0 and 1 added to the placements of each class.

    The mean is that of the smaller class.
    """
    classes = [[*values, Fraction(0), Fraction(1)] for values in placements(truth, scores)]
    a, b = (sample_variance(values) / len(values) for values in classes)
    of_positives, of_negatives = classes
    freedom = (a + b) ** 2 / (a**2 / (len(of_positives) - 1) + b**2 / (len(of_negatives) - 1))
    smaller = min(classes, key=len)
    difference = sum(smaller, Fraction(0)) / len(smaller) - Fraction(1, 2)
    return float(t.cdf(standardised(difference, a + b), float(freedom)))


def p_backwards(truth: Array, scores: Array) -> float:
    """Two-sided, AUROC = 1/2: twice the larger of ranks and Student's t, of the lower tail; NaN with fewer than 5."""
    if min(len(side) for side in by_truth(truth, scores)) < ENOUGH:
        return NAN
    return min(1.0, 2 * max(p_rank(truth, scores, lower=True), p_student(truth, scores)))


def rejected(p_values: Sequence[float], alpha: float) -> list[bool]:
    """Benjamini and Hochberg 1995 over the defined p-values: all up to the largest with p <= alpha rank / number."""
    defined = sorted(p for p in p_values if not math.isnan(p))
    passed = [p for rank, p in enumerate(defined, start=1) if p <= alpha * rank / len(defined)]
    return [bool(passed) and p <= passed[-1] for p in p_values]


# The table


def state_of(
    positives: int, overpredicted: bool, informative: bool, uninformative: bool, backwards: bool = False
) -> str:
    """The first state that applies."""
    if backwards and not informative:
        return "backwards"
    if overpredicted and uninformative and not informative:
        return "platypus"
    if overpredicted and (positives < ENOUGH or not (informative or uninformative)):
        return "suspect"
    if positives == 0:
        return "unsupported"
    return "overpredicted" if overpredicted else "restrained"


def is_overpredicted(predicted: float, positives: float, bound: float) -> bool:
    """Whether a label is predicted more than `bound` times for each of its positives."""
    return predicted > 0 if positives == 0 else float(predicted) / float(positives) > bound


def f_beta(tp: int, predicted: int, positives: int, beta: float) -> float:
    """(1 + B) TP / (B P + C), B = beta^2."""
    b = Fraction(beta) ** 2
    return ratio((1 + b) * tp, b * positives + predicted)


def counted(truth: Array, decided: Array, beta: float = 1.0) -> Row:
    """The columns that counts of decisions give."""
    n, positives, predicted = len(truth), int(np.sum(truth)), int(np.sum(decided))
    tp = int(np.sum((np.asarray(truth) == 1) & (np.asarray(decided) == 1)))
    f, of_all = f_beta(tp, predicted, positives, beta), f_beta(positives, n, positives, beta)
    return {
        "n_positives": positives,
        "base_rate": positives / n,
        "predicted_positive": predicted,
        "predicted_rate": predicted / n,
        "overprediction": math.inf if predicted and not positives else ratio(predicted, positives),
        "precision": ratio(tp, predicted),
        "recall": ratio(tp, positives),
        "f": f,
        "f_predict_all": of_all,
        "lift": f / of_all if of_all else NAN,
    }


def tested(truth: Array, scores: Array, min_auroc: float) -> Row:
    """The columns that scores and truth give, whatever is decided."""
    both = 0 < np.sum(truth) < len(truth)
    return {
        "best_f": float(highest_f(truth, scores)) if np.any(truth) else NAN,
        "auroc": float(auroc(truth, scores)) if both else NAN,
        "p_informative": p_informative(truth, scores),
        "p_uninformative": p_uninformative(truth, scores, min_auroc),
        "p_backwards": p_backwards(truth, scores),
    }


def concluded(rows: Sequence[Row], alpha: float, overprediction: float) -> list[Row]:
    """The columns that follow from the others."""
    informative = rejected([row["p_informative"] for row in rows], alpha)
    uninformative = rejected([row["p_uninformative"] for row in rows], alpha)
    backwards = rejected([row["p_backwards"] for row in rows], alpha)
    found = []
    for row, useful, useless, lower in zip(rows, informative, uninformative, backwards, strict=True):
        over = is_overpredicted(row["predicted_positive"], row["n_positives"], overprediction)
        found.append({"informative": useful, "state": state_of(int(row["n_positives"]), over, useful, useless, lower)})
    return found


def diagnosis(
    y_true: Array,
    y_score: Array,
    y_pred: Array,
    *,
    alpha: float = 0.05,
    min_auroc: float = 0.7,
    overprediction: float = 3.0,
    beta: float = 1.0,
) -> list[Row]:
    """One row a label, with all columns of the table but name, threshold, reason and those of the verdict."""
    labels = zip(y_true.T, y_score.T, y_pred.T, strict=True)
    rows = [counted(truth, decided, beta) | tested(truth, scores, min_auroc) for truth, scores, decided in labels]
    return [row | more for row, more in zip(rows, concluded(rows, alpha, overprediction), strict=True)]


def most_predicted(y_pred: Array, k: int) -> list[int]:
    """The k labels predicted most, the first of equals."""
    counts = [int(np.sum(decided)) for decided in y_pred.T]
    return sorted(range(len(counts)), key=lambda j: (-counts[j], j))[:k]


def lowest_cut(truth: Array, scores: Array, bound: float) -> float:
    """The lowest score at or above which at most `bound` times the positives lie; +inf for none."""
    values = [plain(s) for s in scores]
    cuts = [t for t in values if not is_overpredicted(sum(s >= t for s in values), int(np.sum(truth)), bound)]
    return min(cuts, default=math.inf)


# Without labels


def expected_row(chances: Array, decided: Array, overprediction: float) -> Row:
    """What a model believes of the decisions about one label, its probabilities taken for true and independent."""
    p = [Fraction(plain(value)) for value in chances]
    n, k, mu = len(p), int(np.sum(decided)), sum(p, Fraction(0))
    tp = sum((value for value, h in zip(p, decided, strict=True) if h), Fraction(0))
    b, spread = mu / n, sum((value**2 for value in p), Fraction(0)) / n - (mu / n) ** 2
    f, of_all = ratio(2 * tp, mu + k), ratio(2 * mu, mu + n)
    over = is_overpredicted(k, mu, overprediction)
    believed = over and tp * (mu + n) < 2 * mu * (mu + k)  # expected F < 2 F of predict-all
    return {
        "expected_positives": float(mu),
        "base_rate": float(b),
        "predicted_positive": k,
        "predicted_rate": k / n,
        "expected_f": f,
        "f_predict_all": of_all,
        "overprediction": math.inf if k and not mu else ratio(k, mu),
        "lift": f / of_all if of_all else NAN,
        "resolution": ratio(spread, b * (1 - b)),
        "state": "platypus" if believed else "unsupported" if mu == 0 else "overpredicted" if over else "restrained",
    }
