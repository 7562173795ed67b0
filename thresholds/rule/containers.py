"""Scores and decisions in the caller's container: what comes in as a frame, a tensor or a vector goes out as one."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from thresholds import _checks, _devices
from thresholds._arrays.sparse import is_sparse
from thresholds._arrays.types import Matrix
from thresholds._checks import InputError
from thresholds._results.words import counted
from thresholds.rule.protocol import HasLabels


def in_kind(cells: Matrix, like: object, label_names: Sequence[str] | None) -> Any:
    """Return a value for each cell as scores came: frame, tensor, spmatrix or array, one dimension for one."""
    if is_sparse(cells):
        from scipy import sparse

        return sparse.csr_matrix(cells) if isinstance(like, sparse.spmatrix) else cells
    frame = _checks.like_frame(cells, like, None if label_names is None else tuple(label_names))
    if frame is not None:
        return frame
    array = cells[:, 0] if _checks.is_vector(like) else cells
    tensor = _checks.like_tensor(array, like)
    return array if tensor is None else tensor


def as_row(scores: Any, owner: HasLabels, name: str = "y_score") -> Any:
    """Return a vector of scores, one for each of several labels, as a matrix of one row; None for anything else.

    Of a tensor it is one, on the same device; else a NumPy array. Its labels are in the order of the owner's.
    """
    if owner.n_labels in (None, 1) or not _checks.is_vector(scores, name):
        return None
    cells = scores if _devices.is_tensor(scores) else _checks.plain(scores, name)  # (n_labels,)
    n_cells = cells.shape[0]
    if 0 < n_cells != owner.n_labels:
        raise InputError(
            f"{name} is a vector of {counted(n_cells, 'score')}, expected {owner.n_labels}, one for each label, or a"
            f" matrix (n_samples, {owner.n_labels})"
        )
    order = _checks.places_in_row(scores, owner.label_names, name)
    return cells[None, :] if order is None else cells[order][None, :]


def like_row(values: Any, scores: Any, owner: HasLabels) -> Any:
    """Return values (1, n_labels) for `as_row` of a vector as a vector, in its kind and order."""
    if _devices.is_tensor(scores):
        return values[0, :]
    order = _checks.places_in_row(scores, owner.label_names, "y_score")
    if order is not None:
        values = values[:, np.argsort(order)]
    return in_kind(values.T, scores, None)


def by_blocks(
    function: Callable[[Any], Any], scores: Any, dtype: npt.DTypeLike, owner: HasLabels, kind: str
) -> Any:
    """Return `function` of each block of rows of a Dask array, as one of the same shape that is not computed yet.

    `function` gives an array of the shape of its block, of that dtype; the `owner`, a rule or a calibrator by its
    `kind`, says how many labels there must be.
    """
    if scores.ndim == 2:
        if owner.n_labels is not None:
            _checks.label_count(scores.shape, owner.n_labels, kind)
        scores = scores.rechunk({1: -1})  # A block has all labels.
    empty = scores._meta.astype(dtype)  # of the library that the blocks are of
    return scores.map_blocks(partial(_of_block, function, dtype), dtype=dtype, meta=empty)


def _of_block(function: Callable[[Any], Any], dtype: npt.DTypeLike, block: Any) -> Any:
    """Return `function` of a block, which has no rows where a filter left none."""
    return function(block) if block.shape[0] else block.astype(dtype)
