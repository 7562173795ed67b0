"""Loops that fit logistic curves.

Values x have weights, of which a part, the hits, is that of positives.
"""

import math

import numpy as np

from thresholds._arrays.types import Floats, Ints
from thresholds._kernels._jit import kernel

# Loss; its first, then its second derivatives.
Slopes = tuple[float, float, float, float, float, float]
# A line a x + b; the first derivatives of its loss by a and b, then the second ones.
Line = tuple[float, float, float, float, float, float, float]
# Where a and b are expected, then the precision of that: of a and a, a and b, b and b.
Prior = tuple[float, float, float, float, float]

_MOST_STEPS = 100
_SHORTEST_STEP = 1e-10  # that is tried, as a part of Newton's
_LEAST_GAIN = 1e-10  # A Newton step that promises less, relative to the loss, is the last.
_RIDGE = 1e-12  # relative to the second derivatives, which may not have an inverse
_LEAST_SHARE = 1e-4  # of the promised gain that a step must keep
_NO_PRIOR = (0.0, 0.0, 0.0, 0.0, 0.0)


@kernel
def _loss_and_slopes(
    x: Floats,
    hits: Ints,
    weights: Ints,
    high: float,
    low: float,
    a: float,
    b: float,
) -> Slopes:
    """Return the log-loss of sigmoid(a x + b) against targets `high` and `low`, and its derivatives.

    `high` is the target of positives, `low` that of negatives.
    """
    loss, by_a, by_b, by_aa, by_ab, by_bb = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
    for i in range(x.size):
        if not np.isfinite(x[i]):
            continue
        w = float(weights[i])
        target = high * hits[i] + low * (weights[i] - hits[i])
        z = a * x[i] + b
        e = math.exp(-abs(z))  # which does not overflow
        p = (1.0 if z >= 0 else e) / (1.0 + e)
        loss += w * (max(z, 0.0) + math.log1p(e)) - target * z

        # First and second derivative of the loss by z.
        slope = w * p - target
        curvature = w * e / ((1.0 + e) * (1.0 + e))
        by_a += slope * x[i]
        by_b += slope
        by_aa += curvature * x[i] * x[i]
        by_ab += curvature * x[i]
        by_bb += curvature
    return loss, by_a, by_b, by_aa, by_ab, by_bb


@kernel
def _newton(
    x: Floats,
    hits: Ints,
    weights: Ints,
    targets: tuple[float, float],
    line: tuple[float, float],
    prior: Prior,
) -> Line:
    """Return a and b of least log-loss, and its derivatives there: Newton's method from `line`.

    What is least is the loss plus half of (d_a, d_b) precision (d_a, d_b)', where d is the distance
    from the mean of the prior; the derivatives are those of the loss alone. `targets` are those of
    positives and of negatives.
    """
    high, low = targets
    a, b = line
    mean_a, mean_b, own_aa, own_ab, own_bb = prior
    loss, by_a, by_b, by_aa, by_ab, by_bb = _loss_and_slopes(x, hits, weights, high, low, a, b)
    for _ in range(_MOST_STEPS):
        # The two equations; their matrix may not have an inverse.
        off_a, off_b = a - mean_a, b - mean_b
        total = loss + _half_square(off_a, off_b, own_aa, own_ab, own_bb)
        slope_a = by_a + own_aa * off_a + own_ab * off_b
        slope_b = by_b + own_ab * off_a + own_bb * off_b
        ridge = _RIDGE * (by_aa + by_bb)
        all_aa, all_ab, all_bb = by_aa + ridge + own_aa, by_ab + own_ab, by_bb + ridge + own_bb
        determinant = all_aa * all_bb - all_ab * all_ab
        if not determinant > 0:
            break

        # The step that solves them, and the gain that it promises.
        step_a = (all_ab * slope_b - all_bb * slope_a) / determinant
        step_b = (all_ab * slope_a - all_aa * slope_b) / determinant
        promised = -(slope_a * step_a + slope_b * step_b)
        if promised <= _LEAST_GAIN * total:
            a, b = a + step_a, b + step_b
            by_a += by_aa * step_a + by_ab * step_b
            by_b += by_ab * step_a + by_bb * step_b
            break

        # The step is halved until the loss falls.
        size = 1.0
        while size >= _SHORTEST_STEP:
            next_a, next_b = a + size * step_a, b + size * step_b
            at = _loss_and_slopes(x, hits, weights, high, low, next_a, next_b)
            squares = _half_square(next_a - mean_a, next_b - mean_b, own_aa, own_ab, own_bb)
            if at[0] + squares < total - _LEAST_SHARE * size * promised:
                break
            size /= 2
        if size < _SHORTEST_STEP:
            break
        a, b = a + size * step_a, b + size * step_b
        loss, by_a, by_b, by_aa, by_ab, by_bb = at
    return a, b, by_a, by_b, by_aa, by_ab, by_bb


@kernel
def _half_square(a: float, b: float, by_aa: float, by_ab: float, by_bb: float) -> float:
    """Return half of the square of (a, b) in the measure of a matrix."""
    return 0.5 * (by_aa * a * a + 2 * by_ab * a * b + by_bb * b * b)


@kernel
def standardise(x: Floats, weights: Ints) -> tuple[float, float, float]:
    """Replace finite values by (x / scale - centre) / spread, in place, and return the three.

    The spread is 0 if all are equal. The scale is a power of two, so that nothing is lost, and
    squares of huge and subnormal values stay within float64.
    """
    least, most = np.inf, -np.inf
    for i in range(x.size):
        if np.isfinite(x[i]):
            least, most = min(least, x[i]), max(most, x[i])
    if least >= most:
        return 1.0, 0.0, 0.0
    scale = math.ldexp(1.0, math.frexp(max(abs(least), abs(most)))[1] - 1)

    # The mean, then the standard deviation.
    total, centre, spread = 0.0, 0.0, 0.0
    for i in range(x.size):
        if np.isfinite(x[i]):
            x[i] /= scale
            total += weights[i]
            centre += weights[i] * x[i]
    centre /= total
    for i in range(x.size):
        if np.isfinite(x[i]):
            x[i] -= centre
            spread += weights[i] * x[i] * x[i]
    spread = math.sqrt(spread / total)
    if spread > 0:
        for i in range(x.size):
            x[i] /= spread
    return scale, centre, spread


@kernel
def _classes_overlap(x: Floats, hits: Ints, weights: Ints) -> bool:
    """Whether no cut separates positives and negatives: else a logistic curve has no best slope."""
    # The lowest and the highest value of each class.
    least = np.full(2, np.inf)
    most = np.full(2, -np.inf)
    for i in range(x.size):
        if np.isfinite(x[i]):
            if hits[i] > 0:
                least[1], most[1] = min(least[1], x[i]), max(most[1], x[i])
            if hits[i] < weights[i]:
                least[0], most[0] = min(least[0], x[i]), max(most[0], x[i])
    return bool(most[0] > least[1] and most[1] > least[0])


@kernel
def _weights_of_classes(x: Floats, hits: Ints, weights: Ints) -> tuple[float, float]:
    """Return the weights of positives and of negatives, where values are finite."""
    positive, negative = 0.0, 0.0
    for i in range(x.size):
        if np.isfinite(x[i]):
            positive += hits[i]
            negative += weights[i] - hits[i]
    return positive, negative


@kernel
def fit_logistic(starts: Ints, x: Floats, hits: Ints, weights: Ints, smoothing: float) -> Floats:
    """Fit truth ~ sigmoid(slope (x / scale - centre) + intercept) to each group of values.

    Group g is `starts[g]:starts[g + 1]`. Returns scale, centre, slope and intercept, (4, n_groups):
    with the first two, neither the scale of values nor their distance from 0 matters. Values that
    are not finite are left out; `x` is overwritten. With `smoothing` s, in the unit of the weights,
    the targets are (P + s) / (P + 2 s) and s / (N + 2 s) for positives of weight P and negatives of
    weight N, so that there always is a best curve; without (0), the slope is NaN where there is none.
    """
    curves = np.zeros((4, starts.size - 1))
    curves[0] = 1.0
    for g in range(starts.size - 1):
        first, last = starts[g], starts[g + 1]
        values = x[first:last]
        own_hits, own = hits[first:last], weights[first:last]
        if smoothing == 0 and not _classes_overlap(values, own_hits, own):
            curves[2, g] = np.nan
            continue

        # The targets.
        positive, negative = _weights_of_classes(values, own_hits, own)
        high = (positive + smoothing) / (positive + 2 * smoothing)
        low = smoothing / (negative + 2 * smoothing)

        # The curve; of values that are all equal a constant, the mean of the targets.
        scale, centre, spread = standardise(values, own)
        if spread > 0:
            start = math.log((positive + smoothing) / (negative + smoothing))
            line = _newton(values, own_hits, own, (high, low), (0.0, start), _NO_PRIOR)
            a, curves[3, g] = line[0], line[1]
            if a != 0:
                curves[0, g], curves[1, g], curves[2, g] = scale, centre, a / spread
        elif positive + negative > 0:
            yes = positive * high + negative * low
            no = positive * smoothing / (positive + 2 * smoothing) + negative * (1 - low)
            curves[3, g] = math.log(yes / no)
    return curves


@kernel
def pull_lines(
    starts: Ints,
    x: Floats,
    hits: Ints,
    weights: Ints,
    targets: tuple[float, float],
    lines: Floats,
    prior: Floats,
) -> Floats:
    """Fit truth ~ sigmoid(a x + b) to each group of values, pulled towards a common line.

    `lines` (2, n_groups) are a and b to start from; `prior` (5,) is the mean of a and of b, and the
    precision, in the unit of the weights, of a and a, a and b, b and b. `targets` are those of
    positives and of negatives. Returns a, b and the derivatives of the loss there by a, b, a and a, a
    and b, b and b, (7, n_groups). Values that are not finite are left out.
    """
    pulled = np.zeros((7, starts.size - 1))
    about = (prior[0], prior[1], prior[2], prior[3], prior[4])
    for g in range(starts.size - 1):
        first, last = starts[g], starts[g + 1]
        own = x[first:last], hits[first:last], weights[first:last]
        start = (lines[0, g], lines[1, g])
        pulled[:, g] = _newton(*own, targets, start, about)
    return pulled
