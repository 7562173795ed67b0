"""Tables: of text cells, as aligned lines and as HTML; of values, as rows of an array and as a data frame."""

from collections.abc import Collection, Mapping, Sequence
from html import escape
from typing import Any

import numpy as np
import numpy.typing as npt


class ReadOnly:
    """Makes the arrays of a result read-only: of a new one, a copy, and one that was pickled."""

    def __post_init__(self) -> None:
        """Freeze arrays."""
        self.__setstate__(vars(self))

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Take over values, the arrays frozen."""
        self.__dict__.update(state)
        for value in self.__dict__.values():
            if isinstance(value, np.ndarray):
                value.flags.writeable = False


Lines = Sequence[tuple[str, ...]]


def as_text(head: Lines, body: Lines, left: Collection[int] = (0,)) -> str:
    """Align cells in columns: those whose numbers are in `left` to the left, the others to the right."""
    head, body = ([tuple(map(_on_one_line, cells)) for cells in lines] for lines in (head, body))
    widths = [max(len(cell) for cell in column) for column in zip(*head, *body, strict=True)]

    def line(cells: tuple[str, ...]) -> str:
        sides = (f"{cell:{'<' if k in left else '>'}{widths[k]}}" for k, cell in enumerate(cells))
        return "  ".join(sides).rstrip()

    return "\n".join([*map(line, head), "  ".join("-" * width for width in widths), *map(line, body)])


def _on_one_line(cell: str) -> str:
    """Turn white space into spaces, and what a terminal would obey into escapes."""
    text = " ".join(cell.split())
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


def counted(number: int, thing: str) -> str:
    """Say how many there are of a thing."""
    return f"{number:,} {thing}{'' if number == 1 else 's'}"


def as_html(head: Lines, body: Lines) -> str:
    """Return an HTML table; cells are escaped."""
    rows = [_row(cells, tag) for lines, tag in ((head, "th"), (body, "td")) for cells in lines]
    return f"<table><thead>{''.join(rows[: len(head)])}</thead><tbody>{''.join(rows[len(head) :])}</tbody></table>"


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


def names_of(label_names: Sequence[str] | None, n_labels: int) -> npt.NDArray[Any]:
    """Return a column of label names, or of positions where there are none."""
    return np.array([str(j) for j in range(n_labels)] if label_names is None else label_names, np.str_)


def as_frame(rows: Any) -> Any:
    """Return a pandas DataFrame."""
    try:
        import pandas as pd
    except ImportError:
        raise ImportError("to_frame() needs pandas: pip install pandas") from None
    return pd.DataFrame(rows)


def _row(cells: tuple[str, ...], tag: str) -> str:
    """Return one row."""
    return f"<tr>{''.join(f'<{tag}>{escape(cell)}</{tag}>' for cell in cells)}</tr>"
