"""Is F above a bar, or below, or would another cut reach more? Tests of each label, and how many positives they need.

**The bar** of a label is the higher of two. One is `min_f`. The other lies above what is reached by marking every row,
F_always = (1 + B) b / (B b + 1) for base rate b and B = beta^2, which is high for common labels,

    F_always + min_skill (1 - F_always)

Both are tested, and the larger p-value counts. The test of F against `min_f` is exact for beta = 1
(`metrics.intervals`); that of the second bar allows for b being estimated on the same rows (`_p_of_skill`).

**Another cut** is the lowest that marks at most as many rows as are positive; ties that would exceed them stay out. It
is not chosen by what it reaches, so nothing of that is luck. It reaches more if the bounds of F there lie above those
of the rule's F. Bounds that do not meet need no assumption on how the two depend on each other:

    p = 2 min over f of max(p(F of the cut is at most f), p(F of the rule is at least f))

And more by `_CLEARLY` at least, as a trifle is not worth a new threshold.
"""

from typing import NamedTuple

import numpy as np

from thresholds._arrays.types import Floats, Numbers
from thresholds._engine.f_measure import f_of_counts
from thresholds._significance import rejected
from thresholds.diagnosis.evidence import Criteria
from thresholds.metrics.intervals import p_at_least, p_at_most, rows_needed

_CLEARLY = 0.1  # of F, that another cut must reach above the rule
_HALVINGS = 30


class Marked(NamedTuple):
    """What is marked of each label; float64 (n_labels,) each."""

    tp: Floats
    predicted: Floats
    positives: Floats

    def times(self, part: Floats) -> "Marked":
        """Return so many times as many of each."""
        return Marked(*(counts * part for counts in self))


def bar_of(base_rate: Floats, criteria: Criteria, beta: float) -> Floats:
    """Return the bar of each label."""
    return np.maximum(criteria.min_f, _skill_bar(base_rate, criteria, beta))


def p_of_bar(marked: Marked, n: Numbers, criteria: Criteria, beta: float) -> tuple[Floats, Floats]:
    """Return the p-values of F being at most the bar, and at least the bar.

    NaN where F is 0/0, and without negatives, where nothing is better than to mark every row.
    """
    skill_bar = _skill_bar(marked.positives / n, criteria, beta)
    p_at_most_skill, p_at_least_skill = _p_of_skill(marked, n, criteria, beta)
    p_at_most_min = p_at_most(*marked, np.full_like(skill_bar, criteria.min_f), beta)
    p_at_least_bar = p_at_least(*marked, np.maximum(criteria.min_f, skill_bar), beta)
    p_usable = np.maximum(p_at_most_min, p_at_most_skill)
    p_weak = np.where(
        skill_bar > criteria.min_f, np.maximum(p_at_least_bar, p_at_least_skill), p_at_least_bar
    )
    testable = (marked.predicted + marked.positives > 0) & (marked.positives < n)
    return np.where(testable, p_usable, np.nan), np.where(testable, p_weak, np.nan)


def _skill_bar(base_rate: Floats, criteria: Criteria, beta: float) -> Floats:
    """Return the bar above marking every row."""
    f_always = (1 + beta**2) * base_rate / (beta**2 * base_rate + 1)
    return f_always + criteria.min_skill * (1 - f_always)


def _p_of_skill(
    marked: Marked, n: Numbers, criteria: Criteria, beta: float
) -> tuple[Floats, Floats]:
    """Return the p-values of F being at most, and at least, the bar above marking every row.

    F less the bar is divided by its standard error: as it is here, and as it would be if F were at the bar. As numbers
    of mistakes are skewed, the one is too bold above the bar, and the other below. The larger p-value of both is taken.
    """
    from scipy.special import ndtr

    f = f_of_counts(*marked, beta, np.nan)
    bar = _skill_bar(marked.positives / n, criteria, beta)
    tp = marked.tp
    fn = marked.positives - tp
    fp = marked.predicted - tp
    rows = tp + fn + fp
    here = np.stack([tp, fn, fp])  # (3, n_labels)

    # As many rows with a part in F, of which just so many are mistakes, of the same kinds, that F is at the bar.
    missed = (fn + 0.5) / (fn + fp + 1)
    beta2 = beta * beta
    with np.errstate(divide="ignore"):
        right = bar * (beta2 * missed + 1 - missed) / ((1 + beta2) * (1 - bar))  # to one mistake
    mistakes = rows / (1 + right)
    at_bar = np.stack([rows - mistakes, mistakes * missed, mistakes * (1 - missed)])

    with np.errstate(all="ignore"):
        z = np.stack([(f - bar) / _error(cells, n, criteria, beta) for cells in (here, at_bar)])
    z = np.nan_to_num(z)  # (2, n_labels)
    return ndtr(-z).max(axis=0), ndtr(z).max(axis=0)


def _error(cells: Floats, n: Numbers, criteria: Criteria, beta: float) -> Floats:
    """Return the standard error of F less the bar above marking every row, by the delta method.

    `cells` are true positives, misses and false alarms, (3, n_labels).
    """
    tp, fn, fp = cells
    beta2 = beta * beta
    positives = tp + fn
    base_rate = positives / n
    scale = (beta2 * positives + tp + fp) / n
    f = (1 + beta2) * tp / n / scale

    # How much n F changes with one true positive, miss or false alarm more, less what n times the bar changes with one
    # positive or negative more.
    slope = (1 - criteria.min_skill) * (1 + beta2) / (beta2 * base_rate + 1) ** 2
    of_positive = slope * (1 - base_rate)
    of_negative = -slope * base_rate
    squares = (
        tp * ((1 + beta2) * (1 - f) / scale - of_positive) ** 2
        + fn * (-f * beta2 / scale - of_positive) ** 2
        + fp * (-f / scale - of_negative) ** 2
        + np.maximum(n - tp - fn - fp, 0) * of_negative**2
    )
    return np.asarray(np.sqrt(squares) / n)


def p_missed(rule: Marked, top: Marked, beta: float) -> Floats:
    """Return the p-values of F of the other cut being at most that of the rule; 1 where it is not clearly higher here.

    NaN without positives. The one p-value falls with f and the other rises, so that the larger is least where they
    cross.
    """
    p = np.where(rule.positives > 0, 1.0, np.nan)
    low = f_of_counts(*rule, beta, 0.0)
    high = f_of_counts(*top, beta, 0.0)
    some = np.flatnonzero((rule.positives > 0) & (high >= low + _CLEARLY))
    rule = Marked(*(counts[some] for counts in rule))
    top = Marked(*(counts[some] for counts in top))
    low = low[some]
    high = high[some]
    for _ in range(_HALVINGS):
        f = (low + high) / 2
        p_top = p_at_most(*top, f, beta)
        p_rule = p_at_least(*rule, f, beta)
        low = np.where(p_top < p_rule, f, low)
        high = np.where(p_top < p_rule, high, f)
        p[some] = np.minimum(2 * np.maximum(p_top, p_rule), 1)
    return p


def positives_needed(
    marked: Marked,
    n: Numbers,
    p_usable: Floats,
    p_weak: Floats,
    criteria: Criteria,
    beta: float,
    part: Floats | float = 1.0,
) -> Floats:
    """Return how many positives would show F to be above the bar, or below, with probability .8, if it is what it is.

    At the p-value that Benjamini and Hochberg's procedure would ask of one more label than are rejected here.
    Rounded up to two digits, and infinite above `most_positives`. Of a label without positives how many would be enough
    if no mistake were made. NaN without negatives. Of the rows of a label that `part` counts as independent.
    """
    is_known = marked.positives > 0
    tp, predicted, positives = (np.where(is_known, counts, 1.0) for counts in marked)
    bar = bar_of(marked.positives / n, criteria, beta)
    f = f_of_counts(tp, predicted, positives, beta, np.nan)
    level = np.where(f > bar, *(next_level(p, criteria.alpha) for p in (p_usable, p_weak)))
    has_negatives = marked.positives < n
    # Rows with a part in F.
    rows = rows_needed(tp, predicted, positives, np.where(has_negatives, bar, 0.5), level, beta)
    share = positives / (predicted + positives - tp)  # of these rows that are positives
    needed = np.maximum(rows * share / part, marked.positives + 1)
    rounded = two_digits(needed)
    rounded = np.where(rounded <= most_positives(marked.positives), rounded, np.inf)
    return np.where(has_negatives, rounded, np.nan)


def two_digits(numbers: Floats, rounded: np.ufunc = np.ceil) -> Floats:
    """Round numbers of at least 1 to two digits, up or (`np.floor`) down; NaN and inf stay."""
    with np.errstate(invalid="ignore"):
        digits = 10 ** np.maximum(np.floor(np.log10(numbers)) - 1, 0)
        return np.where(np.isfinite(numbers), rounded(numbers / digits) * digits, numbers)


def most_positives(positives: Floats) -> Floats:
    """Return the number of positives above which an estimate of how many are needed is worth nothing."""
    return np.maximum(10 * positives, 1000)


def next_level(p: Floats, alpha: float) -> float:
    """Return the p-value that would be rejected beside those that are (Benjamini & Hochberg)."""
    n_tested = max(int(np.count_nonzero(~np.isnan(p))), 1)
    n_rejected = int(np.count_nonzero(rejected(p, alpha)))
    return alpha * min(n_rejected + 1, n_tested) / n_tested
