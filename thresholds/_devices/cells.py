"""Checks of cells on a device, by two numbers each, in the words of the checks in host memory."""

import math
from collections.abc import Iterator, Sequence

import numpy as np

from thresholds._arrays.blocks import by_cells
from thresholds._arrays.types import Dense, Floats, Ints
from thresholds._checks import InputError
from thresholds._checks.cells import bad_cell
from thresholds._devices.namespaces import Array, Namespace, beside, dtype_name, own, to_host

FLOATS = ("float16", "bfloat16", "float32", "float64")
INTEGERS = ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")
BLOCK = 2**22  # cells, 32 MiB in float64; some ten arrays like that exist at a time

_LARGEST_EXACT_INTEGER = 2**53

# torch cannot compare unsigned integers but for uint8.
_SIGNED = {"uint16": "int32", "uint32": "int64"}


def checked_scores(
    value: Array,
    name: str = "y_score",
    label_names: Sequence[str] | None = None,
) -> Array:
    """Check real scores (n_samples, n_labels), or of one label, on a device.

    NaN and +inf are refused, `-inf` is a masked cell. Raises `InputError` as
    `thresholds._checks.scores` does; booleans come back as integers, tensors without gradients.
    """
    xp, cells = _matrix(value, name)
    low, high = _ends(xp, cells)

    # The two ends tell of any bad cell; only then it is looked for.
    if math.isnan(high) or high == math.inf:
        is_bad = xp.isnan(cells) if math.isnan(high) else cells == math.inf
        bad_score = _first_bad_cell(xp, cells, is_bad, label_names, signed=True)
        raise InputError(f"{name} has {bad_score}, expected real scores")
    largest = max(abs(low), abs(high))
    if dtype_name(cells) in ("int64", "uint64") and largest > _LARGEST_EXACT_INTEGER:
        expected = "at most 2**53 in absolute value"
        raise InputError(f"{name} has the integer {largest}, expected {expected}")
    return cells


def checked_probabilities(
    value: Array,
    name: str = "probabilities",
    label_names: Sequence[str] | None = None,
) -> Array:
    """Check probabilities (n_samples, n_labels), or of one label, on a device: each in [0, 1].

    Raises `InputError` as `thresholds._checks.probabilities` does.
    """
    xp, cells = _matrix(value, name)
    low, high = _ends(xp, cells)
    if not (low >= 0 and high <= 1):
        is_inside = (cells >= 0) & (cells <= 1)  # False for NaN
        bad_probability = _first_bad_cell(xp, cells, ~is_inside, label_names)
        raise InputError(
            f"{name} has {bad_probability}, expected values in [0, 1] (`calibrate` turns scores into probabilities)"
        )
    return cells


def bad_cell_in_words(cells: Array, is_bad: Array, label_names: Sequence[str] | None) -> str | None:
    """Return the first bad cell of a matrix on a device, in words; None if there is none."""
    xp, is_bad = own(is_bad)
    if not bool(to_host(xp, xp.any(is_bad))):
        return None
    return _first_bad_cell(xp, cells, is_bad, label_names)


def sample(scores: Array, at: Ints) -> Floats:
    """Copy a few cells to host memory, by their positions in the matrix read row by row."""
    xp, cells = own(scores)
    index = np.int32 if max(cells.shape) < 2**31 else np.int64  # which some devices lack
    row, column = np.divmod(at, cells.shape[1])
    rows = beside(cells, xp, row.astype(index))
    columns = beside(cells, xp, column.astype(index))
    return to_host(xp, cells[rows, columns]).astype(np.float64)


def rows(scores: Array, at: Ints) -> Dense:
    """Copy a few rows to host memory."""
    xp, cells = own(scores)
    index = np.int32 if cells.shape[0] < 2**31 else np.int64  # which some devices lack
    return to_host(xp, xp.take(cells, beside(cells, xp, at.astype(index)), axis=0))


def row_blocks(shape: tuple[int, int], cells: int) -> Iterator[slice]:
    """Cut rows into blocks of at most so many cells, or of one row."""
    n_rows, n_columns = shape
    return by_cells(n_rows, n_rows * n_columns, cells)


def _matrix(value: Array, name: str) -> tuple[Namespace, Array]:
    """Return a non-empty matrix of numbers and its namespace; one dimension means one label."""
    layout = str(getattr(value, "layout", ""))
    if layout.startswith("torch.") and layout != "torch.strided":
        expected = "a dense one: pass its to_dense()"
        raise InputError(f"{name} is a tensor of layout {layout}, expected {expected}")
    if str(value.device) == "meta":
        place = "on torch's meta device, which keeps shapes alone"
        raise InputError(f"{name} is {place}, expected an array with values")
    shape = tuple(value.shape)
    if len(shape) not in (1, 2):
        raise InputError(f"{name} has shape {shape}, expected (n_samples, n_labels)")
    xp, cells = own(value)
    cells = cells if len(shape) == 2 else cells[:, None]
    if 0 in shape:
        expected = "at least one row and one label"
        raise InputError(f"{name} is empty, shape {tuple(cells.shape)}, expected {expected}")
    return xp, _comparable(xp, cells, name)


def _comparable(xp: Namespace, cells: Array, name: str) -> Array:
    """Return cells of a dtype that can be compared."""
    dtype = dtype_name(cells)
    if dtype == "bool":
        return xp.astype(cells, xp.uint8)
    is_torch = str(cells.dtype).startswith("torch.")
    if dtype not in FLOATS + INTEGERS or (is_torch and dtype == "uint64"):
        raise InputError(f"{name} has dtype {dtype}, expected floats of 16 to 64 bits or integers")
    if is_torch and dtype in _SIGNED:
        return xp.astype(cells, getattr(xp, _SIGNED[dtype]))
    return cells


def _ends(xp: Namespace, cells: Array) -> tuple[float, float]:
    """Return the lowest and the highest cell, both NaN if any is; whole numbers exactly."""
    low, high = to_host(xp, xp.stack([xp.min(cells), xp.max(cells)])).tolist()
    return low, high


def _first_bad_cell(
    xp: Namespace,
    cells: Array,
    is_bad: Array,
    label_names: Sequence[str] | None,
    *,
    signed: bool = False,
) -> str:
    """Return the first bad cell, row by row, in words: its value, and where it is."""
    row = _first(xp, xp.any(is_bad, axis=1))
    column = _first(xp, is_bad[row, :])
    cell = to_host(xp, cells[row, column])[()]
    return bad_cell(cell, row, column, label_names, signed=signed)


def _first(xp: Namespace, marks: Array) -> int:
    """Return the position of the first mark."""
    positions = np.arange(marks.shape[0], dtype=np.int32)
    last = positions[-1].item()
    return int(xp.min(xp.where(marks, beside(marks, xp, positions), last)))
