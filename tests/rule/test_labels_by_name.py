"""The same labels in another order give the same answer, in all that takes a rule; other labels are refused."""

from collections.abc import Callable
from dataclasses import fields
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

import thresholds
from tests.rules import same
from thresholds import (
    Accumulator,
    CalibratedRule,
    FixedRule,
    InputError,
    InstanceRule,
    RegionRule,
    ThresholdRule,
    TopKRule,
    calibrate,
    compare,
    cross_fit,
    diagnose,
    diff_rules,
    fit_empirical,
    fit_expected,
    fit_regions,
    fit_top_k,
)
from thresholds.cli import main
from thresholds.comparison.result import Comparison, Measures
from thresholds.rule import Rule

NAMES = ["cat", "dog", "emu", "fox"]
ORDER = [2, 0, 3, 1]
OTHER = [NAMES[k] for k in ORDER]
RNG = np.random.default_rng(7)
P = RNG.random((300, 4)).round(3)  # (n_samples, n_labels)
TRUTH = (RNG.random(P.shape) < P**2).astype(np.uint8)
FRAMES = pd.DataFrame(TRUTH, columns=NAMES), pd.DataFrame(P, columns=NAMES)

Fit = Callable[[np.ndarray, np.ndarray, list[str]], Rule]

NUMBERS = [item.name for item in fields(Measures) if item.name not in ("rule", "intervals")]

FITS: dict[str, Fit] = {
    "fixed": lambda truth, p, names: FixedRule(0.4, 4, label_names=names),
    "macro": lambda truth, p, names: fit_empirical(truth, p, label_names=names),
    "guarded": lambda truth, p, names: fit_empirical(truth, p, guard="shrink", label_names=names),
    "expected": lambda truth, p, names: fit_expected(p, label_names=names),
    "instance": lambda truth, p, names: fit_expected(p, "samples", label_names=names),
    "regions": lambda truth, p, names: fit_regions(truth, p, label_names=names),
    "top k": lambda truth, p, names: fit_top_k(truth, p, label_names=names),
    "isotonic": lambda truth, p, names: CalibratedRule(
        calibrate(truth, p, label_names=names), fit_empirical(truth, p, label_names=names)
    ),
    "platt": lambda truth, p, names: CalibratedRule(calibrate(truth, p, "platt", label_names=names), InstanceRule()),
}


@cache
def pair(name: str) -> tuple[Rule, Rule]:
    """The same rule with its labels in two orders."""
    fit = FITS[name]
    return fit(TRUTH, P, NAMES), fit(TRUTH[:, ORDER], P[:, ORDER], OTHER)


each_rule = pytest.mark.parametrize("name", FITS)


def rows(table: np.ndarray) -> dict[str, tuple[Any, ...]]:
    """Rows by the name of their label."""
    return {row[0]: tuple(map(str, row[1:])) for row in table.tolist()}


@each_rule
def test_predict(name: str) -> None:
    expected = pair(name)[0].predict(P)
    for rule in pair(name):
        for frame in (FRAMES[1], FRAMES[1][OTHER]):
            decided = rule.predict(frame)
            assert list(decided.columns) == list(frame.columns)
            np.testing.assert_array_equal(decided[NAMES], expected)


@each_rule
def test_diagnose_and_repair(name: str) -> None:
    found = [diagnose(*FRAMES, rule) for rule in pair(name)]
    assert rows(found[0].table) == rows(found[1].table)
    if not isinstance(pair(name)[0], ThresholdRule):
        return
    low = [rule.replace(dict.fromkeys(NAMES, -1.0)) for rule in pair(name)]
    diagnosis = diagnose(TRUTH[::-1], P, low[0], min_auroc=0.95, overprediction=1.2)
    mended = [diagnosis.repair(rule, "cap") for rule in low]
    assert mended[0].changes.size
    assert mended[0].changes.tolist() == mended[1].changes.tolist()
    for each, names in zip(mended, (NAMES, OTHER), strict=True):
        assert each.rule.label_names == tuple(names)
        cuts = {label: each.rule.thresholds[each.rule.index_of(label)] for label in NAMES}
        assert cuts == dict(zip(NAMES, mended[0].rule.thresholds, strict=True))


@pytest.mark.parametrize("weights", [None, np.linspace(0.5, 2, len(P))])
@pytest.mark.parametrize("form", ["frames", "arrays", "sparse"])
def test_compare(form: str, weights: np.ndarray | None) -> None:
    first, second = ({name: pair(name)[k] for name in FITS} for k in (0, 1))
    if form == "sparse":
        del first["top k"], second["top k"]  # Of the equal scores that are left out it takes those of its first labels.
        # A rule that predicts what is left out of some columns.
        first["low"] = ThresholdRule([-0.5, 0.5, 0.5, 0.0], label_names=NAMES)
        second["low"] = ThresholdRule([0.5, -0.5, 0.0, 0.5], label_names=OTHER)
    data = {
        "frames": FRAMES,
        "arrays": (TRUTH, P),
        "sparse": (sparse.csr_array(TRUTH), sparse.csr_array(np.where(P > 0.3, P, 0))),
    }[form]
    # The first rule says what the columns of arrays are, and in which order labels are named.
    named = {"first": FixedRule(0.5, 4, label_names=NAMES)}
    expected = compare(named | first, *data, sample_weight=weights)
    mixed = {name: (first, second)[k % 2][name] for k, name in enumerate(first)}
    for rules in (second, mixed):
        found = compare(named | rules, *data, sample_weight=weights)
        assert figures(found) == pytest.approx(figures(expected), rel=1e-12, nan_ok=True)
        assert str(found) == str(expected)


def figures(comparison: Comparison) -> dict[str, float]:
    """All numbers of a comparison; the two of probabilities are sums over all cells, in the order of the calibrator."""
    measures = {f"{row.rule}: {name}": getattr(row, name) for row in comparison.measures for name in NUMBERS}
    for row in comparison.measures:
        for name, interval in row.intervals.items():
            measures |= {f"{row.rule}: {name}, lower": interval.lower, f"{row.rule}: {name}, upper": interval.upper}
    return measures | {"backwards": comparison.labels_backwards, "gold": comparison.gold_per_row}


@pytest.mark.parametrize("name", ["fixed", "macro", "guarded", "expected"])
def test_diff_rules(name: str) -> None:
    one, other = pair(name)
    new = FixedRule(0.3, 4, label_names=NAMES)
    expected = diff_rules(one, new, P)
    for scores in (P, FRAMES[1], FRAMES[1][OTHER]):
        assert rows(diff_rules(one, new, scores).table).keys() == set(NAMES)
        found = diff_rules(other, new, scores)
        assert found.rows_changed == expected.rows_changed
        for column in ("name", "old_threshold", "predicted_before", "predicted_after", "rows_changed"):
            assert found.table[column].tolist() == expected.table[column].tolist()
    assert not diff_rules(one, other, FRAMES[1]).largest.size


@pytest.mark.parametrize("name", [name for name in FITS if name not in ("isotonic", "platt")])
def test_diagnose_without_labels(name: str) -> None:
    found = [diagnose(None, FRAMES[1], rule) for rule in pair(name)]
    assert rows(found[0].table) == rows(found[1].table)


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
def test_accumulators_that_are_merged(form: Callable[[np.ndarray], Any]) -> None:
    rows, other, whole = Accumulator(label_names=NAMES), Accumulator(label_names=OTHER), Accumulator(label_names=NAMES)
    rows.update(form(TRUTH[:100]), form(P[:100]))
    other.update(form(TRUTH[100:, ORDER]), form(P[100:, ORDER]))
    whole.update(form(TRUTH), form(P))
    rows.merge(other)
    assert same(rows.compute(), whole.compute())
    last = Accumulator(label_names=OTHERS)
    last.update(form(TRUTH), form(P))
    with pytest.raises(InputError, match="label_names lacks 'fox' and has 'owl', expected those of the rows before"):
        rows.merge(last)


def test_cross_fit() -> None:
    found = [cross_fit(FRAMES[0], frame, cv=days_of(3)) for frame in (FRAMES[1], FRAMES[1][OTHER])]
    assert found[0].out_of_fold == found[1].out_of_fold
    assert rows(found[0].spread) == rows(found[1].spread)


def days_of(n: int) -> np.ndarray:
    """The fold of each row."""
    return np.arange(len(P)) % n


@each_rule
def test_the_command_line(name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    said = []
    np.savez(tmp_path / "s.npz", y_true=TRUTH, y_score=P, label_names=NAMES)
    for k, rule in enumerate(pair(name)):
        path = tmp_path / "rule.json"
        rule.save(path)
        assert main(["predict", str(path), str(tmp_path / "s.npz"), "-o", str(tmp_path / f"{k}.npz")]) == 0
        capsys.readouterr()
        assert main(["diagnose", str(tmp_path / "s.npz"), "--rule", str(path)]) == 0
        said.append(sorted(capsys.readouterr().out.splitlines()))
    assert said[0] == said[1]
    one, other = (np.load(tmp_path / f"{k}.npz") for k in (0, 1))
    assert one["label_names"].tolist() == NAMES
    decided = decisions(other)[:, [other["label_names"].tolist().index(label) for label in NAMES]]
    np.testing.assert_array_equal(decisions(one), decided)
    np.testing.assert_array_equal(decisions(one), pair(name)[0].predict(P))


def decisions(file: Any) -> np.ndarray:
    """What `predict` wrote."""
    return sparse.csr_array(
        (file["y_pred_data"], file["y_pred_indices"], file["y_pred_indptr"]), shape=file["y_pred_shape"]
    ).toarray()


@pytest.mark.parametrize("part", ["macro", "guarded", "expected", "instance", "fixed"])
def test_the_parts_of_a_calibrated_rule(part: str) -> None:
    calibrator = calibrate(TRUTH, P, label_names=NAMES)
    one, other = (CalibratedRule(calibrator, rule) for rule in pair(part))
    np.testing.assert_array_equal(one.predict(P), other.predict(P))
    assert one.label_names == other.label_names == other.rule.label_names == tuple(NAMES)
    if part in ("macro", "expected"):
        assert same(other.rule, one.rule)


OTHERS = ["cat", "dog", "emu", "owl"]
WRONG = ThresholdRule([0.5] * 4, label_names=OTHERS)
REFUSALS: dict[str, Callable[[], object]] = {
    "y_score lacks the column 'owl' and has the column 'fox', expected": lambda: WRONG.predict(FRAMES[1]),
    "y_true lacks the column 'owl' and has the column 'fox', expected": lambda: diagnose(FRAMES[0], P, WRONG),
    "rule lacks the label 'fox' and has the label 'owl', expected those that were diagnosed": lambda: diagnose(
        *FRAMES, pair("macro")[0]
    ).repair(WRONG),
    "rule 'b' lacks the label 'fox' and has the label 'owl', expected those of rule 'a'": lambda: compare(
        {"a": pair("macro")[0], "b": WRONG}, TRUTH, P
    ),
    "rule lacks the label 'fox' and has the label 'owl', expected those of the calibrator": lambda: CalibratedRule(
        calibrate(TRUTH, P, label_names=NAMES), WRONG
    ),
}


@pytest.mark.parametrize("message", REFUSALS)
def test_other_labels_are_refused(message: str) -> None:
    with pytest.raises(InputError, match=message):
        REFUSALS[message]()


def test_every_kind_of_rule_is_here() -> None:
    kinds = {type(rule) for name in FITS for rule in pair(name)}
    assert kinds >= {ThresholdRule, TopKRule, RegionRule, InstanceRule, CalibratedRule}
    assert all(isinstance(rule, Rule) for name in FITS for rule in pair(name))
    assert thresholds.CalibratedRule is CalibratedRule
