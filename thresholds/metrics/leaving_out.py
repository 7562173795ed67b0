"""The averages of F of decisions without each row, or without each group of rows.

Each average of F over labels is a ratio of two sums over labels of what their counts give,

    average           numerator        denominator
    micro             (1 + b^2) tp_j   b^2 positives_j + predicted_j
    macro             F_j              1
    macro_supported   F_j              1                               (of labels with positives alone)
    weighted          positives_j F_j  positives_j

and a row changes the counts of those labels only that are true or predicted in it. So the average without that row is
exact, at the cost of the labels of the row. "samples" is a mean over rows. Rows of a group are left out together: a
*unit* is a row, or a group.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from thresholds._arrays.blocks import row_blocks
from thresholds._arrays.dtypes import ROUNDING
from thresholds._arrays.sparse import as_csr, row_of_entries
from thresholds._arrays.types import Floats, Ints, Matrix, Numbers
from thresholds._engine.f_measure import f_of_counts
from thresholds._engine.problem import Problem
from thresholds.metrics.counts import ConfusionCounts, count_by_label

AVERAGES = ("micro", "macro", "macro_supported", "weighted", "samples")
SHARES = ("precision", "recall")  # of all decisions


@dataclass(frozen=True, eq=False)
class LeftOut:
    """The averages of F of one rule on all rows, and how far they change if one unit (a row, or a group) is left out.

    A change is the average without a unit, less the mean of these.
    """

    on_all: dict[str, float]
    changes: dict[str, Floats]  # (n_units,) each
    n_active: int  # units with something true or predicted


class UnitCounts(NamedTuple):
    """Some whole units: what they count of the labels that are true or predicted in them, and of their rows."""

    unit: Ints  # (n_pairs,) units and labels in pairs, each once
    label: Ints  # (n_pairs,)
    counts: Floats  # (3, n_pairs) true positives, predictions and positives, as rows weigh
    unit_of_row: Ints  # (n_rows,) of all their rows
    weight_of_row: Floats  # (n_rows,)
    counts_of_row: Floats  # (3, n_rows) true positives, predictions and positives, unweighted


def count_units(
    decided: Matrix, problem: Problem, groups: Ints | None, *, weighted: bool = True
) -> Iterator[UnitCounts]:
    """Count decisions about all rows unit by unit; a row without a known cell is in none.

    `groups` (n_samples,) are numbers from 0; without them the rows with a known cell are units, numbered from 0.
    """
    # Rows in the order of their units.
    known = problem.rows_with_known
    rows = np.arange(problem.n_samples) if known is None else known  # (n_known,)
    unit = np.arange(rows.size) if groups is None else groups[rows]  # (n_known,)
    if groups is not None:
        order = unit.argsort(kind="stable")
        rows, unit = rows[order], unit[order]
    given = problem.sample_weight if weighted else None
    weights = np.ones(rows.size) if given is None else np.asarray(given, np.float64)[rows]

    # A block of rows ends where a unit does.
    lasts = [block.stop - 1 for block in row_blocks(rows.size, problem.stored_per_row)]
    ends = np.unique(unit.searchsorted(unit[lasts], side="right"))  # (n_blocks,)
    for first, end in pairwise([0, *ends.tolist()]):
        block = slice(first, end)
        yield _count_block(
            problem.truth[rows[block]], decided[rows[block]], unit[block], weights[block]
        )


def _count_block(truth: Matrix, decided: Matrix, unit: Ints, weights: Floats) -> UnitCounts:
    """Count decisions about the rows of whole units."""
    n_rows, n_labels = truth.shape
    cells = _marked_cells(truth, decided)
    row, label = row_of_entries(cells), cells.indices.astype(np.int64)  # (n_cells,) each
    counts_of_cell = _counts_of_kinds(cells.data)  # (3, n_cells)
    counts_of_row = np.array(
        [np.bincount(row, column, n_rows) for column in counts_of_cell]
    )  # (3, n_rows)

    # Add up the cells of each unit and label.
    weight = weights[row]  # (n_cells,)
    has_weight = weight > 0
    cell = unit[row[has_weight]] * n_labels + label[has_weight]
    pairs, pair = np.unique(cell, return_inverse=True)  # (n_pairs,) and (n_weighing_cells,)
    weighed = (weight * counts_of_cell)[:, has_weight]
    counts = np.array([np.bincount(pair, column, pairs.size) for column in weighed])  # (3, n_pairs)
    return UnitCounts(
        pairs // n_labels,
        pairs % n_labels,
        counts,
        unit,
        weights,
        counts_of_row,
    )


def _marked_cells(truth: Matrix, decided: Matrix) -> Any:
    """Return the kind of each cell as CSR: 1 is predicted, 2 true, 3 both, and 0, neither, is left out."""
    return as_csr(truth) * 2 + as_csr(decided)


def _counts_of_kinds(kinds: Any) -> Floats:
    """Return what cells of such kinds count: (3, n_cells) true positives, predictions and positives."""
    return np.array([kinds == 3, kinds % 2 == 1, kinds >= 2], np.float64)


class _Labels:
    """What labels have of all rows, and what they lose."""

    def __init__(self, counts: Floats, beta: float, zero_division: float) -> None:
        self.counts = counts  # (3, n_labels)
        self.beta = beta
        self.zero_division = zero_division
        self.terms = _terms_of(counts, beta, zero_division)  # (8, n_labels)

    def losses(self, label: Ints, counts: Floats) -> Floats:
        """Return what the sums behind the averages lose, (8, n_pairs), where a label (n_pairs,) loses counts."""
        left = _rest(self.counts[:, label], counts)  # (3, n_pairs)
        return self.terms[:, label] - _terms_of(left, self.beta, self.zero_division)

    def f_of_rows(self, counts: Floats) -> Floats:
        """Return F of rows that count so much, (n_rows,)."""
        tp, predicted, positives = counts
        return f_of_counts(tp, predicted, positives, self.beta, self.zero_division)


class _Units(NamedTuple):
    """Some units: what is lost without each, and what each has."""

    losses: Floats  # (8, n_units) of the sums behind the averages over labels
    f: Numbers  # (n_units,) F of their rows, as these weigh
    weight: Numbers  # (n_units,)
    n_active: int  # units with something true or predicted


def _plain_rows(decided: Matrix, problem: Problem, labels: _Labels) -> Iterator[_Units]:
    """Leave out each row, all of weight 1.

    What a label loses without a row depends on the label, and on the kind of its cell in that row, alone. So a table
    has the losses of each label and kind, and those of rows are a product: the cells of rows, as a sparse matrix, times
    the table. That takes a sixth to a half of the time of counting units.
    """
    from scipy import sparse

    # Row 4 j + k of the table is for cells of label j and kind k: 8 losses and 3 counts.
    n_labels = problem.n_labels
    counts = _counts_of_kinds(np.tile(np.arange(4), n_labels))  # (3, 4 n_labels)
    losses = labels.losses(np.arange(n_labels).repeat(4), counts)  # (8, 4 n_labels)
    table = np.vstack([losses, counts]).T.copy()  # (4 n_labels, 11)

    known = problem.rows_with_known  # (n_known,) or None for all
    n_known = problem.n_samples if known is None else known.size
    for block in row_blocks(n_known, problem.stored_per_row):
        rows = block if known is None else known[block]
        cells = _marked_cells(problem.truth[rows], decided[rows])
        listed = cells.indices * 4 + cells.data  # (n_cells,)
        n_rows = cells.shape[0]
        ones = np.ones(listed.size)
        of_rows = sparse.csr_array((ones, listed, cells.indptr), (n_rows, 4 * n_labels))
        sums = (of_rows @ table).T  # (11, n_rows)
        yield _Units(
            sums[:8],
            labels.f_of_rows(sums[8:]),
            np.ones(n_rows),
            int(np.count_nonzero(np.diff(cells.indptr))),
        )


def _weighted_units(
    decided: Matrix, problem: Problem, groups: Ints | None, labels: _Labels
) -> Iterator[_Units]:
    """Leave out each row, or group of rows, as rows weigh."""
    for part in count_units(decided, problem, groups):
        first, last = part.unit_of_row[[0, -1]]
        n_units = last + 1 - first
        own_unit, unit = part.unit - first, part.unit_of_row - first  # (n_pairs,), (n_rows,)
        lost = labels.losses(part.label, part.counts)  # (8, n_pairs)
        f = labels.f_of_rows(part.counts_of_row)  # (n_rows,)
        yield _Units(
            np.array([np.bincount(own_unit, values, n_units) for values in lost]),
            np.bincount(unit, part.weight_of_row * f, n_units),
            np.bincount(unit, part.weight_of_row, n_units),
            np.unique(own_unit).size,
        )


def leave_out_of(
    decided: Matrix,
    problem: Problem,
    beta: float,
    groups: Ints | None = None,
    zero_division: float = 0.0,
    counts: ConfusionCounts | None = None,
) -> LeftOut:
    """Return the averages of decisions (n_samples, n_labels) without each row, or each of the `groups`.

    Decisions are 0 where the truth is not known; `groups` (n_samples,) are numbers from 0. Units of weight 0, and rows
    without a known cell, are left aside. `counts`, by label as rows weigh, are found where they are not given.
    """
    # What labels, and the averages over them, have of all rows.
    if counts is None:
        counts = count_by_label(problem.truth, decided, problem.sample_weight)
    labels = _Labels(counts.sums.astype(np.float64), beta, zero_division)
    totals = labels.terms.sum(axis=1)  # (8,)

    # What each unit takes away from these, and what it has.
    if groups is None and problem.sample_weight is None:
        parts = list(_plain_rows(decided, problem, labels))
    else:
        parts = list(_weighted_units(decided, problem, groups, labels))
    f = np.concatenate([part.f for part in parts])  # (n_units,)
    weight = np.concatenate([part.weight for part in parts])  # (n_units,)
    losses = np.concatenate([part.losses for part in parts], axis=1)  # (8, n_units)
    if not weight.all():
        has_weight = weight > 0
        f, weight, losses = f[has_weight], weight[has_weight], losses[:, has_weight]

    # The averages without each unit, less their means: what each changes.
    all_f, all_weight = f.sum(), weight.sum()
    without = [
        *_averages(_rest(totals[:, np.newaxis], losses), zero_division),
        _ratio(all_f - f, _rest(all_weight, weight), 0.0),
    ]
    on_all = [*_averages(totals, zero_division), all_f / all_weight]
    changes = np.stack(without)  # (5, n_units)
    changes -= changes.mean(axis=1, keepdims=True)
    return LeftOut(
        on_all=dict(zip(AVERAGES, map(float, on_all), strict=True)),
        changes=dict(zip(AVERAGES, changes, strict=True)),
        n_active=sum(part.n_active for part in parts),
    )


def leave_out_of_shares(of_rows: ConfusionCounts, groups: Ints | None = None) -> dict[str, LeftOut]:
    """Return precision and recall of all decisions without each row, or each of the `groups`, by name.

    Both are ratios of two sums over rows, which are unweighted; 0/0 is 0. Units without a prediction are not active in
    precision, those without a positive not in recall.
    """
    tp, predicted, positives = of_rows.sums  # (n_samples,) each
    units = np.arange(tp.size) if groups is None else groups  # (n_samples,)
    right = np.bincount(units, tp)  # (n_units,)
    shares = {}
    for name, counts in (("precision", predicted), ("recall", positives)):
        whole = np.bincount(units, counts)  # (n_units,)
        without = _ratio(right.sum() - right, whole.sum() - whole, 0.0)  # (n_units,)
        shares[name] = LeftOut(
            on_all={name: float(_ratio(right.sum(), whole.sum(), 0.0))},
            changes={name: without - without.mean()},
            n_active=int(np.count_nonzero(whole)),
        )
    return shares


def _terms_of(counts: Floats, beta: float, zero_division: float) -> Floats:
    """Return what each label adds to the sums that make up averages, (8, n_labels)."""
    tp, predicted, positives = counts
    beta2 = beta * beta
    f = f_of_counts(tp, predicted, positives, beta, zero_division)
    has_positives = (positives > 0).astype(np.float64)
    return np.stack(
        [
            (1 + beta2) * tp,
            beta2 * positives + predicted,
            f,
            np.ones(f.size),
            f * has_positives,
            has_positives,
            f * positives,
            positives,
        ]
    )


def _averages(sums: Numbers, zero_division: float) -> list[Numbers]:
    """Return micro, macro, macro of labels with positives, and weighted F of such sums.

    Micro F of no predictions and no positives is `zero_division`; where nothing is positive, weighted F is the plain
    mean.
    """
    macro = _ratio(sums[2], sums[3], 0.0)
    return [
        _ratio(sums[0], sums[1], zero_division),
        macro,
        _ratio(sums[4], sums[5], 0.0),
        _ratio(sums[6], sums[7], macro),
    ]


def _rest(total: Numbers, part: Numbers) -> Floats:
    """Return what is left of sums of weights; rounding leaves nothing."""
    rest = total - part
    return np.where(rest > ROUNDING * total, rest, 0.0)


def _ratio(top: Numbers, bottom: Numbers, otherwise: Numbers | float) -> Floats:
    """Divide, where there is something to divide by."""
    exists = np.greater(bottom, 0.0)
    return np.where(exists, top / np.where(exists, bottom, 1.0), otherwise)
