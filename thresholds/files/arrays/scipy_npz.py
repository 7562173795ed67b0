"""Sparse matrices that `scipy.sparse.save_npz` wrote, one in each file: of scores, or of truth."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from thresholds._arrays.types import Matrix
from thresholds._checks import InputError, shown
from thresholds.errors import need
from thresholds.files.arrays.archive import MOST_EMPTY, Archive
from thresholds.files.arrays.mapped import Parts
from thresholds.files.arrays.npz import NpzSource
from thresholds.files.source import (
    PART_CELLS,
    Block,
    Source,
    Wanted,
    refuse_columns,
    refuse_other_numbers,
)

_FORMATS = ("csr", "csc", "coo")
_CSR = ""  # under which the arrays of the only matrix are found: they have no prefix


def open_npz(path: Path, wanted: Wanted, *, truth_only: bool = False) -> Source:
    """Open an archive of named arrays, or of one sparse matrix."""
    archive = Archive(path)
    named = any(key.startswith(("y_score", "y_true")) for key in archive.files)
    if not named and {"format", "shape", "data"} <= set(archive.files):
        return SciPySource(path, archive, wanted)
    return NpzSource(path, archive, wanted, truth_only=truth_only)


class SciPySource(Source):
    """A sparse matrix of scores, or of truth alone: the file does not say which."""

    def __init__(self, path: Path, archive: Archive, wanted: Wanted) -> None:
        need("scipy", f"the sparse matrix of {path}")
        self.name, self.score_key = path.name, path.stem
        self._archive = archive
        self._format = (
            self._archive.array("format").reshape(-1)[:1].astype("S").tolist()[0].decode("latin-1")
        )
        if self._format not in _FORMATS:
            raise InputError(
                f"{path.name} has a matrix in the format {shown(self._format)}, expected {', '.join(_FORMATS)}"
            )
        refuse_columns(path.name, wanted)
        self.n_samples, self.n_labels = self._archive.sparse_shape(_CSR)
        self._refuse_odd_shape()
        refuse_other_numbers(path.name, self.score_key, self._archive.header("data").dtype)
        self.label_names = wanted.label_names
        if self.label_names is not None and len(self.label_names) != self.n_labels:
            raise InputError(
                f"--label-names has {len(self.label_names)} names, expected {self.n_labels} as {path.name}"
            )

    def whole(self) -> Block:
        """Return all rows."""
        return Block(self._matrix(), None, None, None)

    def blocks(self, *, truth: bool = True) -> Iterator[Block]:
        """Return the rows in order; CSR is read as a stream, other formats whole."""
        if self._format == "csr":
            for scores in self._archive.row_blocks(_CSR):
                yield Block(scores, None, None, None)
        else:
            yield self.whole()

    def parts(self, n_cells: int = PART_CELLS) -> list[Source]:
        """Return ranges of rows where CSR is stored as it is."""
        place = self._archive.place(_CSR) if self._format == "csr" else None
        return [self] if place is None else Parts(place).of(self, n_cells)

    def _refuse_odd_shape(self) -> None:
        """Refuse a matrix without cells, and one of more rows than its entries, few as they are, can have."""
        assert self.n_samples is not None
        if self.n_samples < 1 or self.n_labels < 1:
            shape = (self.n_samples, self.n_labels)
            raise InputError(
                f"{self.name} has shape {shape}, expected at least one row and one label"
            )
        most = int(self._archive.header("data").shape[0]) + MOST_EMPTY
        if self._format != "csr" and self.n_samples > most:
            raise self._malformed(
                f"it has {self.n_samples:,} rows, expected at most {most:,} of so few entries"
            )

    def _matrix(self) -> Matrix:
        """Read the matrix, and turn it into CSR."""
        if self._format == "csr":
            return self._archive.matrix(_CSR)
        from scipy import sparse

        names = ("data", "indices", "indptr") if self._format == "csc" else ("data", "row", "col")
        lacking = [name for name in names if name not in self._archive.files]
        if lacking:
            raise InputError(
                f"{self.name} lacks {lacking[0]}, expected the arrays of a {self._format.upper()} matrix"
            )
        data, first, second = (self._archive.array(name) for name in names)
        shape = (self.n_samples, self.n_labels)
        if first.dtype.kind not in "iu" or second.dtype.kind not in "iu":
            raise self._malformed("its indices are no whole numbers")
        try:
            stored: Any
            if self._format == "csc":
                stored = sparse.csc_array((data, first, second), shape=shape)
                stored.check_format(full_check=True)
            else:
                stored = sparse.coo_array((data, (first, second)), shape=shape)
            found = stored.tocsr()
        except (ValueError, TypeError) as error:
            raise self._malformed(error) from None
        if found.nnz != len(data):
            raise self._malformed("it has a cell twice")
        return found

    def _malformed(self, error: object) -> InputError:
        """Say that the matrix is none."""
        return InputError(f"{self.name} is a malformed sparse array: {error}")
