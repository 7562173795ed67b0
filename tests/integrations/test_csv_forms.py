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


def read(folder: Path, text: str, name: str = "s.csv", written: str = "utf-8", **wanted: Any) -> ScoreFile:
    """Write a file in an encoding, and read it."""
    content = text.encode(written)
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
        ("s.csv.gz", "cat,dog\n0.5,0.25\n0.75,1\n"),
        ("s.csv", "cat|dog\n0.5|0.25\n0.75|1\n"),
        ("s.tsv", "cat,dog\n0.5,0.25\n0.75,1\n"),
        ("s.txt", "cat\tdog\n0.5\t0.25\n0.75\t1\n"),
        ("s.txt", "cat;dog\n0,5;0,25\n0,75;1\n"),
        ("s.csv", "sep=;\ncat;dog\n0.5;0.25\n0.75;1\n"),
        ("s.csv", "sep=|\r\ncat|dog\r\n0.5|0.25\r\n0.75|1\r\n"),
        ("s.csv", "\ufeffSEP=,\ncat,dog\n0.5,0.25\n0.75,1\n"),
        ("s.csv", "note;x;cat;dog\na, b;c, d;0.5;0.25\ne, f;g, h;0.75;1\n"),
        ("s.csv", "id,note;s,cat,dog\n=1,a; b,0.5,0.25\n=2,c,0.75,1\n"),
        ("s.csv", 'id, cat, dog, note\nx, 0.5, 0.25, "a, b"\ny, 0.75, 1, c\n'),
        # Nothing behind the last name, and no rows behind the last cell.
        ("s.csv", "cat;dog;;\n0.5;0.25;;\n0.75;1;;\n"),
        ("s.csv", "cat;dog\n0.5;0.25;;\n0.75;1;;\n"),
        ("s.csv", "cat;dog;;\n0.5;0.25\n0.75;1\n"),
        ("s.csv", "cat,dog,\n0.5,0.25,\n0.75,1,\n,,\n,,\r\n,,"),
        ("s.csv", "cat;dog\n0,5;0,25\n0,75;1\n;\n;\n"),
        # Comments; the last may be the header.
        ("s.csv", "# made on Sunday\n#\n# n=2\ncat,dog\n0.5,0.25\n0.75,1\n"),
        ("s.csv", "# of cats, dogs\ncat,dog\n0.5,0.25\n0.75,1\n"),
        ("s.csv", "# made on Sunday\n# cat,dog\n0.5,0.25\n0.75,1\n"),
        ("s.tsv", "#cat\tdog\n0.5\t0.25\n0.75\t1\n"),
        # Numbers as spreadsheets show them.
        ("s.csv", "cat;dog\n50 %;25 %\n75%;100 %\n"),
        ("s.csv", "cat,dog\n50%,0.25\n75%,1\n"),
        ("s.csv", "cat;dog\n0,500;2,5E-1\n+0,75;1\n"),
        ("s.csv", "cat;dog\n0,500;0,250\n0,750;1,000\n"),
    ],
)
def test_cells_are_parted_by_commas_semicolons_or_tabs(tmp_path: Path, name: str, text: str) -> None:
    data = read(tmp_path, text, name)
    assert np.asarray(data.y_score).tolist() == [[0.5, 0.25], [0.75, 1]]
    assert data.label_names == ("cat", "dog")
    has_commas = "0,5" in text
    assert (f"numbers of {name} have decimal commas" in data.notes) == has_commas
    assert (f"numbers of {name} with a percent sign are divided by 100" in data.notes) == ("%" in text)


NAMED = "Käse;Öl\n0,5;0,25\n0,75;1\n"


@pytest.mark.parametrize(
    ("written", "encoding"),
    [
        ("utf-8", None),
        ("utf-8-sig", None),
        ("utf-8-sig", "utf-8"),
        ("utf-8-sig", "cp1252"),  # a mark says what a file is; the option may be about the other file
        ("utf-16", None),
        ("utf-16", "cp1252"),
        ("utf-16-le", "utf-16-le"),
        ("utf-16-be", "utf-16-be"),
        ("cp1252", "cp1252"),
        ("mac-roman", "mac-roman"),
    ],
)
def test_text_is_in_the_encoding_of_its_mark_or_of_the_option(
    written: str, encoding: str | None, tmp_path: Path
) -> None:
    for name in ("s.csv", "s.csv.gz"):
        data = read(tmp_path, NAMED, name, written, encoding=encoding)
        assert data.label_names == ("Käse", "Öl")
        assert np.asarray(data.y_score).tolist() == [[0.5, 0.25], [0.75, 1]]


@pytest.mark.parametrize("written", ["cp1252", "utf-16-le", "utf-16-be"])
def test_another_encoding_is_asked_for_and_the_advice_works(written: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=rf"s.csv is not in UTF-8 .*, such as --encoding {written}$"):
        read(tmp_path, NAMED, written=written)
    assert read(tmp_path, NAMED, written=written, encoding=written).label_names == ("Käse", "Öl")
    with pytest.raises(InputError, match=r"column 'id' of s.csv has text that is not UTF-8 at row 1, .*--encoding"):
        read(tmp_path, "id;a\nx;0,5\n\xe4;0,25\n", written="cp1252", key="id")
    # What is left out may be in any.
    assert read(tmp_path, "note;a\nx;0,5\n\xe4;0,25\n", written="cp1252").label_names == ("a",)


@pytest.mark.parametrize("absent", ["", "NA", "NaN", "#NV", "#N/A", " "])
def test_absent_cells_among_decimal_commas(absent: str, tmp_path: Path) -> None:
    text = f"a;b\n0,5;{absent}\n0,25;0,5\n"
    with pytest.raises(InputError, match=r"column 'b' of s.csv has no value at row 0, label 'b'"):
        read(tmp_path, text)
    assert np.asarray(read(tmp_path, text, drop_unscored=True).y_score).tolist() == [[0.25, 0.5]]


def test_rows_without_cells_are_rows_in_the_middle_of_a_file(tmp_path: Path) -> None:
    """So that the truth of the others stays theirs."""
    text = "a,b\n.9,.1\n,\n,\n.7,.3\n,\n,\n"
    with pytest.raises(InputError, match=r"column 'a' of s.csv has no value at row 1, label 'a'"):
        read(tmp_path, text)
    data = read(tmp_path, text, drop_unscored=True)
    assert np.asarray(data.y_score).tolist() == [[0.9, 0.1], [0.7, 0.3]]
    assert "left out: 2 rows of 4, in which a label has no score" in data.notes


def test_one_column_has_no_separator(tmp_path: Path) -> None:
    for text in ("a\n.5\n.25\n", "a\n.5\n\n.25\n\n", "a;\n0,5;\n0,25;\n", '"a"\n"0.5"\n"0.25"', "# of a\na\n.5\n.25\n"):
        assert np.asarray(read(tmp_path, text).y_score).tolist() == [[0.5], [0.25]]


def test_a_header_may_have_ends_of_lines_in_quotes(tmp_path: Path) -> None:
    for end in ("\n", "\r\n"):
        text = f'id;"Score{end}a";"Score{end}b"{end}x;0,5;0,25{end}'
        data = read(tmp_path, text, key="id")
        assert data.label_names == (f"Score{end}a", f"Score{end}b")
        assert np.asarray(data.y_score).tolist() == [[0.5, 0.25]]


def test_quotes_behind_spaces_are_quotes(tmp_path: Path) -> None:
    """As AudioSet's; its header begins as a comment does."""
    text = '# YTID, speech, music, positive_labels\n--PJ, .75, .25, "music,speech"\nx, .5, .125, "music"\n'
    asked: dict[str, Any] = {"key": "YTID", "label_separator": ",", "truth": "positive_labels"}
    data = read(tmp_path, text, label_names=("speech", "music"), **asked)
    assert np.asarray(data.y_score).tolist() == [[0.75, 0.25], [0.5, 0.125]]
    assert data.y_true is not None
    assert data.y_true.toarray().tolist() == [[1, 1], [0, 1]]
    assert data.keys is not None
    assert data.keys.tolist() == ["--PJ", "x"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (".5,.25\n.75,1\n", "s.csv has '.5' in its first line, expected a header"),
        ("0.5\n0.25\n", "s.csv has '0.5' in its first line, expected a header"),
        ("# a,b\n0,1\n.5,.25\n", "has '0,1' below '# a,b', either of which may be the header, expected no comment"),
        ("# run 3, 4\n7,8\n.5,.25\n", "has '7,8' below '# run 3, 4', either of which may be the header"),
        ("a,b\n.5,.25\n# end\n", "has 1 cell at row 1 .*; comments may stand before the header alone"),
        ("a,b\r.5,.25\r", r"s.csv has lines that end as on old Macs \(\\r\)"),
        ("a,b\n.5,.25,1\n", "has 3 cells at row 0 .*, expected 2 as in its header"),
        ("a,b,\n.5,.25,\n.5,.25,1\n", "a column without a name of s.csv has '1' at row 1, expected nothing behind"),
        ("a;b\n1.234,5;0,5\n1,0;0,2\n", "column 'a' of s.csv is text, though its first values look like numbers"),
        ("a;b\n1,234;1,100\n2,500;3,125\n", "column 'a' of s.csv is text, though its first values look like numbers"),
        ('a,b\n"1,234.5",.5\n"2,000.5",.5\n', "column 'a' of s.csv is text, though its first values look like numbers"),
        ("a;b\n5 %;0,5\n5;0,25\n", "column 'a' of s.csv is text, though 1 of its first 2 values are numbers"),
        ("a;b\n50%;0.5\n12,5%;0.1\n", "column 'b' of s.csv has '0.5' at row 0, expected a number with a decimal comma"),
    ],
)
def test_what_may_be_read_in_two_ways_is_refused(text: str, message: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=message):
        read(tmp_path, text)


def test_tables_without_quotes_may_have_single_ones(tmp_path: Path) -> None:
    """Tools for languages write tabs and no quotes: two rows must not become one."""
    text = "id\ttext\ta\n1\tso {}Hi\t.5\n2\t{}you{}\t.25\n3\tx\t.125\n"
    data = read(tmp_path, text.format('"', "", '"'), "s.tsv", key="id")
    assert np.asarray(data.y_score).tolist() == [[0.5], [0.25], [0.125]]
    with pytest.raises(InputError, match="has a cell in quotes with tabs and ends of lines in it"):
        read(tmp_path, text.replace("so {}", '"').format("", '"'), "s.tsv", key="id")


# Behind the first megabyte

ROWS = 110_000  # of at least 20 bytes


def long_text(*more: str, row: str = "1,,0,0.50000000000", at: int = ROWS) -> str:
    """A csv of more than two megabytes, with other rows in it somewhere."""
    rows = [row] * ROWS
    rows[at:at] = more
    return "\n".join(["id,note,a,b", *rows, ""])


@pytest.mark.parametrize("at", [0, ROWS // 2, ROWS - 1, ROWS])
@pytest.mark.parametrize("row", ['"x,,0,0.5', 'x,"late,0,0.5', 'x,,0.5,"0.25'])
def test_a_quote_that_is_never_closed_swallows_no_rows(at: int, row: str, tmp_path: Path) -> None:
    for wanted in ({"key": "id"}, {}):
        with pytest.raises(InputError, match=r"s\.csv .*(quotation mark|at row \d+)"):
            read(tmp_path, long_text(row, at=at), label_names=("a", "b"), **wanted)


@pytest.mark.parametrize(
    ("first", "later"), [("", "x"), ("1", "x"), ("true", "maybe"), ("2024-01-01", "x"), ("9:30", "x")]
)
def test_text_may_begin_late(first: str, later: str, tmp_path: Path) -> None:
    """In keys, and in what is left out; scores are numbers from the first row on, whole ones or others."""
    text = long_text(f"x9,{later},0.25,1", row=f"1,{first},0,0.50000000000")
    data = read(tmp_path, text, label_names=("a", "b"), groups="id")
    assert np.asarray(data.y_score)[[0, -1]].tolist() == [[0, 0.5], [0.25, 1]]
    assert data.groups is not None
    assert (data.groups[0], data.groups[-1]) == ("1", "x9")
    assert "note" in data.left_out
    data = read(tmp_path, text, label_names=("a", "b"), key="note")
    assert data.keys is not None
    assert (data.keys[0], data.keys[-1]) == (first, later)


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ("1,,0,high", "column 'b' of s.csv has 'high' at row 110000, expected a number"),
        ("1,,,0.5", "column 'a' of s.csv has no value at row 110000, label 'a'"),
        ("1,,0", "s.csv has 3 cells at row 110000 .*, expected 4"),
        ("1,,0,0.5,7", "s.csv has 5 cells at row 110000 .*, expected 4"),
    ],
)
def test_what_is_wrong_late_is_said_with_its_row(row: str, message: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=message):
        read(tmp_path, long_text(row), label_names=("a", "b"))


def test_cells_behind_the_last_name_are_refused_wherever_they_are(tmp_path: Path) -> None:
    """So many as a comma in a text without quotes makes."""
    text = long_text("1,2,0,0.5,0.25", row="1,,0,0.50000000000,").replace("a,b\n", "a,b,\n")
    with pytest.raises(
        InputError, match=r"a column without a name of s.csv has '0.25' at row 110000, expected nothing"
    ):
        read(tmp_path, text, label_names=("a", "b"))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "cat;dog\n0,5;0.25\n0,75;0.5\n",
            "column 'dog' of s.csv has '0.25' at row 0, expected a number with a decimal comma",
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
    rule = thresholds.fit_chunks(tmp_path, guard=None, keep_sparse=True)
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


def test_labels_with_a_comma_each_are_not_parted_by_it(tmp_path: Path) -> None:
    data = read(tmp_path, "Schmerz, akut;Husten, akut\n0,5;0,25\n0,125;0,75\n")
    assert data.label_names == ("Schmerz, akut", "Husten, akut")
    np.testing.assert_array_equal(data.y_score, [[0.5, 0.25], [0.125, 0.75]])


def test_a_mark_of_inches_is_no_quotation(tmp_path: Path) -> None:
    data = read(tmp_path, 'id,5" tube,b\n' + 2_000 * "1,0.5,0.25\n", label_names=('5" tube', "b"))
    assert data.y_score.shape == (2_000, 2)


def test_percent_signs_are_in_all_shards_or_in_none(tmp_path: Path) -> None:
    (tmp_path / "shards").mkdir()
    (tmp_path / "shards" / "0.csv").write_text("a;b\n50%;20%\n")
    (tmp_path / "shards" / "1.csv").write_text("a;b\n50;20\n")
    with pytest.raises(InputError, match=r"has number in the column .a., expected number with a percent sign"):
        gather(open_scores(tmp_path / "shards"))


@pytest.mark.parametrize("name", ["s.csv", "s.jsonl"])
def test_other_files_that_are_called_text_are_named(name: str, tmp_path: Path) -> None:
    (tmp_path / name).write_bytes(b"PAR1\x15\x04\x15")
    with pytest.raises(InputError, match=rf"{name} begins as a parquet file does, expected text, or another suffix"):
        open_scores(tmp_path / name)


def test_a_link_to_nothing_is_no_shard(tmp_path: Path) -> None:
    (tmp_path / "shards").mkdir()
    (tmp_path / "shards" / "0.csv").write_text("a\n0.5\n")
    (tmp_path / "shards" / "1.csv").symlink_to(tmp_path / "nowhere.csv")
    with pytest.raises(InputError, match=r"1.csv is a link to no file, expected a shard"):
        open_scores(tmp_path / "shards")


def test_rows_without_cells_take_no_time_to_pass_over(tmp_path: Path) -> None:
    data = read(tmp_path, "id,a\n1,.5\n" + 20_000 * ",\n" + "x,.75\n", key="id", drop_unscored=True)
    assert data.y_score.tolist() == [[0.5], [0.75]]
