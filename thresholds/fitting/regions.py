"""Uncalibrated scores whose likelihood ratio need not rise: the best region of scores, which may be no threshold.

With densities p1 and p0 of the scores of a label's positives and negatives and base rate r, what maximises F-beta is

    r p1(s) / ((1 - r) p0(s)) >= F* / (1 + b^2 - F*),    that is    Pr(positive | s) >= F* / (1 + b^2)

(Lipton, Elkan & Naryanaswamy 2013, theorem 5.1, with Jaccard's index F / (2 - F) for b = 1). Here the densities are
those of bins of scores.
"""

from typing import Any, Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from thresholds import _checks
from thresholds._arrays import threads
from thresholds._arrays.types import Floats, Ints
from thresholds._checks import Average
from thresholds._kernels.keys import to_scores
from thresholds.calibration.isotonic import rising_blocks
from thresholds.data.problem import Problem
from thresholds.fitting.record import with_record
from thresholds.rule import RegionRule
from thresholds.rule.made_by import MadeBy
from thresholds.search.placement import place

Posterior = Literal["histogram", "isotonic"]

_POSITIVES_PER_BIN = 10  # fewer would make the ratio in a bin a matter of luck
_MIN_BINS = 2
_MAX_BINS = 50


class _Bins(NamedTuple):
    """The bins of a label's scores, from the lowest."""

    lowest: Floats  # (n_bins,), the lowest score in each
    below: Floats  # (n_bins,), the highest score under it; NaN for the first
    positive_weights: Ints  # (n_bins,)
    weights: Ints  # (n_bins,), of positives and negatives

    @property
    def posterior(self) -> Floats:
        """The share of positives in each."""
        return self.positive_weights / np.maximum(self.weights, 1)


def fit_regions(
    y_true: object,
    y_score: object,
    average: Average = "macro",
    *,
    beta: float = 1.0,
    posterior: Posterior = "histogram",
    n_bins: int | None = None,
    sample_weight: object = None,
    zero_division: float = 0.0,
    missing: float = 0.0,
    unknown: object = None,
    label_names: object = None,
    n_jobs: int | None = -1,
    progress: bool = False,
) -> RegionRule:
    """Fit regions of scores that maximise F-beta: the bins in which the share of positives is at least F* / (1 + b^2).

    A threshold is best only if a higher score always means more positives. Where it does not, as for positives on both
    sides of the negatives, the region is a union of intervals.

    Parameters
    ----------
    y_true : (n_samples, n_labels) 0/1 or bool, dense or scipy.sparse; 1-D for a single label
    y_score : same shape, real scores of any scale, dense or scipy.sparse
    average :
        "macro", "weighted": F* of each label.
        "micro": F* of the counts added over labels.
    beta : weight of recall against precision
    posterior :
        "histogram" (default): bins that hold equal parts of a label's mass, half of it on its positives and half on its
        negatives.
        "isotonic": the blocks of isotonic regression. As the share of positives rises from block to block, the region
        is a threshold, the one that `fit_empirical` finds.
    n_bins : bins of a histogram
        None (default): one for every ten distinct scores of positives, but 2 to 50.
        A number: so many at most. Few miss structure, many take luck for structure: unlike thresholds, regions can
        overfit at will.
    sample_weight, zero_division, missing, unknown, label_names, n_jobs, progress : as in `fit_empirical`

    Returns
    -------
    RegionRule
        1. `objective` is the F-measure of `rule.predict(y_score)`, exactly: the best of all unions of the bins.
        2. Between the scores of two bins a region ends 1/1024 of the gap above the lower one.
        3. A label without positives is never predicted.

    Raises
    ------
    InputError
        For anything that cannot be used: names the argument, what was found, what was expected.

    Notes
    -----
    Ties: equal scores are in one bin, and a bin with a share of exactly F* / (1 + b^2) is predicted.

    References
    ----------
    Lipton et al. 2013, theorem 5.1.

    Examples
    --------
    Positives score low or high, negatives in between:

    >>> import numpy as np
    >>> import thresholds
    >>> scores = np.arange(60) / 60
    >>> truth = (scores < 0.25) | (scores > 0.75)
    >>> thresholds.fit_empirical(truth, scores).objective.__round__(3)
    0.652
    >>> thresholds.fit_regions(truth, scores, n_bins=8).objective.__round__(3)
    0.966
    """
    _checks.option(average, "average", ("macro", "weighted", "micro"))
    _checks.option(posterior, "posterior", ("histogram", "isotonic"))
    beta = _checks.beta(beta)
    zero_division = _checks.zero_division(zero_division)
    n_bins = None if n_bins is None else _checks.count(n_bins, "n_bins", 1)
    problem = Problem.of(
        y_true,
        y_score,
        sample_weight=sample_weight,
        missing=missing,
        unknown=unknown,
        label_names=label_names,
        n_jobs=n_jobs,
    )

    rule = best_regions(
        problem, average, beta, zero_division, posterior, n_bins, n_jobs=n_jobs, progress=progress
    )
    options = {
        "average": average,
        "beta": beta,
        "posterior": posterior,
        "n_bins": n_bins,
        "zero_division": zero_division,
    }
    return with_record(rule, problem, MadeBy.of(fit_regions, options))


def best_regions(
    problem: Problem,
    average: Average,
    beta: float,
    zero_division: float,
    posterior: Posterior = "histogram",
    n_bins: int | None = None,
    *,
    n_jobs: int | None = -1,
    progress: bool = False,
) -> RegionRule:
    """Return the best regions for what is checked already, without what a rule keeps of its fit."""

    # The bins of each label.
    def label_bins(label: int) -> _Bins:
        groups = _groups(problem, label)
        if not groups.weights.any():  # No row of it is known.
            return groups
        return _blocks(groups) if posterior == "isotonic" else _histogram(groups, n_bins)

    problem.prepare("labels")
    bins = threads.run(
        label_bins,
        range(problem.n_labels),
        n_jobs=n_jobs,
        cells=problem.n_stored,
        progress=progress,
        title="labels",
    )

    # A bin is predicted if its share of positives is at least this.
    least = _least_posteriors(bins, beta, pooled=average == "micro")
    return RegionRule(
        [_switches(label, share, problem) for label, share in zip(bins, least, strict=True)],
        missing=problem.missing,
        label_names=problem.label_names,
        average=average,
        beta=beta,
        zero_division=zero_division,
    )


def _groups(problem: Problem, label: int) -> _Bins:
    """Return each distinct score of a label as a bin."""
    items = problem.group_items("labels", label, label + 1)
    has_weight = items.weights > 0
    has_weight |= ~has_weight.any()  # A label without a known row keeps what stands for it.
    keys, group = np.unique(items.keys[has_weight], return_inverse=True)
    positive_weights = np.zeros(keys.size, np.int64)
    np.add.at(positive_weights, group, items.positive_weights[has_weight])
    weights = np.zeros(keys.size, np.int64)
    np.add.at(weights, group, items.weights[has_weight])
    scores = to_scores(keys).astype(np.float64)  # (n_groups,), rising
    below = np.append(np.nan, scores[:-1])
    return _Bins(scores, below, positive_weights, weights)


def _histogram(groups: _Bins, n_bins: int | None) -> _Bins:
    """Join neighbours into bins of equal mass, half of it of positives and half of negatives."""
    positives = groups.positive_weights
    negatives = groups.weights - positives
    if n_bins is None:
        wanted = np.count_nonzero(positives) // _POSITIVES_PER_BIN
        n_bins = int(np.clip(wanted, _MIN_BINS, _MAX_BINS))
    mass = positives / max(1, positives.sum()) + negatives / max(1, negatives.sum())

    # A group goes where the middle of its mass lies.
    middle = np.cumsum(mass) - mass / 2
    return _joined(groups, np.floor(middle / max(mass.sum(), 1e-300) * n_bins))


def _blocks(groups: _Bins) -> _Bins:
    """Join neighbours into the blocks of isotonic regression."""
    positives = np.append(0, groups.positive_weights.cumsum())
    weights = np.append(0, groups.weights.cumsum())
    ends = rising_blocks(positives, weights)  # (n_blocks + 1,)
    return _joined(groups, np.repeat(np.arange(ends.size - 1), np.diff(ends)))


def _joined(groups: _Bins, number: npt.NDArray[Any]) -> _Bins:
    """Join neighbours of the same number."""
    first = np.flatnonzero(np.append(True, np.diff(number) != 0))  # (n_bins,)
    return _Bins(
        lowest=groups.lowest[first],
        below=groups.below[first],
        positive_weights=np.add.reduceat(groups.positive_weights, first),
        weights=np.add.reduceat(groups.weights, first),
    )


def _least_posteriors(bins: list[_Bins], beta: float, *, pooled: bool) -> list[float]:
    """Return F* / (1 + b^2) of each label, or that of all of them together."""
    if not pooled:
        return [_least_posterior(label.positive_weights, label.weights, beta) for label in bins]
    positive_weights = np.concatenate([label.positive_weights for label in bins])
    weights = np.concatenate([label.weights for label in bins])
    return [_least_posterior(positive_weights, weights, beta)] * len(bins)


def _least_posterior(positive_weights: Ints, weights: Ints, beta: float) -> float:
    """Return the highest tp / (b^2 positives + predicted) of unions of bins, at most the lowest posterior of it."""
    # The best union has the bins of highest posterior: add them one by one.
    posterior = positive_weights / np.maximum(weights, 1)
    order = np.argsort(-posterior, kind="stable")
    tp = positive_weights[order].cumsum()
    predicted = weights[order].cumsum()
    ratio = tp / np.maximum(beta * beta * tp[-1] + predicted, 1e-300)  # 0 of a label without rows
    best = int(ratio.argmax())

    # Rounding may put the ratio above the posterior of the last bin, which would then be left out.
    return float(min(ratio[best], posterior[order[best]]))


def _switches(bins: _Bins, least: float, problem: Problem) -> Floats:
    """Return the scores at which the region of a label begins and ends."""
    inside = (bins.posterior >= least) & (bins.positive_weights > 0)
    change = np.flatnonzero(np.diff(inside, prepend=False))
    return place(bins.lowest[change], bins.below[change], "low", problem.scores.dtype)
