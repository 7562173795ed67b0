"""Archives of NumPy arrays: mapped into memory where they are stored as they are, else read as a stream.

A `.npz` holds `y_true` and `y_score` (or `y_score_...`), each dense or as the four arrays of a CSR matrix
(`NAME_data`, `NAME_indices`, `NAME_indptr`, `NAME_shape`), and optionally `label_names`, `calib_idx`, `test_idx`.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

from thresholds import _checks
from thresholds._arrays.types import Dense, Ints, Matrix
from thresholds._checks import InputError
from thresholds.files.accounting import noted
from thresholds.files.arrays.archive import CSR_PARTS, Archive
from thresholds.files.arrays.mapped import Held, Parts
from thresholds.files.keys import check_array, together
from thresholds.files.source import PART_CELLS, Block, Source, Wanted, refuse_other_numbers
from thresholds.files.unknown import as_read


class NpzSource(Source):
    """Scores of an archive, and truth, names, splits, groups and keys where it has them."""

    def __init__(
        self, path: Path, archive: Archive, wanted: Wanted, *, truth_only: bool = False
    ) -> None:
        self._archive = archive
        self._unknown = wanted.unknown
        self.name = path.name

        # What is scores and what is truth: of a file of truth alone, truth takes the place of the scores.
        if truth_only:
            self.score_key = _choose_key(path.name, archive, wanted.truth, "y_true")
        else:
            self.score_key = _choose_key(path.name, archive, wanted.scores, "y_score")
            if wanted.with_truth:
                self.truth_key = _truth_key(path.name, archive, wanted.truth)
        self.has_unknown = self.truth_key is not None and wanted.unknown is not None
        self.n_samples, self.n_labels = archive.shape(self.score_key)
        refuse_other_numbers(path.name, self.score_key, archive.dtype(self.score_key))

        # What else the archive has of labels and rows.
        self.label_names = _label_names(path.name, archive, wanted, self.n_labels)
        if not truth_only:
            self.calib_idx = _rows(path.name, archive, "calib_idx", self.n_samples)
            self.test_idx = _rows(path.name, archive, "test_idx", self.n_samples)
        self._groups = _vector(path.name, archive, wanted.groups, self.n_samples, "group")
        self.key_columns = wanted.keys
        self._keys = _keys(path.name, archive, wanted.keys, self.n_samples)

        # Whatever has no role is listed.
        roles = {self.score_key, self.truth_key, wanted.groups, *wanted.keys, "label_names"}
        self.left_out = _left_out(
            archive, roles if truth_only else roles | {"calib_idx", "test_idx"}
        )
        self.notes = noted(self.left_out, f" of {path.name}" if truth_only else "")

    def whole(self) -> Block:
        """Read all; dense arrays that are not compressed are mapped into memory."""
        truth = self._truth()
        return Block(self._archive.matrix(self.score_key), truth, self._groups, self._keys)

    def mapped(self) -> Block | None:
        """Return all rows mapped into memory, unless they are compressed."""
        keys = [self.score_key] if self.truth_key is None else [self.score_key, self.truth_key]
        if self.has_unknown or not all(map(self._archive.is_stored, keys)):
            return None
        return self.whole()

    def blocks(self, *, truth: bool = True) -> Iterator[Block]:
        """Return the rows in order; compressed and sparse scores are read as a stream."""
        y_true = self._truth() if truth else None
        first = 0
        for scores in self._archive.row_blocks(self.score_key):
            rows = slice(first, first + scores.shape[0])
            first = rows.stop
            yield Block(
                y_score=scores,
                y_true=None if y_true is None else y_true[rows],
                groups=None if self._groups is None else self._groups[rows],
                keys=None if self._keys is None else self._keys[rows],
            )

    def parts(self, n_cells: int = PART_CELLS) -> list[Source]:
        """Return ranges of rows where the arrays are stored as they are."""
        scores = self._archive.place(self.score_key)
        if scores is None:
            return [self]
        truth = None
        if self.truth_key is not None:
            place = self._archive.place(self.truth_key)
            truth = Held(self._archive.matrix(self.truth_key)) if place is None else place
            if truth.matrix().shape != (self.n_samples, self.n_labels):
                return [self]  # is refused where it is read
        return Parts(scores, truth, self._groups, self._keys, self._unknown).of(self, n_cells)

    def _truth(self) -> Matrix | None:
        """Read the truth, if there is any."""
        if self.truth_key is None:
            return None
        truth = self._archive.matrix(self.truth_key)
        if not self.has_unknown:
            return truth
        what = f"truth {self.truth_key!r} of {self.name}"
        return as_read(truth, self._unknown, what, self.label_names)

    def first_values(self, columns: Sequence[str]) -> Iterator[tuple[str, Dense]]:
        """Return arrays that have a number or a text for each row, whole."""
        for column in columns:
            header = self._archive.header(column)
            if header.shape == (self.n_samples,) and header.dtype.kind in "iuU":
                yield column, self._archive.array(column)

    def keys(self) -> Dense:
        """Return the key of every row."""
        assert self._keys is not None
        return self._keys


def _matrices(archive: Archive, prefix: str) -> list[str]:
    """List the matrices whose key begins so, dense or CSR."""
    suffixes = tuple(f"_{part}" for part in CSR_PARTS)
    keys = {key for key in archive.files if key.startswith(prefix)}
    dense = {key for key in keys if not key.endswith(suffixes)}
    return sorted(dense | {key.removesuffix("_indptr") for key in keys if key.endswith("_indptr")})


def _left_out(archive: Archive, used: set[str | None]) -> dict[str, str]:
    """Return the arrays without a role, with their dtypes; the four of a CSR matrix count as one."""
    sparse = [key for key in _matrices(archive, "") if key not in archive.files]
    of_sparse = {f"{key}_{part}" for key in sparse for part in CSR_PARTS}
    dtypes = {key: str(archive.header(key).dtype) for key in archive.files if key not in of_sparse}
    dtypes |= dict.fromkeys(sparse, "CSR")
    return {key: dtypes[key] for key in sorted(dtypes) if key not in used}


def _choose_key(name: str, archive: Archive, wanted: str | None, usual: str) -> str:
    """Return the key of a matrix: the one asked for, the usual one, or the only one that begins with that."""
    keys = _matrices(archive, usual)
    what, option = ("scores", "--score-key") if usual == "y_score" else ("truth", "--truth-column")
    if wanted is not None:
        if wanted not in _matrices(archive, ""):
            raise InputError(
                f"{name} has no {what} {wanted!r}, expected one of {', '.join(keys) or 'none'}"
            )
        return wanted
    if usual in keys:
        return usual
    if len(keys) > 1:
        raise InputError(
            f"{name} has the {what} {', '.join(keys)}, expected one of them as {option}"
        )
    if not keys:
        raise InputError(
            f"{name} has no {usual}, expected the {what} under that key, or its name as {option}"
        )
    return keys[0]


def _truth_key(name: str, archive: Archive, wanted: str | None) -> str | None:
    """Return the key of the truth, if there is any."""
    if wanted is not None:
        return _choose_key(name, archive, wanted, "y_true")
    return "y_true" if "y_true" in _matrices(archive, "y_true") else None


def _label_names(
    name: str, archive: Archive, wanted: Wanted, n_labels: int
) -> tuple[str, ...] | None:
    """Return the label names: asked for, or the file's own."""
    names = wanted.label_names
    if names is None and "label_names" in archive.files:
        shape = archive.header("label_names").shape
        if len(shape) != 1:
            raise InputError(f"label_names of {name} has shape {shape}, expected {(n_labels,)}")
        if shape[0] == n_labels:
            return _checks.names_of_labels(archive.array("label_names"))
        raise InputError(f"label_names of {name} has {shape[0]} names, expected {n_labels}")
    if names is not None and len(names) != n_labels:
        raise InputError(f"label_names of {name} has {len(names)} names, expected {n_labels}")
    return names


def _rows(name: str, archive: Archive, key: str, n_samples: int) -> Ints | None:
    """Read row numbers."""
    if key not in archive.files:
        return None
    rows = archive.array(key)
    if rows.ndim != 1 or rows.dtype.kind not in "iu" or rows.size == 0:
        raise InputError(
            f"{key} of {name} has shape {rows.shape} and dtype {rows.dtype}, expected row numbers"
        )
    if rows.min() < 0 or rows.max() >= n_samples:
        raise InputError(
            f"{key} of {name} runs from {rows.min()} to {rows.max()}, expected 0 to {n_samples - 1}"
        )
    return rows.astype(np.int64)


def _keys(name: str, archive: Archive, columns: tuple[str, ...], n_samples: int) -> Dense | None:
    """Return the keys of the rows, of one array or several; None where none are asked for."""
    vectors = list[Dense]()
    for column in columns:
        values = _vector(name, archive, column, n_samples, "key")
        assert values is not None, "it is asked for"
        vectors.append(check_array(name, column, values, one_of_several=len(columns) > 1))
    return together(vectors)


def _vector(
    name: str, archive: Archive, key: str | None, n_samples: int, what: str
) -> Dense | None:
    """Read the groups, or the keys, of the rows; None where none are asked for."""
    if key is None:
        return None
    if key not in archive.files:
        raise InputError(f"{name} has no array {key!r}, expected the {what} of each row")
    shape = archive.header(key).shape
    if shape != (n_samples,):
        raise InputError(
            f"{key} of {name} has shape {shape}, expected {(n_samples,)}, one {what} for each row"
        )
    return archive.array(key)
