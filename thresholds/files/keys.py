"""Keys that join rows of two files: text or whole numbers, compared exactly."""

from collections.abc import Sequence

import numpy as np

from thresholds._arrays.types import Dense
from thresholds._checks import InputError, shown

KINDS = ("text", "int", "none")  # of columns; one of nothing but nulls is refused where it is read
_EXPECTED = "expected whole numbers or text as --key: cast it"


def refuse_kind(name: str, key: str, holds: str) -> InputError:
    """Say that a column cannot be a key."""
    return InputError(f"column {key!r} of {name} holds {holds}, {_EXPECTED}")


def check_array(name: str, key: str, values: Dense) -> Dense:
    """Refuse an array of anything but text and whole numbers as keys."""
    if values.dtype.kind not in "iuU":
        raise refuse_kind(name, key, str(values.dtype))
    return values


def places_of(wanted: Dense, known: Dense, name: str, other: str) -> Dense:
    """Find the row of `known`, the keys of the file `other`, for each of the keys `wanted` of the file `name`."""
    first, second = _comparable(wanted, known)
    _refuse_doubled(first, wanted, name)
    _refuse_doubled(second, known, other)
    order = np.argsort(second, kind="stable")
    places = order[np.minimum(np.searchsorted(second, first, sorter=order), second.size - 1)]
    missing = np.flatnonzero(second[places] != first)
    if missing.size:
        more = f" ({missing.size:,} keys are)" if missing.size > 1 else ""
        raise InputError(
            f"key {_shown(wanted[missing[0]])} of {name} is missing in {other}{more}, expected a row there for each row"
            f" of scores (keys are {_kind(wanted)} in {name}, {_kind(known)} such as {_shown(known[0])} in {other})"
        )
    return places


def _refuse_doubled(keys: Dense, as_given: Dense, name: str) -> None:
    """Refuse keys that stand on several rows."""
    ordered = np.sort(keys)
    again = ordered[1:] == ordered[:-1]
    if again.any():
        doubled, counts = np.unique(ordered[1:][again], return_counts=True)
        at = int(np.isin(keys, doubled).argmax())
        times = int(counts[np.searchsorted(doubled, keys[at])]) + 1
        more = f", and {doubled.size - 1:,} more are doubled" if doubled.size > 1 else ""
        raise InputError(
            f"key {_shown(as_given[at])} stands on {times} rows of {name}{more}, expected each key once"
        )


def _comparable(first: Dense, second: Dense) -> tuple[Dense, Dense]:
    """Return keys as whole numbers of one dtype where both are some, else as the bytes of text."""
    if first.dtype.kind in "iu" and second.dtype.kind in "iu":
        dtype = np.result_type(first, second)
        if dtype.kind in "iu":
            return first.astype(dtype, copy=False), second.astype(dtype, copy=False)
        # uint64 beside int64, for which NumPy would take float64.
        if min(first.min(initial=0), second.min(initial=0)) >= 0:
            return first.astype(np.uint64), second.astype(np.uint64)
    return _as_bytes(first.tolist()), _as_bytes(second.tolist())


def _as_bytes(keys: Sequence[object]) -> Dense:
    """Return text, or numbers as text, in a form that sorts fast; NumPy would drop zeros at the end."""
    return np.array([f"{key}.".encode() for key in keys], np.bytes_)


def _kind(keys: Dense) -> str:
    """Say what keys are."""
    return "whole numbers" if keys.dtype.kind in "iu" else "text"


def _shown(value: object) -> str:
    """Show a key."""
    return shown(value.item() if isinstance(value, np.generic) else value)
