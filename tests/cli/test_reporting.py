"""The command `report`: what it writes, prints and refuses."""

from pathlib import Path

import numpy as np
import pytest

import thresholds
from tests.cli.test_cli import NAMES, make, refused, run
from thresholds.files import read_labelled


def test_a_saved_rule_is_judged_on_the_test_rows(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path, rule, page = make(tmp_path / "s.npz"), tmp_path / "rule.json", tmp_path / "report.html"
    assert run("fit", path, "-o", rule) == 0
    capsys.readouterr()
    assert run("report", path, "--rule", rule, "-o", page) == 0
    data = read_labelled(path)
    expected = thresholds.make_report(data.y_true[1::2], data.y_score[1::2], thresholds.load_rule(rule))
    printed = capsys.readouterr().out
    title = "s.npz: which labels may be relied on"
    assert printed == f"{str(expected).replace(expected.content.title, title)}\n\nsaved as {page}\n"
    text = page.read_text(encoding="utf-8")
    for said in (
        title,
        f"{rule}, judged on the 30 rows of test_idx",
        f"thresholds report {path} --rule {rule} -o {page}",
    ):
        assert said in text


def test_without_a_rule_one_is_fitted_on_the_calibration_rows(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path, page = make(tmp_path / "s.npz"), tmp_path / "report.html"
    assert run("report", path, "-o", page, "--title", "Four animals", "--guard", "none") == 0
    data = read_labelled(path)
    found = thresholds.cross_fit(data.y_true[::2], data.y_score[::2], guard=None, label_names=NAMES.tolist())
    expected = thresholds.make_report(data.y_true[1::2], data.y_score[1::2], found.rule, title="Four animals")
    assert capsys.readouterr().out.startswith(str(expected))
    assert "fitted on 30 rows, judged on 30 others: calib_idx and test_idx of the file" in page.read_text()


def test_an_old_rule_is_held_against_the_new_one(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path, page = make(tmp_path / "s.npz"), tmp_path / "report.html"
    old, new = tmp_path / "old.json", tmp_path / "new.json"
    assert run("fit", path, "-o", new) == 0
    thresholds.load_rule(new).replace({"dog": 0.9}).save(old)
    assert run("report", path, "--rule", new, "--against", old, "-o", page) == 0
    assert "Of 4 thresholds, 1 moved" in page.read_text()
    assert capsys.readouterr().err == ""


def test_groups_widen_intervals_also_where_the_file_names_both_halves(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    # Two rows after one another are the same.
    data = np.load(make(tmp_path / "s.npz"))
    patient = np.repeat(np.arange(30), 2)
    twice = {name: data[name][patient] for name in ("y_true", "y_score")}
    path = make(tmp_path / "twice.npz", **twice, patient=patient, calib_idx=np.arange(30), test_idx=np.arange(30, 60))
    widths = []
    for more in ([], ["--groups", "patient"]):
        assert run("report", path, *more, "-o", tmp_path / "report.html") == 0
        micro = next(line for line in capsys.readouterr().out.splitlines() if line.startswith("micro F1"))
        lower, _, upper = micro.split()[3:6]
        widths.append(float(upper) - float(lower))
    assert widths[1] > 1.2 * widths[0]


@pytest.mark.parametrize(
    ("more", "said"),
    [
        (["-o", "report.pdf"], "--output is a file with the ending '.pdf', expected .html"),
        (["-o", "report.html", "--split", "all"], "--split is 'all' without --rule"),
        (["-o", "report.html", "--rule", "rule.json", "--beta", "2"], "--beta is 2.0 with --rule"),
        (["-o", "report.html", "--rule", "rule.json", "--missing", "1"], "--missing is 1.0 with --rule"),
        (["-o", "report.html", "--against", "other.json"], "against has 3 labels, expected 4 as the rule has"),
        (["-o", "s.npz"], "--output is a file with the ending '.npz'"),
    ],
)
def test_what_does_not_go_is_refused_before_anything_is_written(
    more: list[str],
    said: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    path = make(Path("s.npz"))
    thresholds.ThresholdRule([0.5] * 4, label_names=NAMES.tolist()).save("rule.json")
    thresholds.ThresholdRule([0.5] * 3).save("other.json")
    assert said in refused(capsys, "report", path, *more)
    assert sorted(file.name for file in tmp_path.iterdir()) == ["other.json", "rule.json", "s.npz"]


def test_a_page_never_takes_the_place_of_what_is_read(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    old = tmp_path / "old.html"  # a rule, whatever it is called
    thresholds.ThresholdRule([0.5] * 4).save(old)
    path = make(tmp_path / "s.npz")
    assert "old.html" in refused(capsys, "report", path, "--against", old, "-o", old)


def test_bytes_of_a_name_that_are_no_text_are_written_as_escapes(tmp_path: Path) -> None:
    path = make(tmp_path / "s.npz").rename(tmp_path / "s\udcff.npz")
    assert run("report", path, "-o", tmp_path / "report.html") == 0
    assert r"s\udcff.npz: which labels" in (tmp_path / "report.html").read_text(encoding="utf-8")
