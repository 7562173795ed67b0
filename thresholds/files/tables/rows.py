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
from thresholds._checks.labels import alike
from thresholds.data import label_lists
from thresholds.files import accounting, keys
from thresholds.files.source import BLOCK_CELLS, Block, Source, Wanted
from thresholds.files.tables.columns import ListColumn, NamedLists, NoValue
from thresholds.files.tables.roles import ColumnChoice, choose_scores, choose_truth
from thresholds.files.tables.table import Batch, Table
from thresholds.files.tables.truth import Truth, numbers_of, ordered
from thresholds.files.unknown import hint_of
from thresholds.results import counted


def scores_of_rows(table: Table, wanted: Wanted) -> Source:
    """Return scores, and truth, groups, weights and keys where the table has them."""
    check_columns(table, wanted)
    because = partial(accounting.because, table, None)
    try:
        scores = choose_scores(table, wanted, because)
    except InputError:
        # Often a column of text has numbers that are written in another way.
        taken = {*wanted.keys, wanted.groups, wanted.truth}
        texts = accounting.of_text(table, table.columns)
        accounting.refuse_mostly_numbers(table, [key for key in texts if key not in taken])
        raise
    accounting.refuse_other_than_numbers(table, scores, "scores")
    if scores.key == "all columns":
        accounting.refuse_scores_called_truth(table)
    choice = choose_truth(table, wanted, scores) if wanted.with_truth else None
    left_out = _left_out(table, wanted, scores.columns, () if choice is None else choice.columns)
    if scores.key == "all columns":
        accounting.refuse_mostly_numbers(table, accounting.of_text(table, left_out))
        accounting.refuse_scores_left_out(table, scores, left_out)

    # Put scores and truth in the order of the labels.
    names, of_names = _label_names(table, scores, wanted)
    scores = ordered(scores, names)
    n_labels = _n_labels(table, scores, names, wanted)
    because = partial(accounting.because, table, scores)
    truth = None
    has_order = scores.form != "named" or (wanted.label_names or wanted.rule_names) is not None
    if choice is not None:
        truth = Truth(table, choice, names, n_labels, because, wanted, has_order=has_order)
    rows = _Rows(table, wanted, names, n_labels, scores, truth)
    notes = (*accounting.assumed(scores), *accounting.noted(left_out), *of_names)
    return replace(
        rows.source(scores.key, left_out, notes),
        truth_key=None if choice is None else choice.key,
        has_unknown=choice is not None and wanted.unknown is not None,
        has_order=has_order,
        because=because,
    )


def truth_of_rows(table: Table, wanted: Wanted, scores: Source) -> Source:
    """Return the truth of scores in another file; labels that are asked for may be a part of those it has."""
    check_columns(table, wanted)
    named = replace(wanted, label_names=scores.label_names)
    choice = choose_truth(table, named, None)
    assert choice is not None, "a file of truth alone has some, or is refused"
    left_out = _left_out(table, wanted, (), choice.columns)
    names, n_labels, has_order = scores.label_names, scores.n_labels, scores.has_order
    truth = Truth(table, choice, names, n_labels, scores.because, wanted, has_order=has_order)
    if choice.key in ("label columns", "all columns") and wanted.names_of_columns is None:
        accounting.refuse_other_labels(table, choice, left_out, scores, wanted.unknown)
    rows = _Rows(table, wanted, scores.label_names, scores.n_labels, None, truth)
    source = rows.source(choice.key, left_out, accounting.noted(left_out, f" of {table.name}"))
    return replace(source, has_unknown=wanted.unknown is not None)


def _left_out(
    table: Table, wanted: Wanted, scores: Sequence[str], truth: Sequence[str]
) -> dict[str, str]:
    """Give every column its role, or a place among those that are left out."""
    roles: dict[str, Sequence[str | None]] = {
        "scores": scores,
        "truth": truth,
        "--key": wanted.keys,
        "--groups": (wanted.groups,),
        "--weights": (wanted.weights,),
    }
    accounting.refuse_two_roles(table.name, roles)
    return accounting.left_out(table, {name for names in roles.values() for name in names})


@dataclass(frozen=True)
class _Rows:
    """The columns of a table that are read."""

    table: Table
    wanted: Wanted
    label_names: tuple[str, ...] | None
    n_labels: int
    scores: ColumnChoice | None  # None for truth alone
    truth: Truth | None

    def source(self, key: str, left_out: dict[str, str], notes: tuple[str, ...]) -> Source:
        """Return the rows of the table as a source."""
        table = self.table
        of_truth = () if self.truth is None else self.truth.notes
        return Source(
            name=table.name,
            path=table.path,
            score_key=key,
            n_labels=self.n_labels,
            read=self.blocks,
            label_names=self.label_names,
            key_columns=self.wanted.keys,
            n_samples=table.n_rows,
            n_about=table.n_about,
            first_row=table.first_row,
            about=table.about,
            notes=(*table.notes, *notes, *of_truth),
            left_out=left_out,
            dialect=table.dialect,
            of_text=table.of_text,
            read_keys=self.keys,
            first_values=self.first_values,
            read_parts=self.parts,
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
            self.table, columns, self._said_of, self.n_labels, nullable, text
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
            return numbers_of(batch, scores, self.n_labels)
        return _by_name(batch, scores, self.label_names or ())

    def _said_of(self, cell: NoValue) -> str:
        """Say of which label a cell without a value is, and what may be done."""
        truth = self.truth
        if truth is not None and cell.column in truth.choice.columns:
            hint = hint_of(None) if truth.has_cells else "; [] is a row without a true label"
            return (
                f"{_label_of(cell, truth.choice, self.label_names)}, expected one in each row{hint}"
            )
        label, hint = "", ""
        if self.scores is not None and cell.column in self.scores.columns:
            label = _label_of(cell, self.scores, self.label_names)
            if self.scores.form == "mapping":
                hint = "; lists of labels with their scores may lack some labels in a row"
            elif "--truth" in self.wanted.offered:
                hint = "; --drop-unscored leaves out rows without scores"
        return f"{label}, expected one in each row{hint}"

    def parts(self) -> list[Source]:
        """Return the parts of the table, in which columns have the roles that they have here."""
        return [
            replace(
                replace(self, table=table).source("", {}, ()),
                has_unknown=self.truth is not None and self.wanted.unknown is not None,
            )
            for table in self.table.parts()
        ]

    def first_values(self, columns: Sequence[str]) -> Iterator[tuple[str, Dense]]:
        """Return columns of whole numbers or text, in the first rows."""
        described = self.table.columns
        flat = [
            column
            for column in columns
            if described[column].form == "flat" and described[column].kind in ("int", "text")
        ]
        for column, batch in self.table.first_rows(flat).items():
            yield column, np.asarray(batch.columns[column])

    def keys(self) -> Dense:
        """Return the key of every row."""
        wanted = self.wanted
        batches = read_batches(self.table, wanted.keys, self._said_of, text=text_columns(wanted))
        read = [keys_in(batch, wanted.keys) for batch in batches]
        found = [some for some in read if some is not None]
        return np.concatenate(found) if found else np.empty(0, np.int64)


def read_batches(
    table: Table,
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
    index = {label: place for place, label in enumerate(label_names)}
    words = lists.labels.words or ()
    known = np.array([index.get(word, -1) for word in words], np.int64)
    positions = known[lists.labels.values] if known.size else np.empty(0, np.int64)
    offsets = lists.labels.offsets
    cells = lists.scores.values
    kept = positions >= 0  # Others are left out, as a note says.
    positions, cells = positions[kept], cells[kept]
    offsets = np.append(0, np.cumsum(kept))[offsets]
    ones = label_lists.indicator_of(
        positions, offsets, len(label_names), what, batch.first, label_names
    )
    # The ones are in the order of the labels: so are the scores put.
    row = np.repeat(np.arange(offsets.size - 1), np.diff(offsets))
    order = np.lexsort((positions, row))
    return type(ones)((cells[order], ones.indices, ones.indptr), shape=ones.shape)


def _named_lists(batch: Batch, choice: ColumnChoice) -> NamedLists:
    """Return label names and their scores, which are as many in each row."""
    found: Any = [batch.columns[column] for column in choice.columns]
    labels, scores = found[0] if len(found) == 1 else found
    lengths = np.diff(labels.offsets), np.diff(scores.offsets)
    wrong = np.flatnonzero(lengths[0] != lengths[1])
    if wrong.size:
        at = int(wrong[0])
        raise InputError(
            f"{batch.name} has {lengths[0][at]} names in {choice.columns[0]!r} and {lengths[1][at]} scores in"
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


def check_columns(table: Table, wanted: Wanted) -> None:
    """Refuse groups, weights and keys that are not there, or are lists, and keys that are no text or whole numbers."""
    named = (
        ("--groups", wanted.groups),
        ("--weights", wanted.weights),
        *(("--key", key) for key in wanted.keys),
    )
    for option, name in named:
        if name is None:
            continue
        if name not in table.columns:
            raise InputError(
                f"{table.name} has no column {name!r}, expected {option} to be in {listed(table.columns)}"
            )
        column = table.columns[name]
        of = f"column {name!r} of {table.name} holds {column.type}, expected"
        if column.form != "flat":
            raise InputError(f"{of} one value in each row ({option})")
        if option == "--weights" and not column.is_number:
            raise InputError(f"{of} numbers ({option})")
    kinds = keys.KINDS if len(wanted.keys) == 1 else keys.KINDS_OF_SEVERAL
    for key in wanted.keys:
        column = table.columns[key]
        if column.kind not in kinds or column.type.startswith("decimal"):
            raise keys.refuse_kind(table.name, key, column.type)


def _label_names(
    table: Table, scores: ColumnChoice, wanted: Wanted
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
    table: Table, choice: ColumnChoice, wanted: Wanted
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the labels whose scores are read, else all of them in the order of the alphabet, and what is left out."""
    times = Counter[str]()
    nullable = choice.columns[1:] or choice.columns
    batches = read_batches(table, choice.columns, lambda _: ", expected one", nullable=nullable)
    for batch in batches:
        labels = _named_lists(batch, choice).labels
        n_times = np.bincount(labels.values, minlength=len(labels.words or ())).tolist()
        times.update(dict(zip(labels.words or (), n_times, strict=True)))
    if not times:
        raise InputError(f"{table.name} has no names beside its scores, expected some")
    names = names_of_labels(wanted.label_names or wanted.rule_names or tuple(sorted(times)))
    others = [label for label in times if label not in names]
    if not others:
        return names, ()
    if wanted.label_names is None or len(others) == len(times):
        expected = "--label-names" if wanted.label_names is not None else "the rule"
        raise InputError(
            f"column {choice.columns[0]!r} of {table.name} has {listed(others)}{alike(others, names)}, expected the"
            f" labels of {expected}"
        )
    scores = counted(sum(times[label] for label in others), "score")
    labels_left = f"{counted(len(others), 'label')} not in --label-names, {listed(others)}"
    return names, (f"left out of {table.name}: {scores} of {labels_left}{alike(others, names)}",)


def _n_labels(
    table: Table, scores: ColumnChoice, label_names: tuple[str, ...] | None, wanted: Wanted
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
