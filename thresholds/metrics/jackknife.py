"""How far F-measures of rules, and their differences on the same rows, may be chance: each row is left out once.

Each average of F over labels is a ratio of two sums over labels of what their counts give,

    average           numerator        denominator
    micro             (1 + b^2) tp_j   b^2 positives_j + predicted_j
    macro             F_j              1
    macro_supported   F_j              1                               (of labels with positives alone)
    weighted          positives_j F_j  positives_j

and a row changes the counts of those labels only that are true or predicted in it. So the average without that row is
exact, at the cost of the labels of the row. "samples" is a mean over rows. Rows of a group are left out together.
How that is done is in `leaving_out.py`; decisions that were kept when they were judged (`judging.py`) need not be made
again.

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
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from thresholds._arrays.blocks import in_pieces
from thresholds._arrays.types import Floats, Ints
from thresholds._engine.problem import Problem
from thresholds.metrics.counts import ConfusionCounts
from thresholds.metrics.judging import Decided
from thresholds.metrics.leaving_out import (
    OfRows,
    Units,
    terms_of,
    units_of,
    without_each_row,
    without_each_unit,
)

AVERAGES = ("micro", "macro", "macro_supported", "weighted", "samples")

_UNITS = 2**15  # of which a copy stays in the cache
_ROUNDING = 1e-20  # of squares: less is nothing


@dataclass(frozen=True, eq=False)
class LeftOut:
    """The averages of F of one rule on all rows, and how far they change if one unit (a row, or a group) is left out.

    A change is the average without a unit, less the mean of these.
    """

    on_all: dict[str, float]
    changes: dict[str, Floats]  # (n_units,) each
    n_active: int  # units with something true or predicted

    def n_units(self, average: str) -> int:
        """Return the number of units."""
        return self.changes[average].size

    def powers(self, average: str, other: "LeftOut | None") -> tuple[float, float]:
        """Return the sums of the squares and fourth powers of the changes, less those of another rule."""
        ours = self.changes[average]
        squares, fourth_powers = 0.0, 0.0
        for units in in_pieces(slice(0, ours.size), _UNITS):
            square = ours[units]  # (n_units,) of the piece
            if other is not None:
                square = square - other.changes[average][units]
            square = square * square
            squares += float(square.sum())
            fourth_powers += float((square * square).sum())
        return squares, fourth_powers

    @cached_property
    def mean_squares(self) -> dict[str, float]:
        """The mean of the squared changes of each average; where no unit changes it, of those of `two_units`."""
        found = {}
        for name in self.on_all:
            square = float(np.square(self.changes[name]).mean())
            of_two = sum(self.two_units(name)) / 2
            found[name] = square if square > _ROUNDING * of_two else of_two
        return found

    def two_units(self, average: str) -> tuple[float, float]:
        """Return what two units would change, squared: one that is all wrong, one that is all right."""
        value = self.on_all[average]
        n = self.n_units(average) if average == "samples" else max(self.n_active, 1)
        return (value / n) ** 2, ((1 - value) / n) ** 2


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


def leave_out_of(
    decided: Decided,
    problem: Problem,
    counts: ConfusionCounts,
    beta: float,
    groups: Ints | Units | None,
    zero_division: float = 0.0,
) -> LeftOut:
    """Return the averages of decisions without each row, or each of the `groups`, numbered from 0 (or their `Units`).

    `counts` are those of all rows, in the weights of the problem. Rows and groups of weight 0, and rows without a known
    cell, are no units.
    """
    totals = _Totals.of(counts, beta, zero_division)
    units = groups if isinstance(groups, Units) else units_of(problem, groups)
    known = problem.rows_with_known  # (n_known,) or None
    if known is not None:
        problem = problem.at_rows(known)
        decided = OfRows(decided, known)
    given = (totals.counts, totals.tops, totals.bottoms, beta, zero_division)
    if units.weigh_one:
        without = without_each_row(decided, problem, *given)
    else:
        without = without_each_unit(decided, problem, units, *given)

    # The averages without each unit, less their means: what each changes.
    changes = without.averages  # (5, n_units)
    changes -= changes.mean(axis=1, keepdims=True)
    return LeftOut(
        on_all=totals.averages(without.samples),
        changes=dict(zip(AVERAGES, changes, strict=True)),
        n_active=without.n_active,
    )


class _Totals(NamedTuple):
    """Counts of all rows, and numerators and denominators of the averages over labels."""

    counts: Floats  # (3, n_labels)
    tops: Floats  # (4,)
    bottoms: Floats  # (4,)
    zero_division: float

    @classmethod
    def of(cls, counts: ConfusionCounts, beta: float, zero_division: float) -> "_Totals":
        """Take the counts of all rows, in the weights of the problem."""
        all_counts = np.stack([counts.tp, counts.predicted, counts.positives]).astype(np.float64)
        terms = [terms_of(average, all_counts, beta, zero_division) for average in AVERAGES[:-1]]
        tops = np.array([top.sum() for top, _ in terms])
        bottoms = np.array([bottom.sum() for _, bottom in terms])
        return cls(all_counts, tops, bottoms, zero_division)

    def averages(self, samples: float) -> dict[str, float]:
        """Return all averages, that over rows as it is given; 0/0 as `metrics` has it."""
        pairs = zip(self.tops.tolist(), self.bottoms.tolist(), strict=True)
        micro, macro, supported, weighted = pairs
        on_all = [
            _ratio(*micro, float(self.zero_division)),
            _ratio(*macro, 0.0),
            _ratio(*supported, 0.0),
            _ratio(*weighted, _ratio(*macro, 0.0)),
            samples,
        ]
        return dict(zip(AVERAGES, on_all, strict=True))


def interval_of(rule: LeftOut, average: str, confidence: float) -> Interval:
    """Return an average of one rule, with its interval within [0, 1]."""
    value = rule.on_all[average]
    if rule.n_units(average) < 2:
        return Interval(value, np.nan, np.nan)
    added = rule.two_units(average)
    half = _standard_error(rule, None, average, added).times((1 + confidence) / 2)
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
    if rule.n_units(average) < 2:
        return StandardError(np.nan, np.nan)
    # What the two units that are added change, each.
    added = (rule.mean_squares[average] + baseline.mean_squares[average]) / 2
    return _standard_error(rule, baseline, average, (added, added))


def _standard_error(
    rule: LeftOut, other: LeftOut | None, average: str, added: Sequence[float]
) -> StandardError:
    """Return the standard error of what units change, of one rule or less those of another.

    `added` are the squares of what two units change that are added.
    """
    # The sum of squares is the variance; how uncertain it is itself, the fourth powers tell.
    squares, fourth_powers = rule.powers(average, other)
    total = squares + sum(added)
    fourth = fourth_powers + sum(square * square for square in added)
    n = rule.n_units(average)
    size = n + len(added)
    spread = fourth - total**2 / size
    most = size - 1
    freedom = min(2 * total**2 / spread, most) if spread > 0 else most
    return StandardError(float(np.sqrt((n - 1) / n * total)), freedom)


def _ratio(top: float, bottom: float, otherwise: float) -> float:
    """Divide, if there is something to divide by."""
    return top / bottom if bottom > 0 else otherwise
