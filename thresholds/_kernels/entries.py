"""Loops over the entries of sparse scores: the staircases of all labels without sorting, or regrouping, the entries.

Of a few hundred thousand labels most have few positives, and nearly all entries lie below the lowest of them. So the
scores of the positives are found and sorted (`found_entries`, `sorting.sorted_lists`); then every entry is held against
the lowest of its label (`keep_entries`), and those that are not below are counted (`count_entries`). `add_up_steps`
makes steps of that.

Keys are made of the bits of scores one by one, as in `keys.py`, so that the scores are not copied.
"""

from typing import Any

import numpy as np

from thresholds._arrays.types import Ints, Keys
from thresholds._kernels._jit import kernel

# At so many candidates all entries are counted in vector registers; among more, each is located.
_FEW = 12
# The table by which they are located has so many buckets for each candidate, and so many at most.
_BUCKETS_OF_CANDIDATE = np.uint64(4)
_MOST_BUCKETS = 2**12
_FEW_IN_BUCKET = np.uint64(8)


@kernel
def _key(bits: Any, sign: Any) -> Any:
    """Return the key of a score, given its bits."""
    bits = bits if bits != sign else bits ^ sign  # -0.0
    # Numba inverts, and adds, in 64 bits: a mask keeps what is not there 0.
    return bits ^ (sign | (sign - np.uint32(1))) if bits & sign else bits ^ sign


@kernel
def found_entries(
    starts: Ints,
    columns: Ints,
    bits: Keys,
    sign: Any,
    true_starts: Ints,
    true_columns: Ints,
    first: int,
    last: int,
    missing: Any,
    keys: Keys,
) -> None:
    """Write the keys of the true cells in rows `first:last`, that of `missing` where no score is stored.

    Row i has the scores `starts[i]:starts[i + 1]` and the true cells `true_starts[i]:true_starts[i + 1]`, by rising
    columns.
    """
    for i in range(first, last):
        at, end = starts[i], starts[i + 1]
        for t in range(true_starts[i], true_starts[i + 1]):
            column = true_columns[t]
            # The first entry at or behind the column; without branches, as they could not be foreseen.
            size = end - at
            while size > 0:
                half = (size + 1) // 2
                at += half * (columns[at + half - 1] < column)
                size -= half
            is_stored = at < end and columns[at] == column
            keys[t] = _key(bits[at], sign) if is_stored else missing


@kernel
def weigh_entries(starts: Ints, columns: Ints, weights: Ints, total: Ints) -> None:
    """Add the weight of the entries of each column to `total` (n_columns,); without `weights` each row weighs 1."""
    for i in range(starts.size - 1):
        weight = weights[i] if weights.size > 0 else np.int64(1)
        for e in range(starts[i], starts[i + 1]):
            total[columns[e]] += weight


@kernel
def part_entries(
    starts: Ints,
    columns: Ints,
    bits: Keys,
    sign: Any,
    weights: Ints,
    first: int,
    last: int,
    width: Any,
    parted_columns: Ints,
    parted_keys: Keys,
    parted_weights: Ints,
    segments: Ints,
) -> None:
    """Bring the entries of rows `first:last` together part by part, each of which has `2**width` labels.

    Those of part p come to `segments[p]:segments[p + 1]`, (n_parts + 1,). Without `weights` none are written.
    """
    n_parts = segments.size - 1
    begin, end = starts[first], starts[last]

    # 1. Where each part begins.
    place = np.zeros(n_parts, np.uint64)
    for e in range(begin, end):
        place[np.uint32(columns[e]) >> width] += np.uint64(1)
    n_before: Any = np.uint64(begin)
    for p in range(n_parts):
        segments[p] = n_before
        n_of_part = place[p]
        place[p] = n_before
        n_before += n_of_part
    segments[n_parts] = n_before

    # 2. Move each entry there.
    row = first
    for e in range(begin, end):
        part = np.uint32(columns[e]) >> width
        to = place[part]
        parted_columns[to], parted_keys[to] = columns[e], _key(bits[e], sign)
        if weights.size > 0:
            while e >= starts[row + 1]:
                row += 1
            parted_weights[to] = weights[row]
        place[part] = to + np.uint64(1)


@kernel
def _count_at_few(
    begin: Keys,
    end: Keys,
    keys: Keys,
    weights: Ints,
    offsets: Ints,
    candidates: Keys,
    tied: Ints,
    between: Ints,
    lower: Keys,
) -> None:
    """Count the keys of each label that has few candidates at these, in vector registers."""
    none = keys.dtype.type(0)
    for j in range(offsets.size - 1):
        if offsets[j + 1] - offsets[j] > _FEW:
            continue
        before = np.int64(0)
        for c in range(offsets[j], offsets[j + 1]):
            x = candidates[c]
            up_to, equal, highest = np.int64(0), np.int64(0), none
            if weights.size > 0:
                for e in range(begin[j], end[j]):
                    up_to += weights[e] * (keys[e] >= x)
                    equal += weights[e] * (keys[e] == x)
            else:
                for e in range(begin[j], end[j]):
                    up_to += keys[e] >= x
                    equal += keys[e] == x
            for e in range(begin[j], end[j]):
                highest = max(highest, keys[e] if keys[e] < x else none)
            tied[c], between[c], lower[c] = equal, up_to - equal - before, highest
            before = up_to


@kernel
def _locate(
    keys: Keys,
    weights: Ints,
    candidates: Keys,
    tied: Ints,
    between: Ints,
    lower: Keys,
    firsts: Ints,
    counts: Ints,
    highest: Keys,
) -> None:
    """Locate the keys of one label among many candidates, by a table of equal buckets.

    `firsts` has room for the table, `counts` and `highest` for twice the candidates.
    """
    as_key, one = keys.dtype.type, np.uint64(1)
    n = np.uint64(candidates.size)
    lowest = candidates[candidates.size - 1]

    # 1. A power of two of buckets from the lowest candidate to the highest, some for each.
    n_buckets = one
    while n_buckets < _BUCKETS_OF_CANDIDATE * n and n_buckets < np.uint64(firsts.size):
        n_buckets += n_buckets
    span = as_key(candidates[0] - lowest)
    shift = as_key(0)
    while np.uint64(as_key(span >> shift)) >= n_buckets:
        shift = as_key(shift + as_key(1))
    last_bucket = as_key(n_buckets - one)

    # 2. Of each bucket, the highest candidate in it or below; the most candidates that one has.
    c, most = np.uint64(candidates.size), np.uint64(0)
    for b in range(n_buckets):
        in_bucket = np.uint64(0)
        while c > 0 and np.uint64(as_key(as_key(candidates[c - one] - lowest) >> shift)) == b:
            c -= one
            in_bucket += one
        firsts[b] = c
        most = max(most, in_bucket)

    # 3. Count each key at, or above, the highest candidate that is not above it.
    for c2 in range(2 * candidates.size):
        counts[c2] = 0
        highest[c2] = 0
    for e in range(keys.size):
        key = keys[e]
        at = np.uint64(firsts[min(as_key(as_key(key - lowest) >> shift), last_bucket)])
        size = most
        while size > _FEW_IN_BUCKET:
            half = size >> one
            # Candidates of lower buckets are not above the key; nor is the last.
            at += half * np.uint64(candidates[min(at + half, n) - one] > key)
            size -= half
        # One step without a branch, as it could not be foreseen; hardly ever are there more.
        at += np.uint64(candidates[at] > key)
        while candidates[at] > key:
            at += one
        place = at + at + np.uint64(candidates[at] == key)
        counts[place] += weights[e] if weights.size > 0 else np.int64(1)
        highest[place] = max(highest[place], key)
    for k in range(candidates.size):
        between[k], tied[k] = counts[2 * k], counts[2 * k + 1]
        if k > 0:
            lower[k - 1] = highest[2 * k]


@kernel
def _count_at_many(
    begin: Keys,
    end: Keys,
    keys: Keys,
    weights: Ints,
    offsets: Ints,
    candidates: Keys,
    tied: Ints,
    between: Ints,
    lower: Keys,
) -> None:
    """Count the keys of each label that has more than few candidates at these."""
    most = np.int64(0)
    for j in range(offsets.size - 1):
        most = max(most, offsets[j + 1] - offsets[j])
    if most <= _FEW:
        return
    firsts = np.empty(_MOST_BUCKETS, np.int64)
    counts, highest = np.empty(2 * most, np.int64), np.empty(2 * most, keys.dtype)
    for j in range(offsets.size - 1):
        at, own = slice(offsets[j], offsets[j + 1]), slice(begin[j], end[j])
        if at.stop - at.start > _FEW:
            own_weights = weights[own] if weights.size > 0 else weights
            counted = tied[at], between[at], lower[at]
            _locate(keys[own], own_weights, candidates[at], *counted, firsts, counts, highest)


@kernel
def _add_up(
    offsets: Ints,
    candidates: Keys,
    hits: Ints,
    tied: Ints,
    between: Ints,
    lower: Keys,
    absent: Ints,
    missing: Any,
) -> None:
    """Turn what is counted at candidates into steps, each label having `absent` cells of a key, unless it is empty."""
    for j in range(offsets.size - 1):
        first, last = offsets[j], offsets[j + 1]
        # 1. Absent cells are one more entry.
        if absent.size > 0 and absent[j] > 0:
            c = first
            while c < last and candidates[c] > missing:
                c += 1
            if c < last and candidates[c] == missing:
                tied[c] += absent[j]
            else:
                if c < last:
                    between[c] += absent[j]
                if c > first:
                    lower[c - 1] = max(lower[c - 1], missing)

        # 2. Add up from the top down.
        tp, above = np.int64(0), np.int64(0)
        for c in range(first, last):
            tp += hits[c]
            above += between[c]
            hits[c], between[c] = tp, above
            above += tied[c]
            tied[c] = above - tp
            if c + 1 < last:
                lower[c] = max(lower[c], candidates[c + 1])


@kernel
def count_entries(
    columns: Ints,
    keys: Keys,
    weights: Ints,
    segments: Ints,
    part: int,
    first_label: int,
    offsets: Ints,
    candidates: Keys,
    nothing: Any,
    missing: Any,
    total: Ints,
    hits: Ints,
    fp: Ints,
    higher: Ints,
    lower: Keys,
) -> None:
    """Count the entries of the labels from `first_label` on at their candidates, which become the steps of staircases.

    The entries lie at `segments[:, part:part + 2]`, in any order; without `weights` each weighs 1. The candidates of a
    label fall from `offsets[j]` to `offsets[j + 1]`. `hits` (n_candidates,), the weight of positives at each, becomes
    the true positives at or above it; the others become the false ones, the weight of all that is higher, and the next
    lower key. That is `nothing` if all keys are lower than that. `total` (n_labels,) is the weight of all cells of each
    label, those of no entry having the key `missing`; it is empty where these matter to none.
    """
    as_key, one = candidates.dtype.type, np.uint64(1)
    n_labels = offsets.size - 1

    # 1. Make room for the entries of each label.
    begin = np.zeros(n_labels + 1, np.uint64)
    for s in range(segments.shape[0]):
        for e in range(segments[s, part], segments[s, part + 1]):
            begin[np.uint32(columns[e] - first_label) + one] += one
    begin = begin.cumsum()
    place = begin.copy()
    listed = np.empty(begin[n_labels], keys.dtype)
    listed_weights = np.empty(listed.size if weights.size > 0 else 0, np.int64)

    # 2. Nearly all entries need no more than the lowest candidate of their label, and the highest key below it so far.
    # Where there is no candidate, none is kept.
    bounds = np.empty((n_labels, 2), keys.dtype)
    for j in range(n_labels):
        has_candidates = offsets[j + 1] > offsets[j]
        bounds[j, 0] = candidates[offsets[j + 1] - 1] if has_candidates else ~as_key(0)
        bounds[j, 1] = nothing

    # 3. List those of each label that are not below; nothing branches on a key, as that could not be foreseen.
    absent = total.copy()
    for s in range(segments.shape[0]):
        for e in range(segments[s, part], segments[s, part + 1]):
            label, key = np.uint32(columns[e] - first_label), keys[e]
            weight = weights[e] if weights.size > 0 else np.int64(1)
            lowest, below = bounds[label, 0], bounds[label, 1]
            bounds[label, 1] = max(below, key if (key < lowest) & (weight > 0) else below)
            to = place[label]
            listed[to] = key
            if weights.size > 0:
                listed_weights[to] = weight
            if total.size > 0:
                absent[label] -= weight
            place[label] = to + np.uint64((key >= lowest) & (weight > 0))

    # 4. Count, and add up.
    counted = fp, higher, lower
    _count_at_few(begin, place, listed, listed_weights, offsets, candidates, *counted)
    _count_at_many(begin, place, listed, listed_weights, offsets, candidates, *counted)
    for j in range(n_labels):
        if offsets[j + 1] > offsets[j]:
            lower[offsets[j + 1] - 1] = bounds[j, 1]
    _add_up(offsets, candidates, hits, *counted, absent, missing)


@kernel
def items_of_entries(
    starts: Ints,
    places: Ints,
    keys: Keys,
    weights: Ints,
    true_starts: Ints,
    true_places: Ints,
    true_weights: Ints,
    group_weights: Ints,
    missing: Any,
) -> tuple[Keys, Ints, Ints]:
    """Return keys, positive weights and weights of the entries of groups, behind each group those of its absent cells.

    Group j has the entries `starts[j]:starts[j + 1]` and the true cells `true_starts[j]:true_starts[j + 1]`, by rising
    places.
    """
    n_groups = starts.size - 1
    n_items = keys.size + n_groups
    item_keys = np.empty(n_items, keys.dtype)
    positive_weights, item_weights = np.empty(n_items, np.int64), np.empty(n_items, np.int64)
    for j in range(n_groups):
        t, last = true_starts[j], true_starts[j + 1]
        absent, true_absent = group_weights[j], np.int64(0)
        for i in range(starts[j], starts[j + 1]):
            # True cells before the entry have none.
            while t < last and true_places[t] < places[i]:
                true_absent += true_weights[t]
                t += 1
            positive_weight = np.int64(0)
            if t < last and true_places[t] == places[i]:
                positive_weight = true_weights[t]
                t += 1
            item_keys[i + j], item_weights[i + j] = keys[i], weights[i]
            positive_weights[i + j] = positive_weight
            absent -= weights[i]
        while t < last:
            true_absent += true_weights[t]
            t += 1
        at = starts[j + 1] + j
        item_keys[at], item_weights[at] = missing, absent
        positive_weights[at] = true_absent
    return item_keys, positive_weights, item_weights
