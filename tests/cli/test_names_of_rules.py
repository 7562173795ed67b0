"""Commands that are given a rule know its labels: columns, lists and truth are read by its names.

No command recommends an option that it does not have.
"""

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import thresholds
from thresholds import cli
from thresholds.cli.parser import parser

pytestmark = pytest.mark.each_value

NAMES = ("cat", "dog", "emu")
N_ROWS = 40


def written(path: Path, rows: list[dict[str, Any]]) -> Path:
    """Write lines of JSON."""
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def run(*arguments: object) -> int:
    """Call the command line in this process."""
    return cli.main([str(argument) for argument in arguments])


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Rules, scores in columns and in lists, and truth as lists of names."""
    rng = np.random.default_rng(0)
    truth = rng.random((N_ROWS, 3)) < 0.4
    scores = np.round(0.5 * truth + 0.5 * rng.random((N_ROWS, 3)), 3)
    rule = thresholds.fit_empirical(truth[::2], scores[::2], label_names=NAMES)
    rule.save(tmp_path / "rule.json")
    rule.replace({"emu": 0.9}).save(tmp_path / "other.json")
    tags = [[name for name, true in zip(NAMES, row, strict=True) if true] for row in truth]
    columns = [dict(zip(NAMES, row, strict=True)) for row in scores.tolist()]
    written(tmp_path / "wide.jsonl", [{"id": i, "year": 1999 + i, **row} for i, row in enumerate(columns)])
    lists = [{"p": list(row.values()), "tags": some} for row, some in zip(columns, tags, strict=True)]
    written(tmp_path / "lists.jsonl", lists)
    written(tmp_path / "tags.jsonl", [{"tags": some} for some in tags])
    np.save(tmp_path / "s.npy", scores)
    np.savez(tmp_path / "known.npz", y_score=scores, y_true=truth, label_names=np.array(NAMES))
    return tmp_path


@pytest.mark.parametrize(
    "command",
    [
        ("predict", "rule.json", "wide.jsonl", "--key", "id", "-o", "out.jsonl"),
        ("monitor", "rule.json", "wide.jsonl"),
        ("diff", "rule.json", "other.json", "wide.jsonl"),
    ],
    ids=lambda command: command[0],
)
def test_columns_are_told_by_the_names_of_the_rule(
    command: tuple[str, ...], folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(folder)
    assert run(*command) == 0
    assert re.search(r"left out: .*'year' \(whole numbers\)", capsys.readouterr().out)


@pytest.mark.parametrize("scores", [("lists.jsonl",), ("s.npy", "--truth", "tags.jsonl")], ids=["lists", "array"])
@pytest.mark.parametrize(
    "command",
    [
        ("update", "rule.json", "FILE", "-o", "out.json"),
        ("compare", "FILE", "--rule", "rule.json", "--rule", "other.json"),
        ("diagnose", "FILE", "--rule", "rule.json"),
        ("annotate", "FILE", "--rule", "rule.json"),
        ("report", "FILE", "--rule", "rule.json", "-o", "out.html"),
        ("report", "FILE", "--against", "rule.json", "-o", "out.html"),
    ],
    ids=" ".join,
)
def test_truth_in_lists_of_names_is_read_by_the_names_of_the_rule(
    command: tuple[str, ...],
    scores: tuple[str, ...],
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(folder)
    if command[0] == "report":
        pytest.importorskip("jinja2")
    written = [word for part in command for word in (scores if part == "FILE" else (part,))]
    assert run(*written) == 0, capsys.readouterr().err
    said = capsys.readouterr().out
    assert run(*written, "--label-names", names_in(folder)) == 0
    without = [re.sub(r" --label-names \S+", "", text) for text in (said, capsys.readouterr().out)]
    assert without[0] == without[1]


def names_in(folder: Path) -> Path:
    """A file of the names."""
    (folder / "names.txt").write_text("\n".join(NAMES))
    return folder / "names.txt"


def test_a_label_of_the_rule_without_a_column_is_named(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    written(folder / "s.jsonl", [{"cat": 0.5, "dog": 0.25, "year": 1999}])
    assert run("predict", folder / "rule.json", folder / "s.jsonl", "-o", folder / "out.jsonl") == 1
    assert "s.jsonl has no scores of 'emu', expected a column for each label of the rule" in capsys.readouterr().err


def columns_of(folder: Path, names: tuple[str, ...]) -> tuple[Path, Path]:
    """Scores and truth in columns of these names, all but "yak" those of the fixture."""
    known = np.load(folder / "known.npz")
    places = [NAMES.index(name) if name in NAMES else 0 for name in names]
    scores, truth = known["y_score"][:, places], known["y_true"][:, places].astype(int)
    return (
        written(folder / "s.jsonl", [dict(zip(names, row, strict=True)) for row in scores.tolist()]),
        written(folder / "t.jsonl", [dict(zip(names, row, strict=True)) for row in truth.tolist()]),
    )


@pytest.mark.parametrize(
    ("names", "moved"),
    [((*NAMES, "yak"), "1 label new, 0 lost"), (NAMES[:2], "0 labels new, 1 lost")],
    ids=["new", "lost"],
)
def test_labels_may_have_come_and_gone_since_an_old_rule(
    names: tuple[str, ...], moved: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Its names are those of columns that there are, not of all that there have to be."""
    scores, truth = columns_of(folder, names)
    given = (scores, "--truth", truth)
    assert run("update", folder / "rule.json", *given, "--cv", "2", "-o", folder / "new.json") == 0
    assert moved in capsys.readouterr().out
    assert thresholds.load_rule(folder / "new.json").label_names == names
    page = folder / "page.html"
    assert run("report", *given, "--against", folder / "rule.json", "-o", page) == 0
    assert ("1 label is new: yak." in page.read_text()) == ("yak" in names)


def test_what_a_rule_does_not_know_is_left_out_of_scores_and_truth(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    scores, truth = columns_of(folder, (*NAMES, "yak"))
    assert run("diagnose", scores, "--truth", truth, "--rule", folder / "rule.json") == 0
    printed = capsys.readouterr().out
    assert "left out: 'yak' (numbers)" in printed
    assert "left out of t.jsonl: 'yak' (whole numbers)" in printed


def test_lists_that_are_not_as_long_as_the_rule_has_labels_are_refused(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    written(folder / "s.jsonl", [{"p": [0.5, 0.25]}])
    assert run("predict", folder / "rule.json", folder / "s.jsonl", "-o", folder / "out.jsonl") == 1
    assert "have 2 labels, expected 3, as the rule has" in capsys.readouterr().err


ASK_FOR_OPTIONS = {
    "whole.jsonl": [{"a": 0.5, "b": 1.5, "year": 1999}],
    "long.jsonl": [{"first": 1, "second": 2, "label": "cat", "score": 0.5}],
    "twice.jsonl": 2 * [{"id": 1, "label": "cat", "score": 0.5}],
    "lists.jsonl": [{"p": [0.5], "q": [0.25], "y_true": [1]}],
    "texts.jsonl": [{"a": "0.5", "b": 0.25}],
    "none.jsonl": [{"a": "b"}],
}


@pytest.mark.parametrize("name", [*ASK_FOR_OPTIONS, "d.txt", "d.svm"])
@pytest.mark.parametrize(
    "command",
    [
        ("fit", "FILE", "-o", "out.json"),
        ("fit", "FILE", "--expected", "-o", "out.json"),
        ("update", "nameless.json", "FILE", "-o", "out.json"),
        ("predict", "nameless.json", "FILE", "-o", "out.jsonl"),
        ("monitor", "nameless.json", "FILE"),
        ("diff", "nameless.json", "nameless.json", "FILE"),
        ("compare", "FILE", "--rule", "nameless.json"),
        ("diagnose", "FILE"),
        ("annotate", "FILE"),
        ("report", "FILE", "-o", "out.html"),
    ],
    ids=" ".join,
)
def test_a_command_recommends_no_option_that_it_does_not_have(
    command: tuple[str, ...],
    name: str,
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(folder)
    for file, rows in ASK_FOR_OPTIONS.items():
        written(folder / file, rows)
    Path("d.txt").write_text("2 5 3\n0 0:0.5\n1 4:1\n")
    Path("d.svm").write_text("0 1:0.5\n1 2:0.5\n")
    rng = np.random.default_rng(0)
    thresholds.fit_empirical(rng.random((40, 3)) < 0.4, rng.random((40, 3))).save("nameless.json")
    assert run(*(name if word == "FILE" else word for word in command)) == 1
    said = capsys.readouterr().err
    described = parser()._subparsers._group_actions[0].choices[command[0]]  # type: ignore[union-attr,index]
    named = set(re.findall(r"--[a-z][a-z-]+", said))
    assert named <= set(described._option_string_actions), said


@pytest.mark.parametrize("label", ["y_true", "y_score", "y_true_x", "y_score_x", "label", "__index_level_0__"])
def test_a_label_may_be_called_as_a_role_where_labels_are_named(
    label: str, folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """In wide tables of scores and of truth; the rule is that of any other name."""
    monkeypatch.chdir(folder)
    known = np.load("known.npz")
    outcomes = []
    for name in ("emu", label):
        names = ("cat", "dog", name)
        scores = [dict(zip(names, row, strict=True)) for row in known["y_score"].tolist()]
        written(folder / "s.jsonl", scores)
        truth = [dict(zip(names, row, strict=True)) for row in known["y_true"].astype(int).tolist()]
        written(folder / "t.jsonl", truth)
        (folder / "names.txt").write_text("\n".join(names))
        fit = ("fit", "s.jsonl", "--truth", "t.jsonl", "--label-names", "names.txt", "-o", "new.json", "--cv", "0")
        assert run(*fit) == 0, capsys.readouterr().err
        assert run("predict", "new.json", "s.jsonl", "-o", "out.csv") == 0, capsys.readouterr().err
        decided = (folder / "out.csv").read_text().splitlines()
        assert decided[0].replace('"', "") == ",".join(names)
        outcomes.append((thresholds.load_rule("new.json").thresholds.tolist(), decided[1:]))
    assert outcomes[0] == outcomes[1]


def test_scores_that_are_called_truth_are_not_left_out(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    known = np.load(folder / "known.npz")
    rows = [dict(zip(("cat", "dog", "y_true"), row, strict=True)) for row in known["y_score"].tolist()]
    written(folder / "s.jsonl", rows)
    assert run("fit", folder / "s.jsonl", "--truth", folder / "tags.jsonl", "-o", folder / "new.json") == 1
    assert re.search(
        r"column 'y_true' of s.jsonl has 0\.\d+ at row 0, expected truth, 0 or 1; .* --label-names",
        capsys.readouterr().err,
    )


def test_an_empty_name_at_the_end_of_a_list_is_refused(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "names.json").write_text(json.dumps(["cat", "dog", "emu", ""]))
    status = run("fit", folder / "lists.jsonl", "--label-names", folder / "names.json", "-o", folder / "new.json")
    assert status == 1
    assert "names.json has an empty line, expected one label name in each line" in capsys.readouterr().err
