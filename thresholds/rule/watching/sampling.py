"""Which rows of scores are looked at, their scores as float32, and how many labels they get."""

from typing import Any

import numpy as np
import numpy.typing as npt

from thresholds import _devices
from thresholds._arrays.sparse import is_sparse, row_of_entries
from thresholds._arrays.types import Floats, Matrix, Numbers, Places

# Of 10,000 rows 1 % can be told from 1.5 %.
_MOST_ROWS = 10_000
_MOST_CELLS = 2**22
_FEWEST_ROWS = 500  # however many labels there are

_GOLDEN_RATIO = (np.sqrt(5) - 1) / 2


def most_rows(n_labels: int, most_cells: int = _MOST_CELLS) -> int:
    """Return how many rows of so many labels are sampled at most."""
    return min(max(most_cells // n_labels, _FEWEST_ROWS), _MOST_ROWS)


def evenly_spaced(n: int, at_most: int) -> Places:
    """Return so many of n places, one in each of as many equal parts, in order; all where there are fewer.

    Where in its part is told by `golden_shares`, as rows may take turns: left and right eyes, say.
    """
    if n <= at_most:
        return np.arange(n)
    ends = np.arange(at_most + 1) * n // at_most  # (at_most + 1,)
    return ends[:-1] + (golden_shares(0, at_most) * np.diff(ends)).astype(np.intp)


def golden_shares(first: int, last: int) -> Floats:
    """Return multiples of the golden ratio, whole parts left out: any part of [0, 1) gets its due of every k-th."""
    return np.asarray(np.arange(first, last) * _GOLDEN_RATIO % 1)


def taken_rows(scores: Any, places: Places) -> Matrix:
    """Copy some rows of checked scores, wherever they are, to host memory."""
    if _devices.namespace_on_device(scores) is not None:
        return _devices.rows(scores, places)
    # Of columns, NumPy would copy all to take some.
    in_rows = isinstance(scores, np.ndarray) and scores.flags.c_contiguous
    return scores.take(places, axis=0) if in_rows else scores[places]


def scored_cells(
    rows: Matrix, missing: float, sparse: bool
) -> tuple[npt.NDArray[np.float32], Places]:
    """Return the scores of rows, dense, and the labels that they are of.

    Parameters
    ----------
    rows : (n_rows, n_labels) checked scores in host memory
    missing, sparse : where `sparse`, cells equal to `missing` are no scores

    Returns
    -------
    cells : float32 (n_rows, n_used), NaN where there is no score
    labels : (n_used,), rising: all labels, of sparse rows those that have entries
    """
    with np.errstate(over="ignore"):
        if is_sparse(rows):
            labels = np.unique(rows.indices)
            cells = np.full((rows.shape[0], labels.size), np.nan, np.float32)
            cells[row_of_entries(rows), np.searchsorted(labels, rows.indices)] = rows.data
        else:
            labels = np.arange(rows.shape[1])
            cells = rows.astype(np.float32)
        cells[cells == -np.inf] = np.nan
        if sparse:
            cells[cells == np.float32(missing)] = np.nan
    return cells, labels


def labels_per_row(decided: Matrix) -> tuple[float, float]:
    """Return the mean and the standard deviation of how many labels rows get."""
    return mean_and_sd(np.asarray(decided.sum(axis=1, dtype=np.int64)).reshape(-1))


def mean_and_sd(values: Numbers) -> tuple[float, float]:
    """Return the mean and the standard deviation of the values of some rows, 0 without any."""
    if values.size == 0:
        return 0.0, 0.0
    return float(values.mean()), float(values.std())
