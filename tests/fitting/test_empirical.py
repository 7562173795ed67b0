"""`fit_empirical` and `fit_top_k` against exhaustive search in exact arithmetic."""

from functools import cache

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from scipy import sparse

import thresholds
from tests.cases import Case, cases, of_each_flavour, small_cases
from tests.naive import exhaustive as naive

CASES = list(small_cases(96, seed=20130707))
CHUNKS = [CASES[i::12] for i in range(12)]
SHARED = ("macro", "weighted", "micro", "samples")
CLOSE = 1e-12  # for weights whose sums are not exact in floats


def options(case: Case) -> dict[str, object]:
    """The arguments of a fit that a case names."""
    return {"beta": case.beta, "zero_division": case.zero_division, "sample_weight": case.sample_weight}


def measure(case: Case) -> tuple[float, float, object]:
    """The last arguments of the twin's functions."""
    return case.beta, case.zero_division, case.sample_weight


def check_claim(case: Case, rule: thresholds.ThresholdRule | thresholds.TopKRule, average: str) -> None:
    """The claimed objective is the metric of the decisions, bit for bit, and the twin's F of them."""
    decided = rule.predict(case.y_score)
    realised = thresholds.metrics.fbeta_score(case.y_true, decided, average=average, **options(case))
    assert rule.objective == realised
    assert rule.objective == pytest.approx(float(naive.score(case.y_true, decided, average, *measure(case))), abs=CLOSE)


def same_cut(case: Case, column: int, got: float, best: float) -> None:
    """The two thresholds decide alike on a column."""
    scores, weights = case.y_score[:, column], naive.exact_weights(case.sample_weight, len(case.y_score))
    used = [naive.plain(s) for s, w in zip(scores, weights, strict=True) if w > 0]
    assert [s >= got for s in used] == [s >= best for s in used], (case.name, column, got, best)


def check_per_label(case: Case, average: str) -> None:
    """Per-label rules reach the maximum, with the highest threshold among exact ties."""
    rule = thresholds.fit_empirical(case.y_true, case.y_score, average, **options(case), placement="score")
    if average == "micro":
        best, f = naive.best_micro(case.y_true, case.y_score, *measure(case))
    else:
        best = [t for t, _ in naive.best_macro(case.y_true, case.y_score, *measure(case))]
        f = naive.score(case.y_true, naive.decide(case.y_score, best), average, *measure(case))
    assert rule.objective == pytest.approx(float(f), abs=CLOSE), case.name
    check_claim(case, rule, average)
    if case.dyadic_weights and case.beta in (1.0, 0.5, 2.0, 3.0):
        for j, (got, expected) in enumerate(zip(rule.thresholds, best, strict=True)):
            same_cut(case, j, got, expected)
    weights = np.ones(len(case.y_true)) if case.sample_weight is None else case.sample_weight
    supported = (case.y_true * (weights > 0)[:, None]).any(axis=0)
    np.testing.assert_array_equal(rule.unsupported, ~supported)
    assert np.isposinf(rule.thresholds[~supported]).all()


def check_shared(case: Case, average: str) -> None:
    """The shared threshold reaches the maximum, with the highest threshold among exact ties."""
    rule = thresholds.fit_empirical(
        case.y_true, case.y_score, average, **options(case), per_label=False, placement="score"
    )
    best, f = naive.best_shared(case.y_true, case.y_score, average, *measure(case))
    assert rule.objective == pytest.approx(float(f), abs=CLOSE), case.name
    check_claim(case, rule, average)
    assert (rule.thresholds == rule.thresholds[0]).all()
    if case.dyadic_weights and case.beta in (1.0, 0.5, 2.0, 3.0):
        assert rule.thresholds[0] == best, case.name


@pytest.mark.each_value
@pytest.mark.parametrize("average", ["macro", "weighted", "micro"])
@pytest.mark.parametrize("chunk", range(len(CHUNKS)))
def test_per_label_equals_exhaustive_search(average: str, chunk: int) -> None:
    """The thresholds of "macro" and "weighted" are the same, so each has half of the cases, of all flavours."""
    part = {"macro": slice(0, None, 2), "weighted": slice(1, None, 2), "micro": slice(None)}[average]
    for case in CHUNKS[chunk][part]:
        check_per_label(case, average)


@pytest.mark.each_value
@pytest.mark.parametrize("average", SHARED)
@pytest.mark.parametrize("chunk", range(len(CHUNKS)))
def test_shared_threshold_equals_exhaustive_search(average: str, chunk: int) -> None:
    """Each average has half of the cases, of all flavours."""
    for case in CHUNKS[chunk][SHARED.index(average) % 2 :: 2]:
        check_shared(case, average)


@pytest.mark.parametrize("chunk", range(len(CHUNKS)))
def test_top_k_equals_exhaustive_search(chunk: int) -> None:
    for case in CHUNKS[chunk]:
        rule = thresholds.fit_top_k(case.y_true, case.y_score, **options(case))
        k, f = naive.best_top_k(case.y_true, case.y_score, *measure(case))
        assert rule.objective == pytest.approx(float(f), abs=CLOSE), case.name
        check_claim(case, rule, "samples")
        np.testing.assert_array_equal(rule.predict(case.y_score), naive.samples_top_k(case.y_score, rule.k))
        if case.dyadic_weights:
            assert rule.k == k, case.name


PLACEMENTS = ("low", "mid", "score")


def test_of_equally_good_k_the_least_is_taken_though_sums_round() -> None:
    """Sums over rows of F at 2 and at 3 are 1/2 + 4/5 + 2/3 and 4/5 + 2/3 + 1/2: floats of different last bits."""
    truth = [[0, 1, 1, 0], [0, 0, 0, 0], [1, 0, 1, 1], [1, 0, 0, 0]]
    scores = [[0.0, 0.1, 0.2, 0.3], [0.2, 0.0, 0.3, 0.1], [0.0, 0.1, 0.2, 0.3], [0.3, 0.1, 0.2, 0.0]]
    assert thresholds.fit_top_k(truth, scores).k == 2


@pytest.mark.parametrize("placement", PLACEMENTS)
def test_placed_thresholds_lie_in_their_gap(placement: str) -> None:
    """Each placement has half of the cases, of all flavours."""
    for case in (case for chunk in CHUNKS for case in chunk[PLACEMENTS.index(placement) % 2 :: 2]):
        rule = thresholds.fit_empirical(case.y_true, case.y_score, **options(case), placement=placement)
        weights = naive.exact_weights(case.sample_weight, len(case.y_true))
        at_score = thresholds.fit_empirical(case.y_true, case.y_score, **options(case), placement="score")
        assert rule.objective == at_score.objective
        check_claim(case, rule, "macro")
        for column, (got, score) in enumerate(zip(rule.thresholds, at_score.thresholds, strict=True)):
            scores = case.y_score[:, column]
            expected = naive.place_in(scores, weights, score, placement)
            dtype = naive.threshold_dtype(scores.dtype)
            assert got == float(dtype.type(got)), "representable in the dtype of the scores"
            if dtype == np.float64 and np.isfinite(expected):  # the formula itself is computed in float64
                with np.errstate(over="ignore"):
                    near = [naive.step(expected, side, dtype) for side in (-np.inf, np.inf)]
                assert got in (expected, *near), (case.name, got, expected)
            else:
                assert got == expected, (case.name, got, expected)
            same_cut(case, column, got, score)


FITS = (*((a, True) for a in SHARED[:3]), *((a, False) for a in SHARED))
FEW = of_each_flavour(CASES, 1)


@cache
def dense_fits(missing: float) -> list[tuple[Case, np.ndarray, np.ndarray, list[thresholds.ThresholdRule]]]:
    """Cases, which of their cells are to be absent, the scores with `missing` there, and the rules of these."""
    rng, found = np.random.default_rng(7), []
    for case in FEW:
        if case.y_score.dtype.kind != "f" and missing != 0:
            continue  # Integers have no -inf.
        absent = rng.random(case.y_score.shape) < 0.5
        dense = np.where(absent, case.y_score.dtype.type(missing), case.y_score)
        rules = [thresholds.fit_empirical(case.y_true, dense, a, per_label=p, **options(case)) for a, p in FITS]
        found.append((case, absent, dense, rules))
    return found


SPARSE_KINDS = [sparse.csr_array, sparse.csc_matrix, sparse.coo_array]


@pytest.mark.each_value
@pytest.mark.parametrize("kind", SPARSE_KINDS)
@pytest.mark.parametrize("missing", [0.0, -1.0, -np.inf])
def test_sparse_equals_dense(kind: type, missing: float) -> None:
    """Of each case half of the fits, the other half with the next kind."""
    for number, (case, absent, dense, rules) in enumerate(dense_fits(missing), SPARSE_KINDS.index(kind)):
        scores = kind(sparse.coo_array((dense[~absent], np.nonzero(~absent)), shape=dense.shape))
        truths = (case.y_true, kind(case.y_true))
        half = list(zip(FITS, rules, strict=True))[number % 2 :: 2]
        for i, ((average, per_label), expected) in enumerate(half, number // 2):
            arguments = {"average": average, "per_label": per_label, "missing": missing, **options(case)}
            arguments["keep_sparse"] = False
            got = thresholds.fit_empirical(truths[i % 2], scores, **arguments)
            np.testing.assert_array_equal(got.thresholds, expected.thresholds, case.name)
            assert got.objective == expected.objective
            decided = got.predict(scores, dense=True)
            np.testing.assert_array_equal(decided, expected.predict(dense))
        top = thresholds.fit_top_k(truths[number // 2 % 2], scores, missing=missing, **options(case))
        np.testing.assert_array_equal(top.predict(scores).toarray(), top.predict(dense))


@pytest.mark.parametrize("missing", [0.0, 0.25])
def test_keep_sparse_is_the_best_cut_above_missing(missing: float) -> None:
    rng = np.random.default_rng(11)
    for case in CASES[::5]:
        if case.y_score.dtype == np.float16 or case.y_score.dtype.kind != "f":
            continue
        absent = rng.random(case.y_score.shape) < 0.4
        dense = np.where(absent, case.y_score.dtype.type(missing), case.y_score)
        scores = sparse.csr_array(sparse.coo_array((dense[~absent], np.nonzero(~absent)), shape=dense.shape))
        cuts = [naive.NEVER, *sorted({naive.plain(s) for s in dense.flat if s > missing}, reverse=True)]
        for average in SHARED:
            rule = thresholds.fit_empirical(
                case.y_true, scores, average, per_label=False, missing=missing, keep_sparse=True, **options(case)
            )
            tried = [naive.score(case.y_true, naive.decide(dense, t), average, *measure(case)) for t in cuts]
            assert rule.objective == pytest.approx(float(max(tried)), abs=CLOSE)
            assert (rule.thresholds > missing).all()
        rule = thresholds.fit_empirical(case.y_true, scores, missing=missing, keep_sparse=True, **options(case))
        best = [
            max(naive.score(case.y_true[:, [j]], naive.decide(dense[:, [j]], t), "macro", *measure(case)) for t in cuts)
            for j in range(dense.shape[1])
        ]
        assert rule.objective == pytest.approx(float(sum(best) / len(best)), abs=CLOSE)
        assert rule.objective == thresholds.metrics.fbeta_score(
            case.y_true, rule.predict(scores), average="macro", **options(case)
        )


def test_a_rule_fitted_to_sparse_scores_applies_to_sparse_scores() -> None:
    """The second label has its positive where no score is stored: to predict it always would reach more F."""
    truth = np.array([[1, 1], [0, 0]])
    scores = sparse.csr_array([[0.5, 0.0], [0.2, 0.4]])
    rule = thresholds.fit_empirical(truth, scores)
    assert rule.thresholds[1] == np.inf
    assert rule.predict(scores).toarray().tolist() == [[1, 0], [0, 0]]
    anywhere = thresholds.fit_empirical(truth, scores, keep_sparse=False)
    assert anywhere.thresholds[1] <= 0
    assert anywhere.objective > rule.objective
    with pytest.raises(thresholds.InputError, match=r"keep_sparse=False"):
        anywhere.predict(sparse.csr_array((10**7, 2)))
    dense = thresholds.fit_empirical(truth, scores.toarray())
    np.testing.assert_array_equal(dense.thresholds, anywhere.thresholds)


def test_equal_weights_count_like_none() -> None:
    rng = np.random.default_rng(17)
    for _ in range(20):
        y_true = rng.integers(0, 2, (9, 2))
        y_score = rng.integers(0, 6, (9, 2)) / 4
        weights = np.full(9, rng.choice([0.1, 0.3, 1 / 3, 1 / 7, 1e-3, 1e300, 5e-324]))
        for average, per_label in FITS:
            plain = thresholds.fit_empirical(y_true, y_score, average, per_label=per_label)
            equal = thresholds.fit_empirical(y_true, y_score, average, per_label=per_label, sample_weight=weights)
            np.testing.assert_array_equal(equal.thresholds, plain.thresholds)
            assert equal.objective == plain.objective


def test_rows_without_weight_do_not_move_a_shared_threshold() -> None:
    y_true, y_score = np.array([[1, 0], [0, 0], [0, 1]]), np.array([[0.9, 0.1], [0.8, 0.8], [0.2, 0.85]])
    for average in SHARED:
        absent = thresholds.fit_empirical(y_true[[0, 2]], y_score[[0, 2]], average, per_label=False)
        weightless = thresholds.fit_empirical(y_true, y_score, average, per_label=False, sample_weight=[1, 0, 1])
        np.testing.assert_array_equal(weightless.thresholds, absent.thresholds)


def test_ties_among_many_rows_go_to_the_smallest_k_and_the_highest_cut() -> None:
    rng = np.random.default_rng(23)
    for _ in range(75):
        n, m = rng.integers(3, 25), rng.integers(2, 8)
        case = Case(
            "tied",
            (rng.random((n, m)) < 0.4).astype(np.uint8),
            rng.integers(0, 4, (n, m)) / 4,
            None,
            1.0,
            float(rng.integers(0, 2)),
        )
        top = thresholds.fit_top_k(case.y_true, case.y_score, **options(case))
        assert top.k == naive.best_top_k(case.y_true, case.y_score, *measure(case))[0]
        shared = thresholds.fit_empirical(
            case.y_true, case.y_score, "samples", per_label=False, placement="score", **options(case)
        )
        assert shared.thresholds[0] == naive.best_shared(case.y_true, case.y_score, "samples", *measure(case))[0]


@settings(max_examples=20, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
@given(case=cases())
def test_any_small_case(case: Case) -> None:
    for average in ("macro", "weighted", "micro"):
        check_per_label(case, average)
    for average in SHARED:
        check_shared(case, average)
