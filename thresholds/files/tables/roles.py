"""Which columns of a table hold scores, and which truth.

A column of lists, or of objects with a key for each label, holds all labels of a row. Wide columns hold one label each,
their names a prefix, a separator and the label: `y_score_cat`, `y_score.cat`, `y_score:cat`, `y_score/cat`, or
`Score cat`; where the caller names what they end with, the other way round: `cat_score`. Label names may stand beside
lists of scores, in any order: then they say whose scores these are.
"""

import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from shlex import quote
from typing import Literal, NamedTuple

import numpy as np

from thresholds._checks import InputError, listed, shown
from thresholds.files.source import BLOCK_CELLS, Wanted
from thresholds.files.tables.columns import (
    ENDS,
    NUMBERS,
    ROWS,
    STARTS,
    UNNAMED_INDEX,
    WEIGHTS,
    FileColumn,
    Kind,
    ListColumn,
    NoValue,
    called,
)
from thresholds.files.tables.table import FileTable

SEPARATORS = "_.:/ "
_SHOWN = 5
_ROWS_AT_ONCE = 2**12


class ColumnChoice(NamedTuple):
    """The columns that scores, or truth, are made of."""

    key: str  # for people
    columns: tuple[str, ...]  # of named lists the labels and the scores, or one that has both
    names: tuple[str, ...] | None  # of the labels, in the order of the columns
    form: Literal["wide", "list", "mapping", "named"]
    # Of the values of a mapping, to be put into that of the labels.
    order: tuple[int, ...] | None = None


Columns = Mapping[str, FileColumn]


def choose_scores(table: FileTable, wanted: Wanted, because: Callable[[str], str]) -> ColumnChoice:
    """Choose the columns of the scores; `because` says why a label that is asked for has none."""
    choice = _scores(table, wanted, because)
    if choice.form != "list":
        return choice
    names = _names_beside(table, choice.columns[0], wanted)
    if names is None:
        return choice
    return choice._replace(columns=(names, choice.columns[0]), form="named", names=None)


def _scores(table: FileTable, wanted: Wanted, because: Callable[[str], str]) -> ColumnChoice:
    """Choose the columns of the scores, whatever stands beside them."""
    name, columns = table.name, table.columns
    if wanted.scores is not None:
        return _of_scores(name, columns, _asked_for(name, columns, wanted.scores))
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
        if column.form in ("mapping", "named") or _is_list(column, "float")
    ]
    objects = [key for key in lists if others[key].form != "list"]
    floats = [key for key, column in others.items() if column.is_flat("float")]
    may_be = [*lists, *(floats if objects else ())]
    only = _only(name, "its scores", may_be, "--score-column")
    if only is not None:
        return _single_column(columns, only)
    return _all_numeric(name, others, wanted, because)


def choose_truth(
    table: FileTable, wanted: Wanted, scores: ColumnChoice | None
) -> ColumnChoice | None:
    """Choose the columns of the truth, if there are any; `scores` is None for a file of truth alone."""
    name, columns = table.name, table.columns
    if wanted.truth is not None:
        return _asked_for(name, columns, wanted.truth)
    used = set(scores.columns if scores is not None else ())
    by_name = None if scores is not None else _called_as_roles(columns, wanted.label_names)
    if by_name is not None:
        return by_name
    usual = _named(columns, "y_true")
    if usual is not None and used.isdisjoint(usual.columns):
        return usual

    # No name says it: columns named for the labels, the only column of lists, or, of truth alone, all of numbers.
    others = {key: column for key, column in _others(columns, wanted).items() if key not in used}
    names = wanted.label_names
    if scores is None and names is not None and all_flat(others, names, wanted.true_words):
        return ColumnChoice("label columns", names, names, "wide")
    lists = [
        key
        for key, column in others.items()
        if _is_list(column, "text", "int", "bool", "none")
        or (scores is None and column.form == "mapping")
    ]
    only = _only(name, "its truth", lists, "--truth-column")
    if only is not None:
        return _single_column(columns, only)
    if scores is not None:
        return None
    if wanted.label_separator is not None:
        texts = [key for key, column in others.items() if column.is_flat("text", "int", "none")]
        if not texts and table.of_text:  # 1,2 is taken for a number
            texts = [key for key, column in others.items() if column.is_flat("float")]
        if len(texts) != 1:
            raise InputError(
                f"{name} may have its labels in {listed(texts) if texts else 'no column'}, expected --truth-column to"
                " name the column whose cells --label-separator parts"
            )
        return _single_column(columns, texts[0])
    wide = tuple(_of_numbers(others))
    return ColumnChoice("all columns", wide, wide, "wide") if wide else None


def _names_beside(table: FileTable, scores: str, wanted: Wanted) -> str | None:
    """Find the column of label names whose scores the lists are: asked for, or told by its signs."""
    columns = table.columns
    if wanted.labels is not None:
        if not _is_list(columns.get(wanted.labels), "text"):
            raise InputError(
                f"{table.name} has no lists of text in {wanted.labels!r}, expected --label-column to be in"
                f" {listed(columns)}"
            )
        return wanted.labels
    found = list[str]()
    for key, column in columns.items():
        if not _is_list(column, "text") or key in (*wanted.keys, "y_true"):
            continue
        signs = _signs_of_names(table, key, scores, wanted.label_names or wanted.rule_names)
        if signs == "none" or (signs == "open" and key == wanted.truth):
            continue
        if signs == "open":
            raise InputError(
                f"column {key!r} of {table.name} has as many names as {scores!r} has scores in each row, expected"
                f" --label-column {quote(key)} if they are the labels of these scores, or --truth-column {quote(key)}"
                " if they are the truth"
            )
        if key == wanted.truth:
            raise InputError(
                f"column {key!r} of {table.name} has the names of the scores {scores!r} ({signs}), expected another"
                " column as --truth-column"
            )
        found.append(key)
    return _only(table.name, f"the names of the scores {scores!r}", found, "--label-column")


def _only(name: str, what: str, found: Sequence[str], option: str) -> str | None:
    """Return the only column that was found, or None where none was; several are refused."""
    if len(found) > 1:
        raise InputError(
            f"{name} may have {what} in {listed(found)}, expected one of them as {option}"
        )
    return found[0] if found else None


def _signs_of_names(table: FileTable, names: str, scores: str, known: Sequence[str] | None) -> str:
    """Look for signs that names stand beside scores: "none", "open", or what tells it.

    Truth has other numbers of names, which the first rows tell already. Names that are `known` are among those of the
    scores, if these have names.
    """
    lengths = set[int]()  # of lists
    words = set[str]()  # that stand in any row
    fewest = sys.maxsize  # different names in a row, where all lists are of one length
    do_fall = True
    with suppress(NoValue):
        for batch in table.batches([names, scores], BLOCK_CELLS // _ROWS_AT_ONCE):
            labels, cells = (batch.columns[column] for column in (names, scores))
            assert isinstance(labels, ListColumn)
            assert isinstance(cells, ListColumn)
            if (labels.offsets != cells.offsets).any():
                return "none"
            own = np.diff(labels.offsets)  # (n_rows,)
            lengths.update(own.tolist())
            words.update((labels.words or ())[place] for place in np.unique(labels.values).tolist())
            falls = np.diff(np.asarray(cells.values, np.float64)) <= 0
            ends = labels.offsets[1:-1]
            falls[ends[(ends > 0) & (ends < cells.values.size)] - 1] = True  # from row to row
            do_fall = do_fall and bool(falls.all())
            if len(lengths) == 1:
                rows = np.sort(labels.values.reshape(own.size, -1), axis=1)
                n_names = 1 + np.count_nonzero(np.diff(rows, axis=1), axis=1)  # (n_rows,)
                fewest = min(fewest, int(n_names.min()))
    if not words or (known is not None and words.isdisjoint(known)):
        return "none"
    if len(lengths) > 1:
        return "as many in each row as there are scores"
    if max(lengths) < 2:
        return "open" if len(words) > 1 else "none"
    if fewest == len(words):
        return "the same in each row"
    return "with scores that only fall" if do_fall else "open"


def _asked_for(name: str, columns: Columns, asked: str) -> ColumnChoice:
    """Return what an option names: a column, or those that have it as a prefix, else those that end with it."""
    choice = _named(columns, asked) or _wide(columns, asked, at_end=True)
    if choice is None:
        raise InputError(f"{name} has no column {asked!r}, expected one of {listed(columns)}")
    return choice


def _is_list(column: FileColumn | None, *kinds: Kind) -> bool:
    """Whether a column holds lists of one of the kinds."""
    return column is not None and column.form == "list" and column.kind in kinds


def all_flat(columns: Columns, names: Sequence[str], true_words: Sequence[str] = ()) -> bool:
    """Whether there is a column of numbers, or of words for true and false, for each of the names."""
    kinds: tuple[Kind, ...] = (*NUMBERS, "none", *(("text",) if true_words else ()))
    return all(name in columns and columns[name].is_flat(*kinds) for name in names)


def _called_as_roles(columns: Columns, names: tuple[str, ...] | None) -> ColumnChoice | None:
    """Return the columns that are named for the labels, where one of these is called as scores or truth are."""
    if names is None or not all_flat(columns, names):
        return None
    roles = [_named(columns, role) for role in ("y_score", "y_true")]
    if not any(role is not None and set(role.columns) & set(names) for role in roles):
        return None
    return ColumnChoice("label columns", names, names, "wide")


def _others(columns: Columns, wanted: Wanted) -> dict[str, FileColumn]:
    """Leave out columns that are named for something else, truth among them."""
    taken = {wanted.groups, wanted.weights, *wanted.keys}
    choices = [_named(columns, "y_true")]
    if wanted.truth is not None:
        choices.append(_named(columns, wanted.truth) or _wide(columns, wanted.truth, at_end=True))
    for choice in choices:
        if choice is not None:
            taken |= set(choice.columns)
    return {key: column for key, column in columns.items() if key not in taken}


def _named(columns: Columns, name: str) -> ColumnChoice | None:
    """Return the column of that name, or those that have it as a prefix."""
    wide = _wide(columns, name)
    if name in columns and columns[name].form == "flat" and wide is not None:
        raise InputError(
            f"columns {name!r} and {listed(wide.columns)} may both hold labels, expected one or the other"
        )
    return _single_column(columns, name) if name in columns else wide


def _wide(columns: Columns, name: str, *, at_end: bool = False) -> ColumnChoice | None:
    """Return the columns that begin with a name, as `score_cat`, or end with it, as pandas writes what it merges."""
    labels = dict[str, str]()  # of each column
    for key, column in columns.items():
        rest = key.removesuffix(name) if at_end else key.removeprefix(name)
        separator, label = (rest[-1:], rest[:-1]) if at_end else (rest[:1], rest[1:])
        if rest != key and label and separator in SEPARATORS and column.form == "flat":
            labels[key] = label
    return ColumnChoice(name, tuple(labels), tuple(labels.values()), "wide") if labels else None


def of_labels(choice: ColumnChoice, names: Sequence[str] | None) -> ColumnChoice:
    """Leave out columns of a prefix that are none of the labels that are asked for, where all of these are there."""
    if (
        choice.form != "wide"
        or choice.names is None
        or names is None
        or not set(names) < set(choice.names)
    ):
        return choice
    kept = [
        column for column, name in zip(choice.columns, choice.names, strict=True) if name in names
    ]
    return choice._replace(
        columns=tuple(kept), names=tuple(name for name in choice.names if name in names)
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


def is_index(key: str, column: FileColumn) -> bool:
    """Whether a column is the index of a pandas frame, which nobody named."""
    return column.of_index or UNNAMED_INDEX.fullmatch(key) is not None


def _of_numbers(columns: Columns) -> dict[str, FileColumn]:
    """Return the columns of one number in each row, and of nothing; an index of pandas is none."""
    return {
        key: column
        for key, column in columns.items()
        if column.is_flat(*NUMBERS, "none") and not is_index(key, column)
    }


def _all_numeric(
    name: str, others: Columns, wanted: Wanted, because: Callable[[str], str]
) -> ColumnChoice:
    """Take the columns that are named for labels, else all columns of numbers."""
    names = wanted.names_of_columns
    if names is not None:
        lacking = [label for label in names if not all_flat(others, [label])]
        if lacking:
            of = "of --label-names" if wanted.label_names is not None else "label of the rule"
            raise InputError(
                f"{name} has no scores of {listed(lacking)}, expected a column for each {of}{because(lacking[0])}"
            )
        return ColumnChoice("label columns", names, names, "wide")
    columns = _of_numbers(others)
    if not columns:
        raise InputError(
            f"{name} has no scores in {described(others)}, expected columns of numbers,"
            " or a column of lists of them, as --score-column"
        )
    options = " or ".join(option for option in ("--key", "--groups") if option in wanted.offered)
    named = f"{options} to name them, " if options else ""
    prefix = "--score-column what the columns of scores begin or end with"
    expected = f"expected {named}{prefix}, or --label-names the labels"
    n_floats = sum(column.kind == "float" for column in columns.values())
    if n_floats == 1 and len(columns) > 2:
        expected += "; of a score in each line, --label-column names the column of its label"
    kinds = {column.kind == "float" for column in columns.values() if column.kind != "none"}
    if len(kinds) > 1:
        whole = [key for key, column in columns.items() if column.kind in ("int", "bool")]
        raise InputError(
            f"{name} has whole numbers in {listed(whole)} beside scores that are not, {expected}"
        )
    no_labels = called(columns, (*ROWS, *STARTS, *ENDS, *WEIGHTS))
    if no_labels:
        raise InputError(
            f"{name} has numbers in {listed(no_labels)}, which may be no scores, {expected}"
        )
    return ColumnChoice("all columns", tuple(columns), tuple(columns), "wide")


def described(columns: Columns) -> str:
    """Name the first columns, with what they hold."""
    return with_types({key: column.type for key, column in columns.items()}) or "no columns"


def with_types(types: Mapping[str, str]) -> str:
    """Name the first columns, with what they hold."""
    first = [f"{shown(key)} ({held})" for key, held in list(types.items())[:_SHOWN]]
    more = f" and {len(types) - _SHOWN:,} more" if len(types) > _SHOWN else ""
    return f"{', '.join(first)}{more}"
