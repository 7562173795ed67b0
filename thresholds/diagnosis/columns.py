"""Tables that are shown: a list of columns says which values, under which heading, and how they are written."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from thresholds.results import Table, n_more


class Column(NamedTuple):
    """A column of a table that is shown."""

    name: str  # of the column of rows whose values it shows
    heading: tuple[str, ...]  # lines, one above another
    write: Callable[[Any], str] = str  # turns a value into a cell
    is_words: bool = False  # aligned to the left, as names and sentences are


def tabulate(
    rows: Any,
    columns: Sequence[Column],
    k: int | None = None,
    *,
    title: str = "",
    note: str | None = None,
) -> Table:
    """Lay out the first k rows of a structured array, or of lists by name; the note says how many more there are."""
    n_rows = len(next(iter(rows.values()))) if isinstance(rows, Mapping) else len(rows)
    n_shown = n_rows if k is None else min(k, n_rows)
    cells = [[column.write(value) for value in rows[column.name][:n_shown]] for column in columns]
    return Table(
        head=[*zip(*(column.heading for column in columns), strict=True)],
        body=[*zip(*cells, strict=True)],
        left=[place for place, column in enumerate(columns) if column.is_words],
        title=title,
        note=n_more(n_rows, n_shown) if note is None else note,
    )


def number(value: float) -> str:
    """Write a number to four digits, nothing for NaN."""
    return "" if np.isnan(value) else f"{value:.4g}"


def count(value: float) -> str:
    """Write a number of rows."""
    return f"{value:,}"


def share(value: float) -> str:
    """Write a share in per cent, to two decimals."""
    return f"{value:.2%}"


def p_value(value: float) -> str:
    """Write a p-value to two digits, nothing for NaN; normal tails are not trusted beyond 1e-15."""
    if np.isnan(value):
        return ""
    return "< 1e-15" if value < 1e-15 else f"{value:.2g}"
