"""Dense scores and truth as the counting loops take them: a block of rows at a time.

A column of a block belongs to one label. In a block of few labels a row holds several rows of the
matrix side by side, so that it is long enough for vector registers. Blocks are used where they are
if they have that form, else copied one at a time, whatever dtype and layout the matrices have; they
stay in or near the second-level cache.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from thresholds._arrays.blocks import ceil_div, in_pieces
from thresholds._arrays.sparse import to_dense
from thresholds._arrays.types import Dense, Ints, Matrix, Scores, Words
from thresholds._engine.unknown import known_weights
from thresholds._kernels.counting import ROWS_AT_ONCE, widen_halves
from thresholds.data.problem import Problem

Number = TypeVar("Number", bound=np.generic)

_MAX_CELLS = 2**19  # of a block
_MIN_COLUMNS = 64
_WORD = 8  # columns, whose truth is read at once
_NOTHING = -np.nan  # Its pattern is a negative number, so that it has the lowest code.


@dataclass(frozen=True)
class Blocks:
    """Some labels of a problem whose scores are dense, and some of its rows, in blocks."""

    problem: Problem
    labels: slice
    rows: slice

    @cached_property
    def n_labels(self) -> int:
        """Number of labels."""
        return int(self.labels.stop - self.labels.start)

    @cached_property
    def n_rows(self) -> int:
        """Number of rows of the matrix."""
        return int(self.rows.stop - self.rows.start)

    @cached_property
    def rows_side_by_side(self) -> int:
        """Number of rows of the matrix that lie side by side in a row of a block."""
        if self.n_labels >= _MIN_COLUMNS or self.problem.unit_weights is not None:
            return 1  # A row of a block has one weight.
        # The least number of rows that fill whole words, as often as makes a row long enough.
        whole_words = _WORD // math.gcd(self.n_labels, _WORD)
        return whole_words * ceil_div(_MIN_COLUMNS, self.n_labels * whole_words)

    @cached_property
    def n_columns(self) -> int:
        """Number of columns, the last of which may belong to no label, in whole words."""
        return ceil_div(self.n_labels * self.rows_side_by_side, _WORD) * _WORD

    @cached_property
    def column_labels(self) -> Ints:
        """The label of each column, (n_columns,), of these labels."""
        return np.arange(self.n_columns) % self.n_labels

    @cached_property
    def block_rows(self) -> int:
        """Number of rows of a block: about as many, or fewer, in the last one."""
        all_rows = ceil_div(self.n_rows, self.rows_side_by_side)
        n_blocks = ceil_div(all_rows * self.n_columns, _MAX_CELLS)
        return padded_rows(ceil_div(all_rows, n_blocks))

    def to_columns(self, label_values: npt.NDArray[Number], filling: float) -> npt.NDArray[Number]:
        """Repeat values (..., n_labels) for every column, (..., n_columns)."""
        n_used = self.n_labels * self.rows_side_by_side
        shape = (*label_values.shape[:-1], self.n_columns)
        column_values = np.full(shape, filling, label_values.dtype)
        column_values[..., :n_used] = np.tile(label_values, self.rows_side_by_side)
        return column_values

    def by_row(self, column_values: npt.NDArray[Number]) -> npt.NDArray[Number]:
        """Take values (..., n_columns) apart into (..., rows_side_by_side, n_labels)."""
        used = column_values[..., : self.n_labels * self.rows_side_by_side]
        return used.reshape(*column_values.shape[:-1], self.rows_side_by_side, self.n_labels)

    def truth(self) -> Iterator[tuple[int, Words]]:
        """Return the number of each block's first row, and its truth in words of eight columns.

        A row without weight has no positives.
        """
        room = np.empty((self.block_rows, self.n_columns), np.uint8)
        for number, rows in enumerate(self.row_slices()):
            truth = self._block(self.problem.truth, rows, room, 0, whole_words=True)
            yield number * self.block_rows, truth.view(np.uint64)

    def scores(self) -> Iterator[Scores]:
        """Return blocks of scores, NaN where there is none, or no truth, or no weight.

        Columns of no label may be missing.
        """
        room = np.empty((self.block_rows, self.n_columns), self.problem.dtype)
        for rows in self.row_slices():
            yield self._block(self.problem.scores, rows, room, _NOTHING, self.problem.unknown)

    def scores_and_truth(self) -> Iterator[tuple[Scores, Words]]:
        """Return blocks of scores with their truth in words of eight columns."""
        for scores, (_, words) in zip(self.scores(), self.truth(), strict=True):
            yield scores, words

    def known(self) -> Ints:
        """Return the number of rows with a weight in which the truth of each label is known, (n_labels,)."""
        given = self.problem.unit_weights
        counted = None if given is None else (given[self.rows] > 0).astype(np.int64)  # (n_rows,)
        if self.problem.unknown is not None:
            return known_weights(self.problem.unknown[self.rows, self.labels], counted)
        return np.full(self.n_labels, self.n_rows if counted is None else counted.sum())

    def row_slices(self) -> Iterator[slice]:
        """Return the rows of the matrix in each block."""
        return in_pieces(self.rows, self.block_rows * self.rows_side_by_side)

    def _block(
        self,
        matrix: Any,
        rows: slice,
        room: Dense,
        filling: float,
        left_out: Matrix | None = None,
        whole_words: bool = False,
    ) -> Dense:
        """Return a piece of a matrix where it is, if that is a block, else copied into the room and filled up.

        Cells that are left out are filled as those that do not exist.
        """
        piece = to_dense(matrix[rows, self.labels])  # (n_rows, n_labels)
        room = room[: padded_rows(ceil_div(len(piece), self.rows_side_by_side))]
        if piece.dtype == np.bool_:
            piece = piece.view(np.uint8)

        # A view costs nothing, and is a block if each row is one and nothing is to be filled up.
        shape = (len(room), self.n_columns if whole_words else self.n_labels)
        has_form = self.rows_side_by_side == 1 and piece.shape == shape and left_out is None
        given = self.problem.unit_weights
        weightless = np.empty(0, np.int64) if given is None else np.flatnonzero(given[rows] == 0)
        has_form &= weightless.size == 0
        if has_form and piece.dtype == room.dtype and piece.flags.carray:
            return piece  # type: ignore[no-any-return]

        # Rows side by side are rows one after another in the same memory.
        room[:, self.n_labels * self.rows_side_by_side :] = filling
        block = room.reshape(-1, self.n_labels) if self.rows_side_by_side > 1 else room
        are_halves = piece.dtype == np.float16 and room.dtype == np.float32
        if are_halves and piece.flags.c_contiguous and piece.flags.aligned:
            widen_halves(piece.view(np.uint16), block.view(np.int32), block)
        else:
            block[: len(piece), : self.n_labels] = piece
        block[len(piece) :] = filling
        block[weightless] = filling
        if left_out is not None:
            cells = to_dense(left_out[rows, self.labels])  # (n_rows, n_labels)
            block[: len(piece), : self.n_labels][cells] = filling
        return room


def padded_rows(n_rows: int) -> int:
    """Return the next number of rows that blocks may have: pieces of as many are used where they are."""
    return ceil_div(n_rows, ROWS_AT_ONCE) * ROWS_AT_ONCE
