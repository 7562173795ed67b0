"""How often is each label true at a score near its threshold, and how well is that known?

A logistic curve of truth on score is fitted to each label, with Platt's targets (`calibration/platt.py`). The best
threshold of a label lies where its probability is F / (1 + b^2) (Lipton et al. 2013, section 5), so a threshold has a
reason to move where this curve moves. The curve is known far better than the threshold itself, which is the best of
many: so two fits on other rows are held against each other by their curves.

With rows of weight w and probability p, x the score and a one beside it,

    I = sum w p (1 - p) x x^T,    M = sum w (truth - p)^2 x x^T,    k = sum w^2 / sum w,

the covariance of slope and intercept is k I^-1 if the curve is right, and k I^-1 M I^-1 whether it is or not (White
1982, "Maximum likelihood estimation of misspecified models"; too small for a few positives; k by Kish 1965). Taken is
the one that is larger at the threshold.

The scores of a label are sorted, and those of neighbouring ranks taken together: single ones at the top, further down
as many as 1/64 of those above. So the curves cost little beside the sort.
"""

from collections.abc import Sequence
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from thresholds._arrays.dtypes import least_positive
from thresholds._arrays.grouped import group_of
from thresholds._arrays.sparse import is_sparse, to_dense
from thresholds._arrays.types import Booleans, Floats, Ints, Scores
from thresholds._kernels.calibration import fit_logistic
from thresholds._kernels.keys import to_scores
from thresholds.calibration.cells import Cells
from thresholds.data import panels
from thresholds.data.panels import Panel, TieGroups
from thresholds.data.probable import are_probable
from thresholds.data.problem import Items, Problem
from thresholds.data.tiles import map_tiles
from thresholds.log_odds import log_odds, sigmoid
from thresholds.rule.odds import OddsByScore
from thresholds.significance import effective_rows

# Digits that are kept of at, level, slope and their errors: enough for figures that have errors, and for scores that
# lie far from 0.
_DIGITS = (9, 6, 6, 6, 6)
_POWERS = np.array([float(f"1e{k}") for k in range(23)])  # of ten, all that are floats
_NEAR_MIDDLE = 1e-5  # a hundred times what rounding does to a number of 9 digits
# Ranks from the top that are bins of their own; below, bins hold 1/64 of what is above.
_SINGLE = 64
_MOST_UNITS = 1e300  # that the weight 1 may count
_LEAST_DETERMINANT = 1e-9  # relative to the product of the diagonal: below, the slope is not known

_UNKNOWN = np.array([[0.0], [0.0], [0.0], [np.inf], [np.inf]])  # at, level, slope and their errors


class _Covariances(NamedTuple):
    """Of slope and intercept, one entry a label."""

    slope: Floats
    both: Floats
    intercept: Floats

    def at(self, x: Floats) -> Floats:
        """Return the variance of the curve at x."""
        return self.slope * x * x + 2 * self.both * x + self.intercept


def odds_by_score(
    problem: Problem, thresholds: Floats, *, n_jobs: int | None = -1, progress: bool = False
) -> OddsByScore:
    """Fit the curves of all labels; `thresholds` (n_labels,) say where they are to be known best."""
    curves = Curves(problem)
    (tiles,) = panels.ask(problem, [curves.of_labels], n_jobs=n_jobs, progress=progress)
    return curves.odds(tiles, thresholds)


class Curves:
    """The curves of the labels of a problem, which are fitted a tile at a time."""

    def __init__(self, problem: Problem) -> None:
        """Prepare what all labels share."""
        self._problem = problem
        self._of_shares = are_probable(problem)
        self._ranks = _first_ranks(problem.n_samples)
        self._smoothing = min(1 / problem.unit, _MOST_UNITS)

    def of_labels(self, items: Items, first: int, last: int) -> tuple[Ints, Floats]:
        """Fit the curves of labels `first:last`, whose items are given; `odds` reads what it returns."""
        bins = _bins_of(self._problem, items, self._of_shares, self._ranks)
        figures, is_known = _fit(bins, self._smoothing, self._problem.unit)
        return first + np.flatnonzero(is_known), figures[:, is_known]

    def known_best(
        self, thresholds: Floats, items: Items, first: int, last: int
    ) -> tuple[Ints, Floats]:
        """Fit the curves of labels where thresholds, (n_labels,), are found: half as much to keep as `of_labels`."""
        return self._at(self.of_labels(items, first, last), thresholds)

    def odds(self, parts: Sequence[tuple[Ints, Floats]], thresholds: Floats) -> OddsByScore:
        """Join the curves of consecutive labels, which are to be known best at `thresholds`, (n_labels,)."""
        return self.joined([self._at(part, thresholds) for part in parts])

    def joined(self, parts: Sequence[tuple[Ints, Floats]]) -> OddsByScore:
        """Join the curves of consecutive labels as `known_best` returns them."""
        values: Any = np.repeat(_UNKNOWN, self._problem.n_labels, axis=1)  # (5, n_labels)
        for known, figures in parts:
            values[:, known] = figures
        return OddsByScore(self._of_shares, *values)

    def _at(self, part: tuple[Ints, Floats], thresholds: Floats) -> tuple[Ints, Floats]:
        """Return what is kept of the curves of some labels, which are to be known best at their thresholds."""
        known, figures = part
        at = thresholds[known]
        if self._of_shares:  # Infinite thresholds, and shares of 0 and 1, lie nowhere.
            at = log_odds(np.clip(at, 0.0, 1.0))
        best = _known_best(figures, self._weight_per_row[known], at)
        for row, digits in zip(best, _DIGITS, strict=True):
            row[:] = rounded(row, digits)
        return known, best

    @cached_property
    def _weight_per_row(self) -> Floats:
        """The k of each label, (n_labels,)."""
        return _weight_per_row(self._problem)


@np.errstate(divide="ignore", invalid="ignore")
def rounded(values: Floats, digits: int) -> Floats:
    """Round to so many digits, to the floats that `float(f"{value:.{digits}g}")` gives, in a tenth of the time."""
    # Scaled by a power of ten to a number of so many digits before the point, and rounded to a whole one.
    places = digits - 1 - np.floor(np.log10(np.abs(values)))  # (n_labels,) after the point
    is_exact = np.abs(places) < _POWERS.size
    power = _POWERS[np.where(is_exact, np.abs(places), 0).astype(np.int64)]
    scaled = np.where(places < 0, values / power, values * power)
    whole = np.rint(scaled)
    # The whole number and the power are floats, so that what both give is the float next to the decimal number.
    found: Floats = np.where(places < 0, whole * power, whole / power)

    # Scaling rounds, too: next to the middle of two whole numbers text decides.
    is_exact &= np.abs(np.abs(scaled - whole) - 0.5) > _NEAR_MIDDLE
    is_exact &= (np.abs(whole) >= _POWERS[digits - 1]) & (np.abs(whole) <= _POWERS[digits])
    stays = (values == 0) | np.isinf(values)
    found[stays] = values[stays]
    others = np.flatnonzero(~(is_exact | stays))
    found[others] = [float(f"{value:.{digits}g}") for value in values[others].tolist()]
    return found


def _weight_per_row(problem: Problem) -> Floats:
    """Return the weight of the rows of each label over the number of equal rows that tell as much, (n_labels,)."""
    weights = problem.row_weights * problem.unit  # (n_samples,)
    if problem.unknown is None:
        return np.full(problem.n_labels, weights.sum() / effective_rows(weights))
    problem.prepare("labels")
    ratios = np.ones(problem.n_labels)  # of a label without a known row, too
    for label in np.flatnonzero(problem.weight_of_label > 0):
        unknown = to_dense(problem.unknown_by_label[:, [label]])[:, 0]
        own = weights[~unknown]
        ratios[label] = own.sum() / effective_rows(own)
    return ratios


def cells_in_bins(
    problem: Problem, *, n_jobs: int | None = -1, progress: bool = False
) -> tuple[Cells, bool]:
    """Return the cells of all labels, those of neighbouring ranks taken together, and whether x is their log odds.

    The scores of these cells are means of x; a bin is two cells, its positives and its negatives, where it has both.
    """
    of_shares = are_probable(problem)
    ranks = _first_ranks(problem.n_samples)

    def collect(first: int, last: int) -> Cells:
        bins = _bins_of(problem, panels.label_items(problem, first, last), of_shares, ranks)
        weights = np.stack([bins.positive, bins.total - bins.positive], axis=1).reshape(-1)
        some = weights > 0  # (2 n_bins,)
        starts = np.append(0, some.cumsum())[2 * bins.starts]
        truth = np.tile(np.array([1, 0], np.uint8), bins.x.size)
        return Cells(starts, np.repeat(bins.x, 2)[some], truth[some], weights[some])

    parts = map_tiles(problem, collect, n_jobs=n_jobs, progress=progress)
    sizes = np.concatenate([np.diff(part.starts) for part in parts])  # (n_labels,)
    scores, truth, weights = (
        np.concatenate(arrays) for arrays in zip(*(part[1:] for part in parts), strict=True)
    )
    return Cells(np.append(0, sizes.cumsum()), scores, truth, weights), of_shares


class OddsChange(NamedTuple):
    """How the odds of truth at one score differ between two fits, one entry a label."""

    ratio: Floats  # those of the new fit over those of the old one; NaN where either knows nothing
    p_value: Floats  # two-sided; 1 where either knows nothing


def change_of_odds(
    old: OddsByScore, new: OddsByScore, old_thresholds: Floats, new_thresholds: Floats
) -> OddsChange:
    """Hold two fits of the same labels, on scores of one kind, against each other, between their thresholds.

    z = (log odds of new - log odds of old) / sqrt(sum of their variances), at the middle of both thresholds.
    """
    from scipy.special import ndtr

    x = _middle(old.abscissae(old_thresholds), new.abscissae(new_thresholds), new)
    log_odds_before, variance_before = old.read(x)
    log_odds_after, variance_after = new.read(x)
    off = log_odds_after - log_odds_before
    error = np.sqrt(variance_before + variance_after)
    with np.errstate(over="ignore"):
        ratio = np.where(np.isfinite(error), np.exp(off), np.nan)
    return OddsChange(ratio, np.asarray(2 * ndtr(-np.abs(off / error))))


def _middle(old: Floats, new: Floats, odds: OddsByScore) -> Floats:
    """Return the middle of both thresholds of each label; of one infinite the other; of two, where odds are known."""
    with np.errstate(invalid="ignore"):
        middle = old / 2 + new / 2
    one = np.where(np.isfinite(old), old, new)
    one = np.where(np.isfinite(one), one, odds.at)
    return np.where(np.isfinite(old) & np.isfinite(new), middle, one)


class _Bins(NamedTuple):
    """Scores of neighbouring ranks taken together, label after label."""

    starts: Ints  # (n_labels + 1,)
    x: Floats  # (n_bins,) means of what curves are a function of
    positive: Ints  # (n_bins,) weights
    total: Ints  # (n_bins,)


def _first_ranks(n: int) -> Ints:
    """Return the ranks, from 0 at the top, with which bins begin."""
    ranks = [0]
    while ranks[-1] < n:
        ranks.append(ranks[-1] + 1 + ranks[-1] // _SINGLE)
    return np.array(ranks[:-1])


def _bins_of(problem: Problem, items: Items, of_shares: bool, ranks: Ints) -> _Bins:
    """Take the scores of neighbouring ranks of a tile of labels together, ties being of one rank."""
    if isinstance(items, Panel):
        bins = _bins_of_panel(items, of_shares, ranks)
        # Masked scores, which lie on no curve, and those next to the largest float have no sum.
        if np.isfinite(bins.x).all():
            return bins
    return _bins_of_tie_groups(problem, items, of_shares, ranks)


@np.errstate(over="ignore", invalid="ignore")
def _bins_of_panel(panel: Panel, of_shares: bool, ranks: Ints) -> _Bins:
    """Take the scores of neighbouring ranks of sorted labels together; means are not finite where sums are not."""
    scores = to_scores(panel.keys)  # (n_items,)
    x = scores
    if of_shares:
        x = _log_odds_of_shares(scores)
        x[scores < 0] = -np.inf  # Masked scores are no shares, and stay what they are.

    # Where bins begin, from the top down, and so where they end.
    starts = panel.starts - np.searchsorted(panel.tied, panel.starts)  # as tie groups are counted
    bin_starts, number = _bins_of_labels(np.diff(starts), ranks)
    label = group_of(bin_starts)  # (n_bins,)
    stops = panel.firsts_of(starts[1:][label] - ranks[number])  # (n_bins,)
    begins = np.append(stops[1:], 0)
    begins[bin_starts[1:] - 1] = panel.starts[:-1]

    # Sums are added up upwards.
    upwards = bin_starts[label] + bin_starts[label + 1] - 1 - np.arange(label.size)  # (n_bins,)
    sums = np.add.reduceat(x, begins[upwards], dtype=np.float64)[upwards]
    total = stops - begins

    # Positives of each label down to the end of each bin, less those of the bins above.
    so_far = panel.hits_above(label, panel.starts[label + 1] - begins)
    positive = np.diff(so_far, prepend=0)
    positive[bin_starts[:-1]] = so_far[bin_starts[:-1]]
    # Equal scores are their mean to the last bit.
    means = np.where(x[begins] == x[stops - 1], x[begins], sums / total)
    return _Bins(bin_starts, means, positive, total)


def _bins_of_tie_groups(problem: Problem, items: Items, of_shares: bool, ranks: Ints) -> _Bins:
    """Take the scores of neighbouring ranks together, tie group by tie group."""
    offsets, key, hit, weight = TieGroups.of(items)
    scores = to_scores(key)  # (n_groups,), ties being one group

    # Neither absent nor masked scores lie on a curve.
    on_curve = np.isfinite(scores)  # (n_groups,)
    if is_sparse(problem.scores):
        on_curve &= scores != problem.missing
    offsets = np.append(0, on_curve.cumsum())[offsets]
    hit = hit[on_curve]
    weight = weight[on_curve]
    x = scores[on_curve].astype(np.float64)
    if of_shares:
        x = _log_odds_of_shares(scores[on_curve])

    # Bins of each label.
    bin_starts, number = _bins_of_labels(np.diff(offsets), ranks)
    at = np.repeat(offsets[:-1], np.diff(bin_starts)) + ranks[number]  # (n_bins,)
    if at.size == 0:
        return _Bins(bin_starts, np.empty(0), at, at)
    total = np.add.reduceat(weight, at)
    # Means of shares of weight, so that nothing overflows.
    share = weight / np.repeat(total, np.diff(np.append(at, weight.size)))
    return _Bins(bin_starts, np.add.reduceat(x * share, at), np.add.reduceat(hit, at), total)


def _bins_of_labels(n_groups: Ints, ranks: Ints) -> tuple[Ints, Ints]:
    """Return where the bins of labels with so many tie groups start, (n_labels + 1,), and the number of each there."""
    n_bins = np.searchsorted(ranks, n_groups)  # (n_labels,)
    starts = np.append(0, n_bins.cumsum())
    return starts, np.arange(starts[-1]) - np.repeat(starts[:-1], n_bins)


def _log_odds_of_shares(shares: Scores) -> Floats:
    """Return log odds; 0 and 1 count as the numbers next to them, as in Platt calibration."""
    kind = shares.dtype.type
    most = float(np.nextafter(kind(1), kind(0)))
    return log_odds(np.clip(shares.astype(np.float64), least_positive(shares.dtype), most))


@np.errstate(divide="ignore", over="ignore", invalid="ignore")
def _fit(bins: _Bins, smoothing: float, unit: float) -> tuple[Floats, Booleans]:
    """Return, (10, n_labels), scale, centre, slope and intercept, both covariances; and whether they are known."""
    # Each bin is two cells: its positives, and its negatives.
    n_labels = bins.starts.size - 1
    label = group_of(bins.starts)  # (n_bins,)
    curves = fit_logistic(
        2 * bins.starts,
        np.repeat(bins.x, 2),
        np.tile(np.array([1, 0], np.uint8), label.size),
        np.stack([bins.positive, bins.total - bins.positive], axis=1).reshape(-1),
        smoothing,
    )
    scale, centre, slope, intercept = curves  # (n_labels,) each
    x = bins.x / scale[label] - centre[label]
    p = sigmoid(slope[label] * x + intercept[label])
    positive = bins.positive * unit
    negative = (bins.total - bins.positive) * unit

    def moments(of_bins: Floats) -> _Covariances:
        squares, products, sums = (
            np.bincount(label, part, n_labels).astype(np.float64)
            for part in (of_bins * x * x, of_bins * x, of_bins)
        )
        return _Covariances(squares, products, sums)

    inverse, is_known = _inverse(moments((positive + negative) * p * (1 - p)))
    robust = _between(inverse, moments(positive * (1 - p) ** 2 + negative * p**2))
    return np.stack([*curves, *inverse, *robust]), is_known


@np.errstate(divide="ignore", over="ignore", invalid="ignore")
def _known_best(figures: Floats, of_rows: Floats, at: Floats) -> Floats:
    """Return at, level, slope, and the errors of level and slope, of each label that has them: (5, n_known).

    A curve is not known where a figure of it is not finite, as with scores next to 0 or to the largest float.
    """
    scale, centre, slope, intercept = figures[:4]
    inverse, robust = _Covariances(*figures[4:7]), _Covariances(*figures[7:])

    # Of both covariances that which is larger at the threshold.
    here = np.where(np.isfinite(at), at / scale - centre, 0.0)  # (n_labels,)
    is_right = inverse.at(here) >= robust.at(here)
    slope_variance, both, intercept_variance = (
        of_rows * np.where(is_right, one, other) for one, other in zip(inverse, robust, strict=True)
    )

    # In the terms of the scores, about the point where slope and level have nothing in common.
    point = -both / slope_variance
    level_variance = intercept_variance + both * point
    values = np.stack(
        [
            (point + centre) * scale,
            slope * point + intercept,
            slope / scale,
            np.sqrt(np.maximum(level_variance, 0.0)),
            np.sqrt(slope_variance) / scale,
        ]
    )
    values[:, ~np.isfinite(values).all(axis=0)] = _UNKNOWN
    return values


def _inverse(matrix: _Covariances) -> tuple[_Covariances, Booleans]:
    """Invert symmetric matrices of two rows, and tell which have an inverse."""
    square = matrix.slope * matrix.intercept
    determinant = square - matrix.both**2
    is_regular = determinant > _LEAST_DETERMINANT * square
    divisor = np.where(is_regular, determinant, 1.0)
    parts = (matrix.intercept / divisor, -matrix.both / divisor, matrix.slope / divisor)
    return _Covariances(*parts), is_regular


def _between(outer: _Covariances, inner: _Covariances) -> _Covariances:
    """Return outer inner outer, of symmetric matrices of two rows."""
    a, b, c = outer
    d, e, f = inner
    first = (a * d + b * e, a * e + b * f)  # the first row of outer inner
    second = (b * d + c * e, b * e + c * f)
    return _Covariances(
        first[0] * a + first[1] * b, first[0] * b + first[1] * c, second[0] * b + second[1] * c
    )
