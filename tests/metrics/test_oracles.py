"""The figures of the documents in `oracles`, and what they say of averages, Jaccard's index and rare labels."""

from collections.abc import Callable
from fractions import Fraction
from itertools import product

import numpy as np
import pytest

import thresholds
from tests.metrics import oracles
from tests.metrics.oracles import Confusion, decisions, indicators
from thresholds.metrics import f1_score, fbeta_score, jaccard_score

RELATIVE = 2e-15

CASES = [
    pytest.param(call, expected, id=f"{document}, {name}")
    for document, table in oracles.DOCUMENTS.items()
    for name, (call, expected) in table.items()
]


@pytest.mark.parametrize(("call", "expected"), CASES)
def test_published_figures(call: Callable[[], object], expected: object) -> None:
    np.testing.assert_allclose(call(), expected, rtol=RELATIVE, atol=0)


# Opitz & Burst 2019: F of averages (FA) and average of F (AF)


def test_the_averages_rank_tables_2_and_3_differently() -> None:
    af, fa = (
        [f1_score(*table, average=name) for table in oracles.OPITZ_BURST[1:]] for name in ("macro", "f_of_averages")
    )
    assert af[0] > af[1]
    assert fa[0] < fa[1]


def test_table_1_comes_close_to_the_largest_difference() -> None:
    af, fa = (f1_score(*oracles.OPITZ_BURST[0], average=name) for name in ("macro", "f_of_averages"))
    assert fa - af == pytest.approx(2500 / 5151, rel=RELATIVE)


def ratio(part: int, whole: int) -> Fraction:
    """A share, 0 of nothing being 0."""
    return Fraction(part, whole) if whole else Fraction(0)


def f_of(precision: Fraction, recall: Fraction, b: Fraction) -> Fraction:
    """The weighted harmonic mean of precision and recall, recall counting b = beta^2 times."""
    return (1 + b) * precision * recall / (b * precision + recall) if precision and recall else Fraction(0)


def af_and_fa(confusion: Confusion, b: Fraction) -> tuple[Fraction, Fraction, list[tuple[Fraction, Fraction]]]:
    """AF, FA and the precision and recall of each class."""
    size = range(len(confusion))
    tp = [confusion[i][i] for i in size]
    predicted, positives = [sum(row) for row in confusion], [sum(row[i] for row in confusion) for i in size]
    shares = [(ratio(tp[i], predicted[i]), ratio(tp[i], positives[i])) for i in size]
    af = sum((f_of(p, r, b) for p, r in shares), Fraction(0)) / len(shares)
    p, r = (sum(share[i] for share in shares) / len(shares) for i in (0, 1))
    return af, f_of(p, r, b), shares


def on_one_ray(points: list[tuple[Fraction, Fraction]]) -> bool:
    """Whether all points lie on one ray from the origin, where F is linear; the origin lies on every one."""
    return all(p * s == r * q for p, r in points for q, s in points)


def small_tables() -> list[Confusion]:
    """Every table of two classes with counts up to 3, and random ones of three and four classes."""
    rng = np.random.default_rng(0)
    tables = [[[a, b], [c, d]] for a, b, c, d in product(range(4), repeat=4) if a + b + c + d]
    return tables + [(rng.integers(0, 6, (m, m)) * (rng.random((m, m)) < 0.7)).tolist() for m in [3, 4] * 50]


@pytest.mark.parametrize("beta", [Fraction(1), Fraction(1, 2), Fraction(2)], ids=str)
def test_fa_is_at_least_af_with_equality_on_one_ray(beta: Fraction) -> None:
    for table in filter(np.any, small_tables()):
        af, fa, shares = af_and_fa(table, beta**2)
        assert af <= fa < af + (1 + beta**2) / (1 + beta) ** 2  # 1/2 for F1, which labels of p, r -> 1, 0 approach
        assert (af == fa) == on_one_ray(shares), table
        truth, predicted = decisions(table)
        for average, expected in (("macro", af), ("f_of_averages", fa)):
            got = fbeta_score(
                truth, predicted, beta=float(beta), labels=range(len(table)), average=average, zero_division=0
            )
            assert got == pytest.approx(float(expected), rel=RELATIVE, abs=0), table


# Lipton, Elkan & Naryanaswamy 2013


@pytest.mark.parametrize("counts", list(product([1, 2, 7], [0, 1, 5], [0, 3, 4])), ids=str)
def test_jaccard_is_f_over_2_minus_f(counts: tuple[int, int, int]) -> None:
    """Section 2.2; the threshold of theorem 5.1 on odds, J, is then F/2 on probabilities, J/(1 + J)."""
    pair = indicators(counts)
    f, j = f1_score(*pair), jaccard_score(*pair)
    assert j == pytest.approx(f / (2 - f), rel=RELATIVE)
    assert f / 2 == pytest.approx(j / (1 + j), rel=RELATIVE)


def test_jaccard_is_no_function_of_f_once_averaged() -> None:
    one, other = indicators((1, 0, 0), (1, 4, 0)), indicators((1, 1, 0), (1, 1, 0))
    assert [f1_score(*pair, average="macro") for pair in (one, other)] == pytest.approx([2 / 3] * 2, rel=RELATIVE)
    assert [jaccard_score(*pair, average="macro") for pair in (one, other)] == pytest.approx([3 / 5, 1 / 2])


def test_a_perfect_rare_label_raises_micro_f1_by_the_ratio_of_section_6_1() -> None:
    tp, fp, fn, rare = 50, 30, 20, 5
    found, missed = (
        f1_score(*indicators((tp, fp, fn), label), average="micro") for label in ((rare, 0, 0), (0, 0, rare))
    )
    a_plus_c = 2 * tp + fp + fn
    assert (1 + Fraction(rare, tp)) / (1 + Fraction(rare, a_plus_c + rare)) == Fraction(341, 320)
    assert found / missed == pytest.approx(341 / 320, rel=RELATIVE)


@pytest.mark.parametrize(
    ("average", "everywhere", "best", "other", "of_other"),
    [("macro", True, 13 / 22, "micro", 4 / 7), ("micro", False, 10 / 11, "macro", 1 / 2)],
)
def test_macro_predicts_the_rare_label_of_section_6_3_everywhere_and_micro_nowhere(
    average: str, everywhere: bool, best: float, other: str, of_other: float
) -> None:
    rule = thresholds.fit_empirical(oracles.SECTION_6, oracles.SECTION_6_SCORES, average)
    predicted = rule.predict(oracles.SECTION_6_SCORES)
    np.testing.assert_array_equal(predicted[:, 1], int(everywhere))
    assert rule.objective == f1_score(oracles.SECTION_6, predicted, average=average)
    assert rule.objective == pytest.approx(best, rel=RELATIVE)
    assert f1_score(oracles.SECTION_6, predicted, average=other) == pytest.approx(of_other, rel=RELATIVE)


@pytest.mark.parametrize(
    ("max_f1", "threshold"),
    [
        pytest.param(0.9160, 0.458, id="Humans"),
        pytest.param(0.8055, 0.403, id="Male"),
        pytest.param(0.8131, 0.407, id="Female"),
        pytest.param(1.5437e-4, 7.72e-5, id="Phosphinic Acids"),  # printed 7.71e-5
        pytest.param(8.5342e-4, 4.27e-4, id="Penicillanic Acid"),
        pytest.param(0.7004, 0.350, id="Adult"),
        pytest.param(0.7513, 0.376, id="Middle Aged"),
        pytest.param(4.6762e-4, 2.34e-4, id="Platypus"),
    ],
)
def test_thresholds_of_figure_8_are_half_of_the_highest_f1(max_f1: float, threshold: float) -> None:
    assert float(f"{max_f1 / 2:.3g}") == threshold
