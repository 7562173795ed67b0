"""Loops over the entries of sparse scores: the staircases of all labels without sorting, or regrouping, the entries.

Of a few hundred thousand labels most have few positives, and nearly all entries lie below the lowest of them. So the
scores of the positives are found and sorted (`found_entries`, `sorting.sorted_lists`); then every entry is held against
the lowest of its label, and located among them where it is not below (`count_entries`). `steps_of_counts` adds up.

Keys are made of the bits of scores one by one, as in `keys.py`, so that the scores are not copied.
"""

from typing import Any

import numpy as np

from thresholds._arrays.types import Ints, Keys, SmallInts
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
def weigh_entries(
    starts: Ints, columns: Ints, weights: Ints, first: int, last: int, total: Ints
) -> None:
    """Add the weight of the entries of each column in rows `first:last` to `total` (n_columns,); empty weights are 1."""
    for i in range(first, last):
        weight = weights[i] if weights.size else np.int64(1)
        for e in range(starts[i], starts[i + 1]):
            total[columns[e]] += weight


@kernel
def count_parts(starts: Ints, columns: Ints, width: Any, first: int, last: int, sizes: Ints) -> None:
    """Add to `sizes` (n_parts,) the entries of rows `first:last` in each part of the columns, `2**width` to a part."""
    for e in range(starts[first], starts[last]):
        sizes[columns[e] >> width] += 1


@kernel
def sift_entries(
    starts: Ints,
    columns: Ints,
    bits: Keys,
    sign: Any,
    weights: Ints,
    first: int,
    last: int,
    lowest: Keys,
    width: Any,
    place: Ints,
    kept_columns: SmallInts,
    kept_keys: Keys,
    kept_weights: Ints,
) -> None:
    """Keep the entries of rows `first:last` that are not below the lowest candidate of their label, part by part.

    `lowest` (n_labels, 2) has this candidate, and beside it the highest key below, which is raised: nearly all entries
    need no more than that. Parts have `2**width` labels; what is kept of part p lies from `place[p]` on, which becomes
    its end. There is room for all entries. Without `weights` there are no `kept_weights`.
    """
    as_key, one = bits.dtype.type, bits.dtype.type(1)
    for i in range(first, last):
        if weights.size > 0 and weights[i] == 0:
            continue
        for e in range(starts[i], starts[i + 1]):
            j, key = np.uint32(columns[e]), _key(bits[e], sign)
            # One comparison for both ends, as two would be two branches, the first not foreseen.
            below = lowest[j, 1]
            if as_key(key - below - one) < as_key(lowest[j, 0] - below - one):
                lowest[j, 1] = key

            # Branch-free: always write, advance if it is kept.
            part = j >> width
            to = place[part]
            kept_columns[to], kept_keys[to] = j, key
            if weights.size > 0:
                kept_weights[to] = weights[i]
            place[part] = to + np.uint64(key >= lowest[j, 0])


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
    columns: SmallInts,
    keys: Keys,
    weights: Ints,
    first: int,
    last: int,
    offsets: Ints,
    candidates: Keys,
    tied: Ints,
    between: Ints,
    lower: Keys,
) -> None:
    """Count the entries of labels `first:last` at the candidates, and above each of them up to the next.

    The candidates of label j fall from `offsets[j]` to `offsets[j + 1]`; no entry is below all of them. `tied` and
    `between` (n_candidates,) get the weights, each 1 if there are none; `lower` is raised to the highest key below each
    candidate.
    """
    # 1. Bring the entries of each label together.
    place = np.zeros(last - first + 1, np.uint64)
    one = np.uint64(1)
    for e in range(columns.size):
        place[columns[e] - first + 1] += one
    for j in range(last - first):
        place[j + 1] += place[j]
    listed = np.empty_like(keys)
    listed_weights = np.empty_like(weights)
    for e in range(columns.size):
        j = columns[e] - first
        to = place[j]
        listed[to] = keys[e]
        if weights.size > 0:
            listed_weights[to] = weights[e]
        place[j] = to + one

    # 2. Count, label by label.
    start = np.uint64(0)
    for j in range(first, last):
        end = place[j - first]
        if end > start:
            at = slice(offsets[j], offsets[j + 1])
            own = listed[start:end]
            own_weights = listed_weights[start:end] if weights.size > 0 else listed_weights
            counted = tied[at], between[at], lower[at]
            if at.stop - at.start <= _FEW:
                _count_at_few(own, own_weights, candidates[at], *counted)
            else:
                _count_at_many(own, own_weights, candidates[at], *counted)
        start = end


@kernel
def steps_of_counts(
    offsets: Ints,
    candidates: Keys,
    hits: Ints,
    tied: Ints,
    between: Ints,
    lower: Keys,
    absent: Ints,
    missing: Any,
) -> tuple[Ints, Ints, Ints]:
    """Return tp, fp and what is higher at each candidate, (n_candidates,), which has so much of positives, tied and above.

    `lower` becomes the next lower key of each. `absent` (n_labels,) is the weight of the cells of each label that have
    no entry and the key `missing`, or empty where they matter to none.
    """
    tp, fp, higher = np.empty_like(hits), np.empty_like(hits), np.empty_like(hits)
    for j in range(offsets.size - 1):
        first, last = offsets[j], offsets[j + 1]
        # 1. Absent cells are one more entry.
        if absent.size and absent[j] > 0:
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
        hits_sum, sum_above = np.int64(0), np.int64(0)
        for c in range(first, last):
            hits_sum += hits[c]
            higher[c] = sum_above + between[c]
            sum_above = higher[c] + tied[c]
            tp[c], fp[c] = hits_sum, sum_above - hits_sum
            if c + 1 < last:
                lower[c] = max(lower[c], candidates[c + 1])
    return tp, fp, higher
