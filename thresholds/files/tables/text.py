"""Files of text as lines of UTF-8, packed or not, a few megabytes at a time."""

import codecs
import gzip
import io
from collections.abc import Iterator
from pathlib import Path
from typing import Any, TextIO

from thresholds._checks import InputError

LONGEST_LINE = 2**24  # bytes
_MARKS = {
    codecs.BOM_UTF8: "utf-8-sig",
    codecs.BOM_UTF16_LE: "utf-16",
    codecs.BOM_UTF16_BE: "utf-16",
}

# How files begin that are no text.
_OTHER_FILES = {
    b"PAR1": "a parquet file",
    b"ARROW1": "a feather file",
    b"ORC": "an ORC file",
    b"PK\x03\x04": "an .npz or .xlsx file",
    b"\x1f\x8b": "a packed file (.gz)",
    b"\x93NUMPY": "an .npy file",
}


def encoding_of(path: Path, asked_for: str | None) -> str:
    """Return the encoding of a file: what its byte-order mark tells, else what is asked for, else UTF-8."""
    with _unpacked(path) as stream:
        mark = stream.read(6)
    for start, kind in _OTHER_FILES.items():
        if mark.startswith(start):
            raise InputError(f"{path.name} begins as {kind} does, expected text, or another suffix")
    told = next((name for start, name in _MARKS.items() if mark.startswith(start)), None)
    return told or asked_for or "utf-8"


def opened(path: Path, encoding: str) -> TextIO:
    """Open a text, of which whatever is not in the encoding can be seen."""
    return io.TextIOWrapper(_unpacked(path), encoding, errors="surrogateescape", newline="\n")


def pieces(path: Path, encoding: str, n_bytes: int, n_skipped: int = 0) -> Iterator[bytes]:
    """Read whole lines in UTF-8, about so many bytes of them at once, but for some at the beginning."""
    file = _unpacked(path)
    is_utf8 = encoding.startswith("utf-8")
    with file if is_utf8 else io.TextIOWrapper(file, encoding, newline="\n") as stream:
        for _ in range(n_skipped):
            stream.readline()
        while text := stream.read(n_bytes):
            text += stream.readline(LONGEST_LINE + 1)
            piece = text if isinstance(text, bytes) else text.encode()
            if len(piece) - piece.rfind(b"\n", 0, -1) - 1 > LONGEST_LINE:
                raise too_long(path)
            yield piece


def too_long(path: Path) -> InputError:
    """Say that a line is longer than is read."""
    return InputError(
        f"{path.name} has a line of more than {LONGEST_LINE:,} bytes, expected at most that"
    )


def other_encoding(path: Path, encoding: str, odd: str) -> InputError:
    """Say that a text is not in its encoding, and how to name the one it is in."""
    other = "cp1252"
    if "\0" in odd:
        other = "utf-16-be" if odd.startswith("\0") else "utf-16-le"
    found = odd.encode(errors="surrogateescape").decode(errors="backslashreplace")
    return InputError(
        f"{path.name} is not in {encoding.upper()} (it has {found[:40]!r}), expected --encoding to name its encoding,"
        f" such as --encoding {other}"
    )


def is_whole(text: str) -> bool:
    """Whether a text was in the encoding of its file."""
    return "\0" not in text and not any("\ud800" <= letter <= "\udfff" for letter in text)


def _unpacked(path: Path) -> Any:
    """Open a file, or what is packed in it."""
    return gzip.open(path) if path.suffix == ".gz" else open(path, "rb")


class Stream(io.RawIOBase):
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
