"""Text files as editors and programs leave them, in pieces of whole lines."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from thresholds import InputError
from thresholds.files import gather, lines, open_scores

TEXTS = {
    "scores.txt": "2 3\n0:0.5 2:0.25\n1:0.75\n",
    "truth.txt": "2 3 3\n0,2 0:0.5\n1 1:0.75\n",
    "truth.svm": "0,2 0:0.5\n1 1:0.75\n",
    "scores.jsonl": '{"y_score": [0.5, 0, 0.25]}\n{"y_score": [0, 0.75, 1]}\n',
}
FORMS = {
    "a byte order mark": lambda text: "\ufeff" + text,
    "line ends of Windows": lambda text: text.replace("\n", "\r\n"),
    "no last line end": lambda text: text[:-1],
    "blank lines at the end": lambda text: text + "\n  \r\n\n",
}


def read(path: Path) -> list[list[float]]:
    """The matrix of a file."""
    np.save(path.with_name("s.npy"), np.zeros((2, 3)))
    is_truth = path.name.startswith("truth")
    data = gather(open_scores(path.with_name("s.npy"), truth_path=path) if is_truth else open_scores(path))
    matrix: Any = data.y_true if is_truth else data.y_score
    return (matrix if isinstance(matrix, np.ndarray) else matrix.toarray()).tolist()


@pytest.mark.parametrize("name", TEXTS)
def test_text_is_read_as_editors_leave_it(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    path.write_bytes(TEXTS[name].encode())
    plain = read(path)
    assert plain[0][0] > 0
    for form, written in FORMS.items():
        path.write_bytes(written(TEXTS[name]).encode())
        assert read(path) == plain, form


def rows_of(path: Path) -> list[list[float]]:
    """The rows of a table of scores."""
    return np.concatenate([block.y_score for block in open_scores(path).blocks()]).tolist()


def test_pieces_are_whole_lines_and_know_their_numbers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "s.jsonl"
    rows = [f'{{"a": {k}.5, "b": 0.25}}' + "\n" * (1 + k % 2) for k in range(9)]  # a blank line behind every second
    path.write_text("".join(rows))
    expected = [[k + 0.5, 0.25] for k in range(9)]
    for n_bytes in (1, 40, 2**22):
        monkeypatch.setattr(lines, "PIECE_BYTES", n_bytes)
        monkeypatch.setattr("thresholds.files.tables.jsonl.rows_per_block", lambda _: 2)
        assert rows_of(path) == expected
        pieces = list(lines.pieces(path))
        assert b"".join(piece.text for piece in pieces) == path.read_bytes()
        assert [number for piece in pieces for number, _ in piece.numbered()] == [1, 2, 4, 5, 7, 8, 10, 11, 13]
    monkeypatch.setattr(lines, "PIECE_BYTES", 40)
    path.write_text("".join([*rows, "{}\n"]))
    with pytest.raises(InputError, match=r"column 'a' of s.jsonl has no value at row 9"):
        rows_of(path)
