"""Files that pyarrow reads: parquet, csv and the datasets of Hugging Face's library, which it reads without that.

It needs pyarrow: `pip install pyarrow`.
"""

import codecs
import gzip
import io
import os
import re
import struct
from abc import abstractmethod
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from copy import copy
from csv import reader as cells_of
from pathlib import Path, PureWindowsPath
from typing import Any, NamedTuple

import numpy as np

from thresholds._arrays.blocks import in_pieces
from thresholds._arrays.types import Dense
from thresholds._checks import InputError, listed, shown
from thresholds._checks.boundary import reading_json
from thresholds.errors import need
from thresholds.files.lines import WHOLE, LineRange, Lines, Stretch
from thresholds.files.source import LONGEST_LINE, MOST_COLUMNS, rows_per_block
from thresholds.files.tables.arrow_columns import (
    class_names,
    described,
    features_in,
    index_columns,
    names_in,
    values_of,
)
from thresholds.files.tables.columns import (
    NOT_UTF8,
    Batch,
    Kind,
    ListColumn,
    NoValue,
    Table,
)
from thresholds.files.tables.quotes import WatchedQuotes, row_left_open
from thresholds.files.tables.text import TextTable
from thresholds.results import counted

# For each column of parquet: as fast as a map of the file, of which all pages stay resident.
_BUFFER_BYTES = 2**16
# Of parquet with lists that are read at once, whatever the length of the first: as fast as many more.
_ROWS_OF_LISTS = 2**12
# Of a csv that are read at once: pyarrow asks for the header, and any row, to fit.
_BLOCK_BYTES = 2**20
_ROWS_IN_BLOCK = 8
_IN_QUOTES = re.compile(rb'"[^"]*"')
# Cells of numbers, or nothing; the group is the decimals, where there are some.
_DECIMAL_COMMA, _DECIMAL_POINT = (
    re.compile(rf"\s*[-+]?\d+({point}\d+)?(?:[eE][-+]?\d+)?\s*|") for point in (",", r"\.")
)
# What pyarrow says of a row or a cell of csv that it refuses: row 1 is the header, and column 0 the first.
_ODD_ROW = re.compile(
    r"CSV parse error: Row #(?P<row>\d+): "
    r"Expected (?P<expected>\d+) columns, got (?P<found>\d+): (?P<text>.*)",
    re.DOTALL,
)
_ODD_CELL = re.compile(
    r"In CSV column #(?P<column>\d+): Row #(?P<row>\d+): CSV conversion error to (?P<type>.+?): "
    r"(?:invalid value '(?P<text>.*)'|invalid UTF8 data)",
    re.DOTALL,
)
_LONGER_THAN_A_BLOCK = "straddl"  # as it says of a row
_EXPECTED = {"double": "a number", "string": "UTF-8"}  # by pyarrow's types
_NUMBER = "number"  # the type of all columns of numbers in a csv, where 1 may stand for 1.0


def pyarrow(name: str) -> Any:
    """Import pyarrow, which a file needs."""
    need("pyarrow", name)
    import pyarrow

    return pyarrow


class ArrowTable(Table):
    """A table whose reader gives Arrow's record batches."""

    def __init__(
        self, path: Path, schema: Any, n_rows: int | None, features: Mapping[str, Any] | None = None
    ) -> None:
        self.name = path.name
        self.n_rows = n_rows
        self._path = path
        doubled = [name for name, times in Counter(schema.names).items() if times > 1]
        if doubled:
            raise InputError(
                f"{path.name} has several columns named {listed(doubled)}, expected each name once"
            )
        self.label_names = names_in(schema, path.name)
        features = features_in(schema, path.name) if features is None else features
        index = index_columns(schema)
        self.columns = {
            field.name: described(field.type, class_names(features.get(field.name)))._replace(
                of_index=field.name in index
            )
            for field in schema
        }

    @abstractmethod
    def record_batches(self, columns: Sequence[str], n_rows: int) -> Iterator[Any]:
        """Read columns; batches are cut to `n_rows` by those who take them."""

    def batches(
        self, columns: Sequence[str], n_labels: int, nullable: Collection[str] = ()
    ) -> Iterator[Batch]:
        """Read columns a few megabytes at a time."""
        pa = pyarrow(self.name)
        step = rows_per_block(n_labels)
        first = self.first_row or 0
        try:
            for batch in self.record_batches(columns, step):
                for piece in in_pieces(slice(0, batch.num_rows), step):
                    rows = batch.slice(piece.start, piece.stop - piece.start)
                    yield self._plain(rows, columns, first, nullable)
                    first += rows.num_rows
        finally:
            pa.default_memory_pool().release_unused()  # 0.1 GB, measured, that a fit would have beside its own

    def beginnings(
        self, columns: Sequence[str], nullable: Collection[str] = ()
    ) -> Iterator[tuple[str, Batch | None]]:
        """Read the first block of each column."""
        pa, step = pyarrow(self.name), rows_per_block(1)
        try:
            for column, batch in self.first_batches(columns, step) if columns else ():
                try:
                    rows = batch.slice(0, step)
                    yield column, self._plain(rows, [column], self.first_row or 0, nullable)
                except NoValue:
                    yield column, None
        finally:
            pa.default_memory_pool().release_unused()

    def first_batches(self, columns: Sequence[str], n_rows: int) -> Iterator[tuple[str, Any]]:
        """Return each column with a batch that has its first rows, if there are any."""
        batch = next(
            (batch for batch in self.record_batches(columns, n_rows) if batch.num_rows), None
        )
        return iter(()) if batch is None else ((column, batch) for column in columns)

    def _plain(
        self, batch: Any, columns: Sequence[str], first: int, nullable: Collection[str]
    ) -> Batch:
        """Turn one batch into plain arrays."""
        values: dict[str, Dense | ListColumn] = {}
        for column in columns:
            try:
                array = batch.column(batch.schema.get_field_index(column))
                values[column] = values_of(array, nullable=column in nullable)
            except NoValue as where:
                raise NoValue(self.name, first + where.row, column, where.place) from None
        return Batch(self.name, first, values)


class ParquetTable(ArrowTable):
    """A parquet file."""

    def __init__(self, path: Path, _: Sequence[str] = ()) -> None:
        with self._open(path) as file:
            super().__init__(path, file.schema_arrow, file.metadata.num_rows)
            self._groups = range(file.num_row_groups)

    def parts(self, n_rows: int) -> list[Table]:
        """Return row groups, small ones together."""
        with self._open(self._path) as file:
            sizes = [file.metadata.row_group(group).num_rows for group in self._groups]
        parts = list[Table]()
        first, start = self.first_row or 0, 0
        for stop in range(1, len(sizes) + 1):
            size = sum(sizes[start:stop])
            if size >= n_rows or stop == len(sizes):
                part = copy(self)
                part._groups, part.n_rows, part.first_row = self._groups[start:stop], size, first
                parts.append(part)
                first, start = first + size, stop
        return parts

    def record_batches(self, columns: Sequence[str], n_rows: int) -> Iterator[Any]:
        """Read row groups piece by piece; fewer rows at once where there are lists, by the length of the first.

        What the file says of its columns is not asked: there pyarrow ends the process over a damaged byte.
        """
        with self._open(self._path) as file:
            step = n_rows
            lists = [column for column in columns if self.columns[column].form == "list"]
            for _, batch in self._first_of(file, lists, 1):
                array = getattr(batch.column(0), "storage", batch.column(0))
                step = min(step, _ROWS_OF_LISTS, rows_per_block(len(array.flatten())))
            yield from self._batches_of(file, columns, step)

    def first_batches(self, columns: Sequence[str], n_rows: int) -> Iterator[tuple[str, Any]]:
        """Read one column after another, as a page of each is in memory while it is read."""
        with self._open(self._path) as file:
            yield from self._first_of(file, columns, n_rows)

    def _first_of(
        self, file: Any, columns: Sequence[str], n_rows: int
    ) -> Iterator[tuple[str, Any]]:
        """Return each column with a batch that has its first rows, if there are any."""
        for column in columns:
            batches = self._batches_of(file, [column], n_rows)
            batch = next((batch for batch in batches if batch.num_rows), None)
            if batch is not None:
                yield column, batch

    def _batches_of(self, file: Any, columns: Sequence[str], n_rows: int) -> Iterator[Any]:
        """Read row groups, each by itself: pyarrow joins no lists of dictionary text across them."""
        for group in self._groups:
            yield from file.iter_batches(
                n_rows, row_groups=[group], columns=list(columns), use_threads=False
            )

    @staticmethod
    def _open(path: Path) -> Any:
        """Open the file; little is read ahead."""
        pyarrow(path.name)
        from pyarrow import parquet

        return parquet.ParquetFile(path, buffer_size=_BUFFER_BYTES, pre_buffer=False)


class CsvTable(ArrowTable, TextTable):
    """A csv file with a header, perhaps compressed (`.csv.gz`), its cells parted by commas, semicolons or tabs.

    The first block tells numbers from text; numbers are then read as float64, whatever they look like there. What
    stands for keys or groups is text. Where no commas part cells, numbers may have them in place of points.
    """

    def __init__(self, path: Path, text: Sequence[str]) -> None:
        pyarrow(path.name)
        import pyarrow as pa

        self.name, self._path = path.name, path
        self._types = dict.fromkeys(text, pa.string())
        self._layout = _Layout.of(path)
        self._point = "."
        with self._open(path) as reader:
            schema = reader.schema
            super().__init__(path, schema, None)
            self.has_rows = any(batch.num_rows for batch in reader)
        with_commas = (
            None if self._layout.separator == "," else self._decimals(_DECIMAL_COMMA, text)
        )
        if with_commas is not None:
            self._point = ","
            self.notes = (f"numbers of {path.name} have decimal commas",)
            with self._open(path) as reader:
                schema = reader.schema
            super().__init__(path, schema, None)
            with_points = self._decimals(_DECIMAL_POINT, text)
            if with_points is not None:
                raise InputError(
                    f"numbers of {path.name} have decimal commas in {with_commas!r} and decimal points in"
                    f" {with_points!r}, expected one of them"
                )
        for name, column in self.columns.items():
            if column.type == "binary":  # as pyarrow reads it
                self.columns[name] = column._replace(type=NOT_UTF8)
            if name not in text and column.kind in ("float", "int", "none"):
                self._types[name] = pa.float64()
                kind: Kind = "float" if column.kind == "none" else column.kind
                self.columns[name] = column._replace(kind=kind, type=_NUMBER)
        # All others are what they are in the first block, wherever a part of the file begins.
        self._types = {field.name: field.type for field in schema} | self._types

    def parts(self, n_rows: int) -> list[Table]:
        """Return ranges of lines, if there are more than a few, and each line is certain to be a row."""
        layout = self._layout
        if layout.body is None:
            return [self]
        return self.cut(n_rows * layout.row_bytes, layout.body, _are_rows)

    def record_batches(self, columns: Sequence[str], n_rows: int) -> Iterator[Any]:
        """Read block by block."""
        n_read = 0
        with self._open(self._path, list(columns)) as reader:
            for batch in reader:
                n_read += batch.num_rows
                yield batch
        self.refuse_other_number(n_read)

    def _refusal(self, said: str) -> InputError | None:
        """Say of what row and column pyarrow's words are; None if of nothing in the rows."""
        if found := _ODD_ROW.fullmatch(said):
            cells = counted(int(found["found"]), "cell")
            return InputError(
                f"{self.name} has {cells} at {self._row(found)} ({shown(found['text'])}), expected"
                f" {found['expected']} as in its header"
            )
        if found := _ODD_CELL.fullmatch(said):
            header, place = self._layout.header.decode("utf-8-sig"), int(found["column"])
            names = next(cells_of([header], delimiter=self._layout.separator))
            column = f"column {names[place]!r}" if place < len(names) else "a column"
            text = NOT_UTF8 if found["text"] is None else shown(found["text"])
            expected = _EXPECTED.get(found["type"], found["type"])
            return InputError(
                f"{column} of {self.name} has {text} at {self._row(found)}, expected {expected}"
            )
        return None

    def _row(self, found: re.Match[str]) -> str:
        """Return the number of a row in the whole file, from 0, as that of cells without a value."""
        return f"row {int(found['row']) - 2 + self._part.rows_before}"

    def _decimals(self, form: re.Pattern[str], text: Sequence[str]) -> str | None:
        """Return a column, but for those of text, whose first block has nothing but such numbers, not all whole."""
        columns = [name for name in self.columns if name not in text]
        columns = [name for name in columns if self.columns[name].kind == "text"]
        for name, batch in self.beginnings(columns):
            cells = [] if batch is None else [str(cell) for cell in batch.columns[name]]
            found = [form.fullmatch(cell) for cell in cells]
            if all(found) and any(match and match[1] for match in found):
                return name
        return None

    @contextmanager
    def _open(self, path: Path, columns: list[str] | None = None) -> Iterator[Any]:
        """Open the file; what is wrong with a row is said with its number."""
        pa = pyarrow(self.name)
        stream = self._watched(path)
        try:
            with io.BufferedReader(stream) as file, self._reader(file, columns) as reader:
                yield reader
        except pa.ArrowInvalid as error:
            refusal = self._refusal(str(error))
            if refusal is None and _LONGER_THAN_A_BLOCK in str(error):
                with self._watched(path) as whole:
                    whole.read_to_end()
                refusal = self._open_quote(path) if whole.is_left_open else None
            if refusal is None:
                raise
            raise refusal from None
        if stream.is_left_open:
            raise self._open_quote(path)

    def _watched(self, path: Path) -> WatchedQuotes:
        """Open the text, and follow its quotation marks."""
        return WatchedQuotes(self._bytes(path), self._layout.separator)

    def _bytes(self, path: Path) -> Any:
        """Open the text, or the part of it that this is."""
        if self._part != WHOLE:
            return Stretch(path, self._layout.header, self._part)
        return gzip.open(path) if path.suffix == ".gz" else open(path, "rb")

    def _open_quote(self, path: Path) -> InputError:
        """Say where a cell in quotes begins that lasts until the file ends."""
        with self._bytes(path) as stream:
            row = row_left_open(stream, self._layout.separator)
        return InputError(
            f"{self.name} has a quotation mark at row {row} that is never closed, expected one behind the cell"
        )

    def _reader(self, file: Any, columns: list[str] | None) -> Any:
        """Return a reader of blocks of rows."""
        from pyarrow import csv

        return csv.open_csv(
            file,
            # One thread reads these streams as fast as two, and says in which row a fault is.
            csv.ReadOptions(block_size=self._layout.block_size, use_threads=False),
            csv.ParseOptions(delimiter=self._layout.separator, newlines_in_values=True),
            csv.ConvertOptions(
                column_types=self._types,
                include_columns=columns,
                strings_can_be_null=False,
                decimal_point=self._point,
            ),
        )


class DatasetTable(ArrowTable):
    """A dataset that Hugging Face's `save_to_disk` wrote: Arrow streams, mapped into memory."""

    def __init__(self, path: Path) -> None:
        self._streams = [path / name for name in _data_files(path)]
        info = path / "dataset_info.json"
        features = _json(info).get("features") if info.exists() else None
        with self._open(self._streams[0]) as reader:
            super().__init__(path, reader.schema, None, features)
        self.n_rows = sum(self._count(stream) for stream in self._streams)

    def parts(self, n_rows: int) -> list[Table]:
        """Return the streams."""
        parts = list[Table]()
        first = self.first_row or 0
        for stream in self._streams:
            part = copy(self)
            part._streams, part.n_rows, part.first_row = [stream], self._count(stream), first
            parts.append(part)
            first += part.n_rows
        return parts

    def record_batches(self, columns: Sequence[str], n_rows: int) -> Iterator[Any]:
        """Read all streams, of which nothing is believed: that batches lie in their bytes is checked."""
        for stream in self._streams:
            with self._open(stream) as reader:
                names = reader.schema.names
            with self._open(stream, [names.index(column) for column in columns]) as reader:
                for batch in reader:
                    selected = batch.select(list(columns))
                    selected.validate(full=True)
                    yield selected

    @staticmethod
    def _open(path: Path, places: Sequence[int] = ()) -> Any:
        """Open one stream, for columns by their places; others are not unpacked."""
        pa = pyarrow(path.name)
        options = pa.ipc.IpcReadOptions(included_fields=list(places))
        return pa.ipc.open_stream(pa.memory_map(os.fspath(path)), options=options)

    @staticmethod
    def _count(path: Path) -> int:
        """Count the rows of one stream, from the headers of its batches: nothing is unpacked."""
        pa = pyarrow(path.name)
        with pa.memory_map(os.fspath(path)) as stream:
            messages = iter(pa.ipc.MessageReader.open_stream(stream))
            return sum(
                _n_rows(message.metadata) for message in messages if message.type == "record batch"
            )


def _n_rows(header: Any) -> int:
    """Read the number of rows that the header of a record batch has, as Arrow's Message.fbs lays it out."""
    header = bytes(header)

    def field(table: int, number: int) -> int:
        """Return the place of a field, which a table of a flatbuffer looks up in its vtable."""
        vtable = table - struct.unpack_from("<i", header, table)[0]
        return int(table + struct.unpack_from("<H", header, vtable + 4 + 2 * number)[0])

    message = struct.unpack_from("<I", header)[0]
    at = field(message, 2)  # Message.header, a RecordBatch
    batch = at + struct.unpack_from("<I", header, at)[0]
    length = field(batch, 0)  # RecordBatch.length, which is not there if it is 0
    return 0 if length == batch else int(struct.unpack_from("<q", header, length)[0])


class _Layout(NamedTuple):
    """How a csv is laid out, as its header, which is UTF-8, and its first row tell."""

    separator: str  # of cells
    block_size: int  # bytes to be read at once: there must be room for the header, and for any row
    row_bytes: int  # of the first row
    header: bytes
    body: LineRange | None  # what follows the header; None where it cannot be cut

    @classmethod
    def of(cls, path: Path) -> "_Layout":
        """Look at the first two lines that are not empty."""
        is_packed = path.suffix == ".gz"
        with gzip.open(path) if is_packed else open(path, "rb") as stream:
            header = _first_line(stream)
            body = LineRange(stream.tell())
            row = _first_line(stream)
        longest = max(len(header), len(row))
        if longest > LONGEST_LINE:
            raise InputError(
                f"{path} has a line of more than {LONGEST_LINE:,} bytes, expected at most that"
            )
        try:
            header.decode()
        except UnicodeDecodeError:
            raise InputError(
                f"{path} cannot be read: its header is not UTF-8, expected that encoding"
            ) from None
        is_tsv = path.name.removesuffix(".gz").endswith(".tsv")
        separator = "\t" if is_tsv else _separator(header, row)
        n_columns = header.count(separator.encode()) + 1
        if n_columns > MOST_COLUMNS:
            raise InputError(
                f"{path} has {n_columns:,} columns, expected at most {MOST_COLUMNS:,}, or lists"
            )
        block_size = max(_BLOCK_BYTES, min(_ROWS_IN_BLOCK * longest, 2 * LONGEST_LINE))
        can_be_cut = not is_packed and _is_header(header, separator)
        return cls(separator, block_size, len(row), header, body if can_be_cut else None)


def _first_line(stream: Any) -> bytes:
    """Read the next line that is not empty; nothing at the end of a file."""
    line = b"\n"
    while line and not line.removeprefix(codecs.BOM_UTF8).strip(b"\r\n"):
        line = stream.readline(LONGEST_LINE + 1)
    return bytes(line)


def _is_header(line: bytes, separator: str) -> bool:
    """Whether a line is certain to be a whole row: its quotes are around cells, and no cell has some within."""
    cell = rf'(?:"[^"\r\n]*"|[^"\r\n{separator}]*)'
    return re.fullmatch(rf"\ufeff?{cell}(?:{separator}{cell})*\r?\n", line.decode()) is not None


def _are_rows(lines: Lines) -> bool:
    """Whether each line is certain to be a row, or empty: there are no quotes, and no other ends of rows."""
    if b'"' in lines.text:
        return False
    if b"\r" in lines.text:
        n_of_windows = np.count_nonzero(lines.cells[lines.ends - 2] == ord("\r"))
        if n_of_windows < np.count_nonzero(lines.cells == ord("\r")):
            return False
    n_empty = lines.ends.size - lines.n_rows
    return n_empty == 0 or n_empty == sum(
        text in (b"\n", b"\r\n") for text in lines.beginning_with_space()
    )


def _separator(header: bytes, row: bytes) -> str:
    """Tell what parts the cells of a csv: a comma, unless that parts header and first row otherwise than each other."""
    header, row = (_IN_QUOTES.sub(b"", line) for line in (header, row))
    for separator in (b",", b";", b"\t"):
        if header.count(separator) == row.count(separator) > 0:
            return separator.decode()
    return ","


def dataset_splits(path: Path) -> list[str] | None:
    """Return the names of the datasets that a folder of datasets holds; None for other folders."""
    file = path / "dataset_dict.json"
    return [str(split) for split in _json(file).get("splits", [])] if file.exists() else None


def _data_files(folder: Path) -> list[str]:
    """Return the names of a dataset's files, each in its own folder: nothing else is read, whatever the names say."""
    entries = _json(folder / "state.json").get("_data_files")
    if entries == []:
        raise InputError(f"{folder.name} has no rows, expected at least one")
    if not isinstance(entries, list) or not all(isinstance(entry, dict) for entry in entries):
        raise InputError(
            f"{folder.name} has no data files in state.json, expected a dataset that save_to_disk wrote"
        )
    names = list[str]()
    for entry in entries:
        name = entry.get("filename")
        if (
            not isinstance(name, str)
            or name in ("", ".", "..")
            or PureWindowsPath(name).name != name
        ):
            raise InputError(
                f"state.json of {folder.name} names {shown(name)}, expected files of its own folder"
            )
        names.append(name)
    return names


def _json(path: Path) -> dict[str, Any]:
    """Read an object."""
    value = reading_json(path, constants=True)
    return value if isinstance(value, dict) else {}
