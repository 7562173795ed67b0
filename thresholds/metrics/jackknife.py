"""How far F-measures of rules, and their differences on the same rows, may be chance: each row is left out once.

Averages without each row, or each group of rows, are exact (`leaving_out.py`).

The variance of a difference d of two rules is that of the jackknife (Tukey 1958),

    V = (n - 1) / n sum_i (d_-i - mean of all d_-i)^2,    d_-i the difference without row i of n

Without the factor (n - 1) / n its mean is at least the variance of d on samples of n - 1 rows, whatever the statistic
(the theorem of Efron and Stein 1981, "The jackknife estimate of variance"). So it serves labels with one positive, too,
where F jumps from 1 to 0. The bootstrap does not: 37 % of its samples lack the only positive of a label, and its mean
macro-F1 lies far below that of the sample.

Rules that decide few rows differently, or none, may differ on others. So two rows are added to V, one in favour of each
rule, each as large as a row is on average in one rule alone (root mean square): the idea of Agresti and Coull 1998 for
proportions. Of a rule that is all right, or all wrong, no row changes anything: what counts is what is added to its own
variance, see below.

The variance of an average F of one rule is the same sum, with F in the place of d. A rule that is all right, or all
wrong, on these rows need not be so on others: again two rows are added, one all right and one all wrong, which change F
by (1 - F) / n and F / n, n the rows with something true or predicted (for "samples" all rows).

The interval is d -+ t sqrt(V). If few rows make up V, V itself is uncertain: t is Student's, its degrees of freedom
2 S2^2 / (S4 - S2^2 / n) with S2 and S4 the sums of the squares and fourth powers in V (Satterthwaite 1946: a
chi-square whose variance is that of V), at most one less than there are squares. That of F ends at 0 and 1, that of a
difference at -1 and 1. Labels of a
row may depend on each other as they like: rows (or groups) are what must be independent.

An interval is for the mean of F over samples of as many rows. For micro and samples F, and for labels with some
positives, that is F of the population. The mean F of a label with one or two positives is not, as a cut that is met by
few positives is mostly met by none or by one.

Of k rules one is best on these rows, by luck as well. Whichever is truly best, it is k - 1 others that may be ahead of
it by luck: so intervals of what rules are behind the best have a confidence of 1 - (1 - confidence) / (k - 1) each
(Bonferroni; "multiple comparisons with the best", Hsu 1981). They are two-sided, so that two equally good rules are
told apart no more often than 1 - confidence. That each of many equally good rules stays is not promised: of 25, one or
another was told apart in 14 to 23 % of the samples, a given one in 1 to 2 %. Drawing the largest of the k - 1
differences by their correlations would make the intervals of 25 rules 4 to 20 % narrower, and would tell two more of
them apart at most (`experiments/intervals/coverages.txt`, for all of this).
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from thresholds.metrics.leaving_out import LeftOut

_LEAST_SQUARE = 1e-20  # of squares: less is nothing


class Interval(NamedTuple):
    """A figure, and where it may lie on other samples of as many rows."""

    value: float
    lower: float  # NaN, as is `upper`, where a single row or group tells nothing of others
    upper: float


class StandardError(NamedTuple):
    """How far a difference of two rules may be chance."""

    value: float  # NaN where a single row or group tells nothing of others
    freedom: float  # degrees of freedom of Student's t

    def times(self, level: float) -> float:
        """Return what a difference exceeds with a probability of 1 - `level` if there is none."""
        from scipy.special import stdtrit

        return float(stdtrit(self.freedom, level) * self.value)


def interval_of(rule: LeftOut, average: str, confidence: float) -> Interval:
    """Return an average of one rule, with its interval within [0, 1]."""
    value = rule.on_all[average]
    if rule.changes[average].size < 2:
        return Interval(value, np.nan, np.nan)
    error = _standard_error(rule, None, average, _squares_of_two_units(rule, average))
    half = error.times((1 + confidence) / 2)
    return Interval(value, max(value - half, 0.0), min(value + half, 1.0))


def difference_of(rule: LeftOut, baseline: LeftOut, average: str, confidence: float) -> Interval:
    """Return how much higher an average of one rule is than that of another, on the same rows, with its interval."""
    value = rule.on_all[average] - baseline.on_all[average]
    half = standard_error_of(rule, baseline, average).times((1 + confidence) / 2)
    lower, upper = np.clip([value - half, value + half], -1, 1).tolist()
    return Interval(value, lower, upper)


def behind(
    best: LeftOut, rule: LeftOut, average: str, confidence: float, n_rules: int
) -> tuple[Interval, bool]:
    """Return how far a rule is behind the best of `n_rules` on these rows, and whether the two cannot be told apart.

    They cannot where the interval holds 0. It is wider than that of `difference_of`, as the best is the best of many.
    The rule that is truly best is among those that cannot be told apart from the best with a probability of at least
    `confidence`, and so are two that are equally good and better than the others. The best, of equals one of them, is
    behind itself by 0 to 0.
    """
    if rule is best:
        return Interval(0.0, 0.0, 0.0), True
    of_each = 1 - (1 - confidence) / (n_rules - 1)
    interval = difference_of(best, rule, average, of_each)
    return interval, not interval.lower > 0


def standard_error_of(rule: LeftOut, baseline: LeftOut, average: str) -> StandardError:
    """Return the standard error of the difference of two rules, on the same rows."""
    if rule.changes[average].size < 2:
        return StandardError(np.nan, np.nan)
    # What the two units that are added change, each.
    added = (_mean_square(rule, average) + _mean_square(baseline, average)) / 2
    return _standard_error(rule, baseline, average, (added, added))


def _squares_of_two_units(rule: LeftOut, average: str) -> tuple[float, float]:
    """Return what two units would change, squared: one that is all wrong, one that is all right."""
    value = rule.on_all[average]
    n = rule.changes[average].size if average == "samples" else max(rule.n_active, 1)
    return (value / n) ** 2, ((1 - value) / n) ** 2


def _mean_square(rule: LeftOut, average: str) -> float:
    """Return the mean of the squared changes; where no unit changes anything, that of `_squares_of_two_units`."""
    square = float(np.square(rule.changes[average]).mean())
    of_two = sum(_squares_of_two_units(rule, average)) / 2
    return square if square > _LEAST_SQUARE * of_two else of_two


def _standard_error(
    rule: LeftOut, other: LeftOut | None, average: str, added: Sequence[float]
) -> StandardError:
    """Return the standard error of what units change, of one rule or less those of another.

    `added` are the squares of what two units change that are added.
    """
    changes = rule.changes[average]  # (n_units,)
    if other is not None:
        changes = changes - other.changes[average]
    squares = np.append(changes * changes, added)  # (n_units + 2,)

    # The sum of squares is the variance; how uncertain it is itself, the fourth powers tell.
    total = float(squares.sum())
    spread = float((squares * squares).sum()) - total**2 / squares.size
    most = squares.size - 1
    freedom = min(2 * total**2 / spread, most) if spread > 0 else most
    n = changes.size
    return StandardError(float(np.sqrt((n - 1) / n * total)), freedom)
