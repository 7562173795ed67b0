"""Keys that join rows of two files: text or whole numbers, compared exactly; of several columns, text.

In a key of several columns numbers may have decimals, as times do, and are compared as numbers: 3.0 is 3.
"""

import re
from collections.abc import Sequence

import numpy as np

from thresholds._arrays.types import Dense
from thresholds._checks import InputError, shown

KINDS = ("text", "int", "none")  # of columns; one of nothing but nulls is refused where it is read
KINDS_OF_SEVERAL = (*KINDS, "float")
_EXPECTED = "expected whole numbers or text as --key: cast it"
_BETWEEN = " | "  # the columns of a key, where it is one text
_ZEROS = re.compile(r"(-?\d+)\.0*|(-?\d+\.\d*?)0*")  # at the end of a decimal number
_WITH_COMMA = re.compile(r"-?\d+,\d+")  # a decimal number, as spreadsheets write it


def refuse_kind(name: str, key: str, holds: str) -> InputError:
    """Say that a column cannot be a key."""
    return InputError(f"column {key!r} of {name} holds {holds}, {_EXPECTED}")


def check_array(name: str, key: str, values: Dense, *, one_of_several: bool = False) -> Dense:
    """Refuse an array of anything but text and whole numbers as keys, or numbers as one of several."""
    if values.dtype.kind not in ("iufU" if one_of_several else "iuU"):
        raise refuse_kind(name, key, str(values.dtype))
    return values


def together(columns: Sequence[Dense]) -> Dense | None:
    """Return the keys of rows: one column as it is, several as text (n_rows, n_columns)."""
    if len(columns) < 2:
        return columns[0] if columns else None
    keys = np.empty((len(columns[0]), len(columns)), object)
    for place, column in enumerate(columns):
        texts = column.tolist() if column.dtype.kind in "OU" else column.astype(np.str_).tolist()
        keys[:, place] = [plain(text) for text in texts]
    return keys


def plain(text: str) -> str:
    """Return a decimal number without zeros at its end; other text as it is."""
    if _WITH_COMMA.fullmatch(text):
        text = text.replace(",", ".")
    number = _ZEROS.fullmatch(text)
    return text if number is None else number[1] or number[2]


def as_one(keys: Dense) -> Dense:
    """Return keys (n_rows,), those of several columns as one text each, which no others give."""
    if keys.ndim == 1:
        return keys
    texts = [
        _BETWEEN.join(part.replace("\\", r"\\").replace("|", r"\|") for part in key)
        for key in keys.tolist()
    ]
    return np.array(texts, object)


def places_of(
    wanted: Dense, known: Dense, name: str, other: str, *, may_lack: bool = False
) -> Dense:
    """Find the row of `known`, the keys of the file `other`, for each of the keys `wanted` of the file `name`.

    Where `known` may lack some, these have -1; that it lacks all of them is refused.
    """
    wanted, known = as_one(wanted), as_one(known)
    first, second = _comparable(wanted, known)
    _refuse_doubled(first, wanted, name)
    _refuse_doubled(second, known, other)
    order = np.argsort(second, kind="stable")
    places = order[np.minimum(np.searchsorted(second, first, sorter=order), second.size - 1)]
    is_missing = second[places] != first  # (n_wanted,)
    missing = np.flatnonzero(is_missing)
    if may_lack and missing.size < wanted.size:
        return np.where(is_missing, -1, places)
    if missing.size:
        more = f" ({missing.size:,} keys are)" if missing.size > 1 else ""
        raise InputError(
            f"key {shown_key(wanted[missing[0]])} of {name} is missing in {other}{more}, expected a row there for each"
            f" row of scores (keys are {_kind(wanted)} in {name}, {_kind(known)} such as {shown_key(known[0])} in"
            f" {other})"
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
            f"key {shown_key(as_given[at])} stands on {times} rows of {name}{more}, expected each key once"
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


def shown_key(value: object) -> str:
    """Show a key."""
    return shown(value.item() if isinstance(value, np.generic) else value)
