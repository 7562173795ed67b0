"""One logistic curve of truth on score for all labels: what a cell's score is worth anywhere.

The bins (`_kernels/guards.py`) make it independent of the order of cells, and of threads, to the
last bit.
"""

from collections.abc import Sequence
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from thresholds._arrays.types import Buckets, Dense, Floats, Ints, Keys, Weights
from thresholds._kernels import guards as kernels
from thresholds._kernels.calibration import fit_logistic
from thresholds._kernels.guards import count_bins, filled_bins
from thresholds._kernels.keys import to_keys, to_scores
from thresholds.data.panels import Panel
from thresholds.data.probable import are_probable
from thresholds.data.problem import Items, Problem
from thresholds.log_odds import sigmoid

_BINS_OF_OCTAVE = 2 ** (23 - kernels.SHIFT)  # as 23 bits of a float32 lie below its exponent
_LARGEST = float(np.finfo(np.float32).max)


class BinCounts(NamedTuple):
    """Weight of cells by bin, of bins that have any; the last bin is that of what is `missing`."""

    bins: Ints  # (n_filled,) each once
    total: Ints  # (n_filled,)
    positive: Ints  # (n_filled,)


class LabelBins(NamedTuple):
    """Weight of the cells of each label by bin, from the highest bin down; from `offsets[j]` on."""

    offsets: Ints  # (n_labels + 1,)
    bins: Buckets  # (n_filled,)
    weight: Ints  # (n_filled,)


class Bins:
    """The bins of the scores of a problem, and what is counted in them."""

    def __init__(self, problem: Problem) -> None:
        self._dtype = problem.dtype
        self._missing_score = problem.missing
        self.probable = are_probable(problem)
        missing, masked = _keys_apart(problem)
        self._apart = missing, masked, self.probable
        self._n_bins = 2 * kernels.SIDE if self.probable else kernels.MARGIN_BINS
        # From the highest down, that of what is missing just below the bin in which its score lies.
        falling = np.arange(self._n_bins)[::-1]
        place = _bins_of(np.array([missing]), self.probable)
        self._order = np.insert(falling, self._n_bins - place, self._n_bins)  # (n_bins + 1,)

    def of_labels(self, items: Items, positives: Ints) -> tuple[LabelBins, Ints]:
        """Count the cells of the labels that have positives; return too those of all labels, (n_bins + 1,)."""
        self._ask(items)
        total = np.zeros(self._n_bins + 1, np.int64)
        starts, keys, _, weights = items
        offsets, bins, weight = filled_bins(
            starts, _narrow_keys(keys), weights, *self._apart, self._order, positives, total
        )
        # Labels without positives have no bins.
        offsets = np.append(offsets[:-1][positives > 0], offsets[-1])
        return LabelBins(offsets, bins, weight), total

    def counts(self, items: Items, total: Ints | None = None) -> BinCounts:
        """Count the cells of all labels, where their `total` (n_bins + 1,) is not known, and their positives."""
        if total is None:
            total = self._added_up(items.keys, items.weights)
        if isinstance(items, Panel):
            positive = self._added_up(items.true_keys, items.weights)  # each weighs 1
        else:
            positive = self._added_up(items.keys, items.positive_weights)
        filled = np.flatnonzero(total)
        return BinCounts(filled, total[filled], positive[filled])

    def _added_up(self, keys: Keys, weights: Weights) -> Ints:
        """Add up weights by bin, (n_bins + 1,)."""
        total = np.zeros(self._n_bins + 1, np.int64)
        count_bins(_narrow_keys(keys), weights, *self._apart, total)
        return total

    def fit_curve(self, counts: Sequence[BinCounts], weight_of_row: float) -> Floats | None:
        """Fit Platt's curve to the cells of all labels: the probability in each bin, and of what is `missing`.

        (n_bins + 1,), or None if truth does not rise with the score.

        `weight_of_row` is that of one row, in the unit of the weights. Scores in [0, 1] enter by their
        log odds, others as they are; those that are `missing` get the share of positives among them.
        """
        total, positive = np.zeros((2, self._n_bins + 1), np.int64)
        for some in counts:
            total[some.bins] += some.total
            positive[some.bins] += some.positive
        negative = (total - positive)[:-1]

        # Each bin that has cells is two points of the fit: its positives, and its negatives.
        filled = np.flatnonzero(total[:-1])
        if not positive[filled].any() or not negative.any():
            return None
        x = np.tile(_values(self.probable)[filled], 2)
        truth = np.repeat(np.array([1, 0], np.uint8), filled.size)
        weights = np.concatenate([positive[filled], negative[filled]])
        curve = fit_logistic(np.array([0, x.size]), x, truth, weights, weight_of_row)  # (4, 1)
        slope = curve[2, 0]
        if not slope > 0:
            return None

        p_missing = (positive[-1] + weight_of_row / 2) / (total[-1] + weight_of_row)
        return np.append(_read(curve[:, 0], self.probable), p_missing)

    def _ask(self, items: Items) -> None:
        """Say that cells of different bins are to be known apart, and those that are missing or masked from others."""
        if not items.has_runs:
            return
        items.ask_between(_lowest_of_bins(self._dtype.itemsize, self.probable))
        for key in to_keys(np.array([self._missing_score, -np.inf], self._dtype)):
            items.ask_at(np.full(items.starts.size - 1, key))


def _narrow_keys(keys: Dense) -> Dense:
    """Return keys as those of float32, which are fine enough for bins."""
    return keys if keys.dtype == np.uint32 else _narrow(to_scores(keys))


def _keys_apart(problem: Problem) -> tuple[np.uint32, np.uint32]:
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
    return kernels.bins_of(_narrow_keys(keys), probable)


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
    scale, centre, slope, intercept = curve
    with np.errstate(over="ignore"):
        z = slope * (_values(probable) / scale - centre) + intercept
        return np.asarray(np.nan_to_num(sigmoid(z)))
