"""Decisions written as they come: a function for each format, which is known by the suffix of the file.

`.parquet` and `.jsonl` have lists of labels, a `.csv` a column of 0 and 1 for each label, or a label a line. All three
are written in constant memory. An `.npz` has a CSR matrix, whose positions are kept until all of them are known.
"""

import codecs
import json
import os
import re
import zipfile
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, NamedTuple

import numpy as np
from numpy.lib import format as npy

from thresholds._arrays.sparse import is_sparse
from thresholds._arrays.types import Dense, Matrix
from thresholds._atomic import write_atomically
from thresholds._checks import InputError
from thresholds.data import label_lists
from thresholds.errors import need
from thresholds.files.source import USUAL_DIALECT, Dialect
from thresholds.files.tables.csv_layout import MOST_COLUMNS

_OF_CSR = ("y_pred_data", "y_pred_indices", "y_pred_indptr", "y_pred_shape")
_LABELS = "labels"
_FORMULAS = ("=", "+", "-", "@", "\t", "\r")  # what spreadsheets run begins with one of these


class DecidedRows(NamedTuple):
    """Decisions on some rows, and their keys."""

    y_pred: Matrix  # 0/1 (n_rows, n_labels)
    keys: Dense | None = None  # (n_rows,), of several columns (n_rows, n_columns)


def write_blocks(
    path: str | os.PathLike[str],
    blocks: Iterable[DecidedRows],
    n_labels: int,
    label_names: tuple[str, ...] | None,
    key: str | tuple[str, ...] | None = None,
    label_column: str | None = None,
    *,
    dialect: Dialect = USUAL_DIALECT,
    quote_formulas: bool = False,
) -> None:
    """Write decisions as they come, in the form that the suffix of `path` says; on an error nothing is left.

    `key` has the name of the keys' column, or of several. A csv has a label a line if `label_column` is given, its
    name, as the scores had. It is written in a dialect; with `quote_formulas`, a cell that a spreadsheet would run
    has a ' before it.
    """
    path = Path(path)
    check_suffix(path)
    if quote_formulas and path.suffix != ".csv":
        raise InputError(
            f"--quote-formulas is given with {path}, expected a file that ends in .csv"
        )
    columns = (key,) if isinstance(key, str) else key or ()
    form = _Form(path, n_labels, label_names, columns, label_column, dialect, quote_formulas)
    if path.suffix == ".csv":
        _refuse_wide(form)
    for column in columns:
        if column in form.reserved:
            raise InputError(
                f"--key is {column!r}, a name that decisions are written under, expected another"
            )
    write = _WRITERS[path.suffix]
    write_atomically(path, lambda stream: write(stream, blocks, form))


def check_suffix(path: str | os.PathLike[str]) -> None:
    """Refuse what decisions cannot be written as."""
    suffix = Path(path).suffix
    if suffix not in _WRITERS:
        raise InputError(f"{path} ends in {suffix!r}, expected {', '.join(_WRITERS)}")
    if suffix == ".parquet":
        need("pyarrow", str(path))


@dataclass(frozen=True)
class _Form:
    """What is written of each row, and how."""

    path: Path
    n_labels: int
    label_names: tuple[str, ...] | None
    key: tuple[str, ...]  # columns
    label_column: str | None  # of a label a line
    dialect: Dialect
    quote_formulas: bool

    def keys(self, keys: Dense | None) -> dict[str, Dense]:
        """Return the columns of the keys of some rows, (n_rows,) each."""
        if keys is None:
            return {}
        return dict(zip(self.key, np.atleast_2d(keys.T), strict=True))

    @property
    def labels(self) -> Sequence[str]:
        """The names of the labels, or their positions where they have none."""
        return self.label_names or [str(place) for place in range(self.n_labels)]

    @property
    def columns(self) -> Sequence[str]:
        """The columns of a csv behind the key."""
        return self.labels if self.label_column is None else (self.label_column,)

    @property
    def reserved(self) -> Sequence[str]:
        """The names that decisions are written under, which no key may have."""
        of_npz = ("y_pred", *_OF_CSR, "label_names")
        return {".csv": self.columns, ".npz": of_npz}.get(self.path.suffix, (_LABELS,))


def _write_json_lines(stream: IO[bytes], blocks: Iterable[DecidedRows], form: _Form) -> None:
    """Write `{"labels": ["cat", "emu"]}` in each line, after the key."""
    for decided in blocks:
        lists = label_lists.to_label_lists(decided.y_pred, form.label_names)
        columns = {column: keys.tolist() for column, keys in form.keys(decided.keys).items()}
        columns[_LABELS] = lists
        for row in zip(*columns.values(), strict=True):
            cells = dict(zip(columns, row, strict=True))
            stream.write(json.dumps(cells, ensure_ascii=False).encode() + b"\n")


def _write_parquet(stream: IO[bytes], blocks: Iterable[DecidedRows], form: _Form) -> None:
    """Write `labels`, lists of names, or of positions where there are no names; before it the key."""
    import pyarrow as pa
    from pyarrow import parquet

    writer = None
    try:
        for decided in blocks:
            columns = {}
            for column, keys in form.keys(decided.keys).items():
                is_whole = keys.dtype.kind in "iu"
                columns[column] = pa.array(keys, None if is_whole else pa.string())
            lists = label_lists.to_label_lists(decided.y_pred, form.label_names)
            label = pa.int32() if form.label_names is None else pa.string()
            columns[_LABELS] = pa.array(lists, pa.list_(label))
            table = pa.table(columns)
            writer = writer or parquet.ParquetWriter(stream, table.schema)
            writer.write_table(table)
    finally:
        if writer is not None:
            writer.close()


def _write_npz(stream: IO[bytes], blocks: Iterable[DecidedRows], form: _Form) -> None:
    """Write the CSR matrix `y_pred`, in compressed arrays, when all positions are known."""
    positions = []
    lengths = [np.zeros(1, np.int32)]  # of rows, behind a 0, so that their sums are index pointers
    keys = []
    for decided in blocks:
        columns, offsets = label_lists.lists_of(decided.y_pred)
        positions.append(columns.astype(np.int32))
        lengths.append(np.diff(offsets).astype(np.int32))
        if decided.keys is not None:
            keys.append(decided.keys)

    indices = np.concatenate(positions)  # (n_stored,)
    indptr = np.cumsum(np.concatenate(lengths), dtype=np.int64)  # (n_rows + 1,)
    if indices.size < 2**31:
        indptr = indptr.astype(np.int32)
    ones = np.ones(indices.size, np.uint8)
    shape = np.array([indptr.size - 1, form.n_labels])
    arrays: dict[str, Dense] = dict(zip(_OF_CSR, (ones, indices, indptr, shape), strict=True))
    if form.label_names is not None:
        arrays["label_names"] = np.array(form.label_names)
    joined = np.concatenate(keys) if keys else None
    for column, values in form.keys(joined).items():
        arrays[column] = values.astype(np.str_) if values.dtype.hasobject else values

    # `numpy.savez` takes no array that is called `file`, as a key may be.
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, array in arrays.items():
            with archive.open(f"{name}.npy", "w", force_zip64=True) as member:
                npy.write_array(member, array, allow_pickle=False)


def _write_csv(stream: IO[bytes], blocks: Iterable[DecidedRows], form: _Form) -> None:
    """Write a column of 0 and 1 for each label behind the key, under its name, or its position without names.

    Of scores that have a label a line: the key and a label that is predicted in each line.
    """
    separator, encoding, line_end = form.dialect
    encoder = codecs.getincrementalencoder(encoding)()  # writes a byte-order mark once

    def write(lines: Iterable[str]) -> None:
        text = "".join(line + line_end for line in lines)
        try:
            stream.write(encoder.encode(text))
        except UnicodeEncodeError as error:
            raise InputError(
                f"{form.path} cannot have the character {text[error.start]!r}, which {encoding}, the encoding of the"
                " scores, lacks; expected a .jsonl, .parquet or .npz file, or scores in UTF-8"
            ) from None

    cell = _cell_of(form)
    write([separator.join(map(cell, [*form.key, *form.columns]))])
    labels = list(map(cell, form.labels))
    for decided in blocks:
        # The key of each row is what its lines begin with.
        y_pred = decided.y_pred
        rows = [""] * y_pred.shape[0]
        for keys in form.keys(decided.keys).values():
            texts = [cell(str(key)) + separator for key in keys.tolist()]
            rows = [row + text for row, text in zip(rows, texts, strict=True)]

        if form.label_column is None:
            dense = y_pred.toarray() if is_sparse(y_pred) else y_pred
            marks = (dense + ord("0")).astype(np.uint8)  # the characters 0 and 1
            cells = (separator.join(some.tobytes().decode()) for some in marks)
            write(row + text for row, text in zip(rows, cells, strict=True))
        else:
            positions, offsets = label_lists.lists_of(y_pred)
            places = np.repeat(np.arange(len(rows)), np.diff(offsets))  # (n_stored,) their rows
            pairs = zip(places.tolist(), positions.tolist(), strict=True)
            write(rows[place] + labels[position] for place, position in pairs)


def _cell_of(form: _Form) -> Callable[[str], str]:
    """Return what turns text into a cell of a csv: in quotes where that is needed, and no formula if that is asked."""
    separator = form.dialect.separator
    in_quotes = re.compile(rf'["\r\n{re.escape(separator)}]|^[\s#]|\s$')

    def cell(text: str) -> str:
        if form.quote_formulas and text.startswith(_FORMULAS):
            text = "'" + text
        if text and in_quotes.search(text) is None:
            return text
        return '"' + text.replace('"', '""') + '"'

    return cell


def _refuse_wide(form: _Form) -> None:
    """Refuse more columns than a csv may have."""
    most = MOST_COLUMNS - len(form.key)
    if len(form.columns) > most:
        raise InputError(
            f"{form.path} would have columns for {form.n_labels:,} labels, expected at most {most:,}: a .npz, .parquet"
            " or .jsonl file takes more"
        )


_Write = Callable[[IO[bytes], Iterable[DecidedRows], _Form], None]

# Every format, by the suffix of its files, and the function that writes it. For another, write a function and add a
# line.
_WRITERS: dict[str, _Write] = {
    ".npz": _write_npz,
    ".parquet": _write_parquet,
    ".csv": _write_csv,
    ".jsonl": _write_json_lines,
    ".ndjson": _write_json_lines,
}
