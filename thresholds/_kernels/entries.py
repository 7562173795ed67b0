"""Loops over the entries of sparse scores: the staircases of all labels without sorting, or regrouping, the entries.

Of a few hundred thousand labels most have few positives, and nearly all entries lie below the lowest of them. So the
scores of the positives are found and sorted (`found_entries`, `sorting.sorted_lists`); then every entry is held against
the lowest of its label, and located among them where it is not below (`count_entries`). `steps_of_counts` adds up.

Keys are made of the bits of scores one by one, as in `keys.py`, so that the scores are not copied.
"""

from typing import Any

import numpy as np

from thresholds._arrays.types import Ints, Keys
from thresholds._kernels._jit import kernel

# Among fewer candidates than these an entry is located from the lowest up.
_FEW = 8


@kernel
def _key(bits: Any, sign: Any) -> Any:
    """Return the key of a score, given its bits."""
    if bits & sign:
        # -0.0 gets the key of 0.0.
        return sign if bits == sign else ~bits
    return bits ^ sign


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
def count_entries(
    starts: Ints,
    columns: Ints,
    bits: Keys,
    sign: Any,
    weights: Ints,
    first: int,
    last: int,
    offsets: Ints,
    candidates: Keys,
    lowest: Keys,
    tied: Ints,
    between: Ints,
    lower: Keys,
) -> None:
    """Count the entries of rows `first:last` at the candidates of each label, and above each of them up to the next.

    The candidates of label j fall from `offsets[j]` to `offsets[j + 1]`. Weights are added to `tied` and `between`
    (n_candidates,); `lower` (n_candidates,) becomes the highest key below each candidate and above the next one.
    `lowest` (n_labels, 2) has the lowest candidate of each label, and the highest key below it so far, side by side,
    as nearly all entries need no more than these; a label without candidates has the highest of all keys twice.
    """
    for i in range(first, last):
        weight = weights[i] if weights.size else np.int64(1)
        if weight == 0:
            continue
        for e in range(starts[i], starts[i + 1]):
            j = columns[e]
            key = _key(bits[e], sign)
            if key < lowest[j, 0]:
                if key > lowest[j, 1]:
                    lowest[j, 1] = key
                continue

            # Locate the highest candidate at or below it.
            c, size = offsets[j], offsets[j + 1] - offsets[j]
            if size <= _FEW:
                c += size - 1
                while c > offsets[j] and candidates[c - 1] <= key:
                    c -= 1
            else:
                while size > 1:
                    half = size // 2
                    c += half * (candidates[c + half - 1] > key)
                    size -= half
            if candidates[c] == key:
                tied[c] += weight
            else:
                between[c] += weight
                if c > offsets[j] and key > lower[c - 1]:
                    lower[c - 1] = key


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
