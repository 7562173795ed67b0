"""Vectors of classes, one class for each row: integers, truth values or strings."""

from collections import Counter
from typing import Any

import numpy as np

from thresholds._arrays.types import Dense, Ints
from thresholds._checks.options import is_number
from thresholds._checks.plain import plain
from thresholds._checks.unknown import Unknown, hint
from thresholds.errors import InputError, shown

Classes = list[int] | list[str]

_KINDS = "classes: integers, truth values or strings"
_LOWEST = -(2**63)  # that int64 holds


def class_vectors(
    y_true: object, y_pred: object, unknown: Unknown = ()
) -> tuple[Ints, Ints, Classes]:
    """Check two vectors of classes; give both as numbers, with the classes in order that the numbers stand for.

    What `unknown` says stands in no cell any more.
    """
    true = _vector(y_true, "y_true", unknown)
    predicted = _vector(y_pred, "y_pred")
    if true.shape != predicted.shape:
        raise InputError(f"y_pred has {predicted.size} rows, expected {true.size} as y_true has")
    if true.dtype != predicted.dtype:
        raise InputError(f"y_pred has {_kind(predicted)}, expected {_kind(true)} as y_true has")
    if true.dtype == object:
        return _numbered_strings(true, predicted)
    return _numbered_integers(true, predicted)


def is_class(value: object) -> bool:
    """Whether a value may be a class, or None."""
    return value is None or isinstance(value, str) or is_number(value)


def class_labels(value: object, classes: Classes) -> Classes:
    """Check the classes that a caller chose: of the same kind, each once; those that do not occur are legal."""
    labels = _vector(value, "labels")
    kind = "strings" if isinstance(classes[0], str) else "integers"
    if _kind(labels) != kind:
        raise InputError(f"labels has {_cell(labels, 0, 'labels')}, expected {kind} as y_true has")
    return _each_once(labels.tolist())


def column_labels(value: object, n_labels: int) -> list[int]:
    """Check the columns of a matrix that a caller chose: each once."""
    numbers_of_columns = plain(value, "labels")
    is_vector = numbers_of_columns.ndim == 1 and numbers_of_columns.size > 0
    if not is_vector or numbers_of_columns.dtype.kind not in "iu":
        raise InputError(
            f"labels is {shown(value)}, expected the numbers of some columns in a list"
        )
    columns: list[int] = numbers_of_columns.tolist()
    for column in columns:
        if not 0 <= column < n_labels:
            raise InputError(f"labels has {column}, expected columns from 0 to {n_labels - 1}")
    return _each_once(columns)


def _each_once(labels: list[Any]) -> list[Any]:
    """Refuse labels that are listed twice: no average counts one twice."""
    for label, times in Counter(labels).items():
        if times > 1:
            raise InputError(f"labels has {shown(label)} twice, expected each once")
    return labels


def _vector(value: object, name: str, unknown: Unknown = ()) -> Dense:
    """Return a vector of int64, or an object array of strings; a single column is one, too, but for `labels`."""
    array = plain(value, name)
    if array.ndim == 2 and array.shape[1] == 1 and name != "labels":
        array = array[:, 0]
    if array.ndim == 0:
        raise InputError(f"{name} is {shown(array.item())}, expected a vector of classes")
    if array.ndim > 1:
        raise InputError(f"{name} has shape {array.shape}, expected a vector of classes")
    if array.size == 0:
        raise InputError(f"{name} is empty, shape {array.shape}, expected at least one class")
    if array.dtype.kind in "OUT":
        return _one_kind(array.astype(object), name, unknown)
    if array.dtype.kind not in "biuf":
        raise InputError(f"{name} has dtype {array.dtype}, expected {_KINDS}")
    if array.dtype.kind == "f":
        array = array.astype(np.float64)
    return _whole(array, name, unknown)


def _one_kind(cells: Dense, name: str, unknown: Unknown) -> Dense:
    """Check an object array: strings alone, or numbers alone, which become int64."""
    strings = [isinstance(cell, str) for cell in cells]
    if all(strings):
        return cells
    if any(strings):
        others = [cell for cell in cells if not isinstance(cell, str)]
        raise InputError(
            f"{name} mixes strings with other values, expected one kind{_hint(name, others, unknown)}"
        )
    for row, cell in enumerate(cells):
        if not is_number(cell):
            advice = _hint(name, [cell], unknown)
            raise InputError(f"{name} has {_cell(cells, row, name)}, expected {_KINDS}{advice}")
    plain_cells = [cell.item() if isinstance(cell, np.generic) else cell for cell in cells]
    return _whole(np.array(plain_cells, object), name, unknown)


def _hint(name: str, cells: list[Any], unknown: Unknown) -> str:
    """Say how to leave rows out whose truth is not known, if that is what some cells may mean."""
    is_absent = any(cell != cell if is_number(cell) else cell is None for cell in cells)
    return hint(name, None, unknown) if is_absent else ""


def _whole(array: Dense, name: str, unknown: Unknown) -> Ints:
    """Return real numbers as int64, if they are whole and fit."""
    if array.dtype.kind in "Of":
        with np.errstate(invalid="ignore"):
            fractions = np.flatnonzero(array % 1 != 0)  # NaN and infinite ones, too.
        if fractions.size:
            cell = _cell(array, fractions[0], name)
            advice = _hint(name, array[fractions[:1]].tolist(), unknown)
            raise InputError(f"{name} has {cell}, expected {_KINDS}{advice}")
    if array.dtype.kind in "Ofu":
        large = np.flatnonzero((array >= -_LOWEST) | (array < _LOWEST))
        if large.size:
            raise InputError(
                f"{name} has {_cell(array, large[0], name)}, expected integers that int64 can hold"
            )
    return array.astype(np.int64)


def _cell(array: Dense, row: int, name: str) -> str:
    """Say what a cell is, and where, in what has rows."""
    cell = shown(array[row : row + 1].tolist()[0])
    return cell if name == "labels" else f"{cell} at row {row}"


def _kind(array: Dense) -> str:
    """Name what a vector holds."""
    return "strings" if array.dtype == object else "integers"


def _numbered_integers(true: Ints, predicted: Ints) -> tuple[Ints, Ints, Classes]:
    """Number integer classes upwards, by a table of all values between the lowest and the highest if it is short."""
    lowest = min(int(true.min()), int(predicted.min()))
    highest = max(int(true.max()), int(predicted.max()))
    span = highest - lowest + 1
    if span > 4 * true.size + 1024:
        classes = np.unique(np.concatenate([true, predicted]))
        return np.searchsorted(classes, true), np.searchsorted(classes, predicted), classes.tolist()
    true = true - lowest
    predicted = predicted - lowest
    occurs = np.zeros(span, np.bool_)
    occurs[true] = True
    occurs[predicted] = True
    classes = np.flatnonzero(occurs) + lowest
    number = np.cumsum(occurs) - 1  # (span,)
    return number[true], number[predicted], classes.tolist()


def _numbered_strings(true: Dense, predicted: Dense) -> tuple[Ints, Ints, Classes]:
    """Number strings in their order."""
    classes = sorted({*true, *predicted})
    number = {name: place for place, name in enumerate(classes)}

    def numbered(names: Dense) -> Ints:
        return np.fromiter(map(number.__getitem__, names), np.int64, names.size)

    return numbered(true), numbered(predicted), classes
