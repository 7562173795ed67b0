"""A table as a source of scores: which columns are what, and rows of them as matrices."""

from collections.abc import Callable, Iterator, Sequence
from copy import copy
from functools import partial
from itertools import islice
from typing import Protocol

import numpy as np

from thresholds._arrays.types import Dense, Matrix
from thresholds._checks import InputError, different, listed, names_of_labels, places, shown
from thresholds._checks.cells import label_at
from thresholds._checks.unknown import reads_absent
from thresholds.files import accounting, keys
from thresholds.files.source import BLOCK_CELLS, PART_CELLS, Block, Source, Wanted
from thresholds.files.tables.columns import (
    NUMBERS,
    Batch,
    ColumnChoice,
    ListColumn,
    NoValue,
    Table,
    choose_scores,
    choose_truth,
)
from thresholds.files.tables.decoding import (
    from_names,
    from_positions,
    indicator,
    rectangular,
    stacked,
)
from thresholds.files.unknown import hint_of, is_truth
from thresholds.results import counted

Decode = Callable[[Batch], Matrix]


class TableSource(Source):
    """Scores of a table, and truth, groups and keys where it has them."""

    def __init__(self, table: Table, wanted: Wanted) -> None:
        self._table = table
        self._wanted = wanted
        self.name = table.name
        self.about = table.about
        self.n_samples = table.n_rows
        self.of_text = table.of_text
        self.key_columns = wanted.keys

        # Which columns are what; whatever has no role is listed.
        check_columns(table, wanted)
        scores = choose_scores(
            table.name, table.columns, wanted, partial(accounting.because, table, None)
        )
        accounting.refuse_other_than_numbers(table, scores, "scores")
        if scores.key == "all columns":
            accounting.refuse_scores_called_truth(table)
        truth = (
            choose_truth(table.name, table.columns, wanted, scores) if wanted.with_truth else None
        )
        self._account(scores, truth)

        # The labels, and scores and truth in their order.
        self.score_key = scores.key
        self.label_names = _label_names(table, scores, wanted)
        self._scores = _ordered(scores, self.label_names)
        self.n_labels = _n_labels(table, self._scores, self.label_names, wanted)
        self._truth: Truth | None = None
        if truth is not None:
            self.truth_key = truth.key
            because = partial(accounting.because, table, scores)
            self._truth = Truth(
                table, truth, self.label_names, self.n_labels, because, wanted.unknown
            )
            self.has_unknown = wanted.unknown is not None

    def because(self, label: str) -> str:
        """Say why a label has no scores though there is a column for it."""
        return accounting.because(self._table, self._scores, label)

    def _account(self, scores: ColumnChoice, truth: ColumnChoice | None) -> None:
        """Give every column its role, or a place among those that are left out."""
        table = self._table
        roles = {
            "scores": scores.columns,
            "truth": () if truth is None else truth.columns,
            "--key": self._wanted.keys,
            "--groups": (self._wanted.groups,),
        }
        accounting.refuse_two_roles(table.name, roles)
        used = {column for columns in roles.values() for column in columns}
        self.left_out = accounting.left_out(table, used)
        if scores.key == "all columns":
            accounting.refuse_mostly_numbers(table, accounting.of_text(table, self.left_out))
        self.notes = (*table.notes, *accounting.assumed(scores), *accounting.noted(self.left_out))

    def blocks(self, *, truth: bool = True) -> Iterator[Block]:
        """Return the rows in order, a few megabytes at a time; without truth where that is not wanted."""
        decoder = self._truth if truth else None
        columns = list(self._scores.columns)
        if decoder is not None:
            columns += decoder.choice.columns
        if self._wanted.groups is not None:
            columns.append(self._wanted.groups)
        columns += self.key_columns
        for batch in batches(
            self._table, columns, self._scores, self.n_labels, self.label_names, decoder
        ):
            yield Block(
                y_score=_numbers(batch, self._scores, self.n_labels),
                y_true=None if decoder is None else decoder.decode(batch),
                groups=self._groups(batch),
                keys=keys.together([_flat(batch, column) for column in self.key_columns]),
            )

    def _groups(self, batch: Batch) -> Dense | None:
        """Return the group of each row, where groups are wanted; a blank text is none."""
        column = self._wanted.groups
        if column is None:
            return None
        groups = _flat(batch, column)
        if groups.dtype.kind in "OU":
            blank = np.flatnonzero([not str(group).strip() for group in groups.tolist()])
            if blank.size:
                raise InputError(
                    f"column {column!r} of {self._table.name} has no value at row {batch.first + int(blank[0])},"
                    " expected one in each row"
                )
        return groups

    def parts(self, n_cells: int = PART_CELLS) -> list[Source]:
        """Return the parts of the table, in which columns have the roles that they have here."""
        parts = list[Source]()
        for table in self._table.parts(max(1, n_cells // self.n_labels)):
            part = copy(self)
            part._table, part.n_samples, part.first_row = table, table.n_rows, table.first_row
            parts.append(part)
        return parts

    def first_values(self, columns: Sequence[str]) -> Iterator[tuple[str, Dense]]:
        """Return columns of whole numbers or text, in the first block of rows."""
        described = self._table.columns
        flat = [
            column
            for column in columns
            if described[column].form == "flat" and described[column].kind in ("int", "text")
        ]
        for column, batch in self._table.beginnings(flat):
            if batch is not None:
                yield column, np.asarray(batch.columns[column])

    def keys(self) -> Dense:
        """Return the key of every row."""
        return keys_of(self._table, self.key_columns)


class ReadsTruth(Protocol):
    """What tells which columns are truth, and whether their cells may lack a value."""

    choice: ColumnChoice
    nullable: tuple[str, ...]
    has_cells: bool


class Truth:
    """How the truth of a table is read, for labels that are known."""

    def __init__(
        self,
        table: Table,
        choice: ColumnChoice,
        label_names: tuple[str, ...] | None,
        n_labels: int,
        because: Callable[[str], str],
        unknown: object,
    ) -> None:
        self._names = label_names
        self._n_labels = n_labels
        self._unknown = unknown
        self.nullable: tuple[str, ...] = ()  # columns whose cells may lack a value
        self.has_cells = True  # else lists of the labels that are true
        accounting.refuse_other_than_numbers(table, choice, "0 and 1")
        self.choice = self._matched(table, choice, because)
        if reads_absent(unknown):
            self.nullable = self.choice.columns
        self.decode = self._decoding(table)

    def _matched(
        self, table: Table, choice: ColumnChoice, because: Callable[[str], str]
    ) -> ColumnChoice:
        """Put wide columns into the order of the labels, by name; `because` says why the scores lack one."""
        if choice.form == "list":
            return choice
        if choice.names is None:
            if self._n_labels != 1:
                raise InputError(
                    f"truth {choice.key!r} of {table.name} is one label, expected {self._n_labels}"
                )
            return choice
        if self._names is None:
            raise InputError(
                f"truth {choice.key!r} of {table.name} has label names and the scores have none, expected --label-names"
            )
        if set(choice.names) != set(self._names):
            lacking = [label for label in self._names if label not in choice.names]
            more = [label for label in choice.names if label not in self._names]
            why = accounting.because(table, choice, lacking[0]) if lacking else because(more[0])
            raise InputError(
                f"truth {choice.key!r} of {table.name} {different(choice.names, self._names)}, expected the same labels"
                f" as the scores{why}"
            )
        return _ordered(choice, self._names)

    def _decoding(self, table: Table) -> Decode:
        """Choose how to read the truth."""
        choice = self.choice
        if choice.form != "list":
            return self._zeros_and_ones
        column = choice.columns[0]
        kind = table.columns[column].kind
        names = self._names
        n_labels = self._n_labels
        truth = f"truth {choice.key!r} of {table.name}"

        if kind not in ("text", *NUMBERS, "none"):
            raise InputError(f"{truth} holds {table.columns[column].type}, expected labels")

        # Lists of 0 and 1 for each label.
        has_numbers = kind in NUMBERS or (kind == "none" and self._unknown is not None)
        if has_numbers and self._is_indicator(table, column):
            return self._zeros_and_ones

        # All others have the labels that are true, and cannot say of which it is not known.
        self.has_cells = False
        if self._unknown is not None:
            raise InputError(
                f"--unknown is {shown(self._unknown)} with {truth}, whose lists have the true labels of a row, expected"
                " a cell for each label: 0, 1, or what stands for one that is not known"
            )

        # Lists of the names of a row's labels.
        if kind == "text":
            if names is None:
                raise InputError(f"{truth} has label names, expected --label-names, in order")
            return partial(from_names, column=column, label_names=names)

        # Lists of the positions of a row's labels, perhaps in an order of the file's own.
        if choice.names is None or choice.names == names:
            return partial(from_positions, column=column, n_labels=n_labels, places=None)
        assert names is not None, "there are names if the truth has some"
        index = {label: place for place, label in enumerate(names)}
        if not set(choice.names) <= index.keys():
            raise InputError(
                f"{truth} {different(choice.names, names)}, expected the same labels as the scores"
            )
        order = np.array([index[label] for label in choice.names])
        return partial(from_positions, column=column, n_labels=n_labels, places=order)

    def _zeros_and_ones(self, batch: Batch) -> Matrix:
        """Read a column, or lists as long as there are labels, of 0 and 1."""
        cells = _numbers(batch, self.choice, self._n_labels)
        what = f"truth {self.choice.key!r} of {batch.name}"
        return indicator(cells, what, batch.first, self._names, self._unknown)

    def _is_indicator(self, table: Table, column: str) -> bool:
        """Whether lists are 0/1 for each label: of fixed length or of bools, or seen to be, and no positions."""
        n_labels = self._n_labels
        described = table.columns[column]
        if described.names is not None and described.form == "list" and described.kind == "int":
            return False
        if described.width is not None or described.kind in ("bool", "float"):
            return True
        for batch in islice(batches(table, [column], None, n_labels, None, self), 1):
            lists = batch.columns[column]
            assert isinstance(lists, ListColumn)
            lengths = np.diff(lists.offsets)  # (n_rows,)
            if lists.absent is not None:
                lengths = lengths[~lists.absent]
            # A negative number is no position: as a cell of truth it is refused with a hint.
            fits = is_truth(lists.values, self._unknown) | (lists.values < 0)
            if (lengths != n_labels).any() or not fits.all():
                return False
            if n_labels <= 2 and (lists.values.reshape(-1, n_labels) == np.arange(n_labels)).all():
                raise InputError(
                    f"truth {column!r} of {table.name} has {list(range(n_labels))} in all of the first"
                    f" {len(lengths):,} rows, which may be positions or 0 and 1, expected true and false,"
                    " numbers with a point, or names"
                )
            return True
        return False


def batches(
    table: Table,
    columns: Sequence[str],
    wide: ColumnChoice | None,
    n_labels: int,
    label_names: Sequence[str] | None,
    truth: "ReadsTruth | None" = None,
) -> Iterator[Batch]:
    """Read columns, `wide` those of the scores; a cell without a value is refused by its row and label."""
    nullable = () if truth is None else truth.nullable
    try:
        yield from table.batches(list(dict.fromkeys(columns)), n_labels, nullable)
    except NoValue as cell:
        of_truth = truth is not None and cell.column in truth.choice.columns
        choice = truth.choice if truth is not None and of_truth else wide
        label = ""
        if choice is not None and cell.column in choice.columns:
            label = _label_of(cell, choice, label_names)
        hint = hint_of(None) if truth is not None and of_truth and truth.has_cells else ""
        raise InputError(
            f"column {cell.column!r} of {cell.name} has no value at row {cell.row}{label}, expected one in each row"
            f"{hint}"
        ) from None


def _label_of(cell: NoValue, choice: ColumnChoice, label_names: Sequence[str] | None) -> str:
    """Say which label lacks a value: that of a wide column, or of a place in a list."""
    if choice.form == "wide" and choice.names is not None:
        return f", {label_at(choice.columns.index(cell.column), choice.names)}"
    if cell.place is None:
        return ""
    place = cell.place if choice.order is None else choice.order.index(cell.place)
    return f", {label_at(place, label_names)}"


def check_columns(table: Table, wanted: Wanted) -> None:
    """Refuse groups and keys that are not there, or are lists, and keys that are no text or whole numbers."""
    for option, column in (("--groups", wanted.groups), *(("--key", key) for key in wanted.keys)):
        if column is not None and column not in table.columns:
            raise InputError(
                f"{table.name} has no column {column!r}, expected {option} to be in {listed(table.columns)}"
            )
        if column is not None and table.columns[column].form != "flat":
            raise InputError(
                f"column {column!r} of {table.name} holds lists, expected one value in each row ({option})"
            )
    kinds = keys.KINDS if len(wanted.keys) == 1 else keys.KINDS_OF_SEVERAL
    for key in wanted.keys:
        described = table.columns[key]
        if described.kind not in kinds or described.type.startswith("decimal"):
            raise keys.refuse_kind(table.name, key, described.type)


def keys_of(table: Table, columns: Sequence[str]) -> Dense:
    """Read the key of every row."""
    read = [
        keys.together([_flat(batch, column) for column in columns])
        for batch in batches(table, columns, None, 1, None)
    ]
    found = [some for some in read if some is not None]
    return np.concatenate(found) if found else np.empty(0, np.int64)


def _flat(batch: Batch, column: str) -> Dense:
    """Return a flat column."""
    values = batch.columns[column]
    assert isinstance(values, np.ndarray)
    return values


def _numbers(batch: Batch, choice: ColumnChoice, n_labels: int) -> Dense:
    """Return wide columns, or lists of one length, as a matrix."""
    if choice.form == "wide":
        return stacked(batch, choice.columns)
    matrix = rectangular(batch, choice.columns[0], n_labels)
    return matrix if choice.order is None else matrix[:, choice.order]


def _label_names(table: Table, scores: ColumnChoice, wanted: Wanted) -> tuple[str, ...] | None:
    """Find the label names: asked for, of the scores' columns, the file's own, what numbers stand for, the rule's."""
    names = wanted.label_names
    places(names, scores.names, "--label-names", f"the same labels as {table.name}", "")
    class_names = {
        column.names for column in table.columns.values() if column.form == "list" and column.names
    }
    only_class_names = class_names.pop() if len(class_names) == 1 else None
    for candidate in (names, scores.names, table.label_names, only_class_names, wanted.rule_names):
        if candidate is not None:
            return names_of_labels(candidate)
    return None


def _ordered(choice: ColumnChoice, label_names: tuple[str, ...] | None) -> ColumnChoice:
    """Put wide columns, or the labels of mappings, into the order of the label names."""
    if label_names is None or choice.form == "list":
        return choice
    positions = places(choice.names, label_names, choice.key, "the same labels")
    if positions is None:
        return choice
    order = tuple(positions.tolist())
    if choice.form == "mapping":
        return choice._replace(names=label_names, order=order)
    return choice._replace(names=label_names, columns=tuple(choice.columns[k] for k in order))


def _n_labels(
    table: Table, scores: ColumnChoice, label_names: tuple[str, ...] | None, wanted: Wanted
) -> int:
    """Count the labels: columns, names, or the length of the first list."""
    column = scores.columns[0]
    width = table.columns[column].width if scores.form == "list" else len(scores.names or ())
    if scores.form == "wide":
        width = len(scores.columns)
    if width is None:
        # So many labels that a row is a block: lists may be long, and one tells their length.
        single_rows = batches(table, [column], scores, BLOCK_CELLS, label_names)
        lists = next((batch.columns[column] for batch in single_rows), None)
        width = 0 if lists is None else int(np.diff(lists.offsets)[0])  # type: ignore[union-attr]
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
