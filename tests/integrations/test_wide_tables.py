"""Wide tables without a prefix: which columns are labels, what is left out, and decimals."""

import builtins
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from thresholds.files import Wanted, gather, open_scores

pa = pytest.importorskip("pyarrow", reason="make test-integrations installs pyarrow")
parquet = pytest.importorskip("pyarrow.parquet", reason="make test-integrations installs pyarrow")

CAT = [0.5, 0.25, 0.125]
LEFT_OUT = {
    "text": (pa.array(["a1", "7", "b2"]), "text"),
    "words by number": (pa.array(["a", "b", "a"]).dictionary_encode(), "text"),
    "dates": (pa.array([1, 2, 3], pa.date32()), "date32[day]"),
    "times": (pa.array([1, 2, 3], pa.timestamp("ns", "UTC")), "timestamp[ns, tz=UTC]"),
    "bytes": (pa.array([b"a", b"b", b"c"]), "binary"),
    "structs": (pa.array([{"a": "x"}] * 3), "struct<a: string>"),
    "text with gaps": (pa.array(["0.5", None, "0.5"]), "text"),
    "lists": (pa.array([[b"a"], [], []]), "lists of binary"),
}


def written(folder: Path, **columns: Any) -> Path:
    """A parquet file."""
    parquet.write_table(pa.table(columns), folder / "s.parquet")
    return folder / "s.parquet"


@pytest.mark.parametrize("what", LEFT_OUT)
def test_columns_of_no_numbers_are_left_out_and_listed(what: str, tmp_path: Path) -> None:
    other, said = LEFT_OUT[what]
    source = open_scores(written(tmp_path, cat=CAT, other=other, dog=CAT[::-1]))
    assert source.label_names == ("cat", "dog")
    assert source.notes == ("every column of numbers is a label: 'cat', 'dog'", f"left out: 'other' ({said})")


NUMBERS = {
    "half": pa.array(np.array(CAT, np.float16)),
    "numbers by number": pa.array(CAT).dictionary_encode(),
    "decimals": pa.array([Decimal("0.5"), Decimal("0.25"), Decimal("0.125")]),
    "wide decimals": pa.array([Decimal("0.5"), Decimal("0.25"), Decimal("0.125")], pa.decimal256(60, 40)),
}


@pytest.mark.parametrize("what", NUMBERS)
def test_columns_of_numbers_of_any_type_are_labels(what: str, tmp_path: Path) -> None:
    source = open_scores(written(tmp_path, cat=CAT[::-1], dog=NUMBERS[what]))
    assert gather(source).y_score[:, 1].tolist() == CAT
    assert source.left_out == {}


def test_decimals_are_the_nearest_floats(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    digits = [f"0.{rng.integers(10**18)}{rng.integers(10**18):018}" for _ in range(300)]
    cells = pa.array([Decimal(text) for text in digits], pa.decimal128(38, 36))
    found = gather(open_scores(written(tmp_path, cat=cells))).y_score
    assert found[:, 0].tolist() == [float(text) for text in digits]
    lists = pa.ListArray.from_arrays(range(301), cells)
    assert gather(open_scores(written(tmp_path, p=lists))).y_score.tolist() == found.tolist()


def test_truth_may_be_decimals(tmp_path: Path) -> None:
    ones = pa.array([Decimal(1), Decimal(0), Decimal(1)])
    data = gather(open_scores(written(tmp_path, y_score_cat=CAT, y_true_cat=ones)))
    assert data.y_true is not None
    assert data.y_true.tolist() == [[1], [0], [1]]


@pytest.mark.parametrize("index", [None, "id", "cat id"])
def test_an_index_that_pandas_writes_is_no_label(index: str | None, tmp_path: Path) -> None:
    frame = pd.DataFrame({"cat": [7, 2, 5], "dog": [1, 2, 3]}, index=pd.Index([10, 20, 30], name=index))
    frame.to_parquet(tmp_path / "s.parquet")
    frame.to_csv(tmp_path / "s.csv")
    pd.read_csv(tmp_path / "s.csv").to_csv(tmp_path / "again.csv")
    for name in ("s.parquet", *(("s.csv", "again.csv") if index is None else ())):
        source = open_scores(tmp_path / name)
        assert source.label_names == ("cat", "dog"), name
        assert gather(source).y_score.tolist() == [[7, 1], [2, 2], [5, 3]]
        assert source.left_out.keys() <= {index, "", "Unnamed: 0", "__index_level_0__"}
        assert source.left_out


def test_labels_that_are_asked_for_leave_out_the_others_of_the_truth(tmp_path: Path) -> None:
    (tmp_path / "s.csv").write_text("cat,dog\n0.5,0.25\n")
    (tmp_path / "t.csv").write_text("owl,dog,note,cat\n1,0,1,1\n")
    source = open_scores(tmp_path / "s.csv", Wanted(label_names=("cat", "dog")), truth_path=tmp_path / "t.csv")
    data = gather(source)
    assert data.y_true is not None
    assert data.y_true.tolist() == [[1, 0]]
    assert source.notes[0] == "left out of t.csv: 'owl' (number), 'note' (number)"


WRITERS = {
    ".csv": lambda frame, path: frame.to_csv(path, index=False),
    ".parquet": lambda frame, path: frame.to_parquet(path, index=False),
    ".feather": lambda frame, path: frame.to_feather(path),
    ".jsonl": lambda frame, path: frame.to_json(path, orient="records", lines=True),
}


@pytest.mark.parametrize("suffix", WRITERS)
@pytest.mark.parametrize("form", ["a file", "shards"])
def test_a_table_is_opened_a_few_times_whatever_the_number_of_columns(
    suffix: str, form: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    frame = pd.DataFrame({"cat": [0.5, 0.25], "dog": [0.75, 0.125]})
    more = pd.DataFrame({f"text {k}": ["a", "b"] for k in range(40)} | {f"number {k}": [3, 4] for k in range(40)})
    for stem, columns in (("s", frame.join(more.filter(like="text"))), ("t", (frame > 0.4).astype(int).join(more))):
        path = tmp_path / stem / f"part-0{suffix}" if form == "shards" else tmp_path / f"{stem}{suffix}"
        path.parent.mkdir(exist_ok=True)
        WRITERS[suffix](columns, path)
    opened = list[str]()

    def counted(module: Any, name: str) -> None:
        original = getattr(module, name)

        def opening(path: Any, *arguments: Any, **options: Any) -> Any:
            opened.append(str(path))
            return original(path, *arguments, **options)

        monkeypatch.setattr(module, name, opening)

    for module, name in ((builtins, "open"), (pa, "memory_map"), (parquet, "ParquetFile")):
        counted(module, name)
    ending = "" if form == "shards" else suffix
    source = open_scores(tmp_path / f"s{ending}", truth_path=tmp_path / f"t{ending}")
    assert source.label_names == ("cat", "dog")
    opened = [path for path in opened if path.startswith(str(tmp_path))]
    assert 2 <= len(opened) <= 24
