"""Scores as unsigned integers in the same order, so that one integer code serves float32 and float64.

Flip the sign bit of a non-negative float, all bits of a negative one. `-0.0` gets the key of `0.0`.
No score has key 0 (it is the pattern of a NaN): it stands for "no score".
"""

from typing import Any

import numpy as np
import numpy.typing as npt

from thresholds._arrays.types import Keys


def to_keys(scores: npt.NDArray[np.floating[Any]]) -> Keys:
    """Replace C-contiguous float32 or float64 scores by their keys, in the same memory."""
    bits = scores.view(np.dtype(f"u{scores.itemsize}"))
    sign = _sign(bits.dtype)
    bits[bits == sign] = 0  # -0.0
    bits ^= _ones_if_negative(bits) | sign
    return bits


def to_scores(keys: Keys) -> npt.NDArray[np.floating[Any]]:
    """Return the scores of keys as a new array; "no score" becomes NaN."""
    bits = keys ^ (_ones_if_negative(~keys) | _sign(keys.dtype))
    scores: npt.NDArray[np.floating[Any]] = bits.view(np.dtype(f"f{keys.itemsize}"))
    return scores


def _ones_if_negative(bits: Keys) -> Keys:
    """Return all ones where the sign bit is set, else 0."""
    return (bits.view(f"i{bits.itemsize}") >> (8 * bits.itemsize - 1)).view(bits.dtype)


def _sign(dtype: np.dtype[Any]) -> np.unsignedinteger[Any]:
    """Return the sign bit of a float of that width."""
    return dtype.type(1 << (8 * dtype.itemsize - 1))  # type: ignore[no-any-return]
