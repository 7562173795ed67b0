"""Sparse matrices: checked to be sound before any loop follows their indices."""

from typing import Any

import numpy as np

from thresholds._arrays.sparse import is_sparse, with_cells
from thresholds.errors import InputError


def sound_csr(value: Any, name: str) -> Any:
    """Return a CSR array with sorted indices and no cell stored twice; the caller's array is left alone."""
    if value.ndim != 2:
        raise InputError(f"{name} has shape {value.shape}, expected (n_samples, n_labels)")
    if value.dtype.kind not in "biuf":
        raise InputError(f"{name} has dtype {value.dtype}, expected real numbers")
    try:
        return _sound_csr(value)
    except (ValueError, IndexError, TypeError, AttributeError, OverflowError) as error:
        raise InputError(f"{name} is a malformed sparse array: {error}") from None


def without_zeros(array: Any) -> Any:
    """Drop explicit zeros of a sparse matrix, from a copy if there are any."""
    if is_sparse(array) and np.count_nonzero(array.data) < array.nnz:
        array = array.copy()
        array.eliminate_zeros()
    return array


def _sound_csr(value: Any) -> Any:
    """Convert and check; raises what SciPy raises."""
    from scipy import sparse

    # 1. No loop may follow indices out of bounds.
    if value.format in ("csr", "csc", "bsr"):
        value = _native(value)
        _check_indices(value)
    if value.format == "coo":
        _check_coordinates(value)
    array = sparse.csr_array(value)  # Of a CSR array another wrapper, which shares its parts.
    if value.format != "csr":
        _check_indices(array)
    array.prune()
    if array.dtype == np.float16:  # which SciPy stores, and computes nothing with
        array = with_cells(array, array.data.astype(np.float32))

    # 2. Conversion from coordinates adds up cells that are stored twice; in rows they stand side by side when sorted.
    if value.format == "coo" and array.nnz < value.nnz:
        raise ValueError("a cell is stored twice")
    if _rises(array):
        return array
    array = array.copy()
    array.has_sorted_indices = False
    array.sort_indices()
    if not _rises(array):
        raise ValueError("a cell is stored twice")
    return array


def _rises(array: Any) -> bool:
    """Whether columns rise within every row, each once: seen by a new wrapper, as the array's own flag may be wrong."""
    return bool(with_cells(array, array.data).has_canonical_format)


def _check_indices(value: Any) -> None:
    """Refuse pointers and indices that would lead a loop out of bounds."""
    if np.any(value.indptr[1:] < value.indptr[:-1]):  # SciPy does not look where the last is 0.
        raise ValueError(
            "index pointers must start at 0, never fall, and end within the stored entries"
        )
    another = type(value)(value)  # wrapper: the caller's would be trimmed
    another.check_format(full_check=True)


def _native(value: Any) -> Any:
    """Return parts in the byte order and the signed indices that SciPy and Numba work with."""
    parts = (value.data, value.indices, value.indptr)
    if not all(isinstance(part, np.ndarray) for part in parts):
        raise ValueError("indices, indptr and data must be arrays")
    if value.indices.dtype.kind not in "iu" or value.indptr.dtype.kind not in "iu":
        raise ValueError(
            f"indices have dtype {value.indices.dtype}, index pointers {value.indptr.dtype}"
        )
    is_native = all(part.dtype.isnative for part in parts)
    if is_native and value.indices.dtype.kind == "i" and value.indptr.dtype.kind == "i":
        return value
    data = value.data.astype(value.data.dtype.newbyteorder("="))
    indices = value.indices.astype(np.int64)
    indptr = value.indptr.astype(np.int64)
    return type(value)((data, indices, indptr), shape=value.shape)


def _check_coordinates(value: Any) -> None:
    """Refuse coordinates outside the shape; SciPy does not look."""
    for axis, (places, size) in enumerate(zip(value.coords, value.shape, strict=True)):
        if places.dtype.kind not in "iu" or len(places) != len(value.data):
            raise ValueError(
                f"{len(places)} coordinates of axis {axis} for {len(value.data)} stored entries"
            )
        if places.size and (places.min() < 0 or places.max() >= size):
            raise ValueError(
                f"coordinates of axis {axis} run from {places.min()} to {places.max()}, size {size}"
            )
