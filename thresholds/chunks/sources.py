"""Where rows come from that no memory holds at once: shards, each of which gives blocks of rows, as often as asked.

Whatever a caller has becomes a `BlockSource`, a list of *shards*. A shard is a callable without arguments that can be
pickled, and returns a block of rows or an iterator of them anew each time it is called. Shards are what `map` hands
out; the blocks of a shard are read one after another by whoever has it. No block is kept.

Arrays are cut into ranges of rows. Memory maps are sent as the name of their file and a place in it, never as cells.
"""

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from importlib import import_module
from typing import Any, NamedTuple

import numpy as np

from thresholds._arrays.blocks import ceil_div, equal_parts, in_pieces
from thresholds._arrays.libraries import is_dask_array
from thresholds._arrays.sparse import is_sparse
from thresholds._arrays.types import Dense, Ints
from thresholds._checks.unknown import unknown_value
from thresholds._engine.unknown import UNKNOWN
from thresholds.errors import InputError, shown
from thresholds.files.opening import open_scores
from thresholds.files.source import Source, Wanted
from thresholds.files.tables.hugging_face import is_dataset

_BLOCK_CELLS = 2**21  # of scores: some megabytes
_SHARD_CELLS = 2**24  # of an array: some tens of megabytes
_FEWEST_SHARDS = 8  # of an array that has as many blocks, so that a few workers share it evenly

Shard = Callable[[], Any]

_KINDS = (
    "a pair of arrays (y_true, y_score), a path or a list of them, a datasets.Dataset, a function that returns an"
    " iterator of blocks anew each time it is called, or a list of such functions"
)
_BLOCK = "(y_true, y_score), (y_true, y_score, sample_weight), or a mapping with these keys"


class Rows(NamedTuple):
    """A block of rows, as a source gives it: not checked."""

    y_true: Any  # (n_rows, n_labels)
    y_score: Any  # (n_rows, n_labels)
    sample_weight: Any = None  # (n_rows,), and so are groups and keys
    groups: Any = None
    keys: Any = None

    @classmethod
    def of(cls, block: object) -> "Rows":
        """Read a block in any of its forms."""
        if isinstance(block, Rows):
            return block
        if isinstance(block, Mapping):
            odd = sorted(set(block) - set(cls._fields), key=str)
            if odd or not {"y_true", "y_score"} <= set(block):
                what = f"with the key {shown(odd[0])}" if odd else "without y_true and y_score"
                raise InputError(
                    f"source has a block {what}, expected the keys {', '.join(cls._fields)}"
                )
            return cls(**block)
        if isinstance(block, tuple | list) and 2 <= len(block) <= 3:
            return cls(*block)
        raise InputError(f"source has {shown(block)} for a block, expected {_BLOCK}")

    def taken(self, rows: slice) -> "Rows":
        """Return a range of the rows, as views."""
        return Rows(*(None if part is None else part[rows] for part in self))


@dataclass(frozen=True)
class BlockSource:
    """Rows in shards, and what is known of them before they are read."""

    shards: Sequence[Shard]
    # All rows, where they lie in memory or are mapped into it, so that reading them again costs nothing more.
    in_place: Rows | None = None
    label_names: tuple[str, ...] | None = None
    n_rows: int | None = None  # None where that takes reading them all
    n_labels: int | None = None
    is_of_dask: bool = False  # whether its shards are blocks of Dask's arrays

    @classmethod
    def of(
        cls, source: object, *, label_names: object = None, unknown: object = None
    ) -> "BlockSource":
        """Find out what a source is.

        Raises
        ------
        InputError
            If it is nothing that can be read again and again.
        """
        if isinstance(source, BlockSource):
            return source
        if isinstance(source, str | os.PathLike) or is_dataset(source):
            return cls._of_paths([source], label_names, unknown)
        if isinstance(source, Source):
            return cls._of_opened([source], unknown)
        if isinstance(source, Mapping):
            return cls.of_arrays(Rows.of(source))
        if callable(source):
            return cls([source])
        if isinstance(source, Iterator):
            raise InputError(
                f"source is {shown(source)}, which can be read once, expected {_KINDS}: rows are read several times"
            )
        if isinstance(source, tuple | list) and len(source):
            parts = list(source)
            if all(isinstance(part, str | os.PathLike) for part in parts):
                return cls._of_paths(parts, label_names, unknown)
            if all(callable(part) for part in parts):
                return cls(parts)
            if isinstance(source, tuple) and 2 <= len(parts) <= 3:
                return cls.of_arrays(Rows.of(source))
        raise InputError(f"source is {shown(source)}, expected {_KINDS}")

    @classmethod
    def of_arrays(cls, rows: Rows) -> "BlockSource":
        """Cut arrays into ranges of rows: by NumPy's rules of slices, whatever library they are of."""
        if is_dask_array(rows.y_score):
            return cls._of_dask(rows)
        if not all(_is_array(part) for part in rows if part is not None):
            # Lists and frames are in memory, and are read in whole by whoever reads arrays.
            return cls([Whole(rows)], in_place=rows)
        if is_sparse(rows.y_score):
            rows = rows._replace(y_score=rows.y_score.tocsr())
        if is_sparse(rows.y_true):
            rows = rows._replace(y_true=rows.y_true.tocsr())
        shape = tuple(rows.y_score.shape)
        n_rows = _same_length(rows)
        n_labels = shape[1] if len(shape) > 1 else 1
        n_cells = rows.y_score.nnz if is_sparse(rows.y_score) else n_rows * n_labels
        n_blocks = max(1, ceil_div(n_cells, _BLOCK_CELLS))
        n_shards = max(min(n_blocks, _FEWEST_SHARDS), ceil_div(n_cells, _SHARD_CELLS))
        size = max(1, ceil_div(n_rows, n_blocks))
        shards = [
            RowRange(Rows(*(_sent(part, piece) for part in rows)), size)
            for piece in equal_parts(slice(0, n_rows), n_shards)
        ]
        lies_in_memory = all(
            part is None or isinstance(part, np.ndarray) or is_sparse(part) for part in rows
        )
        return cls(shards, rows if lies_in_memory else None, n_rows=n_rows, n_labels=n_labels)

    @classmethod
    def _of_dask(cls, rows: Rows) -> "BlockSource":
        """Take blocks of rows of Dask's arrays, cut as those of the scores are, as shards."""
        chunks = rows.y_score.chunks[0]  # numbers of rows; NaN where they are not known
        cut = {}
        for name, part in zip(Rows._fields, rows, strict=True):
            if part is None:
                continue
            if not is_dask_array(part):
                raise InputError(
                    f"{name} is a {type(part).__name__}, expected an array of Dask as y_score is"
                )
            whole = {1: -1} if part.ndim > 1 else {}
            cut[name] = part.rechunk(whole if part.chunks[0] == chunks else {0: chunks, **whole})
        shards = [
            DaskBlock(tuple(cut), tuple(part.blocks[number] for part in cut.values()))
            for number in range(len(chunks))
        ]
        n_labels = rows.y_score.shape[1] if rows.y_score.ndim > 1 else 1
        return cls(shards, n_labels=n_labels, is_of_dask=True)

    @classmethod
    def _of_paths(cls, paths: Sequence[Any], label_names: object, unknown: object) -> "BlockSource":
        """Open files: where one has its rows as they are, they are mapped."""
        names = None if label_names is None else tuple(map(str, label_names))  # type: ignore[call-overload]
        wanted = Wanted(label_names=names, unknown=unknown)
        if len(paths) > 1:
            return cls.of_files(paths, wanted)
        opened = open_scores(paths[0], wanted)
        mapped = None if opened.has_unknown else opened.mapped()
        if mapped is None or mapped.y_true is None:
            return cls._of_opened([opened], unknown)
        rows = Rows(mapped.y_true, mapped.y_score, groups=mapped.groups, keys=mapped.keys)
        return replace(cls.of_arrays(rows), label_names=opened.label_names)

    @classmethod
    def of_files(cls, paths: Sequence[Any], wanted: Wanted) -> "BlockSource":
        """Open files; their parts, such as row groups, are shards. Columns of all come in the order of the first."""
        first = open_scores(paths[0], wanted)
        wanted = replace(wanted, label_names=first.label_names)
        sources = [first, *(open_scores(path, wanted) for path in paths[1:])]
        return cls._of_opened(sources, wanted.unknown, with_truth=wanted.with_truth)

    @classmethod
    def _of_opened(
        cls, sources: Sequence[Source], unknown: object, *, with_truth: bool = True
    ) -> "BlockSource":
        """Take the parts of files that are open as shards."""
        stands_for = unknown_value(unknown)
        n_rows = [source.n_samples for source in sources]
        return cls(
            [
                OpenedFile(part, stands_for, with_truth)
                for source in sources
                for part in source.parts()
            ],
            label_names=sources[0].label_names,
            n_rows=None if None in n_rows else sum(filter(None, n_rows)),
            n_labels=sources[0].n_labels,
        )


def blocks_of(shard: Shard) -> Iterator[Rows]:
    """Return the blocks of a shard, one after another; those without rows are passed over."""
    given = shard()
    if _is_block(given):
        given = [given]
    if not hasattr(given, "__iter__"):
        raise InputError(
            f"source has a shard that gives {shown(given)}, expected a block or an iterator of blocks: {_BLOCK}"
        )
    for block in given:
        rows = Rows.of(block)
        if n_rows_of(rows.y_score) or n_rows_of(rows.y_true):
            yield rows


def where_in(shard: Shard, in_shard: str, n_rows: int) -> str:
    """Say which block begins behind so many rows of a shard: of a file by its name, and its own number of the row."""
    if isinstance(shard, OpenedFile) and shard.source.first_row is not None:
        return f"in the block of {shard.source.name} that begins at row {shard.source.first_row + n_rows:,}"
    return f"{in_shard}in the block that begins at row {n_rows:,}"


def n_rows_of(array: Any) -> int:
    """Return the number of rows of an array, a frame or a list."""
    shape = getattr(array, "shape", None)
    if shape is not None:
        return int(shape[0]) if len(shape) else 1
    return len(array) if hasattr(array, "__len__") else 1


@dataclass(frozen=True)
class RowRange:
    """A range of the rows of arrays, which are sent with it unless they are mapped files."""

    rows: Rows
    block_rows: int

    def __call__(self) -> Iterator[Rows]:
        """Return its blocks."""
        rows = Rows(*map(_read, self.rows))
        for piece in in_pieces(slice(0, n_rows_of(rows.y_score)), self.block_rows):
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
        whole = map_of(array)
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
class OpenedFile:
    """A file, or a part of one, that knows its columns and is opened again where it is read."""

    source: Source
    stands_for_unknown: float | None  # in truth, as a caller has said
    with_truth: bool  # else scores alone are read

    def __call__(self) -> Iterator[Rows]:
        """Read its blocks."""
        for block in self.source.blocks(truth=self.with_truth):
            if self.with_truth and block.y_true is None:
                raise InputError(
                    f"{self.source.name} has no y_true, expected gold labels to fit on"
                )
            truth = self._as_said(block.y_true)
            yield Rows(truth, block.y_score, groups=block.groups, keys=block.keys)

    def _as_said(self, truth: Any) -> Any:
        """Return truth with what stands for unknown cells, of which files are read as -1."""
        value = self.stands_for_unknown
        if value is None or value == UNKNOWN:
            return truth
        if not is_sparse(truth):
            return np.where(truth == UNKNOWN, value, truth)
        cells = np.where(truth.data == UNKNOWN, value, truth.data)
        return type(truth)((cells, truth.indices, truth.indptr), truth.shape)


@dataclass(frozen=True)
class DaskBlock:
    """A block of the rows of Dask's arrays, computed where it is read."""

    names: tuple[str, ...]
    parts: tuple[Any, ...]

    def __call__(self) -> Rows:
        """Compute it, on the thread that asks."""
        dask: Any = import_module("dask")
        return rows_of(self.names, dask.compute(*self.parts, scheduler="synchronous"))


def rows_of(names: Sequence[str], parts: Sequence[Any]) -> Rows:
    """Return rows that have so named parts; of scores alone the truth is None."""
    return Rows(**{"y_true": None, **dict(zip(names, parts, strict=True))})


@dataclass(frozen=True)
class Whole:
    """Rows that are given as they are."""

    rows: Rows

    def __call__(self) -> Rows:
        """Return them."""
        return self.rows


def map_of(array: Dense) -> "np.memmap[Any, Any] | None":
    """Return the memory map that an array is a view of, None where it is none of a map."""
    base: Any = array
    while isinstance(base, np.ndarray):
        if isinstance(base, np.memmap) and not isinstance(base.base, np.ndarray):
            return base
        base = base.base
    return None


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


def _sent(part: Any, piece: slice) -> Any:
    """Return a range of rows of an array in the form in which it is pickled."""
    if part is None:
        return None
    if is_sparse(part):
        return SparseRange.of(part, piece)
    if isinstance(part, np.ndarray):
        rows = part[piece]
        return MappedFile.of(rows) or rows if rows.size else rows
    return _Lazy(part, piece.start, piece.stop)


def _read(part: Any) -> Any:
    """Return what was sent in its own form."""
    return part() if isinstance(part, MappedFile | SparseRange) else part


@dataclass(frozen=True)
class _Lazy:
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


def _plain(part: Any) -> Any:
    """Return what an array library gave as what it is, or as NumPy's."""
    return part if is_sparse(part) or isinstance(part, np.ndarray) else np.asarray(part)


def _address(array: Dense) -> int:
    """Return where in memory an array begins."""
    return int(array.__array_interface__["data"][0])


def _same_length(rows: Rows) -> int:
    """Return the number of rows, of arrays that agree on it."""
    n_rows = n_rows_of(rows.y_score)
    for name, part in zip(Rows._fields, rows, strict=True):
        if part is not None and n_rows_of(part) != n_rows:
            raise InputError(f"{name} has {n_rows_of(part)} rows, expected {n_rows} as y_score has")
    return n_rows


def _is_block(value: object) -> bool:
    """Whether a shard gave one block, not an iterator of them."""
    if isinstance(value, Rows | Mapping):
        return True
    if not isinstance(value, tuple) or not 2 <= len(value) <= 3:
        return False
    return not any(isinstance(part, tuple | Mapping) for part in value)  # else these are blocks


def _is_array(value: Any) -> bool:
    """Whether a value has a shape and gives ranges of rows."""
    return is_sparse(value) or (
        hasattr(value, "shape")
        and hasattr(value, "dtype")
        and hasattr(value, "__getitem__")
        and not hasattr(value, "columns")
    )
