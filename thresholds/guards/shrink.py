"""The guard "shrink": how much to predict, by what a label, its siblings and its probabilities say.

For ratios g = c / a of predictions c to positives a from 1/16 to 64, in twelfths of an octave,
three views of F-beta:

    F_own(g) = (1 + B) TP(g a) / (B a + g a)    on the label's own sample, B = beta^2;
                                                ties in equal parts
    F_sib(g) = mean of F_own(g) over the labels, weighted by exp(-(difference of ln a / .7)^2 / 2)
    F_exp(g) = (1 + B) P(g a) / (B sum of p + g a)    P: sum of p over the g a highest scores,
                                                      p from one logistic curve for all labels

    q(g) ~ exp(a F_own(g) + 20 (F_sib(g) + F_exp(g)) / 2)
    rank = 1 + a exp(sum over g of q(g) ln g)

The threshold is the score at that rank, between two scores where it is no whole number. Few
positives, and the prior decides; many, and the label itself does. One rank lower, since a positive
that helps to choose a rank is counted in it: leave it out, and it is accepted if it is among the
c + 1 highest. A threshold never admits a tie group much larger than the rank, nor that of `missing`
scores: where a rare label's scores are all 0, the sample says nothing.

Where the scores know next to nothing, or rank backwards, all this is beside the point: the best is
to predict nearly always. So if the average of the labels' F that is fitted is below that of
predicting each on every row, on the rows of the fit, where the guard does better than on others,
each label takes the better of its cut and the lowest: that of `missing` scores, too, unless
predictions shall stay sparse (`fall_back.py`). (The plain optimum does worse than always there, on
other rows.) Limits come last.

The weights q are those of a Gibbs posterior: Zhang 2006, "Information-theoretic upper and lower
bounds for statistical estimation"; the shrinkage towards siblings is empirical Bayes: Efron 2010,
"Large-Scale Inference", chapter 1.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache, partial
from typing import ClassVar, Literal, NamedTuple

import numpy as np

from thresholds import _checks
from thresholds._arrays.blocks import in_pieces
from thresholds._arrays.sparse import is_sparse
from thresholds._arrays.types import Floats, Ints
from thresholds._checks import Placement
from thresholds._kernels.guards import expected_f_at_ratios, f_at_ratios
from thresholds.data.problem import Items, Problem
from thresholds.data.tiles import Pass, Passes
from thresholds.guards.base import GuardedCuts, GuardedFit, GuardInPasses, joined
from thresholds.guards.cuts import cut_at_ranks, rows_per_unit_of
from thresholds.guards.fall_back import fall_back, is_below_always
from thresholds.guards.limited import within_limits
from thresholds.guards.limits import Limits
from thresholds.guards.pooled_curve import PooledCurve, fit_pooled_curve, keys_apart, narrow_keys
from thresholds.search import staircase
from thresholds.search.staircase import Cuts

# (n_ratios,) of predictions to positives; it has 1, which perfectly separated labels need.
RATIOS = 2.0 ** (np.arange(-48, 73) / 12)

PRIOR_ROWS = 20.0  # that the prior is worth; 10 to 80 do nearly as well
BANDWIDTH = 0.7  # of siblings, in ln a
_EXTRA_RANKS = 1.0  # .5 to 1.5 do nearly as well, 0 and 2 worse
_SIZES_PER_BLOCK = 256
_MOST_SIZES = 2048  # different numbers of positives; more are rounded
_SIZES_PER_BANDWIDTH = 64  # to these
_ABOVE_MAX = 0  # a rank
_NEVER = -1

Unsupported = Literal["above_max", "never"]


@dataclass(frozen=True, slots=True)
class Shrink(GuardInPasses):
    """The guard "shrink": the number predicted is drawn towards what suits similar labels.

    Parameters
    ----------
    siblings : borrow from labels with about as many positives
    probabilities : borrow from one logistic curve of truth on score for all labels
        Switch it off for scores that cannot be compared over labels. It is not used where it falls,
        or where all scores are equal.
    unsupported : where the threshold of a label without positives lies
        "above_max": just above its highest score, so that a clearer case than any seen is
        predicted. "never": at +inf.
    """

    name: ClassVar[str] = "shrink"

    siblings: bool = True
    probabilities: bool = True
    unsupported: Unsupported = "above_max"

    def __post_init__(self) -> None:
        """Check the options."""
        for name, known in (
            ("siblings", (True, False)),
            ("probabilities", (True, False)),
            ("unsupported", ("above_max", "never")),
        ):
            object.__setattr__(self, name, _checks.option(getattr(self, name), name, known))

    def passes(
        self,
        problem: Problem,
        limits: Limits,
        average: str,
        beta: float,
        placement: Placement,
        n_jobs: int | None,
    ) -> Passes[GuardedFit]:
        """Shrink the thresholds of all labels; the average decides whether they fall back."""
        rows_per_unit = rows_per_unit_of(problem)
        # Taking a sparse matrix apart by label costs as much as fitting: once, for 20 bytes an entry.
        items_of = cache(problem.label_items) if is_sparse(problem.scores) else problem.label_items
        steps = _Steps(problem, items_of, rows_per_unit, beta, limits, placement)

        # What all labels say.
        curve = None
        if self.probabilities:
            curve = fit_pooled_curve(problem, items_of, 1 / rows_per_unit, n_jobs)
        views = yield Pass(partial(steps.view, curve))
        optimum = staircase.all_cuts([view.optimum for view in views])

        # The rank of each label.
        is_supported = optimum.positives > 0  # (n_labels,)
        positives = optimum.positives[is_supported] * np.float64(rows_per_unit)  # in rows
        rank_of_others = _ABOVE_MAX if self.unsupported == "above_max" else _NEVER
        ranks = np.full(problem.n_labels, rank_of_others, np.float64)
        ranks[is_supported] = _ranks(views, curve is not None, positives, self.siblings)
        del views  # those of many labels take more memory than all else

        # The cuts there, before and after the limits.
        is_light = problem.is_dense_unweighted
        tiles = yield Pass(partial(steps.cut, ranks), light=is_light)
        shrunk = joined([before for before, _ in tiles])
        limited = joined([after for _, after in tiles])

        # Or always.
        if is_below_always(problem, shrunk, optimum.positives, average, beta):
            better_of_both = partial(steps.fall_back, shrunk, optimum.positives)
            tiles = yield Pass(better_of_both, light=is_light)
            limited = joined(tiles)
        return GuardedFit(limited, optimum)


class _Views(NamedTuple):
    """What some labels say of each ratio, those that have positives, and the in-sample optimum of all."""

    own: Floats  # (n_supported, n_ratios) F-beta
    expected: Floats  # (n_supported, n_ratios) F-beta of expected counts; zeros without a curve
    optimum: Cuts


@dataclass(frozen=True)
class _Steps:
    """The steps of the fit that read the labels `first:last` of a tile."""

    problem: Problem
    items_of: Callable[[int, int], Items]
    rows_per_unit: float
    beta: float
    limits: Limits
    placement: Placement

    def view(self, curve: PooledCurve | None, first: int, last: int) -> _Views:
        """Read what the labels say."""
        rows = self.problem.weight_of_label[first:last]
        return _view(self.problem, self.items_of(first, last), rows, curve, self.beta)

    def cut(self, ranks: Floats, first: int, last: int) -> tuple[GuardedCuts, GuardedCuts]:
        """Cut at the ranks, before and after the limits."""
        items = self.items_of(first, last)
        cuts = cut_at_ranks(self.problem, items, ranks[first:last], self.rows_per_unit)
        limits = self.limits.of_labels(first, last)
        return cuts, within_limits(self.problem, items, cuts, limits, self.placement)

    def fall_back(self, cuts: GuardedCuts, positives: Ints, first: int, last: int) -> GuardedCuts:
        """Take the better of the cuts and always, after the limits."""
        tile = GuardedCuts._make(values[first:last] for values in cuts)
        return fall_back(
            self.problem,
            self.items_of(first, last),
            tile,
            positives[first:last],
            self.beta,
            self.limits.of_labels(first, last),
            self.placement,
        )


def _view(
    problem: Problem, items: Items, rows: Ints, curve: PooledCurve | None, beta: float
) -> _Views:
    """Read what a tile of labels says; `rows` (n_labels,) is the weight of the rows of each."""
    stairs = staircase.of_items(items)
    own = f_at_ratios(
        stairs.offsets,
        stairs.tp,
        stairs.predicted,
        stairs.higher,
        stairs.positives,
        rows,
        RATIOS,
        beta**2,
    )
    expected = np.zeros_like(own)
    if curve is not None:
        missing, masked = keys_apart(problem)
        expected = expected_f_at_ratios(
            items.starts,
            narrow_keys(items.keys),
            items.weights,
            missing,
            masked,
            curve.probable,
            curve.p,
            stairs.positives,
            RATIOS,
            beta**2,
        )
    # Ratios of very many labels without positives would take much memory.
    is_supported = stairs.positives > 0
    stairs = stairs.cuttable(problem)
    return _Views(own[is_supported], expected[is_supported], stairs.cuts_at(stairs.best(beta)))


def _ranks(
    views: Sequence[_Views], probabilities: bool, positives: Floats, siblings: bool
) -> Floats:
    """Return the rank of each label that has positives, (n_supported,), from the views of consecutive labels."""
    if siblings:
        sibling_f, sibling_of_label = of_siblings([view.own for view in views], positives)
    ranks = np.empty(positives.size)
    first = 0
    for view in views:
        labels = slice(first, first + len(view.own))
        # The prior: the mean of what is borrowed.
        borrowed = []
        if siblings:
            borrowed.append(sibling_f[sibling_of_label[labels]])
        if probabilities:
            borrowed.append(view.expected)
        prior = sum(borrowed) / len(borrowed) if borrowed else np.zeros_like(view.own)

        # The evidence: a F_own + 20 F_prior, (n_labels of the view, n_ratios).
        evidence = positives[labels, np.newaxis] * view.own + PRIOR_ROWS * prior
        ranks[labels] = _EXTRA_RANKS + positives[labels] * _mean_ratio(evidence)
        first = labels.stop
    return ranks


def of_siblings(own: Sequence[Floats], positives: Floats) -> tuple[Floats, Ints]:
    """Average figures of labels, (n_some, n_figures) of some after others, over labels with about as many positives.

    Returns one average for each number of positives, (n_sizes, n_figures), and which each label has.

    More than 2,048 different numbers, as real weights give, are rounded to 64ths of the bandwidth.
    """
    with np.errstate(divide="ignore"):  # Labels without positives have no siblings.
        log_size = np.log(positives)
    if np.unique(log_size).size > _MOST_SIZES:
        steps = np.rint(log_size * (_SIZES_PER_BANDWIDTH / BANDWIDTH))
        log_size = steps * (BANDWIDTH / _SIZES_PER_BANDWIDTH)

    # Labels of one size weigh alike: F added up over them, once.
    sizes, size_of_label = np.unique(log_size, return_inverse=True)
    n_labels = np.bincount(size_of_label).astype(np.float64)  # (n_sizes,)
    sums = np.zeros((sizes.size, own[0].shape[1]))
    first = 0
    for figures in own:
        np.add.at(sums, size_of_label[first : first + len(figures)], figures)
        first += len(figures)

    # A block of sizes against all others: exp(-(difference / bandwidth)^2 / 2).
    means = np.zeros_like(sums)
    finite = np.flatnonzero(sizes > -np.inf)
    for block in in_pieces(slice(0, finite.size), _SIZES_PER_BLOCK):
        rows = finite[block]
        distance = (sizes[rows, np.newaxis] - sizes[finite]) / BANDWIDTH
        weight = np.exp(-0.5 * distance**2)  # (n_rows, n_finite)
        # einsum without optimisation: no BLAS, whose sums depend on its threads.
        total = np.einsum("vu,u->v", weight, n_labels[finite])
        means[rows] = np.einsum("vu,ug->vg", weight, sums[finite]) / total[:, np.newaxis]
    return means, size_of_label


def _mean_ratio(evidence: Floats) -> Floats:
    """Return the geometric mean of the ratios, weighted by exp(evidence)."""
    weight = np.exp(evidence - evidence.max(axis=1, keepdims=True))
    return np.asarray(np.exp((weight * np.log(RATIOS)).sum(axis=1) / weight.sum(axis=1)))
