"""The command `annotate`: what it prints, that it equals the library, and what it refuses."""

import json
from pathlib import Path

import numpy as np
import pytest

import thresholds
from tests.words import flat
from thresholds._results.plain import plain
from thresholds.cli import main

NAMES = np.array(["cat", "dog", "emu"])


def run(*arguments: object) -> int:
    """Run a command."""
    return main([str(argument) for argument in arguments])


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """Scores of three labels, the last of them never true."""
    rng = np.random.default_rng(0)
    truth = (rng.random((600, 3)) < [0.2, 0.01, 0]).astype(np.uint8)
    path = tmp_path / "scores.npz"
    rows = np.arange(600)
    np.savez(
        path,
        y_true=truth,
        y_score=rng.normal(size=truth.shape) + 2 * truth,
        label_names=NAMES,
        calib_idx=rows[:400],
        test_idx=rows[400:],
    )
    return path


def test_the_plan_is_that_of_the_library(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    data = np.load(file)
    assert run("annotate", file, "--json", "--more-rows", 50) == 0
    found = json.loads(capsys.readouterr().out)
    plan = thresholds.plan_annotation(
        data["y_true"][:400], data["y_score"][:400], more_rows=50, label_names=NAMES.tolist()
    )
    assert found["table"] == plain(plan.table)
    assert found["rows"] == "no rule: the highest scores of the 400 rows of calib_idx, as many as are true"


def test_with_a_rule_its_test_rows_are_looked_at(
    file: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    data = np.load(file)
    rule = thresholds.fit_empirical(data["y_true"][:400], data["y_score"][:400], label_names=NAMES.tolist())
    rule.save(tmp_path / "rule.json")
    assert run("annotate", file, "--rule", tmp_path / "rule.json", "--top", 2) == 0
    out = flat(capsys.readouterr().out)
    assert "judged on the 200 rows of test_idx" in out
    assert flat(thresholds.plan_annotation(data["y_true"][400:], data["y_score"][400:], rule).to_text(2)) in out


def test_what_it_refuses(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("annotate", file, "--more-rows", 0) == 1
    assert "more_rows is 0, expected a whole number of at least 1" in capsys.readouterr().err
    assert run("annotate", file, "--min-f", 1) == 1
    assert "min_f is 1.0, expected a number between 0 and 1" in capsys.readouterr().err
    with pytest.raises(SystemExit):  # Rows count as independent, and groups would be forgotten in silence.
        run("annotate", file, "--groups", "patient")
    assert "unrecognized arguments: --groups patient" in capsys.readouterr().err
