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
from thresholds.data.counted import SomeRows
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
        if is_sparse(scores):
            cells = scores.data[_within(self.stored, place.stored, scores.nnz)]
        else:
            at = _within(self.stored, place.stored, scores.size)
            cells = scores[np.divmod(at, n_labels)]
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

    def all(self, missing: float, *, weighted: bool, lacks_some: bool) -> SomeRows:
        """Return all that was picked, in the order of rows; `lacks_some` where sparse rows leave scores out."""
        parts = sorted(self.parts, key=lambda part: part[0])
        rows = [part[1] for part in parts]
        cells = [part[2] for part in parts]
        if lacks_some:
            cells.append(np.array([missing]))
        return SomeRows(_stacked(rows), np.concatenate(cells), weighted)


def _stacked(parts: Sequence[Matrix]) -> Matrix:
    """Join rows."""
    if not is_sparse(parts[0]):
        return np.concatenate(parts)
    from scipy import sparse

    return sparse.csr_array(sparse.vstack(parts, format="csr"))


def _within(places: Any, first: int, size: int) -> Any:
    """Return which of rising places lie in a range, counted from its beginning."""
    start, end = np.searchsorted(places, [first, first + size])
    return places[start:end] - first
