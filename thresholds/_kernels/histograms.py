"""What weighs at which score of a label: each score by itself, by sorting, or neighbouring ones together, by counting.

Scores come as their bits, and are looked at as keys: unsigned integers in the same order (`keys.py`).

Sorting goes by digits of 11 bits, the lowest first, so that no comparison is ever mispredicted (a radix sort: Knuth
1998, volume 3, section 5.2.5). 100,000 scores of float32 take 7 ns each, a third of the time of NumPy's sort.

Counting goes by the leading bits of keys. A table holds the counts of all prefixes of one length. Where few of them
occur they are made longer, and the cells are counted again; where too many do, neighbouring ones are merged. That takes
2 ns a score, a quarter of the time of sorting.
"""

from typing import Any, NamedTuple

import numpy as np

from thresholds._arrays.types import Ints, Keys
from thresholds._kernels._jit import kernel_of_finite, part_of_kernel

_DIGIT = 11  # bits that are sorted by at once
_N_DIGITS = 1 << _DIGIT
_FEW = 48  # cells that are sorted by insertion
_TABLE = 14  # The first table has 2**14 places.
_LONGER = 4  # bits by which prefixes are made longer


class SortBuffers(NamedTuple):
    """Memory for one label at a time, used again for the next."""

    values: Any  # (2, n) uint64: keys, and behind those of 32 bits what belongs to them
    behind: Any  # (2, n) uint32: what belongs to keys of 64 bits; None for others
    place: Any  # (n,) uint16 of cells in the table
    table: Ints  # (2, 2**15) counts, or weights and those of positives
    rank: Any  # (2**15,) int32 of prefixes that occur, among these
    counts: Any  # (6 * 2**11,) int32 of digits


class Groups(NamedTuple):
    """What is written: keys that fall within each label, and what weighs there."""

    lowest: Keys
    highest: Keys
    hits: Ints  # weight of positives
    weights: Ints


@kernel_of_finite
def tie_groups(  # type: ignore[no-untyped-def]
    bits, truth, weights, starts, ends, room, groups
):
    """Write the distinct keys of each label, falling, and what weighs there; return the offsets of labels.

    bits, truth, weights, starts, ends : as in `Columns`, with the bits of scores
    """
    offsets = np.zeros(starts.size + 1, np.int64)
    for label in range(starts.size):
        own = slice(starts[label], ends[label])
        n = offsets[label]
        row = _sort(bits[own], truth[own], room.behind, room)
        own_weights = _weights_of(weights, own, bits)
        n_cells = ends[label] - starts[label]
        n = _write_groups(row, n_cells, own_weights, room.behind, room, groups, n)
        offsets[label + 1] = n
    return offsets


@kernel_of_finite
def leading_bits(  # type: ignore[no-untyped-def]
    bits, truth, weights, starts, ends, masked, most, room, groups
):
    """Write the bins of each label, falling, `most` at most, and what weighs there; return the offsets of labels.

    Keys of one bin differ in their last d bits, with the least d of each label. Those that are `masked` have a bin of
    their own, the last. All else is as for `tie_groups`.
    """
    offsets = np.zeros(starts.size + 1, np.int64)
    for label in range(starts.size):
        own = slice(starts[label], ends[label])
        x, y, w = bits[own], truth[own], _weights_of(weights, own, bits)
        n = offsets[label]
        if x.size <= most:
            row = _sort(x, y, room.behind, room)
            n = _write_groups(row, x.size, w, room.behind, room, groups, n)
        elif x.size:
            n = _write_bins(x, y, w, masked, most, room, groups, n)
        offsets[label + 1] = n
    return offsets


@part_of_kernel
def _weights_of(weights, own, bits):  # type: ignore[no-untyped-def]
    """Return the weights of one label's cells: a part of all, or those of the rows, which all labels share."""
    if weights is None:
        return None
    return weights[own] if weights.size == bits.size else weights


@part_of_kernel
def _sign_of(bits):  # type: ignore[no-untyped-def]
    """Return the sign bit of scores."""
    return np.uint64(1) << np.uint64(8 * bits.itemsize - 1)


@part_of_kernel
def _key(bits, sign):  # type: ignore[no-untyped-def]
    """Return the key of a score: its bits, the sign bit turned; all of them if it is negative."""
    own = np.uint64(bits)
    # -0.0 has the sign bit alone: its key is that of 0.0.
    return own ^ (sign | (sign - np.uint64(1))) if own > sign else own | sign


@part_of_kernel
def _sort(bits, truth, behind, room):  # type: ignore[no-untyped-def]
    """Sort the keys of a label, rising, with place and truth of each; return the row of `room.values` that has them.

    What belongs to a key is 2 place + truth: in the lower half of its value where keys have 32 bits, else `behind` it.
    """
    # 1. Put key and what belongs to it side by side.
    sign = _sign_of(bits)
    for i in range(bits.size):
        mark = (np.uint64(i) << np.uint64(1)) | np.uint64(truth[i])
        if behind is None:
            room.values[0, i] = (_key(bits[i], sign) << np.uint64(32)) | mark
        else:
            room.values[0, i] = _key(bits[i], sign)
            behind[0, i] = np.uint32(mark)
    if bits.size <= _FEW:
        _insert(bits.size, behind, room.values)
        return 0

    # 2. Count all digits at once.
    first_bit = 32 if behind is None else 0
    n_sorts = (64 - first_bit + _DIGIT - 1) // _DIGIT
    counts = room.counts
    counts[: n_sorts * _N_DIGITS] = 0
    mask = np.uint64(_N_DIGITS - 1)
    for i in range(bits.size):
        value = room.values[0, i] >> np.uint64(first_bit)
        for digit in range(n_sorts):
            counts[digit * _N_DIGITS + np.int64(value & mask)] += 1
            value >>= np.uint64(_DIGIT)

    # 3. Distribute by one digit after another, but for those that all keys share.
    row = 0
    for digit in range(n_sorts):
        base, shift = digit * _N_DIGITS, np.uint64(first_bit + digit * _DIGIT)
        values, sorted_values = room.values[row], room.values[1 - row]
        if counts[base + np.int64((values[0] >> shift) & mask)] == bits.size:
            continue
        so_far = np.int32(0)
        for at in range(base, base + _N_DIGITS):
            own = counts[at]
            counts[at] = so_far
            so_far += own
        for i in range(bits.size):
            at = base + np.int64((values[i] >> shift) & mask)  # type: ignore[assignment]
            place = counts[at]
            sorted_values[place] = values[i]
            if behind is not None:
                behind[1 - row, place] = behind[row, i]
            counts[at] = place + 1
        row = 1 - row
    return row


@part_of_kernel
def _insert(n, behind, values):  # type: ignore[no-untyped-def]
    """Sort a few values of the first row by insertion."""
    for i in range(1, n):
        value = values[0, i]
        mark = 0 if behind is None else behind[0, i]
        at = i
        while at > 0 and values[0, at - 1] > value:
            values[0, at] = values[0, at - 1]
            if behind is not None:
                behind[0, at] = behind[0, at - 1]
            at -= 1
        values[0, at] = value
        if behind is not None:
            behind[0, at] = mark


@part_of_kernel
def _write_groups(row, n_cells, weights, behind, room, groups, n):  # type: ignore[no-untyped-def]
    """Write the tie groups of a label that is sorted from place n on, falling; return the place after the last."""
    values = room.values[row]
    before = np.uint64(0)  # the key of no score
    n -= 1
    for i in range(n_cells - 1, -1, -1):
        if behind is None:
            key, mark = values[i] >> np.uint64(32), values[i] & np.uint64(0xFFFFFFFF)
        else:
            key, mark = values[i], np.uint64(behind[row, i])
        if key != before:
            before = key
            n += 1
            groups.lowest[n] = key
            groups.highest[n] = key
            groups.hits[n] = 0
            groups.weights[n] = 0
        weight = np.int64(1)
        if weights is not None:
            weight = weights[np.int64(mark >> np.uint64(1))]
        groups.weights[n] += weight
        groups.hits[n] += weight * np.int64(mark & np.uint64(1))
    return n + 1


@part_of_kernel
def _write_bins(bits, truth, weights, masked, most, room, groups, n):  # type: ignore[no-untyped-def]
    """Write the bins of a label of many cells from place n on, falling; return the place after the last."""
    # 1. Find the range of the keys that are not masked; count those that are.
    one, sign = np.uint64(1), _sign_of(bits)
    lowest, highest = np.uint64(~np.uint64(0)), np.uint64(0)
    n_masked, masked_weight, masked_hits = 0, np.int64(0), np.int64(0)
    for i in range(bits.size):
        key = _key(bits[i], sign)
        if key == masked:
            weight = np.int64(1) if weights is None else weights[i]
            n_masked += 1
            masked_weight += weight
            masked_hits += weight * truth[i]
        else:
            lowest, highest = min(lowest, key), max(highest, key)
    if n_masked < bits.size:
        # 2. Count the cells of each prefix, those of masked ones apart.
        shift = np.uint64(0)
        while (highest >> shift) - (lowest >> shift) >= np.uint64((1 << _TABLE) - 1):
            shift += one
        base = lowest >> shift
        size = np.int64((highest >> shift) - base) + 1
        apart = size
        for i in range(bits.size):
            key = _key(bits[i], sign)
            room.place[i] = apart if key == masked else np.int64((key >> shift) - base)
        _count(room.place[: bits.size], truth, weights, size + 1, room)
        n_kept = _list(base, size, room)

        # 3. Make prefixes longer as long as few of them occur.
        while shift and n_kept <= most:
            by = min(np.uint64(_LONGER), shift)
            shift -= by
            mask = (one << by) - one
            next_apart = n_kept << by
            for i in range(bits.size):
                if room.place[i] == apart:
                    room.place[i] = next_apart
                else:
                    rank = np.uint64(room.rank[room.place[i]])
                    room.place[i] = (rank << by) | ((_key(bits[i], sign) >> shift) & mask)
            apart = next_apart
            for at in range(n_kept):
                room.values[1, at] = room.values[0, at]
            _count(room.place[: bits.size], truth, weights, apart + 1, room)
            n_kept = _list_longer(n_kept, by, room)

        # 4. Merge neighbours while there are too many.
        n_kept, shift = _merge(n_kept, most, shift, room)

        # 5. Write them from the highest down.
        rest = (one << shift) - one
        for at in range(n_kept - 1, -1, -1):
            prefix = room.values[0, at]
            groups.lowest[n] = max(prefix << shift, lowest)
            groups.highest[n] = min((prefix << shift) | rest, highest)
            groups.hits[n], groups.weights[n] = room.table[1, at], room.table[0, at]
            n += 1
    if n_masked:
        groups.lowest[n], groups.highest[n] = masked, masked
        groups.hits[n], groups.weights[n] = masked_hits, masked_weight
        n += 1
    return n


@part_of_kernel
def _count(place, truth, weights, size, room):  # type: ignore[no-untyped-def]
    """Add up weights, and those of positives, by place in the table."""
    table = room.table
    table[0, :size] = 0
    table[1, :size] = 0
    if weights is None:
        # Both in one number, positives in its upper half: half as many additions.
        for i in range(place.size):
            table[0, place[i]] += 1 + (np.int64(truth[i]) << 32)
        for at in range(size):
            table[1, at] = table[0, at] >> 32
            table[0, at] &= 0xFFFFFFFF
        return
    for i in range(place.size):
        table[0, place[i]] += weights[i]
        table[1, place[i]] += weights[i] * truth[i]


@part_of_kernel
def _list(base, size, room):  # type: ignore[no-untyped-def]
    """List the prefixes that occur, rising, with what they have; return how many do."""
    n = 0
    for at in range(size):
        if room.table[0, at]:
            room.rank[at] = n
            room.values[0, n] = base + np.uint64(at)
            room.table[0, n], room.table[1, n] = room.table[0, at], room.table[1, at]
            n += 1
    return n


@part_of_kernel
def _list_longer(n_before, by, room):  # type: ignore[no-untyped-def]
    """List longer prefixes that occur: those before, which are in the second row of `room.values`, and some bits."""
    n = 0
    for before in range(n_before):
        for rest in range(1 << by):
            at = (before << by) + rest
            if room.table[0, at]:
                room.rank[at] = n
                room.values[0, n] = (room.values[1, before] << by) | np.uint64(rest)
                room.table[0, n], room.table[1, n] = room.table[0, at], room.table[1, at]
                n += 1
    return n


@part_of_kernel
def _merge(n, most, shift, room):  # type: ignore[no-untyped-def]
    """Shorten prefixes until at most so many are left; return how many are, and how many bits they lack."""
    one = np.uint64(1)
    while n > most:
        shift += one
        last = 0
        room.values[0, 0] >>= one
        for at in range(1, n):
            prefix = room.values[0, at] >> one
            if prefix == room.values[0, last]:
                room.table[0, last] += room.table[0, at]
                room.table[1, last] += room.table[1, at]
            else:
                last += 1
                room.values[0, last] = prefix
                room.table[0, last], room.table[1, last] = room.table[0, at], room.table[1, at]
        n = last + 1
    return n, shift


def room_for(n_cells: int, itemsize: int) -> SortBuffers:
    """Return memory for labels of at most so many cells."""
    n = max(n_cells, 1 << (_TABLE + 1))
    return SortBuffers(
        values=np.empty((2, n), np.uint64),
        behind=None if itemsize == 4 else np.empty((2, n), np.uint32),
        place=np.empty(n, np.uint16),
        table=np.empty((2, 1 << (_TABLE + 1)), np.int64),
        rank=np.empty(1 << (_TABLE + 1), np.int32),
        counts=np.empty(6 * _N_DIGITS, np.int32),
    )


def groups_for(n_groups: int, dtype: "np.dtype[Any]") -> Groups:
    """Return memory for so many tie groups or bins; keys of tie groups are written once."""
    lowest = np.empty(n_groups, dtype)
    return Groups(lowest, np.empty(n_groups, dtype), *np.empty((2, n_groups), np.int64))
