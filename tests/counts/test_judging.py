"""What counts say of a rule is what the rows say."""

from typing import Any

import numpy as np
import pytest

import thresholds
from tests.counts.draws import KINDS, Rows, added, draw
from tests.words import flat
from thresholds import Counts, InputError, metrics
from thresholds._engine.problem import Problem
from thresholds.metrics.judging import judge

UNWEIGHTED = [kind for kind in KINDS if kind != "weighted"]


def rule_for(rows: Rows, rng: np.random.Generator) -> thresholds.ThresholdRule:
    """A rule with thresholds among the scores, one of them never."""
    n_labels = rows.y_score.shape[1]
    cells = np.asarray(rows.y_score.data if hasattr(rows.y_score, "indptr") else rows.y_score).reshape(-1)
    cuts = rng.choice(cells[cells > -np.inf].astype(np.float64), n_labels) * rng.choice([1, 1.01], n_labels)
    cuts[0] = np.inf
    return thresholds.ThresholdRule(cuts, missing=rows.about.get("missing", 0.0))


def sums_of(counts: metrics.ConfusionCounts) -> np.ndarray:
    """What was decided, as sums."""
    return np.stack([counts.tp, counts.fp, counts.fn, counts.tn])


def judged(rows: Rows, rng: np.random.Generator, *rules: thresholds.Rule) -> Counts:
    """Counts that tell what rules decide."""
    counts = added(rows, rng)
    needed = counts.needed_to_judge(*rules)
    return counts if needed is None else counts.with_scores(added(rows, rng, needed))


@pytest.mark.parametrize("n_rows", [50, 3000])
@pytest.mark.parametrize("kind", KINDS)
def test_decisions_are_counted_as_on_the_rows(kind: str, n_rows: int) -> None:
    rng = np.random.default_rng(n_rows)
    rows = draw(kind, rng, n_rows)
    rules = [rule_for(rows, rng) for _ in range(2)]
    counts = judged(rows, rng, *rules)
    assert counts.needed_to_judge(*rules) is None
    for rule in rules:
        decided = rule.predict(rows.y_score, dense=True)
        expected = metrics.confusion_counts(
            rows.y_true, decided, sample_weight=rows.sample_weight, unknown=rows.about.get("unknown")
        )
        np.testing.assert_array_equal(sums_of(counts.confusion(rule)), sums_of(expected))


def test_so_are_those_of_regions_and_after_calibration() -> None:
    rng = np.random.default_rng(5)
    rows = draw("dense", rng, 3000)
    n_labels = rows.y_score.shape[1]
    regions = thresholds.RegionRule([[-0.5, 0.2, 0.9]] * n_labels)
    calibrator = thresholds.calibrate(rows.y_true, rows.y_score, "platt")
    calibrated = thresholds.CalibratedRule(calibrator, thresholds.FixedRule(0.2, n_labels))
    counts = judged(rows, rng, regions, calibrated)
    for rule in (regions, calibrated):
        expected = judge(rule, Problem.of(rows.y_true, rows.y_score)).by_label
        np.testing.assert_array_equal(sums_of(counts.confusion(rule)), sums_of(expected))


@pytest.mark.parametrize("kind", UNWEIGHTED)
def test_labels_of_few_scores_are_diagnosed_as_the_rows_are(kind: str) -> None:
    rng = np.random.default_rng(10)
    rows = draw(kind, rng, 600)
    rule = rule_for(rows, rng)
    diagnosis = judged(rows, rng, rule).diagnose(rule)
    expected = thresholds.diagnose(rows.y_true, rows.y_score, rule, unknown=rows.about.get("unknown"))
    assert diagnosis.to_dict() == expected.to_dict()
    np.testing.assert_array_equal(diagnosis.caps, expected.caps)
    assert diagnosis.note == ""


@pytest.mark.parametrize("seed", range(4))
def test_labels_of_many_scores_are_diagnosed_nearly_so(seed: int) -> None:
    """Decisions are counted exactly; scores of one bin count as equal."""
    rng = np.random.default_rng(seed)
    rows = draw("dense", rng, 5000)
    rule = rule_for(rows, rng)
    diagnosis = judged(rows, rng, rule).diagnose(rule)
    expected = thresholds.diagnose(rows.y_true, rows.y_score, rule)
    for name in ("verdict", "f", "predicted_rate", "base_rate"):
        np.testing.assert_array_equal(diagnosis.table[name], expected.table[name], err_msg=name)
    np.testing.assert_allclose(diagnosis.table["auroc"], expected.table["auroc"], atol=0.002)
    assert "scores of one bin count as equal" in flat(str(diagnosis))


@pytest.mark.parametrize("by", ["shrink", "label", "pooled"])
@pytest.mark.parametrize("method", ["isotonic", "platt"])
def test_labels_of_few_scores_are_calibrated_as_the_rows_are(method: Any, by: Any) -> None:
    rng = np.random.default_rng(2)
    rows = draw("ties", rng, 2000)
    found, expected = added(rows, rng).calibrate(method, by), thresholds.calibrate(*rows[:2], method, by)
    np.testing.assert_array_equal(found.transform(rows.y_score), expected.transform(rows.y_score))
    assert found.profile is None


def test_labels_are_known_by_name() -> None:
    y_true, y_score = [[1, 0], [0, 1], [1, 1]], [[0.9, 0.2], [0.6, 0.7], [0.4, 0.8]]
    counts = Counts.of(y_true, y_score, label_names=["cat", "dog"])
    rule = thresholds.ThresholdRule([0.75, 0.65], label_names=["dog", "cat"])
    assert counts.confusion(rule).tp.tolist() == [1, 1]
    assert counts.diagnose(rule).label_names == ("cat", "dog")


def test_a_rule_that_was_fitted_there_is_known_again() -> None:
    rows = draw("dense", np.random.default_rng(3), 400)
    counts = Counts.of(rows.y_true, rows.y_score)
    assert "rows that the rule was fitted on" in flat(str(counts.diagnose(counts.fit())))


ONE = Counts.of([[1], [0]], [[0.5], [0.25]])
BAD: dict[str, tuple[Any, Any]] = {
    "rule is 3, expected a rule": (ONE, 3),
    "rule has 2 labels, expected 1 as the counts have": (ONE, thresholds.FixedRule(0.5, 2)),
    "rule is a TopKRule, which decides by all scores of a row": (ONE, thresholds.TopKRule(1)),
    "counts are in bins, in some of which thresholds of the rule lie": (
        Counts.of(np.ones((5000, 1)), np.random.default_rng(0).random((5000, 1))),
        thresholds.FixedRule(0.3, 1),
    ),
}


@pytest.mark.parametrize("message", BAD)
def test_what_cannot_be_judged_is_refused(message: str) -> None:
    counts, rule = BAD[message]
    for judge_it in (counts.confusion, counts.diagnose):
        with pytest.raises(InputError, match=f"^{message}"):
            judge_it(rule)


def test_weighted_rows_are_not_tested() -> None:
    counts = Counts.of([[1], [0]], [[0.5], [0.25]], sample_weight=[1, 2])
    for call in (lambda: counts.diagnose(thresholds.FixedRule(0.5, 1)), counts.calibrate):
        with pytest.raises(InputError, match=r"^counts are of weighted rows, expected those of rows without"):
            call()
