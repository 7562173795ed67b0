"""`fit_expected` with one threshold for each label, and `expected_f`, against every set and every outcome.

Rules of expected counts are tried against all sets of cells, rules of the exact expectation against all thresholds.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from itertools import pairwise

import numpy as np
import pytest
from numpy.random import Generator
from numpy.typing import NDArray
from scipy import sparse

import thresholds
from tests.naive import exhaustive as naive
from tests.naive import expected as witness
from thresholds import expected_f, fit_expected

pytestmark = pytest.mark.each_value

Array = NDArray[np.generic]
Shape = tuple[int, int]
inf = float("inf")

SHAPES = [(n, m) for n in range(1, 9) for m in range(1, 5) if n * m <= 8]
FLOATS = [np.dtype(np.float64), np.dtype(np.float32), np.dtype(np.float16)]
BETAS = [0.1, 0.5, 1.0, 1.37, 2.0, 10.0]
DYADIC_BETAS = [0.5, 1.0, 2.0, 10.0]
AVERAGES = ("macro", "weighted", "micro", "samples")
CLOSE = Fraction(1, 10**12)  # relative
FLOOR = Fraction(1, 10**306)  # below it, floats have too few digits to be close
SAME_MEAN = Fraction(1, 2**49)  # means of F that are closer than that may change places in a shared cut


# Cases


@dataclass(frozen=True, eq=False)
class Case:
    """One problem without labels; `probabilities` is (n_samples, n_labels)."""

    name: str
    probabilities: Array
    sample_weight: Array | None
    beta: float
    zero_division: float

    @property
    def measure(self) -> tuple[float, float]:
        """What F is meant."""
        return self.beta, self.zero_division

    @property
    def options(self) -> dict[str, object]:
        """The same as arguments of the library."""
        return {"beta": self.beta, "zero_division": self.zero_division}

    @property
    def weighted(self) -> dict[str, object]:
        """The same with the weights of the rows."""
        return self.options | {"sample_weight": self.sample_weight}

    @property
    def weights(self) -> list[Fraction]:
        """The weight of each row."""
        return naive.exact_weights(self.sample_weight, len(self.probabilities))

    @property
    def dyadic(self) -> bool:
        """Whether sums of expected counts, and break-even probabilities that are floats, are exact in floats."""
        coarse = (self.probabilities.astype(np.float64) * 64 % 1 == 0).all()
        eighths = self.sample_weight is None or np.all(self.sample_weight * 8 % 1 == 0)
        return bool(coarse and eighths) and self.beta in DYADIC_BETAS


def quarters(rng: Generator, shape: Shape, dtype: np.dtype) -> Array:
    """Mostly ties, with 0 and 1."""
    return rng.integers(0, 5, shape) / 4


def sixteenths(rng: Generator, shape: Shape, dtype: np.dtype) -> Array:
    """Some ties, mostly small."""
    return rng.integers(0, 17, shape) * rng.integers(0, 2, shape) / 16


def continuous(rng: Generator, shape: Shape, dtype: np.dtype) -> Array:
    """No ties, from rare to sure."""
    return rng.random(shape) ** rng.choice([0.2, 1, 5])


def rounded(rng: Generator, shape: Shape, dtype: np.dtype) -> Array:
    """One decimal: ties that are no dyadic numbers."""
    return np.round(rng.random(shape), 1)


def tiny(rng: Generator, shape: Shape, dtype: np.dtype) -> Array:
    """Far apart, from 1e-300 on."""
    return rng.choice([0, 1e-300, 3e-300, 1e-160, 1e-30, 1e-7, 1e-3], shape)


def tiny_beside_large(rng: Generator, shape: Shape, dtype: np.dtype) -> Array:
    """Next to nothing in some labels, quarters in others."""
    return np.where(rng.random(shape[1]) < 0.5, tiny(rng, shape, dtype), quarters(rng, shape, dtype))


def subnormal(rng: Generator, shape: Shape, dtype: np.dtype) -> Array:
    """Subnormals of the dtype and their nearest normals."""
    least, normal = np.finfo(dtype).smallest_subnormal, np.finfo(dtype).smallest_normal
    return rng.choice(np.array([0, least, 3 * least, normal / 2, normal, 2 * normal], dtype), shape)


def nearly_sure(rng: Generator, shape: Shape, dtype: np.dtype) -> Array:
    """1 and the floats below it."""
    return 1 - rng.integers(0, 3, shape) * np.float64(np.finfo(dtype).epsneg)


def neighbours(rng: Generator, shape: Shape, dtype: np.dtype) -> Array:
    """Floats next to each other around a quarter, a half and a third, and 1."""
    start = dtype.type(rng.choice([0.25, 0.5, 1 / 3]))
    chain = [start, np.nextafter(start, dtype.type(0)), np.nextafter(start, dtype.type(1)), dtype.type(1)]
    return rng.choice(np.array(chain), shape)


def zero_or_one(rng: Generator, shape: Shape, dtype: np.dtype) -> Array:
    """Certainty."""
    return rng.integers(0, 2, shape)


def mostly_absent(rng: Generator, shape: Shape, dtype: np.dtype) -> Array:
    """Zeros, with whole labels of them."""
    return rng.random(shape) * (rng.random(shape) < 0.3) * (rng.random(shape[1]) < 0.7)


def constant(rng: Generator, shape: Shape, dtype: np.dtype) -> Array:
    """One value in each label."""
    return np.tile(rng.random(shape[1]) ** rng.choice([0.3, 4]), (shape[0], 1))


FLAVOURS: dict[str, Callable[[Generator, Shape, np.dtype], Array]] = {
    "quarters": quarters,
    "sixteenths": sixteenths,
    "continuous": continuous,
    "rounded": rounded,
    "tiny": tiny,
    "tiny beside large": tiny_beside_large,
    "subnormal": subnormal,
    "nearly sure": nearly_sure,
    "neighbours": neighbours,
    "zero or one": zero_or_one,
    "mostly absent": mostly_absent,
    "constant": constant,
}


def draw_weights(rng: Generator, n_samples: int) -> Array | None:
    """No weights, whole ones with zeros, eighths, or reals; never all zero."""
    kind = rng.choice(["none", "none", "whole", "eighths", "reals"])
    if kind == "none":
        return None
    weights = rng.integers(0, 4, n_samples).astype(np.float64)
    if kind == "eighths":
        weights = rng.integers(0, 17, n_samples) / 8
    if kind == "reals":
        weights = rng.exponential(size=n_samples) * (rng.random(n_samples) < 0.8)
    return weights if weights.sum() > 0 else weights + 1


def draw_cases(count: int, seed: int) -> Iterator[Case]:
    """`count` cases that go round the flavours; case i depends on the seed and i alone."""
    for i in range(count):
        rng = np.random.default_rng([seed, i])
        flavour, dtype = list(FLAVOURS)[i % len(FLAVOURS)], rng.choice(FLOATS)
        shape = SHAPES[rng.integers(len(SHAPES))]
        p = FLAVOURS[flavour](rng, shape, dtype)
        p = p.astype(np.int64 if flavour == "zero or one" and rng.random() < 0.3 else dtype)
        name = f"{seed}-{i}-{flavour}-{p.dtype}"
        yield Case(name, p, draw_weights(rng, shape[0]), float(rng.choice(BETAS)), float(rng.integers(0, 2)))


CASES = list(draw_cases(192, seed=20130712))
CHUNKS = [CASES[i::12] for i in range(12)]
FEW = CASES[::13]  # of all twelve flavours

each_chunk = pytest.mark.parametrize("chunk", range(len(CHUNKS)))
each_half = pytest.mark.parametrize("half", range(2))


def is_close(got: float, expected: Fraction) -> bool:
    """Equal to twelve digits."""
    return abs(Fraction(got) - expected) <= CLOSE * expected + FLOOR


def reaches(value: Fraction, best: Fraction) -> bool:
    """No less than the best, to twelve digits."""
    return value >= best - CLOSE * best - FLOOR


def decide_alike(
    p: Array, got: thresholds.ThresholdRule, expected: thresholds.ThresholdRule, labels: Array | None = None
) -> bool:
    """The same decisions, of labels in another order, but for probabilities as near to the threshold as rounding."""
    labels = np.arange(p.shape[1]) if labels is None else labels
    moved = got.predict(p[:, labels])
    near = np.abs(p - expected.thresholds) <= 1e-13 * p
    return bool((near | (expected.predict(p) == moved[:, np.argsort(labels)])).all())


def random_decisions(case: Case, seed: int) -> NDArray[np.uint8]:
    """Decisions that have nothing to do with the probabilities, at times none or all."""
    rng = np.random.default_rng(seed)
    return (rng.random(case.probabilities.shape) < rng.choice([0.0, 0.4, 0.7, 1.0])).astype(np.uint8)


def as_csr(p: Array, seed: int, stored_zeros: bool = True) -> sparse.csr_array:
    """The same in CSR, about half of the zeros stored."""
    stored = p > 0
    if stored_zeros:
        stored |= np.random.default_rng(seed).random(p.shape) < 0.5
    return sparse.csr_array(sparse.coo_array((p[stored], np.nonzero(stored)), shape=p.shape))


# F of expected counts: the maximum over all sets


def check_claim(case: Case, rule: thresholds.ThresholdRule, average: str) -> NDArray[np.uint8]:
    """The claimed objective is that of the decisions, bit for bit, and the twin's F of them."""
    decided = rule.predict(case.probabilities)
    realised = expected_f(case.probabilities, decided, average, exact=False, **case.weighted)
    assert rule.objective == realised, case.name
    twin = witness.SOFT[average](case.probabilities, decided, *case.measure, case.sample_weight)
    assert is_close(rule.objective, twin), (case.name, rule.objective, float(twin))
    return decided


def check_threshold(case: Case, got: float, f: Fraction, dtype: np.dtype) -> None:
    """The threshold is F* / (1 + B), rounded up; a unit in the last place off where sums are not exact."""
    exact = witness.break_even(f, case.beta)
    expected = naive.round_up(exact, dtype)
    if case.dyadic and (dtype.itemsize < 8 or expected == exact):
        assert got == expected, (case.name, got, expected)
    near = [expected, *(naive.step(expected, side, dtype) for side in (-inf, inf))]
    assert got in near or is_close(got, exact), (case.name, got, expected)


def supported_labels(case: Case) -> NDArray[np.bool_]:
    """Labels that are possible in a row with weight."""
    counted = np.array([w > 0 for w in case.weights])
    return (case.probabilities[counted] > 0).any(axis=0)


@pytest.mark.each_value
@pytest.mark.parametrize("average", ["macro", "weighted"])
@each_chunk
def test_labels_reach_the_best_set_of_expected_counts(average: str, chunk: int) -> None:
    """Each average has half of the cases, of all flavours: the thresholds of both are the same."""
    for case in CHUNKS[chunk][AVERAGES.index(average) :: 2]:
        p = case.probabilities
        rule = fit_expected(p, average, **case.weighted)
        decided = check_claim(case, rule, average)
        values = witness.soft_labels(p, decided, *case.measure, case.sample_weight)
        supported = supported_labels(case)
        np.testing.assert_array_equal(rule.unsupported, ~supported, case.name)
        for j, value in enumerate(values):
            chosen, best = witness.best_soft_set(p[:, j], case.weights, *case.measure)
            assert reaches(value, best), (case.name, j, float(value), float(best))
            if supported[j]:
                check_threshold(case, rule.thresholds[j], best, naive.threshold_dtype(p.dtype))
            else:
                assert rule.thresholds[j] == inf
            if case.dyadic:
                counted = np.array([w > 0 for w in case.weights])
                np.testing.assert_array_equal(decided[counted, j], np.array(chosen)[counted], case.name)


@pytest.mark.each_value
@each_half
@each_chunk
def test_micro_reaches_the_best_set_of_all_cells(chunk: int, half: int) -> None:
    for case in CHUNKS[chunk][half::2]:
        p = case.probabilities
        rule = fit_expected(p, "micro", **case.weighted)
        decided = check_claim(case, rule, "micro")
        cells, weights = naive.pooled(p, case.sample_weight)
        chosen, best = witness.best_soft_set(cells, weights, *case.measure)
        value = witness.soft_micro(p, decided, *case.measure, case.sample_weight)
        assert reaches(value, best), (case.name, float(value), float(best))
        finite = rule.thresholds[np.isfinite(rule.thresholds)]
        assert (finite == finite[:1]).all(), "one threshold for all labels"
        np.testing.assert_array_equal(rule.unsupported, ~supported_labels(case), case.name)
        for threshold in finite[:1]:
            check_threshold(case, threshold, best, naive.threshold_dtype(p.dtype))
        if case.dyadic:
            counted = np.array([w > 0 for w in weights])
            np.testing.assert_array_equal(decided.ravel()[counted], np.array(chosen)[counted], case.name)


@pytest.mark.each_value
@pytest.mark.parametrize("average", AVERAGES)
@each_chunk
def test_one_threshold_for_all_labels_reaches_the_best_cut(average: str, chunk: int) -> None:
    """Each average has half of the cases, of all flavours."""
    for case in CHUNKS[chunk][AVERAGES.index(average) % 2 :: 2]:
        rule = fit_expected(case.probabilities, average, per_label=False, **case.weighted)
        decided = check_claim(case, rule, average)
        best = witness.best_soft_shared(case.probabilities, average, *case.measure, case.sample_weight)
        value = witness.SOFT[average](case.probabilities, decided, *case.measure, case.sample_weight)
        equal = 0 if average == "micro" else SAME_MEAN
        assert reaches(value + equal, best), (case.name, float(value), float(best))
        finite = rule.thresholds[np.isfinite(rule.thresholds)]
        assert (finite == finite[:1]).all()
        if average == "micro":
            pooled = fit_expected(case.probabilities, average, **case.weighted)
            counted = np.array([w > 0 for w in case.weights])
            np.testing.assert_array_equal(pooled.predict(case.probabilities)[counted], decided[counted], case.name)
            assert pooled.objective == rule.objective


# The boundary


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("average", ["macro", "weighted", "micro"])
def test_a_probability_at_the_threshold_is_predicted(average: str, dtype: np.dtype) -> None:
    p = np.array([[1.0], *[[0.25]] * 8], dtype)  # F1 of {1} is 2 / (3 + 1), of all 2 * 3 / (3 + 9)
    rule = fit_expected(p, average)
    assert rule.objective == 0.5
    assert rule.thresholds.tolist() == [0.25]
    assert rule.predict(p).all()
    assert fit_expected(as_csr(p.astype(np.float64), 0), average).thresholds.tolist() == [0.25]


@pytest.mark.parametrize("dtype", FLOATS)
def test_a_probability_just_below_the_threshold_is_not(dtype: np.dtype) -> None:
    p = np.array([[1.0], *[[0.25]] * 8], dtype)
    p[4] = np.nextafter(p[4], dtype.type(0))
    decided = fit_expected(p).predict(p)[:, 0]
    best, f = witness.best_soft_set(p[:, 0], [Fraction(1)] * 9, 1.0, 0.0)
    assert f > Fraction(1, 2)
    assert best == (1, *[0] * 8)
    assert reaches(witness.soft_labels(p, decided[:, None], 1.0, 0.0)[0], f)
    assert tuple(decided) == best or dtype == np.float64, "53 bits of F* do not tell"


def test_thresholds_round_up_into_the_dtype_of_the_input() -> None:
    for dtype in FLOATS:
        p = np.array([[1.0], [0.5], [0.25]], dtype)  # {1, .5}: 2 * 1.5 / (1.75 + 2) = .8
        rule = fit_expected(p)
        assert rule.objective == pytest.approx(0.8, rel=1e-15)
        assert rule.thresholds[0] == naive.round_up(Fraction(2, 5), dtype)
        assert rule.thresholds[0] == float(dtype.type(rule.thresholds[0]))
        assert float(rule.thresholds[0]) >= Fraction(2, 5)


@pytest.mark.parametrize("beta", BETAS)
def test_one_possible_cell_is_predicted_however_improbable(beta: float) -> None:
    for p in (1.0, 0.5, 1e-5, 1e-300, 2.3e-308, 5e-324):
        for exact in (False, True) if p > 1e-310 else (False,):
            rule = fit_expected([[p], [0.0]], beta=beta, exact=exact)
            assert rule.predict([[p], [0.0]]).tolist() == [[1], [0]], (p, exact)
            assert 0 < rule.thresholds[0] <= p
            assert not rule.unsupported[0]


def test_the_objective_is_that_of_the_decisions_where_f_is_too_small_for_a_float() -> None:
    p = np.array([[5e-324], *9 * [[0.0]]])
    rule = fit_expected(p)
    assert rule.objective == expected_f(p, rule.predict(p), exact=False) == 1e-323


@pytest.mark.parametrize("average", ["macro", "weighted", "micro"])
@pytest.mark.parametrize("zero_division", [0.0, 1.0])
@pytest.mark.parametrize("per_label", [True, False])
def test_impossible_labels_are_unsupported(average: str, zero_division: float, per_label: bool) -> None:
    p = np.array([[0.0, 0.5], [0.0, 0.0]])
    rule = fit_expected(p, average, zero_division=zero_division, per_label=per_label)
    assert rule.unsupported.tolist() == [True, False]
    assert rule.predict(p).tolist() == [[0, 1], [0, 0]]
    of_second = 2 * 0.5 / (0.5 + 1)
    expected = {"macro": (zero_division + of_second) / 2, "weighted": of_second, "micro": of_second}
    assert rule.objective == pytest.approx(expected[average], rel=1e-15)
    none = fit_expected(np.zeros((3, 2)), average, zero_division=zero_division, per_label=per_label)
    assert none.unsupported.all()
    assert (none.thresholds == inf).all()
    assert none.objective == zero_division


# The exact expectation: the maximum over all thresholds


@pytest.mark.each_value
@each_half
@each_chunk
def test_exact_thresholds_reach_the_best_cut(chunk: int, half: int) -> None:
    for case in CHUNKS[chunk][half::2]:
        p = case.probabilities
        rule = fit_expected(p, exact=True, **case.options)
        decided = rule.predict(p)
        assert rule.objective == expected_f(p, decided, "macro", **case.options, exact=True), case.name
        values = []
        for j, column in enumerate(p.T):
            cuts = witness.values_of_cuts(column, *case.measure)
            predicted = [naive.plain(x) for x, h in zip(column, decided[:, j], strict=True) if h]
            assert rule.thresholds[j] == min(predicted, default=inf), (case.name, j)
            values.append(cuts[min(predicted, default=naive.NEVER)])
            best = max(cuts.values())
            assert reaches(values[-1], best), (case.name, j, float(values[-1]), float(best))
            smaller = [value for t, value in cuts.items() if t > rule.thresholds[j]]
            assert max(smaller, default=-1) < values[-1], (case.name, j, "of equal sets the smallest wins")
        assert is_close(rule.objective, sum(values, Fraction(0)) / len(values)), case.name


def test_exact_ties_go_to_the_smallest_set() -> None:
    p = [[1.0, 0.5], [0.5, 0.5]]  # {1} and {1, .5} are both worth 5/6
    assert fit_expected(p, exact=True).predict(p).tolist() == [[1, 1], [0, 1]]
    one = [[0.5]]  # with zero_division=1 nothing and all are both worth 1/2
    assert fit_expected(one, exact=True, zero_division=1.0).predict(one).tolist() == [[0]]
    assert fit_expected(one, exact=True, zero_division=1.0).thresholds.tolist() == [inf]


@pytest.mark.parametrize("beta", BETAS)
@pytest.mark.parametrize("zero_division", [0.0, 1.0])
def test_exact_thresholds_of_long_columns(beta: float, zero_division: float) -> None:
    rng = np.random.default_rng(31)
    for n, mean in ((40, 0.3), (100, 0.02), (350, 2.0), (350, 120.0)):
        drawn = rng.random(n) ** 6
        p = np.minimum(drawn * mean / drawn.sum(), 1.0)
        for column in (p, np.round(p, 2) if mean > 1 else np.round(p, 4)):
            values = witness.values_of_top_k(column, beta, zero_division)
            ordered = column[witness.by_probability(column)]
            ends = [0, *(k for k in range(1, n + 1) if ordered[k - 1] > 0 and (k == n or ordered[k] < ordered[k - 1]))]
            rule = fit_expected(column, exact=True, beta=beta, zero_division=zero_division)
            k = int(rule.predict(column).sum())
            assert k in ends, "whole tie groups"
            assert rule.thresholds[0] == (ordered[k - 1] if k else inf)
            assert values[k] == pytest.approx(values[ends].max(), rel=1e-11)
            assert rule.objective == pytest.approx(values[k], rel=1e-11)


def test_exact_fits_know_the_number_of_samples() -> None:
    """With 0/0 = 1 a hopeless label is left alone as long as all its samples may well be negative."""
    few, many = np.full(10, 0.01), np.full(2000, 0.01)
    assert not fit_expected(few, exact=True, zero_division=1.0).predict(few).any()
    assert fit_expected(many, exact=True, zero_division=1.0).predict(many).all()
    assert fit_expected(few, exact=True).predict(few).all()
    assert fit_expected(few, zero_division=1.0).predict(few).all(), "expected counts are never 0/0"


# Expected F of given decisions


@pytest.mark.each_value
@each_half
@each_chunk
def test_expected_f_is_the_mean_over_outcomes(chunk: int, half: int) -> None:
    for i, case in enumerate(CHUNKS[chunk][half::2]):
        p, h = case.probabilities, random_decisions(case, i)
        labels = witness.value_of_labels(p, h, *case.measure)
        per_label = expected_f(p, h, None, **case.options, exact=True)
        assert all(is_close(got, f) for got, f in zip(per_label, labels, strict=True)), case.name
        macro = sum(labels, Fraction(0)) / len(labels)
        assert is_close(expected_f(p, h, **case.options, exact=True), macro), case.name
        assert is_close(
            expected_f(p, h, "micro", **case.options, exact=True), witness.value_of_cells(p, h, *case.measure)
        )
        samples = witness.value_of_samples(p, h, *case.measure, case.sample_weight)
        assert is_close(expected_f(p, h, "samples", **case.weighted, exact=True), samples), case.name
        weighted = witness.value_of_long_weighted(p, h, *case.measure)
        assert expected_f(p, h, "weighted", **case.options, exact=True) == pytest.approx(
            weighted, rel=1e-11, abs=1e-300
        )


def test_expected_weighted_f_is_the_mean_over_outcomes() -> None:
    for i, case in enumerate(CASES[::7]):
        p, h = case.probabilities, random_decisions(case, i)
        exact = witness.value_over_outcomes(p, h, "weighted", *case.measure)
        assert is_close(expected_f(p, h, "weighted", **case.options, exact=True), exact), case.name


@pytest.mark.each_value
@each_half
@each_chunk
def test_f_of_expected_counts_is_that_of_soft_labels(chunk: int, half: int) -> None:
    for i, case in enumerate(CHUNKS[chunk][half::2]):
        p, h = case.probabilities, random_decisions(case, i)
        for average in AVERAGES:
            exact = witness.SOFT[average](p, h, *case.measure, case.sample_weight)
            got = expected_f(p, h, average, exact=False, **case.weighted)
            assert is_close(got, exact), (case.name, average, got, float(exact))
        labels = witness.soft_labels(p, h, *case.measure, case.sample_weight)
        got = expected_f(p, h, None, exact=False, **case.weighted)
        assert all(is_close(*pair) for pair in zip(got, labels, strict=True)), case.name


@pytest.mark.parametrize("beta", BETAS)
@pytest.mark.parametrize("scale", [0.003, 0.1, 1.0])
def test_expected_f_of_long_columns(beta: float, scale: float) -> None:
    rng = np.random.default_rng(37)
    p = scale * rng.random((250, 3)) ** 3
    h = (rng.random(p.shape) < p / scale).astype(np.uint8)
    options = {"beta": beta, "zero_division": 1.0, "exact": True}
    per_label = [witness.value_of_long(p[:, j], h[:, j], beta, 1.0) for j in range(3)]
    np.testing.assert_allclose(expected_f(p, h, None, **options), per_label, rtol=1e-11)
    assert expected_f(p, h, "macro", **options) == pytest.approx(np.mean(per_label), rel=1e-11)
    assert expected_f(p, h, "micro", **options) == pytest.approx(witness.value_of_long(p, h, beta, 1.0), rel=1e-11)
    weighted = witness.value_of_long_weighted(p, h, beta, 1.0)
    assert expected_f(p, h, "weighted", **options) == pytest.approx(weighted, rel=1e-11)
    rows = [witness.value_of_long(p[i], h[i], beta, 1.0) for i in range(50)]
    assert expected_f(p[:50], h[:50], "samples", **options) == pytest.approx(np.mean(rows), rel=1e-11)


# The form of the input


@cache
def dense_fits() -> list[tuple[int, Case, list[tuple[dict[str, object], thresholds.ThresholdRule]]]]:
    """Some cases, their numbers, and all fits of each with their arguments."""
    found = []
    for i, case in enumerate(FEW):
        if case.probabilities.dtype == np.float16:
            continue  # SciPy has no sparse float16.
        fits = [(average, per_label, False) for per_label in (True, False) for average in AVERAGES[:3]]
        given = [
            {"average": average, "per_label": per_label, "exact": exact} | (case.options if exact else case.weighted)
            for average, per_label, exact in [*fits, ("macro", True, True)]
        ]
        found.append((i, case, [(arguments, fit_expected(case.probabilities, **arguments)) for arguments in given]))
    return found


@pytest.mark.parametrize("kind", [sparse.csr_array, sparse.csc_matrix, sparse.coo_array])
def test_sparse_equals_dense(kind: type) -> None:
    for i, case, fits in dense_fits():
        p = case.probabilities
        entries = kind(as_csr(p, i))
        for arguments, expected in fits:
            got = fit_expected(entries, **arguments)
            np.testing.assert_array_equal(got.thresholds, expected.thresholds, case.name)
            np.testing.assert_array_equal(got.unsupported, expected.unsupported, case.name)
            assert got.objective == expected.objective, (case.name, arguments)
            decided = got.predict(entries)
            assert sparse.issparse(decided)
            np.testing.assert_array_equal(decided.toarray(), expected.predict(p))


@pytest.mark.parametrize("exact", [True, False])
def test_expected_f_of_sparse_input_equals_dense(exact: bool) -> None:
    for i, case in enumerate(FEW):
        p, h = case.probabilities, random_decisions(case, i)
        if p.dtype == np.float16:
            continue
        for average in AVERAGES:
            given = case.options if exact and average != "samples" else case.weighted
            dense = expected_f(p, h, average, exact=exact, **given)
            for probabilities in (p, as_csr(p, i)):
                for decided in (h, sparse.csr_array(h), as_csr(h, i)):
                    got = expected_f(probabilities, decided, average, exact=exact, **given)
                    assert got == pytest.approx(dense, rel=1e-13, abs=1e-300), (case.name, average)


@pytest.mark.parametrize("exact", [True, False])
def test_any_number_of_threads_gives_the_same_bits(exact: bool) -> None:
    rng = np.random.default_rng(41)
    p = rng.random((700, 150)) ** 4
    for probabilities in (p, as_csr(np.where(p > 0.1, p, 0), 0)):
        for average in ("macro",) if exact else AVERAGES[:3]:
            rules = [fit_expected(probabilities, average, exact=exact, n_jobs=n) for n in (1, 3, -1)]
            for rule in rules[1:]:
                assert rule.thresholds.tobytes() == rules[0].thresholds.tobytes()
                assert rule.objective == rules[0].objective
        h = rules[0].predict(probabilities)
        for average in AVERAGES if not exact else ("macro", "micro", "samples"):
            values = {expected_f(probabilities, h, average, exact=exact, n_jobs=n) for n in (1, 3, -1)}
            assert len(values) == 1, average


def test_one_dimension_is_one_label() -> None:
    p = [0.9, 0.4, 0.1]
    for exact in (True, False):
        flat, column = fit_expected(p, exact=exact), fit_expected(np.array(p)[:, None], exact=exact)
        assert flat.thresholds.tolist() == column.thresholds.tolist()
        assert flat.predict(p).shape == (3,)
        h = flat.predict(p)
        assert expected_f(p, h, exact=exact) == flat.objective == column.objective


def test_names_of_labels_are_kept() -> None:
    assert fit_expected([[0.5, 0.1]], label_names=["a", "b"]).label_names == ("a", "b")


# What must not matter, and what must


def test_the_order_of_samples_and_labels_does_not_matter() -> None:
    for i, case in enumerate(FEW):
        rng = np.random.default_rng(i)
        p, rows, columns = case.probabilities, *map(rng.permutation, case.probabilities.shape)
        weights = None if case.sample_weight is None else case.sample_weight[rows]
        for average in AVERAGES[:3]:
            rule = fit_expected(p, average, **case.weighted)
            turned = fit_expected(p[rows], average, **case.options, sample_weight=weights)
            moved = fit_expected(p[:, columns], average, **case.weighted)
            if case.dyadic:
                np.testing.assert_array_equal(turned.thresholds, rule.thresholds, case.name)
                np.testing.assert_array_equal(moved.thresholds, rule.thresholds[columns], case.name)
            assert decide_alike(p, turned, rule), case.name
            assert decide_alike(p, moved, rule, columns), case.name
            for other in (turned, moved):
                assert other.objective == pytest.approx(rule.objective, rel=1e-14, abs=1e-300)
        exact, turned, moved = (fit_expected(x, exact=True, **case.options) for x in (p, p[rows], p[:, columns]))
        np.testing.assert_array_equal(turned.thresholds, exact.thresholds, case.name)
        np.testing.assert_array_equal(moved.thresholds, exact.thresholds[columns], case.name)


def test_duplicated_rows_are_rows_of_weight_two() -> None:
    for case in FEW:
        p, n = case.probabilities, len(case.probabilities)
        twice, weights = np.concatenate([p, p[: n // 2]]), np.repeat([2.0, 1.0], [n // 2, n - n // 2])
        for average in AVERAGES[:3]:
            for per_label in (True, False):
                given = {"average": average, "per_label": per_label, **case.options}
                rule, weighted = fit_expected(twice, **given), fit_expected(p, **given, sample_weight=weights)
                assert weighted.objective == pytest.approx(rule.objective, rel=1e-13, abs=1e-300), case.name
                if case.dyadic:
                    np.testing.assert_array_equal(rule.thresholds, weighted.thresholds, case.name)


def test_rows_without_weight_and_impossible_rows_change_nothing() -> None:
    for case in FEW:
        p, n = case.probabilities, len(case.probabilities)
        more = np.concatenate([p, p])
        weights = np.repeat([1.0, 0.0], n)
        for average in AVERAGES[:3]:
            rule = fit_expected(p, average, **case.options)
            weightless = fit_expected(more, average, **case.options, sample_weight=weights)
            impossible = fit_expected(np.concatenate([p, np.zeros_like(p)]), average, **case.options)
            for other in (weightless, impossible):
                assert decide_alike(p, other, rule), case.name
                assert other.objective == pytest.approx(rule.objective, rel=1e-13, abs=1e-300)
        exact = fit_expected(p, exact=True, **case.options)
        impossible = fit_expected(np.concatenate([p, np.zeros_like(p)]), exact=True, **case.options)
        np.testing.assert_array_equal(impossible.thresholds, exact.thresholds, case.name)


def test_a_common_factor_of_weights_does_not_matter() -> None:
    for case in FEW:
        if case.sample_weight is None:
            continue
        for average in AVERAGES[:3]:
            rule = fit_expected(case.probabilities, average, **case.weighted)
            for factor in (8.0, 2.0**-40, 3.0):
                scaled = fit_expected(
                    case.probabilities, average, **case.options, sample_weight=factor * case.sample_weight
                )
                assert scaled.objective == pytest.approx(rule.objective, rel=1e-13, abs=1e-300), case.name


def test_sets_grow_with_beta() -> None:
    """F* / (1 + B) is the largest tp / (B P + c), which falls as B grows."""
    for case in FEW:
        p = case.probabilities
        for average in ("macro", "micro"):
            rules = [fit_expected(p, average, beta=beta, sample_weight=case.sample_weight) for beta in BETAS]
            for low, high in pairwise(rules):
                assert (high.thresholds <= low.thresholds * (1 + 1e-15)).all(), case.name
                assert (high.predict(p) >= low.predict(p)).all()


def test_objectives_are_in_order() -> None:
    for case in FEW:
        p, b = case.probabilities, case.beta**2
        for average in AVERAGES[:3]:
            own = fit_expected(p, average, **case.weighted)
            shared = fit_expected(p, average, per_label=False, **case.weighted)
            assert own.objective >= shared.objective * (1 - 1e-14)
            finite = own.thresholds[np.isfinite(own.thresholds)].astype(naive.threshold_dtype(p.dtype))
            highest = naive.round_up(1 / (1 + Fraction(case.beta) ** 2), naive.threshold_dtype(p.dtype))
            assert (finite <= highest * (1 + 1e-15)).all(), "F* is at most 1"
        exact = fit_expected(p, exact=True, **case.options)
        soft = fit_expected(p, **case.options)
        assert exact.objective >= expected_f(p, soft.predict(p), **case.options, exact=True) * (1 - 1e-12)
        decided = exact.predict(p)
        for j in np.flatnonzero(decided.any(axis=0)):
            hits, k = float(p[:, j] @ decided[:, j].astype(np.float64)), int(decided[:, j].sum())
            value = expected_f(p[:, j], decided[:, j], **case.options, exact=True)
            assert value <= (1 + b) * hits / (b * hits + k) * (1 + 1e-12), "Jensen's inequality"


def test_raising_a_predicted_probability_raises_f() -> None:
    rng = np.random.default_rng(43)
    for _ in range(40):
        p = rng.random(8) * 0.9
        rule = fit_expected(p)
        sure = int(np.argmax(p))
        raised = p.copy()
        raised[sure] += 0.1
        assert fit_expected(raised).objective > rule.objective
        if not rule.predict(p).all():
            lowered = np.where(rule.predict(p), p, 0)
            assert fit_expected(lowered).objective >= rule.objective, "what is not predicted only adds to P"


@pytest.mark.parametrize("average", ["macro", "weighted", "micro"])
@pytest.mark.parametrize("per_label", [True, False])
def test_certain_labels_are_labels(average: str, per_label: bool) -> None:
    for case in [case for case in CASES if "zero or one" in case.name]:
        p = case.probabilities
        soft = fit_expected(p, average, per_label=per_label, **case.weighted)
        hard = thresholds.fit_empirical(p.astype(np.uint8), p, average, per_label=per_label, **case.weighted)
        np.testing.assert_array_equal(soft.unsupported, hard.unsupported, case.name)
        assert soft.objective == pytest.approx(hard.objective, rel=1e-15), case.name
        counted = np.array([w > 0 for w in case.weights])
        np.testing.assert_array_equal(soft.predict(p)[counted], hard.predict(p)[counted], case.name)
        if case.sample_weight is None and per_label and average == "macro":
            exact = fit_expected(p, exact=True, **case.options)
            assert exact.objective == pytest.approx(hard.objective, rel=1e-15)


# Many samples


@pytest.mark.parametrize(
    ("dtype", "beta", "weighted"),
    [
        (np.float64, 0.5, False),
        (np.float32, 0.5, True),
        (np.float64, 1.0, True),
        (np.float32, 1.0, False),
        (np.float64, 1.37, False),
        (np.float32, 1.37, True),
    ],
)
def test_many_samples_equal_sorting(dtype: type, beta: float, weighted: bool) -> None:
    rng = np.random.default_rng(47)
    n = 50_000
    p = np.stack([rng.random(n), rng.random(n) ** 40, np.full(n, 0.003), np.round(rng.random(n), 2)], axis=1)
    p, weights = p.astype(dtype), rng.exponential(size=n) if weighted else np.ones(n)
    given = {"beta": beta, "sample_weight": weights if weighted else None}
    macro, micro = (fit_expected(p, average, **given) for average in ("macro", "micro"))
    decided = macro.predict(p)
    best = [witness.best_soft_prefix(column, weights, beta) for column in p.T]
    assert macro.objective == pytest.approx(np.mean([f for f, _ in best]), rel=1e-13)
    assert decided.sum(axis=0).tolist() == [k for _, k in best]
    relative = 1e-11 if dtype == np.float64 else 1.2e-7  # plain sums of 50,000 floats; the dtype's last bit
    np.testing.assert_allclose(macro.thresholds, [f / (1 + beta**2) for f, _ in best], rtol=relative)
    f, k = witness.best_soft_prefix(p.ravel(), np.repeat(weights, p.shape[1]), beta)
    assert micro.objective == pytest.approx(f, rel=1e-13)
    assert micro.predict(p).sum() == k
    np.testing.assert_allclose(micro.thresholds, f / (1 + beta**2), rtol=relative)
    assert macro.objective == expected_f(p, decided, exact=False, **given)
    assert micro.objective == expected_f(p, micro.predict(p), "micro", exact=False, **given)


@pytest.mark.parametrize("average", ["macro", "weighted"])
def test_one_threshold_for_many_samples_equals_trying_all(average: str) -> None:
    rng = np.random.default_rng(53)
    p = np.round(rng.random((20_000, 5)) ** np.array([1, 2, 4, 8, 30]), 2)
    rule = fit_expected(p, average, per_label=False)
    tried = [expected_f(p, p >= t, average, exact=False) for t in np.arange(1, 101) / 100]
    assert rule.objective == pytest.approx(max(tried), rel=1e-13)
    assert (rule.thresholds == rule.thresholds[0]).all()


# Refusals


@pytest.mark.parametrize(
    "arguments",
    [
        {"average": "micro", "exact": True},
        {"average": "weighted", "exact": True},
        {"exact": True, "per_label": False},
        {"exact": True, "sample_weight": [1.0, 2.0]},
        {"average": "nonsense"},
        {"beta": 0.0},
        {"zero_division": 0.5},
        {"sample_weight": [1.0, -2.0]},
        {"sample_weight": [0.0, 0.0]},
    ],
)
def test_fits_that_are_not_offered_are_refused(arguments: dict[str, object]) -> None:
    with pytest.raises(thresholds.InputError):
        fit_expected([[0.5], [0.2]], **arguments)


@pytest.mark.parametrize("p", [[[1.5], [0.2]], [[-0.1], [0.2]], [[np.nan], [0.2]], [[inf], [0.2]], [], [["a"], ["b"]]])
def test_what_is_no_probability_is_refused(p: object) -> None:
    for refused in (
        lambda: fit_expected(p),
        lambda: fit_expected(p, "samples"),
        lambda: expected_f(p, [[1], [0]]),
        lambda: expected_f(p, [[1], [0]], exact=False),
    ):
        with pytest.raises(thresholds.InputError):
            refused()


@pytest.mark.parametrize("average", ["macro", "weighted", "micro", None])
def test_weights_of_rows_are_refused_where_rows_are_outcomes(average: str | None) -> None:
    with pytest.raises(thresholds.InputError, match="sample_weight"):
        expected_f([[0.5], [0.2]], [[1], [0]], average, exact=True, sample_weight=[1.0, 2.0])


# Defaults


@pytest.mark.parametrize("average", ["macro", "weighted", "micro"])
def test_the_objective_is_the_expected_f_of_the_decisions_by_default(average: str) -> None:
    p = np.random.default_rng(5).random((40, 3)) ** 3
    rule = fit_expected(p, average)
    assert rule.objective == expected_f(p, rule.predict(p), average)


def test_sets_of_rows_are_of_the_exact_expectation_whether_or_not_it_is_asked_for() -> None:
    p = np.random.default_rng(5).random((40, 3)) ** 3
    rule = fit_expected(p, "samples", exact=True)
    assert rule.to_dict() == fit_expected(p, "samples").to_dict()
    assert rule.objective == expected_f(p, rule.predict(p), "samples", exact=True)
