"""Truth as it is published: labels in one cell, words for true and false, lines that say what was looked at."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import thresholds
from tests.naive.exhaustive import best_known_macro
from thresholds import InputError
from thresholds.files.score_file import ScoreFile


@pytest.fixture(autouse=True)
def scores(folder: None) -> None:
    """The scores of three labels in four rows."""
    write("s.csv", "id,a,b,c", "1,.9,.1,.5", "2,.2,.8,.5", "3,.7,.3,.1", "4,.1,.2,.9")


def write(name: str, *lines: str) -> str:
    """Write lines of text."""
    Path(name).write_text("".join(f"{line}\n" for line in lines))
    return name


def read(*lines: str, name: str = "t.csv", **options: Any) -> ScoreFile:
    """Write lines of truth, and read them beside the scores."""
    return thresholds.read("s.csv", truth=write(name, *lines), **{"key": "id", **options})


def truth(*lines: str, **options: Any) -> list[list[int]]:
    """The truth of lines."""
    found = read(*lines, **options).y_true
    assert found is not None
    return np.asarray(found.toarray() if hasattr(found, "toarray") else found).tolist()  # type: ignore[no-any-return]


def refusal(*lines: str, **options: Any) -> str:
    """What is said of truth that is refused: one sentence."""
    with pytest.raises(InputError) as refused:
        read(*lines, **options)
    assert "\n" not in str(refused.value)
    return str(refused.value)


# All labels of a row in one cell

FOUND = [[1, 1, 0], [0, 1, 0], [0, 0, 0], [1, 0, 1]]


def cells(*texts: str) -> list[str]:
    """A csv of one cell for each row."""
    return ["id,found", *(f'{row},"{text}"' for row, text in enumerate(texts, 1))]


CELLS = {
    "|": ("a|b", "b", "", "c|a"),
    "| ": ("a | b", " b ", " ", "c | a"),
    ";": ("a;b", "b;", ";", "c;a"),
    ",": ("a,b", "b", "", "c, a"),
    " ": ("a b", "b", "", "c  a"),
    "/": ("a/b", "b", "", "c/a"),
    "::": ("a::b", "b", "", "c::a"),
    "lists": ("['a', 'b']", "['b']", "[]", "['c', 'a']"),
    "tuples": ("('a', 'b')", "('b',)", "()", "('c', 'a')"),
    "sets": ("{'a', 'b'}", "{'b'}", "{}", "{'c', 'a'}"),
    "lists in double quotes": ('[""a"", ""b""]', '[""b""]', "[]", '[""c"", ""a""]'),
    "positions": ("0,1", "1", "", "2,0"),
    "lists of positions": ("[0, 1]", "[1]", "[]", "[2, 0]"),
    "a label twice": ("a,b,a", "b,b", "", "c,a"),
}


@pytest.mark.parametrize("form", CELLS)
def test_labels_of_a_cell_are_parted(form: str) -> None:
    """Cells without a label are rows without one."""
    separator = "," if form[0].isalpha() else form.strip() or " "
    assert truth(*cells(*CELLS[form]), truth_column="found", label_separator=separator) == FOUND


@pytest.mark.parametrize(
    ("names", "separator", "first", "second"),
    [
        ("lung; left,heart", ",", "['lung; left', 'heart']", "['heart']"),
        ('"lung, left",heart', ",", "['lung, left', 'heart']", "['heart']"),
        ('"lung, left",heart', "|", "lung, left|heart", "heart"),
        ("[x],(y)", ",", "[x],(y)", "(y)"),
    ],
)
def test_labels_may_have_separators_and_brackets_in_them(names: str, separator: str, first: str, second: str) -> None:
    write("s.csv", f"id,{names}", "1,.9,.1", "2,.2,.8")
    assert truth(*cells(first, second), label_separator=separator) == [[1, 1], [0, 1]]


@pytest.mark.parametrize("column", ["label", "class", "tag", "species", "found"])
def test_cells_are_parted_whatever_the_column_is_called(column: str) -> None:
    lines = [f"id,{column}", "1,a|b", "2,b", "3,", "4,c|a"]
    assert truth(*lines, label_separator="|") == truth(*lines, label_separator="|", truth_column=column) == FOUND


def test_cells_may_be_null() -> None:
    lines = [json.dumps({"id": str(row), "found": cell}) for row, cell in enumerate(["a|b", "b", None, "c|a"], 1)]
    assert truth(*lines, name="t.jsonl", label_separator="|") == FOUND


def test_labels_that_are_not_asked_for_are_counted() -> None:
    lines = cells("No Finding", "b|d|a", "d", "No Finding")
    data = read(*lines, label_separator="|", label_names=("a", "b", "c"))
    assert data.y_true is not None
    assert data.y_true.toarray().tolist() == [[0, 0, 0], [1, 1, 0], [0, 0, 0], [0, 0, 0]]
    assert any("4 marks of 2 labels not in label_names, 'No Finding', 'd'" in note for note in data.notes)
    assert "'No Finding'" in refusal(*lines, label_separator="|")


@pytest.mark.parametrize(
    ("texts", "options", "message"),
    [
        (("a|b", "b"), {}, "label_separator='|' parts the labels of a cell"),
        (("a;b", "b"), {}, "label_separator=';' parts the labels of a cell"),
        (("a, b", "b"), {}, "label_separator=',' parts the labels of a cell"),
        (("{'a': 1.0, 'b': 0}", "{}"), {}, "expected objects of .jsonl"),
        (("{'a': 1.0, 'b': 0}", "{}"), {"label_separator": ","}, "at row 0, expected objects of .jsonl"),
        (("a|b", "c|a"), {"label_separator": ";", "label_names": ["a", "b", "c"]}, "'c|a', expected the labels"),
        (("0,3", "1"), {"label_separator": ","}, "has the label 3, expected names, or positions from 0 to 2"),
        (("1", "3,2"), {"label_separator": ",", "label_names": ["a", "b", "c"]}, "positions from 0 to 2"),
        (("a|b", "b"), {"label_separator": "|", "unknown": "nan"}, "whose lists have the true labels of a row"),
    ],
)
def test_cells_that_cannot_be_parted_are_refused(texts: tuple[str, ...], options: Any, message: str) -> None:
    assert message in refusal(*cells(*texts), truth_column="found", **options)


# Words

WORDS = {
    "yes or no": ("yes", "yes", "no"),
    "in any case": ("Ja", "JA", "Nein"),
    "with spaces": ("ja", " ja", "nein "),
    "or nothing": ("x", "x", ""),
    "or a space": ("x", "x", " "),
    "several words": ("yes,x", "x", "no"),
    "letters": ("t", "t", "f"),
    "true and false": ("wahr", "WAHR", "FALSCH"),
}


@pytest.mark.parametrize("words", WORDS)
def test_words_are_true_and_one_other_is_not(words: str) -> None:
    asked, true, other = WORDS[words]
    lines = ["id,c,b,a", f"1,{true},{other},{other}", f"2,{other},{true},{other}", f"3,{other},{other},{true}"]
    lines += [f"4,{true},{other},{true}"]
    assert truth(*lines, true_words=asked) == [[0, 0, 1], [0, 1, 0], [1, 0, 0], [1, 0, 1]]
    assert "true_words" in refusal(*lines)


@pytest.mark.parametrize("absent", ["", "NA", "nan", "null"])
def test_a_cell_without_a_word_is_not_known_or_asked_about(absent: str) -> None:
    lines = ["id,a,b,c", f"1,yes,{absent},no", "2,no,yes,no", f"3,no,no,{absent}", "4,yes,no,yes"]
    for rows in (lines[1:], lines[:0:-1]):
        assert "if a cell without a word is not known" in refusal(lines[0], *rows, true_words="yes")
    data = read(*lines, true_words="yes", unknown="nan")
    assert (np.asarray(data.y_true).tolist(), data.unknown) == ([[1, -1, 0], [0, 1, 0], [0, 0, -1], [1, 0, 1]], -1)


def test_numbers_may_stand_for_what_is_not_known_among_words() -> None:
    lines = ["id,a,b,c", "1,yes,-1,no", "2,no,yes,no", "3,no,no,", "4,yes,no,yes"]
    data = read(*lines, true_words="yes", unknown=("nan", -1))
    assert np.asarray(data.y_true).tolist() == [[1, -1, 0], [0, 1, 0], [0, 0, -1], [1, 0, 1]]


def test_a_third_word_is_refused() -> None:
    said = refusal("id,a,b,c", "1,yes,no,no", "2,no,often,no", "3,no,no,no", "4,no,no,no", true_words="yes")
    assert "column 'b' of t.csv has 'often' at row 1 beside 'no'" in said


def test_a_word_that_says_neither_is_not_taken_for_the_other_word() -> None:
    """Nowhere in the column is what is not true called anything else."""
    lines = ["id,a,b,c", "1,yes,no,no", "2,maybe,yes,no", "3,yes,no,no", "4,yes,no,no"]
    said = refusal(*lines, true_words="yes")
    assert "column 'a' of t.csv has 'maybe' at row 1, expected a word for what is not true" in said


def test_words_with_decimals_are_not_one() -> None:
    """But 1.0 is 1, of which some programs write the one and some the other."""
    lines = ["id,a,b,c", "1,3.1,3.10,3.10", "2,3.10,3.1,3.10", "3,3.10,3.10,3.10", "4,3.10,3.10,3.10"]
    assert truth(*lines, true_words="3.1") == [[1, 0, 0], [0, 1, 0], [0, 0, 0], [0, 0, 0]]
    lines = ["id,a,b,c", "1,1.0,,", "2,,1,", "3,,,", "4,,,"]
    assert truth(*lines, true_words="1") == [[1, 0, 0], [0, 1, 0], [0, 0, 0], [0, 0, 0]]


def test_a_label_that_is_marked_nowhere_is_not_true() -> None:
    """In the whole file, or in a shard."""
    lines = ["id,a,b,c", "1,x,,", "2,,x,", "3,,,", "4,,,"]
    expected = [[1, 0, 0], [0, 1, 0], [0, 0, 0], [0, 0, 0]]
    assert truth(*lines, true_words="x") == expected
    for number, some in enumerate((lines[1:2], lines[2:])):
        write(f"part{number}.csv", lines[0], *some)
    data = thresholds.read("s.csv", truth="part*.csv", key="id", true_words="x")
    assert np.asarray(data.y_true).tolist() == expected


# A line for each label

LONG = ("id,label,score", "1,cat,.9", "1,dog,.4", "2,dog,.8", "2,cat,.95", "3,cat,.6", "3,dog,.85")
VERIFIED = ("id,label,present", "1,cat,yes", "1,dog,no", "2,dog,yes", "3,cat,no")


def test_verified_lines_know_what_they_say_and_no_more() -> None:
    """All else is not known, or not true, as the caller says."""
    write("s.csv", *LONG, "4,cat,.5")
    known = [[1, 0], [-1, 1], [0, -1], [-1, -1]]
    asked: dict[str, Any] = {"truth_column": "present", "true_words": "yes"}
    data = read(*VERIFIED, key=None, unknown="nan", **asked)
    assert np.asarray(data.y_true).tolist() == known
    assert "t.csv has no line for 1 row of 4: no label is known there" in data.notes
    assert truth(*VERIFIED, key=None, **asked) == [[1, 0], [0, 1], [0, 0], [0, 0]]
    rule = thresholds.fit_empirical(data.y_true, data.y_score.toarray(), unknown=-1)
    assert rule.objective == best_known_macro(np.array(known), data.y_score.toarray(), np.array(known) >= 0)


MARKS = [("yes", "no"), ("1", "-1"), ("1", "0"), ("1.0", "0.5"), ("TRUE", "FALSE"), ("x", ""), ("present", "absent")]


@pytest.mark.parametrize(("true", "other"), MARKS)
def test_marks_in_a_column_that_nobody_named_are_asked_about(true: str, other: str) -> None:
    write("s.csv", *LONG)
    lines = ["id,label,present", f"1,cat,{true}", f"1,dog,{other}", f"2,dog,{true}", f"3,cat,{other}"]
    said = refusal(*lines, key=None)
    assert "column 'present' of t.csv may say whether the label in 'label' is true, expected truth_column" in said
    # The caller may say that every line names a true label.
    assert truth(*lines, key=None, truth_column="label") == [[1, 1], [0, 1], [1, 0]]


# Options without a use


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"label_separator": "|"}, "label_separator is '|' with truth 'label columns' of t.csv, which holds"),
        ({"true_words": ("yes", "x")}, "true_words is 'yes,x' with truth 'label columns' of t.csv, which holds"),
    ],
)
def test_options_without_a_use_are_refused(options: Any, message: str) -> None:
    assert message in refusal("id,a,b,c", "1,1,0,0", "2,0,1,0", "3,0,0,0", "4,0,0,1", **options)


# What may be two things


def test_numbers_may_be_words_too() -> None:
    expected = [[1, 0, 0], [0, 1, 0], [0, 0, 1], [0, 0, 0]]
    of_blank = ("id,a,b,c", "1,1,,", "2,,1,", "3,,,1", "4,,,")
    of_two = ("id,a,b,c", "1,1,2,2", "2,2,1,2", "3,2,2,1", "4,2,2,2")
    of_true = ("id,a,b,c", "1,TRUE,,", "2,,TRUE,", "3,,,TRUE", "4,,,")
    for lines, words in ((of_blank, "1"), (of_two, "1"), (of_true, "true")):
        assert truth(*lines, true_words=words) == expected


def test_words_that_no_cell_has_are_refused() -> None:
    said = refusal("id,a,b,c", "1,yes,yes,no", "2,yes,yes,no", "3,yes,yes,no", "4,yes,yes,no", true_words="ja")
    assert said.startswith("true_words is 'ja' with truth 'label columns of t.csv', which has no such word")


def test_cells_of_zeros_and_ones_are_no_positions() -> None:
    said = refusal(*cells("[1, 0, 0]", "[0, 1, 0]", "[0, 0, 1]", "[1, 1, 0]"), label_separator=",")
    assert "may have 0 and 1 for each label, or positions" in said


def test_a_label_called_label_is_a_column_of_wide_truth(tmp_path: Path) -> None:
    write("s.csv", "id,label,a", "1,.9,.1", "2,.2,.8", "3,.1,.2", "4,.3,.4")
    found = truth("id,label,a", "1,ja,nein", "2,nein,ja", "3,nein,nein", "4,nein,nein", true_words="ja")
    assert found == [[1, 0], [0, 1], [0, 0], [0, 0]]


def test_lines_of_no_label_that_is_asked_for_are_refused() -> None:
    write("s.csv", "id,label,score", "1,a,.5", "2,b,.25")
    with pytest.raises(InputError, match=r"s.csv has 'a', 'b', expected the labels of label_names"):
        thresholds.read("s.csv", label_names=["x", "y"])


def test_groups_may_be_a_column_of_the_key() -> None:
    write("s.csv", "File,Start (s),label,score", "x.wav,0,a,.9", "y.wav,0,a,.4")
    lines = ("File,Start (s),label", "x.wav,0,a")
    data = thresholds.read("s.csv", truth=write("t.csv", *lines), groups="File")
    assert data.groups is not None
    assert data.groups.tolist() == ["x.wav", "y.wav"]


def test_columns_of_the_scores_are_not_asked_of_the_truth() -> None:
    write("s.csv", "id,bird,p", "1,a,.9", "1,b,.2", "2,b,.7")
    asked: dict[str, Any] = {"label_column": "bird", "score_column": "p"}
    assert truth("id,a,b", "1,1,0", "2,0,1", **asked) == [[1, 0], [0, 1]]
    assert truth("id,y", "1,a|b", "2,b", truth_column="y", label_separator="|", **asked) == [[1, 1], [0, 1]]


def test_objects_of_zeros_and_ones_are_truth_in_any_order() -> None:
    rows = [{"a": 1, "b": 1, "c": 0}, {"c": 0, "b": 1, "a": 0}, {"a": 0, "c": 0, "b": 0}, {"a": 1, "b": 0, "c": 1}]
    lines = [json.dumps({"id": str(row), "found": cells}) for row, cells in enumerate(rows, 1)]
    assert truth(*lines, name="t.jsonl") == FOUND
    some = [json.dumps({"id": str(row), "found": {name: 1}}) for row, name in enumerate("abca", 1)]
    known = [[1, -1, -1], [-1, 1, -1], [-1, -1, 1], [1, -1, -1]]
    assert truth(*some, name="t.jsonl", unknown="nan") == known
