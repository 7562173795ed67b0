"""Which dtype holds a score, and which a threshold; rounding up into it, also where subnormal numbers count as 0."""

import sys
from typing import Any

import numpy as np

from thresholds._arrays.types import Dense, Floats

# Relative: numbers that differ by less count as equal. A hundred times what adding up float64 numbers can do, and far
# below what one row more changes.
ROUNDING = 1e-12

_TINY = sys.float_info.min  # the smallest normal number of float64


def key_dtype(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """Return float32 or float64, whichever holds every score of `dtype` exactly."""
    return np.dtype(np.float32 if np.can_cast(dtype, np.float32) else np.float64)


def threshold_dtype(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """Return the dtype whose numbers thresholds for scores of a dtype are: that of floating scores, else float64."""
    return dtype.newbyteorder("=") if dtype.kind == "f" else np.dtype(np.float64)


def flushes_subnormals() -> bool:
    """Whether this thread takes subnormal numbers for 0, as after `torch.set_flush_denormal(True)`.

    A thread takes that over from the one that starts it.
    """
    return _TINY * 0.5 == 0.0


def least_positive(dtype: np.dtype[Any]) -> float:
    """Return the smallest positive number of a floating dtype that this thread tells from 0."""
    numbers = np.finfo(dtype)
    # NumPy compares float16 in float32, where all of its numbers are normal.
    is_flushed = dtype.itemsize > 2 and flushes_subnormals()
    return float(numbers.tiny if is_flushed else numbers.smallest_subnormal)


def rounded_up(values: Floats, dtype: np.dtype[Any]) -> Dense:
    """Return values in a floating dtype, rounded up: a score of that dtype is above both or below both.

    Where subnormal numbers count as 0, what is positive is still rounded to what is above 0.
    """
    if values.dtype == dtype:
        rounded = values.copy()
    else:
        with np.errstate(over="ignore"):
            rounded = values.astype(dtype)
            np.nextafter(rounded, dtype.type(np.inf), out=rounded, where=rounded < values)
    if flushes_subnormals():
        is_positive = values.astype(np.float64).view(np.int64) > 0  # by its bits
        np.maximum(rounded, dtype.type(least_positive(dtype)), out=rounded, where=is_positive)
    return rounded


def has_subnormals(cells: Dense) -> bool:
    """Whether subnormal numbers are among floats of 32 or 64 bits, by their bits."""
    native = cells.astype(cells.dtype.newbyteorder("="), copy=False)
    bits = np.dtype(f"u{cells.itemsize}")
    magnitude = native.view(bits) & np.iinfo(f"i{cells.itemsize}").max
    normal = np.finfo(native.dtype).tiny.view(bits)
    return bool(((magnitude > 0) & (magnitude < normal)).any())
