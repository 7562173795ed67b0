"""Evenly spaced rows of scores that come block by block, however many come, in bounded memory."""

import numpy as np

from thresholds._arrays.sparse import is_sparse
from thresholds._arrays.types import Matrix
from thresholds.rule.watching.profile import evenly_spaced, most_rows, taken_rows


class RowSample:
    """Rows kept from blocks: each in turn, then every second, every fourth, ..., so that they never are too many.

    Parameters
    ----------
    n_labels : of the blocks
    """

    def __init__(self, n_labels: int) -> None:
        self._most = most_rows(n_labels)
        self._kept: list[Matrix] = []
        self._n_kept = 0
        self._n_seen = 0
        self._step = 1

    def add(self, rows: Matrix) -> None:
        """Keep some rows of a block."""
        first = (
            -self._n_seen % self._step
        )  # the first row of the block whose number is a multiple of the step
        self._n_seen += rows.shape[0]
        kept = rows[first :: self._step]
        self._kept.append(kept.copy())
        self._n_kept += kept.shape[0]
        while self._n_kept > 2 * self._most:
            self._kept = [self._joined()[::2]]
            self._n_kept = self._kept[0].shape[0]
            self._step *= 2

    def rows(self) -> Matrix:
        """Return the rows that a check looks at; there must be some."""
        joined = self._joined()
        return taken_rows(joined, evenly_spaced(joined.shape[0], self._most))

    def _joined(self) -> Matrix:
        """Return all kept rows as one matrix."""
        if len(self._kept) == 1:
            return self._kept[0]
        if is_sparse(self._kept[0]):
            from scipy import sparse

            return sparse.vstack(self._kept, format="csr")
        return np.concatenate(self._kept)
