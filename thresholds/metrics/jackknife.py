"""How far F-measures of rules, and their differences on the same rows, may be chance: each row is left out once.

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

The variance of an average F of one rule is the same sum, with F in the place of d. A rule that is all right, or all
wrong, on these rows need not be so on others: again two rows are added, one all right and one all wrong, which change F
by (1 - F) / n and F / n, n the rows with something true or predicted (for "samples" all rows).

The interval is d -+ t sqrt(V). If few rows make up V, V itself is uncertain: t is Student's, its degrees of freedom
2 S2^2 / (S4 - S2^2 / n) with S2 and S4 the sums of the squares and fourth powers in V (Satterthwaite 1946: a
chi-square whose variance is that of V), at most one less than there are squares. That of F ends at 0 and 1. Labels of a
row may depend on each other as they like: rows (or groups) are what must be independent.

An interval is for the mean of F over samples of as many rows. For micro and samples F, and for labels with some
positives, that is F of the population. The mean F of a label with one or two positives is not, as a cut that is met by
few positives is mostly met by none or by one.

Of k rules one is best on these rows, by luck as well. Whichever is truly best, it is k - 1 others that may be ahead of
it by luck: so intervals of what rules are behind the best have a confidence of 1 - (1 - confidence) / (k - 1) each
(Bonferroni; "multiple comparisons with the best", Hsu 1981). They are two-sided, so that two equally good rules are
told apart no more often than 1 - confidence. Drawing the largest of the k - 1 differences instead, by their
correlations, made the intervals of 25 rules 5 to 20 % narrower (`experiments/intervals/coverages.txt`).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
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

    @cached_property
    def mean_squares(self) -> dict[str, float]:
        """The mean of the squared changes of each average."""
        return {
            name: float(changes @ changes) / changes.size for name, changes in self.changes.items()
        }


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
    weights: Floats | None  # (n_samples,) of these rows; None where each weighs 1
    n_units: int
    are_rows: bool  # each row is a unit

    @property
    def weigh_one(self) -> bool:
        """Whether each unit is a row of weight 1."""
        return self.are_rows and self.weights is None

    def added_up(self, *of_rows: Floats) -> Floats:
        """Add up numbers of rows, as these weigh, for each unit, and the weights: (n_numbers + 1, n_units)."""
        numbers = np.stack([*of_rows, np.ones(self.unit.size)])
        if self.weights is not None:
            numbers *= self.weights
        if self.are_rows:
            return numbers
        return np.stack([np.bincount(self.unit, row, self.n_units) for row in numbers])


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
) -> LeftOut:
    """Return the averages of decisions without each row, or each of the `groups`, numbered from 0.

    `counts` are those of all rows, in the weights of the problem. Rows and groups of weight 0 are no units.
    """
    from thresholds._kernels.leaving_out import averages_without

    units = _units_of(problem, groups)
    # (3, n_labels)
    all_counts = np.stack([counts.tp, counts.predicted, counts.positives]).astype(np.float64)

    # What the labels lose without each unit, added up over them, (N_TERMS, n_units); counts of each row by itself.
    losses, by_row = _losses(decided, problem, units, all_counts, beta, zero_division)
    tp, predicted, positives = by_row  # (n_samples,) each
    f = f_of_counts(tp, predicted, positives, beta, zero_division)  # (n_samples,)
    of_units = units.added_up(tp, predicted, positives, f)  # (5, n_units), the weights last
    *_, predicted, positives, f, weight = of_units  # (n_units,) each

    # Numerators and denominators of all averages.
    sums = {
        average: [part.sum() for part in _terms(average, all_counts, beta, zero_division)]
        for average in AVERAGES[:-1]
    }
    sums["samples"] = [f.sum(), weight.sum()]
    tops, bottoms = np.array([sums[average] for average in AVERAGES]).T.copy()  # (5,) each

    # The averages without each unit, less their means.
    changes = np.empty((len(AVERAGES), units.n_units))
    averages_without(tops, bottoms, losses, of_units, float(beta), changes)
    if not weight.all():
        changes = changes[:, weight > 0]
    changes -= changes.mean(axis=1, keepdims=True)

    on_all = _ratio(tops, bottoms).tolist()
    return LeftOut(
        on_all=dict(zip(AVERAGES, on_all, strict=True)),
        changes=dict(zip(AVERAGES, changes, strict=True)),
        n_active=int(np.count_nonzero(predicted + positives)),
    )


def interval_of(rule: LeftOut, average: str, confidence: float) -> Interval:
    """Return an average of one rule, with its interval within [0, 1]."""
    value = rule.on_all[average]
    changes = rule.changes[average]  # (n_units,)
    if changes.size < 2:
        return Interval(value, np.nan, np.nan)
    # What the two units that are added change, squared: one that is all wrong, one that is all right.
    n = changes.size if average == "samples" else max(rule.n_active, 1)
    added = ((value / n) ** 2, ((1 - value) / n) ** 2)
    half = _standard_error(changes, added).times((1 + confidence) / 2)
    return Interval(value, max(value - half, 0.0), min(value + half, 1.0))


def difference_of(rule: LeftOut, baseline: LeftOut, average: str, confidence: float) -> Interval:
    """Return how much higher an average of one rule is than that of another, on the same rows, with its interval."""
    value = rule.on_all[average] - baseline.on_all[average]
    half = standard_error_of(rule, baseline, average).times((1 + confidence) / 2)
    return Interval(value, value - half, value + half)


def behind_best(
    rules: Mapping[str, LeftOut], average: str, confidence: float
) -> dict[str, tuple[Interval, bool]]:
    """Return how far each rule is behind the best on these rows, and whether the two cannot be told apart.

    They cannot where the interval holds 0. It is wider than that of `difference_of`, as the best is the best of many.
    The rule that is truly best is among those that cannot be told apart from the best with a probability of at least
    `confidence`, and so are two that are equally good and better than the others. The first of equal bests is the best;
    it is behind itself by 0 to 0.
    """
    best = max(rules, key=lambda name: rules[name].on_all[average])
    n_others = max(len(rules) - 1, 1)
    of_each = 1 - (1 - confidence) / n_others
    found = {}
    for name, rule in rules.items():
        behind = Interval(0.0, 0.0, 0.0)
        if name != best:
            behind = difference_of(rules[best], rule, average, of_each)
        found[name] = (behind, not behind.lower > 0)
    return found


def standard_error_of(rule: LeftOut, baseline: LeftOut, average: str) -> StandardError:
    """Return the standard error of the difference of two rules, on the same rows."""
    ours = rule.changes[average]  # (n_units,)
    theirs = baseline.changes[average]  # (n_units,)
    if ours.size < 2:
        return StandardError(np.nan, np.nan)
    # What the two units that are added change, each.
    added = (rule.mean_squares[average] + baseline.mean_squares[average]) / 2
    return _standard_error(ours - theirs, (added, added))


def _standard_error(changes: Floats, added: Sequence[float]) -> StandardError:
    """Return the standard error of what units change, (n_units,), and of the squares of two units that are added."""
    n = changes.size
    squares = changes * changes  # (n_units,)

    # Their sum is the variance; how uncertain it is itself, their squares tell.
    total = float(changes @ changes) + sum(added)
    fourth = float(squares @ squares) + sum(square * square for square in added)
    size = n + len(added)
    spread = fourth - total**2 / size
    most = size - 1
    freedom = min(2 * total**2 / spread, most) if spread > 0 else most
    return StandardError(float(np.sqrt((n - 1) / n * total)), freedom)


def _units_of(problem: Problem, groups: Ints | None) -> _Units:
    """Put rows in the order of their units."""
    from thresholds._kernels.leaving_out import sort_by_unit

    n = problem.n_samples
    given = problem.sample_weight
    weights = None if given is None else np.asarray(given, np.float64)  # (n_samples,)
    if groups is None:
        return _Units(None, np.arange(n), weights, n, are_rows=True)
    n_units = int(groups.max()) + 1
    if (np.diff(groups) >= 0).all():
        return _Units(None, groups, weights, n_units, are_rows=False)
    order = np.empty(n, np.int64)
    sort_by_unit(groups, np.zeros(n_units + 1, np.int64), order)
    weights = None if weights is None else weights[order]
    return _Units(order, groups[order], weights, n_units, are_rows=False)


def _losses(
    decided: Decided,
    problem: Problem,
    units: _Units,
    all_counts: Floats,
    beta: float,
    zero_division: float,
) -> tuple[Floats, Floats]:
    """Return what the labels lose without each unit, (N_TERMS, n_units), and the counts of each row, (3, n_samples)."""
    by_row = np.empty((3, problem.n_samples))
    kind = _LossesOfRows if units.weigh_one else _LossesOfUnits
    losses = kind(units, all_counts, beta, zero_division)
    cells = _Cells(problem.n_labels)
    for rows in problem.row_blocks():
        chosen = rows if units.order is None else units.order[rows]
        truth = _truth(problem, chosen)  # (n_rows, n_labels)
        n_rows = rows.stop - rows.start
        starts, listed, by_row[:, rows] = cells.of(n_rows, truth, decided.about(chosen))
        losses.add(rows, starts, listed)
    return losses.losses, by_row


def _truth(problem: Problem, rows: slice | Ints) -> Matrix:
    """Return the truth of some rows, in bits where it is dense."""
    return problem.truth[rows] if is_sparse(problem.truth) else problem.bits_of_truth.at(rows)


class _LossesOfRows:
    """Adds up what labels lose without each row, all of weight 1."""

    def __init__(
        self, units: _Units, all_counts: Floats, beta: float, zero_division: float
    ) -> None:
        from thresholds._kernels.leaving_out import N_TERMS

        self.losses = np.empty((N_TERMS, units.n_units))
        # (4 n_labels, N_TERMS)
        self._table = _losses_of_a_row(all_counts, beta, zero_division)

    def add(self, rows: slice, starts: Ints, listed: SmallInts) -> None:
        """Add up the next rows."""
        from thresholds._kernels.leaving_out import add_up_rows

        sums = np.empty((self.losses.shape[0], starts.size - 1))
        add_up_rows(starts, listed, self._table, sums)
        self.losses[:, rows] = sums


class _LossesOfUnits:
    """Adds up what labels lose without each unit, its rows having weights."""

    def __init__(
        self, units: _Units, all_counts: Floats, beta: float, zero_division: float
    ) -> None:
        from thresholds._kernels.leaving_out import N_TERMS

        n_labels = all_counts.shape[1]
        self._units = units
        self._all_counts = np.ascontiguousarray(all_counts.T)  # (n_labels, 3)
        tp, predicted, positives = all_counts  # (n_labels,) each
        self._f = f_of_counts(tp, predicted, positives, beta, zero_division)  # (n_labels,)
        self._beta = float(beta)
        self._zero_division = float(zero_division)
        self.losses = np.zeros((N_TERMS, units.n_units))
        # Whether a row is the last of its unit, (n_samples,).
        self._ends = np.append(np.diff(units.unit) > 0, True).view(np.uint8)
        # The unit that is being added up: its counts, the labels that it has, and their number.
        self._of_unit = np.zeros((n_labels, 3))
        self._seen = np.empty(n_labels + 1, np.int64)
        self._n_seen = 0

    def add(self, rows: slice, starts: Ints, listed: SmallInts) -> None:
        """Add up the next rows."""
        from thresholds._kernels.leaving_out import add_up_units

        weights = self._units.weights
        self._n_seen = add_up_units(
            starts,
            listed,
            self._units.unit[rows],
            self._ends[rows],
            np.ones(starts.size - 1) if weights is None else weights[rows],
            self._all_counts,
            self._f,
            self._beta,
            self._zero_division,
            self._of_unit,
            self._seen,
            self._n_seen,
            self.losses,
        )


class _Cells:
    """Lists the cells of blocks of rows that are true or predicted, in the same memory."""

    def __init__(self, n_labels: int) -> None:
        self._place = np.full(n_labels, -1)  # (n_labels,)
        self._listed = np.empty(0, np.int32)

    def of(self, n_rows: int, truth: Matrix, predicted: Matrix) -> tuple[Ints, SmallInts, Floats]:
        """Return where each row's cells start, (n_rows + 1,), the cells, and counts, (3, n_rows)."""
        from thresholds._kernels import leaving_out

        starts = np.empty(n_rows + 1, np.int64)
        counts = np.empty((3, n_rows))
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
