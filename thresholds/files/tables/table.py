"""A table: named columns of one file, or of several alike, read in pieces as Arrow's record batches.

Each format is a function that returns a table (`formats.py`, `csv_text.py`, `json_lines.py`). What is common to all
stands here: values become arrays of NumPy, and whatever cannot be read is said with its file and its row.
"""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

from thresholds._arrays.blocks import in_pieces
from thresholds._checks import InputError, listed
from thresholds._checks.boundary import reading
from thresholds.files.source import USUAL_DIALECT, Dialect, rows_per_block
from thresholds.files.tables.columns import (
    NUMBERS,
    PERCENT,
    FileColumn,
    NoValue,
    OtherLabels,
    Values,
    columns_of,
    features_in,
    names_in,
    refuse_doubled,
    values_of,
)

_FIRST_ROWS = 2**12  # that are looked at, to tell what a column is
_PART_CELLS = 2**24  # that are worth a task of their own, in another process perhaps

# Reads columns, some rows at once; the last are columns to be read as text, where a file has no types.
ReadBatches = Callable[[Sequence[str], int, Collection[str]], Iterator[Any]]


class Piece(NamedTuple):
    """Consecutive rows of a file."""

    name: str  # of the file
    path: str
    read: ReadBatches
    n_rows: int | None = None  # None where that takes reading them
    first_row: int = 0  # in the file
    n_about: int = 0  # about how many rows there may be, at most, where that is not known


class Batch(NamedTuple):
    """Some rows of a table."""

    name: str  # of the file
    first: int  # the number of its first row there
    columns: dict[str, Values]


@dataclass(frozen=True, kw_only=True)
class FileTable:
    """Named columns, in pieces that follow each other."""

    name: str
    columns: Mapping[str, FileColumn]
    pieces: tuple[Piece, ...]
    label_names: tuple[str, ...] | None = None  # that the file has for its lists
    about: str = ""  # for people: the number of shards, perhaps
    of_text: bool = False  # numbers are written as text, which has no dtype
    is_loose: bool = False  # rows may lack a column, as objects of JSON a key
    dialect: Dialect = USUAL_DIALECT
    notes: tuple[str, ...] = ()  # what was assumed
    # Of columns that differ between shards, how: they are refused where they are used.
    differences: Mapping[str, str] = field(default_factory=dict)
    first_row: int | None = 0  # of a part in the whole; None where that takes reading those before

    @property
    def n_rows(self) -> int | None:
        """Number of rows, None where that takes reading them all."""
        sizes = [piece.n_rows for piece in self.pieces]
        return None if None in sizes else sum(filter(None, sizes))

    @property
    def path(self) -> str:
        """The file, or the name of several, for messages."""
        return self.pieces[0].path if len({piece.path for piece in self.pieces}) == 1 else self.name

    @property
    def n_about(self) -> int:
        """About how many rows there may be, at most."""
        return sum(piece.n_about for piece in self.pieces)

    def batches(
        self,
        columns: Sequence[str],
        n_labels: int = 1,
        nullable: Collection[str] = (),
        text: Collection[str] = (),
    ) -> Iterator[Batch]:
        """Read columns a few megabytes at a time, rows being about `n_labels` numbers wide.

        A cell without a value is NaN in the `nullable` columns, which hold numbers; elsewhere it raises `NoValue`.
        Columns of `text` are read as such where a file has no types.
        """
        for column in columns:
            if column in self.differences:
                raise InputError(self.differences[column])
        for piece in self.pieces:
            with reading(piece.path):
                first = piece.first_row
                for rows in _cut(piece, columns, rows_per_block(n_labels), text):
                    values = {
                        column: self._values(piece, rows, first, column, column in nullable)
                        for column in columns
                    }
                    yield Batch(piece.name, first, values)
                    first += rows.num_rows
        _give_memory_back()

    def first_rows(
        self,
        columns: Sequence[str],
        nullable: Collection[str] = (),
        text: Collection[str] = (),
    ) -> dict[str, Batch]:
        """Read each column of some first rows, but for columns that lack a value there, and tables without rows."""
        columns = [column for column in columns if column not in self.differences]
        found = dict[str, Batch]()
        for piece in self.pieces if columns else ():
            with reading(piece.path):
                rows = next(_cut(piece, columns, _FIRST_ROWS, text), None)
                if rows is None:
                    continue
                first = piece.first_row
                for column in columns:
                    with suppress(NoValue):
                        values = self._values(piece, rows, first, column, column in nullable)
                        found[column] = Batch(piece.name, first, {column: values})
                break
        _give_memory_back()
        return found

    def _values(self, piece: Piece, rows: Any, first: int, column: str, nullable: bool) -> Values:
        """Return the values of a column; what is refused is said with its row in the file."""
        try:
            array = rows.column(rows.schema.get_field_index(column))
            return values_of(array, self.columns[column], nullable=nullable)
        except NoValue as where:
            raise NoValue(piece.name, first + where.row, column, where.place) from None
        except OtherLabels as found:
            raise InputError(
                f"column {column!r} of {piece.name} has {found.label!r} at row {first + found.row}, expected the labels"
                " of the first rows"
            ) from None

    def parts(self) -> "list[FileTable]":
        """Return tables of some pieces each, that together are this one."""
        parts = list[FileTable]()
        first: int | None = 0
        some = list[Piece]()
        for piece in self.pieces:
            some.append(piece)
            part = replace(self, pieces=tuple(some), first_row=first)
            n_rows = part.n_rows
            is_last = piece is self.pieces[-1]
            if is_last or n_rows is None or n_rows * len(self.columns) >= _PART_CELLS:
                parts.append(part)
                first = None if first is None or n_rows is None else first + n_rows
                some = []
        return parts


def table_of(
    name: str,
    schema: Any,
    pieces: Sequence[Piece],
    *,
    features: Mapping[str, Any] | None = None,
    words: Mapping[str, str] | None = None,
    **more: Any,
) -> FileTable:
    """Return the table of a file by its schema, whose columns have different names.

    `words` are for people, in place of names of types.
    """
    refuse_doubled(name, schema.names)
    features = features_in(schema, name) if features is None else features
    columns = columns_of(schema, features)
    for type_, word in (words or {}).items():
        for key, column in columns.items():
            if type_ in column.type:
                columns[key] = column._replace(type=column.type.replace(type_, word))
    return FileTable(
        name=name,
        columns=columns,
        pieces=tuple(pieces),
        label_names=names_in(schema, name),
        **more,
    )


def joined(name: str, tables: Sequence[FileTable], *, numbers_alike: bool = False) -> FileTable:
    """Return tables one after another as one; all must have the same columns, in any order.

    Tables without columns, as empty files of JSON are, are passed over. With `numbers_alike` a column may have numbers
    of different types: a column of whole numbers becomes one of floats where cells lack a value.
    """
    about = f"{len(tables)} shard{'s' if len(tables) > 1 else ''}"
    shards = [table for table in tables if table.columns or table.n_rows != 0] or list(tables[:1])
    first = shards[0]
    columns = dict(first.columns)
    differences = dict[str, str]()
    for shard in shards[1:]:
        _refuse_other_columns(first, columns, shard, name)
        for key, column in shard.columns.items():
            was = columns.get(key, column)
            if _are_alike(was, column, numbers_alike=first.of_text or numbers_alike):
                # Nothing but nulls, or empty lists, does not say of what.
                columns[key] = column if was.kind == "none" else was
            else:
                has = "other label names" if was.type == column.type else column.type
                differences[key] = (
                    f"shard {shard.name} of {name} has {has} in the column {key!r}, expected {was.type} as in the first"
                    f" shard, {first.name}"
                )
    pieces = tuple(piece for shard in shards for piece in shard.pieces)
    notes = tuple(dict.fromkeys(note for shard in shards for note in shard.notes))
    return replace(
        first,
        name=name,
        columns=columns,
        pieces=pieces,
        about=about,
        notes=notes,
        differences=differences,
    )


def _refuse_other_columns(
    first: FileTable, columns: Mapping[str, FileColumn], shard: FileTable, name: str
) -> None:
    """Refuse a shard that has other columns than those before; in JSON keys that are no numbers may be absent."""

    def counts(column: FileColumn) -> bool:
        return not first.is_loose or column.kind in NUMBERS

    lacking = [key for key in columns if key not in shard.columns and counts(columns[key])]
    new = [key for key in shard.columns if key not in columns and counts(shard.columns[key])]
    if lacking or new:
        words = [f"lacks {listed(lacking)}"] if lacking else []
        words += [f"has {listed(new)}"] if new else []
        raise InputError(
            f"shard {shard.name} of {name} {' and '.join(words)}, expected the columns of the first shard, {first.name}"
        )
    if first.label_names != shard.label_names:
        raise InputError(
            f"shard {shard.name} of {name} has other label names, expected those of the first shard, {first.name}"
        )


def _are_alike(was: FileColumn, now: FileColumn, *, numbers_alike: bool) -> bool:
    """Whether columns hold the same; the labels of mappings may be in any order."""
    if "none" in (was.kind, now.kind):
        # An empty list may be one of any kind.
        return (
            was.form == now.form or "flat" in (was.form, now.form) or "list" in (was.form, now.form)
        )
    if was.form == "mapping" == now.form:
        return set(was.names or ()) == set(now.names or ())
    if numbers_alike and was.kind in NUMBERS and now.kind in NUMBERS:
        are_percents = (was.type == PERCENT) == (now.type == PERCENT)
        return are_percents and (was.form, was.names) == (now.form, now.names)
    return was._replace(of_index=False) == now._replace(of_index=False)


def _cut(piece: Piece, columns: Sequence[str], n_rows: int, text: Collection[str]) -> Iterator[Any]:
    """Read batches of at most so many rows, but for empty ones."""
    for batch in piece.read(columns, n_rows, text):
        for rows in in_pieces(slice(0, batch.num_rows), n_rows):
            yield batch.slice(rows.start, rows.stop - rows.start)


def _give_memory_back() -> None:
    """Return what Arrow keeps to the system: 0.1 GB, measured, that a fit would have beside its own."""
    import pyarrow

    pyarrow.default_memory_pool().release_unused()
