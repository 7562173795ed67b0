"""What becomes of every column of a table: a role, a place in the list of what is left out, or a refusal.

A column that is named for a label, or that holds numbers but for some cells, is never left out.
"""

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from itertools import chain, combinations
from shlex import quote
from typing import NamedTuple

import numpy as np

from thresholds._checks import InputError, listed, shown
from thresholds._checks.labels import alike
from thresholds._checks.unknown import reads_absent
from thresholds._results.words import counted
from thresholds.files.source import Source, Wanted
from thresholds.files.tables.columns import LABEL_SEPARATORS, NUMBERS, ROWS, SCORES, called
from thresholds.files.tables.csv_layout import is_like_number, is_number
from thresholds.files.tables.roles import SEPARATORS, ColumnChoice, is_index, with_types
from thresholds.files.tables.table import FileTable
from thresholds.files.unknown import is_truth

_NUMBERS_IN_TEXT = re.compile(r"\s*[\[({].*\d\.\d")  # lists, or objects, as Python writes them
_DIGITS_FIRST = re.compile(r"\s*[-+]?[.,]?\d")  # as a number begins
# What columns are called that tell which rows belong together.
_OF_GROUPS = re.compile(
    r"(patient|subject|participant|person|individual|donor|animal|user|customer|client|author|artist|writer|speaker"
    r"|singer|observer|family|household|hospital|site|group)s?([ _.-]?(id|ids|no|nr|number|name|key))?",
    re.IGNORECASE,
)
_MOSTLY = 0.5  # of the text in the first block; from there on a column is one of numbers, with other cells among them


class FirstText(NamedTuple):
    """The text in the first block of a column."""

    n_rows: int
    n_numbers: int
    n_alike: int  # numbers, of whatever country
    odd: tuple[int, str] | None  # the first row that is none, and what it has
    are_ids: bool  # whole numbers, each once


def is_zero_or_one(text: str) -> bool:
    """Whether text is a cell of truth."""
    return is_number(text) and float(text) in (0, 1)


def left_out(
    table: FileTable, wanted: Wanted, roles: Mapping[str, Collection[str | None]]
) -> dict[str, str]:
    """Return the columns without a role, with what they hold; `roles` are those that no option names.

    A column that has two roles is refused, but for one of --key and --groups.
    """
    roles = {
        **roles,
        "--key": wanted.keys,
        "--groups": (wanted.groups,),
        "--weights": (wanted.weights,),
    }
    for (first, columns), (second, others) in combinations(roles.items(), 2):
        both = [column for column in columns if column is not None and column in others]
        if both and (first, second) != ("--key", "--groups"):
            raise InputError(
                f"column {both[0]!r} of {table.name} is named for two roles, {first} and {second}, expected one"
            )
    used = set(chain(*roles.values()))
    return {key: column.type for key, column in table.columns.items() if key not in used}


def refuse_other_than_numbers(table: FileTable, choice: ColumnChoice, expected: str) -> None:
    """Refuse wide columns that are no numbers."""
    for key in choice.columns:
        column = table.columns[key]
        if column.kind not in (*NUMBERS, "none") and choice.form == "wide":
            odd = _odd(table, key)
            is_truth_of_text = column.is_flat("text") and expected == "0 and 1"
            hint = "; --true-words says what is true" if is_truth_of_text else ""
            raise InputError(
                f"column {key!r} of {table.name} holds {column.type}, expected {expected}{f' ({odd})' if odd else ''}"
                f"{hint}"
            )


def refuse_mostly_numbers(
    table: FileTable, columns: Collection[str], *, of_truth: bool = False
) -> None:
    """Refuse to leave out a column of text that looks like the numbers of a label, with other cells among them.

    Whole numbers that tell rows apart, as a column `id` has, are no label.
    """
    fits, what, option = is_number, "numbers", "--score-column"
    if of_truth:
        fits, what, option = is_zero_or_one, "0 or 1", "--truth-column"
    found = dict(_first_texts(table, columns, fits))
    for key in called(found, ROWS):
        if found[key].are_ids:
            del found[key]
    way_out = f"--key names a key, --label-names or {option} the columns to use"
    quoted = [key for key, texts in found.items() if texts.odd is None]
    if len(quoted) > 1 and table.is_loose:
        raise InputError(
            f"{table.name} has {what} in quotes in {listed(quoted)}, expected numbers without quotes; {way_out}"
        )
    for key, texts in found.items():
        if texts.n_alike >= max(1, _MOSTLY * texts.n_rows):
            are = f"{texts.n_numbers:,} of its first {texts.n_rows:,} values are {what}"
            if not texts.n_numbers:
                are = "its first values look like numbers"
            odd = "" if texts.odd is None else f" (row {texts.odd[0]} has {shown(texts.odd[1])})"
            raise InputError(
                f"column {key!r} of {table.name} is text, though {are}{odd}, expected numbers in every row of a label;"
                f" {way_out}"
            )


def refuse_scores_of_text(table: FileTable, columns: Collection[str], label: str) -> None:
    """Refuse to pass over columns that are called as scores are, of cells such as `0,9`, `90 %`, or numbers and `?`."""
    for key, texts in _first_texts(table, columns, is_number):
        if texts.odd is None:
            continue
        row, odd = texts.odd
        if _DIGITS_FIRST.match(odd) or texts.n_numbers >= _MOSTLY * texts.n_rows:
            raise InputError(
                f"column {key!r} of {table.name} is text (row {row} has {shown(odd)}), expected numbers, as there is a"
                f" score for each label in {label!r}; --score-column names another column"
            )


def refuse_scores_left_out(table: FileTable, choice: ColumnChoice, left: Collection[str]) -> None:
    """Refuse to take an only column of numbers, or whole numbers, for scores beside what may have those of all labels.

    Such are lists as text, as pandas writes them to a csv, structs that nothing here knows, what is called as scores
    are, and an only column called so beside text that repeats itself, as names of labels do.
    """
    columns = [table.columns[key] for key in choice.columns]
    if len(columns) > 1 and any(column.kind not in ("int", "bool") for column in columns):
        return
    taken = f"{listed(choice.columns)} of {table.name} would be the scores"
    expected = "expected --score-column or --label-names to name the columns of the scores"
    for key in left:
        type_name = table.columns[key].type
        if key.lower() in SCORES or type_name.startswith(("struct<", "list<")):
            raise InputError(
                f"{taken}, and {key!r} with {type_name} is left out, {expected}; lists of numbers are read, and objects"
                " with a number for each label"
            )
    texts = [
        key
        for key in left
        if table.columns[key].is_flat("text") and not is_index(key, table.columns[key])
    ]
    is_called_so = len(columns) == 1 and choice.columns[0].lower() in SCORES
    for key, batch in table.first_rows(texts).items():
        cells = np.asarray(batch.columns[key]).tolist()
        if all(_NUMBERS_IN_TEXT.match(cell) for cell in cells):
            raise InputError(
                f"{taken}, and {key!r} with text such as {shown(cells[0])} is left out, {expected}; lists of numbers"
                " are read from .parquet and .jsonl"
            )
        if is_called_so and len(set(cells)) < len(cells):
            raise InputError(
                f"{table.name} has one score in each line, in {choice.columns[0]!r}, expected --label-column, perhaps"
                f" {key!r}, if each line has one label; --score-column {quote(choice.columns[0])} if there is one label"
                " in all"
            )


def refuse_scores_called_truth(table: FileTable) -> None:
    """Refuse to take a column for truth that is called so, and has scores beside others: it may be a label."""
    called_truth = [
        key for key, column in table.columns.items() if key == "y_true" and column.is_flat("float")
    ]
    for key, batch in table.first_rows(called_truth).items():
        cells = np.asarray(batch.columns[key], np.float64)
        parts = np.flatnonzero(cells % 1 != 0)
        if parts.size:
            row = int(parts[0])
            raise InputError(
                f"column {key!r} of {table.name} has {cells[row]:g} at row {row}, expected truth, 0 or 1; if it has the"
                " scores of a label called so, --label-names names the labels"
            )


def look_like_truth(table: FileTable, columns: Collection[str], unknown: object) -> set[str]:
    """Return those of the columns that hold numbers, and in the first rows only 0, 1 and what is not known."""
    numbers = [
        key
        for key in columns
        if table.columns[key].is_flat(*NUMBERS) and not is_index(key, table.columns[key])
    ]
    nullable = numbers if reads_absent(unknown) else ()
    return {
        key
        for key, batch in table.first_rows(numbers, nullable).items()
        if is_truth(np.asarray(batch.columns[key], np.float64), unknown).all()
    }


def refuse_other_labels(
    table: FileTable, choice: ColumnChoice, left: Mapping[str, str], scores: Source, unknown: object
) -> None:
    """Refuse to leave out the truth of a label that the scores lack."""
    of_truth = look_like_truth(table, left, unknown)
    for label in left:
        if is_index(label, table.columns[label]):
            continue
        in_scores = scores.left_out.get(label) is not None and table.columns[label].kind in NUMBERS
        in_scores = in_scores and not called([label], ROWS)
        if in_scores or label in of_truth:
            why = scores.because(label) or "; --label-names names those to use"
            raise InputError(
                f"truth {choice.key!r} of {table.name} has {label!r}, expected the same labels as the scores{why}"
            )
    refuse_mostly_numbers(table, left, of_truth=True)


def because(table: FileTable, choice: ColumnChoice | None, label: str) -> str:
    """Say why a table has no numbers for a label though it has a column for it; nothing if there is none."""
    prefix = (
        None if choice is None or choice.key in ("all columns", "label columns") else choice.key
    )
    for key in (
        label,
        *(f"{prefix}{separator}{label}" for separator in SEPARATORS if prefix is not None),
    ):
        column = table.columns.get(key)
        if column is None or (choice is not None and key in choice.columns):
            continue
        of = f"column {key!r} of {table.name}"
        if column.is_flat(*NUMBERS):
            return f" ({of} {'is an index, a key or groups' if prefix is None else f'does not begin with {prefix!r}'})"
        odd = _odd(table, key)
        return f" ({of} is {column.type}{f': {odd}' if odd else ''})"
    return ""


def noted(left: Mapping[str, str], of: str = "") -> tuple[str, ...]:
    """Say what is left out, in one line if there is anything."""
    if not left:
        return ()
    return (f"left out{of}: {with_types(left)}",)


def labels_left_out(
    name: str, times: Mapping[str, int], what: str, names: Collection[str], wanted: Wanted, of: str
) -> tuple[str, ...]:
    """Note the labels that are left out of what `name` is, as they are none of `names`, and how often they stand there.

    Where nobody chose labels, or none is left, they are refused: `of` says whose are expected.
    """
    others = sorted(times.keys() - set(names))
    if not others:
        return ()
    if wanted.label_names is None or len(others) == len(times):
        raise other_labels(name, times, names, of)
    some = counted(sum(times[label] for label in others), what)
    labels = f"{counted(len(others), 'label')} not in --label-names, {listed(others)}"
    return (f"left out of {name}: {some} of {labels}{alike(others, names)}",)


def other_labels(name: str, labels: Iterable[str], names: Collection[str], of: str) -> InputError:
    """Say that there are labels that are none of `names`: `of` says whose are expected."""
    others = sorted(set(labels) - set(names))
    return InputError(
        f"{name} has {listed(others)}{alike(others, names)}, expected the labels of {of}"
    )


def refuse_several_labels(name: str, labels: Iterable[str], names: Collection[str]) -> None:
    """Refuse to leave out names of lines that are several of the labels: a name may have spaces, but no other mark."""
    for label in labels:
        for separator in set(LABEL_SEPARATORS) - {" "}:
            parts = {part.strip() for part in label.split(separator)}
            if len(parts) > 1 and parts <= set(names):
                raise InputError(
                    f"{name} has {shown(label)}, which may be several labels, expected one;"
                    f" --label-separator '{separator}' reads them from a table with a row in each line"
                )


def look_like_groups(source: Source) -> tuple[str, int, int] | None:
    """Find a column without a role that is called as groups are and repeats itself: its name, and how many values in
    how many rows.

    Of a table the first rows are read. A column that cannot be read is passed over, as nobody asked for it.
    """
    named = [name for name in source.left_out if _OF_GROUPS.fullmatch(name)]
    try:
        for name, values in source.first_values(named):
            n_values = len(set(values.tolist()))
            if 1 < n_values < values.size:
                return name, n_values, values.size
    except InputError:
        return None
    return None


def _odd(table: FileTable, key: str) -> str:
    """Say which is the first row of a column of text that has no number."""
    for _, texts in _first_texts(table, [key], is_number):
        if texts.odd is not None:
            return f"row {texts.odd[0]} has {shown(texts.odd[1])}"
    return ""


def _first_texts(
    table: FileTable, columns: Collection[str], fits: Callable[[str], bool]
) -> Iterator[tuple[str, FirstText]]:
    """Look at the first rows of each of the columns that is text, and has a value in each of them."""
    of_text = [key for key in columns if table.columns[key].is_flat("text")]
    for key, batch in table.first_rows(of_text).items():
        texts = [str(text) for text in batch.columns[key]]
        fitting = [fits(text) for text in texts]
        n_alike = sum(map(is_like_number, texts)) if fits is is_number else sum(fitting)
        at = -1 if all(fitting) else fitting.index(False)
        odd = None if at < 0 else (batch.first + at, texts[at])
        are_ids = all(map(str.isdecimal, texts)) and len(set(texts)) == len(texts)
        yield key, FirstText(len(texts), sum(fitting), n_alike, odd, are_ids)
