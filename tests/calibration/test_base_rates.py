"""Base rates of new rows without labels, and calibrators that follow them."""

import json
import math
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import sparse
from scipy.special import expit

import thresholds
from tests.naive.base_rates import Means, by_em, moved, square_of_gap
from tests.rules import same
from thresholds import calibrate, estimate_base_rates
from thresholds.calibration.base_rates import CHANGED, EITHER, MOVED, SAME, UNKNOWN, BaseRates
from thresholds.calibration.calibrator import Calibrator

Floats = NDArray[np.float64]
Booleans = NDArray[np.bool_]

# Of many draws a few are false alarms; tests that are about those ask for them.
pytestmark = pytest.mark.filterwarnings("ignore::thresholds.ScoreChangeWarning")

METHODS = ("isotonic", "platt")
BYS = ("shrink", "label", "pooled")


def draw(
    n: int, rates: Any, *, seed: int = 0, distance: float = 2.0, decimals: int | None = None
) -> tuple[Booleans, Floats]:
    """Truth and scores in [0, 1] of labels of these base rates, whose positives score higher."""
    rng = np.random.default_rng(seed)
    truth = rng.random((n, len(rates))) < np.asarray(rates)
    scores = expit(rng.normal(size=truth.shape) + distance * truth - 1.5)
    return truth, scores if decimals is None else scores.round(decimals)


# The likelihood


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("by", ["shrink", "label"])
def test_the_likeliest_rate_is_where_em_ends(method: Any, by: Any, weighted: bool) -> None:
    calibrator = calibrate(*draw(400, [0.3, 0.1]), method, by)
    _, new = draw(120, [0.1, 0.3], seed=1)
    weights = np.arange(120) % 3 if weighted else None
    found = estimate_base_rates(calibrator, new, sample_weight=weights).table["estimate"]
    p = calibrator.transform(new)
    for j in range(2):
        expected = by_em(p[:, j], np.ones(120) if weights is None else weights, calibrator.base_rates[j])
        assert found[j] == pytest.approx(expected, rel=1e-6)


@pytest.mark.parametrize("method", METHODS)
def test_a_common_curve_tells_each_label_by_its_own_base_rate(method: Any) -> None:
    """One curve presumes too much of rare labels and too little of others; no base rate is that of the curve."""
    rates = np.array([0.3, 0.1, 0.03])
    truth, scores = draw(4000, rates)
    _, new = draw(3000, 2 * rates, seed=1)
    pooled = calibrate(truth, scores, method, "pooled")
    same_rates = estimate_base_rates(pooled, scores)
    np.testing.assert_allclose(same_rates.table["before"], truth.mean(axis=0))
    np.testing.assert_allclose(same_rates.rates, pooled.base_rates, rtol=0.02)  # None moved, none is moved.
    found = estimate_base_rates(pooled, new)
    assert found.verdict.tolist() == [MOVED] * 3
    alone = estimate_base_rates(calibrate(truth, scores, method, "label"), new).table["estimate"]
    np.testing.assert_allclose(found.table["estimate"], alone, rtol=0.06)
    assert ((found.table["low"] < 2 * rates) & (2 * rates < found.table["high"])).all()


def test_rows_like_those_of_the_fit_have_its_base_rates() -> None:
    truth, scores = draw(500, [0.3, 0.1])
    calibrator = calibrate(truth, scores, by="label")
    np.testing.assert_allclose(calibrator.base_rates, truth.mean(axis=0))
    found = estimate_base_rates(calibrator, scores).table
    np.testing.assert_allclose(found["estimate"], truth.mean(axis=0), rtol=1e-9)
    np.testing.assert_allclose(found["rate"], truth.mean(axis=0), rtol=0.02)


def test_the_likelihood_may_be_highest_at_0_or_at_1() -> None:
    truth, scores = draw(400, [0.3, 0.3], distance=3)
    calibrator = calibrate(truth, scores, "platt")
    new = np.full((300, 2), [scores[:, 0].min(), scores[:, 1].max()])
    with pytest.warns(thresholds.ScoreChangeWarning):  # All scores are equal.
        found = estimate_base_rates(calibrator, new)
    assert found.table["estimate"].tolist() == [0, 1]
    assert ((found.rates > 0) & (found.rates < 1)).all()


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("by", BYS)
def test_scores_that_are_all_certain_have_certain_rates(method: Any, by: Any) -> None:
    """Probabilities next to 1 make sums that would cancel."""
    calibrator = calibrate(*draw(300, [0.3, 0.2]), method, by)
    for score in (0.0, 1.0):
        found = estimate_base_rates(calibrator, np.full((50, 2), score)).table
        assert found["estimate"].tolist() == [score, score]


# Intervals


def bins_of(calibrator: Calibrator, label: int, scores: Floats) -> NDArray[np.intp]:
    """The bin of each score of a label."""
    assert calibrator.by_class is not None
    return np.searchsorted(calibrator.by_class.edges[label], scores, side="right")


@pytest.mark.parametrize("decimals", [None, 1])
def test_the_interval_follows_its_definition(decimals: int | None) -> None:
    truth, scores = draw(300, [0.3, 0.15], decimals=decimals)
    calibrator = calibrate(truth, scores)
    _, new = draw(200, [0.2, 0.3], seed=3, decimals=decimals)
    found = estimate_base_rates(calibrator, new, confidence=0.9).table
    known = calibrator.by_class
    assert known is not None
    for j in range(2):
        # The slope of the likelihood where that is highest, bin by bin.
        p, before, now = known.probabilities[j], known.rates[j], found["estimate"][j]
        a = (p - before) / (before * (1 - before))
        of_bins = a / (1 + (now - before) * a)
        of_fit = of_bins[bins_of(calibrator, j, scores[:, j])]
        of_new = of_bins[bins_of(calibrator, j, new[:, j])]

        # At both ends the test has exactly the p-value that the confidence leaves.
        share = np.bincount(bins_of(calibrator, j, scores[:, j]), minlength=of_bins.size) / 300
        positives = Means(of_fit[truth[:, j]], of_bins, share * p)
        negatives = Means(of_fit[~truth[:, j]], of_bins, share * (1 - p))
        for end in (found["low"][j], found["high"][j]):
            assert 0 < end < 1
            assert end != now
            assert math.sqrt(square_of_gap(end, of_new, positives, negatives)) == pytest.approx(1.6449, abs=1e-4)


@pytest.mark.soak
def test_intervals_hold_the_rate_about_as_often_as_they_say() -> None:
    held = []
    for seed in range(6):
        rates = np.tile([0.02, 0.1, 0.4], 20)
        calibrator = calibrate(*draw(1000, rates, seed=seed))
        after = rates * np.repeat([0.5, 1, 2, 1.5], 15)
        found = estimate_base_rates(calibrator, draw(800, after, seed=100 + seed)[1]).table
        held.append((found["low"] <= after) & (after <= found["high"]))
    assert 0.93 < np.mean(held) <= 1


def test_an_interval_is_shorter_with_more_rows_of_either_kind() -> None:
    lengths = []
    for n, n_new in ((500, 500), (500, 5000), (5000, 500)):
        found = estimate_base_rates(calibrate(*draw(n, [0.2])), draw(n_new, [0.2], seed=1)[1]).table[0]
        lengths.append(found["high"] - found["low"])
    assert lengths[0] > lengths[1]
    assert lengths[0] > lengths[2]


# What cannot be told, and what is told


def test_a_label_with_hardly_any_positives_cannot_be_told() -> None:
    truth, scores = draw(400, [0.3, 0.3])
    truth[:, 1] = np.arange(400) < 4
    found = estimate_base_rates(calibrate(truth, scores), scores)
    assert found.verdict.tolist() == [SAME, UNKNOWN]
    row = found.table[1]
    assert (row["low"], row["high"]) == (0, 1)
    assert np.isnan(row["estimate"])
    assert row["rate"] == row["before"]
    assert found.sentence(1) == "the base rate of 1 cannot be told from its scores"


@pytest.mark.parametrize("kind", ["useless", "constant", "masked", "no positives", "all positive"])
def test_scores_that_know_nothing_tell_no_rate(kind: str) -> None:
    truth, scores = draw(400, [0.3, 0.3], distance=0.0 if kind == "useless" else 2.0)
    new = draw(300, [0.3, 0.3], seed=5, distance=0.0)[1]
    if kind == "constant":
        scores[:, 1] = new[:, 1] = 0.5
    if kind == "masked":
        scores[:, 1] = -np.inf
    if kind in ("no positives", "all positive"):
        truth[:, 1] = kind == "all positive"
    for by in BYS:
        calibrator = calibrate(truth, scores, by=by)
        found = estimate_base_rates(calibrator, new).table[1]
        assert found["verdict"] in (UNKNOWN, CHANGED)
        assert (found["low"], found["high"]) == (0, 1)
        assert found["rate"] == calibrator.base_rates[1]


def test_scores_where_none_were_before_tell_no_rate() -> None:
    """The calibration saw 0 and 1 only: what is between could be either."""
    truth = np.arange(800) % 5 == 0
    found = estimate_base_rates(calibrate(truth, truth + 0.0), np.full(500, 0.5))
    assert found.verdict.tolist() == [UNKNOWN]
    assert (found.table["low"][0], found.table["high"][0]) == (0, 1)


@pytest.mark.soak
def test_a_few_rows_show_no_shift_of_rare_labels_that_have_not_moved() -> None:
    """One positive among ten rows is likely for some of many rare labels, and far off for a normal law."""
    rates = [0.01] * 200
    calibrator = calibrate(*draw(3000, rates))
    n_alarms = 0
    for n_new in (10, 30):
        for seed in (1, 2, 3):
            new = draw(n_new, rates, seed=seed)[1]
            n_alarms += (estimate_base_rates(calibrator, new).verdict == MOVED).any()
    assert n_alarms <= 1


def test_shifts_are_found_and_scores_that_mean_something_else_are_told_from_them() -> None:
    truth, scores = draw(3000, [0.1] * 4, seed=11)
    calibrator = calibrate(truth, scores, label_names=["up", "down", "same", "other"])
    _, new = draw(3000, [0.2, 0.03, 0.1, 0.1], seed=12)
    new[:, 3] = new[:, 3] ** 0.7
    with pytest.warns(thresholds.ScoreChangeWarning, match=r"explains the scores of 1 label \(other\)"):
        found = estimate_base_rates(calibrator, new)
    assert found.verdict.tolist() == [MOVED, MOVED, SAME, CHANGED]
    assert found.sentence("up").startswith("the base rate of up seems to have moved from 10")
    assert found.sentence("up").endswith(
        "]: its scores fit that; that its positives score otherwise now is not ruled out"
    )
    assert found.sentence("other") == "no base rate explains the scores of other: they changed their meaning"
    assert found.rates[3] == found.table["before"][3]
    said = " ".join(str(found).split())
    assert (
        "2 labels: scores fit another base rate; positives that score otherwise now are not ruled out (up, down)"
        in said
    )


def test_a_sentence_says_so_where_an_interval_lies_apart_by_chance() -> None:
    """Of 60 labels, three intervals of 95 % are expected not to hold a rate that has not moved."""
    rates = [0.1] * 60
    found = estimate_base_rates(calibrate(*draw(1000, rates)), draw(800, rates, seed=3)[1])
    table = found.table
    apart = (table["before"] < table["low"]) | (table["before"] > table["high"])
    assert (found.verdict == SAME).all()
    assert apart.any()
    for label in range(60):
        says_so = "by itself, but of 60 labels some look so by chance" in found.sentence(label)
        assert says_so == apart[label]


@pytest.mark.soak
def test_false_alarms_are_as_rare_as_asked_for() -> None:
    """Base rates of half of the labels have moved; no scores mean anything else."""
    alarms, false_moves = [], []
    for seed in range(20):
        rates = np.tile([0.02, 0.1, 0.3], 20)
        calibrator = calibrate(*draw(1000, rates, seed=200 + seed))
        after = rates * np.repeat([1, 2], 30)
        found = estimate_base_rates(calibrator, draw(800, after, seed=300 + seed)[1], alpha=0.1)
        alarms.append((found.verdict == CHANGED).any())
        false_moves.append((found.verdict[:30] == MOVED).sum() / max((found.verdict == MOVED).sum(), 1))
    assert np.mean(alarms) <= 0.2  # of 20, two being expected
    assert np.mean(false_moves) <= 0.12


# What is followed


def test_noise_is_not_followed() -> None:
    """Nothing has moved: estimates differ from the rates before, and what is followed hardly does."""
    rates = [0.02] * 60
    calibrator = calibrate(*draw(1000, rates))
    found = estimate_base_rates(calibrator, draw(300, rates, seed=1)[1]).table
    told = found["verdict"] == SAME
    told &= found["estimate"] > 0
    noise = np.abs(np.log(found["estimate"][told] / found["before"][told]))
    followed = np.abs(np.log(found["rate"] / found["before"]))[told]
    assert noise.mean() > 0.3
    assert followed.mean() < noise.mean() / 2


@pytest.mark.parametrize("alone", [True, False], ids=["one of many", "all alike"])
def test_what_is_clear_is_followed(alone: bool) -> None:
    rates = np.full(60, 0.1)
    calibrator = calibrate(*draw(2000, rates, seed=11))
    after = np.where(np.arange(60) == 7, 0.2, 0.1 if alone else 0.2)
    found = estimate_base_rates(calibrator, draw(1000, after, seed=12)[1]).table
    np.testing.assert_allclose(found["rate"][after == 0.2].mean(), 0.2, rtol=0.12)
    np.testing.assert_allclose(found["rate"][after == 0.1], found["before"][after == 0.1], rtol=0.15)


# Shifts that go together


@pytest.mark.parametrize(("factor", "word"), [(0.7, "lower"), (1.35, "higher")])
def test_scores_that_became_weaker_are_no_base_rates_that_fell(factor: float, word: str) -> None:
    """Base rates are left; positives lie nearer to negatives than before, or farther off."""
    rates = np.geomspace(0.05, 0.4, 12)
    truth, scores = draw(3000, rates, distance=1.6)
    calibrator = calibrate(truth, scores)
    y_new, new = draw(3000, rates, seed=1, distance=1.6 * factor)
    with pytest.warns(thresholds.ScoreChangeWarning, match="cannot be told: most labels go one way"):
        found = estimate_base_rates(calibrator, new)
    either = found.verdict == EITHER
    assert either.sum() >= 3
    assert MOVED not in found.verdict
    np.testing.assert_array_equal(found.rates, found.table["before"])
    assert f"its positives score {word} now" in found.sentence(int(either.argmax()))
    assert "the base rate has moved; " not in str(found)

    # No harm is done.
    old = thresholds.fit_empirical(truth, scores)
    adapted = thresholds.fit_adapted(calibrator, new)
    f = [thresholds.metrics.f1_score(y_new, rule.decide(new), average="macro") for rule in (old, adapted)]
    assert f[1] > f[0] - 0.002


@pytest.mark.parametrize("factor", [0.5, 0.7, 2.0])
def test_base_rates_that_move_together_are_followed(factor: float) -> None:
    rates = np.geomspace(0.05, 0.4, 12)
    calibrator = calibrate(*draw(3000, rates, distance=1.6))
    _, new = draw(3000, rates * factor, seed=1, distance=1.6)
    found = estimate_base_rates(calibrator, new)
    assert EITHER not in found.verdict
    assert (found.verdict == MOVED).sum() >= 5
    np.testing.assert_allclose(found.rates, rates * factor, rtol=0.25)


def test_labels_that_go_both_ways_or_alone_are_not_held_back() -> None:
    """Positives of two labels score lower: what looks like a fall of theirs alone is followed, and said with care."""
    rates = np.full(12, 0.2)
    calibrator = calibrate(*draw(3000, rates, distance=1.6))
    _, new = draw(3000, rates, seed=1, distance=1.6)
    new[:, :2] = draw(3000, rates[:2], seed=2, distance=1.1)[1]
    found = estimate_base_rates(calibrator, new)
    assert found.verdict.tolist() == [MOVED] * 2 + [SAME] * 10
    assert (found.rates[:2] < found.table["before"][:2]).all()


def test_labels_are_left_where_the_scores_of_most_others_changed() -> None:
    rates = np.full(5, 0.2)
    calibrator = calibrate(*draw(3000, rates, distance=1.6))
    after = np.array([0.2, 0.2, 0.2, 0.4, 0.1])
    _, new = draw(3000, after, seed=1, distance=1.6)
    assert estimate_base_rates(calibrator, new).verdict[3:].tolist() == [MOVED] * 2
    new[:, :3] = new[:, :3] ** 0.6
    found = estimate_base_rates(calibrator, new)
    assert found.verdict.tolist() == [CHANGED] * 3 + [EITHER] * 2
    np.testing.assert_array_equal(found.rates, found.table["before"])


# Input of other forms


def test_weights_count_rows_and_unit_weights_change_nothing() -> None:
    truth, scores = draw(300, [0.2, 0.4])
    _, new = draw(200, [0.3, 0.3], seed=1)
    calibrator = calibrate(truth, scores)
    plain = estimate_base_rates(calibrator, new)
    np.testing.assert_array_equal(plain.table, estimate_base_rates(calibrator, new, sample_weight=np.ones(200)).table)
    twice = estimate_base_rates(calibrator, new, sample_weight=np.full(200, 2.0))
    np.testing.assert_array_equal(plain.table, twice.table)

    # Rows of weight 0 are no rows; a row that weighs 3 has the estimate of three rows, and more noise.
    weights = np.arange(200) % 3
    weighted = estimate_base_rates(calibrator, new, sample_weight=weights).table
    repeated = estimate_base_rates(calibrator, new.repeat(weights, axis=0)).table
    np.testing.assert_allclose(weighted["estimate"], repeated["estimate"], rtol=1e-9)
    assert (weighted["high"] - weighted["low"] > repeated["high"] - repeated["low"]).all()


def test_a_calibrator_of_weighted_rows_knows_how_few_they_are() -> None:
    truth, scores = draw(400, [0.3])
    weights = np.where(np.arange(400) % 2, 5.0, 0.01)
    known = calibrate(truth, scores, sample_weight=weights).by_class
    assert known is not None
    half = truth[1::2, 0]
    np.testing.assert_allclose(known.positives.sum(), half.sum(), rtol=0.02)
    np.testing.assert_allclose(known.negatives.sum(), (~half).sum(), rtol=0.02)
    np.testing.assert_allclose(known.observed, half.mean(), rtol=0.02)


def test_cells_whose_truth_is_not_known_count_in_no_base_rate() -> None:
    truth, scores = draw(400, [0.3, 0.2])
    known = truth.astype(int)
    known[::4, 1] = -1
    found = calibrate(known, scores, by="label", unknown=-1).by_class
    rest = calibrate(np.delete(truth[:, 1], np.s_[::4]), np.delete(scores[:, 1], np.s_[::4])).by_class
    assert found is not None
    assert rest is not None
    for name, expected in rest.to_dict().items():
        assert found.taken(np.array([1])).to_dict()[name] == expected


@pytest.mark.parametrize("method", METHODS)
def test_sparse_scores_are_dense_ones_with_many_ties(method: Any) -> None:
    truth, scores = draw(500, [0.2, 0.1, 0.3])
    _, new = draw(400, [0.4, 0.1, 0.3], seed=1)
    scores[scores < 0.4] = 0
    new[new < 0.4] = 0
    dense = estimate_base_rates(calibrate(truth, scores, method), new).table
    lists = estimate_base_rates(calibrate(truth, sparse.csr_array(scores), method), sparse.csr_array(new)).table
    for name in dense.dtype.names[1:]:
        if dense[name].dtype.kind == "f":
            np.testing.assert_allclose(lists[name], dense[name], rtol=1e-6, err_msg=name)
    assert (lists["verdict"] == dense["verdict"]).all()


def test_masked_cells_are_left_out() -> None:
    truth, scores = draw(400, [0.2, 0.3])
    _, new = draw(300, [0.4, 0.3], seed=1)
    calibrator = calibrate(truth, scores)
    masked = new.copy()
    masked[::3, 0] = -np.inf
    found = estimate_base_rates(calibrator, masked).table
    expected = estimate_base_rates(calibrator, np.delete(new, np.s_[::3], axis=0)).table
    for name in ("estimate", "low", "high", "p_moved", "p_fit"):
        np.testing.assert_allclose(found[name][0], expected[name][0], rtol=1e-9)


def test_columns_of_a_frame_and_labels_in_another_order_are_put_in_order() -> None:
    pandas = pytest.importorskip("pandas")
    truth, scores = draw(400, [0.2, 0.3, 0.1])
    _, new = draw(300, [0.4, 0.3, 0.1], seed=1)
    calibrator = calibrate(truth, scores, label_names=["a", "b", "c"])
    found = estimate_base_rates(calibrator, new)
    frame = pandas.DataFrame(new, columns=["a", "b", "c"])[["c", "a", "b"]]
    np.testing.assert_array_equal(estimate_base_rates(calibrator, frame).table, found.table)
    other = calibrator.reordered(np.array([2, 0, 1]))
    reordered = estimate_base_rates(other, new[:, [2, 0, 1]])
    np.testing.assert_allclose(reordered.table["estimate"], found.table["estimate"][[2, 0, 1]])
    rates = other.for_base_rates(found).base_rates
    np.testing.assert_allclose(rates, found.rates[[2, 0, 1]])


def test_threads_and_pieces_do_not_matter() -> None:
    truth, scores = draw(20_000, [0.2] * 14)  # more than a piece of 2^18 cells
    alone = calibrate(truth, scores, n_jobs=None)
    threaded = calibrate(truth, scores, n_jobs=2)
    assert alone.parts() == threaded.parts()
    found = estimate_base_rates(alone, scores, n_jobs=None)
    np.testing.assert_array_equal(found.table, estimate_base_rates(threaded, scores, n_jobs=2).table)


# Calibrators for other base rates


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("by", BYS)
def test_probabilities_are_moved_as_bayes_has_it(method: Any, by: Any) -> None:
    truth, scores = draw(200, [0.3, 0.1])
    calibrator = calibrate(truth, scores, method, by)
    rates = [0.05, 0.6]
    other = calibrator.for_base_rates(rates)
    np.testing.assert_allclose(other.base_rates, rates)
    before, after = calibrator.transform(scores), other.transform(scores)
    for j in range(2):
        for p, found in zip(before[:40, j], after[:40, j], strict=True):
            assert found == pytest.approx(float(moved(p, calibrator.base_rates[j], rates[j])), rel=1e-12)
        order = scores[:, j].argsort()
        rises = np.sign(np.diff(before[order, j])) * np.diff(after[order, j])
        assert (rises >= 0).all()


def test_base_rates_that_stay_leave_every_bit() -> None:
    truth, scores = draw(200, [0.3, 0.1])
    calibrator = calibrate(truth, scores)
    for rates in (calibrator.base_rates, {}, {0: calibrator.base_rates[0]}):
        assert calibrator.for_base_rates(rates).transform(scores).tobytes() == calibrator.transform(scores).tobytes()
    one = calibrator.for_base_rates({1: 0.5}).transform(scores)
    assert one[:, 0].tobytes() == calibrator.transform(scores)[:, 0].tobytes()


@pytest.mark.parametrize("rate", [5e-324, math.nextafter(1, 0)])
def test_rates_at_the_ends_of_float64_leave_probabilities(rate: float) -> None:
    calibrator = calibrate([0, 1, 1, 1], [0.1, 0.5, 0.6, 0.9]).for_base_rates([rate])
    assert calibrator.transform([0.1, 0.3, 0.9]).tolist() == [0, pytest.approx(rate, abs=1e-15), 1]
    assert Calibrator.from_dict(calibrator.to_dict()).transform([0.9]) == 1


def test_base_rates_may_move_again_and_back() -> None:
    truth, scores = draw(200, [0.3, 0.1])
    calibrator = calibrate(truth, scores)
    there = calibrator.for_base_rates([0.9, 0.01])
    again = there.for_base_rates([0.2, 0.4])
    np.testing.assert_array_equal(again.transform(scores), calibrator.for_base_rates([0.2, 0.4]).transform(scores))
    back = there.for_base_rates(calibrator.base_rates)
    assert back.transform(scores).tobytes() == calibrator.transform(scores).tobytes()


def test_rates_are_estimated_alike_whatever_a_calibrator_was_told_before() -> None:
    calibrator = calibrate(*draw(2000, [0.3, 0.1]))
    _, new = draw(1000, [0.15, 0.2], seed=1)
    found = estimate_base_rates(calibrator, new).table
    told = estimate_base_rates(calibrator.for_base_rates([0.5, 0.05]), new).table
    for name in ("estimate", "low", "high", "p_fit"):
        np.testing.assert_allclose(told[name], found[name], rtol=1e-6)
    np.testing.assert_allclose(told["before"], [0.5, 0.05])


def test_labels_that_are_certain_stay_so() -> None:
    truth, scores = draw(200, [0.3, 0.1])
    truth[:, 1] = False
    calibrator = calibrate(truth, scores, by="label")
    other = calibrator.for_base_rates([0.5, 0.5])
    assert (other.transform(scores)[:, 1] == 0).all()
    np.testing.assert_allclose(other.base_rates, [0.5, 0])


def test_absent_entries_and_their_tails_are_moved_too() -> None:
    truth, scores = draw(500, [0.2, 0.1])
    lists = sparse.csr_array(np.where(scores > 0.4, scores, 0))
    calibrator = calibrate(truth, lists).for_base_rates([0.4, 0.3])
    np.testing.assert_array_equal(calibrator.absent, calibrator.transform(np.zeros((1, 2)))[0])
    filled = calibrator.transform(lists, dense=True)
    np.testing.assert_array_equal(
        filled[lists.toarray() == 0], np.tile(calibrator.absent, (500, 1))[lists.toarray() == 0]
    )


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("by", BYS)
def test_a_calibrator_is_written_and_read_with_all_of_it(method: Any, by: Any) -> None:
    truth, scores = draw(200, [0.3, 0.1])
    calibrator = calibrate(truth, scores, method, by).for_base_rates([0.2, 0.3])
    again = Calibrator.from_dict(json.loads(json.dumps(calibrator.to_dict())))
    assert again.transform(scores).tobytes() == calibrator.transform(scores).tobytes()
    found, expected = (estimate_base_rates(each, scores).table for each in (again, calibrator))
    np.testing.assert_array_equal(found, expected)


def test_a_calibrator_from_an_older_file_says_that_it_knows_no_base_rates() -> None:
    truth, scores = draw(200, [0.3, 0.1])
    values = calibrate(truth, scores).to_dict()
    del values["by_class"]
    older = Calibrator.from_dict(values)
    assert older.base_rates is None
    np.testing.assert_array_equal(older.transform(scores), calibrate(truth, scores).transform(scores))
    with pytest.raises(thresholds.InputError, match="is from an older file, expected one of calibrate"):
        estimate_base_rates(older, scores)
    with pytest.raises(thresholds.InputError, match="is from an older file, expected one of calibrate"):
        older.for_base_rates([0.1, 0.1])


def test_what_a_file_says_by_class_is_checked() -> None:
    values = calibrate(*draw(50, [0.3, 0.1])).to_dict()
    spoilt = {
        "by_class is 3, expected an object": 3,
        "field 'x' is unknown": values["by_class"] | {"x": ""},
        "edges is '=', expected float64 numbers in base64": values["by_class"] | {"edges": "="},
        "rates has 0 values, expected 2": values["by_class"] | {"rates": ""},
        "observed has a number that is not finite": values["by_class"] | {"observed": "AAAAAAAA+H8AAAAAAAD4fw=="},
        "rates of by_class has a number outside": values["by_class"] | {"rates": "AAAAAAAAAEAAAAAAAAAAQA=="},
    }
    for message, by_class in spoilt.items():
        with pytest.raises(thresholds.InputError, match=message):
            Calibrator.from_dict(values | {"by_class": by_class})
    with pytest.raises(thresholds.InputError, match="odds has 1 values, expected 2"):
        Calibrator.from_dict(values | {"odds": [1.0]})


# A rule for the new rows


def test_a_rule_for_new_rows_is_fitted_saved_and_loaded(tmp_path: Path) -> None:
    truth, scores = draw(3000, [0.1] * 5)
    y_new, new = draw(2000, [0.3] * 5, seed=1)
    calibrator = calibrate(truth, scores)
    rule = thresholds.fit_adapted(calibrator, new)

    # It is the recipe that its documentation has.
    adapted = calibrator.for_base_rates(estimate_base_rates(calibrator, new))
    recipe = thresholds.CalibratedRule(adapted, thresholds.fit_expected(adapted.transform(new)))
    np.testing.assert_array_equal(rule.predict(new), recipe.predict(new))

    # It gains most of what the true rates, if they were known, would.
    def f(decided: Any) -> float:
        return float(thresholds.metrics.f1_score(y_new, decided, average="macro"))

    old = f(thresholds.fit_empirical(truth, scores).predict(new))
    known = thresholds.fit_adapted(calibrator, new, rates=y_new.mean(axis=0))
    assert f(rule.predict(new)) - old > 0.8 * (f(known.predict(new)) - old) > 0.02

    rule.save(tmp_path / "rule.json")
    loaded = thresholds.load_rule(tmp_path / "rule.json")
    assert same(loaded, rule)
    np.testing.assert_array_equal(loaded.predict(new), rule.predict(new))
    assert loaded.made_by is not None
    assert loaded.made_by.function == "fit_adapted"
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        loaded.predict(draw(500, [0.3] * 5, seed=2)[1])


def test_rules_of_rows_and_sparse_scores_are_adapted_too() -> None:
    truth, scores = draw(500, [0.2, 0.1])
    calibrator = calibrate(truth, sparse.csr_array(np.where(scores > 0.3, scores, 0)))
    new = sparse.csr_array(np.where(scores > 0.35, scores, 0))
    for average in ("samples", "micro"):
        rule = thresholds.fit_adapted(calibrator, new, average)
        assert rule.predict(new).shape == (500, 2)


def test_a_result_says_what_it_is() -> None:
    calibrator = calibrate(*draw(500, [0.2, 0.1]), label_names=["a", "b"])
    found = estimate_base_rates(calibrator, draw(500, [0.2, 0.1], seed=1)[1])
    assert isinstance(found, BaseRates)
    assert found.label_names == ("a", "b")
    assert not found.table.flags.writeable


def test_sparse_scores_whose_probabilities_do_not_fit_into_memory_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """Rather than that the process is killed: no absent score has the probability 0 when base rates move."""
    y_true, y_score = np.array([0, 1, 0, 1, 1, 0]), np.array([0.0, 0.6, 0.0, 0.8, 0.4, 0.3])
    calibrator = thresholds.calibrate(y_true, y_score)
    monkeypatch.setattr("thresholds.fitting.adapted.memory_left", lambda: 40)
    with pytest.raises(
        thresholds.InputError, match=r"new_scores has shape \(6, 1\), whose probabilities take .* expected fewer"
    ):
        thresholds.fit_adapted(calibrator, sparse.csr_array(y_score[:, np.newaxis]))
