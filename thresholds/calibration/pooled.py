"""The isotonic curve of the cells of all labels together, exactly, with no list of all cells.

Cells are counted in bins of neighbouring scores. A block of the curve ends at a vertex of the hull of (predicted, true
positives), and the points where bins end are below that hull. A bin that holds P positives, of which c cells lie above
and which brings true positives to t, has no point above (c + P, t): as if its positives were its highest scores. Where
even that is below the hull of the ends of bins, no vertex is inside. The cells of the other bins are looked at one by
one. However bins are chosen, the curve is the same.
"""

from threading import Lock
from typing import Any

import numpy as np

from thresholds._arrays.sparse import is_sparse
from thresholds._arrays.types import Booleans, Ints, Keys, Weights
from thresholds._kernels.choosing import upper_hulls
from thresholds._kernels.keys import to_keys
from thresholds.calibration.binned import counted_items
from thresholds.calibration.isotonic import IsotonicCurves, joined, knots_of_steps
from thresholds.data.problem import Items, Problem
from thresholds.data.tiles import map_tiles
from thresholds.search.counting.score_bins import (
    ScoreBins,
    count_scores_in_bins,
    scores_of_bins,
)

_MOST_BINS = 2**22
_CELLS_OF_BIN = 64  # on average, or 16 where bins are not many: in narrow ones fewer cells are looked at one by one
_FEW_CELLS_OF_BIN, _FEW_BINS = 16, 2**20
_SAMPLED_CELLS = 2**16
_WORTH_A_LOOP = 2**20  # cells

_FINER_BITS = 10
_WEIGHT_BITS = 60  # of all weights together
_ROUNDING = 1e-12  # of the hull, relative

_NONE = np.empty(0, np.int64)
_ONE_GROUP = np.array([0, 0])


def _bins_for(problem: Problem) -> ScoreBins:
    """Choose bins by a sample: of scores, or of their bits where none is below 0."""
    scores = problem.scores.data if is_sparse(problem.scores) else problem.scores
    step = max(1, problem.n_stored // _SAMPLED_CELLS)
    sample = np.array(scores[::step], problem.dtype)
    sample = sample[sample > -np.inf]
    n_bins = max(
        min(_FEW_BINS, problem.n_stored // _FEW_CELLS_OF_BIN + 1),
        min(_MOST_BINS, problem.n_stored // _CELLS_OF_BIN + 1),
    )
    if sample.size == 0:
        sample, n_bins = np.zeros(1, problem.dtype), 1
    ends = np.array([sample.min(), sample.max()])
    return ScoreBins.between(ends, n_bins, by_bits=bool(ends[0] >= 0))


def fit_pooled(
    problem: Problem, row_weight: float | None, n_jobs: int | None, progress: bool
) -> IsotonicCurves:
    """Fit one curve to the cells of all labels.

    With `row_weight`, what a row of weight 1 counts, two such cells are added: a positive at the lowest score, and a
    negative at the highest.
    """
    # 1. What is in each bin.
    bins = _bins_for(problem)
    counts, ends = _count(problem, bins, n_jobs, progress)  # (2, n_bins), (2,)
    finer, added = 1, Items(_ONE_GROUP, ends[:0], _NONE, _NONE)
    if row_weight is not None:
        finer, added = _two_rows(ends, row_weight, int(counts[0].sum()))
    counts *= finer
    bins_of_added = bins.of_keys(added.keys)
    np.add.at(counts[0], bins_of_added, added.weights)
    np.add.at(counts[1], bins_of_added, added.positive_weights)

    # 2. The scores of the bins that may have vertices.
    is_open = _may_have_vertices(counts)  # (n_bins,)
    parts = _scores_of_bins(problem, bins, is_open, n_jobs, progress)
    is_seen = is_open[bins_of_added]
    keys = np.concatenate([*(part.keys for part in parts), added.keys[is_seen]])
    positive_weights, weights = (
        np.concatenate([*(finer * part[k] for part in parts), added[k][is_seen]]) for k in (2, 3)
    )
    _, keys, positive_weights, weights = _distinct(keys, positive_weights, weights)

    # 3. The steps among these, with all that lies in other bins above.
    counts[:, is_open] = 0
    above = counts.sum(axis=1, keepdims=True) - counts.cumsum(axis=1)  # (2, n_bins)
    predicted, tp = above[:, bins.of_keys(keys)] + np.cumsum([weights, positive_weights], axis=1)
    lower = np.append(keys[1:], keys.dtype.type(0))
    is_step = positive_weights > 0
    offsets = np.array([0, np.count_nonzero(is_step)])
    steps = (offsets, keys[is_step], lower[is_step], tp[is_step], (predicted - tp)[is_step])
    return joined([knots_of_steps(steps)])


def _count(
    problem: Problem, bins: ScoreBins, n_jobs: int | None, progress: bool
) -> tuple[Ints, Keys]:
    """Return weights and positive weights in all bins, (2, n_bins), and the lowest and the highest key, (2,)."""
    if _is_read_in_rows(problem):
        counts, ends = count_scores_in_bins(problem, bins, n_jobs=n_jobs, progress=progress)
        return counts, _or_zero(ends, problem)
    counts = np.zeros((2, bins.n_bins), np.int64)
    adding = Lock()

    def count(first: int, last: int) -> list[Any]:
        _, keys, positive_weights, weights = counted_items(problem, first, last)
        own = bins.of_keys(keys)
        if weights.size:
            with adding:
                np.add.at(counts[0], own, weights)
                np.add.at(counts[1], own, positive_weights)
        else:
            of_tile = np.bincount(own, minlength=bins.n_bins)
            of_positives = own[positive_weights.view(np.bool_)]
            with adding:
                counts[0] += of_tile
                np.add.at(counts[1], of_positives, 1)  # few, as a rule
        return [keys.min(), keys.max()] if keys.size else []

    of_tiles = map_tiles(problem, count, n_jobs=n_jobs, progress=progress, light=True)
    keys = np.array([key for ends in of_tiles for key in ends], f"u{problem.dtype.itemsize}")
    keys = _or_zero(keys, problem)
    return counts, np.array([keys.min(), keys.max()])


def _is_read_in_rows(problem: Problem) -> bool:
    """Whether rows of scores are read as they lie: not so few that NumPy takes less time than to load a loop."""
    is_plain = problem.is_dense and problem.is_plain
    return is_plain and problem.n_stored >= _WORTH_A_LOOP


def _or_zero(keys: Keys, problem: Problem) -> Keys:
    """Return keys; where there are none, that of 0 twice."""
    return keys if keys.size else to_keys(np.zeros(2, problem.dtype))


def _two_rows(ends: Keys, row_weight: float, total: int) -> tuple[int, Items]:
    """Return how many times finer the unit of weights must be for rows of weight 1, and the items of two such rows."""
    finer = 1 << max(0, min(_FINER_BITS, _WEIGHT_BITS - total.bit_length()))
    own = max(round(min(row_weight, float(total)) * finer), 1)
    return finer, Items(np.array([0, 2]), ends, np.array([own, 0]), np.array([own, own]))


def _may_have_vertices(counts: Ints) -> Booleans:
    """Return which bins, and the next lower one that is not empty, must be looked into, (n_bins,)."""
    # From the top down, where bins with positives end.
    filled = np.flatnonzero(counts[0])[::-1]
    weights, positive_weights = counts[:, filled]
    predicted, tp = weights.cumsum(), positive_weights.cumsum()
    is_step = positive_weights > 0
    steps = np.array([0, np.count_nonzero(is_step)])
    _, vertices, _ = upper_hulls(steps, tp[is_step], (predicted - tp)[is_step])

    # The best case of each bin, against the hull.
    hull = np.append(0, predicted[is_step][vertices]), np.append(0, tp[is_step][vertices])
    best = np.interp(predicted - weights + positive_weights, *hull)
    is_open = is_step & (tp >= best * (1 - _ROUNDING))
    is_open[1:] |= is_open[:-1]

    opened = np.zeros(counts.shape[1], np.bool_)
    opened[filled[is_open]] = True
    return opened


def _scores_of_bins(
    problem: Problem, bins: ScoreBins, is_open: Booleans, n_jobs: int | None, progress: bool
) -> list[Items]:
    """Return the distinct keys in open bins, part by part, with their weights."""
    if _is_read_in_rows(problem):
        parts = scores_of_bins(problem, bins, is_open, n_jobs=n_jobs, progress=progress)
        keys, truth = (np.concatenate(arrays) for arrays in zip(*parts, strict=True))
        return [_distinct_cells(keys, truth.view(np.bool_))]

    def collect(first: int, last: int) -> Items:
        _, keys, positive_weights, weights = counted_items(problem, first, last)
        own = np.flatnonzero(is_open[bins.of_keys(keys)])
        own_weights = weights[own] if weights.size else np.ones(own.size, np.int64)
        return _distinct(keys[own], positive_weights[own], own_weights)

    return map_tiles(problem, collect, n_jobs=n_jobs, progress=progress)


def _distinct_cells(keys: Keys, truth: Booleans) -> Items:
    """Add up cells of equal keys as `_distinct` does: keys alone are sorted, and those of positives apart."""
    true_keys = np.sort(keys[truth])
    keys = np.sort(keys)
    firsts = np.flatnonzero(np.append(True, keys[1:] != keys[:-1])[: keys.size])
    weights = np.diff(firsts, append=keys.size)
    keys = keys[firsts]
    positive_weights = np.diff(true_keys.searchsorted(keys), append=true_keys.size)
    return Items(np.array([0, keys.size]), keys[::-1], positive_weights[::-1], weights[::-1])


def _distinct(keys: Keys, positive_weights: Weights, weights: Ints) -> Items:
    """Add up what has equal keys; they fall, as in `TieGroups`, which need a compiled loop at a first call."""
    # A stable sort takes little time where parts of the keys fall already.
    order = np.argsort(keys, kind="stable")[::-1]
    keys = keys[order]
    firsts = np.flatnonzero(np.append(True, keys[1:] != keys[:-1])[: keys.size])
    sums = (
        np.add.reduceat(values[order], firsts, dtype=np.int64)
        for values in (positive_weights, weights)
    )
    return Items(np.array([0, firsts.size]), keys[firsts], *sums)
