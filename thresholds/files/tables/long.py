"""Tables in long form: a line for each label of a row, with its score, or its truth.

`File, Start (s), End (s), Scientific name, Confidence`, as tools write that say what they found. One column or several
tell to which row a line belongs, one names the label. What no line names has no score, so that scores are sparse; in a
table of truth it is not true. Labels are in the order of their names, rows in that of their first lines.

Which columns are which is asked for, or found by what they are called where no other column could be meant.
"""

from collections.abc import Iterable, Iterator, Sequence
from copy import copy
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from thresholds._arrays.types import Dense, Ints, Matrix
from thresholds._checks import InputError, listed, names_of_labels, shown
from thresholds._checks.unknown import reads_absent
from thresholds.errors import need
from thresholds.files import accounting
from thresholds.files.keys import as_one, shown_key, together
from thresholds.files.source import Block, Source, Wanted, row_slices
from thresholds.files.tables.columns import NOT_UTF8, NUMBERS, Batch, ColumnChoice, Table
from thresholds.files.tables.decoding import indicator
from thresholds.files.tables.source import batches, check_columns
from thresholds.results import counted

# What columns are called, in lower case; of labels the first that is there.
_LABELS = (
    *("label", "scientific name", "scientific_name", "species", "class", "class_name", "category"),
    *("tag", "common name", "common_name", "species code", "species_code"),
)
_SCORES = ("score", "y_score", "confidence", "probability", "prob")
_ROWS = ("row", "row_id", "id", "key", "sample_id", "image_id", "doc_id", "document_id", "item_id")
_FILES = ("file", "filename", "file_name", "filepath", "begin path", "begin file", "recording")
_STARTS = ("start (s)", "start", "start_time", "begin time (s)")
_ENDS = ("end (s)", "end", "end_time", "end time (s)")


class LongColumns(NamedTuple):
    """The columns of a table in long form."""

    keys: tuple[str, ...]
    label: str
    score: str | None  # None in a table of truth
    truth: str | None  # None where there is none, or every line names a label that is true

    @property
    def text(self) -> tuple[str, ...]:
        """Those that are read as text, where a file has no types."""
        return (*self.keys, self.label)


def long_scores(table: Table, wanted: Wanted) -> LongColumns | None:
    """Find the columns of scores in long form; None for other tables."""
    label = _label_column(table, wanted)
    if label is None:
        return None
    score = wanted.scores
    if score is None:
        named = _called(table, _SCORES, "float", "int")
        if named is None:
            accounting.refuse_scores_of_text(table, _of_text(table, _SCORES), label)
        if named is None and wanted.labels is None:
            return None
        score = named or _only_float(table, wanted)
    elif score not in table.columns and wanted.labels is None:
        return None  # a prefix of wide columns
    truth = wanted.truth if wanted.truth is not None else _called(table, ("y_true",), *NUMBERS)
    keys = wanted.keys or _row_columns(table, {label, score, truth}, wanted)
    return LongColumns(keys, label, score, truth if wanted.with_truth else None)


def long_truth(table: Table, wanted: Wanted, scores: Source) -> LongColumns | None:
    """Find the columns of truth in long form; None for other tables."""
    label = _label_column(table, wanted)
    names = scores.label_names or ()
    if label is None or (
        wanted.labels is None and any(_is(table, name, *NUMBERS) for name in names)
    ):
        return None
    truth = wanted.truth if wanted.truth is not None else _called(table, ("y_true",), *NUMBERS)
    if truth is not None and truth not in table.columns and wanted.labels is None:
        return None  # a prefix of wide columns
    if not wanted.keys:
        raise InputError(
            f"{table.name} has one label a line, in {label!r}, expected --key, the columns that say to which row of"
            f" {scores.name} a line belongs"
        )
    return LongColumns(wanted.keys, label, None, truth)


class Entries(NamedTuple):
    """The lines of a table, each with its row and label by number."""

    row: Ints  # (n_lines,)
    label: Ints  # (n_lines,)
    keys: Dense  # (n_rows,) or (n_rows, n_columns), in the order of their first lines
    labels: tuple[str, ...]  # in the order of their first lines


class LongSource(Source):
    """Scores in long form, held as a sparse matrix: memory is taken for what lines there are."""

    def __init__(self, table: Table, wanted: Wanted, choice: LongColumns) -> None:
        assert choice.score is not None
        _check(table, choice, wanted)
        self.name, self.about, self.of_text = table.name, table.about, table.of_text
        self.score_key, self.truth_key = choice.score, choice.truth
        self.key_columns, self.label_column = choice.keys, choice.label
        self.has_unknown = choice.truth is not None and wanted.unknown is not None

        # What has no role is listed.
        roles: dict[str, Sequence[str | None]] = {
            "--key": choice.keys,
            "labels": (choice.label,),
            "scores": (choice.score,),
            "truth": (choice.truth,),
            "--groups": (wanted.groups,),
        }
        accounting.refuse_two_roles(table.name, roles)
        used = {column for columns in roles.values() for column in columns}
        self.left_out = accounting.left_out(table, used)
        self.notes = (
            f"one label a line: rows by {listed(choice.keys)}, labels in {choice.label!r}",
            *table.notes,
            *accounting.noted(self.left_out),
        )
        self._read(table, wanted, choice)

    def whole(self) -> Block:
        """Return all rows."""
        return self._rows

    def blocks(self, *, truth: bool = True) -> Iterator[Block]:
        """Return the rows in order."""
        whole = self._rows
        for rows in row_slices(whole.y_score.shape[0], self.n_labels):
            block = Block(*(None if part is None else part[rows] for part in whole))
            yield block if truth else block._replace(y_true=None)

    def keys(self) -> Dense:
        """Return the key of every row."""
        assert self._rows.keys is not None
        return self._rows.keys

    def with_rows(self, keys: Dense) -> Source:
        """Return all rows, and behind them those of `keys` that no line is about: they have no score."""
        known = set(as_one(self.keys()).tolist())
        is_new = [key not in known for key in as_one(keys).tolist()]
        n_new = sum(is_new)
        if not n_new or n_new == len(is_new):  # none, or all: then keys are of another kind
            return self
        if self._rows.groups is not None:
            raise InputError(
                f"--groups has no group for {counted(n_new, 'row')} of the truth of which {self.name} has no line,"
                " expected --groups to be a column of --key"
            )
        longer = copy(self)
        rows = self._rows
        longer._rows = rows._replace(
            y_score=_longer(rows.y_score, n_new),
            y_true=None if rows.y_true is None else _longer(rows.y_true, n_new),
            keys=np.concatenate([self.keys(), keys[is_new].astype(object)]),
        )
        longer.n_samples = rows.y_score.shape[0] + n_new
        added = f"{counted(n_new, 'row')} of the truth {'has' if n_new == 1 else 'have'} no line in {self.name}"
        longer.notes = (*self.notes, f"{added}: no label has a score there")
        return longer

    def _read(self, table: Table, wanted: Wanted, choice: LongColumns) -> None:
        """Read all lines."""
        columns = [choice.score, choice.truth, wanted.groups]
        entries, (score, truth, groups) = _entries(table, choice, columns, wanted)
        assert score is not None
        names = wanted.label_names or wanted.rule_names or tuple(sorted(entries.labels))
        kept, label, notes = _by_name(table.name, entries, names, wanted)
        self.label_names = names_of_labels(names)
        self.notes = (*self.notes, *notes)
        self.n_samples, self.n_labels = len(entries.keys), len(names)
        shape = (self.n_samples, self.n_labels)
        row = entries.row[kept]

        # The matrices of scores and truth have a cell for each line.
        order = np.lexsort((label, row))
        self._refuse_doubled(row[order], label[order], entries.keys, wanted)
        y_score = _csr(score[kept][order], row[order], label[order], shape)
        y_true = None
        if truth is not None:
            what = f"truth {choice.truth!r} of {table.name}"
            cells = indicator(truth[:, np.newaxis], what, 0, None, wanted.unknown)[:, 0]
            y_true = _csr(cells[kept][order], row[order], label[order], shape)
        of_rows = None if groups is None else _of_rows(groups, entries, wanted.groups, table.name)
        self._rows = Block(y_score, y_true, of_rows, entries.keys)

    def _refuse_doubled(self, row: Ints, label: Ints, keys: Dense, wanted: Wanted) -> None:
        """Refuse two lines with scores of one label of one row."""
        again = np.flatnonzero((row[1:] == row[:-1]) & (label[1:] == label[:-1]))
        if again.size:
            at = int(again[0])
            assert self.label_names is not None
            key, name = shown_key(as_one(keys)[row[at]]), shown(self.label_names[label[at]])
            columns = f"columns that tell rows apart, here {listed(self.key_columns)}"
            how = (
                f": --key names the {columns}"
                if "--key" in wanted.offered
                else f" by the {columns}"
            )
            raise InputError(
                f"{self.name} has several scores of the label {name} in the row {key}, expected one{how}"
            )


def read_long_truth(
    table: Table, choice: LongColumns, wanted: Wanted, scores: Source
) -> tuple[Matrix, Dense, tuple[str, ...]]:
    """Read truth in long form for the labels of the scores: the matrix, the keys of its rows, and notes."""
    _check(table, choice, wanted)
    if choice.truth is None and wanted.unknown is not None:
        raise InputError(
            f"--unknown is {shown(wanted.unknown)} with {table.name}, whose lines name true labels, expected"
            " a column of 0, 1 and what stands for truth that is not known, as --truth-column"
        )
    left = accounting.left_out(table, {*choice.text, choice.truth})
    if choice.truth is None:
        _refuse_truth_left_out(table, left, choice)
    entries, (truth,) = _entries(table, choice, [choice.truth], wanted)
    names = scores.label_names
    if names is None:
        label = _positions(table, entries.labels, scores)[entries.label]
        kept, notes = np.ones(len(label), np.bool_), list[str]()
    else:
        kept, label, notes = _by_name(table.name, entries, names, wanted, scores.name)
    row = entries.row[kept]
    n_rows, n_labels = len(entries.keys), scores.n_labels
    cells = np.ones(row.size, np.uint8)
    if truth is not None:
        what = f"truth {choice.truth!r} of {table.name}"
        cells = indicator(truth[:, np.newaxis], what, 0, None, wanted.unknown)[kept, 0]

    # A label may be named twice in a row, if both lines say the same.
    order = np.lexsort((label, row))
    row, label, cells = row[order], label[order], cells[order]
    same = (row[1:] == row[:-1]) & (label[1:] == label[:-1])
    other = np.flatnonzero(same & (cells[1:] != cells[:-1]))
    if other.size:
        at = int(other[0])
        name = label[at] if names is None else shown(names[label[at]])
        raise InputError(
            f"truth {choice.truth!r} of {table.name} has {cells[at]} and {cells[at + 1]} for the label {name} of the"
            f" row {shown_key(as_one(entries.keys)[row[at]])}, expected one of them"
        )
    first = np.append(True, ~same)
    matrix = _csr(cells[first], row[first], label[first], (n_rows, n_labels))
    of = f" of {table.name}"
    about = f"{table.name} has one label a line: rows by {listed(choice.keys)}, labels in {choice.label!r}"
    return matrix, entries.keys, (about, *notes, *accounting.noted(left, of))


def _entries(
    table: Table, choice: LongColumns, columns: Sequence[str | None], wanted: Wanted
) -> tuple[Entries, list[Dense | None]]:
    """Read all lines: rows and labels as numbers, and columns, None for one that is not there."""
    may_be_empty = wanted.label_names is not None  # then other labels are left out
    rows = dict[Any, int]()  # numbers of rows, by their keys
    labels = dict[str, int]()
    of_lines = list[tuple[Ints, ...]]()
    read: list[list[Dense]] = [[] for _ in columns]
    dtype: npt.DTypeLike = object  # of keys
    read_from = [*choice.text, *(column for column in columns if column is not None)]
    nullable = _Nullable(choice, wanted.unknown)
    for batch in batches(table, read_from, None, 1, None, nullable):
        keys = together([_flat(batch, column) for column in choice.keys])
        assert keys is not None
        dtype = keys.dtype
        found = keys.tolist() if keys.ndim == 1 else list(map(tuple, keys.tolist()))
        named = [str(label) for label in _flat(batch, choice.label).tolist()]
        if "" in named and not may_be_empty:
            raise InputError(
                f"column {choice.label!r} of {table.name} is empty at row {batch.first + named.index('')}, expected the"
                " name of a label in each line; a row without labels has no line"
            )
        of_lines.append((_numbered(found, rows), _numbered(named, labels)))
        for column, values in zip(columns, read, strict=True):
            if column is not None:
                values.append(_flat(batch, column))
    if not rows:
        raise InputError(f"{table.name} has no rows, expected at least one")
    row, label = (np.concatenate(numbers) for numbers in zip(*of_lines, strict=True))
    entries = Entries(row, label, np.array(list(rows), dtype), tuple(labels))
    return entries, [np.concatenate(values) if values else None for values in read]


def _numbered(values: Sequence[Any], numbers: dict[Any, int]) -> Ints:
    """Return the number of each value; those that have none yet get the next."""
    return np.fromiter(
        (numbers.setdefault(value, len(numbers)) for value in values), np.int64, len(values)
    )


class _Nullable:
    """Truth whose cells may lack a value, for whoever reads the lines."""

    has_cells = True

    def __init__(self, choice: LongColumns, unknown: object) -> None:
        columns: tuple[str, ...] = () if choice.truth is None else (choice.truth,)
        self.choice = ColumnChoice(choice.truth or "", columns, None, "wide")
        self.nullable = columns if reads_absent(unknown) else ()


def _by_name(
    name: str, entries: Entries, names: Sequence[str], wanted: Wanted, scores: str = ""
) -> tuple[npt.NDArray[np.bool_], Ints, list[str]]:
    """Return which lines are about the labels `names`, of these lines the label's place, and what is left out."""
    index = {label: place for place, label in enumerate(names)}
    places = np.array([index.get(label, -1) for label in entries.labels], np.int64)
    label = places[entries.label]  # (n_lines,)
    kept = label >= 0
    others = [label for label, place in zip(entries.labels, places, strict=True) if place < 0]
    if not others:
        return kept, label, []
    if wanted.label_names is None:
        of = f"of {scores}; --label-names names those to use" if scores else "of the rule"
        raise InputError(f"{name} has {listed(others)}, expected the labels {of}")
    lines = counted(int(np.count_nonzero(~kept)), "line")
    labels = counted(len(others), "label")
    return kept, label[kept], [f"left out of {name}: {lines} of {labels} not in --label-names"]


def _positions(table: Table, labels: Sequence[str], scores: Source) -> Ints:
    """Return labels that are positions, of scores without names."""
    for label in labels:
        if not (label.isascii() and label.isdigit()) or int(label) >= scores.n_labels:
            raise InputError(
                f"{table.name} has the label {shown(label)} and {scores.name} has no names of labels, expected"
                f" --label-names, or positions up to {scores.n_labels - 1}"
            )
    return np.array([int(label) for label in labels], np.int64)


def _csr(cells: Dense, row: Ints, label: Ints, shape: tuple[int, int]) -> Matrix:
    """Return cells that are sorted by row and label as a CSR array."""
    need("scipy", "a table of one label a line")
    from scipy import sparse

    starts = np.searchsorted(row, np.arange(shape[0] + 1))  # (n_rows + 1,)
    dtype = np.int32 if max(len(cells), shape[1]) < 2**31 else np.int64
    return sparse.csr_array((cells, label.astype(dtype), starts.astype(dtype)), shape=shape)


def _longer(matrix: Matrix, n_more: int) -> Matrix:
    """Return a CSR array with empty rows behind the others."""
    starts = np.append(matrix.indptr, np.full(n_more, matrix.indptr[-1]))
    shape = matrix.shape[0] + n_more, matrix.shape[1]
    return type(matrix)((matrix.data, matrix.indices, starts), shape=shape)


def _of_rows(values: Dense, entries: Entries, column: str | None, name: str) -> Dense:
    """Return the group of each row, which all its lines must have."""
    first = np.zeros(len(entries.keys), np.int64)
    first[entries.row[::-1]] = np.arange(len(values))[::-1]
    other = np.flatnonzero(values != values[first][entries.row])
    if other.size:
        at = int(entries.row[other[0]])
        row = shown_key(as_one(entries.keys)[at])
        both = f"{shown_key(values[first[at]])} and {shown_key(values[other[0]])}"
        raise InputError(
            f"--groups has {both} for the row {row} of {name}, expected one group for all lines of a row"
        )
    return values[first]


def _label_column(table: Table, wanted: Wanted) -> str | None:
    """Return the column that names labels, asked for or found; None for a table with a row in each line."""
    if wanted.labels is not None:
        if wanted.labels not in table.columns:
            raise InputError(
                f"{table.name} has no column {wanted.labels!r}, expected --label-column to be in"
                f" {listed(table.columns)}"
            )
        return wanted.labels
    if any(column.form != "flat" for column in table.columns.values()):
        return None
    others = [key for key in table.columns if key not in (*wanted.keys, wanted.groups)]
    for key in others:
        if key.lower() in _LABELS and table.columns[key].type == NOT_UTF8:
            raise InputError(
                f"column {key!r} of {table.name} holds {NOT_UTF8}, expected that encoding of names of labels"
            )
    return next(
        (
            key
            for called in _LABELS
            for key in others
            if key.lower() == called and _is(table, key, "text")
        ),
        None,
    )


def _called(table: Table, names: Sequence[str], *kinds: str) -> str | None:
    """Return the only column of one value a line that has one of the names, in any case."""
    found = [key for key in table.columns if key.lower() in names and _is(table, key, *kinds)]
    return found[0] if len(found) == 1 else None


def _of_text(table: Table, names: Sequence[str]) -> list[str]:
    """Return the columns of text that have one of the names, in any case."""
    return [key for key in table.columns if key.lower() in names and _is(table, key, "text")]


def _is(table: Table, key: str, *kinds: str) -> bool:
    """Whether a table has a column of one value a line, of one of the kinds."""
    column = table.columns.get(key)
    return column is not None and column.form == "flat" and column.kind in kinds


def _only_float(table: Table, wanted: Wanted) -> str:
    """Return the only column of floats as the scores."""
    taken = (*wanted.keys, wanted.labels, wanted.groups, wanted.truth)
    floats = [key for key in table.columns if key not in taken and _is(table, key, "float")]
    if len(floats) != 1:
        raise InputError(
            f"{table.name} may have its scores in {listed(floats) or 'no column'}, expected one column of numbers as"
            " --score-column"
        )
    return floats[0]


def _row_columns(table: Table, taken: set[str | None], wanted: Wanted) -> tuple[str, ...]:
    """Find the columns that tell to which row a line belongs: one of a few names, or a file and times in it."""
    free = [key for key in table.columns if key not in taken]

    def called(names: Sequence[str]) -> list[str]:
        return [key for key in free if key.lower() in names]

    starts, ends, files = called(_STARTS), called(_ENDS), called(_FILES)
    if len(starts) == 1 and len(files) == 1 and len(ends) < 2:
        return (*files, *starts, *ends)
    rows = called((*_ROWS, *_FILES))
    if len(rows) != 1 or starts:
        by = "--key with each column that tells"
        if "--key" not in wanted.offered:
            by = "a column called row_id, or file and start, to tell"
        raise InputError(
            f"{table.name} has one label a line, in columns {listed(free)}, expected {by} to which row a line belongs"
        )
    return tuple(rows)


def _check(table: Table, choice: LongColumns, wanted: Wanted) -> None:
    """Refuse columns that are not there, or hold something else."""
    check_columns(table, replace(wanted, key=choice.keys))
    kinds: tuple[tuple[str | None, str, tuple[str, ...]], ...] = (
        (choice.label, "names of labels (--label-column)", ("text", "int")),
        (choice.score, "scores (--score-column)", (*NUMBERS, "none")),
        (choice.truth, "0 and 1 (--truth-column)", (*NUMBERS, "none")),
    )
    for key, expected, allowed in kinds:
        if key is None:
            continue
        if key not in table.columns:
            raise InputError(
                f"{table.name} has no column {key!r}, expected one of {listed(table.columns)}"
            )
        if not _is(table, key, *allowed):
            holds = table.columns[key].type
            raise InputError(f"column {key!r} of {table.name} holds {holds}, expected {expected}")


def _refuse_truth_left_out(table: Table, left: Iterable[str], choice: LongColumns) -> None:
    """Refuse to take every line for a true label where a column has 0 and 1, and not only 1."""
    columns = [key for key in left if _is(table, key, *NUMBERS)]
    for key, batch in table.beginnings(columns):
        values = None if batch is None else _flat(batch, key)
        if values is not None and np.isin(values, (0, 1)).all() and not values.all():
            raise InputError(
                f"{table.name} has 0 and 1 in {key!r}, which may say whether the label in {choice.label!r} is true,"
                " expected --truth-column to name that column, or a file without it"
            )


def _flat(batch: Batch, column: str) -> Dense:
    """Return a column of one value a line."""
    values = batch.columns[column]
    assert isinstance(values, np.ndarray)
    return values
