"""What NumPy answers in place of some kernels, bit for bit, until these are worth loading (`_jit.py`)."""

import itertools
from typing import Any

import numpy as np

from thresholds._arrays.types import Bytes, Ints, Keys

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
            at_or_above, above = (
                own.searchsorted(positives, "left"),
                own.searchsorted(positives, "right"),
            )
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


def _ones_if_negative(bits: Keys) -> Keys:
    """Return all ones where the sign bit is set, else 0."""
    return (bits.view(f"i{bits.itemsize}") >> (8 * bits.itemsize - 1)).view(bits.dtype)
