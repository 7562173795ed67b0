"""Results: all that users get back and look at, as text, HTML, Markdown, LaTeX, data frames and plain values.

A result is its fields (`fields.py`). Its class says in `_sentences` what a reader is told, and in `_columns` which of
its rows' values its table shows; one with several tables says so in `_parts`.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import fields
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import numpy.typing as npt

from thresholds import _checks
from thresholds._results.fields import Record, SavedRecord, described
from thresholds.errors import need

if TYPE_CHECKING:
    from thresholds._results.markup import Markup
    from thresholds._results.tables import Column, Table


class Result(Record):
    """What a function found, or a rule: read-only, shown as text and as HTML, given as a frame and as plain values."""

    _shown: ClassVar[int] = 30  # rows of each table in `str` and HTML
    _columns: ClassVar[Sequence["Column"]] = ()  # of the table of rows

    def _sentences(self) -> Iterable[str]:
        """Return what is said before the table."""
        return ()

    def _rows(self) -> Any:
        """Return the rows of the frame: a structured array, arrays by name, or dictionaries.

        Of a result with entries for labels these, and one row of all values else.
        """
        if hasattr(self, "table"):
            return self.table
        of_labels = {
            name: getattr(self, name)
            for name, about, _ in described(self)
            if about.of_labels and name != "label_names" and getattr(self, name) is not None
        }
        if of_labels:
            names = names_of(getattr(self, "label_names", None), int(self.n_labels))
            return {"name": names, **of_labels}
        return [{item.name: getattr(self, item.name) for item in fields(self)}]

    def _parts(self, k: int) -> Iterator["str | Table"]:
        """Return what is shown, sentences and tables in order; of labels, rows or rules at most k."""
        yield from self._sentences()
        if k and self._columns:
            from thresholds._results.tables import tabulate

            yield tabulate(self._rows(), self._columns, k)

    def to_text(self, k: int | None = None) -> str:
        """Return text, with at most k rows of labels (or of rows, or rules) in a table; None: as many as is usual."""
        from thresholds._results.text import wrapped

        return "\n\n".join(
            wrapped(part) if isinstance(part, str) else part.text()
            for part in self._parts(self._n_shown(k))
        )

    def to_markdown(self, k: int | None = None) -> str:
        """Return the same as Markdown, with its tables."""
        from thresholds._results.markup import MARKDOWN

        return self._marked_up(MARKDOWN, k)

    def to_latex(self, k: int | None = None) -> str:
        """Return the same as LaTeX: tables as `tabular`, which needs no package."""
        from thresholds._results.markup import LATEX

        return self._marked_up(LATEX, k)

    def to_frame(self) -> Any:
        """Return a pandas DataFrame."""
        return as_frame(self._rows())

    def __str__(self) -> str:
        """Return `to_text()`."""
        return self.to_text()

    def _repr_html_(self) -> str:
        """Return as HTML what `to_text()` shows."""
        from thresholds._results.markup import HTML

        return self._marked_up(HTML, None)

    def _marked_up(self, markup: "Markup", k: int | None) -> str:
        """Return sentences and tables in a markup."""
        return markup.between.join(
            markup.sentence(part) if isinstance(part, str) else markup.table(part)
            for part in self._parts(self._n_shown(k))
        )

    def _n_shown(self, k: int | None) -> int:
        """Return how many rows of a table are shown."""
        return self._shown if k is None else _checks.count(k, "k", 0)


class SavedResult(SavedRecord, Result):
    """What a saved rule has, and is shown as well."""


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
        from thresholds._results.drawing import draw

        return draw(self, self._display, ax, options)


def as_frame(rows: Any) -> Any:
    """Return a pandas DataFrame."""
    need("pandas", "to_frame()")
    import pandas as pd

    return pd.DataFrame(rows)


def names_of(label_names: Sequence[str] | None, n_labels: int) -> npt.NDArray[Any]:
    """Return a column of label names, or of positions where there are none."""
    return np.array(
        [str(j) for j in range(n_labels)] if label_names is None else label_names, np.str_
    )


def rows_of(columns: Any) -> npt.NDArray[Any]:
    """Return columns as one read-only array of rows: `rows["name"]` is a column, `rows[3]` a row."""
    size = len(next(iter(columns.values())))
    rows = np.empty(size, [(name, values.dtype) for name, values in columns.items()])
    for name, values in columns.items():
        rows[name] = values
    rows.flags.writeable = False
    return rows
