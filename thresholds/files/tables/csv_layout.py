"""How a csv is laid out, as its first lines tell: encoding, comments, what parts cells, the names of columns."""

import csv
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple, TextIO

from thresholds._checks import InputError, shown
from thresholds.files.source import Dialect
from thresholds.files.tables.columns import refuse_doubled
from thresholds.files.tables.text import (
    LONGEST_LINE,
    encoding_of,
    is_whole,
    opened,
    other_encoding,
    too_long,
)

MOST_COLUMNS = 2**16  # pyarrow takes 10 KB for each
_BLOCK_BYTES = 2**20  # that are read at once: pyarrow asks any row to fit
_ROWS_IN_BLOCK = 8
_SEPARATORS = ("\t", ";", "|", ",")  # as semicolons may part labels with commas in them
_SEPARATOR_LINE = re.compile(r"sep=(.)\r?\n?", re.IGNORECASE)  # which Excel heeds in the first line
_LIKE_NUMBER = re.compile(r"\s*[-+]?(\d+([.,']\d+)*|\d*[.,]\d+)\s*%?\s*")
_OPEN_CELL = re.compile(r'(?:^|[,;\t|]) ?"')  # that begins in quotes
_IN_QUOTES = re.compile(r'"[^"]*"')


class Layout(NamedTuple):
    """How a csv is laid out."""

    dialect: Dialect
    names: tuple[str, ...]  # of the columns
    n_unnamed: int  # columns behind them, which are empty
    n_before: int  # lines before the first row
    is_spaced: bool  # whether each separator has a space behind it
    block_size: int  # bytes to be read at once
    row_bytes: int  # of the first row

    @property
    def unnamed(self) -> list[str]:
        """Names for columns that have none."""
        return [f"\0{place}" for place in range(self.n_unnamed)]


def layout_of(path: Path, encoding: str | None) -> Layout:
    """Look at the first lines of a csv."""
    encoding = encoding_of(path, encoding)
    with opened(path, encoding) as stream, _long_cells():
        layout = _layout(path, encoding, stream)
    odd = next((name for name in layout.names if not is_whole(name)), None)
    if odd is not None:
        raise other_encoding(path, encoding, odd)
    refuse_doubled(path.name, layout.names)
    n_columns = len(layout.names) + layout.n_unnamed
    if n_columns > MOST_COLUMNS:
        raise InputError(
            f"{path} has {n_columns:,} columns, expected at most {MOST_COLUMNS:,}, or lists"
        )
    return layout


def _layout(path: Path, encoding: str, stream: TextIO) -> Layout:
    """Find comments, the header and the first row among the lines of a text."""
    # 1. Pass over comments, and over the line that tells Excel of the separator.
    lines = _lines(path, stream)
    separator = None
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

    # 2. The header may have ends of lines in quotes; the first row follows it.
    header, n_lines = _whole_row(header, lines)
    row, _ = _whole_row(next((line for line in lines if line.strip()), ""), lines)
    if not header:
        raise InputError(f"{path} has no rows, expected at least one")
    if "\r" in header.rstrip("\r\n") and n_lines == 1 and is_whole(header):
        raise InputError(
            f"{path.name} has lines that end as on old Macs (\\r), expected \\n or \\r\\n: save it again as csv"
        )

    # 3. Tell what parts cells. The header may begin as a comment does: then a row of numbers follows.
    comment = _IN_QUOTES.sub("", before[-1]) if before and before[-1].startswith("#") else ""
    usual = "\t" if "\t" in header and path.name.removesuffix(".gz").endswith(".tsv") else ","
    separator = separator or _separator(header, row, usual)
    if comment and _is_header(path, comment, header, separator):
        row, header = header, before.pop()[1:].lstrip()

    # 4. Read the names; columns at the end without name and cell are none.
    names = _cells(header, separator)
    is_spaced = len(names) > 1 and all(name.startswith(" ") for name in names[1:])
    if is_spaced:
        names = [name.strip() for name in _cells(header, separator, is_spaced=True)]
    first = _cells(row, separator, is_spaced=is_spaced)
    _refuse_no_header(path, names, first)
    n_named = len(names)
    while n_named > 1 and not names[n_named - 1]:
        n_named -= 1
    n_columns = len(names)
    if any(cell.strip() for cell in first[n_named:]):
        n_named = len(names)
    elif len(first) >= n_named:
        n_columns = len(first)
    longest = max(len(line.encode(errors="surrogateescape")) for line in (header, row))
    return Layout(
        dialect=Dialect(separator, encoding, "\r\n" if header.endswith("\r\n") else "\n"),
        names=tuple(names[:n_named]),
        n_unnamed=n_columns - n_named,
        n_before=len(before) + n_lines,
        is_spaced=is_spaced,
        block_size=max(_BLOCK_BYTES, min(_ROWS_IN_BLOCK * longest, 2 * LONGEST_LINE)),
        row_bytes=len(row),
    )


def _whole_row(line: str, lines: Iterator[str]) -> tuple[str, int]:
    """Return a row, which may have ends of lines in quotes, and its number of lines."""
    parts = [line]
    is_open = _OPEN_CELL.search(_IN_QUOTES.sub("", line)) is not None
    n_quotes, n_letters = line.count('"') if is_open else 0, len(line)
    while n_quotes % 2 and n_letters < _BLOCK_BYTES and (line := next(lines, "")):
        parts.append(line)
        n_quotes += line.count('"')
        n_letters += len(line)
    return "".join(parts), len(parts)


def _lines(path: Path, stream: TextIO) -> Iterator[str]:
    """Return the first lines, each of which is short enough."""
    while line := stream.readline(LONGEST_LINE + 1):
        if len(line) > LONGEST_LINE:
            raise too_long(path)
        yield line


def _cells(line: str, separator: str, *, is_spaced: bool = False) -> list[str]:
    """Return the cells of a line, none of an empty one."""
    if not line.strip("\r\n"):
        return []
    try:
        return next(csv.reader([line], delimiter=separator, skipinitialspace=is_spaced))
    except csv.Error:
        # Of a cell in quotes that is never closed, which is refused where rows are read.
        return line.rstrip("\r\n").split(separator)


@contextmanager
def _long_cells() -> Iterator[None]:
    """Let Python's reader have cells as long as a line may be."""
    before = csv.field_size_limit(LONGEST_LINE)
    try:
        yield
    finally:
        csv.field_size_limit(before)


def _separator(header: str, row: str, usual: str) -> str:
    """Tell what parts cells: what parts header and first row alike, into the most numbers; else what usually does."""
    header, row = (_IN_QUOTES.sub("", line).strip("\r\n") for line in (header, row))
    # Cells without a name, or the other way round, may stand at the ends of lines.
    for without_ends in (False, True):
        counts = {}
        for separator in _SEPARATORS:
            ends = separator if without_ends else "\r\n"
            n_of_header, n_of_row = (line.rstrip(ends).count(separator) for line in (header, row))
            if n_of_header == n_of_row > 0:
                counts[separator] = n_of_row
        if counts:
            return max(counts, key=lambda separator: (_share(row, separator), counts[separator]))
    return usual


def _share(row: str, separator: str) -> float:
    """Return the share of the cells of a row that are numbers, of whatever country."""
    cells = row.rstrip(separator).split(separator)
    return sum(map(is_like_number, cells)) / len(cells)


def _is_header(path: Path, comment: str, row: str, separator: str) -> bool:
    """Whether a line that begins as a comment is the header of a row of numbers."""
    row = _IN_QUOTES.sub("", row)
    if comment.count(separator) != row.count(separator):
        return False
    cells = [cell.strip() for cell in row.split(separator)]
    if all(cell.isdigit() for cell in cells) and len(set(cells)) == len(cells):
        raise InputError(
            f"{path.name} has {shown(row.strip())} below {shown(comment.strip())}, either of which may be the header,"
            " expected no comment there"
        )
    return len(cells) > 1 and any(map(is_number, cells))


def _refuse_no_header(path: Path, names: Sequence[str], row: Sequence[str]) -> None:
    """Refuse a first line with numbers that have decimals, above others: it is a row."""
    for name, cell in zip(names, row, strict=False):
        if is_number(name) and is_number(cell) and 0 < float(name) % 1 < 1:
            raise InputError(
                f"{path.name} has {shown(name)} in its first line, expected a header, with a name for each column"
            )


def is_like_number(text: str) -> bool:
    """Whether text is a number, of whatever country, perhaps a percentage."""
    return is_number(text) or _LIKE_NUMBER.fullmatch(text) is not None


def is_number(text: str) -> bool:
    """Whether a number is written as text; 1_000 is one in Python alone."""
    try:
        float(text)
    except ValueError:
        return False
    return "_" not in text
