"""One logistic curve of truth on score for all labels, from counts in bins: what a cell's score is worth anywhere.

The bins (`_kernels/guards.py`) make it independent of the order of cells, and of threads, to the last bit.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from thresholds._arrays import threads
from thresholds._arrays.sparse import is_sparse, to_dense
from thresholds._arrays.types import Dense, Floats, Ints
from thresholds._kernels import guards as kernels
from thresholds._kernels.calibration import fit_logistic
from thresholds._kernels.keys import to_keys, to_scores
from thresholds.data.problem import Items, Problem
from thresholds.data.tiles import map_tiles

CellsOf = Callable[[int, int], Items]

_NO_WEIGHTS = np.empty(0, np.int64)
_LARGEST = float(np.finfo(np.float32).max)


class PooledCurve(NamedTuple):
    """The probability of each bin, and last of what is `missing`; `probable` tells which bins."""

    p: Floats
    probable: bool


def fit_pooled_curve(problem: Problem, cells: CellsOf, weight_of_row: float, n_jobs: int | None) -> PooledCurve | None:
    """Fit Platt's curve to the cells of all labels at once; None if truth does not rise with the score.

    `cells` gives the items of labels, `weight_of_row` is that of one row, in their unit. Scores in [0, 1] enter by
    their log odds, others as they are; those that are `missing` get the share of positives among them.
    """
    probable = _are_probable(problem)
    parts = _counted(problem, cells, probable, n_jobs)
    total, positive = (np.sum([part[k] for part in parts], axis=0) for k in (0, 1))
    negative = (total - positive)[:-1]
    filled = np.flatnonzero(total[:-1])
    x = np.tile(_values(probable)[filled], 2)
    truth = np.repeat(np.array([1, 0], np.uint8), filled.size)
    weights = np.concatenate([positive[filled], negative[filled]])
    if not positive[filled].any() or not negative.any():
        return None
    curve = fit_logistic(np.array([0, x.size]), x, truth, weights, weight_of_row)
    if not curve[2, 0] > 0:
        return None
    of_missing = (positive[-1] + weight_of_row / 2) / (total[-1] + weight_of_row)
    return PooledCurve(np.append(_read(curve[:, 0], probable), of_missing), probable)


def _counted(problem: Problem, cells: CellsOf, probable: bool, n_jobs: int | None) -> list[tuple[Ints, Ints]]:
    """Count cells and positives by bin: in blocks of rows as they lie in memory, else label by label."""

    def count(keys: Dense, hits: Dense, weights: Ints) -> tuple[Ints, Ints]:
        total, positive = (
            np.zeros(1 + (2 * kernels.SIDE if probable else kernels.MARGIN_BINS), np.int64) for _ in range(2)
        )
        kernels.count_bins(keys, weights, *keys_apart(problem), probable, total)
        kernels.count_bins(keys, hits, *keys_apart(problem), probable, positive)
        return total, positive

    def of_rows(rows: slice) -> tuple[Ints, Ints]:
        hits = np.ascontiguousarray(to_dense(problem.truth[rows]), np.uint8)
        return count(_narrow(problem.scores[rows]).reshape(-1), hits.reshape(-1), _NO_WEIGHTS)

    def of_tile(first: int, last: int) -> tuple[Ints, Ints]:
        _, keys, hits, weights = cells(first, last)
        return count(narrow_keys(keys), hits, weights)

    if problem.is_dense_unweighted:
        return threads.run(of_rows, list(problem.row_blocks()), n_jobs=n_jobs)
    return map_tiles(problem, of_tile, n_jobs=n_jobs)


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
        scores = np.where(wide > -np.inf, np.clip(wide, -_LARGEST, _LARGEST), wide).astype(np.float32)
    return to_keys(np.array(scores, order="C"))


def _are_probable(problem: Problem) -> bool:
    """Whether all scores lie in [0, 1], those apart that are missing or masked."""
    blocks = (
        [problem.scores.data] if is_sparse(problem.scores) else (problem.scores[rows] for rows in problem.row_blocks())
    )
    for block in blocks:
        if block.size and not (block.min() >= 0 and block.max() <= 1):
            inside = (block >= 0) & (block <= 1)
            if not (inside | (block == problem.missing) | (block == -np.inf)).all():
                return False
    return True


def _values(probable: bool) -> Floats:
    """Return the middle of each bin: its log odds, or its margin."""
    half = np.uint32(1 << (kernels.SHIFT - 1))
    if not probable:
        keys = (np.arange(kernels.MARGIN_BINS, dtype=np.uint32) << np.uint32(kernels.SHIFT)) | half
        with np.errstate(invalid="ignore"):  # Bins of NaN.
            return to_scores(keys).astype(np.float64)
    bits = (
        np.arange(kernels.LOWEST, kernels.LOWEST + kernels.SIDE, dtype=np.uint32) << np.uint32(kernels.SHIFT)
    ) | half
    u = np.minimum(bits.view(np.float32).astype(np.float64), 0.5)
    low = np.log(u / (1 - u))
    return np.concatenate([low, -low[::-1]])


def _read(curve: Floats, probable: bool) -> Floats:
    """Return the probability of each bin; bins that no number has get none."""
    from scipy.special import expit

    scale, centre, slope, intercept = curve
    with np.errstate(over="ignore"):
        return np.asarray(np.nan_to_num(expit(slope * (_values(probable) / scale - centre) + intercept)))
