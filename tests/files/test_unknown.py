"""Truth that is not known in some cells, from files of every form: read as -1, or refused by name of the option."""

import csv
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import sparse

from thresholds import InputError
from thresholds.files import LabelledFile, Wanted, gather_labelled, open_scores, read_labelled

NAMES = ("cat", "dog", "emu")
SCORES = np.random.default_rng(7).random((40, 3)).round(3)
# 0, 1, and -1 where nobody knows; the first row is known, row 5 not at all.
TRUTH = np.random.default_rng(8).choice([0, 1, -1], (40, 3), p=[0.5, 0.3, 0.2]).astype(np.int8)
TRUTH[0] = [1, 0, 1]
TRUTH[5] = -1
N_UNKNOWN = int((TRUTH == -1).sum())

NAN = np.where(TRUTH == -1, np.nan, TRUTH)
Save = Callable[[Path], Path]


def npz(truth: Any) -> Save:
    def save(folder: Path) -> Path:
        np.savez(folder / "s.npz", y_score=SCORES, y_true=truth, label_names=np.array(NAMES))
        return folder / "s.npz"

    return save


def sparse_npz(truth: Any) -> Save:
    """Truth as CSR: what is not known is stored."""
    matrix = sparse.csr_array(truth)
    parts = {"data": matrix.data, "indices": matrix.indices, "indptr": matrix.indptr, "shape": matrix.shape}
    stored = {f"y_true_{part}": np.asarray(value) for part, value in parts.items()}

    def save(folder: Path) -> Path:
        np.savez(folder / "s.npz", y_score=SCORES, **stored)
        return folder / "s.npz"

    return save


def comma_separated(word: str, suffix: str = "s.csv") -> Save:
    """A column for each label; `word` where the truth is not known."""

    def save(folder: Path) -> Path:
        pytest.importorskip("pyarrow", reason="make test-integrations installs pyarrow")
        with open(folder / suffix, "w", newline="") as file:
            writer = csv.writer(file)
            writer.writerow([f"y_score_{name}" for name in NAMES] + [f"y_true_{name}" for name in NAMES])
            for scores, truth in zip(SCORES, TRUTH, strict=True):
                writer.writerow([*scores, *(word if cell == -1 else cell for cell in truth)])
        return folder / suffix

    return save


def lines(absent: object, *, form: str) -> Save:
    """Lines of JSON, truth as a list, a mapping or a key for each label; without the key where `absent` is ...."""

    def save(folder: Path) -> Path:
        with open(folder / "s.jsonl", "w") as file:
            for scores, truth in zip(SCORES.tolist(), TRUTH.tolist(), strict=True):
                cells = [absent if cell == -1 else cell for cell in truth]
                row: dict[str, object] = {"y_score": dict(zip(NAMES, scores, strict=True))}
                if form == "list":
                    row["y_true"] = None if set(cells) == {None} else cells
                elif form == "mapping":
                    row["y_true"] = dict(zip(NAMES, cells, strict=True))
                else:
                    row |= {f"y_true_{n}": c for n, c in zip(NAMES, cells, strict=True) if c is not ...}
                file.write(json.dumps(row) + "\n")
        return folder / "s.jsonl"

    return save


def parquet(form: str, type_: str, rows: slice = slice(None), name: str = "s.parquet") -> Save:
    """A table of Arrow: a column for each label, or of lists, with nulls."""

    def save(folder: Path) -> Path:
        pa = pytest.importorskip("pyarrow", reason="make test-integrations installs pyarrow")
        from pyarrow import parquet

        columns: dict[str, Any] = {f"y_score_{n}": SCORES[rows, k] for k, n in enumerate(NAMES)}
        cells = [[None if cell == -1 else type(TRUE[type_])(cell) for cell in row] for row in TRUTH[rows].tolist()]
        value = getattr(pa, type_)()
        if form == "wide":
            for k, label in enumerate(NAMES):
                columns[f"y_true_{label}"] = pa.array([row[k] for row in cells], value)
        else:
            lists = pa.list_(value) if form == "lists" else pa.list_(value, 3)
            columns["y_true"] = pa.array([None if set(row) == {None} else row for row in cells], lists)
        parquet.write_table(pa.table(columns), folder / name, row_group_size=7)
        return folder / name

    return save


TRUE = {"int8": 1, "float32": 1.0, "bool_": True}

FILES: dict[str, tuple[Save, object]] = {
    "npz, NaN": (npz(NAN), "nan"),
    "npz, float32 NaN": (npz(NAN.astype(np.float32)), np.nan),
    "npz, -1": (npz(TRUTH), -1),
    "npz, -100": (npz(np.where(TRUTH == -1, -100, TRUTH)), -100),
    "npz, CSR with NaN": (sparse_npz(NAN), "nan"),
    "npz, CSR with -1": (sparse_npz(TRUTH), -1),
    "csv, empty": (comma_separated(""), "nan"),
    "csv, NA": (comma_separated("NA"), "nan"),
    "csv, nan": (comma_separated("nan"), "nan"),
    "csv, -1": (comma_separated("-1"), -1),
    "jsonl, lists with null": (lines(None, form="list"), "nan"),
    "jsonl, mappings with null": (lines(None, form="mapping"), "nan"),
    "jsonl, keys with null": (lines(None, form="wide"), "nan"),
    "jsonl, keys that are absent": (lines(..., form="wide"), "nan"),
    "jsonl, NaN": (lines(float("nan"), form="list"), "nan"),
    "jsonl, lists with -1": (lines(-1, form="list"), -1),
    "parquet, whole numbers": (parquet("wide", "int8"), "nan"),
    "parquet, floats": (parquet("wide", "float32"), "nan"),
    "parquet, truth values": (parquet("wide", "bool_"), "nan"),
    "parquet, lists": (parquet("lists", "int8"), "nan"),
    "parquet, lists of truth values": (parquet("lists", "bool_"), "nan"),
    "parquet, lists of one length": (parquet("fixed lists", "float32"), "nan"),
}
# Arrays are checked by whoever uses them, tables where they are read.
TABLES = {name: file for name, file in FILES.items() if not name.startswith("npz")}
each_table = pytest.mark.parametrize(("save", "unknown"), TABLES.values(), ids=TABLES.keys())
each_file = pytest.mark.parametrize(("save", "unknown"), FILES.values(), ids=FILES.keys())


def check(data: LabelledFile) -> None:
    truth = data.y_true.toarray() if sparse.issparse(data.y_true) else data.y_true
    np.testing.assert_array_equal(truth, TRUTH)
    assert truth.dtype == np.int8
    assert data.unknown == -1
    assert data.notes[-1] == (
        f"truth of {N_UNKNOWN} of 120 cells ({100 * N_UNKNOWN / 120:.0f} %) is not known; they are left out"
    )


@each_file
def test_what_is_not_known_is_minus_one(save: Save, unknown: object, tmp_path: Path) -> None:
    check(read_labelled(save(tmp_path), "y_score", unknown=unknown))


@each_file
def test_truth_in_another_file(save: Save, unknown: object, tmp_path: Path) -> None:
    np.savez(tmp_path / "scores.npz", y_score=SCORES, label_names=np.array(NAMES))
    wanted = Wanted(truth="y_true", unknown=unknown)
    check(gather_labelled(open_scores(tmp_path / "scores.npz", wanted, truth_path=save(tmp_path))))


@each_table
def test_without_the_option_it_is_refused_by_name(save: Save, unknown: object, tmp_path: Path) -> None:
    path = save(tmp_path)
    with pytest.raises(InputError, match=r"; --unknown=(-1|nan) if that is not known$"):
        read_labelled(path)


@each_file
def test_another_value_than_the_file_has_is_refused(save: Save, unknown: object, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"at row [15](, label .*)?, expected"):
        read_labelled(save(tmp_path), unknown=-7)


def test_a_file_that_knows_every_cell_says_so(tmp_path: Path) -> None:
    known = np.abs(TRUTH)
    data = read_labelled(npz(known)(tmp_path), unknown=-1)
    np.testing.assert_array_equal(data.y_true, known)
    assert data.unknown is None
    assert data.notes == ("the truth of every cell is known",)


def test_a_file_that_is_not_asked_says_nothing(tmp_path: Path) -> None:
    data = read_labelled(npz(np.abs(TRUTH))(tmp_path))
    assert data.unknown is None
    assert data.notes == ()


@pytest.mark.parametrize("tags", [[["cat"], [], ["dog", "emu"]], [[0], [], [1, 2]]], ids=["names", "positions"])
@pytest.mark.parametrize("unknown", ["nan", -1])
def test_lists_of_true_labels_cannot_say_what_is_not_known(tags: Any, unknown: object, tmp_path: Path) -> None:
    rows = [{"y_score": dict(zip(NAMES, (0.1, 0.2, 0.3), strict=True)), "y_true": row} for row in tags]
    (tmp_path / "s.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    message = rf"^--unknown is {unknown!r} with truth 'y_true' of s.jsonl, whose lists have the true labels of a row"
    with pytest.raises(InputError, match=message):
        read_labelled(tmp_path / "s.jsonl", unknown=unknown)
    read_labelled(tmp_path / "s.jsonl")


@pytest.mark.parametrize("unknown", [0, 1, True, "NaN", "none", np.inf, [], ("nan", 0), "nan,-1"])
def test_what_cannot_stand_for_it_is_refused_before_a_file_is_read(unknown: object, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"^unknown is .*, expected 'nan', a number other than 0 and 1"):
        read_labelled(tmp_path / "not there.npz", unknown=unknown)


def test_shards_some_of_which_lack_no_value(tmp_path: Path) -> None:
    # As pandas writes them: whole numbers where all cells have a value, floats where some have none.
    (tmp_path / "shards").mkdir()
    known = slice(0, 1)
    parquet("wide", "int8", known, "part-0.parquet")(tmp_path / "shards")
    parquet("wide", "float32", slice(1, None), "part-1.parquet")(tmp_path / "shards")
    check(read_labelled(tmp_path / "shards", unknown="nan"))
    with pytest.raises(InputError, match=r"has float in the column 'y_true_cat', expected int8"):
        read_labelled(tmp_path / "shards")


def test_truth_of_other_rows_by_key(tmp_path: Path) -> None:
    order = np.random.default_rng(0).permutation(40)
    np.savez(tmp_path / "scores.npz", y_score=SCORES, id=np.arange(40), label_names=np.array(NAMES))
    with open(tmp_path / "truth.jsonl", "w") as file:
        for row in [*order.tolist(), 99]:
            cells = [None] * 3 if row == 99 else [None if cell == -1 else cell for cell in TRUTH[row].tolist()]
            file.write(json.dumps({"id": row, **dict(zip(NAMES, cells, strict=True))}) + "\n")
    wanted = Wanted(key="id", unknown="nan")
    check(gather_labelled(open_scores(tmp_path / "scores.npz", wanted, truth_path=tmp_path / "truth.jsonl")))


def test_truth_of_a_label_without_scores_is_not_left_out(tmp_path: Path) -> None:
    np.savez(tmp_path / "scores.npz", y_score=SCORES[:2, :2], label_names=np.array(NAMES[:2]))
    rows = [{"cat": 1, "dog": None, "emu": None}, {"cat": 0, "dog": 1, "emu": 1}]
    (tmp_path / "truth.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    with pytest.raises(InputError, match=r"^truth 'label columns' of truth.jsonl has 'emu', expected the same labels"):
        open_scores(tmp_path / "scores.npz", Wanted(unknown="nan"), truth_path=tmp_path / "truth.jsonl")


def test_scores_without_a_value_stay_refused(tmp_path: Path) -> None:
    rows = [{"y_score": [0.1, None], "y_true": [1, None]}]
    (tmp_path / "s.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    with pytest.raises(
        InputError, match=r"^column 'y_score' of s.jsonl has no value at row 0, label 1, expected one in"
    ):
        read_labelled(tmp_path / "s.jsonl", unknown="nan")
