"""One list of fit options: everything that fits thresholds takes its options, with its defaults and checks."""

import argparse
import inspect
from pathlib import Path
from typing import Any, get_args, get_type_hints

import numpy as np
import pytest
from sklearn.neighbors import KNeighborsClassifier

import thresholds
from thresholds import InputError
from thresholds.cli.commands import COMMANDS
from thresholds.cli.options import OF_FITS, OPTIONS, of_fit
from thresholds.cli.parser import parse
from thresholds.fitting import options as options_of_fits
from thresholds.fitting.options import DEFAULTS, FIT_OPTIONS, FitArguments, FitOptions
from thresholds.fitting.rules import rules_that_take
from thresholds.guards.base import Guard
from thresholds.guards.names import GUARD_NAMES, GUARDS, GuardName, class_of
from thresholds.sklearn import MultilabelThresholdClassifierCV

ROOT = Path(__file__).parents[2]
RNG = np.random.default_rng(3)
Y = (RNG.random((60, 4)) < [0.3, 0.3, 0.3, 0.0]).astype(np.uint8)  # The last label has no positives.
S = np.round(2 * RNG.random((60, 4)) + Y, 2)
TYPES = vars(options_of_fits) | {"Guard": Guard}

# Another value than the default of each option, and one that is refused.
OTHER: dict[str, Any] = {
    "average": "weighted",
    "beta": 2.0,
    "rule": "micro, shared",
    "per_label": False,
    "zero_division": 1.0,
    "placement": "mid",
    "guard": "shrink",
    "max_overprediction": 0.5,
    "min_precision": 0.9,
    "min_recall": 0.9,
    "confidence": 0.8,
    "family": "all",
    "max_predicted": 5.0,
    "max_predicted_per_row": 2,
    "keep_sparse": False,
    "n_jobs": 2,
    "progress": True,
}
BESIDE: dict[str, Any] = {  # what an option needs
    "confidence": {"min_recall": 0.5},
    "family": {"min_recall": 0.5, "confidence": 0.7},
}
BAD: dict[str, Any] = dict.fromkeys(FIT_OPTIONS, "nothing of the kind")
DATA = {"y_true", "y_score", "sample_weight", "groups", "missing", "unknown", "label_names"}
OF_FOLDS = {"cv", "groups", "random_state"}
OF_REPORTS = {"verdicts", "alternatives"}
NOT_OF_THE_ESTIMATOR = {"keep_sparse", "n_jobs", "progress"}
NOT_OF_FIT_EMPIRICAL = {"rule"}  # which fits thresholds, by the other options
NOT_ON_THE_COMMAND_LINE = {"keep_sparse", "progress"}
ON_THE_COMMAND_LINE = [name for name in FIT_OPTIONS if name not in NOT_ON_THE_COMMAND_LINE]


def fit(y_true: Any = Y, y_score: Any = S, **options: Any) -> Any:
    how = thresholds.fit if "rule" in options else thresholds.fit_empirical
    return how(y_true, y_score, **options)


def without(names: set[str], options: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in options.items() if name not in names}


def accumulate(**options: Any) -> Any:
    rows = thresholds.Accumulator()
    rows.update(Y, S)
    return rows.compute(**options)


def cross_fit(**options: Any) -> Any:
    return thresholds.cross_fit(Y, S, **options).rule


def defaults(function: Any, own: set[str]) -> dict[str, Any]:
    """The options in a signature, in order, but those that are the function's own."""
    parameters = inspect.signature(function).parameters.values()
    return {item.name: item.default for item in parameters if item.name not in own | {"self"}}


def test_fit_empirical_writes_out_the_list() -> None:
    expected = without(NOT_OF_FIT_EMPIRICAL, {**DEFAULTS, "guard": None})  # the one default that differs
    assert defaults(thresholds.fit_empirical, DATA) == expected
    hints = get_type_hints(thresholds.fit_empirical, None, TYPES | {"CappedRule": thresholds.CappedRule})
    listed = without(NOT_OF_FIT_EMPIRICAL, get_type_hints(FitOptions, TYPES))
    assert {name: hints[name] for name in listed} == listed


def test_every_option_has_a_check_a_help_text_and_a_sentence_in_the_docstring() -> None:
    assert thresholds.fit_empirical.__doc__
    described = " ".join(
        line.split(" :")[0] for line in thresholds.fit_empirical.__doc__.splitlines() if line.startswith("    ")
    )
    for name, option in FIT_OPTIONS.items():
        assert option.metadata["check"](option.default, name) == option.default
        assert option.metadata["help"]
        assert name in NOT_OF_FIT_EMPIRICAL or name in described.replace(",", " ").split()
    assert FIT_OPTIONS["guard"].metadata["choices"] == (*GUARD_NAMES, None)


def test_every_guard_has_a_name_and_works_without_options() -> None:
    assert get_args(GuardName) == GUARD_NAMES, "type checkers know the same names"
    for name in GUARDS:
        guard = class_of(name)
        assert str(guard()) == guard.name == name
        assert getattr(thresholds, guard.__name__) is guard, "a guard is a public name"


def test_type_checkers_know_the_same_options() -> None:
    listed = get_type_hints(FitOptions, TYPES)
    assert get_type_hints(FitArguments, None, TYPES) == without({"average", "rule"}, listed), "these may be positional"


def test_cross_fit_and_accumulators_take_the_list() -> None:
    assert defaults(thresholds.cross_fit, DATA | OF_FOLDS | OF_REPORTS) == DEFAULTS
    assert defaults(thresholds.Accumulator.compute, set()) == DEFAULTS
    for call in (accumulate, cross_fit):
        with pytest.raises(TypeError, match="minimum_recall"):
            call(minimum_recall=0.5)


def test_the_estimator_takes_the_list() -> None:
    taken = defaults(MultilabelThresholdClassifierCV, set())
    expected = {name: DEFAULTS[name] for name in FIT_OPTIONS if name not in NOT_OF_THE_ESTIMATOR}
    lacking = sorted(set(expected) - set(taken))
    assert not lacking, f"arguments that MultilabelThresholdClassifierCV lacks: {lacking}"
    assert {name: taken[name] for name in expected} == expected
    assert taken["n_jobs"] is None, "as scikit-learn's estimators have it"


def given(*more: str) -> argparse.Namespace:
    return parse(["fit", "scores.npz", "-o", "rule.json", *more])


def test_the_command_line_takes_the_list(capsys: pytest.CaptureFixture[str]) -> None:
    assert list(OF_FITS) == ON_THE_COMMAND_LINE
    assert of_fit(given()) == {"progress": False}, "what is not given is left to fits"
    shown = vars(given())
    assert {name: shown[name] for name in OF_FITS} == without(NOT_ON_THE_COMMAND_LINE, dict(DEFAULTS))
    with pytest.raises(SystemExit):
        parse(["fit", "--help"])
    words = " ".join(capsys.readouterr().out.split()).replace("- ", "-")
    for name in ON_THE_COMMAND_LINE:
        about = FIT_OPTIONS[name].metadata
        _, text = about.get("switch", ("", about["help"]))
        assert text.replace("- ", "-") in words


@pytest.mark.parametrize("name", ON_THE_COMMAND_LINE)
def test_the_command_line_hands_on_what_is_given(name: str) -> None:
    value = OTHER[name]
    word = f"{value:g}" if isinstance(value, float) else str(value)
    words = ["--shared"] if name == "per_label" else [f"--{name.replace('_', '-')}", word]
    assert of_fit(given(*words))[name] == value


def test_a_floor_on_the_command_line_may_be_one_for_each_of_some_labels(capsys: pytest.CaptureFixture[str]) -> None:
    assert of_fit(given("--min-recall", "cat=.9,a=b=0.5"))["min_recall"] == {"cat": 0.9, "a=b": 0.5}
    for bad in ("cat=.9,dog", "cat=.9,cat=.8", "cat=high"):
        with pytest.raises(SystemExit):
            given("--min-recall", bad)
        assert "--min-recall" in capsys.readouterr().err


# The functions that commands call, and the defaults that these write out
JUDGES: dict[str, Any] = {
    "diagnose": thresholds.diagnose,
    "report": thresholds.make_report,
    "annotate": thresholds.plan_annotation,
    "compare": thresholds.compare,
    "monitor": thresholds.Rule.check,
    "update": thresholds.update_rule,
}
CALLED_OTHERWISE = {"interval": "confidence"}
# A command decides these itself: the rule that is judged, the table that is printed, what a file has.
OF_COMMANDS = {"judged", "rules", "top", "title", "missing", "groups", "label_names", "unknown", "guard", "against"}


@pytest.mark.parametrize("command", JUDGES)
def test_commands_have_the_defaults_of_the_functions_that_they_call(command: str) -> None:
    parameters = inspect.signature(JUDGES[command]).parameters
    shared = 0
    for name, option in COMMANDS[command].options.items():
        in_python = CALLED_OTHERWISE.get(name, name)
        if in_python in parameters and name not in OF_COMMANDS:
            assert option.default == parameters[in_python].default, name
            shared += 1
    assert shared > 0


def test_every_option_is_taken_by_some_command_and_has_a_help_text_of_its_own() -> None:
    taken = {name for command in COMMANDS.values() for name in {**command.arguments, **command.options}}
    assert taken == set(OPTIONS)
    for command in COMMANDS.values():
        texts = [option.help for option in (*command.arguments.values(), *command.options.values())]
        assert all(texts)
        assert len(texts) == len(set(texts))


@pytest.mark.parametrize("command", COMMANDS)
def test_help_is_short_and_files_have_a_page_of_their_own(
    command: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "100")
    pages = {}
    for flag in ("--help", "--help-files") if "score_key" in COMMANDS[command].options else ("--help",):
        with pytest.raises(SystemExit) as ended:
            parse([command, flag])
        assert ended.value.code == 0
        pages[flag] = capsys.readouterr().out
    assert len(pages["--help"].splitlines()) <= 60
    for name, option in COMMANDS[command].options.items():
        page = "--help-files" if option.heading == "files" else "--help"
        assert [option.flags[0] in text for text in pages.values()].count(True) >= 1, name
        assert option.flags[0] in pages[page]


def test_the_first_page_has_a_line_for_each_command(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "100")
    with pytest.raises(SystemExit):
        parse(["--help"])
    lines = capsys.readouterr().out.splitlines()
    for name, command in COMMANDS.items():
        assert [line.split(maxsplit=1)[1] for line in lines if line.split(maxsplit=1)[:1] == [name]] == [command.about]


def tables_of_the_page() -> list[list[str]]:
    """The tables of docs/options.md: options of fits, options of each command, options of files."""
    of_fits = []
    for name, option in FIT_OPTIONS.items():
        flag = f"`{OPTIONS[name].flags[0]}`" if name in OPTIONS else ""
        takers = rules_that_take(name)
        taken = "all" if len(takers) == len(thresholds.RULES) else "; ".join(takers) or "its name says it"
        help_text = option.metadata["help"]
        of_fits.append(f"| `{name}` | {flag} | {DEFAULTS[name]} | {help_text} | {taken} |")
    of_commands = []
    for name, command in COMMANDS.items():
        own = [option for option in command.options.values() if option.heading != "files"]
        taken = "those of fits, " if name == "fit" else ""
        listed = ", ".join(f"`{option.flags[-1]}`" for option in own if name != "fit" or option.name not in FIT_OPTIONS)
        of_commands.append(f"| `{name}` | {taken}{listed} |")
    files = [option for option in OPTIONS.values() if option.heading == "files"]
    of_files = [f"| `{option.flags[0]}` | {option.help} |" for option in files]
    return [of_fits, of_commands, of_files]


def test_the_page_on_options_has_the_list() -> None:
    page = (ROOT / "docs" / "options.md").read_text().splitlines()
    expected = [row for table in tables_of_the_page() for row in table]
    assert [row for row in page if row.startswith("| `")] == expected


@pytest.mark.parametrize("name", FIT_OPTIONS)
def test_every_option_does_the_same_everywhere(name: str) -> None:
    options = {"guard": None} | BESIDE.get(name, {}) | {name: OTHER[name]}
    expected = fit(**options)
    for call in (accumulate, cross_fit):
        got = call(**options)
        np.testing.assert_array_equal(got.uncapped.thresholds, expected.uncapped.thresholds)
        assert got.objective == expected.objective
    if name not in {"keep_sparse", "n_jobs", "progress"}:
        assert str(expected) != str(fit()) or (expected.thresholds != fit().thresholds).any()


@pytest.mark.parametrize("name", FIT_OPTIONS)
def test_every_option_is_refused_alike_everywhere(name: str) -> None:
    messages = set()
    for call in (fit, accumulate, cross_fit):
        with pytest.raises(InputError) as refusal:
            call(**{name: BAD[name]})
        messages.add(str(refusal.value))
    if name not in NOT_OF_THE_ESTIMATOR:
        with pytest.raises(InputError) as refusal:
            MultilabelThresholdClassifierCV(Constant(), **{name: BAD[name]}).fit(S, Y)
        messages.add(str(refusal.value))
    assert len(messages) == 1
    assert messages.pop().startswith(f"{name} is 'nothing of the kind', expected ")


class Constant:
    """A classifier that is not to be fitted."""

    def fit(self, X: Any, y: Any) -> None:
        raise AssertionError("fitted before its options are checked")

    def predict_proba(self, X: Any) -> Any:
        raise AssertionError


def test_the_estimator_hands_on_every_option() -> None:
    for name in FIT_OPTIONS:
        if name in NOT_OF_THE_ESTIMATOR:
            continue
        options = {"guard": None} | BESIDE.get(name, {}) | {name: OTHER[name]}
        found = MultilabelThresholdClassifierCV(KNeighborsClassifier(), store_cv_results=True, **options).fit(S, Y)
        expected = fit(Y[found.cv_results_["rows"]], found.cv_results_["y_score"], **options)
        np.testing.assert_array_equal(found.rule_.uncapped.thresholds, expected.uncapped.thresholds)
        assert found.best_score_ == expected.objective


def test_the_same_figure_twice() -> None:
    assert thresholds.cross_fit(Y, S).out_of_fold == thresholds.cross_fit(Y, S).out_of_fold
    assert thresholds.multilabel_folds(Y).tolist() == thresholds.multilabel_folds(Y, random_state=0).tolist()
    drawn = {tuple(thresholds.multilabel_folds(Y, random_state=None).tolist()) for _ in range(20)}
    assert len(drawn) > 1, "None asks for fresh folds"
