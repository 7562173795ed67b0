"""Limits of what a label may predict, with and without a guard, against their twin."""

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pytest
from scipy import sparse

import thresholds
from tests.bad_inputs.matrices import S as SMALL_SCORES
from tests.bad_inputs.matrices import Y as SMALL_TRUTH
from tests.cases import Case, small_cases
from tests.naive import exhaustive as naive
from tests.naive import guards as twin
from thresholds import fit_empirical
from thresholds._engine import best_cuts
from thresholds._engine.choosing import CountLimits
from thresholds._engine.histograms import histograms
from thresholds._engine.problem import Problem
from thresholds.guards.limits import Limits, nearest_steps

pytestmark = pytest.mark.each_value

inf = math.inf
NAMES = ("max_overprediction", "min_precision", "min_recall")


@dataclass(frozen=True, eq=False)
class Limited:
    """A fit and its limits."""

    case: Case
    limits: dict[str, float]

    @property
    def options(self) -> dict[str, object]:
        """Everything but the data."""
        case = self.case
        given = {"beta": case.beta, "zero_division": case.zero_division, "sample_weight": case.sample_weight}
        return given | self.limits

    def columns(self) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Truth and scores of each label."""
        yield from zip(self.case.y_true.T, self.case.y_score.T, strict=True)


def all_limited(count: int, seed: int) -> list[Limited]:
    """Small cases, each with one to three limits."""
    found = []
    for i, case in enumerate(small_cases(count, seed)):
        rng = np.random.default_rng([seed, i])
        limits = {
            "max_overprediction": float(rng.choice([0.25, 0.5, 1.0, 1.5, 2.0, 3.0])),
            "min_precision": float(rng.choice([0.0, 0.125, 0.25, 0.5, 0.7, 1.0])),
            "min_recall": float(rng.choice([0.0, 0.25, 0.5, 0.7, 1.0])),
        }
        kept = rng.permutation(NAMES)[: rng.integers(1, 4)]
        found.append(Limited(case, {name: limits[name] for name in NAMES if name in kept}))
    return found


PROBLEMS = all_limited(240, seed=611)
CHUNKS = [PROBLEMS[i::12] for i in range(12)]  # a flavour each


def check_claim(problem: Limited, rule: thresholds.ThresholdRule) -> None:
    """The claimed objective is the metric of the decisions, bit for bit."""
    case = problem.case
    options = {name: problem.options[name] for name in ("beta", "zero_division", "sample_weight")}
    decided = rule.predict(case.y_score)
    assert rule.objective == thresholds.metrics.fbeta_score(case.y_true, decided, average="macro", **options)


def check_cut(problem: Limited, scores: np.ndarray, got: float, expected: float) -> None:
    """The two thresholds decide alike where rows have weight."""
    weights = naive.exact_weights(problem.case.sample_weight, len(scores))
    used = [naive.plain(s) for s, w in zip(scores, weights, strict=True) if w > 0]
    assert [s >= got for s in used] == [s >= expected for s in used], (problem.case.name, problem.limits, got, expected)


@pytest.mark.each_value
@pytest.mark.parametrize("half", range(2))
@pytest.mark.parametrize("chunk", range(len(CHUNKS)))
def test_best_cut_within_limits(chunk: int, half: int) -> None:
    for problem in CHUNKS[chunk][half::2]:
        case, limits = problem.case, twin.Limits(**problem.limits)
        rule = fit_empirical(case.y_true, case.y_score, **problem.options)
        check_claim(problem, rule)
        if case.dyadic_weights and case.beta in (1.0, 0.5, 2.0, 3.0):
            for got, (truth, scores) in zip(rule.thresholds.tolist(), problem.columns(), strict=True):
                expected = twin.limited_cut(truth, scores, limits, beta=case.beta, sample_weight=case.sample_weight)
                check_cut(problem, scores, got, expected)


@pytest.mark.each_value
@pytest.mark.parametrize("half", range(2))
@pytest.mark.parametrize("chunk", range(len(CHUNKS)))
def test_guards_within_limits(chunk: int, half: int) -> None:
    """A guard's cut that keeps the limits stays as it is; else the nearest allowed cut replaces it.

    Where the guard fell back on always, and the allowed cut hits nothing, the label is never predicted.
    """
    for problem in CHUNKS[chunk][half::2]:
        case, limits = problem.case, twin.Limits(**problem.limits)
        rule = fit_empirical(case.y_true, case.y_score, guard="shrink", **problem.options)
        free = fit_empirical(
            case.y_true, case.y_score, guard="shrink", **problem.options | dict.fromkeys(problem.limits)
        )
        check_claim(problem, rule)
        if case.dyadic_weights:
            fell_back = free.guard_report.fell_back.tolist()
            all_of = zip(rule.thresholds.tolist(), free.thresholds.tolist(), fell_back, problem.columns(), strict=True)
            for got, guarded, fell, (truth, scores) in all_of:
                expected = twin.limited_guard(
                    truth, scores, guarded, limits, sample_weight=case.sample_weight, fell_back=fell
                )
                check_cut(problem, scores, got, expected)
                if expected == guarded:
                    assert got == guarded, "a cut that keeps the limits stays to the last bit"


@pytest.mark.parametrize("guard", [None, "shrink"])
def test_whatever_is_predicted_keeps_the_limits(guard: str | None) -> None:
    rng = np.random.default_rng(3)
    truth = (rng.random((600, 40)) < np.geomspace(0.003, 0.5, 40)).astype(np.uint8)
    scores = (rng.standard_normal(truth.shape) + truth * np.linspace(0, 3, 40)).astype(np.float32)
    positives = truth.sum(axis=0)
    for limits in ({"max_overprediction": 1.5}, {"min_precision": 0.3}, {"min_precision": 0.2, "min_recall": 0.4}):
        rule = fit_empirical(truth, scores, guard=guard, **limits)
        decided = rule.predict(scores)
        predicted, tp = decided.sum(axis=0), (truth & decided).sum(axis=0)
        some = predicted > 0
        assert some.any()
        assert (predicted <= limits.get("max_overprediction", inf) * positives).all()
        assert (tp[some] >= limits.get("min_precision", 0) * predicted[some]).all()
        assert (tp[some] >= limits.get("min_recall", 0) * positives[some]).all()
        assert np.isposinf(rule.thresholds[~some & (positives > 0)]).any() or some[positives > 0].all()


def test_limits_that_nothing_breaks_change_nothing() -> None:
    wide = {"max_overprediction": 1e9, "min_precision": 0.0, "min_recall": 0.0}
    for problem in PROBLEMS[::11]:
        case = problem.case
        options = problem.options | dict.fromkeys(problem.limits)
        for guard in (None, "shrink"):
            expected = fit_empirical(case.y_true, case.y_score, guard=guard, **options)
            got = fit_empirical(case.y_true, case.y_score, guard=guard, **options | wide)
            np.testing.assert_array_equal(got.thresholds, expected.thresholds)
            assert got.objective == expected.objective


def test_shares_count_as_they_are_written() -> None:
    """55 of 100 are a precision and a recall of .55, though .55 x 100 exceeds 55 in float64; 57 of 100 likewise."""
    truth, scores = np.zeros(100, int), np.full(100, 0.5)
    for n in range(1, 100):
        truth[:n] = 1
        rule = fit_empirical(truth, scores, min_precision=n / 100)
        assert rule.predict(scores).sum() == 100, n
        truth[:] = 0
    truth, scores = np.ones(100, int), np.ones(100)
    for n in range(1, 100):
        scores[n:] = 0
        rule = fit_empirical(truth, scores, min_recall=n / 100, max_overprediction=n / 100)
        assert rule.predict(scores).sum() == n
        scores[:] = 1


def test_limits_hold_in_placed_and_sparse_fits() -> None:
    rng = np.random.default_rng(4)
    truth = (rng.random((200, 12)) < 0.15).astype(np.uint8)
    scores = np.where(rng.random(truth.shape) < 0.5, 0, rng.random(truth.shape) + truth)
    cells = sparse.csr_array(scores)
    for guard in (None, "shrink"):
        options = {"guard": guard, "max_overprediction": 1.25, "min_recall": 0.2}
        expected = fit_empirical(truth, scores, **options)
        for placement in ("low", "mid", "score"):
            rule = fit_empirical(truth, scores, placement=placement, **options)
            np.testing.assert_array_equal(rule.predict(scores), expected.predict(scores))
        for given in (truth, sparse.csr_array(truth)):
            got = fit_empirical(given, cells, keep_sparse=False, **options)
            np.testing.assert_array_equal(got.thresholds, expected.thresholds)
            assert got.objective == expected.objective
        kept = fit_empirical(truth, cells, keep_sparse=True, **options)
        assert (kept.thresholds > 0).all()
        decided = kept.predict(cells).toarray()
        for j in range(12):
            if guard is None:
                cut = twin.limited_cut(truth[:, j], scores[:, j], twin.Limits(1.25, None, 0.2), above=0.0)
                np.testing.assert_array_equal(decided[:, j], scores[:, j] >= cut)


def test_threads_do_not_matter() -> None:
    rng = np.random.default_rng(5)
    truth = (rng.random((2000, 60)) < 0.02).astype(np.uint8)
    scores = rng.random(truth.shape) + 0.5 * truth
    for guard in (None, "shrink"):
        rules = [
            fit_empirical(truth, scores, guard=guard, max_overprediction=1.5, min_precision=0.1, n_jobs=n_jobs)
            for n_jobs in (1, 2, None, -1)
        ]
        for rule in rules[1:]:
            np.testing.assert_array_equal(rule.thresholds, rules[0].thresholds)


def test_the_report_says_what_a_limit_did() -> None:
    rng = np.random.default_rng(6)
    truth = (rng.random((500, 15)) < 0.03).astype(np.uint8)
    scores = rng.random(truth.shape)
    rule = fit_empirical(truth, scores, guard="shrink", min_precision=0.5)
    report = rule.guard_report
    np.testing.assert_array_equal(report.predicted_after, rule.predict(scores).sum(axis=0))
    np.testing.assert_array_equal(report.guarded, rule.thresholds)
    free = fit_empirical(truth, scores, guard="shrink")
    changed = rule.thresholds != free.thresholds
    assert changed.any()
    assert (report.reason[changed] != free.guard_report.reason[changed]).all()
    plain, limited = fit_empirical(truth, scores), fit_empirical(truth, scores, min_precision=0.5)
    assert plain.guard is None
    assert (limited.guard, rule.guard) == ("min_precision=0.5", "shrink, min_precision=0.5")
    assert plain.guard_report is None
    np.testing.assert_array_equal(limited.guard_report.unguarded, plain.thresholds)
    np.testing.assert_array_equal(limited.guard_report.guarded, limited.thresholds)
    np.testing.assert_array_equal(limited.guard_report.moved, plain.thresholds != limited.thresholds)
    assert str(limited.guard_report)


@pytest.mark.parametrize("limit", NAMES)
@pytest.mark.parametrize("guard", [None, "shrink"])
def test_a_rule_says_that_limits_hold_on_the_rows_of_the_fit(limit: str, guard: str | None) -> None:
    truth, scores = np.array([[1, 1, 0, 0, 1, 0, 0, 1, 0]]).T, np.arange(9.0)
    said = "; limits hold on the rows of the fit only"
    assert said in str(fit_empirical(truth, scores, guard=guard, **{limit: 0.5}))
    assert said not in str(fit_empirical(truth, scores, guard=guard))


def test_the_nearest_step_is_nearest_in_ratio() -> None:
    truth = np.repeat([1, 0, 1], [2, 12, 26])[:, np.newaxis]
    scores = -np.arange(40.0)[:, np.newaxis]
    problem = Problem.of(truth, scores)
    limits = Limits(CountLimits.none(1)._replace(least_precision=np.array([0.5])))
    allowed = limits.candidates(problem, histograms(problem, None))  # 2 and 24 to 40
    cuts = nearest_steps(allowed, np.array([7]))  # 24 / 7 < 7 / 2
    assert cuts.predicted.tolist() == [24]


def test_a_limit_that_is_no_binary_fraction_is_reached() -> None:
    truth = np.repeat([0, 1, 0], [150, 100, 250])[:, np.newaxis]
    scores = -np.arange(500.0)[:, np.newaxis]
    rule = fit_empirical(truth, scores, max_overprediction=1.15)
    assert rule.predict(scores).sum() == 115


# Errors

ELSEWHERE = [("micro", True), ("micro", False), ("macro", False), ("weighted", False), ("samples", False)]


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize(("average", "per_label"), ELSEWHERE)
def test_limits_elsewhere_are_refused(name: str, average: str, per_label: bool) -> None:
    with pytest.raises(thresholds.InputError, match=rf"^{name} is 0\.5 .*expected (None|a confidence)"):
        fit_empirical(SMALL_TRUTH, SMALL_SCORES, average, per_label=per_label, **{name: 0.5})


@pytest.mark.parametrize(
    "bad", [-0.5, math.nan, inf, "0.5", "", [], [0.5], True, False, {}, np.array([[0.5, 0.5]]), 1j]
)
@pytest.mark.parametrize("name", NAMES)
def test_bad_limits_are_refused(name: str, bad: object) -> None:
    with pytest.raises(thresholds.InputError, match=rf"^{name} (is|has) "):
        fit_empirical(SMALL_TRUTH, SMALL_SCORES, **{name: bad})


@pytest.mark.parametrize(("name", "bad"), [("min_precision", 1.5), ("min_recall", 2), ("max_overprediction", 0)])
def test_limits_out_of_range_are_refused(name: str, bad: object) -> None:
    with pytest.raises(thresholds.InputError, match=rf"^{name} is "):
        fit_empirical(SMALL_TRUTH, SMALL_SCORES, **{name: bad})


@pytest.mark.parametrize("weighted", [False, True])
def test_limits_by_kernels_are_those_by_sorting(weighted: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whether buckets bound the best cut within limits of each label, or all steps are looked at."""
    rng = np.random.default_rng(5)
    rates, separations = np.exp(rng.uniform(-6, -1, 40)), rng.uniform(-0.5, 2, 40)
    truth = (rng.random((2000, 40)) < rates).astype(np.uint8)
    scores = (rng.standard_normal(truth.shape) + truth * separations).round(2).astype(np.float32)
    weights = rng.integers(1, 4, len(scores)) if weighted else None
    for limits in (
        {"max_overprediction": 2.0},
        {"min_precision": rng.random(40)},
        {"min_recall": 0.4, "max_overprediction": 9.0},
    ):
        reports = []
        for most_sorted in (0, 10**9):
            monkeypatch.setattr(best_cuts, "_MOST_SORTED_CELLS", most_sorted)
            reports.append(fit_empirical(truth, scores, sample_weight=weights, n_jobs=2, **limits).guard_report)
        searched, by_sorting = reports
        assert not np.array_equal(searched.guarded, searched.unguarded)
        assert searched.to_dict() == by_sorting.to_dict(), limits
