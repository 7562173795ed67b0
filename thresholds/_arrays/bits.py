"""A matrix of 0 and 1 in a bit for each cell: what decisions take while they wait to be looked at again."""

from typing import NamedTuple

import numpy as np

from thresholds._arrays.blocks import ceil_div
from thresholds._arrays.types import Bytes, Dense, Ints, Words

_WORD = 64


class Bits(NamedTuple):
    """Rows of bits, the first label in the lowest bit of the first word; bits beyond the labels are 0."""

    words: Words  # (n_rows, n_words)
    n_labels: int

    @classmethod
    def zeros(cls, n_rows: int, n_labels: int) -> "Bits":
        """Return rows of 0."""
        return cls(np.zeros((n_rows, ceil_div(n_labels, _WORD)), np.uint64), n_labels)

    @classmethod
    def of(cls, cells: Dense) -> "Bits":
        """Pack a dense block of 0 and 1."""
        n_rows, n_labels = cells.shape
        n_words = ceil_div(n_labels, _WORD)
        padded = np.zeros((n_rows, _WORD * n_words), np.uint8)
        padded[:, :n_labels] = cells
        # All rows in one go: packing row by row takes many times as long where rows are short.
        words = np.packbits(padded.reshape(-1), bitorder="little").view("<u8")
        return cls(words.astype(np.uint64, copy=False).reshape(n_rows, n_words), n_labels)

    def at(self, rows: slice | Ints) -> "Bits":
        """Return some of the rows."""
        if isinstance(rows, slice):
            return Bits(self.words[rows], self.n_labels)
        return Bits(self.words.take(rows, axis=0), self.n_labels)  # twice as fast as by brackets

    def to_dense(self) -> Bytes:
        """Return a byte for each cell."""
        eighths = self.words.astype("<u8", copy=False).view(np.uint8)  # (n_rows, 8 n_words)
        return np.unpackbits(eighths, axis=1, count=self.n_labels, bitorder="little")
