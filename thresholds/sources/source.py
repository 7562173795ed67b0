"""Whatever a caller has, as a list of shards: where rows come from that may be larger than memory.

A new kind of source is a callable that gives blocks (`shards.py`), and a line in `BlockSource.of`.
"""

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from thresholds._arrays.blocks import ceil_div, equal_parts
from thresholds._arrays.libraries import is_dask_array
from thresholds._arrays.sparse import is_sparse
from thresholds._arrays.types import Ints
from thresholds._checks import kept, listed, names_of_labels, places
from thresholds._checks.unknown import unknown_values
from thresholds.errors import InputError, shown
from thresholds.files.opening import open_scores
from thresholds.files.source import Source, Wanted
from thresholds.files.tables.formats import is_dataset
from thresholds.files.words import OF_SOURCES, in_python_words
from thresholds.sources.rows import Rows, n_rows_of
from thresholds.sources.shards import FilePart, Shard, computed, cut_out, in_blocks

_BLOCK_CELLS = 2**21  # of scores: some megabytes
_SHARD_CELLS = 2**24  # of an array: some tens of megabytes
_FEWEST_SHARDS = 8  # of an array that has as many blocks, so that a few workers share it evenly

KINDS = (
    "a pair of arrays (y_true, y_score), a path or a list of them, a datasets.Dataset, an iterator of blocks or a"
    " function that returns one, or a list of such functions"
)


class NoSource(InputError):
    """What was given is nothing that rows can be read from."""


@dataclass(frozen=True)
class BlockSource:
    """Rows in shards, and what is known of them before they are read."""

    shards: Sequence[Shard]
    # All rows, where they lie in memory or are mapped into it.
    in_place: Rows | None = None
    label_names: tuple[str, ...] | None = None
    n_rows: int | None = None  # None where that takes reading them all
    is_read_once: bool = False  # whether its shards give no rows a second time

    @classmethod
    def of(
        cls, source: object, *, label_names: object = None, unknown: object = None
    ) -> "BlockSource":
        """Find out what a source is.

        Parameters
        ----------
        source : as in `gather`
        label_names, unknown : which columns of files are the labels, and what truth that is not known is in files

        Raises
        ------
        NoSource
            If it is nothing that rows can be read from.
        InputError
            For files that cannot be read.
        """
        if isinstance(source, str | os.PathLike) or is_dataset(source):
            return cls._of_paths([source], label_names, unknown)
        if isinstance(source, Mapping):
            return cls._of_arrays(Rows.of(source))
        if callable(source):
            return cls([source])
        if isinstance(source, Iterator):
            return cls([partial(iter, source)], is_read_once=True)
        if isinstance(source, tuple | list) and len(source):
            parts = list(source)
            if all(isinstance(part, str | os.PathLike) for part in parts):
                return cls._of_paths(parts, label_names, unknown)
            if all(callable(part) for part in parts):
                return cls(parts)
            if isinstance(source, tuple) and 2 <= len(parts) <= 3:
                return cls._of_arrays(Rows.of(source))
        raise NoSource(f"source is {shown(source)}, expected {KINDS}")

    @classmethod
    def _of_arrays(cls, rows: Rows) -> "BlockSource":
        """Take arrays where they lie, and cut them into ranges of rows: by slices, whatever library they are of."""
        if is_dask_array(rows.y_score):
            return cls._of_dask(rows)
        rows = Rows(*(kept(part, name) for name, part in rows._asdict().items()))
        given = {name: part for name, part in rows._asdict().items() if part is not None}
        if not all(_is_sliced(part) for part in given.values()):
            return cls([partial(Rows, *rows)], rows)  # lists, frames, tensors

        # A sparse matrix is cut as CSR.
        rows = Rows(*(part.tocsr() if is_sparse(part) else part for part in rows))
        n_rows = rows.n_rows
        for name, part in given.items():
            if n_rows_of(part) != n_rows:
                raise InputError(
                    f"{name} has {n_rows_of(part)} rows, expected {n_rows} as y_score has"
                )

        # Shards of equal numbers of rows.
        n_cells = _n_cells(rows.y_score)
        n_blocks = max(1, ceil_div(n_cells, _BLOCK_CELLS))
        n_shards = max(min(n_blocks, _FEWEST_SHARDS), ceil_div(n_cells, _SHARD_CELLS))
        block_rows = max(1, ceil_div(n_rows, n_blocks))
        shards = [
            partial(in_blocks, cut_out(rows, piece), block_rows)
            for piece in equal_parts(slice(0, n_rows), n_shards)
        ]
        matrices = [part for part in (rows.y_true, rows.y_score) if part is not None]
        lie_in_memory = all(isinstance(part, np.ndarray) or is_sparse(part) for part in matrices)
        return cls(shards, rows if lie_in_memory else None, n_rows=n_rows)

    @classmethod
    def _of_dask(cls, rows: Rows) -> "BlockSource":
        """Take blocks of rows of Dask's arrays, cut as those of the scores are, as shards."""
        chunks = rows.y_score.chunks[0]  # numbers of rows; NaN where they are not known
        cut = {}
        for name, part in rows._asdict().items():
            if part is None:
                continue
            if not is_dask_array(part):
                raise InputError(
                    f"{name} is a {type(part).__name__}, expected an array of Dask as y_score is"
                )
            whole = {1: -1} if part.ndim > 1 else {}
            cut[name] = part.rechunk(whole if part.chunks[0] == chunks else {0: chunks, **whole})
        blocks = [
            {name: part.blocks[number] for name, part in cut.items()}
            for number in range(len(chunks))
        ]
        return cls([partial(computed, block) for block in blocks])

    @classmethod
    @in_python_words(OF_SOURCES)
    def _of_paths(cls, paths: Sequence[Any], label_names: object, unknown: object) -> "BlockSource":
        """Open files; labels come in the order of their names, or of the first file, in which some have them.

        One that has its rows as they are is mapped.
        """
        names = None if label_names is None else names_of_labels(label_names)
        opened = []
        for path in paths:
            opened.append(_opened(path, names, unknown))
            names = opened[0][0].label_names if names is None else names
        first, order = opened[0]
        is_one = len(paths) == 1 and order is None
        mapped = first.whole() if is_one and first.is_mapped and not first.has_unknown else None
        if mapped is not None:
            rows = Rows(mapped.y_true, mapped.y_score, groups=mapped.groups)
            return replace(cls._of_arrays(rows), label_names=names)

        # The parts of files, such as row groups, are shards.
        stands_for = unknown_values(unknown)
        shards = [
            FilePart(part, stands_for, order) for file, order in opened for part in file.parts()
        ]
        n_rows = [file.n_samples for file, _ in opened]
        known = None if None in n_rows else sum(filter(None, n_rows))
        return cls(shards, label_names=names, n_rows=known)


def _opened(
    path: Any, names: tuple[str, ...] | None, unknown: object
) -> tuple[Source, Ints | None]:
    """Open a file, and say where its labels are in the order of `names`; None where they are in order."""
    wanted = Wanted(unknown=unknown)
    if names is None:
        return open_scores(path, wanted), None
    try:
        file = open_scores(path, wanted)
    except InputError:
        # Names may tell which columns are the labels.
        return open_scores(path, replace(wanted, label_names=names)), None
    if file.label_names is None:
        return open_scores(path, replace(wanted, label_names=names)), None
    return file, places(file.label_names, names, file.name, f"the labels {listed(names)}")


def _n_cells(matrix: Any) -> int:
    """Return how many cells of a matrix are stored."""
    return int(matrix.nnz) if is_sparse(matrix) else int(np.prod(matrix.shape))


def _is_sliced(value: Any) -> bool:
    """Whether a value is an array that gives ranges of rows, and is cut into them: NumPy's, SciPy's, zarr's, h5py's.

    Others that lie in memory, as tensors do, are known by their way of sharing it.
    """
    if is_sparse(value) or isinstance(value, np.ndarray):
        return True
    has_rows = all(hasattr(value, name) for name in ("shape", "dtype", "__getitem__"))
    return has_rows and not hasattr(value, "columns") and not hasattr(value, "__dlpack__")
