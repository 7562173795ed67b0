"""Figures of all labels in few bytes: columns of numbers one after another, deflated, as base64.

What is packed begins with a line of JSON, which says of each column its name, type, first byte and length. The columns
follow, little-endian, each from a multiple of 8 bytes on, so that JavaScript has each as an array without a copy. Their
first bytes are counted from the first multiple of 8 after the line. A column of texts is UTF-8, with a NUL between two.
"""

import base64
import json
import zlib
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

Column = npt.NDArray[Any]

_ALIGNED = 8  # bytes
_TYPES = {"u1": "Uint8Array", "u2": "Uint16Array", "u4": "Uint32Array", "f4": "Float32Array"}


def packed(columns: Mapping[str, Column]) -> bytes:
    """Return columns as bytes, not yet deflated."""
    described = {}
    pieces = []
    start = 0
    for name, column in columns.items():
        kind = f"{column.dtype.kind}{column.dtype.itemsize}"
        described[name] = {"type": _TYPES[kind], "start": start, "length": column.size}
        pieces.append(_aligned(column.astype(column.dtype.newbyteorder("<")).tobytes()))
        start += len(pieces[-1])
    head = _aligned(json.dumps(described).encode() + b"\n")
    return b"".join([head, *pieces])


def in_base64(data: bytes) -> str:
    """Deflate bytes, and write them in letters that HTML leaves alone."""
    return base64.b64encode(zlib.compress(data, 9)).decode()


def texts(values: Sequence[str]) -> Column:
    """Return texts, none of which has a NUL, as a column of bytes."""
    return np.frombuffer("\0".join(values).encode(), np.uint8)


def fewest_bytes(values: npt.ArrayLike) -> Column:
    """Return whole numbers from 0 in the smallest unsigned type that holds all of them."""
    numbers = np.asarray(values)
    largest = numbers.max(initial=0)
    for kind in (np.uint8, np.uint16, np.uint32):
        if largest <= np.iinfo(kind).max:
            return numbers.astype(kind)
    raise OverflowError(f"{largest} is beyond 32 bits")


def _aligned(data: bytes) -> bytes:
    """Fill up with spaces to a multiple of 8 bytes."""
    return data + b" " * (-len(data) % _ALIGNED)
