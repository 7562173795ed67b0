"""Single NumPy arrays of scores, mapped into memory."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np
from numpy.lib import format as npy

from thresholds._arrays.types import Dense
from thresholds._checks import InputError
from thresholds.files.arrays.mapped import Parts, Place
from thresholds.files.source import (
    PART_CELLS,
    Block,
    Source,
    Wanted,
    refuse_columns,
    refuse_other_numbers,
    row_slices,
)


class NpySource(Source):
    """An array of scores, or of truth alone: it does not say which."""

    def __init__(self, path: Path, wanted: Wanted, *, truth_only: bool = False) -> None:
        self.name = path.name
        self.score_key = path.stem
        cells = npy.open_memmap(path, mode="r")
        if cells.ndim not in (1, 2) or not cells.size:
            raise InputError(
                f"{path} has shape {cells.shape}, expected (n_samples, n_labels), at least one of each"
            )
        refuse_other_numbers(path.name, self.score_key, cells.dtype)
        refuse_columns(path.name, wanted)
        # Rows can be found at once where they lie one after another.
        self._place = None
        if cells.flags.c_contiguous:
            self._place = Place(path, cells.dtype, cells.offset, cells.shape)
        self._path = path
        self.n_samples, self.n_labels = self._matrix().shape
        self.label_names = wanted.label_names
        if self.label_names is not None and len(self.label_names) != self.n_labels:
            raise InputError(
                f"--label-names has {len(self.label_names)} names, expected {self.n_labels} as {path.name}"
            )

    def whole(self) -> Block:
        """Return all rows, mapped into memory."""
        return Block(self._matrix(), None, None, None)

    def blocks(self, *, truth: bool = True) -> Iterator[Block]:
        """Return the rows in order."""
        assert self.n_samples is not None
        cells = self._matrix()
        for rows in row_slices(self.n_samples, self.n_labels):
            yield Block(cells[rows], None, None, None)

    def parts(self, n_cells: int = PART_CELLS) -> list[Source]:
        """Return ranges of rows."""
        return [self] if self._place is None else Parts(self._place).of(self, n_cells)

    def _matrix(self) -> Dense:
        """Map the array into memory."""
        cells = npy.open_memmap(self._path, mode="r")
        return cells[:, np.newaxis] if cells.ndim == 1 else cells
