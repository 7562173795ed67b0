"""Tables in long form: a line for each label of a row, with its score, or its truth.

`File, Start (s), End (s), Scientific name, Confidence`, as tools write that say what they found. One column or several
tell to which row a line belongs, one names the label. What no line names has no score, so that scores are sparse; in a
table of truth it is not true. Labels are in the order of their names, rows in that of their first lines.

Which columns are which is asked for, or found by what they are called where no other column could be meant.
"""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from thresholds._arrays.types import Booleans, Dense, Ints, Matrix
from thresholds._checks import InputError, listed, names_of_labels, shown
from thresholds._checks.unknown import reads_absent
from thresholds._engine.unknown import UNKNOWN
from thresholds._results.words import counted
from thresholds.errors import need
from thresholds.files import accounting
from thresholds.files.keys import as_one, shown_key
from thresholds.files.source import Block, Source, Wanted, row_slices
from thresholds.files.tables.columns import (
    ENDS,
    FILES,
    LABELS,
    NOT_UTF8,
    NUMBERS,
    ROWS,
    SCORES,
    STARTS,
    WEIGHTS,
    Kind,
    NoValue,
    called,
)
from thresholds.files.tables.roles import SEPARATORS, all_flat, is_index
from thresholds.files.tables.rows import (
    check_column,
    check_columns,
    groups_of,
    keys_in,
    read_batches,
    text_columns,
    weights_of,
)
from thresholds.files.tables.table import Batch, FileTable
from thresholds.files.tables.truth import UNCLEAR, Words, indicator, places_of
from thresholds.files.unknown import hint_of


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


def long_scores(table: FileTable, wanted: Wanted) -> LongColumns | None:
    """Find the columns of scores in long form; None for other tables."""
    label = _label_column(table, wanted)
    if label is None or (label == wanted.truth and wanted.labels is None):
        return None
    score = wanted.scores
    if score is None:
        named = _only_called(table, SCORES, "float", "int")
        if named is None:
            accounting.refuse_scores_of_text(table, called(table.columns, SCORES), label)
        if named is None and wanted.labels is None:
            return None
        score = named or _only_float(table, wanted)
    elif score not in table.columns and wanted.labels is None:
        return None  # a prefix of wide columns
    if wanted.labels is None:
        _refuse_columns_of_labels(table, label, score)
    truth = _truth_column(table, wanted)
    keys = wanted.keys or _row_columns(table, {label, score, truth}, wanted)
    return LongColumns(keys, label, score, truth if wanted.with_truth else None)


def _refuse_columns_of_labels(table: FileTable, label: str, score: str) -> None:
    """Refuse to guess whether lines have one label, or a column for each of which the best is named, too."""
    columns = [key for key in table.columns if key != score and _is(table, key, "float", "int")]
    ends = {key[place:] for key in columns for place in _starts(key)}
    for batch in table.first_rows([label]).values():
        both = sorted(ends & set(np.asarray(batch.columns[label]).tolist()))
        if both:
            raise InputError(
                f"{table.name} has {listed(both)} both as columns and in {label!r}, expected --label-names if there is"
                f" a column for each label, or --label-column {label!r} if there is a line for each"
            )


def _starts(key: str) -> Iterator[int]:
    """Return where a label may begin in the name of a column: at its start, and behind what parts a prefix."""
    yield 0
    yield from (place + 1 for place, mark in enumerate(key) if mark in SEPARATORS)


def long_truth(table: FileTable, wanted: Wanted, scores: Source) -> LongColumns | None:
    """Find the columns of truth in long form; None for other tables."""
    if wanted.labels not in table.columns:
        wanted = replace(wanted, labels=None)  # which names a column of the scores
    if wanted.labels is None and wanted.label_separator is not None:
        return None
    label = _label_column(table, wanted)
    names = scores.label_names or ()
    if label is None or (wanted.labels is None and any(name in table.columns for name in names)):
        return None
    truth = _truth_column(table, wanted)
    if truth is not None and truth not in table.columns and wanted.labels is None:
        return None  # a prefix of wide columns
    if truth == label:
        truth = None  # as the caller says: every line names a label that is true
    if not wanted.keys:
        raise InputError(
            f"{table.name} has one label a line, in {label!r}, expected --key, the columns that say to which row of"
            f" {scores.name} a line belongs"
        )
    return LongColumns(wanted.keys, label, None, truth)


class _LongTable(NamedTuple):
    """All lines of a table: whose they are, by numbers, and what else is asked of them; None for what is not there."""

    keys: Dense  # (n_rows,) or (n_rows, n_columns), in the order of their first lines
    labels: tuple[str, ...]  # in the order of their first lines
    row: Ints  # (n_lines,), and so are all others
    label: Ints
    score: Dense | None
    truth: Dense | None  # int8 or uint8: 0, 1, and -1 where it is not known
    groups: Dense | None
    weights: Dense | None

    def taken(self, lines: Ints | Booleans) -> "_LongTable":
        """Return some of the lines, without their groups and weights."""
        score = None if self.score is None else self.score[lines]
        truth = None if self.truth is None else self.truth[lines]
        row, label = self.row[lines], self.label[lines]
        return self._replace(
            row=row, label=label, score=score, truth=truth, groups=None, weights=None
        )


def source_of_lines(
    table: FileTable, wanted: Wanted, choice: LongColumns, scores: Source | None = None
) -> Source:
    """Read all lines as sparse matrices: memory is taken for what lines there are.

    They have scores, and truth perhaps; or, with `scores` of another file, the truth of these.
    """
    # Give every column its role.
    wanted = replace(wanted, key=choice.keys)
    roles = {"labels": (choice.label,), "scores": (choice.score,), "truth": (choice.truth,)}
    _check(table, choice, wanted, scores)
    left_out = accounting.left_out(table, wanted, roles)
    if scores is not None and choice.truth is None and wanted.truth is None:
        _refuse_truth_left_out(table, left_out, choice)

    # Which label and row each line is about.
    lines = _read_lines(table, choice, wanted)
    if scores is None:
        names = wanted.label_names or wanted.rule_names or tuple(sorted(lines.labels))
    elif scores.label_names is None:
        names = _positions(table, lines.labels, scores)
    else:
        names = scores.label_names
    groups = _of_rows(lines.groups, lines, "--groups", table.name)
    weights = _of_rows(lines.weights, lines, "--weights", table.name)
    lines, more = _by_name(table.name, lines, names, wanted, scores)
    lines = lines.taken(np.lexsort((lines.label, lines.row)))
    lines = lines.taken(_once(table.name, lines, names, choice, wanted))

    # The matrices have a cell for each line.
    shape = len(lines.keys), len(names)
    truth = lines.truth
    if scores is not None and truth is None:
        truth = np.ones(lines.row.size, np.uint8)  # Every line names a label that is true.
    y_true = None if truth is None else _truth_matrix(truth, lines, shape, wanted)
    y_score = y_true if lines.score is None else _csr(lines.score, lines, shape)
    y_true = None if lines.score is None else y_true
    rows = Block(y_score, y_true, groups, lines.keys, weights)
    about = f"one label a line: rows by {listed(choice.keys)}, labels in {choice.label!r}"
    of = "" if scores is None else f" of {table.name}"
    source = Source(
        name=table.name,
        path=table.path,
        score_key=choice.score or choice.truth or choice.label,
        n_labels=len(names),
        read=partial(_blocks, rows),
        truth_key=None if scores is not None else choice.truth,
        label_names=None if scores is not None else names_of_labels(names),
        key_columns=choice.keys,
        label_column=choice.label,
        is_named=scores is None,
        has_order=scores is not None or (wanted.label_names or wanted.rule_names) is not None,
        n_samples=shape[0],
        about=table.about,
        notes=(
            about if scores is None else f"{table.name} has {about}",
            *table.notes,
            *accounting.noted(left_out, of),
            *more,
        ),
        left_out=left_out,
        dialect=table.dialect,
        of_text=table.of_text,
        has_unknown=choice.truth is not None and wanted.unknown is not None,
        lacking_truth=UNKNOWN if reads_absent(wanted.unknown) else 0,
        read_whole=partial(_whole, rows),
    )
    return replace(source, with_rows=partial(_with_rows, source, rows))


def _whole(rows: Block) -> Block:
    """Return all rows."""
    return rows


def _blocks(rows: Block, with_truth: bool) -> Iterator[Block]:
    """Return the rows in order."""
    for some in row_slices(*rows.y_score.shape):
        block = Block(*(None if part is None else part[some] for part in rows))
        yield block if with_truth else block._replace(y_true=None)


def _with_rows(source: Source, rows: Block, keys: Dense) -> Source:
    """Return all rows, and behind them those of `keys` that no line is about: they have no score."""
    own = rows.keys
    assert own is not None
    known = set(as_one(own).tolist())
    is_new = [key not in known for key in as_one(keys).tolist()]
    n_new = sum(is_new)
    if not n_new or n_new == len(is_new):  # none, or all: then keys are of another kind
        return source
    for option, values in (("--groups", rows.groups), ("--weights", rows.sample_weight)):
        if values is not None:
            raise InputError(
                f"{option} has no value for {counted(n_new, 'row')} of the truth of which {source.name} has no line,"
                f" expected {option} to be a column of --key, or of the truth"
            )
    longer = rows._replace(
        y_score=_longer(rows.y_score, n_new),
        y_true=None if rows.y_true is None else _longer(rows.y_true, n_new),
        keys=np.concatenate([own, keys[is_new].astype(object)]),
    )
    have = "has" if n_new == 1 else "have"
    added = f"{counted(n_new, 'row')} of the truth {have} no line in {source.name}"
    return replace(
        source,
        read=partial(_blocks, longer),
        read_whole=partial(_whole, longer),
        n_samples=longer.y_score.shape[0],
        notes=(*source.notes, f"{added}: no label has a score there"),
    )


def _once(
    name: str, lines: _LongTable, names: Sequence[str], choice: LongColumns, wanted: Wanted
) -> Booleans:
    """Mark the first line of each label of a row; refuse two with scores, or with truth that differs."""
    row, label, score, truth = lines.row, lines.label, lines.score, lines.truth
    again = (row[1:] == row[:-1]) & (label[1:] == label[:-1])
    differs = np.zeros(again.size, np.bool_) if truth is None else truth[1:] != truth[:-1]
    wrong = np.flatnonzero(again & (differs | (score is not None)))
    if wrong.size:
        at = int(wrong[0])
        of = f"the label {shown(names[label[at]])} in the row {shown_key(as_one(lines.keys)[row[at]])}"
        if score is None and truth is not None:
            raise InputError(
                f"truth {choice.truth!r} of {name} has {truth[at]} and {truth[at + 1]} for {of}, expected one of them"
            )
        columns = f"columns that tell rows apart, here {listed(choice.keys)}"
        how = f": --key names the {columns}" if "--key" in wanted.offered else f" by the {columns}"
        raise InputError(
            f"{name} has several scores of {of}, expected one (such as the highest){how}"
        )
    return np.append(True, ~again)[: row.size]


def _truth_matrix(
    cells: Dense, lines: _LongTable, shape: tuple[int, int], wanted: Wanted
) -> Matrix:
    """Return truth: what no line names is not true, or not known where cells without a value are not."""
    if not reads_absent(wanted.unknown):
        return _csr(cells, lines, shape)
    truth = np.full(shape, UNKNOWN, np.int8)
    truth[lines.row, lines.label] = cells
    return truth


def _read_lines(table: FileTable, choice: LongColumns, wanted: Wanted) -> _LongTable:
    """Read all lines: rows and labels as numbers, and the other columns."""
    may_be_empty = wanted.label_names is not None  # then other labels are left out
    rows = dict[Any, int]()  # numbers of rows, by what their keys are compared by
    first_keys = list[Dense]()  # of each row as its first line has it
    labels = dict[str, int]()
    read = list[tuple[Any, ...]]()  # of each batch the fields of lines, without keys and labels
    words = Words(wanted) if choice.truth is not None and wanted.true_words else None
    columns = [*choice.text, choice.score, choice.truth, wanted.groups, wanted.weights]
    nullable = [choice.truth] if choice.truth and reads_absent(wanted.unknown) else []
    nullable += [choice.score] if choice.score and wanted.drop_unscored else []
    text = text_columns(wanted, (*choice.text, None if words is None else choice.truth))

    def said_of(cell: NoValue) -> str:
        return f", expected one in each row{hint_of(None) if cell.column == choice.truth else ''}"

    for batch in read_batches(
        table, [name for name in columns if name], said_of, nullable=nullable, text=text
    ):
        keys = keys_in(batch, choice.keys)
        assert keys is not None
        n_before = len(rows)
        row = _numbered(as_one(keys).tolist(), rows)
        numbers, first = np.unique(row, return_index=True)
        first_keys.append(keys[first[numbers >= n_before]])
        named = [str(label) for label in np.asarray(batch.columns[choice.label]).tolist()]
        if "" in named and not may_be_empty:
            raise InputError(
                f"column {choice.label!r} of {table.name} is empty at row {batch.first + named.index('')}, expected the"
                " name of a label in each line; a row without labels has no line"
            )
        label = _numbered(named, labels)
        score = None if choice.score is None else np.asarray(batch.columns[choice.score])
        truth = _truth_of(batch, choice, wanted, words)
        groups, weights = groups_of(batch, wanted.groups), weights_of(batch, wanted.weights)
        read.append((row, label, score, truth, groups, weights))
    if not rows:
        raise InputError(f"{table.name} has no rows, expected at least one")
    joined: list[Any] = [
        None if parts[0] is None else np.concatenate(parts) for parts in zip(*read, strict=True)
    ]
    return _LongTable(np.concatenate(first_keys), tuple(labels), *joined)


def _truth_of(
    batch: Batch, choice: LongColumns, wanted: Wanted, words: Words | None
) -> Dense | None:
    """Return the truth of some lines as 0 and 1, and -1 where it is not known."""
    if choice.truth is None:
        return None
    what = f"truth {choice.truth!r} of {batch.name}"
    cells = np.asarray(batch.columns[choice.truth])
    if words is not None:
        cells = words.cells(cells, what, batch.first)
    return indicator(cells[:, np.newaxis], what, batch.first, None, wanted.unknown)[:, 0]


def _numbered(values: Sequence[Any], numbers: dict[Any, int]) -> Ints:
    """Return the number of each value; those that have none yet get the next."""
    return np.fromiter(
        (numbers.setdefault(value, len(numbers)) for value in values), np.int64, len(values)
    )


def _by_name(
    name: str, lines: _LongTable, names: Sequence[str], wanted: Wanted, scores: Source | None
) -> tuple[_LongTable, tuple[str, ...]]:
    """Return the lines that are about the labels `names`, by their places there, and what is left out."""
    of = "the rule" if scores is None else f"{scores.name}; --label-names names those to use"
    of = of if wanted.label_names is None else "--label-names"
    n_lines = np.bincount(lines.label, minlength=len(lines.labels)).tolist()
    times = dict(zip(lines.labels, n_lines, strict=True))
    accounting.refuse_several_labels(name, times.keys() - set(names), names)
    notes = accounting.labels_left_out(name, times, "line", names, wanted, of)
    label = places_of(lines.label, lines.labels, names)
    return lines._replace(label=label).taken(label >= 0), notes


def _positions(table: FileTable, labels: Sequence[str], scores: Source) -> tuple[str, ...]:
    """Return the positions that labels are, where the scores have no names."""
    for label in labels:
        if not (label.isascii() and label.isdigit()) or int(label) >= scores.n_labels:
            raise InputError(
                f"{table.name} has the label {shown(label)} and {scores.name} has no names of labels, expected"
                f" --label-names, or positions up to {scores.n_labels - 1}"
            )
    return tuple(str(place) for place in range(scores.n_labels))


def _csr(cells: Dense, lines: _LongTable, shape: tuple[int, int]) -> Matrix:
    """Return a cell of each line, which are sorted by row and label, as a CSR array."""
    need("scipy", "a table of one label a line")
    from scipy import sparse

    starts = np.searchsorted(lines.row, np.arange(shape[0] + 1))  # (n_rows + 1,)
    return sparse.csr_array((cells, lines.label, starts), shape=shape)


def _longer(matrix: Matrix, n_more: int) -> Matrix:
    """Return a CSR array with empty rows behind the others."""
    starts = np.append(matrix.indptr, np.full(n_more, matrix.indptr[-1]))
    shape = matrix.shape[0] + n_more, matrix.shape[1]
    return type(matrix)((matrix.data, matrix.indices, starts), shape=shape)


def _of_rows(values: Dense | None, lines: _LongTable, option: str, name: str) -> Dense | None:
    """Return the group, or the weight, of each row, which all its lines must have."""
    if values is None:
        return None
    first = np.zeros(len(lines.keys), np.int64)
    first[lines.row[::-1]] = np.arange(len(values))[::-1]
    other = np.flatnonzero(values != values[first][lines.row])
    if other.size:
        at = int(lines.row[other[0]])
        row = shown_key(as_one(lines.keys)[at])
        both = f"{shown_key(values[first[at]])} and {shown_key(values[other[0]])}"
        raise InputError(
            f"{option} has {both} for the row {row} of {name}, expected one for all lines of a row"
        )
    return np.asarray(values[first])


def _label_column(table: FileTable, wanted: Wanted) -> str | None:
    """Return the column that names labels, asked for or found; None for a table with a row in each line."""
    if wanted.labels is not None:
        if wanted.labels not in table.columns:
            raise InputError(
                f"{table.name} has no column {wanted.labels!r}, expected --label-column to be in"
                f" {listed(table.columns)}"
            )
        is_list = table.columns[wanted.labels].form == "list"  # names beside lists of scores
        return None if is_list else wanted.labels
    names = wanted.names_of_columns
    if names is not None and all_flat(table.columns, names):
        return None
    if any(column.form != "flat" for column in table.columns.values()):
        return None
    others = [key for key in table.columns if key not in (*wanted.keys, wanted.groups)]
    usual = called(others, LABELS)
    for key in usual:
        if table.columns[key].type == NOT_UTF8:
            raise InputError(
                f"column {key!r} of {table.name} holds {NOT_UTF8}, expected that encoding of names of labels"
            )
    return next((key for key in usual if _is(table, key, "text")), None)


def _truth_column(table: FileTable, wanted: Wanted) -> str | None:
    """Return the column that says which lines are true, asked for or found."""
    if wanted.truth is not None:
        return wanted.truth
    kinds = (*NUMBERS, "text") if wanted.true_words else NUMBERS
    return _only_called(table, ("y_true",), *kinds)


def _only_called(table: FileTable, names: Sequence[str], *kinds: Kind) -> str | None:
    """Return the only column of one value a line that has one of the names, in any case."""
    found = [key for key in called(table.columns, names) if _is(table, key, *kinds)]
    return found[0] if len(found) == 1 else None


def _is(table: FileTable, key: str, *kinds: Kind) -> bool:
    """Whether a table has a column of one value a line, of one of the kinds."""
    return key in table.columns and table.columns[key].is_flat(*kinds)


def _only_float(table: FileTable, wanted: Wanted) -> str:
    """Return the only column of floats as the scores."""
    taken = (*wanted.keys, wanted.labels, wanted.groups, wanted.truth)
    floats = [key for key in table.columns if key not in taken and _is(table, key, "float")]
    if len(floats) != 1:
        raise InputError(
            f"{table.name} may have its scores in {listed(floats) or 'no column'}, expected one column of numbers as"
            " --score-column"
        )
    return floats[0]


def _row_columns(table: FileTable, taken: set[str | None], wanted: Wanted) -> tuple[str, ...]:
    """Find the columns that tell to which row a line belongs: one of a few names, or a file and times in it."""
    free = [key for key in table.columns if key not in taken]
    starts, ends, files = (called(free, names) for names in (STARTS, ENDS, FILES))
    if len(starts) == 1 and len(files) == 1 and len(ends) < 2:
        return (*files, *starts, *ends)
    rows = called(free, (*ROWS, *FILES))
    if len(rows) != 1 or starts:
        by = "--key with each column that tells"
        if "--key" not in wanted.offered:
            by = "a column called row_id, or file and start, to tell"
        raise InputError(
            f"{table.name} has one label a line, in columns {listed(free)}, expected {by} to which row a line belongs"
        )
    return tuple(rows)


def _check(table: FileTable, choice: LongColumns, wanted: Wanted, scores: Source | None) -> None:
    """Refuse columns that are not there, or hold something else."""
    check_columns(table, wanted)
    numbers: tuple[Kind, ...] = (*NUMBERS, "none")
    check_column(table, choice.label, "--label-column", "names of labels", ("text", "int"))
    check_column(table, choice.score, "--score-column", "scores", numbers)
    kinds = (*numbers, "text") if wanted.true_words else numbers
    expected = "0 and 1, or --true-words to say what is true, or true labels in a file of their own (--truth)"
    check_column(table, choice.truth, "--truth-column", expected, kinds)
    if scores is not None and choice.truth is None and wanted.unknown is not None:
        raise InputError(
            f"--unknown is {shown(wanted.unknown)} with {table.name}, whose lines name true labels, expected"
            " a column of 0, 1 and what stands for truth that is not known, as --truth-column"
        )


def _refuse_truth_left_out(table: FileTable, left: Collection[str], choice: LongColumns) -> None:
    """Refuse to take every line for a true label where a column may say of some that it is not, or how far it is."""
    named = called(left, _OF_LINES)
    columns = [
        key
        for key in left
        if _is(table, key, *NUMBERS, "text")
        and key not in named
        and not is_index(key, table.columns[key])
    ]
    for key, batch in table.first_rows(columns, columns).items():
        if key.lower() in SCORES or _may_be_truth(np.asarray(batch.columns[key])):
            raise InputError(
                f"column {key!r} of {table.name} may say whether the label in {choice.label!r} is true, expected"
                f" --truth-column to name that column (--true-words what is true in text), or {choice.label!r} if"
                " every line names a true label"
            )


def _may_be_truth(cells: Dense) -> bool:
    """Whether cells may say that some lines are not true: marks, words for both among others, or grades from 0 on."""
    found = {_MARKS.get(str(cell).strip().lower()) for cell in cells.tolist()}
    if None not in found:  # nothing but marks; "true" in every line tells nothing
        return "false" in found or len(found) > 1
    if cells.dtype.kind in "OU":
        return {"true", "false"} <= found
    grades = cells[~np.isnan(cells)]
    are_grades = np.isin(grades, range(_HIGHEST_GRADE + 1)).all()
    return bool(are_grades and (grades == 0).any())


# What columns are called that tell lines apart, and say nothing of what is true.
_OF_LINES = (*ROWS, *FILES, *STARTS, *ENDS, *WEIGHTS, "fold", "split")
_HIGHEST_GRADE = 5
# What marks in truth are, as text in lower case.
_MARKS = {
    **dict.fromkeys(
        ("1", "1.0", "true", "t", "yes", "y", "ja", "j", "x", "present", "positive", "pos"), "true"
    ),
    **dict.fromkeys(
        ("0", "0.0", "false", "f", "no", "n", "nein", "absent", "negative", "neg"), "false"
    ),
    **dict.fromkeys(
        ("-1", "-1.0", "0.5", "", "none", "nan", "na", "null", *UNCLEAR),
        "unknown",
    ),
}
