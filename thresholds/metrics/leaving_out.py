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
from typing import NamedTuple

import numpy as np

from thresholds._arrays.blocks import row_blocks
from thresholds._arrays.dtypes import ROUNDING
from thresholds._arrays.sparse import is_sparse, row_of_entries, to_dense
from thresholds._arrays.types import Floats, Ints, Matrix, Numbers
from thresholds._engine.f_measure import f_of_counts
from thresholds._engine.problem import Problem
from thresholds.metrics.counts import ConfusionCounts, count_by_label

AVERAGES = ("micro", "macro", "macro_supported", "weighted", "samples")
SHARES = ("precision", "recall")  # of all decisions

# What rounding may leave of a sum of weights when all that was added is taken away again.


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
    row, label, kind = _marked_cells(truth, decided)  # (n_cells,) each
    is_true, is_marked = kind >= 2, kind % 2 == 1
    columns = (is_true & is_marked, is_marked, is_true)
    counts_of_row = np.array(
        [np.bincount(row[column], minlength=n_rows) for column in columns], np.float64
    )  # (3, n_rows)

    # Add up the cells of each unit and label.
    weight = weights[row]  # (n_cells,)
    has_weight = weight > 0
    cell = unit[row[has_weight]] * n_labels + label[has_weight]
    pairs, pair = np.unique(cell, return_inverse=True)  # (n_pairs,) and (n_weighing_cells,)
    counts = np.array(
        [np.bincount(pair, (weight * column)[has_weight], pairs.size) for column in columns],
        np.float64,
    )  # (3, n_pairs)
    return UnitCounts(
        pairs // n_labels,
        pairs % n_labels,
        counts,
        unit,
        weights,
        counts_of_row,
    )


def _marked_cells(truth: Matrix, decided: Matrix) -> tuple[Ints, Ints, Ints]:
    """Return row, label and kind of the cells that are predicted (kind 1), true (2) or both (3)."""
    if is_sparse(truth) and is_sparse(decided):
        cells = truth.astype(np.uint8) * 2 + decided.astype(np.uint8)
        return row_of_entries(cells), cells.indices.astype(np.int64), cells.data
    kinds = 2 * np.not_equal(to_dense(truth), 0) + np.not_equal(to_dense(decided), 0)
    row, label = np.nonzero(kinds)
    return row, label, kinds[row, label]


def leave_out_of(
    decided: Matrix,
    problem: Problem,
    beta: float,
    groups: Ints | None = None,
    zero_division: float = 0.0,
) -> LeftOut:
    """Return the averages of decisions (n_samples, n_labels) without each row, or each of the `groups`.

    Decisions are 0 where the truth is not known; `groups` (n_samples,) are numbers from 0. Units of weight 0, and rows
    without a known cell, are left aside.
    """
    # What labels, and the averages over them, have of all rows.
    counted = count_by_label(problem.truth, decided, problem.sample_weight)
    all_counts = counted.sums.astype(np.float64)  # (3, n_labels)
    all_terms = _terms_of(all_counts, beta, zero_division)  # (8, n_labels)
    totals = all_terms.sum(axis=1)  # (8,)

    # What these lose without each unit; what each unit has: F of its rows, weight, and whether anything is marked.
    n_units = problem.n_samples if groups is None else int(groups.max()) + 1
    losses = np.zeros((8, n_units))
    f, weight = np.zeros(n_units), np.zeros(n_units)
    is_active = np.zeros(n_units, np.bool_)
    for part in count_units(decided, problem, groups):
        left = _rest(all_counts[:, part.label], part.counts)  # (3, n_pairs)
        lost = all_terms[:, part.label] - _terms_of(left, beta, zero_division)  # (8, n_pairs)
        first, last = part.unit_of_row[[0, -1]]
        units = slice(first, last + 1)
        n = last + 1 - first
        for of_term, values in zip(losses, lost, strict=True):
            of_term[units] = np.bincount(part.unit - first, values, n)
        tp, predicted, positives = part.counts_of_row  # (n_rows,) each
        f_of_row = f_of_counts(tp, predicted, positives, beta, zero_division)
        of_row = part.unit_of_row - first
        f[units] = np.bincount(of_row, part.weight_of_row * f_of_row, n)
        weight[units] = np.bincount(of_row, part.weight_of_row, n)
        is_active[part.unit] = True

    # The averages without each unit, less their means: what each changes.
    has_weight = weight > 0
    losses, f, weight = losses[:, has_weight], f[has_weight], weight[has_weight]
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
        n_active=int(np.count_nonzero(is_active)),
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
