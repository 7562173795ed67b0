"""Decisions written block by block, in constant memory.

`.npz` (CSR), `.parquet` and `.jsonl` (lists of labels), `.csv` (a column of 0 and 1 for each label, or a label a line).
"""

import json
import os
import re
import tempfile
import zipfile
from abc import ABC, abstractmethod
from collections.abc import Collection, Iterable, Iterator, Sequence
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
from thresholds.files.source import MOST_COLUMNS

_OF_CSR = tuple(f"y_pred_{part}" for part in CSR_PARTS)
_CHUNK = 2**20  # entries
_LABELS = "labels"
_COMMA, _LINE_END, _ZERO = b",\n0"
_QUOTED = re.compile(r'[",\r\n]|^\s|\s$')  # what a cell of csv has that must stand in quotes


class Decided(NamedTuple):
    """Decisions on some rows, and their keys."""

    y_pred: Matrix  # 0/1 (n_rows, n_labels)
    keys: Dense | None = None  # (n_rows,), of several columns (n_rows, n_columns)


def write_blocks(
    path: str | os.PathLike[str],
    blocks: Iterable[Decided],
    n_labels: int,
    label_names: tuple[str, ...] | None,
    key: str | tuple[str, ...] | None = None,
    label_column: str | None = None,
) -> None:
    """Write decisions as they come, in the form that the suffix of `path` says; on an error nothing is left.

    `key` has the name of the keys' column, or of several. A csv has a label a line if `label_column` is given, its
    name, as the scores had.
    """
    path = Path(path)
    check_suffix(path)
    writer = _WRITERS[path.suffix]
    columns = (key,) if isinstance(key, str) else key or ()
    form = _Form(n_labels, label_names, columns, label_column)
    reserved = writer.reserved(form)
    for column in columns:
        if column in reserved:
            raise InputError(
                f"--key is {column!r}, a name that decisions are written under, expected another"
            )
    most = writer.most_labels(form)
    if most is not None and n_labels > most:
        raise InputError(
            f"{path} would have columns for {n_labels:,} labels, expected at most {most:,}: a .npz, .parquet or .jsonl"
            " file takes more"
        )
    write_atomically(path, lambda stream: writer(stream, form).write(blocks))


def check_suffix(path: str | os.PathLike[str]) -> None:
    """Refuse what decisions cannot be written as."""
    suffix = Path(path).suffix
    if suffix not in _WRITERS:
        raise InputError(f"{path} ends in {suffix!r}, expected {', '.join(_WRITERS)}")
    if suffix == ".parquet":
        from thresholds.files.tables.arrow import pyarrow

        pyarrow(str(path))


class _Form(NamedTuple):
    """What is written of each row."""

    n_labels: int
    label_names: tuple[str, ...] | None
    key: tuple[str, ...]  # columns
    label_column: str | None  # of a label a line


class _Writer(ABC):
    """Writes decisions into an open file."""

    def __init__(self, stream: IO[bytes], form: _Form) -> None:
        self.stream = stream
        self.form = form

    @staticmethod
    def reserved(form: _Form) -> Collection[str]:
        """Return the names that decisions are written under."""
        return (_LABELS,)

    @staticmethod
    def most_labels(form: _Form) -> int | None:
        """Return the number of labels that a file can hold; None where there is no bound."""
        return None

    def keys(self, decided: Decided) -> dict[str, Dense]:
        """Return the columns of the keys."""
        if decided.keys is None:
            return {}
        keys = decided.keys
        columns = [keys] if keys.ndim == 1 else list(keys.T)
        return dict(zip(self.form.key, columns, strict=True))

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
                for labels in label_lists.to_label_lists(decided.y_pred, self.form.label_names)
            ]
            for column, keys in reversed(self.keys(decided).items()):
                rows = [{column: key} | row for key, row in zip(keys.tolist(), rows, strict=True)]
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
        if self.form.label_names is not None:
            values = pa.array(self.form.label_names, pa.string()).take(values)
        labels = pa.ListArray.from_arrays(pa.array(offsets.astype(np.int32)), values)
        columns = {
            column: pa.array(keys)
            if keys.dtype.kind in "iu"
            else pa.array(keys.tolist(), pa.string())
            for column, keys in self.keys(decided).items()
        }
        return pa.table(columns | {_LABELS: labels})


class _Npz(_Writer):
    """The CSR matrix `y_pred`, in compressed arrays."""

    @staticmethod
    def reserved(form: _Form) -> Collection[str]:
        """Return the names of the arrays."""
        return ("y_pred", *_OF_CSR, "label_names")

    def write(self, blocks: Iterable[Decided]) -> None:
        """Gather positions and row lengths in temporary files, and write the arrays when their sizes are known."""
        # Without buffers: what did not fit would be written again when they are closed.
        with (
            tempfile.TemporaryFile(buffering=0) as positions,
            tempfile.TemporaryFile(buffering=0) as lengths,
        ):
            n_rows = n_stored = 0
            keys: dict[str, list[Dense]] = {column: [] for column in self.form.key}
            for decided in blocks:
                columns, offsets = label_lists.lists_of(decided.y_pred)
                _append(positions, columns)
                _append(lengths, np.diff(offsets))
                n_rows += offsets.size - 1
                n_stored += columns.size
                for column, some in self.keys(decided).items():
                    keys[column].append(some)
            index = np.int32 if n_stored < 2**31 else np.int64
            with zipfile.ZipFile(self.stream, "w", zipfile.ZIP_DEFLATED) as archive:
                _put(archive, "y_pred_data", np.uint8, n_stored, _ones(n_stored))
                _put(archive, "y_pred_indices", np.int32, n_stored, _read(positions))
                _put(archive, "y_pred_indptr", index, n_rows + 1, _starts(_read(lengths), index))
                shape = np.array([n_rows, self.form.n_labels])
                _put(archive, "y_pred_shape", shape.dtype, 2, iter([shape]))
                if self.form.label_names is not None:
                    names = np.array(self.form.label_names)
                    _put(archive, "label_names", names.dtype, names.size, iter([names]))
                for column, vectors in keys.items():
                    if vectors:
                        joined = np.concatenate(vectors)
                        joined = joined.astype(np.str_) if joined.dtype.hasobject else joined
                        _put(archive, column, joined.dtype, joined.size, iter([joined]))


class _Csv(_Writer):
    """A column of 0 and 1 for each label behind the key, under its name, or its position where labels have no names.

    Of scores that have a label a line: the key and a label that is predicted in each line.
    """

    @staticmethod
    def reserved(form: _Form) -> Collection[str]:
        """Return the names of the columns."""
        return set(_Csv._columns(form))

    @staticmethod
    def most_labels(form: _Form) -> int | None:
        """Return as many as there may be columns for in a csv that is read."""
        return None if form.label_column is not None else MOST_COLUMNS - len(form.key)

    def write(self, blocks: Iterable[Decided]) -> None:
        """Write all blocks."""
        header = [*self.form.key, *self._columns(self.form)]
        self.stream.write((",".join(map(_cell, header)) + "\n").encode())
        for decided in blocks:
            # The key of each row is what its lines begin with.
            rows = [""] * decided.y_pred.shape[0]
            for keys in self.keys(decided).values():
                cells = map(_cell, map(str, keys.tolist()))
                rows = [f"{row}{cell}," for row, cell in zip(rows, cells, strict=True)]

            if self.form.label_column is None:
                self.stream.write(self._matrix(decided.y_pred, rows))
            else:
                self.stream.write(self._lines(decided.y_pred, rows))

    @staticmethod
    def _columns(form: _Form) -> Sequence[str]:
        """Name the columns behind the key."""
        if form.label_column is not None:
            return (form.label_column,)
        return form.label_names or [str(place) for place in range(form.n_labels)]

    def _matrix(self, y_pred: Matrix, rows: list[str]) -> bytes:
        """Return a line for each row."""
        n_rows, n_labels = y_pred.shape
        text = np.empty((n_rows, 2 * n_labels), np.uint8)
        text[:, ::2] = _ZERO
        text[:, 1::2] = _COMMA
        text[:, -1] = _LINE_END
        positions, offsets = label_lists.lists_of(y_pred)
        text[np.repeat(np.arange(n_rows), np.diff(offsets)), 2 * positions] += 1
        if not self.form.key:
            return text.tobytes()
        return b"".join(
            row.encode() + cells.tobytes() for row, cells in zip(rows, text, strict=True)
        )

    def _lines(self, y_pred: Matrix, rows: list[str]) -> bytes:
        """Return a line for each label that is predicted."""
        lists: list[Any] = label_lists.to_label_lists(y_pred, self.form.label_names)
        lines = (
            f"{row}{_cell(str(label))}\n"
            for row, labels in zip(rows, lists, strict=True)
            for label in labels
        )
        return "".join(lines).encode()


def _cell(text: str) -> str:
    """Return a cell of csv, in quotes where that is needed."""
    if text and _QUOTED.search(text) is None:
        return text
    return '"' + text.replace('"', '""') + '"'


# Every format, by the suffix of its files, and the class that writes it. For another, write a class and add a line.
_WRITERS: dict[str, type[_Writer]] = {
    ".npz": _Npz,
    ".parquet": _Parquet,
    ".csv": _Csv,
    ".jsonl": _JsonLines,
    ".ndjson": _JsonLines,
}


def _append(file: IO[bytes], numbers: Dense) -> None:
    """Write numbers into a temporary file; it has no name, so that an error names its folder, not the output."""
    unwritten = memoryview(numbers.astype(np.int32).tobytes())
    try:
        while unwritten:
            unwritten = unwritten[file.write(unwritten) :]
    except OSError as error:
        said = f"{error.strerror}, expected TMPDIR on a disk with room"
        raise OSError(error.errno, said, tempfile.gettempdir()) from None


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
    while (piece := np.fromfile(file, np.int32, _CHUNK)).size:
        yield piece


def _starts(lengths: Iterator[Dense], dtype: npt.DTypeLike) -> Iterator[Dense]:
    """Add up row lengths to index pointers."""
    start = 0
    yield np.zeros(1, dtype)
    for piece in lengths:
        ends = start + np.cumsum(piece, dtype=np.int64)
        start = int(ends[-1])
        yield ends.astype(dtype)
