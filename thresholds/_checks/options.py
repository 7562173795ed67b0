"""Checks of everything that is not an array of cells: numbers, choices, text."""

import math
import numbers
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from decimal import Decimal
from typing import Any, Literal, TypeGuard

import numpy as np

from thresholds._arrays.types import Floats, Numbers
from thresholds.errors import InputError, shown

Average = Literal["macro", "weighted", "micro", "samples"]
Placement = Literal["low", "mid", "score"]
AVERAGES: tuple[Average, ...] = ("macro", "weighted", "micro", "samples")
PLACEMENTS: tuple[Placement, ...] = ("low", "mid", "score")
FAMILIES = ("each", "all")  # of promises
EXPECTED = "expected"  # a confidence: what is promised is an expectation

LARGEST_EXACT_INTEGER = 2**53

_LARGEST_BETA = 1e100  # Its square times any count is still a finite float.


def is_default(value: object, default: object) -> bool:
    """Whether an option has the value that it has without being asked for, which needs no check."""
    if value is default:
        return True
    is_plain = isinstance(value, bool | int | float | str)
    return is_plain and type(value) is type(default) and value == default


def is_number(cell: object) -> TypeGuard[float]:
    """Whether a cell of objects is a real number or a truth value: Python's, NumPy's, or a decimal one, as of SQL."""
    if isinstance(cell, Decimal):
        return not cell.is_snan()  # which no comparison takes
    return isinstance(cell, numbers.Real | np.bool_)


def real(value: object, name: str) -> float:
    """Check a single number."""
    if isinstance(value, bool | np.bool_) or not isinstance(value, numbers.Real):
        raise InputError(f"{name} is {shown(value)}, expected a number")
    try:
        return float(value)
    except OverflowError:
        raise InputError(
            f"{name} is {shown(value)}, expected a number that float64 can hold"
        ) from None


def finite(value: object, name: str) -> float:
    """Check a single finite number."""
    number = real(value, name)
    if not math.isfinite(number):
        raise InputError(f"{name} is {number}, expected a finite number")
    return number


def reals(values: Sequence[object] | Numbers, name: str) -> Floats:
    """Check many numbers, and return them: all at once where they are plain ones, as they nearly always are."""
    if isinstance(values, np.ndarray) and values.dtype.kind in "iuf":
        return values.astype(np.float64, copy=False)
    if set(map(type, values)) <= {int, float}:
        with suppress(OverflowError):
            numbers_found = np.array(values, np.float64)
            if (np.abs(numbers_found) > LARGEST_EXACT_INTEGER).any():
                _refuse_large_integers(values, name)
            return numbers_found
    return np.array([real(value, name) for value in values], np.float64)


def _refuse_large_integers(values: Sequence[object] | Numbers, name: str) -> None:
    """Refuse integers that float64 may not hold: elsewhere they would be no numbers of NumPy."""
    for value in values:
        if isinstance(value, int) and abs(value) > LARGEST_EXACT_INTEGER:
            raise InputError(
                f"{name} has the integer {shown(value)}, expected at most 2**53 in absolute value"
            )


def finites(values: Sequence[object] | Numbers, name: str) -> Floats:
    """Check many finite numbers, and return them."""
    numbers_found = reals(values, name)
    is_finite = np.isfinite(numbers_found)
    if not is_finite.all():
        finite(values[int(is_finite.argmin())], name)
    return numbers_found


def text(value: object, name: str) -> str:
    """Check a string."""
    if not isinstance(value, str):
        raise InputError(f"{name} is {shown(value)}, expected text")
    if not is_utf8(value):
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
        raise InputError(
            f"{name} is {shown(value)}, expected a whole number of at least {smallest}"
        )
    return int(value)


def counts(values: Sequence[Any], name: str, smallest: int) -> None:
    """Check many whole numbers: all at once where they are plain ones, as they nearly always are."""
    if set(map(type, values)) <= {int} and min(values, default=smallest) >= smallest:
        return
    for value in values:
        count(value, name, smallest)


def seed(value: object) -> int:
    """Check a `random_state` of 64 bits."""
    number = count(value, "random_state", 0)
    if number >= 2**64:
        raise InputError(f"random_state is {number}, expected a number below 2**64")
    return number


def share(value: object, name: str) -> float:
    """Check a number in [0, 1]."""
    number = real(value, name)
    if not 0 <= number <= 1:
        raise InputError(f"{name} is {number}, expected a number from 0 to 1")
    return number


def inside(value: object, name: str) -> float:
    """Check a number between 0 and 1, neither of them."""
    number = real(value, name)
    if not 0 < number < 1:
        raise InputError(f"{name} is {number}, expected a number between 0 and 1")
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
    for known in options:
        if type(plain) is type(known) and plain == known:
            return plain
    expected = ", ".join([repr(known) for known in options[:-1]]) + f" or {options[-1]!r}"
    raise InputError(f"{name} is {shown(value)}, expected {expected}")


def flag(value: object, name: str) -> bool:
    """Check a truth value."""
    return bool(option(value, name, (True, False)))


def refuse_unknown(values: Mapping[str, Any], known: Iterable[str]) -> None:
    """Refuse fields that are not known, which this version would pass over without a word, and what has no fields."""
    known = list(known)
    if not isinstance(values, Mapping):
        raise InputError(f"found {shown(values)}, expected the fields {', '.join(known)}")
    unknown = sorted(set(values) - set(known))
    if unknown:
        raise InputError(
            f"the field {shown(unknown[0])} is unknown, expected those that rule.save writes; a newer version"
            " may know more"
        )


def is_utf8(text: str) -> bool:
    """Whether UTF-8 can hold text, which half a surrogate pair prevents."""
    return text.isascii() or text.encode("utf-8", "ignore").decode() == text
