"""Loops that read fitted curves off."""

import numpy as np
import numpy.typing as npt

from thresholds._kernels._jit import kernel

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]


@kernel
def interpolate(starts: Ints, scores: Floats, offsets: Ints, knots: Floats, values: Floats) -> Floats:
    """Give piecewise linear curves at scores: group g is `starts[g]:starts[g + 1]`, its knots `offsets[g]:...`.

    At a knot it is the knot's value exactly, beyond the ends that of the end, 0 without knots; a curve that rises does
    so here, too. Knots rise strictly; all are finite, and may lie further apart than float64 can tell.
    """
    read = np.zeros(scores.size)
    for g in range(starts.size - 1):
        first, last = offsets[g], offsets[g + 1]
        if first == last:
            continue
        for i in range(starts[g], starts[g + 1]):
            x = scores[i]
            low, high = first, last
            while low < high:
                middle = (low + high) // 2
                if knots[middle] <= x:
                    low = middle + 1
                else:
                    high = middle
            left, right = max(low - 1, first), min(low, last - 1)
            read[i] = values[left]
            if left < right and x > knots[left] and values[left] != values[right]:
                span = knots[right] - knots[left]
                share = (x - knots[left]) / span
                if np.isinf(span):
                    share = (x / 2 - knots[left] / 2) / (knots[right] / 2 - knots[left] / 2)
                read[i] = min(values[left] + share * (values[right] - values[left]), values[right])
    return read
