"""The isotonic curve of the cells of all labels together, exactly, with no list of all cells.

Cells are counted in bins of neighbouring scores. A block of the curve ends at a vertex of the hull of (predicted, true
positives), and the points where bins end are below that hull. A bin that holds P positives, of which c cells lie above
and which brings true positives to t, has no point above (c + P, t): as if its positives were its highest scores. Where
even that is below the hull of the ends of bins, no vertex is inside. The cells of the other bins are looked at one by
one. However bins are chosen, the curve is the same.
"""

from threading import Lock
from typing import Any, NamedTuple

import numpy as np

from thresholds._arrays.sparse import is_sparse
from thresholds._arrays.types import Booleans, Ints, Keys, Weights
from thresholds._kernels.choosing import upper_hulls
from thresholds._kernels.keys import to_keys, to_scores
from thresholds.calibration.binned import counted_items
from thresholds.calibration.isotonic import IsotonicCurves, joined, knots_of_steps
from thresholds.data.problem import Items, Problem
from thresholds.data.tiles import map_tiles

_MOST_BINS = 2**22
_CELLS_OF_BIN = 64  # on average, or 16 where bins are not many: in narrow ones fewer cells are looked at one by one
_FEW_CELLS_OF_BIN, _FEW_BINS = 16, 2**20
_SAMPLED_CELLS = 2**16

_FINER_BITS = 10
_WEIGHT_BITS = 60  # of all weights together
_ROUNDING = 1e-12  # of the hull, relative

_NONE = np.empty(0, np.int64)
_ONE_GROUP = np.array([0, 0])


class _Grid(NamedTuple):
    """Bins of scores, which rise: linear in the scores, or in their keys where none is below 0."""

    lowest: Any  # score, or key
    scale: Any  # bins for each unit of the scores, in their dtype; 0 for a single bin
    shift: Any  # bits of keys that are dropped; None where bins are linear in the scores
    n_bins: int

    @classmethod
    def of(cls, problem: Problem) -> "_Grid":
        """Choose bins by a sample: what lies beyond it goes to the first bin, or to the last."""
        scores = problem.scores.data if is_sparse(problem.scores) else problem.scores
        step = max(1, problem.n_stored // _SAMPLED_CELLS)
        sample = np.array(scores[::step], problem.dtype)
        sample = sample[sample > -np.inf]
        n_bins = max(
            min(_FEW_BINS, problem.n_stored // _FEW_CELLS_OF_BIN + 1),
            min(_MOST_BINS, problem.n_stored // _CELLS_OF_BIN + 1),
        )
        if sample.size == 0:
            return cls(0, 0, None, 1)
        lowest, highest = sample.min(), sample.max()
        if lowest >= 0:
            first, last = to_keys(np.array([lowest, highest]))
            n_bits = int(last - first).bit_length() - n_bins.bit_length() + 1
            return cls(first, 1, first.dtype.type(max(n_bits, 0)), n_bins)
        with np.errstate(over="ignore", divide="ignore"):
            scale = problem.dtype.type(n_bins) / (highest - lowest)
        return cls(lowest, scale if scale < np.inf else 0.0, None, n_bins)

    def bins_of(self, keys: Keys) -> Ints:
        """Return the bin of each key."""
        places: Any
        if self.shift is not None:
            places = np.maximum(keys, self.lowest)
            places -= self.lowest
            places >>= self.shift
        elif self.scale == 0:
            return np.zeros(keys.size, np.int64)
        else:
            places = to_scores(keys)
            with np.errstate(over="ignore"):
                places -= self.lowest
                places *= self.scale
            np.maximum(places, 0, out=places)
        np.minimum(places, self.n_bins - 1, out=places)
        return np.asarray(places, np.int64)


def fit_pooled(
    problem: Problem, row_weight: float | None, n_jobs: int | None, progress: bool
) -> IsotonicCurves:
    """Fit one curve to the cells of all labels.

    With `row_weight`, what a row of weight 1 counts, two such cells are added: a positive at the lowest score, and a
    negative at the highest.
    """
    # 1. What is in each bin.
    grid = _Grid.of(problem)
    counts, ends = _count(problem, grid, n_jobs, progress)  # (2, n_bins), (2,)
    finer, added = 1, Items(_ONE_GROUP, ends[:0], _NONE, _NONE)
    if row_weight is not None:
        finer, added = _two_rows(ends, row_weight, int(counts[0].sum()))
    counts *= finer
    bins_of_added = grid.bins_of(added.keys)
    np.add.at(counts[0], bins_of_added, added.weights)
    np.add.at(counts[1], bins_of_added, added.positive_weights)

    # 2. The scores of the bins that may have vertices.
    is_open = _may_have_vertices(counts)  # (n_bins,)
    parts = _scores_of_bins(problem, grid, is_open, n_jobs, progress)
    is_seen = is_open[bins_of_added]
    keys = np.concatenate([*(part.keys for part in parts), added.keys[is_seen]])
    positive_weights, weights = (
        np.concatenate([*(finer * part[k] for part in parts), added[k][is_seen]]) for k in (2, 3)
    )
    _, keys, positive_weights, weights = _distinct(keys, positive_weights, weights)

    # 3. The steps among these, with all that lies in other bins above.
    counts[:, is_open] = 0
    above = counts.sum(axis=1, keepdims=True) - counts.cumsum(axis=1)  # (2, n_bins)
    predicted, tp = above[:, grid.bins_of(keys)] + np.cumsum([weights, positive_weights], axis=1)
    lower = np.append(keys[1:], keys.dtype.type(0))
    is_step = positive_weights > 0
    offsets = np.array([0, np.count_nonzero(is_step)])
    steps = (offsets, keys[is_step], lower[is_step], tp[is_step], (predicted - tp)[is_step])
    return joined([knots_of_steps(steps)])


def _count(problem: Problem, grid: _Grid, n_jobs: int | None, progress: bool) -> tuple[Ints, Keys]:
    """Return weights and positive weights in all bins, (2, n_bins), and the lowest and the highest key, (2,)."""
    counts = np.zeros((2, grid.n_bins), np.int64)
    adding = Lock()

    def count(first: int, last: int) -> list[Any]:
        _, keys, positive_weights, weights = counted_items(problem, first, last)
        bins = grid.bins_of(keys)
        if weights.size:
            with adding:
                np.add.at(counts[0], bins, weights)
                np.add.at(counts[1], bins, positive_weights)
        else:
            of_tile = np.bincount(bins, minlength=grid.n_bins)
            of_positives = bins[positive_weights.view(np.bool_)]
            with adding:
                counts[0] += of_tile
                np.add.at(counts[1], of_positives, 1)  # few, as a rule
        return [keys.min(), keys.max()] if keys.size else []

    ends = map_tiles(problem, count, n_jobs=n_jobs, progress=progress, light=True)
    keys = np.array([key for of_tile in ends for key in of_tile], f"u{problem.dtype.itemsize}")
    if keys.size == 0:
        keys = to_keys(np.zeros(1, problem.dtype))
    return counts, np.array([keys.min(), keys.max()])


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
    problem: Problem, grid: _Grid, is_open: Booleans, n_jobs: int | None, progress: bool
) -> list[Items]:
    """Return the distinct keys in open bins, some labels at a time, with their weights."""

    def collect(first: int, last: int) -> Items:
        _, keys, positive_weights, weights = counted_items(problem, first, last)
        own = np.flatnonzero(is_open[grid.bins_of(keys)])
        own_weights = weights[own] if weights.size else np.ones(own.size, np.int64)
        return _distinct(keys[own], positive_weights[own], own_weights)

    return map_tiles(problem, collect, n_jobs=n_jobs, progress=progress)


def _distinct(keys: Keys, positive_weights: Weights, weights: Ints) -> Items:
    """Add up what has equal keys; they fall, as in `TieGroups`, which need a compiled loop at a first call."""
    order = np.argsort(keys)[::-1]
    keys = keys[order]
    firsts = np.flatnonzero(np.append(True, keys[1:] != keys[:-1])[: keys.size])
    sums = (
        np.add.reduceat(values[order], firsts, dtype=np.int64)
        for values in (positive_weights, weights)
    )
    return Items(np.array([0, firsts.size]), keys[firsts], *sums)
