"""Vectors of classes, one class for each row: integers, truth values or strings."""

from collections import Counter
from typing import Any

import numpy as np
import numpy.typing as npt

from thresholds._checks.arrays import Dense, plain, plain_numbers
from thresholds._checks.errors import InputError, shown

Ints = npt.NDArray[np.int64]
Classes = list[int] | list[str]


def class_vectors(y_true: object, y_pred: object) -> tuple[Ints, Ints, Classes]:
    """Check two vectors of classes; give both as numbers, with the classes in order that the numbers stand for."""
    true, predicted = (_vector(value, name) for value, name in ((y_true, "y_true"), (y_pred, "y_pred")))
    if true.shape != predicted.shape:
        raise InputError(f"y_pred has {predicted.size} classes, expected {true.size} as y_true has")
    if true.dtype.kind != predicted.dtype.kind:
        kinds = ("strings", "integers") if true.dtype.kind == "U" else ("integers", "strings")
        raise InputError(f"y_pred has {kinds[1]}, expected {kinds[0]} as y_true has")
    return _numbered_strings(true, predicted) if true.dtype.kind == "U" else _numbered_integers(true, predicted)


def class_labels(value: object, classes: Classes) -> Classes:
    """Check the classes that a caller chose: of the same kind, each once; those that do not occur are legal."""
    found = _vector(value, "labels")
    if (found.dtype.kind == "U") != isinstance(classes[0], str):
        kind = "strings" if isinstance(classes[0], str) else "integers"
        raise InputError(f"labels has {shown(found[0].item())}, expected {kind} as y_true has")
    return _each_once(found.tolist())


def column_labels(value: object, n_labels: int) -> list[int]:
    """Check the columns of a matrix that a caller chose: each once."""
    found = plain(value, "labels")
    if found.ndim != 1 or found.size == 0 or found.dtype.kind not in "iu":
        raise InputError(f"labels is {shown(value)}, expected the numbers of some columns in a list")
    columns: list[int] = found.tolist()
    if not 0 <= min(columns) <= max(columns) < n_labels:
        raise InputError(f"labels has {min(columns)} to {max(columns)}, expected columns from 0 to {n_labels - 1}")
    return _each_once(columns)


def _each_once(labels: list[Any]) -> list[Any]:
    """Refuse labels that are listed twice: no average counts one twice."""
    for label, times in Counter(labels).items():
        if times > 1:
            raise InputError(f"labels has {shown(label)} twice, expected each once")
    return labels


def _vector(value: object, name: str) -> Dense:
    """Give a vector of int64 or of strings; a single column is one, too."""
    array = plain(value, name)
    if array.ndim == 2 and array.shape[1] == 1:
        array = array[:, 0]
    if array.ndim != 1:
        raise InputError(f"{name} has shape {array.shape}, expected a vector of classes")
    if array.size == 0:
        raise InputError(f"{name} is empty, shape {array.shape}, expected at least one class")
    if array.dtype.kind == "O" and not all(isinstance(cell, str) for cell in array):
        array = plain_numbers(array, name)
    if array.dtype.kind in "OUT":
        return array.astype(np.str_)
    if array.dtype.kind not in "biuf":
        raise InputError(f"{name} has dtype {array.dtype}, expected classes: integers, truth values or strings")
    with np.errstate(invalid="ignore"):
        whole = array.astype(np.int64)
    if array.dtype.kind in "uf" and (bad := np.flatnonzero((whole != array) | (np.abs(array) >= 2**63))).size:
        raise InputError(f"{name} has {array[bad[0]]} at row {bad[0]}, expected classes: integers or strings")
    return whole


def _numbered_integers(true: Ints, predicted: Ints) -> tuple[Ints, Ints, Classes]:
    """Number integer classes upwards, by a table of all values between the lowest and the highest if it is short."""
    lowest = min(int(true.min()), int(predicted.min()))
    span = max(int(true.max()), int(predicted.max())) - lowest + 1
    if span > 4 * true.size + 1024:
        classes = np.unique(np.concatenate([true, predicted]))
        return np.searchsorted(classes, true), np.searchsorted(classes, predicted), classes.tolist()
    occurs = np.zeros(span, np.bool_)
    occurs[true - lowest] = occurs[predicted - lowest] = True
    number = np.cumsum(occurs) - 1
    return number[true - lowest], number[predicted - lowest], (np.flatnonzero(occurs) + lowest).tolist()


def _numbered_strings(true: Dense, predicted: Dense) -> tuple[Ints, Ints, Classes]:
    """Number strings in their order."""
    rows: tuple[list[str], list[str]] = (true.tolist(), predicted.tolist())
    classes = sorted(set(rows[0]).union(rows[1]))
    number = {name: place for place, name in enumerate(classes)}
    numbered = (np.fromiter((number[name] for name in part), np.int64, len(part)) for part in rows)
    return *numbered, classes  # type: ignore[return-value]
