"""Scores as unsigned integers in the same order, so that one integer code serves float32 and float64.

Flip the sign bit of a non-negative float, all bits of a negative one. `-0.0` gets the key of `0.0`.
No score has key 0 (it is the pattern of a NaN): it stands for "no score".
"""

from typing import Any

import numpy as np
import numpy.typing as npt

from thresholds._arrays.types import Keys
from thresholds._kernels import stand_ins
from thresholds._kernels._jit import kernel_after


@kernel_after(stand_ins.flip)
def _flip(bits: Keys, sign: np.unsignedinteger[Any]) -> None:
    """Turn the bits of floats into keys, in place."""
    for i in range(bits.size):
        b = bits[i]
        if b == sign:  # -0.0
            b = b ^ sign
        bits[i] = ~b if b & sign else b ^ sign


@kernel_after(stand_ins.flip_back)
def _flip_back(keys: Keys, sign: np.unsignedinteger[Any], bits: Keys) -> None:
    """Turn keys into the bits of floats."""
    # One pass; NumPy takes four, and five to eight times as long.
    for i in range(keys.size):
        k = keys[i]
        bits[i] = k ^ sign if k & sign else ~k


def to_keys(scores: npt.NDArray[np.floating[Any]]) -> Keys:
    """Replace C-contiguous float32 or float64 scores by their keys, in the same memory."""
    bits = scores.view(np.dtype(f"u{scores.itemsize}"))
    _flip(bits.reshape(-1), _sign(bits.dtype))
    return bits


def is_compiled() -> bool:
    """Whether loops over scores are compiled by now, and not stood in for."""
    return _flip.is_loaded


def to_scores(keys: Keys) -> npt.NDArray[np.floating[Any]]:
    """Return the scores of keys as a new array; "no score" becomes NaN."""
    bits = np.empty(keys.shape, keys.dtype)
    _flip_back(keys.reshape(-1), _sign(keys.dtype), bits.reshape(-1))
    return bits.view(np.dtype(f"f{keys.itemsize}"))


def _sign(dtype: np.dtype[Any]) -> np.unsignedinteger[Any]:
    """Return the sign bit of a float of that width."""
    return dtype.type(1 << (8 * dtype.itemsize - 1))  # type: ignore[no-any-return]
