"""Plain values, as JSON has them, and back."""

import dataclasses
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields, is_dataclass
from functools import cache
from typing import Any, Literal

import numpy as np

from thresholds._arrays.types import AnyFloats

Form = Literal["plain", "cut", "figure"]


def plain(value: Any, form: Form = "figure") -> Any:
    """Return values as JSON has them: lists, dictionaries with names, finite numbers, strings, booleans and None.

    Rows of a structured array become dictionaries. `form` says what becomes of infinite numbers and NaN.
    """
    if isinstance(value, np.ndarray):
        if value.dtype.names is not None:
            return [plain(row, form) for row in objects_of(value)]
        if value.dtype.kind in "biu":
            return value.tolist()
        if value.dtype.kind == "f" and value.ndim:
            return _plain_floats(value, form)
        value = value.tolist()
    elif isinstance(value, np.generic):
        value = value.item()
    if value is None or isinstance(value, str | int):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else _WORDS[form](value)
    if isinstance(value, list | tuple | range):
        return [plain(item, form) for item in value]
    if isinstance(value, Mapping):
        return {name: plain(item, form) for name, item in value.items()}
    if hasattr(value, "to_dict"):  # a record within
        return value.to_dict()
    if is_dataclass(value) or hasattr(value, "_fields"):
        return {name: plain(item, form) for name, item in values_of(value).items()}
    return value


def _plain_floats(array: AnyFloats, form: Form) -> list[Any]:
    """Return an array of floats in lists; only what is not finite is looked at one by one."""
    if array.ndim > 1:
        return [_plain_floats(row, form) for row in array]
    values: list[Any] = array.tolist()
    for place in np.flatnonzero(~np.isfinite(array)).tolist():
        values[place] = _WORDS[form](values[place])
    return values


def _of_cut(value: float) -> str | None:
    """Write a cut that is infinite: never, or always."""
    return None if value > 0 else "-inf"


def _of_figure(value: float) -> str | None:
    """Write a figure that is not finite."""
    return None if math.isnan(value) else str(value)


_WORDS: Mapping[Form, Callable[[float], Any]] = {
    "plain": _of_figure,
    "cut": _of_cut,
    "figure": _of_figure,
}
_MEANINGS: Mapping[Form, Mapping[Any, float]] = {
    "plain": {},
    "cut": {None: math.inf, "-inf": -math.inf},
    "figure": {None: math.nan, "inf": math.inf, "-inf": -math.inf},
}


def number_of(value: Any, form: Form) -> Any:
    """Return the number that a word of JSON stands for, and all else as it is."""
    if value is None or isinstance(value, str):
        return _MEANINGS[form].get(value, value)
    return value


def own_first(instance: object) -> Sequence["dataclasses.Field[Any]"]:
    """Return the fields of a data class as they are read: those of a class before those that it inherits."""
    cls: Any = type(instance)
    return _own_first(cls)


@cache
def _own_first(cls: Any) -> Sequence["dataclasses.Field[Any]"]:
    """Return the fields of a class, its own first."""
    by_name = {item.name: item for item in fields(cls)}
    of_classes = [vars(each).get("__annotations__", ()) for each in cls.__mro__]
    names = dict.fromkeys(name for found in of_classes for name in found if name in by_name)
    return [by_name[name] for name in names]


def values_of(value: Any) -> dict[str, Any]:
    """Return the fields of a data class or named tuple, and their values."""
    names = [item.name for item in fields(value)] if is_dataclass(value) else value._fields
    return {name: getattr(value, name) for name in names}


def objects_of(rows: Any) -> list[dict[str, Any]]:
    """Return the rows of a structured array as dictionaries of plain values."""
    names = rows.dtype.names or ()
    return [dict(zip(names, row.item(), strict=True)) for row in rows]
