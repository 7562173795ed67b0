"""The guard "pool" against its twin, and what it is for: micro F on other rows."""

import numpy as np
import pytest
from numpy.random import Generator
from numpy.typing import NDArray
from scipy import sparse

import thresholds
from tests.cases import small_cases
from tests.guards.test_guards import PROBLEMS, SPARSE, Problem, check_claim, check_same, large
from tests.naive import exhaustive as naive
from tests.naive import guards as twin
from thresholds import InputError, fit_empirical
from thresholds.metrics import f1_score

Array = NDArray[np.generic]


def pooled(problem: Problem, **options: object) -> thresholds.ThresholdRule:
    """The rule of the guard."""
    given = {"guard": "pool"} | problem.options | options
    return fit_empirical(problem.y_true, problem.y_score, "micro", **given)


def check_twin(problem: Problem, rule: thresholds.ThresholdRule, **options: object) -> None:
    """The rule is that of the twin; where there is nothing to cut at, that of the joint optimum.

    The library keeps counts as float32, so that weights differ by 6e-8.
    """
    expected = twin.pool(problem.y_true, problem.y_score, **problem.options, **options)
    if expected is None:
        expected = rule.guard_report.unguarded.tolist()
    scores = problem.y_score.astype(np.float64)
    np.testing.assert_array_equal(scores >= rule.thresholds, scores >= expected, problem.name)
    rounding = np.finfo(rule_dtype(problem)).eps
    largest = np.abs(scores[np.isfinite(scores)]).max(initial=0)
    np.testing.assert_allclose(rule.thresholds, expected, rtol=1e-5 + rounding, atol=1e-5 * largest)
    check_claim(problem, rule, "micro")


def rule_dtype(problem: Problem) -> np.dtype[np.floating]:
    """The dtype whose numbers the thresholds are."""
    return naive.threshold_dtype(problem.y_score.dtype)


# Library and twin


def test_guard_equals_its_twin() -> None:
    for problem in [problem for problem in PROBLEMS if problem.y_true.sum() < 100][::12]:
        rule = pooled(problem)
        check_twin(problem, rule)
        assert rule.guard == "pool"
        dtype = rule_dtype(problem)
        np.testing.assert_array_equal(rule.thresholds, rule.thresholds.astype(dtype), "representable")


def test_guard_equals_its_twin_on_cases_that_look_for_trouble() -> None:
    for case in small_cases(24, seed=20242):
        problem = Problem(case.name, case.y_true, case.y_score, case.sample_weight, case.beta)
        check_twin(problem, pooled(problem, zero_division=case.zero_division))


@pytest.mark.parametrize("missing", [0.0, -1.0, 0.5, -np.inf])
def test_sparse_scores_are_dense_ones_at_missing(missing: float) -> None:
    rng = np.random.default_rng(8)
    for given in SPARSE:
        if given.y_score.dtype.kind != "f":
            continue
        scores = np.where(rng.random(given.y_score.shape) < 0.5, given.y_score.dtype.type(missing), given.y_score)
        problem = Problem(given.name, given.y_true, scores, given.sample_weight, given.beta, missing)
        dense = pooled(problem)
        options = problem.options | {"guard": "pool", "keep_sparse": False}
        rule = fit_empirical(sparse.csr_array(given.y_true), problem.sparse(), "micro", **options)
        check_same(rule, dense)
        check_claim(problem, dense, "micro")


def test_kept_sparse() -> None:
    rng = np.random.default_rng(9)
    for given in SPARSE[::8]:
        if given.y_score.dtype.kind != "f":
            continue
        scores = np.where(rng.random(given.y_score.shape) < 0.5, given.y_score.dtype.type(0), given.y_score)
        problem = Problem(given.name, given.y_true, scores, given.sample_weight, given.beta)
        rule = fit_empirical(
            problem.y_true, problem.sparse(), "micro", guard="pool", keep_sparse=True, **problem.options
        )
        assert (rule.thresholds > 0).all()
        check_twin(problem, rule, keep_sparse=True)


def test_of_many_positives_some_are_tried() -> None:
    rng = np.random.default_rng(3)
    truth = (rng.random((700, 2)) < [0.6, 0.9]).astype(np.uint8)
    assert truth.sum() > twin.MOST_POSITIVES
    scores = np.round(rng.normal(size=truth.shape) + truth, 2)
    problem = Problem("many", truth, scores)
    check_twin(problem, pooled(problem))


# What must not matter


@pytest.mark.parametrize("weighted", [False, True])
def test_threads_and_sparsity_do_not_matter(weighted: bool) -> None:
    problem = large(shape=(1000, 600))
    weights = np.random.default_rng(1).exponential(size=1000) if weighted else None
    expected = pooled(problem, n_jobs=1, sample_weight=weights)
    for n_jobs in (3, -1):
        check_same(pooled(problem, n_jobs=n_jobs, sample_weight=weights), expected)
    given = {"guard": "pool", "sample_weight": weights, "keep_sparse": False}
    check_same(fit_empirical(problem.y_true, problem.sparse(), "micro", **given), expected)


def test_order_of_rows_does_not_matter() -> None:
    rng = np.random.default_rng(2)
    for problem in [large(shape=(800, 30)), *PROBLEMS[1::9]]:
        order = rng.permutation(len(problem.y_true))
        weights = None if problem.sample_weight is None else problem.sample_weight[order]
        got = Problem("", problem.y_true[order], problem.y_score[order], weights, problem.beta)
        check_same(pooled(got), pooled(problem))


def test_whole_weights_are_repeated_rows() -> None:
    rng = np.random.default_rng(4)
    for problem in [large(shape=(800, 30)), *PROBLEMS[::9]]:
        times = rng.integers(0, 4, len(problem.y_true))
        times[0] += 1
        repeated = np.repeat(problem.y_true, times, axis=0), np.repeat(problem.y_score, times, axis=0)
        got = pooled(problem, sample_weight=times)
        check_same(got, fit_empirical(*repeated, "micro", guard="pool", beta=problem.beta))


def test_real_weights_have_no_scale() -> None:
    problem = large(shape=(800, 30))
    check_same(pooled(problem, sample_weight=np.full(800, 0.3)), pooled(problem))
    weights = np.random.default_rng(6).exponential(size=800)
    check_same(pooled(problem, sample_weight=weights * 2.0**-40), pooled(problem, sample_weight=weights))


@pytest.mark.parametrize(("factor", "shift"), [(4.0, 0.0), (3.0, 5.0), (0.1, -7.0)])
def test_rising_lines_move_thresholds_with_them(factor: float, shift: float) -> None:
    rng = np.random.default_rng(10)
    truth = rng.random((400, 12)) < 0.1
    scores = 3 * rng.normal(size=truth.shape) + 4 * truth
    got = pooled(Problem("", truth, factor * scores + shift))
    expected = pooled(Problem("", truth, scores))
    np.testing.assert_allclose(got.thresholds, factor * expected.thresholds + shift, rtol=1e-9)


# What it is for


def drawn(rng: Generator, n_rows: int, quality: Array, shift: Array, rate: Array) -> tuple[Array, Array]:
    """Truth and log odds whose quality and level differ by label."""
    truth = rng.random((n_rows, quality.size)) < rate
    scores = quality * (rng.normal(size=truth.shape) + quality * truth - quality / 2) + np.log(rate / (1 - rate))
    return truth, scores + shift


def on_other_rows(n_rows: int, spread: float, level: float) -> dict[str, tuple[float, float]]:
    """Micro F1 claimed, and reached on other rows, of the joint optimum, one threshold for all, and the guard."""
    rng = np.random.default_rng([n_rows, int(10 * spread), int(10 * level)])
    quality = rng.uniform(0.5, 3, 60)
    shift = spread * rng.normal(size=60)
    rate = np.geomspace(0.005, 0.2, 60)
    truth, scores = drawn(rng, n_rows, quality, shift, rate)
    others, other_scores = drawn(rng, 20_000, quality, shift, rate)
    reached = {}
    for name, options in {"joint": {}, "shared": {"per_label": False}, "pool": {"guard": "pool"}}.items():
        rule = fit_empirical(truth, scores, "micro", **options)
        decided = rule.predict(other_scores)
        reached[name] = (rule.objective, f1_score(others, decided, average="micro", zero_division=0))
    return reached


@pytest.mark.parametrize("n_rows", [100, 300, 1000])
def test_scores_that_mean_the_same_share_what_they_know(n_rows: int) -> None:
    found = on_other_rows(n_rows, spread=0, level=0)
    claimed, reached = found["pool"]
    assert reached > found["shared"][1] - 0.005
    assert reached > found["joint"][1] + 0.005
    assert claimed - reached < 0.5 * (found["joint"][0] - found["joint"][1])


@pytest.mark.parametrize("n_rows", [300, 1000])
def test_scores_that_cannot_be_compared_are_left_to_their_labels(n_rows: int) -> None:
    found = on_other_rows(n_rows, spread=10, level=0)
    assert found["joint"][1] > found["shared"][1] + 0.1
    assert found["pool"][1] > found["joint"][1] - 0.005


def test_with_many_rows_labels_that_differ_keep_their_own_thresholds() -> None:
    found = on_other_rows(10_000, spread=1, level=0)
    assert found["joint"][1] > found["shared"][1] + 0.02
    assert found["pool"][1] > found["joint"][1] - 0.002


# Who may ask for it


@pytest.mark.parametrize(("average", "per_label"), [("macro", True), ("weighted", True), ("micro", False)])
def test_it_is_for_micro_alone(average: str, per_label: bool) -> None:
    with pytest.raises(InputError, match="pool is for micro with a threshold for each label"):
        fit_empirical([[1], [0]], [[0.5], [0.4]], average, per_label=per_label, guard="pool")


def test_the_report_holds_it_against_the_joint_optimum() -> None:
    problem = large(shape=(300, 30))
    report = pooled(problem).guard_report
    joint = fit_empirical(problem.y_true, problem.y_score, "micro")
    np.testing.assert_array_equal(report.unguarded, joint.thresholds)
    assert set(report.reason) <= {"", "pooled", "no positives"}
    assert report.n_fell_back == 0
    assert "guard pool: moved" in str(report)


def test_without_positives_nothing_is_moved() -> None:
    scores = np.random.default_rng(0).random((20, 3))
    rule = fit_empirical(np.zeros((20, 3), int), scores, "micro", guard="pool")
    assert (rule.thresholds == np.inf).all()
    assert not rule.guard_report.moved.any()
