"""The guard "shrink" against its twin, and what must hold for every guard."""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from typing import ClassVar

import numpy as np
import pytest
from numpy.random import Generator
from numpy.typing import NDArray
from scipy import sparse

import thresholds
from tests.bad_inputs.matrices import S as SMALL_SCORES
from tests.bad_inputs.matrices import Y as SMALL_TRUTH
from tests.cases import small_cases
from tests.naive import exhaustive as naive
from tests.naive import guards as twin
from tests.words import flat
from thresholds import Shrink, fit_empirical
from thresholds._engine.histograms import histograms
from thresholds._engine.problem import Problem as EngineProblem
from thresholds.guards import fitting
from thresholds.guards.base import BaseGuard, GuardedCuts, GuardInput
from thresholds.guards.cuts import cut_at_ranks
from thresholds.guards.shrink import means_of_siblings
from thresholds.rule.guard_report import GuardReport

pytestmark = pytest.mark.each_value

Array = NDArray[np.generic]
inf = math.inf


# Problems


@dataclass(frozen=True, eq=False)
class Problem:
    """One fit; `y_true` and `y_score` are (n_samples, n_labels), absent cells are at `missing`."""

    name: str
    y_true: Array
    y_score: Array
    sample_weight: Array | None = None
    beta: float = 1.0
    missing: float = 0.0

    @property
    def options(self) -> dict[str, object]:
        """What library and twin both take."""
        return {"beta": self.beta, "sample_weight": self.sample_weight, "missing": self.missing}

    def sparse(self, form: type = sparse.csr_array) -> sparse.sparray:
        """The scores without those that are `missing`."""
        kept = self.y_score != self.missing
        return form(sparse.coo_array((self.y_score[kept], np.nonzero(kept)), shape=self.y_score.shape))


def probabilities(rng: Generator, truth: Array) -> Array:
    """Calibrated in shape, more or less informative by label."""
    margins = rng.standard_normal(truth.shape) + truth * rng.uniform(0, 4, truth.shape[1]) - rng.uniform(0, 4)
    return 1 / (1 + np.exp(-margins))


def margins(rng: Generator, truth: Array) -> Array:
    """Scores of both signs."""
    return 3 * rng.standard_normal(truth.shape) + truth * rng.uniform(0, 6, truth.shape[1]) - 1


def levels(rng: Generator, truth: Array) -> Array:
    """Eighths: many ties, also at 0."""
    return np.floor(8 * probabilities(rng, truth)) / 8


def truncated(rng: Generator, truth: Array) -> Array:
    """0 for all but the highest."""
    scores = probabilities(rng, truth)
    return np.where(scores < np.quantile(scores, rng.uniform(0.3, 0.95)), 0.0, scores)


def masked(rng: Generator, truth: Array) -> Array:
    """-inf in some cells, and in all of a label now and then."""
    scores = (margins if rng.random() < 0.5 else probabilities)(rng, truth)
    scores[rng.random(scores.shape) < 0.3] = -inf
    scores[:, rng.random(scores.shape[1]) < 0.15] = -inf
    return scores


def constant(rng: Generator, truth: Array) -> Array:
    """One value in some columns, 0 in others."""
    scores = probabilities(rng, truth)
    scores[:, rng.random(scores.shape[1]) < 0.4] = rng.random()
    scores[:, rng.random(scores.shape[1]) < 0.3] = 0
    return scores


def integers(rng: Generator, truth: Array) -> Array:
    """Whole numbers of both signs."""
    return np.round(3 * margins(rng, truth))


FLAVOURS = [probabilities, margins, levels, truncated, masked, constant, integers]


def draw_truth(rng: Generator, shape: tuple[int, int]) -> Array:
    """Rare and common labels, some without positives, some without negatives."""
    truth = rng.random(shape) < rng.choice([0.02, 0.1, 0.3, 0.6], shape[1])
    truth[:, rng.random(shape[1]) < 0.1] = rng.random() < 0.3
    return truth.astype(np.uint8)


def draw_weights(rng: Generator, n: int) -> Array | None:
    """None, whole numbers with zeros, or reals with zeros."""
    kind = rng.integers(4)
    if kind < 2:
        return None
    weights = rng.integers(0, 4, n) if kind == 2 else rng.exponential(size=n) * (rng.random(n) < 0.9)
    return weights if weights.sum() > 0 else weights + 1


def problems(count: int, seed: int) -> Iterator[Problem]:
    """Problems that go round the flavours of scores, of all dtypes and layouts."""
    for i in range(count):
        rng = np.random.default_rng([seed, i])
        n, m = int(rng.choice([1, 2, 5, 20, 60, 100])), int(rng.choice([1, 2, 5, 12]))
        truth = draw_truth(rng, (n, m))
        flavour = FLAVOURS[i % len(FLAVOURS)]
        dtype = rng.choice([np.float64, np.float32, np.float16] if flavour is not integers else [np.int64, np.int8])
        scores = flavour(rng, truth).astype(dtype)
        yield Problem(
            f"{seed}-{i}-{flavour.__name__}-{scores.dtype}-{n}x{m}",
            truth,
            np.asfortranarray(scores) if rng.random() < 0.5 else scores,
            draw_weights(rng, n),
            float(rng.choice([0.5, 1.0, 2.0, 1.3])),
        )


PROBLEMS = list(problems(84, seed=20080101))
CHUNKS = [PROBLEMS[i::7] for i in range(7)]


# Library and twin


@cache
def is_level(problem: Problem) -> bool:
    """Whether the pooled curve rises by rounding alone: then the sign of its slope is nobody's to say."""
    cells = twin.Cells.of(problem.y_true, problem.y_score, problem.sample_weight)
    pooled = twin.pooled_curve(cells, problem.missing)
    return pooled is not None and 0 < abs(pooled.slope) < 1e-9


def check_thresholds(problem: Problem, got: Array, expected: list[float], close: float = 1e-6) -> None:
    """Thresholds decide alike, and are as close as their dtype and the search for the pooled curve allow."""
    weights = np.ones(len(problem.y_true)) if problem.sample_weight is None else problem.sample_weight
    dtype = naive.threshold_dtype(problem.y_score.dtype)
    for j, (t, wanted) in enumerate(zip(got.tolist(), expected, strict=True)):
        scores = problem.y_score[weights > 0, j].astype(np.float64)
        np.testing.assert_array_equal(scores >= t, scores >= wanted, f"{problem.name}, label {j}: {t}, not {wanted}")
        assert np.isinf(t) or t == float(dtype.type(t)), "representable in the dtype of the scores"
        if t != wanted:
            room = np.abs(scores[np.isfinite(scores)]).max() * close + float(np.spacing(dtype.type(abs(wanted))))
            assert abs(t - wanted) <= max(room, np.finfo(dtype).smallest_normal), f"{problem.name}, label {j}"


def check_claim(problem: Problem, rule: thresholds.ThresholdRule, average: str = "macro") -> None:
    """The claimed objective is the metric of the decisions, bit for bit."""
    decided = rule.predict(problem.y_score)
    options = {"beta": problem.beta, "sample_weight": problem.sample_weight, "zero_division": rule.zero_division}
    assert rule.objective == thresholds.metrics.fbeta_score(problem.y_true, decided, average=average, **options)


def shrunk(problem: Problem, **options: object) -> thresholds.ThresholdRule:
    """The rule of the guard."""
    return fit_empirical(problem.y_true, problem.y_score, **{"guard": "shrink"} | problem.options | options)


@pytest.mark.each_value
@pytest.mark.parametrize("half", range(2))
@pytest.mark.parametrize("chunk", range(len(CHUNKS)))
def test_guard_equals_its_twin(chunk: int, half: int) -> None:
    for problem in CHUNKS[chunk][half::2]:
        if not is_level(problem):
            rule = shrunk(problem)
            check_thresholds(problem, rule.thresholds, twin.shrink(problem.y_true, problem.y_score, **problem.options))
            check_claim(problem, rule)
            assert rule.guard == "shrink"


def test_guard_equals_its_twin_on_cases_that_look_for_trouble() -> None:
    for case in small_cases(48, seed=20241):
        problem = Problem(case.name, case.y_true, case.y_score, case.sample_weight, case.beta)
        rule = shrunk(problem, zero_division=case.zero_division)
        check_claim(problem, rule)
        if not is_level(problem):
            check_thresholds(problem, rule.thresholds, twin.shrink(problem.y_true, problem.y_score, **problem.options))


OPTIONS = [
    {"siblings": siblings, "probabilities": probabilities, "unsupported": unsupported}
    for siblings, probabilities, unsupported in [
        (True, False, "above_max"),
        (False, True, "above_max"),
        (False, False, "above_max"),
        (True, True, "never"),
    ]
]


@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_options_of_the_guard(options: dict[str, object]) -> None:
    for problem in PROBLEMS[::5]:
        if not is_level(problem):
            expected = twin.shrink(problem.y_true, problem.y_score, **problem.options, **options)
            rule = shrunk(problem, guard=Shrink(**options))
            check_thresholds(problem, rule.thresholds, expected, 1e-6 if options["probabilities"] else 1e-12)
            if options["unsupported"] == "never":
                assert (rule.thresholds[rule.unsupported] == inf).all()


SPARSE = [problem for problem in PROBLEMS if problem.y_score.dtype.itemsize > 2][1::3]


MISSING = (0.0, -1.0, 0.5, -inf)


@pytest.mark.parametrize("missing", MISSING)
def test_sparse_scores(missing: float) -> None:
    """Absent cells of a sparse matrix are dense cells at `missing`; the twin says so of half of the problems."""
    rng = np.random.default_rng(8)
    for number, given in enumerate(SPARSE):
        if given.y_score.dtype.kind != "f" and missing not in (0.0, -1.0):
            continue
        scores = np.where(rng.random(given.y_score.shape) < 0.5, given.y_score.dtype.type(missing), given.y_score)
        problem = Problem(given.name, given.y_true, scores, given.sample_weight, given.beta, missing)
        dense = shrunk(problem)
        form = [sparse.csr_array, sparse.csc_matrix, sparse.coo_array][number % 3]
        truth = form(problem.y_true) if number % 2 else problem.y_true
        rule = fit_empirical(truth, problem.sparse(form), guard="shrink", keep_sparse=False, **problem.options)
        np.testing.assert_array_equal(rule.thresholds, dense.thresholds, problem.name)
        assert rule.objective == dense.objective
        np.testing.assert_array_equal(rule.predict(problem.sparse(form), dense=True), dense.predict(scores))
        if (number // 2 + MISSING.index(missing)) % 2 and not is_level(problem):
            check_thresholds(problem, dense.thresholds, twin.shrink(problem.y_true, scores, **problem.options))


@pytest.mark.parametrize("missing", [0.0, 0.25])
def test_kept_sparse(missing: float) -> None:
    """Each value has half of the problems."""
    rng = np.random.default_rng(9)
    for given in SPARSE[missing > 0 :: 2]:
        if given.y_score.dtype.kind != "f":
            continue
        scores = np.where(rng.random(given.y_score.shape) < 0.5, given.y_score.dtype.type(missing), given.y_score)
        problem = Problem(given.name, given.y_true, scores, given.sample_weight, given.beta, missing)
        if is_level(problem):
            continue
        rule = fit_empirical(problem.y_true, problem.sparse(), guard="shrink", keep_sparse=True, **problem.options)
        expected = twin.shrink(problem.y_true, scores, keep_sparse=True, **problem.options)
        assert (rule.thresholds > missing).all()
        check_thresholds(problem, rule.thresholds, expected)
        check_claim(problem, rule)


def test_a_label_whose_scores_weigh_less_than_a_row() -> None:
    """Ranks then end below 1; masked cells are not predicted all the same."""
    truth = np.array([[1, 1], [0, 0], [1, 0], [0, 1], [0, 0]])
    scores = np.array([[0.5, 0.1], [0.2, 0.7], [-inf, 0.3], [-inf, 0.9], [-inf, 0.2]])
    for light in (0.1, 0.01):
        problem = Problem("light", truth, scores, np.array([light, light / 3, 1.5, 1.0, 2.0]))
        for given in (problem, Problem("all masked but one", truth[:3, :1], scores[:3, :1], problem.sample_weight[:3])):
            rule = shrunk(given)
            check_thresholds(given, rule.thresholds, twin.shrink(given.y_true, given.y_score, **given.options))
            assert rule.thresholds[0] > -inf


# What must not matter


def large(seed: int = 5, shape: tuple[int, int] = (3000, 70)) -> Problem:
    """Data that are fitted in several pieces."""
    rng = np.random.default_rng(seed)
    truth = (rng.random(shape) < np.geomspace(0.0005, 0.4, shape[1])).astype(np.uint8)
    return Problem("large", truth, truncated(rng, truth).astype(np.float32))


def check_same(got: thresholds.ThresholdRule, expected: thresholds.ThresholdRule) -> None:
    """Both rules have the same thresholds, bit for bit."""
    np.testing.assert_array_equal(got.thresholds, expected.thresholds)
    assert got.objective == pytest.approx(expected.objective, abs=1e-12)


@pytest.mark.parametrize("weighted", [False, True])
def test_threads_and_sparsity_do_not_matter(weighted: bool) -> None:
    problem = large()
    weights = np.random.default_rng(1).exponential(size=3000) if weighted else None
    expected = shrunk(problem, n_jobs=1, sample_weight=weights)
    for n_jobs in (3, -1):
        check_same(shrunk(problem, n_jobs=n_jobs, sample_weight=weights), expected)
        options = {"guard": "shrink", "keep_sparse": False, "n_jobs": n_jobs}
        got = fit_empirical(problem.y_true, problem.sparse(), sample_weight=weights, **options)
        check_same(got, expected)


def test_order_of_rows_does_not_matter() -> None:
    rng = np.random.default_rng(2)
    for problem in [large(), *PROBLEMS[1::9]]:
        order = rng.permutation(len(problem.y_true))
        weights = None if problem.sample_weight is None else problem.sample_weight[order]
        got = Problem("", problem.y_true[order], problem.y_score[order], weights, problem.beta)
        check_same(shrunk(got), shrunk(problem))


def test_order_of_labels_matters_by_rounding_alone() -> None:
    rng = np.random.default_rng(3)
    for problem in [large(), *PROBLEMS[2::9]]:
        order = rng.permutation(problem.y_true.shape[1])
        got = Problem("", problem.y_true[:, order], problem.y_score[:, order], problem.sample_weight, problem.beta)
        expected = shrunk(problem).thresholds[order]
        finite = np.isfinite(expected)
        np.testing.assert_array_equal(np.isfinite(shrunk(got).thresholds), finite)
        np.testing.assert_allclose(
            shrunk(got).thresholds[finite], expected[finite], rtol=1e-3 if got.y_score.dtype == np.float16 else 1e-6
        )


def test_whole_weights_are_repeated_rows() -> None:
    rng = np.random.default_rng(4)
    for problem in [large(shape=(800, 30)), *PROBLEMS[::9]]:
        times = rng.integers(0, 4, len(problem.y_true))
        times[0] += 1
        repeated = np.repeat(problem.y_true, times, axis=0), np.repeat(problem.y_score, times, axis=0)
        got = shrunk(problem, sample_weight=times)
        check_same(got, fit_empirical(*repeated, guard="shrink", beta=problem.beta))


def test_weights_of_one_are_none_and_real_weights_have_no_scale() -> None:
    problem = large(shape=(800, 30))
    check_same(shrunk(problem, sample_weight=np.ones(800)), shrunk(problem))
    check_same(shrunk(problem, sample_weight=np.full(800, 0.3)), shrunk(problem))
    weights = np.random.default_rng(6).exponential(size=800)
    check_same(shrunk(problem, sample_weight=weights * 2.0**-40), shrunk(problem, sample_weight=weights))


def test_rows_of_weight_0_are_absent() -> None:
    problem = large(shape=(800, 30))
    kept = np.random.default_rng(7).random(800) < 0.7
    got = shrunk(problem, sample_weight=kept.astype(int))
    check_same(got, fit_empirical(problem.y_true[kept], problem.y_score[kept], guard="shrink"))


@pytest.mark.parametrize(("factor", "shift"), [(4.0, 0.0), (3.0, 5.0), (0.1, -7.0)])
def test_rising_lines_move_thresholds_with_them(factor: float, shift: float) -> None:
    """Exactly so without probabilities; with them the bins of the pooled curve differ a little."""
    rng = np.random.default_rng(10)
    truth = draw_truth(rng, (400, 12))
    scores = margins(rng, truth)
    moved = Problem("", truth, factor * scores + shift)
    for options in ({"probabilities": False}, {}):
        got = shrunk(moved, guard=Shrink(**options))
        expected = shrunk(Problem("", truth, scores), guard=Shrink(**options))
        if options or factor == 4:  # Powers of two move the bins, too.
            np.testing.assert_allclose(got.thresholds, factor * expected.thresholds + shift, rtol=1e-9)
        else:
            before, after = (
                decided.sum(axis=0, dtype=float) for decided in (expected.predict(scores), got.predict(moved.y_score))
            )
            assert (np.abs(after - before) <= 1 + 0.02 * before).all()


# Which guard


@dataclass(frozen=True)
class AtRank(BaseGuard):
    """A guard of somebody else: each label is predicted on so many rows."""

    name: ClassVar[str] = "at rank"
    rank: float = 1.0

    def cuts(self, given: GuardInput) -> GuardedCuts:
        n_labels = given.problem.n_labels
        ranks, one_row = np.full(n_labels, self.rank), np.ones(n_labels)
        return cut_at_ranks(given.histograms, given.problem, ranks, one_row)


def test_a_guard_is_a_class_with_one_method() -> None:
    rng = np.random.default_rng(0)
    truth, scores = rng.random((50, 3)) < 0.3, rng.random((50, 3))
    rule = fit_empirical(truth, scores, guard=AtRank(4.0))
    assert rule.predict(scores).sum(axis=0).tolist() == [4, 4, 4]
    assert rule.guard == "at rank (rank=4.0)"
    assert fit_empirical(truth, scores, guard=AtRank()).guard == "at rank"
    np.testing.assert_array_equal(rule.guard_report.unguarded, fit_empirical(truth, scores).thresholds)


def test_auto_guards_what_a_guard_is_for() -> None:
    problem = PROBLEMS[0]
    for average, guard in (("macro", "shrink"), ("weighted", "shrink"), ("micro", "pool")):
        rule = fit_empirical(problem.y_true, problem.y_score, average, guard="auto")
        assert rule.guard == guard
        check_same(rule, fit_empirical(problem.y_true, problem.y_score, average, guard=guard))
        check_claim(Problem("", problem.y_true, problem.y_score), rule, average)
    for average in ("macro", "weighted", "micro", "samples"):
        rule = fit_empirical(problem.y_true, problem.y_score, average, per_label=False, guard="auto")
        assert rule.guard is None
        assert rule.guard_report is None
        check_same(rule, fit_empirical(problem.y_true, problem.y_score, average, per_label=False))


def test_without_a_guard_nothing_has_changed() -> None:
    rule = fit_empirical(PROBLEMS[0].y_true, PROBLEMS[0].y_score)
    assert rule.guard is None
    assert rule.guard_report is None
    assert "unguarded" in str(rule)


def test_a_guarded_rule_says_so_and_keeps_saying_so(tmp_path: object) -> None:
    rule = shrunk(PROBLEMS[0])
    assert "shrink" in str(rule)
    assert "unguarded" not in str(rule)
    rule.save(tmp_path / "rule.json")
    loaded = thresholds.load_rule(tmp_path / "rule.json")
    assert loaded.guard == "shrink"
    check_same(loaded, rule)


@pytest.mark.parametrize("guard", ["shrink", Shrink()], ids=str)
@pytest.mark.parametrize(
    ("average", "per_label"), [("micro", True), ("micro", False), ("macro", False), ("samples", False)]
)
def test_guards_elsewhere_are_refused(guard: object, average: str, per_label: bool) -> None:
    with pytest.raises(thresholds.InputError, match=r"^guard is .*expected None"):
        fit_empirical(SMALL_TRUTH, SMALL_SCORES, average, per_label=per_label, guard=guard)


@pytest.mark.parametrize("guard", ["Shrink", "", 0, False, True, Shrink, ("shrink",), {}, [], "none"])
def test_unknown_guards_are_refused(guard: object) -> None:
    with pytest.raises(thresholds.InputError, match=r"^guard is "):
        fit_empirical(SMALL_TRUTH, SMALL_SCORES, guard=guard)


@pytest.mark.parametrize(
    ("make", "options"),
    [
        *((Shrink, {"siblings": bad}) for bad in (None, "yes", 1, 0.5, [])),
        *((Shrink, {"probabilities": bad}) for bad in (None, "no", 0, [])),
        *((Shrink, {"unsupported": bad}) for bad in (None, "Never", True, 0, [])),
    ],
    ids=str,
)
def test_bad_options_of_guards_are_refused(make: type, options: dict[str, object]) -> None:
    (name,) = options
    with pytest.raises(thresholds.InputError, match=rf"^{name} "):
        make(**options)


# The report


def check_report(problem: Problem, rule: thresholds.ThresholdRule, **options: object) -> None:
    """Before is the plain optimum, after the rule itself; counts and F are those of their decisions."""
    given = {"beta": problem.beta, "sample_weight": problem.sample_weight}
    report = rule.guard_report
    plain = fit_empirical(problem.y_true, problem.y_score, missing=problem.missing, **given, **options)
    np.testing.assert_array_equal(report.unguarded, plain.thresholds)
    np.testing.assert_array_equal(report.guarded, rule.thresholds)
    weights = np.ones(len(problem.y_true)) if problem.sample_weight is None else problem.sample_weight
    for fitted, predicted, f in (
        (plain, report.predicted_before, report.f_before),
        (rule, report.predicted_after, report.f_after),
    ):
        decided = fitted.predict(problem.y_score)
        np.testing.assert_allclose(predicted, weights @ decided, rtol=1e-12, atol=1e-12)
        expected = thresholds.metrics.fbeta_score(problem.y_true, decided, average=None, zero_division=0, **given)
        np.testing.assert_allclose(np.nan_to_num(f), expected, rtol=1e-12)
    used = problem.y_score[weights > 0]
    changed = (plain.predict(used) != rule.predict(used)).any(axis=0)
    np.testing.assert_array_equal(report.moved, changed)
    np.testing.assert_array_equal(report.reason != "", changed)
    assert str(report)


def test_report() -> None:
    for problem in [large(shape=(500, 20)), *PROBLEMS[::6]]:
        check_report(problem, shrunk(problem))


# What it is for


def test_a_separated_frequent_label_loses_next_to_nothing() -> None:
    """Less than .001 on average over samples; the cut lies at most a few ranks from the gap."""
    rng = np.random.default_rng(11)
    truth = np.zeros((5000, 1), np.uint8)
    truth[:1000] = 1
    for other_labels in (0, 5):
        lost = []
        for _ in range(12):
            rest = (rng.random((5000, other_labels)) < 0.02).astype(np.uint8)
            y_true = np.hstack([truth, rest])
            scores = rng.random(y_true.shape) * 0.4 + 0.6 * np.hstack([truth, 0 * rest])
            fresh = rng.random(5000) * 0.4 + 0.6 * truth[:, 0]
            rule = fit_empirical(y_true, scores, guard="shrink")
            lost.append(1 - thresholds.metrics.f1_score(truth[:, 0], (fresh >= rule.thresholds[0]).astype(int)))
        assert np.mean(lost) < 0.001
        assert max(lost) < 0.004


@pytest.mark.parametrize("share", [0.0, 0.002, 0.3, 0.9, 1.0])
@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.float16])
def test_a_column_of_zeros_is_never_predicted(share: float, dtype: type) -> None:
    rng = np.random.default_rng(12)
    truth = np.hstack([rng.random((500, 1)) < share, rng.random((500, 4)) < 0.2]).astype(np.uint8)
    scores = truncated(rng, truth).astype(dtype)
    scores[:, 0] = 0
    rules = [fit_empirical(truth, scores, guard="shrink"), fit_empirical(truth[:, :1], scores[:, :1], guard="shrink")]
    if dtype is not np.float16:
        cells = sparse.csr_array(scores)
        rules += [fit_empirical(truth, cells, guard="shrink", keep_sparse=keep_sparse) for keep_sparse in (True, False)]
    for rule in rules:
        assert rule.thresholds[0] > 0
        assert rule.predict(scores[:, : rule.n_labels])[:, 0].sum() == 0


def test_a_rare_label_of_random_scores_is_predicted_far_less_than_by_the_plain_optimum() -> None:
    rng = np.random.default_rng(13)
    plain, guarded = 0, 0
    for _ in range(30):
        truth = (rng.random((1000, 20)) < np.r_[np.full(10, 0.003), np.geomspace(0.01, 0.3, 10)]).astype(np.uint8)
        scores = rng.random(truth.shape)
        scores[:, 10:] = probabilities(rng, truth[:, 10:])
        plain += fit_empirical(truth, scores).predict(scores)[:, :10].sum()
        guarded += fit_empirical(truth, scores, guard="shrink").predict(scores)[:, :10].sum()
    assert guarded < plain / 5


def test_labels_that_moved_furthest_come_first_from_none_as_from_a_half() -> None:
    before, after = np.array([2, 0]), np.array([7, 2])
    report = GuardReport("shrink", *np.zeros((2, 2)), before, after, *np.zeros((2, 2)), np.array(["", ""]))
    assert [line.split()[0] for line in str(report).splitlines()[-2:]] == ["1", "0"]


def test_siblings_on_a_grid_are_nearly_those_of_each_size() -> None:
    rng = np.random.default_rng(0)
    own, positives = rng.random((1000, 7)), np.exp(rng.uniform(0, 7, 1000))
    near = np.exp(-0.5 * ((np.log(positives)[:, np.newaxis] - np.log(positives)) / 0.7) ** 2)
    expected = near @ own / near.sum(axis=1, keepdims=True)
    means, size_of_label = means_of_siblings(positives, own)
    np.testing.assert_allclose(means[size_of_label], expected, atol=3e-4)


def test_ratios_of_some_labels_at_a_time_are_those_of_all(monkeypatch: pytest.MonkeyPatch) -> None:
    found = []
    for at_once in (1, 2, 4096):
        monkeypatch.setattr("thresholds._arrays.blocks._BLOCK_ROWS", at_once)
        found.append(np.concatenate([shrunk(problem).thresholds for problem in PROBLEMS]))
    for other in found[1:]:
        np.testing.assert_array_equal(found[0], other)


def test_a_bin_of_several_scores_is_predicted_whole_or_not_at_all(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is claimed of many scores is what is decided, and hardly different from a bin for each score."""
    rng = np.random.default_rng(0)
    truth = rng.random((60_000, 6)) < [0.3, 0.1, 0.03, 0.01, 0.003, 0.001]
    for scores in (rng.normal(size=truth.shape) + 2.0 * truth, 1 / (1 + np.exp(-rng.normal(size=truth.shape) - truth))):
        for average, guard in (("macro", "shrink"), ("micro", "pool")):
            rule = fit_empirical(truth, scores, average, guard=guard)
            decided = rule.predict(scores)
            assert rule.guard_report.predicted_after.tolist() == decided.sum(axis=0).tolist()
            assert rule.objective == thresholds.metrics.f1_score(truth, decided, average=average, zero_division=0.0)
            with monkeypatch.context() as patch:
                patch.setattr(fitting, "MOST_BINS", 10**6)
                exact = fit_empirical(truth, scores, average, guard=guard)
            assert rule.objective == pytest.approx(exact.objective, rel=0.01)
            assert (rule.thresholds != exact.thresholds).any()


@pytest.mark.parametrize("factor", [2.0**60, 2.0**900])
def test_weights_beyond_whole_numbers_are_no_counts(factor: float) -> None:
    rng = np.random.default_rng(1)
    truth, weights = rng.random((300, 8)) < 0.1, rng.random(300)
    scores = rng.normal(size=truth.shape) + truth
    small, large = (
        thresholds.fit_empirical(truth, scores, guard="shrink", sample_weight=w) for w in (weights, factor * weights)
    )
    np.testing.assert_array_equal(small.thresholds, large.thresholds)


def test_names_of_limits_are_whole() -> None:
    rng = np.random.default_rng(0)
    rule = thresholds.fit_empirical(rng.random((50, 1)) < 0.3, rng.random((50, 1)), max_overprediction=1.25)
    assert "max_overprediction=1.25" in rule.guard


def test_a_report_counts_millions_in_full() -> None:
    before, after = np.array([2_000_000]), np.array([1_234_567])
    report = GuardReport("shrink", *np.zeros((2, 1)), before, after, *np.zeros((2, 1)), np.array([""]))
    assert "predicts 1,234,567 instead of 2,000,000" in str(report)


# Scores that know next to nothing, or rank backwards


def reversed_order(problem: Problem, upwards: bool = False) -> Problem:
    """The same problem with scores negated, or taken from above the highest; those masked or `missing` stay."""
    scores = problem.y_score.astype(np.float64)
    kept = (scores == problem.missing) | np.isneginf(scores)
    turned = np.where(kept, scores, (scores.max() + 0.25 if upwards else 0.0) - scores).astype(problem.y_score.dtype)
    return Problem(f"{problem.name}, negated", problem.y_true, turned, problem.sample_weight, problem.beta)


NEGATED = [
    reversed_order(problem, upwards=number % 2 == 1)
    for number, problem in enumerate(problems(84, seed=20261122))
    if problem.y_score.dtype.kind == "f" and problem.y_score.dtype.itemsize > 2 and len(problem.y_true) >= 5
]


def test_negated_scores_are_predicted_always_and_it_is_said() -> None:
    """To predict about as many as are true would be wrong in every cell, and claim 0."""
    rng = np.random.default_rng(21)
    truth = (rng.random((800, 6)) < 0.04).astype(np.uint8)
    scores = 1 / (1 + np.exp(6.0 * truth - 2 - rng.standard_normal(truth.shape)))
    rule = fit_empirical(truth, scores, guard="shrink")
    base = truth.mean(axis=0)
    assert rule.objective == pytest.approx((2 * base / (1 + base)).mean(), rel=1e-12)
    assert rule.predict(scores).all()
    fell_back = rule.guard_report.n_fell_back
    assert fell_back == 6, "also one that the guard itself predicts always"
    assert "guard shrink, fell back on always for 6 labels)" in flat(rule)
    said = "6 labels fall back on always: on these rows the guard's cuts reach less F than that"
    assert said in flat(rule.guard_report)
    np.testing.assert_array_equal(rule.guard_report.to_dict()["fell_back"], np.ones(6, np.bool_))
    right = fit_empirical(truth, -scores, guard="shrink")
    assert not right.guard_report.fell_back.any()
    assert "always" not in f"{right} {right.guard_report}"
    assert not any(right.guard_report.to_dict()["fell_back"])


def test_a_label_that_ranks_backwards_among_others_is_left_to_the_diagnosis() -> None:
    """The guard as a whole does well: to predict one more label always is not worth it."""
    rng = np.random.default_rng(22)
    truth = (rng.random((800, 6)) < 0.04).astype(np.uint8)
    scores = rng.standard_normal(truth.shape) + 3 * truth * [-1, 1, 1, 1, 1, 1]
    rule = fit_empirical(truth, scores, guard="shrink")
    assert not rule.guard_report.fell_back.any()
    assert thresholds.diagnose(truth, scores, rule).state.tolist() == ["backwards", *5 * ["restrained"]]


def test_labels_that_are_known_keep_the_guard_where_most_are_not() -> None:
    rng = np.random.default_rng(23)
    truth = (rng.random((800, 8)) < [0.02, *7 * [0.05]]).astype(np.uint8)
    scores = rng.standard_normal(truth.shape) + truth * [2, *7 * [-5]]
    rule = fit_empirical(truth, scores, guard="shrink")
    assert not rule.guard_report.fell_back[0]
    assert rule.predict(scores)[:, 0].mean() < 0.1
    assert rule.predict(scores)[:, 1:].all()
    assert rule.guard_report.n_fell_back == 7, "also those that the guard itself predicts always"


@pytest.mark.parametrize("sparse_scores", [False, True])
def test_many_scores_of_zero_are_predicted_where_all_are(sparse_scores: bool) -> None:
    """The lowest score of clipped scores is `missing`: it is left out only where predictions shall be sparse."""
    rng = np.random.default_rng(26)
    truth = (rng.random((500, 8)) < 0.15).astype(np.uint8)
    dense = np.clip(rng.normal(0.5, 1, truth.shape) - 1.5 * truth, 0, None)
    scores = sparse.csr_array(dense) if sparse_scores else dense
    rule = fit_empirical(truth, scores, guard="shrink", keep_sparse=False)
    base = truth.mean(axis=0)
    assert rule.objective == pytest.approx((2 * base / (1 + base)).mean(), rel=1e-12)
    assert (dense >= rule.thresholds).all()
    assert rule.guard_report.n_fell_back == 8
    kept = fit_empirical(truth, sparse.csr_array(dense), guard="shrink", keep_sparse=True)
    np.testing.assert_array_equal(dense >= kept.thresholds, dense > 0)


def test_the_guard_claims_at_least_what_always_reaches_in_the_average_that_is_fitted() -> None:
    """Frequent labels rank backwards, rare ones well: the plain mean of F says nothing of the weighted one."""
    below = 0
    for seed in range(6):
        rng = np.random.default_rng([27, seed])
        truth = (rng.random((300, 8)) < [*6 * [0.06], *2 * [0.007]]).astype(np.uint8)
        scores = rng.standard_normal(truth.shape) + truth * [*6 * [-4.0], *2 * [4.0]]
        always = np.ones_like(truth)
        for average in ("macro", "weighted"):
            rule = fit_empirical(truth, scores, guard="shrink", average=average)
            reached = thresholds.metrics.f1_score(truth, rule.predict(scores), average=average, zero_division=0)
            assert rule.objective == pytest.approx(reached, rel=1e-12)
            below += reached < thresholds.metrics.f1_score(truth, always, average=average, zero_division=0) - 1e-12
    assert below == 0


def test_a_limit_that_allows_no_hit_predicts_never_what_falls_back() -> None:
    """The highest of scores that rank backwards are the least likely: as many as are allowed would all be wrong."""
    rng = np.random.default_rng(21)
    truth = (rng.random((800, 6)) < 0.04).astype(np.uint8)
    scores = 1 / (1 + np.exp(6.0 * truth - 2 - rng.standard_normal(truth.shape)))
    rule = fit_empirical(truth, scores, guard="shrink", max_overprediction=2)
    report = rule.guard_report
    assert not rule.predict(scores).any()
    assert np.isposinf(rule.thresholds).all()
    assert rule.objective == 0
    assert report.fell_back.all()
    assert set(report.reason) == {"no hit within limits"}
    assert "fell back on always, as far as limits allow, for 6 labels" in str(rule)
    assert "6 labels fall back on always, as far as limits allow: on these rows" in str(report)


def test_a_limit_that_allows_hits_keeps_what_falls_back_within_it() -> None:
    rng = np.random.default_rng(28)
    truth = rng.permuted(np.tile(np.arange(800) < 30, (6, 1)), axis=1).T.astype(np.uint8)
    scores = rng.standard_normal(truth.shape) - truth
    rule = fit_empirical(truth, scores, guard="shrink", max_overprediction=18)
    report = rule.guard_report
    predicted = rule.predict(scores).sum(axis=0)
    assert report.fell_back.all()
    assert set(report.reason) == {"always, within limits"}
    np.testing.assert_array_equal(predicted, np.full(6, 18 * 30))


def test_where_scores_say_little_the_guard_does_no_worse_on_other_rows_than_the_plain_optimum() -> None:
    """AUROC .47 at 300 rows: .3 points of macro-F1 worse without the fall-back, .7 better with it."""
    gained = []
    for seed in range(12):
        rng = np.random.default_rng([24, seed])
        rates = np.exp(rng.uniform(np.log(0.01), np.log(0.1), 30))
        sample, rest = ((rng.random((n, 30)) < rates).astype(np.uint8) for n in (300, 4000))
        scores, fresh = (rng.standard_normal(truth.shape) - 0.106 * truth for truth in (sample, rest))
        guarded, plain = (
            thresholds.metrics.f1_score(
                rest, fit_empirical(sample, scores, guard=guard).predict(fresh), average="macro", zero_division=0
            )
            for guard in ("shrink", None)
        )
        gained.append(guarded - plain)
    assert np.mean(gained) > 0.002


@pytest.mark.filterwarnings("ignore::thresholds.ScoreChangeWarning")  # rows count alike there, not by weight
@pytest.mark.parametrize(("average", "keep_sparse"), [("macro", False), ("macro", True), ("weighted", False)])
def test_the_fall_back_equals_its_twin(average: str, keep_sparse: bool) -> None:
    """Ties, masks, missing scores, weights, beta; on dense and sparse scores alike."""
    fell_back = 0
    for problem in NEGATED[::2] if keep_sparse else NEGATED[1::3]:
        if is_level(problem):
            continue
        given = problem.sparse() if keep_sparse else problem.y_score
        options = problem.options | {"keep_sparse": keep_sparse, "average": average}
        rule = fit_empirical(problem.y_true, given, guard="shrink", **options)
        expected = twin.shrink(problem.y_true, problem.y_score, **options)
        weights = np.ones(len(problem.y_true)) if problem.sample_weight is None else problem.sample_weight
        scores = problem.y_score[weights > 0].astype(np.float64)
        np.testing.assert_array_equal(scores >= rule.thresholds, scores >= expected, problem.name)
        check_claim(problem, rule, average)
        fell_back += rule.guard_report.n_fell_back
        if not keep_sparse:
            check_report(problem, rule)
            lists = fit_empirical(problem.y_true, problem.sparse(), guard="shrink", **options)
            np.testing.assert_array_equal(lists.thresholds, rule.thresholds, problem.name)
        if keep_sparse:
            assert (rule.thresholds > problem.missing).all()
    assert fell_back > 5


def test_limits_hold_for_what_falls_back() -> None:
    for problem in NEGATED[::3]:
        for limits in ({"max_overprediction": 1.5}, {"min_precision": 0.2}, {"min_recall": 0.5}):
            rule = shrunk(problem, **limits)
            weights = np.ones(len(problem.y_true)) if problem.sample_weight is None else problem.sample_weight
            decided = rule.predict(problem.y_score)
            positives, predicted, tp = (
                weights @ cells for cells in (problem.y_true, decided, problem.y_true * decided)
            )
            if "max_overprediction" in limits:
                assert (predicted <= 1.5 * positives * (1 + 1e-9)).all()
            if "min_precision" in limits:
                assert (tp >= 0.2 * predicted * (1 - 1e-9)).all()
            if "min_recall" in limits:
                assert ((tp >= 0.5 * positives * (1 - 1e-9)) | (predicted == 0)).all()


def test_the_fall_back_depends_on_neither_rows_nor_threads() -> None:
    problem = reversed_order(large())
    expected = shrunk(problem, n_jobs=1)
    assert expected.guard_report.n_fell_back > 40
    order = np.random.default_rng(25).permutation(len(problem.y_true))
    check_same(shrunk(Problem("", problem.y_true[order], problem.y_score[order])), expected)
    check_same(shrunk(problem, n_jobs=3), expected)


@pytest.mark.parametrize("weighted", [False, True])
def test_bins_at_ranks_are_those_of_sorted_rows(weighted: bool) -> None:
    for seed in range(40):
        rng = np.random.default_rng(seed)
        n = int(rng.choice([1, 2, 9, 300]))
        scores = rng.integers(1, int(rng.choice([3, 2**20])), (n, 3)).astype(np.float32)
        weights = rng.integers(1, 5, n)
        weights[0] = 1  # the unit
        laid_out = [np.sort(np.repeat(column, weights if weighted else 1))[::-1] for column in scores.T]
        ranks = np.array([rng.integers(1, 2 * row.size + 1) / 2 for row in laid_out])  # whole ranks, and between
        problem = EngineProblem.of(scores > 1, scores, sample_weight=weights if weighted else None)
        found = histograms(problem, None)
        at = np.ceil(ranks).astype(int) - 1
        assert found.lowest[found.bins_at(ranks)].tolist() == [row[k] for row, k in zip(laid_out, at, strict=True)]
