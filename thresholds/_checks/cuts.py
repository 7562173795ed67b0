"""Checks of the scores at which rules cut."""

import numpy as np
import numpy.typing as npt

from thresholds._checks.plain import numbers
from thresholds.errors import InputError, shown


def thresholds(value: object) -> npt.NDArray[np.float64]:
    """Check one threshold for each label, and give them as a new array."""
    array = numbers(value, "thresholds")
    if array.ndim != 1 or array.size == 0 or array.dtype.kind == "b":
        raise InputError(f"thresholds has shape {array.shape} and dtype {array.dtype}, expected numbers, one per label")
    array = array.astype(np.float64)
    if np.isnan(array).any():
        raise InputError(f"thresholds has NaN at label {int(np.isnan(array).argmax())}, expected numbers")
    return array + 0.0


def rising(value: object, name: str) -> npt.NDArray[np.float64]:
    """Check numbers that rise, perhaps none, and give them as a new array."""
    array = numbers(value, name).astype(np.float64)
    if array.ndim != 1 or np.isnan(array).any() or (array[1:] <= array[:-1]).any():
        raise InputError(f"{name} is {shown(array.tolist())}, expected numbers that rise")
    return array + 0.0
