"""Where outputs go: a place that none can be written to is refused before any work."""

import json
import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import thresholds
from thresholds import cli
from thresholds.cli import reading

SCORES = np.linspace(0.05, 0.95, 40).reshape(20, 2)
COMMANDS = {
    "fit": ("fit", "s.npz", "-o", "OUT"),
    "fit --expected": ("fit", "s.npz", "--expected", "-o", "OUT"),
    "update": ("update", "rule.json", "s.npz", "-o", "OUT"),
    "predict": ("predict", "rule.json", "s.npz", "-o", "OUT"),
    "export": ("export", "rule.json", "-o", "OUT"),
    "report": ("report", "s.npz", "-o", "OUT"),
    "diagnose": ("diagnose", "s.npz", "--repair", "OUT"),
}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working folder with scores, a rule, and a folder."""
    monkeypatch.chdir(tmp_path)
    np.savez("s.npz", y_score=SCORES, y_true=(SCORES > 0.4).astype(np.uint8))
    thresholds.FixedRule(0.5, 2).save("rule.json")
    Path("folder").mkdir()
    return tmp_path


@pytest.mark.each_value
@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize(
    ("out", "said"),
    [
        ("nowhere/out.json", "nowhere/out.json: its folder does not exist, expected one that does"),
        ("folder", "folder: is a folder, expected a file"),
        ("new/", "new/: is a folder, expected a file"),
        ("s.npz/out.json", "s.npz/out.json: is in a file, expected it in a folder"),
    ],
)
def test_an_output_that_cannot_be_written_is_refused_before_any_work(
    command: str, out: str, said: str, folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def work(*_: object) -> None:
        raise AssertionError("a file is read")

    monkeypatch.setattr(reading, "opened", work)
    monkeypatch.setattr("thresholds.loading.load_rule", work)
    assert cli.main([out if word == "OUT" else word for word in COMMANDS[command]]) == 1
    assert capsys.readouterr().err == f"thresholds: error: {said}\n"


def test_a_folder_that_may_not_be_written_to_is_refused(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """As the system says; whoever is root may write to all."""
    allowed = os.access
    monkeypatch.setattr(os, "access", lambda path, mode: os.path.basename(path) != "folder" and allowed(path, mode))
    assert cli.main(["fit", "s.npz", "-o", "folder/rule.json"]) == 1
    assert "folder/rule.json: its folder may not be written to, expected one that may" in capsys.readouterr().err


def test_a_rule_is_saved_nowhere_with_the_same_words(folder: Path) -> None:
    with pytest.raises(FileNotFoundError, match="its folder does not exist, expected one that does"):
        thresholds.FixedRule(0.5, 2).save("nowhere/rule.json")


@pytest.mark.parametrize("path", ["nowhere", "nowhere/", "nowhere.txt/s"])
def test_a_folder_of_scores_that_does_not_exist_is_named(
    path: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main(["fit", path, "-o", "rule.json"]) == 1
    assert capsys.readouterr().err == f"thresholds: error: {path.rstrip('/')}: No such file or directory\n"


def test_what_was_written_is_told_as_json(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    def told(*words: str) -> Any:
        assert cli.main([*words, "--json"]) == 0
        return json.loads(capsys.readouterr().out)

    assert told("predict", "rule.json", "s.npz", "-o", "out.npz") == {
        "file": "s.npz",
        "score_key": "y_score",
        "notes": ["left out: 'y_true' (uint8)"],
        "rule": "rule.json",
        "output": "out.npz",
        "n_samples": 20,
        "n_labels": 2,
        "n_predicted": int((SCORES >= 0.5).sum()),
        "warnings": [],
    }
    pytest.importorskip("jinja2")
    page = told("report", "s.npz", "--rule", "rule.json", "-o", "out.html")
    assert (page["output"], page["n_samples"], page["n_labels"]) == ("out.html", 20, 2)
    assert page["notes"] == page["warnings"] == []
    assert [label["name"] for label in page["report"]["labels"]] == ["label 0", "label 1"]
    pytest.importorskip("onnx")
    model = told("export", "rule.json", "-o", "out.onnx")
    assert model == {
        "rule": "rule.json",
        "kind": "thresholds",
        "output": "out.onnx",
        "n_labels": 2,
        "dtype": "float32",
        "n_bytes": Path("out.onnx").stat().st_size,
        "notes": [],
        "warnings": [],
    }


def test_what_is_not_written_is_told_so(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rng = np.random.default_rng(0)
    y_true = rng.random((300, 2)) < 0.4
    scores = rng.normal(size=(300, 2)) + 2 * y_true
    thresholds.fit_empirical(y_true, scores).save("fitted.json")
    np.savez("other.npz", y_score=3 * scores)
    assert cli.main(["predict", "fitted.json", "other.npz", "-o", "out.npz", "--strict", "--json"]) == 3
    out, err = capsys.readouterr()
    told = json.loads(out)
    assert told["output"] is None
    assert told["n_samples"] == 300
    assert [f"thresholds: failed: {warning}" for warning in told["warnings"]] == err.splitlines()
    assert not Path("out.npz").exists()
