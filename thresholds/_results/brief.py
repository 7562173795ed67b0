"""The `repr` of a record, in brief: of arrays and names the first few."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import is_dataclass
from itertools import islice
from typing import Any

import numpy as np

from thresholds import _checks
from thresholds._results.plain import own_first

_LONGEST_TEXT = 60  # characters of a text in a `repr`
_LONGEST_ITEM = 20  # of one of several
_VALUES_SHOWN = 3  # of an array, or of names


def in_brief(record: Any) -> str:
    """Return the `repr` of a record without defaults: of arrays and tuples the first few items, and their number."""
    values = ((item, getattr(record, item.name)) for item in own_first(record) if item.repr)
    shown = [
        f"{item.name}={_part_in_brief(own)}"
        for item, own in values
        if not _checks.is_default(own, item.default)
    ]
    return f"{type(record).__name__}({', '.join(shown)})"


def _part_in_brief(value: object) -> str:
    """Return the value of a field in brief: of a record its class, of a table its size."""
    if is_dataclass(value):
        return f"<{type(value).__name__}>"
    if isinstance(value, np.ndarray) and value.dtype.names is not None:
        return f"<{value.size:,} rows>"
    if isinstance(value, np.ndarray) and value.ndim > 1:
        return f"<{value.dtype} {value.shape}>"
    if isinstance(value, np.ndarray):
        return f"[{_some_of(value[:_VALUES_SHOWN].tolist(), value.size)}]"
    if isinstance(value, tuple):
        comma = "," if len(value) == 1 else ""
        return f"({_some_of(value[:_VALUES_SHOWN], len(value))}{comma})"
    if isinstance(value, Mapping):
        items = islice(value.items(), 2 * _VALUES_SHOWN)
        shown = [f"{_item_in_brief(name)}: {_item_in_brief(item)}" for name, item in items]
        return f"{{{_listed(shown, len(value))}}}"
    return _cut(repr(value), _LONGEST_TEXT)


def _item_in_brief(value: object) -> str:
    """Return one of several values in brief: numbers to six digits, the beginning of texts."""
    if isinstance(value, float):
        return f"{value:.6g}"
    if isinstance(value, str):
        return _cut(repr(value), _LONGEST_ITEM)
    return _part_in_brief(value)


def _some_of(values: Iterable[object], n_values: int) -> str:
    """List the first few of some values, and their number if there are more."""
    return _listed([_item_in_brief(value) for value in values], n_values)


def _listed(shown: Sequence[str], n_values: int) -> str:
    """List values that are shown, and say how many they are if there are more."""
    more = [f"... {n_values:,} in all"] if n_values > len(shown) else []
    return ", ".join([*shown, *more])


def _cut(text: str, length: int) -> str:
    """Return a text, of a long one the beginning."""
    return text if len(text) <= length else f"{text[:length]}..."
