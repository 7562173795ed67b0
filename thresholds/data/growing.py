"""Rows that come block by block, gathered into one matrix: in memory, or in temporary files."""

import os
import tempfile
import weakref
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

import numpy as np

from thresholds._arrays.sparse import is_sparse
from thresholds._arrays.types import Dense, Matrix
from thresholds._checks import InputError

# Given back to the system when freed, as smaller chunks are not; what is not filled takes no room.
_CHUNK_BYTES = 2**26


class Gathered:
    """A matrix that grows by blocks of rows, all of one width, dtype and kind (dense or CSR).

    Cells are copied. With `spill`, a folder, they are kept in temporary files there, which vanish
    with the process at the latest. To tell the number of rows beforehand, where it is known, saves
    memory.
    """

    def __init__(
        self,
        name: str,
        spill: str | os.PathLike[str] | None = None,
        *,
        n_rows: int | None = None,
    ) -> None:
        self._name = name
        self._spill = spill
        self._n_expected = n_rows or 0
        # The cells; of CSR blocks data, indices, and lengths of rows.
        self._vectors: tuple[GrowingVector, ...] = ()
        self._width = 0
        self._n_rows = 0
        self._n_last = 0  # rows of the last block

    @property
    def n_rows(self) -> int:
        """Number of rows so far."""
        return self._n_rows

    @property
    def n_labels(self) -> int:
        """Number of columns, 0 before the first rows."""
        return self._width

    @property
    def kind(self) -> str:
        """Dtype of the cells, and whether they are sparse, in words."""
        if not self._n_rows:
            return "no"
        dtype = str(self._vectors[0].dtype)
        return f"sparse {dtype}" if self._is_sparse else dtype

    @property
    def nbytes(self) -> int:
        """Bytes of all rows so far, in memory or in files."""
        vectors = self._vectors if self._n_rows else ()
        return sum(vector.size * vector.dtype.itemsize for vector in vectors)

    @property
    def _is_sparse(self) -> bool:
        """Whether blocks are CSR."""
        return len(self._vectors) > 1

    def check(self, block: Matrix) -> None:
        """Refuse rows of another form than those before."""
        if not self._n_rows:
            return
        name, before = self._name, "as in the rows before"
        if is_sparse(block) != self._is_sparse:
            kind, expected = ("dense", "sparse") if self._is_sparse else ("sparse", "dense")
            raise InputError(f"{name} is {kind}, expected {expected} {before}")
        if block.shape[1] != self._width:
            raise InputError(f"{name} has {block.shape[1]} labels, expected {self._width} {before}")
        dtype = self._vectors[0].dtype
        if block.dtype != dtype:
            raise InputError(
                f"{name} has dtype {block.dtype}, expected {dtype} {before}: convert all rows to one dtype; scores"
                " to that in which a rule will see them"
            )

    def add(self, block: Matrix) -> None:
        """Copy the rows of a checked block, or none of them."""
        self.check(block)
        arrays = _arrays(block)
        vectors = self._vectors
        if not self._n_rows:
            room = 0 if is_sparse(block) else self._n_expected * block.shape[1]
            vectors = tuple(GrowingVector(array.dtype, self._spill, room) for array in arrays)
        add_all(list(zip(vectors, arrays, strict=True)))
        # Nothing failed.
        self._vectors = vectors
        self._n_last, self._width = block.shape
        self._n_rows += self._n_last

    def undo(self) -> None:
        """Take the last block out again; once, before anything else happens."""
        for vector in self._vectors:
            vector.undo()
        self._n_rows -= self._n_last

    def matrix(self) -> Matrix:
        """Return all rows, not to be written to; more may be added later."""
        shape = self._n_rows, self._width
        if not self._is_sparse:
            return self._vectors[0].whole().reshape(shape)
        from scipy import sparse

        data, indices, lengths = (np.asarray(vector.whole()) for vector in self._vectors)
        starts = np.append(0, np.cumsum(lengths))  # (n_rows + 1,)
        index_dtype = np.int32 if max(starts[-1], self._width) < 2**31 else np.int64
        indices = indices.astype(index_dtype, copy=False)
        return sparse.csr_array((data, indices, starts.astype(index_dtype)), shape=shape)


def add_all(pairs: Sequence[tuple[Any, Any]]) -> None:
    """Append a block to each of several that grow, or to none."""
    done = []
    try:
        for growing, block in pairs:
            growing.add(block)
            done.append(growing)
    except BaseException:
        for growing in done:
            growing.undo()
        raise


def _arrays(block: Matrix) -> list[Dense]:
    """Return the vectors that hold a block."""
    if not is_sparse(block):
        return [np.ascontiguousarray(block).reshape(-1)]
    index_dtype = np.int32 if block.shape[1] < 2**31 else np.int64
    lengths = np.diff(block.indptr).astype(np.int64)  # (n_rows,)
    return [block.data, block.indices.astype(index_dtype, copy=False), lengths]


class GrowingVector:
    """A vector that grows by pieces: in a file, or in chunks of memory, all full but the last.

    `room` is for how many cells to make room at first, in memory.
    """

    def __init__(
        self,
        dtype: np.dtype[Any],
        spill: str | os.PathLike[str] | None = None,
        room: int = 0,
    ) -> None:
        self.dtype = dtype
        self._room = room
        self._chunks: list[Dense] = []
        self._size = 0
        self._n_last = 0  # cells of the last piece
        self._file = None
        if spill is not None:
            self._file = tempfile.TemporaryFile(buffering=0, dir=spill)  # noqa: SIM115
            weakref.finalize(self, self._file.close)

    @property
    def size(self) -> int:
        """Number of cells so far."""
        return self._size

    def add(self, piece: Dense) -> None:
        """Append a piece, or nothing: what a failure leaves behind, the next piece overwrites."""
        before = self._size
        try:
            while self._size < before + piece.size:
                self._size += self._put(piece[self._size - before :])
        except BaseException:
            self._size = before
            raise
        self._n_last = piece.size

    def undo(self) -> None:
        """Take the last piece out again."""
        self._size -= self._n_last

    def whole(self) -> Dense:
        """Return all of it; each chunk is let go once it is copied: memory holds little twice."""
        if self._file is not None and self._size:
            return np.memmap(self._file, self.dtype, "r", shape=(self._size,))
        if len(self._chunks) > 1:
            joined = np.empty(self._size, self.dtype)
            at = 0
            self._chunks.reverse()
            while self._chunks:
                chunk = self._chunks.pop()[: self._size - at]
                joined[at : at + chunk.size] = chunk
                at += chunk.size
            self._chunks = [joined]
        return self._chunks[0][: self._size] if self._chunks else np.empty(0, self.dtype)

    def _chunk(self) -> Dense:
        """Make room for as much as is expected, if possible: files may say what they like."""
        usual = _CHUNK_BYTES // self.dtype.itemsize
        with suppress(MemoryError, ValueError):
            return np.empty(max(self._room, usual), self.dtype)
        return np.empty(usual, self.dtype)

    def _put(self, piece: Dense) -> int:
        """Write cells behind the last, as many as there is room for; return how many."""
        if self._file is not None:
            self._file.seek(self._size * self.dtype.itemsize)
            unwritten = piece.view(np.uint8).data
            while unwritten:
                unwritten = unwritten[self._file.write(unwritten) :]
            return piece.size

        # The chunk that has room: all before it are full.
        start = 0
        for chunk in self._chunks:
            if self._size < start + chunk.size:
                break
            start += chunk.size
        else:
            chunk = self._chunk()
            self._chunks.append(chunk)
        room = chunk[self._size - start :][: piece.size]
        room[:] = piece[: room.size]
        return room.size
