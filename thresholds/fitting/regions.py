"""Uncalibrated scores whose likelihood ratio need not rise: the best region of scores, which may be no threshold.

With densities p1 and p0 of the scores of a label's positives and negatives and base rate r, what maximises F-beta is

    r p1(s) / ((1 - r) p0(s)) >= F* / (1 + b^2 - F*),    that is    Pr(positive | s) >= F* / (1 + b^2)

(Lipton, Elkan & Naryanaswamy 2013, theorem 5.1, with Jaccard's index F / (2 - F) for b = 1). Here the densities are
those of bins of scores.
"""

from itertools import pairwise
from typing import Any, Literal, NamedTuple

import numpy as np

from thresholds import _checks
from thresholds._arrays.grouped import group_of, sums_of_groups, sums_so_far
from thresholds._arrays.types import Floats, Ints
from thresholds._checks import Average
from thresholds._engine.choosing import best_of_each
from thresholds._engine.histograms import Histograms, over_histograms
from thresholds._engine.placement import place
from thresholds._engine.problem import Problem
from thresholds._kernels.choosing import upper_hulls
from thresholds.fitting.record import with_record
from thresholds.rule import RegionRule
from thresholds.rule.made_by import MadeBy

Posterior = Literal["histogram", "isotonic"]

_POSITIVES_PER_BIN = 10  # fewer would make the ratio in a bin a matter of luck
_MIN_BINS = 2
_MAX_BINS = 50


class BinsOfScores(NamedTuple):
    """The bins of the scores of labels, rising within a label; those of label j are `starts[j]:starts[j + 1]`.

    A label without positives has none.
    """

    starts: Ints  # (n_labels + 1,)
    lowest: Floats  # (n_bins,), the lowest score in each
    below: Floats  # (n_bins,), the highest score under it; NaN for the first of a label
    positive_weights: Ints  # (n_bins,)
    weights: Ints  # (n_bins,), of positives and negatives

    @property
    def posterior(self) -> Floats:
        """The share of positives in each."""
        return self.positive_weights / self.weights

    def joined(self, first: Ints) -> "BinsOfScores":
        """Join neighbours; `first` are those that new bins begin with, one of each label among them."""
        return BinsOfScores(
            starts=np.searchsorted(first, self.starts),
            lowest=self.lowest[first],
            below=self.below[first],
            positive_weights=np.add.reduceat(self.positive_weights, first),
            weights=np.add.reduceat(self.weights, first),
        )


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
    )

    bins = bins_of_scores(problem, posterior, n_bins, n_jobs=n_jobs, progress=progress)
    rule = best_regions(problem, bins, average, beta, zero_division)
    options = {
        "average": average,
        "beta": beta,
        "posterior": posterior,
        "n_bins": n_bins,
        "zero_division": zero_division,
    }
    return with_record(rule, problem, MadeBy.from_call(fit_regions, options))


def bins_of_scores(
    problem: Problem,
    posterior: Posterior = "histogram",
    n_bins: int | None = None,
    *,
    n_jobs: int | None = -1,
    progress: bool = False,
) -> BinsOfScores:
    """Return the bins of each label, of which regions are unions."""

    def bins_of(found: Histograms, _: int) -> BinsOfScores:
        groups = _groups(found)
        return _blocks(groups) if posterior == "isotonic" else _histogram(groups, n_bins)

    return _joined(over_histograms(problem, bins_of, n_jobs=n_jobs, progress=progress))


def best_regions(
    problem: Problem,
    bins: BinsOfScores,
    average: Average,
    beta: float,
    zero_division: float,
) -> RegionRule:
    """Return the best regions for what is checked already, without what a rule keeps of its fit."""
    # A bin is predicted if its share of positives is at least this.
    least = _least_posteriors(bins, beta, pooled=average == "micro")
    return RegionRule(
        _switches(bins, least, problem.scores.dtype),
        missing=problem.missing,
        label_names=problem.label_names,
        average=average,
        beta=beta,
        zero_division=zero_division,
    )


def _groups(found: Histograms) -> BinsOfScores:
    """Return each distinct score of labels as a bin, those of exact histograms; none of labels without positives."""
    has_positives = found.positives > 0  # (n_labels,)
    found = found.where(has_positives[found.label])
    # Here bins rise: from the last of each label up.
    starts, ends = found.offsets[:-1], found.offsets[1:]
    rising = (starts + ends - 1)[found.label] - np.arange(found.hits.size)  # (n_bins,)
    cuts = found.cuts
    return BinsOfScores(
        found.offsets,
        cuts.cut[rising],
        cuts.lower[rising],
        found.hits[rising],
        found.weights[rising],
    )


def _histogram(groups: BinsOfScores, n_bins: int | None) -> BinsOfScores:
    """Join neighbours into bins of equal mass, half of it of positives and half of negatives."""
    starts = groups.starts
    label = group_of(starts)  # (n_groups,)
    positives = groups.positive_weights
    negatives = groups.weights - positives
    n_positives, n_negatives = (
        np.maximum(sums_of_groups(starts, part), 1) for part in (positives, negatives)
    )
    mass = positives / n_positives[label]
    mass += negatives / n_negatives[label]

    # How many bins a label has at most.
    wanted = sums_of_groups(starts, positives > 0) // _POSITIVES_PER_BIN  # (n_labels,)
    most = np.clip(wanted, _MIN_BINS, _MAX_BINS)[label] if n_bins is None else float(n_bins)

    # A group goes where the middle of its mass lies. Sums of floats are of one label, whatever is beside it.
    number = np.empty_like(mass)
    total = np.empty(starts.size - 1)
    for own, (first, last) in enumerate(pairwise(starts.tolist())):
        mass[first:last].cumsum(out=number[first:last])
        total[own] = mass[first:last].sum()
    mass /= 2
    number -= mass
    number /= total[label]
    number *= most
    np.floor(number, out=number)
    is_first = np.append(True, number[1:] != number[:-1])[: number.size]
    is_first[starts[:-1][np.diff(starts) > 0]] = True
    return groups.joined(np.flatnonzero(is_first))


def _blocks(groups: BinsOfScores) -> BinsOfScores:
    """Join neighbours into the blocks of isotonic regression: the edges of the upper hull of what lies above scores."""
    # Hulls begin at the highest score: all is turned around, the order of labels, too.
    starts = groups.starts[-1] - groups.starts[::-1]
    tp, predicted = (
        sums_so_far(starts, part[::-1]) for part in (groups.positive_weights, groups.weights)
    )
    _, last, _ = upper_hulls(starts, tp, predicted - tp)
    return groups.joined(tp.size - 1 - last[::-1])


def _joined(parts: list[BinsOfScores]) -> BinsOfScores:
    """Return the bins of all labels."""
    sizes = np.concatenate([np.diff(part.starts) for part in parts])  # (n_labels,)
    _, *columns = (np.concatenate(values) for values in zip(*parts, strict=True))
    return BinsOfScores(np.append(0, sizes.cumsum()), *columns)


def _least_posteriors(bins: BinsOfScores, beta: float, *, pooled: bool) -> Floats:
    """Return F* / (1 + b^2) of each label, or that of all of them together, (n_labels,).

    It is the highest tp / (b^2 positives + predicted) of unions of bins, at most the lowest posterior of it.
    """
    starts = bins.starts[[0, -1]] if pooled else bins.starts
    posterior = bins.posterior

    # The best union has the bins of highest posterior: add them one by one.
    order = np.lexsort((-posterior, group_of(starts)))
    tp = sums_so_far(starts, bins.positive_weights[order])
    predicted = sums_so_far(starts, bins.weights[order])
    positives = sums_of_groups(starts, bins.positive_weights)
    best = best_of_each(starts, tp, predicted, positives, beta * beta)  # -1 without bins

    # Rounding may put the ratio above the posterior of the last bin, which would then be left out.
    has_bins = best >= 0
    at = best[has_bins]
    ratio = tp[at] / (beta * beta * positives[has_bins] + predicted[at])
    least = np.zeros(best.size)
    least[has_bins] = np.minimum(ratio, posterior[order[at]])
    return np.broadcast_to(least, bins.starts.size - 1)


def _switches(bins: BinsOfScores, least: Floats, dtype: np.dtype[Any]) -> list[Floats]:
    """Return the scores at which the region of each label begins and ends."""
    inside = (bins.posterior >= least[group_of(bins.starts)]) & (bins.positive_weights > 0)
    before = np.append(False, inside[:-1])[: inside.size]
    before[bins.starts[:-1][np.diff(bins.starts) > 0]] = False
    change = np.flatnonzero(inside != before)
    switches = place(bins.lowest[change], bins.below[change], "low", dtype)
    ends = pairwise(np.searchsorted(change, bins.starts).tolist())
    return [switches[first:last] for first, last in ends]
