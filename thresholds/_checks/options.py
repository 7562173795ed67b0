"""Checks of everything that is not an array of cells: numbers, choices, names."""

import math
import numbers
from collections.abc import Iterable, Mapping, Sequence, Set
from typing import Any, Literal

import numpy as np

from thresholds.errors import InputError, shown

Average = Literal["macro", "weighted", "micro", "samples"]
Placement = Literal["low", "mid", "score"]
AVERAGES: tuple[Average, ...] = ("macro", "weighted", "micro", "samples")
PLACEMENTS: tuple[Placement, ...] = ("low", "mid", "score")

_LARGEST_BETA = 1e100  # Its square times any count is still a finite float.


def real(value: object, name: str) -> float:
    """Check a single number."""
    if isinstance(value, bool | np.bool_) or not isinstance(value, numbers.Real):
        raise InputError(f"{name} is {shown(value)}, expected a number")
    try:
        return float(value)
    except OverflowError:
        raise InputError(f"{name} is {shown(value)}, expected a number that float64 can hold") from None


def finite(value: object, name: str) -> float:
    """Check a single finite number."""
    number = real(value, name)
    if not math.isfinite(number):
        raise InputError(f"{name} is {number}, expected a finite number")
    return number


def text(value: object, name: str) -> str:
    """Check a string."""
    if not isinstance(value, str):
        raise InputError(f"{name} is {shown(value)}, expected text")
    if not _is_utf8(value):
        raise InputError(f"{name} is {shown(value)}, expected text that can be written as UTF-8")
    return value


def a_list(value: object, name: str) -> list[Any]:
    """Check a list."""
    if not isinstance(value, list):
        raise InputError(f"{name} is {shown(value)}, expected a list")
    return value


def beta(value: object, *, measures: bool = False) -> float:
    """Check the weight of recall in F-beta: positive, or, where F only measures, also 0, which makes it precision."""
    number = real(value, "beta") + 0.0  # -0.0 is 0.0.
    if number == 0 and not measures:
        raise InputError(
            "beta is 0.0, expected a positive finite number: F-beta is precision then, which is highest where next to"
            " nothing is predicted"
        )
    if not 0 <= number <= _LARGEST_BETA:
        kind = "a finite number of at least 0" if measures else "a positive finite number"
        raise InputError(f"beta is {number}, expected {kind}, at most {_LARGEST_BETA:g}")
    return number


def count(value: object, name: str, smallest: int) -> int:
    """Check a whole number."""
    if isinstance(value, bool) or not isinstance(value, numbers.Integral) or value < smallest:
        raise InputError(f"{name} is {shown(value)}, expected a whole number of at least {smallest}")
    return int(value)


def share(value: object, name: str) -> float:
    """Check a number in [0, 1]."""
    number = real(value, name)
    if not 0 <= number <= 1:
        raise InputError(f"{name} is {number}, expected a number from 0 to 1")
    return number


def positive(value: object, name: str) -> float:
    """Check a positive finite number."""
    number = real(value, name)
    if not 0 < number < math.inf:
        raise InputError(f"{name} is {number}, expected a positive finite number")
    return number


def zero_division(value: object) -> float:
    """Check the value of 0/0 in a fit."""
    if isinstance(value, bool) or not isinstance(value, numbers.Real) or value not in (0, 1):
        raise InputError(f"zero_division is {shown(value)}, expected 0.0 or 1.0")
    return float(value)


def option(value: object, name: str, options: Sequence[object]) -> Any:
    """Check that `value` is one of a few."""
    plain = value.item() if isinstance(value, np.generic) else value
    if not any(type(plain) is type(known) and plain == known for known in options):
        known = ", ".join(repr(known) for known in options[:-1]) + f" or {options[-1]!r}"
        raise InputError(f"{name} is {shown(value)}, expected {known}")
    return plain


def one_name_each(names: Sequence[str] | None, n_labels: int) -> None:
    """Refuse label names that are not as many as labels."""
    if names is not None and len(names) != n_labels:
        raise InputError(f"label_names has {len(names)} names, expected {n_labels}, one for each label")


def names_of_labels(value: object) -> tuple[str, ...]:
    """Check label names: strings in order, each once, compared as they are, case and spaces included."""
    scalar = isinstance(value, np.ndarray) and value.ndim == 0
    if scalar or not isinstance(value, Iterable) or isinstance(value, str | bytes | Set | Mapping):
        raise InputError(f"label_names is {shown(value)}, expected strings in a list")
    try:
        names = list(value)
    except TypeError:  # scipy.sparse, for one.
        raise InputError(f"label_names is {shown(value)}, expected strings in a list") from None
    for name in names:
        if not isinstance(name, str):
            raise InputError(f"label_names has {shown(name)} of type {type(name).__name__}, expected strings")
        if not _is_utf8(name):
            raise InputError(f"label_names has {shown(name)}, expected text that can be written as UTF-8")
        if "\0" in name:  # NumPy drops those at the end of a string, so that two names would become one.
            raise InputError(f"label_names has {shown(str(name))}, expected names without the character NUL")
    if len(set(names)) < len(names):
        seen: set[str] = set()
        double = next(name for name in names if name in seen or seen.add(name))  # type: ignore[func-returns-value]
        raise InputError(f"label_names has {shown(str(double))} twice, expected each name once")
    return tuple(str(name) for name in names)


def _is_utf8(text: str) -> bool:
    """Whether UTF-8 can hold text, which half a surrogate pair prevents."""
    return text.isascii() or text.encode("utf-8", "ignore").decode() == text
