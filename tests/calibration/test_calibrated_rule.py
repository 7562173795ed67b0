"""Calibration before decisions: `CalibratedRule`, what `compare` says of probabilities, the empirical corollary."""

import json
import pickle
import warnings
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import sparse

import thresholds
from tests.cases import small_cases
from tests.naive import exhaustive as naive
from tests.naive import expected as witness
from thresholds import (
    CalibratedRule,
    FixedRule,
    InstanceRule,
    ThresholdRule,
    TopKRule,
    calibrate,
    compare,
    expected_f,
    fit_empirical,
    fit_expected,
    measure_calibration,
)
from thresholds._engine.problem import Problem
from thresholds.calibration.calibrator import Calibrator
from thresholds.comparison.fitted_rules import fit_rules
from thresholds.rule import Rule

pytestmark = pytest.mark.each_value

Array = NDArray[np.generic]
Floats = NDArray[np.float64]
inf, nan = float("inf"), float("nan")

CASES = [case for case in small_cases(108, seed=20130716) if not np.isneginf(case.y_score).any()]
CHUNKS = [CASES[i::6] for i in range(6)]
DYADIC_BETAS = (0.5, 1.0, 2.0, 3.0)
METHODS = ("isotonic", "platt")
KINDS = [sparse.csr_array, sparse.csr_matrix, sparse.csc_array, sparse.coo_matrix]

each_chunk = pytest.mark.parametrize("chunk", range(len(CHUNKS)))
each_method = pytest.mark.parametrize("method", METHODS)


def draw(n: int, m: int, seed: int) -> tuple[NDArray[np.uint8], Floats]:
    """Truth and over-confident probabilities of it."""
    rng = np.random.default_rng(seed)
    logits = rng.uniform(-3, 0, m) + 1.5 * rng.standard_normal((n, m))
    truth = rng.random((n, m)) < 1 / (1 + np.exp(-logits))
    return truth.astype(np.uint8), 1 / (1 + np.exp(-1.7 * logits - 0.4))


def listed(scores: Floats, least: float, kind: type = sparse.csr_array) -> object:
    """Lists of the scores from `least` on."""
    stored = scores >= least
    return kind(sparse.coo_array((scores[stored], np.nonzero(stored)), shape=scores.shape))


# Calibrate, then decide

PARTS: dict[str, InstanceRule | ThresholdRule] = {
    "instance": InstanceRule(),
    "instance, F2, 0/0 = 1": InstanceRule(2.0, 1.0),
    "thresholds": ThresholdRule([0.3, 0.5, inf, 0.1, 0.25]),
    "fixed": FixedRule(0.4, 5),
}
each_part = pytest.mark.parametrize("part", PARTS.values(), ids=PARTS)


@pytest.mark.each_pair
@each_part
@each_method
@pytest.mark.parametrize("by", ["label", "pooled", "shrink"])
def test_scores_are_calibrated_then_decided(by: str, method: str, part: InstanceRule | ThresholdRule) -> None:
    truth, scores = draw(300, 5, seed=1)
    for given in (scores, 10 * scores - 4, scores.astype(np.float32)):
        calibrator = calibrate(truth, given, method, by)
        decided = CalibratedRule(calibrator, part).predict(given)
        assert decided.dtype == np.uint8
        np.testing.assert_array_equal(decided, part.predict(calibrator.transform(given)))
        assert decided.any()


@pytest.mark.each_pair
@each_method
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", ["instance", "instance, F2, 0/0 = 1"])
def test_instance_rules_are_told_of_what_a_list_leaves_out(name: str, kind: type, method: str) -> None:
    truth, scores = draw(200, 30, seed=2)
    lists, part = listed(scores, 0.4, kind), PARTS[name]
    calibrator = calibrate(truth, lists, method)
    rule = CalibratedRule(calibrator, part)
    decided, tail = rule.predict(lists), calibrator.tail(lists)
    assert (tail[:, 0] > 0.5).any()
    expected = part.predict(calibrator.transform(lists), tail=tail)
    np.testing.assert_array_equal(decided.toarray(), expected.toarray())
    if part.beta == 1:
        assert (expected != part.predict(calibrator.transform(lists))).nnz > 0, "the tail matters"
    assert decided.format == "csr"
    assert isinstance(decided, sparse.spmatrix) == issubclass(kind, sparse.spmatrix)
    assert not decided.toarray()[scores < 0.4].any(), "absent entries are not predicted"
    dense = rule.predict(lists, dense=True)
    assert type(dense) is np.ndarray
    np.testing.assert_array_equal(dense, decided.toarray())


@each_method
@pytest.mark.parametrize("kind", KINDS)
def test_thresholds_decide_on_the_entries_of_a_list(kind: type, method: str) -> None:
    truth, scores = draw(200, 5, seed=3)
    lists = listed(scores, 0.3, kind)
    calibrator = calibrate(truth, lists, method)
    part = ThresholdRule([0.3, 0.5, inf, 0.15, 0.25])
    decided = CalibratedRule(calibrator, part).predict(lists)
    np.testing.assert_array_equal(decided.toarray(), part.predict(calibrator.transform(lists)).toarray())
    assert isinstance(decided, sparse.spmatrix) == issubclass(kind, sparse.spmatrix)


def best_of_stored(stored: Floats, absent: Floats, beta: float, zero_division: float) -> Floats:
    """E F of the k most probable stored labels in the whole row, k = 0 ... all of them."""
    ordered = stored[witness.by_probability(stored)]
    return witness.values_of_prefixes([*ordered, *absent], beta, zero_division)[: len(stored) + 1]


@pytest.mark.parametrize("zero_division", [0.0, 1.0])
@pytest.mark.parametrize("beta", [0.5, 1.0, 2.0])
def test_lists_are_decided_as_well_as_whole_rows_can_be(beta: float, zero_division: float) -> None:
    """Among sets of listed labels, whose value the labels that are left out change."""
    truth, scores = draw(150, 40, seed=4)
    lists = listed(scores, 0.5)
    calibrator = calibrate(truth, lists)
    assert 0 < calibrator.absent.max() < 0.4
    decided = CalibratedRule(calibrator, InstanceRule(beta, zero_division)).predict(lists).toarray()
    filled = calibrator.transform(lists, dense=True)
    for row, p, h in zip(scores >= 0.5, filled, decided, strict=True):
        values = best_of_stored(p[row], p[~row], beta, zero_division)
        assert values[h.sum()] >= values.max() - 1e-5


def test_full_lists_are_decided_as_dense_scores() -> None:
    truth, scores = draw(100, 6, seed=5)
    for method in METHODS:
        rule = CalibratedRule(calibrate(truth, scores, method), InstanceRule(zero_division=1.0))
        np.testing.assert_array_equal(rule.predict(sparse.csr_array(scores)).toarray(), rule.predict(scores))


def test_one_dimension_is_one_label() -> None:
    truth, scores = draw(100, 1, seed=6)
    calibrator = calibrate(truth[:, 0], scores[:, 0])
    for part in (InstanceRule(zero_division=1.0), FixedRule(0.4, 1)):
        rule = CalibratedRule(calibrator, part)
        decided = rule.predict(scores[:, 0].tolist())
        assert decided.shape == (100,)
        np.testing.assert_array_equal(decided, rule.predict(scores)[:, 0])


def test_masked_cells_are_never_predicted() -> None:
    truth, scores = draw(100, 4, seed=7)
    masked = np.where(np.random.default_rng(7).random(scores.shape) < 0.3, -inf, scores)
    for method in METHODS:
        decided = CalibratedRule(calibrate(truth, masked, method), InstanceRule(5.0)).predict(masked)
        assert not decided[np.isneginf(masked)].any()
        assert decided.any()


def test_what_a_rule_says_of_itself() -> None:
    truth, scores = draw(50, 2, seed=8)
    rule = CalibratedRule(calibrate(truth, scores, "platt"), InstanceRule())
    assert str(rule) == "the set of labels of highest expected F1 in each row, after Platt calibration: not fitted"
    assert str(CalibratedRule(rule.calibrator, FixedRule(0.5, 2))).endswith(
        "thresholds given, after Platt calibration: not fitted"
    )


def test_a_rule_is_frozen_and_can_be_pickled() -> None:
    truth, scores = draw(50, 3, seed=9)
    rule = CalibratedRule(calibrate(truth, scores), InstanceRule())
    with pytest.raises(AttributeError):
        rule.rule = InstanceRule(2.0)
    copied = pickle.loads(pickle.dumps(rule))
    np.testing.assert_array_equal(copied.predict(scores), rule.predict(scores))


@pytest.mark.each_pair
@pytest.mark.filterwarnings("ignore::thresholds.ScoreChangeWarning")  # labels are drawn anew
@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("by", ["label", "pooled", "shrink"])
@pytest.mark.parametrize("part", [InstanceRule(1 / 3), ThresholdRule([0.1, inf, 0.3])])
def test_a_saved_rule_decides_alike(part: InstanceRule | ThresholdRule, by: str, method: str, tmp_path: Path) -> None:
    truth, scores = draw(60, 3, seed=9)
    rule = CalibratedRule(calibrate(truth, listed(scores, 0.3), method, by), part)
    rule.save(tmp_path / "rule.json")
    loaded = thresholds.load_rule(tmp_path / "rule.json")
    assert isinstance(loaded, CalibratedRule)
    assert loaded.to_dict() == rule.to_dict()
    assert str(loaded) == str(rule)
    more = draw(500, 3, seed=10)[1]
    for form in (more, more.astype(np.float32), listed(more, 0.4), np.where(more < 0.2, -inf, more)):
        probabilities = loaded.calibrator.transform(form, dense=True)
        assert probabilities.tobytes() == rule.calibrator.transform(form, dense=True).tobytes()
        np.testing.assert_array_equal(*(np.asarray(each.predict(form, dense=True)) for each in (loaded, rule)))
    np.testing.assert_array_equal(loaded.calibrator.tail(listed(more, 0.4)), rule.calibrator.tail(listed(more, 0.4)))


def test_a_saved_rule_that_was_spoilt_is_refused(tmp_path: Path) -> None:
    truth, scores = draw(60, 2, seed=9)
    values = CalibratedRule(calibrate(truth, scores, by="label"), ThresholdRule([0.5, 0.5])).to_dict()
    del values["calibrator"]["by_class"]  # as in an older file
    knots = values["calibrator"]["curves"][0]
    spoilt = {
        "absent has 1.5|absent is 1.5": {"absent": [1.5, 0.5]},
        "curves has 1 values, expected 2": {"curves": [knots]},
        "probabilities has 1 values, expected 2 as scores has": {
            "curves": [{"scores": [0.1, 0.2], "probabilities": [0.5]}, knots]
        },
        "scores is .*, expected numbers that rise": {
            "curves": [{"scores": [0.2, 0.1], "probabilities": [0.5, 0.6]}, knots]
        },
        "probabilities is .*, expected numbers that rise or stay": {
            "curves": [{"scores": [0.1, 0.2], "probabilities": [0.6, 0.5]}, knots]
        },
        "rule is about 2 labels, expected 1 as the calibrator is": {"absent": [0.5], "curves": [knots]},
        "field 'limits' is unknown": {"limits": None},
        "method is 'beta', expected 'isotonic' or 'platt'": {"method": "beta"},
    }
    for message, changed in spoilt.items():
        (tmp_path / "rule.json").write_text(json.dumps(values | {"calibrator": values["calibrator"] | changed}))
        with pytest.raises(thresholds.InputError, match=message):
            thresholds.load_rule(tmp_path / "rule.json")
    (tmp_path / "rule.json").write_text(json.dumps(values | {"rule": TopKRule(1).to_dict()}))
    with pytest.raises(thresholds.InputError, match=r"rule is TopKRule.*, expected an InstanceRule or a ThresholdRule"):
        thresholds.load_rule(tmp_path / "rule.json")


@pytest.mark.parametrize("method", METHODS)
def test_decisions_after_calibration_reach_more_than_before(method: str) -> None:
    """The scores are over-confident; on fresh rows too, calibrated ones decide better."""
    truth, scores = draw(8000, 20, seed=10)
    fit, new = slice(0, 4000), slice(4000, 8000)
    rule = CalibratedRule(calibrate(truth[fit], scores[fit], method), InstanceRule())
    reached = compare({"before": InstanceRule(), "after": rule}, truth[new], scores[new]).measures
    assert reached[1].samples > reached[0].samples


# What is compared

LABEL_FREE = ["macro, label-free", "micro, label-free", "instance, label-free"]


def fit_usual(truth: object, scores: object, *, missing: float = 0.0, **options: float) -> dict[str, Rule]:
    """The usual rules, fitted on the same rows."""
    return fit_rules(Problem.of(truth, scores, missing=missing), **options).rules


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
def test_every_rule_is_compared_where_scores_are_probabilities(form: Callable[[Floats], object]) -> None:
    truth, scores = draw(200, 4, seed=11)
    rules = fit_usual(truth, form(scores), beta=2.0)
    macro, micro, instance, platt = (rules[name] for name in [*LABEL_FREE, "instance, platt"])
    assert (macro.average, macro.expected, macro.beta) == ("macro", "counts", 2.0)
    assert (micro.average, micro.expected, micro.beta) == ("micro", "counts", 2.0)
    assert (type(instance), instance.beta, instance.average) == (InstanceRule, 2.0, "samples")
    assert (platt.rule, platt.calibrator.method) == (InstanceRule(2.0), "platt")
    for got, average in ((macro, "macro"), (micro, "micro")):
        expected = fit_expected(scores, average, beta=2.0)
        np.testing.assert_array_equal(got.thresholds, expected.thresholds)


def test_rules_without_labels_are_left_out_for_logits() -> None:
    truth, scores = draw(200, 4, seed=12)
    logits = fit_rules(Problem.of(truth, np.log(scores / (1 - scores))))
    assert sorted(logits.left_out) == sorted(LABEL_FREE)
    assert set(logits.left_out.values()) == {"scores lie outside [0, 1], and probabilities are needed"}
    assert not set(logits.rules) & set(LABEL_FREE)
    assert "instance, platt" in logits.rules
    negative = scores.copy()
    negative[0, 0] = -1e-9
    assert not set(fit_usual(truth, negative)) & set(LABEL_FREE)
    assert not set(fit_usual(truth, sparse.csr_array(scores), missing=-1.0)) & set(LABEL_FREE)


@pytest.mark.filterwarnings("ignore::thresholds.rule.ScoreChangeWarning")  # labels are drawn anew
def test_each_row_has_the_metrics_of_its_predictions() -> None:
    truth, scores = draw(200, 4, seed=13)
    new_truth, new_scores = draw(150, 4, seed=14)
    weights = np.random.default_rng(14).integers(0, 4, 150)
    rules = fit_usual(truth, scores)
    measured = compare(rules, new_truth, new_scores, beta=2.0, sample_weight=weights).measures
    assert [row.rule for row in measured] == list(rules)
    for row, rule in zip(measured, rules.values(), strict=True):
        decided = rule.predict(new_scores)
        for average in ("micro", "macro", "weighted", "samples"):
            expected = thresholds.metrics.fbeta_score(
                new_truth, decided, beta=2.0, average=average, sample_weight=weights, zero_division=0
            )
            assert getattr(row, average) == expected, (row.rule, average)


def probabilities_of(rule: object, scores: object) -> Array | None:
    """What a rule takes for probabilities."""
    if isinstance(rule, CalibratedRule):
        return rule.calibrator.transform(scores, dense=True)
    without_labels = isinstance(rule, InstanceRule) or getattr(rule, "expected", None) is not None
    return scores if without_labels else None


@pytest.mark.filterwarnings("ignore::thresholds.rule.ScoreChangeWarning")  # labels are drawn anew
@pytest.mark.each_value
@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array, lambda p: listed(p, 0.3)])
@pytest.mark.parametrize("weights", [None, "whole", "real"])
def test_rules_of_probabilities_say_how_good_these_are(form: Callable[[Floats], object], weights: str | None) -> None:
    truth, scores = draw(200, 4, seed=15)
    new_truth, new_scores = draw(150, 4, seed=16)
    rng = np.random.default_rng(16)
    given = {None: None, "whole": rng.integers(0, 4, 150), "real": rng.exponential(size=150)}[weights]
    rules = fit_usual(truth, form(scores))
    rules["exact"] = fit_expected(form(scores), exact=True)
    rules["macro, calibrated"] = CalibratedRule(rules["instance, platt"].calibrator, FixedRule(0.3, 4))
    rules["isotonic"] = CalibratedRule(calibrate(truth, form(scores)), InstanceRule())
    table = compare(rules, new_truth, form(new_scores), sample_weight=given)
    informed = [row for row in table.measures if not np.isnan(row.sum_over_positives)]
    calibrated = ["instance, platt", "macro, calibrated", "isotonic"]
    assert {row.rule for row in informed} == {*LABEL_FREE, "exact", *calibrated}
    for row in table.measures:
        p = probabilities_of(rules[row.rule], form(new_scores))
        if p is None:
            assert np.isnan(row.sum_over_positives)
            assert np.isnan(row.calibration_slope)
            continue
        expected = measure_calibration(new_truth, p, sample_weight=given)
        assert row.sum_over_positives == pytest.approx(expected.sum_over_positives, rel=1e-9)
        assert row.calibration_slope == pytest.approx(expected.slope, rel=1e-9)


def test_the_table_shows_sum_and_slope_of_rules_of_probabilities() -> None:
    truth, scores = draw(200, 3, seed=17)
    rules = {"fixed": FixedRule(0.5, 3), "instance": InstanceRule()}
    table = compare(rules, truth, scores)
    lines = str(table).split("\n\n")[2].splitlines()
    assert lines[0].split() == ["sum", "of", "p", "calibration"]
    row = table.measures[1]
    assert lines[3:] == [f"{row.sum_over_positives:>11.2f}  {row.calibration_slope:>11.2f}  instance"]
    assert row.sum_over_positives > 1
    assert row.calibration_slope == pytest.approx(1 / 1.7, rel=0.3), "logits are 1.7 times too far apart"


def test_the_table_leaves_them_out_where_no_rule_has_any() -> None:
    truth, scores = draw(200, 3, seed=18)
    text = str(compare({"fixed": FixedRule(0.5, 3), "top": TopKRule(1)}, truth, scores))
    assert "slope" not in text
    assert "sum of p" not in text


def test_an_unknown_slope_has_an_empty_cell() -> None:
    truth, p = [[1, 0], [1, 0]], [[1.0, 0.0], [1.0, 0.0]]
    table = compare({"instance": InstanceRule()}, truth, p)
    assert table.measures[0].sum_over_positives == 1
    assert np.isnan(table.measures[0].calibration_slope)
    assert str(table).split("\n\n")[2].splitlines()[-1].split() == ["1.00", "instance"]


def test_plain_values_of_a_table_hold_both() -> None:
    truth, scores = draw(100, 3, seed=19)
    table = compare({"instance": InstanceRule()}, truth, scores)
    values = table.to_dict()["measures"][0]
    assert values["sum_over_positives"] == table.measures[0].sum_over_positives
    assert values["calibration_slope"] == table.measures[0].calibration_slope


# Corollary 5.2 on the data of the fit: isotonic probabilities, then F* / (1 + b^2), is the empirical optimum


def expected_rule(
    truth: Array, scores: Array, average: str, beta: float, weights: Array | None, zero_division: float = 0.0
) -> tuple[ThresholdRule, Floats, Calibrator]:
    """The rule that knows calibrated probabilities alone, and these."""
    calibrator = calibrate(truth, scores, by="label", sample_weight=weights)
    p = calibrator.transform(scores, dense=True) if sparse.issparse(scores) else calibrator.transform(scores)
    rule = fit_expected(p, average, beta=beta, sample_weight=weights, zero_division=zero_division)
    return rule, p, calibrator


@pytest.mark.each_value
@pytest.mark.parametrize("average", ["macro", "weighted", "micro"])
@each_chunk
def test_calibrated_probabilities_hold_the_empirical_optimum(chunk: int, average: str) -> None:
    """The decisions reach it exactly, and the F of expected counts is that F."""
    for case in CHUNKS[chunk]:
        measure = (case.beta, case.zero_division, case.sample_weight)
        options = {"beta": case.beta, "zero_division": case.zero_division, "sample_weight": case.sample_weight}
        best = fit_empirical(case.y_true, case.y_score, average, **options)
        rule, p, _ = expected_rule(
            case.y_true, case.y_score, average, case.beta, case.sample_weight, case.zero_division
        )
        decided = rule.predict(p)
        if case.dyadic_weights and case.beta in DYADIC_BETAS:
            reached, optimum = (
                naive.score(case.y_true, h, average, *measure) for h in (decided, best.predict(case.y_score))
            )
            assert reached == optimum, case.name
        realised = thresholds.metrics.fbeta_score(case.y_true, decided, average=average, **options)
        assert realised == pytest.approx(best.objective, abs=1e-12), case.name
        assert rule.objective == pytest.approx(best.objective, rel=1e-12), case.name
        np.testing.assert_array_equal(rule.unsupported, best.unsupported, case.name)


@pytest.mark.each_value
@pytest.mark.parametrize("average", ["macro", "micro"])
@pytest.mark.parametrize("beta", [0.3, 0.5, 1.0, 1.37, 2.0])
@pytest.mark.parametrize("weights", [None, "whole", "real"])
def test_the_corollary_on_larger_data(weights: str | None, beta: float, average: str) -> None:
    for seed in range(2):
        truth, scores = draw(500, 6, seed=100 + seed)
        scores = np.round(scores, 2) if seed % 2 else scores
        rng = np.random.default_rng(seed)
        given = {None: None, "whole": rng.integers(0, 5, 500), "real": rng.exponential(size=500)}[weights]
        best = fit_empirical(truth, scores, average, beta=beta, sample_weight=given)
        rule, p, _ = expected_rule(truth, scores, average, beta, given)
        realised = thresholds.metrics.fbeta_score(
            truth, rule.predict(p), beta=beta, average=average, sample_weight=given, zero_division=0
        )
        assert realised == pytest.approx(best.objective, abs=1e-15)
        assert rule.objective == pytest.approx(best.objective, rel=1e-13)


@pytest.mark.parametrize("average", ["macro", "micro"])
@pytest.mark.parametrize("least", [0.2, 0.5, 0.8])
def test_the_corollary_on_lists(least: float, average: str) -> None:
    """With what is left out filled in."""
    truth, scores = draw(400, 6, seed=21)
    lists = listed(scores, least)
    best = fit_empirical(truth, lists, average, keep_sparse=False)
    rule, p, calibrator = expected_rule(truth, lists, average, 1.0, None)
    realised = thresholds.metrics.f1_score(truth, rule.predict(p), average=average)
    assert realised == pytest.approx(best.objective, abs=1e-15)
    assert rule.objective == pytest.approx(best.objective, rel=1e-13)
    np.testing.assert_allclose(p.sum(axis=0), truth.sum(axis=0), rtol=1e-12)
    in_lists = calibrator.transform(lists).sum() + calibrator.tail(lists, 1).sum()
    assert in_lists == pytest.approx(truth.sum(), rel=1e-12), "lists and tails add up to the positives"


def test_the_corollary_needs_calibration() -> None:
    truth, scores = draw(500, 6, seed=22)
    best = fit_empirical(truth, scores).objective
    decided = fit_expected(scores).predict(scores)
    assert thresholds.metrics.f1_score(truth, decided, average="macro") < best - 0.01


@pytest.mark.parametrize("beta", [0.5, 1.0, 2.0])
def test_the_expectation_of_calibrated_decisions_is_about_what_they_reach(beta: float) -> None:
    """For many rows; of the macro average, whose labels are decided from the same probabilities."""
    truth, scores = draw(20_000, 5, seed=23)
    p = calibrate(truth, scores).transform(scores)
    decided = fit_expected(p, beta=beta).predict(p)
    reached = thresholds.metrics.fbeta_score(truth, decided, beta=beta, average="macro")
    assert expected_f(p, decided, beta=beta, exact=True) == pytest.approx(reached, abs=1e-3)


def test_real_weights_and_betas_in_exact_arithmetic() -> None:
    """No set of whole tie groups beats the rule by more than rounding."""
    for case in [case for case in CASES if case.sample_weight is not None and not case.dyadic_weights]:
        options = {"beta": case.beta, "sample_weight": case.sample_weight}
        rule, p, _ = expected_rule(case.y_true, case.y_score, "macro", case.beta, case.sample_weight)
        values = naive.label_scores(case.y_true, rule.predict(p), case.beta, 0.0, case.sample_weight)
        best = naive.best_macro(case.y_true, case.y_score, case.beta, 0.0, case.sample_weight)
        for value, (_, f) in zip(values, best, strict=True):
            assert value >= f - Fraction(1, 10**12), (case.name, options)


# Refusals


def test_parts_of_another_kind_are_refused() -> None:
    truth, scores = draw(20, 2, seed=24)
    calibrator = calibrate(truth, scores)
    with pytest.raises(thresholds.InputError, match=r"^calibrator is 'isotonic', expected a Calibrator"):
        CalibratedRule("isotonic", InstanceRule())
    for other in (None, calibrator, TopKRule(1), thresholds.RegionRule([[0.5], []])):
        with pytest.raises(thresholds.InputError, match=r"^rule is .*, expected an InstanceRule or a ThresholdRule"):
            CalibratedRule(calibrator, other)
    for other in (FixedRule(0.5, 3), InstanceRule(label_names=["a", "b", "c"])):
        with pytest.raises(thresholds.InputError, match=r"^rule is about 3 labels, expected 2 as the calibrator is"):
            CalibratedRule(calibrator, other)


def test_scores_of_another_kind_are_refused() -> None:
    truth, scores = draw(20, 2, seed=25)
    rule = CalibratedRule(calibrate(truth, scores, "platt", label_names=["cat", "dog"]), InstanceRule())
    with pytest.raises(thresholds.InputError, match=r"^y_score has 3 labels, expected 2 as the calibrator has"):
        rule.predict(np.hstack([scores, scores])[:, :3])
    bad = scores.copy()
    bad[7, 1] = 1.5
    for given in (bad, sparse.csr_array(bad)):
        with pytest.raises(thresholds.InputError, match=r"^y_score has 1.5 at row 7, label 'dog', expected scores in"):
            rule.predict(given)
        with pytest.raises(thresholds.InputError, match=r"^y_score has 1.5 at row 7, label 'dog', expected scores in"):
            compare({"platt": rule}, np.zeros((20, 2)), given)


def test_no_warning_of_the_range_is_given_for_calibrated_scores() -> None:
    truth, scores = draw(200, 2, seed=26)
    calibrator = calibrate(truth, 100 * scores)
    part = fit_expected(calibrator.transform(100 * scores))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        CalibratedRule(calibrator, part).predict(100 * scores)


def test_the_message_names_the_row_whatever_the_block() -> None:
    truth, scores = draw(6000, 2, seed=27)
    rule = CalibratedRule(calibrate(truth, scores, "platt"), InstanceRule())
    bad = scores.copy()
    bad[5000, 1] = 1.5
    for call in (lambda: rule.predict(bad), lambda: compare({"platt": rule}, truth, bad)):
        with pytest.raises(thresholds.InputError, match=r"^y_score has 1.5 at row 5000, label 1"):
            call()


def test_thresholds_that_absent_probabilities_reach_need_a_dense_answer() -> None:
    """Sparse scores are decided as dense ones, or refused: as by a rule of thresholds alone."""
    truth, scores = np.array([[1], [0], [1], [0], [1], [1]]), np.array([[0.0], [0.0], [0.0], [0.5], [0.6], [0.9]])
    for method in METHODS:
        rule = CalibratedRule(calibrate(truth, sparse.csr_array(scores), method), FixedRule(0.3, 1))
        assert rule.calibrator.absent[0] > 0.3
        with pytest.raises(thresholds.InputError, match=r"^y_score is sparse, .*dense=True"):
            rule.predict(sparse.csr_array(scores))
        dense = rule.predict(sparse.csr_array(scores), dense=True)
        np.testing.assert_array_equal(dense, rule.predict(scores))


def test_tails_of_calibrators_are_what_instance_rules_take() -> None:
    """Sums of powers fall with the power, although they are differences, which rounding may reverse."""
    for seed in range(6):  # in one of these it does
        rng = np.random.default_rng(seed)
        n, m = int(rng.integers(2, 9)), int(rng.integers(2, 7))
        truth = (rng.random((n, m)) < 0.6).astype(np.uint8)
        scores = sparse.csr_array(np.round(rng.random((n, m)), 1) * (rng.random((n, m)) < 0.5))
        for method in ("isotonic", "platt"):
            calibrator = thresholds.calibrate(truth, scores, method, by=("label", "pooled", "shrink")[seed % 3])
            tail = calibrator.tail(scores, powers=8)
            assert (np.diff(tail, axis=1) <= 0).all()
            rule = thresholds.CalibratedRule(calibrator, thresholds.InstanceRule())
            plain = thresholds.InstanceRule().predict(calibrator.transform(scores), tail=calibrator.tail(scores))
            np.testing.assert_array_equal(rule.predict(scores).toarray(), plain.toarray())


def test_certain_labels_are_predicted_beside_a_certain_tail() -> None:
    truth = [[1, 1, 1, 1], [1, 0, 0, 1], [1, 1, 1, 1], [1, 1, 0, 1]]
    scores = sparse.csr_array([[1.0, 1, 1, 0], [0, 0, 0, 1], [0, 0, 1, 0], [0, 0, 1, 1]])
    rule = thresholds.CalibratedRule(thresholds.calibrate(truth, scores), thresholds.InstanceRule())
    assert rule.predict(sparse.csr_array([[1.0, 1, 0, 0]])).toarray().tolist() == [[1, 1, 0, 0]]


def test_wide_lists_are_compared_without_filling_them_in() -> None:
    import tracemalloc

    rng = np.random.default_rng(12)
    n, m = 600, 4_000
    rows, columns = np.repeat(np.arange(n), 20), rng.permutation(n * 20) % m
    scores = sparse.csr_array((rng.random(n * 20), (rows, columns)), shape=(n, m))
    hits = (rng.random(scores.nnz) < scores.data).astype(np.uint8)
    truth = sparse.csr_array((hits, scores.indices, scores.indptr), shape=scores.shape)
    calibrator = thresholds.calibrate(truth, scores, "platt", "pooled")
    rules = {"platt": thresholds.CalibratedRule(calibrator, thresholds.InstanceRule())}
    thresholds.compare(rules, truth, scores)
    tracemalloc.start()
    found = thresholds.compare(rules, truth, scores).measures[0]
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < n * m * 8 / 2, "half of the dense matrix"
    filled = calibrator.transform(scores, dense=True)
    expected = thresholds.measure_calibration(truth.toarray(), filled)
    assert found.sum_over_positives == pytest.approx(expected.sum_over_positives, rel=1e-9)
    assert found.calibration_slope == pytest.approx(expected.slope, rel=1e-9)


def test_it_watches_the_scores_that_its_calibrator_was_fitted_on(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    truth = rng.random((1200, 20)) < 0.1
    scores = rng.normal(size=truth.shape) + 2 * truth + rng.normal(size=20)
    rule = CalibratedRule(calibrate(truth[:600], scores[:600], "platt"), InstanceRule())
    rule.save(tmp_path / "rule.json")
    for watching in (rule, thresholds.load_rule(tmp_path / "rule.json")):
        assert watching.check(scores[600:]).ok
        assert [finding.kind for finding in watching.check(2 * scores[600:]).findings] == ["moved"]
        with pytest.warns(thresholds.ScoreChangeWarning, match="in reverse order"):
            watching.predict(scores[600:, ::-1])
