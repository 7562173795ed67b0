"""Frames and columns of pandas, Polars and PyArrow: read as arrays with names, and made again from decisions.

None of them is imported here: whoever has a frame has imported its library.
"""

import sys
import warnings
from numbers import Real
from typing import Any, NamedTuple

import numpy as np

from thresholds._arrays.libraries import imported
from thresholds._arrays.types import Dense
from thresholds._checks.labels import Names, listed, names_of_labels, places
from thresholds.errors import InputError, shown

_LIBRARY = __name__.partition(".")[0]


class RowOrderWarning(UserWarning):
    """Issued when the rows of a pandas object are put into the order of another's by their indexes."""


class Frame(NamedTuple):
    """What a frame, or a single column, holds."""

    cells: Dense  # (n_samples, n_labels), or (n_samples,) of a single column
    names: Names | None  # of the columns; None for a single column
    index: Any  # of a pandas object


def read_frame(value: Any, name: str) -> Frame | None:
    """Read a frame or a column of numbers or truth values; None for what is neither."""
    for library, read in _READERS.items():
        module = imported(library)
        if module is None:
            continue
        frame = read(module, value, name)
        if frame is not None:
            return frame
    if hasattr(value, "columns") or hasattr(value, "__dataframe__"):
        raise InputError(
            f"{name} is a {type(value).__name__} frame, expected one of pandas, Polars or PyArrow: convert it"
        )
    return None


def aligned(
    first: object, first_name: str, second: object, second_name: str, label_names: object = None
) -> tuple[Any, Any, Names | None]:
    """Return two arguments with frames as arrays, columns and rows in the same order, and the names of the labels.

    Columns go by name, in the order of `label_names`, else of the second argument, whose rows also lead. What has no
    names, or no index, goes by position.
    """
    names = None if label_names is None else names_of_labels(label_names)
    first_frame = read_frame(first, first_name)
    second_frame = read_frame(second, second_name)

    # Columns.
    for frame in (second_frame, first_frame):
        if names is None and frame is not None:
            names = frame.names
    first_cells: Any = first
    if first_frame is not None:
        first_cells = columns_of(first_frame, names, first_name)
    second_cells: Any = second
    if second_frame is not None:
        second_cells = columns_of(second_frame, names, second_name)

    # Rows.
    if first_frame is not None and second_frame is not None:
        rows = _rows(first_frame.index, first_name, second_frame.index, second_name)
        first_cells = first_cells[rows]
    return first_cells, second_cells, names


def aligned_rows(value: object, name: str, **beside: object) -> Any:
    """Return a column (weights, groups) as an array, in the order of the first argument beside it that has an index."""
    frame = read_frame(value, name)
    if frame is None:
        return value
    cells = frame.cells
    if cells.ndim == 2 and cells.shape[1] == 1:
        cells = cells[:, 0]
    for other, values in beside.items():
        if _is_pandas(values):
            return cells[_rows(frame.index, name, values.index, other)]  # type: ignore[attr-defined]
    return cells


def named(value: object, name: str, label_names: object = None) -> tuple[Any, Names | None]:
    """Return an argument and the names of its labels: a frame as an array, columns in the order of `label_names`."""
    names = None if label_names is None else names_of_labels(label_names)
    frame = read_frame(value, name)
    if frame is None:
        return value, names
    names = frame.names if names is None else names
    return columns_of(frame, names, name), names


def columns_of(frame: Frame, names: Names | None, name: str) -> Dense:
    """Return the cells of a frame, its columns in the order of `names` if both have names."""
    expected = f"columns for the labels {listed(names or ())} (to go by position, pass an array)"
    order = places(frame.names, names, name, expected, "column")
    return frame.cells if order is None else frame.cells[:, order]


def like_frame(cells: Any, value: Any, names: Names | None) -> Any:
    """Return the columns of `cells`, those of `names`, as `value` is: same library, names, order and index."""
    for library, make in _MAKERS.items():
        module = imported(library)
        if module is None:
            continue
        frame = make(module, cells, value, names)
        if frame is not None:
            return frame
    return None


def _is_pandas(value: object) -> bool:
    """Whether `value` has the index of a pandas object."""
    pandas = imported("pandas")
    return pandas is not None and isinstance(value, pandas.DataFrame | pandas.Series)


def _rows(index: Any, name: str, other: Any, other_name: str) -> Any:
    """Return the rows of one pandas index in the order of another; all as they are if there are not two."""
    everything = slice(None)
    if index is None or other is None or len(index) != len(other) or index.equals(other):
        return everything
    if index.is_unique and other.is_unique:
        rows = index.get_indexer(other)  # (n_samples,), -1 where a row is lacking
        if (rows == np.arange(rows.size)).all():  # equal, but of two types
            return everything
        if (rows >= 0).all():
            _refuse_counted(index, name, other, other_name)
            _announce(rows, name, other_name)
            return rows
        lacking = other[rows < 0].tolist()[0]
        odd = f"{shown(lacking)} of {other_name} is not in that of {name}"
    else:
        odd = "some row is in it twice"
    raise InputError(
        f"{name} and {other_name} have different indexes ({odd}): align them, or pass {name}.to_numpy() if rows"
        " correspond by position"
    )


def _refuse_counted(index: Any, name: str, other: Any, other_name: str) -> None:
    """Refuse to go by an index 0, 1, 2, ..., as new frames have it: it says nothing of the rows."""
    for counts, fresh, leading in (
        (_only_counts(index), name, other_name),
        (_only_counts(other), other_name, name),
    ):
        if counts:
            raise InputError(
                f"{name} and {other_name} have the same numbers as indexes in different orders, and that of {fresh}"
                f" only counts its rows, expected equal indexes: pass {fresh}.set_axis({leading}.index) if rows"
                f" correspond by position, {fresh}.loc[{leading}.index] if by index"
            )


def _only_counts(index: Any) -> bool:
    """Whether an index is 0, 1, 2, ..., of whatever type."""
    if index.nlevels > 1 or index.hasnans:
        return False
    return bool(index.tolist() == list(range(len(index))))


def _announce(rows: Dense, name: str, other_name: str) -> None:
    """Warn that rows are put in another order."""
    n_moved = int((rows != np.arange(rows.size)).sum())
    warn_caller(
        f"{name} is put into the order of {other_name} by their indexes: {n_moved:,} of {rows.size:,} rows move",
        RowOrderWarning,
    )


def warn_caller(message: str, category: type[Warning]) -> None:
    """Warn at the line that called this library."""
    level = 1
    frame = sys._getframe()
    while frame.f_back is not None and frame.f_globals["__name__"].partition(".")[0] == _LIBRARY:
        level += 1
        frame = frame.f_back
    warnings.warn(message, category, stacklevel=level)


def _refuse_missing(row: int, column: object, name: str) -> None:
    """Refuse a cell without a value."""
    raise InputError(
        f"{name} has no value at row {row}, column {shown(column)}, expected one in every cell"
    )


def _read_pandas(pandas: Any, value: Any, name: str) -> Frame | None:
    """Read a pandas frame, of nullable or Arrow types, too, or a series."""
    if isinstance(value, pandas.Series):
        return Frame(_pandas_column(value, name), None, value.index)
    if not isinstance(value, pandas.DataFrame):
        return None
    names = _names(value.columns, name)
    if len(set(value.dtypes)) == 1 and isinstance(value.dtypes.iloc[0], np.dtype):
        return Frame(value.to_numpy(), names, value.index)
    columns = [_pandas_column(value.iloc[:, j], name) for j in range(len(names))]
    return Frame(_side_by_side(columns, names, len(value), name), names, value.index)


def _pandas_column(series: Any, name: str) -> Dense:
    """Read a column, which may be of a type that knows missing values."""
    if isinstance(series.dtype, np.dtype):
        return np.asarray(series.to_numpy())
    absent = series.isna().to_numpy()
    if absent.any():
        _refuse_missing(int(absent.argmax()), series.name, name)
    dtype = getattr(series.dtype, "numpy_dtype", getattr(series.dtype, "subtype", None))
    if not isinstance(dtype, np.dtype):
        dtype = np.dtype(object)
    try:
        return np.asarray(series.to_numpy(dtype))
    except (TypeError, ValueError):
        raise InputError(
            f"{name} has dtype {series.dtype} in column {shown(series.name)}, expected numbers"
        ) from None


def _side_by_side(columns: list[Dense], names: Names, n_rows: int, name: str) -> Dense:
    """Return columns of numbers or truth values as a matrix."""
    for column, label in zip(columns, names, strict=True):
        if column.dtype.kind not in "biufO":
            raise InputError(
                f"{name} has dtype {column.dtype} in column {shown(label)}, expected real numbers"
            )
        if column.dtype.kind == "O":
            _refuse_objects(column, label, name)
    return np.stack(columns, axis=1) if columns else np.empty((n_rows, 0))


def _refuse_objects(column: Dense, label: str, name: str) -> None:
    """Refuse a column with anything but real numbers, an id perhaps."""
    for row, cell in enumerate(column):
        if not isinstance(cell, Real | np.bool_):
            kind = type(cell).__name__
            raise InputError(
                f"{name} has {shown(cell)} ({kind}) at row {row}, column {shown(label)}, expected numbers"
            )


def _make_pandas(pandas: Any, cells: Any, value: Any, names: Names | None) -> Any:
    """Make a pandas object."""
    if isinstance(value, pandas.Series):
        return pandas.Series(cells[:, 0], index=value.index, name=value.name)
    if not isinstance(value, pandas.DataFrame):
        return None
    own = tuple(map(str, value.columns))
    ordered = _as_columns(cells, names, own)
    return pandas.DataFrame(ordered, index=value.index, columns=value.columns)


def _read_polars(polars: Any, value: Any, name: str) -> Frame | None:
    """Read a Polars frame or series."""
    if isinstance(value, polars.LazyFrame):
        raise InputError(f"{name} is a LazyFrame, expected its data: collect() it")
    if isinstance(value, polars.Series):
        return Frame(_polars_column(polars, value, name), None, None)
    if not isinstance(value, polars.DataFrame):
        return None
    columns = [_polars_column(polars, series, name) for series in value]
    names = _names(value.columns, name)
    return Frame(_side_by_side(columns, names, value.height, name), names, None)


def _polars_column(polars: Any, series: Any, name: str) -> Dense:
    """Read a column; integers of 128 bits and decimals, which NumPy has not, as float64."""
    if series.null_count():
        _refuse_missing(int(series.is_null().arg_max()), series.name, name)
    dtype = series.dtype
    if dtype.is_decimal() or (dtype.is_integer() and "128" in str(dtype)):
        series = series.cast(polars.Float64)
    return np.asarray(series.to_numpy())


def _make_polars(polars: Any, cells: Any, value: Any, names: Names | None) -> Any:
    """Make a Polars object."""
    if isinstance(value, polars.Series):
        return polars.Series(value.name, cells[:, 0])
    if not isinstance(value, polars.DataFrame):
        return None
    ordered = _as_columns(cells, names, tuple(value.columns))
    return polars.DataFrame(
        {column: ordered[:, j].copy() for j, column in enumerate(value.columns)}
    )


def _read_arrow(pyarrow: Any, value: Any, name: str) -> Frame | None:
    """Read a PyArrow table, batch of records, or array."""
    if isinstance(value, pyarrow.Array | pyarrow.ChunkedArray):
        return Frame(_arrow_column(pyarrow, value, "", name), None, None)
    if not isinstance(value, pyarrow.Table | pyarrow.RecordBatch):
        return None
    names = _names(value.schema.names, name)
    columns = [
        _arrow_column(pyarrow, column, label, name)
        for column, label in zip(value.columns, names, strict=True)
    ]
    return Frame(_side_by_side(columns, names, value.num_rows, name), names, None)


def _arrow_column(pyarrow: Any, column: Any, label: str, name: str) -> Dense:
    """Read a column; decimals, which NumPy has not, as float64."""
    if column.null_count:
        is_null = column.is_null().to_numpy(zero_copy_only=False)
        _refuse_missing(int(np.argmax(is_null)), label, name)
    if pyarrow.types.is_decimal(column.type):
        column = column.cast(pyarrow.float64())
    return np.asarray(column)


def _make_arrow(pyarrow: Any, cells: Any, value: Any, names: Names | None) -> Any:
    """Make a PyArrow object."""
    if isinstance(value, pyarrow.ChunkedArray):
        return pyarrow.chunked_array([cells[:, 0].copy()])
    if isinstance(value, pyarrow.Array):
        return pyarrow.array(cells[:, 0].copy())
    if not isinstance(value, pyarrow.Table | pyarrow.RecordBatch):
        return None
    ordered = _as_columns(cells, names, tuple(value.schema.names))
    arrays = [pyarrow.array(ordered[:, j].copy()) for j in range(ordered.shape[1])]
    return type(value).from_arrays(arrays, names=value.schema.names)


def _as_columns(cells: Any, names: Names | None, own: Names | None) -> Any:
    """Return columns, which are those of `names`, in the order of a frame's own names."""
    order = places(names, own, "label_names", "the columns of the frame")
    return cells if order is None else cells[:, order]


def _names(columns: Any, name: str) -> Names:
    """Return column names as label names: strings, or whole numbers as text."""
    for column in columns:
        if str(column).startswith("__index_level_"):
            raise InputError(
                f"{name} has the column {shown(column)}, an index of pandas, expected labels alone: drop it"
            )
        if isinstance(column, bool) or not isinstance(column, str | int | np.integer):
            raise InputError(
                f"{name} has the column {shown(column)}, expected a string or a whole number as its name"
            )
    try:
        return names_of_labels([str(column) for column in columns])
    except InputError as error:
        message = str(error).replace("label_names has", "the columns have")
        raise InputError(f"{name}: {message}") from None


_READERS = {"pandas": _read_pandas, "polars": _read_polars, "pyarrow": _read_arrow}
_MAKERS = {"pandas": _make_pandas, "polars": _make_polars, "pyarrow": _make_arrow}
