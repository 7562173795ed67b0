"""What NumPy answers in place of some kernels, bit for bit, until these are worth loading (`_jit.py`)."""

import itertools
import math
from typing import Any

import numpy as np

from thresholds._arrays.types import (
    AnyFloats,
    Bytes,
    Dense,
    Floats,
    Integers,
    Ints,
    Keys,
    SmallInts,
    Weights,
    Words,
)

_EQUAL = 1e-12  # as in `few_labels.py`

Steps = tuple[Ints, Keys, Keys, Ints, Ints, Ints]


def flip(bits: Keys, sign: np.unsignedinteger[Any]) -> None:
    """Turn the bits of floats into keys, in place."""
    bits[bits == sign] = 0  # -0.0
    bits ^= _ones_if_negative(bits) | sign


def flip_back(keys: Keys, sign: np.unsignedinteger[Any], bits: Keys) -> None:
    """Turn keys into the bits of floats."""
    np.bitwise_xor(keys, _ones_if_negative(~keys) | sign, out=bits)


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


def staircases_without(
    starts: Ints,
    up: Keys,
    steps: Steps,
    part_starts: Ints,
    part_up: Keys,
    part_true_starts: Ints,
    part_true_keys: Keys,
) -> Steps:
    """Return the staircase of each group of keys, `up`, without a part of them: `steps` are those of all."""
    offsets, key, _, tp, fp, higher = steps
    left_offsets = np.zeros_like(starts)
    # Of each group: step, next lower key, true and false positives, and what is higher.
    found = [(key[:0], key[:0], tp[:0], tp[:0], tp[:0])]
    for j in range(starts.size - 1):
        own = slice(offsets[j], offsets[j + 1])
        part = part_up[part_starts[j] : part_starts[j + 1]]
        part_true = part_true_keys[part_true_starts[j] : part_true_starts[j + 1]]
        left_tp = tp[own] - (part_true.size - part_true.searchsorted(key[own]))

        # Without a positive outside the part it is no step.
        is_step = np.diff(left_tp, prepend=0) != 0
        x, left_tp = key[own][is_step], left_tp[is_step]
        predicted = (tp[own] + fp[own])[is_step] - (part.size - part.searchsorted(x))
        left = _without(up[starts[j] : starts[j + 1]], part)
        # A key below all stands for none.
        lower = np.append(left.dtype.type(0), left)[left.size - predicted]
        left_higher = higher[own][is_step] - (part.size - part.searchsorted(x, "right"))
        found.append((x, lower, left_tp, predicted - left_tp, left_higher))
        left_offsets[j + 1] = left_offsets[j] + x.size
    columns = (np.concatenate(column) for column in zip(*found, strict=True))
    return left_offsets, *columns  # type: ignore[return-value]


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
    """Return the keys of each group without a part of them from one rank to another, and those that tie."""
    n_groups = starts.size - 1
    offsets = np.zeros_like(starts)
    above = np.zeros((2, n_groups), np.int64)
    found, found_marks = [up[:0]], [np.empty(0, np.uint8)]
    for j in range(n_groups):
        left = _without(up[starts[j] : starts[j + 1]], part_up[part_starts[j] : part_starts[j + 1]])
        hits = _without(
            true_keys[true_starts[j] : true_starts[j + 1]],
            part_true_keys[part_true_starts[j] : part_true_starts[j + 1]],
        )
        first, last = ranks[:, j].tolist()
        if first > min(last, left.size):
            first, last = 1, 1
        if left.size > 0 and last > 0:
            # Whole tie groups, from that of the last rank to that of the first.
            lowest, highest = left[max(left.size - last, 0)], left[left.size - max(first, 1)]
            kept = slice(left.searchsorted(lowest), left.searchsorted(highest, "right"))
            kept_hits = hits[hits.searchsorted(lowest) : hits.searchsorted(highest, "right")]
            above[:, j] = left.size - kept.stop, hits.size - hits.searchsorted(highest, "right")
            marks = np.zeros(kept.stop - kept.start, np.uint8)
            marks[_places(left[kept], kept_hits)] = 1
            found.append(left[kept])
            found_marks.append(marks)
            offsets[j + 1] = marks.size
    offsets = offsets.cumsum()
    return np.concatenate(found), np.concatenate(found_marks), offsets[:-1], offsets[1:], above


def _without(up: Keys, part: Keys) -> Keys:
    """Return rising keys without those of a part of them, which rises, too."""
    return np.delete(up, _places(up, part))


def _places(up: Keys, part: Keys) -> Ints:
    """Return where the keys of a part lie among all, which rise, too; of equal keys the first are the part's."""
    return up.searchsorted(part) + np.arange(part.size) - part.searchsorted(part)


def weighted_staircases(starts: Ints, keys: Keys, positive_weights: Ints, weights: Ints) -> Steps:
    """Return the staircases of the labels whose items are `starts[j]:starts[j + 1]`."""
    n_labels = starts.size - 1
    label = np.arange(n_labels).repeat(np.diff(starts))  # (n_items,)
    kept = np.flatnonzero(weights > 0)
    falling = kept[np.lexsort((~keys[kept], label[kept]))]  # (n_kept,)
    key, own = keys[falling], label[falling]

    # Equal keys of a label are one run, from the top down.
    is_first = np.append(True, (own[1:] != own[:-1]) | (key[1:] != key[:-1]))[: key.size]
    firsts = np.flatnonzero(is_first)  # (n_runs,)
    key, own = key[firsts], own[firsts]
    runs = np.append(firsts, falling.size)
    hits, sizes = (_sums_of_groups(runs, of[falling]) for of in (positive_weights, weights))
    run_offsets = own.searchsorted(np.arange(n_labels + 1))
    tp, predicted = (_sums_so_far(run_offsets, of_runs) for of_runs in (hits, sizes))
    lower = np.append(key[1:], key.dtype.type(0))[: key.size]
    lower[run_offsets[1:][np.diff(run_offsets) > 0] - 1] = 0

    # A run is a step if it has a positive.
    steps = np.flatnonzero(hits > 0)
    return (
        steps.searchsorted(run_offsets),
        key[steps],
        lower[steps],
        tp[steps],
        (predicted - tp)[steps],
        (predicted - sizes)[steps],
    )


def sort(keys: Keys, rows: Integers, spare: Keys, spare_rows: Integers) -> tuple[Keys, Any]:
    """Return keys upwards, and `rows` along with them unless empty."""
    if rows.size == 0:
        return np.sort(keys), rows
    order = keys.argsort(kind="stable")
    return keys[order], rows[order]


def sorted_with_rows(keys: Keys) -> tuple[Keys, SmallInts]:
    """Return keys upwards, and where each was."""
    rows = keys.argsort(kind="stable").astype(np.int32)
    return keys[rows], rows


def sorted_lists(
    lists: Ints, keys: Keys, weights: Ints, first_list: int, last_list: int, lowest: Any
) -> tuple[Ints, Keys, Ints]:
    """Return the distinct keys of each list, falling, with their weights added up."""
    wanted = (lists >= first_list) & (lists < last_list) & (keys >= lowest)
    if weights.size > 0:
        wanted &= weights > 0
    own, key = lists[wanted] - first_list, keys[wanted]
    order = np.lexsort((~key, own))  # (n_wanted,)
    own, key = own[order], key[order]
    weight = weights[wanted][order] if weights.size > 0 else np.ones(key.size, np.int64)
    is_first = np.append(True, (own[1:] != own[:-1]) | (key[1:] != key[:-1]))[: key.size]
    firsts = np.flatnonzero(is_first)  # of equal keys
    offsets = own[firsts].searchsorted(np.arange(last_list - first_list + 1))
    sums: Ints = np.append(0, weight.cumsum())
    ends = np.append(firsts[1:], key.size)[: firsts.size]
    return offsets, key[firsts], sums[ends] - sums[firsts]


def keys_at_ranks(starts: Ints, keys: Keys, weights: Ints, ranks: Floats) -> Keys:
    """Return the keys at two ranks of each label, (2, n_labels)."""
    found = np.zeros((2, starts.size - 1), keys.dtype)
    for j, (first, last) in enumerate(itertools.pairwise(starts.tolist())):
        falling = keys[first:last].argsort()[::-1]
        if weights.size == 0:
            places = np.ceil(ranks[:, j]).astype(np.int64) - 1
        else:
            places = weights[first:last][falling].cumsum().searchsorted(ranks[:, j])
        found[:, j] = keys[first:last][falling[places.clip(0, last - first - 1)]]
    return found


def count_at_keys(
    starts: Ints, keys: Keys, positive_weights: Weights, weights: Ints, label_keys: Keys
) -> Ints:
    """Return weight and true positives above a key of each label, then those at it, (4, n_labels)."""
    own = label_keys.repeat(np.diff(starts))  # (n_items,)
    counts = np.empty((4, label_keys.size), np.int64)
    for row, marks in ((0, keys > own), (2, keys == own)):
        counts[row] = _sums_of_groups(starts, marks if weights.size == 0 else marks * weights)
        counts[row + 1] = _sums_of_groups(starts, marks * positive_weights)
    return counts


def counts_at_cuts(
    starts: Ints, keys: Keys, positive_weights: Weights, weights: Ints, cuts: Keys
) -> Ints:
    """Return true positives and weight of each label at or above each cut, (2, n_labels, n_cuts); cuts rise."""
    counts = np.zeros((2, starts.size - 1, cuts.size), np.int64)
    below = cuts.searchsorted(keys, "right")  # (n_items,) cuts at or below each
    label = np.arange(starts.size - 1).repeat(np.diff(starts))  # (n_items,)
    reached = below > 0
    places = label[reached], below[reached] - 1
    np.add.at(counts[0], places, positive_weights[reached])
    np.add.at(counts[1], places, 1 if weights.size == 0 else weights[reached])
    return counts[:, :, ::-1].cumsum(axis=2)[:, :, ::-1].copy()


def pooled_depths(
    tp: AnyFloats,
    predicted: AnyFloats,
    depth: Floats,
    width: Floats,
    prior: Floats,
    ratio: float,
    n_sharpnesses: int,
) -> tuple[Floats, Floats]:
    """Return each label's mean depth, (n_labels, n_pairs), and what rows left out reach, (2, n_pairs)."""
    tp = tp.astype(np.float64)  # (n_labels, n_cuts)
    predicted = predicted.astype(np.float64)
    n_labels, n_priors = len(tp), len(prior)
    means = np.empty((n_labels, n_priors, n_sharpnesses))
    left_out = np.empty((2, n_priors, n_sharpnesses))

    # What lies between two cuts, from the lowest up.
    n_tp = np.diff(tp, axis=1)[:, np.newaxis, ::-1]  # (n_labels, 1, n_cuts - 1)
    n_fp = np.diff(predicted, axis=1)[:, np.newaxis, ::-1] - n_tp
    gap = np.diff(depth)[::-1]  # (n_cuts - 1,)
    upper_depth = depth[-2::-1]

    # exp of the gain, 1 at its highest; that of Python, as NumPy's has other last bits.
    gain = (tp - ratio * predicted)[:, np.newaxis] + prior  # (n_labels, n_priors, n_cuts)
    gain -= gain.max(axis=2, keepdims=True)
    density = np.reshape([math.exp(value) for value in gain.ravel().tolist()], gain.shape)
    for s in range(n_sharpnesses):
        if s > 0:
            density *= density
        weight = width * density
        moments = weight * depth
        total = weight.cumsum(axis=2)[:, :, -1:]
        moment = moments.cumsum(axis=2)[:, :, -1:]
        means[:, :, s] = (moment / total)[:, :, 0]

        # The mean without a positive, and without a negative, between two cuts.
        total_below = weight[:, :, :0:-1].cumsum(axis=2)  # (n_labels, n_priors, n_cuts - 1)
        moment_below = moments[:, :, :0:-1].cumsum(axis=2)
        added = np.empty((*total_below.shape, 2))
        for i, n, change in ((0, n_tp, ratio - 1.0), (1, n_fp, ratio)):
            factor = math.exp(2.0**s * change)
            with np.errstate(all="ignore"):  # where nothing is left out
                mean = (moment - moment_below + factor * moment_below) / (
                    total - total_below + factor * total_below
                )
                share = np.minimum(np.maximum((mean - upper_depth) / gap, 0.0), 1.0)
                added[..., i] = np.where(n > 0, n * share, 0.0)
        left_out[0, :, s] = _added_up(added[..., :1])
        left_out[1, :, s] = _added_up(added)
    return means.reshape(n_labels, -1), left_out.reshape(2, -1)


def _added_up(values: Floats) -> Floats:
    """Add up (n_labels, n_priors, ...) for each prior, one after another, as a loop does."""
    of_prior = np.moveaxis(values, 1, 0).reshape(values.shape[1], -1)
    return np.insert(of_prior, 0, 0.0, axis=1).cumsum(axis=1)[:, -1]


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
    """Bring the entries of rows `first:last` together part by part, each of which has `2**width` labels."""
    begin, end = int(starts[first]), int(starts[last])
    part = columns[begin:end] >> int(width)
    order = part.argsort(kind="stable")
    parted_columns[begin:end] = columns[begin:end][order]
    keys = bits[begin:end][order]
    flip(keys, sign)
    parted_keys[begin:end] = keys
    if weights.size > 0:
        n_entries = (starts[first + 1 : last + 1] - starts[first:last]).astype(
            np.int64
        )  # (n_rows,)
        parted_weights[begin:end] = weights[first:last].repeat(n_entries)[order]
    segments[:] = begin + part[order].searchsorted(np.arange(segments.size))


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
    """Count the entries of the labels from `first_label` on at their candidates: the steps of staircases."""
    ranges = itertools.starmap(slice, segments[:, part : part + 2].tolist())
    own = [np.arange(each.start, each.stop) for each in ranges]
    entries = np.concatenate([np.empty(0, np.int64), *own])
    label = columns[entries].astype(np.int64) - first_label
    key = keys[entries]
    weight = weights[entries] if weights.size > 0 else np.ones(key.size, np.int64)
    if total.size > 0:  # Absent cells are one more entry of each label.
        absent = total.copy()
        np.subtract.at(absent, label, weight)
        label = np.append(label, np.arange(total.size))
        key = np.append(key, np.full(total.size, missing, key.dtype))
        weight = np.append(weight, absent)
    label, key, weight = (values[weight > 0] for values in (label, key, weight))

    # Labels, and keys within each, from the lowest up: what lies below a candidate, and up to it.
    order = np.lexsort((key, label))
    label, key = label[order], key[order]
    sums: Ints = np.append(0, weight[order].cumsum())  # (n_entries + 1,)
    of_candidate = np.arange(offsets.size - 1).repeat(np.diff(offsets))  # (n_candidates,)
    distinct = np.unique(np.append(key, candidates))
    place = label * distinct.size + distinct.searchsorted(key)
    of_place = of_candidate * distinct.size + distinct.searchsorted(candidates)
    below, up_to = (place.searchsorted(of_place, side) for side in ("left", "right"))
    end = sums[label.searchsorted(of_candidate, "right")]
    # The next lower key: that of an entry, or the next candidate; below all candidates `nothing` if there is none.
    is_last = np.append(of_candidate[1:] != of_candidate[:-1], True)[: candidates.size]
    next_lower = np.where(is_last, nothing, np.append(candidates[1:], nothing)[: candidates.size])
    is_entry = below > 0
    is_entry[is_entry] = label[below[is_entry] - 1] == of_candidate[is_entry]
    next_lower[is_entry] = np.maximum(next_lower[is_entry], key[below[is_entry] - 1])
    lower[:] = next_lower
    hits[:] = _sums_so_far(offsets, hits)
    fp[:] = end - sums[below] - hits
    higher[:] = end - sums[up_to]


def rank_statistics(offsets: Ints, positive_weights: Ints, weights: Ints) -> Floats:
    """Return (8, n_labels): AUROC, variances of placements, ties and mid-ranks of each label."""
    n_labels = offsets.size - 1
    # From the bottom up, in which order floats are added up.
    label = np.arange(n_labels).repeat(np.diff(offsets))[::-1]  # (n_groups,)
    size, hit = weights[::-1], positive_weights[::-1]
    lost = size - hit
    n, positives, negatives = (_sums_of_groups(offsets, own[::-1]) for own in (size, hit, lost))

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


def f_at_ratios(
    offsets: Ints,
    tp: Ints,
    predicted: Ints,
    higher: Ints,
    positives: Ints,
    most: Ints,
    ratios: Floats,
    beta_squared: float,
) -> Floats:
    """Return F-beta of each label when `ratios` times its positives are predicted, (n_labels, n_ratios)."""
    f = np.zeros((positives.size, ratios.size))
    with np.errstate(all="ignore"):
        for j, (first, last) in enumerate(itertools.pairwise(offsets.tolist())):
            if positives[j] == 0 or first == last:
                continue
            wanted = ratios * positives[j]
            rank = np.minimum(wanted, float(most[j]))  # (n_ratios,)
            # The step that holds each rank; behind the last one there are no more true positives.
            step = predicted[first:last].searchsorted(rank)
            so_far = np.append(0, tp[first:last])
            found = so_far[step].astype(np.float64)
            own = np.append(first + np.arange(last - first), first)[step]
            is_within = (step < last - first) & (rank > higher[own])
            own, before = own[is_within], so_far[step[is_within]]
            among = (tp[own] - before) * (rank[is_within] - higher[own])
            found[is_within] += among / (predicted[own] - higher[own])
            f[j] = (1.0 + beta_squared) * found / (beta_squared * positives[j] + wanted)
    return f


def expected_f_at_ratios(
    offsets: Ints,
    bins: Any,
    weight: Ints,
    most: Ints,
    p: Floats,
    positives: Ints,
    ratios: Floats,
    beta_squared: float,
) -> Floats:
    """Return F-beta of expected counts when `ratios` times a label's positives are predicted, (n_labels, n_ratios)."""
    f = np.zeros((offsets.size - 1, ratios.size))
    for j, (first, last) in enumerate(itertools.pairwise(offsets.tolist())):
        if positives[j] == 0:
            continue
        own = weight[first:last]
        of_bin = p[bins[first:last]]
        shares = own * of_bin
        # Bins are added up from the lowest up, what is missing last.
        is_missing = bins[first:last] == p.size - 1
        rising = np.append(0.0, np.where(is_missing, 0.0, shares)[::-1])
        expected_positives = rising.cumsum()[-1] + shares[is_missing].sum()

        # The bin that each ratio ends in, and a part of it.
        wanted = np.minimum(ratios * positives[j], float(most[j]))  # (n_ratios,)
        so_far = np.append(0, own.cumsum())
        found = np.append(0.0, shares).cumsum()
        at = so_far[1:].searchsorted(wanted)
        found = found[at]
        is_within = at < last - first
        rest = wanted[is_within] - so_far[at[is_within]]
        found[is_within] += rest * of_bin[at[is_within]]
        denominator = beta_squared * expected_positives + wanted
        with np.errstate(all="ignore"):
            f[j] = np.where(denominator > 0, (1.0 + beta_squared) * found / denominator, 0.0)
    return f


def list_cells(
    true: Words, predicted: Words, starts: Ints, cells: SmallInts, counts: Floats
) -> None:
    """List the cells of rows of bits that are true or predicted, and count each row's."""
    is_true, is_predicted = (
        np.unpackbits(words.astype("<u8", copy=False).view(np.uint8), axis=1, bitorder="little")
        for words in (true, predicted)
    )  # (n_rows, 64 n_words)
    row, column = np.nonzero(is_true | is_predicted)
    cells[: row.size] = 4 * column + 2 * is_true[row, column] + is_predicted[row, column]
    starts[:] = row.searchsorted(np.arange(starts.size))
    counts[:] = [marks.sum(axis=1) for marks in (is_true & is_predicted, is_predicted, is_true)]


def leave_out_rows(
    starts: Ints,
    cells: SmallInts,
    lost: Floats,
    tops: Floats,
    bottoms: Floats,
    beta: float,
    zero_division: float,
    first: int,
    averages: Floats,
) -> None:
    """Write the averages of F without each row, (5, ...), from column `first` on; last, F of the row itself."""
    beta2 = beta * beta
    n_rows = starts.size - 1
    row = np.arange(n_rows).repeat(np.diff(starts))  # (n_cells,)
    own = cells[starts[0] : starts[-1]]
    # Added up one after another, as a loop does.
    macro, supported, label, weighted = (
        np.bincount(row, lost[own, term], n_rows) for term in range(4)
    )
    is_true, is_predicted = own >> 1 & 1, own & 1
    tp, predicted, positives = (
        np.bincount(row, marks, n_rows) for marks in (is_true & is_predicted, is_predicted, is_true)
    )

    def ratio(top: Floats, bottom: AnyFloats | float, otherwise: AnyFloats | float) -> Floats:
        """Divide, if there is something to divide by."""
        return np.where(np.greater(bottom, 0.0), top / bottom, otherwise)

    with np.errstate(all="ignore"):
        found = averages[:, first : first + n_rows]
        found[0] = ratio(
            tops[0] - (1.0 + beta2) * tp,
            bottoms[0] - (beta2 * positives + predicted),
            zero_division,
        )
        found[1] = ratio(tops[1] - macro, bottoms[1], 0.0)
        found[2] = ratio(tops[2] - supported, bottoms[2] - label, 0.0)
        found[3] = ratio(tops[3] - weighted, bottoms[3] - positives, found[1])
        f = np.minimum((1.0 + beta2) * tp / (beta2 * positives + predicted), 1.0)
        is_nothing = (predicted == 0) & ((positives == 0) | (beta == 0.0))
        found[4] = np.where(is_nothing, zero_division, f)


def weight_at(keys: Keys, weights: Weights, key: np.uint32) -> np.int64:
    """Add up the weights of one key."""
    marks = keys == key
    return (marks if weights.size == 0 else weights[marks]).sum(dtype=np.int64)  # type: ignore[no-any-return]


def pooled_gains(
    grid: Keys,
    up: Keys,
    row: SmallInts,
    starts: Ints,
    positive_weights: Ints,
    weights: Ints,
    positives: Ints,
    shares: Floats,
    beta_squared: float,
    zero_division: float,
    unit: float,
) -> Ints:
    """Return the change of the mean F-beta over groups as the shared cut falls to `grid[k]`, in multiples of 1/unit."""
    # Items with weight at or above the grid: group by group, from the top down within each.
    place = grid.searchsorted(up, "right")[::-1] - 1  # (n_items,) of the candidate at or below each
    counts = (place >= 0) & (weights[row[::-1]] > 0)
    place, row = place[counts], row[::-1][counts]
    group = starts.searchsorted(row, "right") - 1
    order = group.argsort(kind="stable")
    place, row, group = place[order], row[order], group[order]

    # The part of the mean that its group has once an item is predicted, and the one that it had before.
    offsets = group.searchsorted(np.arange(starts.size))
    tp, predicted = (_sums_so_far(offsets, part[row]) for part in (positive_weights, weights))
    f = (1.0 + beta_squared) * tp / (beta_squared * positives[group] + predicted)
    after = np.rint(shares[group] * f * unit).astype(np.int64)
    before = np.roll(after, 1)
    alone = np.where(positives == 0, np.rint(shares * zero_division * unit), 0.0).astype(np.int64)
    has_items = np.diff(offsets) > 0
    before[offsets[:-1][has_items]] = alone[has_items]
    gains = np.zeros(grid.size, np.int64)
    np.add.at(gains, place, after - before)
    return gains


def loss_and_slopes(
    x: Floats, truth: Bytes, weights: Ints, high: float, low: float, a: float, b: float
) -> tuple[float, float, float, float, float, float]:
    """Return the log-loss of sigmoid(a x + b) against targets `high` and `low`, and its derivatives."""
    finite = np.isfinite(x)
    x, target = x[finite], np.where(truth[finite], high, low)
    w = np.ones(x.size) if weights.size == 0 else weights[finite].astype(np.float64)
    z = a * x + b
    # Exponentials and logarithms of Python, as those of NumPy have other last bits.
    e = np.array([math.exp(-abs(value)) for value in z.tolist()])
    logs = np.array([math.log1p(value) for value in e.tolist()])
    p = np.where(z >= 0, 1.0, e) / (1.0 + e)
    slope = w * (p - target)
    curvature = w * e / ((1.0 + e) * (1.0 + e))
    losses = w * (np.maximum(z, 0.0) + logs - target * z)
    by_a, by_aa = slope * x, curvature * x
    terms = np.stack([losses, by_a, slope, by_aa * x, by_aa, curvature])  # (6, n)
    # Added up one after another, as a loop does.
    total = terms.cumsum(axis=1)[:, -1] if x.size else np.zeros(6)
    return tuple(total.tolist())


def classes_overlap(x: Floats, truth: Bytes) -> bool:
    """Whether no cut separates positives and negatives."""
    finite = np.isfinite(x)
    ends = [
        (x[member].min(initial=np.inf), x[member].max(initial=-np.inf))
        for member in (finite & (truth == 0), finite & (truth == 1))
    ]
    (least_negative, most_negative), (least_positive, most_positive) = ends
    return bool(most_negative > least_positive and most_positive > least_negative)


def weights_of_classes(x: Floats, truth: Bytes, weights: Ints) -> tuple[float, float]:
    """Return the weights of positives and of negatives, where values are finite."""
    finite = np.isfinite(x)
    w = np.ones(x.size) if weights.size == 0 else weights.astype(np.float64)
    # Added up one after another, as a loop does.
    parts = np.stack([w * truth, w * (1 - truth.astype(np.float64))])[:, finite]  # (2, n)
    positive, negative = parts.cumsum(axis=1)[:, -1].tolist() if finite.any() else (0.0, 0.0)
    return positive, negative


def standardise(x: Floats, weights: Ints) -> tuple[float, float, float]:
    """Replace finite values by (x / scale - centre) / spread, in place, and return the three."""
    finite = np.isfinite(x)
    values = x[finite]
    if values.size == 0 or values.min() == values.max():
        return 1.0, 0.0, 0.0
    scale = math.ldexp(1.0, math.frexp(float(np.abs(values).max()))[1] - 1)

    # Added up one after another, as a loop does.
    w = np.ones(values.size) if weights.size == 0 else weights[finite].astype(np.float64)
    total = float(w.cumsum()[-1])
    values /= scale
    centre = float((w * values).cumsum()[-1]) / total
    values -= centre
    spread = math.sqrt(float((w * values * values).cumsum()[-1]) / total)
    if spread > 0:
        values /= spread
    x[finite] = values
    return scale, centre, spread


def interpolate(
    starts: Ints, scores: Floats, offsets: Ints, knots: Floats, values: Floats
) -> Floats:
    """Return piecewise linear curves at scores."""
    read = np.zeros(scores.size)
    cells, groups = itertools.pairwise(starts.tolist()), itertools.pairwise(offsets.tolist())
    for (first, last), (first_knot, last_knot) in zip(cells, groups, strict=True):
        if first_knot == last_knot:
            continue
        x = scores[first:last]
        above = first_knot + np.searchsorted(knots[first_knot:last_knot], x, "right")
        left, right = np.maximum(above - 1, first_knot), np.minimum(above, last_knot - 1)
        low, high = values[left], values[right]
        is_between = (left < right) & (x > knots[left]) & (low != high)
        with np.errstate(all="ignore"):
            span = knots[right] - knots[left]
            halves = (x / 2 - knots[left] / 2) / (knots[right] / 2 - knots[left] / 2)
            share = np.where(np.isinf(span), halves, (x - knots[left]) / span)
            between = np.minimum(low + share * (high - low), high)
        read[first:last] = np.where(is_between, between, low)
    return read


def best_prefixes_of_few(
    starts: Ints, values: Dense, beta_squared: float, zero_division: float, whole_ties: bool
) -> tuple[Ints, Floats]:
    """Return the size and the expected F-beta of the best set of the highest of each list."""
    best_k = np.zeros(starts.size - 1, np.int64)
    best_f = np.zeros(starts.size - 1)
    # Lists of as many values that may be predicted go side by side.
    label = np.arange(starts.size - 1).repeat(np.diff(starts))
    sizes = np.bincount(label[values > 0], minlength=starts.size - 1)
    for n in np.unique(sizes).tolist():
        lists = np.flatnonzero(sizes == n)
        places = starts[lists + 1] - 1 - np.arange(n)[:, np.newaxis]
        p = values[places].astype(np.float64)  # (n, n_lists), falling
        # Of two ways to leave a label out, one divides by 0 where p is 0 or 1.
        with np.errstate(all="ignore"):
            best = _best_prefixes(p, beta_squared, zero_division, whole_ties)
        best_k[lists], best_f[lists] = best
    return best_k, best_f


def _best_prefixes(
    p: Floats, beta_squared: float, zero_division: float, whole_ties: bool
) -> tuple[Ints, Floats]:
    """Search lists (n, n_lists) by the recursion of `few_labels.py`."""
    n, n_lists = p.shape
    # The distribution of the number of positives, one label after another.
    chance = np.zeros((n + 1, n_lists))
    chance[0] = 1.0
    for i in range(n):
        chance[1 : i + 2] = chance[1 : i + 2] * (1.0 - p[i]) + chance[: i + 1] * p[i]
        chance[0] *= 1.0 - p[i]

    # One label more in the set; the sum over s is its expectation.
    best_k, best_f = np.zeros(n_lists, np.int64), zero_division * chance[0]
    gained = np.zeros((n, n_lists))
    for k in range(1, n + 1):
        gained += (1.0 + beta_squared) * p[k - 1] * _left_out(chance, p[k - 1])
        f = np.zeros(n_lists)
        for s in range(1, n + 1):
            f += gained[s - 1] / (beta_squared * s + k)
        is_better = f > best_f * (1.0 + _EQUAL)
        if whole_ties and k < n:
            is_better &= p[k] != p[k - 1]
        best_k[is_better] = k
        best_f[is_better] = f[is_better]
    return best_k, best_f


def _left_out(chance: Floats, p: Floats) -> Floats:
    """Take one label out of distributions (n + 1, n_lists), (n, n_lists), from the end where errors shrink."""
    n = len(chance) - 1
    up, down = np.empty((2, n, p.size))
    up[0], down[n - 1] = chance[0] / (1.0 - p), chance[n] / p
    for s in range(1, n):
        up[s] = (chance[s] - p * up[s - 1]) / (1.0 - p)
        down[n - 1 - s] = (chance[n - s] - (1.0 - p) * down[n - s]) / p
    return np.where(p <= 0.5, up, down)


def next_row(old: AnyFloats, rest: AnyFloats, each: float, new: Floats) -> None:
    """Write the probabilities of paths one row later."""
    stays, rises = old * (1.0 - rest * each), old * (rest * each)
    new[0] = stays[0]
    np.add(stays[1:], rises[:-1], out=new[1:])


def best_steps(offsets: Ints, tp: Ints, fp: Ints, positives: Ints, beta_squared: float) -> Ints:
    """Return the step of highest F-beta of each label, -1 for a label without steps; ties go to the highest cut."""
    starts, sizes = offsets[:-1], np.diff(offsets)
    ratio = tp / (beta_squared * np.repeat(positives, sizes) + (tp + fp))
    highest = np.maximum.reduceat(np.append(ratio, 0.0), starts)
    is_best = np.flatnonzero(ratio == np.repeat(highest, sizes))
    return np.where(sizes > 0, np.append(is_best, -1)[np.searchsorted(is_best, starts)], -1)


def count_by_label(truth: Bytes, predicted: Bytes, counts: Ints) -> None:
    """Add true positives, predictions and positives of each label to `counts` (3, n_labels)."""
    counts += np.stack(
        [cells.sum(axis=0, dtype=np.int64) for cells in (truth & predicted, predicted, truth)]
    )


def count_by_sample(truth: Bytes, predicted: Bytes, counts: Ints) -> None:
    """Write true positives, predictions and positives of each row to `counts` (3, n_samples)."""
    counts[:] = np.stack(
        [cells.sum(axis=1, dtype=np.int64) for cells in (truth & predicted, predicted, truth)]
    )


def count_classes(true: Ints, predicted: Ints, weights: Ints, counts: Ints) -> None:
    """Add the weights of true positives, predictions and positives of each class to `counts` (3, n_classes)."""
    right = true == predicted
    np.add.at(counts[0], true[right], weights[right])
    np.add.at(counts[1], predicted, weights)
    np.add.at(counts[2], true, weights)


def weigh_by_label(truth: Bytes, predicted: Bytes, weights: Ints, counts: Ints) -> None:
    """Add the weights of true positives, predictions and positives of each label to `counts` (3, n_labels)."""
    for sums, cells in zip(counts, (truth & predicted, predicted, truth), strict=True):
        _add_in_order(sums, weights[:, np.newaxis] * cells)


def ranks_of_positives(
    true_starts: Ints,
    true_columns: Ints,
    starts: Ints,
    columns: Ints,
    scores: Floats,
    missing: float,
    n_labels: int,
) -> Ints:
    """Return the rank, from 0, that the score of each positive has in its row; equal scores rank by column."""
    row, true_row = (np.arange(starts.size - 1).repeat(np.diff(of)) for of in (starts, true_starts))
    cells, true_cells = row * n_labels + columns, true_row * n_labels + true_columns
    at = cells.searchsorted(true_cells)  # (n_positives,) where each is, or would be
    is_stored = np.append(cells, -1)[at] == true_cells

    # In the order of each row: how many stored scores come before each positive, itself a score of `missing` or stored.
    lacking = np.flatnonzero(~is_stored)
    order = np.lexsort(
        (
            np.append(columns, true_columns[lacking]),
            -np.append(scores, np.full(lacking.size, missing)),
            np.append(row, true_row[lacking]),
        )
    )  # (n_stored + n_lacking,)
    n_before = np.empty(order.size, np.int64)
    n_before[order] = np.cumsum(order < columns.size) - (order < columns.size)
    of_positives = at.copy()
    of_positives[lacking] = columns.size + np.arange(lacking.size)
    ranks: Ints = n_before[of_positives] - starts[true_row]

    # Those that are not stored are equal.
    x = np.append(scores, missing)[np.where(is_stored, at, -1)]
    n_absent = n_labels - np.diff(starts)[true_row]
    absent_before = true_columns - (at - starts[true_row])
    return ranks + np.where(missing > x, n_absent, np.where(missing == x, absent_before, 0))


@np.errstate(all="ignore")
def add_rows(
    p: Dense,
    weights: Floats,
    low: Floats,
    tp: Floats,
    predicted: Floats,
    positives: Floats,
    least: Floats,
) -> None:
    """Add dense rows, predicted where p >= low."""
    rows = np.flatnonzero(weights)
    cells = p[rows]  # (n_rows, n_labels)
    weight = weights[rows, np.newaxis]
    is_predicted = cells >= low
    weighted = weight * cells
    _add_in_order(tp, np.where(is_predicted, weighted, 0.0))
    _add_in_order(predicted, np.where(is_predicted, weight, 0.0))
    _add_in_order(positives, weighted)
    np.minimum(least, np.where(is_predicted, cells, np.inf).min(axis=0, initial=np.inf), out=least)


def _add_in_order(sums: AnyFloats | Ints, rows: Dense) -> None:
    """Add one row after another, as a loop does: sums of pairs would be rounded otherwise. Overwrites the rows."""
    if len(rows) > 0:
        rows[0] += sums
        sums[:] = rows.cumsum(axis=0, out=rows)[-1]


def _sums_of_groups(starts: Ints, values: Weights) -> Ints:
    """Add up what each group has."""
    sums: Ints = np.append(0, values.cumsum(dtype=np.int64))
    return sums[starts[1:]] - sums[starts[:-1]]


def _sums_so_far(offsets: Ints, values: Weights) -> Ints:
    """Add up what each group has up to each item, this one too."""
    sums: Ints = np.append(0, values.cumsum(dtype=np.int64))
    return sums[1:] - sums[offsets[:-1]].repeat(np.diff(offsets))


def _ones_if_negative(bits: Keys) -> Keys:
    """Return all ones where the sign bit is set, else 0."""
    return (bits.view(f"i{bits.itemsize}") >> (8 * bits.itemsize - 1)).view(bits.dtype)
