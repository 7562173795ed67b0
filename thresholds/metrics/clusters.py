"""How many independent rows are the rows of groups, such as the images of patients, worth to a share of one label?

Precision, recall and F-beta of a label are ratios R = A / B of two sums over rows. Where rows of a group are alike, R
varies more from sample to sample than the same rows would if they were independent, and fewer rows say as much: with V
the variance of R over groups, and V_rows what it would be over rows,

    effective rows = rows V_rows / V

V is that of the jackknife, each group left out once, about R itself,

    V = sum over groups of ((A_g - R B_g) / (B - B_g))^2,    V_rows = sum over rows of ((A_i - R B_i) / B)^2

Only rows with a part in R count: those that are marked for precision, true for recall, either for F. Few groups make V
uncertain: the rows are multiplied by (z / t)^2, z the normal quantile and t Student's, with the degrees of freedom of
the jackknife (`jackknife.py`). So do Korn and Graubard 1998 ("Confidence intervals for proportions with small expected
number of positive counts estimated from survey data"); Dean and Pagano 2015 ("Evaluating confidence interval methods
for binomial proportions in clustered surveys") find Wilson's interval on as many rows among the best.

They are at most all rows, and at least what they were worth if all rows of a group were equal, (sum n_g)^2 / sum n_g^2
(Kish 1965, "Survey Sampling"). That is also what is taken where no variance is seen: R is 0 or 1, or all rows are of
one group. With one row in each group it is all rows: groups that are rows change nothing, to the last bit.
"""

from typing import NamedTuple

import numpy as np

from thresholds._arrays.types import Floats, Ints, Matrix
from thresholds._engine.problem import Problem
from thresholds.metrics.counts import count_by_label
from thresholds.metrics.leaving_out import count_units


class IndependentShares(NamedTuple):
    """Of the rows with a part in each ratio, the share that counts as independent; (n_labels,) each, in (0, 1]."""

    precision: Floats
    recall: Floats
    f: Floats


class _Ratio(NamedTuple):
    """A ratio of counts, tp_weight tp / (positives_weight positives + predicted_weight predicted)."""

    tp_weight: float
    positives_weight: float
    predicted_weight: float

    def sums(self, counts: Floats) -> tuple[Floats, Floats, Floats]:
        """Return numerator, denominator, and how many rows have a part in it, of counts (3, n)."""
        tp, predicted, positives = counts
        bottom = self.positives_weight * positives + self.predicted_weight * predicted
        rows = tp.copy()
        if self.positives_weight:
            rows += positives - tp
        if self.predicted_weight:
            rows += predicted - tp
        return self.tp_weight * tp, bottom, rows


def independent_shares(
    decided: Matrix, problem: Problem, groups: Ints, beta: float, confidence: float
) -> IndependentShares:
    """Tell what part of each label's rows counts as independent, for intervals of a confidence.

    `decided` (n_samples, n_labels) are decisions, 0 where the truth is not known; weights are left aside. `groups`
    (n_samples,) are numbers from 0.
    """
    counts = count_by_label(problem.truth, decided, None).sums.astype(np.float64)  # (3, n_labels)
    n_labels = problem.n_labels
    beta2 = beta * beta
    ratios = (_Ratio(1, 0, 1), _Ratio(1, 1, 0), _Ratio(1 + beta2, beta2, 1))

    # Of each ratio: groups, squares of their sizes, squares and fourth powers of what leaving one out changes.
    sums = np.zeros((3, 4, n_labels))
    for units in count_units(decided, problem, groups, weighted=False):
        for of_ratio, ratio in zip(sums, ratios, strict=True):
            all_top, all_bottom, _ = ratio.sums(counts)  # (n_labels,) each
            value = all_top / np.where(all_bottom > 0, all_bottom, 1)  # 0 for 0/0
            top, bottom, rows = ratio.sums(units.counts)  # (n_pairs,) each
            rest = all_bottom[units.label] - bottom
            change = (top - value[units.label] * bottom) / np.where(rest > 0, rest, np.inf)
            square = change * change
            for k, column in enumerate((rows > 0, rows * rows, square, square * square)):
                of_ratio[k] += np.bincount(units.label, column, n_labels)
    pairs = zip(ratios, sums, strict=True)
    return IndependentShares(*(_share(ratio, counts, some, confidence) for ratio, some in pairs))


def _share(ratio: _Ratio, counts: Floats, sums: Floats, confidence: float) -> Floats:
    """Return the effective rows of each label, divided by all that have a part in its ratio; 1 without any.

    `sums` (4, n_labels) are the number of groups, and sums of squares of their sizes, of squares, and of fourth powers
    of what leaving one out changes.
    """
    from scipy.special import ndtri, stdtrit

    n_groups, size_squares, squares, fourth_powers = sums  # (n_labels,) each
    tp, predicted, positives = counts
    top, bottom, rows = ratio.sums(counts)
    value = top / np.where(bottom > 0, bottom, 1)  # 0 for 0/0

    # The variance over rows: of those right, missed, and wrongly marked.
    right = ratio.tp_weight - value * (ratio.positives_weight + ratio.predicted_weight)
    of_rows = (
        tp * right**2
        + (positives - tp) * (value * ratio.positives_weight) ** 2
        + (predicted - tp) * (value * ratio.predicted_weight) ** 2
    )

    # How many times as large it is as that over groups; few groups make the latter uncertain.
    level = (1 + confidence) / 2
    with np.errstate(divide="ignore", invalid="ignore"):
        times = of_rows / bottom**2 / squares
        freedom = 2 * squares**2 / (fourth_powers - squares**2 / n_groups)
    most = np.maximum(n_groups - 1, 1)
    freedom = np.where(fourth_powers > squares**2 / np.maximum(n_groups, 1), freedom, most)
    quantiles = ndtri(level) / stdtrit(np.clip(freedom, 1, most), level)
    if_alike = rows / np.maximum(size_squares, 1)
    share = np.clip(np.nan_to_num(times, nan=0) * quantiles**2, if_alike, 1)
    has_variance = (of_rows > 0) & (n_groups > 1)
    return np.where(rows > 0, np.where(has_variance, share, if_alike), 1.0)
