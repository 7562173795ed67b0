"""Reading score files and writing results: whole or not at all.

A `.npz` holds `y_true` and `y_score` (or `y_score_...`), each dense or as the four arrays of a CSR matrix
(`NAME_data`, `NAME_indices`, `NAME_indptr`, `NAME_shape`), and optionally `label_names`, `calib_idx`, `test_idx`.
"""

import errno
import os
import secrets
import shutil
from collections.abc import Callable
from dataclasses import dataclass, fields
from pathlib import Path
from typing import IO, Any

import numpy as np
import numpy.typing as npt

from thresholds import _checks
from thresholds._checks import InputError, Matrix

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
    groups: npt.NDArray[Any] | None = None  # (n_samples,), if asked for

    def halves(self) -> tuple[Rows, Rows, str]:
        """Give the rows to fit on and the rows to judge on, and say which of them the file names."""
        n = self.y_score.shape[0]
        fit, judge = self.calib_idx, self.test_idx
        if fit is None and judge is None:
            raise InputError(f"{self.name} has neither calib_idx nor test_idx, expected at least one of them")
        if fit is None or judge is None:
            given, key = (fit, "calib_idx") if fit is not None else (judge, "test_idx")
            rest = np.delete(np.arange(n), np.asarray(given))
            if rest.size == 0:
                raise InputError(f"{key} of {self.name} holds every row, expected some left for the other half")
            fit, judge = (rest, judge) if fit is None else (fit, rest)
            return np.asarray(fit), np.asarray(judge), f"{key} of the file, and the rows it leaves"
        if np.intersect1d(fit, judge).size:
            raise InputError(f"calib_idx and test_idx of {self.name} share rows, expected different ones")
        return fit, judge, "calib_idx and test_idx of the file"


@dataclass(frozen=True, slots=True)
class LabelledFile(ScoreFile):
    """A score file with truth."""

    y_true: Matrix


def read_labelled(
    path: str | os.PathLike[str], score_key: str | None = None, groups_key: str | None = None
) -> LabelledFile:
    """Read a `.npz` of scores and truth, and the groups of its rows if their key is given."""
    data = read_scores(path, score_key, groups_key)
    if data.y_true is None:
        raise InputError(f"{data.name} has no y_true, expected gold labels to fit on")
    return LabelledFile(**{item.name: getattr(data, item.name) for item in fields(data)})


def read_scores(path: str | os.PathLike[str], score_key: str | None = None, groups_key: str | None = None) -> ScoreFile:
    """Read a `.npz` of scores; pickled arrays are refused."""
    path = Path(path)
    if path.suffix != ".npz":
        raise InputError(f"{path} ends in {path.suffix!r}, expected a .npz file")
    try:
        with open(path, "rb") as stream:
            archive = np.load(stream, allow_pickle=False)
            if not isinstance(archive, np.lib.npyio.NpzFile):
                raise InputError(f"{path} is a single array, expected an archive of arrays")
            return _read_archive(path.name, archive, score_key, groups_key)
    except (InputError, OSError):
        raise
    except Exception as error:  # A damaged archive may fail anywhere.
        raise InputError(f"{path} cannot be read as a .npz file: {error}") from None


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
    """Let `write` fill a temporary file beside `path`, then move it there; on an error nothing is left.

    What is no regular file, a pipe or a device, is written to as it is.
    """
    target = Path(os.path.realpath(path))
    if target.is_dir() or os.fspath(path).endswith(os.sep):
        raise IsADirectoryError(errno.EISDIR, "is a folder, expected a file", os.fspath(path))
    if target.exists() and not target.is_file():
        with open(target, "wb") as stream:
            write(stream)
        return
    temporary = target.with_name(f".{target.name}.{secrets.token_hex(8)}")
    try:
        with open(temporary, "xb") as stream:
            write(stream)
        if target.exists():
            shutil.copymode(target, temporary)
        os.replace(temporary, target)
    except BaseException as error:
        temporary.unlink(missing_ok=True)
        if isinstance(error, OSError) and error.filename is not None:
            raise OSError(error.errno, error.strerror, os.fspath(path)) from None
        raise


def _read_archive(name: str, archive: Any, score_key: str | None, groups_key: str | None) -> ScoreFile:
    """Gather the parts of an open archive."""
    key = _choose_score_key(name, set(archive.files), score_key)
    y_score = _matrix(name, archive, key)
    names = _checks.names_of_labels(archive["label_names"]) if "label_names" in archive.files else None
    if names is not None and len(names) != y_score.shape[1]:
        raise InputError(f"label_names of {name} has {len(names)} names, expected {y_score.shape[1]}")
    return ScoreFile(
        name=name,
        score_key=key,
        y_score=y_score,
        y_true=_matrix(name, archive, "y_true") if _has(archive, "y_true") else None,
        label_names=names,
        calib_idx=_rows(name, archive, "calib_idx", y_score.shape[0]),
        test_idx=_rows(name, archive, "test_idx", y_score.shape[0]),
        groups=None if groups_key is None else _groups(name, archive, groups_key, y_score.shape[0]),
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
        cells = archive[key]
        if cells.ndim not in (1, 2):
            raise InputError(f"{key} of {name} has shape {cells.shape}, expected (n_samples, n_labels)")
        return cells[:, np.newaxis] if cells.ndim == 1 else cells
    from scipy import sparse

    lacking = [part for part in _CSR_PARTS if f"{key}_{part}" not in archive.files]
    if lacking:
        raise InputError(f"{name} lacks {key}_{lacking[0]}, expected the four arrays of a CSR matrix")
    data, indices, indptr, shape = (archive[f"{key}_{part}"] for part in _CSR_PARTS)
    try:
        return sparse.csr_array((data, _whole(indices), _whole(indptr)), shape=tuple(_whole(shape).tolist()))
    except (ValueError, TypeError) as error:
        raise InputError(f"{key} of {name} is a malformed sparse array: {error}") from None


def _whole(numbers: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Give whole numbers in the narrowest index dtype that SciPy knows and that holds them."""
    if numbers.dtype.kind not in "iu":
        raise ValueError(f"indices and shape have dtype {numbers.dtype}, expected whole numbers")
    if numbers.size and not -(2**63) <= int(numbers.min()) <= int(numbers.max()) < 2**63:
        raise ValueError(f"an index is {numbers.max()}")
    fits = numbers.size == 0 or -(2**31) <= numbers.min() <= numbers.max() < 2**31
    return numbers.astype(np.int32 if fits else np.int64)


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


def _groups(name: str, archive: Any, key: str, n_samples: int) -> npt.NDArray[Any]:
    """Read the groups of the rows."""
    if key not in archive.files:
        raise InputError(f"{name} has no array {key!r}, expected the group of each row")
    groups = archive[key]
    if groups.shape != (n_samples,):
        raise InputError(f"{key} of {name} has shape {groups.shape}, expected {(n_samples,)}, one group for each row")
    return groups  # type: ignore[no-any-return]
