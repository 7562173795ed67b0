"""Loops over the entries of sparse scores: the staircases of all labels without sorting, or regrouping, the entries.

Of a few hundred thousand labels most have few positives, and nearly all entries lie below the lowest of them. So the
scores of the positives are found and sorted (`found_entries`, `sorting.sorted_lists`); then every entry is held against
the lowest of its label (`keep_entries`), and those that are not below are counted (`count_entries`). `add_up_steps`
makes steps of that.

Keys are made of the bits of scores one by one, as in `keys.py`, so that the scores are not copied.
"""

from typing import Any

import numpy as np

from thresholds._arrays.types import Buckets, Ints, Keys
from thresholds._kernels._jit import kernel, late_kernel

# At so many candidates all entries are counted in vector registers; among more, each is located.
_FEW = 12
# The table by which they are located has so many buckets for each candidate, and so many at most.
_BUCKETS_OF_CANDIDATE = np.uint64(2)
_MOST_BUCKETS = 2**12


@kernel
def _key(bits: Any, sign: Any) -> Any:
    """Return the key of a score, given its bits."""
    bits = bits if bits != sign else bits ^ sign  # -0.0
    # Numba inverts, and adds, in 64 bits: a mask keeps what is not there 0.
    return bits ^ (sign | (sign - np.uint32(1))) if bits & sign else bits ^ sign


@late_kernel
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


@late_kernel
def weigh_entries(starts: Ints, columns: Ints, weights: Ints, total: Ints) -> None:
    """Add the weight of the entries of each column to `total` (n_columns,); without `weights` each row weighs 1."""
    for i in range(starts.size - 1):
        weight = weights[i] if weights.size > 0 else np.int64(1)
        for e in range(starts[i], starts[i + 1]):
            total[columns[e]] += weight


@late_kernel
def keep_entries(
    starts: Ints,
    columns: Ints,
    bits: Keys,
    sign: Any,
    weights: Ints,
    first: int,
    last: int,
    offsets: Ints,
    candidates: Keys,
    nothing: Any,
    width: Any,
    block: int,
    kept_columns: Buckets,
    kept: Keys,
    kept_weights: Ints,
    segments: Ints,
    stored: Ints,
) -> Keys:
    """Keep the entries of rows `first:last` that are not below all candidates of their label, part by part of these.

    A part has `2**width` labels. Of block b of the entries those of part p are kept at `segments[b, p:p + 2]`, where
    `segments` is (n_blocks, n_parts + 1); their columns are counted from the first of the part. Without `weights` there
    are no `kept_weights`. `stored` (n_labels,) gets the weight of all entries of a label, unless it is empty.

    Returns the highest key of each label that is below all candidates, (n_labels,); `nothing` without one.

    Bounds of labels are looked up part by part, where they stay in the cache of a core: in the order of the rows each
    would come from memory, which took more than twice as long for 670,000 labels.
    """
    as_key, one = candidates.dtype.type, candidates.dtype.type(1)
    n_labels, n_parts = offsets.size - 1, segments.shape[1] - 1

    # 1. Nearly all entries need no more than the lowest candidate of their label, and the highest key below it so far.
    # Where there is no candidate, none is kept and none is noted.
    bounds = np.empty((n_labels, 2), candidates.dtype)
    for j in range(n_labels):
        has_candidates = offsets[j + 1] > offsets[j]
        bounds[j, 0] = candidates[offsets[j + 1] - 1] if has_candidates else ~as_key(0)
        bounds[j, 1] = nothing if has_candidates else ~as_key(1)

    place = np.empty(n_parts, np.uint32)
    mask = (np.uint32(1) << width) - np.uint32(1)
    start, end = np.int64(starts[first]), np.int64(starts[last])
    size = min(np.int64(block), end - start)
    parted_columns, parted_bits = np.empty(size, np.uint16), np.empty(size, bits.dtype)
    parted_weights = np.empty(size if weights.size > 0 else 0, np.int64)
    i, b = first, np.int64(0)
    n_kept: Any = np.uint64(start)
    while start < end:
        stop = min(start + size, end)

        # 2. Bring the entries of each part together: `place` becomes where a part ends.
        place[:] = 0
        for e in range(start, stop):
            place[np.uint32(columns[e]) >> width] += np.uint32(1)
        n_before: Any = np.uint32(0)
        for p in range(n_parts):
            n_of_part = place[p]
            place[p] = n_before
            n_before += n_of_part
        for e in range(start, stop):
            label = np.uint32(columns[e])
            to = place[label >> width]
            parted_columns[to], parted_bits[to] = label & mask, bits[e]
            if weights.size > 0:
                while e >= starts[i + 1]:
                    i += 1
                parted_weights[to] = weights[i]
            place[label >> width] = to + np.uint32(1)

        # 3. Keep, or note, those of one part after another.
        begin: Any = np.uint32(0)
        for p in range(n_parts):
            segments[b, p] = n_kept
            labels = slice(p << np.int64(width), (p + 1) << np.int64(width))
            own, own_stored = bounds[labels], stored[labels]
            for e in range(begin, place[p]):
                column, key = parted_columns[e], as_key(_key(parted_bits[e], sign))
                weight = parted_weights[e] if weights.size > 0 else np.int64(1)
                # One comparison for both ends, as two would be two branches, the first not foreseen; it wraps.
                lowest, below = own[column, 0], own[column, 1]
                above, room = np.subtract(key, below), np.subtract(lowest, below)
                if as_key(np.subtract(above, one)) < as_key(np.subtract(room, one)) and weight > 0:
                    own[column, 1] = key
                if stored.size > 0:
                    own_stored[column] += weight
                # Branch-free: always write, advance if it is kept.
                kept_columns[n_kept], kept[n_kept] = column, key
                if weights.size > 0:
                    kept_weights[n_kept] = weight
                n_kept += np.uint64((key >= lowest) & (weight > 0))
            begin = place[p]
        segments[b, n_parts] = n_kept
        start = stop
        b += 1
    return bounds[:, 1].copy()


@kernel
def _count_at_few(
    keys: Keys, weights: Ints, candidates: Keys, tied: Ints, between: Ints, lower: Keys
) -> None:
    """Count the keys of one label at each of a few candidates, in vector registers."""
    none = keys.dtype.type(0)
    before = np.int64(0)
    for c in range(candidates.size):
        x = candidates[c]
        up_to, equal, highest = np.int64(0), np.int64(0), none
        if weights.size > 0:
            for e in range(keys.size):
                up_to += weights[e] * (keys[e] >= x)
                equal += weights[e] * (keys[e] == x)
        else:
            for e in range(keys.size):
                up_to += keys[e] >= x
                equal += keys[e] == x
        for e in range(keys.size):
            highest = max(highest, keys[e] if keys[e] < x else none)
        tied[c], between[c], lower[c] = equal, up_to - equal - before, max(lower[c], highest)
        before = up_to


@kernel
def _count_at_many(
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
    """Locate the keys of one label among many candidates: by a table of equal buckets, then by halves.

    `firsts` has room for the table, `counts` and `highest` for twice the candidates. No step has a branch that depends
    on a key, as it could not be foreseen.
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
        size = most + one
        while size > one:
            half = size >> one
            # Candidates of lower buckets are not above the key; nor is the last.
            at += half * np.uint64(candidates[min(at + half, n) - one] > key)
            size -= half
        place = at + at + np.uint64(candidates[at] == key)
        counts[place] += weights[e] if weights.size > 0 else np.int64(1)
        highest[place] = max(highest[place], key)
    for k in range(candidates.size):
        between[k], tied[k] = counts[2 * k], counts[2 * k + 1]
        if k > 0:
            lower[k - 1] = max(lower[k - 1], highest[2 * k])


@late_kernel
def count_entries(
    part: int,
    columns: Buckets,
    keys: Keys,
    weights: Ints,
    segments: Ints,
    offsets: Ints,
    candidates: Keys,
    below: Keys,
    tied: Ints,
    between: Ints,
    lower: Keys,
) -> None:
    """Count what `keep_entries` kept of a part of the labels: at the candidates, and above each of them up to the next.

    The candidates of label j fall from `offsets[j]` to `offsets[j + 1]`. `tied` and `between` (n_candidates,) become
    the weights, each 1 if there are none; `lower` becomes the highest key below each candidate and above the next,
    which is that of `below` (n_labels,) for the lowest.
    """
    n_labels = offsets.size - 1
    tied[:] = 0
    between[:] = 0
    lower[:] = 0

    # 1. Bring those of each label together: `place` becomes where a label ends.
    place = np.zeros(n_labels + 1, np.int64)
    for b in range(segments.shape[0]):
        for e in range(segments[b, part], segments[b, part + 1]):
            place[columns[e] + np.uint32(1)] += 1
    place = place.cumsum()
    listed = np.empty(place[n_labels], keys.dtype)
    listed_weights = np.empty(listed.size if weights.size > 0 else 0, np.int64)
    for b in range(segments.shape[0]):
        for e in range(segments[b, part], segments[b, part + 1]):
            to = place[columns[e]]
            listed[to] = keys[e]
            if weights.size > 0:
                listed_weights[to] = weights[e]
            place[columns[e]] = to + 1

    # 2. Count, label by label.
    most = np.int64(0)
    for j in range(n_labels):
        most = max(most, offsets[j + 1] - offsets[j])
    firsts = np.empty(_MOST_BUCKETS if most > _FEW else 0, np.int64)
    counts, highest = np.empty(2 * most, np.int64), np.empty(2 * most, keys.dtype)
    start = np.int64(0)
    for j in range(n_labels):
        at, end = slice(offsets[j], offsets[j + 1]), place[j]
        if end > start:
            own = listed[start:end]
            own_weights = listed_weights[start:end] if weights.size > 0 else listed_weights
            counted = tied[at], between[at], lower[at]
            if at.stop - at.start <= _FEW:
                _count_at_few(own, own_weights, candidates[at], *counted)
            else:
                _count_at_many(own, own_weights, candidates[at], *counted, firsts, counts, highest)
        if at.stop > at.start:
            lower[at.stop - 1] = below[j]
        start = end


@late_kernel
def add_up_steps(
    offsets: Ints,
    candidates: Keys,
    hits: Ints,
    tied: Ints,
    between: Ints,
    lower: Keys,
    absent: Ints,
    missing: Any,
) -> None:
    """Turn what is counted at candidates into steps, all (n_candidates,): each array becomes what a `Staircase` has.

    `hits`, the weight of positives at each, becomes the true positives at or above it; `tied`, that of all entries, the
    false ones; `between`, what lies above up to the next, all that is higher; `lower` the next lower key. `absent`
    (n_labels,) is the weight of the cells of each label that have no entry, and the key `missing`; it is empty where
    they matter to none.
    """
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
