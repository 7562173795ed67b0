"""Loops over sets of independent labels: the exact expectation of F-beta of a set, and the set that maximises it.

Labels are positive with probabilities p, S is the number of positives, B = beta^2, h a set of k labels. From
1 / (B S + k) = integral over u in [0, 1] of u^(B S + k - 1) du follows

    E F(h) = (1 + B) integral of u^(k - 1) G(v) H(v) du,    v = u^B,
    G(v) = product over all labels of (1 - p + p v),    H(v) = sum over h of p v / (1 - p + p v).

With u = exp(-z / scale) the integrand is exp(-z) times a smooth function, so that a few Gauss-Laguerre nodes z give
12 digits, for a scale amid the values that k + B S takes: O(32 n) where recursions take O(n^2). Probabilities up to
1/64 enter log G and H by eight power sums, which is faster, and keeps the digits that 1 - p would lose.
"""

from typing import Any

import numpy as np
import numpy.typing as npt

from thresholds._kernels._jit import kernel

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
Values = npt.NDArray[Any]  # float32 or float64

SMALL = 1 / 64  # where power sums take over: their remainder is p^8 / 9 of p, below the last digit
POWERS = 8
_EQUAL = 1e-12  # Sets whose expectations differ by less, relatively, count as equal.
_MANTISSA, _ONE = np.int64((1 << 52) - 1), np.int64(1023 << 52)
_LOG_2 = np.log(2.0)


@kernel
def _place_nodes(
    points: Floats, scale: float, beta_squared: float, shift: float, x: Floats, v: Floats, away: Floats
) -> None:
    """Place the nodes: x, v = exp(-B x - shift) and 1 - v."""
    for q in range(points.size):
        x[q] = points[q] / scale
        v[q] = np.exp(-beta_squared * x[q] - shift)
        away[q] = -np.expm1(-beta_squared * x[q] - shift)


@kernel
def _add_powers(p: float, powers: Floats) -> None:
    """Add p, p^2, ... to the power sums."""
    power = p
    for r in range(POWERS):
        powers[r] += power
        power *= p


@kernel
def _log_of_small(away: float, powers: Floats) -> float:
    """Give the sum of log(1 - p (1 - v)) from the power sums of the p."""
    total = 0.0
    for r in range(powers.size, 0, -1):
        total = total * away + powers[r - 1] / r
    return -total * away


@kernel
def _multiply(p: float, v: Floats, product: Floats) -> None:
    """Multiply by the factors 1 - p + p v of one label, all nodes at once."""
    rest = 1.0 - p
    for q in range(v.size):
        product[q] *= rest + p * v[q]


@kernel
def _take_exponents(product: Floats, exponents: Floats) -> None:
    """Move the powers of 2 out of products, before they underflow: cheaper than a logarithm, and vectorised."""
    bits = product.view(np.int64)
    for q in range(bits.size):
        exponents[q] += (bits[q] >> 52) - 1023
        bits[q] = (bits[q] & _MANTISSA) | _ONE


@kernel
def _add_share(p: float, v: Floats, share: Floats) -> None:
    """Add p v / (1 - p + p v), the chance of one label given v, to H."""
    rest = 1.0 - p
    for q in range(v.size):
        part = p * v[q]
        share[q] += part / (rest + part)


@kernel
def centre(mean: float, variance: float) -> float:
    """Give the geometric mean of the ends of what S takes, given S > 0: five standard deviations from its mean."""
    spread = 5.0 * np.sqrt(variance)
    return float(np.sqrt(max(1.0, mean - spread) * (max(1.0, mean) + spread)))


@kernel
def _sum_of_products(a: Floats, b: Floats, room: Floats) -> float:
    """Give the scalar product of a multiple of 16 numbers, by halves, in vector additions."""
    for q in range(a.size):
        room[q] = a[q] * b[q]
    for start in range(16, a.size, 16):
        for q in range(16):
            room[q] += room[start + q]
    for q in range(8):
        room[q] += room[q + 8]
    for q in range(4):
        room[q] += room[q + 4]
    return float((room[0] + room[2]) + (room[1] + room[3]))


@kernel
def best_prefixes(
    starts: Ints,
    values: Values,
    tails: Floats,
    beta_squared: float,
    zero_division: float,
    whole_ties: bool,
    nodes: Floats,
) -> tuple[Ints, Floats]:
    """Give, for each list of rising probabilities, how many of the highest maximise E F-beta, and the maximum.

    Under independence some set of highest probabilities is optimal. `tails` has power sums of labels outside the lists.
    With `whole_ties` equal probabilities are taken together or not at all.
    """
    best_k, best_f = np.zeros(starts.size - 1, np.int64), np.zeros(starts.size - 1)
    room = np.empty((8, nodes.shape[1]))
    for i in range(best_k.size):
        first = starts[i]
        while first < starts[i + 1] and values[first] == 0:
            first += 1
        p = values[first : starts[i + 1]][::-1].astype(np.float64)
        best_k[i], best_f[i] = _best_prefix(p, tails[i], beta_squared, zero_division, whole_ties, nodes, room)
    return best_k, best_f


@kernel
def _best_prefix(
    p: Floats, tail: Floats, beta_squared: float, zero_division: float, whole_ties: bool, nodes: Floats, room: Floats
) -> tuple[int, float]:
    """Search falling probabilities by integrals: nodes of one scale serve until k + B S doubles.

    E F <= (1 + B) m / (B m + k) with m the sum of the k highest (Jensen); the bound falls with k and ends the search.
    """
    x, v, away, product, exponents, share, weight, scratch = room
    powers = np.zeros(POWERS)
    powers[: tail.size] = tail
    large = _split(p, powers)
    reach = beta_squared * _centre_of(large, powers)
    best_k, best_f = 0, 0.0
    if zero_division > 0:
        best_f = zero_division * _chance_of_none(large, powers)
    k, top = 0, 0.0
    while k < p.size:
        scale = np.sqrt(2.0) * (k + 1 + reach)
        last = min(float(p.size), np.sqrt(2.0) * scale - reach)
        _place_nodes(nodes[0], scale, beta_squared, 0.0, x, v, away)
        _log_of_all(large, powers, v, away, product, exponents)
        share[:] = 0.0
        for i in range(k):
            _add_share(p[i], v, share)
        for q in range(x.size):  # product now holds log G
            weight[q] = np.exp(nodes[1, q] + product[q] - x[q] * k) / scale
            x[q] = np.exp(-x[q])
        while k < last:
            top += p[k]
            if (1.0 + beta_squared) * top / (beta_squared * top + k + 1) < best_f:
                return best_k, best_f
            _add_share(p[k], v, share)
            for q in range(x.size):
                weight[q] *= x[q]
            k += 1
            if whole_ties and k < p.size and p[k] == p[k - 1]:
                continue
            f = (1.0 + beta_squared) * _sum_of_products(weight, share, scratch)
            if f > best_f * (1.0 + _EQUAL):
                best_k, best_f = k, f
    return best_k, best_f


@kernel
def _split(p: Values, powers: Floats) -> Floats:
    """Add small probabilities to the power sums; give the others."""
    for i in range(p.size):
        if p[i] <= SMALL:
            _add_powers(np.float64(p[i]), powers)
    return p[p > SMALL].astype(np.float64)


@kernel
def _centre_of(large: Floats, powers: Floats) -> float:
    """Give the centre for labels of which the small ones are in power sums."""
    return centre(powers[0] + large.sum(), powers[0] - powers[1] + (large * (1.0 - large)).sum())


@kernel
def _chance_of_none(p: Floats, powers: Floats) -> float:
    """Give the product of 1 - p, of large ones and of those in power sums."""
    chance = float(np.exp(_log_of_small(1.0, powers)))
    for i in range(p.size):
        chance *= 1.0 - p[i]
    return chance


@kernel
def _log_of_all(p: Floats, powers: Floats, v: Floats, away: Floats, product: Floats, exponents: Floats) -> None:
    """Put log G into `product`."""
    product[:], exponents[:] = 1.0, 0.0
    for i in range(p.size):
        _multiply(p[i], v, product)
        if i % 8 == 7:
            _take_exponents(product, exponents)
    for q in range(v.size):
        product[q] = np.log(product[q]) + exponents[q] * _LOG_2 + _log_of_small(away[q], powers)


@kernel
def expected_f_of_sets(
    starts: Ints,
    values: Values,
    chosen_starts: Ints,
    chosen: Values,
    predicted: Ints,
    beta_squared: float,
    zero_division: float,
    nodes: Floats,
) -> Floats:
    """Give E F-beta of one set of each list; `chosen` lists its probabilities, `predicted` counts zeros too."""
    result = np.empty(predicted.size)
    room = np.empty((8, nodes.shape[1]))
    for i in range(result.size):
        p, of_set = values[starts[i] : starts[i + 1]], chosen[chosen_starts[i] : chosen_starts[i + 1]]
        result[i] = _expected_f(p, of_set, predicted[i], beta_squared, zero_division, nodes, room)
    return result


@kernel
def _expected_f(
    p: Values, of_set: Values, k: int, beta_squared: float, zero_division: float, nodes: Floats, room: Floats
) -> float:
    """Integrate for one set of k labels."""
    x, v, away, product, exponents, share, weight, scratch = room
    powers, powers_of_set = np.zeros(POWERS), np.zeros(POWERS)
    large = _split(p, powers)
    if k == 0:
        return zero_division * _chance_of_none(large, powers) if zero_division > 0 else 0.0
    scale = k + beta_squared * _centre_of(large, powers)
    _place_nodes(nodes[0], scale, beta_squared, 0.0, x, v, away)
    _log_of_all(large, powers, v, away, product, exponents)
    share[:] = 0.0
    for value in _split(of_set, powers_of_set):
        _add_share(value, v, share)
    for q in range(x.size):
        for r in range(POWERS, 0, -1):  # p v / (1 - p + p v) = v (p + p^2 (1 - v) + ...)
            scratch[q] = powers_of_set[r - 1] + (scratch[q] * away[q] if r < POWERS else 0.0)
        share[q] += v[q] * scratch[q]
        weight[q] = np.exp(nodes[1, q] + product[q] - x[q] * k) / scale
    return (1.0 + beta_squared) * _sum_of_products(weight, share, scratch)


@kernel
def log_chances(values: Values, points: Floats) -> Floats:
    """Give log G at v = exp(-point), that is log E exp(-point S), for each point."""
    x, v, away, product, exponents = np.empty((5, points.size))
    powers = np.zeros(POWERS)
    large = _split(values, powers)
    _place_nodes(points, 1.0, 1.0, 0.0, x, v, away)
    _log_of_all(large, powers, v, away, product, exponents)
    return product


@kernel
def expected_share(
    p: Floats, of_set: Floats, k: int, others: Floats, points: Floats, beta_squared: float, nodes: Floats
) -> Floats:
    """Give E[a F exp(-point S)] for each point, with F that of the set, a the positives of its label, S those of all.

    `others` has log E exp(-point s), s the positives of other labels. An integral as above, with a tp for tp.
    """
    x, v, away, product, exponents, share, spread, total = np.empty((8, nodes.shape[1]))
    powers, result = np.zeros(POWERS), np.zeros(points.size)
    large = _split(p, powers)
    scale = k + beta_squared * _centre_of(large, powers)
    for r in range(points.size):
        _place_nodes(nodes[0], scale, beta_squared, points[r], x, v, away)
        _log_of_all(large, powers, v, away, product, exponents)
        share[:], spread[:], total[:] = 0.0, 0.0, 0.0
        for value in p:
            _add_share(value, v, total)
        for value in of_set:
            _add_share(value, v, share)
            for q in range(x.size):
                part = value * v[q]
                spread[q] += part * (1.0 - value) / ((1.0 - value) + part) ** 2
        for q in range(x.size):  # E[a tp v^a] = G (H_all H + the sum of the variances of the set)
            density = np.exp(nodes[1, q] + product[q] - x[q] * k + others[r]) / scale
            result[r] += (1.0 + beta_squared) * density * (total[q] * share[q] + spread[q])
    return result
