"""Frames and columns of pandas, Polars and PyArrow: read as arrays with names, and made again from decisions.

None of them is imported: whoever has a frame has imported its library.
"""

import sys
import warnings
from typing import TYPE_CHECKING, Any

import numpy as np

from thresholds._arrays.libraries import imported, is_dask_array, is_lazy, library_of
from thresholds._arrays.types import Dense, Ints
from thresholds._checks.labels import Names, listed, names_of_labels, places
from thresholds._checks.unknown import Unknown, unknown_values
from thresholds.errors import InputError, shown

if TYPE_CHECKING:
    from thresholds._checks.frame_libraries import Frame

LIBRARIES = ("pandas", "polars", "pyarrow")  # of frames

_LIBRARY = __name__.partition(".")[0]


class RowOrderWarning(UserWarning):
    """Issued when the rows of a pandas object are put into the order of another's by their indexes."""


def read_frame(value: Any, name: str, unknown: Unknown = ()) -> "Frame | None":
    """Read a frame or a column of numbers or truth values, of truth as `unknown` says; None for what is neither."""
    if value is None or type(value) is np.ndarray:
        return None
    for library in filter(imported, LIBRARIES):
        # Whoever has no frames need not load their readers.
        from thresholds._checks.frame_libraries import READERS

        frame = READERS[library](imported(library), value, name, unknown)
        if frame is not None:
            return frame
    refuse_lazy(value, name)
    # Arrays of xarray have the protocol, too, but with their coordinates as columns.
    if hasattr(value, "__arrow_c_stream__") and not hasattr(value, "__array__"):
        from thresholds._checks.frame_libraries import table_of

        return read_frame(table_of(value, name), name, unknown)
    if hasattr(value, "columns") or hasattr(value, "__dataframe__"):
        raise InputError(
            f"{name} is a {type(value).__name__} frame, expected one of pandas, Polars or PyArrow: convert it"
        )
    return None


def is_reader(value: object) -> bool:
    """Whether a value gives the rows of a table by Arrow's protocol, and perhaps gives them once."""
    return hasattr(value, "__arrow_c_stream__") and not hasattr(value, "__len__")


def kept(value: Any, name: str) -> Any:
    """Return a reader as a table, for whoever looks at it twice; all else as it is."""
    if not is_reader(value):
        return value
    from thresholds._checks.frame_libraries import table_of

    return table_of(value, name)


def refuse_lazy(value: object, name: str) -> None:
    """Refuse what has not been computed yet: all of it may be more than memory holds."""
    if not is_lazy(value):
        return
    library = library_of(value)
    way = "add up thresholds.Counts of its blocks"
    if is_dask_array(value):
        way = "fit by thresholds.fit_chunks, which takes it a block at a time"
    raise InputError(
        f"{name} is lazy ({library} {type(value).__name__}), expected values in memory: compute it, or {way}"
    )


def aligned(
    first: object,
    first_name: str,
    second: object,
    second_name: str,
    label_names: object = None,
    *,
    unknown: object = None,
) -> tuple[Any, Any, Names | None]:
    """Return two arguments with frames as arrays, columns and rows in the same order, and the names of the labels.

    Columns go by name, in the order of `label_names`, else of the second argument, whose rows also lead. What has no
    names, or no index, goes by position. `unknown` says what stands for truth, in `y_true`, that is not known.
    """
    second_cells, names = named(second, second_name, label_names, unknown=unknown)
    first_cells, names = _in_columns(first, first_name, names, unknown)
    if _is_pandas(first) and _is_pandas(second):
        first_cells = first_cells[_rows(first, first_name, second, second_name)]
    return first_cells, second_cells, names


def aligned_rows(value: Any, name: str, **beside: object) -> Any:
    """Return a column (weights, groups) as an array, in the order of the first argument beside it that has an index."""
    frame = read_frame(value, name)
    if frame is None:
        return value
    cells = frame.cells
    if cells.ndim == 2 and cells.shape[1] == 1:
        cells = cells[:, 0]
    for other, values in beside.items():
        if _is_pandas(value) and _is_pandas(values):
            return cells[_rows(value, name, values, other)]
    return cells


def named(
    value: object, name: str, label_names: object = None, *, unknown: object = None
) -> tuple[Any, Names | None]:
    """Return an argument and the names of its labels: a frame as an array, columns in the order of `label_names`."""
    names = None if label_names is None else names_of_labels(label_names)
    return _in_columns(value, name, names, unknown)


def _in_columns(
    value: object, name: str, names: Names | None, unknown: object
) -> tuple[Any, Names | None]:
    """Return an argument, a frame as an array whose columns are in the order of `names`; and these, or its own.

    Of truth there is NaN for what has no value, if that is to be left out.
    """
    frame = read_frame(value, name, unknown_values(unknown) if name == "y_true" else ())
    if frame is None:
        return value, names
    names = frame.names if names is None else names
    return columns_of(frame, names, name), names


def columns_of(frame: "Frame", names: Names | None, name: str) -> Dense:
    """Return the cells of a frame, its columns in the order of `names` if both have names."""
    expected = f"columns for the labels {listed(names or ())} (to go by position, pass an array)"
    order = places(frame.names, names, name, expected, "column")
    return frame.cells if order is None else frame.cells[:, order]


def places_in_row(value: Any, names: Names | None, name: str) -> Ints | None:
    """Return where labels are in a row of scores: a pandas series has names for them, unless its index only counts.

    As `labels.places` does: None where they are in order, or go by position.
    """
    if not _is_pandas(value) or names is None or _only_counts(value.index):
        return None
    from thresholds._checks.frame_libraries import index_names

    own = index_names(value.index, name)
    expected = f"an index of the labels {listed(names)} (to go by position, pass an array)"
    return places(own, names, name, expected)


def like_frame(cells: Any, value: Any, names: Names | None) -> Any:
    """Return the columns of `cells`, those of `names`, as `value` is: same library, names, order and index."""
    if type(value) is np.ndarray:
        return None
    for library in filter(imported, LIBRARIES):
        from thresholds._checks.frame_libraries import MAKERS

        frame = MAKERS[library](imported(library), cells, value, names)
        if frame is not None:
            return frame
    return None


def _is_pandas(value: object) -> bool:
    """Whether `value` has the index of a pandas object."""
    pandas = imported("pandas")
    return pandas is not None and isinstance(value, pandas.DataFrame | pandas.Series)


def _rows(value: Any, name: str, other_value: Any, other_name: str) -> Any:
    """Return the rows of one pandas object in the order of another, by their indexes."""
    everything = slice(None)
    index, other = value.index, other_value.index
    if len(index) != len(other) or index.equals(other):
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
