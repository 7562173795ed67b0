"""Quotation marks of a csv that nobody closes: the rest of the file would be read as one cell, without a word."""

import csv
import io
from collections.abc import Iterator
from typing import Any, BinaryIO

_MARK = b'"'


class CountedQuotes(io.RawIOBase):
    """A stream that counts the quotation marks which pass through it.

    Of a file that a program wrote they are an even number. To count them takes a twentieth of the time of reading; only
    where they are odd is the text looked at a second time.
    """

    def __init__(self, stream: Any) -> None:
        self._stream = stream
        self._n_quotes = 0
        self._is_at_end = False

    @property
    def is_odd(self) -> bool:
        """Whether all was read, and the number of marks is odd."""
        return self._is_at_end and self._n_quotes % 2 == 1

    def readable(self) -> bool:
        """Say yes."""
        return True

    def readinto(self, room: Any) -> int:
        """Read some bytes."""
        read = self._stream.read(len(room))
        room[: len(read)] = read
        self._n_quotes += read.count(_MARK)
        self._is_at_end = len(read) == 0
        return len(read)

    def close(self) -> None:
        """Close the stream."""
        self._stream.close()
        super().close()


def row_left_open(stream: BinaryIO, separator: str) -> int | None:
    """Return the row, from 0 behind the header, in which a quotation mark is not closed; None if all are.

    Marks within a cell that does not begin with one are letters, as pyarrow reads them. It is Python's reader, some ten
    times as slow, that looks for the row; it takes no cell of more than 131,072 characters.
    """
    has_ended = False

    def lines() -> Iterator[str]:
        nonlocal has_ended
        with io.TextIOWrapper(stream, "utf-8-sig", "replace", newline="") as text:
            yield from text
        has_ended = True

    row = -1  # the header
    try:
        for cells in csv.reader(lines(), delimiter=separator):
            if has_ended:  # and the row had not
                return row
            row += bool(cells)
    except csv.Error:
        return row
    return None
