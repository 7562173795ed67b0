"""Scores joined to truth in another file: by a key, else row by row."""

from collections.abc import Iterator, Mapping
from copy import copy
from dataclasses import replace

import numpy as np

from thresholds._arrays.types import Dense, Matrix
from thresholds._checks import InputError, in_order, places
from thresholds.data.growing import Gathered
from thresholds.files import accounting
from thresholds.files.converting import Converted
from thresholds.files.keys import places_of
from thresholds.files.source import PART_CELLS, Block, Source, Wanted
from thresholds.files.tables.columns import NUMBERS, ColumnChoice, Table, choose_truth
from thresholds.files.tables.long import LongColumns, read_long_truth
from thresholds.files.tables.source import Truth, batches, check_columns, keys_of
from thresholds.files.unknown import as_read
from thresholds.results import counted


class TruthFile:
    """The truth of all rows of a file, read whole, and their keys if rows are to be found by them."""

    def __init__(
        self,
        name: str,
        key: str,
        matrix: Matrix,
        keys: Dense | None,
        notes: tuple[str, ...] = (),
        *,
        has_unknown: bool = False,
        of_entries: bool = False,
    ) -> None:
        self.name, self.key, self.matrix, self.keys, self.notes = name, key, matrix, keys, notes
        self.has_unknown = has_unknown
        self.of_entries = of_entries  # a row that it lacks has no true label

    @classmethod
    def of_table(cls, table: Table, wanted: Wanted, scores: Source) -> "TruthFile":
        """Read the truth of a table, for the labels of the scores; those that are asked for may be a part of it."""
        check_columns(table, wanted)
        choice = choose_truth(
            table.name, table.columns, replace(wanted, label_names=scores.label_names), None
        )
        assert choice is not None, "a file of truth alone has some, or is refused"
        accounting.refuse_two_roles(table.name, {"truth": choice.columns, "--key": wanted.keys})
        left = accounting.left_out(table, {*choice.columns, *wanted.keys})
        truth = Truth(
            table, choice, scores.label_names, scores.n_labels, scores.because, wanted.unknown
        )
        if choice.key in ("label columns", "all columns") and wanted.names_of_columns is None:
            _refuse_other_labels(table, choice, left, scores, wanted.unknown)
        gathered = Gathered(f"truth {choice.key!r} of {table.name}", n_rows=table.n_rows)
        for batch in batches(
            table, truth.choice.columns, None, scores.n_labels, scores.label_names, truth
        ):
            gathered.add(truth.decode(batch))
        if not gathered.n_rows:
            raise InputError(
                f"{table.name} has no rows, expected the truth of those of {scores.name}"
            )
        keys = keys_of(table, wanted.keys) if wanted.keys else None
        return cls(
            table.name,
            choice.key,
            gathered.matrix(),
            keys,
            accounting.noted(left, f" of {table.name}"),
            has_unknown=wanted.unknown is not None,
        )

    @classmethod
    def of_lines(
        cls, table: Table, columns: LongColumns, wanted: Wanted, scores: Source
    ) -> "TruthFile":
        """Read the truth of a table that has one label a line."""
        matrix, keys, notes = read_long_truth(table, columns, wanted, scores)
        return cls(
            table.name,
            columns.truth or columns.label,
            matrix,
            keys,
            notes,
            has_unknown=columns.truth is not None and wanted.unknown is not None,
            of_entries=True,
        )

    @classmethod
    def of_source(cls, source: Source, scores: Source, wanted: Wanted) -> "TruthFile":
        """Take the matrix of an `.npz` or `.npy` for truth."""
        rows = source.whole()
        assert rows is not None, "arrays are read whole"
        if source.more_labels and source.n_labels < scores.n_labels:
            rows.y_score.resize(rows.y_score.shape[0], scores.n_labels)
        elif source.n_labels != scores.n_labels:
            raise InputError(
                f"{source.name} has {source.n_labels} labels, expected {scores.n_labels} as {scores.name}"
            )
        order = places(
            source.label_names, scores.label_names, source.name, f"those of {scores.name}"
        )
        cells = in_order(rows.y_score, order)
        if wanted.unknown is not None:
            what = f"truth {source.score_key!r} of {source.name}"
            cells = as_read(cells, wanted.unknown, what, scores.label_names)
        return cls(
            source.name,
            source.score_key,
            cells,
            source.keys() if wanted.keys else None,
            source.notes,
            has_unknown=wanted.unknown is not None,
        )

    def of_rows(self, matrix: Matrix) -> "TruthFile":
        """Return the truth of some rows alone."""
        some = copy(self)
        some.matrix, some.keys = matrix, None
        return some


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


class Joined(Converted):
    """Scores of one file with truth of another."""

    def __init__(self, source: Source, truth: TruthFile) -> None:
        self._truth = truth
        self._places = None  # (n_samples,) of the rows of scores in the truth; -1 where it has none
        if truth.keys is not None:
            self._places = places_of(
                source.keys(), truth.keys, source.name, truth.name, may_lack=truth.of_entries
            )
        super().__init__(source, *truth.notes, *self._joined())
        self.truth_key = f"{truth.key} of {truth.name}"
        self.has_unknown = truth.has_unknown
        self._refuse_other_length(source.n_samples)

    def blocks(self, *, truth: bool = True) -> Iterator[Block]:
        """Return the rows of the scores in order, with their truth."""
        first = 0
        for block in self._source.blocks(truth=False):
            rows = slice(first, first + block.y_score.shape[0])
            first = rows.stop
            yield block._replace(y_true=self._rows(rows) if truth else None)
        self._refuse_other_length(first)

    def whole(self) -> Block | None:
        """Return all rows at once where the scores are."""
        rows = self._source.whole()
        if rows is None:
            return None
        all_rows = slice(0, rows.y_score.shape[0])
        return rows._replace(y_true=self._rows(all_rows))

    def mapped(self) -> Block | None:
        """Return all rows where the scores are mapped into memory."""
        return None if self._source.mapped() is None else self.whole()

    def parts(self, n_cells: int = PART_CELLS) -> list[Source]:
        """Return the parts of the scores with the truth of their rows; one where numbers of rows are not known."""
        parts = self._source.parts(n_cells)
        if len(parts) == 1 or any(part.n_samples is None for part in parts):
            return [self]
        joined = list[Source]()
        first = 0
        for part in parts:
            assert part.n_samples is not None
            rows = slice(first, first + part.n_samples)
            first = rows.stop
            with_truth = self._of(part)
            assert isinstance(with_truth, Joined)
            with_truth._truth, with_truth._places = self._truth.of_rows(self._rows(rows)), None
            joined.append(with_truth)
        return joined

    def _joined(self) -> tuple[str, ...]:
        """Say by what rows are joined, if by no key, and how many are left over."""
        if self._places is None:
            return (f"{self._truth.name} is joined by row order; --key joins by a column",)
        notes = list[str]()
        n_found = int(np.count_nonzero(self._places >= 0))
        more = self._truth.matrix.shape[0] - n_found
        if more:
            rows = counted(more, "row")
            notes.append(
                f"left out of {self._truth.name}: {rows} whose keys the scores do not have"
            )
        lacking = self._places.size - n_found
        if lacking:
            rows = f"{counted(lacking, 'row')} of {self._places.size:,}"
            notes.append(f"{self._truth.name} has no line for {rows}: no label is true there")
        return tuple(notes)

    def _rows(self, rows: slice) -> Matrix:
        """Return the truth of some rows."""
        if self._places is not None:
            return _taken(self._truth.matrix, self._places[rows])
        return self._truth.matrix[rows]

    def _refuse_other_length(self, n_samples: int | None) -> None:
        """Refuse truth of more or fewer rows, where rows are joined by their order."""
        n_rows = self._truth.matrix.shape[0]
        if self._places is None and n_samples not in (n_rows, None):
            raise InputError(
                f"{self._truth.name} has {n_rows:,} rows, expected {n_samples:,} as {self.name} has; --key joins by a"
                " column"
            )


def _taken(matrix: Matrix, places: Dense) -> Matrix:
    """Return rows of a matrix, sparse if some have no place in it: these are empty."""
    if (places >= 0).all():
        return matrix[places]
    from scipy import sparse

    empty = sparse.csr_array((1, matrix.shape[1]), dtype=matrix.dtype)
    return sparse.vstack([matrix, empty], "csr")[places]
