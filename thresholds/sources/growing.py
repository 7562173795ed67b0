"""Rows that come block by block, checked and kept: what `gather` and `Accumulator` stand on.

Cells are kept row by row. Label by label a fit took two thirds of the time, but to write them took a fifth more, and to
compare rules a third more (1,000,000 rows of 200 labels).
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import NamedTuple

import numpy as np

from thresholds import _checks
from thresholds._arrays.sparse import is_sparse
from thresholds._arrays.types import Dense, Floats, Matrix
from thresholds._checks import InputError
from thresholds._checks.labels import Names
from thresholds._checks.unknown import unknown_values
from thresholds._engine.unknown import UNKNOWN, coded
from thresholds.data.growing import Gathered, add_all
from thresholds.sources.rows import Rows, n_rows_of


class CheckedRows(NamedTuple):
    """Rows that can be used: 0/1 truth, with -1 where it is not known, and scores that are numbers."""

    # uint8 or int8 (n_rows, n_labels), dense or CSR; None where only scores are known
    y_true: Matrix | None
    y_score: Matrix  # same shape
    label_names: Names | None
    sample_weight: Floats | None  # (n_rows,), and so are groups
    groups: Dense | None


class GrowingRows:
    """All rows of some blocks, in memory, or in temporary files of a folder, which vanish when they are let go.

    Parameters
    ----------
    label_names : strings, one per label; None for those of the first block, if it is a frame
    missing : score of the entries that sparse scores leave out
    unknown : what stands for truth that is not known in the blocks: "nan", a number, as -1, or several of these
    spill : a folder for temporary files, None to keep rows in memory
    n_rows : how many there will be, where that is known; it saves memory
    without_truth : whether blocks may have scores alone: all of them, or none
    """

    def __init__(
        self,
        *,
        label_names: object = None,
        missing: object = 0.0,
        unknown: object = None,
        spill: str | None = None,
        n_rows: int | None = None,
        without_truth: bool = False,
    ) -> None:
        self.label_names: Names | None = None
        if label_names is not None:
            self.label_names = _checks.names_of_labels(label_names)
        self.missing = _checks.missing(missing, np.dtype(np.float64))
        self.stands_for_unknown = unknown_values(unknown) or None
        self.spill = spill
        self._n_rows = n_rows
        self._without_truth = without_truth
        self._truth = Gathered("y_true", spill, n_rows=n_rows)
        self._scores = Gathered("y_score", spill, n_rows=n_rows)
        self._weights: list[Floats] = []  # of each block (n_rows,), and so are groups
        self._has_weights = False
        self._groups: list[Dense] = []

    def __len__(self) -> int:
        """Return the number of rows."""
        return self._scores.n_rows

    @property
    def n_labels(self) -> int:
        """Number of labels, 0 before the first rows."""
        return self._scores.n_labels

    @property
    def unknown(self) -> int | None:
        """What `y_true` has where the truth is not known: -1, or None where all of it has to be known."""
        return None if self.stands_for_unknown is None else UNKNOWN

    @property
    def kind_of_scores(self) -> str:
        """Dtype of the scores, and whether they are sparse, in words."""
        return self._scores.kind

    @property
    def nbytes(self) -> int:
        """Bytes of all rows, in memory or in files."""
        of_weights = sum(weights.nbytes for weights in self._weights) if self._has_weights else 0
        return self._truth.nbytes + self._scores.nbytes + of_weights

    def add(self, rows: Rows) -> None:
        """Append a block that is not checked, or refuse all of it.

        Raises
        ------
        InputError
            For rows that cannot be used, of another form than those before, or that the disk has no room for.
        """
        if not rows.n_rows and (rows.y_true is None or not n_rows_of(rows.y_true)):
            return
        self.append(self._checked(rows))

    def append(self, rows: CheckedRows) -> None:
        """Append checked rows, all or none."""
        # 1. Put the columns in the order of the rows before.
        known = self.label_names
        if rows.label_names is not None and known is None and len(self):
            expected = "none, as the rows before came without: give label_names at the start"
            raise InputError(
                f"label_names are {_checks.shown(rows.label_names)}, expected {expected}"
            )
        order = _checks.places(
            rows.label_names, known, "label_names", "those of the rows before", ""
        )
        scores = _checks.in_order(rows.y_score, order)
        _checks.one_name_each(known, scores.shape[1])

        # 2. Everything is checked before anything is added.
        _checks.missing(self.missing, scores.dtype)
        self._scores.check(scores)
        self._refuse_some("y_true", rows.y_true is not None, bool(self._truth.n_rows))
        self._refuse_some("groups", rows.groups is not None, bool(self._groups))
        self._refuse_other_groups(rows.groups)
        additions = [(self._scores, scores)]
        if rows.y_true is not None:
            additions.insert(0, (self._truth, _checks.in_order(rows.y_true, order)))

        # 3. Add it.
        with self._refusing_a_full_disk():
            add_all(additions)
        weights = rows.sample_weight
        self._has_weights |= weights is not None
        self._weights.append(np.broadcast_to(1.0, scores.shape[0]) if weights is None else weights)
        if rows.groups is not None:
            self._groups.append(rows.groups)
        self.label_names = known or rows.label_names

    @property
    def y_true(self) -> Matrix | None:
        """All truth, (n_rows, n_labels), read-only; None where only scores are known."""
        return _read_only(self._truth.matrix()) if self._truth.n_rows else None

    @property
    def y_score(self) -> Matrix:
        """All scores, (n_rows, n_labels), read-only."""
        return _read_only(self._scores.matrix())

    @property
    def sample_weight(self) -> Floats | None:
        """All weights, (n_rows,), read-only; None if no block had weights, else 1 in those that had none."""
        return _read_only(np.concatenate(self._weights)) if self._has_weights else None

    @property
    def groups(self) -> Dense | None:
        """The groups of all rows, (n_rows,)."""
        return np.concatenate(self._groups) if self._groups else None

    def all(self) -> CheckedRows:
        """Return all rows."""
        return CheckedRows(
            self.y_true, self.y_score, self.label_names, self.sample_weight, self.groups
        )

    def close(self) -> None:
        """Let go of all rows, and of their files, whoever still holds these rows."""
        self._truth, self._scores = Gathered("y_true"), Gathered("y_score")
        self._weights, self._groups = [], []

    def moved_to(self, spill: str) -> "GrowingRows":
        """Return the same rows in temporary files of a folder."""
        moved = GrowingRows(
            label_names=self.label_names,
            missing=self.missing,
            unknown=self.stands_for_unknown,
            spill=spill,
            n_rows=self._n_rows,
            without_truth=self._without_truth,
        )
        if len(self):
            moved.append(self.all())
        return moved

    def _checked(self, rows: Rows) -> CheckedRows:
        """Check a block, in which all weights may be 0 and no truth known."""
        beside = {"y_score": rows.y_score, "y_true": rows.y_true}
        weights = _checks.aligned_rows(rows.sample_weight, "sample_weight", **beside)
        groups = _checks.aligned_rows(rows.groups, "groups", **beside)
        truth: Matrix | None = None
        if rows.y_true is None and self._without_truth:
            cells, names = _checks.named(rows.y_score, "y_score", self.label_names)
            scores = _checks.scores(cells, label_names=names)
            _checks.one_name_each(names, scores.shape[1])
        else:
            pair = _checks.pair(
                rows.y_true,
                rows.y_score,
                self.label_names,
                unknown=self.stands_for_unknown,
                some_known=False,
            )
            scores, names = pair.scores, pair.label_names
            truth = pair.truth.astype(np.uint8)
            if self.stands_for_unknown is not None:
                truth = coded(pair.truth, pair.unknown)
        n_rows = scores.shape[0]
        if weights is not None:
            _checks.weights_of_rows(weights, n_rows, some=False)
            weights = _checks.plain(weights, "sample_weight").astype(np.float64)
        if groups is not None:
            groups = _groups_of(groups, n_rows)
        return CheckedRows(truth, scores, names, weights, groups)

    def _refuse_some(self, name: str, are_given: bool, were_given: bool) -> None:
        """Refuse a block that has what those before lack, or lacks what they have."""
        if len(self) and are_given != were_given:
            found, expected = ("given", "none") if are_given else ("absent", "some")
            raise InputError(f"{name} is {found}, expected {expected} as in the rows before")

    def _refuse_other_groups(self, groups: Dense | None) -> None:
        """Refuse numbers among names: joined, 1 and "1" would be one group."""
        if groups is not None and self._groups and groups.dtype.kind != self._groups[0].dtype.kind:
            raise InputError(
                f"groups has dtype {groups.dtype}, expected {self._groups[0].dtype} as in the rows before"
            )

    @contextmanager
    def _refusing_a_full_disk(self) -> Iterator[None]:
        """Say where a disk is full, which a file without a name does not tell; rows that were there stay."""
        try:
            yield
        except OSError as error:
            if self.spill is None or error.filename is not None:
                raise
            raise InputError(
                f"spill is {self.spill!r}, which takes no more after {len(self):,} rows"
                f" ({error.strerror}), expected a folder on a larger disk, or None to keep rows in memory"
            ) from None


def _read_only(matrix: Matrix) -> Matrix:
    """Return a matrix that nobody can write to."""
    arrays = [matrix.data, matrix.indices, matrix.indptr] if is_sparse(matrix) else [matrix]
    for array in arrays:
        array.flags.writeable = False
    return matrix


def _groups_of(value: object, n_rows: int) -> Dense:
    """Check the groups of a block: their names or numbers, (n_rows,)."""
    groups = np.array(value)
    if groups.shape != (n_rows,):
        raise InputError(
            f"groups has shape {groups.shape}, expected {n_rows} names or numbers, one for each row"
        )
    return groups
