"""Decisions in the caller's form: a frame for a frame, a tensor for a tensor, sparse for sparse."""

from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from thresholds import _checks, devices
from thresholds._arrays.sparse import is_sparse
from thresholds._arrays.types import Matrix
from thresholds._checks import InputError


class DecidesOnDevice(Protocol):
    """What decides where the scores are, too."""

    @property
    def label_names(self) -> tuple[str, ...] | None:
        """Names of the labels."""

    def _check(self, scores: Any, /) -> None:
        """Refuse scores of other labels."""

    def _decide_on_device(self, scores: Any, /) -> Any:
        """Decide on a checked matrix by operations of the array API."""


def decide_on_device(rule: DecidesOnDevice, y_score: Any) -> Any:
    """Return decisions about an array that is not in host memory, beside it; one dimension for one."""
    scores = devices.checked_scores(y_score, label_names=rule.label_names)
    rule._check(scores)
    decided = rule._decide_on_device(scores)
    return decided[:, 0] if y_score.ndim == 1 else decided


def dense_answer(scores: Any, why: str, instead: str = "") -> InputError:
    """Say why an answer about sparse scores would be dense, how large it would be, and what else could be done."""
    n_bytes = scores.shape[0] * scores.shape[1]  # one for each cell
    size = f"{n_bytes / 1e9:,.1f} GB" if n_bytes >= 1e9 else f"{n_bytes:,} bytes"
    return InputError(
        f"y_score is sparse, and {why}, so that nearly all cells would be positive: {instead}pass dense=True for a"
        f" dense answer of {size}"
    )


def positives_only(scores: Any, hits: npt.NDArray[np.bool_]) -> Any:
    """Return a CSR array of ones where `hits`."""
    starts = np.concatenate([[0], np.cumsum(hits)])[scores.indptr]
    columns = scores.indices[hits]
    return type(scores)((np.ones(columns.size, np.uint8), columns, starts), shape=scores.shape)


def like(found: Matrix, y_score: object, label_names: Sequence[str] | None) -> Any:
    """Return what was found for each cell as scores came: frame, tensor, spmatrix or array, one dimension for one."""
    if is_sparse(found):
        from scipy import sparse

        return sparse.csr_matrix(found) if isinstance(y_score, sparse.spmatrix) else found
    frame = _checks.like_frame(found, y_score, None if label_names is None else tuple(label_names))
    if frame is not None:
        return frame
    array = found[:, 0] if _is_vector(y_score) else found
    tensor = _checks.like_tensor(array, y_score)
    return array if tensor is None else tensor


def _is_vector(value: Any) -> bool:
    """Whether scores have one dimension, also those in a list."""
    if isinstance(value, list | tuple) and value and hasattr(value[0], "ndim"):
        return bool(value[0].ndim == 0)
    return np.ndim(value) == 1
