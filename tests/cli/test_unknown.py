"""`--unknown`: truth of which a part is not known, in every command that reads truth."""

import argparse
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import thresholds
from tests.words import flat
from thresholds import cli
from thresholds.cli.parser import parser

NAMES = np.array(["cat", "dog", "emu"])
RNG = np.random.default_rng(5)
TRUTH = (RNG.random((300, 3)) < [0.4, 0.2, 0.1]).astype(np.int8)
SCORES = (RNG.normal(size=(300, 3)) + 2 * TRUTH).round(3)
HIDDEN = np.where(RNG.random((300, 3)) < 0.3, -1, TRUTH)
N_HIDDEN = int((HIDDEN == -1).sum())
SAID = f"truth of {N_HIDDEN} of 900 cells ({100 * N_HIDDEN / 900:.0f} %) is not known; they are left out"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where scores.npz lies, and a rule of its scores."""
    monkeypatch.chdir(tmp_path)
    np.savez("scores.npz", y_score=SCORES, y_true=HIDDEN, label_names=NAMES)
    thresholds.fit_empirical(TRUTH, SCORES, label_names=NAMES).save("rule.json")
    thresholds.fit_empirical(TRUTH, SCORES, "micro", label_names=NAMES).save("micro.json")
    return tmp_path


def run(*arguments: object) -> int:
    """Call the command line in this process."""
    return cli.main([str(argument) for argument in arguments])


# Every command that reads truth, and what is written beside its file.
COMMANDS: dict[str, tuple[str, ...]] = {
    "fit": ("fit", "scores.npz", "-o", "out.json"),
    "fit without folds": ("fit", "scores.npz", "--cv", "0", "-o", "out.json"),
    "fit by name": ("fit", "scores.npz", "--rule", "instance, platt", "--cv", "2", "-o", "out.json"),
    "fit the best": ("fit", "scores.npz", "--best", "micro", "--cv", "2", "-o", "out.json"),
    "update": ("update", "rule.json", "scores.npz", "-o", "out.json"),
    "compare": ("compare", "scores.npz"),
    "compare rules": ("compare", "scores.npz", "--rule", "rule.json", "--rule", "micro.json"),
    "diagnose": ("diagnose", "scores.npz"),
    "diagnose a rule": ("diagnose", "scores.npz", "--rule", "rule.json"),
    "report": ("report", "scores.npz", "-o", "out.html"),
    "report of a rule": ("report", "scores.npz", "--rule", "rule.json", "-o", "out.html"),
}
each_command = pytest.mark.parametrize("command", COMMANDS.values(), ids=COMMANDS.keys())


@each_command
@pytest.mark.usefixtures("folder")
def test_every_command_works_and_says_once_how_much_is_not_known(
    command: tuple[str, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(*command, "--unknown=-1") == 0
    shown = Path("out.html").read_text() if command[0] == "report" else capsys.readouterr().out
    assert flat(shown).count(SAID) == 1


@each_command
@pytest.mark.usefixtures("folder")
def test_without_the_option_every_command_names_it(
    command: tuple[str, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(*command) == 1
    written = capsys.readouterr()
    assert written.out == ""
    assert written.err.startswith("thresholds: error: y_true has -1 at row")
    assert "--unknown" in written.err
    assert not list(Path().glob("out.*"))


@pytest.mark.parametrize("written", [["--unknown=-1"], ["--unknown", "-1"], ["--unknown", "-1.0"]])
@pytest.mark.usefixtures("folder")
def test_it_is_written_with_or_without_equals_sign(written: list[str]) -> None:
    assert run("fit", "scores.npz", *written, "-o", "out.json") == 0
    saved = thresholds.load_rule("out.json")
    fitted = thresholds.cross_fit(HIDDEN, SCORES, unknown=-1, guard="auto", label_names=NAMES).rule
    np.testing.assert_array_equal(saved.thresholds, fitted.thresholds)
    assert saved.out_of_fold.f == fitted.out_of_fold.f


@pytest.mark.parametrize("said", [["--unknown", "nan,-1"], ["--unknown=-1,nan"], ["--unknown=-1,-9,nan"]])
@pytest.mark.usefixtures("folder")
def test_several_things_stand_for_it(said: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    both = np.where((HIDDEN == -1) & (np.arange(300) % 2 == 0)[:, np.newaxis], np.nan, HIDDEN)
    np.savez("both.npz", y_score=SCORES, y_true=both, label_names=NAMES)
    assert run("fit", "both.npz", *said, "-o", "both.json") == 0
    assert SAID in flat(capsys.readouterr().out)
    assert run("fit", "scores.npz", "--unknown=-1", "-o", "out.json") == 0
    assert Path("both.json").read_text().replace("both.npz", "scores.npz") == Path("out.json").read_text()
    for one in ("nan", "-1"):
        capsys.readouterr()
        assert run("fit", "both.npz", f"--unknown={one}", "-o", "out.json") == 1
        assert "; --unknown=nan,-1 if that is not known" in flat(capsys.readouterr().err)


@pytest.mark.parametrize("value", ["0", "1", "inf", "none", "?", "nan,0", "nan,", ",", "nan;-1"])
@pytest.mark.usefixtures("folder")
def test_what_cannot_stand_for_it_is_wrong_usage(value: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        run("fit", "scores.npz", "--unknown", value, "-o", "out.json")
    assert ended.value.code == 2
    expected = f"argument --unknown: {value!r} is neither nan nor a number other than 0 and 1"
    assert expected in flat(capsys.readouterr().err)


def test_every_command_that_reads_truth_has_it_and_no_other() -> None:
    (commands,) = [action for action in parser()._actions if isinstance(action, argparse._SubParsersAction)]
    for name, command in commands.choices.items():
        written = {option for action in command._actions for option in action.option_strings}
        assert ("--unknown" in written) == ("--truth" in written), name


@pytest.mark.usefixtures("folder")
def test_a_file_without_truth_has_no_use_for_it(capsys: pytest.CaptureFixture[str]) -> None:
    np.savez("alone.npz", y_score=1 / (1 + np.exp(-SCORES)))
    assert run("fit", "alone.npz", "--expected", "--unknown", "nan", "-o", "out.json") == 1
    assert capsys.readouterr().err == "thresholds: error: --unknown is 'nan' with alone.npz, which has no truth\n"
    assert run("fit", "alone.npz", "--expected", "--label-separator", "|", "-o", "out.json") == 1
    assert "--label-separator is '|' with alone.npz, which has no truth" in capsys.readouterr().err


@pytest.mark.usefixtures("folder")
def test_probabilities_are_measured_on_what_is_known(capsys: pytest.CaptureFixture[str]) -> None:
    p = 1 / (1 + np.exp(-SCORES))
    np.savez("p.npz", y_score=p, y_true=HIDDEN)
    assert run("fit", "p.npz", "--expected", "--unknown=-1", "--json", "-o", "out.json") == 0
    made = json.loads(capsys.readouterr().out)
    known = HIDDEN != -1
    assert made["calibration"]["sum_over_positives"] == pytest.approx(p[known].sum() / TRUTH[known].sum())
    assert SAID in made["notes"]


@pytest.mark.usefixtures("folder")
def test_one_label_is_judged_as_if_rows_that_are_not_known_were_not_there(capsys: pytest.CaptureFixture[str]) -> None:
    known = HIDDEN[:, 1] != -1
    np.savez("hidden.npz", y_score=SCORES[:, 1], y_true=HIDDEN[:, 1])
    np.savez("left.npz", y_score=SCORES[known, 1], y_true=TRUTH[known, 1])
    thresholds.fit_empirical(TRUTH[:, 1], SCORES[:, 1]).save("rule.json")

    def read(*command: str) -> Any:
        assert run(*command, "--json") == 0
        return json.loads(capsys.readouterr().out)

    for command in (["diagnose", "--rule", "rule.json"], ["fit", "--cv", "0", "-o", "out.json"]):
        hidden = read(command[0], "hidden.npz", "--unknown=-1", *command[1:])
        left = read(command[0], "left.npz", *command[1:])
        assert hidden["labels"] == left["labels"]


@pytest.mark.usefixtures("folder")
def test_a_file_whose_truth_is_all_known_says_so(capsys: pytest.CaptureFixture[str]) -> None:
    np.savez("known.npz", y_score=SCORES, y_true=TRUTH, label_names=NAMES)
    assert run("fit", "known.npz", "--unknown=-1", "-o", "out.json") == 0
    assert "the truth of every cell is known" in flat(capsys.readouterr().out)
    with_option = Path("out.json").read_text()
    assert run("fit", "known.npz", "-o", "out.json") == 0
    assert Path("out.json").read_text() == with_option


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize("command", [("compare",), ("diagnose", "--rule", "rule.json")])
def test_rows_of_which_nothing_is_known_are_named(command: tuple[str, ...], capsys: pytest.CaptureFixture[str]) -> None:
    y_true = HIDDEN.copy()
    y_true[200:] = -1
    rows = np.arange(300)
    np.savez("late.npz", y_score=SCORES, y_true=y_true, label_names=NAMES, calib_idx=rows[:200], test_idx=rows[200:])
    assert run(*command, "late.npz", "--unknown", "-1") == 1
    said = flat(capsys.readouterr().err)
    assert "truth of late.npz has no known cell in the 100 rows " in said
    assert said.endswith((" to judge on, expected some", " of test_idx, expected some"))
