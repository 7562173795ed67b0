"""How far to follow estimates of base rates: shifts of all labels together tell which shifts are likely.

The estimate of a rare label on few rows is noisy, and to follow it may cost more than the shift does. So the shift d of
a label's log odds is taken to come from a distribution g over labels, which is found by maximum likelihood:

    maximise over g  the product over labels of  sum over d of g(d) L(d),    with one label more that has not moved,

g on a grid, by EM (Kiefer and Wolfowitz 1956; Laird 1978, "Nonparametric maximum likelihood estimation of a mixing
distribution"). The shift that is followed is the mean of its posterior, g(d) L(d) over its sum. Where all labels moved
alike, each leans on all; where one moved alone, it is followed if it moved more clearly than chance would move one of
so many. L is the likelihood of the new rows (`mixtures.py`), in bins of scores, to the power of their share in the
noise of its maximum: the rest is that of the calibration.
"""

import numpy as np

from thresholds._arrays.types import Booleans, Floats
from thresholds.calibration.curves import moved_odds
from thresholds.calibration.mixtures import Mixture, density_of, score_of

_GRID = np.linspace(-4.0, 4.0, 161)  # shifts of log odds, 0 among them
_ROUNDS = 200  # of EM
_NOT_MOVED = _GRID.size // 2


def followed_rates(
    mixture: Mixture, presumed: Floats, p: Floats, before: Floats, now: Floats, told: Booleans
) -> Floats:
    """Return the rates to follow, (n_labels,); of labels that are not told, the rates before.

    p are mean probabilities of bins (n_labels, n_bins), which presume base rates; `now` are the likeliest rates.
    """
    after = before.copy()
    if told.any():
        of_told = (values[told] for values in (presumed, p, before, now))
        likelihood = _likelihoods(mixture.of_labels(np.flatnonzero(told)), *of_told)
        posterior = _prior_of(likelihood) * likelihood
        shift = posterior @ _GRID / posterior.sum(axis=1)
        after[told] = moved_odds(before[told], np.exp(shift))
    return after


def _likelihoods(
    mixture: Mixture, presumed: Floats, p: Floats, before: Floats, now: Floats
) -> Floats:
    """Return the likelihood of each shift of each label, the highest being 1: (n_labels, n_grid)."""
    new = mixture.new
    share = mixture.share_of_new(score_of(presumed, p, now), now)  # in the noise of the estimate

    log = np.empty((before.size, _GRID.size))
    for k, shift in enumerate(_GRID):
        t = moved_odds(before, np.full(before.size, np.exp(shift)))
        density = density_of(p, presumed[:, np.newaxis], t[:, np.newaxis])
        log[:, k] = (new.shares * np.log(density)).sum(axis=1)
    log *= (new.n * share)[:, np.newaxis]
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
