"""Lines of text files: pieces of some megabytes that end where a line does, and ranges that workers share.

A line ends behind its "\\n". Lines are never looked at one by one where NumPy does it for all of them at once.
"""

import codecs
import io
from collections.abc import Callable, Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

import numpy as np

from thresholds._arrays.types import Dense, Ints
from thresholds._checks import InputError
from thresholds.files.source import LONGEST_LINE

PIECE_BYTES = 2**22  # of text that is read at once
_LINE_END = ord("\n")
_SPACES = np.frombuffer(b" \t\r\n\v\f", np.uint8)


class LineRange(NamedTuple):
    """A range of a file that has whole lines."""

    start: int = 0  # in bytes
    stop: int | None = None  # None for the end of the file
    lines_before: int = 0
    rows_before: int = 0  # lines that are not blank, and no header
    n_rows: int | None = None  # within, None where that takes reading them


WHOLE = LineRange()


class Lines(NamedTuple):
    """Some lines of a file, one behind the other."""

    text: bytes  # each ends with "\n", the last of the file, too
    ends: Ints  # (n_lines,) places behind the ends of lines
    lines_before: int  # in the file

    @classmethod
    def of(cls, text: bytes, lines_before: int = 0) -> "Lines":
        """Find the ends of lines."""
        return cls(text, np.flatnonzero(_cells(text) == _LINE_END) + 1, lines_before)

    @property
    def cells(self) -> Dense:
        """The bytes of the text, as numbers."""
        return _cells(self.text)

    @property
    def starts(self) -> Ints:
        """Places where lines begin."""
        return np.append(0, self.ends)[:-1]

    @property
    def n_rows(self) -> int:
        """Number of lines that are not blank."""
        return self.ends.size - sum(not line.strip() for line in self.beginning_with_space())

    def numbered(self) -> list[tuple[int, bytes]]:
        """Return lines with their numbers in the file, from 1, but for blank ones."""
        places = zip(self.starts.tolist(), self.ends.tolist(), strict=True)
        lines = enumerate((self.text[start:end] for start, end in places), self.lines_before + 1)
        return [(number, line) for number, line in lines if line.strip()]

    def without_blank(self) -> "Lines":
        """Return this without blank lines; numbers of lines are then others."""
        if self.n_rows == self.ends.size:
            return self
        return Lines.of(b"".join(line for _, line in self.numbered()))

    def beginning_with_space(self) -> Iterator[bytes]:
        """Return the lines that may be blank."""
        starts = self.starts
        for k in np.flatnonzero(np.isin(self.cells[starts], _SPACES)):
            yield self.text[starts[k] : self.ends[k]]

    def cut(self, n_lines: int) -> "Iterator[Lines]":
        """Cut this into pieces of so many lines."""
        if self.ends.size <= n_lines:
            yield self
            return
        borders = np.append(self.starts[::n_lines], len(self.text)).tolist()
        for k, (start, stop) in enumerate(pairwise(borders)):
            ends = self.ends[k * n_lines : (k + 1) * n_lines] - start
            yield Lines(self.text[start:stop], ends, self.lines_before + k * n_lines)


def opened(path: Path) -> BinaryIO:
    """Open a text file, behind the mark of UTF-8 that some programs put at its beginning."""
    stream = open(path, "rb")  # noqa: SIM115
    if stream.read(len(codecs.BOM_UTF8)) != codecs.BOM_UTF8:
        stream.seek(0)
    return stream


def pieces(path: Path, part: LineRange = WHOLE) -> Iterator[Lines]:
    """Read a file, or a range of it, some megabytes of whole lines at a time.

    Raises
    ------
    InputError
        For a line of more bytes than any may have.
    """
    lines_before = part.lines_before
    with opened(path) as stream:
        at = max(part.start, stream.tell())
        stream.seek(at)
        while part.stop is None or at < part.stop:
            n_bytes = PIECE_BYTES if part.stop is None else min(PIECE_BYTES, part.stop - at)
            text = stream.read(n_bytes)
            if not text.endswith(b"\n"):
                text += stream.readline(LONGEST_LINE + 1)
            if not text:
                return
            at += len(text)
            lines = Lines.of(text if text.endswith(b"\n") else text + b"\n", lines_before)
            _refuse_long(path, lines, len(text))
            lines_before += lines.ends.size
            yield lines


def ranges(
    path: Path,
    n_bytes: int,
    body: LineRange = WHOLE,
    is_certain: Callable[[Lines], bool] | None = None,
) -> list[LineRange]:
    """Cut a file, or its body, into ranges of about so many bytes, by one pass that decodes nothing.

    There is none where it is not certain that a row is a line, which `is_certain` tells.
    """
    found = list[LineRange]()
    with opened(path) as stream:
        start = stop = max(body.start, stream.tell())
    lines_before, rows_before = body.lines_before, body.rows_before
    n_lines = n_rows = 0  # of the range
    for lines in pieces(path, body):
        if is_certain is not None and not is_certain(lines):
            return []
        stop += len(lines.text)
        n_lines += lines.ends.size
        n_rows += lines.n_rows
        if stop - start >= n_bytes:
            found.append(LineRange(start, stop, lines_before, rows_before, n_rows))
            start, lines_before, rows_before = stop, lines_before + n_lines, rows_before + n_rows
            n_lines, n_rows = 0, 0
    if n_rows:
        found.append(LineRange(start, None, lines_before, rows_before, n_rows))
    return found


class Stretch(io.RawIOBase):
    """A range of a file behind some bytes of another place, such as its header, as a file by itself."""

    def __init__(self, path: Path, head: bytes, part: LineRange) -> None:
        self._stream = open(path, "rb")  # noqa: SIM115
        self._stream.seek(part.start)
        self._head = head
        self._left = None if part.stop is None else part.stop - part.start

    def readable(self) -> bool:
        """Say yes."""
        return True

    def readinto(self, room: Any) -> int:
        """Read some bytes."""
        n_bytes = len(room)
        if self._head:
            read, self._head = self._head[:n_bytes], self._head[n_bytes:]
        else:
            read = self._stream.read(n_bytes if self._left is None else min(n_bytes, self._left))
            self._left = None if self._left is None else self._left - len(read)
        room[: len(read)] = read
        return len(read)

    def close(self) -> None:
        """Close the file."""
        self._stream.close()
        super().close()


def _refuse_long(path: Path, lines: Lines, n_bytes: int) -> None:
    """Refuse lines that have too many of the bytes of a file."""
    lengths = np.diff(np.minimum(lines.ends, n_bytes), prepend=0)  # (n_lines,)
    if lengths.max() > LONGEST_LINE:
        number = lines.lines_before + int(lengths.argmax()) + 1
        raise InputError(
            f"{path} has more than {LONGEST_LINE:,} bytes in line {number}, expected fewer"
        )


def _cells(text: bytes) -> Dense:
    """Return bytes as numbers."""
    return np.frombuffer(text, np.uint8)
