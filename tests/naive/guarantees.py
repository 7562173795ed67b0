"""Floors of labels that hold on new rows, from their definitions: the witness of `thresholds.guarantees`.

Slow and obvious: every distinct score of a label is a cut, each is tried, its rows are counted one by one, and tails
are sums of rational numbers. Nothing comes from the library; floors and confidences stand for the numbers they are.

Recall. P positives are exchangeable. Cut at the r-th lowest of them: what new positives reach has the law
Beta(P - r + 1, r), or more where scores tie. A cut is shown if the probability of less than the floor is at most
delta for the lowest positive that it keeps.

Precision. A start is a rank, chosen before truth is looked at, with its share of delta. The rows above the one of
that rank are tested first (the gate), then one cut after another from its score down, tie groups whole. Of rows with
one score, those of a lower place are above; places are a permutation that knows nothing of truth. A test is passed
if a binomial law with the floor has so many true positives, or more, with probability at most the share; the first
one that fails ends the start. What is passed below the gate is shown.
"""

from collections.abc import Iterable, Sequence
from fractions import Fraction
from itertools import count
from math import comb

from tests.naive.exhaustive import NEVER, Array, f_beta, plain

Start = tuple[int, Fraction]  # a rank, 1 for the highest row, and a share of delta


# Tails


def exact(value: float | Fraction) -> Fraction:
    """The rational number that a float is."""
    return Fraction(value)


def delta_of(confidence: float) -> Fraction:
    """What a promise may be broken with."""
    return 1 - exact(confidence)


def beta_below(a: int, b: int, x: Fraction) -> Fraction:
    """P(Beta(a, b) < x): the density's polynomial, integrated term by term."""
    constant = a * comb(a + b - 1, a)  # 1 / B(a, b)
    terms = (Fraction((-1) ** k * comb(b - 1, k), a + k) * x ** (a + k) for k in range(b))
    return constant * sum(terms, Fraction(0))


def binomial_at_least(k: int, n: int, p: Fraction) -> Fraction:
    """P(Bin(n, p) >= k)."""
    return sum((comb(n, i) * p**i * (1 - p) ** (n - i) for i in range(k, n + 1)), Fraction(0))


# Cuts


def cuts_of(scores: Iterable[float]) -> list[float]:
    """The distinct scores, from the highest down."""
    return sorted({plain(score) for score in scores}, reverse=True)


def at_or_above(truth: Array, scores: Array, cut: float) -> tuple[int, int]:
    """True positives and predictions at a cut."""
    predicted = [int(y) for y, score in zip(truth, scores, strict=True) if plain(score) >= cut]
    return sum(predicted), len(predicted)


# Recall


def recall_is_shown(tp: int, positives: int, floor: float | Fraction, delta: Fraction) -> bool:
    """Whether a cut that keeps the `tp` highest of the positives has the floor with probability 1 - delta."""
    if tp == 0:
        return floor == 0
    r = positives - tp + 1  # The lowest positive that is kept is the r-th lowest of all.
    return beta_below(positives - r + 1, r, exact(floor)) <= delta


def recall_cuts(truth: Array, scores: Array, floor: float, delta: Fraction) -> list[float]:
    """The cuts at which recall is shown."""
    positives = int(sum(truth))
    return [
        cut for cut in cuts_of(scores) if recall_is_shown(at_or_above(truth, scores, cut)[0], positives, floor, delta)
    ]


def positives_needed(floor: float, delta: Fraction) -> int:
    """The fewest positives with which a cut is shown that keeps them all."""
    return next(n for n in count(1) if recall_is_shown(n, n, floor, delta))


# Precision


def precision_is_shown(tp: int, predicted: int, floor: float | Fraction, delta: Fraction) -> bool:
    """Whether as many true positives are so seldom at a precision of the floor, or below it."""
    return predicted > 0 and binomial_at_least(tp, predicted, exact(floor)) <= delta


def precision_cuts(
    truth: Array, scores: Array, floor: float, starts: Sequence[Start], places: Sequence[int] | None = None
) -> list[float]:
    """The cuts at which precision is shown, from any of the starts; places are those of the rows, if not in order."""
    shown: set[float] = set()
    n_rows = len(scores)
    places = range(n_rows) if places is None else places
    ranked = sorted(range(n_rows), key=lambda row: (-plain(scores[row]), places[row]))
    for rank, share in starts:
        if rank > n_rows:
            continue
        gate = [int(truth[row]) for row in ranked[: rank - 1]]
        if not precision_is_shown(sum(gate), len(gate), floor, share):
            continue
        for cut in cuts_of(scores):
            if cut > plain(scores[ranked[rank - 1]]):
                continue
            if not precision_is_shown(*at_or_above(truth, scores, cut), floor, share):
                break
            shown.add(cut)
    return sorted(shown, reverse=True)


def predictions_needed(floor: float, delta: Fraction) -> int:
    """The fewest predictions, all of them true, with which the floor is shown."""
    return next(n for n in count(1) if precision_is_shown(n, n, floor, delta))


# One label


def best_cut(truth: Array, scores: Array, shown: Sequence[float], beta: float = 1.0) -> float:
    """The cut of highest F-beta among those that are shown, the highest of ties; never if F is 0 at all of them."""
    positives = Fraction(int(sum(truth)))
    best, at = Fraction(0), NEVER
    for cut in sorted(shown, reverse=True):
        tp, predicted = at_or_above(truth, scores, cut)
        f = f_beta(Fraction(tp), Fraction(predicted), positives, beta, 0.0)
        if f > best:
            best, at = f, cut
    return at


def shown_cuts(
    truth: Array,
    scores: Array,
    *,
    min_precision: float | None = None,
    min_recall: float | None = None,
    delta: Fraction,
    starts: Sequence[Start] = (),
    places: Sequence[int] | None = None,
) -> list[float]:
    """The cuts at which all floors that are asked for are shown; two floors have a half of delta each.

    The shares of `starts` are shares of what precision has: they add up to at most 1.
    """
    of_each = delta / 2 if min_precision is not None and min_recall is not None else delta
    shown = cuts_of(scores)
    if min_precision is not None:
        within = [(rank, of_each * share) for rank, share in starts]
        kept = precision_cuts(truth, scores, min_precision, within, places)
        shown = [cut for cut in shown if cut in kept]
    if min_recall is not None:
        kept = recall_cuts(truth, scores, min_recall, of_each)
        shown = [cut for cut in shown if cut in kept]
    return shown


# All labels together


def sharing(n_rows: int, floors: Sequence[float], delta: Fraction) -> list[bool]:
    """Which labels share delta: the most of them that could all show their floors with an equal share, were all hits.

    Truth is not looked at: how many positives one label has may tell how well the sample represents another. Of more
    labels than can share, those that show their floor at the smallest share do, the first of ties.
    """
    least = [exact(floor) ** n_rows for floor in floors]
    order = sorted(range(len(least)), key=lambda label: least[label])
    most = max((m for m in range(len(order) + 1) if m == 0 or least[order[m - 1]] <= delta / m), default=0)
    return [label in order[:most] for label in range(len(least))]
