"""Aligned text and HTML, and what every result can do."""

import copy
import dataclasses
import importlib
import inspect
import json
import pickle
import pkgutil
import re
import warnings
from collections.abc import Callable, Iterator
from functools import cache
from typing import Any

import numpy as np
import pytest

import thresholds
from tests.words import flat
from thresholds._results.markup import html_table, latex_of, latex_table, markdown_table
from thresholds._results.plain import plain
from thresholds._results.result import Result
from thresholds._results.tables import Table
from thresholds._results.text import WIDTH, aligned, columns_of, shortened, wrapped
from thresholds.calibration.base_rates import BaseRates
from thresholds.calibration.calibrator import Calibrator
from thresholds.files import LabelledFile
from thresholds.files.score_file import ScoreFile
from thresholds.rule.watching.check import ScoreCheck
from thresholds.rule.watching.profile import ScoreProfile
from thresholds.validation.cross_fit import CrossFit
from thresholds.warming import WarmUp

HEAD, BODY = [("rule", "F1"), ("", "of all")], [("micro", "0.5000"), ("a\nname", "1")]


def test_text_is_aligned_and_has_one_line_a_row() -> None:
    assert aligned(HEAD, BODY).splitlines() == [
        "rule        F1",
        "        of all",
        "------  ------",
        "micro   0.5000",
        "a name       1",
    ]


def test_columns_may_be_aligned_to_the_left() -> None:
    assert aligned([("rule", "F1")], [("a", "b")], left=(0, 1)).splitlines() == ["rule  F1", "----  --", "a     b"]


def test_html_keeps_head_and_body_apart_and_escapes() -> None:
    page = html_table(Table(HEAD, [("<b>", "&")], left=()))
    assert page == (
        "<table><thead><tr><th>rule</th><th>F1</th></tr><tr><th></th><th>of all</th></tr></thead>"
        "<tbody><tr><td>&lt;b&gt;</td><td>&amp;</td></tr></tbody></table>"
    )
    assert html_table(Table([("word", "n")], [("a", "1")])) == (
        '<table><thead><tr><th style="text-align: left">word</th><th>n</th></tr></thead>'
        '<tbody><tr><td style="text-align: left">a</td><td>1</td></tr></tbody></table>'
    )


def test_terminals_are_told_nothing_by_names() -> None:
    assert "\x1b" not in aligned([("label",)], [("\x1b[31mred",)])
    assert "\x1b" not in html_table(Table([("label",)], [("\x1b[31mred",)]))


# A screen is narrow

LONG = " ".join(["word"] * 40)


def test_names_are_shortened_and_sentences_broken() -> None:
    """Numbers never are: names and sentences give way to them."""
    lines = aligned([("name", "n", "why")], [("N" * 70 + "end", "1234567", LONG)], left=(0, 2)).splitlines()
    assert max(map(len, lines)) == WIDTH
    assert lines[2].startswith(f"{'N' * 38}...{'N' * 16}end  1234567  word word word")
    assert set(lines[3][:71]) == {" "}
    assert lines[3][71:].startswith("word word")
    assert " ".join(" ".join(lines[2:]).split()).count("word") == 40


def test_a_word_that_is_wider_than_its_column_is_broken() -> None:
    lines = aligned([("name", "why")], [("a", "x" * 250)], left=(0, 1)).splitlines()
    assert {len(line) for line in lines[2:-1]} == {WIDTH}
    assert "".join(lines[2:]).count("x") == 250


def test_wide_characters_take_two_columns_and_combining_ones_none() -> None:
    lines = aligned([("name", "n")], [("胸部X線", "1"), ("e\u0301", "1"), ("abc", "1")]).splitlines()
    assert {columns_of(line) for line in lines} == {columns_of("胸部X線") + 3}
    assert columns_of(shortened("胸" * 500)) <= 60
    assert len(shortened("e" + 500 * "\u0301")) <= 60


def test_lines_are_broken_at_spaces_and_what_follows_is_indented() -> None:
    lines = wrapped(f"short\n  {LONG}").splitlines()
    assert lines[0] == "short"
    assert all(line.startswith("  word") and len(line) <= WIDTH for line in lines[1:])
    assert len(lines) == 4
    assert " ".join(wrapped(LONG).split()) == LONG


def test_a_path_stays_whole() -> None:
    path = "/folder" * 30
    assert wrapped(f"saved as {path} today").splitlines() == [f"saved as {path}".split(" /")[0], f"  {path}", "  today"]


# All that is shown

N_LABELS = 40
MANY = 30_000
# Names as nobody wants them: markup, control characters, wide and combining ones, and all of them long.
_ODD = ("of a long name" * 9, "\x1b[31m\r\n" * 60, "胸部X線" * 100, "e" + "\u0301" * 490, "&'\"" * 160)
NAMES = tuple(f"<b>label {j} {_ODD[j % len(_ODD)]}" for j in range(N_LABELS))

SCREEN = 50  # lines
MOST_COLUMNS = 120
MOST_BYTES = 20_000


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


@cache
def _cross_fit() -> CrossFit:
    return thresholds.cross_fit(*_data(), cv=2, random_state=0, label_names=NAMES, alternatives=True)


@cache
def _calibrator() -> Calibrator:
    return thresholds.calibrate(*_data(), "platt", label_names=NAMES)


def _base_rates() -> BaseRates:
    """Of fewer positives, and of scores that mean something else."""
    _, y_score = _data()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", thresholds.ScoreChangeWarning)
        return thresholds.estimate_base_rates(
            _calibrator(), np.where(np.arange(N_LABELS) < 3, y_score**2, y_score)[::2]
        )


@cache
def _check() -> ScoreCheck:
    return _rule().check(3 * _data()[1])


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


def _counts() -> Any:
    return thresholds.metrics.confusion_counts(_data()[0], _rule().predict(_data()[1]))


RESULTS: dict[str, Callable[[], Any]] = {
    "Agreement": lambda: _comparison().agreement,
    "AnnotationPlan": lambda: thresholds.plan_annotation(*_data(), label_names=NAMES),
    "AveragesReport": _averages,
    "RowGuarantees": lambda: (
        thresholds.fit_empirical(*_data(), "micro", label_names=NAMES, min_precision=0.99, confidence=0.99).guarantees
    ),
    "Guarantees": lambda: (
        thresholds.fit_empirical(*_data(), min_precision=0.999, confidence=0.95, label_names=NAMES).guarantees
    ),
    "Budget": lambda: thresholds.fit_empirical(*_data(), max_predicted=50).budget,
    "CalibrationMeasures": lambda: thresholds.measure_calibration(*_data()),
    "Comparison": _comparison,
    "CrossFit": _cross_fit,
    "Diagnosis": _diagnosis,
    "ExpectedDiagnosis": lambda: thresholds.diagnose(None, _data()[1], _rule()),
    "GuardReport": lambda: _rule("shrink").guard_report,
    "MostPredicted": lambda: _diagnosis().most_predicted(N_LABELS),
    "OutOfFold": lambda: _cross_fit().rule.out_of_fold,
    "Repair": lambda: _diagnosis().repair(_rule().replace(dict.fromkeys(NAMES, 0.0)), "cap"),
    "Report": _report,
    "RuleDifference": _difference,
    "RuleUpdate": lambda: thresholds.update_rule(_rule("shrink").replace({NAMES[0]: -np.inf}), *_other_rows(), cv=2),
    "RuleSelection": lambda: thresholds.select_rule(*_data(), rules=("macro", "top-k", "instance, platt"), cv=2),
    "ThresholdBootstrap": lambda: thresholds.bootstrap_thresholds(*_data(), n_bootstraps=9, label_names=NAMES),
    "Verdicts": lambda: _diagnosis().verdicts,
    "ScoreCheck": _check,
}
RULES: dict[str, Callable[[], Any]] = {
    "CalibratedRule": lambda: thresholds.CalibratedRule(_calibrator(), thresholds.FixedRule(0.5, N_LABELS)),
    "CappedRule": lambda: thresholds.fit_empirical(*_data(), max_predicted_per_row=2, label_names=NAMES),
    "InstanceRule": lambda: thresholds.InstanceRule(label_names=NAMES),
    "RegionRule": lambda: thresholds.RegionRule([np.arange(200.0)] * N_LABELS, label_names=NAMES),
    "ThresholdRule": lambda: _cross_fit().rule,
    "TopKRule": lambda: thresholds.TopKRule(3, label_names=NAMES),
}


def _score_file() -> ScoreFile:
    y_true, y_score = _data()
    notes = ("left out: 'id' (text)",)
    splits = np.arange(0, 300, 2), np.arange(1, 300, 2)
    return ScoreFile("s.npz", "y_score", y_score, y_true, NAMES, *splits, truth_key="y_true", notes=notes)


PARTS: dict[str, Callable[[], Any]] = {  # of rules and results, and what is shown besides
    "Alternative": lambda: _cross_fit().alternatives[0],
    "Calibrator": _calibrator,
    "BaseRates": _base_rates,
    "ConfusionCounts": _counts,
    "Finding": lambda: _check().findings[0],
    "FittedOn": lambda: _rule().fitted_on,
    "GainByScore": lambda: thresholds.fit_empirical(*_data(), max_predicted_per_row=2).gains,
    "LabelCounts": lambda: _cross_fit().rule.out_of_fold.by_label,
    "MadeBy": lambda: dataclasses.replace(_rule("shrink").made_by, file="f" * 300, date="2026-03-31"),
    "NamedRule": lambda: thresholds.RULES["macro, shrink"],
    "OddsByScore": lambda: _cross_fit().rule.odds,
    "LabelledFile": lambda: LabelledFile(
        **{f.name: getattr(_score_file(), f.name) for f in dataclasses.fields(LabelledFile)}
    ),
    "ScoreFile": _score_file,
    "ScoreProfile": lambda: _rule().profile,
    "WarmUp": lambda: WarmUp(3, 2000, 4.0, None),
}
MAKERS = RESULTS | RULES | PARTS
OF_LABELS = (
    "Agreement",
    "AveragesReport",
    "CalibratedRule",
    "CappedRule",
    "ConfusionCounts",
    "CrossFit",
    "Guarantees",
    "GuardReport",
    "MostPredicted",
    "RegionRule",
    "Repair",
    "RuleDifference",
    "ScoreCheck",
    "ThresholdBootstrap",
    "ThresholdRule",
    "Verdicts",
)
ONE_ROW = ("Alternative", "Budget", "CalibrationMeasures", "Finding", "MadeBy", "NamedRule", "OutOfFold", "WarmUp")
FRAME_ROWS = {
    "AveragesReport": N_LABELS + 6,
    "Comparison": 3,
    "RowGuarantees": 1,
    "RuleSelection": 3,
    **dict.fromkeys(ONE_ROW, 1),
}  # of others, one for each label


@cache
def made(name: str) -> Any:
    """Return an object of a class."""
    return MAKERS[name]()


def _of_many(value: Any) -> Any:
    """The same as if there were 30,000 labels: all that has one item a label is repeated, and names are cut."""
    if isinstance(value, np.ndarray):
        if value.dtype.names:
            kinds = [(name, "U20" if kind.kind == "U" else kind) for name, (kind, _) in value.dtype.fields.items()]
            value = value.astype(kinds)
        for axis in range(value.ndim):
            if value.shape[axis] == N_LABELS:
                value = np.repeat(value, MANY // N_LABELS, axis)
        return value
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return value._replace(**{name: _of_many(getattr(value, name)) for name in value._fields})
    if isinstance(value, tuple):
        return value * (MANY // N_LABELS) if len(value) == N_LABELS else tuple(map(_of_many, value))
    if not dataclasses.is_dataclass(value):
        return value
    enlarged = copy.copy(value)
    for item in dataclasses.fields(value):
        object.__setattr__(enlarged, item.name, _of_many(getattr(value, item.name)))
    return enlarged


def _subclasses(kind: type) -> Iterator[type]:
    for child in kind.__subclasses__():
        yield child
        yield from _subclasses(child)


def test_all_that_is_shown_is_tested() -> None:
    of_others = {"sklearn", "training", "torch", "torch_modules", "__main__"}  # modules that import other libraries
    for module in pkgutil.walk_packages(thresholds.__path__, "thresholds."):
        if not of_others & set(module.name.split(".")):
            importlib.import_module(module.name)
    kinds = {kind for kind in _subclasses(Result) if kind.__module__.startswith("thresholds.")}
    assert {kind.__name__ for kind in kinds if not inspect.isabstract(kind)} == MAKERS.keys() | {"SavedResult"}


def test_all_public_classes_are_shown_but_for_those_that_are_given_to_functions() -> None:
    public = [getattr(thresholds, name) for name in thresholds.__all__ if name not in ("sklearn", "training")]
    kinds = {kind for kind in public if isinstance(kind, type) and not issubclass(kind, (Exception, Result))}
    assert {kind.__name__ for kind in kinds} == {"Accumulator", "Counts", "Pool", "Shrink"}


@pytest.mark.parametrize("many", [False, True])
@pytest.mark.parametrize("name", MAKERS)
def test_all_is_a_screen_at_most(name: str, many: bool) -> None:
    """However many labels there are, and whatever they are called."""
    result = _of_many(made(name)) if many else made(name)
    for text in (str(result), result.to_text()):
        lines = text.splitlines()
        assert len(lines) <= SCREEN + (0 if many else 5)  # as long names break more sentences
        # Names and paths without a space are not broken.
        assert max(map(columns_of, lines)) <= (MOST_COLUMNS if name != "MadeBy" else 400)
        assert "\x1b" not in text
    assert len(repr(result)) < 10 * MOST_COLUMNS
    assert repr(result).startswith(f"{name}(")
    assert repr(result).isprintable()
    assert "array(" not in repr(result)
    page = result._repr_html_()
    assert len(page.encode()) <= MOST_BYTES
    assert page.startswith(("<p>", "<table>"))
    assert "<b>" not in page
    assert "<script" not in page
    assert page.count("<table>") == result.to_text().count("\n--") + result.to_text().startswith("--")


@pytest.mark.parametrize("name", MAKERS)
def test_a_result_is_shown(name: str) -> None:
    result = made(name)
    assert str(result) == result.to_text(*([0] if name in RULES else [])) != ""
    assert str(result) != repr(result)


@pytest.mark.parametrize("name", RESULTS)
def test_a_result_says_in_brief_what_it_is(name: str) -> None:
    assert len(repr(made(name))) < 600


@pytest.mark.parametrize("name", MAKERS)
def test_a_text_has_at_most_k_rows_of_labels(name: str) -> None:
    result = made(name)
    of_labels = "^[0-9]+  " if name == "ConfusionCounts" else "<b>l"
    shown = [len(_first_lines(result.to_text(k), of_labels)) for k in (0, 1, 2, 1000)]
    assert shown == sorted(shown)
    tables = {"Diagnosis": 2, **dict.fromkeys(OF_LABELS, 1)}
    if name in tables:
        assert [count - shown[0] for count in shown[:3]] == [0, tables[name], 2 * tables[name]]
        assert shown[3] > 2
    with pytest.raises(thresholds.InputError, match=r"^k is -1, expected a whole number"):
        result.to_text(-1)


def _first_lines(text: str, of_labels: str) -> list[str]:
    """The lines in which a label is named, but for those that go on with a sentence."""
    return [line for line in text.splitlines() if re.search(of_labels, line) and not line.startswith(" ")]


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("Agreement", "... 38 more"),
        ("AveragesReport", "... 38 more"),
        ("Comparison", "... 1 more"),
        ("ConfusionCounts", "... 38 more"),
        ("CrossFit", "... 38 more"),
        ("Diagnosis", "most predicted"),
        ("MostPredicted", "... 38 more"),
        ("Repair", "the 2 largest changes"),
        ("RuleDifference", "the 2 largest of 3 changes"),
        ("ThresholdBootstrap", "... 38 more"),
        ("ThresholdRule", "... 38 more labels"),
        ("Verdicts", "... 38 more"),
        ("ScoreCheck", "... 38 more"),
    ],
)
def test_a_text_says_how_many_rows_are_left_out(name: str, words: str) -> None:
    assert words in made(name).to_text(2)


@pytest.mark.parametrize("name", MAKERS)
def test_a_result_gives_plain_values(name: str) -> None:
    values = made(name).to_dict()
    assert json.loads(json.dumps(values, allow_nan=False)) == values


@pytest.mark.parametrize("name", MAKERS)
def test_a_result_gives_a_frame(name: str) -> None:
    pytest.importorskip("pandas")
    result = made(name)
    frame = result.to_frame()
    n_rows = {"GuardReport": N_LABELS, "Repair": len(getattr(result, "changes", ()))} | FRAME_ROWS
    assert len(frame) == n_rows.get(name, N_LABELS)
    assert len(set(frame.columns)) == len(frame.columns) > (name != "FittedOn")


@pytest.mark.parametrize("name", RESULTS)
def test_the_arrays_of_a_result_are_read_only(name: str) -> None:
    result = made(name)
    for same in (result, copy.copy(result), pickle.loads(pickle.dumps(result))):
        names = [item.name for item in dataclasses.fields(same)] if dataclasses.is_dataclass(same) else ["changes"]
        for value in (getattr(same, item) for item in names):
            assert not isinstance(value, np.ndarray) or name == "Repair" or not value.flags.writeable


@pytest.mark.parametrize(
    "name", [name for name in MAKERS if name not in ("ConfusionCounts", "LabelledFile", "ScoreFile")]
)
def test_a_copy_of_a_result_is_equal(name: str) -> None:
    """NaN and NaN, too, wherever they are."""
    result = made(name)
    assert pickle.loads(pickle.dumps(result)) == result
    assert copy.deepcopy(result) == result


@pytest.mark.parametrize(
    "name", [name for name in MAKERS if name not in ("ConfusionCounts", "LabelledFile", "ScoreFile")]
)
def test_a_result_of_which_one_number_differs_is_another(name: str) -> None:
    result = made(name)
    for item in dataclasses.fields(result):
        rows = getattr(result, item.name)
        if not item.compare or not isinstance(rows, np.ndarray) or rows.dtype.names is None or not rows.size:
            continue
        for column in rows.dtype.names:
            if rows.dtype[column].kind != "f":
                continue
            for number in (12345.5, np.nan):
                changed = rows.copy()
                changed[column][-1] = number
                is_same = np.array_equal(changed[column], rows[column], equal_nan=True)
                other = copy.copy(result)
                object.__setattr__(other, item.name, changed)
                assert (other == result) == is_same, (item.name, column)


def test_a_record_has_arrays_of_its_own() -> None:
    given = np.array([3.0, 1.0])
    profile = ScoreProfile(5, given, 5, False, np.zeros((2, 7), np.float32), None, {})
    given[0] = 4.0
    assert profile.predicted.tolist() == [3.0, 1.0]
    assert not profile.predicted.flags.writeable


@pytest.mark.parametrize("name", MAKERS)
def test_names_break_neither_markdown_nor_latex(name: str) -> None:
    result = made(name)
    rows = [line for line in result.to_markdown().splitlines() if line.startswith("| ")]
    of_table = {len(re.findall(r"(?<!\\)\|", line)) for line in rows}
    assert len(of_table) <= len(re.findall(r"^\| [:-]+", result.to_markdown(), re.MULTILINE))
    assert "<b>" not in result.to_markdown()
    page = result.to_latex()
    assert page.count(r"\begin{tabular}") == page.count(r"\end{tabular}") == result._repr_html_().count("<table>")
    assert re.search(r"(?<!\\)[&#%]", "".join(line for line in page.splitlines() if not line.endswith(r"\\"))) is None


def test_latex_shows_names_as_they_are() -> None:
    """It has no straight quote in its own encoding, and joins hyphens to dashes; a line's end takes a star."""
    assert latex_of('"a"') == r"\char34{}a\char34{}"
    assert latex_of("*a [b]") == "{*}a {[}b]"
    assert latex_of("-1 a--b ---") == "-1 a-{}-b -{}-{}-"
    assert latex_of("?`a``b''c's") == "?{}`a{}`{}`b'{}'c's"


def test_a_table_in_markdown_and_latex() -> None:
    table = Table([("", "F1"), ("rule", "of all")], [("a_b", "*0.5"), ("c|d", "1")], note="2 more")
    assert markdown_table(table).splitlines() == [
        "| rule | F1 of all |",
        "| :-- | --: |",
        r"| a\_b | \*0.5 |",
        r"| c\|d | 1 |",
        "",
        "2 more",
    ]
    assert latex_table(table).splitlines() == [
        r"\begin{tabular}{lr}",
        r" & F1 \\",
        r"rule & of all \\",
        r"\hline",
        r"a\_b & {*}0.5 \\",
        r"c\textbar{}d & 1 \\",
        r"\end{tabular}",
        "",
        "2 more",
    ]


def test_a_rule_shows_what_is_known_of_its_labels() -> None:
    """Columns of which nothing is known are left out of the text."""
    by_hand = thresholds.ThresholdRule([0.25, np.inf], label_names=("cat", "dog"))
    assert by_hand.to_text().splitlines()[2:] == [
        "label  threshold",
        "-----  ---------",
        "cat         0.25",
        "dog          inf",
    ]
    fitted = thresholds.fit_empirical([[1, 0], [0, 0], [1, 1]], [[0.9, 0.2], [0.4, 0.1], [0.6, 0.3]])
    assert fitted.to_text(1).splitlines()[-4:] == [
        "label  threshold  positives  predicted",
        "-----  ---------  ---------  ---------",
        "0       0.400195          2          2",
        "... 1 more label",
    ]
    regions = thresholds.RegionRule([[0.2, 0.4, 0.8], [-np.inf, 0.5], []])
    assert [flat(line) for line in regions.to_text().splitlines()[4:]] == [
        "0 0.2 to 0.4, 0.8 up",
        "1 -inf to 0.5",
        "2 never",
    ]
    assert thresholds.InstanceRule().to_text() == str(thresholds.InstanceRule())


def test_a_frame_of_a_rule_has_a_row_for_each_label() -> None:
    pytest.importorskip("pandas")
    frame = made("ThresholdRule").to_frame()
    assert list(frame.columns) == ["name", "threshold", "n_positives", "n_predicted"]
    assert tuple(frame["name"]) == NAMES
    np.testing.assert_array_equal(frame["threshold"], made("ThresholdRule").thresholds)
    np.testing.assert_array_equal(frame["n_positives"], _data()[0].sum(axis=0))
    np.testing.assert_array_equal(frame["n_predicted"], made("ThresholdRule").predict(_data()[1]).sum(axis=0))
    assert made("CalibratedRule").to_frame()["threshold_of_probability"].tolist() == [0.5] * N_LABELS
    assert thresholds.InstanceRule().to_frame()["kind"].tolist() == ["instance"]


def test_numbers_that_json_lacks_are_none_or_words() -> None:
    values = {
        "a": np.nan,
        "b": (np.inf, np.float32(-np.inf)),
        "c": np.array([1, 2]),
        "d": np.array([(1.5,)], [("f1", float)]),
    }
    assert plain(values) == {"a": None, "b": ["inf", "-inf"], "c": [1, 2], "d": [{"f1": 1.5}]}
