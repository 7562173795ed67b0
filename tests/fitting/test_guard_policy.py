"""One policy of guards: whoever says what to maximise has the same one, whatever is called (docs/guards.md)."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.multiclass import OneVsRestClassifier

import thresholds
from thresholds import InputError, Shrink
from thresholds.cli import main
from thresholds.fitting.options import FitOptions
from thresholds.fitting.rules import bare_average, find_rule
from thresholds.guards.names import GUARDS, USUAL_GUARD, class_of, guard_of
from thresholds.sklearn import MultilabelThresholdClassifierCV
from thresholds.training.epoch import EpochFit

rng = np.random.default_rng(0)
TRUTH = (rng.random((120, 3)) < [0.4, 0.3, 0.2]).astype(int)
SCORES = 1 / (1 + np.exp(-rng.normal(size=TRUTH.shape) - 2 * TRUTH + 1))

Fitted = Callable[..., Any]  # a rule, of the options of a fit


def gathered(**options: Any) -> thresholds.Accumulator:
    rows = thresholds.Accumulator()
    rows.update(TRUTH, SCORES)
    return rows


def on_the_command_line(folder: Path, *how: str, **options: Any) -> Any:
    """The rule that the command `fit` saves."""
    np.savez(folder / "s.npz", y_true=TRUTH, y_score=SCORES)
    words = [*how]
    for name, value in options.items():
        if value is False:
            words += ["--shared"]
        else:
            words += [f"--{name.replace('_', '-')}", "none" if value is None else str(value)]
    assert main(["fit", str(folder / "s.npz"), "-o", str(folder / "rule.json"), *words]) == 0
    return thresholds.load_rule(folder / "rule.json")


def in_classifier(**options: Any) -> Any:
    model = OneVsRestClassifier(LogisticRegression())
    return MultilabelThresholdClassifierCV(model, cv=3, **options).fit(SCORES, TRUTH).rule_


def over_all_rows(tasks: Any, blocks: Any) -> Any:
    return [tasks(block) for block in blocks]


BY_AVERAGE: dict[str, Fitted] = {
    "cross_fit": lambda **options: thresholds.cross_fit(TRUTH, SCORES, cv=2, **options).rule,
    "Accumulator": lambda **options: gathered().compute(**options),
    "fit_chunks": lambda **options: thresholds.fit_chunks((TRUTH, SCORES), **options),
    "EpochFit": lambda **options: EpochFit(cv=2, **options).fit(gathered())[0],
    "the estimator": in_classifier,
}
OF_COUNTS: dict[str, Fitted] = {
    "Counts.fit": lambda **options: thresholds.Counts.of(TRUTH, SCORES).fit(**options),
    "fit_chunks with map": lambda **options: thresholds.fit_chunks((TRUTH, SCORES), map=over_all_rows, **options),
}
BY_NAME: dict[str, Fitted] = {
    "fit": lambda **options: thresholds.fit(TRUTH, SCORES, **options),
    **{name: fitted for name, fitted in BY_AVERAGE.items() if name != "fit_chunks"},
}

# What is asked, and the guard that the rule carries.
AVERAGES: list[tuple[dict[str, Any], str | None]] = [
    ({"average": "macro"}, "shrink"),
    ({"average": "weighted"}, "shrink"),
    ({"average": "micro"}, "pool"),
    ({"average": "macro", "guard": "auto"}, "shrink"),
    ({"average": "macro", "guard": None}, None),
    ({"average": "micro", "guard": None}, None),
]
OF_ROWS: list[tuple[dict[str, Any], str | None]] = [
    ({"average": "macro", "per_label": False}, None),
    ({"average": "samples", "per_label": False}, None),
    ({"average": "micro", "max_predicted": 50}, None),
    ({"average": "micro", "min_recall": 0.5, "confidence": 0.8}, "confidence=0.8"),
]
RULES: list[tuple[dict[str, Any], str, str | None]] = [
    ({"rule": "macro"}, "macro, shrink", "shrink"),
    ({"rule": " Weighted"}, "weighted, shrink", "shrink"),
    ({"rule": "micro"}, "micro, pool", "pool"),
    ({"rule": "macro", "guard": None}, "macro, in-sample", None),
    ({"rule": "micro", "guard": None}, "micro, in-sample", None),
    ({"rule": "macro, in-sample"}, "macro, in-sample", None),
    ({"rule": "weighted,In-Sample"}, "weighted, in-sample", None),
    ({"rule": "micro, in-sample", "guard": None}, "micro, in-sample", None),
    ({"rule": "macro, shared"}, "macro, shared", None),
    ({"rule": "macro", "max_predicted": 50}, "macro, in-sample", None),
    ({"rule": "micro", "min_recall": 0.5, "confidence": 0.8}, "micro, in-sample", "confidence=0.8"),
]


def name_of_guard(rule: Any) -> str | None:
    """The guard that a rule carries, and a promise that is made of it; a floor is a limit beside them."""
    parts = [] if rule.guard is None else rule.guard.split(", ")
    return ", ".join(part for part in parts if not part.startswith("min_recall")) or None


@pytest.mark.parametrize(("asked", "guard"), [*AVERAGES, *OF_ROWS], ids=str)
@pytest.mark.parametrize("call", BY_AVERAGE)
def test_what_is_maximised_says_the_guard(call: str, asked: dict[str, Any], guard: str | None) -> None:
    assert name_of_guard(BY_AVERAGE[call](**asked)) == guard


@pytest.mark.parametrize(("asked", "guard"), AVERAGES, ids=str)
@pytest.mark.parametrize("call", OF_COUNTS)
def test_so_it_does_of_counts(call: str, asked: dict[str, Any], guard: str | None) -> None:
    assert name_of_guard(OF_COUNTS[call](**asked)) == guard


@pytest.mark.parametrize(("asked", "name", "guard"), RULES, ids=str)
@pytest.mark.parametrize("call", BY_NAME)
def test_so_does_the_name_of_a_rule(call: str, asked: dict[str, Any], name: str, guard: str | None) -> None:
    rule = BY_NAME[call](**asked)
    assert (rule.made_by.options["rule"], name_of_guard(rule)) == (name, guard)


@pytest.mark.parametrize(("asked", "guard"), [*AVERAGES, *OF_ROWS[:3]], ids=str)
@pytest.mark.parametrize("cv", ["0", "2"])
def test_so_does_the_command_line(cv: str, asked: dict[str, Any], guard: str | None, tmp_path: Path) -> None:
    assert name_of_guard(on_the_command_line(tmp_path, "--cv", cv, **asked)) == guard


@pytest.mark.parametrize(("asked", "name", "guard"), RULES, ids=str)
def test_so_does_a_name_on_the_command_line(
    asked: dict[str, Any], name: str, guard: str | None, tmp_path: Path
) -> None:
    rule = on_the_command_line(tmp_path, "--cv", "0", **asked)
    assert (rule.made_by.options["rule"], name_of_guard(rule)) == (name, guard)


def test_the_optimum_of_the_rows_is_what_fit_empirical_is_called_after() -> None:
    for average in ("macro", "weighted", "micro"):
        assert thresholds.fit_empirical(TRUTH, SCORES, average).guard is None
        guarded = thresholds.fit_empirical(TRUTH, SCORES, average, guard="auto")
        assert guarded.guard == USUAL_GUARD[average]
    said = " ".join((thresholds.fit_empirical.__doc__ or "").split("Parameters")[0].split())
    assert "the in-sample optimum, unless a guard is given" in said


def test_a_fit_that_is_told_nothing_is_guarded() -> None:
    for rule in (
        thresholds.fit(TRUTH, SCORES),
        thresholds.cross_fit(TRUTH, SCORES, cv=2).rule,
        gathered().compute(),
        thresholds.fit_chunks((TRUTH, SCORES)),
    ):
        assert rule.guard == "shrink"
    assert thresholds.fit(TRUTH, SCORES, guard=None).guard is None
    assert thresholds.fit(TRUTH, SCORES, "macro", guard=Shrink(siblings=False)).guard == "shrink (siblings=False)"


def test_one_place_says_which_guard_it_is() -> None:
    for average, guard in USUAL_GUARD.items():
        assert guard_of(average) == guard
        assert FitOptions(average=average).chosen_guard.name == guard  # type: ignore[arg-type, union-attr]
        assert find_rule(average).guard == guard
        assert average in class_of(guard).averages, "it is for that average"
    assert set(USUAL_GUARD.values()) == set(GUARDS)
    assert guard_of("samples") is None
    assert guard_of("macro", max_predicted=3) is guard_of("macro", per_label=False) is None
    assert guard_of("micro", confidence=0.9) is None
    assert guard_of("macro", confidence=0.9) == "shrink", "its floors are those of each label"
    assert bare_average("macro, in-sample") is bare_average("samples") is bare_average(3) is None


def test_a_comparison_shows_the_whole_name() -> None:
    found = thresholds.compare(["macro", "micro, in-sample", "MICRO"], TRUTH, SCORES)
    assert [row.rule for row in found.measures] == ["macro, shrink", "micro, in-sample", "micro, pool"]
    with pytest.raises(InputError, match=r"^rules has 'macro, shrink' twice.* it is 'macro, in-sample'$"):
        thresholds.compare(["macro, shrink", "macro"], TRUTH, SCORES)


@pytest.mark.parametrize("average", USUAL_GUARD)
def test_a_name_in_a_file_of_an_earlier_version_had_no_guard(average: str, tmp_path: Path) -> None:
    """There a bare average was the in-sample optimum; no fit saves one now."""
    rule = thresholds.fit(TRUTH, SCORES, f"{average}, in-sample", label_names=["cat", "dog", "owl"])
    file = json.loads(json.dumps(rule.to_dict()))
    file["made_by"]["options"]["rule"] = average
    (tmp_path / "old.json").write_text(json.dumps(file))
    old = thresholds.load_rule(tmp_path / "old.json")
    assert old.made_by == rule.made_by
    name = str(old.made_by.options["rule"])
    again = thresholds.fit(TRUTH, SCORES, name, label_names=["cat", "dog", "owl"])
    assert again.guard is None
    np.testing.assert_array_equal(again.thresholds, old.thresholds)  # type: ignore[attr-defined]
    others = np.random.default_rng(1).permutation(TRUTH), np.random.default_rng(1).random(SCORES.shape)
    updated = thresholds.update_rule(old, *others, cv=2, label_names=["cat", "dog", "owl"]).rule
    assert updated.guard in (None, "kept thresholds")
