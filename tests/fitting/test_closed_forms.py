"""Models whose optimal thresholds are known: perfect and uninformative scores, and calibrated probabilities.

Lipton, Elkan & Narayanaswamy 2014, "Thresholding classifiers to maximize F1 score". A finite sample is exactly
calibrated when each level of probability p holds n scores of which p n are positives; then adding the level to
the predictions raises F-beta = (1 + B) TP / (B P + C) iff p > F / (1 + B), B = beta^2 (corollary 5.2 in its
empirical form). At equality F stays the same, and the tie goes to the higher cut.
"""

from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest
from numpy.typing import NDArray

from thresholds import ThresholdRule, fit_empirical, metrics

Array = NDArray[np.generic]
Levels = dict[Fraction, int]  # the number of scores at each probability
AVERAGES = ("macro", "weighted", "micro")
SHARED = (*AVERAGES, "samples")
BETAS = (Fraction(1), Fraction(1, 2), Fraction(2), Fraction(3))
inf = float("inf")


# Perfect and uninformative scores


@pytest.mark.parametrize("average", AVERAGES)
@pytest.mark.parametrize("beta", [0.1, 1.0, 10.0])
def test_separated_labels_reach_1(average: str, beta: float) -> None:
    rng = np.random.default_rng(1)
    y_true = rng.random((50, 6)) < 0.3
    y_score = rng.random((50, 6)) + y_true
    rule = fit_empirical(y_true, y_score, average, beta=beta)
    assert rule.objective == 1.0
    np.testing.assert_array_equal(rule.predict(y_score), y_true)
    lowest, highest = (np.where(y_true, y_score, 9).min(axis=0), np.where(y_true, 0, y_score).max(axis=0))
    assert ((highest < rule.thresholds) & (rule.thresholds <= lowest)).all()


@pytest.mark.parametrize("average", SHARED)
def test_labels_separated_alike_reach_1_with_one_threshold(average: str) -> None:
    y_true = np.random.default_rng(2).random((50, 6)) < 0.5
    rule = fit_empirical(y_true, y_true * 0.5 + 0.25, average, per_label=False, placement="mid")
    assert rule.objective == 1.0
    assert (rule.thresholds == 0.5).all()


@pytest.mark.parametrize("average", AVERAGES)
def test_constant_scores_are_predicted_everywhere(average: str) -> None:
    """F of a label with base rate b is 2b / (1 + b), in general (1 + B) b / (B b + 1)."""
    for positives in range(1, 21):
        for beta in (0.5, 1.0, 3.0):
            y_true = (np.arange(20) < positives).astype(int)
            rule = fit_empirical(y_true, np.full(20, -7.0), average, beta=beta)
            b = positives / 20
            assert rule.objective == pytest.approx((1 + beta**2) * b / (beta**2 * b + 1), abs=1e-15)
            assert rule.thresholds.tolist() == [-7.0]


@pytest.mark.parametrize("average", AVERAGES)
@pytest.mark.parametrize("weights", [None, [1.0, 2.0, 3.0, 0.5]])
def test_a_large_beta_is_recall_and_a_small_one_precision(average: str, weights: list[float] | None) -> None:
    y_true, y_score = [1, 0, 1, 0], [0.9, 0.8, 0.2, 0.1]
    for beta in (1e9, 1e100, 1e90):
        rule = fit_empirical(y_true, y_score, average, beta=beta, sample_weight=weights, placement="score")
        assert (rule.thresholds.tolist(), rule.objective) == ([0.2], pytest.approx(1.0, abs=1e-15))
        rule = fit_empirical(y_true, y_score, average, beta=1 / beta, sample_weight=weights, placement="score")
        assert (rule.thresholds.tolist(), rule.objective) == ([0.9], pytest.approx(1.0, abs=1e-15))


def test_two_uninformative_labels_of_section_6_2() -> None:
    """Base rates .5 and .1: macro F1 is 14/33, with the rare label perfect 5/6 (printed as .84), the other 13/22."""
    common, rare = np.arange(10) < 5, np.arange(10) < 1
    y_true, nothing = np.column_stack([common, rare]), np.zeros(10)
    for scores, expected in [
        ((nothing, nothing), Fraction(14, 33)),
        ((nothing, rare), Fraction(5, 6)),
        ((common, nothing), Fraction(13, 22)),
    ]:
        rule = fit_empirical(y_true, np.column_stack(scores).astype(float))
        assert rule.objective == pytest.approx(float(expected), abs=1e-15)


def test_micro_predicts_an_uninformative_rare_label_nowhere_and_macro_everywhere() -> None:
    """Section 6.3: macro F1 is then 13/22, micro F1 10/11; the other way round they are 1/2 and 4/7."""
    informative = [0.9, 0.8, 0.7, 0.6, 0.55, 0.4, 0.3, 0.2, 0.1, 0.05]
    y_score = np.column_stack([informative, np.full(10, 0.1)])
    y_true = np.column_stack([np.arange(10) < 5, np.arange(10) < 1])
    macro, micro = (fit_empirical(y_true, y_score, average) for average in ("macro", "micro"))
    assert macro.predict(y_score)[:, 1].all()
    assert macro.objective == pytest.approx(13 / 22, abs=1e-15)
    assert not micro.predict(y_score)[:, 1].any()
    assert micro.objective == pytest.approx(10 / 11, abs=1e-15)
    for rule, other, expected in ((micro, "macro", 1 / 2), (macro, "micro", 4 / 7)):
        assert metrics.f1_score(y_true, rule.predict(y_score), average=other) == pytest.approx(expected, abs=1e-15)


@pytest.mark.parametrize(
    ("n", "positives", "expected"),
    [
        (10, 1, Fraction(55991, 138600)),
        (10, 2, Fraction(78691, 155925)),
        (10, 5, Fraction(32728373, 45405360)),
        (20, 1, Fraction(2736977, 10346336)),
        (20, 2, Fraction(128384167, 368588220)),
    ],
)
def test_what_chance_alone_reaches(n: int, positives: int, expected: Fraction) -> None:
    """The winner's curse, exactly: the mean of the best F1 over every order in which positives can be ranked."""
    ranked = list(combinations(range(n), positives))
    y_true = np.zeros((n, len(ranked)), np.uint8)
    for label, rows in enumerate(ranked):
        y_true[list(rows), label] = 1
    y_score = np.repeat(np.arange(n)[:, None], len(ranked), axis=1)
    assert fit_empirical(y_true, y_score).objective == pytest.approx(float(expected), abs=1e-14)


# Exactly calibrated probabilities


def draw_levels(rng: np.random.Generator) -> Levels:
    """A few probabilities h/n, each with so many scores that it is realised exactly."""
    levels: Levels = {}
    for _ in range(rng.integers(2, 9)):
        n = int(rng.integers(1, 13))
        p = Fraction(int(rng.integers(0, n + 1)), n)
        levels[p] = levels.get(p, 0) + n
    return levels if any(levels) else levels | {Fraction(1): 1}


def realised(levels: Levels) -> tuple[list[int], list[float]]:
    """Truth and scores of an exactly calibrated label."""
    truth = [int(i < p * n) for p, n in levels.items() for i in range(n)]
    return truth, [float(p) for p, n in levels.items() for _ in range(n)]


def best_f(levels: Levels, beta: Fraction) -> Fraction:
    """The highest F-beta over cuts at a level."""
    b, positives = beta**2, sum(p * n for p, n in levels.items())
    tp, predicted, best = Fraction(0), 0, Fraction(0)
    for p in sorted(levels, reverse=True):
        tp, predicted = tp + p * levels[p], predicted + levels[p]
        best = max(best, (1 + b) * tp / (b * positives + predicted))
    return best


def predicted_levels(rule: ThresholdRule, levels: Levels, label: int = 0) -> set[Fraction]:
    """The levels that lie at or above the threshold of a label."""
    return {p for p in levels if float(p) >= rule.thresholds[label]}


def pad(columns: list[list[float]], value: float) -> Array:
    """Columns of different lengths as a matrix."""
    length = max(map(len, columns))
    return np.array([column + [value] * (length - len(column)) for column in columns]).T


@pytest.mark.parametrize("beta", BETAS, ids=str)
def test_calibrated_probabilities_are_cut_at_the_best_f_over_1_plus_b(beta: Fraction) -> None:
    for seed in range(60):
        levels = draw_levels(np.random.default_rng(seed))
        f = best_f(levels, beta)
        rule = fit_empirical(*realised(levels), beta=float(beta))
        assert rule.objective == pytest.approx(float(f), abs=1e-15)
        assert predicted_levels(rule, levels) == {p for p in levels if p > f / (1 + beta**2)}


@pytest.mark.parametrize(
    ("levels", "beta"),
    [
        ({Fraction(1): 1, Fraction(1, 3): 3}, Fraction(1)),
        ({Fraction(1): 50, Fraction(1, 3): 150, Fraction(0): 7}, Fraction(1)),
        ({Fraction(1): 4, Fraction(2, 5): 5}, Fraction(1)),
        ({Fraction(1): 4, Fraction(1, 6): 6, Fraction(0): 1}, Fraction(2)),
    ],
)
def test_a_level_at_the_boundary_makes_no_difference_and_is_left_out(levels: Levels, beta: Fraction) -> None:
    boundary = sorted(levels)[-2]
    assert best_f(levels, beta) == (1 + beta**2) * boundary
    rule = fit_empirical(*realised(levels), beta=float(beta))
    assert predicted_levels(rule, levels) == {Fraction(1)}
    lower = rule.replace({0: float(boundary)})
    truth, scores = realised(levels)
    with_it = metrics.fbeta_score(truth, lower.predict(scores), beta=float(beta))
    assert with_it == pytest.approx(rule.objective, abs=1e-15)


def test_the_optimal_threshold_of_calibrated_probabilities_is_at_most_a_half() -> None:
    """Section 5: F* is at most 1, so that a level above 1/2 is always predicted."""
    for seed in range(60):
        levels = draw_levels(np.random.default_rng(seed))
        rule = fit_empirical(*realised(levels), placement="low")
        assert {p for p in levels if p > Fraction(1, 2)} <= predicted_levels(rule, levels)


@pytest.mark.parametrize("beta", BETAS, ids=str)
def test_calibrated_labels_share_one_cut_in_joint_micro(beta: Fraction) -> None:
    """Section 6.1: the best thresholds of all labels lie on the same side of every probability, F* / (1 + B)."""
    for seed in range(20):
        rng = np.random.default_rng([1, seed])
        labels = [draw_levels(rng) for _ in range(5)]
        pooled: Levels = {}
        for levels in labels:
            pooled |= {p: pooled.get(p, 0) + n for p, n in levels.items()}
        f = best_f(pooled, beta)
        truth, scores = zip(*map(realised, labels), strict=True)
        y_true, y_score = pad(list(truth), 0), pad(list(scores), -inf)
        joint = fit_empirical(y_true, y_score, "micro", beta=float(beta))
        shared = fit_empirical(y_true, y_score, "micro", beta=float(beta), per_label=False)
        assert joint.objective == pytest.approx(float(f), abs=1e-15)
        assert joint.objective == shared.objective
        np.testing.assert_array_equal(joint.predict(y_score), shared.predict(y_score))
        for j, levels in enumerate(labels):
            assert predicted_levels(joint, levels, j) == {p for p in levels if p > f / (1 + beta**2)}


def test_weights_can_calibrate() -> None:
    """Two scores a level, weighted by p and 1 - p, are a calibrated sample too."""
    for seed in range(40):
        rng = np.random.default_rng([2, seed])
        p, mass = rng.integers(1, 64, 12) / 64, rng.integers(1, 9, 12)
        weights = np.concatenate([p * mass, (1 - p) * mass])
        truth, scores = np.repeat([1, 0], 12), np.tile(p, 2)
        levels: Levels = {}
        for q, n in zip(p, mass, strict=True):
            levels[Fraction(q)] = levels.get(Fraction(q), 0) + int(n)
        f = best_f(levels, Fraction(1))
        rule = fit_empirical(truth, scores, sample_weight=weights)
        assert rule.objective == pytest.approx(float(f), abs=1e-15)
        assert predicted_levels(rule, levels) == {q for q in levels if q > f / 2}
