"""Aligned text and HTML, and what every result can do."""

import copy
import dataclasses
import importlib
import json
import pickle
import pkgutil
from collections.abc import Callable, Iterator
from functools import cache
from typing import Any

import numpy as np
import pytest

import thresholds
from thresholds.results import Result, as_html, as_plain_values, as_text

HEAD, BODY = [("rule", "F1"), ("", "of all")], [("micro", "0.5000"), ("a\nname", "1")]


def test_text_is_aligned_and_has_one_line_a_row() -> None:
    assert as_text(HEAD, BODY).splitlines() == [
        "rule        F1",
        "        of all",
        "------  ------",
        "micro   0.5000",
        "a name       1",
    ]


def test_columns_may_be_aligned_to_the_left() -> None:
    assert as_text([("rule", "F1")], [("a", "b")], left=(0, 1)).splitlines() == ["rule  F1", "----  --", "a     b"]


def test_html_keeps_head_and_body_apart_and_escapes() -> None:
    page = as_html(HEAD, [("<b>", "&")])
    assert page == (
        "<table><thead><tr><th>rule</th><th>F1</th></tr><tr><th></th><th>of all</th></tr></thead>"
        "<tbody><tr><td>&lt;b&gt;</td><td>&amp;</td></tr></tbody></table>"
    )
    assert as_html([("word", "n")], [("a", "1")], left=(0,)) == (
        '<table><thead><tr><th style="text-align: left">word</th><th>n</th></tr></thead>'
        '<tbody><tr><td style="text-align: left">a</td><td>1</td></tr></tbody></table>'
    )


def test_terminals_are_told_nothing_by_names() -> None:
    assert "\x1b" not in as_text([("label",)], [("\x1b[31mred",)])
    assert "\x1b" not in as_html([("label",)], [("\x1b[31mred",)])


# All result classes

N_LABELS = 40
NAMES = tuple(f"<b>label {j} {'of a long name' * 9}" for j in range(N_LABELS))


@cache
def _data() -> tuple[Any, Any]:
    """Truth and scores that know nothing of every third label, and rank the last backwards."""
    rng = np.random.default_rng(0)
    y_true = rng.random((300, N_LABELS)) < 0.1
    y_true[:, 1] = False
    known = np.where(np.arange(N_LABELS) % 3 == 0, 0.0, 2.0)
    known[-1] = -3.0
    return y_true, 1 / (1 + np.exp(2 - rng.normal(size=y_true.shape) - known * y_true))


def _other_rows() -> tuple[Any, Any]:
    """Most of them: rows that are not those of a fit of all."""
    y_true, y_score = _data()
    return y_true[1:], y_score[1:]


@cache
def _rule(guard: str | None = None) -> thresholds.ThresholdRule:
    return thresholds.fit_empirical(*_data(), guard=guard, label_names=NAMES)


def _diagnosis() -> Any:
    never_right = thresholds.ThresholdRule(np.zeros(N_LABELS), label_names=NAMES)
    return thresholds.diagnose(*_data(), never_right)


def _comparison() -> Any:
    rules = {"fixed": thresholds.FixedRule(0.5, N_LABELS), "fitted": _rule(), "instance": thresholds.InstanceRule()}
    return thresholds.compare(rules, *_data())


def _difference() -> Any:
    changed = _rule().replace({NAMES[0]: np.inf, NAMES[1]: -np.inf, NAMES[2]: 0.5})
    return thresholds.diff_rules(_rule(), changed, _data()[1])


def _report() -> Any:
    never_right = thresholds.ThresholdRule(np.zeros(N_LABELS), label_names=NAMES)
    return thresholds.make_report(*_data(), never_right)


def _averages() -> Any:
    return thresholds.metrics.averages_report(
        _data()[0], _rule().predict(_data()[1]), label_names=NAMES, zero_division=np.nan
    )


MAKERS: dict[str, Callable[[], Any]] = {
    "Agreement": lambda: _comparison().agreement,
    "AveragesReport": _averages,
    "BatchEffect": lambda: thresholds.batch_effect(_data()[1][:5], 0, label_names=NAMES),
    "CalibrationMeasures": lambda: thresholds.measure_calibration(*_data()),
    "Comparison": _comparison,
    "CrossFit": lambda: thresholds.cross_fit(*_data(), cv=2, random_state=0, label_names=NAMES),
    "Diagnosis": _diagnosis,
    "ExpectedDiagnosis": lambda: thresholds.diagnose_expected(_data()[1], _rule()),
    "GuardReport": lambda: _rule("shrink").guard_report,
    "MostPredicted": lambda: _diagnosis().most_predicted(N_LABELS),
    "OutOfFold": lambda: thresholds.cross_fit(*_data(), cv=2, random_state=0).rule.out_of_fold,
    "Repair": lambda: _diagnosis().repair(_rule().replace(dict.fromkeys(NAMES, 0.0)), "cap"),
    "Report": _report,
    "RuleDifference": _difference,
    "RuleUpdate": lambda: thresholds.update_rule(_rule("shrink").replace({NAMES[0]: -np.inf}), *_other_rows(), cv=2),
    "RuleSelection": lambda: thresholds.select_rule(*_data(), rules=("macro", "top-k", "instance, platt"), cv=2),
    "ThresholdBootstrap": lambda: thresholds.bootstrap_thresholds(*_data(), n_bootstraps=9, label_names=NAMES),
    "Verdicts": lambda: _diagnosis().verdicts,
    "ScoreCheck": lambda: _rule().check(3 * _data()[1]),
}
OF_LABELS = (
    "Agreement",
    "AveragesReport",
    "CrossFit",
    "GuardReport",
    "MostPredicted",
    "Repair",
    "RuleDifference",
    "ScoreCheck",
    "ThresholdBootstrap",
    "Verdicts",
)
FRAME_ROWS = {
    "AveragesReport": N_LABELS + 6,
    "BatchEffect": 3 * N_LABELS,
    "CalibrationMeasures": 1,
    "Comparison": 3,
    "OutOfFold": 1,
    "RuleSelection": 3,
}  # of others, one for each label


@cache
def result_of(name: str) -> Any:
    """Return a result of a class."""
    return MAKERS[name]()


def _subclasses(kind: type) -> Iterator[type]:
    for child in kind.__subclasses__():
        yield child
        yield from _subclasses(child)


def test_all_result_classes_are_tested() -> None:
    of_others = {"sklearn", "training", "torch", "torch_modules", "__main__"}  # modules that import other libraries
    for module in pkgutil.walk_packages(thresholds.__path__, "thresholds."):
        if not of_others & set(module.name.split(".")):
            importlib.import_module(module.name)
    classes = {kind.__name__ for kind in _subclasses(Result) if kind.__module__.startswith("thresholds.")}
    assert classes == MAKERS.keys()


@pytest.mark.parametrize("name", MAKERS)
def test_a_result_is_shown(name: str) -> None:
    result = result_of(name)
    assert str(result) == result.to_text() != ""
    assert str(result) != repr(result)
    assert "\x1b" not in str(result)
    page = result._repr_html_()
    assert page.startswith(("<p>", "<table>"))
    assert "<b>" not in page
    assert page.count("<table>") == str(result).count("\n--") + str(result).startswith("--")


@pytest.mark.parametrize("name", MAKERS)
def test_a_result_says_in_brief_what_it_is(name: str) -> None:
    text = repr(result_of(name))
    assert text.startswith(f"{name}(")
    assert len(text) < 500
    assert "\n" not in text
    assert "array(" not in text


@pytest.mark.parametrize("name", MAKERS)
def test_a_text_has_at_most_k_rows_of_labels(name: str) -> None:
    result = result_of(name)
    shown = [sum("<b>label " in line for line in result.to_text(k).splitlines()) for k in (0, 1, 2, 1000)]
    assert shown == sorted(shown)
    tables = {"Diagnosis": 2, **dict.fromkeys(OF_LABELS, 1)}
    if name in tables:
        assert [count - shown[0] for count in shown[:3]] == [0, tables[name], 2 * tables[name]]
        assert shown[3] > 2
    with pytest.raises(thresholds.InputError, match=r"^k is -1, expected a whole number"):
        result.to_text(-1)


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("Agreement", "... 38 more"),
        ("AveragesReport", "... 38 more"),
        ("BatchEffect", "of 40 decisions"),
        ("Comparison", "... 1 more"),
        ("CrossFit", "... 38 more"),
        ("Diagnosis", "most predicted"),
        ("MostPredicted", "... 38 more"),
        ("Repair", "the 2 largest changes"),
        ("RuleDifference", "the 2 largest of 3 changes"),
        ("ThresholdBootstrap", "... 38 more"),
        ("Verdicts", "... 38 more"),
        ("ScoreCheck", "... 38 more"),
    ],
)
def test_a_text_says_how_many_rows_are_left_out(name: str, words: str) -> None:
    assert words in result_of(name).to_text(2)


@pytest.mark.parametrize("name", MAKERS)
def test_a_result_gives_plain_values(name: str) -> None:
    values = result_of(name).to_dict()
    assert json.loads(json.dumps(values, allow_nan=False)) == values


@pytest.mark.parametrize("name", MAKERS)
def test_a_result_gives_a_frame(name: str) -> None:
    pytest.importorskip("pandas")
    result = result_of(name)
    frame = result.to_frame()
    n_rows = {"GuardReport": N_LABELS, "Repair": len(getattr(result, "changes", ()))} | FRAME_ROWS
    assert len(frame) == n_rows.get(name, N_LABELS)
    assert len(set(frame.columns)) == len(frame.columns) > 1


@pytest.mark.parametrize("name", MAKERS)
def test_the_arrays_of_a_result_are_read_only(name: str) -> None:
    result = result_of(name)
    for same in (result, copy.copy(result), pickle.loads(pickle.dumps(result))):
        names = [item.name for item in dataclasses.fields(same)] if dataclasses.is_dataclass(same) else ["changes"]
        for value in (getattr(same, item) for item in names):
            assert not isinstance(value, np.ndarray) or name == "Repair" or not value.flags.writeable


def test_numbers_that_json_lacks_are_none_or_words() -> None:
    values = {
        "a": np.nan,
        "b": (np.inf, np.float32(-np.inf)),
        "c": np.array([1, 2]),
        "d": np.array([(1.5,)], [("f1", float)]),
    }
    assert as_plain_values(values) == {"a": None, "b": ["inf", "-inf"], "c": [1, 2], "d": [{"f1": 1.5}]}
