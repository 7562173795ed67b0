"""Decisions written block by block, in constant memory: `.npz` (CSR), `.parquet` and `.jsonl` (lists of labels)."""

import json
import os
import tempfile
import zipfile
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import IO, Any, NamedTuple

import numpy as np
import numpy.typing as npt
from numpy.lib import format as npy

from thresholds._arrays.blocks import in_pieces
from thresholds._arrays.types import Dense, Matrix
from thresholds._checks import InputError
from thresholds.atomic import write_atomically
from thresholds.data import label_lists
from thresholds.files.arrays.archive import CSR_PARTS

_OF_CSR = tuple(f"y_pred_{part}" for part in CSR_PARTS)
_RESERVED = {".npz": ("y_pred", *_OF_CSR, "label_names")}  # names that decisions are written under
_CHUNK = 2**20  # entries
_LABELS = "labels"


class Decided(NamedTuple):
    """Decisions on some rows, and their keys."""

    y_pred: Matrix  # 0/1 (n_rows, n_labels)
    keys: Dense | None = None


def write_blocks(
    path: str | os.PathLike[str],
    blocks: Iterable[Decided],
    n_labels: int,
    label_names: tuple[str, ...] | None,
    key: str | None = None,
) -> None:
    """Write decisions as they come, in the form that the suffix of `path` says; on an error nothing is left.

    `key` is the name of the keys' column.
    """
    path = Path(path)
    check_suffix(path)
    if key in _RESERVED.get(path.suffix, (_LABELS,)):
        raise InputError(
            f"--key is {key!r}, a name that decisions are written under, expected another"
        )
    writer = _WRITERS[path.suffix]
    write_atomically(path, lambda stream: writer(stream, n_labels, label_names, key).write(blocks))


def check_suffix(path: str | os.PathLike[str]) -> None:
    """Refuse what decisions cannot be written as."""
    suffix = Path(path).suffix
    if suffix not in _WRITERS:
        raise InputError(f"{path} ends in {suffix!r}, expected {', '.join(_WRITERS)}")
    if suffix == ".parquet":
        from thresholds.files.tables.arrow import pyarrow

        pyarrow(str(path))


class _Writer(ABC):
    """Writes decisions into an open file."""

    def __init__(
        self, stream: IO[bytes], n_labels: int, label_names: tuple[str, ...] | None, key: str | None
    ) -> None:
        self.stream = stream
        self.n_labels = n_labels
        self.label_names = label_names
        self.key = key

    @abstractmethod
    def write(self, blocks: Iterable[Decided]) -> None:
        """Write all blocks."""


class _JsonLines(_Writer):
    """`{"labels": ["cat", "emu"]}` in each line, after the key."""

    def write(self, blocks: Iterable[Decided]) -> None:
        """Write all blocks."""
        for decided in blocks:
            rows: list[dict[str, Any]] = [
                {_LABELS: labels}
                for labels in label_lists.to_label_lists(decided.y_pred, self.label_names)
            ]
            if self.key is not None and decided.keys is not None:
                rows = [
                    {self.key: key} | row
                    for key, row in zip(decided.keys.tolist(), rows, strict=True)
                ]
            lines = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
            self.stream.write(lines.encode())


class _Parquet(_Writer):
    """`labels`, lists of names, or of positions where there are no names; before it the key."""

    def write(self, blocks: Iterable[Decided]) -> None:
        """Write all blocks."""
        from pyarrow import parquet

        writer = None
        try:
            for decided in blocks:
                table = self._table(decided)
                writer = writer or parquet.ParquetWriter(self.stream, table.schema)
                writer.write_table(table)
        finally:
            if writer is not None:
                writer.close()

    def _table(self, decided: Decided) -> Any:
        """Return a block as an Arrow table."""
        import pyarrow as pa

        positions, offsets = label_lists.lists_of(decided.y_pred)
        values = pa.array(positions.astype(np.int32))
        if self.label_names is not None:
            values = pa.array(self.label_names, pa.string()).take(values)
        columns = {_LABELS: pa.ListArray.from_arrays(pa.array(offsets.astype(np.int32)), values)}
        if self.key is not None and decided.keys is not None:
            keys = decided.keys
            columns = {
                self.key: pa.array(keys)
                if keys.dtype.kind in "iu"
                else pa.array(keys.tolist(), pa.string())
            } | columns
        return pa.table(columns)


class _Npz(_Writer):
    """The CSR matrix `y_pred`, in compressed arrays."""

    def write(self, blocks: Iterable[Decided]) -> None:
        """Gather positions and row lengths in temporary files, and write the arrays when their sizes are known."""
        with tempfile.TemporaryFile() as positions, tempfile.TemporaryFile() as lengths:
            n_rows = n_stored = 0
            keys: list[Dense] = []
            for decided in blocks:
                columns, offsets = label_lists.lists_of(decided.y_pred)
                positions.write(columns.astype(np.int32).tobytes())
                lengths.write(np.diff(offsets).astype(np.int32).tobytes())
                n_rows += offsets.size - 1
                n_stored += columns.size
                if decided.keys is not None:
                    keys.append(decided.keys)
            index = np.int32 if n_stored < 2**31 else np.int64
            with zipfile.ZipFile(self.stream, "w", zipfile.ZIP_DEFLATED) as archive:
                _put(archive, "y_pred_data", np.uint8, n_stored, _ones(n_stored))
                _put(archive, "y_pred_indices", np.int32, n_stored, _read(positions))
                _put(archive, "y_pred_indptr", index, n_rows + 1, _starts(_read(lengths), index))
                shape = np.array([n_rows, self.n_labels])
                _put(archive, "y_pred_shape", shape.dtype, 2, iter([shape]))
                if self.label_names is not None:
                    names = np.array(self.label_names)
                    _put(archive, "label_names", names.dtype, names.size, iter([names]))
                if self.key is not None and keys:
                    joined = np.concatenate(keys)
                    joined = joined.astype(np.str_) if joined.dtype.hasobject else joined
                    _put(archive, self.key, joined.dtype, joined.size, iter([joined]))


# Every format, by the suffix of its files, and the class that writes it. For another, write a class and add a line.
_WRITERS: dict[str, type[_Writer]] = {
    ".npz": _Npz,
    ".parquet": _Parquet,
    ".jsonl": _JsonLines,
    ".ndjson": _JsonLines,
}


def _put(
    archive: zipfile.ZipFile, name: str, dtype: npt.DTypeLike, size: int, pieces: Iterator[Dense]
) -> None:
    """Write a vector into an archive, piece by piece."""
    described = {
        "descr": npy.dtype_to_descr(np.dtype(dtype)),
        "fortran_order": False,
        "shape": (size,),
    }
    with archive.open(f"{name}.npy", "w", force_zip64=True) as member:
        npy.write_array_header_1_0(member, described)
        for piece in pieces:
            member.write(piece.tobytes())


def _ones(size: int) -> Iterator[Dense]:
    """Return so many ones."""
    return (
        np.ones(piece.stop - piece.start, np.uint8) for piece in in_pieces(slice(0, size), _CHUNK)
    )


def _read(file: IO[bytes]) -> Iterator[Dense]:
    """Read back what was gathered."""
    file.seek(0)
    while piece := file.read(4 * _CHUNK):
        yield np.frombuffer(piece, np.int32)


def _starts(lengths: Iterator[Dense], dtype: npt.DTypeLike) -> Iterator[Dense]:
    """Add up row lengths to index pointers."""
    start = 0
    yield np.zeros(1, dtype)
    for piece in lengths:
        ends = start + np.cumsum(piece, dtype=np.int64)
        start = int(ends[-1])
        yield ends.astype(dtype)
