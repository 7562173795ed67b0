"""Bounds of F, and tests of F against a bar: against their definitions, at the ends, and how often they hold."""

from itertools import product

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.stats import binom

import thresholds
from tests.naive import verdicts as twin
from thresholds.metrics import f_interval, fbeta_score
from thresholds.metrics.intervals import p_at_least, p_at_most, rows_needed

Floats = NDArray[np.float64]
BETAS = (0.3, 0.5, 1.0, 2.0, 5.0)
CELLS = [
    (1, 0, 0),
    (0, 1, 0),
    (0, 0, 1),
    (1, 2, 0),
    (1, 0, 2),
    (3, 4, 5),
    (0, 7, 9),
    (20, 0, 0),
    (90, 10, 40),
    (2, 98, 1),
]


def counts(*cells: float) -> tuple[float, float, float]:
    """True positives, predictions and positives of true positives, misses and false alarms."""
    tp, fn, fp = cells
    return tp, tp + fp, tp + fn


@pytest.mark.parametrize("cells", CELLS)
def test_bounds_are_what_the_score_test_does_not_reject(cells: tuple[int, int, int]) -> None:
    for beta, confidence in product(BETAS, (0.5, 0.95)):
        expected = twin.f_interval(*cells, beta, confidence)
        assert f_interval(*counts(*cells), beta=beta, confidence=confidence) == pytest.approx(expected, abs=1e-7)


def of_share(successes: int, trials: int) -> tuple[float, float]:
    """Wilson's bounds, or where a one-sided binomial test at .05 begins to reject, whichever is further out."""
    from scipy.stats import binomtest

    wilson = binomtest(successes, trials).proportion_ci(method="wilson")
    exact = binomtest(successes, trials).proportion_ci(confidence_level=0.9, method="exact")
    return min(wilson.low, exact.low), max(wilson.high, exact.high)


def test_bounds_of_f1_are_those_of_wilson_for_the_jaccard_index_or_of_binomial_tails() -> None:
    for tp, fn, fp in CELLS:
        low, high = f_interval(*counts(tp, fn, fp))
        assert (low / (2 - low), high / (2 - high)) == pytest.approx(of_share(tp, tp + fn + fp), abs=1e-12)
        if tp + fp:
            assert f_interval(*counts(tp, fn, fp), beta=0) == pytest.approx(of_share(tp, tp + fp), abs=1e-12)
    assert f_interval(*counts(90, 10, 40))[0] == pytest.approx(0.718, abs=0.01)


@pytest.mark.parametrize("rows", [1, 5, 10, 30, 100, 1000])
def test_bounds_hold_where_few_are_right_or_few_are_wrong(rows: int) -> None:
    """Exactly, over all splits of the rows; Wilson's own fall to .83 where .2 right rows are expected."""
    expected = np.geomspace(0.01, min(10, rows / 2), 500)[:, np.newaxis]
    right = np.arange(rows + 1)
    for few, index in ((right, expected / rows), (rows - right, 1 - expected / rows)):
        low, high = f_interval(right, right, rows)
        f = 2 * index / (1 + index)
        covered = (((low <= f) & (f <= high)) * binom.pmf(few, rows, expected / rows)).sum(axis=1)
        assert covered[expected[:, 0] < 2].min() > 0.949
        assert covered.min() > 0.92


def test_without_a_right_one_the_bounds_are_not_0_to_0() -> None:
    for beta in BETAS:
        low, high = f_interval(0, 8, 4, beta=beta)
        assert low == 0
        assert 0.2 < high < 0.6
        low, high = f_interval(8, 8, 8, beta=beta)
        assert 0.5 < low < 0.9
        assert high == 1


def test_nothing_leaves_everything_possible() -> None:
    assert f_interval(0, 0, 0) == (0, 1)
    assert f_interval(0, 0, 0, beta=2) == (0, 1)
    assert f_interval(0, 0, 5, beta=0) == (0, 1), "precision, without predictions"


def test_numbers_give_numbers_and_arrays_arrays_that_broadcast() -> None:
    low, high = f_interval(3, 10, 5)
    assert type(low) is type(high) is float
    low, high = f_interval([[3], [4]], [10, 20, 30], 5)
    assert low.shape == high.shape == (2, 3)
    assert (low[1, 2], high[1, 2]) == f_interval(4, 30, 5)
    assert f_interval([], [], [])[0].shape == (0,)


def test_bounds_hold_the_f_of_the_counts_and_narrow_with_rows() -> None:
    for beta, cells in product(BETAS, CELLS):
        widths = []
        for times in (0.7, 1, 10, 1000):  # 0.7: sums of weights
            tp, fn, fp = (times * count for count in cells)
            low, high = f_interval(*counts(tp, fn, fp), beta=beta)
            assert low <= twin.f_beta(tp, fn, fp, beta) <= high
            widths.append(high - low)
        assert widths == sorted(widths, reverse=True)


def test_bounds_are_about_decisions_of_a_rule() -> None:
    truth = np.array([1, 1, 1, 0, 0, 0, 1, 0])
    decided = np.array([1, 0, 1, 1, 0, 0, 1, 0])
    found = thresholds.metrics.confusion_counts(truth[:, np.newaxis], decided[:, np.newaxis])
    low, high = f_interval(found.tp, found.predicted, found.positives, beta=2)
    assert low < fbeta_score(truth, decided, beta=2) < high


def test_bounds_hold_in_about_as_many_samples_as_they_say() -> None:
    """Exactly, over all splits of the rows into right and wrong: 95 % on average over J, and never below 92 %."""
    index = np.linspace(0.005, 0.995, 199)
    f = 2 * index / (1 + index)
    for rows in (5, 10, 30, 100):
        right = np.arange(rows + 1)
        low, high = f_interval(right, right, rows)
        holds = (low <= f[:, np.newaxis]) & (f[:, np.newaxis] <= high)
        covered = (holds * binom.pmf(right, rows, index[:, np.newaxis])).sum(axis=1)
        assert 0.95 < covered.mean() < 0.98
        assert covered.min() > 0.92


@pytest.mark.parametrize("beta", [0.5, 2.0])
def test_bounds_of_other_betas_hold_as_often(beta: float) -> None:
    rng = np.random.default_rng(0)
    for expected in ((0.4, 6, 9), (4, 6, 8), (12, 3, 15), (9.7, 0.3, 0.3)):
        tp, fn, fp = rng.poisson(expected, (4000, 3)).T
        low, high = f_interval(tp, tp + fp, tp + fn, beta=beta)
        f = twin.f_beta(*expected, beta)
        assert np.mean((low <= f) & (f <= high)) > 0.92


# Tests


def test_p_values_of_f1_are_binomial_tails() -> None:
    bars = np.array([0.2, 0.5, 0.75])
    for cells in CELLS:
        tp, fn, fp = cells
        rows = tp + fn + fp
        above = p_at_most(*(np.full(3, float(value)) for value in counts(*cells)), bars)
        below = p_at_least(*(np.full(3, float(value)) for value in counts(*cells)), bars)
        np.testing.assert_allclose(above, binom.sf(tp - 1, rows, bars / (2 - bars)), rtol=1e-10)
        np.testing.assert_allclose(below, binom.cdf(tp, rows, bars / (2 - bars)), rtol=1e-10)


def test_p_values_and_bounds_say_the_same_for_other_betas() -> None:
    for beta, cells in product((0.5, 2.0), CELLS):
        low, high = f_interval(*counts(*cells), beta=beta)
        here = [np.array([float(value)]) for value in counts(*cells)]
        if low > 0:
            assert p_at_most(*here, np.array([low]), beta) == pytest.approx(0.025, rel=1e-5)
        if high < 1:
            assert p_at_least(*here, np.array([high]), beta) == pytest.approx(0.025, rel=1e-5)


def test_nothing_shows_nothing() -> None:
    nothing = np.zeros(1)
    for beta in (0, 0.5, 1, 2):
        assert p_at_most(nothing, nothing, nothing, np.array([0.5]), beta) >= 0.5
        assert p_at_least(nothing, nothing, nothing, np.array([0.5]), beta) >= 0.5


def test_as_many_rows_as_are_needed_have_the_power() -> None:
    """Of the exact test of F1, at the number of rows that is said; it steps, so a little more or less than 80 %."""
    for f, bar, level in product((0.1, 0.35, 0.6, 0.9), (0.5,), (0.05, 0.001)):
        index, at_bar = f / (2 - f), bar / (2 - bar)
        rows = 10_000
        here = [np.array([value]) for value in counts(index * rows, (1 - index) * rows, 0.0)]
        needed = int(np.ceil(rows_needed(*here, np.array([bar]), np.array([level]))[0]))
        if f > bar:
            least = binom.isf(level, needed, at_bar) + 1
            power = binom.sf(least - 1, needed, index)
        else:
            most = binom.ppf(level, needed, at_bar) - 1
            power = binom.cdf(most, needed, index)
        assert 0.7 < power < 0.96, (f, level, needed)


def test_on_the_bar_no_number_of_rows_is_enough() -> None:
    here = [np.array([value]) for value in (50.0, 100.0, 100.0)]
    assert rows_needed(*here, np.array([0.5]), np.array([0.05])) == [np.inf]
