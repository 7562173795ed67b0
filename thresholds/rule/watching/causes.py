"""What may have happened to the scores? Each cause is tried on the quantiles of the fit, and the best one is named.

If scores s have become f(s), then a share p of the new scores of a label lies at or below f(q), where q is its
p-quantile of the fit. How far the shares of new scores up to f(q) are from p, on average over labels and quantiles, is
the distance that f leaves unexplained; f(s) = s has the whole distance. It is a share of scores, so that causes on any
scale can be compared. Tried are

* other scales: sigmoid, logit, 100 s, s / 100, log, exp, 1 - s, -s;
* a factor and a shift for all labels, on the scores and, for probabilities, on their logits: medians over labels;
* other columns: in reverse order, some places to the right or left, or each where it fits best (the assignment of
  Kuhn 1955 that leaves the least distance).

A cause is named if it explains at least half of the distance, or leaves no more than chance does, and among several
the one that leaves least, causes with more freedom being handicapped.
"""

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np

from thresholds._arrays.types import Booleans, Floats, Places
from thresholds._results.words import counted
from thresholds.rule.watching.describing import quantiles_of
from thresholds.rule.watching.distances import distance_by_chance, outside
from thresholds.rule.watching.profile import LEVELS
from thresholds.rule.watching.shift import ScoreShift, are_known, mean_distance, shares_of

_EXPLAINED = 0.5  # of the distance, at most, may be left
_OF_NOISE = 1.3  # times what chance leaves, at most, may be left,
_AND_EXPLAINED = 0.75  # if no more than so much of the distance is

# A cause with more freedom is named only if it leaves less than 1 / so much of what another leaves.
_ONE_NUMBER = 1.1
_TWO_NUMBERS = 1.25
_AN_ASSIGNMENT = 1.5

_MOST_COLUMNS = 1_000  # among which columns are looked for: each is held against each
_SHOWN = 3  # columns named in a sentence


# What to do about scores that have changed, if nothing is known to be wrong with them.
WHAT_TO_DO = (
    "See whether the model or its input has changed. If the change is intended, fit the rule again."
)


class Cause(NamedTuple):
    """What explains a change best."""

    kind: str  # "scale", "moved" or "order"
    sentence: str  # what has happened and what to do, to follow "The scores" or "The columns"
    distance: float  # that is left
    handicap: float = 1.0  # what that counts as many times, for the freedom that there was


def cause_of(
    shift: ScoreShift, labels: Booleans, said: Callable[[int], str], *, by_order: bool
) -> Cause | None:
    """Find what explains the change of some labels best; None if nothing does.

    `said` names a label in a sentence; `by_order` tries whether columns are permuted, too.
    """
    whole = mean_distance(shift, labels)
    n_fit = np.maximum(shift.profile.n_scores, 1)[labels, np.newaxis]
    n_new = np.maximum(shift.n_new, 1)[labels, np.newaxis]
    noise = float(distance_by_chance(np.array(LEVELS), n_fit, n_new).mean())
    tried = [*_scales(shift, labels), *_affine(shift, labels)]
    if by_order:
        tried += _orders(shift, labels, said)
    named = [
        cause
        for cause in tried
        if cause.distance <= _EXPLAINED * whole
        or cause.distance <= min(_OF_NOISE * noise, _AND_EXPLAINED * whole)
    ]
    return min(named, key=lambda cause: cause.handicap * cause.distance, default=None)


def _all_within(scores: Floats, lowest: float, highest: float) -> bool:
    """Whether there are scores, and all lie in a range."""
    return bool(scores.size > 0 and (scores >= lowest).all() and (scores <= highest).all())


def _sigmoid(scores: Floats) -> Floats:
    return 1 / (1 + np.exp(-scores))


def _logit(p: Floats) -> Floats:
    return np.log(p) - np.log1p(-p)


def _look_like(now: str, then: str, to_do: str) -> str:
    """Say that scores are on another scale."""
    return f"look like {now}, but the rule was fitted on {then}: {to_do}."


_TO_PROBABILITIES = (
    "turn them into probabilities first, 1 / (1 + exp(-x)) (--logits on the command line)"
)
_OPPOSITE_SIGN = "have the opposite sign of those that the rule was fitted on: multiply them by -1."

# Sentences, what turns scores of the fit into that scale, and the range of scores that it can be tried on.
_SCALES: tuple[tuple[str, Callable[[Any], Any], float, float], ...] = (
    (_look_like("probabilities", "their logits", "give it the logits"), _sigmoid, -np.inf, np.inf),
    (_look_like("logits", "probabilities", _TO_PROBABILITIES), _logit, 0, 1),
    (_look_like("percent", "fractions", "divide them by 100"), lambda s: 100 * s, 0, 1),
    (_look_like("fractions", "percent", "multiply them by 100"), lambda s: s / 100, 0, 100),
    (
        _look_like("logarithms of probabilities", "the probabilities", "take exp(x) first"),
        np.log,
        0,
        1,
    ),
    (
        _look_like("probabilities", "their logarithms", "take the logarithms first"),
        np.exp,
        -np.inf,
        0,
    ),
    (
        _look_like("probabilities of the opposite, 1 - p", "p", "subtract them from 1"),
        lambda s: 1 - s,
        0,
        1,
    ),
    (_OPPOSITE_SIGN, np.negative, -np.inf, np.inf),
)


def _scales(shift: ScoreShift, labels: Booleans) -> Iterator[Cause]:
    """Try other scales of the same scores."""
    quantiles = shift.profile.quantiles.astype(np.float64)  # (n_labels, n_levels)
    chosen = quantiles[labels & are_known(shift)]
    finite = chosen[np.isfinite(chosen)]
    for sentence, turn, lowest, highest in _SCALES:
        if _all_within(finite, lowest, highest):
            with np.errstate(all="ignore"):
                points = turn(quantiles)
            falls = turn(0.25) > turn(0.75)
            yield Cause("scale", sentence, mean_distance(shift, labels, points, falls=falls))


def _affine(shift: ScoreShift, labels: Booleans) -> Iterator[Cause]:
    """Try a factor, a shift, or both, for all labels alike, where all new scores are known."""
    if shift.n_unknown.any():
        return
    before = shift.profile.quantiles.astype(np.float64)  # (n_labels, n_levels)
    after = np.full(before.shape, np.nan)
    after[shift.used] = quantiles_of(shift.rising, shift.n_known[shift.used])
    yield from _factor_and_shift(shift, labels, before, after)

    # Where both look like probabilities, their logits may have moved.
    chosen = labels & are_known(shift)
    if _all_within(before[chosen], 0, 1) and _all_within(after[chosen], 0, 1):
        with np.errstate(divide="ignore", invalid="ignore"):  # Those of other labels may be any.
            logits = _logit(before), _logit(after)
        yield from _factor_and_shift(shift, labels, *logits, are_logits=True)


def _factor_and_shift(
    shift: ScoreShift,
    labels: Booleans,
    before: Floats,
    after: Floats,
    *,
    are_logits: bool = False,
) -> Iterator[Cause]:
    """Try a factor, a shift, or both, of quantiles of scores or of their logits: (n_labels, n_levels) each."""
    lower = LEVELS.index(0.1)
    middle = LEVELS.index(0.5)
    upper = LEVELS.index(0.9)

    # The spread of a label tells the factor, its median the shift; of labels the one in the middle counts.
    with np.errstate(invalid="ignore", divide="ignore"):
        spread = after[:, upper] - after[:, lower]  # (n_labels,)
        factor = _median(spread / (before[:, upper] - before[:, lower]), labels)
        added = _median(after[:, middle] - before[:, middle], labels)
        rest = _median(after[:, middle] - factor * before[:, middle], labels)

    for a, b, handicap in (
        (1.0, added, _ONE_NUMBER),
        (factor, 0.0, _ONE_NUMBER),
        (factor, rest, _TWO_NUMBERS),
    ):
        if not (np.isfinite(a) and np.isfinite(b) and a > 0):
            continue
        with np.errstate(invalid="ignore", over="ignore"):
            moved = a * before + b
            points = _sigmoid(moved) if are_logits else moved
        left = mean_distance(shift, labels, points)
        yield Cause("moved", _moved(a, b, of_logits=are_logits), left, handicap)


def _median(values: Floats, labels: Booleans) -> float:
    """Return the median of the finite values of some labels, NaN without any."""
    chosen = values[labels]
    chosen = chosen[np.isfinite(chosen)]
    return float(np.median(chosen)) if chosen.size else np.nan


def _moved(factor: float, added: float, *, of_logits: bool) -> str:
    """Say by how much all scores have moved."""
    if factor == 1:
        direction = "higher" if added > 0 else "lower"
        how = f"about {abs(added):.3g} {direction} than when the rule was fitted"
    else:
        how = f"about {factor:.3g} times those that the rule was fitted on"
        if added != 0:
            how += f", {'plus' if added > 0 else 'minus'} {abs(added):.3g}"
    what = "have all changed alike: their logits are" if of_logits else "are all"
    return f"{what} {how}. {WHAT_TO_DO}"


def _orders(shift: ScoreShift, labels: Booleans, said: Callable[[int], str]) -> Iterator[Cause]:
    """Try whether columns hold the scores of other labels."""
    places = np.flatnonzero(labels & are_known(shift))
    if not 2 <= places.size <= _MOST_COLUMNS:
        return
    distances = _between_columns(shift, places)  # (n_columns, n_labels)
    column = np.arange(places.size)

    # All columns in reverse order, or all moved by one: then those at the right hold the scores of labels to the left.
    if labels.all():
        for what, fitting in (
            ("in reverse order", column[::-1]),
            ("one place too far to the right", np.roll(column, 1)),
            ("one place too far to the left", np.roll(column, -1)),
        ):
            left = float(distances[column, fitting].mean())
            yield Cause("order", _in_order(what), left)

    # Each column where it fits best; not looked for where a rule is served by NumPy alone.
    try:
        from scipy.optimize import linear_sum_assignment
    except ImportError:
        return
    _, fitting = linear_sum_assignment(distances)  # the label that each column holds
    left = float(distances[column, fitting].mean())

    # Those that gain most are named.
    elsewhere = np.flatnonzero(fitting != column)
    gain = distances[elsewhere, elsewhere] - distances[elsewhere, fitting[elsewhere]]
    shown = elsewhere[np.argsort(-gain, kind="stable")][:_SHOWN]
    pairs = [f"{said(places[i])} has the scores of {said(places[fitting[i]])}" for i in shown]
    if elsewhere.size > _SHOWN:
        pairs.append(f"and {counted(elsewhere.size - _SHOWN, 'more label')}")
    sentence = _in_order(f"in the wrong places: {', '.join(pairs)}")
    yield Cause("order", sentence, left, _AN_ASSIGNMENT)


def _between_columns(shift: ScoreShift, labels: Places) -> Floats:
    """Return the distance of each new column, if it held the scores of each label: (n_columns, n_labels)."""
    points = shift.profile.quantiles[labels].reshape(-1)  # (n_labels * n_levels,)
    share = shares_of(shift.profile)[labels].reshape(-1)
    distances = np.empty((labels.size, labels.size))
    place = np.searchsorted(shift.used, labels)  # where the scores of each are
    for i, label in enumerate(labels.tolist()):
        n_known, n_unknown = shift.n_known[label], shift.n_unknown[label]
        n_new = n_known + n_unknown
        scores = shift.rising[place[i], :n_known] if n_known else points[:0]
        below = np.searchsorted(scores, points, "left") / n_new
        up_to = (np.searchsorted(scores, points, "right") + n_unknown) / n_new
        by_level = outside(share, below, up_to).reshape(labels.size, len(LEVELS))
        distances[i] = by_level.mean(axis=1)
    return distances


def _in_order(what: str) -> str:
    """Say that columns are in another order."""
    return f"seem to be {what}. Put the columns in the order that the rule was fitted on."
