"""What the sums behind each average of F lose when a row, or a group of rows, is left out of decisions.

A row changes the counts of the few labels that are true or predicted in it. These cells are listed, a block of rows at
a time, row after row: cell `4 j + 2 t + p` is of label j, t is 1 where it is true, and p where it is predicted. What
their labels lose is added up: looked up in a table where each row is a unit of weight 1, else from the counts of the
unit.

Beside its input that takes a bit for each cell of dense truth, kept with the problem, the cells of a block of rows, and
the 40 bytes a row of the result; with weights or groups some 150 bytes a row on the way.
"""

from typing import NamedTuple

import numpy as np

from thresholds._arrays.bits import Bits
from thresholds._arrays.sparse import is_sparse, row_of_entries, to_dense
from thresholds._arrays.types import Bytes, Floats, Ints, Matrix, Numbers
from thresholds._engine.f_measure import f_of_counts
from thresholds._engine.problem import Problem
from thresholds.metrics.judging import Decided

# What rounding may leave of a sum of weights when all that was added is taken away again.
_ROUNDING = 1e-12


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
    order = groups.argsort(kind="stable")
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
    averages = np.empty((5, problem.n_samples))
    # What a row has, and what labels lose without it, for each cell that it may list.
    losses_of_cells = _losses_of_a_row(all_counts, beta, zero_division)
    table = np.hstack([counts_of_cells(problem.n_labels), losses_of_cells])  # (4 n_labels, 7)
    n_active = 0
    for rows in problem.row_blocks():
        cells = Cells.of(truth_of(problem, rows), decided.about(rows))
        n_active += int(np.count_nonzero(np.diff(cells.starts)))
        sums = cells.sums(table)  # (7, n_rows)
        counts, losses = sums[:3], sums[3:]
        averages[:4, rows] = _averages(tops, bottoms, losses, counts, beta, zero_division)
        tp, predicted, positives = counts  # (n_rows,) each
        averages[4, rows] = f_of_counts(tp, predicted, positives, beta, zero_division)

    # The mean F of the other rows.
    n = problem.n_samples
    f = averages[4]  # (n_samples,)
    total = float(f.sum())
    np.subtract(total, f, out=f)
    f /= max(n - 1, 1)
    return Without(averages, total / n, n_active)


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
    by_row = np.empty((3, problem.n_samples))
    losses = _LossesOfUnits(units, all_counts, beta, zero_division)
    table = counts_of_cells(problem.n_labels)
    for rows in problem.row_blocks():
        chosen = rows if units.order is None else units.order[rows]
        cells = Cells.of(truth_of(problem, chosen), decided.about(chosen))
        by_row[:, rows] = cells.sums(table)
        losses.add(rows, cells)

    # What each unit has: counts, F of its rows, and weight.
    tp, predicted, positives = by_row  # (n_samples,) each
    f = f_of_counts(tp, predicted, positives, beta, zero_division)  # (n_samples,)
    of_units = units.added_up(tp, predicted, positives, f)  # (5, n_units), the weights last
    *_, predicted, positives, f, weight = of_units  # (n_units,) each

    averages = np.empty((5, units.n_units))
    all_f, all_weight = f.sum(), weight.sum()
    averages[:4] = _averages(tops, bottoms, losses.losses, of_units[:3], beta, zero_division)
    averages[4] = _ratio(all_f - f, _rest(all_weight, weight), 0.0)
    if not weight.all():
        averages = averages[:, weight > 0]
    n_active = int(np.count_nonzero(predicted + positives))
    return Without(averages, float(all_f / all_weight), n_active)


def truth_of(problem: Problem, rows: slice | Ints) -> Matrix:
    """Return the truth of some rows, in bits where it is dense."""
    return problem.truth[rows] if is_sparse(problem.truth) else problem.bits_of_truth.at(rows)


def _averages(
    tops: Floats,
    bottoms: Floats,
    losses: Floats,
    of_units: Floats,
    beta: float,
    zero_division: float,
) -> Floats:
    """Return the averages over labels without each unit, (4, n_units), in the order of `jackknife.AVERAGES`.

    `tops` and `bottoms` (4,) are those of all rows, `losses` (4, n_units) what labels lose, and `of_units` (3, n_units)
    what each unit has: true positives, predictions and positives. Micro F of no predictions and no positives is
    `zero_division`; where nothing is positive, weighted F is the plain mean.
    """
    tp, predicted, positives = of_units
    of_macro, of_supported, of_label, of_weighted = losses
    beta2 = beta * beta
    bottom = _rest(bottoms[0], beta2 * positives + predicted)
    micro = _ratio(tops[0] - (1.0 + beta2) * tp, bottom, zero_division)
    macro = _ratio(tops[1] - of_macro, bottoms[1], 0.0)
    supported = _ratio(tops[2] - of_supported, bottoms[2] - of_label, 0.0)
    weighted = _ratio(tops[3] - of_weighted, _rest(bottoms[3], positives), macro)
    return np.stack([micro, macro, supported, weighted])


def _rest(total: Numbers, part: Numbers) -> Floats:
    """Return what is left of sums of weights; rounding leaves nothing."""
    rest = total - part
    return np.where(rest > _ROUNDING * total, rest, 0.0)


def _ratio(top: Numbers, bottom: Numbers, otherwise: Numbers | float) -> Floats:
    """Divide, where there is something to divide by."""
    exists = np.greater(bottom, 0.0)
    return np.where(exists, top / np.where(exists, bottom, 1.0), otherwise)


class _LossesOfUnits:
    """Adds up what labels lose without each unit, its rows having weights."""

    def __init__(self, units: Units, all_counts: Floats, beta: float, zero_division: float) -> None:
        self._units = units
        self._all_counts = all_counts  # (3, n_labels)
        tp, predicted, positives = all_counts  # (n_labels,) each
        self._f = f_of_counts(tp, predicted, positives, beta, zero_division)  # (n_labels,)
        self._beta = beta
        self._zero_division = zero_division
        self.losses = np.zeros((4, units.n_units))
        # Cells of the last unit, which may go on: unit, cell and weight.
        self._pending = np.zeros((3, 0))

    def add(self, rows: slice, cells: "Cells") -> None:
        """Add up the next rows."""
        unit, weights = self._units.unit, self._units.weights
        sizes = np.diff(cells.starts)
        weight = np.ones(sizes.sum()) if weights is None else weights[rows].repeat(sizes)
        some = np.stack([unit[rows].repeat(sizes), cells.listed, weight])[:, weight > 0]
        some = np.concatenate([self._pending, some], axis=1)
        is_pending = np.zeros(some.shape[1], np.bool_)
        if rows.stop < unit.size and unit[rows.stop] == unit[rows.stop - 1]:
            is_pending = some[0] == unit[rows.stop]
        self._pending = some[:, is_pending]
        of_unit, cell, weight = some[:, ~is_pending]
        if weight.size > 0:
            self._add_units(of_unit.astype(np.int64), cell.astype(np.int64), weight)

    def _add_units(self, unit: Ints, cell: Ints, weight: Floats) -> None:
        """Add up what the labels of whole units lose."""
        n_labels = self._f.size
        pairs, first, at = np.unique(
            unit * n_labels + cell // 4, return_index=True, return_inverse=True
        )
        is_true, is_marked = cell // 2 % 2, cell % 2
        columns = (is_true & is_marked, is_marked, is_true)
        of_pairs = np.stack([np.bincount(at, weight * column) for column in columns])

        # What each label of a unit loses, in the order in which they come.
        order = first.argsort()
        unit, label = np.divmod(pairs[order], n_labels)
        all_counts = self._all_counts[:, label]
        tp, predicted, positives = _rest(all_counts, of_pairs[:, order])
        before = self._f[label]
        after = f_of_counts(tp, predicted, positives, self._beta, self._zero_division)
        had, has = (all_counts[2] > 0).astype(np.float64), (positives > 0).astype(np.float64)
        terms = (
            before - after,
            before * had - after * has,
            had - has,
            all_counts[2] * before - positives * after,
        )
        units = slice(unit[0], unit[-1] + 1)
        for losses, term in zip(self.losses, terms, strict=True):
            losses[units] += np.bincount(unit - unit[0], term)


class Cells(NamedTuple):
    """The cells of rows that are true or predicted: those of row i are `listed[starts[i]:starts[i + 1]]`."""

    starts: Ints  # (n_rows + 1,)
    listed: Ints  # (n_cells,)

    @classmethod
    def of(cls, truth: Matrix, predicted: Matrix) -> "Cells":
        """List those of a block of rows."""
        if is_sparse(truth) and is_sparse(predicted):
            return cls._of_sparse(truth, predicted)
        kind = 2 * _dense(truth) + _dense(predicted)  # (n_rows, n_labels)
        n_rows, n_labels = kind.shape
        place = np.flatnonzero(kind != 0)  # (n_cells,)
        starts = place.searchsorted(n_labels * np.arange(n_rows + 1))
        return cls(starts, 4 * (place % n_labels) + kind.reshape(-1)[place])

    @classmethod
    def _of_sparse(cls, truth: Matrix, predicted: Matrix) -> "Cells":
        """List those of two CSR matrices of ones: of each row what is true, then what is predicted alone."""
        n_rows, n_labels = truth.shape
        true_row, predicted_row = row_of_entries(truth), row_of_entries(predicted)
        true_label, predicted_label = (
            truth.indices.astype(np.int64),
            predicted.indices.astype(np.int64),
        )
        true_place = true_row * n_labels + true_label
        predicted_place = predicted_row * n_labels + predicted_label
        is_both = np.isin(true_place, predicted_place)
        is_alone = ~np.isin(predicted_place, true_place)
        row = np.concatenate([true_row, predicted_row[is_alone]])
        cells = np.concatenate([4 * true_label + 2 + is_both, 4 * predicted_label[is_alone] + 1])
        order = row.argsort(kind="stable")
        return cls(row[order].searchsorted(np.arange(n_rows + 1)), cells[order])

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return self.starts.size - 1

    def sums(self, table: Floats) -> Floats:
        """Add up what a table, (4 n_labels, n_columns), has for the cells of each row: (n_columns, n_rows)."""
        from scipy import sparse

        # Sums go from cell to cell, as listed.
        ones = np.ones(self.listed.size)
        lists = sparse.csr_array(
            (ones, self.listed, self.starts), shape=(self.n_rows, table.shape[0])
        )
        return np.ascontiguousarray((lists @ table).T)


def _dense(matrix: Matrix) -> Bytes:
    """Return a block of 0 and 1 as bytes."""
    if isinstance(matrix, Bits):
        return matrix.to_dense()
    cells: Bytes = np.not_equal(to_dense(matrix), 0).view(np.uint8)
    return cells


def counts_of_cells(n_labels: int) -> Floats:
    """Return true positives, predictions and positives of each cell that may be listed, (4 n_labels, 3)."""
    of_kinds = [[0.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0], [1.0, 1.0, 1.0]]
    return np.tile(of_kinds, (n_labels, 1))


def _losses_of_a_row(all_counts: Floats, beta: float, zero_division: float) -> Floats:
    """Return what a label loses without a row in which it is predicted, true, or both, (4 n_labels, 4)."""
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
    table = np.stack([macro, supported, label, weighted], axis=-1)  # (n_labels, 4, 4)
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
