"""Weights of rows, each in one number with a 1, so that one addition counts a row and weighs it."""

from dataclasses import dataclass

import numpy as np

from thresholds._arrays.types import Ints, Words

_MOST_BITS = 20  # of a number of rows


@dataclass(frozen=True)
class RowWeights:
    """The weights of all rows."""

    units: Ints  # (n_samples,) in the unit of the problem
    shift: int  # The weight stands above so many bits, which count rows.
    packed: Words  # (n_samples,) weight and 1; 0 for a row without weight

    @classmethod
    def of(cls, units: Ints) -> "RowWeights":
        """Leave as many bits to the number of rows as the weight of all of them does."""
        shift = min(64 - int(units.sum()).bit_length(), _MOST_BITS)
        weights = units.astype(np.uint64)  # (n_samples,)
        return cls(units, shift, (weights << np.uint64(shift)) + (weights > 0))

    def of_block(self, rows: slice, n_rows: int) -> Words:
        """Return the weights of the rows of a block, (n_rows,), 0 where there is none."""
        packed = np.zeros(n_rows, np.uint64)
        packed[: rows.stop - rows.start] = self.packed[rows]
        return packed
