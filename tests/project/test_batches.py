"""Batches of an experiment on the paper: each is decided as if there were no other, and has one break-even."""

import importlib
import sys
from fractions import Fraction
from itertools import permutations
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import thresholds
from tests.naive import expected as witness
from thresholds import fit_expected

sys.path.insert(0, str(Path(__file__).parents[2] / "experiments" / "paper"))
batches: Any = importlib.import_module("batches")
batch_effect, predict_by_batch = batches.batch_effect, batches.predict_by_batch

pytestmark = pytest.mark.each_value

Floats = NDArray[np.float64]

BETAS = [0.5, 1.0, 1.37, 2.0]
WITHIN = 1e-15  # of break-even probabilities, as documented


def draw(n_samples: int, n_labels: int, seed: int) -> Floats:
    """Probabilities from rare to likely, a third of them 0, some labels never possible."""
    rng = np.random.default_rng(seed)
    p = np.round(rng.random((n_samples, n_labels)) ** rng.uniform(0.3, 4, n_labels), 3)
    p[rng.random(p.shape) < 0.3] = 0
    p[:, n_labels // 2] = 0
    return p


# Batch by batch


def test_batches_of_one_row_predict_whatever_is_possible() -> None:
    """F1 of expected counts of one cell is highest if it is predicted, however improbable."""
    p = draw(30, 4, seed=7)
    for exact in (False, True):
        np.testing.assert_array_equal(predict_by_batch(p, np.arange(30), exact=exact), p > 0)
    alone = predict_by_batch(p, np.arange(30), exact=True, zero_division=1.0)
    np.testing.assert_array_equal(alone, p > 0.5)


def test_rows_decided_on_their_own_need_no_batches() -> None:
    p = draw(40, 6, seed=8)
    ids = np.random.default_rng(8).integers(0, 9, 40)
    np.testing.assert_array_equal(predict_by_batch(p, ids, "samples"), thresholds.InstanceRule().predict(p))


def test_a_batch_of_a_better_day_asks_for_more() -> None:
    """.3 beside .2's is predicted, beside .9's it is not."""
    p = np.array([0.3, 0.2, 0.2, 0.3, 0.9, 0.9])
    assert predict_by_batch(p, ["mon"] * 3 + ["tue"] * 3).tolist() == [1, 1, 1, 0, 1, 1]


# Break-even probabilities


def test_break_even_beside_even_chances_tends_to_a_third() -> None:
    """F of expected counts of all, (n - 1) / (1.5 (n - 1) + p), is twice p at the break-even: 1/3 but for 1/n."""
    for n in (1000, 2000):
        (cut,) = batch_effect(np.full((n, 1), 0.5), 0, sizes=[n], exact=False).break_even[0]
        assert cut == pytest.approx(1 / 3, abs=0.2 / n)
        assert 1.5 * (n - 1) * cut + cut**2 == pytest.approx((n - 1) / 2, rel=1e-12)


def test_an_improbable_row_is_predicted_if_it_is_alone() -> None:
    p = np.array([[0.1]] + 99 * [[0.5]])
    effect = batch_effect(p, 0, sizes=[1, 2, 100])
    assert effect.predicted[:, 0].tolist() == [True, False, False]
    assert effect.break_even[0, 0] == 0
    cautious = batch_effect(p, 0, sizes=[1], zero_division=1.0)
    assert cautious.break_even[0, 0] == pytest.approx(0.5, rel=1e-11)
    assert not cautious.predicted[0, 0]


# Every pair of two of these is tried, not every triple.
SETTINGS = [(beta, zd, (i + int(zd)) % 2 == 0) for i, beta in enumerate(BETAS) for zd in (0.0, 1.0)]
each_setting = pytest.mark.parametrize(("beta", "zero_division", "exact"), SETTINGS)


@each_setting
def test_decisions_change_at_the_break_even(beta: float, zero_division: float, exact: bool) -> None:
    """Just below it the row is not predicted, from it on it is: in fits on the same batch."""
    p = draw(7, 5, seed=11)
    settings = {"beta": beta, "zero_division": zero_division, "exact": exact}
    for row in range(7):
        effect = batch_effect(p, row, sizes=[7], **settings)
        for at, hit in ((effect.break_even[0], True), (effect.break_even[0] - 2 * WITHIN, False)):
            changed = p.copy()
            changed[row] = np.maximum(at, 0)
            decided = fit_expected(changed, **settings).predict(changed)[row]
            np.testing.assert_array_equal(decided, np.full(5, hit) & (changed[row] > 0))


@each_setting
def test_predictions_are_those_of_a_fit_on_the_batch(beta: float, zero_division: float, exact: bool) -> None:
    p = draw(6, 6, seed=12)
    settings = {"beta": beta, "zero_division": zero_division, "exact": exact}
    expected = fit_expected(p, **settings).predict(p)
    for row in range(6):
        effect = batch_effect(p, row, sizes=[6], **settings)
        assert effect.predicted.dtype == np.bool_
        np.testing.assert_array_equal(effect.predicted[0], expected[row])
        above = (p[row] >= effect.break_even[0]) & (p[row] > 0)
        np.testing.assert_array_equal(effect.predicted[0], above)


@pytest.mark.parametrize("zero_division", [0.0, 1.0])
@pytest.mark.parametrize("beta", BETAS)
def test_at_the_break_even_the_best_sets_with_and_without_the_row_are_equal(beta: float, zero_division: float) -> None:
    """In exact arithmetic, over all sets."""
    rng = np.random.default_rng(13)
    for _ in range(5):
        column = rng.random(5) ** 2
        cut = batch_effect(column[:, np.newaxis], 2, sizes=[5], beta=beta, zero_division=zero_division).break_even[0, 0]
        with_row, without = best_with_and_without(np.append(np.delete(column, 2), cut), beta, zero_division)
        assert float(with_row) == pytest.approx(float(without), rel=5e-12)


def best_with_and_without(column: Floats, beta: float, zero_division: float) -> tuple[Fraction, Fraction]:
    """The highest E F of the sets with the last cell, and of those without it."""
    joint = witness.independent(column)
    values = {s: witness.value_of_set(joint, s, beta, zero_division) for s in witness.all_sets(len(column))}
    return tuple(max(value for s, value in values.items() if s[-1] == last) for last in (1, 0))


# One break-even for each batch


@pytest.mark.parametrize("zero_division", [0.0, 1.0])
@pytest.mark.parametrize("beta", [0.5, 1.0, 1.37, 2.0, 10.0])
def test_with_its_probability_sets_with_the_row_gain_and_sets_without_it_lose(
    beta: float, zero_division: float
) -> None:
    rng = np.random.default_rng(14)
    for _ in range(2):
        others = rng.random(3) ** rng.choice([0.5, 1, 3])
        values = [best_with_and_without(np.append(others, p), beta, zero_division) for p in np.arange(1, 17) / 16]
        with_row, without = zip(*values, strict=True)
        assert list(with_row) == sorted(with_row)
        assert list(without) == sorted(without, reverse=True)


@each_setting
def test_a_row_that_is_predicted_stays_so_with_a_higher_probability(
    beta: float, zero_division: float, exact: bool
) -> None:
    rng = np.random.default_rng(15)
    settings = {"beta": beta, "zero_division": zero_division, "exact": exact}
    for n in (1, 2, 3, 6, 40):
        others = np.round(rng.random((n - 1, 20)) ** rng.uniform(0.3, 5, 20), 2)
        decided = []
        for p in np.linspace(0, 1, 21):
            batch = np.vstack([others, np.full((1, 20), p)])
            decided.append(fit_expected(batch, **settings).predict(batch)[-1])
        assert (np.diff(np.array(decided, np.int8), axis=0) >= 0).all()


# The batches


def test_batches_are_nested_and_the_same_for_all_labels() -> None:
    """One order of the other rows explains what is found for every size and label."""
    rng = np.random.default_rng(16)
    p = rng.random((4, 4))
    effect = batch_effect(p, 3, sizes=[1, 2, 3, 4])
    explained = []
    for order in permutations([0, 1, 2]):
        batches = [p[[3, *order[:k]]] for k in range(4)]
        cuts = [batch_effect(batch, 0, sizes=[len(batch)]).break_even[0] for batch in batches]
        explained.append(np.allclose(cuts, effect.break_even, rtol=1e-13, atol=1e-15))
    assert sum(explained) == 1


def test_the_seed_decides_which_rows_join() -> None:
    p = np.random.default_rng(17).random((200, 3))
    first, again, other = (batch_effect(p, 5, sizes=[3, 200], random_state=seed) for seed in (1, 1, 2))
    np.testing.assert_array_equal(first.break_even, again.break_even)
    assert (first.break_even[0] != other.break_even[0]).all()
    np.testing.assert_allclose(first.break_even[1], other.break_even[1], rtol=1e-12)


def test_the_probabilities_given_stay_as_they_are() -> None:
    p = draw(6, 3, seed=20)
    before = p.copy()
    batch_effect(p, 2, [1, 6])
    predict_by_batch(p, [0, 1, 0, 1, 0, 1])
    np.testing.assert_array_equal(p, before)
