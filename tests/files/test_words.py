"""Messages about files in the words of Python."""

import pytest

from thresholds import InputError
from thresholds.errors import MissingLibraryError
from thresholds.files.words import OF_SOURCES, in_python_words, rewritten

MESSAGES = [
    ("expected one of them as --score-column", "expected one of them as score_column"),
    ("scores may be in 'a', 'b', expected --score-key", "scores may be in 'a', 'b', expected score_column"),
    ("expected gold labels (--truth-column, --truth)", "expected gold labels (truth_column, truth)"),
    ("--key names the columns", "key names the columns"),
    ("the index that pandas writes is --key ''", "the index that pandas writes is key=''"),
    ("named for two roles, --key and --groups, expected one", "named for two roles, key and groups, expected one"),
    ("--label-names has 3 names, expected 2", "label_names has 3 names, expected 2"),
    ("has no value; --unknown nan if that is not known", "has no value; unknown='nan' if that is not known"),
    ("has -1; --unknown=-1 if that is not known", "has -1; unknown=-1 if that is not known"),
    ("has -1; --unknown=-1.5 if that is not known", "has -1; unknown=-1.5 if that is not known"),
    ("--unknown=nan,-1 says both", "unknown=('nan', -1) says both"),
    ("--unknown nan,-1 says both", "unknown=('nan', -1) says both"),
    ("expected 0, 1 or no value, as --unknown says", "expected 0, 1 or no value, as unknown says"),
    (
        "no value at row 1; --unknown nan (in Python unknown='nan') if that is not known",
        "no value at row 1; unknown='nan' if that is not known",
    ),
    ("; --unknown nan,-1 (in Python unknown=('nan', -1)) if that is", "; unknown=('nan', -1) if that is"),
    ("is no UTF-8; --encoding cp1252, perhaps", "is no UTF-8; encoding='cp1252', perhaps"),
    ("is no UTF-8; --encoding utf-16 or others", "is no UTF-8; encoding='utf-16' or others"),
    ("--encoding names another", "encoding names another"),
    ("--label-separator '|' parts them", "label_separator='|' parts them"),
    ("--label-separator=| parts them", "label_separator='|' parts them"),
    ("--true-words yes,ja says what is true", "true_words=('yes', 'ja') says what is true"),
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
        ("--unknown nan and --label-names", "unknown='nan' and label_names"),
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
