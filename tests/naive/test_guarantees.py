"""The twin of guarantees against cases worked out by hand, and against every sample that a small law can give."""

from fractions import Fraction
from itertools import combinations_with_replacement, product
from math import factorial, prod

import numpy as np
import pytest

from tests.naive import guarantees as twin
from tests.naive.exhaustive import NEVER

HALF, TENTH = Fraction(1, 2), Fraction(1, 10)
TRUTH = np.array([1, 1, 1, 0, 1, 0])
SCORES = np.array([0.9, 0.8, 0.7, 0.6, 0.5, 0.4])


def test_tails_are_the_closed_forms() -> None:
    assert twin.beta_below(1, 1, Fraction(1, 3)) == Fraction(1, 3)
    assert twin.beta_below(5, 1, HALF) == HALF**5
    assert twin.beta_below(1, 5, HALF) == 1 - HALF**5
    assert twin.binomial_at_least(3, 3, TENTH) == TENTH**3
    assert twin.binomial_at_least(0, 7, TENTH) == 1
    assert twin.binomial_at_least(1, 2, HALF) == Fraction(3, 4)


@pytest.mark.parametrize("p", [Fraction(1, 3), HALF, Fraction(9, 10)])
def test_a_beta_law_is_a_binomial_tail(p: Fraction) -> None:
    assert all(twin.beta_below(k, 9 - k, p) == twin.binomial_at_least(k, 8, p) for k in range(1, 9))


def test_29_positives_or_true_predictions_show_nine_tenths_at_95_percent() -> None:
    assert twin.positives_needed(0.9, Fraction(5, 100)) == 29  # ln .05 / ln .9 = 28.4
    assert twin.predictions_needed(0.9, Fraction(5, 100)) == 29


def test_a_floor_is_shown_where_its_probability_is_just_delta() -> None:
    assert twin.recall_is_shown(3, 3, 0.5, HALF**3)
    assert not twin.recall_is_shown(3, 3, 0.5, HALF**3 - Fraction(1, 10**9))
    assert twin.precision_is_shown(3, 3, 0.5, HALF**3)
    assert not twin.precision_is_shown(3, 3, 0.5, HALF**3 - Fraction(1, 10**9))


def test_recall_is_shown_from_some_cut_down() -> None:
    # 4 positives: keeping 4, 3, 2 of them, recall is below a half with probability 1/16, 5/16, 11/16.
    assert twin.recall_cuts(TRUTH, SCORES, 0.5, Fraction(1, 16)) == [0.5, 0.4]
    assert twin.recall_cuts(TRUTH, SCORES, 0.5, Fraction(5, 16)) == [0.7, 0.6, 0.5, 0.4]
    assert twin.recall_cuts(TRUTH, SCORES, 0.5, Fraction(1, 17)) == []


def test_precision_is_shown_below_a_gate_that_is_passed_until_a_test_fails() -> None:
    # Above rank 3 lie 2 of 2; then 3 of 3 (1/8), 3 of 4 (5/16), 4 of 5 (3/16), 4 of 6 (11/32).
    quarter, third = Fraction(1, 4), Fraction(1, 3)
    assert twin.precision_cuts(TRUTH, SCORES, 0.5, [(3, quarter)]) == [0.7]
    assert twin.precision_cuts(TRUTH, SCORES, 0.5, [(3, third)]) == [0.7, 0.6, 0.5]
    assert twin.precision_cuts(TRUTH, SCORES, 0.5, [(2, third)]) == []
    assert twin.precision_cuts(TRUTH, SCORES, 0.5, [(4, third)]) == [0.6, 0.5]
    assert twin.precision_cuts(TRUTH, SCORES, 0.5, [(3, quarter), (4, third)]) == [0.7, 0.6, 0.5]


def test_ties_are_tested_whole_below_the_gate() -> None:
    scores = np.array([0.9, 0.9, 0.9, 0.9, 0.5, 0.5])
    # Above rank 3 lie 2 rows of 0.9; all of them are 3 of 4 (5/16), then 4 of 6 (11/32).
    assert twin.precision_cuts(TRUTH, scores, 0.5, [(3, Fraction(1, 3))]) == [0.9]
    assert twin.precision_cuts(TRUTH, scores, 0.5, [(3, Fraction(2, 5))]) == [0.9, 0.5]
    assert twin.precision_cuts(TRUTH, scores, 0.5, [(5, Fraction(2, 5))]) == [0.5]


def test_places_say_which_of_tied_rows_are_above_the_gate() -> None:
    scores = np.array([0.9, 0.9, 0.9, 0.9, 0.5, 0.5])
    start = (3, Fraction(1, 3))
    assert twin.precision_cuts(TRUTH, scores, 0.5, [start], [2, 3, 1, 0, 4, 5]) == []
    assert twin.precision_cuts(TRUTH, scores, 0.5, [start], [3, 1, 0, 2, 4, 5]) == [0.9]


def test_the_cut_is_the_best_of_those_shown() -> None:
    assert twin.best_cut(TRUTH, SCORES, [0.7, 0.4]) == 0.7  # 6/7 and 8/10
    assert twin.best_cut(TRUTH, SCORES, [0.4]) == 0.4
    assert twin.best_cut(TRUTH, SCORES, []) == NEVER


def test_labels_that_could_show_nothing_take_no_share() -> None:
    # With 5 rows a half can be shown at 1/32, .7 at .168.
    assert twin.sharing(5, [0.5, 0.5], Fraction(1, 16)) == [True, True]
    assert twin.sharing(5, [0.5, 0.5, 0.5], Fraction(1, 16)) == [True, True, False]
    assert twin.sharing(5, [0.7, 0.5], Fraction(1, 10)) == [False, True]
    assert twin.sharing(5, [0.7, 0.5], Fraction(4, 10)) == [True, True]
    assert twin.sharing(5, [0.7, 0.7], Fraction(1, 10)) == [False, False]


# A law of few scores: every sample that it can give, with its probability.

LAWS = {  # probability of each (score, truth), scores from the highest down
    "just below the floor": [[Fraction(101, 600), Fraction(99, 600)]] * 3,
    "bad above good": [[Fraction(2, 10), Fraction(1, 10)], [0, Fraction(1, 10)], [Fraction(3, 10), Fraction(3, 10)]],
    "good above bad": [[0, Fraction(3, 10)], [Fraction(31, 100), 0], [Fraction(39, 100), 0]],
    "good, bad, good": [[0, Fraction(1, 10)], [Fraction(2, 10), Fraction(9, 100)], [0, Fraction(61, 100)]],
}


@pytest.mark.parametrize("law", LAWS.values(), ids=LAWS)
@pytest.mark.parametrize("rank", [3, 4, 5])
def test_no_law_breaks_the_floor_of_precision_more_often_than_delta(law: list[list[Fraction]], rank: int) -> None:
    n, floor, delta = 6, 0.5, Fraction(1, 4)
    above = [(sum(m[1] for m in law[: cut + 1]), sum(sum(m) for m in law[: cut + 1])) for cut in range(3)]
    is_bad = [tp < Fraction(floor) * predicted for tp, predicted in above]
    broken = Fraction(0)
    # Rows may be exchanged: those with one score stand together, in every order of their truth.
    for drawn in combinations_with_replacement(range(3), n):
        scores = -np.array(drawn, float)
        orders = factorial(n) // prod(factorial(drawn.count(score)) for score in range(3))
        for truth in product(range(2), repeat=n):
            shown = twin.precision_cuts(np.array(truth), scores, floor, [(rank, delta)])
            if any(is_bad[cut] for cut in predicted_at(shown, scores)):
                broken += orders * prod((Fraction(law[s][y]) for s, y in zip(drawn, truth, strict=True)), start=1)
    assert 0 < broken <= delta


def predicted_at(shown: list[float], scores: np.ndarray) -> range:
    """The lowest scores that thresholds in the gaps of shown cuts predict, scores that were not drawn included."""
    if not shown:
        return range(0)
    below = [-int(score) for score in scores if score < shown[-1]]
    return range(-int(shown[0]), min(below, default=1 - int(shown[-1])))
