"""Messages about files in the words of Python."""

from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import thresholds
from tests.bad_inputs.files import BAD_FILES, BadFile
from thresholds import InputError
from thresholds.errors import MissingLibraryError
from thresholds.files.words import OF_SOURCES, in_python_words, rewritten

MESSAGES = [
    ("expected one of them as --score-column", "expected one of them as score_column"),
    ("expected gold labels (--truth-column, --truth)", "expected gold labels (truth_column, truth)"),
    ("--key names the columns", "key names the columns"),
    ("the index that pandas writes is --key ''", "the index that pandas writes is key=''"),
    ("named for two roles, --key and --groups, expected one", "named for two roles, key and groups, expected one"),
    ("--label-names has 3 names, expected 2", "label_names has 3 names, expected 2"),
    ("has no value; --unknown=nan if that is not known", "has no value; unknown='nan' if that is not known"),
    ("has -1; --unknown=-1 if that is not known", "has -1; unknown=-1 if that is not known"),
    ("has -1; --unknown=-1.5 if that is not known", "has -1; unknown=-1.5 if that is not known"),
    ("--unknown=nan,-1 says both", "unknown=('nan', -1) says both"),
    ("expected 0, 1 or no value, as --unknown says", "expected 0, 1 or no value, as unknown says"),
    ("is no UTF-8; --encoding cp1252, perhaps", "is no UTF-8; encoding='cp1252', perhaps"),
    ("is no UTF-8; --encoding utf-16 or others", "is no UTF-8; encoding='utf-16' or others"),
    ("--encoding names another", "encoding names another"),
    ("--label-separator '|' parts them", "label_separator='|' parts them"),
    ("--label-separator=| parts them", "label_separator='|' parts them"),
    ("--true-words=yes,ja says what is true", "true_words=('yes', 'ja') says what is true"),
    ("--true-words 'yes' says what is true", "true_words='yes' says what is true"),
    ("--true-words says what is true", "true_words says what is true"),
    ("has scores in [0, 1] with --logits, expected", "has scores in [0, 1] with logits=True, expected"),
    ("--drop-unscored leaves them out", "drop_unscored=True leaves them out"),
    ("--weights has -1 at row 3", "weights has -1 at row 3"),
    (
        "expected --label-column a b if these are names, or --truth-column gold if truth",
        "expected label_column a b if these are names, or truth_column='gold' if truth",
    ),
    ("--label-column 'a b' if these are names", "label_column='a b' if these are names"),
    ("a -- b, --- and --no-option", "a -- b, --- and --no-option"),
    ("/data/new--key.csv has no column '--key'", "/data/new--key.csv has no column '--key'"),
]  # fmt: skip


@pytest.mark.parametrize(("said", "expected"), MESSAGES)
def test_options_become_arguments(said: str, expected: str) -> None:
    assert rewritten(said) == expected


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        ("as --score-column", "as thresholds.read(..., score_column=...)"),
        ("--encoding cp1252, perhaps", "thresholds.read(..., encoding='cp1252'), perhaps"),
        ("--drop-unscored leaves them out", "thresholds.read(..., drop_unscored=True) leaves them out"),
        ("--unknown=nan and --label-names", "unknown='nan' and label_names"),
    ],
)
def test_what_a_source_does_not_take_is_read(said: str, expected: str) -> None:
    assert rewritten(said, OF_SOURCES) == expected


def test_an_error_stays_what_it_was() -> None:
    class Damaged(InputError):
        pass

    cause = KeyError("y_score")
    with pytest.raises(Damaged, match=r"^expected score_column$") as refused, in_python_words():
        raise Damaged("expected --score-column") from cause
    assert refused.value.__cause__ is cause
    with pytest.raises(MissingLibraryError, match="--key"), in_python_words():
        raise MissingLibraryError("--key")


# What reaches callers

READABLE = [bad for bad in BAD_FILES if bad.wanted.with_truth and bad.wanted.rule_names is None]
if find_spec("pyarrow"):
    from tests.bad_inputs.tables import BAD_TABLES

    READABLE += [bad for bad in BAD_TABLES if bad.wanted.with_truth and bad.wanted.rule_names is None]


@pytest.mark.parametrize("bad", READABLE, ids=str)
def test_no_option_reaches_a_caller_of_read(bad: BadFile, tmp_path: Path) -> None:
    bad.make(tmp_path)
    wanted = bad.wanted
    asked: dict[str, Any] = {
        "truth": None if bad.truth_path is None else tmp_path / bad.truth_path,
        "score_column": wanted.scores,
        "truth_column": wanted.truth,
        "label_column": wanted.labels,
        "key": wanted.key,
        "groups": wanted.groups,
        "weights": wanted.weights,
        "label_names": wanted.label_names,
        "logits": getattr(bad, "logits", False),
        "unknown": wanted.unknown,
        "true_words": wanted.true_words or None,
        "label_separator": wanted.label_separator,
        "encoding": wanted.encoding,
        "drop_unscored": wanted.drop_unscored,
    }
    with pytest.raises(InputError) as refused:
        thresholds.read(tmp_path / bad.path, **asked)
    said = str(refused.value).replace(str(tmp_path), "")
    assert "--" not in said


@pytest.mark.parametrize("bad", READABLE, ids=str)
def test_no_option_reaches_a_caller_of_gather(bad: BadFile, tmp_path: Path) -> None:
    """Some can be read without what else was asked for."""
    bad.make(tmp_path)
    said = ""
    try:
        thresholds.gather(tmp_path / bad.path, unknown=bad.wanted.unknown, label_names=bad.wanted.label_names)
    except InputError as error:
        said = str(error)
    assert "--" not in said.replace(str(tmp_path), "")


def test_functions_that_take_a_file_say_how_to_name_its_columns(tmp_path: Path) -> None:
    np.savez(tmp_path / "s.npz", y_score_a=np.zeros((2, 1)), y_score_b=np.zeros((2, 1)), y_true=np.ones((2, 1)))
    with pytest.raises(InputError, match=r"thresholds\.read\(\.\.\., score_column=\.\.\.\)"):
        thresholds.fit_empirical(tmp_path / "s.npz")
    np.savez(tmp_path / "s.npz", y_score=np.zeros((2, 1)), y_true=[[1.0], [np.nan]])
    with pytest.raises(InputError, match="unknown='nan'") as refused:
        thresholds.fit_empirical(tmp_path / "s.npz")
    assert "--" not in str(refused.value)
