"""A table with a row in each line as a source of scores."""

from collections.abc import Iterator, Sequence
from copy import copy
from functools import partial
from typing import Any

import numpy as np

from thresholds._arrays.types import Dense, Floats, Matrix
from thresholds._checks import InputError, listed, names_of_labels, places
from thresholds._checks.cells import label_at
from thresholds.data import label_lists
from thresholds.files import keys
from thresholds.files.source import BLOCK_CELLS, Block, Source, Wanted
from thresholds.files import accounting
from thresholds.files.tables.columns import ListColumn, NamedLists, NoValue
from thresholds.files.tables.roles import ColumnChoice, choose_scores, choose_truth
from thresholds.files.tables.table import Batch, Table
from thresholds.files.tables.truth import Truth, numbers_of, ordered
from thresholds.files.unknown import hint_of
from thresholds.results import counted


class TableRows:
    """Scores of a table, and truth, groups, weights and keys where it has them."""

    def __init__(self, table: Table, wanted: Wanted) -> None:
        self._table = table
        self._wanted = wanted

        # Which columns are what; whatever has no role is listed.
        check_columns(table, wanted)
        because = partial(accounting.because, table, None)
        scores = choose_scores(table, wanted, because)
        accounting.refuse_other_than_numbers(table, scores, "scores")
        if scores.key == "all columns":
            accounting.refuse_scores_called_truth(table)
        truth = choose_truth(table, wanted, scores) if wanted.with_truth else None
        self._account(scores, truth)

        # The labels, and scores and truth in their order.
        self.label_names = _label_names(table, scores, wanted)
        self._scores = ordered(scores, self.label_names)
        self.n_labels = _n_labels(table, self._scores, self.label_names, wanted)
        self._truth: Truth | None = None
        if truth is not None:
            because = partial(accounting.because, table, scores)
            self._truth = Truth(table, truth, self.label_names, self.n_labels, because, wanted)

    def _account(self, scores: ColumnChoice, truth: ColumnChoice | None) -> None:
        """Give every column its role, or a place among those that are left out."""
        table = self._table
        roles: dict[str, Sequence[str | None]] = {
            "scores": scores.columns,
            "truth": () if truth is None else truth.columns,
            "--key": self._wanted.keys,
            "--groups": (self._wanted.groups,),
            "--weights": (self._wanted.weights,),
        }
        accounting.refuse_two_roles(table.name, roles)
        used = {column for columns in roles.values() for column in columns}
        self.left_out = accounting.left_out(table, used)
        if scores.key == "all columns":
            accounting.refuse_mostly_numbers(table, accounting.of_text(table, self.left_out))
        self.notes = (*table.notes, *accounting.assumed(scores), *accounting.noted(self.left_out))

    def source(self) -> Source:
        """Return the rows of the table as a source."""
        truth, table = self._truth, self._table
        return Source(
            name=table.name,
            path=table.path,
            score_key=self._scores.key,
            n_labels=self.n_labels,
            read=self.blocks,
            truth_key=None if truth is None else truth.choice.key,
            label_names=self.label_names,
            key_columns=self._wanted.keys,
            n_samples=table.n_rows,
            n_about=table.n_about,
            first_row=table.first_row,
            about=table.about,
            notes=(*self.notes, *(() if truth is None else truth.notes)),
            left_out=self.left_out,
            dialect=table.dialect,
            of_text=table.of_text,
            has_unknown=truth is not None and self._wanted.unknown is not None,
            read_keys=self.keys,
            first_values=self.first_values,
            because=partial(accounting.because, table, self._scores),
            read_parts=self.parts,
        )

    def blocks(self, with_truth: bool = True) -> Iterator[Block]:
        """Return the rows in order, a few megabytes at a time; without truth where that is not wanted."""
        truth = self._truth if with_truth else None
        columns = [*self._scores.columns, *self.key_columns]
        if truth is not None:
            columns += truth.choice.columns
        columns += [
            name for name in (self._wanted.groups, self._wanted.weights) if name is not None
        ]
        for batch in read_batches(
            self._table,
            columns,
            self._scores,
            self.n_labels,
            self.label_names,
            truth,
            self._wanted,
        ):
            yield Block(
                y_score=self._scores_of(batch),
                y_true=None if truth is None else truth.decode(batch),
                groups=groups_of(batch, self._wanted.groups),
                keys=keys.together([np.asarray(batch.columns[key]) for key in self.key_columns]),
                sample_weight=weights_of(batch, self._wanted.weights),
            )

    @property
    def key_columns(self) -> tuple[str, ...]:
        """The columns of the key."""
        return self._wanted.keys

    def _scores_of(self, batch: Batch) -> Matrix:
        """Return the scores of some rows; those beside names as CSR."""
        if self._scores.form != "named":
            return numbers_of(batch, self._scores, self.n_labels)
        assert self.label_names is not None
        return _by_name(batch, self._scores, self.label_names, self._wanted)

    def parts(self) -> list[Source]:
        """Return the parts of the table, in which columns have the roles that they have here."""
        sources = list[Source]()
        for table in self._table.parts():
            part = copy(self)
            part._table = table
            sources.append(part.source())
        return sources

    def first_values(self, columns: Sequence[str]) -> Iterator[tuple[str, Dense]]:
        """Return columns of whole numbers or text, in the first rows."""
        described = self._table.columns
        flat = [
            column
            for column in columns
            if described[column].form == "flat" and described[column].kind in ("int", "text")
        ]
        for column, batch in self._table.first_rows(flat):
            if batch is not None:
                yield column, np.asarray(batch.columns[column])

    def keys(self) -> Dense:
        """Return the key of every row."""
        return keys_of(self._table, self.key_columns)


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
            f"column {column!r} of {batch.name} has {weights[wrong[0]]:g} at row {batch.first + int(wrong[0])}, expected"
            " a weight that is not negative (--weights)"
        )
    return weights


def _by_name(
    batch: Batch, choice: ColumnChoice, label_names: Sequence[str], wanted: Wanted
) -> Matrix:
    """Return scores that stand beside names as CSR: what is not named in a row has no score there."""
    lists = named_lists(batch, choice)
    what = f"column {choice.columns[0]!r} of {batch.name}"
    index = {label: place for place, label in enumerate(label_names)}
    words = lists.labels.words or ()
    known = np.array([index.get(word, -1) for word in words], np.int64)
    positions = known[lists.labels.values] if known.size else np.empty(0, np.int64)
    offsets = lists.labels.offsets
    cells = lists.scores.values
    kept = positions >= 0
    if not kept.all():
        if wanted.label_names is None:
            others = [word for word, place in zip(words, known, strict=True) if place < 0]
            raise InputError(f"{what} has {listed(others)}, expected the labels of the rule")
        positions, cells = positions[kept], cells[kept]
        offsets = np.append(0, np.cumsum(kept))[offsets]
    ones = label_lists.indicator_of(positions, offsets, len(label_names), what, batch.first)
    # The ones are in the order of the labels: so are the scores put.
    row = np.repeat(np.arange(offsets.size - 1), np.diff(offsets))
    order = np.lexsort((positions, row))
    return type(ones)((cells[order], ones.indices, ones.indptr), shape=ones.shape)


def named_lists(batch: Batch, choice: ColumnChoice) -> NamedLists:
    """Return label names and their scores, which are as many in each row."""
    if len(choice.columns) == 1:
        lists = batch.columns[choice.columns[0]]
        assert isinstance(lists, NamedLists)
        return lists
    labels, scores = (batch.columns[column] for column in choice.columns)
    assert isinstance(labels, ListColumn)
    assert isinstance(scores, ListColumn)
    lengths = np.diff(labels.offsets), np.diff(scores.offsets)
    wrong = np.flatnonzero(lengths[0] != lengths[1])
    if wrong.size:
        at = int(wrong[0])
        raise InputError(
            f"{batch.name} has {lengths[0][at]} names in {choice.columns[0]!r} and {lengths[1][at]} scores in"
            f" {choice.columns[1]!r} at row {batch.first + at}, expected a score for each name"
        )
    return NamedLists(labels, scores)


def read_batches(
    table: Table,
    columns: Sequence[str],
    wide: ColumnChoice | None,
    n_labels: int,
    label_names: Sequence[str] | None,
    truth: "Truth | None",
    wanted: Wanted,
) -> Iterator[Batch]:
    """Read columns, `wide` those of the scores; a cell without a value is refused by its row and label."""
    nullable = set(() if truth is None else truth.nullable)
    if wanted.drop_unscored and wide is not None:
        nullable |= set(wide.columns)
    text = text_columns(wanted, () if truth is None else truth.text)
    try:
        yield from table.batches(list(dict.fromkeys(columns)), n_labels, nullable, text)
    except NoValue as cell:
        of_truth = truth is not None and cell.column in truth.choice.columns
        choice = truth.choice if truth is not None and of_truth else wide
        of_scores = wide is not None and cell.column in wide.columns
        label = ""
        if choice is not None and cell.column in choice.columns:
            label = _label_of(cell, choice, label_names)
        hint = hint_of(None) if truth is not None and of_truth and truth.has_cells else ""
        if of_scores and "--truth" in wanted.offered:
            hint = "; --drop-unscored leaves out rows without scores"
        raise InputError(
            f"column {cell.column!r} of {cell.name} has no value at row {cell.row}{label}, expected one in each row"
            f"{hint}"
        ) from None


def text_columns(wanted: Wanted, more: Sequence[str | None] = ()) -> set[str]:
    """Return the columns that are read as text, where a file has no types."""
    return {name for name in (*wanted.keys, wanted.groups, *more) if name is not None}


def _label_of(cell: NoValue, choice: ColumnChoice, label_names: Sequence[str] | None) -> str:
    """Say which label lacks a value: that of a wide column, or of a place in a list."""
    if choice.form == "wide" and choice.names is not None:
        return f", {label_at(choice.columns.index(cell.column), choice.names)}"
    if cell.place is None or choice.form == "named":
        return ""
    place = cell.place if choice.order is None else choice.order.index(cell.place)
    return f", {label_at(place, label_names)}"


def check_columns(table: Table, wanted: Wanted) -> None:
    """Refuse groups, weights and keys that are not there, or are lists, and keys that are no text or whole numbers."""
    named = (
        ("--groups", wanted.groups),
        ("--weights", wanted.weights),
        *(("--key", key) for key in wanted.keys),
    )
    for option, column in named:
        if column is not None and column not in table.columns:
            raise InputError(
                f"{table.name} has no column {column!r}, expected {option} to be in {listed(table.columns)}"
            )
        if column is not None and table.columns[column].form != "flat":
            raise InputError(
                f"column {column!r} of {table.name} holds {table.columns[column].type}, expected one value in each row"
                f" ({option})"
            )
    if wanted.weights is not None and not table.columns[wanted.weights].is_number:
        holds = table.columns[wanted.weights].type
        raise InputError(
            f"column {wanted.weights!r} of {table.name} holds {holds}, expected numbers (--weights)"
        )
    kinds = keys.KINDS if len(wanted.keys) == 1 else keys.KINDS_OF_SEVERAL
    for key in wanted.keys:
        described = table.columns[key]
        if described.kind not in kinds or described.type.startswith("decimal"):
            raise keys.refuse_kind(table.name, key, described.type)


def keys_of(table: Table, columns: Sequence[str]) -> Dense:
    """Read the key of every row."""
    wanted = Wanted(key=tuple(columns))
    batches = read_batches(table, columns, None, 1, None, None, wanted)
    read: list[Any] = [
        keys.together([np.asarray(batch.columns[column]) for column in columns])
        for batch in batches
    ]
    return np.concatenate(read) if read else np.empty(0, np.int64)


def _label_names(table: Table, scores: ColumnChoice, wanted: Wanted) -> tuple[str, ...] | None:
    """Find the label names: asked for, of the scores' columns, the file's own, what numbers stand for, the rule's."""
    names = wanted.label_names
    if scores.form == "named":
        given = names or wanted.rule_names
        return names_of_labels(given if given is not None else _names_in_lists(table, scores))
    places(names, scores.names, "--label-names", f"the same labels as {table.name}", "")
    class_names = {
        column.names for column in table.columns.values() if column.form == "list" and column.names
    }
    only_class_names = class_names.pop() if len(class_names) == 1 else None
    for candidate in (names, scores.names, table.label_names, only_class_names, wanted.rule_names):
        if candidate is not None:
            return names_of_labels(candidate)
    return None


def _names_in_lists(table: Table, choice: ColumnChoice) -> tuple[str, ...]:
    """Read all names beside scores, in the order of the alphabet."""
    found = set[str]()
    for batch in read_batches(table, choice.columns, choice, 1, None, None, Wanted()):
        found.update(named_lists(batch, choice).labels.words or ())
    if not found:
        raise InputError(f"{table.name} has no names beside its scores, expected some")
    return tuple(sorted(found))


def _n_labels(
    table: Table, scores: ColumnChoice, label_names: tuple[str, ...] | None, wanted: Wanted
) -> int:
    """Count the labels: columns, names, or the length of the first list."""
    column = scores.columns[0]
    width = table.columns[column].width if scores.form == "list" else len(scores.names or ())
    if scores.form == "wide":
        width = len(scores.columns)
    if scores.form == "named":
        width = len(label_names or ())
    if width is None:
        # So many labels that a row is a block: lists may be long, and one tells their length.
        batches = read_batches(table, [column], scores, BLOCK_CELLS, label_names, None, wanted)
        lists: Any = next((batch.columns[column] for batch in batches), None)
        width = 0 if lists is None else int(np.diff(lists.offsets)[0])
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
