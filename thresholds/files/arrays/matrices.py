"""Matrices of scores, or of truth, in files of arrays: dense, or the arrays of a sparse one."""

import math
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from thresholds._arrays.types import Matrix
from thresholds._checks import InputError
from thresholds._checks.sparse import sound_csr
from thresholds.errors import need
from thresholds.files.arrays.archive import Archive
from thresholds.files.source import (
    Block,
    Source,
    Wanted,
    refuse_columns,
    refuse_other_numbers,
    row_slices,
)

CSR_PARTS = ("data", "indices", "indptr", "shape")
PARTS = {"csr": CSR_PARTS, "csc": CSR_PARTS, "coo": ("data", "row", "col", "shape")}
# Labels, or rows, without a stored entry that a sparse matrix may have: its shape costs it nothing.
MOST_EMPTY = 2**22


class StoredMatrix(NamedTuple):
    """A matrix of an archive, that is read whenever it is asked for."""

    archive: Archive
    of: str  # what it is, for messages
    kind: str  # dense, csr, csc or coo
    keys: tuple[str, ...]  # of its arrays: one of a dense matrix, four of a sparse one
    shape: tuple[int, int]  # (n_samples, n_labels)

    @property
    def is_mapped(self) -> bool:
        """Whether it takes no memory."""
        return self.kind in ("dense", "csr") and self.archive.packed.isdisjoint(self.keys)

    def whole(self) -> Matrix:
        """Return all rows; of a sparse matrix as CSR."""
        if self.kind == "dense":
            return self.archive.array(self.keys[0]).reshape(self.shape)
        from scipy import sparse

        # Indices are those of columns and pointers, of rows and pointers, or of rows and columns.
        data, first, second = (self.archive.array(key) for key in self.keys[:3])
        makers = {"csr": sparse.csr_array, "csc": sparse.csc_array, "coo": sparse.coo_array}
        parts = (data, (first, second)) if self.kind == "coo" else (data, first, second)
        try:
            matrix = makers[self.kind](parts, shape=self.shape)
        except ValueError as error:
            raise _malformed(self.of, error) from None
        if matrix.nnz != data.size:
            expected = f"expected {data.size:,}, the number of entries"
            raise _malformed(self.of, f"its index pointers end at {matrix.nnz:,}, {expected}")
        return sound_csr(matrix, self.of)

    def blocks(self) -> Iterator[Matrix]:
        """Return the rows in order, a few megabytes at a time."""
        if self.kind == "dense" and not self.archive.headers[self.keys[0]].is_fortran:
            return self.archive.row_blocks(self.keys[0])
        return _slices(self.whole())


def stored_matrix(archive: Archive, key: str) -> StoredMatrix:
    """Find a matrix of an archive, dense or CSR."""
    of = f"{key} of {archive.name}"
    if key not in archive.headers:
        return sparse_matrix(archive, of, "csr", [f"{key}_{part}" for part in CSR_PARTS])
    header = archive.header(key)
    refuse_other_numbers(archive.name, key, header.dtype)
    return StoredMatrix(archive, of, "dense", (key,), shape_of(of, header.shape))


def sparse_matrix(archive: Archive, of: str, kind: str, keys: Sequence[str]) -> StoredMatrix:
    """Find a sparse matrix in four arrays: its entries, where they are (two arrays), and the shape."""
    need("scipy", f"the sparse {of}")
    for key in keys:
        if key not in archive.headers:
            expected = f"expected the four arrays of a {kind.upper()} matrix"
            raise InputError(f"{archive.name} lacks {key}, {expected}")
        dtype = archive.header(key).dtype
        if key != keys[0] and dtype.kind not in "iu":
            raise _malformed(of, f"{key} has dtype {dtype}, expected whole numbers")
    refuse_other_numbers(archive.name, keys[0], archive.header(keys[0]).dtype)
    sizes = [math.prod(archive.header(key).shape) for key in keys]
    n_entries, _, n_pointers, n_dimensions = sizes
    if n_dimensions != 2:
        raise _malformed(of, f"it has {n_dimensions:,} dimensions, expected 2")

    # The shape costs nothing: entries bound how many labels, and rows, it may claim.
    n_rows, n_labels = shape_of(of, archive.array(keys[3]).ravel().tolist())
    most = n_entries + MOST_EMPTY
    for what, n, bound in (("rows", n_rows, most + n_pointers), ("labels", n_labels, most)):
        if n > bound:
            expected = f"expected at most {bound:,} of so few entries"
            raise _malformed(of, f"it has {n:,} {what}, {expected}")
    return StoredMatrix(archive, of, kind, tuple(keys), (n_rows, n_labels))


def of_one_matrix(
    path: Path, wanted: Wanted, shape: tuple[int, int], whole: Callable[[], Matrix], **more: Any
) -> Source:
    """Return the source of a file of one matrix: of scores, or of truth, as the file does not say which."""
    refuse_columns(path.name, wanted)
    return Source(
        name=path.name,
        path=str(path),
        score_key=path.stem,
        n_samples=shape[0],
        n_labels=shape[1],
        label_names=names_for(path.name, shape[1], wanted),
        read=partial(_in_blocks, whole),
        read_whole=partial(_at_once, whole),
        **more,
    )


def names_for(name: str, n_labels: int, wanted: Wanted) -> tuple[str, ...] | None:
    """Return the label names that are asked for, one for each label of a file."""
    names = wanted.label_names
    if names is not None and len(names) != n_labels:
        raise InputError(f"--label-names has {len(names)} names, expected {n_labels} as {name}")
    return names


def shape_of(of: str, shape: Sequence[int]) -> tuple[int, int]:
    """Return rows and labels, at least one of each; an array of one dimension has one label."""
    if len(shape) not in (1, 2):
        raise InputError(f"{of} has shape {tuple(shape)}, expected (n_samples, n_labels)")
    n_samples, n_labels = shape if len(shape) == 2 else (*shape, 1)
    if n_samples < 1 or n_labels < 1:
        raise InputError(
            f"{of} has shape {(n_samples, n_labels)}, expected at least one row and one label"
        )
    return n_samples, n_labels


def _in_blocks(whole: Callable[[], Matrix], _: bool) -> Iterator[Block]:
    """Return the rows of a matrix in order, a few megabytes at a time."""
    return map(Block, _slices(whole()))


def _at_once(whole: Callable[[], Matrix]) -> Block:
    """Return all rows of a matrix."""
    return Block(whole())


def _slices(cells: Matrix) -> Iterator[Matrix]:
    """Cut a matrix into rows."""
    return (cells[rows] for rows in row_slices(*cells.shape))


def _malformed(of: str, error: object) -> InputError:
    """Say that a sparse matrix is none."""
    return InputError(f"{of} is a malformed sparse array: {error}")
