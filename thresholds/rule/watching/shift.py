"""New scores held against those of a fit: how far the shares of scores up to its quantiles have moved."""

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from thresholds._arrays.types import Booleans, Floats, Ints, Places
from thresholds.rule.watching.describing import rising_scores
from thresholds.rule.watching.distances import outside
from thresholds.rule.watching.profile import Float32s, ScoreProfile, ranks

_FEWEST_EQUAL = 50  # equal scores that make a column constant


class ScoreShift(NamedTuple):
    """New scores held against those of a fit, label by label."""

    profile: ScoreProfile
    rising: Float32s  # (n_used, n_rows) new scores of each label, NaN where there is none last
    used: Places  # (n_used,) labels that these are of; others have no new scores
    n_known: Ints  # (n_labels,), new scores
    n_unknown: Ints  # (n_labels,), cells that new lists leave out where the fit had scores; they may be anything low
    below: Ints  # (n_labels, n_levels), new scores below each quantile of the fit, at least
    up_to: Ints  # and at or below it, at most

    @property
    def n_new(self) -> Ints:
        """Number of new scores of each label, unknown ones among them: (n_labels,)."""
        return self.n_known + self.n_unknown


def shift_of(
    profile: ScoreProfile, cells: Float32s, used: Places, *, are_lists: bool
) -> ScoreShift:
    """Count new scores, as `scored_cells` gives them, at the quantiles of a fit."""
    rising, n_scores = rising_scores(cells)
    n_known = np.zeros(profile.n_labels, np.int64)
    n_known[used] = n_scores
    n_unknown = cells.shape[0] - n_known if are_lists else np.zeros_like(n_known)
    below, up_to = _counts_at(rising, used, n_known, profile.quantiles)
    up_to += n_unknown[:, np.newaxis]
    return ScoreShift(profile, rising, used, n_known, n_unknown, below, up_to)


def _counts_at(
    rising: Float32s, used: Places, n_known: Ints, points: npt.NDArray[Any]
) -> tuple[Ints, Ints]:
    """Count the scores of each label below, and at or below, points of its own: (n_labels, n_points) each.

    NaN is above all scores.
    """
    below = np.zeros(points.shape, np.int64)
    up_to = np.zeros(points.shape, np.int64)
    with np.errstate(over="ignore"):
        points = points.astype(np.float32)
    for label, row in zip(used.tolist(), rising, strict=True):
        scores = row[: n_known[label]]
        below[label] = np.searchsorted(scores, points[label], "left")
        up_to[label] = np.searchsorted(scores, points[label], "right")
    return below, up_to


def are_known(shift: ScoreShift) -> Booleans:
    """Whether a label has scores on both sides: (n_labels,)."""
    return np.asarray((shift.profile.n_scores > 0) & (shift.n_new > 0))


def are_constant(shift: ScoreShift) -> Booleans:
    """Whether many new scores of a label are all equal, and those of the fit were not: (n_labels,)."""
    lowest, highest = np.full((2, shift.n_known.size), np.nan, np.float32)
    lowest[shift.used] = shift.rising[:, 0]
    last = np.maximum(shift.n_known[shift.used] - 1, 0)
    highest[shift.used] = shift.rising[np.arange(last.size), last]
    has_many = (shift.n_known >= _FEWEST_EQUAL) & (shift.n_unknown == 0)
    quantiles = shift.profile.quantiles
    return np.asarray(has_many & (lowest == highest) & (quantiles[:, 0] < quantiles[:, -1]))


def _distances(shift: ScoreShift, below: Ints, up_to: Ints) -> Floats:
    """Return how far new shares are from those of the fit: (n_labels, n_levels)."""
    n_new = np.maximum(shift.n_new, 1)[:, np.newaxis]
    return outside(shares_of(shift.profile), below / n_new, up_to / n_new)


def largest_distances(shift: ScoreShift) -> Floats:
    """Return the largest distance of each label's shares: (n_labels,), NaN where no scores tell."""
    largest = _distances(shift, shift.below, shift.up_to).max(axis=1)
    return np.where(are_known(shift), largest, np.nan)


def mean_distance(
    shift: ScoreShift, labels: Booleans, points: Floats | None = None, *, falls: bool = False
) -> float:
    """Return the mean distance of some labels, 0 where no scores tell.

    With points (n_labels, n_levels), what is left of it if quantiles have become these, where `falls` in reverse order.
    """
    below, up_to = shift.below, shift.up_to
    if points is not None:
        below, up_to = _counts_at(shift.rising, shift.used, shift.n_known, points)
        up_to += shift.n_unknown[:, np.newaxis]
    if falls:
        n_new = shift.n_new[:, np.newaxis]
        below, up_to = n_new - up_to, n_new - below
    chosen = _distances(shift, below, up_to)[labels & are_known(shift)]
    return float(chosen.mean()) if chosen.size else 0.0


def shares_of(profile: ScoreProfile) -> Floats:
    """Return the share of the fit's scores up to each quantile: (n_labels, n_levels)."""
    sizes = profile.n_scores
    return np.asarray(ranks(sizes) / np.maximum(sizes, 1)[:, np.newaxis])
