"""The arrays of an `.npz`, one at a time: mapped into memory where they are stored as they are, else unpacked.

Nothing that the archive says of itself is believed. An array fills its member, and the bytes that are there can hold
it; this is known before memory is taken. The checksum is right of every array that is read. What is wrong is said by a
`ValueError`, to which `reading` adds the file.
"""

import io
import math
import zipfile
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any, NamedTuple

import numpy as np
from numpy.lib import format as npy

from thresholds._arrays.types import Dense
from thresholds._checks import InputError, listed
from thresholds.files.source import row_slices

_MOST_UNPACKED = {zipfile.ZIP_STORED: 1, zipfile.ZIP_DEFLATED: 1032}  # bytes that one can stand for
_LONGEST_HEADER = 10_000  # of an array, in bytes: as NumPy has it
_LONGEST_TEXT = 2**16  # of a name or key, in bytes
_LONGEST_DIRECTORY = 2**20  # of an archive, in bytes: room for 10,000 arrays
_CHUNK = 2**20  # bytes that are read at once


class Header(NamedTuple):
    """What is said of an array before its cells."""

    shape: tuple[int, ...]
    is_fortran: bool
    dtype: np.dtype[Any]
    n_bytes: int  # of the header itself


class _Limited(io.FileIO):
    """An archive whose directory is refused if it is too long: Python takes 0.6 KB for each member in it."""

    def read(self, size: int | None = -1, /) -> bytes:
        """Read so many bytes: more than the limit are asked for of a directory alone."""
        if size is not None and size > _LONGEST_DIRECTORY:
            most = f"expected at most {_LONGEST_DIRECTORY:,}"
            raise ValueError(f"its directory has {size:,} bytes, {most}")
        return super().read(size) or b""


class Archive:
    """An archive whose arrays are read one at a time, each time from the file.

    Attributes
    ----------
    name, path : of the file
    headers : what each array says of itself, by its key
    packed : keys of the arrays that are deflated
    """

    def __init__(self, path: Path) -> None:
        self.name, self.path = path.name, path
        self.headers = dict[str, Header]()
        self.packed = set[str]()
        self._odd = dict[str, str]()  # why an array cannot be read, of those that cannot
        with _Limited(path) as file, zipfile.ZipFile(file) as archive:
            members = archive.infolist()
            times = Counter(member.filename for member in members)
            doubled = [name for name, n_times in times.items() if n_times > 1]
            if doubled:
                raise ValueError(f"it has {listed(doubled)} twice, expected each array once")
            for member in members:
                self._describe(archive, member)

    def header(self, key: str) -> Header:
        """Return what an array says of itself, if it can be read."""
        refuse_objects(f"{key} of {self.name}", key, self.headers[key].dtype)
        if key in self._odd:
            raise ValueError(f"{key} {self._odd[key]}")
        return self.headers[key]

    def array(self, key: str) -> Dense:
        """Map an array into memory, or unpack it; its checksum is right."""
        header = self.header(key)
        with self._opened(key) as (stream, start):
            if key in self.packed:
                return npy.read_array(stream, allow_pickle=False)
            # zipfile adds up the checksum, and compares it at the end.
            while stream.read(_CHUNK):
                pass
        return mapped(self.path, header, start + header.n_bytes)

    def row_blocks(self, key: str) -> Iterator[Dense]:
        """Read a few rows of a matrix in C order at a time, (n_rows, n_labels)."""
        header = self.header(key)
        n_labels = math.prod(header.shape[1:])
        with self._opened(key) as (stream, _):
            stream.read(header.n_bytes)
            for rows in row_slices(header.shape[0], n_labels):
                n_cells = (rows.stop - rows.start) * n_labels
                cells = np.frombuffer(stream.read(n_cells * header.dtype.itemsize), header.dtype)
                yield cells.reshape(-1, n_labels)

    def _describe(self, archive: zipfile.ZipFile, member: zipfile.ZipInfo) -> None:
        """Read the header of a member, and find what it claims that is not there."""
        if member.compress_type not in _MOST_UNPACKED:
            raise ValueError(
                f"{member.filename} is packed in another way, expected what NumPy writes: stored or deflated arrays"
            )
        key = member.filename.removesuffix(".npy")
        with archive.open(member.filename) as stream:
            if key == member.filename:  # It is no array.
                return
            header = self.headers[key] = read_header(stream)
        if member.compress_type != zipfile.ZIP_STORED:
            self.packed.add(key)
        n_there = min(member.compress_size, self.path.stat().st_size)
        n_bytes = header.n_bytes + math.prod(header.shape) * header.dtype.itemsize
        if header.dtype.kind == "V" or not header.dtype.itemsize:
            self._odd[key] = f"has the dtype {header.dtype}, expected numbers or text"
        elif header.dtype.kind in "US" and header.dtype.itemsize > _LONGEST_TEXT:
            most = f"expected at most {_LONGEST_TEXT:,} bytes each"
            self._odd[key] = f"is text of dtype {header.dtype}, {most}"
        elif member.file_size > n_there * _MOST_UNPACKED[member.compress_type]:
            self._odd[key] = f"says to have {member.file_size:,} bytes, more than it can hold"
        elif n_bytes != member.file_size:
            self._odd[key] = f"takes {n_bytes:,} bytes, and {member.file_size:,} are there"

    @contextmanager
    def _opened(self, key: str) -> Iterator[tuple[IO[bytes], int]]:
        """Open an array at its header, and tell which byte of the file that is, if it is stored."""
        with (
            open(self.path, "rb") as file,
            zipfile.ZipFile(file) as archive,
            archive.open(f"{key}.npy") as stream,
        ):
            yield stream, file.tell()


def read_header(stream: IO[bytes]) -> Header:
    """Read the header of an array, and not much more."""
    beginning = io.BytesIO(stream.read(_LONGEST_HEADER))
    is_short = npy.read_magic(beginning) == (1, 0)
    read = npy.read_array_header_1_0 if is_short else npy.read_array_header_2_0
    shape, is_fortran, dtype = read(beginning)
    if any(n_cells < 0 for n_cells in shape):
        raise ValueError(f"it holds an array of shape {shape}")
    return Header(shape, is_fortran, dtype, beginning.tell())


def refuse_objects(of: str, key: str, dtype: np.dtype[Any]) -> None:
    """Refuse an array of Python objects, which would have to be unpickled."""
    if dtype.hasobject:
        expected = f"save it as {key}.astype(str), or of numbers as {key}.astype(float)"
        raise InputError(f"{of} is an array of objects, expected text or numbers: {expected}")


def mapped(path: Path, header: Header, start: int) -> Dense:
    """Map an array that lies in a file as it is, from a byte on."""
    if 0 in header.shape:  # of which no map can be made
        return np.empty(header.shape, header.dtype)
    return np.memmap(
        path, header.dtype, "r", start, header.shape, "F" if header.is_fortran else "C"
    )
