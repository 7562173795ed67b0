"""How far the difference of two rules' F-measures may be chance: rows are paired, and each is left out once.

Each average of F over labels is a ratio of two sums over labels of what their counts give,

    average           numerator        denominator
    micro             (1 + b^2) tp_j   b^2 positives_j + predicted_j
    macro             F_j              1
    macro_supported   F_j              1                               (of labels with positives alone)
    weighted          positives_j F_j  positives_j

and a row changes the counts of those labels only that are true or predicted in it. So the average without that row is
exact, at the cost of the labels of the row. "samples" is a mean over rows. Rows of a group are left out together.
Decisions that were kept when they were judged (`judging.py`) need not be made again; what is left out is listed and
added up by `_kernels/leaving_out.py`.

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

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple, Protocol

import numpy as np

from thresholds._arrays.bits import Bits
from thresholds._arrays.sparse import is_sparse, to_dense
from thresholds._arrays.types import Floats, Ints, Matrix, Numbers, SmallInts
from thresholds.data.problem import Problem
from thresholds.metrics.counts import ConfusionCounts, f_of_counts
from thresholds.metrics.judging import Decisions

if TYPE_CHECKING:
    from thresholds.rule import Rule

AVERAGES = ("micro", "macro", "macro_supported", "weighted", "samples")


@dataclass(frozen=True, eq=False)
class LeftOut:
    """The averages of F of one rule on all rows, and what they change if one unit (a row, or a group) is left out."""

    on_all: dict[str, float]
    changes: dict[
        str, Floats
    ]  # (n_units,) each: the average without the unit, less the mean of these
    n_active: int  # units with something true or predicted


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

    def about(self, rows: slice | Ints) -> Matrix:
        """Return those about some rows, (n_rows, n_labels): a matrix, or `Bits`."""


class _Units(NamedTuple):
    """The rows, unit after unit."""

    order: Ints | None  # (n_samples,) rows by unit; None where they come so
    unit: Ints  # (n_samples,) of these rows: rises
    weights: Floats  # (n_samples,) of these rows
    n_units: int
    are_rows: bool  # each row is a unit, of weight 1

    def added_up(self, of_rows: Sequence[Numbers]) -> list[Numbers]:
        """Add up numbers of rows, times their weights, for each unit."""
        if self.are_rows:
            return list(of_rows)
        weighted = (numbers * self.weights for numbers in of_rows)
        return [np.bincount(self.unit, numbers, self.n_units) for numbers in weighted]


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
    units = _units_of(problem, groups)
    # (3, n_labels)
    all_counts = np.stack([counts.tp, counts.predicted, counts.positives]).astype(np.float64)

    # What the labels lose without each unit, added up over them, (N_TERMS, n_units); counts of each row by itself.
    losses, by_row = _losses(decided, problem, units, all_counts, beta, zero_division)
    tp, predicted, positives = by_row  # (n_samples,) each
    f = f_of_counts(tp, predicted, positives, beta, zero_division)  # (n_samples,)
    of_rows = [tp, predicted, positives, f, np.ones(problem.n_samples)]
    # The same of each unit, (n_units,) each, as rows weigh.
    tp, predicted, positives, f_of_units, weight_of_units = units.added_up(of_rows)

    # Numerator and denominator of each average, and what they lose.
    beta2 = beta * beta
    macro, supported, supported_labels, weighted = losses  # (n_units,) each
    lost = {
        "micro": ((1 + beta2) * tp, beta2 * positives + predicted),
        "macro": (macro, 0.0),
        "macro_supported": (supported, supported_labels),
        "weighted": (weighted, positives),
        "samples": (f_of_units, weight_of_units),
    }
    present = weight_of_units > 0  # (n_units,)
    on_all = {}
    changes = {}
    for average in averages:
        if average == "samples":
            top, bottom = f_of_units.sum(), weight_of_units.sum()
        else:
            terms = _terms(average, all_counts, beta, zero_division)
            top, bottom = (part.sum() for part in terms)
        lost_top, lost_bottom = lost[average]
        on_all[average] = float(_ratio(top, bottom))
        without = _ratio(top - lost_top, bottom - lost_bottom)[present]  # (n_present,)
        changes[average] = without - without.mean()
    n_active = int(np.count_nonzero(predicted + positives))
    return LeftOut(on_all, changes, n_active)


def difference_of(rule: LeftOut, baseline: LeftOut, average: str, confidence: float) -> Interval:
    """Return how much higher an average of one rule is than that of another, on the same rows, with its interval."""
    value = rule.on_all[average] - baseline.on_all[average]
    half = standard_error_of(rule, baseline, average).times((1 + confidence) / 2)
    return Interval(value, value - half, value + half)


def standard_error_of(rule: LeftOut, baseline: LeftOut, average: str) -> StandardError:
    """Return the standard error of the difference of two rules, on the same rows."""
    ours = rule.changes[average]  # (n_units,)
    theirs = baseline.changes[average]  # (n_units,)
    n = ours.size
    if n < 2:
        return StandardError(np.nan, np.nan)
    # What the two units that are added change, each.
    added = (float(ours @ ours) + float(theirs @ theirs)) / (2 * n)
    return _standard_error(ours - theirs, (added, added))


def _standard_error(changes: Floats, added: Sequence[float]) -> StandardError:
    """Return the standard error of what units change, (n_units,), and of the squares of two units that are added."""
    n = changes.size
    squares = changes * changes  # (n_units,)

    # Their sum is the variance; how uncertain it is itself, their squares tell.
    total = float(squares.sum()) + sum(added)
    fourth = float(squares @ squares) + sum(square * square for square in added)
    size = n + len(added)
    spread = fourth - total**2 / size
    most = size - 1
    freedom = min(2 * total**2 / spread, most) if spread > 0 else most
    return StandardError(float(np.sqrt((n - 1) / n * total)), freedom)


def _units_of(problem: Problem, groups: Ints | None) -> _Units:
    """Put rows in the order of their units."""
    n = problem.n_samples
    weights = np.ones(n) if problem.sample_weight is None else problem.sample_weight.astype(float)
    if groups is None:
        return _Units(None, np.arange(n), weights, n, problem.sample_weight is None)
    n_units = int(groups.max()) + 1
    if (np.diff(groups) >= 0).all():
        return _Units(None, groups, weights, n_units, False)
    order = np.argsort(groups, kind="stable")  # (n_samples,)
    return _Units(order, groups[order], weights[order], n_units, False)


def _losses(
    decided: Decided,
    problem: Problem,
    units: _Units,
    all_counts: Floats,
    beta: float,
    zero_division: float,
) -> tuple[Floats, Ints]:
    """Return what the labels lose without each unit, (N_TERMS, n_units), and the counts of each row, (3, n_samples)."""
    from thresholds._kernels import leaving_out

    n_labels = problem.n_labels
    losses = np.zeros((leaving_out.N_TERMS, units.n_units))
    by_row = np.empty((3, problem.n_samples), np.int64)
    cells = _Cells(n_labels)
    if units.are_rows:
        table = _losses_of_a_row(all_counts, beta, zero_division)  # (4 n_labels, N_TERMS)
    else:
        of_unit = np.zeros((3, n_labels))
        seen = np.empty(n_labels, np.int64)
        so_far = np.array([-1, 0])  # no unit, which has seen no labels

    def add_up(starts: Ints, listed: SmallInts, rows: slice) -> None:
        leaving_out.add_up_units(
            starts,
            listed,
            units.unit[rows],
            units.weights[rows],
            all_counts,
            beta,
            zero_division,
            of_unit,
            seen,
            so_far,
            losses,
        )

    for rows in problem.row_blocks():
        chosen = rows if units.order is None else units.order[rows]
        starts, listed, counts = cells.of(problem.truth[chosen], decided.about(chosen))
        by_row[:, rows] = counts
        if units.are_rows:
            of_rows = np.empty((leaving_out.N_TERMS, starts.size - 1))
            leaving_out.add_up_rows(starts, listed, table, of_rows)
            losses[:, rows] = of_rows
        else:
            add_up(starts, listed, rows)
    if not units.are_rows:
        add_up(np.zeros(1, np.int64), listed, slice(0, 0))  # ends the last unit
    return losses, by_row


class _Cells:
    """Lists the cells of blocks of rows that are true or predicted, in the same memory."""

    def __init__(self, n_labels: int) -> None:
        self._place = np.full(n_labels, -1)  # (n_labels,)
        self._listed = np.empty(0, np.int32)

    def of(self, truth: Matrix, predicted: Matrix) -> tuple[Ints, SmallInts, Ints]:
        """Return where each row's cells start, (n_rows + 1,), the cells, and counts, (3, n_rows)."""
        from thresholds._kernels import leaving_out

        n_rows = truth.shape[0]
        starts = np.empty(n_rows + 1, np.int64)
        counts = np.empty((3, n_rows), np.int64)
        if is_sparse(truth) and is_sparse(predicted):
            listed = self._room(truth.nnz + predicted.nnz)
            leaving_out.list_sparse_cells(
                truth.indptr,
                truth.indices,
                predicted.indptr,
                predicted.indices,
                self._place,
                starts,
                listed,
                counts,
            )
        else:
            listed = self._room(n_rows * self._place.size)
            leaving_out.list_cells(
                _bits(truth).words, _bits(predicted).words, starts, listed, counts
            )
        return starts, listed, counts

    def _room(self, n_cells: int) -> SmallInts:
        """Return room for so many cells."""
        if self._listed.size < n_cells:
            self._listed = np.empty(n_cells, np.int32)
        return self._listed


def _bits(matrix: Matrix) -> Bits:
    """Return a block as bits."""
    return matrix if isinstance(matrix, Bits) else Bits.of(to_dense(matrix) != 0)


def _losses_of_a_row(all_counts: Floats, beta: float, zero_division: float) -> Floats:
    """Return what a label loses without a row in which it is predicted, true, or both, (4 n_labels, N_TERMS)."""
    # What the row has of each label's counts: (3, 1, 4), by kind: neither, predicted, true, both.
    of_row = np.array([[0, 0, 0, 1], [0, 1, 0, 1], [0, 0, 1, 1]])[:, np.newaxis, :]
    with_row = all_counts[:, :, np.newaxis]  # (3, n_labels, 1)
    without_row = np.maximum(with_row - of_row, 0)  # (3, n_labels, 4)
    columns = []
    for average in ("macro", "macro_supported", "weighted"):
        before = _terms(average, with_row, beta, zero_division)
        after = _terms(average, without_row, beta, zero_division)
        columns.append([one - other for one, other in zip(before, after, strict=True)])
    (macro, _), (supported, label), (weighted, _) = columns  # (n_labels, 4) each
    table = np.stack([macro, supported, label, weighted], axis=-1)  # (n_labels, 4, N_TERMS)
    return table.reshape(-1, table.shape[-1])


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


def _ratio(top: Numbers, bottom: Numbers) -> Floats:
    """Divide; 0 where there is nothing to divide by."""
    safe = np.where(bottom > 0, bottom, 1.0)
    return np.asarray(np.where(bottom > 0, top / safe, 0.0))
