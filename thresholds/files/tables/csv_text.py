"""Csv as people have it, its rows read by pyarrow.

The first block of rows tells numbers from text; numbers are then read as float64, whatever they look like there, and
those that spreadsheets write with decimal commas or percent signs likewise. What stands for keys or groups is text.
"""

import io
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache, partial
from pathlib import Path
from typing import Any, NamedTuple

from thresholds._checks import InputError, shown
from thresholds._checks.boundary import unreadable
from thresholds._results.words import counted
from thresholds.files.source import Wanted
from thresholds.files.tables.columns import NOT_UTF8, PERCENT
from thresholds.files.tables.csv_layout import Layout, layout_of
from thresholds.files.tables.table import FileTable, Piece, table_of
from thresholds.files.tables.text import Stream, pieces

_PIECE_BYTES = 2**20
# Of Excel, of databases, and of nobody; beside the words that pyarrow knows, such as NA, NaN, null and #N/A.
_NO_VALUE = ("#NV", "\\N", " ")
# Cells of numbers as spreadsheets show them; the groups are the decimal point and the percent sign.
_NUMBER = re.compile(r"\s*[-+]?\d*(?:([.,])\d+)?(?:[eE][-+]?\d+)?\s*(%?)\s*")
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
_EXPECTED = {
    "double": "a number",
    "string": "UTF-8",
    "null": "nothing behind the last column with a name",
}
# Of pyarrow, for people.
_TYPES = {
    "double": "number",
    "int64": "number",
    "binary": NOT_UTF8,
    "null": "nothing",
    "bool": "true and false",
    "date32[day]": "dates",
    "time32[s]": "times",
    "timestamp[s]": "times",
    "timestamp[ns]": "times",
}


class _Csv(NamedTuple):
    """A file, its layout, and how its columns are read."""

    path: Path
    layout: Layout
    types: Mapping[str, Any]  # of pyarrow
    point: str  # of decimals
    percents: Collection[str]  # columns of numbers with a percent sign


def open_csv(path: Path, wanted: Wanted) -> FileTable:
    """Open a csv with a header, perhaps packed (`.csv.gz`), whose layout its first lines tell."""
    import pyarrow as pa

    layout = layout_of(path, wanted.encoding)
    text = {*wanted.keys, wanted.groups, wanted.labels}
    if wanted.true_words or wanted.label_separator is not None:
        text.add(wanted.truth)

    # The first block tells what columns hold.
    first = _first_block(_Csv(path, layout, {}, ".", ()))
    has_rows = first.num_rows > 1 or not _is_empty(first, 0)
    written = _written_numbers(first, text)
    types = {name: first.schema.field(name).type for name in layout.names}
    described = {
        name: pa.string() if name in text else pa.float64() if name in written else type_
        for name, type_ in types.items()
    }
    read = {
        name: pa.float64() if pa.types.is_integer(type_) or pa.types.is_null(type_) else type_
        for name, type_ in described.items()
    }
    point = "," if any("," in marks for marks in written.values()) else "."
    percents = [name for name, marks in written.items() if "%" in marks]
    piece = Piece(
        path.name,
        str(path),
        partial(_read, _Csv(path, layout, read, point, percents)),
        None if has_rows else 0,
        n_about=_rows_about(path, layout),
    )
    notes = list[str]()
    if layout.dialect.encoding == "utf-16":
        notes.append(f"{path.name} is read as UTF-16")
    if point == ",":
        notes.append(f"numbers of {path.name} have decimal commas")
    if percents:
        notes.append(f"numbers of {path.name} with a percent sign are divided by 100")
    table = table_of(
        path.name,
        pa.schema(list(described.items())),
        [piece],
        of_text=True,
        dialect=layout.dialect,
        notes=tuple(notes),
        words=_TYPES,
    )
    as_percents = {name: table.columns[name]._replace(type=PERCENT) for name in percents}
    return replace(table, columns={**table.columns, **as_percents})


def _rows_about(path: Path, layout: Layout) -> int:
    """Estimate the number of rows, rather too high, by the length of the first."""
    is_packed = path.suffix == ".gz"
    return 0 if is_packed else int(1.2 * path.stat().st_size / max(2, layout.row_bytes))


def _written_numbers(first: Any, text: Collection[str | None]) -> dict[str, set[str]]:
    """Find columns of text that are numbers as spreadsheets show them, in all of the first block, with their marks.

    Commas are decimal ones only if a column has some that cannot stand between thousands.
    """
    import pyarrow as pa

    columns = {
        field.name: first.column(field.name).to_pylist()
        for field in first.schema
        if pa.types.is_string(field.type) and field.name not in text
    }
    written = {name: _marks_of(cells) for name, cells in columns.items()}
    has_commas = any(
        "," in marks and any(map(_NO_THOUSANDS.fullmatch, columns[name]))
        for name, marks in written.items()
    )
    return {
        name: marks for name, marks in written.items() if marks and (has_commas or "," not in marks)
    }


def _marks_of(cells: Sequence[str]) -> set[str]:
    """Return what the numbers of a column have of a decimal comma and a percent sign; nothing if some are none."""
    cells = [cell for cell in cells if not _is_absent(cell)]
    numbers = [match for match in map(_NUMBER.fullmatch, cells) if match is not None]
    points = {match[1] for match in numbers} - {None}
    signs = {match[2] for match in numbers}
    if len(numbers) < len(cells) or len(points) > 1 or len(signs) != 1:
        return set()
    return (points | signs) & {",", "%"}


def _is_absent(cell: str) -> bool:
    """Whether a cell has no value."""
    return cell.strip() in ("", *_absent_words())


@cache
def _absent_words() -> list[str]:
    """Return the words that stand for no value."""
    from pyarrow import csv

    return [*csv.ConvertOptions().null_values, *_NO_VALUE]


def _read(file: _Csv, columns: Sequence[str], _: int, text: Collection[str]) -> Iterator[Any]:
    """Read columns block by block."""
    import pyarrow as pa

    types = {
        name: pa.string() if name in text or name in file.percents else file.types[name]
        for name in columns
    }
    n_rows = 0
    for rows in _read_blocks(file._replace(types=types), columns):
        arrays = list[Any]()
        for name in columns:
            array = rows.column(name)
            if file.layout.is_spaced and pa.types.is_string(array.type):
                array = pa.array([cell.strip() for cell in array.to_pylist()], pa.string())
            if name in file.percents and name not in text:
                what = f"column {name!r} of {file.path.name}"
                array = _without_percent(array, file.point, what, n_rows)
            arrays.append(array)
        n_rows += rows.num_rows
        yield pa.record_batch(arrays, names=list(columns))


def _without_percent(array: Any, point: str, what: str, first: int) -> Any:
    """Return numbers with a percent sign as floats, divided by 100."""
    import pyarrow as pa
    from pyarrow import compute

    cells = compute.utf8_trim_whitespace(array)
    absent = compute.is_in(cells, value_set=pa.array(_absent_words()))
    cells = compute.replace_substring_regex(cells, "[\u00a0\u202f]", "")  # as Excel puts before it
    cells = compute.if_else(absent, None, cells)
    form = rf"^[-+]?(\d+[{point}]?|[{point}]\d)\d*([eE][-+]?\d+)? *%$"
    odd = compute.index(compute.match_substring_regex(cells, form), False).as_py()
    if odd >= 0:
        raise InputError(
            f"{what} has {shown(array[odd].as_py())} at row {first + odd}, expected a number with a percent sign"
        )
    digits = compute.utf8_ltrim(compute.utf8_rtrim(cells, " %"), "+")
    numbers = compute.replace_substring(digits, ",", ".").cast(pa.float64())
    return compute.divide(numbers, 100.0)


def _first_block(file: _Csv) -> Any:
    """Read the first block of rows, all columns of whatever type they seem to be."""
    import pyarrow as pa

    try:
        with _reader(file, None) as reader:
            return next(iter(reader))
    except pa.ArrowInvalid as error:
        raise _refusal(file, 0, str(error)) from None


def _read_blocks(file: _Csv, columns: Sequence[str]) -> Iterator[Any]:
    """Read blocks of rows; what is wrong with a row is said with its number.

    A last row without cells is put behind the file, and must come back: a quotation mark that is never closed would
    swallow it, as it does all rows behind it.
    """
    import pyarrow as pa

    n_rows = 0
    held = None
    try:
        with _reader(file, columns) as reader:
            for rows in reader:
                if held is not None:
                    n_rows += held.num_rows
                    yield held
                held = rows if rows.num_rows else held
    except pa.ArrowInvalid as error:
        raise _refusal(file, n_rows, str(error)) from None
    if held is None or not _is_empty(held, held.num_rows - 1):
        last = n_rows + (0 if held is None else held.num_rows - 1)
        raise InputError(
            f"{file.path.name} has a quotation mark at row {last} that is never closed, expected one behind the cell"
        )
    if held.num_rows > 1:
        yield held.slice(0, held.num_rows - 1)


def _is_empty(rows: Any, row: int) -> bool:
    """Whether a row has no cell with anything in it."""
    return all(column[row].as_py() in (None, "", b"") for column in rows.columns)


def _reader(file: _Csv, columns: Sequence[str] | None) -> Any:
    """Return a reader of blocks of rows; columns without a name are read, as they must have nothing."""
    import pyarrow as pa
    from pyarrow import csv

    layout = file.layout
    nothing = dict.fromkeys(layout.unnamed, pa.null())
    return csv.open_csv(
        io.BufferedReader(Stream(_pieces(file.path, layout)), _PIECE_BYTES),
        # One thread reads these streams as fast as two, and says in which row a fault is.
        csv.ReadOptions(
            block_size=layout.block_size,
            use_threads=False,
            column_names=[*layout.names, *layout.unnamed],
        ),
        csv.ParseOptions(delimiter=layout.dialect.separator, newlines_in_values=True),
        csv.ConvertOptions(
            column_types={**file.types, **nothing},
            include_columns=None if columns is None else [*columns, *layout.unnamed],
            decimal_point=file.point,
            strings_can_be_null=False,
            null_values=_absent_words(),
        ),
    )


def _refusal(file: _Csv, n_rows: int, said: str) -> InputError:
    """Say of what row and column pyarrow's words are."""
    name, names = file.path.name, file.layout.names
    if found := _ODD_ROW.fullmatch(said):
        cells = counted(int(found["found"]), "cell")
        is_comment = found["text"].startswith("#")
        hint = "; comments may stand before the header alone" if is_comment else ""
        if found["text"].count('"') % 2:
            hint += "; is a quotation mark there never closed?"
        return InputError(
            f"{name} has {cells} at row {int(found['row']) - 1} ({shown(found['text'])}), expected"
            f" {int(found['expected'])} as in its header{hint}"
        )
    if found := _ODD_CELL.fullmatch(said):
        place = int(found["column"])
        of = f"column {names[place]!r}" if place < len(names) else "a column without a name"
        is_other = found["text"] is None
        text = NOT_UTF8 if is_other else shown(found["text"])
        expected = _EXPECTED.get(found["type"], found["type"])
        if found["type"] == "double" and file.point == ",":
            expected = "a number with a decimal comma, as others of the file have"
        hint = "; --encoding names another, such as cp1252" if is_other else ""
        return InputError(
            f"{of} of {name} has {text} at row {int(found['row']) - 1}, expected {expected}{hint}"
        )
    if "straddl" in said:
        return InputError(
            f"{name} has a row of more than {file.layout.block_size:,} bytes behind row {n_rows}, or a quotation mark"
            " there that is never closed, expected a shorter one"
        )
    return unreadable(file.path, said)


def _pieces(path: Path, layout: Layout) -> Iterator[bytes]:
    """Read the rows, some whole lines at a time, and a row of no cells behind the last."""
    separator = layout.dialect.separator.encode()
    no_cell = separator * (len(layout.names) + layout.n_unnamed - 1)
    held = list[bytes]()  # lines without a cell, which are none at the end of a file
    for piece in pieces(path, layout.dialect.encoding, _PIECE_BYTES, layout.n_before):
        if layout.is_spaced:
            piece = piece.replace(separator + b' "', separator + b'"')
        _refuse_rows_in_quotes(path, separator, piece)
        end = _end_of_rows(piece, no_cell)
        if end:
            yield from held
            yield piece[:end]
            held = []
        held.append(piece[end:])
    yield b"\n" + (no_cell or b'""') + b"\n"


def _end_of_rows(piece: bytes, no_cell: bytes) -> int:
    """Return where the last line ends that has a cell."""
    end = len(piece)
    while end:
        start = piece.rfind(b"\n", 0, end - 1) + 1
        if piece[start:end].strip(b"\r\n") not in (no_cell, b""):
            return end
        end = start
    return 0


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
