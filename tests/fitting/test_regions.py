"""`fit_regions` against every union of its bins, `fit_empirical` and known densities; what a `RegionRule` decides."""

from fractions import Fraction
from functools import cache
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import sparse
from scipy.stats import norm

import thresholds
from tests.cases import Case, of_each_flavour, small_cases
from tests.naive import exhaustive as naive
from tests.naive import regions as twin
from tests.words import flat
from thresholds import RegionRule, fit_empirical, fit_regions

pytestmark = pytest.mark.each_value

Array = NDArray[np.generic]
Floats = NDArray[np.float64]
inf = float("inf")

CASES = list(small_cases(60, seed=20130715))
CHUNKS = [CASES[i::4] for i in range(4)]
AVERAGES = ("macro", "weighted", "micro")
DYADIC_BETAS = (0.5, 1.0, 2.0, 3.0)
APART = 10**9  # so many bins that each holds one distinct score
MOST_BINS = 10  # in one problem, so that all their unions can be tried
CLOSE = 1e-12

each_chunk = pytest.mark.parametrize("chunk", range(len(CHUNKS)))
each_average = pytest.mark.parametrize("average", AVERAGES)


def options(case: Case) -> dict[str, object]:
    """The arguments of a fit that a case names."""
    return {"beta": case.beta, "zero_division": case.zero_division, "sample_weight": case.sample_weight}


def measure(case: Case) -> tuple[float, float, object]:
    """The last arguments of the twin's functions."""
    return case.beta, case.zero_division, case.sample_weight


def fitted(case: Case, average: str = "macro", **more: object) -> RegionRule:
    """The regions of a case."""
    return fit_regions(case.y_true, case.y_score, average, **options(case), **more)


def is_dyadic(case: Case) -> bool:
    """Whether F of any union is the quotient of two numbers that are exact in floats, so that ties are ties."""
    return case.dyadic_weights and case.beta in DYADIC_BETAS


def groups_of(case: Case) -> list[twin.Bins]:
    """The distinct scores of each label."""
    columns = zip(case.y_true.T, case.y_score.T, strict=True)
    return [twin.groups(truth, scores, case.sample_weight) for truth, scores in columns]


@cache
def binned(case: Case, n_bins: int) -> list[twin.Bins] | None:
    """The bins of each label; None where rounding may decide which they are, or where they are too many."""
    groups = groups_of(case)
    if n_bins < APART and any(twin.is_on_an_edge(of_label, n_bins) for of_label in groups):
        return None
    bins = [twin.histogram(of_label, n_bins) for of_label in groups]
    return bins if sum(map(len, bins)) <= MOST_BINS else None


def check_claim(case: Case, rule: RegionRule, average: str) -> NDArray[np.uint8]:
    """The claimed objective is the metric of the decisions, bit for bit, and the twin's F of them."""
    decided = rule.predict(case.y_score)
    assert rule.objective == thresholds.metrics.fbeta_score(case.y_true, decided, average=average, **options(case))
    assert rule.objective == pytest.approx(float(naive.score(case.y_true, decided, average, *measure(case))), abs=CLOSE)
    return decided


def check_decisions(case: Case, bins: list[twin.Bins], unions: list[twin.Union], decided: NDArray[np.uint8]) -> None:
    """The bins of the best union are predicted, and no others."""
    for j, (of_label, union) in enumerate(zip(bins, unions, strict=True)):
        expected = twin.decide(of_label, union, case.y_score[:, j])
        np.testing.assert_array_equal(decided[expected < 2, j], expected[expected < 2], case.name)


# The best union of all


@pytest.mark.each_pair
@pytest.mark.parametrize("average", ["macro", "weighted"])
@pytest.mark.parametrize("n_bins", [2, 3, 5, APART])
@each_chunk
def test_each_label_gets_the_best_union_of_its_bins(chunk: int, n_bins: int, average: str) -> None:
    """Each average has half of the cases, of all flavours: the regions of both are the same."""
    for case in CHUNKS[chunk][AVERAGES.index(average) :: 2]:
        bins = binned(case, n_bins)
        if bins is None:
            continue
        decided = check_claim(case, fitted(case, average, n_bins=n_bins), average)
        found = [twin.best_union(list(b.values()), case.beta, case.zero_division) for b in bins]
        reached = naive.label_scores(case.y_true, decided, *measure(case))
        for got, (_, best) in zip(reached, found, strict=True):
            assert got == best if is_dyadic(case) else float(got) == pytest.approx(float(best), abs=CLOSE), case.name
        if is_dyadic(case):
            check_decisions(case, bins, [union for union, _ in found], decided)


@pytest.mark.each_value
@pytest.mark.parametrize("n_bins", [2, 3, 5, APART])
@each_chunk
def test_micro_gets_the_best_union_of_all_bins(chunk: int, n_bins: int) -> None:
    for case in CHUNKS[chunk]:
        bins = binned(case, n_bins)
        if bins is None:
            continue
        decided = check_claim(case, fitted(case, "micro", n_bins=n_bins), "micro")
        together = [b for of_label in bins for b in of_label.values()]
        union, best = twin.best_union(together, case.beta, case.zero_division)
        reached = naive.micro(case.y_true, decided, *measure(case))
        assert reached == best if is_dyadic(case) else float(reached) == pytest.approx(float(best), abs=CLOSE)
        if is_dyadic(case):
            starts = np.cumsum([0, *map(len, bins)])
            check_decisions(case, bins, [union[a:b] for a, b in pairwise(starts)], decided)


@each_average
@each_chunk
def test_the_objective_is_the_metric_of_the_predictions(chunk: int, average: str) -> None:
    """Each case meets all averages, and in turn all options."""
    more = ({}, {"posterior": "isotonic"}, {"n_bins": 4})
    for i, case in enumerate(CHUNKS[chunk], AVERAGES.index(average)):
        check_claim(case, fitted(case, average, **more[i % 3]), average)


@each_chunk
def test_more_freedom_than_a_threshold_is_never_worse(chunk: int) -> None:
    for case in CHUNKS[chunk]:
        for average in AVERAGES:
            regions = fitted(case, average, n_bins=APART)
            assert regions.objective >= fit_empirical(case.y_true, case.y_score, average, **options(case)).objective - (
                0 if is_dyadic(case) else CLOSE
            ), case.name


def test_enough_small_cases_are_decided_by_enumeration() -> None:
    for n_bins in (2, 3, 5, APART):
        assert sum(binned(case, n_bins) is not None for case in CASES) > len(CASES) / 4


def test_real_weights_do_not_round_every_bin_below_the_cut() -> None:
    """With next to no weight of recall F is the share of positives, and equal shares of a third round differently."""
    truth, scores = np.tile([1, 0, 0], 6), np.repeat(np.arange(6.0), 3)
    for seed in range(60):
        weights = np.repeat(np.random.default_rng(seed).exponential(size=6), 3)
        for posterior in ("histogram", "isotonic"):
            given = {"posterior": posterior, "beta": 1e-9, "n_bins": APART, "sample_weight": weights}
            assert fit_regions(truth, scores, **given).objective == pytest.approx(1 / 3, rel=1e-15), seed


# Theorem 5.1, with odds


def likelihood_ratio(of_bin: twin.Bin, positives: Fraction, negatives: Fraction) -> Fraction | float:
    """r p1 / ((1 - r) p0) of a bin: the densities are its shares of the positives and of the negatives."""
    hits, misses = of_bin[0], of_bin[1] - of_bin[0]
    rate = positives / (positives + negatives)
    return inf if misses == 0 else rate * (hits / positives) / ((1 - rate) * (misses / negatives))


@each_chunk
def test_a_bin_is_predicted_iff_its_odds_reach_f_over_1_plus_b_less_f(chunk: int) -> None:
    """Jaccard's index F / (2 - F) for beta = 1."""
    for case in filter(is_dyadic, CHUNKS[chunk]):
        decided = fitted(case, n_bins=APART).predict(case.y_score)
        values = naive.label_scores(case.y_true, decided, *measure(case))
        for j, (of_label, f) in enumerate(zip(groups_of(case), values, strict=True)):
            positives = sum(hits for hits, _ in of_label.values())
            negatives = sum(weight - hits for hits, weight in of_label.values())
            if not positives:
                assert not decided[:, j].any()
                continue
            asked = f / (1 + Fraction(case.beta) ** 2 - f)
            union = tuple(int(likelihood_ratio(b, positives, negatives) >= asked) for b in of_label.values())
            expected = twin.decide(of_label, union, case.y_score[:, j])
            np.testing.assert_array_equal(decided[expected < 2, j], expected[expected < 2], case.name)


# Isotonic posteriors: thresholds


@pytest.mark.each_value
@each_average
@each_chunk
def test_isotonic_regions_are_the_thresholds_of_fit_empirical(chunk: int, average: str) -> None:
    for case in CHUNKS[chunk]:
        regions = fitted(case, average, posterior="isotonic")
        rule = fit_empirical(case.y_true, case.y_score, average, **options(case))
        assert max(of_label.size for of_label in regions.switches) <= 1, "a threshold, or never"
        got, expected = regions.predict(case.y_score), rule.predict(case.y_score)
        f, best = (naive.score(case.y_true, decided, average, *measure(case)) for decided in (got, expected))
        if is_dyadic(case):
            assert regions.objective == rule.objective, case.name
            assert f == best, case.name
            assert (got >= expected).all(), "of equal sets the regions are the largest, the thresholds the smallest"
        assert regions.objective == pytest.approx(rule.objective, abs=CLOSE), case.name


@each_average
def test_isotonic_regions_of_many_samples_are_thresholds_too(average: str) -> None:
    rng = np.random.default_rng(3)
    truth = rng.random((3000, 8)) < np.geomspace(0.003, 0.6, 8)
    logits = np.round(rng.standard_normal((3000, 8)) + 1.2 * truth, 2)
    for weights in (None, rng.integers(0, 4, 3000)):
        for beta in (0.5, 1.0, 2.0):
            given = {"beta": beta, "sample_weight": weights}
            regions = fit_regions(truth, logits, average, posterior="isotonic", **given)
            rule = fit_empirical(truth, logits, average, **given)
            assert regions.objective == rule.objective
            differ = regions.predict(logits) != rule.predict(logits)
            assert differ.any(axis=0).sum() <= 1, "exact ties are rare here"


# Known densities: positives on both sides of the negatives


RATE = 0.1


def two_sided(n: int, seed: int) -> tuple[NDArray[np.uint8], Floats]:
    """Negatives are standard normal; positives are so around -2.5 or 2.5, half as wide."""
    rng = np.random.default_rng(seed)
    truth = rng.random(n) < RATE
    wing = np.where(rng.random(n) < 0.5, -2.5, 2.5) + 0.5 * rng.standard_normal(n)
    return truth.astype(np.uint8), np.where(truth, wing, rng.standard_normal(n))


def in_population(beta: float) -> tuple[float, float]:
    """The best F-beta of all regions, and the cut on |score| that reaches it, from the densities on a grid."""
    grid = np.linspace(0, 8, 80_001)
    hits = RATE * (norm.sf(grid, 2.5, 0.5) + norm.cdf(-grid, 2.5, 0.5))
    predicted = hits + (1 - RATE) * 2 * norm.sf(grid)
    f = (1 + beta**2) * hits / (beta**2 * RATE + predicted)
    return float(f.max()), float(grid[f.argmax()])


@pytest.mark.parametrize("beta", [0.5, 1.0, 2.0])
def test_regions_beat_every_threshold_where_positives_are_on_both_sides(beta: float) -> None:
    best, cut = in_population(beta)
    truth, scores = two_sided(40_000, seed=1)
    new_truth, new_scores = two_sided(40_000, seed=2)
    rule = fit_regions(truth, scores, beta=beta)
    fresh = thresholds.metrics.fbeta_score(new_truth, rule.predict(new_scores), beta=beta)
    of_any_threshold = fit_empirical(new_truth, new_scores, beta=beta).objective
    assert rule.objective > fit_empirical(truth, scores, beta=beta).objective + 0.1
    assert fresh > of_any_threshold + 0.1, "though that threshold is chosen on the new data"
    assert rule.objective == pytest.approx(best, abs=0.01)
    assert fresh == pytest.approx(best, abs=0.015)
    (switches,) = rule.switches
    assert switches[0] == scores.min()
    np.testing.assert_allclose(switches[1:], [-cut, cut], atol=0.1)


def test_the_regions_of_known_densities_are_those_of_the_likelihood_ratio() -> None:
    """Theorem 5.1: at its ends r p1 = J (1 - r) p0, J being Jaccard's index of the best F1."""
    best, cut = in_population(1.0)
    ratio = RATE * (norm.pdf(cut, 2.5, 0.5) + norm.pdf(cut, -2.5, 0.5)) / 2 / ((1 - RATE) * norm.pdf(cut))
    assert ratio == pytest.approx(best / (2 - best), rel=1e-2)


@pytest.mark.parametrize("average", ["macro", "micro"])
def test_a_label_that_needs_no_region_gets_about_its_threshold(average: str) -> None:
    rng = np.random.default_rng(5)
    truth = rng.random((20_000, 2)) < 0.2
    scores = rng.standard_normal((20_000, 2)) + 2 * truth
    regions, rule = (fit(truth, scores, average) for fit in (fit_regions, fit_empirical))
    assert all(of_label.size == 1 for of_label in regions.switches)
    np.testing.assert_allclose([s[0] for s in regions.switches], rule.thresholds, atol=0.15)
    assert rule.objective - 0.005 < regions.objective <= rule.objective


# Bins


def test_one_bin_is_all_or_nothing() -> None:
    truth, scores = two_sided(500, seed=6)
    rule = fit_regions(truth, scores, n_bins=1)
    assert rule.predict(scores).all()
    assert rule.objective == pytest.approx(2 * truth.mean() / (1 + truth.mean()), rel=1e-15)
    assert rule.switches[0].tolist() == [scores.min()]


@pytest.mark.parametrize(
    ("n_positives", "n_bins"), [(3, 2), (20, 2), (29, 2), (30, 3), (211, 21), (499, 49), (900, 50)]
)
def test_by_default_there_is_a_bin_for_ten_positives_from_2_to_50(n_positives: int, n_bins: int) -> None:
    rng = np.random.default_rng(n_positives)
    truth, scores = np.arange(2000) < n_positives, rng.standard_normal(2000)
    default, given = fit_regions(truth, scores), fit_regions(truth, scores, n_bins=n_bins)
    assert default.switches[0].tolist() == given.switches[0].tolist()
    assert default.objective == given.objective


def test_bins_hold_equal_parts_of_positives_and_negatives() -> None:
    """The twin's bins do; that the library's are the same shows where its regions begin and end."""
    rng = np.random.default_rng(7)
    seen = set()
    for _ in range(20):
        truth, scores = (rng.random(300) < 0.3).astype(np.uint8), rng.standard_normal(300)
        bins = twin.histogram(twin.groups(truth, scores), 5)
        positives, negatives = int(truth.sum()), int((1 - truth).sum())
        assert len(bins) == 5
        for hits, weight in bins.values():
            assert float(hits / positives + (weight - hits) / negatives) / 2 == pytest.approx(0.2, abs=0.02)
        union, best = twin.best_union(list(bins.values()), 1.0, 0.0)
        rule = fit_regions(truth, scores, n_bins=5)
        np.testing.assert_array_equal(rule.predict(scores), twin.decide(bins, union, scores))
        assert rule.objective == pytest.approx(float(best), rel=1e-15)
        seen.add(union)
    assert len(seen) > 3


def test_equal_scores_are_in_one_bin() -> None:
    rng = np.random.default_rng(8)
    truth, scores = rng.random(900) < 0.3, rng.integers(0, 5, 900) / 4
    rule = fit_regions(truth, scores, n_bins=1000)
    by_score = [set(rule.predict(scores)[scores == s].tolist()) for s in np.unique(scores)]
    assert all(len(decisions) == 1 for decisions in by_score)
    assert rule.objective == fit_regions(truth, scores, n_bins=5 * APART).objective


def test_a_region_ends_just_above_the_score_below() -> None:
    """1/1024 of the gap above it, as thresholds are placed."""
    truth, scores = [1, 0, 1], [0.0, 1.0, 3.0]
    rule = fit_regions(truth, scores, n_bins=APART)
    assert rule.switches[0].tolist() == [0.0, 1 / 1024, 1 + 2 / 1024]
    assert rule.predict([-1.0, 0.0, 1 / 1024, 1.0, 1 + 1 / 1024, 2.0, 99.0]).tolist() == [0, 1, 0, 0, 0, 1, 1]


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_switches_are_scores_of_the_dtype(dtype: type) -> None:
    for case in [case for case in CASES if case.y_score.dtype == dtype]:
        for of_label in fitted(case, n_bins=APART).switches:
            np.testing.assert_array_equal(of_label, of_label.astype(dtype).astype(np.float64))
            normal = np.abs(of_label) >= np.finfo(dtype).smallest_normal
            known = np.isin(of_label, case.y_score.astype(np.float64))
            assert (normal | known | (of_label == 0)).all(), "never a new subnormal"


@each_average
@pytest.mark.parametrize("zero_division", [0.0, 1.0])
def test_labels_without_positives_are_never_predicted(average: str, zero_division: float) -> None:
    truth, scores = np.array([[1, 0], [0, 0], [1, 0]]), np.array([[0.9, 0.9], [0.2, 0.5], [0.4, 0.1]])
    for posterior in ("histogram", "isotonic"):
        rule = fit_regions(truth, scores, average, posterior=posterior, zero_division=zero_division, n_bins=3)
        assert rule.switches[1].size == 0
        assert rule.predict(scores).tolist() == [[1, 0], [0, 0], [1, 0]]
        assert rule.objective == {"macro": (1 + zero_division) / 2, "weighted": 1.0, "micro": 1.0}[average]
        nothing = fit_regions(0 * truth, scores, average, posterior=posterior, zero_division=zero_division)
        assert not any(of_label.size for of_label in nothing.switches)
        assert nothing.objective == zero_division


# Sparse scores


FITS = [
    {"average": average, "posterior": posterior, "n_bins": 4}
    for posterior in ("histogram", "isotonic")
    for average in AVERAGES
]


@cache
def dense_fits(missing: float) -> list[tuple[Case, NDArray[np.bool_], Array, list[RegionRule]]]:
    """Cases, which of their cells are to be absent, the scores with `missing` there, and the regions of these."""
    rng, found = np.random.default_rng(9), []
    for case in of_each_flavour(CASES, 1):
        if case.y_score.dtype.kind != "f" and missing != 0:
            continue  # Integers have no -inf.
        absent = rng.random(case.y_score.shape) < 0.5
        dense = np.where(absent, case.y_score.dtype.type(missing), case.y_score)
        found.append((case, absent, dense, [fit_regions(case.y_true, dense, **options(case), **fit) for fit in FITS]))
    return found


SPARSE_KINDS = [sparse.csr_array, sparse.csc_matrix, sparse.coo_array]


@pytest.mark.each_value
@pytest.mark.parametrize("kind", SPARSE_KINDS)
@pytest.mark.parametrize("missing", [0.0, -1.0, -inf])
def test_fits_of_sparse_scores_equal_those_of_dense_ones(kind: type, missing: float) -> None:
    """Of each case half of the fits, the other half with the next kind."""
    for number, (case, absent, dense, rules) in enumerate(dense_fits(missing), SPARSE_KINDS.index(kind)):
        cells = kind(sparse.coo_array((dense[~absent], np.nonzero(~absent)), shape=dense.shape))
        half = list(zip(FITS, rules, strict=True))[number % 2 :: 2]
        for i, (fit, expected) in enumerate(half, number // 2):
            truth = (case.y_true, kind(case.y_true))[i % 2]
            got = fit_regions(truth, cells, missing=missing, **options(case), **fit)
            for a, b in zip(got.switches, expected.switches, strict=True):
                np.testing.assert_array_equal(a, b, case.name)
            assert got.objective == expected.objective
            decided = got.predict(cells, dense=True)
            np.testing.assert_array_equal(decided, expected.predict(dense))
            realised = thresholds.metrics.fbeta_score(truth, decided, average=fit["average"], **options(case))
            assert got.objective == realised


# What a rule decides


RULE = RegionRule([[0.2, 0.4, 0.8], [], [-inf, 0.0]])


def test_regions_hold_their_lower_ends_and_not_their_upper_ones() -> None:
    below = [np.nextafter(s, -inf) for s in (0.2, 0.4, 0.8)]
    scores = np.array([-inf, -1.0, below[0], 0.2, 0.3, below[1], 0.4, below[2], 0.8, 1e300])
    assert RegionRule([[0.2, 0.4, 0.8]]).predict(scores).tolist() == [0, 0, 0, 1, 1, 1, 0, 0, 1, 1]
    assert RegionRule([[]]).predict(scores).tolist() == [0] * 10
    assert RegionRule([[-inf, 0.0]]).predict(scores).tolist() == [1, 1] + [0] * 8
    assert RegionRule([[-inf]]).predict(scores).all()


def test_an_odd_number_of_switches_passed_is_inside(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("thresholds.rule.region._BLOCK_CELLS", 200)
    rng = np.random.default_rng(10)
    switches = [np.unique(rng.integers(-9, 10, k)) / 4 for k in (0, 1, 2, 5, 12)]
    scores = rng.integers(-12, 13, (300, 5)) / 4
    expected = [
        [sum(cut <= s for cut in of_label) % 2 for s, of_label in zip(row, switches, strict=True)] for row in scores
    ]
    rule = RegionRule(switches)
    for dtype in (np.float16, np.float32, np.float64, object):
        decided = rule.predict(scores.astype(dtype))
        assert decided.dtype == np.uint8
        np.testing.assert_array_equal(decided, expected)
    whole = np.round(scores).astype(np.int16)
    np.testing.assert_array_equal(rule.predict(whole), rule.predict(whole.astype(float)))


def test_signed_zeros_are_one_number() -> None:
    for switch in (0.0, -0.0):
        assert RegionRule([[switch]]).predict([0.0, -0.0, -5e-324]).tolist() == [1, 1, 0]


@pytest.mark.parametrize("narrow", [np.float16, np.float32])
def test_narrow_scores_decide_alike_in_both_precisions(narrow: type) -> None:
    scores = np.linspace(-1, 1, 301).astype(narrow)
    between = np.nextafter(scores.astype(np.float64)[::7], inf)
    rule = RegionRule([between])
    np.testing.assert_array_equal(rule.predict(scores), rule.predict(scores.astype(np.float64)))


def test_one_threshold_is_a_region() -> None:
    scores = np.random.default_rng(11).standard_normal((50, 2))
    expected = thresholds.ThresholdRule([0.25, inf]).predict(scores)
    np.testing.assert_array_equal(RegionRule([[0.25], []]).predict(scores), expected)


@pytest.mark.parametrize("missing", [0.0, 0.3, -inf])
@pytest.mark.parametrize(
    "kind", [sparse.csr_array, sparse.csr_matrix, sparse.csc_array, sparse.coo_matrix, sparse.lil_array]
)
def test_sparse_scores_are_decided_as_dense_ones(kind: type, missing: float) -> None:
    rng = np.random.default_rng(12)
    dense = rng.integers(-4, 5, (60, 4)) / 4
    row, column = np.nonzero(rng.random(dense.shape) < 0.5)
    cells = sparse.csr_array((dense[row, column], (row, column)), shape=dense.shape)
    filled = np.full(dense.shape, missing)
    filled[row, column] = dense[row, column]
    stored = np.zeros(dense.shape, bool)
    stored[row, column] = True
    rule = RegionRule([[-1.0, -0.5, 0.25, 0.75], [], [-0.75, -0.25, 0.5], [0.5]], missing=missing)
    everywhere = rule.predict(kind(cells), dense=True)
    assert type(everywhere) is np.ndarray
    assert everywhere.dtype == np.uint8
    np.testing.assert_array_equal(everywhere, rule.predict(filled))
    if rule.predicts_missing:
        with pytest.raises(thresholds.InputError, match=r"^y_score is sparse, and missing=0.3 .* label 0.*dense=True"):
            rule.predict(kind(cells))
        return
    decided = rule.predict(kind(cells))
    np.testing.assert_array_equal(decided.toarray(), rule.predict(filled))
    assert decided.format == "csr"
    assert decided.dtype == np.uint8
    assert isinstance(decided, sparse.spmatrix) == issubclass(kind, sparse.spmatrix)
    assert (decided.data == 1).all()
    assert decided.has_canonical_format


def test_an_empty_sparse_matrix_is_decided() -> None:
    assert RegionRule([[0.5], []]).predict(sparse.csr_array((4, 2))).nnz == 0
    assert RegionRule([[-0.5], [0.5]]).predict(sparse.csr_array((4, 2)), dense=True).tolist() == [[1, 0]] * 4


@pytest.mark.parametrize("container", [list, tuple, np.array])
def test_one_dimension_stays_one_dimension(container: type) -> None:
    assert RegionRule([[0.2, 0.4]]).predict(container([0.1, 0.3, 0.5])).tolist() == [0, 1, 0]
    assert RegionRule([[0.2, 0.4]]).predict([[0.1], [0.3]]).tolist() == [[0], [1]]


# Files and words


def test_a_saved_rule_decides_alike(tmp_path: Path) -> None:
    truth, scores = two_sided(2000, seed=13)
    scores[:5] = -inf
    truth, scores = np.column_stack([truth, 0 * truth]), np.column_stack([scores, scores])
    rule = fit_regions(truth, scores, "micro", beta=1 / 3, zero_division=1.0, label_names=["á", "b"], missing=-inf)
    rule.save(tmp_path / "rule.json")
    loaded = thresholds.load_rule(tmp_path / "rule.json")
    assert isinstance(loaded, RegionRule)
    assert [s.tobytes() for s in loaded.switches] == [s.tobytes() for s in rule.switches]
    assert loaded.to_dict() == rule.to_dict()
    assert (loaded.label_names, loaded.missing, loaded.objective) == (("á", "b"), -inf, rule.objective)
    np.testing.assert_array_equal(loaded.predict(scores), rule.predict(scores))


def test_what_a_rule_says_of_itself() -> None:
    truth, scores = two_sided(2000, seed=14)
    rule = fit_regions(truth, scores, label_names=["both sides"])
    expected = (
        f"macro F1, regions of scores for 1 label (1 of them more than one threshold): objective {rule.objective:.4f}"
    )
    assert flat(rule) == f"{expected} (in-sample, unguarded)"
    assert str(RULE) == "regions of scores for 3 labels (2 of them more than one threshold), not fitted"
    assert (rule.average, rule.beta, rule.label_names, rule.n_labels) == ("macro", 1.0, ("both sides",), 1)


@each_average
def test_threads_do_not_matter(average: str) -> None:
    rng = np.random.default_rng(15)
    truth, scores = rng.random((400, 60)) < 0.2, rng.standard_normal((400, 60))
    first = fit_regions(truth, scores, average, n_jobs=1)
    for n_jobs in (2, 3, None, -1):
        other = fit_regions(truth, scores, average, n_jobs=n_jobs)
        assert [s.tobytes() for s in other.switches] == [s.tobytes() for s in first.switches]
        assert other.objective == first.objective
