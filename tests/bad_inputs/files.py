"""Files that must be refused: what is in a folder, what is asked for, and what the message says from its start.

These need NumPy alone; `tables.py` has those that pyarrow reads.
"""

import json
import zipfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from thresholds.files import Wanted

NAMES = ("cat", "dog")
OTHER_NAMES = ("cat", "owl")
SCORES = np.array([[0.5, 0.25], [0.75, 0.125], [0.0, 1.0]])
TRUTH = np.array([[1, 0], [0, 0], [1, 1]], np.uint8)
IDS = ("a", "b", "c")
TAGS = [["cat"], [], ["cat", "dog"]]


@dataclass(frozen=True)
class BadFile:
    """Files, what of them is read, and a pattern for the start of the message."""

    id: str
    make: Callable[[Path], object]
    path: str
    message: str
    wanted: Wanted = field(default_factory=Wanted)
    truth_path: str | None = None
    logits: bool = False

    def __str__(self) -> str:
        """The name, which also serves as the identifier of a test."""
        return self.id


def arrays(name: str = "s.npz", **more: Any) -> Callable[[Path], object]:
    """An archive of scores, and of what is given."""
    found = {key: value for key, value in ({"y_score": SCORES} | more).items() if value is not None}
    return lambda folder: np.savez(folder / name, **found)


def lines(*rows: object, name: str = "s.jsonl") -> Callable[[Path], object]:
    """Lines of JSON; text as it is."""
    text = "".join((row if isinstance(row, str) else json.dumps(row)) + "\n" for row in rows)
    return lambda folder: (folder / name).write_text(text)


def rows(**columns: Sequence[object]) -> list[dict[str, object]]:
    """Objects of columns."""
    return [dict(zip(columns, values, strict=True)) for values in zip(*columns.values(), strict=True)]


def both(*makes: Callable[[Path], object]) -> Callable[[Path], object]:
    """Several files."""
    return lambda folder: [make(folder) for make in makes]


def shards(*parts: Sequence[object]) -> Callable[[Path], object]:
    """A folder of shards."""

    def make(folder: Path) -> None:
        (folder / "shards").mkdir()
        for k, part in enumerate(parts):
            lines(*part, name=f"shards/part-{k}.jsonl")(folder)

    return make


GOOD = rows(id=IDS, p=SCORES.tolist(), tags=TAGS)
KEYED = Wanted(key="id", label_names=NAMES)
NAMED = Wanted(label_names=NAMES)


def json_rows(message: str, *bad: object, what: str, wanted: Wanted = NAMED) -> BadFile:
    """Lines of which some are bad."""
    return BadFile(f"jsonl: {what}", lines(*bad), "s.jsonl", message, wanted)


JSON = [
    json_rows(r".*s.jsonl has no rows", "", what="no rows"),
    json_rows(r"s.jsonl has no JSON at row 1: Missing a name", GOOD[0], "{", what="no JSON"),
    json_rows(
        r"s.jsonl has the line '\\x00' behind row 0, expected an object in each line", "\ufeff\x00", what="binary"
    ),
    json_rows(
        r"s.jsonl has the key 'id' twice in one object at row 1",
        GOOD[0],
        '{"id": "b", "id": "c", "p": [0.5, 0.5], "tags": []}',
        what="a key twice",
    ),
    json_rows(
        r"s.jsonl has the key 'cat' twice in one object at row 0",
        '{"p": {"cat": 0.5, "dog": 0.5, "cat": 0.25}, "tags": []}',
        what="a label twice in a mapping",
    ),
    json_rows(
        r"s.jsonl has no JSON at row 1: Number too big to be stored in double",
        GOOD[0],
        '{"id": "b", "p": [1e500, 0.5], "tags": []}',
        what="a number beyond float64",
    ),
    json_rows(
        r"s.jsonl has the line '\[1\]' behind row 0, expected an object in each line", GOOD[0], [1], what="no object"
    ),
    json_rows(
        r"column 'p' of s.jsonl has no value at row 1, expected one in each row",
        GOOD[0],
        {"id": "b", "tags": []},
        what="no scores in a row",
    ),
    json_rows(
        r"column 'p' of s.jsonl has no value at row 1, label 'dog', expected one in each row",
        GOOD[0],
        {"p": [0.5, None], "tags": []},
        what="null in scores",
    ),
    json_rows(
        r"column 'p' of s.jsonl has a string at row 1, expected a number",
        GOOD[0],
        {"p": [0.5, "high"], "tags": []},
        what="text in scores",
    ),
    json_rows(
        r"column 'p' of s.jsonl has a number at row 1, expected a list",
        GOOD[0],
        {"p": 0.5, "tags": []},
        what="a number instead of a list",
    ),
    json_rows(
        r"column 'p' of s.jsonl has 3 values at row 1, expected 2, one for each label",
        GOOD[0],
        {"p": [0.5, 0.5, 0.5], "tags": []},
        what="one score too many",
    ),
    json_rows(
        r"column 'p' of s.jsonl has no value at row 1, label 'dog', expected one in each row",
        {"p": {"cat": 0.5, "dog": 0.5}, "tags": []},
        {"p": {"cat": 0.5}, "tags": []},
        what="a label without score",
        wanted=Wanted(),
    ),
    json_rows(
        r"column 'p' of s.jsonl has no value at row 0, label 'owl', expected one in each row",
        {"p": {"cat": 0.5}, "tags": []},
        {"p": {"cat": 0.5, "owl": 0.5}, "tags": []},
        what="an unknown label's score",
        wanted=Wanted(),
    ),
    json_rows(
        r"column 'tags' of s.jsonl has a string at row 1, expected a list",
        GOOD[0],
        {"p": [0.5, 0.5], "tags": "cat"},
        what="a string instead of a list",
    ),
    json_rows(
        r"column 'tags' of s.jsonl has 'owl', expected the labels of the scores; --label-names names those to use",
        {"p": {"cat": 0.5, "dog": 0.5}, "tags": ["cat"]},
        {"p": {"cat": 0.5, "dog": 0.5}, "tags": ["owl"]},
        what="an unknown label",
        wanted=Wanted(),
    ),
    json_rows(
        r"column 'tags' of s.jsonl has 'owl', 'yak', expected the labels of --label-names",
        {"p": [0.5, 0.5], "tags": []},
        {"p": [0.5, 0.5], "tags": ["owl", "yak"]},
        what="unknown labels alone",
    ),
    json_rows(
        r"column 'tags' of s.jsonl has the label 'cat' twice at row 1",
        GOOD[0],
        {"p": [0.5, 0.5], "tags": ["cat", "cat"]},
        what="a label twice",
    ),
    json_rows(
        r"column 'tags' of s.jsonl has the label 2 at row 1, expected positions from 0 to 1",
        {"p": [0.5, 0.5], "tags": [0]},
        {"p": [0.5, 0.5], "tags": [2]},
        what="a position too high",
    ),
    json_rows(
        r"truth 'tags' of s.jsonl has 2.0 at row 1, label 'dog', expected only 0 and 1",
        {"p": [0.5, 0.5], "tags": [0.0, 1.0]},
        {"p": [0.5, 0.5], "tags": [0.0, 2.0]},
        what="truth of 2",
        wanted=Wanted(truth="tags", label_names=NAMES),
    ),
    json_rows(
        r"column 'tags' of s.jsonl has no value at row 1, label 'dog', expected one in each row; --unknown=nan ",
        {"p": [0.5, 0.5], "tags": [0.0, 1.0]},
        {"p": [0.5, 0.5], "tags": [0.0, None]},
        what="truth that is not known, without the option",
        wanted=Wanted(truth="tags", label_names=NAMES),
    ),
    json_rows(
        r"truth 'tags' of s.jsonl has -1.0 at row 1, label 'cat', expected only 0 and 1; --unknown=-1 ",
        {"p": [0.5, 0.5], "tags": [0.0, 1.0]},
        {"p": [0.5, 0.5], "tags": [-1.0, 0.0]},
        what="-1 in truth, without the option",
        wanted=Wanted(truth="tags", label_names=NAMES),
    ),
    json_rows(
        r"truth 'tags' of s.jsonl has -1.0 at row 1, label 'cat', expected 0, 1 or no value, as --unknown says",
        {"p": [0.5, 0.5], "tags": [0.0, None]},
        {"p": [0.5, 0.5], "tags": [-1.0, 0.0]},
        what="-1 beside null",
        wanted=Wanted(truth="tags", label_names=NAMES, unknown="nan"),
    ),
    json_rows(
        r"--unknown is 'nan' with truth 'tags' of s.jsonl, whose lists have the true labels of a row, expected a cell",
        *GOOD,
        what="lists that cannot say what is not known",
        wanted=Wanted(label_names=NAMES, unknown="nan"),
    ),
    json_rows(
        r"unknown is 1, expected 'nan', a number other than 0 and 1 \(as -1\), or None; or several, as \('nan', -1\)$",
        *GOOD,
        what="true as not known",
        wanted=Wanted(label_names=NAMES, unknown=1),
    ),
    json_rows(
        r"truth 'tags' of s.jsonl has label names, expected --label-names, in order",
        *GOOD,
        what="no label names",
        wanted=Wanted(),
    ),
    json_rows(
        r"scores 'p' of s.jsonl have 2 labels, expected 3",
        *GOOD,
        what="too many label names",
        wanted=Wanted(label_names=("cat", "dog", "emu")),
    ),
    json_rows(
        r"--label-names has 'owl', expected the same labels as s.jsonl",
        {"p": {"cat": 0.5}, "tags": []},
        what="label names unlike the labels of scores",
        wanted=Wanted(label_names=("cat", "owl")),
    ),
    json_rows(
        r"s.jsonl may have its scores in 'p', 'q', expected one of them as --score-column",
        *rows(p=SCORES.tolist(), q=SCORES.tolist(), tags=TAGS),
        what="two columns of scores",
    ),
    json_rows(
        r"s.jsonl may have its truth in 'tags', 'more', expected one of them as --truth-column",
        *rows(p=SCORES.tolist(), tags=TAGS, more=TAGS),
        what="two columns of truth",
    ),
    json_rows(
        r"s.jsonl has no scores in 'id' \(text\), 'tags' \(lists of text\), expected columns of numbers, or a column",
        *rows(id=IDS, tags=TAGS),
        what="no scores",
        wanted=Wanted(),
    ),
    json_rows(
        r"s.jsonl has whole numbers in 'id' beside scores that are not, expected --key or --groups to name them",
        *rows(id=(1, 2, 3), cat=(0.5, 0.25, 0.125)),
        what="a key among scores",
        wanted=Wanted(),
    ),
    json_rows(
        r"s.jsonl has no column 'q', expected one of 'id', 'p', 'tags'",
        *GOOD,
        what="no such scores",
        wanted=Wanted("q"),
    ),
    json_rows(
        r"column 'tags' of s.jsonl holds lists of text, expected scores",
        *GOOD,
        what="names as scores",
        wanted=Wanted("tags"),
    ),
    json_rows(
        r"s.jsonl has no column 'gold', expected one of", *GOOD, what="no such truth", wanted=Wanted(truth="gold")
    ),
    json_rows(
        r"s.jsonl has no column 'who', expected --groups to be in",
        *GOOD,
        what="no such groups",
        wanted=Wanted(groups="who"),
    ),
    json_rows(
        r"column 'tags' of s.jsonl holds lists of text, expected one value in each row \(--key\)",
        *GOOD,
        what="a key of lists",
        wanted=Wanted(key="tags", label_names=NAMES),
    ),
    json_rows(
        r"columns 'p' and 'p_cat' may both hold labels, expected one or the other",
        *rows(p=(0.5,), p_cat=(0.5,)),
        what="a column and its prefix",
        wanted=Wanted("p"),
    ),
    json_rows(
        r"truth 'y_true' of s.jsonl lacks 'dog' and has 'owl', expected the same labels as the scores",
        *rows(y_score_cat=(0.5,), y_score_dog=(0.5,), y_true_cat=(1,), y_true_owl=(0,)),
        what="truth of other labels",
        wanted=Wanted(),
    ),
    json_rows(
        r"truth 'y_true' of s.jsonl has label names and the scores have none, expected --label-names",
        *rows(p=SCORES.tolist(), y_true_cat=(1, 0, 0), y_true_dog=(0, 0, 1)),
        what="names of the truth alone",
        wanted=Wanted(),
    ),
    json_rows(
        r"truth 'y_true' of s.jsonl is one label, expected 2",
        *rows(p=SCORES.tolist(), y_true=(1, 0, 0)),
        what="truth of one label",
        wanted=Wanted(),
    ),
]

JSON += [
    json_rows(
        r"column 'dog' of s.jsonl has no value at row 0, label 'dog', expected one in each row",
        {"cat": 0.5},
        {"cat": 0.5, "dog": 0.5},
        what="a label that the first line lacks",
        wanted=Wanted(),
    ),
    json_rows(
        r"column 'dog' of s.jsonl has no value at row 0, label 'dog', expected one in each row",
        *1001 * [{"cat": 0.5}],
        {"cat": 0.5, "dog": 0.5},
        what="a label that only late lines have",
        wanted=Wanted(),
    ),
    json_rows(
        r"s.jsonl has the key 'dog' at row 300000 and not in the first rows, expected all keys of numbers there",
        *300_000 * [{"cat": 0.53125}],
        {"cat": 0.5, "dog": 0.5},
        what="a label that only lines behind the first megabytes have",
        wanted=Wanted(),
    ),
    json_rows(
        r"column 'dog' of s.jsonl has a number at row 1, expected a string as in the rows before",
        {"cat": 0.5, "dog": "?"},
        {"cat": 0.5, "dog": 0.5},
        what="a label that begins with text",
        wanted=Wanted(),
    ),
    json_rows(
        r"column 'dog' of s.jsonl is text, though 2 of its first 2 values are numbers, expected",
        {"cat": 0.5, "dog": "0.5"},
        {"cat": 0.5, "dog": "0.25"},
        what="a label stored as text",
        wanted=Wanted(),
    ),
]

UNFIT = r", expected whole numbers or text as --key: cast it"
AMBIGUOUS = r"which may be positions or 0 and 1, expected true and false, numbers with a point, or names"

JSON += [
    json_rows(
        rf"column 'id' of s.jsonl holds {kind}{UNFIT}",
        *rows(id=keys, p=SCORES.tolist()),
        what=f"keys of {kind}",
        wanted=Wanted(key="id"),
    )
    for kind, keys in (("numbers", (1.0, 2.0, 3.0)), ("true and false", (True, False, True)))
]
JSON += [
    json_rows(message, *rows(id=keys, p=SCORES[:2].tolist()), what=f"keys of {kind}", wanted=Wanted(key="id"))
    for kind, keys, message in (
        ("text and numbers", ("a", 0.5), r"column 'id' of s.jsonl has a number at row 1, expected a string as"),
        ("text and true", ("a", True), r"column 'id' of s.jsonl has a boolean at row 1, expected a string as"),
        ("half a letter", ("a", "\ud800"), r"s.jsonl has no JSON at row 1: The surrogate pair in string is invalid"),
        ("65 bits", (1, 2**64), rf"column 'id' of s.jsonl holds numbers{UNFIT}"),
    )
]
JSON += [
    json_rows(
        rf"truth 'tags' of s.jsonl has \[0\] in all of the first 3 rows, {AMBIGUOUS}",
        *rows(p=SCORES[:, :1].tolist(), tags=3 * [[0]]),
        what="one label, 0 or at 0",
        wanted=Wanted(),
    ),
    json_rows(
        rf"truth 'tags' of s.jsonl has \[0, 1\] in all of the first 3 rows, {AMBIGUOUS}",
        *rows(p=SCORES.tolist(), tags=3 * [[0, 1]]),
        what="two labels, 0 and 1 or at these",
        wanted=Wanted(),
    ),
]

GOLD = rows(id=("c", "a", "b", "d"), tags=[TAGS[2], TAGS[0], TAGS[1], []])
UNKEYED = rows(tags=[TAGS[2], TAGS[0], TAGS[1], []])


def join(what: str, message: str, gold: Sequence[object], scores: Sequence[object] = GOOD, **more: Any) -> BadFile:
    """Scores, and truth in another file."""
    make = both(lines(*scores), lines(*gold, name="t.jsonl"))
    return BadFile(f"join: {what}", make, "s.jsonl", message, **({"wanted": KEYED, "truth_path": "t.jsonl"} | more))


JOINS = [
    join("a key is missing", r"key 'b' of s.jsonl is missing in t.jsonl, expected a row there for each", GOLD[:2]),
    join("keys are missing", r"key 'a' of s.jsonl is missing in t.jsonl \(2 keys are\), expected", GOLD[:1]),
    join(
        "keys are of two kinds",
        r"key 'a' of s.jsonl is missing in t.jsonl \(3 keys are\), expected a row there for each row of scores"
        r" \(keys are text in s.jsonl, whole numbers such as 7 in t.jsonl\)$",
        rows(id=(7, 8, 9), tags=TAGS),
    ),
    join("truth of other kinds of keys", rf"column 'id' of t.jsonl holds numbers{UNFIT}", rows(id=(0.5,), tags=[[]])),
    join("a key is doubled", r"key 'c' stands on 3 rows of t.jsonl, expected each key once", [*GOLD, *2 * GOLD[:1]]),
    join("keys are doubled", r"key 'c' stands on 2 rows of t.jsonl, and 3 more are doubled, expected", 2 * GOLD),
    join("a key of scores is doubled", r"key 'b' stands on 2 rows of s.jsonl, expected each", GOLD, [*GOOD, GOOD[1]]),
    join("no key", r"t.jsonl has no column 'id', expected --key to be in 'tags'", rows(tags=TAGS)),
    join("no key in scores", r"s.jsonl has no column 'id', expected --key to be in 'p'", GOLD, rows(p=SCORES.tolist())),
    join("no truth", r"t.jsonl has no truth, expected it in a column y_true, in lists", rows(id=IDS)),
    join("another length", r"t.jsonl has 4 rows, expected 3 as s.jsonl has; --key joins", UNKEYED, wanted=NAMED),
    join("fewer rows", r"t.jsonl has 2 rows, expected .*--key joins by a column", UNKEYED[:2], wanted=NAMED),
    BadFile(
        "join: arrays of other lengths",
        both(arrays(), arrays("t.npz", y_score=None, y_true=TRUTH[:2])),
        "s.npz",
        r"t.npz has 2 rows, expected 3 as s.npz has",
        truth_path="t.npz",
    ),
    BadFile(
        "join: arrays of other labels",
        both(arrays(), arrays("t.npz", y_score=None, y_true=TRUTH[:, :1])),
        "s.npz",
        r"t.npz has 1 label, expected 2 as s.npz",
        truth_path="t.npz",
    ),
    BadFile(
        "join: an archive without the key",
        both(arrays(id=np.array(IDS)), arrays("t.npz", y_score=None, y_true=TRUTH)),
        "s.npz",
        r"t.npz has no array 'id', expected the key of each row",
        Wanted(key="id"),
        truth_path="t.npz",
    ),
    BadFile(
        "join: other names of arrays",
        both(arrays(label_names=NAMES), arrays("t.npz", y_score=None, y_true=TRUTH, label_names=OTHER_NAMES)),
        "s.npz",
        r"t.npz lacks the label 'dog' and has the label 'owl', expected those of s.npz",
        truth_path="t.npz",
    ),
]

SHARDS = [
    BadFile(
        "shards: another width",
        shards(GOOD[:2], rows(id=("c",), p=([0.5, 0.5, 0.5],), tags=([],))),
        "shards",
        r"column 'p' of part-1.jsonl has 3 values at row 0, expected 2, one for each label",
        NAMED,
    ),
    BadFile(
        "shards: a column less",
        shards(GOOD[:2], rows(id=("c",), p=([0.5, 0.5],))),
        "shards",
        r"column 'tags' of part-1.jsonl has no value at row 0, expected one in each row",
        NAMED,
    ),
    BadFile(
        "shards: another name",
        shards(rows(cat=(0.5,)), rows(dog=(0.5,))),
        "shards",
        r"shard part-1.jsonl of shards lacks 'cat' and has 'dog', expected the columns of the first",
    ),
    BadFile(
        "shards: another type",
        shards(GOOD[:2], rows(id=("c",), p=("high",), tags=([],))),
        "shards",
        r"shard part-1.jsonl of shards has text in the column 'p', expected lists of numbers",
        NAMED,
    ),
    BadFile("shards: all empty", shards([], []), "shards", r".*shards has no rows, expected at least one"),
    BadFile("shards: none", lambda folder: (folder / "shards").mkdir(), "shards", r".*shards holds no shards"),
    BadFile("shards: no match", lambda _: None, "*.jsonl", r".*\*.jsonl matches no file, expected shards"),
    BadFile(
        "shards: two kinds",
        lambda folder: [folder.joinpath("d").mkdir(), (folder / "d/a.csv").touch(), (folder / "d/a.jsonl").touch()],
        "d",
        r".*d holds shards that end in .csv, .jsonl, expected one kind: name them, as '.*d/\*.csv'",
    ),
    BadFile("shards: no shard", arrays(), "s.*", r".*s.npz is no shard, expected files that end in .parquet"),
]

FOUND = rows(id=IDS, label=("cat", "dog", "cat"), score=(0.5, 0.25, 0.75))

LONG = [
    BadFile(
        f"a label a line: {what}",
        both(lines(*found), lines(*true, name="t.jsonl")),
        "s.jsonl",
        message,
        wanted,
        truth_path="t.jsonl" if true else None,
    )
    for what, found, true, wanted, message in (
        (
            "two scores of one label",
            [*FOUND, FOUND[0]],
            [],
            Wanted(),
            r"s.jsonl has several scores of the label 'cat' in the row 'a', expected one \(such",
        ),
        (
            "no column of rows",
            rows(label=("cat",), score=(0.5,)),
            [],
            Wanted(),
            r"s.jsonl has one label a line, in columns .*, expected --key with each column",
        ),
        (
            "a label of the truth alone",
            FOUND,
            rows(id=("a",), label=("owl",)),
            Wanted(),
            r"t.jsonl has 'owl', expected the labels of s.jsonl; --label-names names those to use",
        ),
        (
            "a label that a rule lacks",
            FOUND,
            [],
            Wanted(rule_names=("cat", "owl")),
            r"s.jsonl has 'dog', expected the labels of the rule",
        ),
        (
            "truth of no row",
            FOUND,
            rows(id=("x",), label=("cat",)),
            Wanted(),
            r"key 'a' of s.jsonl is missing in t.jsonl \(3 keys are\), expected a row there for each row of scores",
        ),
        (
            "lists that cannot say what is not known",
            FOUND,
            rows(id=("a",), label=("cat",)),
            Wanted(unknown=-1),
            r"--unknown is -1 with t.jsonl, whose lines name true labels, expected a column of 0, 1",
        ),
        (
            "a score of text",
            rows(id=("a",), label=("cat",), score=("high",)),
            [],
            Wanted(scores="score"),
            r"column 'score' of s.jsonl holds text, expected scores \(--score-column\)",
        ),
    )
]

ARCHIVES = [
    BadFile(
        f"npz: {what}",
        arrays(**more),
        "s.npz",
        message,
        Wanted(key="id" if "id" in more else None),
    )
    for what, more, message in (
        (
            "CSR truth without its data",
            {"y_true_indices": [0], "y_true_indptr": [0, 1, 1, 1], "y_true_shape": [3, 2]},
            r"s.npz lacks y_true_data, expected the four arrays of a CSR matrix",
        ),
        (
            "truth in three dimensions",
            {"y_true": np.zeros((3, 2, 1))},
            r"y_true of s.npz has shape \(3, 2, 1\), expected",
        ),
        ("keys of dates", {"id": np.zeros(3, "M8[s]")}, rf"column 'id' of s.npz holds datetime64\[s\]{UNFIT}"),
        ("keys of bytes", {"id": np.array([b"a", b"b", b"c"])}, rf"column 'id' of s.npz holds \|S1{UNFIT}"),
        ("keys of floats", {"id": np.zeros(3)}, rf"column 'id' of s.npz holds float64{UNFIT}"),
        ("keys that are true or false", {"id": np.zeros(3, bool)}, rf"column 'id' of s.npz holds bool{UNFIT}"),
        ("scores of text", {"y_score": SCORES.astype(str)}, r"y_score of s.npz has dtype <U32, expected real numbers"),
        (
            "scores of dates",
            {"y_score": SCORES.astype("M8[s]")},
            r"y_score of s.npz has dtype datetime64\[s\], expected",
        ),
    )
]


def marked(offset: int, value: int) -> Callable[[Path], object]:
    """An archive whose one entry, in the directory at the end, has another byte at an offset."""

    def make(folder: Path) -> None:
        np.savez(folder / "s.npz", y_score=SCORES)
        found = bytearray((folder / "s.npz").read_bytes())
        found[found.index(b"PK\x01\x02") + offset] = value
        (folder / "s.npz").write_bytes(found)

    return make


def bare(folder: Path) -> None:
    """An archive whose member is no `.npy`."""
    np.save(folder / "a.npy", SCORES)
    with zipfile.ZipFile(folder / "s.npz", "w") as archive:
        archive.write(folder / "a.npy", "y_score")


OTHERS = [
    *(
        BadFile(f"npz: {what}", marked(*byte), "s.npz", rf".*s.npz cannot be read as a .npz file: .*{said}")
        for what, byte, said in (
            ("encrypted", (8, 1), "is encrypted"),
            ("compressed in an unknown way", (10, 93), "is packed in another way"),
        )
    ),
    BadFile(
        "npz: a negative row number",
        arrays(test_idx=[-1, 0]),
        "s.npz",
        r"test_idx of s.npz runs from -1 to 0, expected 0 to 2",
    ),
    BadFile("npz: members without .npy", bare, "s.npz", r"s.npz has no y_score, expected the scores under that key"),
    BadFile(
        "npy: text",
        lambda folder: np.save(folder / "s.npy", SCORES.astype(str)),
        "s.npy",
        r"s of s.npy has dtype <U32, expected real numbers",
    ),
    BadFile("suffix", lambda folder: (folder / "s.xlsx").touch(), "s.xlsx", r".*s.xlsx ends in '.xlsx', expected .npz"),
    BadFile(
        "logits that are probabilities",
        arrays(y_score=np.full((50, 2), 0.5)),
        "s.npz",
        r"s.npz has all scores in \[0, 1\] with --logits, expected logits: they look like probabilities already",
        logits=True,
    ),
    BadFile("npy: no array", lambda folder: (folder / "s.npy").write_text("?"), "s.npy", r".*s.npy cannot be read as"),
    BadFile(
        "npy: three dimensions",
        lambda folder: np.save(folder / "s.npy", np.zeros((2, 2, 2))),
        "s.npy",
        r".*s.npy has shape \(2, 2, 2\), expected \(n_samples, n_labels\)",
    ),
    BadFile(
        "npy: a pickle",
        lambda folder: np.save(folder / "s.npy", np.array([None, 1], object), allow_pickle=True),
        "s.npy",
        r"s.npy is an array of objects, expected text or numbers: save it as",
    ),
    BadFile(
        "npy: groups",
        lambda folder: np.save(folder / "s.npy", SCORES),
        "s.npy",
        r"s.npy has one matrix and no column 'who' \(--groups\)",
        Wanted(groups="who"),
    ),
    BadFile(
        "npy: label names",
        lambda folder: np.save(folder / "s.npy", SCORES),
        "s.npy",
        r"--label-names has 1 names, expected 2 as s.npy",
        Wanted(label_names=("cat",)),
    ),
    BadFile(
        "npz: no such truth",
        arrays(y_true=TRUTH),
        "s.npz",
        r"s.npz has no truth 'gold', expected one of 'y_score' \(3, 2\) float64 and 'y_true' \(3, 2\) uint8",
        Wanted(truth="gold"),
    ),
]

BAD_FILES = [*JSON, *JOINS, *SHARDS, *LONG, *ARCHIVES, *OTHERS]
