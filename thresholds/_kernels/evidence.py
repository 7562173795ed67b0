"""What scores know of a label: AUROC and its variance, ties, the best F1, and what chance would do.

Cells of equal score come added up in groups, label after label, from the top down: those of label j are
`offsets[j]:offsets[j + 1]`, with the weight of all cells and of the positives.
"""

import math

import numpy as np

from thresholds._arrays.types import AnyFloats, Floats, Ints
from thresholds._kernels._jit import kernel

MANY_TIED = 0.1  # of the rows in one tie group: then the sum of ranks is not normal, but given how many lie outside

# Paths of less probability are forgotten: together, too few to matter for p-values above 1e-15.
_NOTHING = 1e-24
# Rows by which paths have reached an F1 with less probability are passed over: of millions of rows, all of these
# together are less likely than what is forgotten.
_NEVER = 1e-32
# Rows are passed over by so many blocks, then by halves of a block.
_BLOCKS = 64
# Of a number of positives outside the tie group: 2e-35, too little to matter.
_LEAST_LOG_PROBABILITY = -80.0


@kernel
def rank_statistics(offsets: Ints, hits: Ints, weights: Ints) -> tuple[Floats, Ints]:
    """Return what tests of ranks read of each label, (8, n_labels), and counts, (3, n_labels).

    First: AUROC; sample variances of the placements of positives and of negatives; the sum of t^3 - t over ties; size
    and mid-rank of the largest tie group, of several the lowest; mean and sample variance of the mid-ranks of all other
    rows, where the largest has more than `MANY_TIED` of the rows. The placement of a positive is the share of negatives
    below it, ties half; mid-ranks count from the bottom. NaN where there is nothing to divide by.

    Then: positives; true positives and predictions at the cut of best F1, of equal ones the highest.
    """
    n_labels = offsets.size - 1
    figures = np.full((8, n_labels), np.nan)
    counts = np.zeros((3, n_labels), np.int64)
    most_groups = np.int64(0)
    for j in range(n_labels):
        most_groups = max(most_groups, offsets[j + 1] - offsets[j])
    # Of the groups that have positives, rising: where each is, and the negatives below it.
    places, n_below = np.empty(most_groups, np.int64), np.empty(most_groups, np.int64)
    for j in range(n_labels):
        # 1. Walk up: ties, and the groups that have positives.
        first, last = offsets[j], offsets[j + 1]
        cubes, most_tied, rank = 0.0, np.int64(0), 0.0
        seen, hits_seen, n_groups = np.int64(0), np.int64(0), 0
        for k in range(last - 1, first - 1, -1):
            hit, size = hits[k], weights[k]
            if size > 1:
                as_float = float(size)
                cubes += as_float * as_float * as_float - as_float
            if size > most_tied:
                most_tied, rank = size, seen + 0.5 * (size + 1)
            # Written over by the next if it has no positives: a branch is mispredicted more often.
            places[n_groups], n_below[n_groups] = k, seen - hits_seen
            n_groups += hit > 0
            seen += size
            hits_seen += hit
        n, positives, negatives = seen, hits_seen, seen - hits_seen
        counts[0, j] = positives
        figures[3, j], figures[4, j], figures[5, j] = cubes, most_tied, rank

        # 2. Walk up those that have positives: pairs that are won, twice, as ties are half won; the best cut.
        won, highest, hits_seen = np.int64(0), 0.0, np.int64(0)
        for i in range(n_groups):
            hit, lost = hits[places[i]], weights[places[i]] - hits[places[i]]
            won += hit * (2 * n_below[i] + lost)
            tp = positives - hits_seen
            predicted = tp + negatives - n_below[i]
            half_f = tp / float(positives + predicted)
            if half_f >= highest:
                highest = half_f
                counts[1, j], counts[2, j] = tp, predicted
            hits_seen += hit

        # 3. Once more: squares of placements about AUROC, which is their mean.
        if positives > 0 and negatives > 0:
            auroc = won / (2.0 * positives * negatives)
            of_positives, of_negatives = 0.0, 0.0
            hits_seen, lost_seen = np.int64(0), np.int64(0)
            for i in range(n_groups):
                hit, lost = hits[places[i]], weights[places[i]] - hits[places[i]]
                # Negatives below it, down to the next lower positive, have one placement.
                off = (positives - hits_seen) / float(positives) - auroc
                of_negatives += (n_below[i] - lost_seen) * (off * off)
                off = (positives - hits_seen - 0.5 * hit) / float(positives) - auroc
                of_negatives += lost * (off * off)
                off = (n_below[i] + 0.5 * lost) / float(negatives) - auroc
                of_positives += hit * (off * off)
                hits_seen += hit
                lost_seen = n_below[i] + lost
            of_negatives += (negatives - lost_seen) * (auroc * auroc)
            figures[0, j] = auroc
            if positives > 1:
                figures[1, j] = of_positives / (positives - 1)
            if negatives > 1:
                figures[2, j] = of_negatives / (negatives - 1)

        # 4. Of the rows that are not in the largest tie group: their mid-ranks, where many are in it.
        others = n - most_tied
        figures[6, j], figures[7, j] = 0.0, 0.0
        if others > 0:
            figures[6, j] = (0.5 * n * (n + 1) - most_tied * rank) / others
        if most_tied > MANY_TIED * n and others > 1:
            squares = 0.0
            seen = np.int64(0)
            for k in range(last - 1, first - 1, -1):
                size = weights[k]
                mid_rank = seen + 0.5 * (size + 1)
                if mid_rank != rank:
                    off = mid_rank - figures[6, j]
                    squares += size * (off * off)
                seen += size
            figures[7, j] = squares / (others - 1)
    return figures, counts


@kernel
def cuts_within(offsets: Ints, hits: Ints, weights: Ints, positives: Ints, ratio: float) -> Ints:
    """Return the lowest cut of each label that predicts at most `ratio` times the positives, (3, n_labels).

    Its group, -1 for none, as of labels without positives; its true positives; its predictions.
    """
    cuts = np.zeros((3, positives.size), np.int64)
    for j in range(positives.size):
        cuts[0, j] = -1
        k = offsets[j]
        tp, predicted = np.int64(0), np.int64(0)
        while k < offsets[j + 1] and positives[j] > 0:
            tp += hits[k]
            predicted += weights[k]
            if predicted / float(positives[j]) > ratio:
                break
            cuts[0, j], cuts[1, j], cuts[2, j] = k, tp, predicted
            k += 1
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
) -> float:
    """Return the probability of a rank sum at least as large, if truth falls on the rows by chance and many are tied.

    How many positives lie outside the largest tie group is hypergeometric; given that, the sum is nearly normal.
    `mean` and `variance` are those of the ranks of the other rows.
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
        spread = math.sqrt(max(k * variance * (1.0 - k / others), 0.0)) if others > 0 else 0.0
        if spread > 0:
            excess = rank_sum - expected - 0.5
            beyond = 0.5 * math.erfc(excess / (spread * math.sqrt(2.0)))
        else:
            # Both are halves, but for rounding.
            beyond = 1.0 if rank_sum < expected + 0.25 else 0.0
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
        )
    return p
