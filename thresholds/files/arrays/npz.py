"""Files of NumPy arrays: `.npz` of named arrays, `.npz` of one sparse matrix as SciPy saves it, and `.npy`.

An `.npz` has `y_score` (or `y_score_...`), perhaps `y_true`, each dense or as the four arrays of a CSR matrix
(`NAME_data`, `NAME_indices`, `NAME_indptr`, `NAME_shape`), and perhaps `label_names`, `calib_idx` and `test_idx`.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import repeat
from pathlib import Path

import numpy as np

from thresholds._arrays.types import Dense, Floats, Ints, Matrix
from thresholds._checks import InputError, names_of_labels, shown
from thresholds._checks.boundary import reading
from thresholds.files.accounting import noted
from thresholds.files.arrays.archive import Archive, Header, mapped, read_header
from thresholds.files.arrays.matrices import (
    CSR_PARTS,
    PARTS,
    StoredMatrix,
    dense_matrix,
    of_one_array,
    shape_of,
    sparse_matrix,
)
from thresholds.files.keys import check_array, together
from thresholds.files.source import Block, Source, Wanted, refuse_other_numbers
from thresholds.files.unknown import as_read

_ENDINGS = tuple(f"_{part}" for part in CSR_PARTS)
_SHOWN = 8  # arrays, in a message


def open_npy(path: Path, wanted: Wanted, *, truth_only: bool = False) -> Source:
    """Open a single array of scores, or of truth, which is mapped into memory."""
    with open(path, "rb") as stream:
        header = read_header(stream)
    if header.dtype.hasobject:
        raise InputError(
            f"{path.name} is an array of objects, expected numbers: save it as {path.stem}.astype(float)"
        )
    refuse_other_numbers(path.name, path.stem, header.dtype)
    shape = shape_of(str(path), header.shape)
    whole = partial(_mapped_matrix, path, header, shape)
    return of_one_array(path, wanted, StoredMatrix(shape, True, whole))


def open_npz(path: Path, wanted: Wanted, *, truth_only: bool = False) -> Source:
    """Open an archive of named arrays, or of one sparse matrix, as SciPy saves it."""
    archive = Archive(path)
    named = any(key.startswith(("y_score", "y_true")) for key in archive.headers)
    if not named and {"format", "shape", "data"} <= set(archive.headers):
        return _open_scipy(path, archive, wanted)

    # A file of truth has that in the place of the scores.
    usual, asked_for = ("y_true", wanted.truth) if truth_only else ("y_score", wanted.scores)
    score_key = _chosen(archive, asked_for, usual)
    scores = _matrix(archive, score_key)
    n_samples, n_labels = scores.shape
    truth_key, truth = None, None
    if wanted.with_truth and not truth_only and (wanted.truth or _has(archive, "y_true")):
        truth_key = _chosen(archive, wanted.truth, "y_true")
        truth = _matrix(archive, truth_key)
        if truth.shape != scores.shape:
            raise InputError(
                f"truth {truth_key!r} of {path.name} has shape {truth.shape}, expected {scores.shape}, that of the"
                f" scores {score_key!r}"
            )
    label_names = _label_names(archive, wanted, n_labels)
    rows = _Rows(path, archive, wanted, scores, truth, truth_key, label_names)
    rows.vectors()  # are refused now, if they are odd

    # Whatever has no role is listed; rows to fit and to judge on are those of the scores.
    roles = {score_key, truth_key, wanted.groups, wanted.weights, *wanted.keys, "label_names"}
    if not truth_only:
        roles |= {"calib_idx", "test_idx"}
    left_out = {key: kind for key, kind in _kinds(archive).items() if key not in roles}
    return Source(
        name=path.name,
        path=str(path),
        score_key=score_key,
        truth_key=truth_key,
        n_samples=n_samples,
        n_labels=n_labels,
        label_names=label_names,
        key_columns=wanted.keys,
        notes=noted(left_out, f" of {path.name}" if truth_only else ""),
        left_out=left_out,
        has_unknown=truth is not None and wanted.unknown is not None,
        is_mapped=rows.is_mapped(),
        read=rows.blocks,
        read_whole=rows.whole,
        read_keys=rows.keys if wanted.keys else None,
        first_values=rows.first_values,
        calib_idx=None if truth_only else _row_numbers(archive, "calib_idx", n_samples),
        test_idx=None if truth_only else _row_numbers(archive, "test_idx", n_samples),
    )


def _open_scipy(path: Path, archive: Archive, wanted: Wanted) -> Source:
    """Open one sparse matrix."""
    kind = archive.array("format").reshape(-1)[:1].astype("S").tolist()[0].decode("latin-1")
    if kind not in PARTS:
        raise InputError(
            f"{path.name} has a matrix in the format {shown(kind)}, expected {', '.join(PARTS)}"
        )
    matrix = sparse_matrix(archive, "", kind)
    refuse_other_numbers(path.name, path.stem, archive.header("data").dtype)
    return of_one_array(path, wanted, matrix)


@dataclass(frozen=True)
class _Rows:
    """The rows of an archive; what it holds of them is read from the file whenever it is asked for."""

    path: Path
    archive: Archive
    wanted: Wanted
    scores: StoredMatrix
    truth: StoredMatrix | None
    truth_key: str | None
    label_names: tuple[str, ...] | None

    def whole(self) -> Block:
        """Return all rows."""
        truth = None if self.truth is None else self._known(self.truth.whole(), 0)
        return Block(self.scores.whole(), truth, *self.vectors())

    def blocks(self, with_truth: bool) -> Iterator[Block]:
        """Return the rows in order, a few megabytes at a time."""
        vectors = self.vectors()
        truth = self.truth.blocks() if with_truth and self.truth is not None else repeat(None)
        first = 0
        for scores, cells in zip(self.scores.blocks(), truth, strict=False):
            rows = slice(first, first + scores.shape[0])
            known = None if cells is None else self._known(cells, first)
            some = (None if values is None else values[rows] for values in vectors)
            yield Block(scores, known, *some)
            first = rows.stop

    def vectors(self) -> tuple[Dense | None, Dense | None, Floats | None]:
        """Return groups, keys and weights of the rows, each where it is asked for."""
        wanted = self.wanted
        groups = None if wanted.groups is None else self._vector(wanted.groups, "group")
        keys = self.keys() if wanted.keys else None
        weights = None if wanted.weights is None else self._weights(wanted.weights)
        return groups, keys, weights

    def keys(self) -> Dense:
        """Return the key of each row, of one array or several."""
        name, several = self.path.name, len(self.wanted.keys) > 1
        columns = list[Dense]()
        for key in self.wanted.keys:
            values = self._vector(key, "key")
            columns.append(check_array(name, key, values, one_of_several=several))
        keys = together(columns)
        assert keys is not None, "it is asked for"
        return keys

    def first_values(self, columns: Sequence[str]) -> Iterator[tuple[str, Dense]]:
        """Return arrays that have a number or a text for each row, whole."""
        with reading(self.path):
            for column in columns:
                shape, kind = (
                    self.archive.headers[column].shape,
                    self.archive.headers[column].dtype.kind,
                )
                if shape == self.scores.shape[:1] and kind in "iuU":
                    yield column, self.archive.array(column)

    def is_mapped(self) -> bool:
        """Whether all rows are mapped into memory as they are."""
        if self.truth is None:
            return self.scores.is_mapped
        return self.scores.is_mapped and self.truth.is_mapped and self.wanted.unknown is None

    def _known(self, cells: Matrix, first: int) -> Matrix:
        """Return truth, -1 where it is not known; `first` is its first row."""
        if self.wanted.unknown is None:
            return cells
        what = f"truth {self.truth_key!r} of {self.path.name}"
        return as_read(cells, self.wanted.unknown, what, self.label_names, first)

    def _weights(self, key: str) -> Floats:
        """Read the weight of each row."""
        weights = self._vector(key, "weight")
        of = f"{key} of {self.path.name}"
        if weights.dtype.kind not in "biuf":
            raise InputError(f"{of} has dtype {weights.dtype}, expected a number for each row")
        weights = weights.astype(np.float64)
        bad = np.flatnonzero(~(np.isfinite(weights) & (weights >= 0)))
        if bad.size:
            row = bad[0]
            raise InputError(f"{of} has {weights[row]} at row {row}, expected finite weights >= 0")
        return weights

    def _vector(self, key: str, what: str) -> Dense:
        """Read an array that has something for each row, (n_samples,)."""
        name, shape = self.path.name, self.scores.shape[:1]
        if key not in self.archive.headers:
            there = _listed(self.archive)
            raise InputError(
                f"{name} has no array {key!r}, expected the {what} of each row; it has {there}"
            )
        found = self.archive.headers[key].shape
        if found != shape:
            raise InputError(
                f"{key} of {name} has shape {found}, expected {shape}, one {what} for each row"
            )
        return self.archive.array(key, "numbers" if what == "weight" else "text")


def _mapped_matrix(path: Path, header: Header, shape: tuple[int, int]) -> Dense:
    """Map the cells of an `.npy` into memory."""
    return mapped(path, header, header.n_bytes).reshape(shape)


def _sparse_keys(archive: Archive) -> set[str]:
    """Return the names of CSR matrices; a part that lacks is missed when the matrix is read."""
    return {key.removesuffix("_indptr") for key in archive.headers if key.endswith("_indptr")}


def _kinds(archive: Archive) -> dict[str, str]:
    """Return the dtype of each array by its name; the four of a CSR matrix are one."""
    sparse = _sparse_keys(archive)
    parts = {f"{key}_{part}" for key in sparse for part in CSR_PARTS}
    dtypes = {key: str(header.dtype) for key, header in archive.headers.items()}
    kinds = {key: dtype for key, dtype in dtypes.items() if key not in parts}
    return dict(sorted((kinds | dict.fromkeys(sparse - set(dtypes), "CSR")).items()))


def _has(archive: Archive, key: str) -> bool:
    """Whether there is a matrix of this name, dense or CSR."""
    return key in archive.headers or key in _sparse_keys(archive)


def _matrix(archive: Archive, key: str) -> StoredMatrix:
    """Find a matrix of real numbers, dense or CSR."""
    is_dense = key in archive.headers
    matrix = dense_matrix(archive, key) if is_dense else sparse_matrix(archive, key)
    refuse_other_numbers(
        archive.name, key, archive.header(key if is_dense else f"{key}_data").dtype
    )
    return matrix


def _chosen(archive: Archive, asked_for: str | None, usual: str) -> str:
    """Return the name of a matrix: the one asked for, the usual one, or the only one that begins so."""
    what, option = (
        ("scores", "--score-column") if usual == "y_score" else ("truth", "--truth-column")
    )
    if asked_for is not None:
        if not _has(archive, asked_for):
            there = _listed(archive)
            raise InputError(f"{archive.name} has no {what} {asked_for!r}, expected one of {there}")
        return asked_for
    keys = [key for key in _kinds(archive) if key.startswith(usual) and not key.endswith(_ENDINGS)]
    if usual in keys:
        return usual
    if len(keys) > 1:
        found = ", ".join(keys)
        raise InputError(f"{archive.name} has the {what} {found}, expected one of them as {option}")
    if not keys:
        raise InputError(
            f"{archive.name} has no {usual}, expected the {what} under that key, or its name as {option}; it has"
            f" {_listed(archive)}"
        )
    return keys[0]


def _listed(archive: Archive) -> str:
    """Say what arrays there are, with their shapes."""
    described = list[str]()
    for key, kind in _kinds(archive).items():
        shape = f"{archive.headers[key].shape} " if key in archive.headers else ""
        described.append(f"{shown(key)} {shape}{kind}")
    if len(described) > _SHOWN:
        described[_SHOWN:] = [f"{len(described) - _SHOWN:,} more"]
    if len(described) < 2:
        return described[0] if described else "no arrays"
    return f"{', '.join(described[:-1])} and {described[-1]}"


def _label_names(archive: Archive, wanted: Wanted, n_labels: int) -> tuple[str, ...] | None:
    """Return the label names: asked for, or the file's own."""
    of, names = f"label_names of {archive.name}", wanted.label_names
    if names is None and "label_names" not in archive.headers:
        return None
    shape = (len(names),) if names is not None else archive.header("label_names", "text").shape
    if len(shape) != 1:
        raise InputError(f"{of} has shape {shape}, expected {(n_labels,)}")
    if shape[0] != n_labels:
        raise InputError(f"{of} has {shape[0]} names, expected {n_labels}")
    return names or names_of_labels(archive.array("label_names", "text"))


def _row_numbers(archive: Archive, key: str, n_samples: int) -> Ints | None:
    """Read the numbers of rows."""
    if key not in archive.headers:
        return None
    rows = archive.array(key)
    if rows.ndim != 1 or rows.dtype.kind not in "iu" or rows.size == 0:
        raise InputError(
            f"{key} of {archive.name} has shape {rows.shape} and dtype {rows.dtype}, expected row numbers"
        )
    if rows.min() < 0 or rows.max() >= n_samples:
        raise InputError(
            f"{key} of {archive.name} runs from {rows.min()} to {rows.max()}, expected 0 to {n_samples - 1}"
        )
    return rows.astype(np.int64)
