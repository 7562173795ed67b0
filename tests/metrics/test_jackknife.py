"""Differences of two rules: each row, or group, is left out once, and the interval holds what other samples show."""

from collections.abc import Mapping

import numpy as np
import pytest
from scipy import sparse

from tests.naive import jackknife as naive
from thresholds import FixedRule, ThresholdRule
from thresholds._engine.problem import Problem
from thresholds.metrics import fbeta_score
from thresholds.metrics.jackknife import (
    Interval,
    behind,
    difference_of,
    interval_of,
    standard_error_of,
)
from thresholds.metrics.judging import decide_all
from thresholds.metrics.leaving_out import AVERAGES, LeftOut, leave_out_of

N = 24
RATES = [0.5, 0.3, 0.1, 0.04, 0.0]
RULE = ThresholdRule([0.5, 0.7, 0.3, 0.95, 0.99])


def behind_best(rules: Mapping[str, LeftOut], average: str, confidence: float) -> dict[str, tuple[Interval, bool]]:
    """How far each rule is behind the best of them."""
    best = max(rules.values(), key=lambda rule: rule.on_all[average])
    return {name: behind(best, rule, average, confidence, len(rules)) for name, rule in rules.items()}


def drawn(seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    return (rng.random((N, 5)) < RATES).astype(np.uint8), np.round(rng.random((N, 5)), 2)


def left_out(rule: ThresholdRule, problem: Problem, groups: np.ndarray | None = None, beta: float = 1.0) -> LeftOut:
    return leave_out_of(decide_all(rule, problem), problem, beta, groups)


@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("weights", [None, np.random.default_rng(1).integers(0, 3, N)])
@pytest.mark.parametrize("groups", [None, np.random.default_rng(2).permutation(np.arange(N) % 7)])
@pytest.mark.parametrize("beta", [1, 2])
def test_averages_without_each_unit_equal_the_twin(
    kind: type, weights: np.ndarray | None, groups: np.ndarray | None, beta: int
) -> None:
    truth, scores = drawn()
    found = left_out(RULE, Problem.of(kind(truth), kind(scores), sample_weight=weights), groups, beta)
    predicted = (scores >= RULE.thresholds).astype(int)
    units = np.arange(N) if groups is None else groups
    row_weights = np.ones(N, int) if weights is None else weights
    cells = truth.tolist(), predicted.tolist(), row_weights.tolist()
    on_all = naive.averages(*cells, beta)
    present = [unit for unit in np.unique(units) if row_weights[units == unit].any()]
    expected = [naive.without(set(np.flatnonzero(units == unit).tolist()), *cells, beta) for unit in present]
    for average in AVERAGES:
        assert found.on_all[average] == pytest.approx(float(on_all[average]), abs=1e-14)
        without = np.array([float(row[average]) for row in expected])
        np.testing.assert_allclose(found.changes[average], without - without.mean(), atol=1e-14)


def test_labels_and_rows_without_anything_count_as_zero_division() -> None:
    truth, scores = drawn(1)
    problem = Problem.of(truth, scores)
    rule = ThresholdRule([0.9, 0.9, 0.9, 0.95, np.inf])
    found = leave_out_of(decide_all(rule, problem), problem, 1, None, 1.0)
    cells = truth.tolist(), rule.predict(scores).tolist(), [1] * N
    for average, value in found.on_all.items():
        assert value == pytest.approx(float(naive.averages(*cells, 1, 1)[average]), abs=1e-14)
        without = [float(naive.without({row}, *cells, 1, 1)[average]) for row in range(N)]
        np.testing.assert_allclose(found.changes[average], without - np.mean(without), atol=1e-14)
    assert found.on_all["macro"] > left_out(rule, problem).on_all["macro"]


@pytest.mark.parametrize("groups", [None, np.arange(4) // 2])
@pytest.mark.parametrize("n_positives", [0, 1])
@pytest.mark.parametrize("cut", [0.5, 2.0])
def test_averages_of_nothing_are_those_of_the_metrics(groups: np.ndarray | None, n_positives: int, cut: float) -> None:
    # Where nothing is positive, or predicted, on all rows or without one of them.
    truth, scores = np.zeros((4, 3), int), np.zeros((4, 3))
    truth[0, :n_positives] = 1
    scores[:2, 0] = 1.0
    rule = FixedRule(cut, 3)
    problem = Problem.of(truth, scores)
    found = leave_out_of(decide_all(rule, problem), problem, 1.0, groups, 1.0)
    cells = truth.tolist(), rule.predict(scores).tolist(), [1] * 4
    units = np.arange(4) if groups is None else groups
    for average, value in found.on_all.items():
        assert value == float(naive.averages(*cells, 1, 1)[average])
        if average in ("micro", "weighted"):
            assert value == fbeta_score(truth, rule.predict(scores), beta=1, average=average, zero_division=1)
        rest = [naive.without(set(np.flatnonzero(units == unit).tolist()), *cells, 1, 1) for unit in np.unique(units)]
        without = np.array([float(row[average]) for row in rest])
        np.testing.assert_allclose(found.changes[average], without - without.mean(), atol=1e-14)


@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("groups", [None, np.random.default_rng(2).integers(0, 5, N)])
def test_decisions_may_be_dense_or_sparse(kind: type, groups: np.ndarray | None) -> None:
    truth, scores = drawn()
    problem = Problem.of(kind(truth), scores)
    found = left_out(RULE, problem, groups)
    dense = leave_out_of(RULE.predict(scores), problem, 1.0, groups)
    assert dense.on_all == found.on_all
    for average in AVERAGES:
        np.testing.assert_array_equal(dense.changes[average], found.changes[average])


@pytest.mark.parametrize("weights", [None, np.random.default_rng(1).integers(1, 3, N)])
@pytest.mark.parametrize("groups", [None, np.arange(N) // 2])
def test_rows_without_a_known_cell_are_left_aside(weights: np.ndarray | None, groups: np.ndarray | None) -> None:
    truth, scores = drawn()
    unknown = np.random.default_rng(3).random(truth.shape) < 0.2
    is_known = np.arange(N) % 5 > 0
    unknown[~is_known] = True
    truth = np.where(unknown, -1, truth.astype(int))
    problem = Problem.of(truth, scores, sample_weight=weights, unknown=-1)
    found = left_out(RULE, problem, groups)
    rest = problem.at_rows(np.flatnonzero(is_known))
    expected = left_out(RULE, rest, None if groups is None else groups[is_known])
    assert found.on_all == pytest.approx(expected.on_all)
    for average in AVERAGES:
        np.testing.assert_allclose(found.changes[average], expected.changes[average], atol=1e-14)


def test_what_rounding_leaves_of_weights_is_no_positive() -> None:
    # All positives are in one group; .1 + .2 + .3 is not what these add up to in another order.
    truth = [[1], [1], [1], [0]]
    problem = Problem.of(truth, [[1.0]] * 3 + [[0.0]], sample_weight=[0.1, 0.2, 0.3, 0.4])
    for order in ([0, 1, 2, 3], [2, 1, 0, 3], [1, 2, 0, 3]):
        some = problem.at_rows(np.array(order))
        found = leave_out_of(some.truth, some, 1.0, np.array([0, 0, 0, 1]))
        np.testing.assert_allclose(found.changes["macro"], [-0.5, 0.5], atol=1e-12)


def test_the_standard_error_is_that_of_the_interval() -> None:
    truth, scores = drawn()
    problem = Problem.of(truth, scores)
    rules = [left_out(rule, problem) for rule in (RULE, FixedRule(0.5, 5))]
    found = difference_of(*rules, "macro", 0.9)
    error = standard_error_of(*rules, "macro")
    assert found.value - error.times(0.95) == pytest.approx(found.lower)
    assert 1 < error.times(0.95) / error.value < 7  # Student's t


def test_blocks_of_rows_and_whole_groups_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    truth, scores = drawn()
    groups = np.random.default_rng(2).integers(0, 5, N)
    problem = Problem.of(truth, scores)
    whole = left_out(RULE, problem, groups)
    monkeypatch.setattr("thresholds._arrays.blocks._BLOCK_ROWS", 3)
    pieces = left_out(RULE, problem, groups)
    for average in AVERAGES:
        np.testing.assert_allclose(pieces.changes[average], whole.changes[average], atol=1e-14)


def test_samples_f_has_the_interval_of_a_mean_of_paired_differences() -> None:
    # Its jackknife is the standard error of a mean; two rows more, and degrees of freedom, make it somewhat wider.
    rng = np.random.default_rng(3)
    truth = rng.random((3000, 6)) < 0.3
    scores = rng.normal(size=truth.shape) + truth
    rules = [ThresholdRule(np.full(6, cut)) for cut in (0.3, 0.8)]
    found = difference_of(*(left_out(rule, Problem.of(truth, scores)) for rule in rules), "samples", 0.95)
    f = []
    for rule in rules:
        predicted = rule.predict(scores)
        f.append(2 * (truth & predicted).sum(axis=1) / np.maximum(truth.sum(axis=1) + predicted.sum(axis=1), 1))
    each = f[0] - f[1]
    half = 1.96 * each.std(ddof=1) / np.sqrt(each.size)
    assert found.value == pytest.approx(each.mean())
    assert (found.upper - found.lower) / 2 == pytest.approx(half, rel=0.01)
    assert (found.upper + found.lower) / 2 == pytest.approx(found.value)


def test_rules_that_decide_alike_may_differ_on_other_rows() -> None:
    truth, scores = drawn()
    problem = Problem.of(truth, scores)
    same = difference_of(left_out(RULE, problem), left_out(RULE, problem), "macro", 0.95)
    assert same.value == 0
    assert same.lower < 0 < same.upper
    wider = difference_of(left_out(RULE, problem), left_out(RULE, problem), "macro", 0.99)
    assert wider.upper > same.upper


@pytest.mark.parametrize("average", AVERAGES)
def test_few_rows_do_not_tell_what_is_all_right_from_what_is_all_wrong(average: str) -> None:
    # No row changes an F of 1 or of 0, but two rows are two rows.
    for n, is_shown in ((2, False), (30, True)):
        problem = Problem.of(np.ones((n, 2), int), np.full((n, 2), 0.5))
        all_right, all_wrong = (left_out(FixedRule(cut, 2), problem) for cut in (0.4, 0.6))
        found = difference_of(all_right, all_wrong, average, 0.95)
        assert found.value == found.upper == 1
        assert found.lower < 1
        assert (found.lower > 0) == is_shown
        same = difference_of(all_wrong, all_wrong, average, 0.95)
        assert -1 <= same.lower < 0 < same.upper <= 1


# The level of one rule


def test_the_interval_of_a_mean_over_rows_is_that_of_a_mean() -> None:
    rng = np.random.default_rng(3)
    truth = rng.random((3000, 6)) < 0.3
    scores = rng.normal(size=truth.shape) + truth
    found = interval_of(left_out(FixedRule(0.5, 6), Problem.of(truth, scores)), "samples", 0.95)
    predicted = scores >= 0.5
    f = 2 * (truth & predicted).sum(axis=1) / np.maximum(truth.sum(axis=1) + predicted.sum(axis=1), 1)
    half = 1.96 * f.std(ddof=1) / np.sqrt(f.size)
    assert found.value == pytest.approx(f.mean())
    assert found.upper - found.value == pytest.approx(half, rel=0.01)
    assert found.value - found.lower == pytest.approx(half, rel=0.01)


@pytest.mark.parametrize("average", AVERAGES)
@pytest.mark.parametrize("is_right", [True, False])
def test_a_rule_without_a_mistake_or_without_a_hit_may_have_some_on_other_rows(average: str, is_right: bool) -> None:
    # 40 rows have something; 960 say nothing of micro and macro. Exact bounds of 40 of 40 rows: .912 to 1.
    rng = np.random.default_rng(5)
    truth = np.zeros((1000, 3), np.uint8)
    truth[:40, :] = rng.random((40, 3)) < 0.5
    truth[:40, 0] = 1
    problem = Problem.of(truth, truth if is_right else 1 - truth.astype(float))
    if average == "samples":
        problem = problem.at_rows(np.arange(40))
    found = interval_of(left_out(FixedRule(0.5, 3), problem), average, 0.95)
    n = 40 if is_right or average == "samples" else 1000
    if is_right:
        assert found.value == found.upper == 1
        assert 1 - found.lower == pytest.approx(4.3 / n, rel=0.05)
    else:
        assert found.value == found.lower == 0
        assert found.upper == pytest.approx(4.3 / n, rel=0.05)


def test_no_interval_leaves_0_to_1() -> None:
    problem = Problem.of([[1], [1], [1], [0]], [[0.9], [0.9], [0.1], [0.2]])
    found = interval_of(left_out(FixedRule(0.5, 1), problem), "micro", 0.999)
    assert found == (0.8, 0, 1)


# The best of many


def of_one_average(**rules: tuple[float, list[float]]) -> dict[str, LeftOut]:
    return {
        name: LeftOut({"macro": f}, {"macro": np.array(changes)}, len(changes)) for name, (f, changes) in rules.items()
    }


def test_how_far_a_rule_is_behind_agrees_with_whether_it_can_be_told_apart() -> None:
    rng = np.random.default_rng(6)
    changes = rng.normal(size=(3, 50)) * 0.002
    changes -= changes.mean(axis=1, keepdims=True)
    rules = of_one_average(far=(0.4, changes[0]), best=(0.6, changes[1]), near=(0.59, changes[2]))
    found = behind_best(rules, "macro", 0.95)
    assert list(found) == ["far", "best", "near"]
    assert found["best"] == (Interval(0, 0, 0), True)
    for name, (interval, is_tied) in found.items():
        assert interval.value == rules["best"].on_all["macro"] - rules[name].on_all["macro"]
        assert is_tied == (interval.lower <= 0)
    assert not found["far"][1]
    assert found["near"][1]
    # Of three rules each is compared at half of the risk.
    assert found["near"][0] == difference_of(rules["best"], rules["near"], "macro", 0.975)


def test_of_two_rules_the_interval_is_that_of_their_difference() -> None:
    truth, scores = drawn()
    problem = Problem.of(truth, scores)
    rules = {"worse": left_out(FixedRule(0.95, 5), problem), "better": left_out(FixedRule(0.1, 5), problem)}
    assert rules["better"].on_all["micro"] > rules["worse"].on_all["micro"]
    distance, _ = behind_best(rules, "micro", 0.9)["worse"]
    assert distance == difference_of(rules["better"], rules["worse"], "micro", 0.9)


def test_one_rule_alone_is_the_best() -> None:
    rules = of_one_average(only=(0.4, [0.1, -0.1]))
    assert behind_best(rules, "macro", 0.95) == {"only": (Interval(0, 0, 0), True)}


def test_one_row_tells_nothing_of_others() -> None:
    problem = Problem.of([[1, 0]], [[0.9, 0.2]])
    rules = FixedRule(0.5, 2), FixedRule(0.95, 2)
    both = {name: left_out(rule, problem) for name, rule in zip("ab", rules, strict=True)}
    distance, is_tied = behind_best(both, "micro", 0.95)["b"]
    assert is_tied
    for found in (difference_of(both["a"], both["b"], "micro", 0.95), interval_of(both["a"], "micro", 0.95), distance):
        assert found.value == 1
        assert np.isnan(found.lower)
        assert np.isnan(found.upper)


@pytest.mark.parametrize("average", AVERAGES)
def test_intervals_hold_for_labels_of_two_positives(average: str) -> None:
    # 100 samples: 95 % intervals hold the mean difference in 90 or more (in 87 or fewer with probability .002).
    rng = np.random.default_rng(4)
    n, rates = 200, np.full(150, 0.01)
    rules = [ThresholdRule(np.full(rates.size, cut)) for cut in (2.5, 2.9)]
    found = []
    for _ in range(100):
        truth = rng.random((n, rates.size)) < rates
        problem = Problem.of(truth, rng.normal(size=truth.shape) + 2 * truth)
        found.append(difference_of(*(left_out(rule, problem) for rule in rules), average, 0.95))
    value, lower, upper = np.array(found).T
    assert np.sum((lower <= value.mean()) & (value.mean() <= upper)) >= 88
    # And they are no wider than need be.
    assert np.mean(upper - lower) / 2 < 1.5 * 1.96 * value.std()
