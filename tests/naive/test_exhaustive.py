"""The witness on the stand: `naive` against scikit-learn, against numbers worked out by hand, and itself."""

import ast
import warnings
from collections.abc import Callable
from fractions import Fraction
from itertools import pairwise, product
from math import inf, isfinite, nextafter
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from numpy.typing import NDArray
from sklearn.exceptions import UndefinedMetricWarning
from sklearn.metrics import f1_score, fbeta_score

from tests.cases import BETAS, FLAVOURS, FLOATS, INTEGERS, SHAPES, ZERO_DIVISIONS, Array, Case, cases, small_cases
from tests.naive import exhaustive as naive

CASES = list(small_cases(192, seed=7))
AVERAGES = list(naive.AVERAGES)
PLACEMENTS = ["low", "mid", "score"]
SMALLEST_NORMAL = 2.0**-1022

seeded = settings(derandomize=True, deadline=None, max_examples=20)


def array(values: list[float]) -> NDArray[np.float64]:
    """A float64 array."""
    return np.array(values, dtype=np.float64)


def options(case: Case) -> tuple[float, float, Array | None]:
    """What every rule takes after the matrices: beta, zero_division, sample_weight."""
    return case.beta, case.zero_division, case.sample_weight


def random_decisions(case: Case, seed: int) -> Array:
    """Decisions that have nothing to do with the scores, at times none at all."""
    rng = np.random.default_rng(seed)
    return (rng.random(case.y_true.shape) < rng.choice([0.0, 0.3, 0.7])).astype(np.uint8)


def by_scikit_learn(case: Case, y_pred: NDArray[np.uint8], average: str | None) -> NDArray[np.float64] | float:
    """scikit-learn's F-beta of decisions. A single label is doubled, or it would be taken for two classes."""
    y_true = case.y_true
    if y_true.shape[1] == 1:
        y_true, y_pred = np.hstack([y_true, y_true]), np.hstack([y_pred, y_pred])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UndefinedMetricWarning)
        return fbeta_score(
            y_true,
            y_pred,
            beta=case.beta,
            average=average,
            sample_weight=case.sample_weight,
            zero_division=case.zero_division,
        )


def test_the_witness_is_independent() -> None:
    tree = ast.parse(Path(naive.__file__).read_text(encoding="utf-8"))
    imports = [node for node in ast.walk(tree) if isinstance(node, ast.Import | ast.ImportFrom)]
    names = {getattr(node, "module", None) or node.names[0].name for node in imports}
    assert names == {"fractions", "itertools", "numpy", "numpy.typing"}


# Against scikit-learn


@pytest.mark.parametrize("average", AVERAGES)
def test_averages_agree_with_scikit_learn(average: str) -> None:
    """Each average has half of the cases, of all flavours."""
    half = AVERAGES.index(average) // 2
    for i, case in enumerate(CASES[half::2]):
        y_pred = random_decisions(case, seed=i)
        ours = naive.score(case.y_true, y_pred, average, *options(case))
        assert float(ours) == pytest.approx(by_scikit_learn(case, y_pred, average), abs=1e-12), case


def test_label_scores_agree_with_scikit_learn() -> None:
    for i, case in enumerate(CASES):
        y_pred = random_decisions(case, seed=i)
        ours = [float(f) for f in naive.score(case.y_true, y_pred, "none", *options(case))]
        theirs = by_scikit_learn(case, y_pred, None)[: len(ours)]
        np.testing.assert_allclose(ours, theirs, rtol=0, atol=1e-12, err_msg=case.name)


def test_f1_of_larger_matrices_agrees_with_scikit_learn() -> None:
    rng = np.random.default_rng(11)
    y_true, y_pred = (rng.random((2, 60, 9)) < 0.4).astype(np.uint8)
    for average in AVERAGES:
        ours = naive.score(y_true, y_pred, average, 1.0, 0.0)
        assert float(ours) == pytest.approx(f1_score(y_true, y_pred, average=average), abs=1e-12)


@pytest.mark.parametrize("zero_division", ZERO_DIVISIONS)
def test_weighted_mean_without_support_is_the_plain_mean(zero_division: float) -> None:
    y_true, y_pred = np.zeros((3, 2), np.uint8), np.array([[1, 0], [0, 0], [0, 0]], np.uint8)
    case = Case("no support", y_true, y_pred, None, 1.0, zero_division)
    ours = naive.score(y_true, y_pred, "weighted", 1.0, zero_division)
    assert ours == zero_division / 2 == by_scikit_learn(case, y_pred, "weighted")


def test_best_thresholds_reach_the_best_scikit_learn_score() -> None:
    for case in CASES[:60]:
        w = naive.exact_weights(case.sample_weight, len(case.y_true))
        tried = sorted({t for column in case.y_score.T for t in naive.candidates(column, w)})
        theirs = np.max([by_scikit_learn(case, naive.decide(case.y_score, t), None) for t in tried], axis=0)
        ours = [float(f) for _, f in naive.best_macro(case.y_true, case.y_score, *options(case))]
        np.testing.assert_allclose(ours, theirs[: len(ours)], rtol=0, atol=1e-12, err_msg=case.name)


# Numbers worked out by hand


def test_f_beta_by_hand() -> None:
    assert naive.f_beta(Fraction(2), Fraction(3), Fraction(4), 1.0, 0.0) == Fraction(4, 7)
    assert naive.f_beta(Fraction(2), Fraction(3), Fraction(4), 2.0, 0.0) == Fraction(10, 19)
    assert naive.f_beta(Fraction(2), Fraction(3), Fraction(4), 0.5, 0.0) == Fraction(5, 8)
    assert naive.f_beta(Fraction(0), Fraction(0), Fraction(0), 1.0, 1.0) == 1
    assert naive.f_beta(Fraction(0), Fraction(1), Fraction(0), 1.0, 1.0) == 0


def test_averages_by_hand() -> None:
    y_true = np.array([[1, 0, 0], [1, 1, 0], [0, 0, 0]], np.uint8)
    y_pred = np.array([[1, 1, 0], [0, 1, 0], [0, 0, 0]], np.uint8)  # label F: 2/3, 2/3, 0/0; row F: 2/3, 2/3, 0/0
    zero, one, heavy = (1.0, 0.0), (1.0, 1.0), np.array([2, 1, 1])
    assert naive.score(y_true, y_pred, "none", *one) == (Fraction(2, 3), Fraction(2, 3), Fraction(1))
    assert naive.score(y_true, y_pred, "macro", *zero) == Fraction(4, 9)
    assert naive.score(y_true, y_pred, "macro", *one) == Fraction(7, 9)
    assert naive.score(y_true, y_pred, "weighted", *one) == Fraction(2, 3)
    assert naive.score(y_true, y_pred, "micro", *one) == Fraction(2, 3)
    assert naive.score(y_true, y_pred, "samples", *zero) == Fraction(4, 9)
    assert naive.score(y_true, y_pred, "samples", *one, heavy) == Fraction(3, 4)
    # Weighted counts. Label 0: TP 2, P 3, C 2, F 4/5. Label 1: TP 1, P 1, C 3, F 1/2.
    assert naive.score(y_true, y_pred, "macro", *zero, heavy) == Fraction(13, 30)
    assert naive.score(y_true, y_pred, "weighted", *zero, heavy) == Fraction(29, 40)
    assert naive.score(y_true, y_pred, "micro", *zero, heavy) == Fraction(2, 3)


def test_best_macro_by_hand() -> None:
    y_true = np.array([[1, 1, 0], [0, 0, 0], [1, 0, 0], [0, 1, 0]], np.uint8)
    y_score = np.array([[0.9, 0.9, 0.5], [0.8, 0.8, 0.4], [0.7, 0.7, 0.3], [0.1, 0.6, 0.2]])
    # Label 1 has 2/3 at its first score (TP 1, C 1) and at its last (TP 2, C 4): the highest wins.
    expected = [(0.7, Fraction(4, 5)), (0.9, Fraction(2, 3)), (inf, Fraction(0))]
    assert naive.best_macro(y_true, y_score, 1.0, 0.0) == expected
    assert naive.best_macro(y_true, y_score, 1.0, 1.0)[2] == (inf, 1)
    # With beta 2 recall counts: 5 * 2 / (4 * 2 + 4) = 5/6 beats 5 * 1 / (4 * 2 + 1) = 5/9.
    assert naive.best_macro(y_true, y_score, 2.0, 0.0)[1] == (0.6, Fraction(5, 6))
    # Without the second row label 0 is perfectly ranked, and label 1 gains by predicting all: 4 / 5.
    absent = np.array([1, 0, 1, 1])
    assert naive.best_macro(y_true, y_score, 1.0, 0.0, absent)[:2] == [(0.7, 1), (0.6, Fraction(4, 5))]


def test_best_micro_by_hand() -> None:
    y_true = np.array([[1, 0], [1, 0], [0, 0], [0, 1]], np.uint8)
    y_score = np.array([[0.9, 0.9], [0.8, 0.8], [0.2, 0.7], [0.1, 0.1]])
    # Label 0 alone: 2 * 2 / (3 + 2). Predicting all of label 1 as well: 2 * 3 / (3 + 6).
    assert naive.best_micro(y_true, y_score, 1.0, 0.0) == ([0.8, inf], Fraction(4, 5))
    assert naive.best_micro(0 * y_true, y_score, 1.0, 1.0) == ([inf, inf], 1)
    assert naive.best_micro(0 * y_true, y_score, 1.0, 0.0) == ([inf, inf], 0)


def test_best_micro_takes_the_highest_of_tied_thresholds() -> None:
    # Label 0 reaches F* = 2/3 at 0.9 (TP 1, C 1) and at 0.6 (TP 2, C 4); label 1 adds nothing.
    y_true = np.array([[1, 0], [0, 0], [0, 0], [1, 0]], np.uint8)
    y_score = np.array([[0.9, 0.9], [0.8, 0.8], [0.7, 0.7], [0.6, 0.6]])
    assert naive.best_micro(y_true, y_score, 1.0, 0.0) == ([0.9, inf], Fraction(2, 3))


def test_best_shared_by_hand() -> None:
    y_true = np.array([[1, 0], [1, 1], [0, 0]], np.uint8)
    y_score = np.array([[0.9, 0.3], [0.5, 0.6], [0.4, 0.2]])
    # At 0.5 the decisions are the truth.
    for average in AVERAGES:
        assert naive.best_shared(y_true, y_score, average, 1.0, 1.0) == (0.5, 1)
    # Without the second row: label 0 is 1 from 0.9, label 1 is 0/0 above 0.3, as is the last row.
    gone = np.array([1, 0, 1])
    assert naive.best_shared(y_true, y_score, "macro", 1.0, 0.0, gone) == (0.9, Fraction(1, 2))
    assert naive.best_shared(y_true, y_score, "samples", 1.0, 0.0, gone) == (0.9, Fraction(1, 2))
    assert naive.best_shared(y_true, y_score, "samples", 1.0, 1.0, gone) == (0.9, 1)
    assert naive.best_shared(0 * y_true, y_score, "micro", 1.0, 0.0) == (inf, 0)


def test_top_k_by_hand() -> None:
    y_score = np.array([[0.1, 0.7, 0.7], [-0.0, 0.0, -np.inf]])
    assert naive.samples_top_k(y_score, 0).tolist() == [[0, 0, 0], [0, 0, 0]]
    assert naive.samples_top_k(y_score, 1).tolist() == [[0, 1, 0], [1, 0, 0]]
    assert naive.samples_top_k(y_score, 2).tolist() == [[0, 1, 1], [1, 1, 0]]
    y_true = np.array([[0, 1, 1], [1, 0, 0]], np.uint8)
    # k = 1: 2/3 and 1, k = 2: 1 and 2/3, k = 3: 4/5 and 1/2.
    assert naive.best_top_k(y_true, y_score, 1.0, 0.0) == (1, Fraction(5, 6))
    assert naive.best_top_k(y_true, y_score, 1.0, 0.0, np.array([2, 1])) == (2, Fraction(8, 9))
    assert naive.best_top_k(0 * y_true, y_score, 1.0, 1.0) == (0, 1)


def test_candidates_by_hand() -> None:
    scores, w = array([0.0, 1.0, -0.0, 0.5, -np.inf]), naive.exact_weights(array([1, 2, 1, 0, 0.25]), 5)
    assert naive.candidates(scores, w) == [inf, 1.0, 0.0, -inf]
    assert [naive.next_lower(scores, w, t) for t in (inf, 1.0, -0.0, -inf)] == [1.0, 0.0, -inf, None]
    assert [naive.place_in(scores, w, 1.0, placement) for placement in PLACEMENTS] == [2.0**-10, 0.5, 1.0]
    assert naive.decide(scores[:, None], -0.0).tolist() == [[1], [1], [1], [1], [0]]


@pytest.mark.parametrize(
    ("score", "lower", "dtype", "low", "mid"),
    [
        (1.0, 0.0, "f8", 2.0**-10, 0.5),
        (1.0, 0.0, "f4", 2.0**-10, 0.5),
        (1025.0, 1.0, "f8", 2.0, 513.0),
        (7, 3, "i8", 3 + 2.0**-8, 5.0),  # integers have float64 thresholds
        (1.0, None, "f8", 1.0, 1.0),
        (1.0, -inf, "f8", 1.0, 1.0),
        (-inf, None, "f8", -inf, -inf),
        (inf, 1.0, "f8", inf, inf),
        (
            nextafter(1, 2),
            1.0,
            "f8",
            nextafter(1, 2),
            nextafter(1, 2),
        ),  # neighbours
        (1 + 2.0**-50, 1.0, "f8", nextafter(1, 2), 1 + 2.0**-51),  # at least the neighbour of the lower
        (1 + 2.0**-9, 1.0, "f2", 1 + 2.0**-10, 1 + 2.0**-10),
        (0.1, 0.0, "f8", 0.1 / 1024, 0.05),
        (float(np.float32(2.0**-20)), float(np.float32(-1)), "f4", -1 + 2.0**-10 + 2.0**-24, -0.5 + 2.0**-21),
        (1.0, -0.0, "f8", 2.0**-10, 0.5),
        (-0.0, -1.0, "f8", -1 + 2.0**-10, -0.5),
        (5e-324, 0.0, "f8", 5e-324, 5e-324),  # no other choice than a subnormal
        (5e-324, -5e-324, "f8", 0.0, 0.0),
        (SMALLEST_NORMAL, 0.0, "f8", SMALLEST_NORMAL, SMALLEST_NORMAL),
        (2 * SMALLEST_NORMAL, -0.0, "f8", SMALLEST_NORMAL, SMALLEST_NORMAL),
        (0.0, -SMALLEST_NORMAL, "f8", 0.0, 0.0),
        (2.0**-126, 0.0, "f4", 2.0**-126, 2.0**-126),
        (2.0**-126, 0.0, "f8", 2.0**-136, 2.0**-127),  # subnormal in float32 alone
        (2.0**1023, -(2.0**1023), "f8", -(2.0**1023) + 2.0**1014, 0.0),  # the difference overflows
        (65504.0, -65504.0, "f2", -65376.0, 0.0),
    ],
)
def test_placement_by_hand(score: float, lower: float | None, dtype: str, low: float, mid: float) -> None:
    assert naive.place(score, lower, "low", dtype) == low
    assert naive.place(score, lower, "mid", dtype) == mid
    assert naive.place(score, lower, "score", dtype) == score


def test_rounding_by_hand() -> None:
    half, double = np.dtype(np.float16), np.dtype(np.float64)
    third = Fraction(1, 3)
    assert naive.round_up(third, double) == nextafter(1 / 3, 1)  # 1 / 3 in float64 is below a third
    assert naive.round_up(-third, double) == -1 / 3
    assert naive.round_nearest(third, double) == 1 / 3
    assert naive.round_nearest(Fraction(2049), half) == 2048
    assert naive.round_nearest(Fraction(2051), half) == 2052
    assert naive.round_nearest(-Fraction(2051), half) == -2052
    assert naive.round_up(Fraction(2049), half) == 2050
    assert naive.round_up(Fraction(2**-1074), double) == 5e-324


# Against itself


def check_macro(case: Case) -> None:
    """The thresholds reach the F they claim, and no higher threshold does."""
    best = naive.best_macro(case.y_true, case.y_score, *options(case))
    thresholds, claimed = [t for t, _ in best], tuple(f for _, f in best)
    y_pred = naive.decide(case.y_score, thresholds)
    assert naive.score(case.y_true, y_pred, "none", *options(case)) == claimed
    w = naive.exact_weights(case.sample_weight, len(case.y_true))
    for j, t in enumerate(thresholds):
        column = slice(j, j + 1)
        for other in naive.candidates(case.y_score[:, j], w):
            decisions = naive.decide(case.y_score[:, column], other)
            f = naive.label_scores(case.y_true[:, column], decisions, *options(case))[0]
            assert f < claimed[j] if other > t else f <= claimed[j]


def check_micro(case: Case) -> None:
    """The thresholds reach the F they claim, which macro's and any shared threshold do not exceed."""
    thresholds, claimed = naive.best_micro(case.y_true, case.y_score, *options(case))
    y_pred = naive.decide(case.y_score, thresholds)
    assert naive.score(case.y_true, y_pred, "micro", *options(case)) == claimed
    of_macro = [t for t, _ in naive.best_macro(case.y_true, case.y_score, *options(case))]
    y_pred = naive.decide(case.y_score, of_macro)
    assert naive.score(case.y_true, y_pred, "micro", *options(case)) <= claimed
    assert naive.best_shared(case.y_true, case.y_score, "micro", *options(case))[1] <= claimed


def check_unsupported(case: Case) -> None:
    """A label without positives is never predicted and is worth `zero_division`."""
    w = naive.exact_weights(case.sample_weight, len(case.y_true))
    best = naive.best_macro(case.y_true, case.y_score, *options(case))
    jointly, _ = naive.best_micro(case.y_true, case.y_score, *options(case))
    for j, truth in enumerate(case.y_true.T):
        if naive.counts(truth, truth, w)[2] == 0:
            assert best[j] == (inf, case.zero_division)
            assert jointly[j] == inf


def check_shared(case: Case) -> None:
    """The threshold reaches the F it claims; with one label all but samples are the label's own optimum."""
    for average in AVERAGES:
        t, claimed = naive.best_shared(case.y_true, case.y_score, average, *options(case))
        y_pred = naive.decide(case.y_score, t)
        assert naive.score(case.y_true, y_pred, average, *options(case)) == claimed
        if case.y_true.shape[1] == 1 and average != "samples":
            assert (t, claimed) == naive.best_macro(case.y_true, case.y_score, *options(case))[0]


def check_placement(case: Case) -> None:
    """Placed thresholds lie in (lower, score], in the dtype, off the subnormals, and decide alike."""
    w = naive.exact_weights(case.sample_weight, len(case.y_true))
    present = np.array([weight > 0 for weight in w])
    for scores in case.y_score.T:
        for score in naive.candidates(scores, w):
            lower = naive.next_lower(scores, w, score)
            for placement in PLACEMENTS:
                t = naive.place_in(scores, w, score, placement)
                check_placed(t, score, lower, case.y_score.dtype)
                at_score, placed = (naive.decide(scores[present, None], x) for x in (score, t))
                np.testing.assert_array_equal(placed, at_score)


def check_placed(t: float, score: float, lower: float | None, dtype: np.dtype) -> None:
    """Between the scores, exact in the dtype, and subnormal only where it is the score."""
    dtype = naive.threshold_dtype(dtype)
    assert lower is None or lower < t
    assert t <= score
    assert float(dtype.type(t)) == t
    assert str(t) != "-0.0"
    assert t == score or t == 0 or abs(t) >= np.finfo(dtype).smallest_normal


def check_rows(case: Case) -> None:
    """A row of weight zero counts as absent, a row of weight two as two rows."""
    if case.sample_weight is None or case.sample_weight.dtype.kind != "i":
        return
    times = case.sample_weight
    y_true, y_score = np.repeat(case.y_true, times, axis=0), np.repeat(case.y_score, times, axis=0)
    weighted, repeated = options(case), (case.beta, case.zero_division)
    for best in (naive.best_macro, naive.best_micro, naive.best_top_k):
        assert best(case.y_true, case.y_score, *weighted) == best(y_true, y_score, *repeated)
    for average in AVERAGES:
        once = naive.best_shared(case.y_true, case.y_score, average, *weighted)
        assert once == naive.best_shared(y_true, y_score, average, *repeated)


def check_top_k(case: Case) -> None:
    """Every row has k decisions, none of them below a score left out; the first best k is claimed."""
    best_k, claimed = naive.best_top_k(case.y_true, case.y_score, *options(case))
    for k in range(case.y_true.shape[1] + 1):
        y_pred = naive.samples_top_k(case.y_score, k)
        assert (y_pred.sum(axis=1) == k).all()
        inside, outside = (np.where(y_pred == h, case.y_score, d) for h, d in ((1, np.inf), (0, -np.inf)))
        assert (inside.min(axis=1) >= outside.max(axis=1)).all()
        f = naive.score(case.y_true, y_pred, "samples", *options(case))
        assert f < claimed if k < best_k else f <= claimed
        assert f == claimed or k != best_k


CHECKS = [
    check_macro,
    check_micro,
    check_unsupported,
    check_shared,
    check_placement,
    check_rows,
    check_top_k,
]


@pytest.mark.parametrize("check", CHECKS)
def test_properties_on_the_registry(check: Callable[[Case], None]) -> None:
    for case in CASES[::5]:  # of all twelve flavours
        try:
            check(case)
        except AssertionError as error:
            error.add_note(f"case {case}")
            raise


@pytest.mark.parametrize("check", CHECKS)
def test_properties_on_drawn_cases(check: Callable[[Case], None]) -> None:
    seeded(given(cases())(check))()


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
def test_low_is_the_first_float_at_or_above_its_formula(dtype: np.dtype) -> None:
    smallest_normal = np.finfo(dtype).smallest_normal
    for case in (c for c in CASES if c.y_score.dtype == dtype):
        w = naive.exact_weights(None, case.y_score.size)
        cuts = [t for t in naive.candidates(case.y_score.reshape(-1), w) if isfinite(t)]
        for score, lower in pairwise(cuts):
            t = naive.place(score, lower, "low", dtype)
            exact = Fraction(lower) + (Fraction(score) - Fraction(lower)) / 1024
            before = float(np.nextafter(dtype.type(t), dtype.type(-np.inf)))
            assert Fraction(t) >= exact
            assert Fraction(before) < exact or before == lower or abs(before) < smallest_normal


# The generators


def test_the_registry_is_reproducible() -> None:
    for case, again in zip(CASES[:40], small_cases(40, seed=7), strict=True):
        assert case.name == again.name
        np.testing.assert_array_equal(case.y_true, again.y_true)
        assert case.y_score.tobytes() == again.y_score.tobytes()
        assert repr(case.sample_weight) == repr(again.sample_weight)


def check_case(case: Case) -> None:
    """What every case promises: small, matching shapes, no NaN, no +inf, some weight."""
    scores = case.y_score.astype(np.float64)
    assert case.y_true.shape == scores.shape
    assert scores.shape in SHAPES
    assert case.y_true.dtype == np.uint8
    assert set(np.unique(case.y_true)) <= {0, 1}
    assert not np.isnan(scores).any()
    assert not np.isposinf(scores).any()
    if case.sample_weight is not None:
        assert case.sample_weight.shape == (len(scores),)
        assert (case.sample_weight >= 0).all()
        assert case.sample_weight.sum() > 0
    assert case.beta in BETAS
    assert case.zero_division in ZERO_DIVISIONS


def test_every_case_keeps_its_promises() -> None:
    for case in CASES:
        check_case(case)
    seeded(given(cases())(check_case))()


def features(case: Case) -> set[str]:
    """The peculiarities of a case."""
    scores, truth, weights = case.y_score.astype(np.float64), case.y_true, case.sample_weight
    size = np.abs(scores[np.isfinite(scores)])
    w = np.ones(len(scores)) if weights is None else weights
    found = {
        "-inf": np.isneginf(scores).any(),
        "-0.0": (np.signbit(scores) & (scores == 0)).any(),
        "subnormal": ((size > 0) & (size < SMALLEST_NORMAL)).any(),
        "subnormal float32": case.y_score.dtype == np.float32 and ((size > 0) & (size < 2.0**-126)).any(),
        "huge": (size > 1e308).any(),
        "negative": (scores < 0).any(),
        "constant column": len(scores) > 1 and (scores == scores[0]).all(axis=0).any(),
        "one row": len(scores) == 1,
        "one label": scores.shape[1] == 1,
        "empty label": (truth == 0).all(axis=0).any(),
        "full label": (truth == 1).all(axis=0).any(),
        "empty row": (truth == 0).all(axis=1).any(),
        "no truth": (truth == 0).all(),
        "zero weight": (w == 0).any(),
        "support of weight zero": (truth.any(axis=0) & (truth.T @ w == 0)).any(),
        "real weights": not case.dyadic_weights,
        "eighths": case.dyadic_weights and (w % 1 != 0).any(),
        "no weights": weights is None,
    }
    return {feature for feature, present in found.items() if present}


def test_the_registry_covers_the_trouble_it_looks_for() -> None:
    seen = set().union(*(features(case) for case in CASES))
    assert len(seen) == 18
    assert {case.name.split("-")[2] for case in CASES} == set(FLAVOURS)
    assert {case.y_score.dtype for case in CASES} == {*FLOATS, *INTEGERS}
    assert {(case.beta, case.zero_division) for case in CASES} == set(product(BETAS, ZERO_DIVISIONS))
    assert {case.y_score.shape for case in CASES} == set(SHAPES)
