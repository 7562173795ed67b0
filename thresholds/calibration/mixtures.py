"""Base rates of new rows from the scores of positives and of negatives in the calibration: estimates, intervals, fit.

If the scores of positives and those of negatives are distributed as in the calibration, then the new ones are a mixture

    f = t f1 + (1 - t) f0,    t the new base rate,

and for any function h of a score  E[h] = t E1[h] + (1 - t) E0[h].  So

    t = (E[h] - E0[h]) / (E1[h] - E0[h])                                                                       (1)

The likelihood has f1 / f0 from calibrated probabilities p and their base rate r (Saerens, Latinne and Decaestecker
2002, "Adjusting the outputs of a classifier to new a priori probabilities", section 2.2). It is, with
a = (p - r) / (r (1 - r)),

    sum over rows of  log(1 + (t - r) a),    concave in t.

Its maximum is the fixed point of their EM algorithm, and a root of  sum of a / (1 + (t - r) a),  which Newton's method
finds between bounds. It is (1) with h = a / (1 + (t - r) a), where the means of the calibration are those that the
curve has. This h, with means that are counted, gives the interval, which so holds where the curve is off; it is
extended to the maximum if that lies outside.

**Interval.** Rates t that are not rejected by the test that E[h] - t E1[h] - (1 - t) E0[h] is 0, with its variance for
t (Fieller 1954, "Some problems in interval estimation"; for new rows as Wilson 1927 has it):

    V(t) = (t S1 + (1 - t) S0 - (t E1 + (1 - t) E0)^2) / n + t^2 V1 / n1 + (1 - t)^2 V0 / n0,    S the means of h^2,

a quadratic inequality in t. Both the new rows and those of the calibration have their noise in it. If E1 - E0 is not
told from 0, no rate is excluded.

**Fit.** Over bins of scores, X^2 is the least squared distance of the new shares from a mixture, t being free, by the
covariance of all three samples: chi-squared with two degrees of freedom less than bins.
"""

from typing import NamedTuple, Self

import numpy as np

from thresholds._arrays.blocks import row_blocks
from thresholds._arrays.types import Booleans, Floats, Ints
from thresholds._results.fields import Record, SavedRecord, of_labels, part, record
from thresholds.calibration.by_class import ScoresByClass

ROUNDING = 1e-9  # of rates; those that are known stay as far from 0 and 1
_MOST_STEPS = 100  # of Newton's method, which takes some five
_ACCURACY = 1e-12
_HALVINGS = 50
_FEWEST_IN_BIN = 10.0  # rows, in the calibration and expected among the new ones


@record
class ClassInBins(SavedRecord):
    """The positives, or the negatives, of the calibration in bins of scores."""

    shares: Floats = of_labels()  # (n_labels, n_bins), adding up to 1
    # (n_labels, n_bins), shares for variances: with one row more, spread as the curve has it
    smooth: Floats = of_labels()
    n: Floats = of_labels()  # (n_labels,)

    @classmethod
    def from_counts(cls, counts: Floats, spread: Floats) -> Self:
        """Take counts; `spread` says how rows are expected to be spread, up to a factor: (n_labels, n_bins) each."""
        n = counts.sum(axis=1)  # (n_labels,)
        expected = shares_of(spread)
        shares = np.where(n[:, np.newaxis] > 0, shares_of(counts), expected)
        return cls(shares, (counts + expected) / (n + 1)[:, np.newaxis], n)

    def mean(self, h: Floats) -> Floats:
        """Return the mean of a function of bins: (n_labels,)."""
        return np.asarray((self.shares * h).sum(axis=1))

    def variance_of_mean(self, h: Floats) -> Floats:
        """Return the variance of that mean: (n_labels,)."""
        centre = (self.smooth * h).sum(axis=1)[:, np.newaxis]
        return np.asarray((self.smooth * (h - centre) ** 2).sum(axis=1) / np.maximum(self.n, 1.0))


@record
class Mixture(Record):
    """New rows in bins of scores, and the positives and negatives of the calibration that they may be a mixture of."""

    # The new rows, and how many of equal weight tell as much.
    shares: Floats = of_labels()  # (n_labels, n_bins)
    n: Floats = of_labels()  # (n_labels,)
    # (n_labels, n_bins), the sum of squared shares of rows over their shares: 1 / n without weights
    per_row: Floats = of_labels()
    # The calibration: the mean probability in each bin by the curve, the base rates that this presumes, those before
    # (others where it was told so), and the share of positives, for the rates before.
    p: Floats = of_labels()  # (n_labels, n_bins)
    presumed: Floats = of_labels()  # (n_labels,) inside (0, 1)
    before: Floats = of_labels()  # (n_labels,)
    observed: Floats = of_labels()  # (n_labels,)
    positive: ClassInBins = part(ClassInBins.from_dict)
    negative: ClassInBins = part(ClassInBins.from_dict)

    @classmethod
    def from_weights(
        cls,
        weights: Floats,
        squares: Floats,
        known: ScoresByClass,
        before: Floats,
        observed: Floats,
    ) -> Self:
        """Take sums of the weights of new rows, and of their squares, (n_labels, n_bins) each."""
        total = weights.sum(axis=1, keepdims=True)  # (n_labels, 1)
        all_squares = squares.sum(axis=1, keepdims=True)
        with np.errstate(divide="ignore", invalid="ignore"):
            n = np.where(total > 0, total**2 / all_squares, 0.0)
            usual = np.where(total > 0, all_squares / total**2, 1.0)
            per_row = np.where(weights > 0, squares / weights / total, usual)
        spread = known.shares()
        return cls(
            shares=shares_of(weights),
            n=n[:, 0],
            per_row=per_row,
            p=known.probabilities,
            presumed=inside(known.rates),
            before=before,
            observed=observed,
            positive=ClassInBins.from_counts(known.positives, spread * known.probabilities),
            negative=ClassInBins.from_counts(known.negatives, spread * (1 - known.probabilities)),
        )

    def score_at(self, t: Floats) -> Floats:
        """Return h of the likelihood at a rate, (n_labels, n_bins), from the mean probability of each bin."""
        presumed = self.presumed[:, np.newaxis]
        a = (self.p - presumed) / (presumed * (1 - presumed))
        return np.asarray(a / density_of(self.p, presumed, t[:, np.newaxis]))

    def smooth(self, t: Floats) -> Floats:
        """Return the shares of bins in the mixture at rates, for variances: (n_labels, n_bins)."""
        rate = t[:, np.newaxis]
        return rate * self.positive.smooth + (1 - rate) * self.negative.smooth

    def gap(self, h: Floats, t: Floats) -> Floats:
        """Return by how much the mean of a function of bins is above that of the mixture at rates: (n_labels,)."""
        expected = t * self.positive.mean(h) + (1 - t) * self.negative.mean(h)
        return np.asarray((self.shares * h).sum(axis=1) - expected)

    def variance_of_gap(self, h: Floats, t: Floats) -> tuple[Floats, Floats]:
        """Return the variance of that gap if these are the rates, and the part of new rows in it: (n_labels,) each."""
        share = self.smooth(t)
        centre = (share * h).sum(axis=1)[:, np.newaxis]
        of_new = (share * (h - centre) ** 2 * self.per_row).sum(axis=1)
        of_positives = t**2 * self.positive.variance_of_mean(h)
        of_negatives = (1 - t) ** 2 * self.negative.variance_of_mean(h)
        return of_new + of_positives + of_negatives, of_new

    def rows_for(self, h: Floats) -> Floats:
        """Return how many new rows of equal weight tell as much of the mean of a function of bins: (n_labels,)."""
        centre = (self.shares * h).sum(axis=1)[:, np.newaxis]
        squared = self.shares * (h - centre) ** 2
        with np.errstate(divide="ignore", invalid="ignore"):
            rows = squared.sum(axis=1) / (squared * self.per_row).sum(axis=1)
        return np.where(np.isfinite(rows), rows, self.n)


def inside(rates: Floats) -> Floats:
    """Return rates inside (0, 1); what is found where they were not is not used."""
    return np.clip(rates, ROUNDING, 1 - ROUNDING)


def odds_of(rates: Floats) -> Floats:
    """Return the odds of rates, kept inside (0, 1)."""
    rates = inside(rates)
    return rates / (1 - rates)


def likeliest_rates(starts: Ints, p: Floats, weights: Floats, rates: Floats) -> Floats:
    """Return the rates of highest likelihood, (n_labels,), from probabilities, one label after another.

    `rates` are those that the probabilities presume, inside (0, 1); a label without cells keeps its own.
    """
    is_filled = np.diff(starts) > 0
    first = starts[:-1][is_filled]
    before = rates[is_filled]
    size = np.diff(starts)[is_filled]
    presumed = np.repeat(before, size)  # (n_cells,)
    a = (p - presumed) / (presumed * (1 - presumed))

    def slopes(t: Floats) -> tuple[Floats, Floats]:
        # The first derivative of the log-likelihood, and the second one with its sign turned.
        with np.errstate(divide="ignore", invalid="ignore"):
            h = a / density_of(p, presumed, np.repeat(t, size))
            weighted = weights * h
            return np.add.reduceat(weighted, first), np.add.reduceat(weighted * h, first)

    # At an end of [0, 1] where the likelihood still rises.
    low = np.zeros_like(before)
    high = np.ones_like(before)
    at_low, _ = slopes(low)
    at_high, _ = slopes(high)
    at_end = (at_low <= 0) | (at_high >= 0)
    found = np.where(at_low <= 0, 0.0, np.where(at_high >= 0, 1.0, before))

    # Elsewhere by Newton's method, by halving where that leaves the bounds.
    for _ in range(_MOST_STEPS):
        slope, curvature = slopes(np.where(at_end, before, found))
        low = np.where(slope > 0, found, low)
        high = np.where(slope < 0, found, high)
        with np.errstate(divide="ignore", invalid="ignore"):
            moved = found + slope / curvature
        is_within = (moved > low) & (moved < high)
        moved = np.where(is_within, moved, (low + high) / 2)
        moved = np.where(at_end | (slope == 0), found, moved)
        is_close = np.abs(moved - found) <= _ACCURACY * np.minimum(moved, 1 - moved)
        found = moved
        if (is_close | at_end).all():
            break
    return _put(rates, is_filled, found)


def density_of(p: Floats, before: Floats, t: Floats) -> Floats:
    """Return how much more frequent scores of probabilities p are at rates t than at those before.

    This is 1 + (t - r) a, as a sum of two terms that are never negative, however they are rounded.
    """
    return np.asarray(p * (t / before) + (1 - p) * ((1 - t) / (1 - before)))


def interval(mixture: Mixture, h: Floats, deviate: float) -> tuple[Floats, Floats]:
    """Return the ends of the interval of rates that are not rejected at a normal deviate: (n_labels,) each.

    They are 0 and 1 where the rate cannot be told.
    """
    positive, negative = mixture.positive, mixture.negative
    mean_1, mean_0 = positive.mean(h), negative.mean(h)
    square_1, square_0 = positive.mean(h**2), negative.mean(h**2)
    difference = mean_1 - mean_0
    z2 = deviate**2
    noise_1 = z2 * positive.variance_of_mean(h)
    noise_0 = z2 * negative.variance_of_mean(h)
    with np.errstate(divide="ignore", invalid="ignore"):
        rate = np.clip(((mixture.shares * h).sum(axis=1) - mean_0) / difference, 0.0, 1.0)
        gap = np.where(difference != 0, rate, 0.0) * difference  # as if it had been inside [0, 1]

        # a t^2 - 2 b t + c <= 0, of the squared deviation less z^2 V(t).
        per_row = np.where(mixture.n > 0, z2 / mixture.rows_for(h), np.inf)
        a = difference**2 * (1 + per_row) - noise_1 - noise_0
        b = gap * difference - noise_0
        b = b + per_row * (square_1 - square_0 - 2 * mean_0 * difference) / 2
        c = gap**2 - per_row * np.maximum(square_0 - mean_0**2, 0) - noise_0
        root = np.sqrt(np.maximum(b**2 - a * c, 0))
        low = np.clip((b - root) / a, 0.0, 1.0)
        high = np.clip((b + root) / a, 0.0, 1.0)

    # Where means of positives and negatives are not told apart, any rate may be.
    told = (difference**2 > noise_1 + noise_0) & np.isfinite(rate)
    return np.where(told, np.minimum(low, rate), 0.0), np.where(told, np.maximum(high, rate), 1.0)


def deviate_of_shift(mixture: Mixture) -> Floats:
    """Return how far new rates are from those before, in standard deviations of no shift: (n_labels,).

    Those before are shares of positives in the calibration, and noisy themselves. Where few positives are expected, a
    mean of h is far from normal: it is the nearer of the deviate and of the signed root of what large deviations have,
    as one row more is seldom, but not as seldom as a normal law has it.
    """
    h, t = mixture.score_at(inside(mixture.before)), mixture.observed
    n_fit = mixture.positive.n + mixture.negative.n
    of_rate = t * (1 - t) / np.maximum(n_fit, 1)
    difference = mixture.positive.mean(h) - mixture.negative.mean(h)
    variance = mixture.variance_of_gap(h, t)[0] + of_rate * difference**2
    gap = mixture.gap(h, t)
    with np.errstate(divide="ignore", invalid="ignore"):
        z = np.where(variance > 0, gap / np.sqrt(variance), 0.0)
    root = _root_of_deviation(mixture, h, t, gap, variance)
    return np.asarray(np.sign(z) * np.minimum(np.abs(z), root))


def _root_of_deviation(
    mixture: Mixture, h: Floats, t: Floats, gap: Floats, variance: Floats
) -> Floats:
    """Return sqrt(2 n sup of s x - K(s)) for a mean of n new rows that is x above what is expected: (n_labels,).

    K is the cumulant generating function of h on one row, in which the noise of the calibration is a normal part
    (Cramer 1938; Jensen 1995, "Saddlepoint Approximations", section 2.3). s is looked for up to where a normal law has
    it. Where it lies further out, the result is no smaller than the normal deviate.
    """
    share = mixture.smooth(t)
    n = np.maximum(mixture.rows_for(h), 1.0)
    centre = (share * h).sum(axis=1)[:, np.newaxis]
    of_row = np.where(variance > 0, np.sqrt(n * variance), 1.0)  # (n_labels,)
    y = (h - centre) / of_row[:, np.newaxis] * np.sign(gap)[:, np.newaxis]
    x = np.abs(gap) / of_row
    normal = np.maximum(1.0 - (share * y**2).sum(axis=1), 0.0)  # the part of the calibration

    def tilted(s: Floats) -> tuple[Floats, Floats]:
        # s x - K(s), and its slope; the largest exponent is taken out.
        exponent = s[:, np.newaxis] * y
        most = exponent.max(axis=1)
        weight = share * np.exp(exponent - most[:, np.newaxis])
        total = weight.sum(axis=1)
        value = s * x - np.log(total) - most - normal * s**2 / 2
        return value, x - (weight * y).sum(axis=1) / total - normal * s

    low, high = np.zeros_like(x), x.copy()
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        rises = tilted(middle)[1] > 0
        low = np.where(rises, middle, low)
        high = np.where(rises, high, middle)
    return np.asarray(np.sqrt(2 * n * np.maximum(tilted(high)[0], 0.0)))


def p_of_fit(mixture: Mixture, t: Floats) -> Floats:
    """Test that new scores are a mixture of those of positives and negatives: p-values (n_labels,).

    t are the rates that covariances are taken at; NaN where there are too few rows for three bins.
    """
    p = np.empty(t.size)
    n_bins = mixture.shares.shape[1]
    for labels in row_blocks(t.size, n_bins**2):  # Covariances of all would take much memory.
        at = np.arange(labels.start, labels.stop)
        p[labels] = _p_of_fit(mixture.taken(at), t[labels])
    return p


def _p_of_fit(mixture: Mixture, t: Floats) -> Floats:
    """Test labels together."""
    from scipy.special import chdtrc

    space = BinSpace.from_mixture(mixture, t)
    new, positive, negative = (
        space.grouped(each.shares) for each in (mixture, mixture.positive, mixture.negative)
    )
    least = space.least(np.stack([new - negative, positive - negative], axis=2))
    freedom = space.n_groups - 2
    p = chdtrc(np.maximum(freedom, 1), np.maximum(least, 0.0))
    return np.asarray(np.where(freedom > 0, p, np.nan))


class BinSpace(NamedTuple):
    """Groups of bins that hold enough rows, and lengths of vectors of shares in them, by the noise of all samples."""

    group: Ints  # (n_labels, n_bins), the group of each bin
    # (n_labels, n_bins, n_bins), the covariance over the scale, made regular: distances of shares add up to 0.
    regular: Floats
    scale: Floats  # (n_labels, 1, 1)

    @classmethod
    def from_mixture(
        cls, mixture: Mixture, t: Floats, variance_of_rate: Floats | None = None
    ) -> "BinSpace":
        """Take covariances at rates, (n_labels,), and the noise of a rate before where it is not free."""
        positive, negative = mixture.positive, mixture.negative
        share = mixture.smooth(t)
        n_positive, n_negative = positive.n[:, np.newaxis], negative.n[:, np.newaxis]
        counts = positive.shares * n_positive + negative.shares * n_negative  # (n_labels, n_bins)
        group = _groups(np.minimum(counts, share * mixture.n[:, np.newaxis]))  # (n_labels, n_bins)

        # Shares and covariances of groups of bins: those of three multinomial samples.
        at_rate = _grouped(share, group)
        weights = _grouped(share * mixture.per_row, group)
        smooth = [_grouped(sample.smooth, group) for sample in (positive, negative)]
        parts = [
            _covariance(at_rate, weights / np.maximum(at_rate, 1e-300)),
            _covariance(smooth[0], (t**2 / np.maximum(positive.n, 1))[:, np.newaxis]),
            _covariance(smooth[1], ((1 - t) ** 2 / np.maximum(negative.n, 1))[:, np.newaxis]),
        ]
        covariance = parts[0] + parts[1] + parts[2]  # (n_labels, n_bins, n_bins)
        if variance_of_rate is not None:
            apart = _grouped(positive.shares - negative.shares, group)
            product = apart[:, :, np.newaxis] * apart[:, np.newaxis]
            covariance = covariance + variance_of_rate[:, np.newaxis, np.newaxis] * product

        # Distances add up to 0, and so the covariance is made regular along (1, ..., 1), and in bins that are no group.
        n_bins = group.shape[1]
        scale = np.trace(covariance, axis1=1, axis2=2)[:, np.newaxis, np.newaxis]
        scale = np.where(scale > 0, scale, 1.0)
        is_group = np.arange(n_bins) <= group[:, -1:]
        both = is_group[:, :, np.newaxis] & is_group[:, np.newaxis]
        return cls(group, np.where(both, covariance / scale + 1.0, np.eye(n_bins)), scale)

    @property
    def n_groups(self) -> Ints:
        """How many groups each label has: (n_labels,)."""
        return self.group[:, -1] + 1

    def grouped(self, shares: Floats) -> Floats:
        """Return the shares of groups of bins, and 0 in bins that are no group: (n_labels, n_bins)."""
        return _grouped(shares, self.group)

    def squares(self, vectors: Floats) -> Floats:
        """Return the squared lengths of vectors (n_labels, n_bins, k) by the covariance: (n_labels, k)."""
        solved = np.linalg.solve(self.regular, vectors)
        return np.asarray((vectors * solved).sum(axis=1) / self.scale[:, 0])

    def least(self, vectors: Floats) -> Floats:
        """Return the least squared length of the first of two vectors less a multiple of the second: (n_labels,)."""
        solved = np.linalg.solve(self.regular, vectors)
        products = np.swapaxes(vectors, 1, 2) @ solved / self.scale  # (n_labels, 2, 2)
        with np.errstate(divide="ignore", invalid="ignore"):
            explained = products[:, 0, 1] ** 2 / products[:, 1, 1]
        return np.asarray(products[:, 0, 0] - np.where(np.isfinite(explained), explained, 0.0))


def shares_of(counts: Floats) -> Floats:
    """Return counts as shares of their sums; equal ones where the sum is 0."""
    total = counts.sum(axis=1, keepdims=True)
    even = np.full_like(counts, 1 / counts.shape[1])
    return np.asarray(np.divide(counts, total, out=even, where=total > 0))


def _groups(counts: Floats) -> Ints:
    """Number groups of neighbouring bins that hold enough each, the top one highest: (n_labels, n_bins)."""
    n_labels, n_bins = counts.shape
    begins = np.zeros((n_labels, n_bins), np.bool_)  # whether a group begins at this bin, upwards
    held = np.zeros(n_labels)
    rest = counts.sum(axis=1)
    for k in range(n_bins - 1, 0, -1):
        held += counts[:, k]
        rest -= counts[:, k]
        begins[:, k] = (held >= _FEWEST_IN_BIN) & (rest >= _FEWEST_IN_BIN)
        held[begins[:, k]] = 0.0
    return np.asarray(begins.cumsum(axis=1), np.int64)


def _grouped(values: Floats, group: Ints) -> Floats:
    """Add up the values of bins of one group: (n_labels, n_bins)."""
    sums = np.zeros_like(values)
    np.add.at(sums, (np.arange(len(values))[:, np.newaxis], group), values)
    return sums


def _covariance(shares: Floats, per_row: Floats) -> Floats:
    """Return the covariance of shares of multinomial samples, (n_labels, n_bins, n_bins)."""
    spread = shares * per_row  # (n_labels, n_bins)
    n_bins = shares.shape[1]
    diagonal = spread[:, :, np.newaxis] * np.eye(n_bins)
    product = shares[:, :, np.newaxis] * spread[:, np.newaxis]
    total = spread.sum(axis=1)[:, np.newaxis, np.newaxis]
    outer = shares[:, :, np.newaxis] * shares[:, np.newaxis]
    return np.asarray(diagonal - product - np.swapaxes(product, 1, 2) + total * outer)


def _put(values: Floats, where: Booleans, new: Floats) -> Floats:
    """Return values with new ones in some places."""
    result = values.copy()
    result[where] = new
    return result
