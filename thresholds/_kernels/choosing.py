"""Loops over the steps of staircases: the best one of each label, and those that any trade-off could choose."""

import numpy as np

from thresholds._arrays.types import Floats, Ints
from thresholds._kernels._jit import kernel


def best_steps(offsets: Ints, tp: Ints, fp: Ints, positives: Ints, beta_squared: float) -> Ints:
    """Return the step of highest F-beta of each label, -1 for a label without steps; ties go to the highest cut."""
    starts, sizes = offsets[:-1], np.diff(offsets)
    ratio = tp / (beta_squared * np.repeat(positives, sizes) + (tp + fp))
    highest = np.maximum.reduceat(np.append(ratio, 0.0), starts)
    is_best = np.flatnonzero(ratio == np.repeat(highest, sizes))
    return np.where(sizes > 0, np.append(is_best, -1)[np.searchsorted(is_best, starts)], -1)


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
