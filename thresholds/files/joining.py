"""Scores joined to truth in another file: by a key, else row by row."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from thresholds._arrays.sparse import is_sparse
from thresholds._arrays.types import Dense, Floats, Matrix
from thresholds._checks import InputError, in_order, places
from thresholds._checks.unknown import reads_absent
from thresholds._engine.unknown import UNKNOWN
from thresholds.data.growing import Gathered
from thresholds.files.keys import places_of
from thresholds.files.source import Block, Source, Wanted
from thresholds.files import accounting
from thresholds.files.tables.columns import NUMBERS
from thresholds.files.tables.long import LongColumns, read_long_truth
from thresholds.files.tables.roles import ColumnChoice, choose_truth
from thresholds.files.tables.rows import (
    check_columns,
    groups_of,
    keys_of,
    read_batches,
    weights_of,
)
from thresholds.files.tables.table import Table
from thresholds.files.tables.truth import Truth
from thresholds.files.unknown import as_read
from thresholds.results import counted


@dataclass(frozen=True)
class TruthFile:
    """The truth of all rows of a file, read whole, and their keys if rows are to be found by them."""

    name: str
    key: str
    matrix: Matrix  # (n_rows, n_labels)
    keys: Dense | None = None  # (n_rows,), or (n_rows, n_columns); and so are groups and weights
    groups: Dense | None = None
    weights: Floats | None = None
    notes: tuple[str, ...] = ()
    has_unknown: bool = False
    of_entries: bool = False  # a row that it lacks has no true label,
    lacks_unknown: bool = False  # or none that is known

    def places(self, source: Source) -> Dense | None:
        """Return the row of each row of scores in the truth; -1 where it has none; None for the same order."""
        if self.keys is None:
            return None
        return places_of(source.keys(), self.keys, source.name, self.name, may_lack=self.of_entries)


def truth_of_table(table: Table, wanted: Wanted, scores: Source) -> TruthFile:
    """Read the truth of a table, for the labels of the scores; those that are asked for may be a part of it."""
    check_columns(table, wanted)
    others = (*wanted.keys, wanted.groups, wanted.weights)
    choice = choose_truth(
        table, replace(wanted, label_names=scores.label_names), None, taken=others
    )
    assert choice is not None, "a file of truth alone has some, or is refused"
    roles = {
        "truth": choice.columns,
        "--key": wanted.keys,
        "--groups": (wanted.groups,),
        "--weights": (wanted.weights,),
    }
    accounting.refuse_two_roles(table.name, roles)
    left = accounting.left_out(table, {*choice.columns, *others})
    truth = Truth(table, choice, scores.label_names, scores.n_labels, scores.because, wanted)
    if choice.key in ("label columns", "all columns") and wanted.names_of_columns is None:
        _refuse_other_labels(table, choice, left, scores, wanted.unknown)

    # Read all rows.
    n_expected = table.n_rows or table.n_about
    gathered = Gathered(f"truth {choice.key!r} of {table.name}", n_rows=n_expected)
    groups, weights = list[Dense](), list[Dense]()
    columns = [*truth.choice.columns, *(name for name in (wanted.groups, wanted.weights) if name)]
    names = scores.label_names
    for batch in read_batches(table, columns, None, scores.n_labels, names, truth, wanted):
        gathered.add(truth.decode(batch))
        for parts, part in (
            (groups, groups_of(batch, wanted.groups)),
            (weights, weights_of(batch, wanted.weights)),
        ):
            if part is not None:
                parts.append(part)
    if not gathered.n_rows:
        raise InputError(f"{table.name} has no rows, expected the truth of those of {scores.name}")
    return TruthFile(
        table.name,
        choice.key,
        gathered.matrix(),
        keys_of(table, wanted.keys) if wanted.keys else None,
        np.concatenate(groups) if groups else None,
        np.concatenate(weights) if weights else None,
        notes=(*table.notes, *truth.notes, *accounting.noted(left, f" of {table.name}")),
        has_unknown=wanted.unknown is not None,
    )


def truth_of_lines(table: Table, columns: LongColumns, wanted: Wanted, scores: Source) -> TruthFile:
    """Read the truth of a table that has one label a line."""
    truth = read_long_truth(table, columns, wanted, scores)
    return TruthFile(
        table.name,
        columns.truth or columns.label,
        truth.matrix,
        truth.keys,
        truth.groups,
        truth.weights,
        (*table.notes, *truth.notes),
        has_unknown=columns.truth is not None and wanted.unknown is not None,
        of_entries=True,
        lacks_unknown=reads_absent(wanted.unknown),
    )


def truth_of_arrays(source: Source, scores: Source, wanted: Wanted) -> TruthFile:
    """Take the matrix of a file of arrays for truth."""
    rows = source.whole()
    assert rows is not None, "arrays are read whole"
    if source.more_labels and source.n_labels < scores.n_labels:
        rows.y_score.resize(rows.y_score.shape[0], scores.n_labels)
    elif source.n_labels != scores.n_labels:
        raise InputError(
            f"{source.name} has {source.n_labels} labels, expected {scores.n_labels} as {scores.name}"
        )
    order = places(source.label_names, scores.label_names, source.name, f"those of {scores.name}")
    cells = in_order(rows.y_score, order)
    if wanted.unknown is not None:
        what = f"truth {source.score_key!r} of {source.name}"
        cells = as_read(cells, wanted.unknown, what, scores.label_names)
    return TruthFile(
        source.name,
        source.score_key,
        cells,
        source.keys() if wanted.keys else None,
        rows.groups,
        rows.sample_weight,
        source.notes,
        has_unknown=wanted.unknown is not None,
    )


def _refuse_other_labels(
    table: Table, choice: ColumnChoice, left: Mapping[str, str], scores: Source, unknown: object
) -> None:
    """Refuse to leave out the truth of a label that the scores lack."""
    of_truth = accounting.look_like_truth(table, left, unknown)
    for label in left:
        in_scores = scores.left_out.get(label) is not None and table.columns[label].kind in NUMBERS
        if in_scores or label in of_truth:
            why = scores.because(label) or "; --label-names names those to use"
            raise InputError(
                f"truth {choice.key!r} of {table.name} has {label!r}, expected the same labels as the scores{why}"
            )
    accounting.refuse_mostly_numbers(
        table, accounting.of_text(table, left), accounting.is_zero_or_one, "0 or 1"
    )


def joined(source: Source, truth: TruthFile) -> Source:
    """Return scores with the truth of another file, and with its groups and weights."""
    if truth.keys is not None and source.with_rows is not None:
        source = source.with_rows(truth.keys)
    rows = truth.places(source)
    if rows is None:
        _refuse_other_length(source.n_samples, source.name, truth)
    has_whole = source.read_whole is not None
    return replace(
        source,
        read=partial(_blocks, source, truth, rows),
        read_whole=partial(_whole, source, truth, rows) if has_whole else None,
        read_parts=None,
        truth_key=f"{truth.key} of {truth.name}",
        has_unknown=truth.has_unknown,
        notes=(*source.notes, *truth.notes, *_notes(truth, rows)),
    )


def _blocks(
    source: Source, truth: TruthFile, rows: Dense | None, with_truth: bool
) -> Iterator[Block]:
    """Return the rows of the scores in order, with their truth."""
    first = 0
    for block in source.blocks(truth=False):
        some = slice(first, first + block.y_score.shape[0])
        first = some.stop
        yield _with_truth(block, truth, some if rows is None else rows[some], with_truth)
    if rows is None:
        _refuse_other_length(first, source.name, truth)


def _whole(source: Source, truth: TruthFile, rows: Dense | None) -> Block:
    """Return all rows at once."""
    block = source.whole()
    assert block is not None
    everything = slice(0, block.y_score.shape[0])
    return _with_truth(block, truth, everything if rows is None else rows, with_truth=True)


def _with_truth(block: Block, truth: TruthFile, rows: "Dense | slice", with_truth: bool) -> Block:
    """Return some rows of scores with the rows of the truth that are theirs."""
    lacks = not isinstance(rows, slice) and bool((rows < 0).any())
    for option, values in (("--groups", truth.groups), ("--weights", truth.weights)):
        if values is not None and lacks:
            raise InputError(
                f"{truth.name} has no line for some rows of the scores, expected one for each where it has"
                f" {option}"
            )
    return block._replace(
        y_true=_taken(truth, rows) if with_truth else None,
        groups=block.groups if truth.groups is None else truth.groups[rows],
        sample_weight=block.sample_weight if truth.weights is None else truth.weights[rows],
    )


def _taken(truth: TruthFile, rows: "Dense | slice") -> Matrix:
    """Return rows of truth; where it has none, no label is true, or none is known."""
    matrix = truth.matrix
    if isinstance(rows, slice) or (rows >= 0).all():
        return matrix[rows]
    if not is_sparse(matrix):
        elsewhere = UNKNOWN if truth.lacks_unknown else 0
        last = np.full((1, matrix.shape[1]), elsewhere, matrix.dtype)
        return np.concatenate([matrix, last])[rows]
    from scipy import sparse

    empty = sparse.csr_array((1, matrix.shape[1]), dtype=matrix.dtype)
    return sparse.vstack([matrix, empty], "csr")[rows]


def _notes(truth: TruthFile, rows: Dense | None) -> tuple[str, ...]:
    """Say by what rows are joined, if by no key, and how many are left over."""
    if rows is None:
        return (f"{truth.name} is joined by row order; --key joins by a column",)
    notes = list[str]()
    n_found = int(np.count_nonzero(rows >= 0))
    more = truth.matrix.shape[0] - n_found
    if more:
        notes.append(
            f"left out of {truth.name}: {counted(more, 'row')} whose keys the scores do not have"
        )
    lacking = rows.size - n_found
    if lacking:
        meaning = "no label is known there" if truth.lacks_unknown else "no label is true there"
        some = f"{counted(lacking, 'row')} of {rows.size:,}"
        notes.append(f"{truth.name} has no line for {some}: {meaning}")
    return tuple(notes)


def _refuse_other_length(n_samples: int | None, name: str, truth: TruthFile) -> None:
    """Refuse truth of more or fewer rows, where rows are joined by their order."""
    n_rows = truth.matrix.shape[0]
    if n_samples not in (n_rows, None):
        raise InputError(
            f"{truth.name} has {n_rows:,} rows, expected {n_samples:,} as {name} has; --key joins by a"
            " column"
        )
