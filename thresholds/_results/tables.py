"""Tables that are shown: a list of columns says which values, under which heading, and how they are written."""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from thresholds._results.text import Lines, aligned, wrapped
from thresholds._results.words import n_more

Rows = Mapping[str, Any] | npt.NDArray[Any] | Sequence[Any]


class Table(NamedTuple):
    """A table of text cells, line by line.

    Columns of numbers are aligned to the right. Those in `left` are words: the first column has names, which are
    shortened where they are long, and others have sentences, which are broken.
    """

    head: Lines
    body: Lines
    left: Collection[int] = (0,)  # columns that are aligned to the left
    title: str = ""  # a line above
    note: str = ""  # a line below

    def text(self) -> str:
        """Return aligned lines."""
        cells = aligned(self.head, self.body, self.left)
        return "\n".join(filter(None, (wrapped(self.title), cells, wrapped(self.note))))


@dataclass(frozen=True)
class Column:
    """A column of a table that is shown.

    Attributes
    ----------
    name : of the field, or of the column of rows, whose values it shows
    heading : a line, or several, one above another; "" for the name with spaces
    write : turns a value into a cell
    is_words : whether it is aligned to the left, as names and sentences are
    """

    name: str
    heading: str | tuple[str, ...] = ""
    write: Callable[[Any], str] = str
    is_words: bool = False


def tabulate(
    rows: Rows,
    columns: Sequence[Column],
    k: int | None = None,
    *,
    title: str = "",
    note: str | None = None,
    thing: str = "",
) -> Table:
    """Lay out the first k rows: a structured array, arrays or lists by name, or objects with attributes.

    The note says how many `thing`s more there are, unless it is given. A table without rows has its head.
    """
    n_rows = number_of(rows)
    n_shown = n_rows if k is None else min(k, n_rows)
    cells = [
        [column.write(value) for value in first_values(rows, column.name, n_shown)]
        for column in columns
    ]
    headings = [_lines(column) for column in columns]
    n_lines = max(map(len, headings))
    # Headings of fewer lines than others stand below.
    head = [*zip(*([""] * (n_lines - len(lines)) + lines for lines in headings), strict=True)]
    body = [*zip(*cells, strict=True)]
    left = [number for number, column in enumerate(columns) if column.is_words]
    below = n_more(n_rows, n_shown, thing) if note is None else note
    return Table(head, body, left=left, title=title, note=below)


def number_of(rows: Rows) -> int:
    """Return the number of rows."""
    if isinstance(rows, Mapping):
        return len(next(iter(rows.values()), ()))
    return len(rows)


def first_values(rows: Rows, name: str, n: int) -> list[Any]:
    """Return the first n values of a column, plain ones."""
    if isinstance(rows, np.ndarray | Mapping):
        values = rows[name][:n]
        return values.tolist() if isinstance(values, np.ndarray) else list(values)
    return [getattr(row, name) for row in rows[:n]]


def _lines(column: Column) -> list[str]:
    """Return the lines of a heading."""
    if isinstance(column.heading, tuple):
        return list(column.heading)
    return [column.heading or column.name.replace("_", " ")]


def records_of(rows: Iterable[Any], names: Iterable[str]) -> list[dict[str, Any]]:
    """Return some attributes of each row."""
    names = list(names)
    return [{name: getattr(row, name) for name in names} for row in rows]


def number(value: float) -> str:
    """Write a number to four digits, nothing for NaN."""
    return "" if np.isnan(value) else f"{value:.4g}"


def count(value: float) -> str:
    """Write a number of rows, or their weight; nothing for NaN."""
    return "" if np.isnan(value) else f"{value:,.10g}"


def share(value: float) -> str:
    """Write a share in per cent, to two decimals; nothing for NaN."""
    return "" if np.isnan(value) else f"{value:.2%}"


def tenths(value: float) -> str:
    """Write a share in per cent, to one decimal."""
    return f"{value:.1%}"


def p_value(value: float) -> str:
    """Write a p-value to two digits, nothing for NaN; normal tails are not trusted beyond 1e-15."""
    if np.isnan(value):
        return ""
    return "< 1e-15" if value < 1e-15 else f"{value:.2g}"
