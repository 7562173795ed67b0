"""The arrays of an `.npz`, one at a time: mapped into memory where they are stored as they are, else as a stream."""

import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any, NamedTuple

import numpy as np
from numpy.lib import format as npy

from thresholds._checks import InputError, Matrix
from thresholds.files.source import Array, row_slices

CSR_PARTS = ("data", "indices", "indptr", "shape")
_ENCRYPTED = 1
_COMPRESSIONS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA)
_LOCAL_HEADER = 30  # bytes of a member's header in the archive, before its name and extra field


class _Header(NamedTuple):
    """What a member says of its array."""

    shape: tuple[int, ...]
    fortran: bool
    dtype: np.dtype[Any]


class Archive:
    """An archive whose arrays are read one at a time; pickles are refused."""

    def __init__(self, path: Path) -> None:
        self._path = path
        with open(path, "rb") as stream:
            if stream.read(6) == npy.MAGIC_PREFIX:
                raise InputError(f"{path} is a single array, expected an archive of arrays")
        with self._opened() as archive:
            members = archive.infolist()
        if any(member.flag_bits & _ENCRYPTED or member.compress_type not in _COMPRESSIONS for member in members):
            raise self._damaged("it is encrypted, or compressed in a way that Python does not know")
        names = [member.filename for member in members]
        self.files = [name.removesuffix(".npy") for name in names if name.endswith(".npy")]

    def array(self, key: str) -> Array:
        """Read an array, or map it into memory."""
        with self._opened() as archive:
            info = archive.getinfo(f"{key}.npy")
            with archive.open(info) as member:
                header = self._header(member)
                position = member.tell()
                if info.compress_type != zipfile.ZIP_STORED or not _size(header):
                    return self._read(member, header, _size(header)).reshape(
                        header.shape, order="F" if header.fortran else "C"
                    )
        start = self._start(info) + position
        if start + _size(header) * header.dtype.itemsize > self._path.stat().st_size:
            raise self._damaged("it is cut short")
        order: Any = "F" if header.fortran else "C"
        return np.memmap(self._path, header.dtype, "r", start, header.shape, order)

    def matrix(self, key: str) -> Matrix:
        """Read a dense or CSR matrix."""
        shape = self.shape(key)
        if key in self.files:
            return self.array(key).reshape(shape)
        data, indices, indptr = (self.array(f"{key}_{part}") for part in CSR_PARTS[:3])
        return self._csr(key, data, indices, indptr, shape)

    def shape(self, key: str) -> tuple[int, int]:
        """Give the shape of a matrix."""
        if key in self.files:
            shape = self.header(key).shape
            if len(shape) not in (1, 2):
                raise InputError(f"{key} of {self._path.name} has shape {shape}, expected (n_samples, n_labels)")
            return shape[0], shape[1] if len(shape) == 2 else 1
        lacking = [part for part in CSR_PARTS if f"{key}_{part}" not in self.files]
        if lacking:
            raise InputError(f"{self._path.name} lacks {key}_{lacking[0]}, expected the four arrays of a CSR matrix")
        try:
            n_samples, n_labels = _whole(self.array(f"{key}_shape")).tolist()
        except (ValueError, TypeError) as error:
            raise self._malformed(key, error) from None
        return n_samples, n_labels

    def dtype(self, key: str) -> np.dtype[Any]:
        """Give the dtype of a matrix."""
        return self.header(key if key in self.files else f"{key}_data").dtype

    def row_blocks(self, key: str) -> Iterator[Matrix]:
        """Read a matrix a few rows at a time."""
        n_samples, n_labels = self.shape(key)
        if key not in self.files:
            yield from self._csr_blocks(key, n_samples, n_labels)
            return
        with self._opened() as archive:
            info = archive.getinfo(f"{key}.npy")
        header = self.header(key)
        if info.compress_type == zipfile.ZIP_STORED or header.fortran:
            cells = self.matrix(key)
            yield from (cells[rows] for rows in row_slices(n_samples, n_labels))
            return
        with self._opened() as archive, archive.open(info) as member:
            self._header(member)
            for rows in row_slices(n_samples, n_labels):
                yield self._read(member, header, (rows.stop - rows.start) * n_labels).reshape(-1, n_labels)

    def header(self, key: str) -> _Header:
        """Read what a member says of its array."""
        with self._opened() as archive, archive.open(f"{key}.npy") as member:
            return self._header(member)

    def _csr_blocks(self, key: str, n_samples: int, n_labels: int) -> Iterator[Matrix]:
        """Read the stored entries of a few rows at a time."""
        try:
            starts = _whole(self.array(f"{key}_indptr"))
        except ValueError as error:
            raise self._malformed(key, error) from None
        sizes = [self.header(f"{key}_{part}").shape for part in ("data", "indices")]
        if starts.shape != (n_samples + 1,) or starts[0] != 0 or (np.diff(starts) < 0).any():
            raise self._malformed(key, f"index pointers have shape {starts.shape}, or do not rise from 0")
        if any(size != (int(starts[-1]),) for size in sizes):
            raise self._malformed(key, f"{sizes[0]} and {sizes[1]} entries, expected {starts[-1]}")
        with (
            self._opened() as archive,
            archive.open(f"{key}_data.npy") as data,
            archive.open(f"{key}_indices.npy") as indices,
        ):
            headers = self._header(data), self._header(indices)
            for rows in row_slices(n_samples, n_labels):
                n = int(starts[rows.stop] - starts[rows.start])
                parts = self._read(data, headers[0], n), self._read(indices, headers[1], n)
                pointers = starts[rows.start : rows.stop + 1] - starts[rows.start]
                yield self._csr(key, *parts, pointers, (rows.stop - rows.start, n_labels))

    def _csr(self, key: str, data: Array, indices: Array, indptr: Array, shape: tuple[int, ...]) -> Matrix:
        """Make a CSR array; the checks of whoever uses it go further."""
        from scipy import sparse

        try:
            return sparse.csr_array((data, _whole(indices), _whole(indptr)), shape=shape)
        except (ValueError, TypeError) as error:
            raise self._malformed(key, error) from None

    def _header(self, member: IO[bytes]) -> _Header:
        """Read a header, and refuse pickles."""
        try:
            version = npy.read_magic(member)
            read = npy.read_array_header_1_0 if version == (1, 0) else npy.read_array_header_2_0
            header = _Header(*read(member))
        except (ValueError, EOFError, zipfile.BadZipFile) as error:
            raise self._damaged(error) from None
        if header.dtype.hasobject:
            raise self._damaged("it holds pickled objects")
        return header

    def _read(self, member: IO[bytes], header: _Header, size: int) -> Array:
        """Read the next entries of a member."""
        try:
            bytes_ = member.read(size * header.dtype.itemsize)
        except Exception as error:  # Whatever a damaged stream raises.
            raise self._damaged(error) from None
        if len(bytes_) < size * header.dtype.itemsize:
            raise self._damaged("an array is cut short")
        return np.frombuffer(bytes_, header.dtype)

    def _start(self, info: zipfile.ZipInfo) -> int:
        """Find where the bytes of a member begin."""
        with open(self._path, "rb") as stream:
            stream.seek(info.header_offset)
            local = stream.read(_LOCAL_HEADER)
        return (
            info.header_offset
            + _LOCAL_HEADER
            + int.from_bytes(local[26:28], "little")
            + int.from_bytes(local[28:30], "little")
        )

    def _opened(self) -> zipfile.ZipFile:
        """Open the archive."""
        try:
            return zipfile.ZipFile(self._path)
        except (zipfile.BadZipFile, ValueError, EOFError) as error:
            raise self._damaged(error) from None

    def _damaged(self, error: object) -> InputError:
        """Say that the archive is none."""
        return InputError(f"{self._path} cannot be read as a .npz file: {error}")

    def _malformed(self, key: str, error: object) -> InputError:
        """Say that a CSR matrix is none."""
        return InputError(f"{key} of {self._path.name} is a malformed sparse array: {error}")


def _size(header: _Header) -> int:
    """Count the entries of an array."""
    return int(np.prod(header.shape, dtype=np.int64))


def _whole(numbers: Array) -> Array:
    """Give whole numbers in the narrowest index dtype that SciPy knows and that holds them."""
    if numbers.dtype.kind not in "iu":
        raise ValueError(f"indices and shape have dtype {numbers.dtype}, expected whole numbers")
    if numbers.size and not -(2**63) <= int(numbers.min()) <= int(numbers.max()) < 2**63:
        raise ValueError(f"an index is {numbers.max()}")
    fits = numbers.size == 0 or -(2**31) <= numbers.min() <= numbers.max() < 2**31
    return numbers.astype(np.int32 if fits else np.int64, copy=False)
