"""Decisions in the caller's form: one dimension for one, sparse for sparse."""

from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from thresholds._checks import Dense, Matrix


class Decides(Protocol):
    """What turns checked scores into decisions: every rule."""

    @property
    def predicts_missing(self) -> bool:
        """Whether entries that a sparse matrix leaves out are predicted for some label: a dense answer."""

    def _decide(self, scores: Matrix, /, *, dense: bool = False) -> Matrix:
        """Decide; densely if asked to, which a sparse matrix needs if what it leaves out is predicted."""


def positives_only(scores: Any, hits: npt.NDArray[np.bool_]) -> Any:
    """Give a CSR array of ones where `hits`."""
    starts = np.concatenate([[0], np.cumsum(hits)])[scores.indptr]
    columns = scores.indices[hits]
    return type(scores)((np.ones(columns.size, np.uint8), columns, starts), shape=scores.shape)


def sparse_like(decided: Any, y_score: Any) -> Any:
    """Give a spmatrix for a spmatrix."""
    from scipy import sparse

    return sparse.csr_matrix(decided) if isinstance(y_score, sparse.spmatrix) else decided


def like(decided: Dense, y_score: object) -> Dense:
    """Give one dimension for one dimension."""
    return decided[:, 0] if np.ndim(y_score) == 1 else decided  # type: ignore[arg-type]
