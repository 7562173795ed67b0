"""Checks of what is known about outcomes: joint probabilities, draws of labels, power sums of a tail."""

from typing import Any

import numpy as np
import numpy.typing as npt

from thresholds._arrays.types import Floats
from thresholds._checks.options import count
from thresholds._checks.plain import numbers
from thresholds.errors import InputError

_MOST_POWERS = 8
_LARGEST_TAIL = 2.0**53
_EXCESS_OF_SUMS = 1e-6  # that sums of probabilities may exceed 1 by


def power_sums(value: object, n_samples: int) -> Floats:
    """Check the sums of p, p^2, ... over further labels of each row."""
    array = numbers(value, "tail").astype(np.float64)
    if array.ndim == 1:
        array = array[:, np.newaxis]
    if array.ndim != 2 or array.shape[0] != n_samples or not 1 <= array.shape[1] <= _MOST_POWERS:
        raise InputError(
            f"tail has shape {array.shape}, expected ({n_samples}, 1 to {_MOST_POWERS}) or ({n_samples},)"
        )
    if not ((array >= 0) & (array <= _LARGEST_TAIL)).all():
        raise InputError("tail has values outside [0, 2**53], expected sums of p, p^2, ...")
    if (np.diff(array, axis=1) > 0).any():
        raise InputError(
            "tail rises within a row, expected sums of p, p^2, ..., which fall as p is at most 1"
        )
    return np.ascontiguousarray(array)


def number_of_powers(value: object) -> int:
    """Check how many power sums are wanted."""
    number = count(value, "powers", 1)
    if number > _MOST_POWERS:
        raise InputError(f"powers is {number}, expected at most {_MOST_POWERS}")
    return number


def joint_probabilities(joint: object, none: object) -> tuple[Floats, Floats]:
    """Check Pr(label j is positive, and s labels are) of each row, and Pr(none is)."""
    cells = _shares(joint, "P")
    if cells.ndim == 2:
        cells = cells[np.newaxis]
    if cells.ndim != 3 or 0 in cells.shape:
        raise InputError(
            f"P has shape {np.shape(cells)}, expected (n_labels, s_max) or (n_samples, n_labels, s_max)"
        )
    if cells.shape[2] > cells.shape[1]:
        raise InputError(
            f"P is about {cells.shape[2]} positives of {cells.shape[1]} labels, expected no more than labels"
        )
    if cells.sum(axis=2).max() > 1 + _EXCESS_OF_SUMS:
        raise InputError(
            "P gives a label a probability above 1, summed over the number of positives"
        )
    chances = _shares(none, "p_none")
    if chances.shape not in ((), (len(cells),)):
        raise InputError(
            f"p_none has shape {chances.shape}, expected one number, or one for each of {len(cells)} rows"
        )
    return cells, np.broadcast_to(chances, len(cells))


def draws(value: object) -> npt.NDArray[Any]:
    """Check 0/1 draws of the labels of each row."""
    array = numbers(value, "label_draws")
    if array.ndim != 3 or 0 in array.shape:
        raise InputError(
            f"label_draws has shape {array.shape}, expected (n_draws, n_samples, n_labels)"
        )
    if array.dtype != np.bool_ and not ((array == 0) | (array == 1)).all():
        raise InputError("label_draws has values other than 0 and 1, expected draws of labels")
    return array


def _shares(value: object, name: str) -> Floats:
    """Return an array of numbers in [0, 1]."""
    array = numbers(value, name).astype(np.float64)
    if not ((array >= 0) & (array <= 1)).all():
        raise InputError(f"{name} has values outside [0, 1], expected probabilities")
    return array
