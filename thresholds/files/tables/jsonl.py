"""Lines of JSON as a table: an object in each line, scores as a list or as {label: score}.

Where pyarrow is installed it reads blocks of lines that have nothing odd (`jsonl_arrow`), and Python all others.
"""

from collections.abc import Collection, Iterator, Sequence
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np

from thresholds._arrays.blocks import ceil_div
from thresholds._arrays.types import Dense
from thresholds._checks import InputError, different, shown
from thresholds._checks.options import is_utf8
from thresholds._checks.strict_json import read_json
from thresholds.files.lines import Lines, pieces
from thresholds.files.source import rows_per_block
from thresholds.files.tables.columns import Batch, Column, Form, Kind, ListColumn, NoValue, Table
from thresholds.files.tables.jsonl_arrow import ArrowLines
from thresholds.files.tables.text import TextTable

_LOOKED_AT = 1000  # rows that tell what columns hold, or fewer if they are long

# Kinds of columns in words for people.
_WORDS = {
    "float": "numbers",
    "int": "whole numbers",
    "bool": "true or false",
    "none": "labels",
}

# The dtype of each kind of column, and the types of JSON that go into it.
_DTYPES: dict[Kind, tuple[Any, tuple[type, ...]]] = {
    "bool": (np.bool_, (bool,)),
    "int": (np.int64, (int,)),
    "none": (np.float64, ()),
}

Row = dict[str, Any]


class JsonLines(TextTable):
    """A file of one JSON object a line; blank lines are passed over."""

    def __init__(self, path: Path, _: Sequence[str] = ()) -> None:
        self.name = path.name
        self._path = path
        lines = self._first_lines(_LOOKED_AT)
        rows = [self._object(*line) for line in lines.numbered()]
        self._row_bytes = ceil_div(len(lines.text), max(1, len(rows)))
        self._n_looked_at = len(rows)
        self.columns = {}
        if not rows:
            self.n_rows = 0
        for key in dict.fromkeys(chain.from_iterable(rows)):
            values = [row[key] for row in rows if key in row]
            self.columns[key] = _described(values)._replace(optional=len(values) < len(rows))

    def batches(
        self, columns: Sequence[str], n_labels: int, nullable: Collection[str] = ()
    ) -> Iterator[Batch]:
        """Read some thousand lines at a time."""
        first = self._part.rows_before
        fast = ArrowLines.of(self.columns)
        for lines in self._lines(rows_per_block(n_labels)):
            read = None if fast is None else fast.values(lines, columns, nullable)
            if read is None:
                read = self._read(lines, columns, nullable, first)
            yield Batch(self.name, first, read)
            first += lines.n_rows
        self.refuse_other_number(first - self._part.rows_before)

    def parts(self, n_rows: int) -> list[Table]:
        """Return ranges of lines, if there are more than a few."""
        return self.cut(n_rows * self._row_bytes)

    def beginnings(
        self, columns: Sequence[str], nullable: Collection[str] = ()
    ) -> Iterator[tuple[str, Batch | None]]:
        """Read the first lines, once."""
        first = self._part.rows_before
        rows = self._rows(self._first_lines(rows_per_block(1)))
        for key in columns if rows else ():
            try:
                column = self._column(key, rows, first, key in nullable)
                yield key, Batch(self.name, first, {key: column})
            except NoValue:
                yield key, None

    def _read(
        self, lines: Lines, columns: Sequence[str], nullable: Collection[str], first: int
    ) -> dict[str, Dense | ListColumn]:
        """Read columns of some lines by Python."""
        rows = self._rows(lines)
        return {key: self._column(key, rows, first, key in nullable) for key in columns}

    def _lines(self, n_lines: int) -> Iterator[Lines]:
        """Read so many lines at a time, or fewer where these are long: numbers take some ten times their text."""
        for piece in pieces(self._path, self._part):
            yield from (lines for lines in piece.cut(n_lines) if lines.n_rows)

    def _first_lines(self, n_lines: int) -> Lines:
        """Read the first of these."""
        return next(self._lines(n_lines), Lines.of(b""))

    def _rows(self, lines: Lines) -> list[tuple[int, Row]]:
        """Read objects, with the numbers of their lines."""
        rows = [(number, self._object(number, line)) for number, line in lines.numbered()]
        self._refuse_late_numbers(rows)
        return rows

    def _object(self, number: int, line: bytes) -> Row:
        """Read the object of a line."""
        try:
            # NaN is read: where it is used, it is refused as a score.
            row = read_json(line, constants=True)
        except InputError as error:
            raise InputError(f"{self._path} has no JSON in line {number}: {error}") from None
        if not isinstance(row, dict):
            raise InputError(f"{self._path} has {shown(row)} in line {number}, expected an object")
        return row

    def _refuse_late_numbers(self, rows: list[tuple[int, Row]]) -> None:
        """Refuse numbers under a key that the first rows do not have: they may be a label."""
        for number, row in rows:
            for key in row.keys() - self.columns.keys():
                if isinstance(row[key], int | float):
                    raise InputError(
                        f"{self._path} has the key {shown(key)} in line {number} and not in the first"
                        f" {self._n_looked_at:,}, expected all keys of numbers there"
                    )

    def _column(
        self, key: str, rows: list[tuple[int, Row]], first: int, nullable: bool
    ) -> Dense | ListColumn:
        """Return the values of a key as arrays; where it is nullable, null is NaN, or a row without a list."""
        column = self.columns[key]
        values: list[Any] = []
        for place, (number, row) in enumerate(rows):
            value = row.get(key)
            if value is None and not nullable:
                raise NoValue(self.name, first + place, key)
            if value is not None and _form(value) != column.form:
                raise self._odd(key, number, value)
            values.append(value)
        numbers = [number for number, _ in rows]
        if column.form == "flat":
            if column.kind == "text":
                return self._texts(key, values, numbers)
            lengths = np.ones(len(values), np.int64)
            return self._array(key, values, numbers, lengths, first, nullable)
        if column.form == "mapping":
            values = [
                None if value is None else self._in_order(key, value, number)
                for value, number in zip(values, numbers, strict=True)
            ]
        return self._lists(key, values, numbers, first, nullable)

    def _texts(self, key: str, values: list[Any], numbers: list[int]) -> Dense:
        """Return text, among which numbers may be, as text."""
        for value, number in zip(values, numbers, strict=True):
            if type(value) not in (str, int) or not is_utf8(str(value)):
                raise self._odd(key, number, value)
        return np.array([str(value) for value in values], object)

    def _lists(
        self, key: str, values: list[Any], numbers: list[int], first: int, nullable: bool
    ) -> ListColumn:
        """Lay lists end to end."""
        absent = np.array([value is None for value in values]) if nullable else None  # (n_rows,)
        values = [value or () for value in values]
        lengths = np.array([len(value) for value in values])
        offsets = np.append(0, np.cumsum(lengths))
        flat = list(chain.from_iterable(values))
        if self.columns[key].kind != "text":
            cells = self._array(key, flat, numbers, lengths, first, nullable)
            return ListColumn(cells, offsets, absent=absent)
        index: dict[str, int] = {}
        for at, word in enumerate(flat):
            if not isinstance(word, str):
                raise self._odd(
                    key, numbers[int(np.searchsorted(offsets, at, side="right")) - 1], word
                )
            index.setdefault(word, len(index))
        return ListColumn(np.array([index[word] for word in flat], np.int64), offsets, tuple(index))

    def _array(
        self,
        key: str,
        flat: list[Any],
        numbers: list[int],
        lengths: Dense,
        first: int,
        nullable: bool,
    ) -> Dense:
        """Return numbers as an array: float64, or int64 and bool where they are nothing else."""
        dtype, allowed = _DTYPES.get(self.columns[key].kind, (np.float64, (int, float)))
        if nullable:
            dtype, allowed = np.float64, (*allowed, type(None))
        if not set(map(type, flat)) <= set(allowed):
            at = next(at for at, value in enumerate(flat) if type(value) not in allowed)
            ends = np.cumsum(lengths)
            row = int(np.searchsorted(ends, at, side="right"))
            if flat[at] is not None:
                raise self._odd(key, numbers[row], flat[at])
            place = at - int(ends[row] - lengths[row])
            raise NoValue(self.name, first + row, key, None if lengths.max() == 1 else place)
        try:
            return np.array(flat, dtype)
        except OverflowError as error:
            raise InputError(
                f"{key!r} of {self._path} has a number that is too large, expected 64 bits, or text as keys: {error}"
            ) from None

    def _in_order(self, key: str, value: Row, number: int) -> list[Any]:
        """Return the values of a mapping in the order of the labels."""
        names = self.columns[key].names or ()
        if value.keys() != set(names):
            difference = different(value, names)
            raise InputError(
                f"{key!r} of {self._path} {difference} in line {number}, expected the labels of the first line"
            )
        return [value[name] for name in names]

    def _odd(self, key: str, number: int, value: object) -> InputError:
        """Refuse a value of another type than the first rows have."""
        expected = self.columns[key].type
        return InputError(
            f"{key!r} of {self._path} has {shown(value)} in line {number}, expected {expected}"
        )


def _described(values: list[Any]) -> Column:
    """Return what a key holds, as its first values show."""
    first = next((value for value in values if value is not None), None)
    form = _form(first)
    cells: list[Any] = values
    if form != "flat":
        rows = [value for value in values if isinstance(value, list | dict)]
        cells = [cell for row in rows for cell in (row.values() if isinstance(row, dict) else row)]
    types = [type(cell) for cell in cells if cell is not None]
    if form == "flat" and set(types) == {int, str}:
        kind: Kind = "text"  # such as keys, of which some look like numbers
    elif set(types) <= {int, float}:
        kind = _kind(set(types))
    else:
        kind = _kind(set(types[:1]))  # Others are refused where they are read.
    cell_words = _WORDS.get(kind, kind)
    words = {"flat": cell_words, "list": f"lists of {cell_words}", "mapping": "scores by label"}[
        form
    ]
    return Column(form, kind, words, None, tuple(first) if isinstance(first, dict) else None)


def _form(value: object) -> Form:
    """Return the form of a column that holds such a value."""
    if isinstance(value, list):
        return "list"
    return "mapping" if isinstance(value, dict) else "flat"


def _kind(types: set[type]) -> Kind:
    """Return the kind of cells of such types."""
    if not types:
        return "none"
    if types == {int}:
        return "int"
    if types <= {int, float}:
        return "float"
    if types == {bool}:
        return "bool"
    return "text" if types == {str} else "other"
