"""One logistic curve of truth on score for all labels: what a cell's score is worth anywhere.

The bins (`_kernels/guards.py`) make it independent of the order of cells, and of threads, to the
last bit.
"""

from collections.abc import Callable
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from thresholds._arrays import threads
from thresholds._arrays.sparse import to_dense
from thresholds._arrays.types import Dense, Floats, Ints, Keys
from thresholds._kernels import guards as kernels
from thresholds._kernels.calibration import fit_logistic
from thresholds._kernels.keys import to_keys, to_scores
from thresholds.data.probable import are_probable
from thresholds.data.problem import Items, Problem
from thresholds.data.tiles import map_tiles

ItemsOf = Callable[[int, int], Items]

_NO_WEIGHTS = np.empty(0, np.int64)
_BINS_OF_OCTAVE = 2 ** (23 - kernels.SHIFT)  # as 23 bits of a float32 lie below its exponent
_LARGEST = float(np.finfo(np.float32).max)


class PooledCurve(NamedTuple):
    """One curve for all labels, read in bins of scores."""

    p: Floats  # (n_bins + 1,) probabilities; the last is that of what is `missing`
    probable: bool  # whether the bins are of scores in [0, 1]


class _BinCounts(NamedTuple):
    """Weight of cells by bin; the last entry is that of what is `missing`."""

    total: Ints  # (n_bins + 1,)
    positive: Ints  # (n_bins + 1,)


def fit_pooled_curve(
    problem: Problem,
    items_of: ItemsOf,
    weight_of_row: float,
    n_jobs: int | None,
) -> PooledCurve | None:
    """Fit Platt's curve to the cells of all labels; None if truth does not rise with the score.

    `items_of` gives the items of labels, `weight_of_row` is that of one row, in their unit. Scores in
    [0, 1] enter by their log odds, others as they are; those that are `missing` get the share of
    positives among them.
    """
    probable = are_probable(problem)
    pieces = _count(problem, items_of, probable, n_jobs)
    total = np.sum([piece.total for piece in pieces], axis=0)
    positive = np.sum([piece.positive for piece in pieces], axis=0)
    negative = (total - positive)[:-1]

    # Each bin that has cells is two points of the fit: its positives, and its negatives.
    filled = np.flatnonzero(total[:-1])
    if not positive[filled].any() or not negative.any():
        return None
    x = np.tile(_values(probable)[filled], 2)
    truth = np.repeat(np.array([1, 0], np.uint8), filled.size)
    weights = np.concatenate([positive[filled], negative[filled]])
    curve = fit_logistic(np.array([0, x.size]), x, truth, weights, weight_of_row)  # (4, 1)
    slope = curve[2, 0]
    if not slope > 0:
        return None

    p_missing = (positive[-1] + weight_of_row / 2) / (total[-1] + weight_of_row)
    return PooledCurve(np.append(_read(curve[:, 0], probable), p_missing), probable)


def _count(
    problem: Problem,
    items_of: ItemsOf,
    probable: bool,
    n_jobs: int | None,
) -> list[_BinCounts]:
    """Count cells and positives by bin: as they lie in memory, else label by label."""
    n_bins = 2 * kernels.SIDE if probable else kernels.MARGIN_BINS
    missing, masked = keys_apart(problem)

    def count(keys: Dense, positive_weights: Dense, weights: Ints) -> _BinCounts:
        counts = _BinCounts(np.zeros(n_bins + 1, np.int64), np.zeros(n_bins + 1, np.int64))
        kernels.count_bins(keys, weights, missing, masked, probable, counts.total)
        kernels.count_bins(keys, positive_weights, missing, masked, probable, counts.positive)
        return counts

    def count_rows(rows: slice) -> _BinCounts:
        truth = np.ascontiguousarray(to_dense(problem.truth[rows]), np.uint8)
        return count(_narrow(problem.scores[rows]).reshape(-1), truth.reshape(-1), _NO_WEIGHTS)

    def count_tile(first: int, last: int) -> _BinCounts:
        items = items_of(first, last)
        _ask_bins(items, problem, probable)
        _, keys, positive_weights, weights = items
        return count(narrow_keys(keys), positive_weights, weights)

    if problem.is_dense_unweighted:
        return threads.run(count_rows, list(problem.row_blocks()), n_jobs=n_jobs)
    return map_tiles(problem, count_tile, n_jobs=n_jobs)


def narrow_keys(keys: Dense) -> Dense:
    """Return keys as those of float32, which are fine enough for bins."""
    return keys if keys.dtype == np.uint32 else _narrow(to_scores(keys))


def keys_apart(problem: Problem) -> tuple[np.uint32, np.uint32]:
    """Return the keys of scores that are missing, and of those that are masked."""
    missing, masked = _narrow(np.array([problem.missing, -np.inf]))
    return missing, masked


def _narrow(scores: Dense) -> Dense:
    """Return the keys of scores as float32; what is beyond its range becomes its largest number."""
    if scores.dtype != np.float32:
        wide = scores.astype(np.float64)
        clipped = np.clip(wide, -_LARGEST, _LARGEST)
        scores = np.where(wide > -np.inf, clipped, wide).astype(np.float32)
    return to_keys(np.array(scores, order="C"))


def _ask_bins(items: Items, problem: Problem, probable: bool) -> None:
    """Say that cells of different bins are to be known apart, and those that are missing or masked from others."""
    if not items.has_runs:
        return
    items.ask_between(_lowest_of_bins(problem.dtype.itemsize, probable))
    for key in to_keys(np.array([problem.missing, -np.inf], problem.dtype)):
        items.ask_at(np.full(items.starts.size - 1, key))


def margins_apart(dtype: np.dtype[Any], lowest: float, highest: float) -> Keys:
    """Return keys that part margins between two scores into octaves, rising; none where both are probabilities.

    There are so many bins of margins near 0 that counts had better not be at all of them at once.
    """
    if lowest >= 0 and highest <= 1:
        return np.zeros(0, f"u{dtype.itemsize}")
    edges = _lowest_of_bins(dtype.itemsize, False)
    octaves = edges[_bins_of(edges, False) % _BINS_OF_OCTAVE == 0]
    low, high = to_keys(np.array([max(lowest, -_LARGEST), highest], dtype))
    return np.asarray(octaves[(octaves > low) & (octaves <= high)])


@lru_cache(maxsize=2)
def _lowest_of_bins(itemsize: int, probable: bool) -> Keys:
    """Return the lowest key, of float32 or float64, of each bin that has one but the first; rising."""
    dtype = np.dtype(f"f{itemsize}")
    largest = np.finfo(dtype).max
    n_bins = 2 * kernels.SIDE if probable else kernels.MARGIN_BINS
    wanted = np.arange(n_bins)
    low, high = to_keys(np.repeat([[-largest], [largest]], n_bins, axis=1).astype(dtype))
    last_bin = _bins_of(high[:1], probable)[0]
    while (low < high).any():
        middle = low + (high - low) // low.dtype.type(2)
        reaches = _bins_of(middle, probable) >= wanted
        high = np.where(reaches, middle, high)
        low = np.where(reaches, low, middle + low.dtype.type(1))
    lowest = low[(wanted > _bins_of(low[:1], probable)[0]) & (wanted <= last_bin)]
    return np.unique(lowest)


def _bins_of(keys: Keys, probable: bool) -> Ints:
    """Return the bin of each key of any width."""
    return kernels.bins_of(narrow_keys(keys), probable)


def _values(probable: bool) -> Floats:
    """Return the middle (n_bins,) of each bin: its log odds, or its margin."""
    shift = np.uint32(kernels.SHIFT)
    middle = np.uint32(1 << (kernels.SHIFT - 1))  # bits below those of the bin
    if not probable:
        keys = (np.arange(kernels.MARGIN_BINS, dtype=np.uint32) << shift) | middle
        with np.errstate(invalid="ignore"):  # Bins of NaN.
            return to_scores(keys).astype(np.float64)

    # Probabilities up to 1/2; those above mirror them.
    bins = np.arange(kernels.LOWEST, kernels.LOWEST + kernels.SIDE, dtype=np.uint32)
    bits = (bins << shift) | middle
    p = np.minimum(bits.view(np.float32).astype(np.float64), 0.5)
    log_odds = np.log(p / (1 - p))  # (SIDE,)
    return np.concatenate([log_odds, -log_odds[::-1]])


def _read(curve: Floats, probable: bool) -> Floats:
    """Return the probability (n_bins,) of each bin; bins that no number has get none."""
    from scipy.special import expit

    scale, centre, slope, intercept = curve
    with np.errstate(over="ignore"):
        z = slope * (_values(probable) / scale - centre) + intercept
        return np.asarray(np.nan_to_num(expit(z)))
