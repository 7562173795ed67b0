"""Shards: callables that return a block of rows, or an iterator of blocks, and can be sent to another process.

Arrays are cut into ranges of rows. Memory maps are sent as the name of their file and a place in it, never as cells.
"""

import os
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import Any, TypeAlias

import numpy as np

from thresholds._arrays.blocks import in_pieces
from thresholds._arrays.sparse import is_sparse
from thresholds._arrays.types import Dense, Ints
from thresholds._engine.unknown import UNKNOWN
from thresholds.errors import InputError, shown
from thresholds.files.source import Source
from thresholds.sources.rows import BLOCK, Rows, n_rows_of

Shard: TypeAlias = Callable[[], Any]


def blocks_of(shard: Shard) -> Iterator[Rows]:
    """Return the blocks of a shard, one after another; those without rows are passed over."""
    given = shard()
    if _is_block(given):
        given = [given]
    if not hasattr(given, "__iter__"):
        raise InputError(
            f"source has a shard that gives {shown(given)}, expected a block or an iterator of blocks: {BLOCK}"
        )
    for block in given:
        rows = Rows.of(block)
        if rows.n_rows or (rows.y_true is not None and n_rows_of(rows.y_true)):
            yield rows


def where_in(shard: Shard, in_shard: str, n_rows: int) -> str:
    """Say which block begins behind so many rows of a shard: of a file by its name, and its own number of the row."""
    if isinstance(shard, FilePart) and shard.source.first_row is not None:
        return f"in the block of {shard.source.name} that begins at row {shard.source.first_row + n_rows:,}"
    return f"{in_shard}in the block that begins at row {n_rows:,}"


@dataclass(frozen=True)
class Whole:
    """Rows that are given as they are."""

    rows: Rows

    def __call__(self) -> Rows:
        """Return them."""
        return self.rows


@dataclass(frozen=True)
class Once:
    """An iterator of blocks, which can be read once."""

    blocks: Iterator[Any]

    def __call__(self) -> Iterator[Any]:
        """Return it."""
        return self.blocks


@dataclass(frozen=True)
class FilePart:
    """A file, or a part of one, that knows its columns and is opened again where it is read."""

    source: Source
    stands_for_unknown: float | None  # in truth, as a caller has said

    def __call__(self) -> Iterator[Rows]:
        """Read its blocks."""
        for block in self.source.blocks():
            truth = self._as_said(block.y_true)
            yield Rows(truth, block.y_score, groups=block.groups, keys=block.keys)

    def _as_said(self, truth: Any) -> Any:
        """Return truth with what stands for unknown cells, of which files are read as -1."""
        value = self.stands_for_unknown
        if truth is None or value is None or value == UNKNOWN:
            return truth
        if not is_sparse(truth):
            return np.where(truth == UNKNOWN, value, truth)
        cells = np.where(truth.data == UNKNOWN, value, truth.data)
        return type(truth)((cells, truth.indices, truth.indptr), truth.shape)


@dataclass(frozen=True)
class DaskBlock:
    """A block of the rows of Dask's arrays, which Dask's scheduler computes."""

    parts: Mapping[str, Any]  # by the name of the argument

    def __call__(self) -> Rows:
        """Compute it."""
        computed = import_module("dask").compute(*self.parts.values())
        return Rows.of(dict(zip(self.parts, computed, strict=True)))


@dataclass(frozen=True)
class RowRange:
    """A range of the rows of arrays, which are sent with it unless they are mapped files."""

    rows: Rows
    block_rows: int

    @classmethod
    def of(cls, rows: Rows, piece: slice, block_rows: int) -> "RowRange":
        """Cut it out."""
        return cls(Rows(*(_sent(part, piece) for part in rows)), block_rows)

    def __call__(self) -> Iterator[Rows]:
        """Return its blocks."""
        rows = Rows(*map(_read, self.rows))
        for piece in in_pieces(slice(0, rows.n_rows), self.block_rows):
            yield Rows(*(None if part is None else _plain(part[piece]) for part in rows))


@dataclass(frozen=True)
class MappedFile:
    """A piece of a file that is mapped into memory where it is read."""

    path: str
    dtype: Any
    position: int  # in the file, in bytes
    shape: tuple[int, ...]
    strides: tuple[int, ...]

    @classmethod
    def of(cls, array: Dense) -> "MappedFile | None":
        """Find where in its file a view of a memory map begins; None where that is not known."""
        whole = _map_of(array)
        path = getattr(whole, "filename", None)
        if whole is None or path is None or any(step < 0 for step in array.strides):
            return None
        position = whole.offset + _address(array) - _address(whole)
        return cls(os.fspath(path), array.dtype, position, array.shape, array.strides)

    def __call__(self) -> Dense:
        """Map it."""
        size = self.dtype.itemsize + sum(
            (length - 1) * step for length, step in zip(self.shape, self.strides, strict=True)
        )
        cells = np.memmap(self.path, np.uint8, "r", self.position, (size,))
        return np.ndarray(self.shape, self.dtype, cells, 0, self.strides)


@dataclass(frozen=True)
class SparseRange:
    """A range of the rows of a CSR matrix: its entries are views, or places in files, not copies."""

    data: Any
    indices: Any
    starts: Ints  # (n_rows + 1,)
    n_labels: int

    @classmethod
    def of(cls, matrix: Any, piece: slice) -> "SparseRange":
        """Cut it out."""
        starts = matrix.indptr[piece.start : piece.stop + 1]
        entries = slice(int(starts[0]), int(starts[-1]))
        data, indices = (_sent(array, entries) for array in (matrix.data, matrix.indices))
        return cls(data, indices, starts - starts[0], matrix.shape[1])

    def __call__(self) -> Any:
        """Return the rows as a CSR array."""
        from scipy import sparse

        parts = (_read(self.data), _read(self.indices), self.starts)
        return sparse.csr_array(parts, shape=(self.starts.size - 1, self.n_labels))


@dataclass(frozen=True)
class LazyRange:
    """A range of the rows of an array that reads what is asked for: zarr's, h5py's."""

    array: Any
    first: int
    last: int

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of the range."""
        return self.last - self.first, *self.array.shape[1:]

    def __getitem__(self, rows: slice) -> Any:
        return self.array[self.first + rows.start : self.first + rows.stop]


def _sent(part: Any, piece: slice) -> Any:
    """Return a range of rows of an array in the form in which it is pickled."""
    if part is None:
        return None
    if is_sparse(part):
        return SparseRange.of(part, piece)
    if isinstance(part, np.ndarray):
        rows = part[piece]
        return MappedFile.of(rows) or rows if rows.size else rows
    return LazyRange(part, piece.start, piece.stop)


def _read(part: Any) -> Any:
    """Return what was sent in its own form."""
    return part() if isinstance(part, MappedFile | SparseRange) else part


def _plain(part: Any) -> Any:
    """Return what an array library gave as what it is, or as NumPy's."""
    return part if is_sparse(part) or isinstance(part, np.ndarray) else np.asarray(part)


def _map_of(array: Dense) -> "np.memmap[Any, Any] | None":
    """Return the memory map that an array is a view of, None where it is none of a map."""
    base: Any = array
    while isinstance(base, np.ndarray):
        if isinstance(base, np.memmap) and not isinstance(base.base, np.ndarray):
            return base
        base = base.base
    return None


def _address(array: Dense) -> int:
    """Return where in memory an array begins."""
    return int(array.__array_interface__["data"][0])


def _is_block(value: object) -> bool:
    """Whether a shard gave one block, not an iterator of them."""
    if isinstance(value, Rows | Mapping):
        return True
    if not isinstance(value, tuple) or not 2 <= len(value) <= 3:
        return False
    return not any(isinstance(part, tuple | Mapping) for part in value)  # else these are blocks
