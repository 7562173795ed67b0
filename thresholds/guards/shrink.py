"""The guard "shrink": how much to predict, averaged over what the label, its siblings and its probabilities say.

For ratios g = c / a of predictions c to positives a from 1/16 to 64, in twelfths of an octave, three views of F-beta:

    F_own(g) = (1 + B) TP(g a) / (B a + g a)    on the label's own sample, B = beta^2; ties in equal parts
    F_sib(g) = mean of F_own(g) over the labels, weighted by exp(-(difference of ln a / .7)^2 / 2)
    F_exp(g) = (1 + B) P(g a) / (B sum of p + g a)    P: sum of p over the g a highest scores, p from one logistic
                                                      curve for all labels

    q(g) ~ exp(a F_own(g) + 20 (F_sib(g) + F_exp(g)) / 2),    rank = 1 + a exp(sum over g of q(g) ln g)

The threshold is the score at that rank, between two scores where it is no whole number. Few positives, and the prior
decides; many, and the label itself does. One rank lower, since a positive that helps to choose a rank is counted in
it: leave it out, and it is accepted if it is among the c + 1 highest. A threshold never admits a tie group much larger
than the rank, nor that of `missing` scores: where a rare label's scores are all 0, the sample says nothing.

Where the scores know next to nothing, or rank backwards, all this is beside the point: the best is to predict nearly
always. So if the average of the labels' F that is fitted is below that of predicting each on every row, on the rows of
the fit, where the guard does better than on others, each label takes the better of its cut and the lowest: that of
`missing` scores, too, unless predictions shall stay sparse. (The plain optimum does worse than always there, on other
rows.) Limits come last.

The weights q are those of a Gibbs posterior: Zhang 2006, "Information-theoretic upper and lower bounds for statistical
estimation"; the shrinkage towards siblings is empirical Bayes: Efron 2010, "Large-Scale Inference", chapter 1.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, partial
from typing import NamedTuple

import numpy as np

from thresholds._arrays.blocks import in_pieces, row_blocks
from thresholds._arrays.sparse import is_sparse
from thresholds._arrays.types import Floats, Ints
from thresholds._checks import Placement
from thresholds._kernels.guards import expected_f_at_ratios, f_at_ratios
from thresholds.data.problem import Items, Problem
from thresholds.data.tiles import map_tiles
from thresholds.guards.cuts import Guarded, GuardedCuts, cut_at_ranks, fall_back, joined, within_limits
from thresholds.guards.limits import Limits
from thresholds.guards.options import Shrink
from thresholds.guards.pooled_curve import PooledCurve, fit_pooled_curve, keys_apart, narrow_keys
from thresholds.metrics.counts import f_of_counts
from thresholds.search import staircase
from thresholds.search.staircase import Cuts

RATIOS = 2.0 ** (np.arange(-48, 73) / 12)  # It has 1, which perfectly separated labels need.

_PRIOR = 20.0  # rows that the prior is worth; 10 to 80 do nearly as well
_BANDWIDTH = 0.7  # of siblings, in ln a
_SHIFT = 1.0  # ranks; .5 to 1.5 do nearly as well, 0 and 2 worse
_SIZES_PER_BLOCK = 256
_MANY_SIZES = 2048
_COUNTABLE = 2.0**53  # Larger floats are all whole, whatever was meant.


class _Views(NamedTuple):
    """What a tile of labels says of each ratio, and the in-sample optimum."""

    own: Floats
    expected: Floats
    optimum: Cuts


@dataclass(frozen=True)
class _Cutting:
    """The steps of the fit that read the labels `first:last` of a tile."""

    problem: Problem
    cells: Callable[[int, int], Items]
    rows_per_unit: float
    beta: float
    limits: Limits
    placement: Placement

    def view(self, curve: PooledCurve | None, first: int, last: int) -> _Views:
        """Read what the labels say."""
        return _view(self.problem, self.cells(first, last), curve, self.beta)

    def cut(self, ranks: Floats, first: int, last: int) -> tuple[GuardedCuts, GuardedCuts]:
        """Cut at the ranks, before and after the limits."""
        items = self.cells(first, last)
        cuts = cut_at_ranks(self.problem, items, ranks[first:last], self.rows_per_unit)
        return cuts, within_limits(self.problem, items, cuts, self.limits, self.placement)

    def fall_back(self, cuts: GuardedCuts, positives: Ints, first: int, last: int) -> GuardedCuts:
        """Take the better of the cuts and always, after the limits."""
        items = self.cells(first, last)
        of_tile = GuardedCuts._make(values[first:last] for values in cuts)
        return fall_back(self.problem, items, of_tile, positives[first:last], self.beta, self.limits, self.placement)


def fit_shrunk(
    problem: Problem,
    options: Shrink,
    limits: Limits,
    average: str,
    beta: float,
    placement: Placement,
    n_jobs: int | None,
    progress: bool,
) -> Guarded:
    """Shrink the thresholds of all labels; `average` ("macro" or "weighted") decides whether they fall back."""
    rows_per_unit = _rows_per_unit(problem)
    # Taking a sparse matrix apart by label costs as much as fitting: once, for 20 bytes an entry.
    cells = cache(problem.cells) if is_sparse(problem.scores) else problem.cells
    steps = _Cutting(problem, cells, rows_per_unit, beta, limits, placement)
    over_tiles = partial(map_tiles, problem, n_jobs=n_jobs, progress=progress)

    # What all labels say, and the rank of each.
    curve = fit_pooled_curve(problem, cells, 1 / rows_per_unit, n_jobs) if options.probabilities else None
    views = over_tiles(partial(steps.view, curve))
    own = np.concatenate([part.own for part in views])  # (n_labels, n_ratios)
    expected = np.concatenate([part.expected for part in views])  # (n_labels, n_ratios)
    optimum = staircase.all_cuts([part.optimum for part in views])
    positives = optimum.positives * np.float64(rows_per_unit)
    ranks = _ranks(own, None if curve is None else expected, positives, options.siblings)
    ranks[positives == 0] = 0 if options.unsupported == "above_max" else -1

    # The cuts there, or always.
    parts = over_tiles(partial(steps.cut, ranks), light=problem.is_dense_unweighted)
    shrunk = joined([before for before, _ in parts])
    limited = joined([after for _, after in parts])
    if _is_below_always(problem, shrunk, optimum.positives, average, beta):
        limited = joined(
            over_tiles(partial(steps.fall_back, shrunk, optimum.positives), light=problem.is_dense_unweighted)
        )
    return Guarded(limited, optimum)


def _is_below_always(problem: Problem, cuts: GuardedCuts, positives: Ints, average: str, beta: float) -> bool:
    """Whether the labels' average F-beta is below that of predicting each on every row.

    It is the average that is fitted: labels with positives count alike for macro, by their positives for weighted F.
    """
    label_weights = positives if average == "weighted" else positives > 0
    total = np.full_like(positives, problem.row_weights.sum())
    f = f_of_counts(cuts.tp, cuts.predicted, positives, beta, 0.0)
    f_always = f_of_counts(positives, total, positives, beta, 0.0)
    return bool((label_weights * f).sum() < (label_weights * f_always).sum())


def _rows_per_unit(problem: Problem) -> float:
    """Return what the unit of weights is worth in rows: itself if they are whole numbers, else the mean is a row."""
    weights = problem.row_weights * np.float64(problem.unit)
    if weights.sum() < _COUNTABLE and not (weights % 1).any():
        return problem.unit
    return float(np.count_nonzero(problem.row_weights) / problem.row_weights.sum())


def _view(problem: Problem, items: Items, curve: PooledCurve | None, beta: float) -> _Views:
    """Read what a tile of labels says."""
    stairs = staircase.of_items(items)
    most = int(problem.row_weights.sum())
    own = f_at_ratios(
        stairs.offsets, stairs.tp, stairs.predicted, stairs.higher, stairs.positives, most, RATIOS, beta**2
    )
    expected = np.zeros_like(own)
    if curve is not None:
        keys = narrow_keys(items.keys)
        expected = expected_f_at_ratios(
            items.starts,
            keys,
            items.weights,
            *keys_apart(problem),
            curve.probable,
            curve.p,
            stairs.positives,
            RATIOS,
            beta**2,
        )
    stairs = stairs.cuttable(problem)
    return _Views(own, expected, stairs.cuts_at(stairs.best(beta)))


def _ranks(own: Floats, expected: Floats | None, positives: Floats, siblings: bool) -> Floats:
    """Return the rank of each label, some labels at a time: with all, the ratios would take much memory."""
    near, which = _of_siblings(own, positives) if siblings else (own, np.arange(positives.size))
    ranks = np.empty(positives.size)
    for part in row_blocks(*own.shape):
        views = ([near[which[part]]] if siblings else []) + ([] if expected is None else [expected[part]])
        prior = sum(views) / len(views) if views else np.zeros_like(own[part])
        a = positives[part, np.newaxis]
        ranks[part] = _SHIFT + positives[part] * _mean_ratio(a * own[part] + _PRIOR * prior)
    return ranks


def _of_siblings(own: Floats, positives: Floats) -> tuple[Floats, Ints]:
    """Average over labels with about as many positives: one average for each number of them, and which each label has.

    More than 2,048 different numbers, as real weights give, are rounded to 64ths of the bandwidth.
    """
    with np.errstate(divide="ignore"):
        log_size = np.log(positives)
    if np.unique(log_size).size > _MANY_SIZES:
        log_size = np.rint(log_size * (64 / _BANDWIDTH)) * (_BANDWIDTH / 64)
    sizes, which = np.unique(log_size, return_inverse=True)
    count, sums = np.bincount(which).astype(np.float64), np.zeros((sizes.size, RATIOS.size))
    np.add.at(sums, which, own)
    found, kept = np.zeros_like(sums), np.flatnonzero(sizes > -np.inf)
    for block in in_pieces(slice(0, kept.size), _SIZES_PER_BLOCK):
        rows = kept[block]
        weight = np.exp(-0.5 * ((sizes[rows, np.newaxis] - sizes[kept]) / _BANDWIDTH) ** 2)
        # einsum without optimisation: no BLAS, whose sums depend on its threads.
        total = np.einsum("vu,u->v", weight, count[kept])
        found[rows] = np.einsum("vu,ug->vg", weight, sums[kept]) / total[:, np.newaxis]
    return found, which


def _mean_ratio(evidence: Floats) -> Floats:
    """Return the geometric mean of the ratios, weighted by exp(evidence)."""
    weight = np.exp(evidence - evidence.max(axis=1, keepdims=True))
    return np.asarray(np.exp((weight * np.log(RATIOS)).sum(axis=1) / weight.sum(axis=1)))
