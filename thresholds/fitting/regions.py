"""Uncalibrated scores whose likelihood ratio need not rise: the best region of scores, which may be no threshold.

With densities p1 and p0 of the scores of a label's positives and negatives and base rate r, what maximises F-beta is

    r p1(s) / ((1 - r) p0(s)) >= F* / (1 + b^2 - F*),    that is    Pr(positive | s) >= F* / (1 + b^2)

(Lipton, Elkan & Naryanaswamy 2013, theorem 5.1, with Jaccard's index F / (2 - F) for b = 1). Here the densities are
those of bins of scores.
"""

from dataclasses import replace
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
from thresholds.metrics.judging import f_measure, judge
from thresholds.rule import RegionRule
from thresholds.search.placement import place

_POSITIVES_PER_BIN = 10  # fewer would make the ratio in a bin a matter of luck
_MOST_BINS = 50


class _Bins(NamedTuple):
    """The bins of a label's scores, from the lowest."""

    lowest: Floats  # the lowest score in each
    below: Floats  # the highest score under it; NaN for the first
    hits: Ints  # the weight of the positives
    weights: Ints

    @property
    def posterior(self) -> Floats:
        """The share of positives in each."""
        return self.hits / np.maximum(self.weights, 1)


def fit_regions(
    y_true: object,
    y_score: object,
    average: Average = "macro",
    *,
    beta: float = 1.0,
    posterior: Literal["histogram", "isotonic"] = "histogram",
    n_bins: int | None = None,
    sample_weight: object = None,
    zero_division: float = 0.0,
    missing: float = 0.0,
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
    average : "macro" and "weighted" (F* of each label), or "micro" (F* of the counts added over labels)
    beta : weight of recall against precision
    posterior :
        "histogram": bins of scores that hold equal parts of a label's positives and negatives, counted half and half.
        "isotonic": the blocks of isotonic regression, in which the share of positives rises: the region is then a
        threshold, the one that `fit_empirical` finds.
    n_bins : bins of a histogram; None (default) for one for every ten distinct scores of positives, 2 to 50
        Fewer bins miss structure, more take luck for structure: unlike thresholds, regions can overfit at will.
    sample_weight, zero_division, missing, label_names, n_jobs, progress : as in `fit_empirical`

    Returns
    -------
    RegionRule
        `objective` is the F-measure of `rule.predict(y_score)`, exactly; of all unions of the bins it is the best.
        Between the scores of two bins a region ends 1/1024 of the gap above the lower one. A label without positives is
        never predicted.

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
    beta, zero_division = _checks.beta(beta), _checks.zero_division(zero_division)
    n_bins = None if n_bins is None else _checks.count(n_bins, "n_bins", 1)
    problem = Problem.of(
        y_true,
        y_score,
        sample_weight=sample_weight,
        missing=missing,
        label_names=label_names,
        n_jobs=n_jobs,
    )

    def bins_of(label: int) -> _Bins:
        groups = _groups(problem, label)
        return _blocks(groups) if posterior == "isotonic" else _histogram(groups, n_bins)

    problem.prepare("labels")
    labels, size = range(problem.n_labels), problem.n_stored
    bins = threads.run(
        bins_of, labels, n_jobs=n_jobs, cells=size, progress=progress, title="labels"
    )
    cuts = _best_posteriors(bins, beta, pooled=average == "micro")
    fitted = RegionRule(
        [_switches(of_label, cut, problem) for of_label, cut in zip(bins, cuts, strict=True)],
        missing=problem.missing,
        label_names=problem.label_names,
        average=average,
        beta=beta,
        zero_division=zero_division,
    )
    objective = f_measure(
        judge(fitted, problem), problem.sample_weight, average, beta, zero_division
    )
    return replace(fitted, objective=objective)


def _groups(problem: Problem, label: int) -> _Bins:
    """Return each distinct score of a label as a bin."""
    items = problem.group_items("labels", label, label + 1)
    counted = items.weights > 0
    keys, at = np.unique(items.keys[counted], return_inverse=True)
    hits, weights = np.zeros(keys.size, np.int64), np.zeros(keys.size, np.int64)
    np.add.at(hits, at, items.positive_weights[counted])
    np.add.at(weights, at, items.weights[counted])
    scores = to_scores(keys).astype(np.float64)
    return _Bins(scores, np.append(np.nan, scores[:-1]), hits, weights)


def _histogram(groups: _Bins, n_bins: int | None) -> _Bins:
    """Join neighbours into bins of equal mass, half of it of positives and half of negatives."""
    misses = groups.weights - groups.hits
    if n_bins is None:
        n_bins = int(np.clip(np.count_nonzero(groups.hits) // _POSITIVES_PER_BIN, 2, _MOST_BINS))
    mass = sum(part / max(1, part.sum()) for part in (groups.hits, misses))
    middle = np.cumsum(mass) - mass / 2
    return _joined(groups, np.floor(middle / max(mass.sum(), 1e-300) * n_bins))


def _blocks(groups: _Bins) -> _Bins:
    """Join neighbours into the blocks of isotonic regression."""
    ends = rising_blocks(*(np.append(0, sums.cumsum()) for sums in (groups.hits, groups.weights)))
    return _joined(groups, np.repeat(np.arange(ends.size - 1), np.diff(ends)))


def _joined(groups: _Bins, number: npt.NDArray[Any]) -> _Bins:
    """Join neighbours of the same number."""
    first = np.flatnonzero(np.append(True, np.diff(number) != 0))
    sums = (np.add.reduceat(values, first) for values in (groups.hits, groups.weights))
    return _Bins(groups.lowest[first], groups.below[first], *sums)


def _best_posteriors(bins: list[_Bins], beta: float, *, pooled: bool) -> list[float]:
    """Return F* / (1 + b^2) of each label, or that of all of them together."""
    if pooled:
        hits, weights = (
            np.concatenate(parts)
            for parts in zip(*((b.hits, b.weights) for b in bins), strict=True)
        )
        return [_best_posterior(hits, weights, beta)] * len(bins)
    return [_best_posterior(of_label.hits, of_label.weights, beta) for of_label in bins]


def _best_posterior(hits: Ints, weights: Ints, beta: float) -> float:
    """Return the highest tp / (b^2 positives + predicted) of unions of bins, at most the lowest posterior of it."""
    posterior = hits / np.maximum(weights, 1)
    order = np.argsort(-posterior, kind="stable")
    tp, predicted = hits[order].cumsum(), weights[order].cumsum()
    ratio = tp / (beta * beta * tp[-1] + predicted)
    best = int(ratio.argmax())
    return float(min(ratio[best], posterior[order[best]]))  # Rounding may put the ratio above.


def _switches(bins: _Bins, cut: float, problem: Problem) -> Floats:
    """Return the scores at which the region of a label begins and ends."""
    inside = (bins.posterior >= cut) & (bins.hits > 0)
    change = np.flatnonzero(np.diff(inside, prepend=False))
    return place(bins.lowest[change], bins.below[change], "low", problem.scores.dtype)
