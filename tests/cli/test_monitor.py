"""`thresholds monitor`, and what `thresholds predict` says of scores that have changed."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.special import expit

import thresholds
from thresholds import cli

NAMES = np.array(["cat", "dog", "emu", "fox", "gnu"])


def run(*arguments: object) -> int:
    """Call the command line in this process."""
    return cli.main([str(argument) for argument in arguments])


def draw(n: int, seed: int) -> tuple[Any, Any]:
    """Truth and logits."""
    rng = np.random.default_rng(seed)
    truth = rng.random((n, 5)) < 0.15
    return truth, rng.normal(size=(n, 5)) * [1, 2, 1, 1, 1] + np.arange(5) - 3 + 2 * truth


@pytest.fixture
def rule(tmp_path: Path) -> Path:
    """A rule fitted on logits."""
    path = tmp_path / "rule.json"
    thresholds.fit_empirical(*draw(800, 0), label_names=NAMES.tolist()).save(path)
    return path


@pytest.fixture
def scores(tmp_path: Path) -> Callable[..., Path]:
    """What writes a file of new scores."""

    def write(change: Callable[[Any], Any] = np.asarray, n: int = 600) -> Path:
        path = tmp_path / "new.npz"
        np.savez(path, y_score=change(draw(n, 1)[1]), label_names=NAMES)
        return path

    return write


def test_scores_like_those_of_the_fit(
    rule: Path, scores: Callable[..., Path], capsys: pytest.CaptureFixture[str]
) -> None:
    assert run("monitor", rule, scores(), "--fail-on", "findings=0,moved_share=0") == 0
    out, err = capsys.readouterr()
    assert out.splitlines()[0] == "new.npz: 600 rows, 5 labels, scores 'y_score' (float64)"
    assert "600 new rows, compared with 800 rows of the fit: no change was found." in out
    assert err == ""


def test_findings_are_printed_and_fail_on_asks(
    rule: Path, scores: Callable[..., Path], capsys: pytest.CaptureFixture[str]
) -> None:
    changed = scores(expit)
    assert run("monitor", rule, changed) == 0
    out, err = capsys.readouterr()
    assert "grave: The scores look like probabilities, but the rule was fitted on their logits" in out
    assert err == ""
    assert run("monitor", rule, changed, "--fail-on", "grave=0, moved=5, moved_share=0.3", "--top", 0) == 3
    err = capsys.readouterr().err.splitlines()
    assert err[0].startswith("thresholds: failed: grave is ")
    assert err[1] == "thresholds: failed: moved_share is 0.8, expected at most 0.3"


def test_as_json(rule: Path, scores: Callable[..., Path], capsys: pytest.CaptureFixture[str]) -> None:
    assert run("monitor", rule, scores(lambda s: s[:, ::-1]), "--json", "--fail-on", "grave=0") == 3
    found = json.loads(capsys.readouterr().out)
    assert found["findings"][0]["kind"] == "order"
    assert found["counts"]["grave"] == sum(finding["severity"] == "grave" for finding in found["findings"])
    assert [label["label"] for label in found["labels"]] == NAMES.tolist()
    assert not found["ok"]
    assert found["broken"]


def test_a_file_of_many_rows_is_read_in_blocks(rule: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lines = [json.dumps(dict(zip(NAMES.tolist(), row, strict=True))) for row in draw(12_345, 1)[1].tolist()]
    (tmp_path / "new.jsonl").write_text("\n".join(lines))
    assert run("monitor", rule, tmp_path / "new.jsonl", "--json") == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["ok"], found["n_rows"]) == (True, 10_000)


def test_a_rule_that_keeps_nothing_is_refused(
    tmp_path: Path, scores: Callable[..., Path], capsys: pytest.CaptureFixture[str]
) -> None:
    thresholds.FixedRule(0.5, 5).save(tmp_path / "fixed.json")
    assert run("monitor", tmp_path / "fixed.json", scores()) == 1
    assert "fixed.json keeps nothing of the scores that it was fitted on" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ("platypus=0", "'platypus=0' is no condition, expected NAME=BOUND, NAME in grave, findings, moved, moved_sc"),
        ("grave=x", "grave has the bound 'x', expected a whole number of findings"),
        ("moved=0.5", "moved has the bound '0.5', expected a whole number of labels"),
        ("moved_share=2", "moved_share has the bound '2', expected a number from 0 to 1"),
    ],
)
def test_conditions_that_cannot_be_read(given: str, said: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        run("monitor", "rule.json", "s.npz", "--fail-on", given)
    assert f"argument --fail-on: {said}" in capsys.readouterr().err


def test_predict_says_what_has_changed_and_writes_all_the_same(
    rule: Path, scores: Callable[..., Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run("predict", rule, scores(lambda s: 3 * s), "-o", tmp_path / "out.npz") == 0
    out, err = capsys.readouterr()
    assert out.endswith("written to " + str(tmp_path / "out.npz") + "\n")
    assert err.splitlines()[0].startswith(
        "thresholds: warning: The scores are all about 2.99 times those that the rule was fitted on"
    )
    assert (tmp_path / "out.npz").exists()


def test_predict_notes_what_is_not_grave(
    rule: Path, scores: Callable[..., Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run("predict", rule, scores(lambda s: s + 0.15), "-o", tmp_path / "out.npz", "--strict") == 0
    err = capsys.readouterr().err
    assert err.startswith("thresholds: note: The scores are all about 0.")
    assert (tmp_path / "out.npz").exists()


def test_a_strict_predict_writes_nothing_that_is_gravely_wrong(
    rule: Path, scores: Callable[..., Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run("predict", rule, scores(expit), "-o", tmp_path / "out.npz", "--strict") == 3
    out, err = capsys.readouterr()
    assert out.endswith(" labels per row; not written\n")
    assert err.startswith("thresholds: failed: The scores look like probabilities")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["new.npz", "rule.json"]


def test_of_few_rows_predict_looks_at_the_range(
    rule: Path, scores: Callable[..., Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run("predict", rule, scores(lambda s: s[:, ::-1], 40), "-o", tmp_path / "out.npz") == 0
    assert capsys.readouterr().err == ""
    assert run("predict", rule, scores(lambda s: s + 100, 40), "-o", tmp_path / "out.npz") == 0
    assert "100% of the scores lie outside" in capsys.readouterr().err
