"""Files of NumPy arrays: `.npz` of named arrays, `.npz` of one sparse matrix as SciPy saves it, and `.npy`.

An `.npz` has `y_score` (or `y_score_...`), perhaps `y_true`, each dense or as the four arrays of a CSR matrix
(`NAME_data`, `NAME_indices`, `NAME_indptr`, `NAME_shape`), and perhaps `label_names`, `calib_idx` and `test_idx`.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import repeat
from pathlib import Path

import numpy as np

from thresholds._arrays.types import Dense, Floats, Ints, Matrix
from thresholds._checks import InputError, names_of_labels, sample_weights, shown
from thresholds._checks.boundary import reading
from thresholds.files.accounting import noted
from thresholds.files.arrays.archive import Archive, mapped, read_header, refuse_objects
from thresholds.files.arrays.matrices import (
    CSR_PARTS,
    PARTS,
    StoredMatrix,
    names_for,
    of_one_matrix,
    shape_of,
    sparse_matrix,
    stored_matrix,
)
from thresholds.files.keys import check_array, together
from thresholds.files.source import Block, Source, Wanted, other_names, refuse_other_numbers
from thresholds.files.unknown import as_read

_SHOWN = 8  # arrays, in a message
_ENDINGS = tuple(f"_{part}" for part in CSR_PARTS)


def open_npy(path: Path, wanted: Wanted, *, truth_only: bool = False) -> Source:
    """Open a single array of scores, or of truth, which is mapped into memory."""
    with open(path, "rb") as stream:
        header = read_header(stream)
    refuse_objects(path.name, path.stem, header.dtype)
    refuse_other_numbers(path.name, path.stem, header.dtype)
    shape = shape_of(str(path), header.shape)
    whole = partial(mapped, path, header._replace(shape=shape), header.n_bytes)
    return of_one_matrix(path, wanted, shape, whole, is_mapped=True)


def array_names(path: Path) -> set[str]:
    """Return the names of the arrays of an `.npz`."""
    return set(Archive(path).headers)


def open_npz(path: Path, wanted: Wanted, *, truth_only: bool = False) -> Source:
    """Open an archive of named arrays, or of one sparse matrix, as SciPy saves it."""
    archive = Archive(path)
    is_named = any(key.startswith(("y_score", "y_true")) for key in archive.headers)
    if not is_named and {"format", "shape", "data"} <= set(archive.headers):
        only = _of_scipy(archive)
        return of_one_matrix(path, wanted, only.shape, only.whole, is_mapped=only.is_mapped)

    # Truth alone takes the place of the scores.
    score_key = _chosen(archive, wanted, "y_true" if truth_only else "y_score")
    scores = stored_matrix(archive, score_key)
    truth_key, truth = None, None
    if wanted.with_truth and not truth_only and (wanted.truth or "y_true" in _kinds(archive)):
        truth_key = _chosen(archive, wanted, "y_true")
        truth = stored_matrix(archive, truth_key)
        if truth.shape != scores.shape:
            raise InputError(
                f"truth {truth_key!r} of {path.name} has shape {truth.shape}, expected {scores.shape}, that of the"
                f" scores {score_key!r}"
            )
    has_unknown = truth is not None and wanted.unknown is not None
    names = _label_names(archive, wanted, scores.shape[1])
    rows = _ArchiveRows(
        archive, wanted, scores, truth, f"truth {truth_key!r} of {path.name}", names
    )
    rows.vectors()  # are refused now, before anything else is done, if they are odd

    # Rows to fit and to judge on are those of the scores. Whatever has no role is listed.
    splits = dict[str, Ints | None]()
    for key in () if truth_only else ("calib_idx", "test_idx"):
        splits[key] = _row_numbers(archive, key, scores.shape[0])
    roles = {score_key, truth_key, wanted.groups, wanted.weights, *wanted.keys, "label_names"}
    left_out = {key: kind for key, kind in _kinds(archive).items() if key not in {*roles, *splits}}
    return Source(
        name=path.name,
        path=str(path),
        score_key=score_key,
        truth_key=truth_key,
        n_samples=scores.shape[0],
        n_labels=scores.shape[1],
        label_names=names,
        key_columns=wanted.keys,
        notes=noted(left_out, f" of {path.name}" if truth_only else ""),
        left_out=left_out,
        calib_idx=splits.get("calib_idx"),
        test_idx=splits.get("test_idx"),
        has_unknown=has_unknown,
        is_mapped=scores.is_mapped and not has_unknown and (truth is None or truth.is_mapped),
        read=rows.blocks,
        read_whole=rows.whole,
        read_keys=rows.keys if wanted.keys else None,
        first_values=rows.first_values,
    )


@dataclass(frozen=True)
class _ArchiveRows:
    """The rows of an archive: what it holds of them is read whenever it is asked for."""

    archive: Archive
    wanted: Wanted
    scores: StoredMatrix
    truth: StoredMatrix | None
    what: str  # the truth is, for messages
    label_names: tuple[str, ...] | None

    def whole(self) -> Block:
        """Return all rows."""
        truth = None if self.truth is None else self._known(self.truth.whole(), 0)
        return Block(self.scores.whole(), truth, *self.vectors())

    def blocks(self, with_truth: bool) -> Iterator[Block]:
        """Return the rows in order, a few megabytes at a time."""
        vectors, first = self.vectors(), 0
        truth = self.truth.blocks() if with_truth and self.truth is not None else repeat(None)
        for scores, cells in zip(self.scores.blocks(), truth, strict=False):
            rows = slice(first, first + scores.shape[0])
            known = None if cells is None else self._known(cells, first)
            some = (None if values is None else values[rows] for values in vectors)
            yield Block(scores, known, *some)
            first = rows.stop

    def vectors(self) -> tuple[Dense | None, Dense | None, Floats | None]:
        """Return groups, keys and weights of the rows, each where it is asked for."""
        wanted = self.wanted
        groups = None if wanted.groups is None else self._of_rows(wanted.groups, "group")
        keys = self.keys() if wanted.keys else None
        weights = None if wanted.weights is None else self._weights(wanted.weights)
        return groups, keys, weights

    def keys(self) -> Dense:
        """Return the key of each row, of one array or several."""
        several, columns = len(self.wanted.keys) > 1, list[Dense]()
        for key in self.wanted.keys:
            values = self._of_rows(key, "key")
            columns.append(check_array(self.archive.name, key, values, one_of_several=several))
        keys = together(columns)
        assert keys is not None, "it is asked for"
        return keys

    def first_values(self, columns: Sequence[str]) -> Iterator[tuple[str, Dense]]:
        """Return arrays that have a whole number or a text for each row."""
        with reading(self.archive.path):
            for column in columns:
                header = self.archive.headers.get(column)  # a CSR matrix has none
                is_vector = header is not None and header.shape == self.scores.shape[:1]
                if header is not None and is_vector and header.dtype.kind in "iuU":
                    yield column, self.archive.array(column)

    def _known(self, cells: Matrix, first: int) -> Matrix:
        """Return truth, -1 where it is not known; `first` is its first row."""
        if self.wanted.unknown is None:
            return cells
        return as_read(cells, self.wanted.unknown, self.what, self.label_names, first)

    def _weights(self, key: str) -> Floats:
        """Return the weight of each row."""
        weights = self._of_rows(key, "weight")
        return sample_weights(weights, len(weights), f"{key} of {self.archive.name}")

    def _of_rows(self, key: str, what: str) -> Dense:
        """Return an array that has something for each row, (n_samples,)."""
        if key not in self.archive.headers:
            expected = f"expected the {what} of each row; it has {_listed(self.archive)}"
            raise InputError(f"{self.archive.name} has no array {key!r}, {expected}")
        return _vector(self.archive, key, self.scores.shape[0], f"one {what} for each row")


def _vector(archive: Archive, key: str, n: int, what: str) -> Dense:
    """Return an array of `n` cells, (n,)."""
    shape = archive.header(key).shape
    if shape != (n,):
        raise InputError(f"{key} of {archive.name} has shape {shape}, expected {(n,)}, {what}")
    return archive.array(key)


def _of_scipy(archive: Archive) -> StoredMatrix:
    """Find the only matrix of an archive, as SciPy saves it."""
    kind = "of several"
    if math.prod(archive.header("format").shape) == 1:
        kind = str(archive.array("format").astype(str).item())
    if kind not in PARTS:
        found = f"has a matrix in the format {shown(kind)}"
        raise InputError(f"{archive.name} {found}, expected {', '.join(PARTS)}")
    return sparse_matrix(archive, archive.name, kind, PARTS[kind])


def _kinds(archive: Archive) -> dict[str, str]:
    """Return the dtype of each array by its name; the four of a CSR matrix are one."""
    dtypes = {key: str(header.dtype) for key, header in archive.headers.items()}
    sparse = {key.removesuffix("_indptr") for key in dtypes if key.endswith("_indptr")}
    for key in sparse.difference(dtypes):
        for ending in _ENDINGS:
            dtypes.pop(key + ending, None)
        dtypes[key] = "CSR"
    return dict(sorted(dtypes.items()))


def _chosen(archive: Archive, wanted: Wanted, usual: str) -> str:
    """Return the name of a matrix: the one asked for, the usual one, or the only one that begins so."""
    what, option, asked_for = "scores", "--score-column", wanted.scores
    if usual == "y_true":
        what, option, asked_for = "truth", "--truth-column", wanted.truth
    kinds, there = _kinds(archive), _listed(archive)
    named = usual if asked_for is None else asked_for
    if named in kinds:
        return named
    if asked_for is not None:
        raise InputError(f"{archive.name} has no {what} {asked_for!r}, expected one of {there}")
    keys = [key for key in kinds if key.startswith(usual) and not key.endswith(_ENDINGS)]
    if len(keys) == 1:
        return keys[0]
    if keys:
        found = f"{archive.name} has the {what} {', '.join(keys)}"
        raise InputError(f"{found}, expected one of them as {option}")
    expected = f"expected the {what} under that key, or its name as {option}"
    raise InputError(f"{archive.name} has no {usual}, {expected}; it has {there}")


def _listed(archive: Archive) -> str:
    """Say what arrays there are, with their shapes."""
    described = list[str]()
    for key, kind in _kinds(archive).items():
        shape = f"{archive.headers[key].shape} " if key in archive.headers else ""
        described.append(f"{shown(key)} {shape}{kind}")
    if len(described) > _SHOWN:
        described[_SHOWN:] = [f"{len(described) - _SHOWN:,} more"]
    return " and ".join(filter(None, [", ".join(described[:-1]), *described[-1:]])) or "no arrays"


def _label_names(archive: Archive, wanted: Wanted, n_labels: int) -> tuple[str, ...] | None:
    """Return the label names: asked for, or the file's own."""
    asked_for = names_for(archive.name, n_labels, wanted)
    if "label_names" not in archive.headers:
        return asked_for
    names = _vector(archive, "label_names", n_labels, "one name for each label")
    if names.dtype.kind != "U":
        raise InputError(
            f"label_names of {archive.name} has dtype {names.dtype}, expected text: save it as label_names.astype(str)"
        )
    own = names_of_labels(names, f"label_names of {archive.name} has")
    if asked_for not in (own, None):
        raise other_names(archive.name, own)
    return own


def _row_numbers(archive: Archive, key: str, n_samples: int) -> Ints | None:
    """Return the numbers of rows, if there are some."""
    if key not in archive.headers:
        return None
    rows, of = archive.array(key), f"{key} of {archive.name}"
    if rows.ndim != 1 or rows.dtype.kind not in "iu" or rows.size == 0:
        found = f"has shape {rows.shape} and dtype {rows.dtype}"
        raise InputError(f"{of} {found}, expected row numbers")
    if rows.min() < 0 or rows.max() >= n_samples:
        found = f"runs from {rows.min()} to {rows.max()}"
        raise InputError(f"{of} {found}, expected 0 to {n_samples - 1}")
    return rows.astype(np.int64)
