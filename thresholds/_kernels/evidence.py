"""What scores know of a label: AUROC and its variance, ties, the best F1, and what chance would do.

Items of equal score come added up, label after label, from the top down.
"""

import math

import numpy as np

from thresholds._arrays.grouped import group_of, sums_of_groups, sums_so_far
from thresholds._arrays.types import AnyFloats, Floats, Ints
from thresholds._kernels._jit import kernel

# Paths of less probability are forgotten: together, too few to matter for p-values above 1e-15.
_NOTHING = 1e-24
# Rows by which paths have reached an F1 with less probability are passed over: of millions of rows, all of these
# together are less likely than what is forgotten.
_NEVER = 1e-32
# Rows are passed over by so many blocks, then by halves of a block.
_BLOCKS = 64
# Of a number of positives outside the tie group: 2e-35, too little to matter.
_LEAST_LOG_PROBABILITY = -80.0


def rank_statistics(offsets: Ints, positive_weights: Ints, weights: Ints) -> Floats:
    """Return (8, n_labels): AUROC; sample variances of the placements of positives and of negatives; the sum of t^3 - t
    over ties; size and mid-rank of the largest tie group; mean and sample variance of the mid-ranks of all others.

    The placement of a positive is the share of negatives below it, ties half; mid-ranks count from the bottom. NaN
    where there is nothing to divide by.
    """
    n_labels = offsets.size - 1
    # From the bottom up, in which order floats are added up.
    label = group_of(offsets)[::-1]  # (n_groups,)
    size, hit = weights[::-1], positive_weights[::-1]
    lost = size - hit
    n, positives, negatives = (sums_of_groups(offsets, own[::-1]) for own in (size, hit, lost))

    def added_up(values: Floats) -> Floats:
        """Add up what each label has, one after another, as a loop does."""
        return np.bincount(label, values, n_labels).astype(np.float64, copy=False)

    def before(values: Ints) -> Ints:
        """Add up what each label has below each group."""
        so_far: Ints = values.cumsum() - values
        first = np.diff(label, prepend=-1) != 0
        so_far -= so_far[first][np.cumsum(first) - 1]
        return so_far

    seen, below = before(size), before(lost)
    as_float = size.astype(np.float64)
    cubes = added_up(as_float * size * size - size)

    # The largest tie group, of several the lowest.
    largest_size = np.zeros(n_labels, np.int64)
    np.maximum.at(largest_size, label, size)
    places = np.flatnonzero(size == largest_size[label])
    has_groups, first = np.unique(label[places], return_index=True)
    largest = places[first]
    largest_rank = np.zeros(n_labels)
    largest_rank[has_groups] = seen[largest] + 0.5 * (size[largest] + 1)

    with np.errstate(all="ignore"):
        # AUROC, and the mean mid-rank of all but the largest tie group.
        won = np.zeros(n_labels, np.int64)
        np.add.at(won, label, hit * (2 * below + lost))
        has_both = (positives > 0) & (negatives > 0)
        auroc = np.where(has_both, won / (2.0 * positives * negatives), np.nan)
        others = n - largest_size
        others_mean = (0.5 * n * (n + 1) - largest_size * largest_rank) / others
        others_mean[others <= 0] = 0.0

        # Squares about the means.
        off = (below + 0.5 * lost) / negatives[label] - auroc[label]
        of_positives = added_up(np.where(has_both[label] & (hit > 0), hit * (off * off), 0.0))
        off = (positives[label] - (seen - below) - 0.5 * hit) / positives[label] - auroc[label]
        of_negatives = added_up(np.where(has_both[label], lost * (off * off), 0.0))
        off = seen + 0.5 * (size + 1) - others_mean[label]
        of_other = size * (off * off)
        of_other[largest] = 0.0
        of_others = added_up(of_other)
        return np.stack(
            [
                auroc,
                np.where(positives > 1, of_positives / (positives - 1), np.nan),
                np.where(negatives > 1, of_negatives / (negatives - 1), np.nan),
                cubes,
                largest_size,
                largest_rank,
                others_mean,
                np.where(others > 1, of_others / (others - 1), 0.0),
            ]
        )


def best_cuts(
    offsets: Ints, positive_weights: Ints, weights: Ints, positives: Ints, ratio: float
) -> Ints:
    """Return, (4, n_labels), true positives and predictions at the cut of best F1, ties to the highest cut; and, of the
    lowest cut that predicts at most `ratio` times the positives, its tie group (-1 for none) and predictions."""
    label = group_of(offsets)  # (n_groups,)
    tp, predicted = sums_so_far(offsets, positive_weights), sums_so_far(offsets, weights)
    cuts = np.zeros((4, positives.size), np.int64)
    with np.errstate(all="ignore"):
        # F is higher only where a positive is added.
        half_f = np.where(positive_weights > 0, tp / (positives[label] + predicted), 0.0)
        are_few = (positives[label] > 0) & (predicted / positives[label] <= ratio)

    # The best cut of each label, the first of equals.
    highest = np.maximum.reduceat(np.append(half_f, 0.0), offsets[:-1])
    best = np.flatnonzero((half_f > 0) & (half_f == highest[label]))
    best = best[np.append(True, np.diff(label[best]) > 0)[: best.size]]
    cuts[0, label[best]], cuts[1, label[best]] = tp[best], predicted[best]

    # Predictions grow: once they are too many they remain so.
    n_few = sums_of_groups(offsets, are_few)  # (n_labels,)
    lowest = offsets[:-1] + n_few - 1
    cuts[2] = np.where(n_few > 0, lowest, -1)
    cuts[3, n_few > 0] = predicted[lowest[n_few > 0]]
    return cuts


@kernel
def steps_of_best_f1(n: int, positives: int, tp: int, predicted: int) -> float:
    """Return about how many steps `p_value_of_best_f1` takes: rows, times the width of the distribution."""
    rows = min(float(n), positives * (positives + predicted) / max(tp, 1) - positives)
    rate = positives / n
    width = 24.0 * math.sqrt(min(rows, 0.5 * n) * rate * (1.0 - rate)) + 1.0
    return rows * min(float(positives), width)


@kernel
def _next_row(old: AnyFloats, rest: AnyFloats, each: float, new: Floats) -> None:
    """Write the probabilities of paths one row later, if it is positive with probability `rest` times `each`."""
    new[0] = old[0] * (1.0 - rest[0] * each)
    for i in range(1, old.size):
        new[i] = old[i] * (1.0 - rest[i] * each) + old[i - 1] * (rest[i - 1] * each)


@kernel
def _log_factorial(n: int) -> float:
    """Return ln n!, as in `bootstrap.py`: `math.lgamma` has other last bits where Numba compiles it."""
    if n < 16:
        product = 1.0
        for factor in range(2, n + 1):
            product *= factor
        return math.log(product)
    inverse = 1.0 / n
    square = inverse * inverse
    series = inverse * (
        1.0 / 12.0 - square * (1.0 / 360.0 - square * (1.0 / 1260.0 - square / 1680.0))
    )
    return (n + 0.5) * math.log(n) - n + 0.5 * math.log(2.0 * math.pi) + series


@kernel
def _chance_of_at_least(hits: int, k: int, n: int, positives: int) -> float:
    """Bound the probability that as many of k rows are positive, of n with so many positives: 1 where that is likely.

    A term of the hypergeometric law is at most the one before times the ratio of the first two.
    """
    if hits > min(k, positives):
        return 0.0
    lost = n - positives - k + hits  # negatives among the other rows
    falls = (positives - hits) * (k - hits)
    if lost < 0 or falls >= (hits + 1) * (lost + 1):
        return 1.0
    log_p = _log_factorial(positives) + _log_factorial(n - positives) - _log_factorial(n)
    log_p += _log_factorial(k) - _log_factorial(hits) - _log_factorial(k - hits)
    log_p += _log_factorial(n - k) - _log_factorial(positives - hits) - _log_factorial(lost)
    return math.exp(log_p) / (1.0 - falls / ((hits + 1) * (lost + 1)))


@kernel
def _rows_without_chance(n: int, positives: int, tp: int, predicted: int) -> int:
    """Return within how many of the highest rows no cut reaches the F1 of `tp` and `predicted`, as good as surely."""
    k = 0
    size = max(n // _BLOCKS, 1)
    while size > 0 and k < n:
        # Whoever reaches it within a block of rows has at its end as many positives as were needed at its beginning.
        last = min(k + size, n)
        need = (tp * (positives + k + 1) + positives + predicted - 1) // (positives + predicted)
        if _chance_of_at_least(need, last, n, positives) < _NEVER:
            k = last
        else:
            size //= 2
    return k


@kernel
def _start_of_paths(path: Floats, k: int, n: int, positives: int) -> tuple[int, int]:
    """Write the probabilities of i positives among the highest k rows, and return the least and the most i."""
    least, most = max(0, k - (n - positives)), min(k, positives)
    mode = min(max((k + 1) * (positives + 1) // (n + 2), least), most)
    path[mode] = 1.0
    total = 1.0
    low = high = mode
    while high < most and path[high] > _NEVER:
        ratio = (positives - high) * (k - high) / ((high + 1.0) * (n - positives - k + high + 1))
        path[high + 1] = path[high] * ratio
        high += 1
        total += path[high]
    while low > least and path[low] > _NEVER:
        ratio = low * (n - positives - k + low) / ((positives - low + 1.0) * (k - low + 1))
        path[low - 1] = path[low] * ratio
        low -= 1
        total += path[low]
    for i in range(low, high + 1):
        path[i] /= total
    return low, high


@kernel
def p_value_of_best_f1(
    weights: Ints, positives: int, tp: int, predicted: int, enough: float
) -> float:
    """Return the probability that some cut reaches the F1 of `tp` and `predicted` if truth falls on the rows by chance.

    A path counts the positives among the highest k rows, k = 1, 2, ...: hypergeometric. It reaches that F1 at the end
    of a tie group if it has at least tp (positives + k) / (positives + predicted) positives there. Its distribution is
    known as long as none can have reached it. From there on it is followed row by row, without the paths that have;
    exactly, but for those less likely than 1e-24. Above `enough` it stops: the answer is 1. The loop is over views from
    0 on and floats alone, which is vectorised: 5 times as fast.
    """
    n = np.int64(0)
    for t in weights:
        n += t
    if tp * (positives + n) <= positives * (positives + predicted):
        return 1.0  # Predicting all does.

    # The tie groups within which no path reaches it.
    most = _rows_without_chance(int(n), positives, tp, predicted)
    first = np.int64(0)
    k = np.int64(0)
    while first < weights.size and k + weights[first] <= most:
        k += weights[first]
        first += 1

    # The probabilities of paths with i positives among the rows so far, and room for those of one row more. Paths of
    # low to high positives are followed.
    path = np.zeros(positives + 2)
    after = np.zeros(positives + 2)
    remaining = float(positives) - np.arange(positives + 2)  # positives yet to come
    low, high = _start_of_paths(path, int(k), int(n), positives)
    reached = 0.0
    for t in weights[first:]:
        need = (tp * (positives + k + t) + positives + predicted - 1) // (positives + predicted)
        if need > positives:
            break  # From here on no cut is high enough.

        # One row after another: it is positive with probability remaining / rows left.
        for _ in range(t):
            each = 1.0 / (n - k)
            top = high + 1 if high < positives else high
            old, new, rest = path[low : top + 1], after[low : top + 1], remaining[low : top + 1]
            _next_row(old, rest, each, new)
            after[top + 1] = 0.0
            path, after = after, path
            high = top
            k += 1

            # The unlikeliest at both ends are forgotten.
            while low < high and path[low] < _NOTHING:
                path[low] = 0.0
                low += 1
            while high > low and path[high] < _NOTHING:
                path[high] = 0.0
                high -= 1

        # Those that have reached the F1 are added up, and not followed further.
        if high >= need:
            for i in range(need if need > low else low, high + 1):
                reached += path[i]
                path[i] = 0.0
            high = need - 1
            if reached > enough:
                return 1.0
            if high < low:
                break
    return min(reached, 1.0)


@kernel
def p_values_of_best_f1(
    offsets: Ints,
    weights: Ints,
    labels: Ints,
    n: Ints,
    positives: Ints,
    tp: Ints,
    predicted: Ints,
    enough: Floats,
    most_steps: float,
) -> tuple[Floats, Floats]:
    """Return `p_value_of_best_f1` of some labels, NaN where it would take too many steps, and how many it takes.

    The tie groups of label j are `offsets[j]:offsets[j + 1]`; `n` and what follows are of the given labels alone.
    """
    p, steps = np.full(labels.size, np.nan), np.empty(labels.size)
    for i in range(labels.size):
        counts = positives[i], tp[i], predicted[i]
        steps[i] = steps_of_best_f1(n[i], *counts)
        if steps[i] <= most_steps:
            own = weights[offsets[labels[i]] : offsets[labels[i] + 1]]
            p[i] = p_value_of_best_f1(own, *counts, enough[i])
    return p, steps


@kernel
def _log_chance(k: int, start: float, positives: int, tied: int, others: int) -> float:
    """Return the logarithm of the probability that k positives lie outside the tie group."""
    log_p = start - _log_factorial(k) - _log_factorial(others - k)
    log_p -= _log_factorial(positives - k) + _log_factorial(tied - positives + k)
    return log_p


@kernel
def _first_to_matter(
    low: int, high: int, start: float, positives: int, tied: int, others: int
) -> int:
    """Return the number of positives from which on to `high`, or down to it, they are likely enough to matter.

    The law rises from `low` to `high`, or falls if `high` is below it. It is the last number that is left out, or
    `low`: the limit is that of less probability, so that rounding leaves out none.
    """
    if _log_chance(low, start, positives, tied, others) >= _LEAST_LOG_PROBABILITY - 1.0:
        return low
    while abs(high - low) > 1:
        middle = (low + high) // 2
        if _log_chance(middle, start, positives, tied, others) >= _LEAST_LOG_PROBABILITY - 1.0:
            high = middle
        else:
            low = middle
    return low


@kernel
def p_value_of_rank_sum(
    n: int,
    positives: int,
    rank_sum: float,
    tied: int,
    tied_rank: float,
    mean: float,
    variance: float,
    least_variance: float,
) -> float:
    """Return the probability of a rank sum at least as large, if truth falls on the rows by chance and many are tied.

    How many positives lie outside the largest tie group is hypergeometric; given that, the sum is nearly normal. The
    variance of the ranks of other rows is of two, where it is not known, the one that makes the probability larger.
    """
    others = n - tied
    total = 0.0
    start = _log_factorial(others) + _log_factorial(tied) - _log_factorial(n)
    start += _log_factorial(positives) + _log_factorial(n - positives)

    # Nearly all numbers of positives outside the tie group are too unlikely: those round the mode are not.
    least, most = max(0, positives - tied), min(positives, others)
    mode = min(max((positives + 1) * (others + 1) // (n + 2), least), most)
    least = _first_to_matter(least, mode, start, positives, tied, others)
    most = _first_to_matter(most, mode, start, positives, tied, others)
    for k in range(least, most + 1):
        log_p = _log_chance(k, start, positives, tied, others)
        if log_p < _LEAST_LOG_PROBABILITY:
            continue

        # The sum of ranks, given that: k drawn from the others without replacement.
        expected = k * mean + (positives - k) * tied_rank
        beyond = 0.0
        for of_others in (variance, least_variance):
            spread = math.sqrt(max(k * of_others * (1.0 - k / others), 0.0)) if others > 0 else 0.0
            if spread > 0:
                excess = rank_sum - expected - 0.5
                p = 0.5 * math.erfc(excess / (spread * math.sqrt(2.0)))
            else:
                # Both are halves, but for rounding.
                p = 1.0 if rank_sum < expected + 0.25 else 0.0
            beyond = max(beyond, p)
            if least_variance == variance:
                break
        total += math.exp(log_p) * beyond
    return min(total, 1.0)


def likely_numbers(n: Ints, positives: Ints) -> Floats:
    """Bound how many numbers of positives, of n rows, are likely enough to matter, (n_labels,)."""
    return np.minimum(positives, 7.0 * np.sqrt(n) + 100.0)


# Ten steps for each number of positives that may lie outside the tie group, and to find the first and the last.
@kernel
def p_values_of_rank_sums(
    n: Ints,
    positives: Ints,
    rank_sum: Floats,
    tied: Ints,
    tied_rank: Floats,
    mean: Floats,
    variance: Floats,
    least_variance: Floats,
) -> Floats:
    """Return `p_value_of_rank_sum` of each label, (n_labels,) as its arguments."""
    p = np.empty(n.size)
    for j in range(n.size):
        p[j] = p_value_of_rank_sum(
            n[j],
            positives[j],
            rank_sum[j],
            tied[j],
            tied_rank[j],
            mean[j],
            variance[j],
            least_variance[j],
        )
    return p
