"""Loops that find one cut for all labels: the mean F-beta over groups, labels or rows, as the cut falls.

The first loops count dense scores at a few cuts, the last sweep sorted items of any scores: keys
sorted upwards, each with the row of `positive_weights` and `weights` where it was. Each group's F
enters as a whole number of units, so that sums are exact.
"""

from typing import Any

import numpy as np

from thresholds._arrays.types import Bytes, Floats, Ints, Keys, Scores, SmallInts
from thresholds._kernels._jit import kernel

Measure = tuple[float, float, float]  # beta squared, zero_division, units of a mean of 1


@kernel
def _units(tp: Any, predicted: Any, positives: Any, share: float, measure: Measure) -> Any:
    """Return a group's F-beta times its share, in units."""
    beta_squared, zero_division, unit = measure
    if positives == 0:
        f = zero_division if predicted == 0 else 0.0
    else:
        f = (1.0 + beta_squared) * tp / (beta_squared * positives + predicted)
    return np.int64(np.rint(share * f * unit))


@kernel
def add_means(
    tp: Ints,
    predicted: Ints,
    positives: Ints,
    shares: Floats,
    measure: Measure,
    at: Ints,
    most: Ints,
) -> None:
    """Add F at each cut (n_cuts, n_groups) to `at`, and the most that it can be between two cuts to `most`.

    Between two cuts there are at most the true positives of the lower one, and all of them may come
    first.
    """
    for g in range(positives.size):
        for k in range(at.size):
            at[k] += _units(tp[k, g], predicted[k, g], positives[g], shares[g], measure)
        for k in range(most.size):
            gained = tp[k + 1, g] - tp[k, g]
            most[k] += _units(
                tp[k + 1, g], predicted[k, g] + gained, positives[g], shares[g], measure
            )


@kernel
def add_means_of_shares(
    scores: Scores,
    weight: float,
    shares: Floats,
    cuts: Scores,
    measure: Measure,
    at: Ints,
    most: Ints,
    above: Ints,
) -> None:
    """Add the F of each row at each cut to `at`, the most that it can be between two cuts to `most`, as `add_means`.

    Scores are degrees of truth: a cell weighs `weight`, and its score's share of that is positive. `above` counts the
    cells at or above each cut. Between two cuts all shares are below the higher one, so that true positives take at
    least as many cells as of that share: as F is a ratio of what rises evenly with them, it is highest with none
    or all.
    """
    tp, predicted = np.empty((2, cuts.size), np.int64)
    positive = np.empty(scores.shape[1], np.int64)
    for i in range(scores.shape[0]):
        row = scores[i]
        positives = np.int64(0)
        for j in range(row.size):
            positive[j] = np.int64(np.rint(row[j] * weight))
            positives += positive[j]
        # One cut after another over a row that stays in the cache, without a branch.
        for k in range(cuts.size):
            cut, n, n_tp = cuts[k], np.int64(0), np.int64(0)
            for j in range(row.size):
                is_above = np.int64(row[j] >= cut)
                n += is_above
                n_tp += positive[j] * is_above
            above[k] += n
            tp[k], predicted[k] = n_tp, n * np.int64(weight)
            at[k] += _units(n_tp, predicted[k], positives, shares[i], measure)
        for k in range(most.size):
            gained = tp[k + 1] - tp[k]
            # Each share was rounded by up to half a unit, and this division is.
            needed = (gained - row.size) / max(min(cuts[k], 1.0), 1e-300) * (1 - 1e-12)
            fewest = predicted[k] + max(np.float64(gained), needed)
            with_all = _units(tp[k + 1], fewest, positives, shares[i], measure)
            with_none = _units(tp[k], predicted[k], positives, shares[i], measure)
            most[k] += max(with_all, with_none)


@kernel
def count_rows(scores: Scores, truth: Bytes, cuts: Scores) -> tuple[SmallInts, SmallInts]:
    """Count the positives of each row at or above each cut, (n_cuts, n_rows), and all its scores there."""
    shape = (cuts.size, scores.shape[0])
    tp, predicted = np.empty(shape, np.int32), np.empty(shape, np.int32)
    positive_scores = np.empty(scores.shape[1] + 1, scores.dtype)
    for i in range(scores.shape[0]):
        n_positives = np.int64(0)
        for j in range(scores.shape[1]):  # Branch-free: always write, advance on a positive.
            positive_scores[n_positives] = scores[i, j]
            n_positives += truth[i, j]
        row = scores[i]
        # One cut after another over a row that stays in the cache, without a branch.
        for k in range(cuts.size):
            cut, n, n_tp = cuts[k], np.int32(0), np.int64(0)
            for j in range(row.size):
                n += np.int32(row[j] >= cut)
            for j in range(n_positives):
                n_tp += positive_scores[j] >= cut
            predicted[k, i], tp[k, i] = n, n_tp
    return tp, predicted


@kernel
def count_columns(scores: Scores, truth: Bytes, cuts: Scores, tp: Ints, predicted: Ints) -> None:
    """Add to the counts of each column, in (n_cuts, n_columns), what lies at or above each cut."""
    for i in range(scores.shape[0]):
        row = scores[i]
        for k in range(cuts.size):
            cut, cut_counts = cuts[k], predicted[k]
            for j in range(row.size):
                cut_counts[j] += row[j] >= cut
        for j in range(row.size):  # A branch, as positives are few.
            if truth[i, j]:
                for k in range(cuts.size):
                    tp[k, j] += row[j] >= cuts[k]


@kernel
def collect_cells(
    scores: Scores,
    truth: Bytes,
    low: Any,
    high: Any,
    group: tuple[int, int, int],
    kept: Scores,
    owners: Ints,
    below: Scores,
) -> int:
    """Write the scores in [low, high) and their owners: twice the group, 1 more for a positive. Return how many.

    Cell (i, j) is of group `group[0] + group[1] i + group[2] j`. `below` (n_columns,) rises to the
    next lower score.
    """
    n = np.int64(0)
    for i in range(scores.shape[0]):
        row = scores[i]
        for j in range(row.size):  # Branch-free: always write, advance on a score to keep.
            x = row[j]
            kept[n] = x
            owners[n] = np.int64(2 * (group[0] + group[1] * i + group[2] * j)) + truth[i, j]
            n += (x >= low) & (x < high)
        for j in range(row.size):
            x = row[j]
            below[j] = x if (x < low) & (x > below[j]) else below[j]
    return int(n)


@kernel
def sweep_cells(
    up: Keys,
    rows: SmallInts,
    owners: Ints,
    tp: Ints,
    predicted: Ints,
    positives: Ints,
    shares: Floats,
    measure: Measure,
) -> Ints:
    """Return the mean in units once the cut has fallen to each key that a positive has, -1 at others.

    Keys are sorted upwards, `rows` says where in `owners` each was; `tp` and `predicted` are those
    above all keys.
    """
    states = np.empty((tp.size, 4), np.int64)  # What one cell needs lies in one line of the cache.
    total = np.int64(0)
    for g in range(tp.size):
        now = _units(tp[g], predicted[g], positives[g], shares[g], measure)
        states[g, 0], states[g, 1], states[g, 2], states[g, 3] = (
            tp[g],
            predicted[g],
            positives[g],
            now,
        )
        total += now
    means = np.full(up.size, -1, np.int64)
    # From the top down, one run of equal keys after another: each cell changes the F of its own
    # group alone.
    i = up.size
    while i > 0:
        first, candidate = i - 1, False
        while i > 0 and up[i - 1] == up[first]:
            i -= 1
            g, is_positive = owners[rows[i]] >> 1, owners[rows[i]] & 1
            states[g, 0] += is_positive
            states[g, 1] += 1
            now = _units(states[g, 0], states[g, 1], states[g, 2], shares[g], measure)
            total += now - states[g, 3]
            states[g, 3] = now
            candidate = candidate or is_positive == 1
        if candidate:
            means[first] = total
    return means


@kernel
def pooled_counts(grid: Keys, up: Keys, row: SmallInts, weights: Ints) -> Ints:
    """Return the weight of the items in `[grid[k], grid[k + 1])`, for a grid that increases."""
    counts = np.zeros(grid.size, np.int64)
    # Both rise, so that one sweep from the top finds the place of each item, without a search.
    k = grid.size - 1
    for i in range(up.size - 1, -1, -1):
        while k >= 0 and grid[k] > up[i]:
            k -= 1
        if k < 0:
            break
        counts[k] += weights[row[i]]
    return counts


@kernel
def pooled_gains(
    grid: Keys,
    up: Keys,
    row: SmallInts,
    starts: Ints,
    positive_weights: Ints,
    weights: Ints,
    positives: Ints,
    shares: Floats,
    beta_squared: float,
    zero_division: float,
    unit: float,
) -> Ints:
    """Return the change of the mean F-beta over groups as the shared cut falls to `grid[k]`, in multiples of 1/unit.

    A group (a label, or an instance) is the items `starts[g]:starts[g + 1]`; its F-beta enters with
    `shares[g]`. Each group's F is rounded to an integer once, so that differences telescope and
    their sums are exact.
    """
    gains = np.zeros(grid.size, np.int64)
    n_groups = starts.size - 1
    group = np.empty(up.size, np.int32)
    tp, predicted = np.zeros(n_groups, np.int64), np.zeros(n_groups, np.int64)
    now = np.zeros(n_groups, np.int64)  # the mean's part of each group, at the cut so far
    for g in range(n_groups):
        group[starts[g] : starts[g + 1]] = g
        if positives[g] == 0:
            now[g] = np.int64(np.rint(shares[g] * zero_division * unit))
    # One sweep from the top: what a cell changes belongs to the next candidate at or below it.
    k = grid.size - 1
    for i in range(up.size - 1, -1, -1):
        while k >= 0 and grid[k] > up[i]:
            k -= 1
        if k < 0:
            break
        if weights[row[i]] == 0:
            continue
        g = group[row[i]]
        tp[g] += positive_weights[row[i]]
        predicted[g] += weights[row[i]]
        f = (1.0 + beta_squared) * tp[g] / (beta_squared * positives[g] + predicted[g])
        after = np.int64(np.rint(shares[g] * f * unit))
        gains[k] += after - now[g]
        now[g] = after
    return gains
