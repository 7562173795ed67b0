"""Tables as columns of plain arrays, and which of them hold scores, truth, groups and keys.

A list column holds all labels of a row; wide columns hold one label each, their names a prefix, a separator and the
label: `y_score_cat`, `y_score.cat`, `y_score:cat`, `y_score/cat`.
"""

import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from thresholds._arrays.types import Dense
from thresholds._checks import InputError, listed, shown
from thresholds.files.source import Wanted

# A mapping has label names for keys.
Form = Literal["flat", "list", "mapping"]
# "none": nothing but nulls or empty lists.
Kind = Literal["float", "int", "bool", "text", "none", "other"]

NOT_UTF8 = "text that is not UTF-8"  # the type of a column
SEPARATORS = "_.:/"
NUMBERS = ("float", "int", "bool")  # kinds of columns
# As pandas calls an index without a name in a file.
_INDEX = re.compile(r"|Unnamed: \d+|__index_level_\d+__")
_SHOWN = 5


class Column(NamedTuple):
    """What a column holds, by its type."""

    form: Form
    kind: Kind
    type: str  # as people know it; shards must have the same
    width: int | None = None  # of lists that are all of one length
    names: tuple[str, ...] | None = None  # of the labels that its numbers stand for
    of_index: bool = False  # of a pandas frame, as the file says
    optional: bool = False  # some rows have no such key


class ListColumn(NamedTuple):
    """The lists of some rows: row i is `values[offsets[i]:offsets[i + 1]]`."""

    values: Dense  # numbers; of text, places in `words`
    offsets: npt.NDArray[np.int64]
    words: tuple[str, ...] | None = None
    absent: npt.NDArray[np.bool_] | None = None  # (n_rows,), rows without a list, where that may be


class Batch(NamedTuple):
    """Some rows of a table."""

    name: str  # of the file
    first: int  # the number of its first row there
    columns: dict[str, Dense | ListColumn]


class NoValue(InputError):
    """A cell without a value was found: the file, the row there, the column, and the place in its list."""

    def __init__(self, name: str, row: int, column: str, place: int | None = None) -> None:
        self.name, self.row, self.column, self.place = name, row, column, place


class Table(ABC):
    """A file of named columns, or several alike."""

    name: str
    columns: dict[str, Column]
    n_rows: int | None = None  # None where that takes reading them all
    first_row: int | None = 0  # of a part in the whole; None where that takes reading those before
    about: str = ""  # for people: the number of shards, perhaps
    label_names: tuple[str, ...] | None = None  # that the file has for its lists
    of_text: bool = False  # numbers are written as text, which has no dtype
    notes: tuple[str, ...] = ()  # what was assumed

    @abstractmethod
    def batches(
        self, columns: Sequence[str], n_labels: int, nullable: Collection[str] = ()
    ) -> Iterator[Batch]:
        """Read columns a few megabytes at a time, rows being about `n_labels` numbers wide.

        A cell without a value is NaN in the `nullable` columns, which hold numbers; elsewhere it raises `NoValue`.
        """

    def parts(self, n_rows: int) -> "list[Table]":
        """Return tables of about `n_rows` consecutive rows that together are this one, if rows can be found at once."""
        return [self]

    @abstractmethod
    def beginnings(
        self, columns: Sequence[str], nullable: Collection[str] = ()
    ) -> Iterator[tuple[str, Batch | None]]:
        """Read the first block of each column, of a file that is opened once; None where a value is missing.

        Nothing is given of a table without rows.
        """


class ColumnChoice(NamedTuple):
    """The columns that scores, or truth, are made of."""

    key: str  # for people
    columns: tuple[str, ...]
    names: tuple[str, ...] | None  # of the labels, in the order of the columns
    form: Literal["wide", "list", "mapping"]
    # Of the values of a mapping, to be put into that of the labels.
    order: tuple[int, ...] | None = None


Columns = Mapping[str, Column]


def choose_scores(
    name: str, columns: Columns, wanted: Wanted, because: Callable[[str], str]
) -> ColumnChoice:
    """Choose the columns of the scores; `because` says why a label that is asked for has none."""
    if wanted.scores is not None:
        asked_for = _named(columns, wanted.scores)
        if asked_for is None:
            raise InputError(
                f"{name} has no column {wanted.scores!r}, expected one of {listed(columns)}"
            )
        return _of_scores(name, columns, asked_for)
    by_name = _called_as_roles(columns, wanted.names_of_columns)
    if by_name is not None:
        return by_name
    usual = _named(columns, "y_score")
    if usual is not None:
        return _of_scores(name, columns, usual)

    # No name says it: the only column of lists, else all columns of numbers.
    others = _others(columns, wanted)
    lists = [
        key
        for key, column in others.items()
        if column.form == "mapping" or _is_list(column, "float")
    ]
    if len(lists) > 1:
        raise InputError(
            f"{name} may have its scores in {listed(lists)}, expected one of them as --score-column"
        )
    return (
        _single_column(columns, lists[0]) if lists else _all_numeric(name, others, wanted, because)
    )


def choose_truth(
    name: str, columns: Columns, wanted: Wanted, scores: ColumnChoice | None
) -> ColumnChoice | None:
    """Choose the columns of the truth, if there are any; `scores` is None for a file of truth alone."""
    if wanted.truth is not None:
        asked_for = _named(columns, wanted.truth)
        if asked_for is None:
            raise InputError(
                f"{name} has no column {wanted.truth!r}, expected one of {listed(columns)}"
            )
        return asked_for
    taken = set(scores.columns) if scores is not None else set()
    by_name = None if scores is not None else _called_as_roles(columns, wanted.label_names)
    if by_name is not None:
        return by_name
    usual = _named(columns, "y_true")
    if usual is not None and taken.isdisjoint(usual.columns):
        return usual

    # No name says it: columns named for the labels, the only column of lists, or, of truth alone, all of numbers.
    others = {key: column for key, column in _others(columns, wanted).items() if key not in taken}
    if scores is None and wanted.label_names is not None and _all_flat(others, wanted.label_names):
        return ColumnChoice("label columns", wanted.label_names, wanted.label_names, "wide")
    lists = [
        key for key, column in others.items() if _is_list(column, "text", "int", "bool", "none")
    ]
    if len(lists) > 1:
        raise InputError(
            f"{name} may have its truth in {listed(lists)}, expected one of them as --truth-column"
        )
    if lists:
        return _single_column(columns, lists[0])
    if scores is not None:
        return None
    wide = tuple(_of_numbers(others))
    if not wide:
        raise InputError(
            f"{name} has no truth, expected it in a column y_true, in lists or in columns of 0 and 1"
        )
    return ColumnChoice("all columns", wide, wide, "wide")


def difference_of(
    first: Table, other: Table, used: Sequence[str], *, numbers_alike: bool = False
) -> str | None:
    """Say how columns differ from those of the first shard: in names, or in the type of a column that is used.

    With `numbers_alike`, numbers of any type are alike: a column of whole numbers becomes one of floats where cells
    lack a value.
    """
    lacking = [key for key in first.columns if key not in other.columns]
    lacking = [key for key in lacking if key in used or not first.columns[key].optional]
    new = [
        key
        for key, column in other.columns.items()
        if key not in first.columns and not column.optional
    ]
    if lacking or new:
        words = [f"lacks {listed(lacking)}"] if lacking else []
        words += [f"has {listed(new)}"] if new else []
        return f"{' and '.join(words)}, expected the columns of the first shard, {first.name}"
    for key in used:
        was = first.columns[key]
        now = other.columns[key]
        # A shard of nothing but nulls, or empty lists, does not say of what.
        empty = "none" in (was.kind, now.kind) and was.form == now.form
        numbers = numbers_alike and was.kind in NUMBERS and now.kind in NUMBERS
        if not empty and _compared(was, numbers) != _compared(now, numbers):
            what = "other label names" if was.type == now.type else now.type
            return f"has {what} in the column {key!r}, expected {was.type} as in the first shard, {first.name}"
    if first.label_names != other.label_names:
        return f"has other label names, expected those of the first shard, {first.name}"
    return None


def _compared(column: Column, numbers_alike: bool) -> tuple[object, ...]:
    """Return what must be the same in all shards."""
    return column.form, None if numbers_alike else column.type, column.width, column.names


def _is_list(column: Column, *kinds: Kind) -> bool:
    """Whether a column holds lists of one of the kinds."""
    return column.form == "list" and column.kind in kinds


def _all_flat(columns: Columns, names: Sequence[str]) -> bool:
    """Whether there is a column of numbers for each of the names."""
    return all(
        name in columns
        and columns[name].form == "flat"
        and columns[name].kind in (*NUMBERS, "none")
        for name in names
    )


def _called_as_roles(columns: Columns, names: tuple[str, ...] | None) -> ColumnChoice | None:
    """Return the columns that are named for the labels, where one of these is called as scores or truth are."""
    if names is None or not _all_flat(columns, names):
        return None
    roles = [_named(columns, role) for role in ("y_score", "y_true")]
    if not any(role is not None and set(role.columns) & set(names) for role in roles):
        return None
    return ColumnChoice("label columns", names, names, "wide")


def _others(columns: Columns, wanted: Wanted) -> dict[str, Column]:
    """Leave out columns that are named for something else, truth among them."""
    taken = {wanted.groups, *wanted.keys}
    for prefix in (wanted.truth, "y_true"):
        choice = None if prefix is None else _named(columns, prefix)
        if choice is not None:
            taken |= set(choice.columns)
    return {key: column for key, column in columns.items() if key not in taken}


def _named(columns: Columns, name: str) -> ColumnChoice | None:
    """Return the column of that name, or those that have it as a prefix."""
    wide = tuple(
        key
        for key, column in columns.items()
        if len(key) > len(name) + 1
        and key.startswith(name)
        and key[len(name)] in SEPARATORS
        and column.form == "flat"
    )
    if name in columns and columns[name].form == "flat" and wide:
        raise InputError(
            f"columns {name!r} and {listed(wide)} may both hold labels, expected one or the other"
        )
    if name in columns:
        return _single_column(columns, name)
    return (
        ColumnChoice(name, wide, tuple(key[len(name) + 1 :] for key in wide), "wide")
        if wide
        else None
    )


def _single_column(columns: Columns, name: str) -> ColumnChoice:
    """Return a single column: of lists, or of one label."""
    column = columns[name]
    if column.form == "flat":
        return ColumnChoice(name, (name,), None, "wide")
    return ColumnChoice(name, (name,), column.names, column.form)


def _of_scores(name: str, columns: Columns, choice: ColumnChoice) -> ColumnChoice:
    """Refuse lists of anything but numbers; wide columns are looked at where they can be read."""
    column = columns[choice.columns[0]]
    if choice.form != "wide" and column.kind not in (*NUMBERS, "none"):
        raise InputError(f"column {choice.key!r} of {name} holds {column.type}, expected scores")
    return choice


def is_index(key: str, column: Column) -> bool:
    """Whether a column is the index of a pandas frame, which nobody named."""
    return column.of_index or _INDEX.fullmatch(key) is not None


def _of_numbers(columns: Columns) -> dict[str, Column]:
    """Return the columns of one number in each row, and of nothing; an index of pandas is none."""
    return {
        key: column
        for key, column in columns.items()
        if column.form == "flat" and column.kind in (*NUMBERS, "none") and not is_index(key, column)
    }


def _all_numeric(
    name: str, others: Columns, wanted: Wanted, because: Callable[[str], str]
) -> ColumnChoice:
    """Take the columns that are named for labels, else all columns of numbers."""
    names = wanted.names_of_columns
    if names is not None:
        numbers = {key: column for key, column in others.items() if _all_flat(others, (key,))}
        lacking = [label for label in names if label not in numbers]
        if lacking:
            of = "of --label-names" if wanted.label_names is not None else "label of the rule"
            raise InputError(
                f"{name} has no scores of {listed(lacking)}, expected a column for each {of}{because(lacking[0])}"
            )
        return ColumnChoice("label columns", names, names, "wide")
    numbers = _of_numbers(others)
    if not numbers:
        described = [
            f"{shown(key)} ({column.type})" for key, column in list(others.items())[:_SHOWN]
        ]
        raise InputError(
            f"{name} has no scores in {', '.join(described) or 'no columns'}, expected columns of numbers,"
            " or a column of lists of them, as --score-column"
        )
    kinds = {column.kind == "float" for column in numbers.values() if column.kind != "none"}
    if len(kinds) > 1:
        whole = [key for key, column in numbers.items() if column.kind in ("int", "bool")]
        options = " or ".join(
            option for option in ("--key", "--groups") if option in wanted.offered
        )
        named = f"{options} to name them, " if options else ""
        raise InputError(
            f"{name} has whole numbers in {listed(whole)} beside scores that are not, expected {named}--score-column a"
            " prefix, or --label-names the labels"
        )
    return ColumnChoice("all columns", tuple(numbers), tuple(numbers), "wide")
