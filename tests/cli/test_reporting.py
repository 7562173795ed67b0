"""The command `report`: what it writes, prints and refuses."""

import json
from pathlib import Path

import numpy as np
import pytest

import thresholds
from tests.cli.test_cli import NAMES, make, refused, run
from tests.words import flat
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
    assert run("report", path, "-o", page, "--title", "Four animals", "--rule", "macro, in-sample") == 0
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
        (["-o", "report.html", "--split", "all"], "--split is 'all' with --rule 'macro, shrink'"),
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


# What rows have in common


def patients(n_rows: int = 60) -> np.ndarray:
    """Two rows each of a patient."""
    return np.repeat(np.arange(n_rows // 2), 2)


@pytest.mark.parametrize(
    ("command", "advice"),
    [
        (["fit", "-o", "new.json"], "if rows of one are alike, say so with --groups patient_id"),
        (["report", "-o", "page.html"], "if rows of one are alike, say so with --groups patient_id"),
        (["compare"], "if rows of one are alike, say so with --groups patient_id"),
        (["diagnose"], "verdicts are too bold; thresholds report --groups patient_id counts groups"),
    ],
)
def test_a_column_that_looks_like_groups_is_pointed_out(
    command: list[str],
    advice: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    make(Path("s.npz"), patient_id=patients())
    name, *more = command
    assert run(name, "s.npz", *more) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert "column 'patient_id' has 30 values in 60 rows: " in said
    assert advice in said

    # Who names groups, or a command that asks for none, hears nothing of it.
    assert run("predict", "new.json", "s.npz", "-o", "d.npz") == 0 if name == "fit" else True
    if name in ("fit", "report"):
        assert run(name, "s.npz", *more, "--groups", "patient_id") == 0
    assert "has 30 values" not in capsys.readouterr().out


@pytest.mark.parametrize(
    "column",
    [
        {"patient_id": np.arange(60)},  # nothing repeats
        {"patient_id": np.zeros(60, int)},  # all are one
        {"patient_id": np.arange(30)},  # not one a row
        {"weekday": patients()},  # called otherwise
        {"patient_id": patients() / 2},  # measured, not counted
    ],
)
def test_other_columns_are_not_taken_for_groups(
    column: dict[str, np.ndarray], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run("diagnose", make(tmp_path / "s.npz", **column)) == 0
    assert "are alike" not in capsys.readouterr().out


def test_a_column_of_a_table_is_pointed_out(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    data = read_labelled(make(tmp_path / "s.npz"))
    keys = [*(f"y_score_{name}" for name in NAMES), *(f"y_true_{name}" for name in NAMES), "author"]
    rows = zip(data.y_score.tolist(), data.y_true.tolist(), patients(), strict=True)
    lines = [
        json.dumps(dict(zip(keys, [*scores, *truth, f"writer {author}"], strict=True)))
        for scores, truth, author in rows
    ]
    path = tmp_path / "s.jsonl"
    path.write_text("\n".join(lines), encoding="utf-8")
    assert run("diagnose", path) == 0
    assert "column 'author' has 30 values in 60 rows" in capsys.readouterr().out


def test_a_broken_array_that_nobody_asks_for_is_passed_over(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    names = np.array([f"{'patient':>99}{k:02d}" for k in patients()])
    path = make(tmp_path / "s.npz", patient_id=names)
    content = path.read_bytes()
    place = content.rindex(names[-1:].tobytes())
    path.write_bytes(content[:place] + b"!" + content[place + 1 :])
    assert run("diagnose", path) == 0
    assert "are alike" not in capsys.readouterr().out


def test_the_bar_is_an_option(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path, page = make(tmp_path / "s.npz"), tmp_path / "report.html"
    assert run("report", path, "-o", page, "--min-f", "0.9", "--min-skill", "0.1") == 0
    assert "Good enough is an F1 of at least 0.9" in capsys.readouterr().out
    assert "Good enough is an F1 of at least 0.9" in page.read_text(encoding="utf-8")
    assert "min_f is 2.0, expected a number" in refused(capsys, "report", path, "-o", page, "--min-f", "2")


def test_lines_on_where_a_page_comes_from_are_whole(tmp_path: Path) -> None:
    arrays = {f"something_else_{k}": np.zeros(3) for k in range(5)}
    path, page = make(tmp_path / "s.npz", **arrays), tmp_path / "report.html"
    assert run("report", path, "-o", page) == 0
    listed = ", ".join(f"'something_else_{k}' (float64)" for k in range(5))
    assert f"left out: {listed}</li>".replace("'", "&#39;") in page.read_text(encoding="utf-8")


def test_verdicts_that_count_rows_say_so_where_groups_are_given(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = make(tmp_path / "s.npz", patient=np.repeat(np.arange(30), 2))
    assert run("fit", path, "-o", tmp_path / "r.json", "--groups", "patient") == 0
    assert "verdicts count rows, which is too bold where rows of a group are alike" in flat(capsys.readouterr().out)


def test_a_row_without_a_group_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = [{"y_score_a": k / 8, "y_true_a": k % 2, "patient": name} for k, name in enumerate(("x", " ", "x", "y"))]
    path = tmp_path / "s.jsonl"
    path.write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    assert "column 'patient' of s.jsonl has no value at row 1, expected one in each row" in refused(
        capsys, "fit", path, "--groups", "patient", "-o", tmp_path / "r.json"
    )
