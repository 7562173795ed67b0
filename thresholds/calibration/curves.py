"""Curves from scores to probabilities, of each label or one for all, and how they are read.

Where base rates have moved from r to r', the odds of every probability of the label are multiplied by the same factor:

    p' = p r'/r / (p r'/r + (1 - p) (1 - r')/(1 - r)) = p o / (p o + 1 - p),    o = (r' / (1 - r')) / (r / (1 - r))

Saerens, Latinne and Decaestecker 2002, "Adjusting the outputs of a classifier to new a priori probabilities",
equation 4.
"""

from collections.abc import Hashable
from dataclasses import dataclass, replace

import numpy as np

from thresholds._arrays.types import Floats, Ints
from thresholds._engine.histograms import Histograms
from thresholds.calibration.binned import Edges
from thresholds.calibration.cells import map_labels
from thresholds.calibration.isotonic import IsotonicCurves
from thresholds.calibration.platt import LogisticCurves
from thresholds.calibration.stretched import StretchedCurves


@dataclass(frozen=True, eq=False, slots=True)
class Curves:
    """Fitted curves; `-inf` has probability 0."""

    by_group: IsotonicCurves | LogisticCurves | StretchedCurves
    pooled: bool  # one curve for all labels
    odds: Floats | None = None  # (n_labels,) factors of the odds, where base rates have moved

    @property
    def of_shares(self) -> bool:
        """Whether scores outside [0, 1] have no place on the curves."""
        return isinstance(self.by_group, LogisticCurves) and self.by_group.limits is not None

    def reordered(self, places: Ints) -> "Curves":
        """Return the curves of the labels at some places, in that order."""
        odds = None if self.odds is None else self.odds[places]
        by_group = self.by_group if self.pooled else self.by_group.reordered(places)
        return replace(self, by_group=by_group, odds=odds)

    def parts(self, n_labels: int) -> list[Hashable]:
        """Return something to compare for each label: equal for equal curves."""
        parts = self.by_group.parts()
        of_labels = parts * n_labels if self.pooled else parts
        if self.odds is None:
            return of_labels
        return list(zip(of_labels, self.odds.tolist(), strict=True))

    @property
    def jump(self) -> bool:
        """Whether the curves are steep between neighbouring scores, so that a bin may have two probabilities."""
        return isinstance(self.by_group, IsotonicCurves)

    def edges(self, groups: Histograms, first: int) -> Edges:
        """Return the scores at which the curves of some labels bend, from label `first` on."""
        assert isinstance(self.by_group, IsotonicCurves), "others do not jump"
        offsets, scores = self.by_group.offsets, self.by_group.scores
        if self.pooled:
            return np.arange(groups.n_labels + 1) * scores.size, np.tile(scores, groups.n_labels)
        offsets = offsets[first : first + groups.n_labels + 1]
        return offsets - offsets[0], scores[offsets[0] : offsets[-1]]

    def of_labels(self, starts: Ints, scores: Floats, n_jobs: int | None = -1) -> Floats:
        """Return the probabilities of cells, label after label, on threads."""

        def probabilities(first: int, last: int) -> Floats:
            cells = slice(starts[first], starts[last])
            return self.of_cells(starts[first : last + 1] - starts[first], scores[cells], first)

        return np.concatenate(map_labels(starts, probabilities, n_jobs=n_jobs))

    def of_cells(self, starts: Ints, scores: Floats, first: int = 0) -> Floats:
        """Return the probabilities of cells, label after label, from label `first` on."""
        odds = None
        if self.odds is not None:
            odds = np.repeat(self.odds[first : first + starts.size - 1], np.diff(starts))
        if self.pooled:
            starts = starts[[0, -1]]
            first = 0

        # A masked cell is read at any score, as its probability is 0.
        is_masked = scores == -np.inf
        some = is_masked.any()
        probabilities = self.by_group.at(
            starts, np.where(is_masked, 0.0, scores) if some else scores, first
        )
        if some:
            probabilities[is_masked] = 0.0
        return moved_odds(probabilities, odds)


def moved_odds(p: Floats, odds: Floats | None) -> Floats:
    """Return probabilities whose odds are multiplied; a factor of 1 leaves them as they are, to the last bit."""
    if odds is None:
        return p
    up = p * odds
    return np.where(odds == 1.0, p, up / (up + (1 - p)))
