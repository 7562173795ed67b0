"""Shards: callables that return a block of rows, or an iterator of blocks, and can be sent to another process.

Arrays are cut into ranges of rows, which are sent as cells: who has mapped arrays fits them faster than others count.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import Any, TypeAlias

import numpy as np

from thresholds._arrays.blocks import in_pieces
from thresholds._arrays.sparse import is_sparse, stored_cells, with_cells
from thresholds._arrays.types import Ints
from thresholds._checks import in_order
from thresholds._checks.unknown import Unknown
from thresholds._engine.unknown import UNKNOWN
from thresholds.errors import InputError, shown
from thresholds.files.source import Source
from thresholds.files.words import OF_SOURCES, in_python_words
from thresholds.sources.rows import BLOCK, Rows

Shard: TypeAlias = Callable[[], Any]


def blocks_of(shard: Shard) -> Iterator[Rows]:
    """Return the blocks of a shard, one after another."""
    given = shard()
    if _is_block(given):
        given = [given]
    if not hasattr(given, "__iter__"):
        raise InputError(
            f"source has a shard that gives {shown(given)}, expected a block or an iterator of blocks: {BLOCK}"
        )
    yield from map(Rows.of, given)


def where_in(shard: Shard, in_shard: str, n_rows: int) -> str:
    """Say which block begins behind so many rows of a shard: of a file by its name, and its own number of the row."""
    if isinstance(shard, FilePart) and shard.source.first_row is not None:
        return f"in the block of {shard.source.name} that begins at row {shard.source.first_row + n_rows:,}"
    return f"{in_shard}in the block that begins at row {n_rows:,}"


@dataclass(frozen=True)
class FilePart:
    """A file, or a part of one, that knows its columns and is opened again where it is read."""

    source: Source
    stands_for_unknown: Unknown  # in truth, as a caller has said
    order: Ints | None  # (n_labels,) of its labels; None for that of its columns

    def __call__(self) -> Iterator[Rows]:
        """Read its blocks."""
        with in_python_words(OF_SOURCES):
            for block in self.source.blocks():
                truth = self._as_said(block.y_true)
                if truth is not None:
                    truth = in_order(truth, self.order)
                yield Rows(truth, in_order(block.y_score, self.order), groups=block.groups)

    def _as_said(self, truth: Any) -> Any:
        """Return truth with what stands for unknown cells, of which files are read as -1."""
        if truth is None or not self.stands_for_unknown or UNKNOWN in self.stands_for_unknown:
            return truth
        value = self.stands_for_unknown[
            -1
        ]  # any of them; a number is last, and takes less room than NaN
        cells = stored_cells(truth)
        return with_cells(truth, np.where(cells == UNKNOWN, value, cells))


def computed(parts: Mapping[str, Any]) -> Rows:
    """Return a block of the rows of Dask's arrays, by the names of the arguments, which Dask's scheduler computes."""
    found = import_module("dask").compute(*parts.values())
    return Rows.of(dict(zip(parts, found, strict=True)))


def in_blocks(rows: Rows, block_rows: int) -> Iterator[Rows]:
    """Return rows of arrays in blocks."""
    for piece in in_pieces(slice(0, rows.n_rows), block_rows):
        yield Rows(*(None if part is None else _plain(part[piece]) for part in rows))


def cut_out(rows: Rows, piece: slice) -> Rows:
    """Return a range of the rows of arrays."""
    return Rows(
        *(None if part is None else ArrayRange(part, piece.start, piece.stop) for part in rows)
    )


@dataclass(frozen=True)
class ArrayRange:
    """A range of the rows of an array, cut out when it is read, or sent."""

    array: Any
    first: int
    last: int

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of the range."""
        return self.last - self.first, *self.array.shape[1:]

    def __getitem__(self, rows: slice) -> Any:
        return self.array[self.first + rows.start : self.first + rows.stop]

    def __reduce__(self) -> tuple[Any, ...]:
        """Send its own rows alone; arrays that lie in files, as zarr's, are opened again where they are read."""
        n_rows = self.last - self.first
        if isinstance(self.array, np.ndarray) or is_sparse(self.array):
            return ArrayRange, (self[slice(0, n_rows)], 0, n_rows)
        return ArrayRange, (self.array, self.first, self.last)


def _plain(part: Any) -> Any:
    """Return what an array library gave as what it is, or as NumPy's."""
    return part if is_sparse(part) or isinstance(part, np.ndarray) else np.asarray(part)


def _is_block(value: object) -> bool:
    """Whether a shard gave one block, not an iterator of them."""
    if isinstance(value, Rows | Mapping):
        return True
    if not isinstance(value, tuple) or not 2 <= len(value) <= 3:
        return False
    return not any(isinstance(part, tuple | Mapping) for part in value)  # else these are blocks
