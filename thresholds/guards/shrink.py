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
always. So if the labels' mean F is below that of predicting each on every row, on the rows of the fit, where the guard
does better than on others, each label takes the better of its cut and the lowest. (The plain optimum does worse than
always there, on other rows.) Limits come last.

The weights q are those of a Gibbs posterior: Zhang 2006, "Information-theoretic upper and lower bounds for statistical
estimation"; the shrinkage towards siblings is empirical Bayes: Efron 2010, "Large-Scale Inference", chapter 1.
"""

from collections.abc import Callable
from functools import cache
from typing import NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt

from thresholds import staircase
from thresholds._checks import Placement, is_sparse, row_blocks
from thresholds._kernels.odds import expected_f_at_ratios
from thresholds._kernels.ranks import f_at_ratios
from thresholds.guards.choice import Shrink
from thresholds.guards.cutting import Guarded, GuardedCuts, cut_at_ranks, cut_below_all, higher_f, joined, within_limits
from thresholds.guards.limits import Limits
from thresholds.guards.pooled import PooledCurve, fit_pooled_curve, keys_apart, narrow_keys
from thresholds.metrics.counts import f_of_counts
from thresholds.problem import Items, Problem
from thresholds.staircase import Cuts

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]

Result = TypeVar("Result")

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


def fit_shrunk(
    problem: Problem,
    options: Shrink,
    limits: Limits,
    beta: float,
    placement: Placement,
    n_jobs: int | None,
    progress: bool,
) -> Guarded:
    """Shrink the thresholds of all labels."""
    rows_per_unit = _rows_per_unit(problem)
    # Taking a sparse matrix apart by label costs as much as fitting: once, for 20 bytes an entry.
    cells = cache(problem.cells) if is_sparse(problem.scores) else problem.cells
    curve = fit_pooled_curve(problem, cells, 1 / rows_per_unit, n_jobs) if options.probabilities else None

    def view(first: int, last: int) -> _Views:
        return _view(problem, cells(first, last), curve, beta)

    parts = staircase.map_tiles(problem, view, n_jobs=n_jobs, progress=progress)
    own, expected = (np.concatenate(arrays) for arrays in list(zip(*parts, strict=True))[:2])
    optimum = staircase.all_cuts([part.optimum for part in parts])
    positives = optimum.positives * np.float64(rows_per_unit)
    ranks = _ranks(own, None if curve is None else expected, positives, options.siblings)
    ranks[positives == 0] = 0 if options.unsupported == "above_max" else -1

    def cut(first: int, last: int) -> tuple[GuardedCuts, GuardedCuts]:
        items = cells(first, last)
        shrunk = cut_at_ranks(problem, items, ranks[first:last], rows_per_unit)
        return shrunk, within_limits(problem, items, shrunk, limits, placement)

    def fall_back(first: int, last: int) -> GuardedCuts:
        items, of_tile = cells(first, last), GuardedCuts._make(values[first:last] for values in shrunk)
        always = cut_below_all(problem, items, rows_per_unit, placement)
        better = higher_f(of_tile, always, optimum.positives[first:last], beta)
        return within_limits(problem, items, better, limits, placement)

    def over_tiles(function: Callable[[int, int], Result]) -> list[Result]:
        return staircase.map_tiles(problem, function, n_jobs=n_jobs, progress=progress, light=problem.plain)

    shrunk, limited = (joined(parts) for parts in zip(*over_tiles(cut), strict=True))
    if _is_below_always(problem, shrunk, optimum.positives, beta):
        limited = joined(over_tiles(fall_back))
    return Guarded(limited, optimum)


def _is_below_always(problem: Problem, cuts: GuardedCuts, positives: Ints, beta: float) -> bool:
    """Tell whether the labels' mean F-beta is below that of predicting each on every row."""
    total = np.full_like(positives, problem.row_weights.sum())
    reached, always = (
        f_of_counts(tp, predicted, positives, beta, 0.0)[positives > 0].sum()
        for tp, predicted in ((cuts.tp, cuts.predicted), (positives, total))
    )
    return bool(reached < always)


def _rows_per_unit(problem: Problem) -> float:
    """Give what the unit of the weights is worth in rows: itself if they are whole numbers, else the mean is a row."""
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
    """Give the rank of each label, some labels at a time: with all, the ratios would take much memory."""
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
    for start in range(0, kept.size, _SIZES_PER_BLOCK):
        rows = kept[start : start + _SIZES_PER_BLOCK]
        weight = np.exp(-0.5 * ((sizes[rows, np.newaxis] - sizes[kept]) / _BANDWIDTH) ** 2)
        # einsum without optimisation: no BLAS, whose sums depend on its threads.
        total = np.einsum("vu,u->v", weight, count[kept])
        found[rows] = np.einsum("vu,ug->vg", weight, sums[kept]) / total[:, np.newaxis]
    return found, which


def _mean_ratio(evidence: Floats) -> Floats:
    """Give the geometric mean of the ratios, weighted by exp(evidence)."""
    weight = np.exp(evidence - evidence.max(axis=1, keepdims=True))
    return np.asarray(np.exp((weight * np.log(RATIOS)).sum(axis=1) / weight.sum(axis=1)))
