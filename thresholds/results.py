"""Results: all that users get back and look at, in one way; tables as text, HTML, rows and data frames.

Every result is a `Result`. A new one says in `_tables` what is shown of it and in `_records` what its data frame
holds; all else follows.
"""

import math
import sys
from abc import ABC, abstractmethod
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import fields, is_dataclass
from html import escape
from importlib import import_module
from inspect import signature
from typing import Any, ClassVar, NamedTuple

import numpy as np
import numpy.typing as npt

from thresholds import _checks
from thresholds.errors import need

_LONGEST = 30  # characters of a value in a `repr`
_VALUES_SHOWN = 4  # of an array, or of names, in a `repr`

Lines = Sequence[tuple[str, ...]]


class Table(NamedTuple):
    """A table of text cells, line by line."""

    head: Lines
    body: Lines
    left: Collection[int] = (0,)  # columns that are aligned to the left
    title: str = ""  # a line above
    note: str = ""  # a line below

    def text(self) -> str:
        """Return aligned lines."""
        return "\n".join(
            filter(None, (self.title, as_text(self.head, self.body, self.left), self.note))
        )

    def html(self) -> str:
        """Return HTML."""
        return f"{_paragraph(self.title)}{as_html(self.head, self.body, self.left)}{_paragraph(self.note)}"


class Result(ABC):
    """What a function found: read-only arrays, shown as text and as HTML, given as a data frame and as plain values."""

    _shown: ClassVar[int] = sys.maxsize  # rows of each table in `str` and HTML

    @abstractmethod
    def _tables(self, k: int) -> Iterable[str | Table]:
        """Return what is shown, sentences and tables in order; of labels, rows or rules at most k."""

    @abstractmethod
    def _records(self) -> Any:
        """Return rows of values in a form that `pandas.DataFrame` takes."""

    def __post_init__(self) -> None:
        """Make the arrays of a new result read-only."""
        self._freeze()

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Take over the values of a copied or pickled result, its arrays read-only."""
        self.__dict__.update(state)
        self._freeze()

    def _freeze(self) -> None:
        """Make all arrays read-only."""
        for value in self.__dict__.values():
            if isinstance(value, np.ndarray):
                value.flags.writeable = False

    def to_text(self, k: int | None = None) -> str:
        """Return what `str` does, with at most k rows of labels (or of rows, or rules) in a table."""
        parts = self._tables(self._shown if k is None else _checks.count(k, "k", 0))
        return "\n\n".join(part.text() if isinstance(part, Table) else part for part in parts)

    def to_frame(self) -> Any:
        """Return a pandas DataFrame."""
        return as_frame(self._records())

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON: NaN as None, infinite numbers as "inf" and "-inf", as JSON has neither."""
        return {name: as_plain_values(value) for name, value in _values_of(self).items()}

    def __str__(self) -> str:
        """Return `to_text()`."""
        return self.to_text()

    def __repr__(self) -> str:
        """Return the values in brief, of long ones what they are."""
        values = (f"{name}={_brief(value)}" for name, value in _values_of(self).items())
        return f"{type(self).__name__}({', '.join(values)})"

    def _repr_html_(self) -> str:
        """Return as HTML what `str` shows."""
        parts = self._tables(self._shown)
        return "".join(
            part.html() if isinstance(part, Table) else _paragraph(part) for part in parts
        )


class Drawable:
    """What can be drawn: `plot()` is the short way to its display."""

    _display: ClassVar[str]  # in `thresholds.plots`, with its constructor: "XDisplay.from_x"

    def plot(self, ax: Any = None, **options: Any) -> Any:
        """Draw with matplotlib (extra `plot`): make the display of `thresholds.plots` for this, and plot it.

        Parameters
        ----------
        ax : matplotlib Axes to draw on, as many as there are panels; None for new ones
        options : of the display's constructor and of its `plot`

        Returns
        -------
        the display, drawn: `ax_`, `axes_`, `figure_`
        """
        # The one step upward: displays are made from results, and need not be loaded before one is asked for.
        plots = import_module("thresholds.plots")
        name, constructor = self._display.split(".")
        make = getattr(getattr(plots, name), constructor)
        known = signature(make).parameters
        display = make(self, **{name: options.pop(name) for name in [*options] if name in known})
        return display.plot(ax, **options)


def as_plain_values(value: Any) -> Any:
    """Return values as JSON has them: lists, dictionaries with names, finite numbers, strings, booleans and None.

    NaN becomes None, infinite numbers become "inf" and "-inf"; rows become dictionaries.
    """
    if isinstance(value, np.ndarray):
        value = value.tolist() if value.dtype.names is None else objects_of(value)
    elif isinstance(value, np.generic):
        value = value.item()
    if value is None or isinstance(value, str | int):
        return value
    if isinstance(value, float):
        if math.isfinite(value):
            return value
        return None if math.isnan(value) else str(value)
    if isinstance(value, list | tuple):
        return [as_plain_values(item) for item in value]
    if isinstance(value, Mapping):
        return {name: as_plain_values(item) for name, item in value.items()}
    if hasattr(value, "to_dict"):  # A result or a rule within a result.
        return as_plain_values(value.to_dict())
    return as_plain_values(_values_of(value)) if is_dataclass(value) else value


def _values_of(value: Any) -> dict[str, Any]:
    """Return the fields of a data class or named tuple, and their values."""
    names = [item.name for item in fields(value)] if is_dataclass(value) else value._fields
    return {name: getattr(value, name) for name in names}


def _brief(value: Any) -> str:
    """Show a value in a few characters: of an array its kind and shape, of a collection its size."""
    if isinstance(value, np.ndarray):
        return f"<{value.size:,} rows>" if value.dtype.names else f"<{value.dtype} {value.shape}>"
    if isinstance(value, Collection) and not isinstance(value, str):
        return f"<{type(value).__name__} of {len(value):,}>"
    if value is None or isinstance(value, str | int | float | np.generic):
        text = repr(value)
        return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}..."
    return f"<{type(value).__name__}>"


def _paragraph(text: str) -> str:
    """Return an HTML paragraph, nothing for no text."""
    return f"<p>{escape(text, quote=False)}</p>".replace("\n", "<br>") if text else ""


def n_more(n: int, k: int, thing: str = "") -> str:
    """Say how many of n rows (or things) are left out where k are shown, nothing where none is."""
    if n <= k:
        return ""
    return f"... {counted(n - k, f'more {thing}')}" if thing else f"... {n - k:,} more"


def as_text(head: Lines, body: Lines, left: Collection[int] = (0,)) -> str:
    """Align cells in columns: those whose numbers are in `left` to the left, the others to the right."""
    head = [tuple(map(on_one_line, cells)) for cells in head]
    body = [tuple(map(on_one_line, cells)) for cells in body]
    widths = [max(len(cell) for cell in column) for column in zip(*head, *body, strict=True)]

    def line(cells: tuple[str, ...]) -> str:
        sides = (f"{cell:{'<' if k in left else '>'}{widths[k]}}" for k, cell in enumerate(cells))
        return "  ".join(sides).rstrip()

    return "\n".join(
        [*map(line, head), "  ".join("-" * width for width in widths), *map(line, body)]
    )


def on_one_line(cell: str) -> str:
    """Turn white space into spaces, and what a terminal would obey into escapes."""
    text = " ".join(cell.split())
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


def counted(number: int, thing: str) -> str:
    """Say how many there are of a thing."""
    return f"{number:,} {thing}{'' if number == 1 else 's'}"


def as_html(head: Lines, body: Lines, left: Collection[int] = ()) -> str:
    """Return an HTML table, some columns aligned to the left; cells are escaped."""
    head_rows = "".join(_row(cells, "th", left) for cells in head)
    body_rows = "".join(_row(cells, "td", left) for cells in body)
    return f"<table><thead>{head_rows}</thead><tbody>{body_rows}</tbody></table>"


def rows_of(columns: Mapping[str, npt.NDArray[Any]]) -> npt.NDArray[Any]:
    """Return columns as one read-only array of rows: `rows["name"]` is a column, `rows[3]` a row."""
    size = len(next(iter(columns.values())))
    rows = np.empty(size, [(name, values.dtype) for name, values in columns.items()])
    for name, values in columns.items():
        rows[name] = values
    rows.flags.writeable = False
    return rows


def objects_of(rows: npt.NDArray[Any]) -> list[dict[str, Any]]:
    """Return rows as dictionaries of plain values."""
    return [dict(zip(rows.dtype.names or (), row, strict=True)) for row in rows.tolist()]


def records_of(values: Iterable[Any]) -> list[dict[str, Any]]:
    """Return data classes as dictionaries."""
    return [_values_of(value) for value in values]


def names_of(label_names: Sequence[str] | None, n_labels: int) -> npt.NDArray[Any]:
    """Return a column of label names, or of positions where there are none."""
    return np.array(
        [str(j) for j in range(n_labels)] if label_names is None else label_names, np.str_
    )


def as_frame(rows: Any) -> Any:
    """Return a pandas DataFrame."""
    need("pandas", "to_frame()", "pandas")
    import pandas as pd

    return pd.DataFrame(rows)


def _row(cells: tuple[str, ...], tag: str, left: Collection[int]) -> str:
    """Return one row, escaped as text and as HTML."""
    shown = []
    for k, cell in enumerate(cells):
        style = ' style="text-align: left"' if k in left else ""
        shown.append(f"<{tag}{style}>{escape(on_one_line(cell))}</{tag}>")
    return f"<tr>{''.join(shown)}</tr>"


def in_brief(value: object) -> str:
    """Return the `repr` of a value, the first few items of arrays and tuples, and their number."""
    if is_dataclass(value) and not isinstance(value, type):
        shown = [
            f"{item.name}={in_brief(getattr(value, item.name))}"
            for item in fields(value)
            if item.repr
        ]
        return f"{type(value).__name__}({', '.join(shown)})"
    if isinstance(value, np.ndarray):
        return _some_of(value.tolist(), "[", "]")
    if isinstance(value, tuple):
        return _some_of(value, "(", ",)" if len(value) == 1 else ")")
    return repr(value)


def _some_of(values: Sequence[object], start: str, end: str) -> str:
    """Return the first few of some values, and their number if there are more."""
    shown = [in_brief(value) for value in values[:_VALUES_SHOWN]]
    if len(values) > _VALUES_SHOWN:
        shown.append(f"... {len(values):,} in all")
    return f"{start}{', '.join(shown)}{end}"
