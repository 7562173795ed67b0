"""Loops over sets of independent labels: the exact expectation of F-beta, and the best set by it.

Labels are positive with probabilities p, S is the number of positives, B = beta^2, h a set of k labels. From
1 / (B S + k) = integral over u in [0, 1] of u^(B S + k - 1) du follows

    E F(h) = (1 + B) integral of u^(k - 1) G(v) H(v) du,    v = u^B,
    G(v) = product over all labels of (1 - p + p v),    H(v) = sum over h of p v / (1 - p + p v).

With u = exp(-z / scale) the integrand is exp(-z) times a smooth function, so that a few
Gauss-Laguerre nodes z give 12 digits, for a scale amid the values that k + B S takes: O(32 n) where
recursions take O(n^2). Probabilities up to 1/64 enter log G and H by eight power sums, which is
faster, and keeps the digits that 1 - p would lose.
"""

import numpy as np

from thresholds._arrays.types import Dense, Floats, Ints
from thresholds._kernels._jit import kernel, summing_kernel

SMALL = 1 / 64  # where power sums take over: their remainder is at most p^8 of p, 4e-15
POWERS = 8
_EQUAL = 1e-12  # Sets whose expectations differ by less, relatively, count as equal.
_ROUNDED = 1e-9  # Bounds may be off by less, relatively.
# How far from a scale, as a factor, k + B S may be for 12 digits from 8 nodes, from 16, and from all.
_SPREAD_OF_8 = 1.3
_SPREAD_OF_16 = 2.2
_MOST_SPREAD = 4.0
_REGISTER = 8  # numbers in a vector register, at most
_NEGLIGIBLE = 40.0  # Nodes whose share of the integral is below exp(-40) are left out.


@kernel
def _place_nodes(
    points: Floats,
    scale: float,
    beta_squared: float,
    shift: float,
    x: Floats,
    v: Floats,
    away: Floats,
) -> None:
    """Place the nodes: x, v = exp(-B x - shift) and 1 - v."""
    for q in range(points.size):
        x[q] = points[q] / scale
        v[q] = np.exp(-beta_squared * x[q] - shift)
        away[q] = -np.expm1(-beta_squared * x[q] - shift)


@summing_kernel
def _add_powers(p: Floats, powers: Floats) -> None:
    """Add the p, their squares, ... to the power sums."""
    one, two, three, four, five, six, seven, eight = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
    for i in range(p.size):
        square = p[i] * p[i]
        one += p[i]
        two += square
        three += square * p[i]
        four += square * square
        five += square * square * p[i]
        six += square * square * square
        seven += square * square * square * p[i]
        eight += square * square * square * square
    for r, total in enumerate((one, two, three, four, five, six, seven, eight)):
        powers[r] += total


@kernel
def _log_of_small(away: float, powers: Floats) -> float:
    """Return the sum of log(1 - p (1 - v)) from the power sums of the p."""
    total = 0.0
    for r in range(powers.size, 0, -1):
        total = total * away + powers[r - 1] / r
    return -total * away


@kernel
def _multiply(p: Floats, v: Floats, product: Floats) -> None:
    """Multiply the factors 1 - p + p v of all labels, all nodes at once.

    Without underflow: 1 - p + p v >= v^p, so log G >= -z mean(S) / centre >= -3.8 z, and z is at
    most 173.
    """
    product[:] = 1.0
    # Four labels in one go, after those that are left over.
    rest = p.size % 4
    for i in range(rest):
        for q in range(v.size):
            product[q] *= (1.0 - p[i]) + p[i] * v[q]
    for i in range(rest, p.size, 4):
        a, b, c, d = p[i], p[i + 1], p[i + 2], p[i + 3]
        for q in range(v.size):
            first = ((1.0 - a) + a * v[q]) * ((1.0 - b) + b * v[q])
            product[q] *= first * (((1.0 - c) + c * v[q]) * ((1.0 - d) + d * v[q]))


@kernel
def _add_share(p: float, v: Floats, share: Floats) -> None:
    """Add p v / (1 - p + p v), the chance of one label given v, to H."""
    rest = 1.0 - p
    for q in range(v.size):
        p_v = p * v[q]
        share[q] += p_v / (rest + p_v)


@kernel
def _moments(large: Floats, powers: Floats) -> tuple[float, float]:
    """Return mean and variance of S, for labels of which the small ones are in power sums."""
    mean, variance = 0.0, 0.0
    for p in large:
        mean += p
        variance += p * (1.0 - p)
    return powers[0] + mean, powers[0] - powers[1] + variance


@kernel
def _ends(mean: float, variance: float) -> tuple[float, float]:
    """Return the ends of what S takes, given S > 0: five standard deviations from the mean."""
    # Rounded sums of squares may exceed those of p.
    spread = 5.0 * np.sqrt(max(0.0, variance))
    return max(1.0, mean - spread), max(1.0, mean) + spread


@kernel
def centre(mean: float, variance: float) -> float:
    """Return the geometric mean of the ends of what S takes, given S > 0."""
    low, high = _ends(mean, variance)
    return float(np.sqrt(low * high))


@kernel
def _nodes_for(spread: float, low: float, n_nodes: int) -> tuple[int, int]:
    """Return where the nodes begin and end that give 12 digits where k + B S is up to `spread` times a scale.

    Of all `n_nodes` the first are those of a rule with 8 nodes, the next those of one with 16. With few positives much
    lies beyond the ends of S.
    """
    if spread <= _SPREAD_OF_8 and low > 1.0:
        return 0, 8
    if spread <= _SPREAD_OF_16:
        return 8, 24
    return 24, n_nodes


@summing_kernel
def _take_next(p: float, v: Floats, u: Floats, share: Floats, weight: Floats) -> float:
    """Put one more label into the set: add to H, multiply the weights by u, return the integral."""
    rest = 1.0 - p
    total = 0.0
    for q in range(v.size):
        p_v = p * v[q]
        share[q] += p_v / (rest + p_v)
        weight[q] *= u[q]
        total += weight[q] * share[q]
    return total


@kernel
def _multiply_first(p: Floats, v: Floats, product: Floats, share: Floats) -> None:
    """Multiply the factors of some labels; put H of them, the sum of p v / (1 - p + p v), into `share`.

    H is v times the derivative of the product, divided by it: one division in place of one for each label.
    """
    product[:] = 1.0
    share[:] = 0.0
    for i in range(p.size):
        rest = 1.0 - p[i]
        for q in range(v.size):
            factor = rest + p[i] * v[q]
            share[q] = share[q] * factor + product[q] * p[i]
            product[q] *= factor
    for q in range(v.size):
        share[q] *= v[q] / product[q]


@kernel
def _may_be_best(
    p: Floats, mean: float, variance: float, beta_squared: float, least: float, whole_ties: bool
) -> tuple[int, int]:
    """Return the lowest and the highest k of which the k highest labels may be the best set, when it is not empty.

    Some k reaches the most of (1 + B) m / (B (1 + mean - p_k) + k), m the sum of the k highest (Jensen: a label that is
    true has others beside it whose mean is that of S without it); `least` is reached, too. And given the number R of
    positives beside the k, E F is at most (1 + B) m / (B (m + R) + k) (Jensen again). Of the distributions of R >= 0
    with its mean and variance, the expectation of that is highest if R takes 0 and one other value alone. With R = 0 it
    falls with k, which ends the search.
    """
    top = 0.0
    for k in range(1, p.size + 1):
        top += p[k - 1]
        amid_ties = whole_ties and k < p.size and p[k] == p[k - 1]
        if not amid_ties:
            reached = (1.0 + beta_squared) * top / (beta_squared * (1.0 + mean - p[k - 1]) + k)
            least = max(least, reached)
        if (1.0 + beta_squared) * top < least * (beta_squared * top + k):
            break
    least *= 1.0 - _ROUNDED

    first, last = p.size + 1, 0
    top, mean_beside, variance_beside = 0.0, mean, variance
    for k in range(1, p.size + 1):
        top += p[k - 1]
        mean_beside = max(0.0, mean_beside - p[k - 1])
        variance_beside = max(0.0, variance_beside - p[k - 1] * (1.0 - p[k - 1]))
        square = mean_beside * mean_beside + variance_beside
        sure = beta_squared * top + k
        most = (1.0 + beta_squared) * top
        if most < least * sure:
            break
        if mean_beside > 0.0 and square > 0.0:
            # The chance of 0, and what is left of the other value, square / mean; no product overflows.
            nothing = variance_beside / square
            other = sure + beta_squared * square / mean_beside
            most *= nothing + (1.0 - nothing) * sure / other
        if most >= least * sure:
            first, last = min(first, k), k
    return first, last


@kernel
def _used(x: Floats, away: Floats, log_weights: Floats, k: float, mean: float) -> int:
    """Return how many of the first nodes matter, a multiple of 8.

    The integrand is at most exp(-x k - mean (1 - v)).
    """
    # `first` is that of the last nodes.
    first, highest = x.size - _REGISTER, -np.inf
    for q in range(x.size):
        highest = max(highest, log_weights[q] - x[q] * k - mean * away[q])
    while (
        first > 0 and log_weights[first] - x[first] * k - mean * away[first] < highest - _NEGLIGIBLE
    ):
        first -= _REGISTER
    return first + _REGISTER


@kernel
def best_prefixes(
    starts: Ints,
    values: Dense,
    tails: Floats,
    beta_squared: float,
    zero_division: float,
    whole_ties: bool,
    nodes: Floats,
) -> tuple[Ints, Floats]:
    """Return, for each list of rising probabilities, how many of the highest maximise E F-beta.

    Beside it the maximum. Under independence some set of highest probabilities is optimal. `tails`
    has power sums of labels outside the lists. With `whole_ties` equal probabilities are taken
    together or not at all.
    """
    best_k = np.zeros(starts.size - 1, np.int64)
    best_f = np.zeros(starts.size - 1)
    room = np.empty((7, nodes.shape[1]))
    for i in range(best_k.size):
        rising = values[starts[i] : starts[i + 1]]
        n_zeros = np.searchsorted(rising, 0.0, side="right")  # They are never predicted.
        p = rising[n_zeros:][::-1].astype(np.float64)
        best_k[i], best_f[i] = _best_prefix(
            p, tails[i], beta_squared, zero_division, whole_ties, nodes, room
        )
    return best_k, best_f


@kernel
def _best_prefix(
    p: Floats,
    tail: Floats,
    beta_squared: float,
    zero_division: float,
    whole_ties: bool,
    nodes: Floats,
    room: Floats,
) -> tuple[int, float]:
    """Search falling probabilities by integrals, of the sizes that bounds leave.

    Nodes of one scale serve for all of them, or until k + B S trebles.
    """
    # Small probabilities, and the tail, as power sums.
    powers = np.zeros(POWERS)
    for r in range(tail.size):
        powers[r] = tail[r]
    n_large = p.size - np.searchsorted(p[::-1], SMALL, side="right")
    _add_powers(p[n_large:], powers)
    large = p[:n_large]
    mean, variance = _moments(large, powers)
    low, high = _ends(mean, variance)

    # The empty set, until another is better.
    best_k, best_f = 0, 0.0
    if zero_division > 0:
        best_f = zero_division * _chance_of_none(large, powers)
    first, end = _may_be_best(p, mean, variance, beta_squared, best_f, whole_ties)
    k = first - 1
    while k < end:
        # Nodes of a scale amid the values that k + B S takes from here to `last`, the end if that is near.
        least = k + 1 + beta_squared * low
        most = end + beta_squared * high
        scale, last = np.sqrt(least) * np.sqrt(most), float(end)  # no product of large betas
        if most > _MOST_SPREAD**2 * least:
            reach = beta_squared * np.sqrt(low * high)
            scale = np.sqrt(3.0) * (k + 1 + reach)
            last = min(last, np.sqrt(3.0) * scale - reach)
        begin, stop = _nodes_for(scale / least, low, nodes.shape[1])
        z, log_weights = nodes[0, begin:stop], nodes[1, begin:stop]
        _place_nodes(z, scale, beta_squared, 0.0, room[0], room[1], room[2])
        n = _used(room[0, : z.size], room[2], log_weights, k + 1.0, mean)
        x, v, away, product = room[0, :n], room[1, :n], room[2, :n], room[3, :n]
        share, weight, u = room[4, :n], room[5, :n], room[6, :n]

        # G and H at the nodes, of the set so far: it may have small ones.
        _multiply_first(large[:k], v, weight, share)
        _multiply(large[k:], v, product)
        for i in range(n_large, k):
            _add_share(p[i], v, share)
        for q in range(x.size):
            weight[q] *= (
                np.exp(log_weights[q] + _log_of_small(away[q], powers) - x[q] * k)
                * product[q]
                / scale
            )
            u[q] = np.exp(-x[q])

        # One label more at a time.
        while k < last:
            f = (1.0 + beta_squared) * _take_next(p[k], v, u, share, weight)
            k += 1
            amid_ties = whole_ties and k < p.size and p[k] == p[k - 1]
            if f > best_f * (1.0 + _EQUAL) and not amid_ties:
                best_k, best_f = k, f
    return best_k, best_f


@kernel
def _split(p: Dense, powers: Floats) -> Floats:
    """Add small probabilities to the power sums; return the others."""
    small, large = np.empty(p.size), np.empty(p.size)
    n_small, n_large = 0, 0
    for i in range(p.size):
        if p[i] <= SMALL:
            small[n_small] = p[i]
            n_small += 1
        else:
            large[n_large] = p[i]
            n_large += 1
    _add_powers(small[:n_small], powers)
    return large[:n_large]


@kernel
def _centre_of(large: Floats, powers: Floats) -> float:
    """Return the centre for labels of which the small ones are in power sums."""
    mean, variance = _moments(large, powers)
    return centre(mean, variance)


@kernel
def _chance_of_none(p: Floats, powers: Floats) -> float:
    """Return the product of 1 - p, of large ones and of those in power sums."""
    chance = float(np.exp(_log_of_small(1.0, powers)))
    for i in range(p.size):
        chance *= 1.0 - p[i]
    return chance


@kernel
def expected_f_of_sets(
    starts: Ints,
    values: Dense,
    chosen_starts: Ints,
    chosen: Dense,
    predicted: Ints,
    beta_squared: float,
    zero_division: float,
    nodes: Floats,
) -> Floats:
    """Return E F-beta of one set of each list.

    `chosen` lists its probabilities, `predicted` counts zeros too.
    """
    expected = np.empty(predicted.size)
    room = np.empty((7, nodes.shape[1]))
    for i in range(expected.size):
        p = values[starts[i] : starts[i + 1]]
        set_p = chosen[chosen_starts[i] : chosen_starts[i + 1]]
        expected[i] = _expected_f(p, set_p, predicted[i], beta_squared, zero_division, nodes, room)
    return expected


@kernel
def _expected_f(
    p: Dense,
    set_p: Dense,
    k: int,
    beta_squared: float,
    zero_division: float,
    nodes: Floats,
    room: Floats,
) -> float:
    """Integrate for one set of k labels."""
    x, v, away = room[0], room[1], room[2]
    product, share, small = room[3], room[4], room[6]
    powers, set_powers = np.zeros(POWERS), np.zeros(POWERS)
    large = _split(p, powers)
    if k == 0:
        return zero_division * _chance_of_none(large, powers) if zero_division > 0 else 0.0

    # G, and H of the large probabilities.
    scale = k + beta_squared * _centre_of(large, powers)
    _place_nodes(nodes[0], scale, beta_squared, 0.0, x, v, away)
    _multiply(large, v, product)
    share[:] = 0.0
    for value in _split(set_p, set_powers):
        _add_share(value, v, share)

    # H of the small ones: p v / (1 - p + p v) = v (p + p^2 (1 - v) + ...).
    total = 0.0
    for q in range(x.size):
        for r in range(POWERS, 0, -1):
            small[q] = set_powers[r - 1] + (small[q] * away[q] if r < POWERS else 0.0)
        share[q] += v[q] * small[q]
        total += (
            np.exp(nodes[1, q] + _log_of_small(away[q], powers) - x[q] * k)
            * product[q]
            / scale
            * share[q]
        )
    return float(min(1.0, (1.0 + beta_squared) * total))


@kernel
def log_chances(values: Dense, points: Floats) -> Floats:
    """Return log G at v = exp(-point), that is log E exp(-point S), for each point."""
    x, v, away, product = np.empty((4, points.size))
    powers = np.zeros(POWERS)
    large = _split(values, powers)
    _place_nodes(points, 1.0, 1.0, 0.0, x, v, away)
    _multiply(large, v, product)
    for q in range(v.size):
        product[q] = np.log(product[q]) + _log_of_small(away[q], powers)
    return product


@kernel
def expected_share(
    p: Floats,
    set_p: Floats,
    k: int,
    others: Floats,
    points: Floats,
    beta_squared: float,
    nodes: Floats,
) -> Floats:
    """Return E[a F exp(-point S)] for each point.

    F is that of the set, a the positives of its label, S those of all. `others` has
    log E exp(-point s), s the positives of other labels. An integral as above, with a tp for tp.
    """
    x, v, away, product, share, spread, total = np.empty((7, nodes.shape[1]))
    powers = np.zeros(POWERS)
    expected = np.zeros(points.size)
    large = _split(p, powers)
    scale = k + beta_squared * _centre_of(large, powers)
    for r in range(points.size):
        _place_nodes(nodes[0], scale, beta_squared, points[r], x, v, away)
        _multiply(large, v, product)
        share[:], spread[:], total[:] = 0.0, 0.0, 0.0

        # H of all labels, H of the set, and the sum of the variances of the set, given v.
        for value in p:
            _add_share(value, v, total)
        for value in set_p:
            _add_share(value, v, share)
            for q in range(x.size):
                p_v = value * v[q]
                either = (1.0 - value) + p_v
                spread[q] += p_v * (1.0 - value) / (either * either)

        # E[a tp v^a] = G (H_all H + variances).
        for q in range(x.size):
            density = (
                np.exp(nodes[1, q] + _log_of_small(away[q], powers) - x[q] * k + others[r])
                * product[q]
                / scale
            )
            expected[r] += (1.0 + beta_squared) * density * (total[q] * share[q] + spread[q])
    return expected
