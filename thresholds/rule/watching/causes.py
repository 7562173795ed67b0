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
from itertools import chain
from typing import NamedTuple

import numpy as np

from thresholds._arrays.types import Booleans, Floats, Ints
from thresholds.results import counted
from thresholds.rule.watching.noticing import distance_by_chance
from thresholds.rule.watching.profile import LEVELS, Columns, ScoreProfile, ranks
from thresholds.significance import p_of_best, z_of_more

_EXPLAINED = 0.5  # of the distance, at most, may be left
_OF_NOISE = 1.3  # times what chance leaves, at most, may be left,
_AND_EXPLAINED = 0.75  # if no more than so much of the distance is

# A cause with more freedom is named only if it leaves less than 1 / so much of what another leaves.
_ONE_NUMBER = 1.1
_TWO_NUMBERS = 1.25
_AN_ASSIGNMENT = 1.5

_MOST_COLUMNS = 1_000  # among which columns are looked for: each is held against each
_FEWEST_EQUAL = 50  # equal scores that make a column constant
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


class Difference(NamedTuple):
    """New scores held against a profile, label by label."""

    quantiles: Floats  # (n_labels, n_levels), of the fit
    columns: Columns  # of new scores
    profile: ScoreProfile
    n_unknown: Ints  # (n_labels,), cells that new lists leave out where the fit had scores; they may be anything low
    below: Ints  # (n_labels, n_levels), new scores below each quantile, at least
    up_to: Ints  # and at or below it, at most

    @classmethod
    def between(cls, profile: ScoreProfile, columns: Columns, n_unknown: Ints) -> "Difference":
        """Count new scores at the quantiles of the fit."""
        below, up_to = columns.counts(profile.quantiles)
        up_to += n_unknown[:, np.newaxis]
        quantiles = profile.quantiles.astype(np.float64)
        return cls(quantiles, columns, profile, n_unknown, below, up_to)

    @property
    def n_new(self) -> Ints:
        """Number of new scores of each label, unknown ones among them: (n_labels,)."""
        return self.columns.sizes + self.n_unknown

    @property
    def is_known(self) -> Booleans:
        """Whether a label has scores on both sides: (n_labels,)."""
        return (self.profile.n_scores > 0) & (self.n_new > 0)

    @property
    def is_constant(self) -> Booleans:
        """Whether many new scores of a label are all equal, and those of the fit were not: (n_labels,)."""
        sizes = np.where(self.n_unknown > 0, 0, self.columns.sizes)
        constant = sizes >= _FEWEST_EQUAL
        first = self.columns.starts[:-1][constant]
        last = self.columns.starts[1:][constant] - 1
        constant[constant] = self.columns.scores[first] == self.columns.scores[last]
        return constant & (self.quantiles[:, 0] < self.quantiles[:, -1])

    def p_values(self) -> Floats:
        """Test, label by label, the number of scores up to each quantile: (n_labels,)."""
        n_fit = self.profile.n_scores[:, np.newaxis]
        n_new = self.n_new[:, np.newaxis]
        rank = ranks(self.profile.n_scores)  # (n_labels, n_levels)
        lower = z_of_more(rank, n_fit, self.below, n_new)
        higher = z_of_more(n_fit - rank, n_fit, n_new - self.up_to, n_new)
        return p_of_best(np.maximum(lower, higher).max(axis=1), 2 * len(LEVELS))

    def p_of_sizes(self, n_rows: int) -> Floats:
        """Test, label by label, on how many rows it has a score: (n_labels,)."""
        n_fit = self.profile.n_scores
        n_new = self.n_new
        n_sampled = self.profile.n_sampled
        more = z_of_more(n_fit, n_sampled, n_new, n_rows)
        fewer = z_of_more(n_sampled - n_fit, n_sampled, n_rows - n_new, n_rows)
        return p_of_best(np.maximum(more, fewer), 2)

    def largest(self) -> Floats:
        """Return the largest distance of each label's shares: (n_labels,), NaN without scores."""
        return np.where(self.is_known, self._distances(self.below, self.up_to).max(axis=1), np.nan)

    def mean_distance(self, labels: Booleans) -> float:
        """Return the mean distance of some labels, 0 where no scores tell."""
        return self._mean(self._distances(self.below, self.up_to), labels)

    def distance_at(self, points: Floats, labels: Booleans, *, falls: bool = False) -> float:
        """Return the mean distance that is left if quantiles have become `points`, where `falls` in reverse order."""
        with np.errstate(over="ignore"):
            below, up_to = self.columns.counts(points.astype(np.float32))
        up_to += self.n_unknown[:, np.newaxis]
        if falls:
            n_new = self.n_new[:, np.newaxis]
            below, up_to = n_new - up_to, n_new - below
        return self._mean(self._distances(below, up_to), labels)

    def noise(self, labels: Booleans) -> float:
        """Return the mean distance of some labels that chance makes."""
        level = np.array(LEVELS)
        n_fit = np.maximum(self.profile.n_scores, 1)[labels, np.newaxis]
        n_new = np.maximum(self.n_new, 1)[labels, np.newaxis]
        return float(distance_by_chance(level, n_fit, n_new).mean())

    def between_columns(self, labels: Ints) -> Floats:
        """Return the distance of each new column, if it held the scores of each label: (n_columns, n_labels)."""
        points = self.profile.quantiles[labels]  # (n_labels, n_levels)
        share = self._shares()[labels]
        distances = np.empty((labels.size, labels.size))
        for i, column in enumerate(labels.tolist()):
            scores = self.columns.of_label(column)
            below = np.searchsorted(scores, points.reshape(-1), side="left").reshape(points.shape)
            up_to = np.searchsorted(scores, points.reshape(-1), side="right").reshape(points.shape)
            n_unknown = self.n_unknown[column]
            n = max(scores.size + n_unknown, 1)
            distances[i] = _outside(share, below / n, (up_to + n_unknown) / n).mean(axis=1)
        return distances

    def _shares(self) -> Floats:
        """Return the share of the fit's scores up to each quantile: (n_labels, n_levels)."""
        sizes = self.profile.n_scores
        return ranks(sizes) / np.maximum(sizes, 1)[:, np.newaxis]

    def _distances(self, below: Ints, up_to: Ints) -> Floats:
        """Return how far new shares are from those of the fit: (n_labels, n_levels)."""
        n_new = np.maximum(self.n_new, 1)[:, np.newaxis]
        return _outside(self._shares(), below / n_new, up_to / n_new)

    def _mean(self, distances: Floats, labels: Booleans) -> float:
        """Return the mean over levels and some labels."""
        chosen = distances[labels & self.is_known]
        return float(chosen.mean()) if chosen.size else 0.0


def cause_of(
    difference: Difference, labels: Booleans, said: Callable[[int], str], *, by_order: bool
) -> Cause | None:
    """Find what explains the change of some labels best; None if nothing does.

    `said` names a label in a sentence; `by_order` tries whether columns are permuted, too.
    """
    whole = difference.mean_distance(labels)
    noise = difference.noise(labels)
    best = None
    least = np.inf
    tried = [_scales(difference, labels), _affine(difference, labels)]
    if by_order:
        tried.append(_orders(difference, labels, said))
    for cause, handicap in chain(*tried):
        is_named = cause.distance <= _EXPLAINED * whole or (
            cause.distance <= _OF_NOISE * noise and cause.distance <= _AND_EXPLAINED * whole
        )
        if is_named and handicap * cause.distance < least:
            best = cause
            least = handicap * cause.distance
    return best


class _Scale(NamedTuple):
    """Another scale of the same scores."""

    of: Callable[[Floats], Floats]
    lowest: float  # scores of the fit that it can be tried on
    highest: float
    sentence: str
    falls: bool = False

    def is_possible(self, scores: Floats) -> bool:
        """Whether these scores can have been turned into that scale."""
        return _all_within(scores, self.lowest, self.highest)


def _all_within(scores: Floats, lowest: float, highest: float) -> bool:
    """Whether there are scores, and all lie in a range."""
    return bool(scores.size > 0 and (scores >= lowest).all() and (scores <= highest).all())


def _sigmoid(scores: Floats) -> Floats:
    return 1 / (1 + np.exp(-scores))


def _logit(p: Floats) -> Floats:
    return np.log(p) - np.log1p(-p)


_SCALES = (
    _Scale(
        _sigmoid,
        -np.inf,
        np.inf,
        "look like probabilities, but the rule was fitted on their logits: give it the logits.",
    ),
    _Scale(
        _logit,
        0.0,
        1.0,
        "look like logits, but the rule was fitted on probabilities: turn them into probabilities first,"
        " 1 / (1 + exp(-x)) (--logits on the command line).",
    ),
    _Scale(
        lambda scores: 100 * scores,
        0.0,
        1.0,
        "look like percent, but the rule was fitted on fractions: divide them by 100.",
    ),
    _Scale(
        lambda scores: scores / 100,
        0.0,
        100.0,
        "look like fractions, but the rule was fitted on percent: multiply them by 100.",
    ),
    _Scale(
        np.log,
        0.0,
        1.0,
        "look like logarithms of probabilities, but the rule was fitted on the probabilities: take exp(x) first.",
    ),
    _Scale(
        np.exp,
        -np.inf,
        0.0,
        "look like probabilities, but the rule was fitted on their logarithms: take the logarithms first.",
    ),
    _Scale(
        lambda scores: 1 - scores,
        0.0,
        1.0,
        "look like probabilities of the opposite, 1 - p, but the rule was fitted on p: subtract them from 1.",
        falls=True,
    ),
    _Scale(
        lambda scores: -scores,
        -np.inf,
        np.inf,
        "have the opposite sign of those that the rule was fitted on: multiply them by -1.",
        falls=True,
    ),
)


def _scales(difference: Difference, labels: Booleans) -> Iterator[tuple[Cause, float]]:
    """Try other scales of the same scores; each cause comes with its handicap, 1 for those that have no freedom."""
    quantiles = difference.quantiles[labels & difference.is_known]
    finite = quantiles[np.isfinite(quantiles)]
    for scale in _SCALES:
        if scale.is_possible(finite):
            with np.errstate(all="ignore"):
                points = scale.of(difference.quantiles)
            left = difference.distance_at(points, labels, falls=scale.falls)
            yield Cause("scale", scale.sentence, left), 1.0


def _affine(difference: Difference, labels: Booleans) -> Iterator[tuple[Cause, float]]:
    """Try a factor, a shift, or both, for all labels alike, where all new scores are known."""
    if difference.n_unknown.any():
        return
    before = difference.quantiles
    after = difference.columns.quantiles().astype(np.float64)
    yield from _factor_and_shift(difference, labels, before, after)

    # Where both look like probabilities, their logits may have moved.
    chosen = labels & difference.is_known
    if _all_within(before[chosen], 0, 1) and _all_within(after[chosen], 0, 1):
        with np.errstate(divide="ignore"):
            logits = _logit(before), _logit(after)
        yield from _factor_and_shift(difference, labels, *logits, are_logits=True)


def _factor_and_shift(
    difference: Difference,
    labels: Booleans,
    before: Floats,
    after: Floats,
    *,
    are_logits: bool = False,
) -> Iterator[tuple[Cause, float]]:
    """Try a factor, a shift, or both, of quantiles of scores or of their logits: (n_labels, n_levels) each."""
    lower = LEVELS.index(0.1)
    middle = LEVELS.index(0.5)
    upper = LEVELS.index(0.9)

    # The spread of a label tells the factor, its median the shift; of labels the one in the middle counts.
    with np.errstate(invalid="ignore", divide="ignore"):
        spread = after[:, upper] - after[:, lower]  # (n_labels,)
        factor = _median(spread / (before[:, upper] - before[:, lower]), labels)
        shift = _median(after[:, middle] - before[:, middle], labels)
        rest = _median(after[:, middle] - factor * before[:, middle], labels)

    for a, b, handicap in (
        (1.0, shift, _ONE_NUMBER),
        (factor, 0.0, _ONE_NUMBER),
        (factor, rest, _TWO_NUMBERS),
    ):
        if not (np.isfinite(a) and np.isfinite(b) and a > 0):
            continue
        with np.errstate(invalid="ignore", over="ignore"):
            moved = a * before + b
            points = _sigmoid(moved) if are_logits else moved
        left = difference.distance_at(points, labels)
        yield Cause("moved", _moved(a, b, of_logits=are_logits), left), handicap


def _median(values: Floats, labels: Booleans) -> float:
    """Return the median of the finite values of some labels, NaN without any."""
    chosen = values[labels]
    chosen = chosen[np.isfinite(chosen)]
    return float(np.median(chosen)) if chosen.size else np.nan


def _moved(factor: float, shift: float, *, of_logits: bool) -> str:
    """Say by how much all scores have moved."""
    if factor == 1:
        direction = "higher" if shift > 0 else "lower"
        how = f"about {abs(shift):.3g} {direction} than when the rule was fitted"
    else:
        how = f"about {factor:.3g} times those that the rule was fitted on"
        if shift != 0:
            how += f", {'plus' if shift > 0 else 'minus'} {abs(shift):.3g}"
    what = "have all changed alike: their logits are" if of_logits else "are all"
    return f"{what} {how}. {WHAT_TO_DO}"


def _orders(
    difference: Difference, labels: Booleans, said: Callable[[int], str]
) -> Iterator[tuple[Cause, float]]:
    """Try whether columns hold the scores of other labels."""
    places = np.flatnonzero(labels & difference.is_known)
    if not 2 <= places.size <= _MOST_COLUMNS:
        return
    distances = difference.between_columns(places)  # (n_columns, n_labels)
    column = np.arange(places.size)

    # All columns in reverse order, or all moved by one: then those at the right hold the scores of labels to the left.
    if labels.all():
        for what, fitting in (
            ("in reverse order", column[::-1]),
            ("one place too far to the right", np.roll(column, 1)),
            ("one place too far to the left", np.roll(column, -1)),
        ):
            left = float(distances[column, fitting].mean())
            yield Cause("order", _in_order(what), left), 1.0

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
    yield Cause("order", sentence, left), _AN_ASSIGNMENT


def _in_order(what: str) -> str:
    """Say that columns are in another order."""
    return f"seem to be {what}. Put the columns in the order that the rule was fitted on."


def _outside(share: Floats, lower: Floats, upper: Floats) -> Floats:
    """Return how far shares lie outside the ranges that ties leave them."""
    return np.maximum(np.maximum(lower - share, share - upper), 0.0)
