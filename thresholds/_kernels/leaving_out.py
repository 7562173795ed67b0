"""Loops that leave each row, or each group of rows, out of the counts of all: what F of labels loses by it.

Cells that are true or predicted come as a list, row after row: cell `4 j + 2 t + p` is of label j, t is 1 where it is
true, and p where it is predicted. Few cells are either, so the other loops read a list, not a matrix.
"""

from typing import Any

import numpy as np

from thresholds._arrays.types import Bytes, Dense, Floats, Ints, SmallInts, Words
from thresholds._kernels._jit import kernel

N_TERMS = 4  # numbers that leaving a row out changes, and that are added up over its labels

_ONE = np.uint64(1)
_WORD = 64
# A power of two times this number has a different value in its top six bits for each power.
_DE_BRUIJN = np.uint64(0x03F79D71B4CB0A89)
_TOP_SIX = np.uint64(58)
_POWERS = np.array([(0x03F79D71B4CB0A89 << k) % 2**64 >> 58 for k in range(_WORD)])
_POWER_OF = np.argsort(_POWERS)  # (64,) which power has that value
# What rounding may leave of a sum of weights when all that was added is taken away again.
_ROUNDING = 1e-12


@kernel
def sort_by_unit(unit: Ints, starts: Ints, order: Ints) -> None:
    """Write the rows, unit by unit and rising within each; `starts` (n_units + 1,) holds 0.

    By counting: a twentieth of the time of a sort.
    """
    for i in range(unit.size):
        starts[unit[i] + 1] += 1
    for u in range(starts.size - 1):
        starts[u + 1] += starts[u]
    for i in range(unit.size):
        order[starts[unit[i]]] = i
        starts[unit[i]] += 1


@kernel
def list_cells(
    true: Words, predicted: Words, starts: Ints, cells: SmallInts, counts: Floats
) -> None:
    """List the cells of rows of bits (n_rows, n_words); those of row i are `cells[starts[i]:starts[i + 1]]`.

    Write true positives, predictions and positives of each row to `counts` (3, n_rows), too.
    """
    n = np.int64(0)
    starts[0] = n
    for i in range(true.shape[0]):
        both, predictions, positives = np.int64(0), np.int64(0), np.int64(0)
        for q in range(true.shape[1]):
            is_true, is_predicted = true[i, q], predicted[i, q]
            word = is_true | is_predicted
            while word != 0:
                bit = word & (~word + _ONE)
                # The product wraps; `*` would warn.
                place = _POWER_OF[np.multiply(bit, _DE_BRUIJN) >> _TOP_SIX]
                t = np.int64((is_true & bit) != 0)
                p = np.int64((is_predicted & bit) != 0)
                cells[n] = 4 * (_WORD * q + place) + 2 * t + p
                both += t & p
                predictions += p
                positives += t
                n += np.int64(1)
                word ^= bit
        starts[i + 1] = n
        counts[0, i], counts[1, i], counts[2, i] = both, predictions, positives


@kernel
def list_sparse_cells(
    true_starts: Dense,
    true_columns: Dense,
    predicted_starts: Dense,
    predicted_columns: Dense,
    place: Ints,
    starts: Ints,
    cells: SmallInts,
    counts: Floats,
) -> None:
    """Do as `list_cells` does for CSR matrices, all stored cells 1.

    `place` (n_labels,) holds -1, before and after.
    """
    n = np.int64(0)
    starts[0] = n
    for i in range(true_starts.size - 1):
        first, last = true_starts[i], true_starts[i + 1]
        for k in range(first, last):
            j = true_columns[k]
            place[j] = n
            cells[n] = 4 * j + 2
            n += np.int64(1)
        # A true cell that is predicted has its place; the others follow.
        both = np.int64(0)
        for k in range(predicted_starts[i], predicted_starts[i + 1]):
            j = predicted_columns[k]
            if place[j] >= 0:
                cells[place[j]] += 1
                both += np.int64(1)
            else:
                cells[n] = 4 * j + 1
                n += np.int64(1)
        for k in range(first, last):
            place[true_columns[k]] = -1
        starts[i + 1] = n
        counts[0, i] = both
        counts[1, i] = predicted_starts[i + 1] - predicted_starts[i]
        counts[2, i] = last - first


@kernel
def leave_out_rows(
    starts: Ints,
    cells: SmallInts,
    lost: Floats,
    tops: Floats,
    bottoms: Floats,
    beta: float,
    zero_division: float,
    first: int,
    averages: Floats,
) -> None:
    """Write the averages of F without each row, (5, ...), from column `first` on; the last one is F of the row itself.

    A row of weight 1 can do three things to a label, so that all that may be lost is in a table, `lost` (4 n_labels,
    N_TERMS). Nothing but the averages is written, 40 bytes a row: `leave_out_units` needs a hundred more.
    """
    beta2 = beta * beta
    for i in range(starts.size - 1):
        macro, supported, label, weighted = 0.0, 0.0, 0.0, 0.0
        tp, predicted, positives = np.int64(0), np.int64(0), np.int64(0)
        for k in range(starts[i], starts[i + 1]):
            cell = np.int64(cells[k])
            macro += lost[cell, 0]
            supported += lost[cell, 1]
            label += lost[cell, 2]
            weighted += lost[cell, 3]
            t, p = (cell >> 1) & 1, cell & 1
            tp += t & p
            predicted += p
            positives += t
        u = first + i
        averages[0, u] = _ratio(
            tops[0] - (1.0 + beta2) * tp,
            bottoms[0] - (beta2 * positives + predicted),
            zero_division,
        )
        averages[1, u] = _ratio(tops[1] - macro, bottoms[1], 0.0)
        averages[2, u] = _ratio(tops[2] - supported, bottoms[2] - label, 0.0)
        averages[3, u] = _ratio(tops[3] - weighted, bottoms[3] - positives, averages[1, u])
        averages[4, u] = _f(
            np.float64(tp), np.float64(predicted), np.float64(positives), beta, zero_division
        )


@kernel
def add_up_units(
    starts: Ints,
    cells: SmallInts,
    unit: Ints,
    ends: Bytes,
    weights: Floats,
    all_counts: Floats,
    f: Floats,
    beta: float,
    zero_division: float,
    of_unit: Floats,
    seen: Ints,
    n_seen: Any,
    sums: Floats,
) -> Any:
    """Add up over the labels of each unit what they lose without its rows, which have weights.

    Labels have counts `all_counts` (n_labels, 3) and their F. Rows are in the order of units, and say whether they end
    theirs. A unit may go on in the next call: `of_unit` (n_labels, 3) holds what it has of the counts so far, 0
    elsewhere, and `seen` (n_labels + 1,) the labels that it has; their number is handed on, and returned.
    """
    for i in range(starts.size - 1):
        w = weights[i]
        for k in range(starts[i], starts[i + 1]):
            cell = np.int64(cells[k])
            j = cell >> 2
            t, p = (cell >> 1) & 1, cell & 1
            # Without a branch: always write, advance on a label that is new.
            seen[n_seen] = j
            n_seen += np.int64((of_unit[j, 1] + of_unit[j, 2] == 0.0) & (w > 0.0))
            of_unit[j, 0] += w * np.float64(t & p)
            of_unit[j, 1] += w * np.float64(p)
            of_unit[j, 2] += w * np.float64(t)
        if not ends[i]:
            continue

        # What its labels lose without the unit, which then is forgotten.
        macro, supported, label, weighted = 0.0, 0.0, 0.0, 0.0
        for k in range(n_seen):
            j = seen[k]
            tp = _rest(all_counts[j, 0], of_unit[j, 0])
            predicted = _rest(all_counts[j, 1], of_unit[j, 1])
            positives = _rest(all_counts[j, 2], of_unit[j, 2])
            after = _f(tp, predicted, positives, beta, zero_division)
            had, has = np.float64(all_counts[j, 2] > 0.0), np.float64(positives > 0.0)
            macro += f[j] - after
            supported += f[j] * had - after * has
            label += had - has
            weighted += all_counts[j, 2] * f[j] - positives * after
            of_unit[j, 0], of_unit[j, 1], of_unit[j, 2] = 0.0, 0.0, 0.0
        n_seen = np.int64(0)
        u = unit[i]
        sums[0, u], sums[1, u], sums[2, u], sums[3, u] = macro, supported, label, weighted
    return n_seen


@kernel
def _rest(total: float, part: float) -> float:
    """Return what is left of a sum of weights; rounding leaves nothing."""
    rest = total - part
    return rest if rest > _ROUNDING * total else 0.0


@kernel
def _f(tp: float, predicted: float, positives: float, beta: float, zero_division: float) -> float:
    """Return F-beta of counts, as `metrics.counts.f_of_counts` does."""
    beta2 = beta * beta
    if predicted == 0.0 and (positives == 0.0 or beta == 0.0):
        return zero_division
    return min((1.0 + beta2) * tp / (beta2 * positives + predicted), 1.0)


@kernel
def leave_out_units(
    tops: Floats,
    bottoms: Floats,
    sums: Floats,
    of_unit: Floats,
    beta: float,
    zero_division: float,
    averages: Floats,
) -> None:
    """Write the averages of F without each unit, (5, n_units), in the order of `metrics.jackknife.AVERAGES`.

    `tops` and `bottoms` (5,) are their numerators and denominators, `sums` what labels lose, and `of_unit` (5, n_units)
    what the unit has: true positives, predictions, positives, F of its rows, and weight. Micro F of no predictions and
    no positives is `zero_division`; where nothing is positive, weighted F is the plain mean.
    """
    beta2 = beta * beta
    for u in range(averages.shape[1]):
        tp, predicted, positives = of_unit[0, u], of_unit[1, u], of_unit[2, u]
        averages[0, u] = _ratio(
            tops[0] - (1.0 + beta2) * tp,
            _rest(bottoms[0], beta2 * positives + predicted),
            zero_division,
        )
        macro = _ratio(tops[1] - sums[0, u], bottoms[1], 0.0)
        averages[1, u] = macro
        averages[2, u] = _ratio(tops[2] - sums[1, u], bottoms[2] - sums[2, u], 0.0)
        averages[3, u] = _ratio(tops[3] - sums[3, u], _rest(bottoms[3], positives), macro)
        averages[4, u] = _ratio(tops[4] - of_unit[3, u], _rest(bottoms[4], of_unit[4, u]), 0.0)


@kernel
def _ratio(top: float, bottom: float, otherwise: float) -> float:
    """Divide, if there is something to divide by."""
    return top / bottom if bottom > 0.0 else otherwise
