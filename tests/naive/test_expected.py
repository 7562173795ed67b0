"""The witness of expected F on the stand: against scikit-learn, against numbers worked out by hand, and itself."""

import ast
import warnings
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from sklearn.exceptions import UndefinedMetricWarning
from sklearn.metrics import fbeta_score

from tests.naive import exhaustive as naive
from tests.naive import expected as witness

BETAS = [0.1, 0.5, 1.0, 1.37, 2.0, 10.0]
ZERO_DIVISIONS = [0.0, 1.0]
CLOSE = 1e-13


def rows(count: int, width: int, seed: int) -> list[np.ndarray]:
    """Rows of probabilities from rare to sure, some of them 0, 1 or equal."""
    rng = np.random.default_rng([seed, width])
    drawn = [rng.random(width) ** rng.choice([0.3, 1, 4]) for _ in range(count)]
    return [np.round(p, rng.integers(1, 4)) if rng.random() < 0.5 else p for p in drawn]


def test_the_witness_is_independent() -> None:
    tree = ast.parse(Path(witness.__file__).read_text(encoding="utf-8"))
    imports = [node for node in ast.walk(tree) if isinstance(node, ast.Import | ast.ImportFrom)]
    names = {getattr(node, "module", None) or node.names[0].name for node in imports}
    assert names == {
        "collections",
        "collections.abc",
        "fractions",
        "itertools",
        "numpy",
        "numpy.typing",
        "tests.naive.exhaustive",
    }


# By hand


def test_outcomes_by_hand() -> None:
    assert witness.independent([0.25, 1.0]) == {(0, 1): 12, (1, 1): 4}  # in sixteenths
    assert witness.of_draws([[1, 0], [0, 0], [1, 0]]) == {(1, 0): 2, (0, 0): 1}
    table, none = witness.by_size(witness.independent([0.5, 0.25]))
    assert none == Fraction(3, 8)
    assert table == [[Fraction(3, 8), Fraction(1, 8)], [Fraction(1, 8), Fraction(1, 8)]]


@pytest.mark.parametrize(
    ("p", "decided", "beta", "zero_division", "expected"),
    [
        ((1.0, 0.5), (1, 0), 1.0, 0.0, Fraction(5, 6)),  # (1 + 2/3) / 2
        ((1.0, 0.5), (1, 1), 1.0, 0.0, Fraction(5, 6)),  # (2/3 + 1) / 2
        ((0.5,), (0,), 1.0, 1.0, Fraction(1, 2)),
        ((0.5,), (0,), 1.0, 0.0, Fraction(0)),
        ((0.5, 0.5), (1, 0), 2.0, 0.0, Fraction(7, 18)),  # (1 + 5/9) / 4
        ((0.5, 0.5), (1, 1), 2.0, 0.0, Fraction(2, 3)),  # (2 * 5/6 + 1) / 4
    ],
)
def test_expected_f_by_hand(
    p: tuple[float, ...], decided: tuple[int, ...], beta: float, zero_division: float, expected: Fraction
) -> None:
    assert witness.value_of_set(witness.independent(p), decided, beta, zero_division) == expected


def test_a_joint_distribution_by_hand() -> None:
    joint = {(1, 0): Fraction(1, 2), (1, 1): Fraction(1, 4), (0, 0): Fraction(1, 4)}
    assert witness.value_of_set(joint, (1, 0), 1.0, 0.0) == Fraction(1, 2) + Fraction(1, 4) * Fraction(2, 3)
    assert witness.best_set(joint, 1.0, 0.0) == ((1, 0), Fraction(2, 3))
    assert witness.best_set({(0, 0): 3, (1, 0): 2}, 1.0, 1.0) == ((0, 0), Fraction(3, 5))


def test_equal_values_go_to_the_smallest_set_and_the_highest_cut() -> None:
    assert witness.best_set(witness.independent((1.0, 0.5)), 1.0, 0.0) == ((1, 0), Fraction(5, 6))
    assert witness.best_cut(np.array([0.5, 1.0]), 1.0, 0.0) == (1.0, Fraction(5, 6))
    assert witness.best_cut(np.array([0.5, 0.0]), 1.0, 1.0) == (naive.NEVER, Fraction(1, 2))


def test_f_of_expected_counts_by_hand() -> None:
    p = np.array([[0.5, 1.0], [0.25, 0.0]])
    h = np.array([[1, 1], [1, 0]])
    assert witness.soft_labels(p, h, 1.0, 0.0) == [Fraction(6, 11), Fraction(1)]
    assert witness.soft_macro(p, h, 1.0, 0.0) == Fraction(17, 22)
    assert witness.soft_weighted(p, h, 1.0, 0.0) == (Fraction(3, 4) * Fraction(6, 11) + 1) / Fraction(7, 4)
    assert witness.soft_micro(p, h, 1.0, 0.0) == Fraction(14, 19)
    assert witness.soft_samples(p, h, 1.0, 0.0) == (Fraction(6, 7) + Fraction(2, 5)) / 2
    assert witness.soft_samples(p, h, 1.0, 0.0, np.array([3, 1])) == (3 * Fraction(6, 7) + Fraction(2, 5)) / 4
    assert witness.soft_labels(p, h, 1.0, 0.0, np.array([1, 2])) == [Fraction(1, 2), Fraction(1)]


def test_the_largest_of_equal_soft_sets() -> None:
    quarters = np.array([1.0, *[0.25] * 8])  # 2 / (3 + 1) = 2 * 3 / (3 + 9)
    ones = [Fraction(1)] * 9
    assert witness.best_soft_set(quarters, ones, 1.0, 0.0) == ((1,) * 9, Fraction(1, 2))
    assert witness.break_even(Fraction(1, 2), 1.0) == Fraction(1, 4)
    assert witness.best_soft_set(quarters, [Fraction(1), *[Fraction(0)] * 8], 1.0, 0.0) == ((1, *[0] * 8), 1)
    assert witness.best_soft_set(np.zeros(2), ones[:2], 1.0, 1.0) == ((0, 0), 1)


def test_values_of_prefixes_by_hand() -> None:
    np.testing.assert_allclose(witness.values_of_prefixes([1.0, 0.5], 1.0, 1.0), [0, 5 / 6, 5 / 6], rtol=CLOSE)
    np.testing.assert_allclose(witness.values_of_prefixes([0.5, 0.5], 2.0, 1.0), [0.25, 7 / 18, 2 / 3], rtol=CLOSE)


# Against scikit-learn


def by_scikit_learn(truth: np.ndarray, y_pred: np.ndarray, average: str, beta: float, zero_division: float) -> float:
    """scikit-learn's F-beta, 0/0 replaced."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UndefinedMetricWarning)
        return fbeta_score(truth, y_pred, beta=beta, average=average, zero_division=zero_division)


@pytest.mark.parametrize("average", ["macro", "weighted", "micro", "samples"])
def test_expected_averages_are_mean_scores_of_outcomes(average: str) -> None:
    rng = np.random.default_rng(5)
    for beta, zero_division, shape in ((1.0, 0.0, (2, 3)), (0.5, 1.0, (2, 2)), (2.0, 0.0, (2, 2))):
        p, h = np.round(rng.random(shape), 2), (rng.random(shape) < 0.5).astype(int)
        expected = 0.0
        for y in witness.all_sets(p.size):
            truth = np.array(y).reshape(shape)
            chance = np.where(truth == 1, p, 1 - p).prod()
            expected += chance * by_scikit_learn(truth, h, average, beta, zero_division)
        got = witness.value_over_outcomes(p, h, average, beta, zero_division)
        assert float(got) == pytest.approx(expected, abs=CLOSE)


# Against each other


@pytest.mark.parametrize("beta", BETAS)
@pytest.mark.parametrize("zero_division", ZERO_DIVISIONS)
def test_all_sets_of_short_rows_agree(beta: float, zero_division: float) -> None:
    for width in range(1, 6):
        for row in rows(4, width, seed=1):
            joint = witness.independent(row)
            sets, values = witness.values_of_all_sets(row[None], beta, zero_division)
            exact = [float(witness.value_of_set(joint, tuple(h), beta, zero_division)) for h in sets.tolist()]
            np.testing.assert_allclose(values[0], exact, rtol=0, atol=CLOSE)
            longer = [witness.value_of_long(row, h, beta, zero_division) for h in sets]
            np.testing.assert_allclose(longer, exact, rtol=0, atol=CLOSE)
            top = witness.values_of_top_k(row, beta, zero_division)
            assert top.max() == pytest.approx(max(exact), abs=CLOSE), "the best set is a top k"


@pytest.mark.parametrize("width", [1, 2, 7, 60, 300])
def test_the_two_recursions_agree_on_long_rows(width: int) -> None:
    for row, beta in zip(rows(6, width, seed=2), BETAS, strict=True):
        values = witness.values_of_top_k(row, beta, 1.0)
        order = witness.by_probability(row)
        for k in {0, 1, width // 3, width}:
            decided = np.isin(np.arange(width), order[:k])
            assert witness.value_of_long(row, decided, beta, 1.0) == pytest.approx(values[k], rel=1e-11, abs=1e-300)


def test_averages_are_sums_of_their_groups() -> None:
    rng = np.random.default_rng(3)
    for beta, zero_division in ((1.0, 0.0), (0.5, 1.0), (1.37, 1.0)):
        p, h = np.round(rng.random((3, 2)), 2), (rng.random((3, 2)) < 0.5).astype(np.uint8)
        measure, weights = (beta, zero_division), np.array([0.5, 2.0, 0.0])
        labels = witness.value_of_labels(p, h, *measure)
        assert witness.value_over_outcomes(p, h, "macro", *measure) == sum(labels) / 2
        assert witness.value_over_outcomes(p, h, "micro", *measure) == witness.value_of_cells(p, h, *measure)
        expected = witness.value_over_outcomes(p, h, "samples", *measure, weights)
        assert witness.value_of_samples(p, h, *measure, weights) == expected
        weighted = float(witness.value_over_outcomes(p, h, "weighted", *measure))
        assert witness.value_of_long_weighted(p, h, *measure) == pytest.approx(weighted, abs=CLOSE)


def test_soft_labels_that_are_0_or_1_are_labels() -> None:
    rng = np.random.default_rng(4)
    for _ in range(20):
        p, h, weights = rng.integers(0, 2, (4, 2)), rng.integers(0, 2, (4, 2)), np.array([1, 0.5, 2, 0])
        for average, soft in witness.SOFT.items():
            expected = naive.score(p, h, average, 0.5, 1.0, weights)
            assert soft(p, h, 0.5, 1.0, weights) == expected, average
            assert witness.value_over_outcomes(p, h, average, 0.5, 1.0, weights) == expected, average


def test_the_best_soft_set_is_a_whole_prefix() -> None:
    for row in rows(60, 7, seed=6):
        if not row.any():
            continue
        for beta in (0.5, 1.0, 2.0):
            chosen, f = witness.best_soft_set(row, [Fraction(1)] * 7, beta, 0.0)
            t = witness.break_even(f, beta)
            assert chosen == tuple(int(Fraction(p) >= t) for p in row)
            best, k = witness.best_soft_prefix(row, np.ones(7), beta)
            assert best == pytest.approx(float(f), rel=1e-14)
            assert k <= sum(chosen)
            assert witness.best_soft_shared(row[:, None], "macro", beta, 0.0) == f
