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

from thresholds._arrays.types import Floats, Ints
from thresholds._engine.problem import Problem
from thresholds.metrics.counts import ConfusionCounts
from thresholds.metrics.judging import Decided
from thresholds.metrics.leaving_out import Cells, OfRows, truth_of, units_of


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

    def sums(self, counts: Floats) -> tuple[Floats, Floats]:
        """Return numerator and denominator."""
        tp, predicted, positives = counts
        bottom = self.positives_weight * positives + self.predicted_weight * predicted
        return self.tp_weight * tp, bottom

    def rows(self, counts: Floats) -> Floats:
        """Return how many rows have a part in it."""
        tp, predicted, positives = counts
        only_true = positives - tp if self.positives_weight else 0.0
        only_marked = predicted - tp if self.predicted_weight else 0.0
        return np.asarray(tp + only_true + only_marked)


def independent_shares(
    decided: Decided,
    problem: Problem,
    counts: ConfusionCounts,
    groups: Ints,
    beta: float,
    confidence: float,
) -> IndependentShares:
    """Tell what part of each label's rows counts as independent, for intervals of a confidence.

    `counts` are those of the decisions, without weights; `groups` (n_samples,) are numbers from 0.
    """
    units = units_of(problem, groups)
    known = problem.rows_with_known  # (n_known,) or None
    if known is not None:
        problem = problem.at_rows(known)
        decided = OfRows(decided, known)

    # The cells that are true or marked, group after group; a group may go on in the next block.
    beta2 = beta * beta
    ratios = (_Ratio(1, 0, 1), _Ratio(1, 1, 0), _Ratio(1 + beta2, beta2, 1))
    added = [_Added(ratio, counts.sums.astype(np.float64)) for ratio in ratios]
    pending = np.zeros((2, 0), np.int64)  # unit and cell of the last group
    for rows in problem.row_blocks():
        chosen = rows if units.order is None else units.order[rows]
        cells = Cells.of(truth_of(problem, chosen), decided.about(chosen))
        unit = units.unit[rows].repeat(np.diff(cells.starts))  # (n_cells,)
        both = np.stack([unit, cells.listed])
        both = np.concatenate([pending, both], axis=1)
        is_pending = both[0] == units.unit[rows.stop - 1]
        pending = both[:, is_pending]
        _add_groups(added, both[:, ~is_pending], problem.n_labels)
    _add_groups(added, pending, problem.n_labels)
    return IndependentShares(*(of_ratio.independent_share(confidence) for of_ratio in added))


def _add_groups(added: "list[_Added]", unit_and_cell: Ints, n_labels: int) -> None:
    """Count the cells of whole groups by label, and add these up."""
    unit, cell = unit_and_cell
    pairs, pair = np.unique(unit * n_labels + cell // 4, return_inverse=True)
    is_true, is_marked = cell % 4 // 2, cell % 2
    columns = (is_true & is_marked, is_marked, is_true)
    counts = np.array([np.bincount(pair, column, pairs.size) for column in columns], np.float64)
    for of_ratio in added:
        of_ratio.add(pairs % n_labels, counts)


class _Added:
    """Adds up, for each label, what its ratio changes without each group."""

    def __init__(self, ratio: _Ratio, counts: Floats) -> None:
        self._ratio = ratio
        self._counts = counts  # (3, n_labels)
        self._top, self._bottom = ratio.sums(counts)  # (n_labels,) each
        n_labels = counts.shape[1]
        self._sums = np.zeros(
            (4, n_labels)
        )  # groups, squares of sizes, squares and fourth powers of changes

    @property
    def _value(self) -> Floats:
        """The ratio of each label, 0 for 0/0."""
        return np.asarray(self._top / np.where(self._bottom > 0, self._bottom, 1))

    def add(self, label: Ints, counts: Floats) -> None:
        """Add some groups: the label of each, and its counts there, (3, n)."""
        top, bottom = self._ratio.sums(counts)
        size = self._ratio.rows(counts)
        rest = self._bottom[label] - bottom
        change = (top - self._value[label] * bottom) / np.where(rest > 0, rest, np.inf)
        square = change * change
        columns = (size > 0, size * size, square, square * square)
        n_labels = self._bottom.size
        for sums, column in zip(self._sums, columns, strict=True):
            sums += np.bincount(label, column, n_labels)

    def independent_share(self, confidence: float) -> Floats:
        """Return the effective rows of each label, divided by all that have a part in its ratio; 1 without any."""
        from scipy.special import ndtri, stdtrit

        n_groups, size_squares, squares, fourth_powers = self._sums
        rows = self._ratio.rows(self._counts)
        tp, predicted, positives = self._counts

        # The variance over rows: of those right, missed, and wrongly marked.
        weights, value = self._ratio, self._value
        right = weights.tp_weight - value * (weights.positives_weight + weights.predicted_weight)
        of_rows = (
            tp * right**2
            + (positives - tp) * (value * weights.positives_weight) ** 2
            + (predicted - tp) * (value * weights.predicted_weight) ** 2
        )
        level = (1 + confidence) / 2
        with np.errstate(divide="ignore", invalid="ignore"):
            ratio = of_rows / self._bottom**2 / squares
            freedom = 2 * squares**2 / (fourth_powers - squares**2 / n_groups)
        most = np.maximum(n_groups - 1, 1)
        freedom = np.where(fourth_powers > squares**2 / np.maximum(n_groups, 1), freedom, most)
        quantiles = ndtri(level) / stdtrit(np.clip(freedom, 1, most), level)
        if_alike = rows / np.maximum(size_squares, 1)
        share = np.clip(np.nan_to_num(ratio, nan=0) * quantiles**2, if_alike, 1)
        has_variance = (of_rows > 0) & (n_groups > 1)
        return np.where(rows > 0, np.where(has_variance, share, if_alike), 1.0)
