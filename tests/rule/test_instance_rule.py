"""`InstanceRule`: the set of labels of each row, against all sets, and against recursions where rows are long."""

import math
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from numpy.random import Generator
from numpy.typing import NDArray
from scipy import sparse

import thresholds
from tests.naive import expected as witness
from thresholds import InstanceRule, expected_f, fit_expected

pytestmark = pytest.mark.each_value

Array = NDArray[np.generic]
Floats = NDArray[np.float64]

BETAS = [0.1, 0.5, 1.0, 1.37, 2.0, 10.0]
ZERO_DIVISIONS = [0.0, 1.0]
CLOSE = 1e-12


def any_measure(function: Callable[..., None]) -> Callable[..., None]:
    """Try a function with every beta and every value of 0/0."""
    return pytest.mark.parametrize("beta", BETAS)(pytest.mark.parametrize("zero_division", ZERO_DIVISIONS)(function))


# Rows of probabilities


def continuous(rng: Generator, width: int) -> Floats:
    """From rare to sure."""
    return rng.random(width) ** rng.choice([0.3, 1, 4])


def levels(rng: Generator, width: int) -> Floats:
    """Quarters and tenths, with ties, 0 and 1."""
    return rng.integers(0, 5, width) / 4 if rng.random() < 0.5 else np.round(rng.random(width), 1)


def rare(rng: Generator, width: int) -> Floats:
    """Far less than one label in all, or next to nothing."""
    return rng.random(width) * rng.choice([1e-1, 1e-2, 1e-6, 1e-30, 1e-300])


def sure_and_rare(rng: Generator, width: int) -> Floats:
    """1, nearly 1, 0 and small ones."""
    return rng.choice([0, 1e-9, 1e-3, 0.2, 0.999, 1 - 2.0**-53, 1], width)


def equal(rng: Generator, width: int) -> Floats:
    """One probability for all labels, or for all but one."""
    row = np.full(width, rng.random() ** rng.choice([1, 4]))
    row[rng.integers(width)] = rng.choice([row[0], rng.random()])
    return row


FLAVOURS: list[Callable[[Generator, int], Floats]] = [continuous, levels, rare, sure_and_rare, equal]


def draw_rows(count: int, width: int, seed: int) -> Floats:
    """Rows that go round the flavours."""
    rng = np.random.default_rng([seed, width])
    return np.array([FLAVOURS[i % len(FLAVOURS)](rng, width) for i in range(count)])


# What every prediction must be


def sizes_of_top_sets(p: Floats, decided: Array) -> list[int]:
    """How many labels each row predicts, having checked that they are its most probable, first ones first."""
    sizes = []
    for row, h in zip(p, decided, strict=True):
        size = int(h.sum())
        order = witness.by_probability(row)
        assert sorted(order[:size]) == np.flatnonzero(h).tolist(), (row, h)
        assert not h[row == 0].any(), "what is impossible is never predicted"
        sizes.append(size)
    return sizes


def check_size(values: Floats, size: int, where: object) -> None:
    """The value of the top set is the highest, and no smaller one is as high, to twelve digits."""
    best = values.max()
    assert values[size] >= best * (1 - 3 * CLOSE) - 1e-306, (where, size, values)
    assert not (values[:size] >= best * (1 - CLOSE / 3)).any() or best < 1e-306, (where, size, values)


@pytest.mark.each_value
@any_measure
@pytest.mark.parametrize("width", range(1, 9))
def test_short_rows_get_the_best_of_all_sets(width: int, beta: float, zero_division: float) -> None:
    p = draw_rows(60, width, seed=1)
    rule = InstanceRule(beta, zero_division)
    decided = rule.predict(p)
    assert decided.dtype == np.uint8
    assert decided.shape == p.shape
    sets, values = witness.values_of_all_sets(p, beta, zero_division)
    sizes = sizes_of_top_sets(p, decided)
    for row, h, size, of_sets in zip(p, decided, sizes, values, strict=True):
        (chosen,) = np.flatnonzero((sets == h).all(axis=1))
        assert of_sets[chosen] >= of_sets.max() - CLOSE
        check_size(witness.values_of_top_k(row, beta, zero_division), size, row)
    mean = values[np.arange(len(p)), [np.flatnonzero((sets == h).all(axis=1))[0] for h in decided]].mean()
    assert expected_f(p, decided, "samples", beta, zero_division, exact=True) == pytest.approx(mean, rel=CLOSE)


@pytest.mark.parametrize("zero_division", ZERO_DIVISIONS)
@pytest.mark.parametrize("beta", BETAS)
def test_exact_arithmetic_agrees(beta: float, zero_division: float) -> None:
    for width in (2, 3, 5):
        p = draw_rows(10, width, seed=2)
        for row, h in zip(p, InstanceRule(beta, zero_division).predict(p), strict=True):
            joint = witness.independent(row)
            _, best = witness.best_set(joint, beta, zero_division)
            value = witness.value_of_set(joint, tuple(map(int, h)), beta, zero_division)
            assert value >= best * (1 - Fraction(2, 10**12)), row


@pytest.mark.parametrize("dtype", [np.float32, np.float16, np.uint8, np.bool_])
def test_probabilities_of_any_dtype_count_for_what_they_are(dtype: type) -> None:
    rng = np.random.default_rng(3)
    p = rng.integers(0, 2, (50, 4)).astype(dtype) if dtype in (np.uint8, np.bool_) else rng.random((50, 4))
    p = p.astype(dtype)
    np.testing.assert_array_equal(InstanceRule().predict(p), InstanceRule().predict(p.astype(np.float64)))
    if dtype in (np.uint8, np.bool_):
        np.testing.assert_array_equal(InstanceRule(2.0, 1.0).predict(p), p)


def long_row(rng: Generator, width: int, mean: float) -> Floats:
    """A skewed row with so many labels expected, or a few less."""
    drawn = rng.random(width) ** rng.choice([1, 3, 8])
    return np.minimum(drawn * mean / drawn.sum(), 1.0)


WIDTHS = (*range(9, 33, 3), 33, 40, 47, 48, 49, 60, 64, 65, 100, 200)


# `make soak` tries every pair of two of these, `make test` each value.
@pytest.mark.each_value
@pytest.mark.parametrize(
    ("width", "beta", "zero_division"),
    [(width, beta, float((i + j) % 2)) for i, width in enumerate(WIDTHS) for j, beta in enumerate(BETAS)],
)
def test_long_rows_get_the_best_top_set(width: int, beta: float, zero_division: float) -> None:
    rng = np.random.default_rng([4, width])
    means = [0.01, 0.4, 1.0, 3.0, width / 3, 0.9 * width]
    p = np.array([long_row(rng, width, mean) for mean in means if mean < width])
    if width % 2:
        p = np.round(p, 2)
    decided = InstanceRule(beta, zero_division).predict(p)
    for row, size in zip(p, sizes_of_top_sets(p, decided), strict=True):
        check_size(witness.values_of_top_k(row, beta, zero_division), size, (width, row.sum()))


@pytest.mark.parametrize(("beta", "zero_division"), [(0.1, 1.0), (1.0, 0.0), (1.37, 1.0), (10.0, 0.0)])
def test_rows_of_a_thousand_labels(beta: float, zero_division: float) -> None:
    rng = np.random.default_rng(5)
    p = np.array([long_row(rng, 1000, mean) for mean in (0.05, 2.0, 40.0, 600.0)])
    decided = InstanceRule(beta, zero_division).predict(p)
    top = []
    for row, size in zip(p, sizes_of_top_sets(p, decided), strict=True):
        values = witness.values_of_top_k(row, beta, zero_division)
        check_size(values, size, row.sum())
        top.append(values[size])
    assert expected_f(p, decided, "samples", beta, zero_division, exact=True) == pytest.approx(np.mean(top), rel=1e-11)


def test_values_need_not_rise_and_then_fall() -> None:
    row = np.array([0.7505, 0.3149, 0.3102, 0.2753, 0.0525, 0.0478, 0.0034])
    values = witness.values_of_top_k(row, 1.0, 0.0)
    assert values[1] > values[2] < values[3]
    assert InstanceRule().predict(row[None]).tolist() == [[1, 1, 1, 0, 0, 0, 0]]


def test_rows_whose_values_have_several_peaks() -> None:
    example = np.array([0.7505, 0.3149, 0.3102, 0.2753, 0.0525, 0.0478, 0.0034])
    p = example * np.random.default_rng(6).normal(1, 0.03, (400, 7))
    found = 0
    for row, h in zip(p, InstanceRule().predict(p), strict=True):
        values = witness.values_of_top_k(row, 1.0, 0.0)
        rises = np.diff(values) > 0
        if (rises[1:] > rises[:-1]).any():
            found += 1
            check_size(values, int(h.sum()), row)
    assert found > 100


# Extreme rows


@pytest.mark.each_value
@any_measure
@pytest.mark.parametrize("width", [1, 2, 5, 31, 32, 33, 500])
def test_sure_labels_and_nothing_else(width: int, beta: float, zero_division: float) -> None:
    rule = InstanceRule(beta, zero_division)
    assert rule.predict(np.ones((1, width))).all()
    assert not rule.predict(np.zeros((1, width))).any()
    mixed = np.arange(width)[None] % 3 == 1
    np.testing.assert_array_equal(rule.predict(mixed.astype(np.float64)), mixed)


def equal_value(n: int, p: float, beta: float, k: int | None = None) -> float:
    """E F of predicting k (or all) of n equal labels: (1 + B) k p E[1 / (B (1 + S) + k)], S binomial of n - 1."""
    b, mean, k = beta**2, (n - 1) * p, n if k is None else k
    width = 40 * math.sqrt(mean + 1) + 40
    s = np.arange(max(0, int(mean - width)), min(n - 1, int(mean + width)) + 1)
    log_chance = np.array(
        [
            math.lgamma(n) - math.lgamma(x + 1) - math.lgamma(n - x) + x * math.log(p) + (n - 1 - x) * math.log1p(-p)
            for x in s.tolist()
        ]
    )
    chance = np.exp(log_chance - log_chance.max())
    return (1 + b) * k * p * float((chance / (b * (1 + s) + k)).sum() / chance.sum())


@pytest.mark.each_value
@pytest.mark.parametrize(
    ("p", "beta"),
    [(1e-7, 0.5), (1e-7, 2.0), (1e-5, 1.0), (1e-5, 10.0), (1e-3, 0.5), (1e-3, 2.0), (0.2, 1.0), (0.2, 10.0)],
)
def test_a_million_equal_labels(p: float, beta: float) -> None:
    n = 1_000_000
    row = np.full((1, n), p)
    value = equal_value(n, p, beta)
    for zero_division in ZERO_DIVISIONS:
        rule = InstanceRule(beta, zero_division)
        nothing = zero_division * math.exp(n * math.log1p(-p))
        decided = rule.predict(row)[0]
        size = int(decided.sum())
        assert decided[:size].all(), "first labels first"
        if value > nothing:  # a few less may be worth the same, to twelve digits
            assert equal_value(n, p, beta, size) >= value * (1 - 3 * CLOSE)
        else:
            assert size == 0
    assert expected_f(row, np.ones((1, n), np.uint8), "samples", beta, exact=True) == pytest.approx(value, rel=1e-8)


def test_the_closed_form_of_equal_labels_agrees_with_the_recursion() -> None:
    for n, p, beta in ((2, 0.5, 1.0), (50, 0.01, 2.0), (300, 0.3, 0.5)):
        assert equal_value(n, p, beta) == pytest.approx(witness.values_of_top_k(np.full(n, p), beta, 0.0)[n], rel=1e-10)


@pytest.mark.parametrize("beta", [0.5, 1.0, 2.0])
def test_a_million_labels_of_which_few_matter(beta: float) -> None:
    rng = np.random.default_rng(7)
    row = np.full(1_000_000, 1e-9)
    where = np.sort(rng.choice(row.size, 300, replace=False))
    row[where] = long_row(rng, 300, 4.0)
    order = where[witness.by_probability(row[where])]
    decided = InstanceRule(beta).predict(row[None])[0]
    size = int(decided.sum())
    assert sorted(order[:size]) == np.flatnonzero(decided).tolist()
    values = witness.values_of_prefixes([*row[order], 1e-3], beta, 0.0)  # the rest is one label of a thousandth
    assert values[size] >= values.max() - 1e-6


# Ties


def test_equal_probabilities_are_predicted_together() -> None:
    """Along equal ones the value is convex in their number, so that all or none of them are best."""
    p = np.random.default_rng(8).integers(0, 4, (500, 40)) / 8
    for beta in (0.5, 1.0, 2.0):
        decided = InstanceRule(beta).predict(p)
        sizes_of_top_sets(p, decided)
        lowest = np.where(decided, p, 1).min(axis=1, keepdims=True)
        np.testing.assert_array_equal(decided, p >= lowest)


def test_first_labels_first_among_equals_that_exclude_each_other() -> None:
    """Label 2 comes with three of thirty others, 70 times in 100; 0 and 1 come alone, 8 times each; one joins 2."""
    draws = np.zeros((100, 33), np.uint8)
    draws[:70, 2] = draws[70:78, 0] = draws[78:86, 1] = 1
    for i in range(70):
        draws[i, 3 + 3 * (i % 10) : 6 + 3 * (i % 10)] = 1
    joint = witness.of_draws(draws)
    values = [witness.value_of_set(joint, (*head, *[0] * 30), 1.0, 0.0) for head in ((0, 0, 1), (1, 0, 1), (1, 1, 1))]
    assert values[0] < values[1] > values[2]
    for given in (draws, draws[::-1]):
        decided = InstanceRule().predict_from_samples(given[:, None])
        assert decided.tolist() == [[1, 0, 1, *[0] * 30]]


def test_equal_values_go_to_the_smallest_set() -> None:
    assert InstanceRule().predict([[0.5, 1.0]]).tolist() == [[0, 1]]  # both 5/6
    assert InstanceRule(zero_division=1.0).predict([[0.5]]).tolist() == [[0]]  # both 1/2
    assert InstanceRule(zero_division=0.0).predict([[0.5]]).tolist() == [[1]]


# Theorems 5.3 and 5.4 of Lipton et al., as far as they hold


@any_measure
def test_whatever_is_predicted_has_at_least_half_of_f(beta: float, zero_division: float) -> None:
    """Theorem 5.3, one direction: p >= F* / (1 + B). The other holds in the limit only."""
    for width in (2, 5, 8, 60):
        p = draw_rows(60 if width < 60 else 10, width, seed=9)
        decided = InstanceRule(beta, zero_division).predict(p)
        for row, h in zip(p, decided, strict=True):
            best = witness.values_of_top_k(row, beta, zero_division).max()
            assert (row[h == 1] >= best / (1 + beta**2) * (1 - CLOSE)).all(), row


def test_a_probability_above_half_of_f_may_be_left_out() -> None:
    row = np.array([0.989, 0.453])
    values = witness.values_of_top_k(row, 1.0, 0.0)
    np.testing.assert_allclose(values[1:], [0.8392, 0.8118], rtol=0.001)
    assert row[1] > values.max() / 2
    assert InstanceRule().predict(row[None]).tolist() == [[1, 0]]


@pytest.mark.parametrize("beta", BETAS)
@pytest.mark.parametrize("b", [0.9, 0.5, 0.1, 0.01, 1e-4])
def test_equal_labels_are_predicted_all_or_never(b: float, beta: float) -> None:
    """Theorem 5.4: all of them where 0/0 is 0. Where it is 1: none, as long as there may well be none."""
    for n in (1, 2, 5, 20, 33, 100, 1000):
        row = np.full((1, n), b)
        assert InstanceRule(beta).predict(row).all(), n
        all_of_them, nothing = equal_value(n, b, beta), (1 - b) ** n
        if abs(all_of_them - nothing) > 1e-9:
            expected = all_of_them > nothing
            np.testing.assert_array_equal(InstanceRule(beta, 1.0).predict(row), np.full((1, n), expected), str(n))


def test_the_number_of_labels_at_which_equal_ones_become_worth_predicting() -> None:
    """About ln((1 + b) / (2 b)) expected labels: 8.5 for b = 1e-4, 6.2 for 1e-3, 3.9 for .01, 1.7 for .1."""
    for b, mean in ((1e-4, 8.5), (1e-3, 6.2), (0.01, 3.9), (0.1, 1.7)):
        rule, n = InstanceRule(zero_division=1.0), mean / b
        assert not rule.predict(np.full((1, int(n * 0.9)), b)).any()
        assert rule.predict(np.full((1, int(n * 1.15)), b)).all()


def test_what_is_decided_depends_on_the_batch() -> None:
    """The batch observation: .1 is predicted as the best of its row, and not beside ten of .5."""
    assert InstanceRule().predict([[0.1, 0.05]])[0, 0] == 1
    row = np.append(np.full(10, 0.5), 0.1)[None]
    assert InstanceRule().predict(row).tolist() == [[1] * 10 + [0]]
    column = fit_expected(row.T, exact=True)
    assert column.predict(row.T).T.tolist() == [[1] * 10 + [0]]


def test_a_row_and_a_column_of_the_same_probabilities_decide_alike() -> None:
    for row in draw_rows(60, 6, seed=10):
        distinct = np.unique(row[row > 0])
        if len(distinct) < (row > 0).sum():
            continue  # A threshold takes all equal ones or none.
        for zero_division in ZERO_DIVISIONS:
            column = fit_expected(row, exact=True, zero_division=zero_division)
            instance = InstanceRule(zero_division=zero_division)
            np.testing.assert_array_equal(column.predict(row), instance.predict(row[None])[0])


# A tail of labels that are given by sums of powers alone


def power_sums(tail: Floats, order: int) -> Floats:
    """Sum of p, of p^2, ... of the columns that are left out."""
    return np.stack([(tail**r).sum(axis=1) for r in range(1, order + 1)], axis=1)


def best_with_tail(head: Floats, tail: Floats, beta: float, zero_division: float) -> Floats:
    """E F of the top k of the head in the whole row."""
    order = witness.by_probability(head)
    return witness.values_of_prefixes([*head[order], *tail], beta, zero_division)[: len(head) + 1]


@pytest.mark.each_pair
@pytest.mark.parametrize(
    ("highest", "order", "loss"), [(1e-4, 1, 1e-6), (0.01, 2, 1e-5), (0.1, 4, 1e-9), (0.02, 4, 1e-11)]
)
@pytest.mark.parametrize("zero_division", ZERO_DIVISIONS)
@pytest.mark.parametrize("width", [4, 20, 70])
def test_power_sums_stand_for_a_tail(width: int, highest: float, order: int, loss: float, zero_division: float) -> None:
    rng = np.random.default_rng([11, width])
    head = np.array([long_row(rng, width, mean) for mean in (0.1, 0.5, 1.0, 2.0, 3.0)])
    tail = highest * rng.random((5, 200))
    for beta in (0.5, 1.37) if (order + zero_division) % 2 else (1.0, 2.0):
        decided = InstanceRule(beta, zero_division).predict(head, tail=power_sums(tail, order))
        assert decided.shape == head.shape
        for row, rest, size in zip(head, tail, sizes_of_top_sets(head, decided), strict=True):
            values = best_with_tail(row, rest, beta, zero_division)
            assert values[size] >= values.max() - loss, (size, values)


def test_a_tail_changes_decisions_as_the_whole_row_does() -> None:
    rng = np.random.default_rng(12)
    head, tail = 0.2 + 0.6 * rng.random((200, 5)), rng.uniform(0, 0.02, (200, 300))
    rule = InstanceRule(1.0, 1.0)
    whole = rule.predict(np.hstack([head, tail]))
    assert not whole[:, 5:].any()
    with_tail = rule.predict(head, tail=power_sums(tail, 4))
    np.testing.assert_array_equal(with_tail, whole[:, :5])
    assert (rule.predict(head) != with_tail).any()


def test_no_tail_is_a_tail_of_zeros() -> None:
    p = draw_rows(50, 6, seed=13)
    plain = InstanceRule(2.0, 1.0).predict(p)
    for zeros in (np.zeros(50), np.zeros((50, 1)), np.zeros((50, 4))):
        np.testing.assert_array_equal(InstanceRule(2.0, 1.0).predict(p, tail=zeros), plain)


def test_one_dimension_of_tail_is_the_sum() -> None:
    p, mass = draw_rows(50, 6, seed=14), np.linspace(0, 3, 50)
    for beta in (0.5, 1.0, 2.0):
        rule = InstanceRule(beta, 1.0)
        np.testing.assert_array_equal(rule.predict(p, tail=mass), rule.predict(p, tail=mass[:, None]))


def test_a_tail_of_nothing_but_sums_is_poisson() -> None:
    """Sum p = .7 alone says a Poisson number of further labels; many small ones are nearly that."""
    head = np.array([[0.6, 0.3, 0.2]])
    decided = InstanceRule(1.0, 1.0).predict(head, tail=[0.7])
    values = best_with_tail(head[0], np.full(1000, 7e-4), 1.0, 1.0)
    assert decided.sum() == values.argmax()


def test_sparse_rows_with_a_tail() -> None:
    p = draw_rows(60, 12, seed=15)
    tail = power_sums(0.1 * np.random.default_rng(15).random((60, 12)), 3)
    expected = InstanceRule(1.0, 1.0).predict(p, tail=tail)
    got = InstanceRule(1.0, 1.0).predict(sparse.csr_array(p), tail=tail)
    np.testing.assert_array_equal(got.toarray(), expected)


# The form of the input


@pytest.mark.parametrize("kind", [sparse.csr_array, sparse.csr_matrix, sparse.csc_array, sparse.coo_array])
def test_sparse_equals_dense(kind: type) -> None:
    rng = np.random.default_rng(16)
    for width in (3, 20, 100, 700):
        p = draw_rows(40, width, seed=16) * (rng.random((40, width)) < 0.3)
        stored = (p > 0) | (rng.random(p.shape) < 0.2)
        entries = kind(sparse.coo_array((p[stored], np.nonzero(stored)), shape=p.shape))
        for beta, zero_division in ((1.0, 0.0), (0.5, 1.0)):
            rule = InstanceRule(beta, zero_division)
            expected, got = rule.predict(p), rule.predict(entries)
            assert sparse.issparse(got)
            assert got.format == "csr"
            assert got.dtype == np.uint8
            assert (got.data == 1).all(), "only what is predicted is stored"
            np.testing.assert_array_equal(got.toarray(), expected)
            np.testing.assert_array_equal(rule.predict(entries, dense=True), expected)


def test_any_number_of_threads_decides_alike() -> None:
    p = draw_rows(3000, 60, seed=17)
    first = InstanceRule(1.37, 1.0).predict(p, n_jobs=1)
    for n_jobs in (2, 3, None, -1):
        np.testing.assert_array_equal(InstanceRule(1.37, 1.0).predict(p, n_jobs=n_jobs), first)


def test_rows_are_decided_on_their_own() -> None:
    p = draw_rows(200, 9, seed=18)
    rule = InstanceRule(2.0, 1.0)
    together = rule.predict(p)
    np.testing.assert_array_equal(np.vstack([rule.predict(row[None]) for row in p]), together)
    np.testing.assert_array_equal(rule.predict(p[::-1]), together[::-1])


def test_the_order_of_labels_matters_to_ties_alone() -> None:
    rng = np.random.default_rng(19)
    p, columns = rng.random((300, 25)) ** 3, rng.permutation(25)
    np.testing.assert_array_equal(InstanceRule().predict(p[:, columns]), InstanceRule().predict(p)[:, columns])


@pytest.mark.parametrize("weights", [None, [1.0, 2.0, 0.0, 0.5] * 10])
def test_fit_expected_of_samples_is_the_rule_with_its_objective(weights: list[float] | None) -> None:
    p = draw_rows(40, 6, seed=20)
    for beta, zero_division in ((1.0, 0.0), (0.5, 1.0)):
        rule = fit_expected(p, "samples", beta=beta, zero_division=zero_division, sample_weight=weights)
        assert isinstance(rule, InstanceRule)
        assert (rule.beta, rule.zero_division) == (beta, zero_division)
        decided = rule.predict(p)
        np.testing.assert_array_equal(decided, InstanceRule(beta, zero_division).predict(p))
        assert rule.objective == expected_f(
            p, decided, "samples", beta, zero_division, exact=True, sample_weight=weights
        )
        values = [witness.values_of_top_k(row, beta, zero_division).max() for row in p]
        assert rule.objective == pytest.approx(np.average(values, weights=weights), rel=1e-11)


def test_no_other_rule_is_better_row_by_row() -> None:
    rng = np.random.default_rng(21)
    p = rng.random((200, 12)) ** 3
    best = expected_f(p, InstanceRule().predict(p), "samples", exact=True)
    for decided in (p >= 0.5, p >= 0.3, fit_expected(p, "micro").predict(p), fit_expected(p).predict(p)):
        assert expected_f(p, decided, "samples", exact=True) <= best


@pytest.mark.parametrize(("beta", "zero_division", "names"), [(1.0, 0.0, None), (1 / 3, 1.0, ("a", "b", "ς"))])
def test_a_saved_rule_decides_alike(
    beta: float, zero_division: float, names: tuple[str, ...] | None, tmp_path: Path
) -> None:
    p = draw_rows(100, 3, seed=22)
    fitted = fit_expected(p, "samples", beta=beta, zero_division=zero_division, label_names=names)
    for rule in (fitted, InstanceRule(beta, zero_division, names)):
        rule.save(tmp_path / "rule.json")
        loaded = thresholds.load_rule(tmp_path / "rule.json")
        assert isinstance(loaded, InstanceRule)
        assert loaded == rule == InstanceRule.from_dict(rule.to_dict())
        assert (loaded.objective, loaded.label_names) == (rule.objective, names)
        assert rule.to_dict()["kind"] == "instance"
        np.testing.assert_array_equal(loaded.predict(p), rule.predict(p))


# Dependent labels


def draw_joint(rng: Generator, width: int) -> witness.Joint:
    """Random probabilities of some of all sets, in 64ths or so."""
    masses = rng.integers(0, 9, 2**width) * (rng.random(2**width) < rng.choice([0.3, 1.0]))
    masses[rng.integers(2**width)] += 1
    return {y: Fraction(int(mass)) for y, mass in zip(witness.all_sets(width), masses, strict=True) if mass}


def tables(joints: list[witness.Joint]) -> tuple[Floats, Floats]:
    """GFM's matrix of each joint distribution, and the probability of no label."""
    exact = [witness.by_size(joint) for joint in joints]
    return np.array([table for table, _ in exact], dtype=float), np.array([float(none) for _, none in exact])


def check_joint(joint: witness.Joint, decided: Array, beta: float, zero_division: float) -> None:
    """The set is as good as the best of all sets."""
    _, best = witness.best_set(joint, beta, zero_division)
    value = witness.value_of_set(joint, tuple(map(int, decided)), beta, zero_division)
    assert value >= best * (1 - Fraction(2, 10**12)), (joint, decided, float(value), float(best))


@any_measure
def test_joint_matrices_give_the_best_of_all_sets(beta: float, zero_division: float) -> None:
    rng = np.random.default_rng(23)
    rule = InstanceRule(beta, zero_division)
    for width in (1, 2, 3, 4, 5):
        joints = [draw_joint(rng, width) for _ in range(4)]
        matrices, none = tables(joints)
        decided = rule.predict_from_joint(matrices, none)
        assert decided.shape == (4, width)
        assert decided.dtype == np.uint8
        for joint, matrix, empty, h in zip(joints, matrices, none, decided, strict=True):
            check_joint(joint, h, beta, zero_division)
            alone = rule.predict_from_joint(matrix, float(empty))
            assert alone.shape == (width,)
            np.testing.assert_array_equal(alone, h)


@any_measure
def test_draws_give_the_best_of_all_sets(beta: float, zero_division: float) -> None:
    rng = np.random.default_rng(24)
    rule = InstanceRule(beta, zero_division)
    for width, n_draws in ((1, 3), (3, 10), (4, 1), (5, 25)):
        together = rng.random((n_draws, 6, 1)) < 0.4
        draws = ((rng.random((n_draws, 6, width)) < 0.3) | (together & (rng.random(width) < 0.5))).astype(np.uint8)
        decided = rule.predict_from_samples(draws)
        assert decided.shape == (6, width)
        for i in range(6):
            check_joint(witness.of_draws(draws[:, i]), decided[i], beta, zero_division)


def test_independent_labels_given_as_a_matrix_decide_alike() -> None:
    p = np.random.default_rng(25).random((40, 4)) ** 2
    matrices, none = tables([witness.independent(row) for row in p])
    for beta in BETAS:
        rule = InstanceRule(beta, 1.0)
        np.testing.assert_array_equal(rule.predict_from_joint(matrices, none), rule.predict(p))


def test_a_matrix_may_stop_at_the_largest_size() -> None:
    joint = {(1, 0, 0): 4, (0, 1, 1): 3, (0, 1, 0): 2, (0, 0, 0): 1}
    matrices, none = tables([joint])
    for zero_division in ZERO_DIVISIONS:
        rule = InstanceRule(zero_division=zero_division)
        whole, cut = rule.predict_from_joint(matrices, none), rule.predict_from_joint(matrices[:, :, :2], none)
        np.testing.assert_array_equal(cut, whole)


def test_the_most_probable_label_can_be_the_wrong_one() -> None:
    """{0} with .4, {1, 2 ... 20} and {1, 21 ... 39} with .25 each: {0} is worth .4, and 1, the likeliest, .048."""
    single, first, second = (np.zeros(40, np.uint8) for _ in range(3))
    single[0], first[1:21], second[[1, *range(21, 40)]] = 1, 1, 1
    draws = np.array([single] * 8 + [first] * 5 + [second] * 5 + [np.zeros(40, np.uint8)] * 2)[:, None]
    marginal = draws.mean(axis=0)
    assert marginal[0].argmax() == 1
    assert InstanceRule().predict(marginal)[0, 1] == 1
    joint = witness.of_draws(draws[:, 0])
    assert witness.value_of_set(joint, tuple(single), 1.0, 0.0) == Fraction(2, 5)
    alone = witness.value_of_set(joint, (0, 1, *[0] * 38), 1.0, 0.0)
    assert float(alone) == pytest.approx(0.048, abs=5e-4)
    np.testing.assert_array_equal(InstanceRule().predict_from_samples(draws), single[None])
    matrices, none = tables([joint])
    np.testing.assert_array_equal(InstanceRule().predict_from_joint(matrices, none), single[None])


def test_certain_sets_are_given_back() -> None:
    rng = np.random.default_rng(26)
    truth = rng.integers(0, 2, (30, 6)).astype(np.uint8)
    for beta in BETAS:
        for draws in (truth[None], np.repeat(truth[None], 5, axis=0)):
            np.testing.assert_array_equal(InstanceRule(beta, 1.0).predict_from_samples(draws), truth)


def test_nothing_is_predicted_where_nothing_is_likeliest_and_0_over_0_counts() -> None:
    draws = np.array([[[0, 0]], [[0, 0]], [[1, 0]]])
    assert InstanceRule(zero_division=1.0).predict_from_samples(draws).tolist() == [[0, 0]]
    assert InstanceRule(zero_division=0.0).predict_from_samples(draws).tolist() == [[1, 0]]
    matrix = [[1 / 3, 0], [0, 0]]
    assert InstanceRule(zero_division=1.0).predict_from_joint(matrix, 2 / 3).tolist() == [0, 0]
    assert InstanceRule(zero_division=0.0).predict_from_joint(matrix, 2 / 3).tolist() == [1, 0]


# Refusals


@pytest.mark.parametrize(
    "refused",
    [
        lambda: InstanceRule(beta=0.0),
        lambda: InstanceRule(zero_division=0.5),
        lambda: InstanceRule().predict([[0.5, 1.1]]),
        lambda: InstanceRule().predict([[0.5, np.nan]]),
        lambda: InstanceRule().predict([[0.5, -0.1]]),
        lambda: InstanceRule(label_names=["a"]).predict([[0.5, 0.1]]),
        lambda: InstanceRule().predict([[0.5, 0.1]], tail=[0.1, 0.2]),
        lambda: InstanceRule().predict([[0.5, 0.1]], tail=[-0.1]),
        lambda: InstanceRule().predict([[0.5, 0.1]], tail=[np.nan]),
        lambda: InstanceRule().predict_from_joint([0.5, 0.1], 0.4),
        lambda: InstanceRule().predict_from_joint([[0.5], [1.1]], 0.4),
        lambda: InstanceRule().predict_from_joint([[0.5], [0.1]], -0.4),
        lambda: InstanceRule().predict_from_joint([[0.5], [0.1]], [0.4, 0.4]),
        lambda: InstanceRule().predict_from_samples([[[0.5]]]),
        lambda: InstanceRule().predict_from_samples([[1, 0]]),
        lambda: InstanceRule().predict_from_samples(np.zeros((0, 2, 2))),
    ],
)
def test_bad_input_is_refused(refused: Callable[[], object]) -> None:
    with pytest.raises(thresholds.InputError):
        refused()
