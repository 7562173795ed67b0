"""Rules of all kinds are compared: what decides about each label, settings, and decisions on new scores."""

import itertools
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import sparse

import thresholds
from tests.rules import MadeWhenAsked
from tests.words import flat
from thresholds import CappedRule, RegionRule, ThresholdRule, cli, diff_rules

NAMES = ("ant", "bee", "cat", "dog")
RNG = np.random.default_rng(8)
TRUTH = (RNG.random((300, 4)) < [0.5, 0.3, 0.2, 0.1]).astype(np.uint8)
SCORES = 1 / (1 + np.exp(-RNG.normal(size=(300, 4)) - 2 * TRUTH + 1))

# One rule of each kind, and of calibrated ones by each curve.
RULE_NAMES = (
    "macro",
    "macro, regions",
    "top-k",
    "instance, label-free",
    "instance, platt",
    "instance, isotonic",
    "macro, platt",
)
RULES = MadeWhenAsked(
    {name: partial(thresholds.fit, TRUTH, SCORES, name, label_names=NAMES) for name in RULE_NAMES}
    | {
        "by label": lambda: thresholds.CalibratedRule(
            thresholds.calibrate(TRUTH, SCORES, by="label", label_names=NAMES), thresholds.InstanceRule()
        ),
        "pooled": lambda: thresholds.CalibratedRule(
            thresholds.calibrate(TRUTH, SCORES, "platt", "pooled", label_names=NAMES), thresholds.FixedRule(0.4, 4)
        ),
    }
)
BY_ROW = ("top-k", "instance, label-free")  # what decides about a label by its score alone, others have
PAIRS = list(itertools.product(RULES, repeat=2))


@pytest.mark.each_value
@pytest.mark.parametrize(("old", "new"), PAIRS)
@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array])
def test_decisions_before_and_after_are_those_of_predict(old: str, new: str, kind: Any) -> None:
    scores = kind(SCORES)
    found = diff_rules(RULES[old], RULES[new], scores)
    before, after = (RULES[name].predict(scores, dense=True) for name in (old, new))
    assert found.table["predicted_before"].tolist() == before.sum(axis=0).tolist()
    assert found.table["predicted_after"].tolist() == after.sum(axis=0).tolist()
    assert found.table["rows_changed"].tolist() == (before != after).sum(axis=0).tolist()
    assert found.rows_changed == (before != after).any(axis=1).sum()


@pytest.mark.parametrize("name", RULES)
def test_a_rule_does_not_differ_from_itself(name: str, tmp_path: Path) -> None:
    RULES[name].save(tmp_path / "rule.json")
    found = diff_rules(RULES[name], thresholds.load_rule(tmp_path / "rule.json"), SCORES)
    assert (found.settings, found.rows_changed, found.largest.size) == ({}, 0, 0)
    assert not found.table["moved"].any()


@pytest.mark.parametrize("name", RULES)
def test_labels_go_by_name(name: str) -> None:
    """The old rule on fewer labels decides as one that knows these alone, in the order of the new one."""
    kept = np.array([2, 0, 3])
    new = ThresholdRule([0.3, 0.4, 0.5, 0.6], label_names=("cat", "ant", "owl", "dog"))
    scores = np.column_stack([SCORES[:, 2], SCORES[:, 0], RNG.random(300), SCORES[:, 3]])
    found = diff_rules(RULES[name], new, scores)
    assert (found.new, found.lost) == (("owl",), ("bee",))
    assert found.table["name"].tolist() == ["cat", "ant", "dog"]
    before = RULES[name].only(kept).predict(SCORES[:, kept])
    assert found.table["predicted_before"].tolist() == before.sum(axis=0).tolist()


@pytest.mark.parametrize("name", [name for name in RULES if name not in BY_ROW])
def test_what_decides_about_each_label_alone_goes_with_it(name: str) -> None:
    """Where the whole row decides, the part is a curve: the probabilities are the same then."""
    rule = RULES[name]
    kept = np.array([3, 1])
    parts = rule.criteria()
    assert rule.only(kept).criteria() == [parts[3], parts[1]]
    if not isinstance(rule, thresholds.CalibratedRule):
        np.testing.assert_array_equal(rule.only(kept).predict(SCORES[:, kept]), rule.predict(SCORES)[:, kept])
    else:
        found = rule.only(kept).calibrator.transform(SCORES[:, kept])
        np.testing.assert_array_equal(found, rule.calibrator.transform(SCORES)[:, kept])


# What moved


def test_a_region_moves_if_any_switch_does() -> None:
    old = RegionRule([[0.2, 0.4, 0.8], [0.5], [], [-np.inf, 0.3]])
    new = RegionRule([[0.2, 0.5, 0.8], [0.5], [0.9], [-np.inf, 0.3]])
    found = diff_rules(old, new)
    assert found.table["moved"].tolist() == [True, False, True, False]
    assert found.table["old_region"].tolist() == ["0.2 to 0.4, 0.8 up", "0.5 up", "never", "-inf to 0.3"]
    assert np.isnan(found.table["old_threshold"]).all()
    lines = str(found).splitlines()
    assert lines[0] == "4 labels in both rules: 2 regions moved, 0 labels new, 0 lost"
    assert lines[-2].split("  ")[-2:] == ["0.2 to 0.4, 0.8 up", "0.2 to 0.5, 0.8 up"]


def test_a_threshold_is_a_region_from_there_up() -> None:
    old = ThresholdRule([0.5, 0.2, np.inf])
    found = diff_rules(old, RegionRule([[0.5], [0.2, 0.3], []]))
    assert found.part == "region"
    assert found.table["moved"].tolist() == [False, True, False]
    assert found.settings["kind"] == ("thresholds", "region")


@pytest.mark.parametrize(("method", "by"), [("platt", "label"), ("isotonic", "label")])
def test_the_curve_of_a_label_moves_alone(method: Any, by: Any) -> None:
    changed = SCORES.copy()
    changed[:, 1] = SCORES[::-1, 1]
    old, new = (thresholds.calibrate(TRUTH, scores, method, by) for scores in (SCORES, changed))
    by_instance = thresholds.InstanceRule()
    found = diff_rules(*(thresholds.CalibratedRule(own, by_instance) for own in (old, new)))
    assert found.table["moved"].tolist() == [False, True, False, False]
    assert str(found).startswith("4 labels in both rules: 1 curve moved, 0 labels new, 0 lost\n")
    assert found.table["verdict"].tolist() == ["", "unknown", "", ""]


def test_a_threshold_behind_a_curve_moves_its_label() -> None:
    pooled = RULES["pooled"]
    assert isinstance(pooled, thresholds.CalibratedRule)
    other = replace(pooled, rule=ThresholdRule([0.4, 0.4, 0.3, 0.4], per_label=False))
    assert diff_rules(pooled, other).table["moved"].tolist() == [False, False, True, False]


def test_one_calibration_with_two_kinds_of_rules_behind_it_has_no_curve_that_moved() -> None:
    found = diff_rules(RULES["macro, platt"], RULES["instance, platt"], SCORES)
    assert found.part == ""
    assert not found.table["moved"].any()
    assert found.settings["decides_by"] == ("thresholds", "instance")
    assert str(found).startswith("4 labels in both rules: another kind of rule, 0 labels new")


def test_settings_that_a_kind_does_not_have_and_thresholds_of_one_rule_alone_are_not_shown() -> None:
    shown = str(diff_rules(RULES["macro"], RULES["instance, platt"], SCORES))
    assert "placement: low -> none\n" in shown
    assert "decides_by: none -> instance\n" in shown
    assert "threshold " not in shown


def test_rules_of_two_kinds_differ_by_settings_and_decisions() -> None:
    found = diff_rules(RULES["macro"], RULES["top-k"], SCORES)
    assert not found.table["moved"].any()
    assert found.n_news is None
    assert np.isfinite(found.table["old_threshold"]).all()
    assert np.isnan(found.table["new_threshold"]).all()
    settings = found.settings
    assert settings["kind"] == ("thresholds", "top_k")
    assert settings["k"] == (None, RULES["top-k"].settings()["k"])
    assert settings["placement"] == ("low", None)
    assert str(found).startswith("4 labels in both rules: another kind of rule, 0 labels new")


def test_where_the_row_decides_there_are_no_thresholds() -> None:
    found = diff_rules(thresholds.TopKRule(1), thresholds.TopKRule(2), SCORES)
    assert found.settings == {"k": (1, 2)}
    assert flat(found).startswith(
        "4 labels in both rules: no thresholds, 0 labels new, 0 lost; on 300 rows 300 -> 600 predictions (+100.0 %),"
        " 300 rows decided differently"
    )
    lines = str(found).splitlines()
    assert lines[2] == "k: 1 -> 2"
    assert "threshold" not in lines[5]
    assert {"moved", "verdict"} <= set(found.to_dict()["labels"][0])


def test_thresholds_that_moved_under_a_cap_are_shown() -> None:
    names = ("ant", "bee", "cat", "dog")
    old, new = (ThresholdRule([cut, 0.5, 0.5, 0.5], label_names=names) for cut in (0.5, 0.2))
    found = diff_rules(CappedRule.around(old, 2), CappedRule.around(new, 2), SCORES)
    assert found.settings == {}
    assert found.table["moved"].tolist() == [True, False, False, False]
    assert found.table["new_threshold"].tolist() == [0.2, 0.5, 0.5, 0.5]
    assert "1 threshold moved" in flat(found)
    capped = diff_rules(old, CappedRule.around(old, 1), SCORES)
    assert not capped.table["moved"].any()
    assert capped.settings["k"] == (None, 1)
    assert "0 thresholds moved" in flat(capped)


def test_labels_of_a_rule_for_any_number_are_those_of_the_other_or_of_the_scores() -> None:
    any_number = thresholds.InstanceRule()
    assert diff_rules(any_number, RULES["macro"]).table["name"].tolist() == list(NAMES)
    assert diff_rules(RULES["macro"], any_number).table["name"].tolist() == list(NAMES)
    assert diff_rules(any_number, thresholds.TopKRule(1)).table.size == 0
    assert diff_rules(any_number, thresholds.TopKRule(1), SCORES[:, :3]).table.size == 3


def test_scores_that_the_old_rule_cannot_take_are_refused() -> None:
    with pytest.raises(thresholds.InputError, match=r"^y_score has .*, expected values in \[0, 1\]"):
        diff_rules(thresholds.InstanceRule(), thresholds.FixedRule(0.5, 4), 9 * SCORES)


# The command


@pytest.fixture
def files(tmp_path: Path) -> dict[str, str]:
    """Saved rules, and scores."""
    np.savez(tmp_path / "scores.npz", y_score=SCORES, label_names=np.array(NAMES))
    for name, rule in RULES.items():
        rule.save(tmp_path / f"{name}.json")
    return {name: str(tmp_path / f"{name}.json") for name in RULES} | {"scores": str(tmp_path / "scores.npz")}


@pytest.mark.parametrize("new", ["macro, regions", "top-k", "instance, platt"])
def test_the_command_takes_all_kinds(new: str, files: dict[str, str], capsys: pytest.CaptureFixture[str]) -> None:
    found = diff_rules(RULES["macro"], RULES[new], SCORES)
    assert found.rows_changed
    arguments = ["diff", files["macro"], files[new], files["scores"], "--fail-on"]
    assert cli.main([*arguments, "changed=1"]) == 0
    assert capsys.readouterr().out.endswith(f"{found}\n")
    assert cli.main([*arguments, "changed=0"]) == 3
    share = found.rows_changed / 300
    assert capsys.readouterr().err == f"thresholds: failed: changed is {share:.4g}, expected at most 0\n"
    assert cli.main([*arguments, "news=0"]) == 1
    assert (
        "it takes two rules of thresholds, both fitted with folds, or given their odds by keep_odds"
        in capsys.readouterr().err
    )
