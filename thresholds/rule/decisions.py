"""What deciding takes: thresholds in the dtype of the scores, answers in the caller's form."""

from typing import Any

import numpy as np
import numpy.typing as npt

from thresholds._checks import Dense, Matrix, is_sparse

QUANTILES = (0.0, 0.01, 0.25, 0.5, 0.75, 0.99, 1.0)

_SAMPLE_CELLS = 65_536  # Enough to see where scores lie; reading more would cost as much as predicting.


def rounded_up(thresholds: npt.NDArray[np.float64], dtype: np.dtype[Any]) -> Dense:
    """Give thresholds in the dtype of the scores, rounded up: no score decides otherwise than in float64."""
    if dtype.kind != "f":
        return thresholds
    with np.errstate(over="ignore"):
        cut = thresholds.astype(dtype)
        return np.where(cut < thresholds, np.nextafter(cut, dtype.type(np.inf)), cut)


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


def sample_of(scores: Matrix, missing: float) -> Dense:
    """Give at most 65,536 evenly spaced finite scores: of a sparse matrix stored ones, and once the absent ones'."""
    size = scores.nnz if is_sparse(scores) else scores.size
    at = np.linspace(0, size - 1, min(size, _SAMPLE_CELLS)).astype(np.int64)
    cells = scores.data[at] if is_sparse(scores) else scores[np.divmod(at, scores.shape[1])]
    if is_sparse(scores) and size < scores.shape[0] * scores.shape[1]:
        cells = np.append(cells, np.float64(missing))
    cells = cells.astype(np.float64)
    return cells[np.isfinite(cells)]  # type: ignore[no-any-return]
