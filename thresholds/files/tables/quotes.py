"""Quotation marks of a csv that nobody closes: the rest of the file would be read as one cell, without a word."""

import codecs
import csv
import io
import re
from collections.abc import Iterator
from typing import Any, BinaryIO

import numpy as np

_MARK = b'"'
_LETTER = b"x"
_PIECE_BYTES = 2**20


class WatchedQuotes(io.RawIOBase):
    """A stream that follows the quotation marks which pass through it, as pyarrow reads them.

    A mark at the beginning of a cell opens it, and the next one closes it; two in an open cell stand for one. All other
    marks are letters: those of `5" pipe`.
    """

    def __init__(self, stream: Any, separator: str) -> None:
        self._stream = stream
        # What may be before a mark that opens a cell: a mark closed it, and this one opens it again.
        self._beginnings = np.frombuffer(separator.encode() + b"\r\n" + _MARK, np.uint8)
        self._is_open = False
        self._last: bytes | None = None  # byte that was read; a letter for a mark that is one
        self._is_at_end = False

    @property
    def is_left_open(self) -> bool:
        """Whether all was read, and a cell in quotes had not ended."""
        return self._is_at_end and self._is_open

    def readable(self) -> bool:
        """Say yes."""
        return True

    def readinto(self, room: Any) -> int:
        """Read some bytes."""
        read = self._stream.read(len(room))
        room[: len(read)] = read
        self._is_at_end = len(read) == 0
        if read:
            self._follow(read)
        return len(read)

    def read_to_end(self) -> None:
        """Read what is left, for the marks alone."""
        while self.read(_PIECE_BYTES):
            pass

    def close(self) -> None:
        """Close the stream."""
        self._stream.close()
        super().close()

    def _follow(self, text: bytes) -> None:
        """Take the marks of the next bytes into account."""
        if self._last is None:  # the file begins
            text, self._last = text.removeprefix(codecs.BOM_UTF8), b"\n"
        is_letter = False  # whether the last mark is one
        if _MARK in text:
            cells = np.frombuffer(self._last + text, np.uint8)
            places = np.flatnonzero(cells[1:] == ord(_MARK))  # (n_marks,)
            may_open = np.isin(cells[places], self._beginnings)  # (n_marks,)
            if may_open[int(self._is_open) :: 2].all():
                # As programs write files: marks open and close in turn.
                self._is_open ^= bool(places.size % 2)
            else:
                is_letter = self._follow_each(cells, places, may_open)
        if text:
            self._last = _LETTER if is_letter and text.endswith(_MARK) else text[-1:]

    def _follow_each(self, cells: Any, places: Any, may_open: Any) -> bool:
        """Take one mark after another into account, among which are letters; return whether the last is one."""
        # After a letter that is a mark, another is no beginning.
        follow_marks = (cells[places] == ord(_MARK)).tolist()
        is_letter = False
        for follows_mark, may in zip(follow_marks, may_open.tolist(), strict=True):
            if self._is_open:
                self._is_open, is_letter = False, False
            elif may and not (follows_mark and is_letter):
                self._is_open = True
            else:
                is_letter = True
        return is_letter and not self._is_open


def row_left_open(stream: BinaryIO, separator: str) -> int:
    """Return the row, from 0 behind the header, in which a quotation mark is not closed, of a text that has one.

    Python's reader, some ten times as slow as pyarrow's, looks for the row. It takes no cell of more than 131,072
    characters, so each run of letters is made one.
    """
    has_ended = False
    letters = re.compile(rf'[^"\r\n{separator}]+')

    def lines() -> Iterator[str]:
        nonlocal has_ended
        with io.TextIOWrapper(stream, "utf-8-sig", "replace", newline="") as text:
            for line in text:
                yield letters.sub("x", line)
        has_ended = True

    row = -1  # the header
    try:
        for cells in csv.reader(lines(), delimiter=separator):
            if has_ended:  # and the row had not
                break
            row += bool(cells)
    except csv.Error:
        pass
    return row
