"""Which dtype holds a score, and which a threshold; rounding up into it."""

from typing import Any

import numpy as np

from thresholds._arrays.types import Dense, Floats


def key_dtype(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """Return float32 or float64, whichever holds every score of `dtype` exactly."""
    return np.dtype(np.float32 if np.can_cast(dtype, np.float32) else np.float64)


def threshold_dtype(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """Return the dtype whose numbers thresholds for scores of a dtype are: that of floating scores, else float64."""
    return dtype.newbyteorder("=") if dtype.kind == "f" else np.dtype(np.float64)


def rounded_up(values: Floats, dtype: np.dtype[Any]) -> Dense:
    """Return values in a floating dtype, rounded up: a score of that dtype is above both or below both."""
    with np.errstate(over="ignore"):
        rounded = values.astype(dtype)
        np.nextafter(rounded, dtype.type(np.inf), out=rounded, where=rounded < values)
    return rounded
