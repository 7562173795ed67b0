"""Rows that are alike: of very many labels most have the same few counts, and all that follows from these."""

from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from thresholds._arrays.types import Ints, Words

_ODD = np.uint64(0x9E3779B97F4A7C15)
_HALF = np.uint64(32)


class Kinds(NamedTuple):
    """Which rows of some columns are alike, to the last bit."""

    first: Ints  # (n_kinds,) the first row of each kind
    kind: npt.NDArray[np.int32]  # (n_rows,)
    times: Ints  # (n_kinds,) rows of each kind

    @classmethod
    def of(cls, columns: Iterable[npt.NDArray[Any]]) -> "Kinds":
        """Tell which rows of columns of 8 bytes, (n_rows,) each, are alike."""
        bits = [np.ascontiguousarray(values).view(np.uint64) for values in columns]
        _, first, kind = np.unique(_mixed(bits), return_index=True, return_inverse=True)
        # Other rows have the same word with a probability of 2**-64: then none counts as alike.
        if not all(np.array_equal(values[first][kind], values) for values in bits):
            first = kind = np.arange(kind.size)
        return cls(first, kind.astype(np.int32), np.bincount(kind))


def _mixed(columns: Iterable[Words]) -> Words:
    """Return a word for each row, in which every bit of the row has a part, (n_rows,)."""
    word: Any = np.uint64(0)
    for values in columns:
        word = (word ^ values) * _ODD
        word = word ^ (word >> _HALF)
    return np.asarray(word)
