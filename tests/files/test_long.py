"""Files with one label a line: rows, labels and scores as the lines say, and nothing where no line says anything."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import thresholds
from tests.words import flat
from thresholds import InputError, cli
from thresholds.files import ScoreFile, Wanted, gather, open_scores, read_labelled

Line = Mapping[str, object]
WINDOWS = ("File", "Start (s)", "End (s)")

# What a tool writes that finds birds, out of order; a second file says who was there.
FOUND: list[Line] = [
    {"File": "a.wav", "Start (s)": 0.0, "End (s)": 3.0, "Scientific name": "Turdus merula", "Confidence": 0.9},
    {"File": "b.wav", "Start (s)": 0.0, "End (s)": 3.0, "Scientific name": "Turdus merula", "Confidence": 0.1},
    {"File": "a.wav", "Start (s)": 3.0, "End (s)": 6.0, "Scientific name": "Parus major", "Confidence": 0.6},
    {"File": "a.wav", "Start (s)": 0.0, "End (s)": 3.0, "Scientific name": "Parus major", "Confidence": 0.3},
]
HEARD: list[Line] = [
    {"File": "a.wav", "Start (s)": 0, "End (s)": 3, "Scientific name": "Turdus merula"},
    {"File": "c.wav", "Start (s)": 0, "End (s)": 3, "Scientific name": "Parus major"},
]
NAMES = ("Parus major", "Turdus merula")


def lines(path: Path, rows: Sequence[object]) -> Path:
    """Write lines of JSON."""
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def dense(matrix: Any) -> list[list[float]]:
    """A sparse matrix as lists."""
    return [list(map(float, row)) for row in matrix.toarray()]


def read(folder: Path, found: Sequence[Line], heard: Sequence[Line] | None = None, **wanted: Any) -> ScoreFile:
    """Write files of lines, and read them."""
    path = lines(folder / "s.jsonl", found)
    truth_path = None if heard is None else lines(folder / "t.jsonl", heard)
    return gather(open_scores(path, Wanted(**wanted), truth_path=truth_path))


def test_windows_of_recordings_are_rows(tmp_path: Path) -> None:
    data = read(tmp_path, FOUND)
    assert data.label_names == NAMES
    assert dense(data.y_score) == [[0.3, 0.9], [0, 0.1], [0.6, 0]]
    assert data.y_true is None
    assert "rows by 'File', 'Start (s)', 'End (s)', labels in 'Scientific name'" in data.notes[0]
    source = open_scores(tmp_path / "s.jsonl")
    assert source.key_columns == WINDOWS
    assert source.keys().tolist() == [["a.wav", "0.0", "3.0"], ["b.wav", "0.0", "3.0"], ["a.wav", "3.0", "6.0"]]


def test_rows_and_labels_are_those_of_a_plain_loop(tmp_path: Path) -> None:
    """Whatever the order of the lines, and with blocks of a few of them."""
    rng = np.random.default_rng(2)
    cells = [(int(i), f"l{j}") for i in range(40) for j in range(6) if rng.random() < 0.3]
    order = rng.permutation(len(cells))
    found = [{"id": cells[k][0], "label": cells[k][1], "score": round(float(rng.random()), 3)} for k in order]
    data = read(tmp_path, found)
    rows = list(dict.fromkeys(line["id"] for line in found))
    names = sorted({str(line["label"]) for line in found})
    expected = [[0.0] * len(names) for _ in rows]
    for line in found:
        expected[rows.index(line["id"])][names.index(str(line["label"]))] = line["score"]  # type: ignore[call-overload]
    assert dense(data.y_score) == expected
    assert data.label_names == tuple(names)
    assert open_scores(tmp_path / "s.jsonl").keys().tolist() == rows


def test_a_row_that_only_the_truth_has_is_a_row_without_scores(tmp_path: Path) -> None:
    """What was heard and not found is missed: to leave such rows out would make every rule look better."""
    data = read(tmp_path, FOUND, HEARD)
    assert dense(data.y_score) == [[0.3, 0.9], [0, 0.1], [0.6, 0], [0, 0]]
    assert dense(data.y_true) == [[0, 1], [0, 0], [0, 0], [1, 0]]
    said = flat("\n".join(data.notes))
    assert "1 row of the truth has no line in s.jsonl: no label has a score there" in said
    assert "t.jsonl has no line for 2 rows of 4: no label is true there" in said


def test_the_truth_may_have_a_row_in_each_line(tmp_path: Path) -> None:
    wide = [
        {"File": "c.wav", "Start (s)": 0, "End (s)": 3, "Parus major": 0, "Turdus merula": 1},
        {"File": "a.wav", "Start (s)": 3, "End (s)": 6, "Parus major": 1, "Turdus merula": 0},
        {"File": "a.wav", "Start (s)": 0, "End (s)": 3, "Parus major": 1, "Turdus merula": 1},
        {"File": "b.wav", "Start (s)": 0, "End (s)": 3, "Parus major": 0, "Turdus merula": 0},
    ]
    data = read(tmp_path, FOUND, wide)
    assert np.asarray(data.y_true).tolist() == [[1, 1], [0, 0], [1, 0], [0, 1]]
    assert dense(data.y_score)[3] == [0, 0]
    with pytest.raises(InputError, match=r"key 'b.wav \| 0 \| 3' of s.jsonl is missing in t.jsonl"):
        read(tmp_path, FOUND, wide[:3])


def test_the_scores_may_have_a_row_in_each_line(tmp_path: Path) -> None:
    scores = [{"id": "x", "cat": 0.5, "dog": 0.25}, {"id": "y", "cat": 0.75, "dog": 0.5}]
    heard = [{"id": "y", "label": "dog"}, {"id": "z", "label": "cat"}, {"id": "y", "label": "dog"}]
    data = read(tmp_path, scores, heard, key="id")
    assert dense(data.y_true) == [[0, 0], [0, 1]]
    said = flat("\n".join(data.notes))
    assert "left out of t.jsonl: 1 row whose keys the scores do not have" in said
    assert "t.jsonl has no line for 1 row of 2" in said


def test_labels_without_names_are_positions(tmp_path: Path) -> None:
    np.savez(tmp_path / "s.npz", y_score=np.eye(3), id=np.array(["x", "y", "z"]))
    truth = lines(tmp_path / "t.jsonl", [{"id": "z", "label": 2}, {"id": "x", "label": 1}])
    data = gather(open_scores(tmp_path / "s.npz", Wanted(key="id", labels="label"), truth_path=truth))
    assert dense(data.y_true) == [[0, 1, 0], [0, 0, 0], [0, 0, 1]]
    lines(truth, [{"id": "z", "label": 3}])
    with pytest.raises(InputError, match=r"label '3' and s.npz has no names of labels, expected --label-names, or pos"):
        open_scores(tmp_path / "s.npz", Wanted(key="id", labels="label"), truth_path=truth)


def test_a_column_of_the_lines_may_be_the_truth(tmp_path: Path) -> None:
    both = [{"id": 1, "label": "a", "score": 0.5, "y_true": 1}, {"id": 2, "label": "b", "score": 0.1, "y_true": 0}]
    data = read(tmp_path, both)
    assert dense(data.y_true) == [[1, 0], [0, 0]]
    assert dense(data.y_score) == [[0.5, 0], [0, 0.1]]
    assert read_labelled(tmp_path / "s.jsonl").truth_key == "y_true"


def test_lines_of_truth_may_say_what_is_not_known(tmp_path: Path) -> None:
    scores = [{"id": "x", "cat": 0.5}, {"id": "y", "cat": 0.75}, {"id": "z", "cat": 0.75}]
    heard = [{"id": "y", "label": "cat", "y_true": None}, {"id": "x", "label": "cat", "y_true": 1}]
    data = read(tmp_path, scores, heard, key="id", unknown="nan")
    assert data.y_true.tolist() == [[1], [-1], [-1]]
    assert data.unknown == -1


def test_columns_are_asked_for_by_name(tmp_path: Path) -> None:
    odd = [{"clip": 1, "bird": "a", "p": 0.5, "day": 0.25}, {"clip": 2, "bird": "b", "p": 0.1, "day": 0.25}]
    data = read(tmp_path, odd, labels="bird", scores="p", key="clip")
    assert dense(data.y_score) == [[0.5, 0], [0, 0.1]]
    assert data.left_out == {"day": "numbers"}


def test_label_names_choose_labels_and_their_order(tmp_path: Path) -> None:
    data = read(tmp_path, FOUND, label_names=("Corvus corax", "Turdus merula"))
    assert dense(data.y_score) == [[0, 0.9], [0, 0.1], [0, 0]]
    assert "left out of s.jsonl: 2 lines of 1 label not in --label-names, 'Parus major'" in data.notes


def test_a_group_is_that_of_all_lines_of_a_row(tmp_path: Path) -> None:
    data = read(tmp_path, FOUND, groups="File")
    assert data.groups is not None
    assert data.groups.tolist() == ["a.wav", "b.wav", "a.wav"]
    mixed = [dict(line, who=k) for k, line in enumerate(FOUND)]
    with pytest.raises(InputError, match=r"--groups has 0 and 3 for the row 'a.wav \| 0 \| 3' of s.jsonl"):
        read(tmp_path, mixed, groups="who")


def test_a_table_of_labels_in_columns_is_none_of_these(tmp_path: Path) -> None:
    """Though one of its columns is called as labels are."""
    data = read(tmp_path, [{"species": "a", "y_score_cat": 0.5, "y_score_dog": 0.25}])
    assert np.asarray(data.y_score).tolist() == [[0.5, 0.25]]


@pytest.mark.parametrize(
    ("scores", "truth", "wanted", "message"),
    [
        pytest.param(
            [*FOUND, FOUND[0]],
            None,
            {},
            r"s.jsonl has several scores of the label 'Turdus merula' in the row 'a.wav \| 0 \| 3', expected one",
            id="a label twice in a row",
        ),
        pytest.param(
            [{"label": "a", "score": 0.5, "clip": 1, "day": 2}],
            None,
            {},
            "s.jsonl has one label a line, in columns 'clip', 'day', expected --key with each column",
            id="no column that tells rows apart",
        ),
        pytest.param(
            [{"label": "a", "score": 0.5, "id": 1, "row": 2}],
            None,
            {},
            "s.jsonl has one label a line, in columns 'id', 'row', expected --key",
            id="two columns that may tell rows apart",
        ),
        pytest.param(
            [{"bird": "a", "p": 0.5, "q": 0.25, "id": 1}],
            None,
            {"labels": "bird"},
            "s.jsonl may have its scores in 'p', 'q', expected one column of numbers as --score-column",
            id="two columns of scores",
        ),
        pytest.param(
            [{"label": "a", "score": 0.5, "id": 1}],
            None,
            {"labels": "bird"},
            "s.jsonl has no column 'bird', expected --label-column to be in 'label', 'score', 'id'",
            id="no such column",
        ),
        pytest.param(
            [{"label": "a", "score": 0.5, "id": 1}, {"label": "b", "score": None, "id": 1}],
            None,
            {},
            "column 'score' of s.jsonl has no value at row 1, expected one in each row",
            id="no score",
        ),
        pytest.param(
            [{**FOUND[0], "Confidence": "0,9"}, {**FOUND[1], "Confidence": "0,1"}],
            None,
            {},
            r"column 'Confidence' of s.jsonl is text \(row 0 has '0,9'\), expected numbers",
            id="scores with decimal commas, beside times that are numbers",
        ),
        pytest.param(
            [{"label": "a", "score": "90 %", "start": 1.5, "id": 1}],
            None,
            {"labels": "label"},
            r"column 'score' of s.jsonl is text \(row 0 has '90 %'\), expected numbers",
            id="scores of text, beside one column of numbers",
        ),
        pytest.param(
            [*FOUND, {**FOUND[0], "Scientific name": ""}],
            None,
            {},
            "column 'Scientific name' of s.jsonl is empty at row 4, expected the name of a label in each line",
            id="no label",
        ),
        pytest.param(
            FOUND,
            [*HEARD, {**HEARD[0], "Scientific name": ""}],
            {},
            "column 'Scientific name' of t.jsonl is empty at row 2, expected the name of a label in each line",
            id="truth of no label",
        ),
        pytest.param(
            FOUND,
            [{**HEARD[0], "Scientific name": "Corvus corax"}],
            {},
            "t.jsonl has 'Corvus corax', expected the labels of s.jsonl; --label-names names those to use",
            id="truth of another label",
        ),
        pytest.param(
            FOUND,
            [{**HEARD[0], "File": "z.wav"}],
            {},
            r"key 'a.wav \| 0 \| 3' of s.jsonl is missing in t.jsonl \(3 keys are\)",
            id="truth of no row",
        ),
        pytest.param(
            FOUND,
            [{**HEARD[0], "present": 1}, {**HEARD[1], "present": 0}],
            {},
            "column 'present' of t.jsonl may say whether the label in 'Scientific name' is true",
            id="truth in a column that nobody named",
        ),
        pytest.param(
            FOUND,
            [{**HEARD[0], "y_true": 1}, {**HEARD[0], "y_true": 0}],
            {},
            r"truth 'y_true' of t.jsonl has 1 and 0 for the label 'Turdus merula' in the row 'a.wav \| 0 \| 3'",
            id="truth that contradicts itself",
        ),
        pytest.param(
            FOUND,
            HEARD,
            {"unknown": -1},
            "--unknown is -1 with t.jsonl, whose lines name true labels",
            id="lists do not say what is not known",
        ),
        pytest.param(
            [{"id": "x", "cat": 0.5, "dog": 0.25}],
            [{"id": "x", "label": "cat"}],
            {},
            "t.jsonl has one label a line, in 'label', expected --key",
            id="truth without a key",
        ),
    ],
)
def test_what_is_not_clear_is_refused(
    tmp_path: Path, scores: list[Line], truth: list[Line] | None, wanted: dict[str, Any], message: str
) -> None:
    with pytest.raises(InputError, match=message) as caught:
        read(tmp_path, scores, truth, **wanted)
    assert "\n" not in str(caught.value)
    assert "expected" in str(caught.value)


# From the command line


def run(*arguments: object) -> int:
    """Call the command line in this process."""
    return cli.main([str(argument) for argument in arguments])


def test_a_rule_decides_files_that_lack_labels(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rng = np.random.default_rng(5)
    scores, truth = [], []
    for row in range(60):
        for label in NAMES:
            is_true = rng.random() < 0.4
            if is_true:
                truth.append({"row": row, "species": label})
            if rng.random() < 0.7:
                scores.append(
                    {"row": row, "species": label, "confidence": round(0.5 * rng.random() + 0.4 * is_true, 3)}
                )
    files = lines(tmp_path / "s.jsonl", scores), "--truth", lines(tmp_path / "t.jsonl", truth)
    assert run("fit", *files, "-o", tmp_path / "rule.json", "--cv", 2) == 0
    assert run("diagnose", *files, "--rule", tmp_path / "rule.json") == 0
    capsys.readouterr()
    rule = thresholds.load_rule(tmp_path / "rule.json")
    cut = rule.thresholds[rule.label_names.index("Turdus merula")]  # type: ignore[attr-defined, union-attr]

    few = [
        {"row": 7, "species": "Turdus merula", "confidence": 1.0},
        {"row": 3, "species": NAMES[1], "confidence": 0.0},
    ]
    lines(tmp_path / "few.jsonl", few)
    assert 0 < cut < 1
    assert run("predict", tmp_path / "rule.json", tmp_path / "few.jsonl", "-o", tmp_path / "d.csv") == 0
    assert (tmp_path / "d.csv").read_text() == "row,species\n7,Turdus merula\n"
    assert run("predict", tmp_path / "rule.json", tmp_path / "few.jsonl", "-o", tmp_path / "d.jsonl") == 0
    decided = [json.loads(line) for line in (tmp_path / "d.jsonl").read_text().splitlines()]
    assert decided == [{"row": 7, "labels": ["Turdus merula"]}, {"row": 3, "labels": []}]
    lines(tmp_path / "few.jsonl", [*few, {"row": 3, "species": "Corvus corax", "confidence": 0.5}])
    capsys.readouterr()
    assert run("predict", tmp_path / "rule.json", tmp_path / "few.jsonl", "-o", tmp_path / "d.csv") == 1
    assert "few.jsonl has 'Corvus corax', expected the labels of the rule" in flat(capsys.readouterr().err)
