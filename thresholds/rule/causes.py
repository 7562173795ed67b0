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
from typing import NamedTuple

import numpy as np

from thresholds._arrays.types import Booleans, Floats, Ints
from thresholds.rule.score_profile import LEVELS, Columns, ScoreProfile, ranks
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


class Cause(NamedTuple):
    """What explains a change best."""

    kind: str  # "scale", "moved" or "order"
    sentence: Callable[
        [Callable[[int], str]], str
    ]  # from what says a label, to follow "The scores"
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
        constant = np.zeros(sizes.size, np.bool_)
        for j in np.flatnonzero(sizes >= _FEWEST_EQUAL).tolist():
            scores = self.columns.of_label(j)
            constant[j] = scores[0] == scores[-1]
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
        """Return the mean distance that chance makes, if distributions are normal: sqrt(2 / pi) standard errors."""
        level = np.array(LEVELS)
        n_fit = np.maximum(self.profile.n_scores, 1)[labels, np.newaxis]
        n_new = np.maximum(self.n_new, 1)[labels, np.newaxis]
        return float(np.sqrt(2 / np.pi * level * (1 - level) * (1 / n_fit + 1 / n_new)).mean())

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


def cause_of(difference: Difference, labels: Booleans, *, by_order: bool) -> Cause | None:
    """Find what explains the change of some labels best; `by_order` tries whether columns are permuted, too."""
    whole = difference.mean_distance(labels)
    noise = difference.noise(labels)
    best = None
    least = np.inf
    for cause, handicap in _tried(difference, labels, by_order):
        is_named = cause.distance <= _EXPLAINED * whole or (
            cause.distance <= _OF_NOISE * noise and cause.distance <= _AND_EXPLAINED * whole
        )
        if is_named and handicap * cause.distance < least:
            best = cause
            least = handicap * cause.distance
    return best


def _tried(
    difference: Difference, labels: Booleans, by_order: bool
) -> Iterator[tuple[Cause, float]]:
    """Try all causes, those with the least freedom first, each with its handicap."""
    for scale in _SCALES:
        quantiles = difference.quantiles[labels & difference.is_known]
        if scale.is_possible(quantiles[np.isfinite(quantiles)]):
            with np.errstate(all="ignore"):
                points = scale.of(difference.quantiles)
            left = difference.distance_at(points, labels, falls=scale.falls)
            yield Cause("scale", scale.sentence, left), 1.0
    yield from _affine(difference, labels)
    if by_order:
        yield from _orders(difference, labels)


class _Scale(NamedTuple):
    """Another scale of the same scores."""

    of: Callable[[Floats], Floats]
    lowest: float  # scores of the fit that it can be tried on
    highest: float
    said: str
    falls: bool = False

    def is_possible(self, scores: Floats) -> bool:
        """Whether these scores can have been turned into that scale."""
        return bool(
            scores.size > 0 and (scores >= self.lowest).all() and (scores <= self.highest).all()
        )

    def sentence(self, _: object) -> str:
        """Say what the scores look like."""
        return self.said


def _sigmoid(scores: Floats) -> Floats:
    return 1 / (1 + np.exp(-scores))


def _logit(p: Floats) -> Floats:
    return np.log(p) - np.log1p(-p)


_SCALES = (
    _Scale(
        _sigmoid,
        -np.inf,
        np.inf,
        "look like probabilities, where the rule was fitted on their logits: pass the logits.",
    ),
    _Scale(
        _logit,
        0.0,
        1.0,
        "look like logits, where the rule was fitted on probabilities: turn them into probabilities, 1 / (1 + exp(-x)),"
        " first (--logits on the command line).",
    ),
    _Scale(
        lambda scores: 100 * scores,
        0.0,
        1.0,
        "look like percent, where the rule was fitted on fractions: divide them by 100.",
    ),
    _Scale(
        lambda scores: scores / 100,
        0.0,
        100.0,
        "look like fractions, where the rule was fitted on percent: multiply them by 100.",
    ),
    _Scale(
        np.log,
        0.0,
        1.0,
        "look like logarithms of probabilities, where the rule was fitted on probabilities: take exp(x) first.",
    ),
    _Scale(
        np.exp,
        -np.inf,
        0.0,
        "look like probabilities, where the rule was fitted on their logarithms: take their logarithms first.",
    ),
    _Scale(
        lambda scores: 1 - scores,
        0.0,
        1.0,
        "look like probabilities of the opposite, 1 - p, of what the rule was fitted on: subtract them from 1.",
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


def _affine(difference: Difference, labels: Booleans) -> Iterator[tuple[Cause, float]]:
    """Try a factor, a shift, or both, for all labels alike, where all new scores are known."""
    if difference.n_unknown.any():
        return
    before = difference.quantiles
    after = difference.columns.quantiles().astype(np.float64)
    yield from _factor_and_shift(difference, labels, before, after, lambda points: points)
    chosen = labels & difference.is_known
    if (
        _SCALES[1].is_possible(before[chosen])
        and (after[chosen] >= 0).all()
        and (after[chosen] <= 1).all()
    ):
        with np.errstate(divide="ignore"):
            logits = _logit(before), _logit(after)
        yield from _factor_and_shift(difference, labels, *logits, _sigmoid)


def _factor_and_shift(
    difference: Difference,
    labels: Booleans,
    before: Floats,
    after: Floats,
    back: Callable[[Floats], Floats],
) -> Iterator[tuple[Cause, float]]:
    """Try a factor, a shift, or both, of quantiles that `back` turns into scores."""
    lower = LEVELS.index(0.1)
    middle = LEVELS.index(0.5)
    upper = LEVELS.index(0.9)
    with np.errstate(invalid="ignore", divide="ignore"):
        factor = _median(
            (after[:, upper] - after[:, lower]) / (before[:, upper] - before[:, lower]), labels
        )
        shift = _median(after[:, middle] - before[:, middle], labels)
        rest = _median(after[:, middle] - factor * before[:, middle], labels)

    def tried(a: float, b: float, handicap: float) -> Iterator[tuple[Cause, float]]:
        if not (np.isfinite(a) and np.isfinite(b) and a > 0):
            return
        with np.errstate(invalid="ignore", over="ignore"):
            points = back(a * before + b)

        def sentence(_: object) -> str:
            return _moved(a, b, of_logits=back is _sigmoid)

        yield Cause("moved", sentence, difference.distance_at(points, labels)), handicap

    yield from tried(1.0, shift, _ONE_NUMBER)
    yield from tried(factor, 0.0, _ONE_NUMBER)
    yield from tried(factor, rest, _TWO_NUMBERS)


def _median(values: Floats, labels: Booleans) -> float:
    """Return the median of the finite values of some labels, NaN without any."""
    chosen = values[labels]
    chosen = chosen[np.isfinite(chosen)]
    return float(np.median(chosen)) if chosen.size else np.nan


def _moved(factor: float, shift: float, of_logits: bool) -> str:
    """Say by how much scores have moved."""
    how = f"{abs(shift):.3g} {'higher' if shift > 0 else 'lower'} than"
    if factor != 1:
        how = f"{factor:.3g} times"
    then = "when the rule was fitted" if factor == 1 else "those that the rule was fitted on"
    moved = f"are about {how} {then}"
    if of_logits:
        moved = f"have logits that {moved}"
    if factor != 1 and shift != 0:
        moved += f", {'plus' if shift > 0 else 'minus'} {abs(shift):.3g}"
    return f"{moved}. See whether the model or its input has changed; if that is meant, fit the rule again."


def _orders(difference: Difference, labels: Booleans) -> Iterator[tuple[Cause, float]]:
    """Try whether columns hold the scores of other labels."""
    places = np.flatnonzero(labels & difference.is_known)
    if not 2 <= places.size <= _MOST_COLUMNS:
        return
    distances = difference.between_columns(places)  # (n_columns, n_labels)
    column = np.arange(places.size)

    # All columns in reverse order, or all moved by one: then those at the right hold the scores of labels to the left.
    if labels.all():
        for said, fitting in (
            ("in reverse order", column[::-1]),
            ("one column too far to the right", np.roll(column, 1)),
            ("one column too far to the left", np.roll(column, -1)),
        ):
            left = float(distances[column, fitting].mean())
            yield Cause("order", _saying(said), left), 1.0

    from scipy.optimize import linear_sum_assignment

    _, fitting = linear_sum_assignment(distances)  # the label that each column holds
    left = float(distances[column, fitting].mean())

    def sentence(said: Callable[[int], str]) -> str:
        elsewhere = np.flatnonzero(fitting != column)
        gain = distances[elsewhere, elsewhere] - distances[elsewhere, fitting[elsewhere]]
        shown = elsewhere[np.argsort(-gain, kind="stable")][:_SHOWN]
        pairs = [f"{said(places[i])} holds what {said(places[fitting[i]])} was" for i in shown]
        more = f", and {elsewhere.size - _SHOWN:,} more" if elsewhere.size > _SHOWN else ""
        return _saying(f"in the wrong columns: {', '.join(pairs)}{more}")(said)

    yield Cause("order", sentence, left), _AN_ASSIGNMENT


def _saying(what: str) -> Callable[[object], str]:
    """Say that columns are in another order."""
    sentence = f"seem to be {what}. Put the columns in the order that the rule was fitted on."
    return lambda _: sentence


def _outside(share: Floats, lower: Floats, upper: Floats) -> Floats:
    """Return how far shares lie outside the ranges that ties leave them."""
    return np.maximum(np.maximum(lower - share, share - upper), 0.0)
