"""Isotonic calibration whose curves lean on each other: the rising curve of all labels, stretched and shifted for each.

    logit p(s) = a logit g(s) + b,    a >= 0

g is the isotonic curve of the cells of all labels together, with one positive more at the lowest score and one negative
more at the highest, so that no probability is 0 or 1. a and b of a label are those of a logistic curve of its truth on
logit g(s), and lean on those of all labels (`hierarchy.py`). So all labels together tell the form of the curve, which
takes many positives, and each tells how often and how steeply it rises, which takes few.
"""

from collections.abc import Hashable
from dataclasses import dataclass, replace

import numpy as np

from thresholds._arrays.types import Floats, Ints
from thresholds.calibration.cells import Cells, beside_groups, limits_of
from thresholds.calibration.hierarchy import fit_leaning_lines
from thresholds.calibration.isotonic import IsotonicCurves
from thresholds.log_odds import log_odds, sigmoid


@dataclass(frozen=True, eq=False, slots=True)
class StretchedCurves:
    """The curve of all labels, and for each the slope and the intercept on the logit of it."""

    common: IsotonicCurves  # one group
    lines: Floats  # (2, n_labels): slope and intercept

    def parts(self) -> list[Hashable]:
        """Return the common curve and the line of each label."""
        (common,) = self.common.parts()
        return [(common, *line) for line in zip(*self.lines.tolist(), strict=True)]

    def at(self, starts: Ints, scores: Floats, first: int = 0) -> Floats:
        """Return the probabilities of scores, one label after another, from label `first` on."""
        label, of_labels = beside_groups(starts, _logits(self.common, scores), first)
        slope, intercept = self.lines[:, label]
        of_labels = slope * of_labels
        of_labels += intercept
        return sigmoid(of_labels).reshape(-1)

    def reordered(self, places: Ints) -> "StretchedCurves":
        """Return the curves of the labels at some places, in that order."""
        return replace(self, lines=self.lines[:, places])


def fit_stretched(
    common: IsotonicCurves, cells: Cells, row_weight: float, n_jobs: int | None, progress: bool
) -> StretchedCurves:
    """Fit the line of each label on a common curve; `row_weight` is the weight 1 in the unit of the weights."""
    on_curve = cells._replace(scores=_logits(common, cells.scores)).in_blocks()
    scale, centre, slope, intercept = fit_leaning_lines(
        on_curve, on_curve.scores, row_weight, n_jobs, progress, rising=True
    )
    return StretchedCurves(common, np.array([slope / scale, intercept - slope * centre]))


def _logits(common: IsotonicCurves, scores: Floats) -> Floats:
    """Return the logit of the common curve at scores, finite: a large weight may bring the curve to 1 by rounding."""
    limits = limits_of(np.dtype(np.float64))
    return log_odds(np.clip(common.at(np.array([0, scores.size]), scores), *limits))
