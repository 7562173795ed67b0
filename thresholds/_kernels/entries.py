"""Loops over the entries of sparse scores: the staircases of all labels without sorting, or regrouping, the entries.

Of a few hundred thousand labels most have few positives, and nearly all entries lie below the lowest of them. So the
scores of the positives are found and sorted (`found_entries`, `sorting.sorted_lists`); then every entry is held against
the lowest of its label, and located among them where it is not below (`count_entries`). `steps_of_counts` adds up.

Keys are made of the bits of scores one by one, as in `keys.py`, so that the scores are not copied.
"""

from typing import Any

import numpy as np

from thresholds._arrays.types import Buckets, Ints, Keys, Words
from thresholds._kernels._jit import kernel

# At so many candidates all entries are counted in vector registers; among more, each is located.
_FEW = 16


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
def count_parts(
    starts: Ints, columns: Ints, width: Any, first: int, last: int, sizes: Ints
) -> None:
    """Add to `sizes` (n_parts,) the entries of rows `first:last` in each part of the columns, `2**width` to a part."""
    for e in range(starts[first], starts[last]):
        sizes[columns[e] >> width] += 1


@kernel
def part_entries(
    starts: Ints,
    columns: Ints,
    bits: Keys,
    weights: Ints,
    width: Any,
    first: int,
    last: int,
    place: Words,
    parted_columns: Buckets,
    parted_bits: Keys,
    parted_weights: Ints,
) -> None:
    """Move the entries of rows `first:last` to their parts, those of part p from `place[p]` on.

    There columns are counted from the first of the part. Without `weights` there are no `parted_weights`.
    """
    one, mask = np.uint64(1), (np.uint32(1) << width) - np.uint32(1)
    for i in range(first, last):
        for e in range(starts[i], starts[i + 1]):
            j = np.uint32(columns[e])
            to = place[j >> width]
            parted_columns[to], parted_bits[to] = j & mask, bits[e]
            if weights.size > 0:
                parted_weights[to] = weights[i]
            place[j >> width] = to + one


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
    keys: Keys, weights: Ints, candidates: Keys, tied: Ints, between: Ints, lower: Keys
) -> None:
    """Locate the keys of one label among many candidates, each by halves."""
    for e in range(keys.size):
        key = keys[e]
        weight = weights[e] if weights.size > 0 else np.int64(1)
        # The highest candidate at or below it; none of the keys is below all of them.
        c, size = 0, candidates.size
        while size > 1:
            half = size // 2
            c += half * (candidates[c + half - 1] > key)
            size -= half
        if candidates[c] == key:
            tied[c] += weight
        else:
            between[c] += weight
            if c > 0:
                lower[c - 1] = max(lower[c - 1], key)


@kernel
def count_entries(
    columns: Buckets,
    bits: Keys,
    weights: Ints,
    sign: Any,
    offsets: Ints,
    candidates: Keys,
    tied: Ints,
    between: Ints,
    lower: Keys,
    stored: Ints,
) -> None:
    """Count entries of some labels, the columns, at the candidates and above each of them up to the next.

    The candidates of label j fall from `offsets[j]` to `offsets[j + 1]`. `tied` and `between` (n_candidates,) get the
    weights, each 1 if there are none; `lower` is raised to the highest key below each candidate and above the next.
    `stored` (n_labels,) gets the weight of all entries of a label, unless it is empty.
    """
    as_key, one = candidates.dtype.type, candidates.dtype.type(1)
    n_labels = offsets.size - 1

    # 1. Nearly all entries need no more than the lowest candidate of their label, and the highest key below it so far.
    # Where there is no candidate, all are below and none is noted.
    lowest = np.empty((n_labels, 2), candidates.dtype)
    for j in range(n_labels):
        has_candidates = offsets[j + 1] > offsets[j]
        at = offsets[j + 1] - 1 if has_candidates else offsets[j]
        lowest[j, 0] = candidates[at] if has_candidates else ~as_key(0)
        lowest[j, 1] = lower[at] if has_candidates else ~as_key(0)

    # 2. Keep the others.
    sizes = np.zeros(n_labels + 1, np.int64)
    kept_columns, kept = np.empty_like(columns), np.empty_like(bits)
    kept_weights = np.empty_like(weights)
    n_kept: Any = np.uint64(0)
    for e in range(columns.size):
        if weights.size > 0 and weights[e] == 0:
            continue
        column, key = np.int64(columns[e]), as_key(_key(bits[e], sign))
        # One comparison for both ends, as two would be two branches, the first not foreseen; it wraps.
        below = lowest[column, 1]
        above, room = np.subtract(key, below), np.subtract(lowest[column, 0], below)
        if as_key(np.subtract(above, one)) < as_key(np.subtract(room, one)):
            lowest[column, 1] = key
        # Branch-free: always write, advance if it is kept.
        kept_columns[n_kept], kept[n_kept] = column, key
        if weights.size > 0:
            kept_weights[n_kept] = weights[e]
        if stored.size > 0:
            stored[column] += weights[e] if weights.size > 0 else np.int64(1)
        is_kept = key >= lowest[column, 0]
        n_kept += np.uint64(is_kept)
        sizes[column + 1] += is_kept

    # 3. Bring those of each label together.
    place = sizes.cumsum()
    listed, listed_weights = np.empty(n_kept, candidates.dtype), np.empty_like(weights)
    for e in range(n_kept):
        to = place[kept_columns[e]]
        listed[to] = kept[e]
        if weights.size > 0:
            listed_weights[to] = kept_weights[e]
        place[kept_columns[e]] = to + 1

    # 4. Count, label by label; the last key of a label now ends at its place.
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
                _count_at_many(own, own_weights, candidates[at], *counted)
        if at.stop > at.start:
            lower[at.stop - 1] = lowest[j, 1]
        start = end


@kernel
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
