"""Reading score files and writing results: whole or not at all.

A `.npz` holds `y_true` and `y_score` (or `y_score_...`), each dense or as the four arrays of a CSR matrix
(`NAME_data`, `NAME_indices`, `NAME_indptr`, `NAME_shape`), and optionally `label_names`, `calib_idx`, `test_idx`.
"""

import os
import secrets
import shutil
import zipfile
import zlib
from collections.abc import Callable
from dataclasses import dataclass, fields
from pathlib import Path
from typing import IO, Any

import numpy as np
import numpy.typing as npt

from thresholds import _checks
from thresholds._checks import InputError, Matrix

_SPLIT_SEED = 0
_CSR_PARTS = ("data", "indices", "indptr", "shape")

Rows = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class ScoreFile:
    """What a score file holds; truth, names and splits may be absent."""

    name: str
    score_key: str
    y_score: Matrix
    y_true: Matrix | None
    label_names: tuple[str, ...] | None
    calib_idx: Rows | None
    test_idx: Rows | None


@dataclass(frozen=True, slots=True)
class LabelledFile(ScoreFile):
    """A score file with truth."""

    y_true: Matrix

    def halves(self) -> tuple[Rows, Rows, str]:
        """Give the rows to fit on and the rows to judge on, and say where they come from."""
        n = self.y_score.shape[0]
        if self.calib_idx is None:
            if n < 2:
                raise InputError(f"{self.name} has {n} row, expected at least two to split into halves")
            rows = np.random.default_rng(_SPLIT_SEED).permutation(n)
            return np.sort(rows[: n // 2]), np.sort(rows[n // 2 :]), f"random halves, seed {_SPLIT_SEED}"
        rest = np.setdiff1d(np.arange(n), self.calib_idx) if self.test_idx is None else self.test_idx
        if rest.size == 0 or np.intersect1d(self.calib_idx, rest).size:
            raise InputError(f"calib_idx and test_idx of {self.name} share rows, expected different ones")
        return self.calib_idx, rest, "calib_idx and test_idx of the file"


def read_labelled(path: str | os.PathLike[str], score_key: str | None = None) -> LabelledFile:
    """Read a `.npz` of scores and truth."""
    data = read_scores(path, score_key)
    if data.y_true is None:
        raise InputError(f"{data.name} has no y_true, expected gold labels to fit on")
    return LabelledFile(**{item.name: getattr(data, item.name) for item in fields(data)})


def read_scores(path: str | os.PathLike[str], score_key: str | None = None) -> ScoreFile:
    """Read a `.npz` of scores; pickled arrays are refused."""
    path = Path(path)
    if path.suffix != ".npz":
        raise InputError(f"{path} ends in {path.suffix!r}, expected a .npz file")
    try:
        with open(path, "rb") as stream:
            archive = np.load(stream, allow_pickle=False)
            if not isinstance(archive, np.lib.npyio.NpzFile):
                raise InputError(f"{path} is a single array, expected a .npz archive")
            return _read_archive(path.name, archive, score_key)
    except (ValueError, EOFError, KeyError, zipfile.BadZipFile, zlib.error) as error:
        message = str(error) if isinstance(error, InputError) else f"{path} cannot be read as a .npz file: {error}"
        raise InputError(message) from None


def write_predictions(path: str | os.PathLike[str], y_pred: Any, label_names: tuple[str, ...] | None) -> None:
    """Write 0/1 decisions as the CSR matrix `y_pred` of a `.npz`."""
    from scipy import sparse

    path = Path(path)
    if path.suffix != ".npz":
        raise InputError(f"{path} ends in {path.suffix!r}, expected a .npz file")
    rows = sparse.csr_array(y_pred)
    arrays = {"data": rows.data, "indices": rows.indices, "indptr": rows.indptr, "shape": rows.shape}
    named: dict[str, Any] = {f"y_pred_{part}": np.asarray(value) for part, value in arrays.items()}
    if label_names is not None:
        named["label_names"] = np.array(label_names)
    write_atomically(path, lambda stream: np.savez_compressed(stream, **named))


def write_atomically(path: str | os.PathLike[str], write: Callable[[IO[bytes]], object]) -> None:
    """Let `write` fill a temporary file beside `path`, then move it there; on an error nothing is left."""
    target = Path(os.path.realpath(path))
    temporary = target.with_name(f".{target.name}.{secrets.token_hex(8)}")
    try:
        with open(temporary, "xb") as stream:
            write(stream)
        if target.exists():
            shutil.copymode(target, temporary)
        os.replace(temporary, target)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


def _read_archive(name: str, archive: Any, score_key: str | None) -> ScoreFile:
    """Gather the parts of an open archive."""
    key = _choose_score_key(name, set(archive.files), score_key)
    y_score = _matrix(name, archive, key)
    names = archive["label_names"] if "label_names" in archive.files else None
    return ScoreFile(
        name=name,
        score_key=key,
        y_score=y_score,
        y_true=_matrix(name, archive, "y_true") if _has(archive, "y_true") else None,
        label_names=None if names is None else _checks.names_of_labels(names),
        calib_idx=_rows(name, archive, "calib_idx", y_score.shape[0]),
        test_idx=_rows(name, archive, "test_idx", y_score.shape[0]),
    )


def _choose_score_key(name: str, keys: set[str], wanted: str | None) -> str:
    """Give the key of the scores: the one asked for, `y_score`, or the only `y_score_...` there is."""
    suffixes = tuple(f"_{part}" for part in _CSR_PARTS)
    dense = {key for key in keys if key.startswith("y_score") and not key.endswith(suffixes)}
    sparse = {key.removesuffix("_indptr") for key in keys if key.startswith("y_score") and key.endswith("_indptr")}
    found = sorted(dense | sparse)
    if wanted is not None:
        if wanted not in found:
            raise InputError(f"{name} has no scores {wanted!r}, expected one of {', '.join(found) or 'none'}")
        return wanted
    if "y_score" in found or len(found) == 1:
        return "y_score" if "y_score" in found else found[0]
    if not found:
        raise InputError(f"{name} has no y_score, expected the scores under that key")
    raise InputError(f"{name} has the scores {', '.join(found)}, expected one of them as --score-key")


def _has(archive: Any, key: str) -> bool:
    """Tell whether a matrix is there, dense or CSR."""
    return key in archive.files or f"{key}_indptr" in archive.files


def _matrix(name: str, archive: Any, key: str) -> Matrix:
    """Read a dense or CSR matrix."""
    if key in archive.files:
        return archive[key]
    from scipy import sparse

    lacking = [part for part in _CSR_PARTS if f"{key}_{part}" not in archive.files]
    if lacking:
        raise InputError(f"{name} lacks {key}_{lacking[0]}, expected the four arrays of a CSR matrix")
    data, indices, indptr, shape = (archive[f"{key}_{part}"] for part in _CSR_PARTS)
    width = np.int32 if max(data.size, *shape.tolist()) < 2**31 else np.int64
    try:
        return sparse.csr_array((data, indices.astype(width), indptr.astype(width)), shape=tuple(shape.tolist()))
    except ValueError as error:
        raise InputError(f"{key} of {name} is a malformed sparse array: {error}") from None


def _rows(name: str, archive: Any, key: str, n_samples: int) -> Rows | None:
    """Read row numbers."""
    if key not in archive.files:
        return None
    rows = archive[key]
    if rows.ndim != 1 or rows.dtype.kind not in "iu" or rows.size == 0:
        raise InputError(f"{key} of {name} has shape {rows.shape} and dtype {rows.dtype}, expected row numbers")
    if rows.min() < 0 or rows.max() >= n_samples:
        raise InputError(f"{key} of {name} runs from {rows.min()} to {rows.max()}, expected 0 to {n_samples - 1}")
    return rows.astype(np.int64)  # type: ignore[no-any-return]
