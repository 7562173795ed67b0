"""Bounds of F, and the verdict on a label, from their definitions; nothing comes from the library.

Binomial tails are in exact arithmetic. The score test restricts the likelihood by trying shares one after another, and
the standard errors of the delta method come from differences: one row more of each kind.
"""

import math
from collections.abc import Callable, Sequence
from fractions import Fraction

from scipy.optimize import brentq, minimize_scalar
from scipy.special import betainc
from scipy.stats import binom, norm

from tests.naive.diagnosis import NAN, rejected

CLEARLY = 0.1  # by which another cut must reach more


def f_beta(tp: float, fn: float, fp: float, beta: float) -> float:
    """(1 + B) TP / ((1 + B) TP + B FN + FP), B = beta^2, NaN for 0/0."""
    b = beta**2
    below = (1 + b) * tp + b * fn + fp
    return (1 + b) * tp / below if below else NAN


# The score test of F


def z_values(f: float, beta: float) -> tuple[float, float, float]:
    """What a true positive, a miss and a false alarm count, so that the mean is 0 where F is f."""
    b = beta**2
    return 1 - f, -f * b / (1 + b), -f / (1 + b)


def likeliest_variance(counts: Sequence[float], f: float, beta: float) -> float:
    """The variance of Z at the likeliest shares of the three kinds that have this F."""
    a, b, c = z_values(f, beta)

    def shares(missed: float) -> tuple[float, float, float]:
        # Of shares q1 + q2 + q3 = 1 with mean Z 0, by q2.
        false = (a - missed * (a - b)) / (a - c)
        return 1 - missed - false, missed, false

    def unlikelihood(missed: float) -> float:
        terms = zip(counts, shares(missed), strict=True)
        return -sum(n * math.log(max(q, 1e-300)) for n, q in terms if n)

    highest = a / (a - b)
    found = minimize_scalar(unlikelihood, bounds=(0, highest), method="bounded", options={"xatol": 1e-13})
    missed = min((0.0, highest, found.x), key=unlikelihood)
    return sum(q * z**2 for q, z in zip(shares(missed), (a, b, c), strict=True))


def score(counts: Sequence[float], f: float, beta: float) -> float:
    """The sum of Z over its standard error."""
    total = sum(n * z for n, z in zip(counts, z_values(f, beta), strict=True))
    return total / math.sqrt(sum(counts) * likeliest_variance(counts, f, beta))


def f_interval(tp: float, fn: float, fp: float, beta: float, confidence: float) -> tuple[float, float]:
    """The F that the score test does not reject, and of F1, nor binomial tails do; 0 to 1 without a row."""
    counts = (tp, fn, fp)
    z = norm.ppf((1 + confidence) / 2)
    f = f_beta(*counts, beta)
    inside = min(max(f, 1e-9), 1 - 1e-9)
    low = 0.0 if not tp else brentq(lambda x: score(counts, x, beta) - z, 1e-12, inside, xtol=1e-13)
    high = 1.0 if not fn and not fp else brentq(lambda x: score(counts, x, beta) + z, inside, 1 - 1e-12, xtol=1e-13)
    if beta == 1:
        low, high = min(low, f_of_tail(tp, fn + fp, confidence)), max(high, f_of_tail(fn + fp, tp, confidence, of=-1))
    return low, high


def f_of_tail(as_many: float, others: float, confidence: float, of: int = 1) -> float:
    """F1 at which as many right rows or more (mistakes, of -1) among so many have the probability 1 - confidence."""
    if not as_many:
        return (1 - of) / 2
    share = brentq(lambda p: float(betainc(as_many, others + 1, p)) - (1 - confidence), 0, 1, xtol=1e-14)
    index = share if of == 1 else 1 - share
    return 2 * index / (1 + index)


# Tests against a bar


def binomial_tail(least: int, n: int, p: Fraction) -> Fraction:
    """P(X >= least) for n trials."""
    return sum((math.comb(n, k) * p**k * (1 - p) ** (n - k) for k in range(least, n + 1)), Fraction(0))


def p_at_most(tp: int, fn: int, fp: int, bar: Fraction) -> float:
    """P(as many true positives, or more, among the rows with a part in F1), if F1 is the bar."""
    return float(binomial_tail(tp, tp + fn + fp, bar / (2 - bar)))


def p_at_least(tp: int, fn: int, fp: int, bar: Fraction) -> float:
    """P(as many, or fewer)."""
    return float(1 - binomial_tail(tp + 1, tp + fn + fp, bar / (2 - bar)))


def above_skill(tp: float, fn: float, fp: float, tn: float, min_skill: float, beta: float) -> float:
    """F less the bar above marking every row."""
    always = f_beta(tp + fn, 0, fp + tn, beta)
    return f_beta(tp, fn, fp, beta) - always - min_skill * (1 - always)


def error_by_differences(function: Callable[..., float], cells: Sequence[float]) -> float:
    """The standard error of a function of Poisson counts: the root of the sum of count times squared slope."""
    variance = 0.0
    for place, count in enumerate(cells):
        step = 1e-5 * sum(cells)
        more, less = list(cells), list(cells)
        more[place] += step
        less[place] -= step
        variance += count * ((function(*more) - function(*less)) / (2 * step)) ** 2
    return math.sqrt(variance)


def p_of_skill(tp: int, fn: int, fp: int, tn: int, min_skill: float, beta: float = 1.0) -> tuple[float, float]:
    """The larger of two normal p-values each: standard errors here, and with as many rows, but F at the bar."""
    positives, n = tp + fn, tp + fn + fp + tn
    always = f_beta(positives, 0, n - positives, beta)
    bar = always + min_skill * (1 - always)
    missed = (fn + 0.5) / (fn + fp + 1)
    rows = tp + fn + fp
    right = brentq(lambda x: f_beta(x, (rows - x) * missed, (rows - x) * (1 - missed), beta) - bar, 0, rows, xtol=1e-12)
    at_bar = (right, (rows - right) * missed, (rows - right) * (1 - missed), tn)

    def function(*cells: float) -> float:
        return above_skill(*cells, min_skill, beta)  # type: ignore[call-arg]

    here = function(tp, fn, fp, tn)
    both = [here / error_by_differences(function, cells) for cells in ((tp, fn, fp, tn), at_bar)]
    return max(norm.sf(z) for z in both), max(norm.cdf(z) for z in both)


def p_of_bar(tp: int, fn: int, fp: int, tn: int, min_f: Fraction, min_skill: Fraction) -> tuple[float, float, float]:
    """The bar of F1, and the p-values of F1 being at most it, and at least it."""
    if tp + fn + fp == 0 or fp + tn == 0:
        return NAN, NAN, NAN
    always = Fraction(2 * (tp + fn), 2 * (tp + fn) + fp + tn)
    skill_bar = always + min_skill * (1 - always)
    above, below = p_of_skill(tp, fn, fp, tn, float(min_skill))
    bar = max(min_f, skill_bar)
    p_weak = p_at_least(tp, fn, fp, bar)
    return (
        float(bar),
        max(p_at_most(tp, fn, fp, min_f), above),
        max(p_weak, below) if skill_bar > min_f else p_weak,
    )


def p_missed(rule: tuple[int, int], top: tuple[int, int], positives: int) -> float:
    """Twice the least, over F, of the larger p-value; counts are of true positives and of predictions."""
    if not positives:
        return NAN
    cells = [(tp, positives - tp, predicted - tp) for tp, predicted in (rule, top)]
    of_rule, of_top = (f_beta(*counts, 1.0) for counts in cells)
    if of_top < of_rule + CLEARLY:
        return 1.0

    def larger(f: float) -> float:
        index = f / (2 - f)
        (tp, fn, fp), (top_tp, top_fn, top_fp) = cells
        above = binom.sf(top_tp - 1, top_tp + top_fn + top_fp, index)
        return float(max(above, binom.cdf(tp, tp + fn + fp, index)))

    step = (of_top - of_rule) / 400
    best = min((of_rule + step * k for k in range(1, 400)), key=larger)
    found = minimize_scalar(larger, bounds=(best - step, best + step), method="bounded", options={"xatol": 1e-10})
    return min(1.0, 2 * min(larger(best), larger(found.x)))


# The verdict


def verdicts(rows: Sequence[dict[str, float]], alpha: float) -> list[str]:
    """The first that applies to each label, from the p-values of all."""
    shown = {
        name: rejected([row[name] for row in rows], alpha)
        for name in ("p_usable", "p_weak", "p_missed", "p_informative", "p_uninformative", "p_backwards")
    }
    found = []
    for j in range(len(rows)):
        known = shown["p_informative"][j]
        if shown["p_usable"][j]:
            found.append("usable")
        elif not known and (shown["p_uninformative"][j] or shown["p_backwards"][j]):
            found.append("useless")
        elif known and shown["p_missed"][j]:
            found.append("missed")
        else:
            found.append("weak" if shown["p_weak"][j] else "unproven")
    return found


def top_cut(truth: Sequence[int], scores: Sequence[float]) -> tuple[int, int]:
    """True positives and predictions of the lowest cut that marks at most as many rows as are positive."""
    positives = sum(truth)
    cuts = [
        [y for y, s in zip(truth, scores, strict=True) if s >= cut]
        for cut in sorted(set(scores))
        if sum(s >= cut for s in scores) <= positives
    ]
    return (sum(cuts[0]), len(cuts[0])) if cuts and positives else (0, 0)
