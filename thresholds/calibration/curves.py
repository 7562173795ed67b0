"""Curves from scores to probabilities, of each label or one for all, and how they are read."""

from dataclasses import dataclass

import numpy as np

from thresholds._arrays.types import Floats, Ints
from thresholds.calibration.cells import map_labels
from thresholds.calibration.isotonic import IsotonicCurves
from thresholds.calibration.platt import LogisticCurves


@dataclass(frozen=True, eq=False, slots=True)
class Curves:
    """Fitted curves; `-inf` has probability 0."""

    by_group: IsotonicCurves | LogisticCurves
    pooled: bool

    @property
    def of_shares(self) -> bool:
        """Whether scores outside [0, 1] have no place on the curves."""
        return isinstance(self.by_group, LogisticCurves) and self.by_group.limits is not None

    def of_labels(self, starts: Ints, scores: Floats, n_jobs: int | None = -1) -> Floats:
        """Return the probabilities of cells, label after label, on threads."""

        def find(first: int, last: int) -> Floats:
            cells = slice(starts[first], starts[last])
            return self.of_cells(starts[first : last + 1] - starts[first], scores[cells], first)

        return np.concatenate(map_labels(starts, find, n_jobs=n_jobs))

    def of_cells(self, starts: Ints, scores: Floats, first: int = 0) -> Floats:
        """Return the probabilities of cells, label after label, from label `first` on."""
        if self.pooled:
            starts, first = starts[[0, -1]], 0
        masked = np.isneginf(scores)
        found = self.by_group.at(
            starts, np.where(masked, 0.0, scores) if masked.any() else scores, first
        )
        found[masked] = 0.0
        return found
