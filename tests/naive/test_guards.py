"""The twin of guards against cases worked out by hand."""

import math
from fractions import Fraction

import numpy as np
import pytest

from tests.naive import guards as twin

F64 = np.dtype(np.float64)
COLUMN = np.array([0.9, 0.7, 0.7, 0.1])
TRUTH = np.array([1, 1, 0, 0])
TINY = 2.0**-1022  # the smallest normal number
inf = math.inf


def cells(truth: object, scores: object, weights: object = None) -> twin.Cells:
    """Cells of one label, or of several."""
    truth, scores = np.asarray(truth), np.asarray(scores)
    return twin.Cells.of(truth.reshape(len(truth), -1), scores.reshape(len(scores), -1), weights)


def rows(*weights: float) -> list[Fraction]:
    """Exact weights."""
    return [Fraction(weight) for weight in weights]


def at(curve: np.ndarray, ratio: float) -> float:
    """A curve at a ratio that the grid holds."""
    return float(curve[np.flatnonzero(ratio == twin.RATIOS)[0]])


def test_ratios_run_from_a_sixteenth_to_64_in_twelfths_of_octaves() -> None:
    assert twin.RATIOS.size == 121
    assert (twin.RATIOS[0], twin.RATIOS[48], twin.RATIOS[-1]) == (1 / 16, 1.0, 64.0)


def test_weights_are_whole_or_have_mean_1() -> None:
    assert twin.row_weights(None, 2) == [1, 1]
    assert twin.row_weights(np.array([2, 0, 3]), 3) == [2, 0, 3]
    assert twin.row_weights(np.array([0.5, 0, 1.5]), 3) == [0.5, 0, 1.5]
    assert twin.row_weights(np.array([0.25, 0, 0.75]), 3) == [0.5, 0, 1.5]
    assert sum(twin.row_weights(np.array([0.1, 0.7, 1 / 3]), 3)) == 3


@pytest.mark.parametrize(
    ("ratio", "tp", "beta_1", "beta_2"),
    [
        (0.5, 1.0, 2 / 3, 5 / 9),  # c = 1
        (1.0, 1.5, 3 / 4, 7.5 / 10),  # c = 2, half of the tie group
        (2.0, 2.0, 4 / 6, 10 / 12),  # c = 4
        (64.0, 2.0, 4 / 130, 10 / 136),  # c stops at 4, the ratio does not
        (0.0625, 0.125, 0.25 / 2.125, 0.625 / 8.125),  # c = 1/8
    ],
)
def test_own_f(ratio: float, tp: float, beta_1: float, beta_2: float) -> None:
    ones = np.ones(4)
    assert twin.among_the_highest(np.minimum(2 * ratio, 4), COLUMN, TRUTH.astype(float), ones) == pytest.approx(tp)
    assert at(twin.own_f(cells(TRUTH, COLUMN), 0, 1.0), ratio) == pytest.approx(beta_1)
    assert at(twin.own_f(cells(TRUTH, COLUMN), 0, 4.0), ratio) == pytest.approx(beta_2)


def test_expected_f() -> None:
    p, order = np.array([[0.8], [0.5], [0.25], [0.05]]), np.array([[9], [5], [5], [1]])
    curve = twin.expected_f(cells(TRUTH, COLUMN), 0, 1.0, p, order)
    assert at(curve, 1.0) == pytest.approx(2 * (0.8 + 0.375) / (1.6 + 2))
    assert at(curve, 64.0) == pytest.approx(2 * 1.6 / (1.6 + 4)), "c stops at n, also below the line"


def test_siblings_weigh_less_the_more_their_support_differs() -> None:
    a = np.array([10.0, 10.0 * math.exp(0.7), 0.0])
    own = {0: np.array([1.0, 0.0]), 1: np.array([0.0, 1.0])}
    near = math.exp(-0.5)
    np.testing.assert_allclose(twin.siblings_f(own, a, 0), [1 / (1 + near), near / (1 + near)])


def test_bins_of_probabilities() -> None:
    index, x = twin.bins_of_probabilities(np.array([0.0, 1e-9, 0.25, 0.257, 0.258, 0.75, 0.743, 1.0, 0.5]))
    middle = 0.25 * (1 + 1 / 64)
    assert x[2] == x[3] == -x[5] == -x[6] == pytest.approx(math.log(middle / (1 - middle)))
    assert index[0] == index[1] < index[2] == index[3] < index[4] < index[8] < index[5] == index[6] < index[7]
    assert x[8] == 0, "the bin of .5 ends there"
    assert x[0] == -x[7] == pytest.approx(math.log(1e-6), abs=1 / 64)


def test_bins_of_margins() -> None:
    values = np.array([-1e300, -4.0, -1.0, -1e-50, 0.0, 1e-50, 1.0, 1.031, 1.032, 4.0])
    index, x = twin.bins_of_margins(values)
    assert (np.diff(index) >= 0).all()
    assert (np.diff(x) >= 0).all()
    assert x[6] == x[7] == -x[2] == 1 + 1 / 64 < x[8]


def test_logistic_curve_of_two_bins_meets_both() -> None:
    slope, curve = twin.logistic(np.array([1.0, -1.0]), np.array([3.0, 1.0]), np.array([1.0, 3.0]))
    assert slope > 0
    expected = (3 * 5 / 6 + 1 / 6) / 4
    np.testing.assert_allclose(curve(np.array([1.0, -1.0])), [expected, 1 - expected])
    slope, curve = twin.logistic(np.array([7.0]), np.array([3.0]), np.array([1.0]))
    assert slope == 0
    np.testing.assert_allclose(curve(np.array([0.0])), [(3 * 4 / 5 + 1 / 3) / 4])


def test_logistic_curve_of_three_bins_is_where_no_neighbour_is_better() -> None:
    x, hits, rest = np.array([-3.0, 0.5, 2.0]), np.array([1.0, 2.0, 9.0]), np.array([40.0, 3.0, 1.0])
    slope, curve = twin.logistic(x, hits, rest)
    high, low = 13 / 14, 1 / 46
    yes, no = hits * high + rest * low, hits * (1 - high) + rest * (1 - low)
    p, residual = curve(x), yes - (hits + rest) * curve(x)
    assert slope > 0
    np.testing.assert_allclose([residual.sum(), (residual * x).sum()], 0, atol=1e-9)
    np.testing.assert_allclose(yes + no, hits + rest)
    assert (np.diff(p) > 0).all()


def test_pooled_probabilities() -> None:
    truth, scores = (
        np.array([[1, 0], [1, 0], [0, 1], [0, 0]]),
        np.array([[0.9, 0.0], [0.6, -inf], [0.2, 0.0], [0, 0.1]]),
    )
    p, order = twin.pooled_probabilities(cells(truth, scores), 0.0)
    np.testing.assert_allclose(p[scores == 0], 1.5 / 4)
    assert p[1, 1] == 0
    assert p[0, 0] > p[1, 0] > p[2, 0] > p[3, 1]
    assert order[0, 0] > order[1, 0] > order[2, 0] > order[3, 1] > order[3, 0] == order[0, 1] > order[1, 1]
    assert twin.pooled_probabilities(cells(1 - truth, scores), 0.0) is None, "falling"
    assert twin.pooled_probabilities(cells(truth[:2, :1], scores[:2, :1]), 0.0) is None, "no negatives"
    assert twin.pooled_probabilities(cells(truth[2:, :1], scores[2:, :1]), 0.0) is None, "no positives"
    assert twin.pooled_probabilities(cells(truth, np.full((4, 2), 0.5)), 0.0) is None, "level"


def test_absent_scores_lie_just_below_their_bin() -> None:
    scores = np.array([0.25, 0.251, 0.24, 0.26])
    _, order = twin.pooled_probabilities(cells([0, 1, 0, 1], scores), 0.25)
    assert order[2, 0] < order[0, 0] < order[1, 0] < order[3, 0]


def test_rank_without_knowledge_is_twice_the_positives_and_one() -> None:
    assert twin.chosen_rank(np.zeros(121), 0.0, 5.0) == pytest.approx(1 + 5 * 2), "ln rho is ln 2 on average"
    peak = np.where(twin.RATIOS == 1, 1.0, 0.0)
    assert twin.chosen_rank(peak, 0.0, 5000.0) == pytest.approx(5001)
    assert twin.chosen_rank(np.zeros(121), 100 * peak, 3.0) == pytest.approx(4)
    weight = math.exp(5.0)  # of the peak, where ln rho is 0; the 121 points add up to 121 ln 2
    assert twin.chosen_rank(peak, 0.0, 5.0) == pytest.approx(1 + 5 * math.exp(121 * math.log(2) / (120 + weight)))


@pytest.mark.parametrize(
    ("rank", "scores", "expected"),
    [
        (1.0, [4, 3, 2, 1], 4),
        (2.0, [4, 3, 2, 1], 3),
        (2.25, [4, 3, 2, 1], 2.75),
        (3.5, [1, 4, 2, 3], 1.5),
        (4.0, [4, 3, 2, 1], 1),
        (99.0, [4, 3, 2, 1], 1),
        (0.2, [4, 3, 2, 1], 4),
        (2.5, [4, 3, -inf, -inf], 3),
        (1.5, [4, -inf], 4),
        (2.0, [-inf, -inf], inf),
        (2.5, [5, 4, 4, 4], 4),  # 4 * 1 <= 6.25
        (1.5, [4, 4, 4, 4], np.nextafter(4, inf)),  # 4 * 1 > 2.25
        (2.5, [6, 5, 4, 4, 4, 4, 4], 4.5),
        (3.0, [6, 5, 4, 4, 4, 4, 4], np.nextafter(4, inf)),  # 7 * 2 > 9
        (4.0, [6, 5, 4, 4, 4, 4, 4], 4),  # 7 * 2 <= 16
        (3.0, [0, 0, 0, 0], TINY),  # 4 * 1 <= 9, but absent scores are never predicted
        (1.0, [0], 0),
        (2.0, [1, 0], 0),  # a single score of 0 is a score
        (2.5, [1, 1, 0, 0], 0.5),
        (1.5, [TINY / 2, 0], TINY / 2),  # no subnormal below the score
        (1.5, [TINY, 0], TINY),
        (1.5, [0, -TINY], 0),
        (1.5, [1e308, -1e308], 1e308),  # a gap beyond float64
    ],
)
def test_threshold_at_a_rank(rank: float, scores: list[float], expected: float) -> None:
    scores = np.array(scores, float)
    assert twin.threshold_at(rank, scores, rows(*[1] * scores.size), F64) == expected


def test_threshold_at_a_rank_of_weighted_cells() -> None:
    scores, weights = np.array([3.0, 2.0, 1.0]), rows(1.5, 1, 2)
    assert twin.threshold_at(1.0, scores, weights, F64) == np.nextafter(3, inf), "1.5 cells are more than 1"
    assert twin.threshold_at(1.5, scores, weights, F64) == 2.5, "ranks 1 and 2 lie in the items of 3 and 2"
    assert twin.threshold_at(2.5, scores, weights, F64) == 1.5, "rank 3 lies in the item of score 1"
    assert twin.threshold_at(3.75, scores, weights, F64) == 1
    assert twin.threshold_at(9.0, scores, weights, F64) == 1


def test_thresholds_are_rounded_up_into_the_dtype_but_never_above_the_score() -> None:
    f16 = np.dtype(np.float16)
    low, high = 1.0, 1.0 + 2**-9  # one float16 lies between
    scores = np.array([high, low])
    assert twin.threshold_at(1.9, scores, rows(1, 1), f16) == 1 + 2**-10
    assert twin.threshold_at(1.2, scores, rows(1, 1), f16) == high
    assert twin.next_above(1.0, f16) == 1 + 2**-10


def test_labels_without_positives() -> None:
    truth, scores = np.zeros((3, 2)), np.array([[0.25, -inf], [0.5, -inf], [0.0, -inf]])
    assert twin.shrink(truth, scores) == [np.nextafter(0.5, 1), inf]
    assert twin.shrink(truth, scores, unsupported="never") == [inf, inf]
    assert twin.shrink(truth, scores, sample_weight=[1, 0, 1]) == [np.nextafter(0.25, 1), inf]
    assert twin.shrink(truth[:, :1], np.zeros((3, 1), np.float32)) == [2.0**-126]
    assert twin.shrink(np.ones((3, 2)), scores)[1] == inf


def test_a_guard_by_hand() -> None:
    """One label, three rows, one positive at the top: F of its own alone."""
    truth, scores = np.array([[1], [0], [0]]), np.array([[3.0], [2.0], [1.0]])
    f = [2 * min(rho, 1) / (1 + rho) for rho in twin.RATIOS]
    q = np.exp(f) / np.exp(f).sum()
    rank = 1 + math.exp(np.sum(q * np.log(twin.RATIOS)))
    assert 2 < rank < 3
    got = twin.shrink(truth, scores, siblings=False, probabilities=False)
    assert got == [pytest.approx(2 - (rank - 2) * 1)]
    alone = np.exp(21 * np.array(f)) / np.exp(21 * np.array(f)).sum()
    rank = 1 + math.exp(np.sum(alone * np.log(twin.RATIOS)))
    assert 2 < rank < 3
    assert twin.shrink(truth, scores, probabilities=False) == [pytest.approx(4 - rank)], "its own only sibling"


def test_whole_weights_are_repeated_rows_and_real_ones_have_no_scale() -> None:
    rng = np.random.default_rng(3)
    truth, scores = (rng.random((30, 3)) < 0.3).astype(int), rng.integers(0, 12, (30, 3)) / 12
    weights = rng.integers(0, 4, 30)
    once = twin.shrink(truth, scores, sample_weight=weights)
    repeated = twin.shrink(np.repeat(truth, weights, axis=0), np.repeat(scores, weights, axis=0))
    np.testing.assert_allclose(once, repeated, rtol=1e-12)
    real = rng.exponential(size=30)
    np.testing.assert_allclose(
        twin.shrink(truth, scores, sample_weight=real), twin.shrink(truth, scores, sample_weight=7 * real), rtol=1e-9
    )


# Limits: cuts at .9, .7, .5, .3 have 1/1, 2/3, 3/4, 4/8 true positives among predictions; 4 positives

LADDER_TRUTH = np.array([1, 1, 0, 1, 1, 0, 0, 0, 0])
LADDER = np.array([0.9, 0.7, 0.7, 0.5, 0.3, 0.3, 0.3, 0.3, 0.1])


@pytest.mark.parametrize(
    ("limits", "best", "nearest_to_3"),
    [
        (twin.Limits(), 0.5, 0.7),
        (twin.Limits(max_overprediction=0.75), 0.7, 0.7),
        (twin.Limits(max_overprediction=0.5), 0.9, 0.9),
        (twin.Limits(max_overprediction=0.1), inf, inf),
        (twin.Limits(min_precision=0.75), 0.5, 0.5),
        (twin.Limits(min_precision=0.8), 0.9, 0.9),
        (twin.Limits(min_recall=1.0), 0.3, 0.3),
        (twin.Limits(min_recall=0.75), 0.5, 0.5),
        (twin.Limits(min_recall=0.0, max_overprediction=0.0), inf, inf),
        (twin.Limits(min_recall=1.0, min_precision=0.6), inf, inf),
    ],
)
def test_limits(limits: twin.Limits, best: float, nearest_to_3: float) -> None:
    assert twin.limited_cut(LADDER_TRUTH, LADDER, limits) == best
    got = twin.limited_guard(LADDER_TRUTH, LADDER, 0.6, limits)
    assert got == (0.6 if nearest_to_3 == 0.7 else nearest_to_3), "0.6 keeps the limits as 0.7 does"


def test_a_guard_beyond_limits_goes_to_the_nearest_cut_in_ratio() -> None:
    truth, scores = np.array([1, 0, 0, 0, 1, 1, 1, 1]), np.arange(8, 0, -1) / 10
    limits = twin.Limits(min_precision=0.55)  # allows 1, 7 and 8 predictions
    assert twin.limited_guard(truth, scores, 0.7, limits) == 0.8, "from 2 to 1"
    assert twin.limited_guard(truth, scores, 0.6, limits) == 0.2, "from 3 to 7 rather than 1: 7/3 < 3"
    assert twin.limited_guard(truth, scores, 0.15, limits) == 0.15, "7 are allowed"
    assert twin.limited_guard(truth, scores, 0.9, twin.Limits(min_recall=0.3)) == 0.4, "from none: the highest allowed"
    assert twin.limited_guard(truth, scores, inf, limits) == inf


def test_of_two_cuts_at_equal_distance_the_higher_is_taken() -> None:
    truth, scores = np.array([1, 0, 1, 1]), np.array([4.0, 3.0, 2.0, 1.0])
    assert twin.limited_guard(truth, scores, 3.0, twin.Limits(min_precision=0.7)) == 4.0, "from 2 to 1, or to 4"


def test_limits_above_a_bound_and_with_weights() -> None:
    assert twin.limited_cut(LADDER_TRUTH, LADDER, twin.Limits(), above=0.5) == 0.7
    assert twin.limited_cut(LADDER_TRUTH, LADDER, twin.Limits(min_recall=1.0), above=0.3) == inf
    weights = np.where(LADDER == 0.7, 1, 9 * (LADDER == 0.9))
    assert twin.limited_cut(LADDER_TRUTH, LADDER, twin.Limits(), sample_weight=weights) == 0.7, "20 / 21 above 18 / 19"
    assert twin.limited_cut(LADDER_TRUTH, LADDER, twin.Limits(min_precision=0.95), sample_weight=weights) == 0.9
    masked = np.array([1, 1, 0]), np.array([0.5, -inf, -inf])
    assert twin.limited_cut(*masked, twin.Limits(min_recall=1.0)) == -inf


# The guard for micro F


def test_cuts_lie_at_scores_of_positives_one_in_a_twelfth_of_an_octave() -> None:
    truth = np.array([[1, 0], [0, 1], [1, 0], [1, 1]])
    scores = np.array([[0.9, 0.8], [0.95, 0.5], [0.5, -inf], [0.0, -inf]])
    assert twin.cuts_of_positives(cells(truth, scores)) == [0.9, 0.5], "not at `missing`, nor where scores are masked"
    assert twin.cuts_of_positives(cells(truth, scores), missing=0.5) == [0.9, 0.0]
    assert twin.cuts_of_positives(cells(truth, scores), missing=0.5, keep_sparse=True) == [0.9]
    many = np.arange(300.0, 0, -1)
    assert twin.cuts_of_positives(cells(np.ones(300), many))[-2:] == [14.0, 1.0], "2 ** (98 / 12) is 287.4"


def test_counts_begin_with_never() -> None:
    tp, predicted, depth = twin.counts_at(cells([1, 1, 0], [0.9, 0.5, 0.7]), [0.9, 0.5])
    assert tp.tolist() == [[0, 1, 2]]
    assert predicted.tolist() == [[0, 1, 3]]
    np.testing.assert_allclose(depth, [math.log(0.5), 0, math.log(3)])


def test_mean_depth() -> None:
    depth = np.array([0.0, 1.0, 3.0])  # widths 1, 3/2, 2
    assert twin.mean_depth(np.zeros(3), depth, 4.0) == pytest.approx((1.5 * 1 + 2 * 3) / 4.5)
    gain = np.array([0.0, math.log(2), 0.0])
    assert twin.mean_depth(gain, depth, 1.0) == pytest.approx((3 * 1 + 2 * 3) / 6)
    assert twin.mean_depth(gain, depth, 2.0) == pytest.approx((6 * 1 + 2 * 3) / 9)


def test_a_row_is_decided_by_the_others() -> None:
    """One positive at u = 1, one negative at u = 2: alone, each would be somewhere else."""
    tp, predicted, depth = np.array([0.0, 1.0, 1.0]), np.array([0.0, 1.0, 2.0]), np.array([0.0, 1.0, 2.0])
    ratio, no_prior = 0.5, np.zeros(3)
    # Without the positive the gains are 0, 0, -.5; without the negative 0, .5, .5. Widths are 1.
    low, high = math.exp(-0.5), math.exp(0.5)
    without_positive = (1 + 2 * low) / (2 + low)
    without_negative = (high + 2 * high) / (1 + 2 * high)
    hits, decided = twin.decided_by_others(tp, predicted, no_prior, depth, ratio, 1.0)
    assert hits == pytest.approx(min(without_positive, 1))
    assert decided == pytest.approx(hits + without_negative - 1)


def test_a_strong_prior_gives_all_labels_one_threshold() -> None:
    rng = np.random.default_rng(0)
    tp = np.concatenate([np.zeros((5, 1)), (rng.random((5, 20)) < np.linspace(0.9, 0, 20)).cumsum(axis=1)], axis=1)
    predicted = np.tile(np.arange(21.0), (5, 1))
    depth = np.append(math.log(0.5), np.log(5 * np.arange(1, 21)))
    spread = [np.ptp(twin.pooled_depths(tp * k, predicted * k, depth, tp[:, -1].sum() * k, 1.0)) for k in (1, 100)]
    assert spread[0] < spread[1], "with a hundred times as many rows each label has its own"
