"""Loops that sort scores, and those that sweep a label's sorted scores once: its staircase and its AUROC.

Scores are keys (`keys.py`). Those that weigh 1 each come sorted by NumPy, beside those of the positives
(`data/panels.py`): 2.3 ns a float32 score with AVX-512. What rows must travel with is sorted here, upwards, by a radix
sort of 11 bits a pass; without rows it takes 3.2. `experiments/speed/kernels.py` prints both, and why they are sorted
at all: to search for each among the positives takes 35 to 75, as it mispredicts a branch at every step.
"""

import itertools
from typing import Any

import numpy as np

from thresholds._arrays.types import Bytes, Floats, Integers, Ints, Keys, SmallInts, Weights
from thresholds._kernels._jit import kernel

# The keys of list j are `sizes[j]` from `firsts[j]` on.
ListArrays = tuple[Ints, Ints, Keys]
# Offsets; of each step its key, the next lower key, true and false positives, and what is higher.
Steps = tuple[Ints, Keys, Keys, Ints, Ints, Ints]

_DIGIT_BITS = 11
_N_DIGITS = 1 << _DIGIT_BITS
# Most labels have few positives: between two of them, skip this many scores at a time.
_STRIDE = 16
# So many keys are sorted by insertion, in less time than digits are counted.
_FEW = 64


@kernel
def _radix_sort(keys: Keys, rows: Integers, spare: Keys, spare_rows: Integers) -> tuple[Keys, Any]:
    """Sort many keys; as `_sort`."""
    # Unsigned places spare Numba's test for negative indices: 8 % of the time, 16 % with rows.
    as_key, one = keys.dtype.type, np.uint64(1)
    mask = as_key(_N_DIGITS - 1)
    place = np.empty(_N_DIGITS, np.uint64)
    for low in range(0, 8 * keys.itemsize, _DIGIT_BITS):
        # 1. Count the digits, and from that where each digit's keys begin.
        shift = as_key(low)
        for d in range(_N_DIGITS):
            place[d] = 0
        for i in range(keys.size):
            place[(keys[i] >> shift) & mask] += one
        start, most = np.uint64(0), np.uint64(0)
        for d in range(_N_DIGITS):
            most = max(most, place[d])
            start, place[d] = start + place[d], start
        if most == start:
            continue  # One digit for all: half of the passes when float32 values come as float64.

        # 2. Move each key there; equal digits keep their order.
        for i in range(keys.size):
            x = keys[i]
            digit = (x >> shift) & mask
            to = place[digit]
            spare[to] = x
            if rows.size > 0:
                spare_rows[to] = rows[i]
            place[digit] = to + one
        keys, spare = spare, keys
        rows, spare_rows = spare_rows, rows
    return keys, rows


@kernel
def _insertion_sort(keys: Keys, rows: Integers, first: Any, last: Any) -> None:
    """Sort few keys, `first:last`, upwards in place, `rows` along with them unless empty."""
    for i in range(first + 1, last):
        x, row, k = keys[i], rows[i] if rows.size > 0 else np.int64(0), i
        while k > first and keys[k - 1] > x:
            keys[k] = keys[k - 1]
            if rows.size > 0:
                rows[k] = rows[k - 1]
            k -= 1
        keys[k] = x
        if rows.size > 0:
            rows[k] = row


@kernel
def _sort(keys: Keys, rows: Integers, spare: Keys, spare_rows: Integers) -> tuple[Keys, Any]:
    """Sort keys upwards, `rows` along with them unless empty; the result lies in either pair of arrays."""
    if keys.size > _FEW:
        return _radix_sort(keys, rows, spare, spare_rows)
    _insertion_sort(keys, rows, 0, keys.size)
    return keys, rows


@kernel
def sorted_with_rows(keys: Keys) -> tuple[Keys, SmallInts]:
    """Return keys upwards, and where each was, leaving `keys` alone."""
    rows = np.empty(keys.size, np.int32)
    for i in range(keys.size):
        rows[i] = i
    return _sort(keys.copy(), rows, np.empty_like(keys), np.empty_like(rows))


@kernel
def sorted_groups(starts: Ints, keys: Keys) -> tuple[Keys, SmallInts]:
    """Sort the keys of each group upwards, and return where each was in its group."""
    up, rows = np.empty_like(keys), np.empty(keys.size, np.int32)
    for j in range(starts.size - 1):
        first, last = starts[j], starts[j + 1]
        own, at = sorted_with_rows(keys[first:last])
        for i in range(own.size):
            up[first + i], rows[first + i] = own[i], at[i]
    return up, rows


@kernel
def sorted_lists(
    lists: Ints, keys: Keys, weights: Ints, first_list: int, last_list: int, lowest: Any
) -> tuple[Ints, Keys, Ints]:
    """Return the distinct keys of each list, falling, with their weights added up.

    List j is `offsets[j]:offsets[j + 1]`. Key i is of list `lists[i]` and weighs `weights[i]`, or 1 where `weights` is
    empty. Keys of other lists than `first_list:last_list` are left out, and those below `lowest` or without weight.
    """
    # 1. Which keys are wanted; how many of each list, and from that where each begins.
    n_lists = last_list - first_list
    wanted = np.empty(keys.size, np.bool_)
    place = np.zeros(n_lists + 1, np.int64)
    for i in range(keys.size):
        wanted[i] = (
            (lists[i] >= first_list)
            & (lists[i] < last_list)
            & (keys[i] >= lowest)
            & (weights.size == 0 or weights[i] > 0)
        )
        if wanted[i]:
            place[lists[i] - first_list + 1] += 1
    longest = np.int64(0)
    for j in range(n_lists):
        longest = max(longest, place[j + 1])
        place[j + 1] += place[j]

    # 2. Move each key to its list, with its row if it has a weight: then `place[j]` is where list j ends.
    size = place[n_lists]
    listed = np.empty(size, keys.dtype)
    rows = np.empty(size if weights.size > 0 else 0, np.int64)
    for i in range(keys.size):
        if wanted[i]:
            to = place[lists[i] - first_list]
            listed[to] = keys[i]
            if weights.size > 0:
                rows[to] = i
            place[lists[i] - first_list] = to + 1

    # 3. Sort each list, and keep one of equal keys, with their weight. Most lists have a key or none: a view of each
    # would take longer than all else.
    spare = np.empty(longest, keys.dtype)
    spare_rows = np.empty(longest if weights.size > 0 else 0, np.int64)
    offsets = np.zeros(n_lists + 1, np.int64)
    distinct, sums = np.empty(size, keys.dtype), np.empty(size, np.int64)
    first, n_kept = np.int64(0), np.int64(0)
    for j in range(n_lists):
        last = place[j]
        if last - first <= _FEW:
            _insertion_sort(listed, rows, first, last)
        else:
            own, row = listed[first:last], rows[first:last] if weights.size > 0 else rows
            own[:], row[:] = _radix_sort(own, row, spare[: own.size], spare_rows[: row.size])
        for i in range(last - 1, first - 1, -1):
            weight = weights[rows[i]] if weights.size > 0 else np.int64(1)
            if n_kept > offsets[j] and distinct[n_kept - 1] == listed[i]:
                sums[n_kept - 1] += weight
            else:
                distinct[n_kept], sums[n_kept] = listed[i], weight
                n_kept += 1
        first, offsets[j + 1] = last, n_kept
    return offsets, distinct[:n_kept], sums[:n_kept]


@kernel
def _sweep(
    up: Keys,
    positives: Keys,
    above: Any,
    tp_above: Any,
    below: Any,
    key: Keys,
    lower: Keys,
    tp: Ints,
    fp: Ints,
    higher: Ints,
    step: Any,
) -> Any:
    """Write the steps of one label from its sorted keys and those of its positives; return the next step's place."""
    # From the top down, one distinct score of a positive after another.
    i, p = up.size, positives.size
    while p > 0:
        x = positives[p - 1]
        while p > 0 and positives[p - 1] == x:
            p -= 1
        # Scores in between are skipped many at a time, as most labels have few positives.
        while i >= _STRIDE and up[i - _STRIDE] >= x:
            i -= _STRIDE
        while i > 0 and up[i - 1] >= x:
            i -= 1
        after = i + 1
        while after < up.size and up[after] == x:
            after += 1
        step_tp = tp_above + positives.size - p
        key[step], lower[step] = x, up[i - 1] if i > 0 else below
        tp[step], fp[step] = step_tp, above + (up.size - i) - step_tp
        higher[step] = above + up.size - after
        step += 1
    return step


def listed_positives(starts: Ints, keys: Keys, truth: Bytes) -> tuple[Ints, Keys]:
    """Return the keys of each group that are positive, those of group j being `offsets[j]:offsets[j + 1]`."""
    groups = itertools.pairwise(starts.tolist())
    offsets = np.append(
        0, [np.count_nonzero(truth[own]) for own in itertools.starmap(slice, groups)]
    )
    return offsets.cumsum(), keys[truth.view(np.bool_)]


def unit_staircases(
    starts: Ints, up: Keys, true_starts: Ints, true_keys: Keys, marks: Bytes
) -> Steps:
    """Return the staircase of each group of keys from those of its positives, all sorted upwards, each counting once.

    Marks the keys that are positive, the first of equal ones.
    """
    # From the top down: where each positive lies among all keys says what is predicted.
    falling = np.empty_like(true_keys)  # (n_positives,)
    lower = np.zeros_like(true_keys)
    predicted, higher = np.empty((2, true_keys.size), np.int64)
    groups = zip(
        itertools.pairwise(starts.tolist()), itertools.pairwise(true_starts.tolist()), strict=True
    )
    for (first, last), (first_true, last_true) in groups:
        if first_true < last_true:
            own = up[first:last]
            positives = falling[first_true:last_true] = true_keys[first_true:last_true][::-1]
            at_or_above = own.searchsorted(positives, "left")
            above = own.searchsorted(positives, "right")
            predicted[first_true:last_true] = own.size - at_or_above
            higher[first_true:last_true] = own.size - above
            has_lower = at_or_above > 0
            lower[first_true:last_true][has_lower] = own[at_or_above[has_lower] - 1]
            place = (
                np.arange(positives.size)
                - positives.size
                + positives[::-1].searchsorted(positives, "right")
            )
            marks[first + at_or_above + place] = 1
    # A step is the last of equal positives of a label.
    is_last = np.append(falling[1:] != falling[:-1], True)[: falling.size]
    is_last[true_starts[1:][true_starts[1:] > 0] - 1] = True
    steps = np.flatnonzero(is_last)
    rank = 1 + np.arange(falling.size) - np.repeat(true_starts[:-1], np.diff(true_starts))
    tp = rank[steps]
    offsets = np.searchsorted(steps, true_starts)
    return offsets, falling[steps], lower[steps], tp, predicted[steps] - tp, higher[steps]


@kernel
def staircases_without(
    starts: Ints,
    up: Keys,
    steps: Steps,
    part_starts: Ints,
    part_up: Keys,
    part_true_starts: Ints,
    part_true_keys: Keys,
) -> Steps:
    """Return the staircase of each group of keys, `up`, without a part of them: `steps` are those of all.

    The keys of the part, and those of its positives, are sorted upwards, too, and each counts once.
    """
    offsets, key, _, tp, fp, higher = steps
    n_labels, size = starts.size - 1, key.size
    left_offsets = np.zeros(n_labels + 1, np.int64)
    left_key, left_lower = np.empty(size, up.dtype), np.empty(size, up.dtype)
    left_tp, left_fp, left_higher = np.empty((3, size), np.int64)
    step = np.int64(0)
    for j in range(n_labels):
        own = up[starts[j] : starts[j + 1]]
        part = part_up[part_starts[j] : part_starts[j + 1]]
        part_true = part_true_keys[part_true_starts[j] : part_true_starts[j + 1]]
        i, p = part.size, part_true.size
        tp_above = np.int64(0)
        for k in range(offsets[j], offsets[j + 1]):
            # What the part has above the step's key, and down to it.
            x = key[k]
            while i >= _STRIDE and part[i - _STRIDE] > x:
                i -= _STRIDE
            while i > 0 and part[i - 1] > x:
                i -= 1
            part_higher = part.size - i
            while i > 0 and part[i - 1] == x:
                i -= 1
            while p > 0 and part_true[p - 1] >= x:
                p -= 1

            # Without a positive outside the part it is no step.
            predicted = tp[k] + fp[k]
            step_tp = tp[k] - (part_true.size - p)
            if step_tp == tp_above:
                continue
            tp_above = step_tp
            # The next lower key outside the part: each of the part is one of all.
            below, part_below = own.size - predicted, i
            while part_below > 0 and own[below - 1] == part[part_below - 1]:
                below -= 1
                part_below -= 1
            left_key[step] = x
            left_lower[step] = own[below - 1] if below > 0 else up.dtype.type(0)
            left_tp[step] = step_tp
            left_fp[step] = predicted - (part.size - i) - step_tp
            left_higher[step] = higher[k] - part_higher
            step += 1
        left_offsets[j + 1] = step
    return (
        left_offsets,
        left_key[:step],
        left_lower[:step],
        left_tp[:step],
        left_fp[:step],
        left_higher[:step],
    )


@kernel
def _first_from(up: Keys, first: Any, last: Any, x: Any) -> Any:
    """Return the first place, `first:last`, of a rising key that is at least x, `last` for none."""
    while first < last:
        middle = (first + last) // 2
        if up[middle] < x:
            first = middle + 1
        else:
            last = middle
    return first


@kernel
def round_ranks_without(
    starts: Ints,
    up: Keys,
    true_starts: Ints,
    true_keys: Keys,
    part_starts: Ints,
    part_up: Keys,
    part_true_starts: Ints,
    part_true_keys: Keys,
    steps: Steps,
    ranks: Ints,
) -> tuple[Keys, Bytes, Ints, Ints, Ints]:
    """Return the keys of each group without a part of them from one rank to another, (2, n_groups), and those that tie.

    All are sorted upwards; `steps` are those of what is left. Returns keys, which of them are positive (of equal ones
    the first), where those of each group begin and end, and the items and positives above, (2, n_groups). It is the
    highest key alone where the first rank is beyond the group, or the second rank.
    """
    n_groups = starts.size - 1
    # In the places that they have in `up`.
    keys = np.empty(up.size, up.dtype)
    marks = np.empty(up.size, np.uint8)
    firsts, ends = np.empty(n_groups, np.int64), np.empty(n_groups, np.int64)
    above = np.zeros((2, n_groups), np.int64)
    offsets, key, _, tp, fp, _ = steps
    for j in range(n_groups):
        i, p = starts[j + 1], part_starts[j + 1]
        a, b = true_starts[j + 1], part_true_starts[j + 1]
        n_left = (i - starts[j]) - (p - part_starts[j])
        first, last = ranks[0, j], ranks[1, j]
        if first > min(last, n_left):
            first, last = np.int64(1), np.int64(1)
        at = ends[j] = i

        # Down to the last step above the first rank all is counted already.
        step, end = offsets[j], offsets[j + 1]
        while step < end:
            middle = (step + end) // 2
            if tp[middle] + fp[middle] < first:
                step = middle + 1
            else:
                end = middle
        if step > offsets[j]:
            x = key[step - 1]
            above[0, j], above[1, j] = tp[step - 1] + fp[step - 1], tp[step - 1]
            i, p = _first_from(up, starts[j], i, x), _first_from(part_up, part_starts[j], p, x)
            a = _first_from(true_keys, true_starts[j], a, x)
            b = _first_from(part_true_keys, part_true_starts[j], b, x)

        # From there down, one distinct key after another: how many have it, and how many of these are positive.
        rank = above[0, j]
        while i > starts[j] and rank < last:
            x = up[i - 1]
            size, hits = np.int64(0), np.int64(0)
            while i > starts[j] and up[i - 1] == x:
                i -= 1
                size += 1
            while p > part_starts[j] and part_up[p - 1] == x:
                p -= 1
                size -= 1
            while a > true_starts[j] and true_keys[a - 1] == x:
                a -= 1
                hits += 1
            while b > part_true_starts[j] and part_true_keys[b - 1] == x:
                b -= 1
                hits -= 1
            rank += size
            if rank < first:
                above[0, j] += size
                above[1, j] += hits
                continue
            at -= size
            for k in range(size):
                keys[at + k] = x
                marks[at + k] = k < hits
        firsts[j] = at

    # Copies, as most places are empty.
    size = np.int64(0)
    for j in range(n_groups):
        size += ends[j] - firsts[j]
    found, found_marks = np.empty(size, up.dtype), np.empty(size, np.uint8)
    start = np.int64(0)
    for j in range(n_groups):
        stop = start + ends[j] - firsts[j]
        found[start:stop] = keys[firsts[j] : ends[j]]
        found_marks[start:stop] = marks[firsts[j] : ends[j]]
        firsts[j], ends[j] = start, stop
        start = stop
    return found, found_marks, firsts, ends, above


@kernel
def unit_tie_groups(keys: Keys, truth: Bytes) -> tuple[Ints, Keys, Ints, Ints]:
    """Return the distinct keys of each row of `keys` (n_labels, n_samples), rising: offsets, keys, positives, cells."""
    n_labels, n = keys.shape
    offsets = np.zeros(n_labels + 1, np.int64)
    key = np.empty(n_labels * n, keys.dtype)
    hits, cells = np.empty(key.size, np.int64), np.empty(key.size, np.int64)
    listed, spare_listed = np.empty(n, keys.dtype), np.empty(n, keys.dtype)
    copy, spare = np.empty(n, keys.dtype), np.empty(n, keys.dtype)
    no_rows = np.empty(0, np.int32)
    group = np.int64(0)
    for j in range(n_labels):
        n_positives = np.int64(0)
        for i in range(n):  # Branch-free: always write, advance on a positive.
            x = keys[j, i]
            copy[i] = x
            listed[n_positives] = x
            n_positives += truth[j, i]
        up, _ = _sort(copy, no_rows, spare, no_rows)
        positives, _ = _sort(listed[:n_positives], no_rows, spare_listed[:n_positives], no_rows)
        i = p = 0
        while i < n:
            x, first, first_positive = up[i], i, p
            while i < n and up[i] == x:
                i += 1
            while p < n_positives and positives[p] == x:
                p += 1
            key[group], hits[group], cells[group] = x, p - first_positive, i - first
            group += 1
        offsets[j + 1] = group
    # Copies, as views would keep room for every cell alive.
    return offsets, key[:group].copy(), hits[:group].copy(), cells[:group].copy()


@kernel
def unit_counts_between(
    keys: Keys, truth: Bytes, starts: Ints, candidates: Keys, items: tuple[Keys, Ints, Ints]
) -> None:
    """Count the rows of `keys` (n_labels, n_samples) at each candidate of their label, and in the runs between two.

    The candidates of label j are `starts[j]:starts[j + 1]`, which rise. Items are runs and candidates by turns:
    highest keys, positives and cells, which are written.
    """
    n_labels, n = keys.shape
    highest, hits, cells = items
    listed, spare_listed = np.empty(n, keys.dtype), np.empty(n, keys.dtype)
    kept, spare = np.empty(n, keys.dtype), np.empty(n, keys.dtype)
    no_rows = np.empty(0, np.int32)
    none = keys.dtype.type(0)
    for j in range(n_labels):
        own = candidates[starts[j] : starts[j + 1]]
        item = 2 * starts[j] + j
        lowest = own[0] if own.size > 0 else ~none

        # Scores below the lowest candidate are one run: they are not sorted.
        n_positives, n_kept, below = np.int64(0), np.int64(0), none
        n_hits = np.int64(0)
        for i in range(n):  # Branch-free: always write, advance on what is kept.
            x, is_hit = keys[j, i], truth[j, i]
            is_kept = x >= lowest
            kept[n_kept] = x
            n_kept += is_kept
            listed[n_positives] = x
            n_positives += is_kept & (is_hit != 0)
            n_hits += is_hit
        for i in range(n):  # Vectorised, as the loop above would not let it be.
            below = max(below, keys[j, i] if keys[j, i] < lowest else none)
        highest[item], hits[item], cells[item] = below, n_hits - n_positives, n - n_kept

        up, _ = _sort(kept[:n_kept], no_rows, spare[:n_kept], no_rows)
        positives, _ = _sort(listed[:n_positives], no_rows, spare_listed[:n_positives], no_rows)
        # From the bottom up: what equals a candidate, then what lies below the next.
        i = p = 0
        for k in range(own.size):
            x, first, first_positive = own[k], i, p
            while i < n_kept and up[i] == x:
                i += 1
            while p < n_positives and positives[p] == x:
                p += 1
            item += 1
            highest[item], hits[item], cells[item] = x, p - first_positive, i - first

            first, first_positive = i, p
            if k + 1 < own.size:
                x = own[k + 1]
                while i + _STRIDE <= n_kept and up[i + _STRIDE - 1] < x:
                    i += _STRIDE
                while i < n_kept and up[i] < x:
                    i += 1
                while p < n_positives and positives[p] < x:
                    p += 1
            else:
                i, p = up.size, positives.size
            item += 1
            highest[item] = up[i - 1] if i > first else none
            hits[item], cells[item] = p - first_positive, i - first


@kernel
def staircases_between(
    scores: ListArrays,
    positives: ListArrays,
    above: Ints,
    tp_above: Ints,
    below: Keys,
    steps: Steps,
) -> None:
    """Write the steps of labels among some of their keys, and those of their positives, both sorted upwards.

    `above[j]` scores of label j lie higher, `tp_above[j]` of them of positives; `below[j]` is the
    next lower key.
    """
    firsts, sizes, keys = scores
    true_firsts, true_sizes, true_keys = positives
    offsets, key, lower, tp, fp, higher = steps
    for j in range(firsts.size):
        up = keys[firsts[j] : firsts[j] + sizes[j]]
        label_positives = true_keys[true_firsts[j] : true_firsts[j] + true_sizes[j]]
        step = offsets[j]
        offsets[j + 1] = _sweep(
            up, label_positives, above[j], tp_above[j], below[j], key, lower, tp, fp, higher, step
        )


@kernel
def weighted_staircases(starts: Ints, keys: Keys, positive_weights: Ints, weights: Ints) -> Steps:
    """Return the staircases of the labels whose items are `starts[j]:starts[j + 1]`.

    An item is a score with its weight and the part of the weight that is positive: a weighted or
    soft cell, or all cells absent from a sparse column at once.
    """
    n_labels = starts.size - 1
    size = np.int64(0)
    for i in range(positive_weights.size):
        size += positive_weights[i] > 0
    longest = np.int64(0)
    for j in range(n_labels):
        longest = max(longest, starts[j + 1] - starts[j])
    offsets = np.zeros(n_labels + 1, np.int64)
    key, lower = np.empty(size, keys.dtype), np.empty(size, keys.dtype)
    tp, fp, higher = np.empty(size, np.int64), np.empty(size, np.int64), np.empty(size, np.int64)
    kept, spare = np.empty(longest, keys.dtype), np.empty(longest, keys.dtype)
    rows, spare_rows = np.empty(longest, np.int32), np.empty(longest, np.int32)
    none = keys.dtype.type(0)
    step = 0
    for j in range(n_labels):
        first, last = starts[j], starts[j + 1]
        # No useful cut lies below the lowest positive: only what is higher is sorted.
        lowest = ~none
        for i in range(first, last):
            if positive_weights[i] > 0:
                lowest = min(lowest, keys[i])
        n_kept, below = 0, none
        for i in range(first, last):
            if weights[i] > 0:
                if keys[i] >= lowest:
                    kept[n_kept], rows[n_kept] = keys[i], i - first
                    n_kept += 1
                else:
                    below = max(below, keys[i])
        up, row = kept, rows
        if n_kept <= _FEW:  # of most labels of sparse scores: views of them would take longer
            _insertion_sort(kept, rows, 0, n_kept)
        else:
            up, row = _sort(kept[:n_kept], rows[:n_kept], spare[:n_kept], spare_rows[:n_kept])
        # From the top down, one run of equal scores after another: it is a step if it has a
        # positive.
        i = n_kept
        true_sum, weight_sum = np.int64(0), np.int64(0)
        while i > 0:
            x = up[i - 1]
            true_before, weight_before = true_sum, weight_sum
            while i > 0 and up[i - 1] == x:
                i -= 1
                true_sum += positive_weights[first + row[i]]
                weight_sum += weights[first + row[i]]
            if true_sum > true_before:
                key[step], lower[step] = x, up[i - 1] if i > 0 else below
                tp[step], fp[step] = true_sum, weight_sum - true_sum
                higher[step] = weight_before
                step += 1
        offsets[j + 1] = step
    return offsets, key[:step], lower[:step], tp[:step], fp[:step], higher[:step]


@kernel
def unit_aurocs(keys: Keys, truth: Bytes) -> Floats:
    """Return the AUROC of the labels in the rows of `keys` (n_labels, n_samples), NaN where one class has no score."""
    n_labels, n = keys.shape
    auroc = np.full(n_labels, np.nan)
    listed, spare_listed = np.empty(n, keys.dtype), np.empty(n, keys.dtype)
    kept, spare = np.empty(n, keys.dtype), np.empty(n, keys.dtype)
    no_rows = np.empty(0, np.int32)
    for j in range(n_labels):
        n_positives = np.int64(0)
        for i in range(n):  # Branch-free: always write, advance on a positive.
            listed[n_positives] = keys[j, i]
            n_positives += truth[j, i]
        if n_positives == 0 or n_positives == n:
            continue
        positives, _ = _sort(listed[:n_positives], no_rows, spare_listed[:n_positives], no_rows)
        # Negatives below every positive lose to all of them: they are counted, not sorted.
        n_kept = np.int64(0)
        for i in range(n):
            kept[n_kept] = keys[j, i]
            n_kept += (keys[j, i] >= positives[0]) & (truth[j, i] == 0)
        up, _ = _sort(kept[:n_kept], no_rows, spare[:n_kept], no_rows)
        # Positives and negatives rise side by side, so that nothing is searched.
        n_negatives = n - n_positives
        below, equal, won = 0, 0, np.int64(0)  # Twice what the positives win: a tie counts one.
        for p in range(n_positives):
            while below < n_kept and up[below] < positives[p]:
                below += 1
            equal = max(equal, below)
            while equal < n_kept and up[equal] == positives[p]:
                equal += 1
            won += 2 * (n_negatives - n_kept) + below + equal
        auroc[j] = won / (2.0 * n_positives * n_negatives)
    return auroc


@kernel
def weighted_aurocs(
    starts: Ints, keys: Keys, positive_weights: Weights, weights: Weights
) -> Floats:
    """Return the AUROC of the labels whose items are `starts[j]:starts[j + 1]`, as in `weighted_staircases`."""
    n_labels = starts.size - 1
    auroc = np.full(n_labels, np.nan)
    for j in range(n_labels):
        first, last = starts[j], starts[j + 1]
        up, row = sorted_with_rows(keys[first:last])
        # From the bottom up: a positive wins against the negatives below it, and half against those
        # of its score.
        below, won, total = 0.0, 0.0, 0.0
        i = 0
        while i < up.size:
            x = up[i]
            positive, negative = 0.0, 0.0
            while i < up.size and up[i] == x:
                positive += positive_weights[first + row[i]]
                negative += weights[first + row[i]] - positive_weights[first + row[i]]
                i += 1
            won += positive * (below + 0.5 * negative)
            below += negative
            total += positive
        if total > 0 and below > 0:
            auroc[j] = min(won / (total * below), 1.0)  # Rounding may exceed 1.
    return auroc
