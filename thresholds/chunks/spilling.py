"""Rows that take long to decode are decoded once: written to temporary files as raw cells, which are then mapped.

The files have no name (on systems that let a file without one be), and vanish when they are let go, or with the
process, however that ends.
"""

import errno
import math
import os
import shutil
import tempfile
from collections.abc import Callable, Generator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, TypeAlias

from thresholds._arrays.sparse import is_sparse
from thresholds._arrays.threads import read_ahead, workers
from thresholds.chunks.accumulator import Accumulator
from thresholds.chunks.passes import n_stored_of, said_where
from thresholds.chunks.sources import (
    BlockSource,
    OpenedFile,
    Rows,
    Shard,
    blocks_of,
    n_rows_of,
    where_in,
)
from thresholds.errors import InputError, shown

Spill: TypeAlias = str | os.PathLike[str] | Literal["auto"] | None

_SHARE_OF_DISK = 0.5  # of what is free, that nobody asked to be filled
_EXPECTED = "expected a folder on a larger disk, or None to read the source in every pass"
_IN_MEMORY = frozenset({"tmpfs", "ramfs"})  # file systems
_MOUNTS = Path("/proc/mounts")
_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)  # what a disk says that takes no more


@dataclass(frozen=True)
class Folder:
    """Where rows are spilled to, and how many bytes at most."""

    path: str
    most: int
    is_asked_for: bool

    @classmethod
    def of(cls, spill: object) -> "Folder | None":
        """Read the argument; None is not to spill.

        Raises
        ------
        InputError
            For anything but "auto", None, or a folder that exists.
        """
        if spill is None:
            return None
        if spill != "auto":
            if not isinstance(spill, str | os.PathLike) or not os.path.isdir(spill):
                raise InputError(
                    f"spill is {shown(spill)}, expected a folder that exists, 'auto', or None for none"
                )
            path = os.fspath(spill)
            return cls(path, shutil.disk_usage(path).free, True)
        for path in (tempfile.gettempdir(), "/var/tmp"):
            if os.access(path, os.W_OK) and file_system(path) not in _IN_MEMORY:
                return cls(path, int(_SHARE_OF_DISK * shutil.disk_usage(path).free), False)
        return None


def spilled(
    source: BlockSource,
    folder: Folder,
    *,
    missing: float,
    unknown: object,
    label_names: object,
    n_jobs: int | None,
    step: Callable[[int, int], object] = lambda *_: None,
) -> Accumulator | None:
    """Write all rows to temporary files in one pass; None where they are more than may be written unasked.

    With two threads, a block of a file is decoded while the one before it is written: a fit of parquet took 1.5 to 1.9
    times as long as reading alone, and 1.9 to 2.5 times without that (`experiments/scale/parquet.py`).

    Raises
    ------
    InputError
        For rows that cannot be used, and for more of them than a folder that was asked for has room for.
    """
    rows = Accumulator(label_names=label_names, missing=missing, unknown=unknown, spill=folder.path)
    n_bytes = 0.0
    told = _told(source)
    if workers(n_jobs) > 1 and all(isinstance(shard, OpenedFile) for shard in source.shards):
        # Only of files: those who give blocks themselves may fill the same array again and again.
        told = read_ahead(told)
    with closing(told):
        for block, where in told:
            n_rows = n_rows_of(block.y_score)
            try:
                rows._take(block.y_true, block.y_score, block.sample_weight)
            except InputError as error:
                raise InputError(f"{error} ({where})") from None
            except OSError as error:
                if error.errno not in _FULL:
                    raise
                if not folder.is_asked_for:
                    return None
                raise InputError(
                    f"spill is {folder.path!r}, which takes no more after {len(rows):,} rows ({error.strerror}),"
                    f" {_EXPECTED}"
                ) from None
            # What all rows will take, where their number is known.
            n_bytes += n_rows * rows.n_labels * _bytes_of_cell(block)
            needed = n_bytes if source.n_rows is None else n_bytes * source.n_rows // len(rows)
            if needed > folder.most:
                _refuse_if_asked_for(folder, needed, len(rows))
                return None
            step(n_rows, n_stored_of(block.y_score))
    if not len(rows):
        raise InputError("source has no rows, expected at least one")
    return rows


def _told(source: BlockSource) -> Generator[tuple[Rows, str], None, None]:
    """Return every block, and where it is; what reading one raises is said to have come up there."""
    for number, shard in enumerate(source.shards):
        yield from _told_of(shard, f"in shard {number}, " if len(source.shards) > 1 else "")


def _told_of(shard: Shard, in_shard: str) -> Generator[tuple[Rows, str], None, None]:
    """Return the blocks of a shard."""
    n_rows = 0
    with said_where(lambda: where_in(shard, in_shard, n_rows)):
        for block in blocks_of(shard):
            yield block, where_in(shard, in_shard, n_rows)
            n_rows += n_rows_of(block.y_score)


def file_system(path: str) -> str | None:
    """Return what kind of file system a folder is on, None where the system does not say."""
    try:
        lines = _MOUNTS.read_text().splitlines()
    except OSError:
        return None
    mounts = [line.split()[1:3] for line in lines if len(line.split()) > 2]
    real = Path(path).resolve()
    over = [(len(point), kind) for point, kind in mounts if real.is_relative_to(point)]
    return max(over, default=(0, None))[1]


def _refuse_if_asked_for(folder: Folder, needed: float, n_rows: int) -> None:
    """Refuse to write more than there is room for, if the folder was asked for; else let the rows be read again."""
    if folder.is_asked_for:
        raise InputError(
            f"spill is {folder.path!r}, which had {folder.most / 1e9:.3g} GB of room, too little after"
            f" {n_rows:,} rows for {needed / 1e9:.3g} GB of them, {_EXPECTED}"
        )


def _bytes_of_cell(block: Rows) -> float:
    """Return how many bytes a cell of a block takes, with its truth; of sparse scores a share of an entry."""
    scores = block.y_score
    if is_sparse(scores):
        return float((scores.nnz * (scores.data.itemsize + 8)) / max(1, math.prod(scores.shape)))
    return float(getattr(getattr(scores, "dtype", None), "itemsize", 8) + 1)
