"""Where the rows of a file are kept while a command works on them: in memory, or in temporary files that are mapped.

Commands that fit or judge look at all rows several times. Where a file has them as they are (`.npy`, `.npz` that is not
compressed), they are mapped into memory and take none. Others are decoded once, and kept: in memory, unless that would
take more than half of what is left of it, by the limits of a container too (`_arrays/memory.py`). Half, as the size is
an estimate, and as checks, folds and thresholds want their room beside the rows. More than that is kept as raw cells in
temporary files, which the system reads, and lets go of, page by page; they vanish with the command. What is computed is
the same, bit for bit.
"""

import argparse
import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import numpy as np

from thresholds._arrays import memory
from thresholds._arrays.blocks import row_blocks
from thresholds._arrays.sparse import is_sparse
from thresholds._arrays.types import Ints, Matrix
from thresholds._checks import InputError
from thresholds.cli import printing

if TYPE_CHECKING:
    from thresholds.files import Source

SHARE = 0.5  # of the memory that is left
_AUTO, _NONE = "auto", "none"
_CELL = 16  # bytes: no score of a file takes more with its truth
_UNPACKED = 5  # times as large as compressed text, mostly


def folder_for(source: "Source", options: argparse.Namespace) -> str | None:
    """Return the folder to keep the rows of a source in, None for memory; what was not asked for is said on stderr."""
    from thresholds.sources.folder import Folder

    asked_for = getattr(options, "spill", _AUTO)
    if asked_for == _NONE or source.is_mapped:
        return None
    if asked_for != _AUTO:
        if not os.path.isdir(asked_for):
            raise InputError(
                f"--spill is {asked_for!r}, expected a folder that exists, 'auto', or 'none' to keep rows in memory"
            )
        return str(asked_for)

    # What takes much of the memory is kept in files, if a disk has room: of dense rows.
    left = memory.memory_left()
    if left is None:
        return None
    n_bytes, of_sparse = size_of(source, options.file, SHARE * left)
    if n_bytes <= SHARE * left:
        return None
    folder = None if of_sparse else Folder.of(_AUTO)
    if folder is not None and n_bytes <= folder.most:
        printing.print_error(
            f"thresholds: note: {source.name} takes about {_gigabytes(n_bytes)} of memory, more than half of the"
            f" {_gigabytes(left)} that are left: its rows are kept in temporary files in {folder.path}"
        )
        return folder.path
    if n_bytes <= left:
        return None

    # Nothing has room.
    where = f"temporary files may take {_gigabytes(0 if folder is None else folder.most)}"
    if of_sparse:
        where = "sparse scores are kept nowhere else"
    others = ", or TMPDIR on a disk with room"
    if hasattr(options, "spill"):
        others = ", --spill FOLDER on a disk with room, or --spill none to try it all the same"
    raise InputError(
        f"{source.name} takes about {_gigabytes(n_bytes)} of memory, of which {_gigabytes(left)} are left, and"
        f" {where}; expected more memory{others}"
    )


def size_of(source: "Source", path: str, enough: float) -> tuple[float, bool]:
    """Estimate the bytes that all rows take in memory, and say whether they are sparse.

    Of what takes no more than is `enough`, an upper bound will do.
    """
    from thresholds.files.opening import shards_of

    if source.n_samples is None:
        # Text, which takes about as many bytes as its numbers.
        files = [os.fspath(file) for file in shards_of(path)]
        sizes = [
            os.path.getsize(file) * (_UNPACKED if file.endswith(".gz") else 1) for file in files
        ]
        return float(sum(sizes)), False
    at_most = source.n_samples * source.n_labels * _CELL
    if at_most <= enough:
        return float(at_most), False

    # The first block tells what a row takes.
    for block in source.blocks():
        parts = [block.y_score] if block.y_true is None else [block.y_score, block.y_true]
        per_row = sum(map(_bytes_of, parts)) / block.y_score.shape[0]
        return per_row * source.n_samples, is_sparse(block.y_score)
    return 0.0, False


def _bytes_of(matrix: Matrix) -> int:
    """Return the bytes of a matrix."""
    if is_sparse(matrix):
        return int(matrix.data.nbytes + matrix.indices.nbytes + matrix.indptr.nbytes)
    return int(matrix.nbytes)


def taken(matrix: Matrix, rows: Ints) -> Matrix:
    """Return some rows; all of them without a copy. Of mapped files many rows are copied to another file."""
    everything = len(rows) == matrix.shape[0] and np.array_equal(rows, np.arange(len(rows)))
    if everything:
        return matrix
    if not isinstance(matrix, np.memmap):
        return matrix[rows]
    return _copied(matrix, rows, slice(None))


def in_order(matrix: Matrix, labels: Ints) -> Matrix:
    """Return the labels in another order; those of mapped files in another file, if they are many cells."""
    if not isinstance(matrix, np.memmap):
        return matrix[:, labels]
    return _copied(matrix, np.arange(matrix.shape[0]), labels)


def _copied(matrix: Matrix, rows: Ints, labels: "Ints | slice") -> Matrix:
    """Copy rows of a mapped file: in memory if they are few, else to a temporary file."""
    left = memory.memory_left()
    n_bytes = len(rows) * matrix.shape[1] * matrix.itemsize
    if left is None or n_bytes <= SHARE * left:
        return matrix[rows][:, labels]
    from thresholds.data.growing import Gathered
    from thresholds.sources.folder import Folder

    folder = Folder.of(_AUTO)
    path = folder.path if folder is not None and n_bytes <= folder.most else None
    copy = Gathered("rows", path, n_rows=len(rows))
    with refusing_a_full_disk(path, "TMPDIR"):
        for piece in row_blocks(len(rows), matrix.shape[1]):
            copy.add(matrix[rows[piece]][:, labels])
    return copy.matrix()


@contextmanager
def refusing_a_full_disk(folder: str | None, other: str = "--spill FOLDER") -> Iterator[None]:
    """Say where a disk is full, which a file without a name does not tell; `other` is what names another."""
    try:
        yield
    except OSError as error:
        if folder is None or error.filename is not None:
            raise
        raise InputError(
            f"{folder} takes no more rows: {error.strerror}; expected {other} on a disk with room"
        ) from None


def _gigabytes(n_bytes: float) -> str:
    """Say how large something is."""
    return f"{n_bytes / 1e9:.3g} GB"
