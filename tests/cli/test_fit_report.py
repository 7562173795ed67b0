"""`fit`: what it says of the rule, as text and as JSON, and what the file of the rule keeps of it."""

import re
from pathlib import Path

import numpy as np
import pytest

import thresholds
from tests.cli.test_cli import NAMES, known_and_not, make, run, strict_json
from tests.words import flat


def few_rows(path: Path) -> Path:
    """Write few positives of many labels, whose scores are comparable: one threshold does better than many."""
    rng = np.random.default_rng(1)
    truth = (rng.random((120, 60)) < 0.02).astype(np.uint8)
    np.savez(path, y_true=truth, y_score=rng.normal(size=truth.shape) + 3 * truth)
    return path


# Text


@pytest.mark.parametrize("name", ["fixed 0.5", "macro, label-free", "macro"])
def test_fit_shows_both_figures_of_which_the_optimism_is_the_difference(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A rule that was fitted on no labels has no objective, or one that is no F-measure of these rows."""
    path = make(tmp_path / "s.npz", split=False)
    assert run("fit", path, "--rule", name, "-o", tmp_path / "rule.json") == 0
    out = capsys.readouterr().out
    data = np.load(path)
    found = thresholds.cross_fit(data["y_true"], data["y_score"], rule=name, label_names=NAMES)
    assert "macro F1" in out
    for figure in (found.in_sample, found.out_of_fold, found.optimism):
        assert f"{figure:.4f}" in out


@pytest.mark.parametrize("cv", ["0", "2"])
@pytest.mark.parametrize(
    ("given", "message"),
    [
        (
            ["--rule", "micro", "--average", "macro"],
            "average is 'macro' with rule 'micro, pool', which is for 'micro'; expected a rule for 'macro': 'macro, ",
        ),
        (
            ["--rule", "macro, shrink", "--guard", "none"],
            "guard is None with rule 'macro, shrink'; expected a rule without a guard, as 'macro, in-sample'",
        ),
    ],
)
def test_what_is_written_and_contradicts_the_name_is_refused(
    given: list[str], message: str, cv: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Also where it is what the library takes by itself."""
    path = make(tmp_path / "s.npz")
    assert run("fit", path, *given, "--cv", cv, "-o", tmp_path / "rule.json") == 1
    assert message in capsys.readouterr().err


@pytest.mark.parametrize("given", [["--cv", "5"], ["--groups", "patient"]])
def test_options_of_folds_are_refused_where_there_is_no_truth(
    given: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = make(tmp_path / "s.npz", y_true=None, patient=np.arange(60) // 2)
    by_name = ["--rule", "macro, label-free", "-o", tmp_path / "rule.json"]
    assert run("fit", path, *by_name) == 0
    assert run("fit", path, *by_name, *given) == 1
    assert "with a file without truth, which has no use for it" in capsys.readouterr().err


def test_nothing_is_chosen_on_a_single_row_or_group(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = make(tmp_path / "s.npz", split=False, patient=np.zeros(60, np.int64))
    assert run("fit", path, "--best", "macro", "--groups", "patient", "-o", tmp_path / "rule.json") == 1
    assert "s.npz has 1 group to fit on, expected 2 or more to choose by" in capsys.readouterr().err


def test_fit_says_which_labels_may_be_relied_on(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = known_and_not(tmp_path / "s.npz", 1, 4)
    assert run("fit", path, "-o", tmp_path / "rule.json") == 0
    out = capsys.readouterr().out
    data = np.load(path)
    names = data["label_names"].tolist()
    found = thresholds.cross_fit(data["y_true"], data["y_score"], label_names=names)
    assert f"Which labels may be relied on, by the decisions out of fold:\n{found.verdicts.to_text(0)}\n" in out
    assert re.search(r"^usable +\d", out, re.MULTILINE)
    assert re.search(r"^useless +\d.*do not mark it", out, re.MULTILINE)


def test_without_folds_nothing_is_said_of_labels(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The rows of the fit would flatter the rule."""
    path = known_and_not(tmp_path / "s.npz", 1, 4)
    assert run("fit", path, "--cv", "0", "-o", tmp_path / "rule.json") == 0
    out = capsys.readouterr().out
    assert "usable" not in out
    assert "ranks backwards" in out


def test_probabilities_are_judged_by_the_truth_where_there_is_some(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path, file = make(tmp_path / "s.npz"), tmp_path / "rule.json"
    assert run("fit", path, "--expected", "-o", file) == 0
    out = capsys.readouterr().out
    data = np.load(path)
    rows = data["calib_idx"]
    found = thresholds.diagnose(data["y_true"][rows], data["y_score"][rows], thresholds.load_rule(file))
    start = "Which labels may be relied on, by their truth, which was not fitted:"
    assert f"{start}\n{found.verdicts.to_text(0)}\n" in out
    make(tmp_path / "no truth.npz", y_true=None)
    assert run("fit", tmp_path / "no truth.npz", "--expected", "-o", file) == 0
    assert "relied on" not in capsys.readouterr().out


def test_fit_names_a_simpler_rule_that_is_better(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = few_rows(tmp_path / "s.npz")
    given = ["fit", path, "-o", tmp_path / "rule.json"]
    assert run(*given) == 0
    said = re.search(
        r" one threshold for all labels reaches (\S+) out of fold, (\S+) more \(standard error (\S+)\): --shared ",
        flat(capsys.readouterr().out),
    )
    assert float(said[2]) > float(said[3])
    assert run(*given, "--shared") == 0
    out = flat(capsys.readouterr().out)
    assert f"out of fold {said[1]}" in out
    assert "standard error" not in out


def test_what_to_write_for_a_better_guard(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rng = np.random.default_rng(1)
    truth = (rng.random((300, 30)) < 0.02).astype(np.uint8)
    scores = rng.normal(size=truth.shape) + 2 * truth
    np.savez(tmp_path / "s.npz", y_true=truth, y_score=scores * np.arange(1, 31) + 10 * np.arange(30))
    assert run("fit", tmp_path / "s.npz", "--guard", "none", "-o", tmp_path / "rule.json") == 0
    assert re.search(r" the guard shrink reaches .*: --guard auto ", flat(capsys.readouterr().out))


def test_other_rules_of_many_scores_are_tried_if_asked_for(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    path = few_rows(tmp_path / "s.npz")
    given = ["fit", path, "-o", tmp_path / "rule.json"]
    monkeypatch.setattr("thresholds.cli.fitting._FEW", 120 * 60 - 1)
    assert run(*given) == 0
    assert "standard error" not in capsys.readouterr().out
    assert run(*given, "--alternatives") == 0
    assert "--shared" in capsys.readouterr().out


# JSON


def test_fit_prints_nothing_but_json(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path, file = known_and_not(tmp_path / "s.npz", 1, 9), tmp_path / "rule.json"
    assert run("fit", path, "--json", "-o", file) == 0
    printed = strict_json(capsys.readouterr().out)
    data = np.load(path)
    found = thresholds.cross_fit(
        data["y_true"], data["y_score"], label_names=data["label_names"].tolist(), alternatives=True
    )
    rule = thresholds.load_rule(file)
    assert (printed["file"], printed["rule"], printed["rows"]) == ("s.npz", str(file), "all 800 rows")
    assert (printed["average"], printed["guard"], printed["objective"]) == ("macro", "shrink", rule.objective)
    folds = printed["cross_fit"]
    assert (folds["in_sample"], folds["out_of_fold"]) == (found.in_sample, found.out_of_fold)
    assert (folds["optimism"], folds["n_folds"], folds["how"]) == (found.optimism, 5, found.how)
    assert folds["apart"] == found.thresholds_apart()
    assert [other["out_of_fold"] for other in folds["alternatives"]] == [f.out_of_fold for f in found.alternatives]
    assert [other["flags"] for other in folds["alternatives"]] == ["--shared"]
    assert printed["verdicts"] == found.verdicts.counts
    assert printed["fitted_on_these_rows"] is False
    assert sum(printed["states"].values()) == 12
    assert printed["states"]["platypus"] == found.diagnosis.platypus.sum()
    assert printed["warnings"] == found.diagnosis.in_brief().splitlines()
    report = found.rule.guard_report
    assert printed["guard_report"]["n_moved"] == report.moved.sum()
    assert f"moved {printed['guard_report']['n_moved']} of 12 thresholds" in str(report)
    assert [label["name"] for label in printed["labels"]] == data["label_names"].tolist()
    assert [label["sentence"] for label in printed["labels"]] == found.diagnosis.table["sentence"].tolist()
    assert [label["threshold"] for label in printed["labels"]] == rule.thresholds.tolist()


def test_json_of_a_fit_without_folds(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = make(tmp_path / "s.npz")
    assert run("fit", path, "--cv", "0", "--json", "-o", tmp_path / "rule.json") == 0
    printed = strict_json(capsys.readouterr().out)
    assert printed["cross_fit"] is None
    assert printed["fitted_on_these_rows"] is True
    assert [label["name"] for label in printed["labels"]] == NAMES.tolist()


@pytest.mark.parametrize("average", ["macro", "samples"])
@pytest.mark.parametrize("with_truth", [False, True])
def test_json_of_a_fit_on_probabilities(
    average: str, with_truth: bool, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = make(tmp_path / "s.npz", **({} if with_truth else {"y_true": None}))
    assert run("fit", path, "--expected", "--average", average, "--json", "-o", tmp_path / "rule.json") == 0
    printed = strict_json(capsys.readouterr().out)
    rule = thresholds.load_rule(tmp_path / "rule.json")
    assert printed["objective"] == rule.objective
    assert printed["cross_fit"] is None
    assert (printed["calibration"] is not None) == with_truth
    assert (printed["labels"] is not None) == (with_truth or average == "macro")


def test_labels_without_positives_are_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    truth = np.load(make(tmp_path / "s.npz"))["y_true"]
    truth[:, 2] = 0
    path = make(tmp_path / "s.npz", y_true=truth)
    assert run("fit", path, "--json", "-o", tmp_path / "rule.json") == 0
    assert strict_json(capsys.readouterr().out)["unsupported"] == [NAMES[2]]


# What the file keeps


def test_the_rule_says_which_file_it_comes_from(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path, file = make(tmp_path / "s.npz"), tmp_path / "rule.json"
    assert run("fit", path, "--average", "weighted", "-o", file) == 0
    made_by = thresholds.load_rule(file).made_by
    assert made_by.options == {"average": "weighted", "guard": "auto"}
    assert (made_by.file, made_by.scores, made_by.truth) == ("s.npz", "y_score", None)
    assert (made_by.rows, made_by.logits) == ("the 30 rows of calib_idx", False)
    assert re.fullmatch(r"\d{4}-\d\d-\d\d", made_by.date)
    capsys.readouterr()
    assert run("diagnose", path, "--rule", file) == 0
    assert f"; from s.npz, the 30 rows of calib_idx, on {made_by.date}" in capsys.readouterr().out


def test_the_rule_says_that_logits_were_turned_into_probabilities(tmp_path: Path) -> None:
    np.savez(tmp_path / "s.npz", y_score=np.random.default_rng(0).normal(size=(40, 2)))
    np.savez(tmp_path / "t.npz", y_true=np.arange(80).reshape(40, 2) % 3 == 0)
    given = [tmp_path / "s.npz", "--truth", tmp_path / "t.npz", "--logits"]
    assert run("fit", *given, "-o", tmp_path / "rule.json") == 0
    made_by = thresholds.load_rule(tmp_path / "rule.json").made_by
    assert (made_by.truth, made_by.logits) == ("t.npz", True)
