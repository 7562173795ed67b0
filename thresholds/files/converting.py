"""Rows of a source in another form: logits as probabilities, numbers of text in a dtype."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from thresholds._arrays.sparse import is_sparse, stored_cells, with_cells
from thresholds._arrays.types import Matrix
from thresholds._checks import InputError
from thresholds.files.source import Block, Source

_ENOUGH_CELLS = 100  # from which on logits do not all lie in [0, 1] by chance


def from_logits(source: Source) -> Source:
    """Return scores that are logits as probabilities."""
    return _converted(source, _probabilities, "logits are turned into probabilities")


def _probabilities(source: Source, with_truth: bool) -> Iterator[Block]:
    """Return the rows in order; that all were probabilities before is known, and refused, at the end."""
    suspicious, n_cells = True, 0
    for block in source.blocks(truth=with_truth):
        cells = stored_cells(block.y_score)
        suspicious = suspicious and bool(((cells >= 0) & (cells <= 1)).all())
        n_cells += cells.size
        yield block._replace(y_score=logistic(block.y_score))
    if suspicious and n_cells >= _ENOUGH_CELLS:
        raise InputError(
            f"{source.name} has all scores in [0, 1] with --logits, expected logits: they look like probabilities"
            " already"
        )


def logistic(scores: Matrix) -> Matrix:
    """Turn logits into probabilities, in float64, in float32 for float16; absent entries of CSR stay absent.

    NaN and +inf stay what they are, to be refused like those of other scores.
    """
    if is_sparse(scores):
        return with_cells(scores, logistic(scores.data))
    dtype = np.float32 if scores.dtype == np.float16 else np.float64
    # From the side on which exp cannot overflow, and tiny probabilities keep their digits.
    small = np.exp(-np.abs(scores.astype(dtype)))
    return np.where(
        scores == np.inf, scores, np.where(scores >= 0, 1 / (1 + small), small / (1 + small))
    )


def in_dtype(source: Source, dtype: npt.DTypeLike) -> Source:
    """Return scores that were written as text in the dtype that they had before."""
    dtype = np.dtype(dtype)
    note = f"scores written as text are read as {dtype}, in which the rule was fitted"
    return _converted(source, partial(_cast, dtype), note)


def _cast(dtype: np.dtype[Any], source: Source, with_truth: bool) -> Iterator[Block]:
    """Return the rows in order, their scores in a dtype."""
    for block in source.blocks(truth=with_truth):
        scores = block.y_score
        # A number beyond the dtype is refused as infinite by those who check scores.
        with np.errstate(over="ignore"):
            yield block._replace(y_score=scores.astype(dtype))


def _converted(
    source: Source, read: Callable[[Source, bool], Iterator[Block]], note: str
) -> Source:
    """Return a source that is read in another way: block by block, as it stands in no file."""
    return replace(
        source,
        read=partial(read, source),
        read_whole=None,
        read_parts=None,
        is_mapped=False,
        notes=(*source.notes, note),
    )
