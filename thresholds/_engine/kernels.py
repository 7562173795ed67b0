"""The steps of labels among which the best must be, for large problems: a bucket sort of what may matter, in Numba.

    F_beta / (1 + B) = t / (B P + k)        B = beta^2, P positives, k predicted, t of them true

The scores of a label are counted in buckets between the lowest and the highest score of its positives. Take a bucket
with k predicted and t true above it, and t_end true at its lower end. A cut inside has t' <= t_end. Each of its true
positives is predicted, too, so that k' >= k + t' - t. For any ratio r in [0, 1] that gives

    t' - r k' <= t_end - r (k + t_end - t)                                                                    (1)

A label by itself: let r be the best ratio at the ends of buckets. A better cut has t' - r k' >= r B P. A bucket for
which (1) is less is left out.

All labels jointly (micro): let r be the best ratio of all together. It is known to lie in [low, high], and each label
takes the cut where t - r k is highest. A bucket is left out if (1) is less than what one counted cut has, at both ends
of that range: both sides are linear in r.

Some percent of the scores remain. They are put into buckets again, until a few are left, which are sorted, or a single
value. Scores that buckets do not part, as those from 1e-30 to 1e30, are given up: NumPy sorts these labels
(`staircase.py`).
"""

from typing import Any, NamedTuple

import numpy as np

from thresholds._arrays.types import Bytes, Floats, Ints, Scores
from thresholds._kernels._jit import kernel_of_finite, part_of_kernel

BUCKETS = 1024
FEW = 32  # scores that are sorted by insertion
MOST_NODES = 8 * BUCKETS  # ranges of scores that wait to be looked at
TOO_HARD = -1

# What decides whether a cut may be the best: places in `bar`.
(
    LOW,  # the range of the ratio r; for a label by itself both ends are the best ratio that was counted
    HIGH,
    FIRST_AT_LOW,  # t - r k at either end, of the counted cut that is best at the lower one
    FIRST_AT_HIGH,
    SECOND_AT_LOW,  # and of the counted cut that is best at the upper one
    SECOND_AT_HIGH,
    BASE,  # B P
    POSITIVES,
    SLACK,  # more than the rounding error of (1)
    MOST_OVER,  # limits: predictions over positives, at most,
    LEAST_RECALL,
    LEAST_PRECISION,
    IS_JOINT,
    SIZE_OF_BAR,
) = range(14)

# A range of scores that may hold the best cut: places in a row of `nodes`.
START, END, K, T, T_END, SIZE_OF_NODE = range(6)


class SearchBuffers(NamedTuple):
    """Memory for one label at a time, used again for the next; what is never needed is never touched."""

    scores: Scores  # (2 n,) of ranges that may hold the best cut; each range lies behind the one that it is part of
    truth: Bytes  # (2 n,)
    weights: Ints | None  # (2 n,)
    hits: Scores  # (n,) scores of positives
    bucket: Any  # (n,) uint16
    kept: Any  # (n,) uint32 places of cells that are kept
    size: Ints  # (BUCKETS + 2,) cells of each bucket,
    weight: Ints  # what they weigh,
    hit_weight: Ints  # and their positives,
    place: Ints  # where the next of them goes,
    is_kept: Bytes  # and whether they may hold the best cut
    nodes: Ints  # (MOST_NODES, SIZE_OF_NODE)
    bar: Floats  # (SIZE_OF_BAR,)


class StepBuffers(NamedTuple):
    """Steps, (n_steps,) each. `lower` is the next lower score, +inf where it was not at hand."""

    cut: Floats
    lower: Floats
    tp: Ints
    predicted: Ints


@kernel_of_finite
def useful_steps(  # type: ignore[no-untyped-def]
    scores, truth, weights, starts, ends, more, beta2, low, high, is_joint, limits, room, found
):
    """Write the steps of labels that may be best; return them, how many each label has, and its positives.

    scores, truth, weights, more : as in `Columns`; the cells of label j are `starts[j]:ends[j]`
    low, high : the range of the ratio, where labels are searched jointly
    limits : (3, n_labels) most predictions over positives, least recall, least precision; inf, 0, 0 for none

    A label that is too hard has TOO_HARD steps.
    """
    n_labels = more.size
    n_steps = np.zeros(n_labels, np.int64)
    positives = np.zeros(n_labels, np.int64)
    n_found = 0
    bar = room.bar
    for label in range(n_labels):
        first, last = starts[label], ends[label]
        x, y, w = scores[first:last], truth[first:last], weights
        if weights is not None and weights.size == scores.size:
            w = weights[first:last]

        # 1. Weigh all cells and the positives, and find the range of their scores.
        n_hits, hit_weight, total = _weigh(x, y, w, room.hits)
        positives[label] = hit_weight + more[label]
        n_finite, lowest, highest = _range(room.hits[:n_hits])
        if n_hits == 0:
            continue

        # 2. Make room for as many steps as there may be.
        most = n_hits if is_joint else 1
        if n_found + most > found.cut.size:
            found = _larger(found, 2 * (n_found + most))
        steps = _from(found, n_found)

        # 3. Set the bar: nothing is counted yet.
        bar[:] = 0.0
        bar[IS_JOINT] = is_joint
        if is_joint:
            bar[LOW], bar[HIGH] = low, high
        bar[BASE], bar[POSITIVES] = beta2 * positives[label], positives[label]
        bar[SLACK] = 1e-12 * total
        bar[MOST_OVER], bar[LEAST_RECALL], bar[LEAST_PRECISION] = (
            limits[0, label],
            limits[1, label],
            limits[2, label],
        )

        # 4. Search, the highest scores first; last comes the cut that predicts masked cells, too.
        n = 0
        if n_finite:
            n = _search(x, y, w, lowest, highest, room, bar, steps)
        if n != TOO_HARD:
            if n_finite < n_hits:
                n = _offer(bar, steps, n, -np.inf, np.inf, hit_weight, total)
            if is_joint:
                n = _vertices(steps, n, low, high)
            n_found += n
        n_steps[label] = n
    # Return arrays, no named tuple (see `Kernel`).
    cut, lower, tp, predicted = found
    return cut[:n_found], lower[:n_found], tp[:n_found], predicted[:n_found], n_steps, positives


@part_of_kernel
def _weigh(x, y, w, hits):  # type: ignore[no-untyped-def]
    """List the scores of positives; return their number, their weight and that of all cells."""
    # Bytes are added to it: where Python is not compiled, a plain 0 and bytes make a byte.
    n = np.int64(0)
    # Each is overwritten by the next unless it is positive: a branch would be hard to predict.
    if w is None:
        for i in range(x.size):
            hits[n] = x[i]
            n += y[i]
        return n, n, x.size
    hit_weight, total = 0, 0
    for i in range(x.size):
        hits[n] = x[i]
        n += y[i]
        hit_weight += w[i] * y[i]
        total += w[i]
    return n, hit_weight, total


@part_of_kernel
def _range(hits):  # type: ignore[no-untyped-def]
    """Return how many scores are not masked, the lowest of these, and the highest."""
    n = 0
    lowest, highest = np.inf, -np.inf
    for score in hits:
        if score > -np.inf:
            n += 1
            lowest, highest = min(lowest, score), max(highest, score)
    return n, lowest, highest


@part_of_kernel
def _search(x, y, w, lowest, highest, room, bar, steps):  # type: ignore[no-untyped-def]
    """Write the steps of a label that may be best; return how many, or TOO_HARD."""
    nodes = room.nodes
    n, end = 0, 0  # what was found, and where the memory of the range begins that is free
    k, t = 0, 0
    n_nodes = 0
    own_w = w
    while True:
        # 1. Look at a range of scores: a single value, a few, or many, of which some are left to be looked at.
        if lowest == highest:
            more_k, more_t = _count(x, y, own_w, x.dtype.type(lowest))
            n = _offer(bar, steps, n, lowest, np.inf, t + more_t, k + more_k)
        elif x.size <= FEW:
            n = _sweep(x, y, own_w, k, t, end, room, bar, steps, n)
        else:
            n_nodes = _split(x, y, own_w, lowest, highest, k, t, end, room, bar, n_nodes)
            if n_nodes == TOO_HARD:
                return TOO_HARD
        # 2. Take up the highest of those that are left and may still hold the best cut.
        while n_nodes:
            node = nodes[n_nodes - 1]
            if _may_hold_best(bar, node[K], node[T], node[T_END]):
                break
            n_nodes -= 1
        if n_nodes == 0:
            return n
        n_nodes -= 1
        node = nodes[n_nodes]
        k, t, end = node[K], node[T], node[END]
        cells = slice(node[START], end)
        x, y = room.scores[cells], room.truth[cells]
        if w is not None:
            own_w = room.weights[cells]
        n_hits, _, _ = _weigh(x, y, None, room.hits)
        _, lowest, highest = _range(room.hits[:n_hits])


@part_of_kernel
def _may_be_best(bar, t, k):  # type: ignore[no-untyped-def]
    """Whether a cut with these counts may be the best for a ratio in the range."""
    at_low = t - bar[LOW] * k + bar[SLACK]
    at_high = t - bar[HIGH] * k + bar[SLACK]
    is_below_first = at_low < bar[FIRST_AT_LOW] and at_high < bar[FIRST_AT_HIGH]
    is_below_second = at_low < bar[SECOND_AT_LOW] and at_high < bar[SECOND_AT_HIGH]
    return not (is_below_first or is_below_second)


@part_of_kernel
def _may_hold_best(bar, k, t, t_end):  # type: ignore[no-untyped-def]
    """Whether a cut below (k, t) with at most t_end true may be the best, and keep the limits: (1)."""
    least_k = k + t_end - t  # with all of its positives
    keeps = (
        k / bar[POSITIVES] <= bar[MOST_OVER]
        and t_end / bar[POSITIVES] >= bar[LEAST_RECALL]
        and t_end / least_k >= bar[LEAST_PRECISION]
    )
    return keeps and _may_be_best(bar, t_end, least_k)


@part_of_kernel
def _keeps_limits(bar, t, k):  # type: ignore[no-untyped-def]
    """Whether a cut keeps the limits."""
    return (
        k / bar[POSITIVES] <= bar[MOST_OVER]
        and t / bar[POSITIVES] >= bar[LEAST_RECALL]
        and t / k >= bar[LEAST_PRECISION]
    )


@part_of_kernel
def _raise_bar(bar, t, k):  # type: ignore[no-untyped-def]
    """Note a counted cut that keeps the limits: what is below it cannot be the best."""
    if bar[IS_JOINT]:
        at_low, at_high = t - bar[LOW] * k, t - bar[HIGH] * k
        if at_low > bar[FIRST_AT_LOW]:
            bar[FIRST_AT_LOW], bar[FIRST_AT_HIGH] = at_low, at_high
        if at_high > bar[SECOND_AT_HIGH]:
            bar[SECOND_AT_LOW], bar[SECOND_AT_HIGH] = at_low, at_high
        return
    ratio = t / (bar[BASE] + k)
    if ratio > bar[LOW]:
        bar[LOW], bar[HIGH] = ratio, ratio
        for i in range(FIRST_AT_LOW, SECOND_AT_HIGH + 1):
            bar[i] = ratio * bar[BASE]


@part_of_kernel
def _offer(bar, steps, n, cut, lower, t, k):  # type: ignore[no-untyped-def]
    """Keep a step if it may be the best; return how many are kept. Of equal ratios that of the higher cut is better."""
    if not (_keeps_limits(bar, t, k) and _may_be_best(bar, t, k)):
        return n
    if not bar[IS_JOINT] and n:
        ratio = t / (bar[BASE] + k)
        best = steps.tp[0] / (bar[BASE] + steps.predicted[0])
        if ratio < best or (ratio == best and k > steps.predicted[0]):
            return n
        n = 0
    steps.cut[n], steps.lower[n], steps.tp[n], steps.predicted[n] = cut, lower, t, k
    _raise_bar(bar, t, k)
    return n + 1


@part_of_kernel
def _count(x, y, w, cut):  # type: ignore[no-untyped-def]
    """Return what weighs at or above a cut, and what of it is true."""
    k, t = np.int64(0), np.int64(0)
    if w is None:
        for i in range(x.size):
            k += x[i] >= cut
            t += y[i] & (x[i] >= cut)
    else:
        for i in range(x.size):
            k += w[i] * (x[i] >= cut)
            t += w[i] * (y[i] & (x[i] >= cut))
    return k, t


@part_of_kernel
def _sweep(x, y, w, k, t, end, room, bar, steps, n):  # type: ignore[no-untyped-def]
    """Sort a few scores, downwards, and offer each step; return how many are kept."""
    scores, truth = room.scores[end:], room.truth[end:]
    for i in range(x.size):
        at = i
        while at and scores[at - 1] < x[i]:
            scores[at], truth[at] = scores[at - 1], truth[at - 1]
            if w is not None:
                room.weights[end + at] = room.weights[end + at - 1]
            at -= 1
        scores[at], truth[at] = x[i], y[i]
        if w is not None:
            room.weights[end + at] = w[i]
    has_hit = False
    for i in range(x.size):
        if scores[i] == -np.inf:
            return n  # The cut that predicts masked cells, too, is offered once, by the caller.
        weight = 1 if w is None else room.weights[end + i]
        k += weight
        t += weight * truth[i]
        has_hit |= truth[i] > 0
        if i + 1 == x.size:
            if has_hit:
                n = _offer(bar, steps, n, scores[i], np.inf, t, k)
        elif scores[i + 1] < scores[i]:
            if has_hit:
                n = _offer(bar, steps, n, scores[i], scores[i + 1], t, k)
            has_hit = False
    return n


@part_of_kernel
def _split(x, y, w, lowest, highest, k_above, t_above, end, room, bar, n_nodes):  # type: ignore[no-untyped-def]
    """Count scores in buckets, and put down those that may hold the best cut; return how many ranges are put down."""
    bucket = room.bucket[: x.size]
    size, weight, hit_weight = room.size, room.weight, room.hit_weight
    # 1. Number the buckets upwards, some 8 to 16 scores in each: 0 is below all positives.
    n_buckets = 16
    while n_buckets < BUCKETS and x.size >= 16 * n_buckets:
        n_buckets *= 2
    kind = x.dtype.type
    scale = kind(n_buckets - 1) / (kind(highest) - kind(lowest))
    if not 0 < scale < np.inf:
        return TOO_HARD
    _number(x, kind(lowest), scale, kind(n_buckets), bucket)
    _tally(bucket, y, w, n_buckets, room)

    # 2. Raise the bar by the cuts at the lower ends of buckets.
    k, t = k_above, t_above
    for b in range(n_buckets, 0, -1):
        k += weight[b]
        t += hit_weight[b]
        if hit_weight[b] and _keeps_limits(bar, t, k):
            _raise_bar(bar, t, k)

    # 3. Give room to those that may hold the best cut, the lowest of them first.
    n_left = 0
    t_end = t
    for b in range(1, n_buckets + 1):
        k -= weight[b]
        t -= hit_weight[b]
        room.is_kept[b] = hit_weight[b] > 0 and _may_hold_best(bar, k, t, t_end)
        if room.is_kept[b]:
            start = end + n_left
            n_left += size[b]
            if n_nodes == MOST_NODES or end + n_left + FEW > room.scores.size:
                return TOO_HARD
            node = room.nodes[n_nodes]
            node[START], node[END] = start, end + n_left
            node[K], node[T], node[T_END] = k, t, t_end
            room.place[b] = start
            n_nodes += 1
        t_end = t
    room.is_kept[0] = 0

    # 4. Copy their cells there.
    _gather(x, y, w, bucket, room)
    return n_nodes


@part_of_kernel
def _number(x, lowest, scale, n_buckets, bucket):  # type: ignore[no-untyped-def]
    """Number the bucket of each score."""
    below, one = x.dtype.type(-1), x.dtype.type(1)
    highest = n_buckets - one
    for i in range(x.size):
        bucket[i] = np.int32(min(max((x[i] - lowest) * scale, below), highest) + one)


@part_of_kernel
def _tally(bucket, y, w, n_buckets, room):  # type: ignore[no-untyped-def]
    """Count the cells of each bucket, and add up their weights and those of positives."""
    size, weight, hit_weight = room.size, room.weight, room.hit_weight
    for b in range(n_buckets + 1):
        size[b] = 0
        weight[b] = 0
        hit_weight[b] = 0
    if w is None:
        # Both in one number, positives in its upper half: half as many additions.
        for i in range(bucket.size):
            size[bucket[i]] += 1 + (np.int64(y[i]) << 32)
        for b in range(n_buckets + 1):
            hit_weight[b] = size[b] >> 32
            size[b] &= 0xFFFFFFFF
            weight[b] = size[b]
        return
    for i in range(bucket.size):
        b = bucket[i]
        size[b] += 1
        weight[b] += w[i]
        hit_weight[b] += w[i] * y[i]


@part_of_kernel
def _gather(x, y, w, bucket, room):  # type: ignore[no-untyped-def]
    """Copy the cells of buckets that are kept, each bucket to its place."""
    n = np.int64(0)  # bytes are added to it, as in `_weigh`
    for i in range(x.size):
        room.kept[n] = i  # overwritten by the next unless it is kept
        n += room.is_kept[bucket[i]]
    for at in range(n):
        i = room.kept[at]
        place = room.place[bucket[i]]
        room.scores[place], room.truth[place] = x[i], y[i]
        if w is not None:
            room.weights[place] = w[i]
        room.place[bucket[i]] = place + 1


@part_of_kernel
def _slope(steps, i, j):  # type: ignore[no-untyped-def]
    """Return what step j has more true than step i, for each more that is predicted; i < 0: than no prediction."""
    t, k = (steps.tp[i], steps.predicted[i]) if i >= 0 else (0, 0)
    return (steps.tp[j] - t) / (steps.predicted[j] - k)


@part_of_kernel
def _vertices(steps, n_steps, low, high):  # type: ignore[no-untyped-def]
    """Leave the vertices of the upper hull of (k, t) where t - r k is highest for an r in [low, high]."""
    n = 0
    for i in range(n_steps):  # from the highest cut down
        while n and _slope(steps, n - 1, i) > _slope(steps, n - 2, n - 1) * (1 + 1e-12):
            n -= 1
        _move(steps, i, n)
        n += 1
    first = 0
    while first + 1 < n and _slope(steps, first, first + 1) > high * (1 + 1e-12):
        first += 1
    while n and _slope(steps, n - 2, n - 1) < low * (1 - 1e-12):
        n -= 1
    for i in range(first, n):
        _move(steps, i, i - first)
    return max(n - first, 0)


@part_of_kernel
def _move(steps, i, to):  # type: ignore[no-untyped-def]
    """Write a step to another place."""
    steps.cut[to], steps.lower[to] = steps.cut[i], steps.lower[i]
    steps.tp[to], steps.predicted[to] = steps.tp[i], steps.predicted[i]


@part_of_kernel
def _from(found, start):  # type: ignore[no-untyped-def]
    """Return the room behind what was found, as views."""
    return StepBuffers(
        found.cut[start:], found.lower[start:], found.tp[start:], found.predicted[start:]
    )


@part_of_kernel
def _larger(found, n):  # type: ignore[no-untyped-def]
    """Return room for more steps, with those that were found."""
    larger = StepBuffers(np.empty(n), np.empty(n), np.empty(n, np.int64), np.empty(n, np.int64))
    for i in range(found.cut.size):
        larger.cut[i], larger.lower[i] = found.cut[i], found.lower[i]
        larger.tp[i], larger.predicted[i] = found.tp[i], found.predicted[i]
    return larger


@kernel_of_finite
def look_up_lower(  # type: ignore[no-untyped-def]
    scores, starts, ends, offsets, cut, lower
):
    """Find the next lower scores that were not at hand, in place; NaN where there is none.

    scores, starts, ends : as in `Columns`; offsets, cut, lower : as in `Steps`
    """
    nothing = scores.dtype.type(-np.inf)
    for label in range(starts.size):
        own = scores[starts[label] : ends[label]]
        for step in range(offsets[label], offsets[label + 1]):
            if lower[step] != np.inf:
                continue
            # In vector registers: the highest of what is below the cut.
            top, found = scores.dtype.type(cut[step]), nothing
            for i in range(own.size):
                found = max(found, own[i] if own[i] < top else nothing)
            # Masked scores are below any other, too.
            has_lower = found > nothing
            if not has_lower and top > nothing:
                for i in range(own.size):
                    has_lower |= own[i] == nothing
            lower[step] = found if has_lower else np.nan


def room_for(n_cells: int, dtype: np.dtype[Any], *, weighted: bool) -> SearchBuffers:
    """Return memory for labels of at most so many cells."""
    n_ranges = 2 * n_cells + 2 * FEW
    return SearchBuffers(
        scores=np.empty(n_ranges, dtype),
        truth=np.empty(n_ranges, np.uint8),
        weights=np.empty(n_ranges, np.int64) if weighted else None,
        hits=np.empty(n_cells + 1, dtype),
        bucket=np.empty(n_cells, np.uint16),
        kept=np.empty(n_cells + 1, np.uint32),
        size=np.empty(BUCKETS + 2, np.int64),
        weight=np.empty(BUCKETS + 2, np.int64),
        hit_weight=np.empty(BUCKETS + 2, np.int64),
        place=np.empty(BUCKETS + 2, np.int64),
        is_kept=np.empty(BUCKETS + 2, np.uint8),
        nodes=np.empty((MOST_NODES, SIZE_OF_NODE), np.int64),
        bar=np.empty(SIZE_OF_BAR),
    )


def found_for(n_steps: int) -> StepBuffers:
    """Return memory for so many steps."""
    return StepBuffers(
        np.empty(n_steps),
        np.empty(n_steps),
        np.empty(n_steps, np.int64),
        np.empty(n_steps, np.int64),
    )
