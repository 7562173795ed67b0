"""Diagnosis without labels, and `diff`, tell a base rate that has moved from scores that mean something else."""

import json
from typing import Any

import numpy as np
import pytest

import thresholds
from tests.calibration.test_base_rates import draw
from tests.words import flat
from thresholds import CalibratedRule, FixedRule, InstanceRule
from thresholds.calibration.base_rates import CHANGED, MOVED, SAME

NAMES = ("up", "same", "other")


def rules() -> tuple[CalibratedRule, Any]:
    """A calibrated rule, and new scores: of more positives, of as many, and of another meaning."""
    truth, scores = draw(3000, [0.1] * 3, seed=11)
    _, new = draw(3000, [0.2, 0.1, 0.1], seed=12)
    new[:, 2] = new[:, 2] ** 0.7
    calibrator = thresholds.calibrate(truth, scores, label_names=NAMES)
    return CalibratedRule(calibrator, FixedRule(0.3, 3, label_names=NAMES)), new


def test_a_diagnosis_of_scores_says_what_has_moved() -> None:
    rule, new = rules()
    found = thresholds.diagnose(None, new, rule)
    assert found.base_rates is not None
    assert found.base_rates.verdict.tolist() == [MOVED, SAME, CHANGED]
    said = flat(str(found))
    assert "1 label: scores fit another base rate; positives that score otherwise now are not ruled out (up)" in said
    assert "1 label: no base rate explains the scores: they changed their meaning (other)" in said
    assert json.loads(json.dumps(found.to_dict()))["base_rates"]["table"][0]["verdict"] == MOVED

    # All else is what the probabilities say.
    of_p = thresholds.diagnose(None, rule.calibrator.transform(new), rule.rule)
    np.testing.assert_array_equal(found.table, of_p.table)
    assert of_p.base_rates is None
    assert "base rate has" not in str(of_p)


def test_rules_that_decide_by_rows_are_diagnosed_too() -> None:
    rule, new = rules()
    by_row = CalibratedRule(rule.calibrator, InstanceRule(label_names=NAMES))
    found = thresholds.diagnose(None, new, by_row)
    of_p = thresholds.diagnose(None, rule.calibrator.transform(new), by_row.rule)
    np.testing.assert_array_equal(found.table["predicted_positive"], of_p.table["predicted_positive"])


def test_labels_are_told_apart_at_the_rate_that_is_asked_for() -> None:
    rule, new = rules()
    found = thresholds.diagnose(None, new, rule, alpha=1e-300).base_rates
    assert found is not None
    assert found.verdict[1] == SAME
    assert MOVED not in found.verdict


@pytest.mark.filterwarnings("ignore::thresholds.ScoreChangeWarning")
def test_a_difference_of_calibrated_rules_says_what_has_moved() -> None:
    rule, new = rules()
    adapted = thresholds.fit_adapted(rule.calibrator, new)
    difference = thresholds.diff_rules(rule, adapted, new)
    assert difference.base_rates is not None
    assert difference.base_rates.verdict.tolist() == [MOVED, SAME, CHANGED]
    assert "the new scores, by the calibration of the old rule:" in flat(str(difference))
    assert "base_rates" in difference.to_dict()
    assert thresholds.diff_rules(rule, adapted).base_rates is None


@pytest.mark.filterwarnings("ignore::thresholds.ScoreChangeWarning")
def test_labels_go_by_name_and_those_of_one_rule_are_left_out() -> None:
    rule, new = rules()
    wide = np.column_stack([new[:, 2], new[:, 0], new[:, 0]])
    other = thresholds.ThresholdRule([0.5, 0.5, 0.5], label_names=("other", "fresh", "up"))
    found = thresholds.diff_rules(rule, other, wide).base_rates
    assert found is not None
    assert found.label_names == ("other", "up")
    assert found.verdict.tolist() == [CHANGED, MOVED]


def test_a_rule_of_thresholds_knows_no_base_rates() -> None:
    _rule, new = rules()
    plain = thresholds.ThresholdRule([0.5] * 3, label_names=NAMES)
    assert thresholds.diff_rules(plain, plain, new).base_rates is None
