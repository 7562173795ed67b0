"""Is a closer look at new scores worth it? `predict` asks so of few rows, and mostly loads no more than this."""

from typing import TYPE_CHECKING, Any

import numpy as np

from thresholds import _checks
from thresholds._arrays.types import Floats, Ints, Matrix, Numbers
from thresholds.results import are, counted
from thresholds.rule.watching.profile import (
    LEVELS,
    Sample,
    ScoreProfile,
    evenly_spaced,
    labels_in,
    taken_rows,
)

if TYPE_CHECKING:
    from thresholds.rule.base import Rule

# From where on a change is grave.
GRAVE_DISTANCE = 0.05  # of a label's scores lie on another side of a quantile, on average
GRAVE_RATIO = 2.0  # of labels a row

_QUICK_CELLS = 2**16  # that `predict` looks at
_OF_NOISE = 1.25  # times the distance that chance makes: less is no reason to look closer


def grave_change(
    rule: "Rule", profile: ScoreProfile, scores: Any, decided: Any, order: Ints | None
) -> str | None:
    """Say what has changed gravely, by a look at few rows of checked scores; None for nothing.

    Most calls end after a quick look at the quartiles and at the decisions, which are made if they are not given.
    """
    if scores.shape[1] != profile.n_labels:
        return None
    most = max(100, min(1_000, _QUICK_CELLS // profile.n_labels))
    places = evenly_spaced(scores.shape[0], most)
    rows = _checks.in_order(taken_rows(scores, places), order)
    here = decided[places] if decided is not None else None
    if here is None:
        here = rule.decide(rows, dense=rule.needs_dense(rows))
    if not _may_be_grave(rule, profile, rows, here):
        return None
    from thresholds.rule.watching.check import check_rows  # which most calls need not load

    grave = check_rows(rule, profile, rows).grave
    if not grave:
        return None
    n_others = len(grave) - 1
    more = f" {counted(n_others, 'more change')} {are(n_others)} grave." if n_others else ""
    return f"{grave[0].sentence}{more} rule.check(y_score) says more"


def _may_be_grave(rule: "Rule", profile: ScoreProfile, rows: Matrix, decided: Matrix) -> bool:
    """Tell, roughly and fast, whether scores or labels a row may have changed gravely."""
    before = profile.rows["labels"]
    now = labels_in(decided)
    if before is None or times(before.mean, now.mean) >= GRAVE_RATIO:
        return True
    sample = Sample.of(rows, rule.missing, profile.sparse)
    if sample.cells is None:
        return True
    # The mean distance of labels at two quartiles is, noise apart, what makes a change grave.
    places = (LEVELS.index(0.25), LEVELS.index(0.75))
    n_scores = sample.shape[0]
    noise = float(distance_by_chance(LEVELS[places[0]], profile.n_sampled, n_scores))
    distance = 0.0
    for k in places:
        n_up_to = np.count_nonzero(sample.cells <= profile.quantiles[:, k], axis=0)  # (n_labels,)
        n_below = np.count_nonzero(sample.cells < profile.quantiles[:, k], axis=0)
        too_few = LEVELS[k] - n_up_to / n_scores
        too_many = n_below / n_scores - LEVELS[k]
        distance += float(np.maximum(np.maximum(too_few, too_many), 0).mean()) / len(places)
    return distance >= max(GRAVE_DISTANCE / 2, _OF_NOISE * noise)


def times(first: float, second: float) -> float:
    """Return how many times as large the larger of two numbers is."""
    smaller, larger = sorted((first, second))
    return larger / smaller if smaller else np.inf


def distance_by_chance(
    level: Numbers | float, n_fit: Numbers | int, n_new: Numbers | int
) -> Floats:
    """Return the distance to expect if nothing has changed and it is normal: sqrt(2 / pi) standard errors."""
    return np.asarray(np.sqrt(2 / np.pi * level * (1 - level) * (1 / n_fit + 1 / n_new)))
