"""Label sets as lists and as 0/1 matrices."""

import re
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from thresholds import FixedRule, InputError, fit_empirical
from thresholds.data.label_lists import from_label_lists, to_label_lists

NAMES = ("cat", "dog", "emu")


@pytest.mark.parametrize(
    "lists",
    [
        [["emu", "cat"], [], ["dog"]],
        (("emu", "cat"), (), ("dog",)),
        [{"emu", "cat"}, set(), frozenset({"dog"})],
        [np.array(["emu", "cat"]), np.array([], str), np.array(["dog"])],
        ([*row] for row in (["emu", "cat"], [], ["dog"])),
    ],
)
def test_names_become_columns(lists: Any) -> None:
    y_true, names = from_label_lists(lists, NAMES)
    assert names == NAMES
    assert isinstance(y_true, sparse.csr_array)
    assert y_true.dtype == np.uint8
    assert y_true.toarray().tolist() == [[1, 0, 1], [0, 0, 0], [0, 1, 0]]


def test_names_are_plain_strings() -> None:
    _, names = from_label_lists([np.array(["emu"]), [np.str_("cat")]])
    assert list(map(type, names or ())) == [str, str]
    _, names = from_label_lists([["emu"]], np.array(["cat", "emu"]))
    assert list(map(type, names or ())) == [str, str]


def test_columns_are_sorted_where_no_names_are_given() -> None:
    y_true, names = from_label_lists([["emu"], ["cat", "Dog"]])
    assert names == ("Dog", "cat", "emu")
    assert y_true.toarray().tolist() == [[0, 0, 1], [1, 1, 0]]


def test_positions_are_columns() -> None:
    assert from_label_lists([[2, 0], []])[0].toarray().tolist() == [[1, 0, 1], [0, 0, 0]]
    y_true, names = from_label_lists([[np.int64(1)]], n_labels=4)
    assert (y_true.toarray().tolist(), names) == ([[0, 1, 0, 0]], None)
    assert from_label_lists([[1]], NAMES)[0].shape == (1, 3)
    assert from_label_lists([[], []])[0].toarray().tolist() == [[0], [0]]
    assert from_label_lists(np.array([[0, 2], [1, 0]]))[0].toarray().tolist() == [[1, 0, 1], [1, 1, 0]]
    assert from_label_lists([[2**31 - 2]])[0].shape == (1, 2**31 - 1)


@pytest.mark.parametrize("kind", [pd.Series, lambda rows: pd.Series(rows, pd.Index(range(5, 8)))])
def test_columns_of_lists(kind: Any) -> None:
    assert from_label_lists(kind([[2, 0], [], [1]]))[0].toarray().tolist() == [[1, 0, 1], [0, 0, 0], [0, 1, 0]]
    y_true, names = from_label_lists(kind([["emu"], [], ["cat"]]))
    assert (y_true.toarray().tolist(), names) == ([[0, 1], [0, 0], [1, 0]], ("cat", "emu"))


@pytest.mark.parametrize("kind", [np.array, sparse.csr_array, sparse.csc_matrix, lambda rows: np.array(rows, bool)])
def test_matrices_become_lists(kind: Any) -> None:
    matrix = kind([[1, 0, 1], [0, 0, 0]])
    assert to_label_lists(matrix, NAMES) == [["cat", "emu"], []]
    assert to_label_lists(matrix) == [[0, 2], []]


def test_the_columns_of_a_frame_are_names() -> None:
    frame = pd.DataFrame({"cat": [1, 0], "dog": [0, 0], "emu": [True, False]})
    assert to_label_lists(frame) == [["cat", "emu"], []]
    assert to_label_lists(frame, NAMES[::-1]) == [["emu", "cat"], []]
    with pytest.raises(InputError, match=r"^y_pred lacks the column 'owl' and has the column 'emu'"):
        to_label_lists(frame, ("cat", "dog", "owl"))


@given(st.lists(st.sets(st.integers(0, 6)), min_size=1, max_size=9), st.booleans())
def test_lists_come_back(rows: list[set[int]], named: bool) -> None:
    names = tuple("gfedcba") if named else None
    lists: Any = [[names[j] for j in row] for row in rows] if names else rows
    y_true, _ = from_label_lists(lists, names, n_labels=7)
    assert y_true.toarray().tolist() == [[int(j in row) for j in range(7)] for row in rows]
    back = to_label_lists(y_true, names)
    assert back == [[names[j] for j in sorted(row)] if names else sorted(row) for row in rows]
    assert to_label_lists(y_true.toarray(), names) == back


@pytest.mark.parametrize(
    ("lists", "names", "said"),
    [
        ("cat", None, "label_lists is 'cat', expected a list of labels for each row"),
        ({"cat": 1}, None, r"label_lists is \{'cat': 1\}, expected a list"),
        (3, None, "label_lists is 3, expected a list"),
        ([], None, "label_lists is empty"),
        (["cat", "dog"], None, r"label_lists has the string 'cat' at row 0, expected a list of labels, as \['cat'\]"),
        ([["cat"], "cat, dog"], None, "label_lists has the string 'cat, dog' at row 1"),
        (
            ["cat|dog", "cat"],
            None,
            r"label_lists has the string 'cat\|dog' at row 0, .*, as 'cat\|dog'\.split\('\|'\)$",
        ),
        ([["cat"], None], None, "label_lists has None at row 1, expected a list"),
        ([["cat"], {"dog": 1}], None, r"label_lists has \{'dog': 1\} at row 1, expected a list"),
        ([[], ["cat", "cat"]], NAMES, "label_lists has 'cat' twice at row 1"),
        ([[1], [0, 2, 0]], None, "label_lists has 0 twice at row 1"),
        ([["cat"], [1]], None, "label_lists has 1 at row 1, expected label names"),
        ([[1], ["cat"]], None, "label_lists has 'cat' at row 1, expected label names or positions"),
        ([[1], [True]], None, "label_lists has True at row 1"),
        ([[0.5]], None, "label_lists has 0.5 at row 0"),
        ([["cat"], ["owl"]], NAMES, "label_lists has a label that label_names does not know, 'owl'"),
        ([["a"], ["b", "c", "d"]], NAMES, "label_lists has 4 labels that .* 'a', 'b', 'c', ...; expected names"),
        ([[0], [3]], NAMES, "label_lists has the label 3 at row 1, expected positions from 0 to 2"),
        ([[-1]], None, "label_lists has the label -1 at row 0"),
        ([[], [2**70]], None, "label_lists has the label 1180591620717411303424 at row 1, expected positions from 0"),
        ([[1], [0, -(2**70)]], None, "label_lists has the label -1180591620717411303424 at row 1, expected"),
        ([[10**12]], None, "label_lists has the label 1000000000000 at row 0, expected positions from 0 to 2,147,483,"),
        (
            [[10**12]],
            NAMES,
            "label_lists has the label 1000000000000 at row 0, expected positions from 0 to 2,147,483,",
        ),
        ([[2**31 - 1]], None, "label_lists has the label 2147483647 at row 0"),
        (np.array(3), None, "label_lists is 3, expected a list"),
        (np.array([0, 1]), None, "label_lists has 0 at row 0, expected a list of labels"),
        ([np.array([[0, 1]])], None, r"label_lists has \[0, 1\] at row 0, expected label names or positions"),
        (pd.DataFrame({"cat": [1]}), None, r"label_lists is a frame \(DataFrame\), expected a list of labels for each"),
        (sparse.csr_array([[1, 0]]), None, "label_lists is a sparse matrix, expected a list of labels for each row"),
        ([["cat"]], ("cat", "cat"), "label_names has 'cat' twice"),
        ([["cat"]], "cat", "label_names is 'cat'"),
    ],
)
def test_bad_lists_are_refused(lists: Any, names: Any, said: str) -> None:
    with pytest.raises(InputError, match=f"^{said}"):
        from_label_lists(lists, names)


@pytest.mark.parametrize(
    ("matrix", "names", "said"),
    [
        ([[0, 2, 0]], NAMES, "y_pred has 2 at row 0, label 'dog'"),
        ([[0, 1]], NAMES, "label_names has 3 names, expected 2"),
    ],
)
def test_bad_matrices_are_refused(matrix: Any, names: Any, said: str) -> None:
    with pytest.raises(InputError, match=f"^{said}"):
        to_label_lists(matrix, names)


def test_numbers_of_labels_that_disagree_are_refused() -> None:
    with pytest.raises(InputError, match=r"^label_names has 3 names, expected 4"):
        from_label_lists([["cat"]], NAMES, n_labels=4)
    with pytest.raises(InputError, match=r"^n_labels is 1,000,000,000,000, expected at most 2,147,483,647"):
        from_label_lists([[0]], n_labels=10**12)


@pytest.mark.parametrize(
    ("name", "known", "told"),
    [
        ("cafe\u0301", "caf\u00e9", r"'cafe\u0301' is written with a combining accent"),
        ("cat ", "cat", "'cat ' ends in a space"),
        ("cat", " cat", "' cat' begins with a space"),
        ("New  York", "New York", "'New  York' has two spaces in a row"),
        ("New York", "New\u00a0York", r"'New\xa0York' has a space that is no plain one"),
        ("\ufeffcat", "cat", r"'\ufeffcat' has a character that is not shown"),
        ("Cat", "cat", "'Cat' and 'cat' differ in case"),
        ("fire", "\ufb01re", r"'fire' and '\ufb01re' differ in characters"),
    ],
)
def test_names_that_look_equal_are_told_apart_and_never_matched(name: str, known: str, told: str) -> None:
    expected = re.escape(f" (these look alike: {told})")
    with pytest.raises(InputError, match=rf"expected names from there{expected}$"):
        from_label_lists([[name], ["dog"]], ["dog", known])
    frames = [pd.DataFrame([[1, 0], [0, 1]], columns=[own, "dog"]) for own in (name, known)]
    with pytest.raises(InputError, match=rf"^y_true lacks the column .* and has the column .*{expected}, expected"):
        fit_empirical(*frames)
    with pytest.raises(InputError, match=rf"^label .* is unknown, expected one of .*{expected}$"):
        FixedRule(0.5, 2, label_names=["dog", known]).replace({name: 0.25})
    with pytest.raises(InputError, match=rf"^min_precision has a floor for .*{expected}$"):
        fit_empirical(*[frames[1]] * 2, min_precision={name: 0.5})
