"""The `repr` of a value, in brief: of arrays and names the first few."""

from collections.abc import Mapping, Sequence
from dataclasses import fields, is_dataclass
from itertools import islice

import numpy as np

from thresholds import _checks

_LONGEST_TEXT = 60  # characters of a text
_VALUES_SHOWN = 4  # of an array, or of names


def in_brief(value: object) -> str:
    """Return the `repr` of a value without defaults: of arrays and tuples the first few items, and their number."""
    if is_dataclass(value) and not isinstance(value, type):
        values = ((item, getattr(value, item.name)) for item in fields(value) if item.repr)
        shown = [
            f"{item.name}={in_brief(field_value)}"
            for item, field_value in values
            if not _checks.is_default(field_value, item.default)
        ]
        return f"{type(value).__name__}({', '.join(shown)})"
    if isinstance(value, np.ndarray):
        return _some_of(value.tolist(), "[", "]")
    if isinstance(value, tuple):
        return _some_of(value, "(", ",)" if len(value) == 1 else ")")
    if isinstance(value, Mapping):
        items = islice(value.items(), 2 * _VALUES_SHOWN)
        shown = [f"{in_brief(name)}: {in_brief(item)}" for name, item in items]
        return f"{{{_listed(shown, len(value))}}}"
    return _cut(repr(value), _LONGEST_TEXT)


def _some_of(values: Sequence[object], start: str, end: str) -> str:
    """Return the first few of some values, and their number if there are more."""
    return (
        f"{start}{_listed([in_brief(value) for value in values[:_VALUES_SHOWN]], len(values))}{end}"
    )


def _listed(shown: Sequence[str], n_values: int) -> str:
    """List values that are shown, and say how many they are if there are more."""
    more = [f"... {n_values:,} in all"] if n_values > len(shown) else []
    return ", ".join([*shown, *more])


def _cut(text: str, length: int) -> str:
    """Return a text, of a long one the beginning."""
    return text if len(text) <= length else f"{text[:length]}..."
