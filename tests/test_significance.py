"""Two counts, two means, and error control: right for small numbers, too."""

import numpy as np
import pytest
from scipy.stats import hypergeom, ttest_ind_from_stats

from tests.naive import profiles
from thresholds._significance import effective_rows, p_of_best, p_of_means, p_of_z, z_of_more


@pytest.mark.each_value
@pytest.mark.parametrize("n_before", [1, 2, 8, 40, 300, 10_000, 100_000])
@pytest.mark.parametrize("n_now", [1, 20, 50, 1000, 10_000])
def test_the_bound_is_at_least_the_exact_p_value(n_before: int, n_now: int) -> None:
    now = np.unique(np.geomspace(1, n_now, 400).astype(int))
    for before in {0, 1, 5, n_before // 20, n_before // 2, n_before - n_before // 10}:
        if before >= n_before:
            continue
        exact = hypergeom.sf(now - 1, n_before + n_now, before + now, n_now)
        found = p_of_best(z_of_more(np.array(before), n_before, now, n_now), 1)
        tells = (exact < 0.05) & (exact > 1e-12)
        assert (found[tells] >= exact[tells]).all()


def test_the_bound_is_seldom_much_more_than_that() -> None:
    now = np.arange(60, 200)
    exact = hypergeom.sf(now - 1, 3000, 100 + now, 1000)
    found = p_of_best(z_of_more(np.array(100), 2000, now, 1000), 1)
    tells = (exact < 0.01) & (exact > 1e-9)
    assert tells.sum() > 20
    assert (found[tells] <= 2.2 * exact[tells]).all()


def test_fishers_test_is_that_of_new_scores_above_a_threshold_chosen_at_a_rank() -> None:
    for before, n_before, now, n_now in [(0, 10, 3, 20), (2, 10, 9, 15), (5, 30, 12, 20)]:
        exact = profiles.p_above_threshold(before, n_before, now, n_now)
        assert exact == profiles.p_of_more(before, n_before, now, n_now)
        assert p_of_best(z_of_more(np.array([before]), n_before, np.array([now]), n_now), 1)[0] >= float(exact)


def test_no_more_than_before_is_no_deviate() -> None:
    assert z_of_more(np.array([10, 0, 5]), 100, np.array([10, 0, 0]), np.array([100, 100, 0])).tolist() == [0, 0, 0]


def test_the_normal_tail() -> None:
    np.testing.assert_allclose(p_of_z(np.array([0.0, 1.959963985, 10.0])), [0.5, 0.025, 7.61985302416e-24], rtol=1e-8)


@pytest.mark.parametrize("n", [20, 60, 1000])
@pytest.mark.parametrize("difference", [0.2, 0.5, 1.0])
def test_means_are_compared_as_by_welch(n: int, difference: float) -> None:
    found = p_of_means((0.0, 1.0), n, (difference, 1.5), n)
    sd = [s * np.sqrt(n / (n - 1)) for s in (1.0, 1.5)]
    exact = ttest_ind_from_stats(0.0, sd[0], n, difference, sd[1], n, equal_var=False).pvalue
    if exact > 1e-6:
        assert 0.9 * exact <= found <= 3 * exact  # with the fewest degrees of freedom
    else:
        assert found < 1e-5


def test_means_without_spread_differ_for_sure_or_not_at_all() -> None:
    assert p_of_means((3.0, 0.0), 50, (3.0, 0.0), 60) == 1
    assert p_of_means((3.0, 0.0), 50, (4.0, 0.0), 60) == 0


def test_weights_are_worth_as_many_rows_as_kish_has_it() -> None:
    assert effective_rows(np.full(7, 3.0)) == pytest.approx(7)
    assert effective_rows(np.array([1, 1, 2, 0])) == pytest.approx(16 / 6)
    assert effective_rows(np.array([1e300, 1e300])) == pytest.approx(2)
