"""The kernels of the expectation: quadrature as precise as stated, and two algorithms that agree."""

import numpy as np
import pytest

import thresholds
from thresholds._kernels.outcomes import _may_be_best, best_prefixes
from thresholds.expectation import counts as expected_counts
from thresholds.expectation import outcomes
from thresholds.expectation.few_labels import best_prefixes_of_few

BETAS = [0.01, 0.1, 0.5, 1.0, 1.37, 2.0, 10.0, 100.0]


@pytest.mark.parametrize(
    ("n_nodes", "low", "high"), [(8, 1 / 1.3, 1.3), (16, 1 / 2.2, 2.2), (32, 0.25, 4.0), (48, 0.16, 6.0)]
)
def test_nodes_integrate_exponentials_of_rates_around_1(n_nodes: int, low: float, high: float) -> None:
    """The integral of exp(-r z) is 1 / r; r is (B S + k) / K in docs/proofs.md."""
    points, log_weights = outcomes._laguerre(n_nodes)
    for rate in np.geomspace(low, high, 200):
        assert np.exp(log_weights - rate * points).sum() * rate == pytest.approx(1, rel=1e-12)


def draw_rows(n_rows: int, n_labels: int, seed: int) -> np.ndarray:
    """Rows of all kinds: few and many likely labels, certain ones, equal ones."""
    rng = np.random.default_rng(seed)
    p = rng.random((n_rows, n_labels)) ** rng.choice([0.1, 0.5, 1, 3, 10, 40], (n_rows, 1))
    mean = np.exp(rng.uniform(np.log(0.01), np.log(30), (n_rows, 1)))
    p[::2] = np.minimum(1, p * mean / p.sum(axis=1, keepdims=True))[::2]
    p[::7] = p[::7, :1]
    p[::5, : n_labels // 10] = 1
    return np.sort(p, axis=1)


@pytest.mark.each_value
@pytest.mark.parametrize("beta", [*BETAS, 1e100])
@pytest.mark.parametrize("zero_division", [0.0, 1.0])
@pytest.mark.parametrize("n_labels", [1, 5, 21, 60, 150])
def test_integrals_agree_with_the_quadratic_recursion(n_labels: int, zero_division: float, beta: float) -> None:
    rows = draw_rows(60, n_labels, n_labels)
    starts, values = np.arange(len(rows) + 1) * n_labels, rows.reshape(-1)
    settings = beta**2, zero_division, False
    nodes = outcomes._sets_of_nodes(beta > 1)
    sizes, reached = best_prefixes(starts, values, np.zeros((len(rows), 0)), *settings, nodes)
    of_few, expected = best_prefixes_of_few(starts, values, *settings)
    np.testing.assert_allclose(reached, expected, rtol=2e-12, atol=1e-300)
    for row, k, other in zip(rows, sizes, of_few, strict=True):
        assert k == other or value_of(row, k, beta, zero_division) == pytest.approx(
            value_of(row, other, beta, zero_division), rel=3e-12
        )


def value_of(row: np.ndarray, k: int, beta: float, zero_division: float) -> float:
    """The expectation of the k highest of a rising row."""
    decided = (np.arange(row.size) >= row.size - k).astype(np.uint8)[np.newaxis]
    return float(outcomes.expected_of_rows(row[np.newaxis], decided, beta, zero_division)[0])


def test_a_million_labels_keep_their_digits() -> None:
    """Equal probabilities, all predicted: S is binomial, and E 2 S / (S + n) is a short sum."""
    from scipy import stats

    n, p = 1_000_000, 3e-6
    s = np.arange(1, 60)
    expected = (stats.binom.pmf(s, n, p) * 2 * s / (s + n)).sum()
    cells = np.full((1, n), p)
    reached = outcomes.expected_of_rows(cells, np.ones_like(cells, np.uint8), 1.0, 0.0)[0]
    assert reached == pytest.approx(expected, rel=1e-11)


@pytest.mark.parametrize("whole_ties", [False, True])
def test_sizes_that_bounds_leave_out_are_worse(whole_ties: bool) -> None:
    n_left_out = 0
    for beta in BETAS:
        for row in draw_rows(40, 30, 3):
            p = row[::-1].copy()
            first, last = _may_be_best(p, p.sum(), (p * (1 - p)).sum(), beta**2, 0.0, whole_ties)
            values = np.array([value_of(row, k, beta, 0.0) for k in range(1, 31)])
            may_be_chosen = np.append(p[1:] < p[:-1], True) | (not whole_ties)
            best = values[may_be_chosen].max()
            is_looked_at = (np.arange(1, 31) >= first) & (np.arange(1, 31) <= last)
            assert (values[~is_looked_at] < best).all()
            n_left_out += np.count_nonzero(~is_looked_at)
    assert n_left_out > 0.5 * len(BETAS) * 40 * 30


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.float16])
def test_expected_counts_are_the_same_bits_however_they_are_stored(dtype: type) -> None:
    from scipy import sparse

    rng = np.random.default_rng(1)
    n, m = 9001, 7  # more than two blocks of rows
    cells = (rng.random((n, m)) ** 4 * (rng.random((n, m)) < 0.4)).astype(dtype)
    cuts, weights = np.full(m, 0.3), rng.exponential(size=n)
    decided = (cells >= 0.3).astype(np.uint8)
    stored = sparse.csr_array(cells.astype(np.float32 if dtype == np.float16 else dtype))
    forms = [cells, np.asfortranarray(cells), np.repeat(cells, 2, axis=0)[::2], stored]
    sums = [
        counts.sums
        for form in forms
        for p in [expected_counts.Probabilities.of(form, weights)]
        for counts in (
            expected_counts.counts_above(p, cuts),
            expected_counts.counts_of_decisions(p, decided),
            expected_counts.counts_of_decisions(p, sparse.csr_array(decided)),
            expected_counts.counts_above(p.of_labels(np.arange(m)), cuts, n_jobs=1),
        )
    ]
    for other in sums[1:]:
        np.testing.assert_array_equal(other, sums[0])
    positives = thresholds.fit_expected(cells, sample_weight=weights).fitted_on.positives
    np.testing.assert_allclose(positives, weights @ cells.astype(np.float64), rtol=1e-13)


# Ties, tails and blocks of rows


def test_the_tail_of_each_row_is_its_own() -> None:
    """In more rows than one block holds, and with a tail that decides how many labels are predicted."""
    rng = np.random.default_rng(2)
    p = rng.random((9000, 3))
    tail = rng.integers(0, 2, 9000) * 20.0
    decided = thresholds.InstanceRule().predict(p, tail=tail)
    for rows in (tail == 0, tail > 0):
        np.testing.assert_array_equal(decided[rows], thresholds.InstanceRule().predict(p[rows], tail=tail[rows]))
    assert decided[tail > 0].mean() > decided[tail == 0].mean() + 0.05


@pytest.mark.parametrize("padding", [0, 30])
def test_of_sets_that_are_equally_good_the_smallest_wins(padding: int) -> None:
    """The certain label alone, and with that of probability 1/2, are worth 5/6, by either algorithm."""
    row = np.append([0.5, 1.0], np.zeros(padding))
    tiny = np.append(row, np.full(padding, 1e-200))
    for cells in (row, tiny):
        assert thresholds.InstanceRule().predict([cells])[0].tolist() == [0, 1] + [0] * (cells.size - 2)


@pytest.mark.parametrize("n_more", [1, 40])
def test_equal_probabilities_are_split_by_label_or_kept_together(n_more: int) -> None:
    """With a tiny beta only precision counts, which any of the likeliest labels have: the first is taken of a row, and
    all of a column, where they share a threshold.
    """
    cells = np.array([0.3, 0.3, 0.3] + [0.01] * n_more)
    of_row = thresholds.InstanceRule(1e-9).predict(cells[np.newaxis])[0]
    assert of_row.tolist() == [1, 0, 0] + [0] * n_more
    assert thresholds.fit_expected(cells, exact=True, beta=1e-9).thresholds.tolist() in ([0.3], [0.01])


def test_ties_between_dependent_labels_go_to_the_first_ones() -> None:
    """Of forty labels that never come together any one is as good as another; and two sets of one value."""
    joint = np.zeros((40, 1))
    joint[:, 0] = 1 / 40
    decided = thresholds.InstanceRule(0.1).predict_from_joint(joint, 0.0)
    assert decided[: decided.sum()].all()
    even = [[0.5, 0.5], [0.0, 0.5]]  # {0} or {0, 1}: {0} alone and both are worth 5/6
    assert thresholds.InstanceRule().predict_from_joint(even, 0.0).tolist() == [1, 0]


def test_many_labels_with_a_large_beta_keep_their_digits() -> None:
    rng = np.random.default_rng(3)
    p = rng.random(400)
    p *= 24 / p.sum()
    order = np.argsort(-p)
    decided = np.zeros((1, 400), np.uint8)
    decided[0, order[:200]] = 1
    chance = np.ones(1)
    for q in p:
        chance = np.convolve(chance, [1 - q, q])
    expected = 0.0
    for j in order[:200]:
        without = np.ones(1)
        for i, q in enumerate(p):
            if i != j:
                without = np.convolve(without, [1 - q, q])
        s = np.arange(1, without.size + 1)
        expected += (10001 * p[j] * without / (1e4 * s + 200)).sum()
    reached = outcomes.expected_of_rows(p[np.newaxis], decided, 100.0, 0.0)[0]
    assert reached == pytest.approx(expected, rel=1e-12)


def test_expectations_do_not_exceed_1() -> None:
    for n in (1, 5, 1000, 100_000):
        ones = np.ones((1, n))
        for beta in BETAS:
            for average in ("samples", "micro", "weighted"):
                if n <= 5 or average != "weighted":
                    assert thresholds.expected_f(ones, ones, average, beta, exact=True) <= 1


def test_labels_settle_alike_alone_and_together() -> None:
    """Labels whose probabilities are all equal and tiny lie at their cut, but for rounding, from the first pass on;
    others take many passes.
    """
    rng = np.random.default_rng(4)
    n = 400
    cells = np.empty((n, 60))
    cells[:, ::2] = 10.0 ** -rng.uniform(1, 40, 30)
    cells[:, 1::2] = rng.random((n, 30)) ** rng.integers(5, 300, 30)
    for weights in (None, rng.exponential(size=n)):
        together = thresholds.fit_expected(cells, sample_weight=weights)
        alone = [thresholds.fit_expected(column, sample_weight=weights) for column in cells.T]
        np.testing.assert_array_equal(together.thresholds, [rule.thresholds[0] for rule in alone])
        assert together.predict(cells)[:, ::2].all()
