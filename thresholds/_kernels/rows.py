"""Loops over lists of values, such as the rows of a matrix: sorting them, and marking the highest."""

from typing import Any

import numpy as np
import numpy.typing as npt

from thresholds._kernels._jit import kernel

Ints = npt.NDArray[np.int64]
Values = npt.NDArray[Any]


@kernel
def sort_rows(starts: Ints, values: Values) -> None:
    """Sort each list, rising, in place."""
    for i in range(starts.size - 1):
        values[starts[i] : starts[i + 1]].sort()


@kernel
def mark_highest(starts: Ints, values: Values, rising: Values, wanted: Ints, marks: npt.NDArray[np.uint8]) -> None:
    """Mark as many of the highest values of each list as wanted, the first among equals; `rising` has them sorted."""
    for i in range(wanted.size):
        stop = starts[i + 1]
        if wanted[i] == 0:
            continue
        cut = rising[stop - wanted[i]]
        equal = 0
        while stop - wanted[i] + equal < stop and rising[stop - wanted[i] + equal] == cut:
            equal += 1
        for j in range(starts[i], stop):
            if values[j] > cut:
                marks[j] = 1
            elif values[j] == cut and equal > 0:
                marks[j] = 1
                equal -= 1
