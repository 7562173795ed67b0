"""A table with a row in each line as a source: of scores, or of the truth of scores in another file."""

from collections import Counter
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from thresholds._arrays.types import Dense, Floats, Matrix
from thresholds._checks import InputError, listed, names_of_labels, places
from thresholds._checks.cells import label_at
from thresholds._results.words import counted
from thresholds.data import label_lists
from thresholds.files import accounting, keys
from thresholds.files.order import FileLabels, are_sorted_as_text
from thresholds.files.source import BLOCK_CELLS, Block, Source, Wanted
from thresholds.files.tables.columns import NUMBERS, Kind, ListColumn, NamedLists, NoValue
from thresholds.files.tables.roles import (
    ColumnChoice,
    choose_scores,
    choose_truth,
    described,
    of_labels,
)
from thresholds.files.tables.table import Batch, FileTable
from thresholds.files.tables.truth import (
    TruthColumns,
    labels_in_text,
    numbers_of,
    ordered,
    places_of,
    times_of,
    truth_of,
    without_others,
)
from thresholds.files.unknown import hint_of


def scores_of_rows(table: FileTable, wanted: Wanted) -> Source:
    """Return scores, and truth, groups, weights and keys where the table has them."""
    check_columns(table, wanted)
    because = partial(accounting.because, table, None)
    try:
        scores = choose_scores(table, wanted, because)
    except InputError:
        # Often a column of text has numbers that are written in another way.
        taken = {*wanted.keys, wanted.groups, wanted.truth}
        are_lists = any(
            column.form != "flat" and column.kind == "float" for column in table.columns.values()
        )
        if wanted.scores is None and not are_lists:
            accounting.refuse_mostly_numbers(
                table, [key for key in table.columns if key not in taken]
            )
        raise
    scores = of_labels(scores, wanted.names_of_columns)
    accounting.refuse_other_than_numbers(table, scores, "scores")
    if scores.key == "all columns":
        accounting.refuse_scores_called_truth(table)
    choice = choose_truth(table, wanted, scores) if wanted.with_truth else None
    if choice is not None:
        choice = of_labels(choice, wanted.names_of_columns)
    roles = {"scores": scores.columns, "truth": () if choice is None else choice.columns}
    left_out = accounting.left_out(table, wanted, roles)
    notes = accounting.noted(left_out)
    if scores.key == "all columns":
        accounting.refuse_mostly_numbers(table, left_out)
        accounting.refuse_scores_left_out(table, scores, left_out)
        notes = (f"every column of numbers is a label: {listed(scores.columns)}", *notes)

    # Put scores and truth in the order of the labels.
    if scores.form == "list" and scores.names is None:
        scores = scores._replace(names=table.label_names)
    names, of_names = _label_names(table, scores, wanted)
    scores = ordered(scores, names)
    n_labels = _n_labels(table, scores, names, wanted)
    are_named = (wanted.label_names or wanted.rule_names) is not None
    labels = FileLabels(names, n_labels, are_named or _have_order(table, scores))
    because = partial(accounting.because, table, scores)
    truth = None if choice is None else truth_of(table, choice, labels, because, wanted)
    return _TableRows(table, wanted, labels, scores, truth).source(
        scores.key,
        truth_key=None if choice is None else choice.key,
        left_out=left_out,
        notes=(*table.notes, *notes, *of_names, *(() if truth is None else truth.notes)),
        because=because,
    )


def truth_of_rows(table: FileTable, wanted: Wanted, scores: Source) -> Source:
    """Return the truth of scores in another file; labels that are asked for may be a part of those it has."""
    check_columns(table, wanted)
    named = replace(wanted, label_names=scores.label_names)
    choice = choose_truth(table, named, None)
    if choice is None:
        options = "; --truth-column names a column, --true-words what is true in columns of text"
        options = labels_in_text(table, scores.label_names or ()) or options
        raise InputError(
            f"{table.name} has no truth, expected it in a column y_true, in lists or in columns of 0 and 1; it has"
            f" {described(table.columns)}{options}"
        )
    choice = of_labels(choice, wanted.names_of_columns)
    left_out = accounting.left_out(table, wanted, {"truth": choice.columns})
    labels = FileLabels(scores.label_names, scores.n_labels, scores.has_order)
    truth = truth_of(table, choice, labels, scores.because, wanted)
    if choice.key in ("label columns", "all columns") and wanted.names_of_columns is None:
        accounting.refuse_other_labels(table, choice, left_out, scores, wanted.unknown)
    of_columns = accounting.noted(left_out, f" of {table.name}")
    return _TableRows(table, wanted, labels, None, truth).source(
        choice.key,
        left_out=left_out,
        notes=(*table.notes, *of_columns, *truth.notes),
    )


def _have_order(table: FileTable, scores: ColumnChoice) -> bool:
    """Whether labels stand in an order that tells their positions.

    Those beside scores do not, nor do the keys of objects of JSON where the likeliest is the first, nor numbers that
    are sorted as text: 1, 10, 2.
    """
    if scores.form == "list":
        return True
    if scores.form == "named" or (scores.form == "mapping" and _fall(table, scores)):
        return False
    return not are_sorted_as_text(scores.names or ())


def _fall(table: FileTable, scores: ColumnChoice) -> bool:
    """Whether the scores of the first object of JSON only fall, and its labels are in no order of their own."""
    names = list(scores.names or ())
    if not table.is_loose or names == sorted(names):
        return False
    for batch in table.first_rows(scores.columns, scores.columns).values():
        rows = numbers_of(batch, scores, len(names))  # (n_rows, n_labels)
        first = rows[~np.isnan(rows).any(axis=1)][:1]
        return bool((np.diff(first) <= 0).all())
    return False


@dataclass(frozen=True)
class _TableRows:
    """The columns of a table that are read."""

    table: FileTable
    wanted: Wanted
    labels: FileLabels
    scores: ColumnChoice | None  # None for truth alone
    truth: TruthColumns | None

    def source(self, score_key: str = "", **told: Any) -> Source:
        """Return the rows of the table as a source, with what is told of it."""
        table = self.table
        return Source(
            name=table.name,
            path=table.path,
            score_key=score_key,
            n_labels=self.labels.number,
            read=self.blocks,
            label_names=self.labels.names,
            has_order=self.labels.has_order,
            is_named=self.scores is not None and self.scores.form == "named",
            key_columns=self.wanted.keys,
            n_samples=table.n_rows,
            n_about=table.n_about,
            first_row=table.first_row,
            about=table.about,
            dialect=table.dialect,
            of_text=table.of_text,
            has_unknown=self.truth is not None and self.wanted.unknown is not None,
            read_keys=self.keys,
            first_values=self.first_values,
            read_parts=self.parts,
            **told,
        )

    def blocks(self, with_truth: bool = True) -> Iterator[Block]:
        """Return the rows in order, a few megabytes at a time; without truth where that is not wanted."""
        wanted = self.wanted
        truth = self.truth if with_truth or self.scores is None else None
        columns = [*wanted.keys, *filter(None, (wanted.groups, wanted.weights))]
        nullable: set[str] = set()
        if self.scores is not None:
            columns += self.scores.columns
            nullable |= set(self.scores.columns if wanted.drop_unscored else ())
        if truth is not None:
            columns += truth.choice.columns
            nullable |= set(truth.nullable)
        text = text_columns(wanted, () if truth is None else truth.text)
        for batch in read_batches(
            self.table, columns, self._said_of, self.labels.number, nullable, text
        ):
            y_true = None if truth is None else truth.decode(batch)
            y_score: Any = y_true if self.scores is None else self._scores_of(batch, self.scores)
            yield Block(
                y_score=y_score,
                y_true=None if self.scores is None else y_true,
                groups=groups_of(batch, wanted.groups),
                keys=keys_in(batch, wanted.keys),
                sample_weight=weights_of(batch, wanted.weights),
            )

    def _scores_of(self, batch: Batch, scores: ColumnChoice) -> Matrix:
        """Return the scores of some rows; those beside names as CSR."""
        if scores.form != "named":
            return numbers_of(batch, scores, self.labels.number)
        return _by_name(batch, scores, self.labels.names or ())

    def _said_of(self, cell: NoValue) -> str:
        """Say of which label a cell without a value is, and what may be done."""
        truth = self.truth
        if truth is not None and cell.column in truth.choice.columns:
            hint = hint_of(None) if truth.has_cells else "; [] is a row without a true label"
            return f"{_label_of(cell, truth.choice, self.labels.names)}, expected one in each row{hint}"
        label, hint = "", ""
        if self.scores is not None and cell.column in self.scores.columns:
            label = _label_of(cell, self.scores, self.labels.names)
            if self.scores.form == "mapping":
                hint = "; lists of labels with their scores may lack some labels in a row"
            elif "--truth" in self.wanted.offered:
                hint = "; --drop-unscored leaves out rows without scores"
        return f"{label}, expected one in each row{hint}"

    def parts(self) -> list[Source]:
        """Return the parts of the table, in which columns have the roles that they have here."""
        return [replace(self, table=table).source() for table in self.table.parts()]

    def first_values(self, columns: Sequence[str]) -> Iterator[tuple[str, Dense]]:
        """Return columns of whole numbers or text, in the first rows, as text where a file has no types."""
        table = self.table
        flat = [column for column in columns if table.columns[column].is_flat("int", "text")]
        for column, batch in table.first_rows(flat, text=flat).items():
            yield column, np.asarray(batch.columns[column])

    def keys(self) -> Dense:
        """Return the key of every row."""
        wanted = self.wanted
        batches = read_batches(self.table, wanted.keys, self._said_of, text=text_columns(wanted))
        read = [keys_in(batch, wanted.keys) for batch in batches]
        found = [some for some in read if some is not None]
        return np.concatenate(found) if found else np.empty(0, np.int64)


def read_batches(
    table: FileTable,
    columns: Sequence[str],
    said_of: Callable[[NoValue], str],
    n_labels: int = 1,
    nullable: Collection[str] = (),
    text: Collection[str] = (),
) -> Iterator[Batch]:
    """Read columns; a cell without a value is refused by its row, and `said_of` says more of it."""
    try:
        yield from table.batches(list(dict.fromkeys(columns)), n_labels, nullable, text)
    except NoValue as cell:
        where = f"column {cell.column!r} of {cell.name} has no value at row {cell.row}"
        raise InputError(f"{where}{said_of(cell)}") from None


def text_columns(wanted: Wanted, more: Sequence[str | None] = ()) -> set[str]:
    """Return the columns that are read as text, where a file has no types."""
    return {name for name in (*wanted.keys, wanted.groups, *more) if name is not None}


def keys_in(batch: Batch, columns: Sequence[str]) -> Dense | None:
    """Return the key of each row, where one is wanted."""
    return keys.together([np.asarray(batch.columns[column]) for column in columns])


def groups_of(batch: Batch, column: str | None) -> Dense | None:
    """Return the group of each row, where groups are wanted; a blank text is none."""
    if column is None:
        return None
    groups = np.asarray(batch.columns[column])
    if groups.dtype.kind in "OU":
        blank = np.flatnonzero([not str(group).strip() for group in groups.tolist()])
        if blank.size:
            raise InputError(
                f"column {column!r} of {batch.name} has no value at row {batch.first + int(blank[0])},"
                " expected one in each row"
            )
    return groups


def weights_of(batch: Batch, column: str | None) -> Floats | None:
    """Return the weight of each row, where weights are wanted."""
    if column is None:
        return None
    weights = np.asarray(batch.columns[column], np.float64)
    wrong = np.flatnonzero(~((weights >= 0) & (weights < np.inf)))
    if wrong.size:
        raise InputError(
            f"column {column!r} of {batch.name} has {weights[wrong[0]]:g} at row {batch.first + int(wrong[0])},"
            " expected finite weights >= 0 (--weights)"
        )
    return weights


def _by_name(batch: Batch, choice: ColumnChoice, label_names: Sequence[str]) -> Matrix:
    """Return scores that stand beside names as CSR: what is not named in a row has no score there."""
    lists = _named_lists(batch, choice)
    what = f"column {choice.columns[0]!r} of {batch.name}"
    positions = places_of(lists.labels.values, lists.labels.words, label_names)
    kept, offsets = without_others(positions, lists.labels.offsets)  # as a note says
    positions, cells = positions[kept], lists.scores.values[kept]
    # This refuses a label that stands twice in a row.
    ones = label_lists.indicator_of(
        positions, offsets, len(label_names), what, batch.first, label_names
    )
    scores = type(ones)((cells, positions, offsets), shape=ones.shape)
    scores.sort_indices()
    return scores


def _named_lists(batch: Batch, choice: ColumnChoice) -> NamedLists:
    """Return label names and their scores, which are as many in each row."""
    found: Any = [batch.columns[column] for column in choice.columns]
    labels, scores = found[0] if len(found) == 1 else found
    lengths = np.diff(labels.offsets), np.diff(scores.offsets)
    wrong = np.flatnonzero(lengths[0] != lengths[1])
    if wrong.size:
        at = int(wrong[0])
        raise InputError(
            f"{batch.name} has {counted(lengths[0][at], 'name')} in {choice.columns[0]!r} and"
            f" {counted(lengths[1][at], 'score')} in"
            f" {choice.columns[-1]!r} at row {batch.first + at}, expected a score for each name"
        )
    return NamedLists(labels, scores)


def _label_of(cell: NoValue, choice: ColumnChoice, label_names: Sequence[str] | None) -> str:
    """Say which label lacks a value: that of a wide column, or of a place in a list."""
    if choice.form == "wide" and choice.names is not None:
        return f", {label_at(choice.columns.index(cell.column), choice.names)}"
    if cell.place is None or choice.form == "named":
        return ""
    place = cell.place if choice.order is None else choice.order.index(cell.place)
    return f", {label_at(place, label_names)}"


def check_columns(table: FileTable, wanted: Wanted) -> None:
    """Refuse groups, weights and keys that are not there, or are lists, and keys that are no text or whole numbers."""
    check_column(table, wanted.groups, "--groups")
    check_column(table, wanted.weights, "--weights", "numbers", NUMBERS)
    kinds = keys.KINDS if len(wanted.keys) == 1 else keys.KINDS_OF_SEVERAL
    for key in wanted.keys:
        check_column(table, key, "--key")
        column = table.columns[key]
        if column.kind not in kinds or column.type.startswith("decimal"):
            raise keys.refuse_kind(table.name, key, column.type)


def check_column(
    table: FileTable,
    name: str | None,
    option: str,
    expected: str = "",
    kinds: Sequence[Kind] | None = None,
) -> None:
    """Refuse a column that is not there, is one of lists, or holds another kind of values than is expected."""
    if name is None:
        return
    if name not in table.columns:
        raise InputError(
            f"{table.name} has no column {name!r}, expected {option} to be in {listed(table.columns)}"
        )
    column = table.columns[name]
    if column.form != "flat":
        expected = "one value in each row"
    elif kinds is None or column.kind in kinds:
        return
    raise InputError(
        f"column {name!r} of {table.name} holds {column.type}, expected {expected} ({option})"
    )


def _label_names(
    table: FileTable, scores: ColumnChoice, wanted: Wanted
) -> tuple[tuple[str, ...] | None, tuple[str, ...]]:
    """Find the label names: asked for, of the scores' columns, the file's own, what numbers stand for, the rule's.

    Beside them a note stands, where names beside scores are left out.
    """
    names = wanted.label_names
    if scores.form == "named":
        return _names_in_lists(table, scores, wanted)
    places(names, scores.names, "--label-names", f"the same labels as {table.name}", "")
    class_names = {
        column.names for column in table.columns.values() if column.form == "list" and column.names
    }
    only_class_names = class_names.pop() if len(class_names) == 1 else None
    for candidate in (names, scores.names, table.label_names, only_class_names, wanted.rule_names):
        if candidate is not None:
            return names_of_labels(candidate), ()
    return None, ()


def _names_in_lists(
    table: FileTable, choice: ColumnChoice, wanted: Wanted
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the labels whose scores are read, else all of them in the order of the alphabet, and what is left out."""
    times = Counter[str]()
    nullable = choice.columns[1:] or choice.columns
    batches = read_batches(table, choice.columns, lambda _: ", expected one", nullable=nullable)
    for batch in batches:
        labels = _named_lists(batch, choice).labels
        times.update(times_of(labels))
    if not times:
        raise InputError(f"{table.name} has no names beside its scores, expected some")
    names = names_of_labels(wanted.label_names or wanted.rule_names or tuple(sorted(times)))
    what = f"column {choice.columns[0]!r} of {table.name}"
    of = "--label-names" if wanted.label_names is not None else "the rule"
    return names, accounting.labels_left_out(what, times, "score", names, wanted, of)


def _n_labels(
    table: FileTable, scores: ColumnChoice, label_names: tuple[str, ...] | None, wanted: Wanted
) -> int:
    """Count the labels: columns, names, or the length of the first list."""
    if scores.form == "named":
        return len(label_names or ())
    column = scores.columns[0]
    width = len(scores.columns) if scores.form == "wide" else table.columns[column].width
    if width is None:
        # So many labels that a row is a block: lists may be long, and one tells their length.
        batches = table.batches([column], BLOCK_CELLS, [column])
        width = 0
        for batch in batches:
            lists = batch.columns[column]
            assert isinstance(lists, ListColumn)
            width = int(np.diff(lists.offsets).max(initial=0))
            if width or not wanted.drop_unscored:
                break
    if width == 0:
        raise InputError(
            f"{table.name} has no scores in the first row, expected at least one row and one label"
        )
    if label_names is not None and len(label_names) != width:
        of_rule = wanted.label_names is None and label_names == wanted.rule_names
        raise InputError(
            f"scores {scores.key!r} of {table.name} have {counted(width, 'label')}, expected {len(label_names)}, as"
            f" {'the rule has' if of_rule else 'there are label names'}"
        )
    return width
