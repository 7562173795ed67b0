"""Keys that join rows of two files: text or whole numbers, compared exactly; of several columns, text.

In a key of several columns numbers may have decimals, as times do, and are compared as numbers: 3.0 is 3.
"""

import re
from collections import Counter
from collections.abc import Sequence
from functools import lru_cache

import numpy as np

from thresholds._arrays.types import Dense, Ints
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
        keys[:, place] = texts
    return keys


@lru_cache(maxsize=2**16)
def _compared(text: str) -> str:
    """Return a part of a key as it is compared, without the sign that stands between parts."""
    return plain(text).replace("\\", r"\\").replace("|", r"\|")


def plain(text: str) -> str:
    """Return a decimal number without zeros at its end; other text as it is."""
    if _WITH_COMMA.fullmatch(text):
        text = text.replace(",", ".")
    number = _ZEROS.fullmatch(text)
    return text if number is None else number[1] or number[2]


def as_one(keys: Dense) -> Dense:
    """Return keys (n_rows,), those of several columns as one text each, which no others give: 3.0 is 3."""
    if keys.ndim == 1:
        return keys
    parts = [map(_compared, keys[:, place].tolist()) for place in range(keys.shape[1])]
    return np.array(list(map(_BETWEEN.join, zip(*parts, strict=True))), object)


def places_of(
    wanted: Dense, known: Dense, name: str, other: str, *, may_lack: bool = False
) -> Ints:
    """Find the row of `known`, the keys of the file `other`, for each of the keys `wanted` of the file `name`.

    Where `known` may lack some, these have -1; that it lacks all of them is refused.
    """
    asked, there = as_one(wanted).tolist(), as_one(known).tolist()
    _refuse_doubled(asked, name)
    _refuse_doubled(there, other)

    # Whole numbers are looked up in text as text.
    first, second = asked, there
    if _kind(wanted) != _kind(known):
        first, second = list(map(str, asked)), list(map(str, there))
    rows = {key: row for row, key in enumerate(second)}
    places = np.array([rows.get(key, -1) for key in first], np.intp)  # (n_wanted,)
    missing = np.flatnonzero(places < 0)
    if missing.size and not (may_lack and missing.size < places.size):
        more = f" ({missing.size:,} keys are)" if missing.size > 1 else ""
        raise InputError(
            f"key {shown(asked[missing[0]])} of {name} is missing in {other}{more}, expected a row there for each"
            f" row of scores (keys are {_kind(wanted)} in {name}, {_kind(known)} such as {shown(there[0])} in"
            f" {other})"
        )
    return places


def _refuse_doubled(keys: Sequence[object], name: str) -> None:
    """Refuse keys that stand on several rows."""
    if len(set(keys)) == len(keys):
        return
    doubled = {key: n_rows for key, n_rows in Counter(keys).items() if n_rows > 1}
    key, n_rows = next(iter(doubled.items()))
    more = f", and {len(doubled) - 1:,} more are doubled" if len(doubled) > 1 else ""
    raise InputError(
        f"key {shown(key)} stands on {n_rows} rows of {name}{more}, expected each key once"
    )


def _kind(keys: Dense) -> str:
    """Say what keys are."""
    return "whole numbers" if keys.dtype.kind in "iu" else "text"


def shown_key(value: object) -> str:
    """Show a key."""
    return shown(value.item() if isinstance(value, np.generic) else value)
