"""What all rules have in common: scores are validated once and decided on, a block at a time."""

import re
from pathlib import Path

import numpy as np
import pytest
from scipy import sparse

import thresholds
from tests.rules import RULES
from thresholds import CappedRule, InputError, InstanceRule, ThresholdRule, TopKRule
from thresholds.rule import FittedOn, Rule

PRIVATE = re.compile(r"\b(rule|fitted|old|new|restricted|calibrator|rule_)\._[a-z]")


def scores_for(rule: Rule) -> np.ndarray:
    """Probabilities of as many labels as the rule is about."""
    return np.random.default_rng(3).random((60, rule.n_labels or 5)).round(2)


@pytest.mark.filterwarnings("ignore::thresholds.rule.ScoreChangeWarning")
@pytest.mark.parametrize("name", RULES)
def test_rules_decide_block_by_block_as_they_predict(name: str) -> None:
    rule = RULES[name]
    assert isinstance(rule, Rule)
    assert rule.n_labels is None or isinstance(rule.n_labels, int)
    assert isinstance(rule.missing, float)
    dense = scores_for(rule)
    for scores in (dense, sparse.csr_array(np.where(dense > 0.5, dense, 0))):
        rule.validate(scores)
        whole = rule.needs_dense(scores)
        assert whole == (scores is not dense and rule.predicts_missing)
        blocks = [rule.decide(scores[rows], dense=whole) for rows in (slice(0, 20), slice(20, 60))]
        assert all(sparse.issparse(block) == (scores is not dense and not whole) for block in blocks)
        together = np.concatenate([block.toarray() if sparse.issparse(block) else block for block in blocks])
        predicted = rule.predict(scores, dense=True)
        np.testing.assert_array_equal(together, predicted)
        if whole:
            with pytest.raises(InputError, match=r"y_score is sparse, and .* pass dense=True for a dense answer of"):
                rule.decide(scores)


@pytest.mark.parametrize("name", RULES)
def test_scores_of_other_labels_are_refused(name: str) -> None:
    rule = RULES[name]
    if rule.n_labels is None:
        rule.validate(np.zeros((3, 7)))
        return
    with pytest.raises(InputError, match=f"y_score has {rule.n_labels + 1} labels, expected {rule.n_labels} as the"):
        rule.validate(np.zeros((3, rule.n_labels + 1)))


def test_a_rule_that_was_loaded_without_names_can_be_given_some() -> None:
    for rule in (ThresholdRule([0.5, 0.2]), TopKRule(1), InstanceRule()):
        named = rule.with_names(["cat", "dog"])
        assert named.label_names == ("cat", "dog")
        assert named.n_labels == 2
    truth, p = [[1, 0], [0, 1], [1, 1], [0, 0]], [[0.9, 0.2], [0.3, 0.8], [0.6, 0.7], [0.1, 0.4]]
    rule = thresholds.CalibratedRule(thresholds.calibrate(truth, p), InstanceRule())
    assert rule.with_names(["cat", "dog"]).label_names == ("cat", "dog")
    assert rule.label_names is None


def test_a_rule_that_needs_host_memory_says_so() -> None:
    class OnDevice:
        device = "device1"

    class HostRule(TopKRule):
        decide_on_device = Rule.decide_on_device

    with pytest.raises(InputError, match="y_score is on device1, expected it in host memory for a HostRule"):
        HostRule(1).decide_on_device(OnDevice())


def test_other_rooms_leave_what_is_private_to_a_rule_alone() -> None:
    package = Path(thresholds.__file__).parent
    found = [
        f"{path.relative_to(package)}: {line.strip()}"
        for path in package.rglob("*.py")
        if path.parent.name != "rule"
        for line in path.read_text("utf-8").splitlines()
        if PRIVATE.search(line)
    ]
    assert found == []


def test_names_of_labels_are_checked_as_they_are_given() -> None:
    for rule in (ThresholdRule([0.5, 0.2]), TopKRule(1), CappedRule.around(ThresholdRule([0.5, 0.2]), 1)):
        with pytest.raises(InputError, match="label_names is 'ab', expected strings in a list"):
            rule.with_names("ab")


@pytest.mark.parametrize("bad", [3, "x", {}, np.zeros((2, 2))])
def test_what_is_known_of_a_fit_is_a_record(bad: object) -> None:
    for name in ("fitted_on", "out_of_fold", "made_by", "kept", "odds", "budget", "guarantees"):
        with pytest.raises(InputError, match=f"{name} is .*, expected a record of this library, or None"):
            ThresholdRule([0.5, 0.2], **{name: bad})


@pytest.mark.parametrize("bad", ["x", None, 3, [[True, False]]])
def test_unsupported_labels_are_one_truth_value_each(bad: object) -> None:
    with pytest.raises(InputError, match=r"unsupported has shape \(.*\), expected one truth value for each label"):
        ThresholdRule([0.5, 0.2], unsupported=bad)


def test_what_was_given_stays_its_owners() -> None:
    quantiles, positives = np.linspace(0, 1, 7), np.array([1.0, 2.0])
    known = FittedOn(3, positives, "float64", "0.1.0", known_quantiles=quantiles)
    quantiles[:] = positives[:] = 0
    assert known.quantiles[-1] == 1
    assert known.positives[-1] == 2
    assert not known.quantiles.flags.writeable
