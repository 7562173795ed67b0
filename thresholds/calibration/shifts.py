"""How far to follow estimates of base rates: shifts of all labels together tell which shifts are likely.

The estimate of a rare label on few rows is noisy, and to follow it may cost more than the shift does. So the shift d of
a label's log odds is taken to come from a distribution g over labels, which is found by maximum likelihood:

    maximise over g  the product over labels of  sum over d of g(d) L(d),    with one label more that has not moved,

g on a grid, by EM (Kiefer and Wolfowitz 1956; Laird 1978, "Nonparametric maximum likelihood estimation of a mixing
distribution"). The shift that is followed is the mean of its posterior, g(d) L(d) over its sum. Where all labels moved
alike, each leans on all; where one moved alone, it is followed if it moved more clearly than chance would move one of
so many. L is the likelihood of the new rows (`mixtures.py`), in bins of scores, to the power of their share in the
noise of its maximum: the rest is that of the calibration.

**Do base rates move together, or do scores tell positives apart less well than before, or better?**

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
from thresholds.calibration.curves import moved_odds
from thresholds.calibration.mixtures import BinSpace, Mixture, density_of, odds_of, shares_of

_GRID = np.linspace(-4.0, 4.0, 161)  # shifts of log odds, 0 among them
_ROUNDS = 200  # of EM
_NOT_MOVED = _GRID.size // 2

_LEAST_SHIFT = 0.1  # of log odds that is followed, and may do harm
_FEWEST = 3  # labels that go together
_ONE_WAY = 0.75  # of the shifts, at least
_BETTER = 2 * np.log(20.0)
_SHARE = 0.1  # of what there is to explain
_TIMES_AS_FAR = np.linspace(0.2, 2.0, 37)  # c


def followed_rates(mixture: Mixture, now: Floats, told: Booleans) -> Floats:
    """Return the rates to follow, (n_labels,); of labels that are not told, the rates before.

    `now` are the likeliest rates.
    """
    after = mixture.before.copy()
    if told.any():
        of_told = mixture.taken(np.flatnonzero(told))
        likelihood = _likelihoods(of_told, now[told])
        posterior = _prior_of(likelihood) * likelihood
        shift = posterior @ _GRID / posterior.sum(axis=1)
        after[told] = moved_odds(of_told.before, np.exp(shift))
    return after


def _likelihoods(mixture: Mixture, now: Floats) -> Floats:
    """Return the likelihood of each shift of each label, the highest being 1: (n_labels, n_grid)."""
    variance, own = mixture.variance_of_gap(mixture.score_at(now), now)
    share = np.divide(own, variance, out=np.ones_like(own), where=variance > 0)

    log = np.empty((now.size, _GRID.size))
    for k, shift in enumerate(_GRID):
        t = moved_odds(mixture.before, np.full(now.size, np.exp(shift)))
        density = density_of(mixture.p, mixture.presumed[:, np.newaxis], t[:, np.newaxis])
        log[:, k] = (mixture.shares * np.log(density)).sum(axis=1)
    log *= (mixture.n * share)[:, np.newaxis]
    return np.asarray(np.exp(log - log.max(axis=1, keepdims=True)))


def _prior_of(likelihood: Floats) -> Floats:
    """Return the distribution of shifts of highest likelihood: (n_grid,)."""
    prior = np.full(_GRID.size, 1 / _GRID.size)
    for _ in range(_ROUNDS):
        posterior = prior * likelihood  # (n_labels, n_grid)
        posterior /= np.maximum(posterior.sum(axis=1, keepdims=True), 1e-300)
        prior = posterior.sum(axis=0)
        prior[_NOT_MOVED] += 1
        prior /= prior.sum()
    return prior


def unexplained(
    mixture: Mixture, now: Floats, shifts: Floats, told: Booleans, changed: Booleans
) -> Booleans:
    """Tell which labels, (n_labels,), have shifts of log odds that may not be those of base rates, and go together.

    `now` are the likeliest rates. Only labels that are `told` are held back; those whose scores have `changed` count,
    with the shifts that they seem to have, among those that go one way.
    """
    if 2 * np.count_nonzero(changed) > np.count_nonzero(told | changed):
        return told
    for sign in (-1.0, 1.0):
        large = (told | changed) & (np.abs(shifts) > _LEAST_SHIFT)
        n_this_way = np.count_nonzero(large & (sign * shifts > 0))
        if n_this_way >= max(_FEWEST, _ONE_WAY * np.count_nonzero(large)):
            this_way = told & (sign * shifts > 0)
            at = np.flatnonzero(this_way)
            if at.size and not _explains(mixture.taken(at), now[at]):
                return this_way
    return np.zeros(told.size, np.bool_)


def _explains(mixture: Mixture, now: Floats) -> bool:
    """Tell whether other base rates explain the scores of these labels better than other positives do."""
    n_bins = mixture.shares.shape[1]
    sums = np.zeros(3)
    for labels in row_blocks(now.size, n_bins**2 + n_bins * _TIMES_AS_FAR.size):
        at = np.arange(labels.start, labels.stop)
        sums += _distances(mixture.taken(at), now[at])
    by_rates, by_positives, by_none = sums
    better = by_positives - by_rates
    return bool(better > max(_BETTER, _SHARE * (by_none - by_rates)))


def _distances(mixture: Mixture, now: Floats) -> Floats:
    """Return the sums over labels of X^2 of other base rates, of other positives, and of no change: (3,)."""
    positive, negative, before = mixture.positive, mixture.negative, mixture.observed
    n_fit = np.maximum(positive.n + negative.n, 1.0)
    space = BinSpace.from_mixture(mixture, now, before * (1 - before) / n_fit)
    new_shares, positive_shares, negative_shares = (
        space.grouped(each.shares) for each in (mixture, positive, negative)
    )
    apart = new_shares - negative_shares
    by_rates = space.least(np.stack([apart, positive_shares - negative_shares], axis=2))

    # Positives that lie c times as far from negatives: with c = 1 they are those that were counted.
    log_ratios = np.log(odds_of(mixture.p) / odds_of(mixture.presumed)[:, np.newaxis])  # f1 / f0
    others = []
    for c in (1.0, *_TIMES_AS_FAR):
        shares = shares_of(positive.shares * np.exp((c - 1) * log_ratios))
        others.append(apart - before[:, np.newaxis] * (space.grouped(shares) - negative_shares))
    vectors = np.stack(others, axis=2)  # (n_labels, n_bins, n_c)
    squares = space.squares(vectors)  # (n_labels, n_c)
    return np.array([by_rates.sum(), squares[:, 1:].min(axis=1).sum(), squares[:, 0].sum()])
