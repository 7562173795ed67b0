"""Evenly spaced rows of scores that come block by block, however many come, in bounded memory."""

import numpy as np

from thresholds._arrays.sparse import is_sparse
from thresholds._arrays.types import Floats, Matrix
from thresholds.rule.watching.sampling import evenly_spaced, golden_shares, most_rows, taken_rows


class RowSample:
    """Rows kept from blocks: each at first, then about one in two, in four, ..., so that they never are too many.

    Which ones is told by `golden_shares` of their numbers: of rows that take turns each kind keeps its part.

    Parameters
    ----------
    n_labels : of the blocks
    """

    def __init__(self, n_labels: int) -> None:
        self._most = most_rows(n_labels)
        self._kept: list[Matrix] = []
        self._shares: list[Floats] = []  # of the rows that are kept, (n_kept,) in all
        self._n_kept = 0
        self._n_seen = 0
        self._below = 1.0  # Rows of lower shares are kept.

    def add(self, rows: Matrix) -> None:
        """Keep some rows of a block."""
        first = self._n_seen
        self._n_seen += rows.shape[0]
        self._keep(rows, golden_shares(first, self._n_seen))
        while self._n_kept > 2 * self._most:
            self._below /= 2
            joined = self._joined()
            shares = np.concatenate(self._shares)
            self._kept = []
            self._shares = []
            self._n_kept = 0
            self._keep(joined, shares)

    def _keep(self, rows: Matrix, shares: Floats) -> None:
        """Keep the rows of low shares."""
        places = np.flatnonzero(shares < self._below)
        self._kept.append(rows[places])
        self._shares.append(shares[places])
        self._n_kept += places.size

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
