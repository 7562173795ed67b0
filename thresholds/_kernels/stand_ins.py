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


def weight_at(keys: Keys, weights: Weights, key: np.uint32) -> np.int64:
    """Add up the weights of one key."""
    marks = keys == key
    return (marks if weights.size == 0 else weights[marks]).sum(dtype=np.int64)  # type: ignore[no-any-return]


def list_filled(counts: Ints, order: Ints, filled: Ints, weight: Ints) -> np.int64:
    """List the places in `order` of bins with cells, and the weight of each; return how many."""
    places = np.flatnonzero(counts[order] > 0)
    filled[: places.size] = places
    weight[: places.size] = counts[order[places]]
    return np.int64(places.size)


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
