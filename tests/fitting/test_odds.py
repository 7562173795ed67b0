"""What a rule keeps of how often its labels are true by their score."""

import json
from dataclasses import replace

import numpy as np
import pytest
from scipy import sparse

import thresholds
from tests.naive import odds as naive
from thresholds._engine.problem import Problem
from thresholds._log_odds import log_odds
from thresholds.fitting.odds import cells_in_bins, odds_by_score, rounded
from thresholds.rule.odds import OddsByScore

RNG = np.random.default_rng(5)
TRUTH = (RNG.random((60, 3)) < [0.5, 0.3, 0.1]).astype(np.uint8)
SCORES = RNG.normal(size=(60, 3)) + 1.5 * TRUTH
CUTS = np.array([0.8, 1.0, 1.9])


def close(one: OddsByScore, other: OddsByScore, x: np.ndarray = CUTS, rtol: float = 1e-4) -> None:
    """Hold the curves of two records against each other, and their variances."""
    for of_one, of_other in zip(one.read(x), other.read(x), strict=True):
        np.testing.assert_allclose(of_one, of_other, rtol=rtol)


@pytest.mark.parametrize("shift", [0.0, 0.7])
def test_curves_and_variances_equal_the_twin(shift: float) -> None:
    # 60 rows: each score is a bin.
    odds = odds_by_score(Problem.of(TRUTH, SCORES), CUTS)
    log_odds, variance = odds.read(CUTS + shift)
    for j, cut in enumerate(CUTS):
        slope, intercept = naive.curve(TRUTH[:, j], SCORES[:, j])
        assert log_odds[j] == pytest.approx(slope * (cut + shift) + intercept, rel=1e-3)
        assert variance[j] == pytest.approx(naive.variance(TRUTH[:, j], SCORES[:, j], cut + shift, cut), rel=1e-3)


def test_scores_taken_together_change_little() -> None:
    rng = np.random.default_rng(0)
    truth = rng.random(20_000) < 0.02
    scores = rng.normal(size=truth.size) + 2 * truth
    odds = odds_by_score(Problem.of(truth, scores), np.array([2.5]))
    log_odds, variance = odds.read(np.array([2.5]))
    slope, intercept = naive.curve(truth, scores)
    assert log_odds[0] == pytest.approx(slope * 2.5 + intercept, abs=0.1 * np.sqrt(variance[0]))


def test_probabilities_are_read_by_their_log_odds() -> None:
    shares = 1 / (1 + np.exp(-SCORES))
    odds = odds_by_score(Problem.of(TRUTH, shares), 1 / (1 + np.exp(-CUTS)))
    assert odds.of_shares
    close(odds, odds_by_score(Problem.of(TRUTH, SCORES), CUTS))
    np.testing.assert_allclose(odds.abscissae(np.array([0.5, 0.0, 1.0])), [0, -np.inf, np.inf])


def test_neither_scale_nor_place_of_scores_matters() -> None:
    plain = odds_by_score(Problem.of(TRUTH, SCORES), CUTS)
    for scale, shift in ((1e-6, 0.0), (1e9, 0.0), (3.0, 1e4)):
        moved = odds_by_score(Problem.of(TRUTH, SCORES * scale + shift), CUTS * scale + shift)
        for one, other in zip(moved.read(CUTS * scale + shift), plain.read(CUTS), strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-3)


def test_weights_count_rows_but_not_as_evidence() -> None:
    # Each row twice as heavy: the same curve, but for Platt's targets, and the same errors, but not those of 120 rows.
    heavy = odds_by_score(Problem.of(TRUTH, SCORES, sample_weight=np.full(60, 2)), CUTS)
    plain = odds_by_score(Problem.of(TRUTH, SCORES), CUTS)
    close(heavy, plain, rtol=0.15)
    twice = odds_by_score(Problem.of(np.repeat(TRUTH, 2, axis=0), np.repeat(SCORES, 2, axis=0)), CUTS)
    np.testing.assert_allclose(twice.read(CUTS)[1], plain.read(CUTS)[1] / 2, rtol=0.15)
    some = np.where(np.arange(60) < 40, 1, 0)
    kept = odds_by_score(Problem.of(TRUTH[:40], SCORES[:40]), CUTS)
    close(odds_by_score(Problem.of(TRUTH, SCORES, sample_weight=some), CUTS), kept)


def test_absent_and_masked_scores_lie_on_no_curve() -> None:
    stored = np.arange(60) % 3 > 0
    held = np.where(stored[:, np.newaxis], SCORES, 0.0)
    masked = np.where(stored[:, np.newaxis], SCORES, -np.inf)
    expected = odds_by_score(Problem.of(TRUTH[stored], SCORES[stored]), CUTS)
    close(odds_by_score(Problem.of(sparse.csr_array(TRUTH), sparse.csr_array(held)), CUTS), expected)
    close(odds_by_score(Problem.of(TRUTH, masked), CUTS), expected)


def test_masked_probabilities_lie_on_no_curve() -> None:
    shares = 1 / (1 + np.exp(-SCORES))
    known = np.arange(60) % 3 > 0
    masked = np.where(known[:, np.newaxis], shares, -np.inf)
    cuts = 1 / (1 + np.exp(-CUTS))
    close(odds_by_score(Problem.of(TRUTH, masked), cuts), odds_by_score(Problem.of(TRUTH[known], shares[known]), cuts))


def test_equal_scores_are_their_mean_to_the_last_bit() -> None:
    for size in (0.1, 0.7):  # probabilities, and no probabilities
        scores = np.tile([size, 3 * size], (997, 1))
        truth = (np.arange(997) % 7 == 0)[:, np.newaxis].repeat(2, axis=1)
        cells, of_shares = cells_in_bins(Problem.of(truth, scores))
        x = log_odds(scores[0]) if of_shares else scores[0]
        np.testing.assert_array_equal(cells.scores, x)


def test_a_label_whose_scores_are_all_equal_tells_nothing() -> None:
    scores = np.column_stack([SCORES[:, 0], np.full(60, 0.3)])
    odds = odds_by_score(Problem.of(TRUTH[:, :2], scores), CUTS[:2])
    _, variance = odds.read(CUTS[:2])
    assert np.isfinite(variance[0])
    assert np.isinf(variance[1])
    empty = odds_by_score(Problem.of(TRUTH, sparse.csr_array((60, 3))), CUTS)
    assert np.isinf(empty.read(CUTS)[1]).all()


def test_threads_change_nothing() -> None:
    truth, scores = np.tile(TRUTH, (300, 20)), np.tile(SCORES, (300, 20))
    cuts = np.tile(CUTS, 20)
    one, two = (odds_by_score(Problem.of(truth, scores), cuts, n_jobs=n_jobs) for n_jobs in (1, 2))
    assert one == two


@pytest.mark.filterwarnings("error")
def test_where_floats_end_nothing_is_known_and_nothing_said() -> None:
    # Slopes of scores next to 0, and squares of the largest ones, are beyond floats.
    largest = np.array([[0.0], [-1e300], [-1e300], [1e300], [1e300]])
    for truth, scores in ((TRUTH, SCORES * 1e-320), (TRUTH[:5, :1], largest)):
        odds = odds_by_score(Problem.of(truth, scores), np.zeros(truth.shape[1]))
        assert np.isfinite(odds.slope).all()
    near_0 = odds_by_score(Problem.of(TRUTH, SCORES * 1e-320), np.zeros(3))
    assert near_0.level_error.tolist() == [np.inf] * 3


def test_a_rule_keeps_them_in_its_file_and_by_name() -> None:
    rule = thresholds.cross_fit(TRUTH, SCORES, cv=3, label_names=["cat", "dog", "emu"]).rule
    values = json.loads(json.dumps(rule.to_dict()))
    assert thresholds.ThresholdRule.from_dict(values).odds == rule.odds
    turned = rule.reordered(np.array([2, 0, 1]))
    assert turned.odds is not None
    assert rule.odds is not None
    assert turned.odds.level.tolist() == rule.odds.level[[2, 0, 1]].tolist()
    assert rule.replace({"cat": 0.0}).odds == rule.odds
    del values["odds"]
    assert thresholds.ThresholdRule.from_dict(values).odds is None


def test_impossible_odds_of_a_file_are_refused() -> None:
    rule = thresholds.cross_fit(TRUTH, SCORES, cv=3).rule
    for field, value, said in (
        ("level", [1.0], r"level has 1 values, expected 3"),
        ("level_error", [-1.0, 0.0, 0.0], r"level_error of odds has -1.0, expected at least 0"),
        ("slope", [None, 0.0, 0.0], r"slope"),
        ("of_shares", "yes", r"of_shares is 'yes'"),
        ("other", 1, r"the field 'other' is unknown"),
    ):
        values = rule.to_dict()
        values["odds"] = values["odds"] | {field: value}
        with pytest.raises(thresholds.InputError, match=said):
            thresholds.ThresholdRule.from_dict(values)
    assert rule.odds is not None
    with pytest.raises(thresholds.InputError, match=r"^odds has 2 values, expected 3"):
        replace(rule, odds=rule.odds.taken(np.array([0, 1])))


@pytest.mark.parametrize("digits", [6, 9])
def test_figures_are_rounded_as_text_rounds_them(digits: int) -> None:
    powers = 10.0 ** RNG.integers(-30, 30, 2000)
    near_powers = powers * (1 + RNG.integers(-3, 4, 2000) * 2.0**-53)
    middles = np.array([float(f"{number}5e-9") for number in RNG.integers(1, 10**digits, 2000)])
    special = np.array([0.0, -0.0, np.inf, 5e-324, 1e308, 0.5, 999999.5, 999999999.5])
    values = np.concatenate([RNG.normal(size=2000) * powers, near_powers, middles, -middles, special])
    expected = np.array([float(f"{value:.{digits}g}") for value in values.tolist()])
    assert rounded(values, digits).tobytes() == expected.tobytes()
