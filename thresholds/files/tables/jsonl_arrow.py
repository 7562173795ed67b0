"""Lines of JSON read by pyarrow, several times as fast as by Python, where it reads them just as Python would.

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

from thresholds._arrays.types import Dense
from thresholds.files.source import LONGEST_LINE
from thresholds.files.tables.columns import Column, ListColumn, NoValue

_MOST_BRACKETS = 64  # of a line
# What pyarrow reads otherwise, and words without which it is not there, which are found sooner.
_READ_OTHERWISE = {
    rb"-0": re.compile(rb"-0(?![.\deE])"),
    rb"Inf": re.compile(rb"[:\[,]\s*-?Inf"),
    rb"NaN": re.compile(rb"[:\[,]\s*-?NaN"),
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
        self, lines: Sequence[bytes], columns: Sequence[str], nullable: Collection[str]
    ) -> Values | None:
        """Read columns of lines; None where that is left to Python."""
        import pyarrow as pa
        from pyarrow import json

        text = b"".join(line if line.endswith(b"\n") else line + b"\n" for line in lines)
        if not _is_plain(text, lines):
            return None
        try:
            table = json.read_json(pa.BufferReader(text), self._read, self._parse)
            if table.num_rows != len(lines):
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


def _is_plain(text: bytes, lines: Sequence[bytes]) -> bool:
    """Whether each line is an object, and pyarrow reads it as Python does, if it reads it."""
    for line in lines:
        if not (line.startswith(b"{") and line.endswith((b"}\n", b"}\r\n", b"}"))):
            return False
        if line.count(b"[") + line.count(b"{") > _MOST_BRACKETS:
            return False
    try:
        text.decode()
    except UnicodeDecodeError:
        return False
    return not any(
        word in text and pattern.search(text) for word, pattern in _READ_OTHERWISE.items()
    )


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
