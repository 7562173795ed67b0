"""How far the difference of two rules' F-measures may be chance: rows are paired, and each is left out once.

Each average of F over labels is a ratio of two sums over labels of what their counts give,

    average           numerator        denominator
    micro             (1 + b^2) tp_j   b^2 positives_j + predicted_j
    macro             F_j              1
    macro_supported   F_j              1                               (of labels with positives alone)
    weighted          positives_j F_j  positives_j

and a row changes the counts of those labels only that are true or predicted in it. So the average without that row is
exact, at the cost of the labels of the row. "samples" is a mean over rows. Rows of a group are left out together.

The variance of a difference d of two rules is that of the jackknife (Tukey 1958),

    V = (n - 1) / n sum_i (d_-i - mean of all d_-i)^2,    d_-i the difference without row i of n,

Without the factor (n - 1) / n its mean is at least the variance of d on samples of n - 1 rows, whatever the statistic
(the theorem of Efron and Stein 1981, "The jackknife estimate of variance"). So it serves labels with one positive, too,
where F jumps from 1 to 0. The bootstrap does not: 37 % of its samples lack the only positive of a label, and its mean
macro-F1 lies far below that of the sample.

Rules that decide few rows differently, or none, may differ on others. So two rows are added to V, one in favour of each
rule, each as large as a row is on average in one rule alone (root mean square): the idea of Agresti and Coull 1998 for
proportions.

The interval is d -+ t sqrt(V). If few rows make up V, V itself is uncertain: t is Student's, its degrees of freedom
2 S2^2 / (S4 - S2^2 / n) with S2 and S4 the sums of the squares and fourth powers in V (Satterthwaite 1946: a
chi-square whose variance is that of V), at most one less than there are squares.
"""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple, Protocol

import numpy as np

from thresholds._arrays.sparse import is_sparse, row_of_entries, to_dense
from thresholds._arrays.types import Floats, Ints, Matrix, Numbers
from thresholds.data.problem import Problem
from thresholds.metrics.counts import ConfusionCounts, f_of_counts
from thresholds.metrics.judging import Decisions

if TYPE_CHECKING:
    from thresholds.rule import Rule

AVERAGES = ("micro", "macro", "macro_supported", "weighted", "samples")


class LeftOut(NamedTuple):
    """The averages of F of one rule, each on all rows and without one unit (a row, or a group) after the other."""

    on_all: dict[str, float]
    without: dict[str, Floats]  # (n_units,) each


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


class Decided(Protocol):
    """Decisions about rows of a problem."""

    def about(self, rows: Ints) -> Matrix:
        """Return those about some rows, (n_rows, n_labels)."""


class _Cells(NamedTuple):
    """The labels that are true or predicted in a unit, with the unit's counts; each pair of unit and label once."""

    unit: Ints  # (n_cells,)
    label: Ints  # (n_cells,)
    counts: Numbers  # (3, n_cells): true positives, predicted, positives


def leave_out(
    rule: "Rule",
    problem: Problem,
    counts: ConfusionCounts,
    beta: float,
    groups: Ints | None,
    zero_division: float = 0.0,
) -> LeftOut:
    """Return the averages of a rule without each row, or each of the `groups`."""
    return leave_out_of(Decisions(rule, problem), problem, counts, beta, groups, zero_division)


def leave_out_of(
    decided: Decided,
    problem: Problem,
    counts: ConfusionCounts,
    beta: float,
    groups: Ints | None,
    zero_division: float = 0.0,
    averages: Sequence[str] = AVERAGES,
) -> LeftOut:
    """Return averages of decisions without each row, or each of the `groups`, numbered from 0.

    `counts` are those of all rows, in the weights of the problem. Rows and groups of weight 0 are no units.
    """
    over_labels = [average for average in averages if average != "samples"]
    n = problem.n_samples
    units = np.arange(n) if groups is None else groups  # (n_samples,)
    weights = np.ones(n) if problem.sample_weight is None else problem.sample_weight  # (n_samples,)
    weight_of_unit = np.bincount(units, weights)  # (n_units,)
    n_units = weight_of_unit.size
    all_counts = np.stack([counts.tp, counts.predicted, counts.positives])  # (3, n_labels)

    # Numerators and denominators of all labels together.
    totals = {}
    for average in over_labels:
        top, bottom = _terms(average, all_counts, beta, zero_division)
        totals[average] = (top.sum(), bottom.sum())

    # What of them goes when a unit is left out, and the weighted F of its rows; blocks hold whole units.
    lost = {average: np.zeros((2, n_units)) for average in over_labels}
    f_of_unit = np.zeros(n_units)
    for rows in _whole_units(problem, units):
        cells = _cells_of(problem.truth[rows], decided.about(rows), weights[rows])
        first = units[rows[0]]
        unit = units[rows] - first  # (n_rows,) rising
        here = slice(first, first + unit[-1] + 1)
        n_here = here.stop - here.start
        f_of_rows = _f_of_rows(cells, rows.size, weights[rows], beta, zero_division)
        f_of_unit[here] = np.bincount(unit, f_of_rows, n_here)
        cells = cells._replace(unit=unit[cells.unit])
        if groups is not None:
            cells = _added_up(cells, problem.n_labels)
        for average in over_labels:
            lost[average][:, here] = _lost(average, cells, n_here, all_counts, beta, zero_division)

    # The averages without each unit.
    present = weight_of_unit > 0  # (n_units,)
    on_all = {}
    without = {}
    for average, (top, bottom) in totals.items():
        on_all[average] = float(_ratio(top, bottom))
        without[average] = _ratio(top - lost[average][0], bottom - lost[average][1])[present]
    if "samples" in averages:
        total = weights.sum()
        on_all["samples"] = float(_ratio(f_of_unit.sum(), total))
        without["samples"] = _ratio(f_of_unit.sum() - f_of_unit, total - weight_of_unit)[present]
    return LeftOut(on_all, without)


def difference_of(rule: LeftOut, baseline: LeftOut, average: str, confidence: float) -> Interval:
    """Return how much higher an average of one rule is than that of another, on the same rows, with its interval."""
    value = rule.on_all[average] - baseline.on_all[average]
    half = standard_error_of(rule, baseline, average).times((1 + confidence) / 2)
    return Interval(value, value - half, value + half)


def standard_error_of(rule: LeftOut, baseline: LeftOut, average: str) -> StandardError:
    """Return the standard error of the difference of two rules, on the same rows."""
    ours = rule.without[average]  # (n_units,)
    theirs = baseline.without[average]  # (n_units,)
    n = ours.size
    if n < 2:
        return StandardError(np.nan, np.nan)

    # Squares of what each unit changes, and of what the two units change that are added.
    of_units = _squares(ours - theirs)  # (n_units,)
    added = (_squares(ours).mean() + _squares(theirs).mean()) / 2
    squares = np.append(of_units, (added, added))  # (n_units + 2,)

    # Their sum is the variance; how uncertain it is itself, their squares tell.
    total = float(squares.sum())
    spread = float((squares**2).sum()) - total**2 / squares.size
    most = squares.size - 1
    freedom = min(2 * total**2 / spread, most) if spread > 0 else most
    return StandardError(float(np.sqrt((n - 1) / n * total)), freedom)


def _squares(without: Floats) -> Floats:
    """Return the squares of what leaving out each unit changes, beside what it does on average."""
    return np.asarray((without - without.mean()) ** 2)


def _lost(
    average: str,
    cells: _Cells,
    n_units: int,
    all_counts: Numbers,
    beta: float,
    zero_division: float,
) -> Floats:
    """Return what numerator and denominator lose without each unit, (2, n_units)."""
    with_unit = all_counts[:, cells.label]  # (3, n_cells)
    without_unit = np.maximum(with_unit - cells.counts, 0)
    before = _terms(average, with_unit, beta, zero_division)
    after = _terms(average, without_unit, beta, zero_division)
    parts = zip(before, after, strict=True)
    return np.stack([np.bincount(cells.unit, one - other, n_units) for one, other in parts])


def _terms(
    average: str, counts: Numbers, beta: float, zero_division: float
) -> tuple[Numbers, Numbers]:
    """Return what each label adds to the numerator and to the denominator of an average."""
    tp, predicted, positives = counts
    if average == "micro":
        beta2 = beta * beta
        return (1 + beta2) * tp, beta2 * positives + predicted
    f = f_of_counts(tp, predicted, positives, beta, zero_division)
    if average == "macro":
        return f, np.ones(f.shape)
    if average == "macro_supported":
        has_positives = (positives > 0).astype(np.float64)
        return f * has_positives, has_positives
    return positives * f, positives


def _whole_units(problem: Problem, units: Ints) -> Iterator[Ints]:
    """Return blocks of rows that no unit extends over, in the order of the units."""
    order = np.argsort(units, kind="stable")  # (n_samples,)
    ends_unit = np.append(np.diff(units[order]) > 0, True)  # (n_samples,)
    start = 0
    for block in problem.row_blocks():
        # Up to the last row of the unit that the block ends in.
        last = block.stop - 1 + int(np.argmax(ends_unit[block.stop - 1 :]))
        if last >= start:
            yield order[start : last + 1]
            start = last + 1


def _cells_of(truth: Matrix, predicted: Matrix, weights: Numbers) -> _Cells:
    """Return the cells of some rows that are true or predicted, each row being a unit."""
    row, label, is_true, is_predicted = _true_or_predicted(truth, predicted)
    # (3, n_cells)
    counts = np.stack([is_true & is_predicted, is_predicted, is_true]) * weights[row]
    return _Cells(row, label, counts)


def _true_or_predicted(truth: Matrix, predicted: Matrix) -> tuple[Ints, Ints, Numbers, Numbers]:
    """Return row and label of each cell that is true or predicted, and which of both it is."""
    if is_sparse(truth) and is_sparse(predicted):
        both = (2 * truth.astype(np.int8) + predicted.astype(np.int8)).tocsr()
        return (
            row_of_entries(both),
            both.indices.astype(np.int64),
            both.data >= 2,
            both.data % 2 > 0,
        )
    is_true = to_dense(truth) != 0  # (n_rows, n_labels)
    is_predicted = to_dense(predicted) != 0  # (n_rows, n_labels)
    row, label = np.nonzero(is_true | is_predicted)
    return row, label, is_true[row, label], is_predicted[row, label]


def _added_up(cells: _Cells, n_labels: int) -> _Cells:
    """Add up the counts of each pair of unit and label."""
    pairs, place = np.unique(cells.unit * n_labels + cells.label, return_inverse=True)
    counts = np.stack([np.bincount(place, row, pairs.size) for row in cells.counts])
    return _Cells(pairs // n_labels, pairs % n_labels, counts)


def _f_of_rows(
    cells: _Cells, n_rows: int, weights: Numbers, beta: float, zero_division: float
) -> Floats:
    """Return the F of each row, times its weight."""
    tp, predicted, positives = (np.bincount(cells.unit, of > 0, n_rows) for of in cells.counts)
    return np.asarray(weights * f_of_counts(tp, predicted, positives, beta, zero_division))


def _ratio(top: Numbers, bottom: Numbers) -> Floats:
    """Divide; 0 where there is nothing to divide by."""
    safe = np.where(bottom > 0, bottom, 1.0)
    return np.asarray(np.where(bottom > 0, top / safe, 0.0))
