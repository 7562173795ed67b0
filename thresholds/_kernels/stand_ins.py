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


def unit_staircases(keys: Keys, truth: Bytes) -> Steps:
    """Return the staircases of the labels in the rows of `keys` (n_labels, n_samples), each score counting once.

    Complements of keys rise where scores fall.
    """
    starts = np.append(0, [np.count_nonzero(row) for row in truth]).cumsum()
    positives = ~keys[truth.view(np.bool_)]  # (n_positives,) of all labels
    lower = np.empty_like(positives)
    predicted, higher = np.empty((2, positives.size), np.int64)
    falling = np.empty(keys.shape[1] + 1, keys.dtype)
    # Sort each label's scores and positives: where these lie among those says what is predicted.
    for label_keys, (first, last) in zip(keys, itertools.pairwise(starts.tolist()), strict=True):
        if first < last:
            np.invert(label_keys, out=falling[:-1])
            falling[-1] = ~keys.dtype.type(0)  # "no score" comes last.
            falling.sort()
            positives[first:last].sort()
            predicted[first:last] = falling.searchsorted(positives[first:last], "right")
            higher[first:last] = falling.searchsorted(positives[first:last], "left")
            lower[first:last] = falling[predicted[first:last]]
    # A step is the last of equal positives of a label.
    is_last = np.append(positives[1:] != positives[:-1], True)[: positives.size]
    is_last[starts[1:][starts[1:] > 0] - 1] = True
    steps = np.flatnonzero(is_last)
    rank = 1 + np.arange(positives.size) - np.repeat(starts[:-1], np.diff(starts))
    tp = rank[steps]
    offsets = np.searchsorted(steps, starts)
    return offsets, ~positives[steps], ~lower[steps], tp, predicted[steps] - tp, higher[steps]


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
