"""Lines of JSON that pyarrow reads: as Python reads them, bit for bit, and never what Python refuses."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.bad_inputs.mutants import flipped, node, token
from thresholds import InputError
from thresholds.files.tables.columns import ListColumn
from thresholds.files.tables.jsonl import JsonLines
from thresholds.files.tables.jsonl_arrow import ArrowLines

pytest.importorskip("pyarrow", reason="make test-integrations installs pyarrow")

ROWS = [
    {
        "id": k,
        "name": f"r{k}\u00e9",
        "p": [0.5, 1, 1e-3 * k],
        "q": {"a": 0.25, "b": -k / 7},
        "y": ["x"][: k % 2],
        "t": k % 2,
    }
    for k in range(6)
]
COLUMNS = ("id", "name", "p", "q", "y", "t")
NULLABLE = ("t", "p")


def as_text(rows: Any) -> bytes:
    """Lines of JSON."""
    return "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows).encode()


def plain(values: Any) -> Any:
    """What can be compared bit for bit: numbers by their bytes, and words in place of their numbers."""
    if isinstance(values, ListColumn):
        cells = values.values if values.words is None else np.array([values.words[k] for k in values.values], object)
        absent = np.zeros(len(values.offsets) - 1, bool) if values.absent is None else values.absent
        return plain(cells), values.offsets.tolist(), absent.tolist()
    return values.tolist() if values.dtype.hasobject else (values.dtype.str, values.tobytes())


def both(path: Path, text: bytes, first: bytes, nullable: tuple[str, ...] = ()) -> tuple[Any, Any]:
    """What pyarrow reads, and Python, of lines whose columns `first` tells; of Python what it says if it refuses."""
    path.write_bytes(first)
    table = JsonLines(path)
    path.write_bytes(text)
    try:
        lines = table._first_lines(100)
        columns = [column for column in COLUMNS if column in table.columns]
        slow = table._read(lines, columns, nullable, 0)
    except InputError as error:
        slow, lines = str(error), lines if "lines" in vars() else None
    fast = ArrowLines.of(table.columns)
    found = None if fast is None or lines is None else fast.values(lines, columns, nullable)
    return found, slow


@pytest.mark.parametrize("nullable", [(), NULLABLE])
def test_pyarrow_reads_what_python_reads(tmp_path: Path, nullable: tuple[str, ...]) -> None:
    text = as_text(ROWS)
    fast, slow = both(tmp_path / "s.jsonl", text, text, nullable)
    assert fast is not None, "there is nothing odd in it"
    assert {key: plain(values) for key, values in fast.items()} == {key: plain(values) for key, values in slow.items()}


@pytest.mark.parametrize(
    "line",
    [
        '{"id": 1, "id": 2, "p": [0.5, 1, 2]}',
        '{"id": 1, "extra": 3}',
        '{"id": 1.0}',
        '{"id": 1, "p": [NaN, 1, 2]}',
        '{"id": 1, "p": [0.5, -0, 1]}',
        '{"id": 1, "p": [Inf, 0, 1]}',
        '{"id": 1, "name": "\\ud800"}',
        '{"id": 1} {"id": 2}',
        '{"id": 1, "q": {"a": 1}}',
        '{"id": 1, "q": {"a": 1, "a": 2, "b": 3}}',
        '{"id": 1, "name": 7}',
        '{"id": 99999999999999999999}',
        '{"id": 1, "p": ' + "[" * 5000 + "]" * 5000 + "}",
        '{"id": 1, "q": ' + '{"a":' * 5000 + "1" + "}" * 5000 + "}",
        '{"id": 1, "p": [1e999, 0, 1]}',
        '[{"id": 1}]',
    ],
)
def test_what_is_odd_is_left_to_python(tmp_path: Path, line: str) -> None:
    text = as_text(ROWS)
    fast, _ = both(tmp_path / "s.jsonl", text + line.encode() + b"\n", text)
    assert fast is None


def test_lines_that_are_no_utf8_are_left_to_python(tmp_path: Path) -> None:
    text = as_text(ROWS)
    fast, _ = both(tmp_path / "s.jsonl", text.replace("é".encode(), b"\xff"), text)
    assert fast is None


@pytest.mark.parametrize("nullable", [(), NULLABLE])
def test_mutants_are_read_alike_or_left_to_python(tmp_path: Path, nullable: tuple[str, ...]) -> None:
    """Of many thousand mutants of these lines none was read otherwise; some hundred of them are tried here."""
    rng = np.random.default_rng(11)
    text, n_fast = as_text(ROWS), 0
    for _ in range(400):
        mutate = (token, node, flipped)[int(rng.integers(0, 3))]
        mutant = mutate(rng, text)
        fast, slow = both(tmp_path / "s.jsonl", mutant, text, nullable)
        if fast is None:
            continue
        n_fast += 1
        assert not isinstance(slow, str), (mutant, slow)
        assert {key: plain(values) for key, values in fast.items()} == {
            key: plain(values) for key, values in slow.items()
        }, mutant
    assert n_fast > 20, "some mutants are well-formed"
