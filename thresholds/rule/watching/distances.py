"""How far shares of scores, and means, are apart, by how much chance alone sets them apart, and what is grave."""

import numpy as np

from thresholds._arrays.sparse import is_sparse
from thresholds._arrays.types import Floats, Matrix, Numbers
from thresholds.rule.watching.profile import ScoreProfile

# From where on a change is grave; docs/monitoring.md gives the reasons.
GRAVE_DISTANCE = 0.05  # of a label's scores lie on another side of a quantile, on average
GRAVE_RATIO = 1.2  # of labels a row


def are_lists(profile: ScoreProfile, rows: Matrix) -> bool:
    """Whether rows are lists, for a rule that was fitted on whole rows: what they leave out may be anything low."""
    return is_sparse(rows) and not profile.sparse


def times(first: float, second: float) -> float:
    """Return how many times as large the larger of two numbers is."""
    smaller, larger = sorted((first, second))
    return larger / smaller if smaller else np.inf


def outside(share: Numbers | float, lower: Floats, upper: Floats) -> Floats:
    """Return how far shares lie outside the ranges that ties leave them."""
    return np.asarray(np.maximum(np.maximum(lower - share, share - upper), 0.0))


def distance_by_chance(
    level: Numbers | float, n_fit: Numbers | int, n_new: Numbers | int
) -> Floats:
    """Return the distance to expect if nothing has changed and it is normal: sqrt(2 / pi) standard errors."""
    return np.asarray(np.sqrt(2 / np.pi * level * (1 - level) * (1 / n_fit + 1 / n_new)))
