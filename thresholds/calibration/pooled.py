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

_MOST_BINS = 2**20
_CELLS_OF_BIN = 16  # on average, where bins are fewer
_SAMPLED_CELLS = 2**16

_FINER_BITS = 10
_WEIGHT_BITS = 60  # of all weights together
_ROUNDING = 1e-12  # of the hull, relative

_NONE = np.empty(0, np.int64)
_ONE_GROUP = np.array([0, 0])


class _Bins(NamedTuple):
    """Bins of neighbouring scores, all of one width, but that the outermost have what lies beyond them, too.

    Scores from 0 on are as dense, as a rule, in each octave: bins are as wide in their keys. Others, as margins, would
    fill few of these, since half of all keys are those of numbers between -1 and 1: bins are as wide in the score.
    """

    lowest: float
    highest: float
    n_bins: int
    by_keys: bool
    dtype: np.dtype[Any]

    @classmethod
    def covering(cls, problem: Problem) -> "_Bins":
        """Choose bins by a sample of the scores."""
        scores = problem.scores.data if is_sparse(problem.scores) else problem.scores
        step = max(1, problem.n_stored // _SAMPLED_CELLS)
        sample = np.array(scores[::step], problem.dtype, order="C")
        sample = sample[sample > -np.inf]
        if sample.size == 0:
            sample = np.zeros(1, problem.dtype)
        lowest, highest = float(sample.min()), float(sample.max())
        n_bins = min(_MOST_BINS, problem.n_stored // _CELLS_OF_BIN + 2)
        by_keys = lowest >= 0 or not 0 < highest - lowest < np.inf
        return cls(lowest, highest, n_bins, by_keys, problem.dtype)

    def of_keys(self, keys: Keys) -> Ints:
        """Return the bin of each key, (n_keys,)."""
        if self.by_keys:
            lowest, highest = to_keys(np.array([self.lowest, self.highest], self.dtype))
            places = np.clip(keys, lowest, highest)
            places -= lowest
            width = int(highest - lowest) // self.n_bins
            places >>= places.dtype.type(width.bit_length())
            return places.astype(np.int64)
        places = to_scores(keys).astype(np.float64)
        np.clip(places, self.lowest, self.highest, out=places)
        places -= self.lowest
        places *= (self.n_bins - 1) / (self.highest - self.lowest)
        return places.astype(np.int64)


def fit_pooled(
    problem: Problem, row_weight: float | None, n_jobs: int | None, progress: bool
) -> IsotonicCurves:
    """Fit one curve to the cells of all labels.

    With `row_weight`, what a row of weight 1 counts, two such cells are added: a positive at the lowest score, and a
    negative at the highest.
    """
    # 1. What is in each bin.
    bins = _Bins.covering(problem)
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


def _count(problem: Problem, bins: _Bins, n_jobs: int | None, progress: bool) -> tuple[Ints, Keys]:
    """Return weights and positive weights in all bins, (2, n_bins), and the lowest and the highest key, (2,)."""
    counts = np.zeros((2, bins.n_bins), np.int64)
    adding = Lock()

    def count(first: int, last: int) -> list[Any]:
        _, keys, positive_weights, weights = counted_items(problem, first, last)
        own = bins.of_keys(keys)
        with adding:
            if weights.size:
                np.add.at(counts[0], own, weights)
                np.add.at(counts[1], own, positive_weights)
            else:
                counts[0] += np.bincount(own, minlength=bins.n_bins)
                np.add.at(counts[1], own[positive_weights > 0], 1)
        return [keys.min(), keys.max()] if keys.size else []

    of_tiles = map_tiles(problem, count, n_jobs=n_jobs, progress=progress, light=True)
    keys = np.array([key for ends in of_tiles for key in ends], f"u{problem.dtype.itemsize}")
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
    problem: Problem, bins: _Bins, is_open: Booleans, n_jobs: int | None, progress: bool
) -> list[Items]:
    """Return the distinct keys in open bins, part by part, with their weights."""

    def collect(first: int, last: int) -> Items:
        _, keys, positive_weights, weights = counted_items(problem, first, last)
        own = np.flatnonzero(is_open[bins.of_keys(keys)])
        own_weights = weights[own] if weights.size else np.ones(own.size, np.int64)
        return _distinct(keys[own], positive_weights[own], own_weights)

    return map_tiles(problem, collect, n_jobs=n_jobs, progress=progress, light=True)


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
