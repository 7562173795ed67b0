"""Decisions about sparse scores: those of the entries that are stored, and of what is left out."""

from typing import Any, NoReturn

import numpy as np

from thresholds._arrays.sparse import row_of_entries
from thresholds._arrays.types import Booleans, Dense
from thresholds._checks import InputError


def positives_only(scores: Any, predicted: Booleans) -> Any:
    """Return a CSR array of ones where entries of `scores` are predicted: bool (n_stored,)."""
    starts = np.concatenate([[0], np.cumsum(predicted)])[scores.indptr]  # (n_samples + 1,)
    columns = scores.indices[predicted]
    return type(scores)((np.ones(columns.size, np.uint8), columns, starts), shape=scores.shape)


def with_absent(scores: Any, predicted: Booleans, absent: Booleans) -> Dense:
    """Return dense decisions from those about the entries of a CSR array, and those about what it leaves out.

    `predicted` is (n_stored,), `absent` (n_labels,).
    """
    decided = np.tile(absent.astype(np.uint8), (scores.shape[0], 1))  # (n_samples, n_labels)
    decided[row_of_entries(scores), scores.indices] = predicted
    return decided


def refuse_dense_answer(scores: Any, why: str, instead: str) -> NoReturn:
    """Refuse sparse scores, as nearly all cells of a label would be positive; say how large the answer would be."""
    n_bytes = scores.shape[0] * scores.shape[1]  # one for each cell
    size = f"{n_bytes / 1e9:,.1f} GB" if n_bytes >= 1e9 else f"{n_bytes:,} bytes"
    raise InputError(
        f"y_score is sparse, and {why}, so that nearly all cells would be positive: {instead}pass dense=True for a"
        f" dense answer of {size}"
    )
