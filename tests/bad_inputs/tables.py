"""Files read by pyarrow that must be refused: what is in a folder, what is asked for, and how the message begins."""

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from thresholds.files import Wanted

pa = pytest.importorskip("pyarrow", reason="make test-integrations installs pyarrow")
parquet = pytest.importorskip("pyarrow.parquet", reason="make test-integrations installs pyarrow")

NAMES = ("cat", "dog")
SCORES = np.array([[0.5, 0.25], [0.75, 0.125], [0.0, 1.0]])
TAGS = [["cat"], [], ["cat", "dog"]]
NAMED = Wanted(label_names=NAMES)


@dataclass(frozen=True)
class BadTable:
    """Files, what of them is read, and a pattern for the start of the message."""

    id: str
    make: Callable[[Path], object]
    path: str
    message: str
    wanted: Wanted = field(default_factory=Wanted)
    truth_path: str | None = None

    def __str__(self) -> str:
        """The name, which also serves as the identifier of a test."""
        return self.id


def lists(matrix: Any, type_: Any = None) -> Any:
    """Lists that are all of one length."""
    cells = np.asarray(matrix, type_)
    return pa.FixedSizeListArray.from_arrays(pa.array(cells.reshape(-1)), cells.shape[1])


def table(name: str = "s.parquet", **columns: Any) -> Callable[[Path], object]:
    """A parquet file."""

    def make(folder: Path) -> None:
        (folder / name).parent.mkdir(exist_ok=True)
        parquet.write_table(pa.table(columns), folder / name)

    return make


def shards(*tables: dict[str, Any]) -> Callable[[Path], object]:
    """A folder of parquet files."""
    makes = [table(f"shards/part-{k}.parquet", **columns) for k, columns in enumerate(tables)]
    return lambda folder: [make(folder) for make in makes]


def text(name: str, content: str | bytes) -> Callable[[Path], object]:
    """A file as it is."""
    return lambda folder: (folder / name).write_bytes(content if isinstance(content, bytes) else content.encode())


def dataset(**state: Any) -> Callable[[Path], object]:
    """The description of a dataset."""

    def make(folder: Path) -> None:
        (folder / "d").mkdir()
        (folder / "d" / "state.json").write_text(json.dumps(state))

    return make


def stream(**columns: Any) -> Callable[[Path], object]:
    """The one file of a dataset."""

    def make(folder: Path) -> None:
        with pa.ipc.new_stream(str(folder / "d" / "a.arrow"), pa.table(columns).schema) as writer:
            writer.write_table(pa.table(columns))

    return make


def both(*makes: Callable[[Path], object]) -> Callable[[Path], object]:
    """One after the other."""
    return lambda folder: [make(folder) for make in makes]


def annotated(key: str, *values: str) -> Callable[[Path], object]:
    """Shards with metadata."""
    columns = pa.table({"scores": lists(SCORES), "tags": pa.array([[0], [], [1]], pa.list_(pa.int64()))})

    def make(folder: Path) -> None:
        (folder / "shards").mkdir()
        for k, value in enumerate(values):
            parquet.write_table(columns.replace_schema_metadata({key: value}), folder / f"shards/part-{k}.parquet")

    return make


def classes(*names: str) -> str:
    """What Hugging Face's library notes of a list of classes."""
    feature = {"feature": {"names": names, "_type": "ClassLabel"}, "_type": "List"}
    return json.dumps({"info": {"features": {"tags": feature}}})


GOOD = {"scores": lists(SCORES), "tags": TAGS}
FIRST = r"in the first shard, part-0.parquet"

SHARDS = [
    BadTable(
        "another width",
        shards(GOOD, {"scores": lists(np.ones((2, 3))), "tags": [[], []]}),
        "shards",
        rf"shard part-1.parquet of shards has lists of 3 double in the column 'scores', expected .*as {FIRST}",
        NAMED,
    ),
    BadTable(
        "another precision",
        shards(GOOD, {"scores": lists(SCORES, np.float16), "tags": TAGS}),
        "shards",
        rf"shard part-1.parquet of shards has lists of 2 halffloat in the column 'scores', expected .* as {FIRST}",
        NAMED,
    ),
    BadTable(
        "whole numbers",
        shards({"cat": [0.5]}, {"cat": [1]}),
        "shards",
        rf"shard part-1.parquet of shards has int64 in the column 'cat', expected double as {FIRST}",
    ),
    BadTable(
        "lists of another kind",
        shards(GOOD, {"scores": pa.array(SCORES.tolist()), "tags": TAGS}),
        "shards",
        r"shard part-1.parquet of shards has lists of double in the column 'scores', expected lists of 2 double as",
        NAMED,
    ),
    BadTable(
        "positions for names",
        shards(GOOD, {"scores": lists(SCORES), "tags": [[0], [], []]}),
        "shards",
        r"shard part-1.parquet of shards has lists of int64 in the column 'tags', expected lists of text as",
        NAMED,
    ),
    BadTable(
        "no truth",
        shards(GOOD, {"scores": lists(SCORES)}),
        "shards",
        r"shard part-1.parquet of shards lacks 'tags', expected the columns of the first shard, part-0.parquet",
        NAMED,
    ),
    BadTable(
        "another label",
        shards({"p_cat": [0.5], "p_dog": [0.5]}, {"p_cat": [0.5], "p_owl": [0.5]}),
        "shards",
        r"shard part-1.parquet of shards lacks 'p_dog' and has 'p_owl', expected the columns of the first shard",
        Wanted("p"),
    ),
    BadTable(
        "other label names in a shard",
        annotated("label_names", '["cat", "dog"]', '["dog", "cat"]'),
        "shards",
        r"shard part-1.parquet of shards has other label names, expected those of the first shard, part-0.parquet",
    ),
    BadTable(
        "other classes in a shard",
        annotated("huggingface", classes(*NAMES), classes(*NAMES[::-1])),
        "shards",
        r"shard part-1.parquet of shards has other label names in the column 'tags', expected lists of int64 as in the",
    ),
    BadTable(
        "an unknown label in a shard",
        shards({"cat": [0.5], "dog": [0.5], "tags": [["dog"]]}, {"cat": [0.5], "dog": [0.5], "tags": [["owl"]]}),
        "shards",
        r"column 'tags' of part-1.parquet has 'owl', expected the labels of the scores; --label-names names those",
    ),
]

# pyarrow has a type for UUIDs from version 18 on.
UUIDS = (
    [("UUIDs", pa.ExtensionArray.from_storage(pa.uuid(), pa.array([16 * b"a"] * 3, pa.binary(16))), "extension<.*>")]
    if hasattr(pa, "uuid")
    else []
)
UNFIT = r", expected whole numbers or text as --key: cast it$"
KEYS = [
    BadTable(
        f"keys of {kind}",
        table(id=values, scores=lists(SCORES)),
        "s.parquet",
        rf"column 'id' of s.parquet holds {said}{UNFIT}",
        Wanted(key="id"),
    )
    for kind, values, said in (
        ("dates", pa.array([1, 2, 3], pa.date32()), r"date32\[day\]"),
        ("times", pa.array([1, 2, 3], pa.timestamp("ns", "UTC")), r"timestamp\[ns, tz=UTC\]"),
        ("decimals", pa.array([1, 2, 3]).cast(pa.decimal128(19, 0)), r"decimal128\(19, 0\)"),
        ("bytes", pa.array([b"a", b"b", b"c"]), "binary"),
        *UUIDS,
        ("floats", pa.array([1.0, 2.0, 3.0]), "double"),
        ("truth values", pa.array([True, False, True]), "bool"),
        ("structs", pa.array([{"a": "x"}] * 3), "struct<a: string>"),
        ("numbers by number", pa.array([1.0, 2.0, 3.0]).dictionary_encode(), "double"),
    )
]

TABLES = [
    BadTable("no parquet", text("s.parquet", "PAR1?"), "s.parquet", r".*s.parquet cannot be read: "),
    BadTable(
        "null in a list",
        table(scores=pa.array([[0.5, 0.5], [0.5, None]]), tags=[[], []]),
        "s.parquet",
        r"column 'scores' of s.parquet has no value at row 1, label 'dog', expected one in each row",
        NAMED,
    ),
    BadTable(
        "null in a fixed list",
        table(scores=pa.array([[0.5, 0.5], [None, 0.5]], pa.list_(pa.float64(), 2))),
        "s.parquet",
        r"column 'scores' of s.parquet has no value at row 1, label 0, expected",
    ),
    BadTable(
        "null for a list",
        table(scores=lists(SCORES), tags=pa.array([["cat"], None, []])),
        "s.parquet",
        r"column 'tags' of s.parquet has no value at row 1, expected one in each row",
        NAMED,
    ),
    BadTable(
        "null in a wide column",
        table(y_score_cat=[0.5, 0.5], y_score_dog=[0.5, None]),
        "s.parquet",
        r"column 'y_score_dog' of s.parquet has no value at row 1, label 'dog', expected",
    ),
    BadTable(
        "null far down",
        table(cat=pa.array([*150_000 * [0.5], None])),
        "s.parquet",
        r"column 'cat' of s.parquet has no value at row 150000, label 'cat', expected",
    ),
    BadTable(
        "null in a key",
        table(id=["a", None], y_score_dog=[0.5, 0.5]),
        "s.parquet",
        r"column 'id' of s.parquet has no value at row 1, expected",
        Wanted(key="id"),
    ),
    BadTable(
        "scores of several lengths",
        table(scores=pa.array([[0.5, 0.5], [0.5]])),
        "s.parquet",
        r"column 'scores' of s.parquet has 1 value at row 1, expected 2, one for each label",
    ),
    BadTable(
        "0/1 of another length",
        table(y_score=lists(SCORES), y_true=lists(np.ones((3, 3)), np.uint8)),
        "s.parquet",
        r"column 'y_true' of s.parquet has 3 values at row 0, expected 2, one for each label",
    ),
    BadTable(
        "truth of 2 in a wide column",
        table(y_score_cat=[0.5, 0.5], y_true_cat=[0, 2]),
        "s.parquet",
        r"truth 'y_true' of s.parquet has 2 at row 1, label 'cat', expected only 0 and 1",
    ),
    BadTable(
        "names of the metadata",
        lambda folder: parquet.write_table(
            pa.table({"p": lists(SCORES)}).replace_schema_metadata({"label_names": "cat, dog"}), folder / "s.parquet"
        ),
        "s.parquet",
        r"label_names in the metadata of s.parquet cannot be read",
    ),
    BadTable(
        "times as scores",
        table(y_score=pa.array([1], pa.timestamp("ms"))),
        "s.parquet",
        r"column 'y_score' of s.parquet holds timestamp\[ms\], expected scores",
    ),
    BadTable(
        "dates as labels",
        table(y_score=lists(SCORES), y_true=pa.array([[1], [], []], pa.list_(pa.date32()))),
        "s.parquet",
        r"truth 'y_true' of s.parquet holds lists of date32\[day\], expected labels",
    ),
    BadTable(
        "a key missing in the truth",
        lambda folder: [
            table(id=[1, 2, 3], scores=lists(SCORES))(folder),
            table("t.parquet", id=[3, 1], tags=[[], []])(folder),
        ],
        "s.parquet",
        r"key 2 of s.parquet is missing in t.parquet, expected a row there for each row of scores",
        Wanted(key="id", label_names=NAMES),
        "t.parquet",
    ),
    BadTable(
        "a key without a word",
        both(
            dataset(_data_files=[{"filename": "a.arrow"}]),
            stream(id=pa.DictionaryArray.from_arrays([0, 1, 0], pa.array(["a", None])), scores=lists(SCORES)),
        ),
        "d",
        r"column 'id' of d has no value at row 1, expected one in each row",
        Wanted(key="id"),
    ),
    BadTable(
        "lists of lists",
        table(id=["a"], p=[[[0.5, 0.5]]]),
        "s.parquet",
        r"s.parquet has no scores in 'id' \(text\), 'p' \(lists of lists of double\), expected columns of numbers",
    ),
    BadTable("no rows", table(scores=pa.array([], pa.list_(pa.float64()))), "s.parquet", r".*s.parquet has no rows"),
    BadTable(
        "csv with a header that is not UTF-8",
        text("s.csv", "caf\u00e9,dog\n0.5,0.5\n".encode("latin-1")),
        "s.csv",
        r"s.csv is not in UTF-8 \(it has 'caf.*'\), expected --encoding to name its encoding, such as"
        r" --encoding cp1252",
    ),
    BadTable(
        "csv in UTF-16 without a mark",
        text("s.csv", "cat,dog\n0.5,0.5\n".encode("utf-16-le")),
        "s.csv",
        r"s.csv is not in UTF-8 \(it has 'c.*'\), expected --encoding .* such as --encoding utf-16",
    ),
    BadTable(
        "csv with a key that is not UTF-8",
        text("s.csv", "id,cat,dog\n\u00e9,0.5,0.5\n".encode("latin-1")),
        "s.csv",
        r"column 'id' of s.csv has text that is not UTF-8 at row 0, expected UTF-8",
        Wanted(key="id"),
    ),
    BadTable("an empty csv", text("s.csv", ""), "s.csv", r"\S*s.csv has no rows, expected at least one"),
    BadTable("csv without rows", text("s.csv", "cat,dog\n"), "s.csv", r"\S*s.csv has no rows, expected at least one"),
    BadTable(
        "csv with an empty field",
        text("s.csv", "cat,dog\n0.25,0.5\n,0.5\n"),
        "s.csv",
        r"column 'cat' of s.csv has no value at row 1, label 'cat', expected one in each row",
    ),
    BadTable(
        "csv with text in a later block",
        text("s.csv", "cat,dog\n" + 200_000 * "0.25,0.5\n" + "high,0.5\n"),
        "s.csv",
        r"column 'cat' of s.csv has 'high' at row 200000, expected a number",
    ),
    BadTable(
        "csv with a row too short",
        text("s.csv", "\ncat,dog\n0.25,0.5\n\n0.5\n"),
        "s.csv",
        r"s.csv has 1 cell at row 1 \('0.5'\), expected 2 as in its header",
    ),
    BadTable(
        "csv with a cell in quotes that is never closed",
        text("s.csv", 'cat,dog,note\n0.25,0.5,"a ""b"" c"\n\n0.25,0.5,"lost\n' + 3 * "0.25,0.5,5\n"),
        "s.csv",
        r"s.csv has a quotation mark at row 1 that is never closed, expected one behind the cell",
    ),
    BadTable(
        "csv with such a cell behind one with a mark that is a letter",
        text("s.csv", 'cat,dog,note\n0.25,0.5,5" pipe\n0.25,0.5,"lost\n' + 3 * "0.25,0.5,5\n"),
        "s.csv",
        r"s.csv has a quotation mark at row 1 that is never closed, expected one behind the cell",
    ),
    BadTable(
        "csv with such a cell before many rows",
        text("s.csv", 'cat,dog,note\n0.25,0.5,"lost\n' + 200_000 * "0.25,0.5,5\n"),
        "s.csv",
        r"s.csv has a quotation mark at row 0 that is never closed, expected one behind the cell",
    ),
    BadTable(
        "csv with a name twice", text("s.csv", "cat,cat\n1,0.5\n"), "s.csv", r"s.csv has several columns named 'cat'"
    ),
    BadTable("no gzip", text("s.csv.gz", "cat,dog\n1,0.5\n"), "s.csv.gz", r".*s.csv.gz cannot be read: "),
    BadTable("a dataset without rows", dataset(_data_files=[]), "d", r"d has no rows, expected at least one"),
    BadTable("a dataset without files", dataset(), "d", r"d has no data files in state.json, expected a dataset"),
    BadTable(
        "a dataset with a key twice",
        lambda folder: [
            (folder / "d").mkdir(),
            (folder / "d" / "state.json").write_text('{"_data_files": [], "_data_files": [{"filename": "a.arrow"}]}'),
        ],
        "d",
        r".*state.json cannot be read: the key '_data_files' stands twice in one object",
    ),
    BadTable(
        "metadata with a key twice",
        annotated("huggingface", classes(*NAMES).replace('"features": {', '"features": {}, "features": {')),
        "shards",
        r"huggingface in the metadata of part-0.parquet cannot be read: the key 'features' stands twice",
    ),
    BadTable(
        "a dataset of no JSON",
        lambda folder: [(folder / "d").mkdir(), (folder / "d" / "state.json").write_text("{")],
        "d",
        r".*state.json cannot be read: ",
    ),
]

OK_ROWS = "0.5,0.25\n" * 17
GOLD_ROWS = "1,0\n" * 18
JOINED = {"truth_path": "t.csv"}


def gold(scores: str, truth: str) -> Callable[[Path], object]:
    """A file of scores and one of truth."""
    return both(text("s.csv", scores), text("t.csv", truth))


LABELS = [
    *(
        BadTable(
            f"a label of text for {cell}",
            gold(f"cat,dog\n{OK_ROWS}0.5,{cell}\n", f"cat,dog\n{GOLD_ROWS}"),
            "s.csv",
            rf"column 'dog' of s.csv is text, though 17 of its first 18 values are numbers \(row 17 has '{shown}'\),"
            r" expected numbers in every row of a label; --key",
            **JOINED,
        )
        for cell, shown in (("?", r"\?"), ('"1,000"', "1,000"), ('"0,5"', "0,5"), ("12%", "12%"), ("1_0", "1_0"))
    ),
    BadTable(
        "a label of text, without truth",
        text("s.csv", f"cat,dog\n{OK_ROWS}0.5,?\n"),
        "s.csv",
        r"column 'dog' of s.csv is text, though 17 of its first 18 values are numbers \(row 17 has '\?'\), expected",
    ),
    BadTable(
        "a label stored as text",
        table(cat=[0.5, 0.25], dog=["0.5", "0.25"]),
        "s.parquet",
        r"column 'dog' of s.parquet is text, though 2 of its first 2 values are numbers, expected numbers in every",
    ),
    BadTable(
        "a label of text with a prefix",
        text("s.csv", "y_score_cat,y_score_dog\n0.5,0.25\n0.5,?\n"),
        "s.csv",
        r"column 'y_score_dog' of s.csv holds text, expected scores \(row 1 has '\?'\)",
    ),
    BadTable(
        "truth of text with a prefix",
        text("s.csv", "y_score_cat,y_true_cat\n0.5,1\n0.5,?\n"),
        "s.csv",
        r"column 'y_true_cat' of s.csv holds text, expected 0 and 1 \(row 1 has '\?'\)",
    ),
    BadTable(
        "a label asked for that is text",
        text("s.csv", "cat,dog\n0.5,high\n0.5,low\n"),
        "s.csv",
        r"s.csv has no scores of 'dog', expected a column for each of --label-names"
        r" \(column 'dog' of s.csv is text: row 0 has 'high'\)",
        NAMED,
    ),
    BadTable(
        "truth of a label whose scores are text",
        gold("cat,dog\n0.5,high\n0.5,low\n", "cat,dog\n1,0\n0,1\n"),
        "s.csv",
        r"truth 'label columns' of t.csv has 'dog', expected the same labels as the scores \(column 'dog' of s.csv is"
        r" text: row 0 has 'high'\)",
        **JOINED,
    ),
    BadTable(
        "truth, in the same file, of a label whose scores are text",
        text("s.csv", "cat,dog,y_true_cat,y_true_dog\n0.5,high,1,0\n0.5,low,0,1\n"),
        "s.csv",
        r"truth 'y_true' of s.csv has 'dog', expected the same labels as the scores \(column 'dog' of s.csv is text:",
    ),
    BadTable(
        "truth of a label whose scores are dates",
        both(table(cat=[0.5], dog=pa.array([1], pa.date32())), text("t.csv", "cat,dog\n1,0\n")),
        "s.parquet",
        r"truth 'label columns' of t.csv has 'dog', expected .* \(column 'dog' of s.parquet is date32\[day\]\)",
        **JOINED,
    ),
    BadTable(
        "truth of a label without scores",
        gold("cat\n0.5\n0.25\n", "cat,dog\n1,0\n0,1\n"),
        "s.csv",
        r"truth 'label columns' of t.csv has 'dog', expected the same labels as the scores; --label-names names",
        **JOINED,
    ),
    BadTable(
        "truth, partly text, of a label without scores",
        gold("cat\n0.5\n0.25\n0.5\n", "cat,dog\n1,0\n0,1\n0,?\n"),
        "s.csv",
        r"column 'dog' of t.csv is text, though 2 of its first 3 values are 0 or 1 \(row 2 has '\?'\), expected",
        **JOINED,
    ),
    BadTable(
        "truth that is text",
        gold("cat,dog\n0.5,0.25\n0.25,0.5\n", "cat,dog\n1,0\n0,?\n"),
        "s.csv",
        r"truth 'all columns' of t.csv lacks 'dog', expected the same labels as the scores \(column 'dog' of t.csv is"
        r" text: row 1 has '\?'\)",
        **JOINED,
    ),
    BadTable(
        "truth in another case",
        gold("cat,dog\n0.5,0.25\n", "cat,Dog\n1,0\n"),
        "s.csv",
        r"truth 'all columns' of t.csv lacks 'dog' and has 'Dog' \(these look alike: 'Dog' and 'dog' differ in case\),"
        r" expected the same labels as the scores",
        **JOINED,
    ),
    BadTable(
        "truth with a space before a name",
        gold("cat,dog\n0.5,0.25\n", " cat,dog\n1,0\n"),
        "s.csv",
        r"truth 'all columns' of t.csv lacks 'cat' and has ' cat' \(these look alike: ' cat' begins with a space\),"
        r" expected the same labels as the scores",
        **JOINED,
    ),
    BadTable(
        "a prefix on some scores only",
        text("s.csv", "y_score_cat,dog,y_true_cat,y_true_dog\n0.5,0.25,1,0\n"),
        "s.csv",
        r"truth 'y_true' of s.csv has 'dog', expected .* \(column 'dog' of s.csv does not begin with 'y_score'\)",
    ),
    BadTable(
        "scores of lists under a prefix",
        table(y_score_cat=[0.5], y_score_dog=[[0.5]], y_true_cat=[1], y_true_dog=[0]),
        "s.parquet",
        r"truth 'y_true' of s.parquet has 'dog', expected .* \(column 'y_score_dog' of s.parquet is lists of double\)",
    ),
    BadTable(
        "a key that is a score",
        table(y_score_cat=[0.5], y_score_dog=[1]),
        "s.parquet",
        r"column 'y_score_dog' of s.parquet is named for two roles, scores and --key, expected one",
        Wanted(key="y_score_dog"),
    ),
    BadTable(
        "groups that are truth",
        table(y_score_cat=[0.5], y_true_cat=[1]),
        "s.parquet",
        r"column 'y_true_cat' of s.parquet is named for two roles, truth and --groups, expected one",
        Wanted(groups="y_true_cat"),
    ),
    BadTable(
        "truth under the prefix of the scores",
        table(p_cat=[0.5], p_true_cat=[1]),
        "s.parquet",
        r"column 'p_true_cat' of s.parquet is named for two roles, scores and truth, expected one",
        Wanted("p", "p_true"),
    ),
    BadTable(
        "keys of whole decimals",
        table(id=pa.array([1, 2, 3]).cast(pa.decimal128(19, 0)), cat=[0.5, 0.25, 0.5]),
        "s.parquet",
        r"s.parquet has whole numbers in 'id' beside scores that are not, expected --key or --groups to name them",
    ),
    BadTable(
        "a column of nulls",
        table(cat=[0.5], dog=pa.array([None], pa.null())),
        "s.parquet",
        r"column 'dog' of s.parquet has no value at row 0, label 'dog', expected one in each row",
    ),
]

ONE_LABEL_A_LINE = "id,label,score,y_true\n"
LINES = [
    BadTable(
        "a csv of nothing but a header",
        text("s.csv", ONE_LABEL_A_LINE),
        "s.csv",
        r"\S*s.csv has no rows, expected at least one",
    ),
    BadTable(
        "names of labels in the encoding of Windows",
        text("s.csv", (ONE_LABEL_A_LINE + "a,Pap\xe9,0.5,1\n").encode("latin-1")),
        "s.csv",
        r"column 'label' of s.csv holds text that is not UTF-8, expected that encoding",
    ),
    BadTable(
        "commas in quotes that may part thousands",
        text("s.csv", ONE_LABEL_A_LINE + 'a,x,"1,500",1\n'),
        "s.csv",
        r"column 'score' of s.csv is text \(row 0 has '1,500'\), expected numbers",
    ),
    BadTable(
        "points and commas in one file",
        text("s.csv", "cat;dog\n0,5;0.25\n0,75;0.5\n"),
        "s.csv",
        r"column 'dog' of s.csv has '0.25' at row 0, expected a number with a decimal comma, as others",
    ),
]

BAD_TABLES = [*SHARDS, *KEYS, *TABLES, *LABELS, *LINES]
