"""Every entry of `BAD_FILES` is refused in one line that says what was found and what was expected."""

import re
from collections import Counter
from pathlib import Path

import pytest

from tests.bad_inputs.files import BAD_FILES, BadFile
from thresholds import InputError
from thresholds.files import gather, open_scores, read_label_names


@pytest.mark.parametrize("bad", BAD_FILES, ids=str)
def test_bad_files_are_refused(bad: BadFile, tmp_path: Path) -> None:
    bad.make(tmp_path)
    truth = None if bad.truth_path is None else tmp_path / bad.truth_path
    with pytest.raises(InputError) as caught:
        gather(open_scores(tmp_path / bad.path, bad.wanted, truth_path=truth, logits=bad.logits))
    message = str(caught.value)
    assert re.match(bad.message, message), message
    assert "\n" not in message
    assert "expected" in message or "cannot be read" in message or "no JSON" in message or "already" in message


def test_bad_files_have_names_of_their_own() -> None:
    assert [name for name, times in Counter(map(str, BAD_FILES)).items() if times > 1] == []


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("n.txt", "", "no names"),
        ("n.txt", "cat\n\ndog\n", "an empty line"),
        ("n.txt", "cat\ncat\n", "label_names has 'cat' twice"),
        ("n.json", "[", "cannot be read as label names"),
        ("n.json", '{"cat": 0}', "is no list"),
        ("n.json", "[1, 2]", "label_names has 1 of type int"),
        ("n.json", '["cat", {"a": 1, "a": 2}]', "the key 'a' stands twice in one object"),
        ("n.json", 100_000 * "[", "cannot be read as label names"),
        ("n.json", '["cat", "do\\u0000g"]', "expected names without the character NUL"),
        ("n.txt", "cat\ndog\0\n", "expected names without the character NUL"),
    ],
)
def test_bad_label_names_are_refused(name: str, text: str, said: str, tmp_path: Path) -> None:
    (tmp_path / name).write_text(text)
    with pytest.raises(InputError, match=said):
        read_label_names(tmp_path / name)
