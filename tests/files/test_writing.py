"""Decisions that are written: every format, whole or not at all, a csv in the dialect that was read."""

import csv
import io
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import sparse

from tests.words import flat
from thresholds import InputError
from thresholds.files.source import Dialect
from thresholds.files.writing import DecidedRows, write_blocks

NAMES = ("cat", "dog", "emu")
RNG = np.random.default_rng(3)
DECISIONS = (RNG.random((50, 3)) < 0.4).astype(np.uint8)
KEYS = np.array([f"row {k}" for k in range(50)])
BLOCKS = [slice(0, 20), slice(20, 21), slice(21, 50)]
POSITIONS = [np.flatnonzero(row).tolist() for row in DECISIONS]
LISTS = [[NAMES[place] for place in row] for row in POSITIONS]


def rows_of(path: Path, dialect: Dialect) -> list[list[str]]:
    """Read a csv as Python's own reader does."""
    text = path.read_bytes().decode(dialect.encoding)
    return list(csv.reader(io.StringIO(text, newline=""), delimiter=dialect.separator))


def matrix_of(path: Path) -> tuple[Any, Any]:
    """An `.npz` of decisions: the matrix, dense, and the archive."""
    written = np.load(path)
    parts = tuple(written[f"y_pred_{part}"] for part in ("data", "indices", "indptr"))
    return sparse.csr_array(parts, shape=written["y_pred_shape"]).toarray(), written


@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("names", [NAMES, None])
def test_decisions_are_written_block_by_block(kind: Any, names: Any, tmp_path: Path) -> None:
    def blocks() -> Iterator[DecidedRows]:
        return (DecidedRows(kind(DECISIONS[rows]), KEYS[rows]) for rows in BLOCKS)

    write_blocks(tmp_path / "out.npz", blocks(), 3, names, "id")
    matrix, written = matrix_of(tmp_path / "out.npz")
    np.testing.assert_array_equal(matrix, DECISIONS)
    assert {name: written[name].dtype.name for name in written.files if name.startswith("y_pred")} == {
        "y_pred_data": "uint8",
        "y_pred_indices": "int32",
        "y_pred_indptr": "int32",
        "y_pred_shape": "int64",
    }
    assert written["id"].tolist() == KEYS.tolist()
    assert ("label_names" in written.files) == (names is not None)

    labels = POSITIONS if names is None else LISTS
    expected = [{"id": key, "labels": row} for key, row in zip(KEYS.tolist(), labels, strict=True)]
    write_blocks(tmp_path / "out.jsonl", blocks(), 3, names, "id")
    assert [json.loads(line) for line in (tmp_path / "out.jsonl").read_text().splitlines()] == expected

    write_blocks(tmp_path / "out.csv", blocks(), 3, names, "id")
    header, *rows = rows_of(tmp_path / "out.csv", Dialect())
    assert header == ["id", *(names or "012")]
    assert rows == [[key, *map(str, row)] for key, row in zip(KEYS.tolist(), DECISIONS.tolist(), strict=True)]

    parquet = pytest.importorskip("pyarrow.parquet")
    write_blocks(tmp_path / "out.parquet", blocks(), 3, names, "id")
    assert parquet.read_table(tmp_path / "out.parquet").to_pylist() == expected


@pytest.mark.parametrize("suffix", ["npz", "jsonl", "csv", "parquet"])
def test_what_is_written_at_once_is_what_is_written_in_blocks(suffix: str, tmp_path: Path) -> None:
    if suffix == "parquet":
        parquet = pytest.importorskip("pyarrow.parquet")
    first, second = tmp_path / f"a.{suffix}", tmp_path / f"b.{suffix}"
    write_blocks(first, [DecidedRows(DECISIONS)], 3, NAMES)
    write_blocks(second, (DecidedRows(DECISIONS[rows]) for rows in BLOCKS), 3, NAMES)
    if suffix == "parquet":
        assert parquet.read_table(first).equals(parquet.read_table(second))
    else:
        assert first.read_bytes() == second.read_bytes()


def test_a_key_of_several_columns_may_be_called_as_anything(tmp_path: Path) -> None:
    keys = np.array([["a.wav", "0"], ["a.wav", "3"]], object)
    write_blocks(tmp_path / "out.npz", [DecidedRows(DECISIONS[:2], keys)], 3, NAMES, ("file", "allow_pickle"))
    matrix, written = matrix_of(tmp_path / "out.npz")
    np.testing.assert_array_equal(matrix, DECISIONS[:2])
    assert written["file"].tolist() == ["a.wav", "a.wav"]
    assert written["allow_pickle"].tolist() == ["0", "3"]


@pytest.mark.parametrize(
    ("name", "keys"),
    [
        ("out.jsonl", ["labels"]),
        ("out.parquet", ["labels"]),
        ("out.npz", ["y_pred", "y_pred_data", "y_pred_shape", "label_names"]),
        ("out.csv", ["cat", "emu"]),
    ],
)
def test_a_key_must_not_take_the_place_of_the_decisions(name: str, keys: list[str], tmp_path: Path) -> None:
    if name.endswith(".parquet"):
        pytest.importorskip("pyarrow")
    for key in keys:
        with pytest.raises(InputError, match=rf"^--key is '{key}', a name that decisions are written under"):
            write_blocks(tmp_path / name, [DecidedRows(DECISIONS, KEYS)], 3, NAMES, key)
    assert list(tmp_path.iterdir()) == []


def test_nothing_is_left_of_what_fails_halfway(tmp_path: Path) -> None:
    def blocks() -> Iterator[DecidedRows]:
        yield DecidedRows(DECISIONS)
        raise InputError("no more")

    for name in ("out.npz", "out.jsonl", "out.csv"):
        with pytest.raises(InputError, match="no more"):
            write_blocks(tmp_path / name, blocks(), 3, NAMES)
    assert list(tmp_path.iterdir()) == []


# Csv

DIALECTS = [
    Dialect(),
    Dialect(";", "utf-8-sig", "\r\n"),
    Dialect("\t", "utf-16", "\r\n"),
    Dialect(";", "cp1252", "\n"),
    Dialect("→", "utf-8", "\n"),
]
MARKS = {"utf-8-sig": b"\xef\xbb\xbf", "utf-16": "\ufeff".encode("utf-16")[:2]}


@pytest.mark.parametrize("dialect", DIALECTS, ids=lambda dialect: dialect.encoding)
def test_a_csv_is_written_in_the_dialect_that_was_read(dialect: Dialect, tmp_path: Path) -> None:
    names = ("Größe", 'a "b"', "x,y;z\tw")
    keys = np.array([f"é {k}" if k % 2 else f"{k};,\t{k}" for k in range(50)])
    blocks = (DecidedRows(DECISIONS[rows], keys[rows]) for rows in BLOCKS)
    write_blocks(tmp_path / "out.csv", blocks, 3, names, "Schlüssel", dialect=dialect)
    header, *rows = rows_of(tmp_path / "out.csv", dialect)
    assert header == ["Schlüssel", *names]
    assert rows == [[key, *map(str, row)] for key, row in zip(keys.tolist(), DECISIONS.tolist(), strict=True)]

    # There is one byte-order mark, and lines end as they did.
    content = (tmp_path / "out.csv").read_bytes()
    mark = MARKS.get(dialect.encoding, b"")
    assert content.startswith(mark)
    text = content.decode(dialect.encoding)
    assert "\ufeff" not in text
    assert text.count(dialect.line_end) == text.count("\n") == 51


def test_a_label_a_line_is_written_in_the_dialect_that_was_read(tmp_path: Path) -> None:
    dialect = Dialect(";", "utf-8-sig", "\r\n")
    keys = np.array([["a;b", "0"], ["c", "3,5"]])
    write_blocks(
        tmp_path / "out.csv",
        [DecidedRows(np.array([[1, 0, 1], [0, 1, 0]]), keys)],
        3,
        ("cat", "d;g", "emu"),
        ("file", "start"),
        "species",
        dialect=dialect,
    )
    assert (tmp_path / "out.csv").read_bytes() == (
        '\ufefffile;start;species\r\n"a;b";0;cat\r\n"a;b";0;emu\r\nc;3,5;"d;g"\r\n'.encode()
    )


def test_cells_that_would_be_read_otherwise_stand_in_quotes(tmp_path: Path) -> None:
    keys = np.array(["", " a", "a ", 'a"b', "a\nb", "#a", "a;b"])
    write_blocks(tmp_path / "out.csv", [DecidedRows(np.zeros((7, 1), np.uint8), keys)], 1, None, "id")
    assert (tmp_path / "out.csv").read_bytes().decode().partition("\n")[2] == (
        '"",0\n" a",0\n"a ",0\n"a""b",0\n"a\nb",0\n"#a",0\na;b,0\n'
    )


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ({"label_names": ("cat", "Ω")}, "cannot have the character 'Ω', which cp1252, the encoding of the scores,"),
        ({"label_names": ("cat", "Ω"), "label_column": "class"}, "cannot have the character 'Ω'"),
        ({"label_names": ("a", "b"), "key": "№"}, "cannot have the character '№'"),
        ({"label_names": ("a", "b"), "key": "id"}, "cannot have the character 'Ω'"),
    ],
)
def test_what_the_encoding_lacks_is_refused(more: dict[str, Any], said: str, tmp_path: Path) -> None:
    blocks = [DecidedRows(DECISIONS[:1, :2], np.array(["Ωmega"]) if "key" in more else None)]
    with pytest.raises(InputError) as refused:
        write_blocks(tmp_path / "out.csv", blocks, 2, **more, dialect=Dialect(encoding="cp1252"))
    assert said in str(refused.value)
    assert flat(str(refused.value)).endswith("expected a .jsonl, .parquet or .npz file, or scores in UTF-8")
    assert list(tmp_path.iterdir()) == []


def test_a_csv_has_no_more_columns_than_are_read(tmp_path: Path) -> None:
    wide = DecidedRows(np.zeros((1, 65_536), np.uint8), np.array(["a"]))
    write_blocks(tmp_path / "out.csv", [wide._replace(keys=None)], 65_536, None)
    with pytest.raises(InputError, match=r"columns for 65,536 labels, expected at most 65,535: a \.npz, \.parquet or"):
        write_blocks(tmp_path / "other.csv", [wide], 65_536, None, "id")
    assert [path.name for path in tmp_path.iterdir()] == ["out.csv"]


FORMULAS = ["=1+1", "+1", "-1", "@a", "\ta", "\ra", "a=1", "'=1"]


def test_formulas_are_written_as_they_are_and_quoted_on_request(tmp_path: Path) -> None:
    names = ("=cat", "dog")
    blocks = [DecidedRows(np.ones((8, 2), np.uint8), np.array(FORMULAS))]
    quoted = [*(f"'{text}" for text in FORMULAS[:6]), *FORMULAS[6:]]
    for quote, keys, head in ((False, FORMULAS, "=cat"), (True, quoted, "'=cat")):
        write_blocks(tmp_path / "out.csv", blocks, 2, names, "-id", quote_formulas=quote)
        header, *rows = rows_of(tmp_path / "out.csv", Dialect())
        assert header == [f"'{'-id'}" if quote else "-id", head, "dog"]
        assert rows == [[key, "1", "1"] for key in keys]
        write_blocks(tmp_path / "out.csv", blocks, 2, names, "id", "label", quote_formulas=quote)
        assert rows_of(tmp_path / "out.csv", Dialect())[1:3] == [[keys[0], head], [keys[0], "dog"]]
    with pytest.raises(
        InputError, match=r"^--quote-formulas is given with .*out\.npz, expected a file that ends in \.csv"
    ):
        write_blocks(tmp_path / "out.npz", blocks, 2, names, "id", quote_formulas=True)
