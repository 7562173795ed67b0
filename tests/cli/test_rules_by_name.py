"""`rules` lists what `fit --rule` fits, `fit --best` chooses among; what `fit` says of rules without thresholds."""

from pathlib import Path

import numpy as np
import pytest

import thresholds
from tests.cli.test_cli import make, run, strict_json
from thresholds._results.text import unwrapped, wrapped


def test_rules_lists_all_of_them_and_how_to_fit_one(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("rules") == 0
    lines = capsys.readouterr().out.splitlines()
    names = [line.split("  ")[0] for line in lines[2:] if not line.startswith(" ")]
    assert names[: len(thresholds.RULES)] == list(thresholds.RULES)
    assert "thresholds fit SCORES --rule NAME -o RULE.json fits one" in lines
    assert run("rules", "--json") == 0
    listed = strict_json(capsys.readouterr().out)["rules"]
    assert [rule["name"] for rule in listed] == list(thresholds.RULES)
    assert {"options", "exactness", "invariance", "cost"} <= set(listed[0])


def test_a_rule_that_is_not_fitted_has_a_figure_out_of_fold(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path, file = make(tmp_path / "s.npz"), tmp_path / "rule.json"
    assert run("fit", path, "--rule", "fixed 0.5", "-o", file) == 0
    data = np.load(path)
    rows = data["calib_idx"]
    found = thresholds.cross_fit(data["y_true"][rows], data["y_score"][rows], rule="fixed 0.5")
    assert f"\nfixed 0.5, macro F1: in-sample {found.in_sample:.4f}, out of fold {found.out_of_fold:.4f} (5 folds" in (
        capsys.readouterr().out
    )


def test_a_rule_behind_its_name_is_broken_once(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path, file = make(tmp_path / "s.npz"), tmp_path / "rule.json"
    assert run("fit", path, "--rule", "macro, in-sample", "-o", file) == 0
    printed = capsys.readouterr().out
    said = printed[printed.index("macro, in-sample: ") : printed.index("\nfolds by ")]
    assert wrapped(unwrapped(said)) == said


def test_alternatives_are_those_of_thresholds(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path, file = make(tmp_path / "s.npz"), tmp_path / "rule.json"
    assert run("fit", path, "--rule", "top-k", "--alternatives", "-o", file) == 1
    refused = "--alternatives is given with --rule 'top-k', which has none; expected --best, which tries all rules"
    assert refused in capsys.readouterr().err
    assert not file.exists()
    assert run("fit", path, "--rule", "macro, shrink", "--alternatives", "-o", file) == 0


def test_best_says_what_was_chosen_and_saves_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path, file = make(tmp_path / "s.npz"), tmp_path / "rule.json"
    assert run("fit", path, "--best", "samples", "-o", file) == 0
    out = capsys.readouterr().out
    data = np.load(path)
    rows = data["calib_idx"]
    names = data["label_names"].tolist()
    found = thresholds.select_rule(data["y_true"][rows], data["y_score"][rows], "samples", label_names=names)
    assert f"\n{found.to_text(6)}\n" in out
    np.testing.assert_array_equal(
        thresholds.load_rule(file).predict(data["y_score"]), found.rule.predict(data["y_score"])
    )


def test_what_counts_as_right_without_positives_is_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path, file = make(tmp_path / "s.npz"), tmp_path / "rule.json"
    said = "\na label, or row, with neither positives nor predictions counts as F 1\n"
    assert run("fit", path, "--rule", "top-k", "--zero-division", "1", "-o", file) == 0
    assert said in capsys.readouterr().out
    assert run("fit", path, "--rule", "top-k", "-o", file) == 0
    assert said not in capsys.readouterr().out
