"""Is a closer look at new scores worth it? `predict` asks so of few rows, and mostly loads no more than this."""

from typing import Any

import numpy as np

from thresholds import _checks
from thresholds._arrays.types import Ints, Matrix
from thresholds._results.words import are, counted
from thresholds.rule.fitted_on import finite_cells, sampled_cells
from thresholds.rule.protocol import Watches
from thresholds.rule.watching.distances import (
    GRAVE_DISTANCE,
    GRAVE_RATIO,
    are_lists,
    distance_by_chance,
    outside,
    times,
)
from thresholds.rule.watching.profile import LEVELS, ScoreProfile, ranks
from thresholds.rule.watching.sampling import (
    evenly_spaced,
    labels_per_row,
    scored_cells,
    taken_rows,
)

FEWEST_ROWS = 50  # With fewer, only whether most scores are out of range is looked at.

_MOST = 0.5  # of the scores outside the range of the fit, above which to warn
_ENOUGH_CELLS = 20  # With fewer scores, most may lie outside by chance.

WARNED = "_has_warned"  # an attribute of a rule

_QUICK_CELLS = 2**16  # that `predict` looks at
_OF_NOISE = 1.25  # times the distance that chance makes: less is no reason to look closer
_OF_ERROR = 2.0  # standard errors of the difference of two means, likewise


class ScoreChangeWarning(UserWarning):
    """Issued when scores differ gravely from those a rule was fitted on: `rule.check(y_score)` says more."""


def warn_if_changed(
    rule: Watches, scores: Any, decided: Any = None, order: Ints | None = None
) -> None:
    """Warn once of a rule if checked scores have changed gravely since its fit; arguments as in `grave_change`."""
    warn_of(rule, change_to_warn_of(rule, scores, decided, order))


def change_to_warn_of(
    rule: Watches, scores: Any, decided: Any = None, order: Ints | None = None
) -> str | None:
    """Return what `grave_change` says, for those who warn of it later; None where that was warned of before."""
    return None if vars(rule).get(WARNED) else grave_change(rule, scores, decided, order)


def warn_of(rule: Watches, message: str | None) -> None:
    """Warn of a grave change, if there is one, and remember that."""
    if message is not None:
        vars(rule)[WARNED] = True
        _checks.warn_caller(message, ScoreChangeWarning)


def grave_change(
    rule: Watches, scores: Any, decided: Any = None, order: Ints | None = None
) -> str | None:
    """Say what has changed gravely since the fit of a rule, by a look at few rows of checked scores; None for nothing.

    Most calls end after a quick look at the quartiles and at the decisions. Of few rows, and where the rule keeps no
    profile, only their range is looked at; of another number of labels nothing.

    Parameters
    ----------
    scores : (n_samples, n_labels), wherever they are
    decided : (n_samples, n_labels) decisions about them, where they are known
    order : (n_labels,), where the rule's labels are among the columns; None: in their order
    """
    # Of few rows no profile is made: that takes longer than to decide about them.
    profile = rule.profile if scores.shape[0] >= FEWEST_ROWS else None
    if profile is None:
        return out_of_range(rule, share_outside(rule, scores))
    if scores.shape[1] != profile.n_labels:
        return None
    at_most = max(100, min(1_000, _QUICK_CELLS // profile.n_labels))
    places = evenly_spaced(scores.shape[0], at_most)  # (n_looked_at,)
    rows = _checks.in_order(taken_rows(scores, places), order)
    here = None if decided is None else decided[places]
    if here is None:
        here = rule.decide(rows, dense=rule.needs_dense(rows))
    if not (_decisions_moved(profile, here) or _scores_moved(profile, rows, rule.missing)):
        return None
    from thresholds.rule.watching.check import check_rows  # which most calls need not load

    grave = check_rows(rule, rows).grave
    if not grave:
        return None
    n_others = len(grave) - 1
    more = f" {counted(n_others, 'more change')} {are(n_others)} grave." if n_others else ""
    return f"{grave[0].sentence}{more} rule.check(y_score) says more"


def share_outside(rule: Watches, scores: Any) -> float:
    """Return the share of scores, wherever they are, outside the range of the fit; 0 where too few tell."""
    if rule.fitted_on is None or not len(rule.fitted_on.quantiles):
        return 0.0
    cells = finite_cells(sampled_cells(scores, rule.missing)).astype(np.float64)
    if cells.size < _ENOUGH_CELLS:
        return 0.0
    is_outside = (cells < rule.fitted_on.quantiles[0]) | (cells > rule.fitted_on.quantiles[-1])
    return float(is_outside.mean())


def out_of_range(rule: Watches, share: float) -> str | None:
    """Say that a share of the scores lies outside the range of the fit, if it is most of them."""
    if share <= _MOST:
        return None
    lowest, highest = rule.fitted_on.quantiles[0], rule.fitted_on.quantiles[-1]
    return (
        f"{share:.0%} of the scores lie outside the range that the rule was fitted on, {lowest:g} to {highest:g}."
        " If they are logits and it was fitted on probabilities, turn them into probabilities first,"
        " 1 / (1 + exp(-x)) (--logits on the command line). Scores of another model need a rule of their own."
    )


def _decisions_moved(profile: ScoreProfile, decided: Matrix) -> bool:
    """Tell, roughly, whether rows get so many more or fewer labels that it would be grave."""
    known = profile.rows["labels"]
    if known is None:
        return False
    before, sd_before = known
    now, sd_now = labels_per_row(decided)
    variance = sd_before**2 / profile.n_sampled + sd_now**2 / decided.shape[0]
    is_clear = abs(now - before) > _OF_ERROR * np.sqrt(variance)
    return bool(is_clear) and times(before, now) >= GRAVE_RATIO


def _scores_moved(profile: ScoreProfile, rows: Matrix, missing: float) -> bool:
    """Tell, roughly and fast, whether scores may have changed gravely, by the mean distance of labels at two quartiles.

    Of lists for a rule that was fitted on whole rows, and where no label has scores on both sides, a closer look tells.
    """
    if are_lists(profile, rows):
        return True
    cells, used = scored_cells(rows, missing, profile.sparse)
    n_new = np.count_nonzero(~np.isnan(cells), axis=0)  # (n_used,)
    n_fit = profile.n_scores[used]  # (n_used,)
    kept = (n_new > 0) & (n_fit > 0)
    if not kept.any():
        return True
    n_new, n_fit = n_new[kept], n_fit[kept]
    rank = ranks(n_fit)  # (n_kept, n_levels)
    distances, noises = [], []
    for level in (0.25, 0.75):
        k = LEVELS.index(level)
        quartile = profile.quantiles[used, k]  # (n_used,)
        share_below = np.count_nonzero(cells < quartile, axis=0)[kept] / n_new
        share_up_to = np.count_nonzero(cells <= quartile, axis=0)[kept] / n_new
        distances.append(outside(rank[:, k] / n_fit, share_below, share_up_to).mean())
        noises.append(distance_by_chance(level, n_fit, n_new).mean())
    return bool(np.mean(distances) >= max(GRAVE_DISTANCE / 2, _OF_NOISE * np.mean(noises)))
