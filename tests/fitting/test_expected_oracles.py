"""Figures of Lipton, Elkan & Naryanaswamy 2013, "F1-Optimal Thresholding in the Multi-Label Setting", recomputed.

All of them speak of expected F1 of probabilities: sections 1, 5.2 and 5.3, theorems 5.3 and 5.4, corollary 5.2. Where
the paper prints another value, docs/errata.md derives the right one.
"""

from itertools import product

import numpy as np
import pytest
from numpy.typing import NDArray

from thresholds import InstanceRule, expected_f, fit_expected

RELATIVE = 2e-14
GRID = np.arange(21) / 20

Floats = NDArray[np.float64]


def of_one_column(p: list[float] | Floats, decided: object, **options: object) -> float:
    """Expected F1 of decisions on one label."""
    return expected_f(np.asarray(p)[:, None], np.asarray(decided)[:, None], **{"exact": True, **options})


# Section 1: balanced classes, all predicted positive


def test_predicting_all_of_balanced_classes() -> None:
    """2/3, printed .67, is the F1 of the expected counts."""
    for n in (1, 2, 10, 1000):
        assert of_one_column(np.full(n, 0.5), np.ones(n), exact=False) == pytest.approx(2 / 3, rel=RELATIVE)
        assert fit_expected(np.full(n, 0.5)).objective == pytest.approx(2 / 3, rel=RELATIVE)


@pytest.mark.parametrize(
    ("n", "expected"),
    [(1, 0.5), (2, 0.5833333333333334), (10, 0.6513671980713752), (100, 0.6651802527393342)],
)
def test_predicting_all_of_few_balanced_samples(n: int, expected: float) -> None:
    """The expected F1 itself is lower: 1/2, 7/12, 61616127/94595072, ..."""
    p = np.full(n, 0.5)
    assert of_one_column(p, np.ones(n)) == pytest.approx(expected, rel=RELATIVE)
    rule = fit_expected(p, exact=True)
    assert rule.objective == pytest.approx(expected, rel=RELATIVE)
    assert rule.thresholds.tolist() == [0.5]
    assert InstanceRule().predict(p[None]).all()


# Section 5.2: the batch observation


def test_the_threshold_of_a_large_batch_of_one_half() -> None:
    """1/3; .335 is printed, half of the rounded .67."""
    n = 200_000
    rule = fit_expected(np.full(n, 0.5))
    assert rule.thresholds[0] == pytest.approx(1 / 3, rel=RELATIVE)
    for last, decided in ((0.3333, 0), (0.3334, 1), (0.3349, 1)):
        batch = np.append(np.full(n, 0.5), last)
        assert fit_expected(batch).predict(batch)[-1] == decided


@pytest.mark.parametrize(
    ("n", "expected"),
    [
        (2, 0.25),
        (3, 0.2909090909090909),
        (5, 0.3130183916336098),
        (10, 0.32471218601757523),
        (100, 0.3325817592439752),
        (1000, 0.3332591521306568),
    ],
)
def test_the_break_even_probability_of_the_last_of_a_batch(n: int, expected: float) -> None:
    """Where predicting the last as well is worth as much as predicting the n - 1 others, which have .5 each."""
    for factor, decided in ((1 - 1e-6, 0), (1 + 1e-6, 1)):
        batch = np.append(np.full(n - 1, 0.5), expected * factor)
        for rule, given in (
            (fit_expected(batch, exact=True), batch),
            (InstanceRule(), batch[None]),
        ):
            assert rule.predict(given).ravel().tolist() == [1] * (n - 1) + [decided]
    batch = np.append(np.full(n - 1, 0.5), expected)
    with_last, without = (of_one_column(batch, [1] * (n - 1) + [last]) for last in (1, 0))
    assert with_last == pytest.approx(without, rel=RELATIVE)


@pytest.mark.parametrize(
    ("p", "zero_division", "decided", "value"),
    [
        ([0.1], 0.0, 1, 0.1),
        (
            [0.1],
            1.0,
            0,
            32425917317067571 / 36028797018963968,
        ),  # 1 - .1: printed is that it is predicted
        ([0.1, 0.1, 0.1], 0.0, 1, None),
        ([0.1, 0.1, 0.1], 1.0, 0, 729 / 1000),  # theorem 5.4 needs 0/0 = 0, or a positive
    ],
)
def test_improbable_labels_are_predicted_only_if_nothing_is_worth_nothing(
    p: list[float], zero_division: float, decided: int, value: float | None
) -> None:
    row = np.array([p])
    rule = fit_expected(row, "samples", zero_division=zero_division)
    np.testing.assert_array_equal(rule.predict(row), np.full_like(row, decided))
    column = fit_expected(p, exact=True, zero_division=zero_division)
    np.testing.assert_array_equal(column.predict(p), np.full(len(p), decided))
    assert column.objective == pytest.approx(rule.objective, rel=RELATIVE)
    if value is not None:
        assert rule.objective == pytest.approx(value, rel=RELATIVE)


# Theorem 5.3 and corollary 5.2, at a finite number of samples


def test_a_probability_above_half_of_f_is_not_always_predicted() -> None:
    """(1, .45): {1} is worth 17/20, both .81667, and .45 exceeds half of that, .425."""
    row = np.array([[1.0, 0.45]])
    rule = fit_expected(row, "samples")
    assert rule.predict(row).tolist() == [[1, 0]]
    assert rule.objective == pytest.approx(17 / 20, rel=RELATIVE)
    assert expected_f(row, [[1, 1]], "samples", exact=True) == pytest.approx(0.81667, abs=5e-6)
    assert row[0, 1] > rule.objective / 2 == pytest.approx(0.425)


def grid_rows(width: int) -> Floats:
    """Every row of falling probabilities from the grid 0, .05 ... 1."""
    rows = np.array(list(product(GRID, repeat=width)))
    return rows[(np.diff(rows, axis=1) <= 0).all(axis=1)]


def values_of_top_k(rows: Floats) -> Floats:
    """Expected F1 of the first k labels of each row: (n_rows, n_labels + 1)."""
    sizes = range(rows.shape[1] + 1)
    decided = [np.repeat(np.arange(rows.shape[1])[:, None] < k, len(rows), axis=1) for k in sizes]
    return np.stack([expected_f(rows.T, h.astype(np.uint8), None, exact=True) for h in decided], axis=1)


def test_the_largest_loss_of_half_of_f_as_a_threshold() -> None:
    """9/200 for two or three labels of the grid, at (1, .4, .25), where the rule predicts two and one is best."""
    losses, where = [], []
    for width in (2, 3):
        rows = grid_rows(width)
        values = values_of_top_k(rows)
        best = values.max(axis=1)
        size = (rows >= best[:, None] / 2 - 1e-12).sum(axis=1)
        loss = best - values[np.arange(len(rows)), size]
        losses.append(loss.max())
        where.append(rows[loss.argmax()])
        chosen = InstanceRule().predict(rows).sum(axis=1)
        np.testing.assert_allclose(values[np.arange(len(rows)), chosen], best, rtol=RELATIVE)
    assert max(losses) == pytest.approx(9 / 200, rel=1e-12)
    assert where[int(np.argmax(losses))].tolist() == [1.0, 0.4, 0.25]
    assert InstanceRule().predict([[1.0, 0.4, 0.25]]).tolist() == [[1, 0, 0]]


def test_the_highest_probability_that_is_left_out() -> None:
    """.45, beside two sure labels; of equal sets the larger taken. (1, .5) is a tie, both sets worth 5/6."""
    rows = grid_rows(3)
    values = values_of_top_k(rows)
    sizes = np.arange(4)
    largest = np.where(values >= values.max(axis=1, keepdims=True) - 1e-12, sizes, -1).max(axis=1)
    left_out = np.where(np.arange(3) >= largest[:, None], rows, -1)
    assert left_out.max() == 9 / 20
    assert [1.0, 1.0, 0.45] in rows[(left_out == 9 / 20).any(axis=1)].tolist()
    assert InstanceRule().predict([[1.0, 1.0, 0.45], [1.0, 1.0, 0.55]]).tolist() == [
        [1, 1, 0],
        [1, 1, 1],
    ]
    ours = np.where(InstanceRule().predict(rows) == 0, rows, -1)
    assert ours.max() == 0.5, "of equal sets the smaller is taken, so that .5 may be left out, and nothing above"
    for decided in ([1, 0], [1, 1]):
        assert of_one_column([1.0, 0.5], decided) == pytest.approx(5 / 6, rel=RELATIVE)
