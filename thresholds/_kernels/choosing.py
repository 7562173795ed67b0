"""A loop over the steps of staircases: those that any trade-off of true positives against predictions could choose."""

import numpy as np

from thresholds._arrays.types import Floats, Ints
from thresholds._kernels._jit import kernel


@kernel
def upper_hulls(offsets: Ints, tp: Ints, fp: Ints) -> tuple[Ints, Ints, Floats]:
    """Return the vertices of the upper hull of (predicted, true positives) of each label, from the origin.

    Returns offsets, the step of each vertex, and the slope of the edge that ends there. F-beta, and
    any weighing of true positives against predictions, is highest at a vertex; few of the steps are
    one.
    """
    starts = np.zeros_like(offsets)
    vertex, slope = np.empty(tp.size, np.int64), np.empty(tp.size, np.float64)
    top = 0
    for j in range(offsets.size - 1):
        start = top
        for k in range(offsets[j], offsets[j + 1]):
            # Drop the last vertices as long as the edge from them to this step is no less steep
            # than the one before.
            while True:
                gain, cost = tp[k], tp[k] + fp[k]
                if top > start:
                    last = vertex[top - 1]
                    gain, cost = gain - tp[last], cost - (tp[last] + fp[last])
                steepness = gain / cost
                if top == start or steepness < slope[top - 1]:
                    break
                top -= 1
            vertex[top], slope[top] = k, steepness
            top += 1
        starts[j + 1] = top
    # Copies, as views would keep room for every step alive.
    return starts, vertex[:top].copy(), slope[:top].copy()
