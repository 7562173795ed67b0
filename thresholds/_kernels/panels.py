"""Loops over a panel: the cells of some labels sorted upwards, label after label (`data/panels.py`)."""

import numpy as np

from thresholds._arrays.types import Ints, Keys
from thresholds._kernels._jit import kernel


@kernel
def places_of_keys(starts: Ints, up: Keys, wanted: Keys) -> Ints:
    """Return where keys that equal the one wanted of each group begin, and where they end, (2, n_groups)."""
    places = np.empty((2, wanted.size), np.int64)
    for j in range(wanted.size):
        # The first that is no lower, then the first that is higher.
        low, high = starts[j], starts[j + 1]
        while low < high:
            middle = (low + high) // 2
            if up[middle] < wanted[j]:
                low = middle + 1
            else:
                high = middle
        places[0, j] = low
        high = starts[j + 1]
        while low < high:
            middle = (low + high) // 2
            if up[middle] <= wanted[j]:
                low = middle + 1
            else:
                high = middle
        places[1, j] = low
    return places
