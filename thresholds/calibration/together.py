"""Do base rates move together, or do scores tell positives apart less well than before, or better?

Where positives score lower than they did, fewer scores are high, which looks like fewer positives, and so for all
labels at once. So where nearly all shifts of base rates go one way, two explanations of the new scores are held against
each other, over the labels that go that way:

* another base rate: t f1 + (1 - t) f0, t being free;
* other positives at the old base rate r: r g + (1 - r) f0 with g = f1 (f1 / f0)^(c - 1) up to a factor, c being free,
  the ratio by the curve. Of normal scores of one variance, g are positives that lie c times as far from negatives.

Each has one number that is free for each label, and X^2 is the squared distance of the new shares of bins from it, by
the covariance that the test of fit in `mixtures.py` has. The shifts are followed if base rates explain the scores
better in both these ways: the sum over labels of the difference of both X^2, which is twice a log-likelihood ratio, is
that of a ratio of 20 at least; and it is a tenth of what there is to explain, as neither explanation is exact. Else
nothing tells which of the two it was, and no shift of that direction is followed.

Where no base rate explains the scores of most labels, the others, of which that is not shown, are left as well.
"""

import numpy as np

from thresholds._arrays.blocks import row_blocks
from thresholds._arrays.types import Booleans, Floats
from thresholds.calibration.mixtures import BinSpace, Mixture, shares_of

_LEAST_SHIFT = 0.1  # of log odds that is followed, and may do harm
_FEWEST = 3  # labels that go together
_ONE_WAY = 0.75  # of the shifts, at least
_BETTER = 2 * np.log(20.0)
_SHARE = 0.1  # of what there is to explain
_TIMES_AS_FAR = np.linspace(0.2, 2.0, 37)  # c


def unexplained(
    mixture: Mixture,
    log_ratios: Floats,
    observed: Floats,
    now: Floats,
    shifts: Floats,
    told: Booleans,
    changed: Booleans,
) -> Booleans:
    """Tell which labels, (n_labels,), have shifts of log odds that may not be those of base rates, and go together.

    `log_ratios` are log f1 / f0 in bins (n_labels, n_bins); `observed` are shares of positives of the calibration, for
    the base rates before; `now` are the likeliest rates. Only labels that are `told` are held back; those whose scores
    have `changed` count, with the shifts that they seem to have, among those that go one way.
    """
    if 2 * np.count_nonzero(changed) > np.count_nonzero(told | changed):
        return told
    for sign in (-1.0, 1.0):
        large = (told | changed) & (np.abs(shifts) > _LEAST_SHIFT)
        n_this_way = np.count_nonzero(large & (sign * shifts > 0))
        if n_this_way >= max(_FEWEST, _ONE_WAY * np.count_nonzero(large)):
            this_way = told & (sign * shifts > 0)
            at = np.flatnonzero(this_way)
            if at.size and not _explains(
                mixture.of_labels(at), log_ratios[at], observed[at], now[at]
            ):
                return this_way
    return np.zeros(told.size, np.bool_)


def _explains(mixture: Mixture, log_ratios: Floats, before: Floats, now: Floats) -> bool:
    """Tell whether other base rates explain the scores of these labels better than other positives do."""
    n_bins = mixture.new.shares.shape[1]
    sums = np.zeros(3)
    for labels in row_blocks(before.size, n_bins**2 + n_bins * _TIMES_AS_FAR.size):
        at = np.arange(labels.start, labels.stop)
        sums += _distances(mixture.of_labels(at), log_ratios[at], before[at], now[at])
    by_rates, by_positives, by_none = sums
    better = by_positives - by_rates
    return bool(better > max(_BETTER, _SHARE * (by_none - by_rates)))


def _distances(mixture: Mixture, log_ratios: Floats, before: Floats, now: Floats) -> Floats:
    """Return the sums over labels of X^2 of other base rates, of other positives, and of no change: (3,)."""
    new, positive, negative = mixture
    n_fit = np.maximum(positive.n + negative.n, 1.0)
    space = BinSpace.of(mixture, now, before * (1 - before) / n_fit)
    new_shares, positive_shares, negative_shares = (
        space.grouped(shares) for shares in (new.shares, positive.shares, negative.shares)
    )
    apart = new_shares - negative_shares
    by_rates = space.least(np.stack([apart, positive_shares - negative_shares], axis=2))

    # Positives that lie c times as far from negatives: with c = 1 they are those that were counted.
    others = []
    for c in (1.0, *_TIMES_AS_FAR):
        shares = shares_of(positive.shares * np.exp((c - 1) * log_ratios))
        others.append(apart - before[:, np.newaxis] * (space.grouped(shares) - negative_shares))
    vectors = np.stack(others, axis=2)  # (n_labels, n_bins, n_c)
    squares = space.squares(vectors)  # (n_labels, n_c)
    return np.array([by_rates.sum(), squares[:, 1:].min(axis=1).sum(), squares[:, 0].sum()])
