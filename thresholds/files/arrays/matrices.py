"""Matrices of scores, or of truth, in files of arrays: dense, or the arrays of a sparse one."""

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from thresholds._arrays.types import Dense, Matrix
from thresholds._checks import InputError
from thresholds.errors import need
from thresholds.files.arrays.archive import Archive
from thresholds.files.source import Block, Read, Source, Wanted, refuse_columns, row_slices

CSR_PARTS = ("data", "indices", "indptr", "shape")
PARTS = {"csr": CSR_PARTS, "csc": CSR_PARTS, "coo": ("data", "row", "col", "shape")}
# Labels, or rows, without a stored entry that a sparse matrix may have: its shape costs it nothing.
MOST_EMPTY = 2**22


class StoredMatrix(NamedTuple):
    """A matrix in a file, (n_samples, n_labels), that is read whenever it is asked for."""

    shape: tuple[int, int]
    is_mapped: bool  # and takes no memory
    whole: Callable[[], Matrix]
    stream: Callable[[], Iterator[Matrix]] | None = None  # of rows, where that takes less memory

    def blocks(self) -> Iterator[Matrix]:
        """Return the rows in order, a few megabytes at a time."""
        if self.stream is not None:
            yield from self.stream()
        else:
            cells = self.whole()
            yield from (cells[rows] for rows in row_slices(*self.shape))


def dense_matrix(archive: Archive, key: str) -> StoredMatrix:
    """Find a dense matrix."""
    header = archive.header(key)
    shape = shape_of(f"{key} of {archive.name}", header.shape)
    whole = partial(_whole_dense, archive, key, shape)
    stream = None if header.is_fortran else partial(archive.row_blocks, key)
    return StoredMatrix(shape, key not in archive.packed, whole, stream)


def sparse_matrix(archive: Archive, key: str, kind: str = "csr") -> StoredMatrix:
    """Find a sparse matrix, whose four arrays are named for it; SciPy's have no `key` before their names."""
    of = f"{key} of {archive.name}" if key else archive.name
    need("scipy", f"the sparse matrix {of}")
    names = [f"{key}_{part}" if key else part for part in PARTS[kind]]
    for name in names:
        if name not in archive.headers:
            raise InputError(
                f"{archive.name} lacks {name}, expected the four arrays of a {kind.upper()} matrix"
            )
        if len(archive.header(name).shape) != 1:
            raise _malformed(of, f"{name} has shape {archive.header(name).shape}")

    # The entries bound how many labels, and rows, the shape may claim.
    most = archive.header(names[0]).shape[0] + MOST_EMPTY
    claimed = _indices(of, archive.array(names[3]), 2**63 - 1).tolist()
    if len(claimed) != 2:
        raise _malformed(of, f"it has {len(claimed)} dimensions")
    n_samples, n_labels = shape = shape_of(of, claimed)
    if n_labels > most:
        raise _malformed(
            of, f"it has {n_labels:,} labels, expected at most {most:,} of so few entries"
        )
    if n_samples > most and kind != "csr":
        raise _malformed(
            of, f"it has {n_samples:,} rows, expected at most {most:,} of so few entries"
        )
    if kind == "csr" and archive.header(names[2]).shape[0] != n_samples + 1:
        n_pointers = archive.header(names[2]).shape[0]
        raise _malformed(of, f"it has {n_pointers:,} index pointers, with {n_samples:,} rows")
    is_mapped = kind == "csr" and archive.packed.isdisjoint(names[:3])
    return StoredMatrix(shape, is_mapped, partial(_whole_sparse, archive, of, names, kind, shape))


def of_one_matrix(
    path: Path, wanted: Wanted, shape: tuple[int, int], read: Read, **more: Any
) -> Source:
    """Return the source of a file of one matrix: of scores, or of truth, as the file does not say which."""
    refuse_columns(path.name, wanted)
    names, n_labels = wanted.label_names, shape[1]
    if names is not None and len(names) != n_labels:
        raise InputError(
            f"--label-names has {len(names)} names, expected {n_labels} as {path.name}"
        )
    return Source(
        name=path.name,
        path=str(path),
        score_key=path.stem,
        n_samples=shape[0],
        n_labels=n_labels,
        label_names=names,
        read=read,
        **more,
    )


def of_one_array(path: Path, wanted: Wanted, matrix: StoredMatrix) -> Source:
    """Return the source of a file of one matrix that is stored as arrays."""
    read, whole = partial(_blocks, matrix), partial(_block, matrix)
    return of_one_matrix(
        path, wanted, matrix.shape, read, read_whole=whole, is_mapped=matrix.is_mapped
    )


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


def _block(matrix: StoredMatrix) -> Block:
    """Return all rows of a matrix."""
    return Block(matrix.whole())


def _blocks(matrix: StoredMatrix, _: bool) -> Iterator[Block]:
    """Return the rows of a matrix in order."""
    return map(Block, matrix.blocks())


def _whole_dense(archive: Archive, key: str, shape: tuple[int, int]) -> Dense:
    """Read a dense matrix."""
    return archive.array(key).reshape(shape)


def _whole_sparse(
    archive: Archive, of: str, names: list[str], kind: str, shape: tuple[int, int]
) -> Matrix:
    """Read a sparse matrix, and turn it into CSR, unless it is one."""
    from scipy import sparse

    data, first, second = (archive.array(name) for name in names[:3])
    n_samples, n_labels = shape
    try:
        if kind == "coo":
            row, column = _indices(of, first, n_samples - 1), _indices(of, second, n_labels - 1)
            found = sparse.coo_array((data, (row, column)), shape=shape).tocsr()
        else:
            is_csr = kind == "csr"
            indices = _indices(of, first, (n_labels if is_csr else n_samples) - 1)
            starts = _indices(of, second, data.size)
            if starts[0] != 0 or (np.diff(starts) < 0).any() or starts[-1] != data.size:
                expected = f"rise from 0 to {data.size:,}, the number of entries"
                raise _malformed(of, f"index pointers do not {expected}")
            make = sparse.csr_array if is_csr else sparse.csc_array
            found = make((data, indices, starts), shape=shape).tocsr()
    except (ValueError, TypeError) as error:
        raise error if isinstance(error, InputError) else _malformed(of, error) from None
    if found.nnz != data.size:  # SciPy has added them up.
        raise _malformed(of, "it has a cell twice")
    return found


def _indices(of: str, numbers: Dense, most: int) -> Dense:
    """Return whole numbers from 0 to `most` in the narrowest index dtype of SciPy that holds them."""
    if numbers.dtype.kind not in "iu":
        raise _malformed(of, f"its indices have dtype {numbers.dtype}, expected whole numbers")
    lowest, highest = int(numbers.min(initial=0)), int(numbers.max(initial=0))
    if lowest < 0 or highest > most:
        found = lowest if lowest < 0 else highest
        raise _malformed(of, f"an index is {found:,}, expected 0 to {most:,}")
    return numbers.astype(np.int32 if highest < 2**31 else np.int64, copy=False)


def _malformed(of: str, error: object) -> InputError:
    """Say that a sparse matrix is none."""
    return InputError(f"{of} is a malformed sparse array: {error}")
