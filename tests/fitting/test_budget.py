"""`max_predicted`: the best thresholds with at most so many predictions in all, on the rows of the fit."""

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from scipy import sparse

import thresholds
from tests.naive.budgets import best_f_within, best_shared_f_within
from tests.words import flat
from thresholds import InputError, fit_empirical
from thresholds._engine import budget as search
from thresholds._engine.budget import Choices, best_within
from thresholds.rule.budget import Budget

AVERAGES = ("macro", "weighted", "micro")


def tiny(seed: int) -> tuple[Any, Any]:
    """A few rows and labels, with ties, and now and then a label without positives."""
    rng = np.random.default_rng(seed)
    shape = rng.integers(4, 8), rng.integers(1, 4)
    y_score = rng.integers(0, rng.integers(3, 9), shape) / 8
    return (rng.random(shape) < rng.choice([0.2, 0.5])).astype(np.uint8), y_score


def drawn(n: int = 300, m: int = 12) -> tuple[Any, Any]:
    """Rows and labels of many base rates."""
    rng = np.random.default_rng(0)
    y_true = rng.random((n, m)) < np.geomspace(0.5, 0.02, m)
    return y_true, (rng.normal(size=(n, m)) + 1.5 * y_true).astype(np.float32)


# The twin


@pytest.mark.each_value(seed=20)
@pytest.mark.parametrize("average", AVERAGES)
@pytest.mark.parametrize("seed", range(150))
def test_the_best_of_all_choices_is_found(average: str, seed: int) -> None:
    """Not supported by hulls in many of these cases; the bound is above the optimum, and F of ours is the optimum."""
    y_true, y_score = tiny(seed)
    rng = np.random.default_rng(seed)
    most = int(rng.integers(1, 2 + y_true.size // 3))
    beta, zero_division = float(rng.choice([0.5, 1.0, 2.0])), int(rng.integers(2))
    rule = fit_empirical(y_true, y_score, average, beta=beta, zero_division=float(zero_division), max_predicted=most)
    best = best_f_within(y_true, y_score, most, average, beta, zero_division)
    assert rule.budget.is_optimal
    assert rule.objective == pytest.approx(float(best), abs=1e-12)
    assert rule.budget.bound >= float(best) - 1e-12
    assert rule.predict(y_score, dense=True).sum() == rule.budget.predicted <= most


@pytest.mark.each_pair(seed=4)
@pytest.mark.parametrize("average", AVERAGES)
@pytest.mark.parametrize("seed", range(12))
def test_predictions_weigh_as_rows_do(average: str, seed: int) -> None:
    y_true, y_score = tiny(seed)
    weights = np.random.default_rng(seed).integers(0, 5, len(y_true)) / 4
    weights[0] = 0.75
    most = float(weights.sum() * 0.8)
    rule = fit_empirical(y_true, y_score, average, sample_weight=weights, max_predicted=most)
    best = best_f_within(y_true, y_score, Fraction(most), average, weights=weights)
    assert rule.objective == pytest.approx(float(best), abs=1e-12)
    assert (rule.predict(y_score).sum(axis=1) * weights).sum() == rule.budget.predicted <= most


@pytest.mark.each_pair(seed=4)
@pytest.mark.parametrize("average", [*AVERAGES, "samples"])
@pytest.mark.parametrize("seed", range(12))
def test_a_shared_cut_keeps_a_budget(average: str, seed: int) -> None:
    y_true, y_score = tiny(seed)
    most = 1 + seed % y_true.size
    rule = fit_empirical(y_true, y_score, average, per_label=False, max_predicted=most)
    best = best_shared_f_within(y_true, y_score, most, average)
    assert rule.objective == pytest.approx(float(best), abs=1e-12)
    assert rule.budget.predicted == rule.predict(y_score).sum() <= most
    assert (rule.budget.bound, rule.budget.is_optimal) == (rule.objective, True)


@pytest.mark.parametrize("average", [*AVERAGES, "samples"])
def test_a_shared_cut_keeps_a_budget_of_weights(average: str) -> None:
    """The row that is true weighs 3, more than may be predicted: so nothing is."""
    rows: Any = ([[0], [1]], [[0.1], [0.9]])
    rule = fit_empirical(*rows, average, per_label=False, sample_weight=[1, 3], max_predicted=2)
    assert rule.predict(rows[1]).sum() == 0
    assert (rule.budget.predicted, rule.budget.objective, rule.budget.bound) == (0, 0, 0)


def test_a_budget_is_refused_that_contradicts_itself() -> None:
    claims: Any = {"max_predicted": 2.0, "predicted": 2.0, "objective": 0.75, "bound": 0.75, "is_optimal": True}
    Budget(**claims)
    with pytest.raises(InputError, match=r"predicted of the budget is 3.0, expected 0 to 2, its max_predicted"):
        Budget(**{**claims, "predicted": 3.0})
    with pytest.raises(InputError, match=r"bound of the budget is 0.7, expected at least 0.75, its objective"):
        Budget(**{**claims, "bound": 0.7})


def test_supported_choices_alone_would_miss_the_optimum() -> None:
    """Two predictions buy less for each than three do, and only two may be made."""
    choices = Choices(np.array([0, 3]), np.array([0, 2, 3]), np.array([0.0, 0.2, 0.6]))
    found = best_within(choices, 2)
    assert (found.value, found.is_optimal) == (0.2, True)
    assert found.bound == pytest.approx(0.4)


def test_choices_that_rounding_tells_apart_keep_the_budget() -> None:
    """At the price of the least bound, 1/6, the second label's two choices are worth the same but for rounding."""
    predicted, value = np.array([0, 2, 5, 10, 12, 15, 0, 1, 7]), np.array([0.0, 2, 5, 6, 8, 11, 0, 1, 2])
    found = best_within(Choices(np.array([0, 6, 9]), predicted, value), 19, unit=1.0)
    assert (predicted[found.chosen].sum(), found.value, found.is_optimal) == (16, 12.0, True)
    assert found.bound == pytest.approx(12.5)


def test_a_search_that_is_cut_short_claims_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(1)
    n_labels, n_steps = 40, 12
    starts = np.arange(n_labels + 1) * n_steps
    predicted = np.sort(rng.integers(1, 300, (n_labels, n_steps)), axis=1)
    value = np.sort(rng.random((n_labels, n_steps)), axis=1)
    predicted[:, 0] = value[:, 0] = 0
    choices = Choices(starts, predicted.ravel(), value.ravel())
    whole = best_within(choices, 2000)
    assert whole.is_optimal
    monkeypatch.setattr(search, "_MOST_TOTALS", 2)
    cut_short = best_within(choices, 2000)
    assert not cut_short.is_optimal
    assert choices.predicted[cut_short.chosen].sum() <= 2000
    assert cut_short.value <= whole.value <= cut_short.bound == whole.bound


# What it does to a fit


@pytest.mark.parametrize("average", AVERAGES)
def test_a_budget_that_does_not_bind_changes_nothing(average: str) -> None:
    y_true, y_score = drawn()
    plain = fit_empirical(y_true, y_score, average)
    n_predicted = plain.predict(y_score).sum()
    rule = fit_empirical(y_true, y_score, average, max_predicted=n_predicted)
    assert np.array_equal(rule.thresholds, plain.thresholds)
    assert rule.budget.bound == rule.objective == plain.objective
    assert rule.budget.predicted == n_predicted


@pytest.mark.parametrize("average", AVERAGES)
def test_more_budget_is_never_worse(average: str) -> None:
    y_true, y_score = drawn()
    found = [fit_empirical(y_true, y_score, average, max_predicted=most).objective for most in (1, 10, 100, 500)]
    assert found == sorted(found)


@pytest.mark.parametrize("average", AVERAGES)
def test_the_objective_is_what_is_reached(average: str) -> None:
    y_true, y_score = drawn()
    rule = fit_empirical(y_true, y_score, average, max_predicted=200, placement="mid")
    reached = thresholds.metrics.f1_score(y_true, rule.predict(y_score), average=average, zero_division=0.0)
    assert rule.objective == rule.budget.objective == reached


def test_sparse_scores_give_what_dense_ones_give() -> None:
    y_true, y_score = drawn()
    shown = np.where(y_score > 0.5, y_score, 0)
    dense = fit_empirical(y_true, shown, max_predicted=100)
    given = fit_empirical(sparse.csr_array(y_true), sparse.csr_array(shown), max_predicted=100)
    assert np.array_equal(dense.thresholds, given.thresholds)


@pytest.mark.parametrize("budget", [0.5, 1e-300])
def test_nothing_is_predicted_where_nothing_may_be(budget: float) -> None:
    for average in AVERAGES:
        rule = fit_empirical(*drawn(), average, max_predicted=budget)
        assert np.isposinf(rule.thresholds).all()
        assert (rule.objective, rule.budget.is_optimal) == (0.0, True)


def test_no_positives_and_a_budget() -> None:
    y_true, y_score = drawn()
    for average in AVERAGES:
        assert fit_empirical(0 * y_true, y_score, average, max_predicted=3).budget.is_optimal


def test_the_automatic_guard_stands_back() -> None:
    rule = thresholds.cross_fit(*drawn(), max_predicted=150, cv=2).rule
    assert rule.guard is None
    assert rule.budget.predicted <= 150


def test_folds_share_in_the_budget_by_their_rows() -> None:
    """Each of two folds is fitted on half of the rows, with half of the budget."""
    y_true, y_score = drawn()
    folds = np.arange(len(y_true)) % 2
    found = thresholds.cross_fit(y_true, y_score, max_predicted=150, cv=folds)
    half = fit_empirical(y_true[folds == 1], y_score[folds == 1], max_predicted=75)
    assert np.array_equal(found.fold_thresholds[0], half.thresholds)


def test_it_is_kept_with_the_rule_and_not_with_other_thresholds(tmp_path: Any) -> None:
    rule = fit_empirical(*drawn(), max_predicted=100)
    rule.save(tmp_path / "rule.json")
    assert thresholds.load_rule(tmp_path / "rule.json").budget == rule.budget
    assert rule.reordered(np.arange(12)[::-1]).budget == rule.budget
    assert rule.replace({5: -1.0}).budget is None
    assert "budget of 100 predictions on the rows of the fit" in str(rule)
    assert rule.made_by.options["max_predicted"] == 100


def test_a_label_is_not_updated_out_of_its_budget() -> None:
    y_true, y_score = drawn()
    with pytest.raises(InputError, match="fitted with max_predicted"):
        thresholds.update_rule(fit_empirical(y_true, y_score, max_predicted=100), y_true, y_score)


@pytest.mark.parametrize("options", [{}, {"average": "micro"}, {"average": "macro", "per_label": False}])
def test_cells_of_unknown_truth_take_nothing_of_a_budget(options: Any) -> None:
    """Where a label's truth is known on some rows alone, these are its rows: as if masked on the others."""
    y_true, y_score = drawn(120, 4)
    is_unknown = np.random.default_rng(3).random(y_true.shape) < 0.3
    rule = fit_empirical(np.where(is_unknown, np.nan, y_true), y_score, unknown="nan", max_predicted=40, **options)
    decided = rule.predict(y_score) & ~is_unknown
    assert decided.sum() == rule.budget.predicted <= 40
    masked = np.where(is_unknown, -np.inf, y_score)
    without = fit_empirical(np.where(is_unknown, 0, y_true), masked, max_predicted=40, **options)
    assert rule.objective == pytest.approx(without.objective, abs=1e-12)
    assert "budget of 40 predictions on known cells of the fit, others not counted, " in flat(str(rule))
    assert "budget of 40 predictions on the rows of the fit, " in flat(str(without))


def test_a_cap_is_learnt_from_cells_of_known_truth() -> None:
    y_true, y_score = drawn(120, 4)
    is_unknown = np.random.default_rng(3).random(y_true.shape) < 0.3
    rule = fit_empirical(np.where(is_unknown, np.nan, y_true), y_score, unknown="nan", max_predicted_per_row=1)
    decided = rule.predict(y_score) & ~is_unknown
    known = [~is_unknown[:, j] for j in range(4)]
    f = [thresholds.metrics.f1_score(y_true[k, j], decided[k, j], zero_division=0.0) for j, k in enumerate(known)]
    assert rule.objective == pytest.approx(np.mean(f), abs=1e-12)
