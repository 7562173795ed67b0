"""A rule, or a calibrator, applied to an array of Dask: block by block, when Dask computes what comes out."""

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy.typing as npt

from thresholds import _checks
from thresholds.rule.protocol import HasLabels


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
