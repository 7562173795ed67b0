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
from thresholds.files.arrays import matrices
from thresholds.files.arrays.archive import Archive, Header, mapped, read_header
from thresholds.files.arrays.matrices import StoredMatrix
from thresholds.files.keys import check_array, together
from thresholds.files.source import Block, Source, Wanted, refuse_other_numbers
from thresholds.files.unknown import as_read

_SHOWN = 8  # arrays, in a message
_SPLITS = ("calib_idx", "test_idx")
_ENDINGS = tuple(f"_{part}" for part in matrices.CSR_PARTS)


def open_npy(path: Path, wanted: Wanted, *, truth_only: bool = False) -> Source:
    """Open a single array of scores, or of truth, which is mapped into memory."""
    with open(path, "rb") as stream:
        header = read_header(stream)
    if header.dtype.hasobject:
        as_numbers = f"save it as {path.stem}.astype(float)"
        raise InputError(f"{path.name} is an array of objects, expected numbers: {as_numbers}")
    refuse_other_numbers(path.name, path.stem, header.dtype)
    shape = matrices.shape_of(str(path), header.shape)
    whole = partial(_mapped, path, header, shape)
    matrix = StoredMatrix(shape, True, whole, partial(matrices.slices, whole))
    return _of_one_matrix(path, wanted, matrix)


def open_npz(path: Path, wanted: Wanted, *, truth_only: bool = False) -> Source:
    """Open an archive of named arrays, or of one sparse matrix, as SciPy saves it."""
    archive = Archive(path)
    is_named = any(key.startswith(("y_score", "y_true")) for key in archive.headers)
    if not is_named and {"format", "shape", "data"} <= set(archive.headers):
        kind = _kind_of_scipy(archive)
        matrix = matrices.sparse_matrix(archive, path.name, matrices.PARTS[kind], kind)
        return _of_one_matrix(path, wanted, matrix)

    # Truth alone takes the place of the scores.
    score_key = _chosen(archive, wanted, "y_true" if truth_only else "y_score")
    scores = matrices.stored_matrix(archive, score_key)
    truth_key, truth = None, None
    if wanted.with_truth and not truth_only and (wanted.truth or "y_true" in _kinds(archive)):
        truth_key = _chosen(archive, wanted, "y_true")
        truth = matrices.stored_matrix(archive, truth_key)
        if truth.shape != scores.shape:
            raise InputError(
                f"truth {truth_key!r} of {path.name} has shape {truth.shape}, expected {scores.shape}, that of the"
                f" scores {score_key!r}"
            )
    has_unknown = truth is not None and wanted.unknown is not None
    names = _label_names(archive, wanted, scores.shape[1])
    rows = _Rows(archive, wanted, scores, truth, f"truth {truth_key!r} of {path.name}", names)
    rows.vectors()  # are refused now, before anything else is done, if they are odd

    # Whatever has no role is listed; rows to fit and to judge on are those of the scores.
    splits = (
        {} if truth_only else {key: _row_numbers(archive, key, scores.shape[0]) for key in _SPLITS}
    )
    roles = {score_key, truth_key, wanted.groups, wanted.weights, *wanted.keys, "label_names"}
    left_out = {
        key: kind for key, kind in _kinds(archive).items() if key not in roles | set(splits)
    }
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
class _Rows:
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
        groups = None if wanted.groups is None else self._vector(wanted.groups, "group")
        keys = self.keys() if wanted.keys else None
        weights = None if wanted.weights is None else self._weights(wanted.weights)
        return groups, keys, weights

    def keys(self) -> Dense:
        """Return the key of each row, of one array or several."""
        several, columns = len(self.wanted.keys) > 1, list[Dense]()
        for key in self.wanted.keys:
            values = self._vector(key, "key")
            columns.append(check_array(self.archive.name, key, values, one_of_several=several))
        keys = together(columns)
        assert keys is not None, "it is asked for"
        return keys

    def first_values(self, columns: Sequence[str]) -> Iterator[tuple[str, Dense]]:
        """Return arrays that have a whole number or a text for each row."""
        with reading(self.archive.path):
            for column in columns:
                shape, _, dtype, _ = self.archive.headers[column]
                if shape == self.scores.shape[:1] and dtype.kind in "iuU":
                    yield column, self.archive.array(column)

    def _known(self, cells: Matrix, first: int) -> Matrix:
        """Return truth, -1 where it is not known; `first` is its first row."""
        unknown = self.wanted.unknown
        return (
            cells
            if unknown is None
            else as_read(cells, unknown, self.what, self.label_names, first)
        )

    def _weights(self, key: str) -> Floats:
        """Return the weight of each row."""
        of, weights = f"{key} of {self.archive.name}", self._vector(key, "weight")
        if weights.dtype.kind not in "biuf":
            raise InputError(f"{of} has dtype {weights.dtype}, expected a number for each row")
        weights = weights.astype(np.float64)
        bad = np.flatnonzero(~(np.isfinite(weights) & (weights >= 0)))
        if bad.size:
            row = bad[0]
            raise InputError(f"{of} has {weights[row]} at row {row}, expected finite weights >= 0")
        return weights

    def _vector(self, key: str, what: str) -> Dense:
        """Return an array that has something for each row, (n_samples,)."""
        name, expected = self.archive.name, self.scores.shape[:1]
        if key not in self.archive.headers:
            there = f"it has {_listed(self.archive)}"
            raise InputError(
                f"{name} has no array {key!r}, expected the {what} of each row; {there}"
            )
        shape = self.archive.headers[key].shape
        if shape != expected:
            one = f"expected {expected}, one {what} for each row"
            raise InputError(f"{key} of {name} has shape {shape}, {one}")
        return self.archive.array(key, "numbers" if what == "weight" else "text")


def _mapped(path: Path, header: Header, shape: tuple[int, int]) -> Dense:
    """Map the cells of an `.npy` into memory."""
    return mapped(path, header, header.n_bytes).reshape(shape)


def _of_one_matrix(path: Path, wanted: Wanted, matrix: StoredMatrix) -> Source:
    """Return the source of a file of one matrix."""
    read, whole = partial(_blocks, matrix), partial(_whole, matrix)
    is_mapped = matrix.is_mapped
    return matrices.of_one_matrix(
        path, wanted, matrix.shape, read, read_whole=whole, is_mapped=is_mapped
    )


def _whole(matrix: StoredMatrix) -> Block:
    """Return all rows of a matrix."""
    return Block(matrix.whole())


def _blocks(matrix: StoredMatrix, _: bool) -> Iterator[Block]:
    """Return the rows of a matrix in order."""
    return map(Block, matrix.blocks())


def _kind_of_scipy(archive: Archive) -> str:
    """Return the kind of the only matrix of an archive."""
    found = "of several"
    if archive.header("format", "text").shape in ((), (1,)):
        found = str(archive.array("format", "text").astype(str).reshape(-1)[0])
    if found not in matrices.PARTS:
        expected = ", ".join(matrices.PARTS)
        raise InputError(
            f"{archive.name} has a matrix in the format {shown(found)}, expected {expected}"
        )
    return found


def _kinds(archive: Archive) -> dict[str, str]:
    """Return the dtype of each array by its name; the four of a CSR matrix are one."""
    dtypes = {key: str(header.dtype) for key, header in archive.headers.items()}
    sparse = {key.removesuffix("_indptr") for key in dtypes if key.endswith("_indptr")} - set(
        dtypes
    )
    parts = {key + ending for key in sparse for ending in _ENDINGS}
    kinds = {key: dtype for key, dtype in dtypes.items() if key not in parts}
    return dict(sorted((kinds | dict.fromkeys(sparse, "CSR")).items()))


def _chosen(archive: Archive, wanted: Wanted, usual: str) -> str:
    """Return the name of a matrix: the one asked for, the usual one, or the only one that begins so."""
    what, option, asked_for = "scores", "--score-column", wanted.scores
    if usual == "y_true":
        what, option, asked_for = "truth", "--truth-column", wanted.truth
    kinds, there = _kinds(archive), _listed(archive)
    if asked_for is not None:
        if asked_for not in kinds:
            raise InputError(f"{archive.name} has no {what} {asked_for!r}, expected one of {there}")
        return asked_for
    if usual in kinds:
        return usual
    keys = [key for key in kinds if key.startswith(usual) and not key.endswith(_ENDINGS)]
    if not keys:
        raise InputError(
            f"{archive.name} has no {usual}, expected the {what} under that key, or its name as {option}; it has"
            f" {there}"
        )
    if len(keys) > 1:
        found = f"{archive.name} has the {what} {', '.join(keys)}"
        raise InputError(f"{found}, expected one of them as {option}")
    return keys[0]


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
