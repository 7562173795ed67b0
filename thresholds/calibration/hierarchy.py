"""A logistic curve for each label that leans on those of all labels: a hierarchical fit.

    truth of a cell ~ sigmoid(a x + b),    (a, b) of a label ~ normal(mean, spread)

A label with many positives keeps its own curve; one with few gets nearly that of the others. How much labels differ,
the mean and the spread (a 2 x 2 covariance), are fitted to the same cells (empirical Bayes):

1. Given both, a and b of each label have the least log-loss plus half the square of (a, b) - mean in the measure of
   spread^-1 (the mode of the posterior).
2. Given a quadratic through each label's log-loss there, mean and spread have the highest likelihood, with a and b
   integrated out (Laplace's approximation).
3. Both are repeated until neither moves.

Of few labels the spread would be a guess, and of one it would be 0. So one label more is counted, whose line is known:
that of all cells together, give or take a variance of `_LEAST_VARIANCE` in either direction, where x has mean 0 and
variance 1.

Labels are gone through in an order that their cells give, not in that of columns: where weights differ by 1e6 and more,
the last digits of a sum are seen in the curves.

Targets of truth are Platt's, smoothed by one cell of all labels together: with a spread of 0 the curves would be the
pooled one. Morris 1983, "Parametric empirical Bayes inference: theory and applications", section 1; Gelman et al. 2013,
"Bayesian data analysis", chapters 5 and 13.6.
"""

from collections.abc import Callable
from typing import NamedTuple, TypeAlias

import numpy as np

from thresholds import _checks
from thresholds._arrays.grouped import sums_of_groups
from thresholds._arrays.types import Booleans, Floats, Ints
from thresholds._kernels.calibration import pull_lines, standardise
from thresholds.calibration.points import Points, map_labels

_LEAST_VARIANCE = 0.1  # that the one label more adds
_MOST_ROUNDS = 100  # of lines, then mean and spread; most fits take 3 to 10
_CLOSE = 1e-7  # A move of mean and spread that is smaller, relative to the spread, is the last.

# Of the three values of a root, of which the first and the last are logarithms.
_BOUNDS = np.array([[-20.0, -np.inf, -20.0], [20.0, np.inf, 20.0]])
_DIFFERENCE = 1e-4
_MOST_STEPS = 50
_LONGEST_STEP = 2.0  # of a logarithm
_LAST_STEPS = 2
_MOST_HALVINGS = 30
_LEAST_SHARE = 1e-4  # of the promised gain that a step must keep
_LEAST_BEND = 1e-13  # relative: what does not bend is not moved along

_NO_PRIOR = np.zeros(5)
_ODD = np.uint64(0x9E3779B97F4A7C15)  # whose multiples spread over all bits


class _Prior(NamedTuple):
    """Where the lines of labels lie, before their cells are seen."""

    mean: Floats  # (2,)
    root: Floats  # (2, 2), triangular, of the spread

    @property
    def spread(self) -> Floats:
        """The covariance (2, 2)."""
        return self.root @ self.root.T

    @property
    def precision(self) -> Floats:
        """The inverse (2, 2) of the spread."""
        inverse = _solved(self.root, np.eye(2))
        return inverse.T @ inverse

    def is_close_to(self, other: "_Prior") -> bool:
        """Whether another one is the same but for what does not matter."""
        deviation = np.sqrt(np.diag(self.spread))  # (2,)
        moved = np.abs(self.mean - other.mean) / deviation
        grown = np.abs(self.spread - other.spread) / np.outer(deviation, deviation)
        return bool(moved.max() <= _CLOSE and grown.max() <= _CLOSE)


# Lines of labels (n_labels, 2), and the derivatives of their log-loss there, for rows of weight 1: the first
# (n_labels, 2), and the second (n_labels, 2, 2).
_Fitted: TypeAlias = tuple[Floats, Floats, Floats]
# Fits the lines of groups of points, from those given; without a prior, from points alone.
_Pull: TypeAlias = Callable[[Points, Floats, _Prior | None], _Fitted]


def fit_leaning_lines(
    points: Points,
    x: Floats,
    row_weight: float,
    n_jobs: int | None,
    progress: bool,
    *,
    rising: bool = False,
    warns: bool = True,
) -> Floats:
    """Fit a line to each label, in the form of `fit_logistic`: scale, centre, slope, intercept, (4, n_labels).

    Parameters
    ----------
    x : (n_points,) what the curves are functions of; points where it is not finite are left out
    row_weight : what the weight 1 counts in the unit of the weights
    rising : no slope below 0: a label that would have one gets 0, and the intercept that it has if x says nothing
    warns : whether to warn of lines that do not settle, for whom another way to fit them can be chosen

    A label without any cell gets the intercept -inf: probability 0.

    Warns
    -----
    UserWarning
        If mean and spread still move after the last round.
    """
    order = _order_by_content(points, x)
    points, x = _in_order(points, x, order)
    counts = np.isfinite(x)
    known = sums_of_groups(points.starts, counts) > 0  # (n_labels,)
    targets, start = _targets(points, counts, row_weight)
    scale, centre, deviation = standardise(x, points.weights)
    if deviation == 0:
        x *= 0  # values that are all equal
    points = points._replace(scores=x)

    def pull(own: Points, lines: Floats, prior: _Prior | None) -> _Fitted:
        return _pulled(own, targets, row_weight, lines, prior, n_jobs, progress)

    # The line of all cells together, those of labels, and level ones where they would fall.
    common = pull(points.pooled(), np.array([[0.0, start]]), None)[0][0]  # (2,)
    lines, prior, is_settled = _settle(pull, points, common, known)
    if warns and not is_settled:
        _checks.warn_caller(
            f"curves that lean on each other did not settle in {_MOST_ROUNDS} rounds, and may be off; by='label' fits"
            " each by itself",
            UserWarning,
        )
    if rising and (lines[:, 0] < 0).any():
        level = pull(points._replace(scores=0 * x), lines, prior)[0] * [0, 1]
        lines = np.where(lines[:, :1] < 0, level, lines)

    # In the unit of x; of values that are all equal a constant.
    curves = np.zeros((4, known.size))
    curves[0] = 1.0
    if deviation > 0:
        curves[0], curves[1], curves[2] = scale, centre, lines[:, 0] / deviation
    curves[3] = np.where(np.diff(points.starts) > 0, lines[:, 1], -np.inf)
    return curves[:, np.argsort(order)]


def _pulled(
    points: Points,
    targets: tuple[float, float],
    row_weight: float,
    lines: Floats,
    prior: _Prior | None,
    n_jobs: int | None,
    progress: bool,
) -> _Fitted:
    """Fit the lines of groups of points, whose scores are x of mean 0 and variance 1, to targets of both classes."""
    about = _NO_PRIOR  # (5,)
    if prior is not None:
        precision = row_weight * prior.precision
        about = np.append(prior.mean, precision[[0, 0, 1], [0, 1, 1]])

    def pull(first: int, last: int) -> Floats:
        start = np.ascontiguousarray(lines[first:last].T)
        return pull_lines(*points.group(first, last), targets, start, about)

    pieces = map_labels(points.starts, pull, n_jobs=n_jobs, progress=progress)
    found = np.concatenate(pieces, axis=1).T  # (n_groups, 7)
    derivatives = found[:, [2, 3, 4, 5, 5, 6]] / row_weight
    return found[:, :2], derivatives[:, :2], derivatives[:, 2:].reshape(-1, 2, 2)


def _order_by_content(points: Points, x: Floats) -> Ints:
    """Return an order (n_labels,) of labels that is the same whatever order they come in: by a checksum of points."""
    place = np.arange(x.size) - np.repeat(
        points.starts[:-1], np.diff(points.starts)
    )  # in the label
    checksum = np.ascontiguousarray(x).view(np.uint64)
    for values in (place, points.hits, points.weights):
        checksum = (checksum ^ (checksum >> np.uint64(29))) * _ODD + values.view(np.uint64)
    sums = np.append(
        np.uint64(0), np.cumsum(checksum ^ (checksum >> np.uint64(29)), dtype=np.uint64)
    )
    return np.argsort(sums[points.starts[1:]] - sums[points.starts[:-1]], kind="stable")


def _in_order(points: Points, x: Floats, order: Ints) -> tuple[Points, Floats]:
    """Return the points of labels in another order, and x of them; a copy."""
    sizes = np.diff(points.starts)[order]
    starts = np.append(0, sizes.cumsum())
    at = np.repeat(points.starts[:-1][order] - starts[:-1], sizes) + np.arange(x.size)
    return Points(starts, points.scores[at], points.hits[at], points.weights[at]), x[at]


def _settle(
    pull: _Pull, points: Points, common: Floats, known: Booleans
) -> tuple[Floats, _Prior, bool]:
    """Return the lines (n_labels, 2) of labels, where they lie, and whether that has settled.

    Those that are not `known` have no say in where.
    """
    lines = np.tile(common, (known.size, 1))
    prior = _Prior(common, np.sqrt(_LEAST_VARIANCE) * np.eye(2))
    for _ in range(_MOST_ROUNDS):
        lines, slopes, curvatures = pull(points, lines, prior)
        labels = _Quadratics(lines[known], slopes[known], curvatures[known], common)
        before = prior
        prior = _likeliest(labels, before)
        is_settled = prior.is_close_to(before)
        if is_settled:
            break
    return pull(points, lines, prior)[0], prior, is_settled


def _targets(
    points: Points, counts: Booleans, row_weight: float
) -> tuple[tuple[float, float], float]:
    """Return the targets of positives and of negatives, and the log odds of those of all cells."""
    positive = float(points.hits[counts].sum())
    negative = float(points.weights[counts].sum()) - positive
    high = (positive + row_weight) / (positive + 2 * row_weight)
    low = row_weight / (negative + 2 * row_weight)
    return (high, low), float(np.log((positive + row_weight) / (negative + row_weight)))


def _likeliest(labels: "_Quadratics", prior: _Prior) -> _Prior:
    """Return the mean and the spread of highest marginal likelihood, given quadratics through the loss of labels."""
    root = prior.root
    values = np.array([np.log(root[0, 0]), root[1, 0], np.log(root[1, 1])])
    root = _root(_least(labels, values))
    return _Prior(labels.given(root)[0], root)


def _least(labels: "_Quadratics", values: Floats) -> Floats:
    """Return the values of the root of least loss, by Newton's method, with differences of the derivatives.

    Its last steps are taken whatever they gain, so that the order of labels tells in none but the last digits.
    """
    n_last = 0
    for _ in range(_MOST_STEPS):
        loss, slopes = labels.loss(_root(values))
        step = _newton_step(labels, values, slopes)
        if np.abs(step).max() < _DIFFERENCE:
            values = values + step
            n_last += 1
            if n_last == _LAST_STEPS:
                break
            continue

        # The step is halved until the loss falls.
        promised = -slopes @ step
        sizes = 0.5 ** np.arange(_MOST_HALVINGS)
        tried = (np.clip(values + size * step, *_BOUNDS) for size in sizes)
        falls = (
            at
            for at, size in zip(tried, sizes, strict=True)
            if labels.loss(_root(at))[0] < loss - _LEAST_SHARE * size * promised
        )
        lower = next(falls, None)
        if lower is None:
            break
        values = lower
    return values


def _newton_step(labels: "_Quadratics", values: Floats, slopes: Floats) -> Floats:
    """Return the step to the least of a quadratic; down, too, where the loss bends downwards."""
    sides = values + _DIFFERENCE * np.array([np.eye(3), -np.eye(3)])  # (2, 3, 3)
    above, below = np.array([[labels.loss(_root(at))[1] for at in side] for side in sides])
    matrix = (above - below) / (2 * _DIFFERENCE)
    bends, directions = np.linalg.eigh((matrix + matrix.T) / 2)
    bends = np.abs(bends)  # (3,)
    along = directions.T @ slopes
    step = -directions @ np.divide(
        along, bends, out=np.zeros(3), where=bends > _LEAST_BEND * bends.max()
    )
    logarithms = np.abs(step[[0, 2]]).max()
    return np.asarray(step * min(1.0, _LONGEST_STEP / max(logarithms, _DIFFERENCE)))


def _root(values: Floats) -> Floats:
    """Return the triangular root (2, 2) of a spread from its three values, of which two are logarithms."""
    return np.array([[np.exp(values[0]), 0.0], [values[1], np.exp(values[2])]])


class _Quadratics:
    """The log-loss of labels as quadratics of their lines, and one label more, whose line is known.

    A quadratic with matrix H and best line t is a normal observation of a label's line, of precision
    H. Where cells say nothing of one direction, H has no inverse; but H t is known.

    A line is root z, with z of spread 1 before the cells are seen, and of precision 1 + root' H root after. However
    large weights make H, or the search the root, that is at least 1 in every direction.
    """

    def __init__(self, lines: Floats, slopes: Floats, curvatures: Floats, common: Floats) -> None:
        self.turned_roots = _turned_roots(curvatures)
        known = np.einsum("gij,gj->gi", curvatures, lines) - slopes  # H t
        self.known = np.ascontiguousarray(known.T)  # (2, n_labels)
        self.common = common  # (2,)
        self.n_labels = known.shape[0] + 1

    def given(self, root: Floats) -> tuple[Floats, float, Floats]:
        """Integrate the lines of labels out, for a spread with this root.

        Returns the likeliest mean (2,), minus the log of the marginal likelihood, and the expected squares (2, 2) of
        the distances of all labels from the mean, over the root.
        """
        known = root.T @ self.known  # (2, n_labels)
        common = _solved(root, self.common)
        own_variance = _LEAST_VARIANCE * _solved(root, _solved(root, np.eye(2)).T)
        variances, determinants = _inverses_from_one(self.turned_roots, root)

        # The best mean: where labels, as far as they are known, are in balance.
        weights = _sum_of(np.array([[1.0], [0.0], [1.0]]) - variances) + np.eye(2)
        mean = np.linalg.solve(weights, _products(variances, known).sum(axis=1) + common)

        # The lines expected then, and the squares of their distances from it.
        both = known + mean[:, np.newaxis]  # (2, n_labels)
        lines = _products(variances, both)
        distances = lines - mean[:, np.newaxis]
        own = common - mean
        squares = np.einsum("ig,jg->ij", distances, distances) + np.outer(own, own)
        squares += _sum_of(variances) + own_variance

        # The likelihood: a normal integral for each label, and the density of the one more.
        of_labels = (np.log(determinants) + mean @ mean).sum() - (both * lines).sum()
        of_one = 2 * np.log(np.diag(root)).sum() + own @ own + np.trace(own_variance)
        return root @ mean, float(of_labels + of_one) / 2, squares

    def loss(self, root: Floats) -> tuple[float, Floats]:
        """Return the loss per label of a spread with this root, and its derivatives by the values of the root."""
        _, loss, squares = self.given(root)
        by_root = _solved(root.T, self.n_labels * np.eye(2) - squares)
        slopes = [by_root[0, 0] * root[0, 0], by_root[1, 0], by_root[1, 1] * root[1, 1]]
        return loss / self.n_labels, np.array(slopes) / self.n_labels


def _solved(triangle: Floats, right: Floats) -> Floats:
    """Return the solution of `triangle` x = `right`; the triangle is that of a root, or turned."""
    return np.asarray(np.linalg.solve(triangle, right))


def _turned_roots(matrices: Floats) -> Floats:
    """Return the three numbers (3, n) of C', of symmetric matrices C C' (n, 2, 2) that are not negative.

    C is triangular: C' has two of them in its first row, and the last in its second.
    """
    aa, ab, bb = matrices[:, 0, 0], matrices[:, 0, 1], matrices[:, 1, 1]
    first = np.sqrt(aa)
    across = np.divide(ab, first, out=np.zeros_like(ab), where=first > 0)
    second = np.sqrt(np.maximum(bb - across * across, 0.0))  # rounding may take this below 0
    return np.stack([first, across, second])


# Symmetric matrices of two rows are (3, n), number by number: NumPy is slow along axes of two.


def _products(matrices: Floats, vectors: Floats) -> Floats:
    """Return the product of each symmetric matrix with a vector of its own: (2, n)."""
    aa, ab, bb = matrices
    first, second = vectors
    return np.stack([aa * first + ab * second, ab * first + bb * second])


def _sum_of(matrices: Floats) -> Floats:
    """Return the sum of symmetric matrices, (2, 2)."""
    aa, ab, bb = (values.sum() for values in matrices)
    return np.array([[aa, ab], [ab, bb]])


def _inverses_from_one(turned: Floats, root: Floats) -> tuple[Floats, Floats]:
    """Return the inverses (3, n) of 1 + root' C C' root, C' being `turned`, and the determinants (n,) of that."""
    # C' root, both being triangular.
    first, across, second = turned
    left, right = first * root[0, 0] + across * root[1, 0], across * root[1, 1]
    lower_left, lower_right = second * root[1, 0], second * root[1, 1]

    aa = np.square(left) + np.square(lower_left)
    bb = np.square(right) + np.square(lower_right)
    ab = left * right + lower_left * lower_right
    # Of triangles the determinant is the product of the diagonals; no difference is taken.
    area = first * second * root[0, 0] * root[1, 1]
    determinants = 1 + aa + bb + area * area
    return np.stack([1 + bb, -ab, 1 + aa]) / determinants, determinants
