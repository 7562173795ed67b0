"""The only place that refuses input: arrays come in as users have them, and leave checked, in one form.

A refusal is an `InputError` that names the argument, what was found and what was expected.
"""

import math
import numbers
import sys
from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

Dense: TypeAlias = npt.NDArray[Any]
Matrix: TypeAlias = Any  # a dense 2-D ndarray, or a canonical scipy.sparse CSR array

_LARGEST_EXACT_INTEGER = 2**53
_BLOCK_ROWS = 4096


class InputError(ValueError):
    """Raised for arguments that cannot be used: names the argument, what was found, what was expected."""


def is_sparse(value: object) -> bool:
    """Tell whether `value` is a scipy.sparse matrix or array, without importing SciPy."""
    sparse = sys.modules.get("scipy.sparse")
    return sparse is not None and bool(sparse.issparse(value))


def scores(value: object, name: str = "y_score", label_names: Sequence[str] | None = None) -> Matrix:
    """Check real scores of shape (n_samples, n_labels): no NaN, no +inf; `-inf` marks a masked cell."""
    array = _matrix(value, name)
    cells = array.data if is_sparse(array) else array
    if cells.dtype.kind == "f" and cells.dtype.itemsize > 8:
        raise InputError(f"{name} has dtype {cells.dtype}, expected float16, float32, float64 or integers")
    if cells.size and cells.dtype.kind == "f":
        top = cells.max()
        if np.isnan(top) or np.isposinf(top):
            bad, word = (np.isnan, "NaN") if np.isnan(top) else (np.isposinf, "+inf")
            raise InputError(f"{name} has {word} at {_first(array, bad, label_names)}, expected real scores")
    if cells.size and cells.dtype.kind in "iu" and cells.dtype.itemsize == 8:
        largest = max(abs(int(cells.max())), abs(int(cells.min())))
        if largest > _LARGEST_EXACT_INTEGER:
            raise InputError(f"{name} has the integer {largest}, expected at most 2**53 in absolute value")
    return array


def key_dtype(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """Give float32 or float64, whichever holds every score of `dtype` exactly."""
    return np.dtype(np.float32 if np.can_cast(dtype, np.float32) else np.float64)


def filled(array: Any, missing: float) -> Dense:
    """Give a small CSR array as a dense one, with `missing` where nothing is stored."""
    dense = np.full(array.shape, missing, key_dtype(array.dtype))
    dense[row_of_entries(array), array.indices] = array.data
    return dense


def row_of_entries(array: Any) -> npt.NDArray[np.intp]:
    """Give the row of each stored entry of a CSR array."""
    return np.repeat(np.arange(array.shape[0]), np.diff(array.indptr))


def indicator(value: object, name: str = "y_true", label_names: Sequence[str] | None = None) -> Matrix:
    """Check a 0/1 or boolean matrix of shape (n_samples, n_labels); sparse ones lose explicit zeros."""
    array = _matrix(value, name)
    if is_sparse(array):
        if _not_binary(array.data).any():
            raise InputError(f"{name} has {_value_at(array, _not_binary, label_names)}, expected only 0 and 1")
        return _without_zeros(array)
    for start in range(0, len(array), _BLOCK_ROWS):
        if array.dtype != np.bool_ and _not_binary(array[start : start + _BLOCK_ROWS]).any():
            raise InputError(f"{name} has {_value_at(array, _not_binary, label_names)}, expected only 0 and 1")
    return array


def soft_truth(value: object, name: str = "y_true") -> Matrix:
    """Check a matrix of degrees of truth in [0, 1]."""
    array = _matrix(value, name)
    if _not_a_share(array.data if is_sparse(array) else array).any():
        raise InputError(f"{name} has {_value_at(array, _not_a_share, None)}, expected values in [0, 1]")
    return _without_zeros(array) if is_sparse(array) else array


def pair(
    y_true: object, y_score: object, label_names: object = None, *, soft: bool = False
) -> tuple[Matrix, Matrix, tuple[str, ...] | None]:
    """Check truth and scores together: same shape, and not swapped."""
    names = None if label_names is None else names_of_labels(label_names)
    try:
        truth = soft_truth(y_true) if soft else indicator(y_true, label_names=names)
    except InputError as error:
        if _is_binary(y_score):
            raise InputError(f"{error}; y_score has only 0 and 1: the arguments look swapped") from None
        raise
    found = scores(y_score, label_names=names)
    same_shape(truth, "y_true", found, "y_score")
    if names is not None and len(names) != found.shape[1]:
        raise InputError(f"label_names has {len(names)} names, expected {found.shape[1]}, one for each label")
    return truth, found, names


def same_shape(first: Matrix, first_name: str, second: Matrix, second_name: str) -> None:
    """Refuse matrices of different shapes."""
    if first.shape != second.shape:
        raise InputError(f"{second_name} has shape {second.shape}, expected {first.shape} as {first_name} has")


def names_of_labels(value: object) -> tuple[str, ...]:
    """Check label names: strings, each once."""
    names = list(value) if isinstance(value, Sequence | np.ndarray) and not isinstance(value, str) else [value]
    for name in names:
        if not isinstance(name, str):
            raise InputError(f"label_names has {name!r} of type {type(name).__name__}, expected strings")
    if len(set(names)) < len(names):
        double = next(name for i, name in enumerate(names) if name in names[:i])
        raise InputError(f"label_names has {str(double)!r} twice, expected each name once")
    return tuple(str(name) for name in names)


def weights(value: object, n_samples: int, n_labels: int) -> tuple[npt.NDArray[np.int64] | None, int]:
    """Check sample weights and give them as integers, in units of 2**-exponent.

    The unit is the finest power of two for which the weights of all cells together stay below 2**62: each
    weight is off by at most half a unit, 2**-62 of that total, and what sums of doubles hold exactly stays exact.
    """
    if value is None:
        return None, 0
    array = np.asarray(value)
    if array.dtype.kind not in "biuf" or array.shape != (n_samples,):
        raise InputError(
            f"sample_weight has shape {array.shape} and dtype {array.dtype}, expected {n_samples} numbers, one a row"
        )
    array = array.astype(np.float64)
    bad = np.flatnonzero(~(np.isfinite(array) & (array >= 0)))
    if bad.size:
        raise InputError(f"sample_weight has {array[bad[0]]} at row {bad[0]}, expected finite weights >= 0")
    largest = float(array.max())
    if largest == 0:
        raise InputError("sample_weight is 0 for every row, expected at least one positive weight")
    total = math.fsum(np.ldexp(array, -math.frexp(largest)[1]))
    exponent = 61 - math.frexp(total)[1] - math.frexp(n_labels)[1] - math.frexp(largest)[1]
    return np.maximum(np.rint(np.ldexp(array, exponent)).astype(np.int64), array > 0), exponent


def beta(value: object) -> float:
    """Check the weight of recall in F-beta."""
    number = real(value, "beta")
    if not (number > 0 and math.isfinite(number) and math.isfinite(number * number)):
        raise InputError(f"beta is {number}, expected a positive finite number")
    return number


def real(value: object, name: str) -> float:
    """Check a single number."""
    if isinstance(value, bool) or not isinstance(value, numbers.Real):
        raise InputError(f"{name} is {value!r}, expected a number")
    return float(value)


def missing(value: object, dtype: np.dtype[Any]) -> float:
    """Check the score of absent entries, rounded into the dtype of the others."""
    number = real(value, "missing")
    with np.errstate(over="ignore"):
        rounded = float(key_dtype(dtype).type(number))
    if math.isnan(number) or rounded == math.inf or math.isinf(rounded) != math.isinf(number):
        raise InputError(f"missing is {number}, expected a score of dtype {dtype}, or -inf")
    return rounded


def option(value: object, name: str, options: Sequence[object]) -> Any:
    """Check that `value` is one of a few."""
    if not any(value == known and type(value) is type(known) for known in options):
        known = ", ".join(repr(known) for known in options[:-1]) + f" or {options[-1]!r}"
        raise InputError(f"{name} is {value!r}, expected {known}")
    return value


def zero_division(value: object) -> float:
    """Check the value of 0/0 in a fit."""
    if isinstance(value, bool) or not isinstance(value, numbers.Real) or float(value) not in (0.0, 1.0):
        raise InputError(f"zero_division is {value!r}, expected 0.0 or 1.0")
    return float(value)


def count(value: object, name: str, smallest: int) -> int:
    """Check a whole number."""
    if isinstance(value, bool) or not isinstance(value, numbers.Integral) or value < smallest:
        raise InputError(f"{name} is {value!r}, expected a whole number of at least {smallest}")
    return int(value)


def _matrix(value: object, name: str) -> Matrix:
    """Give a non-empty 2-D numeric array, dense or CSR; one dimension means one label."""
    array = _sparse_matrix(value, name) if is_sparse(value) else _dense_matrix(value, name)
    if 0 in array.shape:
        raise InputError(f"{name} is empty, shape {array.shape}, expected at least one row and one label")
    return array


def _dense_matrix(value: object, name: str) -> Dense:
    """Give a plain 2-D array of numbers, a view of the caller's memory where it can be."""
    if hasattr(value, "columns") or hasattr(value, "__dataframe__"):
        raise InputError(
            f"{name} is a {type(value).__name__} frame, expected an array: pass its values and label_names="
        )
    if isinstance(value, np.ma.MaskedArray) and np.ma.getmaskarray(value).any():
        raise InputError(f"{name} has masked cells, expected none: use -inf for a label that must not be predicted")
    try:
        array = np.asarray(value)
    except (ValueError, TypeError, RuntimeError) as error:
        raise InputError(f"{name} cannot be read as an array ({error}), expected (n_samples, n_labels)") from None
    if array.dtype.kind == "O":
        array = _plain_numbers(array, name)
    if array.dtype.kind not in "biuf":
        raise InputError(f"{name} has dtype {array.dtype}, expected real numbers")
    if array.ndim == 1:
        array = array[:, np.newaxis]
    if array.ndim != 2:
        raise InputError(f"{name} has shape {array.shape}, expected (n_samples, n_labels)")
    return array


def _plain_numbers(array: Dense, name: str) -> Dense:
    """Turn an object array of numbers into float64."""
    for cell in array.flat:
        if not isinstance(cell, numbers.Real):
            raise InputError(f"{name} has {cell!r} of type {type(cell).__name__}, expected real numbers")
    return array.astype(np.float64)


def _sparse_matrix(value: Any, name: str) -> Matrix:
    """Give a CSR array with sorted indices, after checking that its structure is sound."""
    from scipy import sparse

    if value.ndim != 2:
        raise InputError(f"{name} has shape {value.shape}, expected (n_samples, n_labels)")
    if value.dtype.kind not in "biuf":
        raise InputError(f"{name} has dtype {value.dtype}, expected real numbers")
    try:
        if value.format in ("csr", "csc", "bsr"):
            _check_compressed(value)
        found = sparse.csr_array(value)
        if found.nnz < value.nnz:
            raise ValueError("a cell is stored twice")
        found = found if found.has_sorted_indices and _sorted(found) else _sorted_copy(found)
        row_ends = np.diff(found.indices) > 0
        row_ends[found.indptr[1:-1][(found.indptr[1:-1] > 0) & (found.indptr[1:-1] < found.nnz)] - 1] = True
        if not row_ends.all():
            raise ValueError("a cell is stored twice")
    except (ValueError, IndexError) as error:
        raise InputError(f"{name} is a malformed sparse array: {error}") from None
    return found


def _check_compressed(value: Any) -> None:
    """Refuse index arrays that would lead a kernel out of bounds."""
    if value.indptr[0] != 0 or np.any(np.diff(value.indptr) < 0) or value.indptr[-1] > len(value.indices):
        raise ValueError("index pointers must start at 0, never fall, and end within the stored entries")
    if len(value.indices) != len(value.data):
        raise ValueError(f"{len(value.indices)} indices for {len(value.data)} stored entries")
    value.check_format(full_check=True)


def _sorted(array: Any) -> bool:
    """Tell whether the column indices rise within every row (the flag may be wrong)."""
    falls = np.flatnonzero(np.diff(array.indices) < 0) + 1
    return bool(np.isin(falls, array.indptr).all())


def _sorted_copy(array: Any) -> Any:
    """Give a copy with sorted indices, leaving the caller's array alone."""
    array = array.copy()
    array.has_sorted_indices = False
    array.sort_indices()
    return array


def _without_zeros(array: Any) -> Any:
    """Drop explicit zeros, from a copy if there are any."""
    if np.count_nonzero(array.data) < array.nnz:
        array = array.copy()
        array.eliminate_zeros()
    return array


def _not_binary(cells: Dense) -> Dense:
    """Mark cells that are neither 0 nor 1."""
    return (cells != 0) & (cells != 1)  # type: ignore[no-any-return]


def _not_a_share(cells: Dense) -> Dense:
    """Mark cells outside [0, 1], NaN among them."""
    return ~((cells >= 0) & (cells <= 1))


def _is_binary(value: object) -> bool:
    """Tell whether `value` would pass as an indicator matrix."""
    try:
        indicator(value)
    except InputError:
        return False
    return True


def _first(array: Matrix, bad: Any, label_names: Sequence[str] | None) -> str:
    """Say where the first bad cell is."""
    row, column = _position(array, bad)
    label = f"label {column}" if label_names is None else f"label {label_names[column]!r}"
    return f"row {row}, {label}"


def _value_at(array: Matrix, bad: Any, label_names: Sequence[str] | None) -> str:
    """Say what the first bad cell is, and where."""
    found = array[_position(array, bad)]
    word = "NaN" if found != found else str(found)
    return f"{word} at {_first(array, bad, label_names)}"


def _position(array: Matrix, bad: Any) -> tuple[int, int]:
    """Find the first bad cell, row by row."""
    if is_sparse(array):
        at = int(np.flatnonzero(bad(array.data))[0])
        return int(np.searchsorted(array.indptr, at, side="right")) - 1, int(array.indices[at])
    for start in range(0, len(array), _BLOCK_ROWS):
        cells = np.argwhere(bad(array[start : start + _BLOCK_ROWS]))
        if len(cells):
            return start + int(cells[0, 0]), int(cells[0, 1])
    raise AssertionError("no bad cell")
