"""The few rows and cells that a rule keeps of its fit, picked while all rows are counted.

Their places follow from the number of rows, and from weights, alone. So they are the same, bit for bit, as those of a
fit that has all rows at once.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from thresholds._arrays.sparse import is_sparse
from thresholds._arrays.types import Floats, Ints, Matrix, Numbers, Places
from thresholds.chunks.passes import Place
from thresholds.rule.fitted_on import places_of_sample
from thresholds.rule.watching.profile import sampled_rows


@dataclass(frozen=True)
class Plan:
    """Which rows and which stored scores of a source are picked."""

    rows: Places  # (n_picked,) rising; a row of much weight more than once
    stored: Ints  # (n_cells,) rising, of scores in the order of rows

    @classmethod
    def of(cls, n_rows: int, n_labels: int, n_stored: int, weights: Numbers | None) -> "Plan":
        """Choose them as a fit does that has all rows at once."""
        return cls(sampled_rows((n_rows, n_labels), weights), places_of_sample(n_stored))

    def picked(self, scores: Matrix, place: Place) -> "Picked":
        """Pick what lies in a block of checked scores that begins at a place."""
        n_rows, n_labels = scores.shape
        rows = _within(self.rows, place.rows, n_rows)
        stored = _within(self.stored, place.stored, scores.nnz if is_sparse(scores) else scores.size)
        if is_sparse(scores):
            cells = scores.data[stored]
        else:
            cells = scores[np.divmod(stored, n_labels)]
        return Picked([(place.rows, scores[rows], cells.astype(np.float64))])


@dataclass(frozen=True)
class Picked:
    """What was picked of some blocks."""

    parts: Sequence[tuple[int, Matrix, Floats]]  # the first row of a block, rows, and cells

    def __add__(self, other: "Picked") -> "Picked":
        """Join what was picked of other blocks."""
        return Picked([*self.parts, *other.parts])

    @property
    def nbytes(self) -> int:
        """Grows as blocks are joined."""
        return len(self.parts)

    @property
    def rows(self) -> Matrix:
        """All rows that were picked, in their order."""
        parts = [rows for _, rows, _ in self._in_order()]
        if is_sparse(parts[0]):
            from scipy import sparse

            return sparse.csr_array(sparse.vstack(parts, format="csr"))
        return np.concatenate(parts)

    @property
    def cells(self) -> Floats:
        """All cells that were picked, in their order."""
        return np.concatenate([cells for _, _, cells in self._in_order()])

    def _in_order(self) -> list[tuple[int, Matrix, Floats]]:
        """Return the parts in the order of rows."""
        return sorted(self.parts, key=lambda part: part[0])


def _within(places: Any, first: int, size: int) -> Any:
    """Return which of rising places lie in a range, counted from its beginning."""
    start, end = np.searchsorted(places, [first, first + size])
    return places[start:end] - first
