"""Lines of JSON read by pyarrow, in two fifths of the time of Python, where it reads them just as Python would.

What pyarrow cannot read, or would read otherwise, is left to Python, which says what is wrong with it, or reads it:
`values` is None then. It refuses more than Python does: other types than the first lines have, and other keys. But

* it ends the process on lists nested some thousand deep, so that lines of many brackets are left out;
* it reads Inf, and -0 as a number with a sign; a key that is not there is null; invalid UTF-8 stays what it is;
* several objects may stand in a line, and one in several, which here must begin and end with its line.
"""

import re
from collections.abc import Collection, Mapping, Sequence
from importlib.util import find_spec
from typing import Any

import numpy as np

from thresholds._arrays.types import Dense, Ints
from thresholds.files.lines import Lines
from thresholds.files.source import LONGEST_LINE
from thresholds.files.tables.columns import Column, ListColumn, NoValue

_MOST_BRACKETS = 64  # of a line
_IN_NUMBERS = np.frombuffer(b".0123456789eE", np.uint8)
# Words that pyarrow reads as numbers, and how they stand where they are not within a text.
_WORDS = {
    b"Inf": re.compile(rb"[:\[,]\s*-?Inf"),
    b"NaN": re.compile(rb"[:\[,]\s*-?NaN"),
}

Values = dict[str, Dense | ListColumn]


class ArrowLines:
    """A reader of lines whose columns are known."""

    def __init__(self, columns: Mapping[str, Column]) -> None:
        import pyarrow as pa
        from pyarrow import json

        fields = [pa.field(key, _type_of(column)) for key, column in columns.items()]
        self._columns = columns
        self._parse = json.ParseOptions(
            explicit_schema=pa.schema(fields),
            newlines_in_values=False,
            unexpected_field_behavior="error",
        )
        # Of a few megabytes, whatever a line is long, so that a block is one batch.
        self._read = json.ReadOptions(use_threads=False, block_size=4 * LONGEST_LINE)

    @classmethod
    def of(cls, columns: Mapping[str, Column]) -> "ArrowLines | None":
        """Return a reader of such columns; None without pyarrow, and for columns that it has no types for."""
        if find_spec("pyarrow") is None:
            return None
        if any(_kind_of(column) is None for column in columns.values()):
            return None
        return cls(columns)

    def values(
        self, lines: Lines, columns: Sequence[str], nullable: Collection[str]
    ) -> Values | None:
        """Read columns of lines; None where that is left to Python."""
        import pyarrow as pa
        from pyarrow import json

        lines = lines.without_blank()
        if not _is_plain(lines):
            return None
        try:
            table = json.read_json(pa.BufferReader(lines.text), self._read, self._parse)
            if table.num_rows != lines.ends.size:
                return None
            return {key: self._column(table, key, key in nullable) for key in columns}
        except (pa.ArrowException, NoValue, ValueError):
            return None

    def _column(self, table: Any, key: str, nullable: bool) -> Dense | ListColumn:
        """Return a column as plain arrays."""
        from thresholds.files.tables.arrow_columns import values_of

        column = self._columns[key]
        array = table[key].combine_chunks()
        is_mapping = column.form == "mapping"
        values = _of_mappings(array, column) if is_mapping else values_of(array, nullable=nullable)
        cells = values.values if isinstance(values, ListColumn) else values
        if cells.dtype.kind == "f" and np.isinf(cells).any():
            raise ValueError(
                "a whole number beyond float64 is infinite here, and refused by Python"
            )
        if not nullable:
            return values
        # As a block of which some have no value, whether this one has all or not.
        if isinstance(values, ListColumn):
            return values._replace(values=values.values.astype(np.float64, copy=False))
        return values.astype(np.float64, copy=False)


def _is_plain(lines: Lines) -> bool:
    """Whether each line is an object, and pyarrow reads it as Python does, if it reads it."""
    return (
        _are_objects(lines)
        and _are_flat(lines)
        and _is_utf8(lines.text)
        and not _has_other_numbers(lines)
    )


def _are_objects(lines: Lines) -> bool:
    """Whether each line begins and ends with a brace."""
    cells = lines.cells
    last = cells[lines.ends - 2]  # (n_lines,) the byte before each line end
    last = np.where(last == ord("\r"), cells[lines.ends - 3], last)
    return bool((cells[lines.starts] == ord("{")).all() and (last == ord("}")).all())


def _are_flat(lines: Lines) -> bool:
    """Whether no line has so many brackets that they may be nested deep."""
    cells = lines.cells
    places = np.flatnonzero((cells == ord("[")) | (cells == ord("{")))
    # Each bracket, and the first that is too many for a line with it, if they are as near as in a line.
    first, last = places[:-_MOST_BRACKETS], places[_MOST_BRACKETS:]
    are_near = last - first < np.diff(lines.ends, prepend=0).max(initial=0)
    borders = np.searchsorted(lines.ends, [first[are_near], last[are_near]], side="right")
    return not (borders[0] == borders[1]).any()


def _is_utf8(text: bytes) -> bool:
    """Whether a text is UTF-8."""
    if text.isascii():
        return True
    try:
        text.decode()
    except UnicodeDecodeError:
        return False
    return True


def _has_other_numbers(lines: Lines) -> bool:
    """Whether a text may have numbers that pyarrow reads otherwise than Python: -0, Inf, NaN."""
    behind = lines.cells[_places(lines, b"-0") + 2]
    if not np.isin(behind, _IN_NUMBERS).all():
        return True
    return any(
        _places(lines, word).size and pattern.search(lines.text) for word, pattern in _WORDS.items()
    )


def _places(lines: Lines, word: bytes) -> Ints:
    """Find a word: sooner than Python does, as its first letter is rare in numbers."""
    if word[:1] not in lines.text:
        return np.empty(0, np.int64)
    cells = lines.cells
    places = np.flatnonzero(cells[: -len(word)] == word[0])
    for k, letter in enumerate(word[1:], 1):
        places = places[cells[places + k] == letter]
    return places


def _of_mappings(array: Any, column: Column) -> ListColumn:
    """Return the values of objects as lists in the order of the labels, which each of them has."""
    names = column.names or ()
    cells = [array.field(name) for name in names]
    for cell in cells:
        if cell.null_count or array.null_count:
            raise NoValue("", 0, "")
    matrix = np.column_stack([cell.to_numpy(zero_copy_only=False) for cell in cells])
    return ListColumn(matrix.reshape(-1), np.arange(len(array) + 1) * len(names))


def _kind_of(column: Column) -> Any:
    """Return pyarrow's type of one value; None where there is none."""
    import pyarrow as pa

    types = {
        "float": pa.float64(),
        "int": pa.int64(),
        "bool": pa.bool_(),
        "text": pa.string(),
        "none": pa.null(),
    }
    return types.get(column.kind)


def _type_of(column: Column) -> Any:
    """Return pyarrow's type of a column."""
    import pyarrow as pa

    kind = _kind_of(column)
    if column.form == "list":
        return pa.list_(kind)
    if column.form == "mapping":
        return pa.struct([pa.field(name, kind) for name in column.names or ()])
    return kind
