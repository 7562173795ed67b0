"""Weights of rows, exact and in steps so coarse that 16 bits hold the sum of a hundred of them.

A weight w is some whole number q of steps, rounded. What any rows weigh is, to within half a step for each of them, the
sum of their q, which vector registers add up many at a time. That is enough to say where no best cut can be; what is
left is weighed exactly.
"""

from dataclasses import dataclass

import numpy as np

from thresholds._arrays.types import Integers, Ints
from thresholds._kernels.counting import MOST_PORTION, ROWS_AT_ONCE

_STEPS = 512  # of the mean weight


@dataclass(frozen=True)
class RowWeights:
    """The weights of all rows."""

    units: Ints  # (n_samples,) exactly, in the unit of the problem
    step: int  # in units
    steps: Ints  # (n_samples,)

    @classmethod
    def of(cls, units: Ints) -> "RowWeights":
        """Choose the step by the mean of the weights that are not 0; small whole numbers are told exactly."""
        mean = int(units.sum()) // int(np.count_nonzero(units))
        step: int = max(1, mean // _STEPS)
        return cls(units, step, (units + step // 2) // step)

    def of_block(self, rows: slice, block_rows: int) -> Ints:
        """Return the weights of the rows of a block, (block_rows,), 0 where there is none."""
        units = np.zeros(block_rows, np.int64)
        units[: rows.stop - rows.start] = self.units[rows]
        return units

    def portions(self, rows: slice) -> tuple[Ints, Integers]:
        """Return places of rows, and how many steps are to be added for each: heavy rows come often, light ones never.

        No portion exceeds `MOST_PORTION`, and there are a multiple of `ROWS_AT_ONCE`.
        """
        steps = self.steps[rows]
        times = -(-steps // MOST_PORTION)  # (n_rows,)
        n_portions = int(times.sum())
        room = -(-n_portions // ROWS_AT_ONCE) * ROWS_AT_ONCE
        places, portions = np.zeros(room, np.int64), np.zeros(room, np.uint16)
        places[:n_portions] = np.repeat(np.arange(steps.size), times)
        portions[:n_portions] = MOST_PORTION

        # The last portion of a row is what the others leave.
        listed = steps > 0
        last = times.cumsum()[listed] - 1
        portions[last] = (steps - (times - 1) * MOST_PORTION)[listed]
        return places, portions

    def bounds(self, steps: Ints, n_rows: Ints) -> tuple[Ints, Ints]:
        """Return the least and the most that so many rows weigh whose steps add up to `steps`."""
        error = self.step // 2 * n_rows
        return np.maximum(self.step * steps - error, 0), self.step * steps + error
