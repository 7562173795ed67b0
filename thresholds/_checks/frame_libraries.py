"""How each library of frames gives its columns, and takes decisions: one reader and one maker for each."""

from typing import Any, NamedTuple

import numpy as np

from thresholds._arrays.types import Dense
from thresholds._checks.cells import numbers_of_objects
from thresholds._checks.labels import Names, names_of_labels, places
from thresholds._checks.unknown import Unknown, has_nan, hint, without_absent
from thresholds.errors import InputError, need, shown


class Frame(NamedTuple):
    """What a frame, or a single column, holds."""

    cells: Dense  # (n_samples, n_labels), or (n_samples,) of a single column
    names: Names | None  # of the columns; None for a single column


def _refuse_missing(row: int, column: object, name: str, unknown: Unknown) -> None:
    """Refuse a cell without a value."""
    advice = hint(name, None, unknown)
    raise InputError(
        f"{name} has no value at row {row}, column {shown(column)}, expected one in every cell{advice}"
    )


def _read_pandas(pandas: Any, value: Any, name: str, unknown: Unknown) -> Frame | None:
    """Read a pandas frame, of nullable or Arrow types, too, or a series."""
    if isinstance(value, pandas.Series):
        return Frame(_pandas_column(value, name, unknown), None)
    if not isinstance(value, pandas.DataFrame):
        return None
    names = _names(value.columns, name)
    if len(set(value.dtypes)) == 1 and isinstance(value.dtypes.iloc[0], np.dtype):
        return Frame(value.to_numpy(), names)
    columns = [_pandas_column(value.iloc[:, j], name, unknown) for j in range(len(names))]
    return Frame(_side_by_side(columns, names, len(value), name, unknown), names)


def _pandas_column(series: Any, name: str, unknown: Unknown) -> Dense:
    """Read a column, which may be of a type that knows missing values."""
    if isinstance(series.dtype, np.dtype):
        cells = np.asarray(series.to_numpy())
        return without_absent(cells) if has_nan(unknown) else cells
    absent = series.isna().to_numpy()
    if absent.any() and not has_nan(unknown):
        _refuse_missing(int(absent.argmax()), series.name, name, unknown)
    dtype = getattr(series.dtype, "numpy_dtype", getattr(series.dtype, "subtype", None))
    if not isinstance(dtype, np.dtype):
        dtype = np.dtype(object)
    try:
        if not absent.any():
            return np.asarray(series.to_numpy(dtype))
        return np.asarray(series.to_numpy(np.float64, na_value=np.nan))
    except (TypeError, ValueError):
        if absent.any():  # Perhaps the names of classes.
            return without_absent(series.to_numpy(object))
        raise InputError(
            f"{name} has dtype {series.dtype} in column {shown(series.name)}, expected numbers"
        ) from None


def _side_by_side(
    columns: list[Dense], names: Names, n_rows: int, name: str, unknown: Unknown
) -> Dense:
    """Return columns of numbers or truth values as a matrix."""
    for column, label in zip(columns, names, strict=True):
        if column.dtype.kind not in "biufO":
            raise InputError(
                f"{name} has dtype {column.dtype} in column {shown(label)}, expected real numbers"
            )
    cells = np.stack(columns, axis=1) if columns else np.empty((n_rows, 0))
    return numbers_of_objects(cells, name, unknown, names) if cells.dtype.kind == "O" else cells


def _make_pandas(pandas: Any, cells: Any, value: Any, names: Names | None) -> Any:
    """Make a pandas object."""
    if isinstance(value, pandas.Series):
        return pandas.Series(cells[:, 0], index=value.index, name=value.name)
    if not isinstance(value, pandas.DataFrame):
        return None
    own = tuple(map(str, value.columns))
    ordered = _as_columns(cells, names, own)
    return pandas.DataFrame(ordered, index=value.index, columns=value.columns)


def _read_polars(polars: Any, value: Any, name: str, unknown: Unknown) -> Frame | None:
    """Read a Polars frame or series."""
    if isinstance(value, polars.LazyFrame):
        raise InputError(f"{name} is a LazyFrame, expected its data: collect() it")
    if isinstance(value, polars.Series):
        return Frame(_polars_column(polars, value, name, unknown), None)
    if not isinstance(value, polars.DataFrame):
        return None
    columns = [_polars_column(polars, series, name, unknown) for series in value]
    names = _names(value.columns, name)
    return Frame(_side_by_side(columns, names, value.height, name, unknown), names)


def _polars_column(polars: Any, series: Any, name: str, unknown: Unknown) -> Dense:
    """Read a column; integers of 128 bits and decimals, which NumPy has not, as float64."""
    dtype = series.dtype
    if dtype == polars.Struct:
        return np.fromiter(series, object, len(series))
    is_number = dtype.is_numeric() or dtype in (polars.Boolean, polars.Null)
    if series.null_count() and not has_nan(unknown):
        _refuse_missing(int(series.is_null().arg_max()), series.name, name, unknown)
    if series.null_count() and not is_number:
        return without_absent(series.to_numpy())
    is_wide = dtype.is_decimal() or (dtype.is_integer() and "128" in str(dtype))
    if is_wide or series.null_count():
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


def _read_arrow(pyarrow: Any, value: Any, name: str, unknown: Unknown) -> Frame | None:
    """Read a PyArrow table, batch of records, or array."""
    if isinstance(value, pyarrow.Array | pyarrow.ChunkedArray):
        return Frame(_arrow_column(pyarrow, value, "", name, unknown), None)
    if not isinstance(value, pyarrow.Table | pyarrow.RecordBatch):
        return None
    names = _names(value.schema.names, name)
    columns = [
        _arrow_column(pyarrow, column, label, name, unknown)
        for column, label in zip(value.columns, names, strict=True)
    ]
    return Frame(_side_by_side(columns, names, value.num_rows, name, unknown), names)


def table_of(value: Any, name: str) -> Any:
    """Return what gives its rows by Arrow's protocol, perhaps once, as a PyArrow table."""
    kind = type(value).__name__
    need("pyarrow", f"{name}, a {kind},")
    import pyarrow

    try:
        table = pyarrow.table(value)
    except Exception as error:  # Whatever a foreign object raises.
        raise InputError(
            f"{name} is a {kind} that cannot be read as a table ({' '.join(str(error).split())})"
        ) from None
    if not table.num_rows:
        raise InputError(
            f"{name} is a {kind} that gives no rows, expected some: a reader has none left once it is read; its"
            " read_all() makes a table, which can be read again"
        )
    return table


def _arrow_column(pyarrow: Any, column: Any, label: str, name: str, unknown: Unknown) -> Dense:
    """Read a column; decimals, which NumPy has not, as float64."""
    types = pyarrow.types
    if column.null_count:
        kinds = (types.is_boolean, types.is_integer, types.is_floating, types.is_null)
        is_number = types.is_decimal(column.type) or any(kind(column.type) for kind in kinds)
        if not has_nan(unknown):
            is_null = column.is_null().to_numpy(zero_copy_only=False)
            _refuse_missing(int(np.argmax(is_null)), label, name, unknown)
        if not is_number:
            return without_absent(column)
        return np.asarray(column.cast(pyarrow.float64()).fill_null(np.nan))
    if types.is_decimal(column.type):
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


def index_names(index: Any, name: str) -> Names:
    """Return the index of a pandas series as label names: strings, or whole numbers as text."""
    for entry in index:
        if isinstance(entry, bool) or not isinstance(entry, str | int | np.integer):
            raise InputError(
                f"{name} has {shown(entry)} in its index, expected the names of labels (to go by position, pass an"
                " array)"
            )
    return names_of_labels(map(str, index), f"{name}: the index has")


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
    return names_of_labels(map(str, columns), f"{name}: the columns have")


# By the name of the library: read a value of it, None for what is none; make what is like a value from cells.
READERS = {"pandas": _read_pandas, "polars": _read_polars, "pyarrow": _read_arrow}
MAKERS = {"pandas": _make_pandas, "polars": _make_polars, "pyarrow": _make_arrow}
