"""Csv as people have it: what parts its cells, how it is encoded, how its numbers are written; pyarrow reads the rows.

The beginning of a file tells its layout. The first block of rows tells numbers from text; numbers are then read as
float64, whatever they look like there. What stands for keys or groups is text.
"""

import codecs
import csv
import gzip
import io
import re
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple

from thresholds._checks import InputError, listed, shown
from thresholds._checks.boundary import unreadable
from thresholds.files.source import Dialect, Wanted
from thresholds.files.tables.columns import NOT_UTF8
from thresholds.files.tables.table import Piece, Table, table_of
from thresholds.results import counted

MOST_COLUMNS = 2**16  # pyarrow takes 10 KB for each
_LONGEST_LINE = 2**24  # bytes
_BLOCK_BYTES = 2**20  # that are read at once: pyarrow asks any row to fit
_ROWS_IN_BLOCK = 8
_MARKS = {
    codecs.BOM_UTF8: "utf-8-sig",
    codecs.BOM_UTF16_LE: "utf-16",
    codecs.BOM_UTF16_BE: "utf-16",
}
_SEPARATORS = ("\t", ";", ",")  # as semicolons may part labels with commas in them
_SEPARATOR_LINE = re.compile(r"sep=(.)\r?\n?", re.IGNORECASE)  # which Excel heeds in the first line
_IN_QUOTES = re.compile(r'"[^"]*"')
# Cells of numbers as spreadsheets show them, or nothing; the groups are decimals and the percent sign.
_DECIMAL_COMMA = re.compile(r"\s*[-+]?\d*(,\d+)?(?:[eE][-+]?\d+)?\s*(%?)\s*")
_DECIMAL_POINT = re.compile(r"\s*[-+]?\d*(\.\d+)?(?:[eE][-+]?\d+)?\s*(%?)\s*")
# Numbers that have no commas between thousands.
_NO_THOUSANDS = re.compile(r"\s*[-+]?(0,\d*|\d*,(\d{1,2}|\d{4,}))(?!\d).*")
_QUOTED = re.compile(rb'(?:^|\t)"(?:[^"]|"")*"', re.MULTILINE)  # cells that tabs part
# What pyarrow says of a row or a cell that it refuses, where row 1 is the first, and column 0.
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
_EXPECTED = {"double": "a number", "string": "UTF-8"}  # by pyarrow's types
_TYPES = {"double": "number", "binary": NOT_UTF8}


class _Layout(NamedTuple):
    """How a csv is laid out, as its beginning tells."""

    dialect: Dialect
    names: tuple[str, ...]  # of the columns
    n_unnamed: int  # columns behind them, which are empty
    n_before: int  # lines before the first row
    is_spaced: bool  # whether each separator has a space behind it
    block_size: int  # bytes to be read at once
    row_bytes: int  # of the first row

    @property
    def all_names(self) -> list[str]:
        """Names of all columns, also of those that have none."""
        return [*self.names, *(f"\0{place}" for place in range(self.n_unnamed))]


class _Numbers(NamedTuple):
    """How the numbers of a column are written."""

    with_comma: bool  # as decimal point
    with_percent: bool


def open_csv(path: Path, wanted: Wanted) -> Table:
    """Open a csv with a header, perhaps packed (`.csv.gz`), its cells parted by commas, semicolons or tabs."""
    import pyarrow as pa

    layout = _layout_of(path, wanted.encoding)
    text = {*wanted.keys, wanted.groups, wanted.labels}
    if wanted.true_words or wanted.label_separator is not None:
        text.add(wanted.truth)

    # The first block tells what columns hold; without a row, they hold nothing.
    schema = next((rows.schema for rows in _read_blocks(path, layout, {})), None)
    if schema is None:
        schema = pa.schema([(name, pa.null()) for name in layout.all_names])
        n_rows: int | None = 0
    else:
        n_rows = None
        _refuse_unnamed(path, layout, schema)
    schema = pa.schema([field for field in schema if field.name in layout.names])
    written = _written_numbers(path, layout, schema, text)
    types = {field.name: _type_of(field, written, text) for field in schema}

    read = partial(_read, path, layout, types, written)
    table = table_of(
        path.name,
        pa.schema(list(types.items())),
        [Piece(path.name, str(path), read, n_rows, n_about=_rows_about(path, layout))],
        of_text=True,
        dialect=layout.dialect,
        notes=_notes(path, layout, written),
    )
    is_number = {field.name for field in schema if pa.types.is_integer(field.type)}
    columns = {
        name: column._replace(
            kind="int" if name in is_number and name not in text else column.kind,
            type=_TYPES.get(column.type, column.type),
        )
        for name, column in table.columns.items()
    }
    return replace(table, columns=columns)


def _rows_about(path: Path, layout: _Layout) -> int:
    """Estimate the number of rows, rather too high, by the length of the first."""
    is_packed = path.suffix == ".gz"
    return 0 if is_packed else int(1.2 * path.stat().st_size / max(2, layout.row_bytes))


def _type_of(field: Any, written: Mapping[str, _Numbers], text: Collection[str | None]) -> Any:
    """Return the type in which a column is read."""
    import pyarrow as pa

    if field.name in text:
        return pa.string()
    is_number = pa.types.is_integer(field.type) or pa.types.is_null(field.type)
    return pa.float64() if is_number or field.name in written else field.type


def _notes(path: Path, layout: _Layout, written: Mapping[str, _Numbers]) -> tuple[str, ...]:
    """Say what was assumed."""
    notes = list[str]()
    if layout.dialect.encoding.startswith("utf-16"):
        notes.append(f"{path.name} is read as UTF-16")
    if any(numbers.with_comma for numbers in written.values()):
        notes.append(f"numbers of {path.name} have decimal commas")
    percents = [name for name, numbers in written.items() if numbers.with_percent]
    if percents:
        notes.append(f"numbers of {path.name} with a percent sign are divided by 100")
    return tuple(notes)


def _layout_of(path: Path, encoding: str | None) -> _Layout:
    """Look at the first lines."""
    with _unpacked(path) as stream:
        mark = stream.read(3)
    # A byte-order mark tells the encoding, whatever that of another file is.
    told = next((name for start, name in _MARKS.items() if mark.startswith(start)), None)
    encoding = told or encoding or "utf-8"
    # What is not in the encoding is seen in the header, or where a column is read.
    with io.TextIOWrapper(
        _unpacked(path), encoding, errors="surrogateescape", newline="\n"
    ) as stream:
        layout = _layout(path, encoding, stream)
    odd = next((name for name in layout.names if not _is_whole(name)), None)
    if odd is not None:
        other = "utf-16" if "\0" in odd else "cp1252"
        shown_name = odd.encode(errors="surrogateescape").decode(errors="backslashreplace")
        raise InputError(
            f"{path.name} is not in {encoding.upper()} (its header has {shown(shown_name)}), expected --encoding to"
            f" name its encoding, such as --encoding {other}"
        )
    if all(map(is_number, layout.names)) and not all(map(str.isdigit, layout.names)):
        raise InputError(
            f"{path.name} begins with {shown(layout.names[0])}, expected a header, a line with the names of its columns"
        )
    doubled = [name for name, times in Counter(layout.names).items() if times > 1]
    if doubled:
        raise InputError(
            f"{path.name} has several columns named {listed(doubled)}, expected each name once"
        )
    return layout


def _is_whole(name: str) -> bool:
    """Whether a name was in the encoding of its file."""
    return "\0" not in name and not any("\ud800" <= letter <= "\udfff" for letter in name)


def _layout(path: Path, encoding: str, stream: Any) -> _Layout:
    """Find comments, the header and the first row among the lines of a text."""
    # 1. Pass over comments, and over the line that tells Excel of the separator.
    lines = _lines(path, stream)
    separator = "\t" if path.name.removesuffix(".gz").endswith((".tsv", ".txt")) else None
    before = list[str]()
    header = ""
    for line in lines:
        told = None if before else _SEPARATOR_LINE.fullmatch(line)
        if told is not None:
            separator = told[1]
        elif line.strip() and not line.startswith("#"):
            header = line
            break
        before.append(line)

    # 2. Tell what parts cells. The header may begin as a comment does: then a row of numbers follows.
    peeked = [header]
    row = ""
    for line in lines:
        peeked.append(line)
        if line.strip():
            row = line
            break
    separator = separator or _separator(header, row)
    if before and _is_header(path, before[-1], header, separator):
        peeked.insert(0, before.pop()[1:].lstrip())

    # 3. Read the names; columns at the end without name and cell are none.
    with _long_cells():
        reader = csv.reader(chain(peeked, lines), delimiter=separator)
        names = next(reader, [])
        n_lines = reader.line_num
        is_one_line = n_lines == 1 or not row
        first = next(csv.reader([row], delimiter=separator), []) if is_one_line else names
    if not names:
        raise InputError(f"{path} has no rows, expected at least one")
    is_spaced = len(names) > 1 and all(name.startswith(" ") for name in names[1:])
    if is_spaced:
        names = [name.strip() for name in names]
    n_named = len(names)
    while n_named > 1 and not names[n_named - 1]:
        n_named -= 1
    n_columns = len(names)
    if any(cell.strip() for cell in first[n_named:]):
        n_named = len(names)
    elif len(first) >= n_named:
        n_columns = len(first)
    if n_columns > MOST_COLUMNS:
        raise InputError(
            f"{path} has {n_columns:,} columns, expected at most {MOST_COLUMNS:,}, or lists"
        )
    longest = max(len(line.encode(errors="surrogateescape")) for line in peeked)
    return _Layout(
        dialect=Dialect(separator, encoding, "\r\n" if header.endswith("\r\n") else "\n"),
        names=tuple(names[:n_named]),
        n_unnamed=n_columns - n_named,
        n_before=len(before) + n_lines,
        is_spaced=is_spaced,
        block_size=max(_BLOCK_BYTES, min(_ROWS_IN_BLOCK * longest, 2 * _LONGEST_LINE)),
        row_bytes=len(row),
    )


@contextmanager
def _long_cells() -> Iterator[None]:
    """Let Python's reader have cells as long as a line may be."""
    before = csv.field_size_limit(_LONGEST_LINE)
    try:
        yield
    finally:
        csv.field_size_limit(before)


def _lines(path: Path, stream: Any) -> Iterator[str]:
    """Return the first lines, each of which is short enough."""
    while line := stream.readline(_LONGEST_LINE + 1):
        if len(line) > _LONGEST_LINE:
            raise InputError(
                f"{path} has a line of more than {_LONGEST_LINE:,} bytes, expected at most that"
            )
        yield line


def _separator(header: str, row: str) -> str:
    """Tell what parts the cells: a comma, unless that parts header and first row otherwise than each other."""
    header, row = (_IN_QUOTES.sub("", line) for line in (header, row))
    for separator in _SEPARATORS:
        if header.count(separator) == row.count(separator) > 0:
            return separator
    # Cells without a name, or the other way round, may stand at the ends of lines.
    for separator in _SEPARATORS:
        counts = [line.rstrip(f"\r\n{separator}").count(separator) for line in (header, row)]
        if counts[0] == counts[1] > 0:
            return separator
    return ","


def _is_header(path: Path, comment: str, row: str, separator: str) -> bool:
    """Whether a line that begins as a comment is the header of a row of numbers."""
    n_cells = comment.count(separator)
    if not comment.startswith("#") or n_cells != row.count(separator) or not n_cells:
        return False
    cells = [cell.strip() for cell in row.split(separator)]
    if all(cell.isdigit() for cell in cells) and len(set(cells)) == len(cells):
        raise InputError(
            f"{path.name} has {shown(row.strip())} below {shown(comment.strip())}, either of which may be the header,"
            " expected no comment there"
        )
    return any(is_number(cell) for cell in cells)


def _written_numbers(
    path: Path, layout: _Layout, schema: Any, text: Collection[str | None]
) -> dict[str, _Numbers]:
    """Find columns of text that are numbers as spreadsheets show them, in all of the first block."""
    import pyarrow as pa

    columns = [
        field.name for field in schema if pa.types.is_string(field.type) and field.name not in text
    ]
    rows: Any = next(_read_blocks(path, layout, {}, columns), None) if columns else None
    written = dict[str, _Numbers]()
    for name in columns if rows is not None else ():
        numbers = _how_written(rows.column(name).to_pylist())
        if numbers is not None:
            written[name] = numbers

    # Where some have commas, none may have points.
    with_comma = [name for name, numbers in written.items() if numbers.with_comma]
    with_point = [field.name for field in schema if pa.types.is_floating(field.type)]
    if with_comma and with_point:
        raise InputError(
            f"numbers of {path.name} have decimal commas in {with_comma[0]!r} and decimal points in {with_point[0]!r},"
            " expected one of them"
        )
    return written


def _how_written(cells: Sequence[str]) -> _Numbers | None:
    """Tell how the numbers of a column are written; None if some cells are none, or they are not told from text."""
    for form, with_comma in ((_DECIMAL_COMMA, True), (_DECIMAL_POINT, False)):
        found = [form.fullmatch(cell) for cell in cells if cell.strip()]
        numbers = [match for match in found if match is not None]
        if not numbers or len(numbers) < len(found):
            continue
        n_percent = sum(bool(match[2]) for match in numbers)
        if n_percent not in (0, len(numbers)):
            return None
        has_comma = with_comma and any(match[1] for match in numbers)
        # Commas may stand between thousands.
        if has_comma and not any(map(_NO_THOUSANDS.fullmatch, cells)):
            return None
        if has_comma or n_percent:
            return _Numbers(has_comma, bool(n_percent))
    return None


def _refuse_unnamed(path: Path, layout: _Layout, schema: Any) -> None:
    """Refuse cells behind the last name."""
    import pyarrow as pa

    if not all(pa.types.is_null(field.type) for field in list(schema)[len(layout.names) :]):
        raise InputError(
            f"{path.name} has cells behind the last column {layout.names[-1]!r}, expected a name for each"
        )


def _read(
    path: Path,
    layout: _Layout,
    types: Mapping[str, Any],
    written: Mapping[str, _Numbers],
    columns: Sequence[str],
    _: int,
    text: Collection[str],
) -> Iterator[Any]:
    """Read columns block by block."""
    import pyarrow as pa
    from pyarrow import compute

    read_as = {
        name: pa.string() if name in text or name in written else types[name] for name in columns
    }
    n_rows = 0
    for rows in _read_blocks(path, layout, read_as, columns):
        arrays = list[Any]()
        for name in columns:
            array = rows.column(name)
            if layout.is_spaced and pa.types.is_string(array.type):
                array = compute.utf8_trim_whitespace(array)
            if name in written and name not in text:
                array = _as_numbers(array, written[name], f"column {name!r} of {path.name}", n_rows)
            arrays.append(array)
        n_rows += rows.num_rows
        yield pa.record_batch(arrays, names=list(columns))


def _as_numbers(array: Any, numbers: _Numbers, what: str, first: int) -> Any:
    """Return numbers as spreadsheets show them as floats."""
    import pyarrow as pa

    cells = list[float | None]()
    for row, cell in enumerate(array.to_pylist(), first):
        number = _number(cell, numbers)
        if number is None and cell.strip():
            like = "a number with a decimal comma" if numbers.with_comma else "a number"
            sign = " and a percent sign" if numbers.with_percent else ""
            raise InputError(f"{what} has {shown(cell)} at row {row}, expected {like}{sign}")
        cells.append(number)
    return pa.array(cells, pa.float64())


def _number(cell: str, numbers: _Numbers) -> float | None:
    """Return a cell as a number; None for other text, and for none."""
    cell = cell.strip()
    if numbers.with_percent:
        if not cell.endswith("%"):
            return None
        cell = cell.removesuffix("%").rstrip()
    if numbers.with_comma:
        if "." in cell:
            return None
        cell = cell.replace(",", ".")
    if not is_number(cell):
        return None
    return float(cell) / 100 if numbers.with_percent else float(cell)


def _read_blocks(
    path: Path, layout: _Layout, types: Mapping[str, Any], columns: Sequence[str] | None = None
) -> Iterator[Any]:
    """Read blocks of rows; what is wrong with a row is said with its number.

    A last row without cells is put behind the file, and must come back: a quotation mark that is never closed would
    swallow it, as it does all rows behind it.
    """
    import pyarrow as pa

    n_rows = 0
    held = None
    try:
        with io.BufferedReader(_Stream(_pieces(path, layout)), _BLOCK_BYTES) as stream:
            for rows in _reader(stream, layout, types, columns):
                if held is not None:
                    n_rows += held.num_rows
                    yield held
                held = rows if rows.num_rows else held
    except pa.ArrowInvalid as error:
        raise _refusal(path, layout, n_rows, str(error)) from None
    if held is None or not _is_empty(held, held.num_rows - 1):
        last = n_rows + (0 if held is None else held.num_rows - 1)
        raise InputError(
            f"{path.name} has a quotation mark at row {last} that is never closed, expected one behind the cell"
        )
    if held.num_rows > 1:
        yield held.slice(0, held.num_rows - 1)


def _is_empty(rows: Any, row: int) -> bool:
    """Whether a row has no cell with anything in it."""
    return all(column[row].as_py() in (None, "", b"") for column in rows.columns)


def _reader(
    stream: Any, layout: _Layout, types: Mapping[str, Any], columns: Sequence[str] | None
) -> Any:
    """Return a reader of blocks of rows."""
    from pyarrow import csv as arrow_csv

    return arrow_csv.open_csv(
        stream,
        # One thread reads these streams as fast as two, and says in which row a fault is.
        arrow_csv.ReadOptions(
            block_size=layout.block_size, use_threads=False, column_names=layout.all_names
        ),
        arrow_csv.ParseOptions(delimiter=layout.dialect.separator, newlines_in_values=True),
        arrow_csv.ConvertOptions(
            column_types=dict(types),
            include_columns=None if columns is None else list(columns),
            strings_can_be_null=False,
        ),
    )


def _refusal(path: Path, layout: _Layout, n_rows: int, said: str) -> InputError:
    """Say of what row and column pyarrow's words are."""
    if found := _ODD_ROW.fullmatch(said):
        cells = counted(int(found["found"]), "cell")
        is_comment = "; comments may stand before the header alone"
        return InputError(
            f"{path.name} has {cells} at row {int(found['row']) - 1} ({shown(found['text'])}), expected"
            f" {int(found['expected'])} as in its header{is_comment if found['text'].startswith('#') else ''}"
        )
    if found := _ODD_CELL.fullmatch(said):
        place = int(found["column"])
        column = f"column {layout.names[place]!r}" if place < len(layout.names) else "a column"
        is_other = found["text"] is None
        text = NOT_UTF8 if is_other else shown(found["text"])
        expected = _EXPECTED.get(found["type"], found["type"])
        hint = "; --encoding names another, such as cp1252" if is_other else ""
        return InputError(
            f"{column} of {path.name} has {text} at row {int(found['row']) - 1}, expected {expected}{hint}"
        )
    if "straddl" in said:
        return InputError(
            f"{path.name} has a row of more than {layout.block_size:,} bytes behind row {n_rows}, or a quotation mark"
            " there that is never closed, expected a shorter one"
        )
    return unreadable(path, said)


def _pieces(path: Path, layout: _Layout) -> Iterator[bytes]:
    """Read the rows in UTF-8, some whole lines at a time."""
    separator = layout.dialect.separator.encode()
    n_separators = len(layout.all_names) - 1
    no_cell = separator * n_separators
    at_the_end = re.compile(rb"(?:(?<=\n)|\A)(?:" + re.escape(no_cell) + rb"[ \t\r]*(?:\n|\Z))+\Z")
    encoding = layout.dialect.encoding
    file = _unpacked(path)
    is_utf8 = encoding.startswith("utf-8")  # then pyarrow says what is not
    with file if is_utf8 else io.TextIOWrapper(file, encoding, newline="\n") as stream:
        for _ in range(layout.n_before):
            stream.readline()
        held = b""  # lines without a cell, which are none at the end of a file
        while text := stream.read(_BLOCK_BYTES):
            text += stream.readline(_LONGEST_LINE + 1)
            piece = held + (text if isinstance(text, bytes) else text.encode())
            empty = at_the_end.search(piece) if n_separators and no_cell in piece else None
            held = b"" if empty is None else piece[empty.start() :]
            _refuse_rows_in_quotes(path, separator, piece)
            yield piece[: len(piece) - len(held)]
    yield b"\n" + (no_cell or b'""') + b"\n"


def _refuse_rows_in_quotes(path: Path, separator: bytes, piece: bytes) -> None:
    """Refuse a cell in quotes that has tabs and ends of lines: who parts cells by tabs may use no quotes."""
    if separator != b"\t" or b'"' not in piece:
        return
    for cell in _QUOTED.finditer(piece):
        if b"\t" in cell[0][1:] and b"\n" in cell[0]:
            shown_cell = shown(cell[0].strip().decode(errors="replace"))
            raise InputError(
                f"{path.name} has a cell in quotes with tabs and ends of lines in it ({shown_cell}), which may be"
                " several rows of a file without quotes, expected cells without quotation marks, or a .csv with commas"
            )


class _Stream(io.RawIOBase):
    """Pieces of bytes as a file, as pyarrow reads one."""

    def __init__(self, pieces: Iterator[bytes]) -> None:
        self._pieces = pieces
        self._left = memoryview(b"")

    def readable(self) -> bool:
        """Say that it can be read."""
        return True

    def readinto(self, buffer: Any) -> int:
        """Fill a buffer, with nothing at the end."""
        while not self._left:
            piece = next(self._pieces, None)
            if piece is None:
                return 0
            self._left = memoryview(piece)
        n_bytes = min(len(buffer), len(self._left))
        buffer[:n_bytes] = self._left[:n_bytes]
        self._left = self._left[n_bytes:]
        return n_bytes


def _unpacked(path: Path) -> Any:
    """Open a file, or what is packed in it."""
    return gzip.open(path) if path.suffix == ".gz" else open(path, "rb")


def is_number(text: str) -> bool:
    """Whether a number is written as text; 1_000 is one in Python alone."""
    try:
        float(text)
    except ValueError:
        return False
    return "_" not in text
