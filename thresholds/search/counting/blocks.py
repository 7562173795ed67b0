"""Dense scores and truth as the counting loops take them: a block of rows at a time, in rows of lanes.

A lane is a column of a block, of one label. In a block of few labels a row holds several rows of the matrix side by
side, so that it is long enough for vector registers. Blocks are used where they are if they have that form, else copied
one at a time, whatever dtype and layout the matrices have; they stay in or near the second-level cache.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from thresholds._arrays.sparse import is_sparse
from thresholds._arrays.types import Words
from thresholds._kernels.counting import ROWS_AT_ONCE
from thresholds.data.problem import Problem

Number = TypeVar("Number", bound=np.generic)

_BLOCK_CELLS = 2**19
_FEWEST = 64  # lanes
_WORD = 8  # lanes
_NOTHING = -np.nan  # Its pattern is a negative number, so that it has the lowest code.


@dataclass(frozen=True)
class Lanes:
    """Some labels of a problem whose scores are dense, and some of its rows."""

    problem: Problem
    labels: slice
    rows: slice

    @property
    def n_labels(self) -> int:
        """Number of labels."""
        return int(self.labels.stop - self.labels.start)

    @property
    def n_rows(self) -> int:
        """Number of rows of the matrix."""
        return int(self.rows.stop - self.rows.start)

    @property
    def folds(self) -> int:
        """Number of rows of the matrix that lie side by side."""
        if self.n_labels >= _FEWEST:
            return 1
        least = _WORD // math.gcd(self.n_labels, _WORD)  # for whole words
        return least * -(-_FEWEST // (self.n_labels * least))

    @property
    def width(self) -> int:
        """Number of lanes, some of which may belong to no label."""
        return -(-self.n_labels * self.folds // _WORD) * _WORD

    @property
    def label_of_lane(self) -> npt.NDArray[np.int64]:
        """Number of the label of each lane, of these labels."""
        return np.arange(self.width) % self.n_labels

    def spread(self, of_labels: npt.NDArray[Number], filling: float) -> npt.NDArray[Number]:
        """Repeat values (..., n_labels) for every lane."""
        spread = np.full((*of_labels.shape[:-1], self.width), filling, of_labels.dtype)
        spread[..., : self.n_labels * self.folds] = np.tile(of_labels, self.folds)
        return spread

    def by_fold(self, of_lanes: npt.NDArray[Number]) -> npt.NDArray[Number]:
        """Take values (..., width) apart into (..., folds, n_labels)."""
        used = of_lanes[..., : self.n_labels * self.folds]
        return used.reshape(*of_lanes.shape[:-1], self.folds, self.n_labels)

    def truth_blocks(self) -> Iterator[tuple[int, Words]]:
        """Return the place of each block among the rows of lanes, and truth in words of eight lanes."""
        room = np.empty((self.block_rows, self.width), np.uint8)
        for at, rows in self._blocks():
            truth = self._block(self.problem.truth, rows, room, 0, whole_words=True)
            yield at, truth.view(np.uint64)

    def score_blocks(self) -> Iterator[npt.NDArray[Any]]:
        """Return blocks of scores, NaN where there is none; the lanes of no label may be missing."""
        room = np.empty((self.block_rows, self.width), self.problem.dtype)
        for _, rows in self._blocks():
            yield self._block(self.problem.scores, rows, room, _NOTHING)

    def blocks(self) -> Iterator[tuple[npt.NDArray[Any], Words]]:
        """Return blocks of scores with truth in words of eight lanes."""
        for scores, (_, words) in zip(self.score_blocks(), self.truth_blocks(), strict=True):
            yield scores, words

    @property
    def block_rows(self) -> int:
        """Return the number of rows of lanes in a block."""
        wanted = -(-self.n_rows // self.folds)
        rows = min(wanted, max(1, _BLOCK_CELLS // self.width))
        return -(-rows // ROWS_AT_ONCE) * ROWS_AT_ONCE

    def _blocks(self) -> Iterator[tuple[int, slice]]:
        """Return the place of each block and its rows of the matrix."""
        step = self.block_rows * self.folds
        for number, first in enumerate(range(self.rows.start, self.rows.stop, step)):
            yield number * self.block_rows, slice(first, min(first + step, self.rows.stop))

    def _block(
        self, matrix: Any, rows: slice, room: npt.NDArray[Any], filling: float, whole_words: bool = False
    ) -> npt.NDArray[Any]:
        """Return a piece of a matrix where it is, if it has the form of a block, else copy it into the room for one."""
        part = matrix[rows, self.labels]
        if is_sparse(part):
            part = part.toarray()
        if part.dtype == np.bool_:
            part = part.view(np.uint8)
        width = self.width if whole_words else self.n_labels
        if self.folds == 1 and part.shape == (len(room), width) and part.dtype == room.dtype and part.flags.carray:
            return part  # type: ignore[no-any-return]
        room[:, self.n_labels * self.folds :] = filling
        block = room.reshape(-1, self.n_labels) if self.folds > 1 else room
        block[: len(part), : self.n_labels] = part
        block[len(part) :] = filling
        return room
