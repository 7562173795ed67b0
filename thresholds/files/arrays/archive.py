"""The arrays of an `.npz`, one at a time: mapped into memory where they are stored as they are, else as a stream.

Nothing that the archive says of itself is believed: a member must be as long as its array, a stream able to hold it,
the header before a member agree with the directory, and the checksum be right of every byte that is used.
"""

import io
import math
import struct
import zipfile
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any, NamedTuple

import numpy as np
from numpy.lib import format as npy

from thresholds._arrays.types import Dense, Matrix
from thresholds._checks import InputError, listed, shown
from thresholds._checks.boundary import unreadable
from thresholds.errors import need
from thresholds.files.arrays.mapped import CsrPlace, Place
from thresholds.files.source import row_slices

CSR_PARTS = ("data", "indices", "indptr", "shape")
_ENCRYPTED, _SIZES_FOLLOW, _UTF_8 = 0x61, 8, 0x800  # bits of a member's flags
# Compressions of which Python unpacks no more than asked for.
_BOUNDED = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
_COMPRESSIONS = (*_BOUNDED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA)
_MOST_INFLATED = 1032  # bytes that one byte of deflate can stand for
_MARK = b"PK\x03\x04"  # that a member's header in the archive begins with
# Of a member in the archive, before its name and extra field.
_LOCAL_HEADER = struct.Struct("<4s5H3L2H")
_IN_EXTRA = 2**32 - 1  # a size that stands in the extra field, where there is room for it
_LONGEST_HEADER = 10_000  # of an array, in bytes: as NumPy has it
_LONGEST_TEXT = 2**16  # of a name or key, in bytes
_LONGEST_DIRECTORY = 2**20  # of an archive, in bytes: room for 10,000 arrays and more
_CHUNK = 2**20  # bytes that are read at once
_PACKED_CHUNK = 2**12  # of bzip2 and LZMA, where that may stand for 80 MB
# Labels without a stored entry that a CSR matrix may have: its shape costs it nothing.
MOST_EMPTY = 2**22


class _Header(NamedTuple):
    """What a member says of its array."""

    shape: tuple[int, ...]
    fortran: bool
    dtype: np.dtype[Any]


class _Member(NamedTuple):
    """A member at the beginning of its array."""

    header: _Header
    stream: zipfile.ZipExtFile
    start: int  # of the array in the archive, if it is stored as it is
    compression: int


class _Limited(io.FileIO):
    """An archive of which no directory is read that is too long: Python takes 0.6 KB for each member in it."""

    def read(self, size: int | None = -1, /) -> bytes:
        """Read so many bytes: of the directory all of it, which is more than what is read of the end before."""
        if size is not None and size > _LONGEST_DIRECTORY:
            raise ValueError(
                f"its directory has {size:,} bytes, expected at most {_LONGEST_DIRECTORY:,}"
            )
        return super().read(size) or b""


class Archive:
    """An archive whose arrays are read one at a time; pickles are refused."""

    def __init__(self, path: Path) -> None:
        self._path = path
        with open(path, "rb") as stream:
            if stream.read(6) == npy.MAGIC_PREFIX:
                raise InputError(f"{path} is a single array, expected an archive of arrays")
            with _Limited(path) as directory, zipfile.ZipFile(directory) as archive:
                members = archive.infolist()
            if any(
                member.flag_bits & _ENCRYPTED or member.compress_type not in _COMPRESSIONS
                for member in members
            ):
                raise self._damaged(
                    "it is encrypted, or compressed in a way that Python does not know"
                )
            doubled = [
                name
                for name, times in Counter(member.filename for member in members).items()
                if times > 1
            ]
            if doubled:
                raise self._damaged(f"it has {listed(doubled)} twice, expected each array once")
            self._members = {member.filename: member for member in members}
            self._starts = {member.filename: self._start(member, stream) for member in members}
        self.files = [name.removesuffix(".npy") for name in self._members if name.endswith(".npy")]

    def array(self, key: str) -> Dense:
        """Read an array, or map it into memory; its checksum is right."""
        with self._opened(key) as member:
            header, size = member.header, math.prod(member.header.shape)
            order: Any = "F" if header.fortran else "C"
            if member.compression != zipfile.ZIP_STORED or not size:
                return self._read(member, size).reshape(header.shape, order=order)
            while member.stream.read(_CHUNK):
                pass  # zipfile adds up the checksum, and compares it at the end.
        return np.memmap(self._path, header.dtype, "r", member.start, header.shape, order)

    def matrix(self, key: str) -> Matrix:
        """Read a dense or CSR matrix."""
        shape = self.shape(key)
        if key in self.files:
            return self.array(key).reshape(shape)
        self._refuse_odd_parts(key, shape[0])
        data, indices, indptr = (self.array(_part(key, part)) for part in CSR_PARTS[:3])
        return self._csr(key, data, indices, indptr, shape)

    def shape(self, key: str) -> tuple[int, int]:
        """Return the shape of a matrix, which has at least one cell."""
        if key in self.files:
            shape = self.header(key).shape
            if len(shape) not in (1, 2):
                raise InputError(
                    f"{key} of {self._path.name} has shape {shape}, expected (n_samples, n_labels)"
                )
            n_samples, n_labels = shape[0], shape[1] if len(shape) == 2 else 1
        else:
            n_samples, n_labels = self._csr_shape(key)
        if n_samples < 1 or n_labels < 1:
            expected = "at least one row and one label"
            raise InputError(
                f"{key} of {self._path.name} has shape {(n_samples, n_labels)}, expected {expected}"
            )
        return n_samples, n_labels

    def dtype(self, key: str) -> np.dtype[Any]:
        """Return the dtype of a matrix."""
        return self.header(key if key in self.files else _part(key, "data")).dtype

    def place(self, key: str) -> Place | CsrPlace | None:
        """Return where a matrix lies in the file, its checksums right; None where it is packed, or in other order."""
        if key in self.files:
            return self._place(key)
        n_samples, n_labels = self.shape(key)
        self._refuse_odd_parts(key, n_samples)
        data, indices = self._place(_part(key, "data")), self._place(_part(key, "indices"))
        if data is None or indices is None:
            return None
        starts = self._whole(key, self.array(_part(key, "indptr")))
        self._refuse_odd_starts(key, starts, data.shape[0])
        self._whole(key, indices.array()[:0])  # is refused, if it has no whole numbers
        return CsrPlace(data, indices, starts, n_labels)

    def _place(self, key: str) -> Place | None:
        """Return where an array lies, row by row and as it is."""
        with self._opened(key) as member:
            header = member.header
            if member.compression != zipfile.ZIP_STORED or header.fortran:
                return None
            while member.stream.read(_CHUNK):
                pass  # zipfile adds up the checksum, and compares it at the end.
        return Place(self._path, header.dtype, member.start, header.shape)

    def is_stored(self, key: str) -> bool:
        """Whether a matrix, dense or CSR, is kept as it is, so that it can be mapped."""
        parts = [key] if key in self.files else [_part(key, part) for part in CSR_PARTS[:3]]
        return all(
            self._members[f"{part}.npy"].compress_type == zipfile.ZIP_STORED for part in parts
        )

    def row_blocks(self, key: str) -> Iterator[Matrix]:
        """Read a matrix a few rows at a time."""
        n_samples, n_labels = self.shape(key)
        if key not in self.files:
            yield from self._csr_blocks(key, n_samples, n_labels)
        elif self.header(key).fortran:
            cells = self.matrix(key)
            yield from (cells[rows] for rows in row_slices(n_samples, n_labels))
        else:
            with self._opened(key) as member:
                for rows in row_slices(n_samples, n_labels):
                    yield self._read(member, (rows.stop - rows.start) * n_labels).reshape(
                        -1, n_labels
                    )

    def header(self, key: str) -> _Header:
        """Read what a member says of its array."""
        with self._opened(key) as member:
            return member.header

    def _csr_shape(self, key: str) -> tuple[int, int]:
        """Return the shape of a CSR matrix."""
        lacking = [part for part in CSR_PARTS if _part(key, part) not in self.files]
        if lacking:
            raise InputError(
                f"{self._path.name} lacks {_part(key, lacking[0])}, expected the four arrays of a CSR matrix"
            )
        return self.sparse_shape(key)

    def sparse_shape(self, key: str) -> tuple[int, int]:
        """Return the shape of a sparse matrix; its entries bound the number of its labels."""
        if self.header(_part(key, "shape")).shape != (2,):
            raise self._malformed(
                key, f"its shape is an array of shape {self.header(_part(key, 'shape')).shape}"
            )
        n_samples, n_labels = self._whole(key, self.array(_part(key, "shape"))).tolist()
        most = math.prod(self.header(_part(key, "data")).shape) + MOST_EMPTY
        if n_labels > most:
            raise self._malformed(
                key, f"it has {n_labels:,} labels, expected at most {most:,} of so few entries"
            )
        return n_samples, n_labels

    def _refuse_odd_parts(self, key: str, n_samples: int) -> None:
        """Refuse parts of a CSR matrix whose sizes do not go together."""
        data, indices, indptr = (self.header(_part(key, part)).shape for part in CSR_PARTS[:3])
        if indptr != (n_samples + 1,) or len(data) != 1 or data != indices:
            shapes = f"{data}, {indices} and {indptr}"
            raise self._malformed(
                key, f"data, indices and indptr have shapes {shapes}, with {n_samples:,} rows"
            )

    def _csr_blocks(self, key: str, n_samples: int, n_labels: int) -> Iterator[Matrix]:
        """Read the stored entries of a few rows at a time."""
        self._refuse_odd_parts(key, n_samples)
        starts = self._whole(key, self.array(_part(key, "indptr")))
        with (
            self._opened(_part(key, "data")) as data,
            self._opened(_part(key, "indices")) as indices,
        ):
            self._refuse_odd_starts(key, starts, data.header.shape[0])
            for rows in row_slices(n_samples, n_labels):
                n = int(starts[rows.stop] - starts[rows.start])
                parts = self._read(data, n), self._read(indices, n)
                pointers = starts[rows.start : rows.stop + 1] - starts[rows.start]
                yield self._csr(key, *parts, pointers, (rows.stop - rows.start, n_labels))

    def _refuse_odd_starts(self, key: str, starts: Dense, n_stored: int) -> None:
        """Refuse index pointers that do not rise from 0 to the number of entries."""
        if starts[0] != 0 or (starts[1:] < starts[:-1]).any() or starts[-1] != n_stored:
            raise self._malformed(
                key, f"index pointers do not rise from 0 to {n_stored:,}, the number of entries"
            )

    def _csr(
        self, key: str, data: Dense, indices: Dense, indptr: Dense, shape: tuple[int, ...]
    ) -> Matrix:
        """Make a CSR array; the checks of whoever uses it go further."""
        need("scipy", f"the sparse {key or 'matrix'} of {self._path}")
        from scipy import sparse

        starts = self._whole(key, indptr)
        self._refuse_odd_starts(key, starts, data.size)
        try:
            return sparse.csr_array((data, self._whole(key, indices), starts), shape=shape)
        except (ValueError, TypeError) as error:
            raise self._malformed(key, error) from None

    @contextmanager
    def _opened(self, key: str) -> Iterator[_Member]:
        """Open a member, and read the header of its array, which must fill the member."""
        info, start = self._members[f"{key}.npy"], self._starts[f"{key}.npy"]
        with open(self._path, "rb") as file:
            file.seek(start)
            # Not through a ZipFile, which reads the whole directory first.
            stream = zipfile.ZipExtFile(file, "r", info)
            header = self._header(stream)
            n_bytes = stream.tell() + math.prod(header.shape) * header.dtype.itemsize
            if n_bytes != info.file_size:
                raise self._damaged(
                    f"{key} takes {n_bytes:,} bytes, and {info.file_size:,} are there"
                )
            yield _Member(header, stream, start + stream.tell(), info.compress_type)

    def _header(self, stream: zipfile.ZipExtFile) -> _Header:
        """Read the header of an array, and refuse pickles and records."""
        start = stream.read(10)
        if start[:6] == npy.MAGIC_PREFIX and start[6:7] != b"\x01":
            start += stream.read(2)
        size = int.from_bytes(start[8:], "little")
        if size > _LONGEST_HEADER:
            raise self._damaged(
                f"the header of an array has {size:,} bytes, expected at most {_LONGEST_HEADER:,}"
            )
        whole = io.BytesIO(start + stream.read(size))
        read = (
            npy.read_array_header_1_0
            if npy.read_magic(whole) == (1, 0)
            else npy.read_array_header_2_0
        )
        header = _Header(*read(whole))
        if header.dtype.hasobject:
            raise self._damaged("it holds pickled objects")
        if header.dtype.kind == "V" or not header.dtype.itemsize:
            raise self._damaged(
                f"it holds an array of dtype {header.dtype}, expected numbers or text"
            )
        if header.dtype.kind in "US" and header.dtype.itemsize > _LONGEST_TEXT:
            raise self._damaged(
                f"it holds text of dtype {header.dtype}, expected at most {_LONGEST_TEXT:,} bytes each"
            )
        if any(length < 0 for length in header.shape):
            raise self._damaged(f"it holds an array of shape {header.shape}")
        return header

    def _read(self, member: _Member, size: int) -> Dense:
        """Read the next entries of a member; memory is taken for what is there, not for what is claimed."""
        array, bounded = np.empty(size, member.header.dtype), member.compression in _BOUNDED
        left: Any = array.view(np.uint8)
        while left.size:
            piece = member.stream.read(min(left.size, _CHUNK if bounded else _PACKED_CHUNK))
            if not piece:
                raise self._damaged("an array is cut short")
            left[: len(piece)] = np.frombuffer(piece, np.uint8)
            left = left[len(piece) :]
        return array

    def _start(self, info: zipfile.ZipInfo, stream: IO[bytes]) -> int:
        """Find where the bytes of a member begin; the header there must agree with the directory, and be possible."""
        name = shown(info.filename)
        stream.seek(info.header_offset)
        fields = stream.read(_LOCAL_HEADER.size)
        if len(fields) < _LOCAL_HEADER.size or not fields.startswith(_MARK):
            raise self._damaged(f"the header of {name} is not where the directory says")
        _, _, flags, compression, _, _, *sizes, n_name, n_extra = _LOCAL_HEADER.unpack(fields)
        own_name, extra = stream.read(n_name), stream.read(n_extra)
        if own_name != info.orig_filename.encode("utf-8" if flags & _UTF_8 else "cp437"):
            raise self._damaged(
                f"the directory names {name}, and the header there {shown(own_name)}"
            )
        if _IN_EXTRA in sizes[1:]:
            sizes[1:] = _long_sizes(extra) or sizes[1:]
        if compression != info.compress_type:
            raise self._damaged(
                f"the header of {name} and the directory differ in how it is compressed"
            )
        if not flags & _SIZES_FOLLOW and sizes != [info.CRC, info.compress_size, info.file_size]:
            raise self._damaged(
                f"the header of {name} and the directory differ in sizes or checksum"
            )
        if (
            info.compress_type == zipfile.ZIP_DEFLATED
            and info.file_size > _MOST_INFLATED * info.compress_size + 64
        ):
            raise self._damaged(
                f"{name} says to have {info.file_size:,} bytes, more than it can hold"
            )
        return int(info.header_offset + _LOCAL_HEADER.size + n_name + n_extra)

    def _whole(self, key: str, numbers: Dense) -> Dense:
        """Return whole numbers in the narrowest index dtype that SciPy knows and that holds them."""
        if numbers.dtype.kind not in "iu":
            raise self._malformed(
                key, f"indices and shape have dtype {numbers.dtype}, expected whole numbers"
            )
        if numbers.size and not -(2**63) <= int(numbers.min()) <= int(numbers.max()) < 2**63:
            raise self._malformed(key, f"an index is {numbers.max()}")
        fits = numbers.size == 0 or -(2**31) <= numbers.min() <= numbers.max() < 2**31
        return numbers.astype(np.int32 if fits else np.int64, copy=False)

    def _damaged(self, error: object) -> InputError:
        """Say that the archive is none."""
        return unreadable(self._path, error, "a .npz file")

    def _malformed(self, key: str, error: object) -> InputError:
        """Say that a CSR matrix is none."""
        of = f"{key} of " if key else ""
        return InputError(f"{of}{self._path.name} is a malformed sparse array: {error}")


def _part(key: str, part: str) -> str:
    """Name an array of a CSR matrix, or of the only one of an archive, which has no name."""
    return f"{key}_{part}" if key else part


def _long_sizes(extra: bytes) -> list[int] | None:
    """Return the compressed and the plain size of an extra field that has both, in this order."""
    while len(extra) >= 4:
        kind, size = struct.unpack("<2H", extra[:4])
        if kind == 1 and len(extra) >= 20:
            plain, packed = struct.unpack("<2Q", extra[4:20])
            return [packed, plain]
        extra = extra[4 + size :]
    return None
