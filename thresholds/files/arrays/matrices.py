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
from thresholds.files.source import (
    Read,
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
    """A matrix in a file, (n_samples, n_labels), that is read whenever it is asked for."""

    shape: tuple[int, int]
    is_mapped: bool  # and takes no memory
    whole: Callable[[], Matrix]
    blocks: Callable[[], Iterator[Matrix]]  # its rows in order, a few megabytes at a time


def stored_matrix(archive: Archive, key: str) -> StoredMatrix:
    """Find a matrix of an archive, dense or CSR."""
    if key not in archive.headers:
        names = [f"{key}_{part}" for part in CSR_PARTS]
        return sparse_matrix(archive, f"{key} of {archive.name}", names)
    header, of = archive.header(key), f"{key} of {archive.name}"
    refuse_other_numbers(archive.name, key, header.dtype)
    shape = shape_of(of, header.shape)
    whole = partial(_whole_dense, archive, key, shape)
    by_rows = partial(slices, whole) if header.is_fortran else partial(archive.row_blocks, key)
    return StoredMatrix(shape, key not in archive.packed, whole, by_rows)


def sparse_matrix(
    archive: Archive, of: str, names: Sequence[str], kind: str = "csr"
) -> StoredMatrix:
    """Find a sparse matrix in four arrays: its entries, where they are, and the shape; `of` is it for messages."""
    need("scipy", f"the sparse matrix {of}")
    for name in names:
        if name not in archive.headers:
            expected = f"expected the four arrays of a {kind.upper()} matrix"
            raise InputError(f"{archive.name} lacks {name}, {expected}")
        if len(archive.header(name).shape) != 1:
            raise _malformed(of, f"{name} has shape {archive.header(name).shape}")
    refuse_other_numbers(archive.name, names[0], archive.header(names[0]).dtype)
    n_entries, _, n_pointers, n_dimensions = (archive.header(name).shape[0] for name in names)
    if n_dimensions != 2:
        raise _malformed(of, f"it has {n_dimensions:,} dimensions")

    # The shape costs nothing: entries bound how many labels, and rows, it may claim.
    shape = shape_of(of, _indices(of, archive.array(names[3]), 2**63 - 1).tolist())
    most = n_entries + MOST_EMPTY
    most_rows = n_pointers - 1 if kind == "csr" else most
    for what, n, bound in (("rows", shape[0], most_rows), ("labels", shape[1], most)):
        if n > bound:
            expected = f"expected at most {bound:,} of so few entries"
            raise _malformed(of, f"it has {n:,} {what}, {expected}")
    whole = partial(_whole_sparse, archive, of, names, kind, shape)
    is_mapped = kind == "csr" and archive.packed.isdisjoint(names[:3])
    return StoredMatrix(shape, is_mapped, whole, partial(slices, whole))


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


def slices(whole: Callable[[], Matrix]) -> Iterator[Matrix]:
    """Cut a matrix that is read as a whole into rows."""
    cells = whole()
    yield from (cells[rows] for rows in row_slices(*cells.shape))


def _whole_dense(archive: Archive, key: str, shape: tuple[int, int]) -> Dense:
    """Read a dense matrix."""
    return archive.array(key).reshape(shape)


def _whole_sparse(
    archive: Archive, of: str, names: Sequence[str], kind: str, shape: tuple[int, int]
) -> Matrix:
    """Read a sparse matrix as CSR."""
    from scipy import sparse

    # Indices are those of columns and pointers, of rows and pointers, or of rows and columns.
    data, first, second = (archive.array(name) for name in names[:3])
    first = _indices(of, first, shape[1 if kind == "csr" else 0] - 1)
    second = _indices(of, second, shape[1] - 1 if kind == "coo" else data.size)
    if kind != "coo" and (
        second[:1].any() or (np.diff(second) < 0).any() or (second[-1:] != data.size).any()
    ):
        expected = f"rise from 0 to {data.size:,}, the number of entries"
        raise _malformed(of, f"index pointers do not {expected}")
    makers = {"csr": sparse.csr_array, "csc": sparse.csc_array, "coo": sparse.coo_array}
    parts = (data, (first, second)) if kind == "coo" else (data, first, second)
    try:
        matrix = makers[kind](parts, shape=shape).tocsr()
    except (ValueError, TypeError) as error:
        raise _malformed(of, error) from None
    if matrix.nnz != data.size:  # SciPy has added them up.
        raise _malformed(of, "it has a cell twice")
    return matrix


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
