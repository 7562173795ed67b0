"""Text tables as people have them: parted by semicolons or tabs, with decimal commas, with one label a line."""

import csv
import gzip
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import thresholds
from thresholds import InputError, cli
from thresholds.files import ScoreFile, Wanted, gather, open_scores

pytest.importorskip("pyarrow", reason="make test-integrations installs pyarrow")

BIRDS = """\
File,Start (s),End (s),Scientific name,Common name,Confidence
a.wav,0.0,3.0,Turdus merula,"Blackbird, Eurasian",0.9
a.wav,0.0,3.0,Parus major,Great Tit,0.25
007.wav,3.0,6.0,Parus major,Great Tit,0.5
"""


def run(*arguments: object) -> int:
    """Call the command line in this process."""
    return cli.main([str(argument) for argument in arguments])


def read(folder: Path, text: str, name: str = "s.csv", **wanted: Any) -> ScoreFile:
    """Write a file, and read it."""
    content = text.encode()
    (folder / name).write_bytes(gzip.compress(content) if name.endswith("gz") else content)
    return gather(open_scores(folder / name, Wanted(**wanted)))


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("s.csv", "cat,dog\n0.5,0.25\n0.75,1\n"),
        ("s.csv", "cat;dog\n0.5;0.25\n0.75;1\n"),
        ("s.csv", "cat\tdog\n0.5\t0.25\n0.75\t1\n"),
        ("s.tsv", "cat\tdog\n0.5\t0.25\n0.75\t1\n"),
        ("s.tsv.gz", "cat\tdog\n0.5\t0.25\n0.75\t1\n"),
        ("s.csv", "cat;dog\n0,5;0,25\n0,75;1\n"),
        ("s.csv", "cat;dog;note\n0,5;0,25;a, b\n0,75;1;c\n"),
        ("s.tsv", "cat\tdog\n0,5\t0,25\n0,75\t1\n"),
        ("s.csv", "\n\r\ncat;dog\n\n0,5;0,25\n0,75;1\n\n\n"),
        ("s.csv", "\ufeffcat;dog\r\n0,5;0,25\r\n0,75;1"),
        ("s.csv", '"cat";"dog";"x,y"\n0.5;0.25;a\n0.75;1;b\n'),
    ],
)
def test_cells_are_parted_by_commas_semicolons_or_tabs(tmp_path: Path, name: str, text: str) -> None:
    data = read(tmp_path, text, name)
    assert np.asarray(data.y_score).tolist() == [[0.5, 0.25], [0.75, 1]]
    assert data.label_names == ("cat", "dog")
    has_commas = "0,5" in text
    assert (f"numbers of {name} have decimal commas" in data.notes) == has_commas


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "cat;dog\n0,5;0.25\n0,75;0.5\n",
            "decimal commas in 'cat' and decimal points in 'dog', expected one of them",
        ),
        ("cat;dog\n0,5;0,25\n0.75;0,5\n", "s.csv has no scores in 'cat' .text.|column 'cat' of s.csv is text"),
        ("cat\n0,5\n", "has 2 cells at row 0"),
    ],
)
def test_points_and_commas_are_not_mixed(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        read(tmp_path, text)


def test_keys_are_text_whatever_parts_cells(tmp_path: Path) -> None:
    read(tmp_path, "id;cat\n007;0,5\n1,5;0,25\n", key="id")
    assert open_scores(tmp_path / "s.csv", Wanted(key="id")).keys().tolist() == ["007", "1,5"]


def test_what_a_finder_of_birds_writes(tmp_path: Path) -> None:
    data = read(tmp_path, BIRDS)
    assert data.label_names == ("Parus major", "Turdus merula")
    assert data.y_score.toarray().tolist() == [[0.25, 0.9], [0.5, 0]]
    assert data.left_out == {"Common name": "text"}
    assert open_scores(tmp_path / "s.csv").keys().tolist() == [["a.wav", "0.0", "3.0"], ["007.wav", "3.0", "6.0"]]


def test_long_tables_in_parquet_and_in_shards(tmp_path: Path) -> None:
    import pyarrow as pa
    from pyarrow import parquet

    lines = {"row": [3, 1, 3, 2], "label": ["b", "a", "a", "b"], "score": pa.array([0.5, 0.25, 1, 0], pa.float32())}
    table = pa.table(lines)
    parquet.write_table(table, tmp_path / "s.parquet")
    (tmp_path / "d").mkdir()
    for k in range(2):
        parquet.write_table(table.slice(2 * k, 2), tmp_path / "d" / f"{k}.parquet")
    for name in ("s.parquet", "d"):
        data = gather(open_scores(tmp_path / name))
        assert data.y_score.dtype == np.float32
        assert data.y_score.toarray().tolist() == [[1, 0.5], [0.25, 0], [0, 0]]
        assert data.y_score.nnz == 4
        assert open_scores(tmp_path / name).keys().tolist() == [3, 1, 2]


def test_rows_whose_lines_are_in_several_shards_are_fitted_as_one(tmp_path: Path) -> None:
    """By `fit_chunks`, which reads shards one by one where it may."""
    import pyarrow as pa
    from pyarrow import parquet

    rng = np.random.default_rng(9)
    truth = rng.random((80, 3)) < 0.4
    scores = np.round(0.5 * rng.random((80, 3)) + 0.4 * truth, 3)
    found = rng.permutation(np.flatnonzero(scores > 0.2))  # cells that have a line, in any order
    row, label = np.divmod(found, 3)
    lines = {"row": row, "label": [f"l{j}" for j in label], "score": scores[row, label], "y_true": truth[row, label]}
    for k in range(3):
        some = {name: values[k::3] for name, values in lines.items()}
        parquet.write_table(pa.table(some), tmp_path / f"{k}.parquet")
    data = gather(open_scores(tmp_path))
    fitted = thresholds.fit_empirical(data.y_true, data.y_score, keep_sparse=True)
    rule = thresholds.fit_chunks(tmp_path, keep_sparse=True)
    assert rule.thresholds.tolist() == fitted.thresholds.tolist()
    assert rule.fitted_on is not None
    assert fitted.fitted_on is not None
    assert rule.fitted_on.n_samples == fitted.fitted_on.n_samples == len(set(row.tolist()))


def test_label_numbers_are_names(tmp_path: Path) -> None:
    data = read(tmp_path, "id,label,score\nx,10,0.5\ny,9,0.25\n", labels="label")
    assert data.label_names == ("10", "9")


# Decisions


def test_decisions_are_a_column_for_each_label(tmp_path: Path) -> None:
    """They are read again as truth."""
    names = ("cat", 'do"g', "e, mu", " yak")
    scores = np.array([[0.9, 0.1, 0.6, 0.2], [0.1, 0.2, 0.3, 0.4], [1, 1, 1, 1]])
    np.savez(tmp_path / "s.npz", y_score=scores, label_names=np.array(names), id=np.array(["a", "b,c", ""]))
    thresholds.FixedRule(0.5, 4, label_names=names).save(tmp_path / "rule.json")
    given = ["predict", tmp_path / "rule.json", tmp_path / "s.npz"]
    assert run(*given, "--key", "id", "-o", tmp_path / "o.csv") == 0
    with open(tmp_path / "o.csv", newline="") as stream:
        rows = list(csv.reader(stream))
    assert rows[0] == ["id", *names]
    assert [row[0] for row in rows[1:]] == ["a", "b,c", ""]
    assert [list(map(int, row[1:])) for row in rows[1:]] == (scores >= 0.5).astype(int).tolist()
    again = gather(open_scores(tmp_path / "s.npz", Wanted(key="id"), truth_path=tmp_path / "o.csv"))
    assert np.asarray(again.y_true).tolist() == (scores >= 0.5).astype(int).tolist()
    assert run(*given, "-o", tmp_path / "bare.csv") == 0
    assert (tmp_path / "bare.csv").read_text() == 'cat,"do""g","e, mu"," yak"\n1,0,1,0\n0,0,0,0\n1,1,1,1\n'


def test_decisions_of_a_long_table_are_one(tmp_path: Path) -> None:
    read(tmp_path, BIRDS)
    rule = thresholds.FixedRule(0.5, 2, label_names=("Parus major", "Turdus merula"))
    rule.save(tmp_path / "rule.json")
    assert run("predict", tmp_path / "rule.json", tmp_path / "s.csv", "-o", tmp_path / "o.csv") == 0
    assert (tmp_path / "o.csv").read_text() == (
        "File,Start (s),End (s),Scientific name\na.wav,0.0,3.0,Turdus merula\n007.wav,3.0,6.0,Parus major\n"
    )
    for name in ("o.npz", "o.parquet"):
        assert run("predict", tmp_path / "rule.json", tmp_path / "s.csv", "-o", tmp_path / name) == 0
    assert np.load(tmp_path / "o.npz")["Start (s)"].tolist() == ["0.0", "3.0"]


def test_a_csv_of_decisions_is_written_whole_or_not_at_all(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    scores = np.full((9, 2), 0.5)
    scores[8, 1] = np.nan
    np.savez(tmp_path / "s.npz", y_score=scores)
    thresholds.FixedRule(0.5, 2).save(tmp_path / "rule.json")
    (tmp_path / "o.csv").write_text("old")
    assert run("predict", tmp_path / "rule.json", tmp_path / "s.npz", "-o", tmp_path / "o.csv") == 1
    assert "row 8" in capsys.readouterr().err
    assert (tmp_path / "o.csv").read_text() == "old"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["o.csv", "rule.json", "s.npz"]


def test_names_of_columns_are_not_taken_twice(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    np.savez(tmp_path / "s.npz", y_score=np.eye(2), label_names=np.array(["cat", "id"]), id=np.array(["a", "b"]))
    thresholds.FixedRule(0.5, 2, label_names=("cat", "id")).save(tmp_path / "rule.json")
    given = ["predict", tmp_path / "rule.json", tmp_path / "s.npz", "--key", "id"]
    assert run(*given, "-o", tmp_path / "o.csv") == 1
    assert "--key is 'id', a name that decisions are written under" in capsys.readouterr().err
    assert run(*given, "-o", tmp_path / "o.jsonl") == 0


def test_more_labels_than_a_csv_has_columns(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    np.savez(tmp_path / "s.npz", y_score=np.zeros((1, 65_537), np.float16))
    thresholds.FixedRule(0.5, 65_537).save(tmp_path / "rule.json")
    assert run("predict", tmp_path / "rule.json", tmp_path / "s.npz", "-o", tmp_path / "o.csv") == 1
    assert "would have columns for 65,537 labels, expected at most 65,536" in capsys.readouterr().err
    assert not (tmp_path / "o.csv").exists()
