"""Lines of JSON, read by pyarrow some megabytes at a time: a row in each line, an object or a list.

An object has a key for each column. A list is the only column of its row: label names with their scores, as text
classifiers write them.
"""

import codecs
import re
from collections.abc import Collection, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from thresholds._checks import InputError, shown
from thresholds.files.source import Wanted
from thresholds.files.tables.columns import NUMBERS, described
from thresholds.files.tables.table import FileTable, Piece, table_of
from thresholds.files.tables.text import encoding_of, other_encoding, pieces

_PIECE_BYTES = 2**22  # of text that is read at once
_MOST_NESTED = 200  # brackets within others in a line; thousands of them end the process in pyarrow
_FIRST_PIECES = 16  # that are looked at for a column of which those before have nothing but nulls, or empty lists
_LIST = "row"  # the column of lines that are lists
_CHANGED = re.compile(
    r"Column\(/?(?P<column>.*)\) changed from (?P<was>\w+) to (?P<now>\w+) in row (?P<row>\d+)"
)
_IN_ROW = re.compile(r"JSON parse error: (?P<what>.*) in row (?P<row>\d+)", re.DOTALL)
_TWICE = re.compile(r"Column\((?P<key>.*)\) was specified twice in row (?P<row>\d+)")
_NO_BRACKET = bytes(sorted(set(range(256)) - set(b"[]{}\n")))


# Of pyarrow, for people.
_WORDS = {
    "int64": "whole numbers",
    "double": "numbers",
    "bool": "true and false",
    "null": "nothing",
}


class _JsonLines(NamedTuple):
    """Some whole lines of a file."""

    text: bytes
    rows_before: int


def open_json_lines(path: Path, wanted: Wanted) -> FileTable:
    """Open lines of JSON: the first few megabytes tell what each key holds."""
    import pyarrow as pa

    schema = pa.schema([])
    n_rows: int | None = 0
    for number, lines in enumerate(_pieces(path, wanted.encoding)):
        n_rows = None
        schema = _completed(schema, _parsed(path.name, lines, None).schema)
        if number + 1 == _FIRST_PIECES or not any(map(_says_nothing, schema.types)):
            break
    piece = Piece(path.name, str(path), partial(_read, path, wanted.encoding, schema), n_rows)
    return table_of(path.name, schema, [piece], of_text=True, is_loose=True, words=_WORDS)


def _completed(schema: Any, more: Any) -> Any:
    """Return a schema in which a column that said nothing is what a later piece says."""
    import pyarrow as pa

    fields = {field.name: field for field in schema}
    for field in more:
        was = fields.get(field.name, field)
        fields[field.name] = field if _says_nothing(was.type) else was
    return pa.schema(list(fields.values()))


def _read(
    path: Path,
    encoding: str | None,
    schema: Any,
    columns: Sequence[str],
    _: int,
    text: Collection[str],
) -> Iterator[Any]:
    """Read the lines piece by piece; numbers are floats, but in columns that are keys, which stay what they are."""
    import pyarrow as pa

    known = set(schema.names)
    explicit = pa.schema(
        [
            field.with_type(_of_json(field.type, with_floats=field.name not in text))
            for field in schema
            if not _says_nothing(field.type)
        ]
    )
    for lines in _pieces(path, encoding):
        table = _parsed(path.name, lines, explicit)
        for field in table.schema:
            if field.name not in known and described(field.type).kind in NUMBERS:
                values = table[field.name].combine_chunks()
                row = lines.rows_before + int(np.asarray(values.is_valid()).argmax())
                raise InputError(
                    f"{path.name} has the key {field.name!r} at row {row} and not in the first rows, expected all keys"
                    " of numbers there"
                )
        for column in set(columns) - set(table.schema.names):
            table = table.append_column(column, pa.nulls(table.num_rows))
        yield from table.select(list(columns)).combine_chunks().to_batches()


def _parsed(name: str, lines: _JsonLines, schema: Any) -> Any:
    """Return lines as a table; without a schema it is found out."""
    import pyarrow as pa
    from pyarrow import json

    text = lines.text
    _refuse_nested(name, lines)
    if text.lstrip()[:1] == b"[":
        text = _as_objects(text)
    try:
        table = json.read_json(
            pa.BufferReader(text),
            json.ReadOptions(use_threads=False, block_size=len(text) + 1),
            json.ParseOptions(explicit_schema=schema, newlines_in_values=True),
        )
    except pa.ArrowInvalid as error:
        raise _refusal(name, lines, str(error)) from None
    if schema is None:
        fields = [field.with_type(_of_json(field.type)) for field in table.schema]
        if pa.schema(fields) != table.schema:
            return _parsed(name, lines, pa.schema(fields))
    return table


def _refusal(name: str, lines: _JsonLines, said: str) -> InputError:
    """Say of what row pyarrow's words are."""
    if found := _CHANGED.search(said):
        row = int(found["row"]) + lines.rows_before
        column = found["column"].replace("/[]", "").replace("/", ".")
        if not column:
            return InputError(
                f"{name} has {_article(found['now'])} at row {row}, expected {_article(found['was'])} in each line, as"
                " in the lines before"
            )
        return InputError(
            f"column {column!r} of {name} has {_article(found['now'])} at row {row}, expected"
            f" {_article(found['was'])} as in the rows before"
        )
    if found := _TWICE.search(said):
        row = int(found["row"]) + lines.rows_before
        key = found["key"].rpartition("/")[2]
        return InputError(
            f"{name} has the key {key!r} twice in one object at row {row}, expected it once"
        )
    if found := _IN_ROW.search(said):
        row = int(found["row"]) + lines.rows_before
        return InputError(f"{name} has no JSON at row {row}: {found['what']}")
    return InputError(f"{name} has no JSON from row {lines.rows_before} on: {said}")


def _article(word: str) -> str:
    """Return pyarrow's word for a value with its article."""
    word = "list" if word == "array" else word
    return f"{'an' if word[:1] in 'aeiou' else 'a'} {word}"


def _as_objects(text: bytes) -> bytes:
    """Return lines that are lists as objects of one key."""
    rows = (line for line in text.splitlines() if line.strip())
    return b"".join(b'{"%s":%s}\n' % (_LIST.encode(), row) for row in rows)


def _refuse_nested(name: str, lines: _JsonLines) -> None:
    """Refuse lines with lists or objects within others, too deep to read."""
    marks = np.frombuffer(lines.text.translate(None, _NO_BRACKET), np.uint8)
    is_end = marks == ord("\n")
    is_open = (marks == ord("[")) | (marks == ord("{"))
    depth = np.cumsum(np.where(is_end, 0, np.where(is_open, 1, -1)))
    # Of each line the depth that it begins with is taken away.
    before = np.append(0, depth[is_end])
    within = depth - before[np.cumsum(is_end) - is_end]
    if within.max(initial=0) > _MOST_NESTED:
        row = lines.rows_before + int(np.cumsum(is_end)[within.argmax()])
        raise InputError(
            f"{name} has lists or objects within others near row {row}, too deep to read, expected at most"
            f" {_MOST_NESTED}"
        )


def _pieces(path: Path, encoding: str | None) -> Iterator[_JsonLines]:
    """Read some megabytes of whole lines at a time, each of an object or a list."""
    n_rows = 0
    encoding = encoding_of(path, encoding)
    for text in pieces(path, encoding, _PIECE_BYTES):
        if encoding == "utf-8-sig" and not n_rows:
            text = text.removeprefix(codecs.BOM_UTF8)
        lines = _JsonLines(text, n_rows)
        n_rows += _count(path, encoding, lines)
        if text.strip():
            yield lines


def _count(path: Path, encoding: str, lines: _JsonLines) -> int:
    """Count the lines that are not blank; refuse those that begin otherwise, on which pyarrow may end the process."""
    if not lines.text.isascii():
        try:
            lines.text.decode()
        except UnicodeDecodeError as error:
            odd = lines.text[max(0, error.start - 10) : error.start + 10]
            raise other_encoding(path, encoding, odd.decode(errors="surrogateescape")) from None
    cells = np.frombuffer(lines.text, np.uint8)
    starts = np.append(0, np.flatnonzero(cells == ord("\n")) + 1)
    starts = starts[starts < cells.size]
    first = lines.text.lstrip()[:1]
    others = starts[cells[starts] != ord(first or b" ")]
    if first not in (b"", b"{", b"["):
        raise _odd_line(path, lines, lines.text.lstrip().split(b"\n", 1)[0])
    n_blank = 0
    for start in others.tolist():
        line = lines.text[start : lines.text.find(b"\n", start) + 1 or None].strip()
        n_blank += not line
        if line and line[:1] != first:
            raise _odd_line(path, lines, line)
    return starts.size - n_blank


def _odd_line(path: Path, lines: _JsonLines, line: bytes) -> InputError:
    """Say that a line is none of JSON lines."""
    found = shown(line[:40].decode(errors="replace"))
    return InputError(
        f"{path.name} has the line {found} behind row {lines.rows_before}, expected an object in each line"
    )


def _of_json(type_: Any, *, with_floats: bool = False) -> Any:
    """Return a type with text for times, which JSON does not have, and with floats for whole numbers: 1 may be 1.0."""
    import pyarrow as pa

    change = partial(_of_json, with_floats=with_floats)
    if pa.types.is_list(type_):
        return pa.list_(change(type_.value_type))
    if pa.types.is_struct(type_):
        fields = [type_.field(place) for place in range(type_.num_fields)]
        return pa.struct([field.with_type(change(field.type)) for field in fields])
    if pa.types.is_timestamp(type_):
        return pa.string()
    return pa.float64() if with_floats and pa.types.is_integer(type_) else type_


def _says_nothing(type_: Any) -> bool:
    """Whether a column has nothing but nulls, or empty lists."""
    import pyarrow as pa

    if pa.types.is_list(type_):
        return _says_nothing(type_.value_type)
    return bool(pa.types.is_null(type_))
