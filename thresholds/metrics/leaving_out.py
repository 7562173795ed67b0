"""What the sums behind each average of F lose when a row, or a group of rows, is left out of decisions.

A row changes the counts of the few labels that are true or predicted in it. These cells are listed, a block of rows at
a time, and what their labels lose is added up by `_kernels/leaving_out.py`: looked up in a table where each row is a
unit of weight 1, else from the counts of the unit.

Beside its input that takes a bit for each cell of dense truth, kept with the problem, the cells of a block of rows, and
the 40 bytes a row of the result; with weights or groups some 150 bytes a row on the way.
"""

from typing import NamedTuple

import numpy as np

from thresholds._arrays.bits import Bits
from thresholds._arrays.sparse import entries_of_rows, is_sparse, to_dense
from thresholds._arrays.types import Floats, Ints, Matrix, Numbers, SmallInts
from thresholds._engine.f_measure import f_of_counts
from thresholds.data.problem import Problem
from thresholds.metrics.judging import Decided


class Units(NamedTuple):
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


class OfRows(NamedTuple):
    """Decisions about some of the rows."""

    decided: Decided
    rows: Ints

    def about(self, rows: slice | Ints) -> Matrix:
        """Return those about some of these rows."""
        return self.decided.about(self.rows[rows])


def units_of(problem: Problem, groups: Ints | None) -> Units:
    """Put rows in the order of their units; rows without a known cell are in none."""
    from thresholds._kernels.leaving_out import sort_by_unit

    known = problem.rows_with_known  # (n_known,) or None
    if known is not None:
        groups = None if groups is None else groups[known]
        problem = problem.at_rows(known)
    n = problem.n_samples
    given = problem.sample_weight
    weights = None if given is None else np.asarray(given, np.float64)  # (n_samples,)
    if groups is None:
        return Units(None, np.arange(n), weights, n, are_rows=True)
    n_units = int(groups.max()) + 1
    if (np.diff(groups) >= 0).all():
        return Units(None, groups, weights, n_units, are_rows=False)
    order = np.empty(n, np.int64)
    sort_by_unit(groups, np.zeros(n_units + 1, np.int64), order)
    weights = None if weights is None else weights[order]
    return Units(order, groups[order], weights, n_units, are_rows=False)


class Without(NamedTuple):
    """Averages of F without each unit, and what else is seen on the way."""

    averages: Floats  # (5, n_units), in the order of `jackknife.AVERAGES`
    samples: float  # the last average, of all rows
    n_active: int  # units with something true or predicted


def without_each_row(
    decided: Decided,
    problem: Problem,
    all_counts: Floats,
    tops: Floats,
    bottoms: Floats,
    beta: float,
    zero_division: float,
) -> Without:
    """Leave out each row, all of weight 1; `tops` and `bottoms` (4,) are those of the averages over labels."""
    averages, n_active = averages_without_rows(
        decided, problem, all_counts, tops, bottoms, beta, zero_division
    )

    # The mean F of the other rows.
    n = problem.n_samples
    f = averages[4]  # (n_samples,)
    total = float(f.sum())
    np.subtract(total, f, out=f)
    f /= max(n - 1, 1)
    return Without(averages, total / n, n_active)


def averages_without_rows(
    decided: Decided,
    problem: Problem,
    all_counts: Floats,
    tops: Floats,
    bottoms: Floats,
    beta: float,
    zero_division: float,
) -> tuple[Floats, int]:
    """Return the averages over labels without each row, (5, n_samples), and the number of rows that matter to them.

    The last are the F of the rows themselves. `all_counts` may be of more rows than those of the problem.
    """
    from thresholds._kernels.leaving_out import leave_out_rows

    averages = np.empty((5, problem.n_samples))
    table = _losses_of_a_row(all_counts, beta, zero_division)  # (4 n_labels, N_TERMS)
    cells = Cells(problem.n_labels)
    n_active = 0
    for rows in problem.row_blocks():
        starts, listed, _ = cells.of(rows, truth_of(problem, rows), decided.about(rows))
        n_active += int(np.count_nonzero(np.diff(starts)))
        options = (float(beta), float(zero_division), rows.start)
        leave_out_rows(starts, listed, table, tops, bottoms, *options, averages)
    return averages, n_active


def without_each_unit(
    decided: Decided,
    problem: Problem,
    units: Units,
    all_counts: Floats,
    tops: Floats,
    bottoms: Floats,
    beta: float,
    zero_division: float,
) -> Without:
    """Leave out each unit that weighs anything; `tops` and `bottoms` (4,) are those of the averages over labels."""
    from thresholds._kernels.leaving_out import leave_out_units

    by_row = np.empty((3, problem.n_samples))
    losses = _LossesOfUnits(units, all_counts, beta, zero_division)
    cells = Cells(problem.n_labels)
    for rows in problem.row_blocks():
        chosen = rows if units.order is None else units.order[rows]
        block = cells.of(rows, truth_of(problem, chosen), decided.about(chosen))
        starts, listed, by_row[:, rows] = block
        losses.add(rows, starts, listed)

    # What each unit has: counts, F of its rows, and weight.
    tp, predicted, positives = by_row  # (n_samples,) each
    f = f_of_counts(tp, predicted, positives, beta, zero_division)  # (n_samples,)
    of_units = units.added_up(tp, predicted, positives, f)  # (5, n_units), the weights last
    *_, predicted, positives, f, weight = of_units  # (n_units,) each

    averages = np.empty((5, units.n_units))
    tops = np.append(tops, f.sum())  # (5,)
    bottoms = np.append(bottoms, weight.sum())  # (5,)
    options = (float(beta), float(zero_division))
    leave_out_units(tops, bottoms, losses.losses, of_units, *options, averages)
    if not weight.all():
        averages = averages[:, weight > 0]
    n_active = int(np.count_nonzero(predicted + positives))
    return Without(averages, float(tops[-1] / bottoms[-1]), n_active)


def truth_of(problem: Problem, rows: slice | Ints) -> Matrix:
    """Return the truth of some rows, in bits where it is dense."""
    return problem.truth[rows] if is_sparse(problem.truth) else problem.bits_of_truth.at(rows)


class _LossesOfUnits:
    """Adds up what labels lose without each unit, its rows having weights."""

    def __init__(self, units: Units, all_counts: Floats, beta: float, zero_division: float) -> None:
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


class Cells:
    """Lists the cells of blocks of rows that are true or predicted, in the same memory."""

    def __init__(self, n_labels: int) -> None:
        self._place = np.full(n_labels, -1)  # (n_labels,)
        self._listed = np.empty(0, np.int32)

    def of(self, rows: slice, truth: Matrix, predicted: Matrix) -> tuple[Ints, SmallInts, Floats]:
        """Return where each row's cells start, (n_rows + 1,), the cells, and counts, (3, n_rows)."""
        from thresholds._kernels import leaving_out

        n_rows = rows.stop - rows.start
        starts = np.empty(n_rows + 1, np.int64)
        counts = np.empty((3, n_rows))
        if is_sparse(truth) and is_sparse(predicted):
            listed = self._room(truth.nnz + predicted.nnz)
            leaving_out.list_sparse_cells(
                *entries_of_rows(truth),
                *entries_of_rows(predicted),
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
        before = terms_of(average, with_row, beta, zero_division)
        after = terms_of(average, without_row, beta, zero_division)
        columns.append([one - other for one, other in zip(before, after, strict=True)])
    (macro, _), (supported, label), (weighted, _) = columns  # (n_labels, 4) each
    table = np.stack([macro, supported, label, weighted], axis=-1)  # (n_labels, 4, N_TERMS)
    return table.reshape(-1, table.shape[-1])


def terms_of(
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
