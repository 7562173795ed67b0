"""Rows of arrays that lie in a file as they are: where they begin there, mapped into memory when they are read."""

from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from thresholds._arrays.blocks import ceil_div
from thresholds._arrays.types import Dense, Ints, Matrix
from thresholds.files.source import Block, Source, row_slices
from thresholds.files.unknown import as_read


class Place(NamedTuple):
    """An array in a file, row by row (C order)."""

    path: Path
    dtype: np.dtype[Any]
    start: int  # in bytes
    shape: tuple[int, ...]

    def array(self) -> Dense:
        """Map the array into memory."""
        if 0 in self.shape:  # of which no map can be made
            return np.empty(self.shape, self.dtype)
        return np.memmap(self.path, self.dtype, "r", self.start, self.shape)

    def rows(self, rows: slice) -> "Place":
        """Return the place of some rows."""
        row = self.dtype.itemsize * int(np.prod(self.shape[1:]))  # bytes
        shape = (rows.stop - rows.start, *self.shape[1:])
        return self._replace(start=self.start + rows.start * row, shape=shape)

    def matrix(self) -> Dense:
        """Map the array into memory as a matrix."""
        cells = self.array()
        return cells[:, np.newaxis] if cells.ndim == 1 else cells


class CsrPlace(NamedTuple):
    """A CSR matrix in a file."""

    data: Place
    indices: Place
    indptr: Ints  # (n_rows + 1,), in memory
    n_labels: int

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and labels."""
        return len(self.indptr) - 1, self.n_labels

    def rows(self, rows: slice) -> "CsrPlace":
        """Return the place of some rows."""
        starts = np.array(self.indptr[rows.start : rows.stop + 1])
        entries = slice(int(starts[0]), int(starts[-1]))
        return CsrPlace(
            self.data.rows(entries), self.indices.rows(entries), starts - starts[0], self.n_labels
        )

    def matrix(self) -> Matrix:
        """Map the entries into memory as a matrix."""
        from scipy import sparse

        indices = self.indices.array().astype(self.indptr.dtype, copy=False)
        return sparse.csr_array((self.data.array(), indices, self.indptr), shape=self.shape)


class Held(NamedTuple):
    """Rows that are in memory."""

    cells: Any

    def rows(self, rows: slice) -> "Held":
        """Return some rows."""
        return Held(self.cells[rows])

    def matrix(self) -> Any:
        """Return the rows."""
        return self.cells


Rows = Place | CsrPlace | Held


class Parts(NamedTuple):
    """What is known of the rows of a source, and how its truth is read."""

    y_score: Place | CsrPlace
    y_true: Rows | None = None
    groups: Dense | None = None
    keys: Dense | None = None
    unknown: object = None  # what stands for truth that is not known, where it is read so

    def of(self, source: Source, n_cells: int) -> list[Source]:
        """Cut the rows of the source into parts of about so many scores."""
        n_samples, n_labels = source.n_samples or 0, source.n_labels
        scores = self.y_score
        n_stored = n_samples * n_labels if isinstance(scores, Place) else scores.data.shape[0]
        n_parts = min(n_samples, ceil_div(max(1, n_stored), n_cells))
        borders = np.linspace(0, n_samples, n_parts + 1).astype(np.int64).tolist()
        return [
            MappedRows(source, self._some(slice(start, stop)), start)
            for start, stop in pairwise(borders)
        ]

    def _some(self, rows: slice) -> "Parts":
        """Return some rows."""
        return Parts(
            self.y_score.rows(rows),
            None if self.y_true is None else self.y_true.rows(rows),
            None if self.groups is None else self.groups[rows],
            None if self.keys is None else self.keys[rows],
            self.unknown,
        )


class MappedRows(Source):
    """Some rows of arrays."""

    def __init__(self, source: Source, parts: Parts, first_row: int) -> None:
        public = {name: value for name, value in vars(source).items() if name[0] != "_"}
        vars(self).update(public)
        self.n_samples, self.first_row = parts.y_score.shape[0], first_row
        self._parts = parts

    def blocks(self, *, truth: bool = True) -> Iterator[Block]:
        """Return the rows in order."""
        assert self.n_samples is not None
        parts = self._parts
        for rows in row_slices(self.n_samples, self.n_labels):
            yield Block(
                y_score=parts.y_score.rows(rows).matrix(),
                y_true=self._truth(rows) if truth else None,
                groups=None if parts.groups is None else parts.groups[rows],
                keys=None if parts.keys is None else parts.keys[rows],
            )

    def keys(self) -> Dense:
        """Return the key of every row."""
        assert self._parts.keys is not None
        return self._parts.keys

    def _truth(self, rows: slice) -> Matrix | None:
        """Return the truth of some rows."""
        if self._parts.y_true is None:
            return None
        truth = self._parts.y_true.rows(rows).matrix()
        if not self.has_unknown:
            return truth
        what = f"truth {self.truth_key!r} of {self.name}"
        first = (self.first_row or 0) + rows.start
        return as_read(truth, self._parts.unknown, what, self.label_names, first)
