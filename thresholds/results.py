"""Results: all that users get back and look at, in one way; tables as text, HTML, rows and data frames.

Every result is a `Result`. A new one says in `_tables` what is shown of it and in `_records` what its data frame
holds; all else follows. What is shown for itself and is more than a result, such as a rule, is a `Shown`.

Text is `WIDTH` columns wide, whatever the terminal, so that it is the same everywhere. Sentences are broken at spaces;
a table that would be wider has sentences broken within their columns, and names shortened. So any result fits on a
screen, however many labels there are, and however long their names.
"""

import math
import unicodedata
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import fields, is_dataclass
from html import escape
from importlib import import_module
from inspect import signature
from itertools import chain, islice, zip_longest
from typing import Any, ClassVar, NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt

from thresholds import _checks
from thresholds.errors import need

WIDTH = 100  # columns of text
LONGEST_NAME = 60  # columns of a name

_NARROWEST_NAMES = 12  # columns that a table of many columns leaves to names
_NARROWEST_SENTENCES = 16
_HANG = "  "  # before what follows of a sentence that is broken

_LONGEST = 30  # characters of a value in a `repr`
_LONGEST_TEXT = 60  # characters of a text in a `repr` that shows the first of many values
_VALUES_SHOWN = 4  # of an array, or of names, in a `repr`

Lines = Sequence[tuple[str, ...]]
Class = TypeVar("Class")
NamedColumns = Mapping[str, npt.NDArray[Any]]


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
        cells = as_text(self.head, self.body, self.left)
        return "\n".join(filter(None, (wrapped(self.title), cells, wrapped(self.note))))

    def html(self) -> str:
        """Return HTML."""
        return f"{_paragraph(self.title)}{as_html(self.head, self.body, self.left)}{_paragraph(self.note)}"


class Shown(ABC):
    """What is shown as text and as HTML, and given as a data frame and as plain values."""

    __slots__ = ()

    _shown: ClassVar[int] = 30  # rows of each table in `str` and HTML

    @abstractmethod
    def _tables(self, k: int) -> Iterable[str | Table]:
        """Return what is shown, sentences and tables in order; of labels, rows or rules at most k."""

    @abstractmethod
    def _records(self) -> Any:
        """Return rows of values in a form that `pandas.DataFrame` takes."""

    def to_text(self, k: int | None = None) -> str:
        """Return what `str` does, with at most k rows of labels (or of rows, or rules) in a table."""
        parts = self._tables(self._shown if k is None else _checks.count(k, "k", 0))
        return "\n\n".join(
            part.text() if isinstance(part, Table) else wrapped(part) for part in parts
        )

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
        """Return the fields in brief: of arrays and names the first few."""
        return in_brief(self)

    def _repr_html_(self) -> str:
        """Return as HTML what `to_text()` shows."""
        parts = self._tables(self._shown)
        return "".join(
            part.html() if isinstance(part, Table) else _paragraph(part) for part in parts
        )


class Result(Shown):
    """What a function found: read-only arrays, shown as text and as HTML, given as a data frame and as plain values."""

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

    def __repr__(self) -> str:
        """Return the values in brief, of long ones what they are."""
        values = (f"{name}={_brief(value)}" for name, value in _values_of(self).items())
        return f"{type(self).__name__}({', '.join(values)})"


def tuples_when_read(*names: str) -> Callable[[type[Class]], type[Class]]:
    """Let fields of a data class, a number for each label, be given as arrays: they are tuples once they are read.

    A tuple of very many labels takes longer than their fit, and five times the memory of the array.
    """
    return _with_fields(_TupleWhenRead, names)


def texts_when_read(*names: str) -> Callable[[type[Class]], type[Class]]:
    """Let fields of a data class, a text for each label, be given as `NumberedTexts`: read, they are arrays."""
    return _with_fields(_TextsWhenRead, names)


class NumberedTexts(NamedTuple):
    """A text for each label, of few: a byte in place of four for each letter."""

    texts: tuple[str, ...]
    number: npt.NDArray[np.uint8]  # (n_labels,) places in `texts`

    def array(self) -> npt.NDArray[np.str_]:
        """Return the texts (n_labels,), read-only, as wide as the longest that occurs."""
        found = np.unique(self.number)
        texts = np.array([self.texts[k] for k in found])[np.searchsorted(found, self.number)]
        texts.flags.writeable = False
        return texts


def rows_when_read(*names: str) -> Callable[[type[Class]], type[Class]]:
    """Let fields of a data class, tables, be given as `Columns`: read, they are arrays of rows."""
    return _with_fields(_RowsWhenRead, names)


class Columns:
    """Columns of a table with a row for each label: names, and what labels of one kind share, which is held once.

    Others have a value `of_labels`. `completed` adds columns of words, which take longer than all others together, and
    puts the columns in order.
    """

    def __init__(
        self,
        label_names: Sequence[str] | None,
        kind: npt.NDArray[np.int32],  # (n_labels,)
        of_kinds: NamedColumns,  # (n_kinds,) each
        completed: Callable[[NamedColumns], NamedColumns],
        of_labels: NamedColumns | None = None,  # (n_labels,) each
    ):
        self._label_names = label_names
        self._kind = kind.view()
        self._completed = completed
        self.of_kinds = {name: values.view() for name, values in of_kinds.items()}
        self._of_labels = {name: values.view() for name, values in (of_labels or {}).items()}
        self._freeze()

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Take over columns, read-only; copies and pickles come this way too."""
        self.__dict__.update(state)
        self._freeze()

    def _freeze(self) -> None:
        """Make all columns read-only."""
        for values in (self._kind, *self.of_kinds.values(), *self._of_labels.values()):
            values.flags.writeable = False

    @property
    def size(self) -> int:
        """Number of rows."""
        return self._kind.size

    def __getitem__(self, name: str) -> npt.NDArray[Any]:
        """Return a column that has no words, read-only."""
        if name in self._of_labels:
            return self._of_labels[name]
        values = (
            names_of(self._label_names, self.size)
            if name == "name"
            else self.of_kinds[name][self._kind]
        )
        values.flags.writeable = False
        return values

    def rows(self) -> npt.NDArray[Any]:
        """Return all columns as an array of rows."""
        names = ("name", *self.of_kinds, *self._of_labels)
        return rows_of(self._completed({name: self[name] for name in names}))


class Later(NamedTuple):
    """How the value of a field is made, which takes longer than most callers have use for it."""

    make: Callable[[Any], Any]  # of what has the field


def made_when_read(*names: str) -> Callable[[type[Class]], type[Class]]:
    """Let fields of a data class be given as `Later`: they are made when they are first read.

    Such a class has a `__getstate__` that reads them: what is pickled or copied is the value.
    """
    return _with_fields(_MadeWhenRead, names)


class _WhenRead(ABC):
    """A field that is made of what was given when it is read."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __get__(self, instance: Any, _: type) -> Any:
        """Return what is made, which is kept from then on."""
        if instance is None:
            return self
        values = self._made_of(as_given(instance, self._name), instance)
        instance.__dict__[self._name] = values
        return values

    def __set__(self, instance: Any, values: Any) -> None:
        """Keep what is given, a copy of an array."""
        is_array = isinstance(values, np.ndarray)
        instance.__dict__[self._name] = values.copy() if is_array else values

    @staticmethod
    @abstractmethod
    def _made_of(values: Any, instance: Any) -> Any:
        """Return the values of the field."""


def _with_fields(
    kind: type[_WhenRead], names: Sequence[str]
) -> Callable[[type[Class]], type[Class]]:
    """Give a data class fields of a kind."""

    def with_fields(cls: type[Class]) -> type[Class]:
        for name in names:
            setattr(cls, name, kind(name))
        return cls

    return with_fields


class _MadeWhenRead(_WhenRead):
    """A field that is a value, or how it is made until it is read."""

    @staticmethod
    def _made_of(values: Any, instance: Any) -> Any:
        return values.make(instance) if isinstance(values, Later) else values


class _TupleWhenRead(_WhenRead):
    """A field that is a tuple, or an array until it is read."""

    @staticmethod
    def _made_of(values: Any, instance: Any) -> Any:
        return tuple(values.tolist()) if isinstance(values, np.ndarray) else values


class _TextsWhenRead(_WhenRead):
    """A field that is an array of texts, or numbers of texts until it is read."""

    @staticmethod
    def _made_of(values: Any, instance: Any) -> Any:
        return values.array() if isinstance(values, NumberedTexts) else values


class _RowsWhenRead(_WhenRead):
    """A field that is an array of rows, or their columns until it is read."""

    @staticmethod
    def _made_of(values: Any, instance: Any) -> Any:
        return values.rows() if isinstance(values, Columns) else values


def as_given(instance: Any, name: str) -> Any:
    """Return such a field as it was given, or made before."""
    return instance.__dict__[name]


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
    if isinstance(value, list | tuple | range):
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
        return _cut(repr(value), _LONGEST)
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
    head = [_shown_cells(cells, left) for cells in head]
    body = [_shown_cells(cells, left) for cells in body]
    natural = [max(map(columns_of, column)) for column in zip(*head, *body, strict=True)]
    widths = _fitted(natural, left)

    # The cells of a row may take several lines, the others being empty there.
    def lines(cells: tuple[str, ...]) -> Iterator[str]:
        broken = [
            _cell_lines(cell, widths[k])
            if _has_sentences(k, left)
            else [shortened(cell, widths[k])]
            for k, cell in enumerate(cells)
        ]
        for parts in zip_longest(*broken, fillvalue=""):
            sides = (_aligned(part, widths[k], k in left) for k, part in enumerate(parts))
            yield "  ".join(sides).rstrip()

    rule = "  ".join("-" * width for width in widths)
    return "\n".join([*chain(*map(lines, head)), rule, *chain(*map(lines, body))])


def _has_sentences(column: int, left: Collection[int]) -> bool:
    """Whether the cells of a column are broken where they are long; those of others are shortened."""
    return column in left and column > 0


def _shown_cells(cells: tuple[str, ...], left: Collection[int]) -> tuple[str, ...]:
    """Return cells as they are shown where there is room enough."""
    shown = map(on_one_line, cells)
    return tuple(
        cell if _has_sentences(k, left) else shortened(cell) for k, cell in enumerate(shown)
    )


def _fitted(widths: Sequence[int], left: Collection[int]) -> list[int]:
    """Return widths of columns that are no more than `WIDTH` in all, as far as words can be narrowed."""
    fitted = list(widths)
    excess = sum(fitted) + 2 * (len(fitted) - 1) - WIDTH

    # Sentences first, the widest before others; then names.
    of_sentences = [k for k in range(len(fitted)) if _has_sentences(k, left)]
    of_names = [0] if 0 in left else []
    for narrowest, columns in (
        (_NARROWEST_SENTENCES, of_sentences),
        (_NARROWEST_NAMES, of_names),
    ):
        while excess > 0 and columns:
            widest = max(columns, key=fitted.__getitem__)
            if fitted[widest] <= narrowest:
                break
            fitted[widest] -= 1
            excess -= 1
    return fitted


def _aligned(text: str, width: int, to_left: bool) -> str:
    """Fill a cell up to a width."""
    space = " " * (width - columns_of(text))
    return f"{text}{space}" if to_left else f"{space}{text}"


def columns_of(text: str) -> int:
    """Return how many columns of a terminal a text takes: wide characters take two, combining ones none."""
    return len(text) if text.isascii() else sum(map(_columns_of_one, text))


def _columns_of_one(character: str) -> int:
    """Return how many columns a character takes."""
    if unicodedata.category(character) in ("Mn", "Me"):
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1


def wrapped(text: str) -> str:
    """Break lines that are wider than `WIDTH` at spaces; what follows of a line is indented.

    A word that is wider, such as a path, stays whole.
    """
    return "\n".join("\n".join(_lines_of(line)) for line in text.split("\n"))


def unwrapped(text: str) -> str:
    """Return text as it was before `wrapped`, if none of its lines was indented so."""
    return text.replace(f"\n{_HANG}", " ")


def _lines_of(line: str) -> Iterator[str]:
    """Break a line at spaces."""
    while columns_of(line) > WIDTH:
        n_indent = len(line) - len(line.lstrip())
        end = len(_start_of(line, WIDTH))
        at = line.rfind(" ", n_indent, end + 1)
        if at < 0:
            at = line.find(" ", end)
        if at < 0:
            break
        yield line[:at].rstrip()
        line = _HANG + line[at:].lstrip()
    yield line


def _cell_lines(cell: str, width: int) -> Iterator[str]:
    """Break a cell at spaces, and words that are too long anywhere."""
    while columns_of(cell) > width:
        end = len(_start_of(cell, width))
        at = cell.rfind(" ", 0, end + 1)
        if at < 0:
            at = end
        yield cell[:at].rstrip()
        cell = cell[at:].lstrip()
    yield cell


def _start_of(text: str, width: int) -> str:
    """Return as much of a text as `width` columns hold, and no more characters than columns."""
    end = taken = 0
    for character in text:
        taken += max(_columns_of_one(character), 1)
        if taken > width:
            break
        end += 1
    return text[:end]


def shortened(text: str, width: int = LONGEST_NAME) -> str:
    """Return a name as it is, or what it begins and ends with if it takes more than `width` columns."""
    if max(len(text), columns_of(text)) <= width:
        return text
    n_last = (width - 3) // 3
    first = _start_of(text, width - 3 - n_last)
    last = _start_of(text[::-1], n_last)[::-1]
    return f"{first}...{last}"


def on_one_line(cell: str) -> str:
    """Turn white space into spaces, and what a terminal would obey into escapes."""
    text = " ".join(cell.split())
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


def shown_name(name: object) -> str:
    """Return a name on one line, shortened, as sentences have it; they say so where there is none."""
    return shortened(on_one_line(str(name))) or "(no name)"


def first_names(names: Collection[object], k: int) -> str:
    """List the first k names, and say how many more there are."""
    return and_others([shown_name(name) for name in islice(names, k)], len(names))


def and_others(shown: Sequence[str], n: int) -> str:
    """List those of n things that are shown, and say how many more there are."""
    n_others = n - len(shown)
    return ", ".join(shown) + (f" and {counted(n_others, 'other')}" if n_others else "")


def figure(value: float) -> str:
    """Return a share, or an F, to four digits; nothing for NaN."""
    return "" if math.isnan(value) else f"{value:.4f}"


def in_percent(level: float) -> str:
    """Write a level that was asked for, such as a confidence, in per cent, unrounded: .999 is no certainty."""
    return f"{100 * level:.10g} %"


def percent(share: float) -> str:
    """Write a share in whole per cents; one near none or all in tenths, and never rounded to that."""
    if 0 < share < 0.001:
        return "less than 0.1 %"
    if 0.999 < share < 1:
        return "more than 99.9 %"
    if 0 < share < 0.01 or 0.99 < share < 1:
        return f"{100 * share:.1f} %"
    return f"{100 * share:.0f} %"


def counted(number: int, thing: str) -> str:
    """Say how many there are of a thing."""
    return f"{number:,} {thing}{'' if number == 1 else 's'}"


def are(number: int) -> str:
    """Return the verb for so many."""
    return "is" if number == 1 else "are"


def as_html(head: Lines, body: Lines, left: Collection[int] = ()) -> str:
    """Return an HTML table, some columns aligned to the left; cells are escaped."""
    head_rows = "".join(_row(cells, "th", left) for cells in head)
    body_rows = "".join(_row(cells, "td", left) for cells in body)
    return f"<table><thead>{head_rows}</thead><tbody>{body_rows}</tbody></table>"


def rows_of(columns: NamedColumns) -> npt.NDArray[Any]:
    """Return columns as one read-only array of rows: `rows["name"]` is a column, `rows[3]` a row."""
    size = len(next(iter(columns.values())))
    rows = np.empty(size, [(name, values.dtype) for name, values in columns.items()])
    for name, values in columns.items():
        rows[name] = values
    rows.flags.writeable = False
    return rows


def objects_of(rows: npt.NDArray[Any]) -> list[dict[str, Any]]:
    """Return rows as dictionaries of plain values."""
    return list(plain_rows(rows))


def plain_rows(rows: npt.NDArray[Any]) -> Iterator[dict[str, Any]]:
    """Return one row after another as a dictionary of plain values."""
    names = rows.dtype.names or ()
    return (dict(zip(names, row.item(), strict=True)) for row in rows)


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
    need("pandas", "to_frame()")
    import pandas as pd

    return pd.DataFrame(rows)


def _row(cells: tuple[str, ...], tag: str, left: Collection[int]) -> str:
    """Return one row, escaped as text and as HTML."""
    shown = []
    for k, cell in enumerate(_shown_cells(cells, left)):
        style = ' style="text-align: left"' if k in left else ""
        shown.append(f"<{tag}{style}>{escape(cell)}</{tag}>")
    return f"<tr>{''.join(shown)}</tr>"


def in_brief(value: object) -> str:
    """Return the `repr` of a value without defaults: of arrays and tuples the first few items, and their number."""
    if is_dataclass(value) and not isinstance(value, type):
        values = ((item, getattr(value, item.name)) for item in fields(value) if item.repr)
        shown = [
            f"{item.name}={in_brief(field_value)}"
            for item, field_value in values
            if not _checks.is_default(field_value, item.default)
        ]
        return f"{type(value).__name__}({', '.join(shown)})"
    if isinstance(value, np.ndarray):
        return _some_of(value.tolist(), "[", "]")
    if isinstance(value, tuple):
        return _some_of(value, "(", ",)" if len(value) == 1 else ")")
    if isinstance(value, Mapping):
        items = islice(value.items(), 2 * _VALUES_SHOWN)
        shown = [f"{in_brief(name)}: {in_brief(item)}" for name, item in items]
        return f"{{{_listed(shown, len(value))}}}"
    return _cut(repr(value), _LONGEST_TEXT)


def _some_of(values: Sequence[object], start: str, end: str) -> str:
    """Return the first few of some values, and their number if there are more."""
    return (
        f"{start}{_listed([in_brief(value) for value in values[:_VALUES_SHOWN]], len(values))}{end}"
    )


def _listed(shown: Sequence[str], n_values: int) -> str:
    """List values that are shown, and say how many they are if there are more."""
    more = [f"... {n_values:,} in all"] if n_values > len(shown) else []
    return ", ".join([*shown, *more])


def _cut(text: str, length: int) -> str:
    """Return a text, of a long one the beginning."""
    return text if len(text) <= length else f"{text[:length]}..."
