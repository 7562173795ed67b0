"""JSON as RFC 8259 has it. Python reads more than that, and of a key that stands twice it takes the last."""

import json
import math
from collections import Counter
from typing import Any

from thresholds.errors import InputError, shown


def read_json(content: bytes | str, *, constants: bool = False) -> Any:
    """Read JSON in UTF-8; each key once, and numbers that float64 holds.

    `constants` lets NaN and Infinity pass, where what is read is checked later. The `InputError` says what is wrong; of
    which file it is, the caller knows.
    """
    strict: dict[str, Any] = {}
    if not constants:
        strict = {"parse_constant": _refuse_constant, "parse_float": _float}
    try:
        text = content.decode("utf-8-sig") if isinstance(content, bytes) else content
        return json.loads(text, object_pairs_hook=_object, **strict)
    except UnicodeDecodeError:
        raise InputError("it is not UTF-8") from None
    except RecursionError:
        raise InputError("it has lists or objects within others, too deep to read") from None
    except json.JSONDecodeError as error:
        raise InputError(f"{error.msg}: {_place(error)}") from None
    except InputError:
        raise
    except ValueError:  # of `int`, with advice that is for programmers
        raise InputError("it has a whole number of thousands of digits") from None


def _place(error: json.JSONDecodeError) -> str:
    """Say where an error is; in a text of one line, which may be one of many, by the column alone."""
    text = error.doc.rstrip()
    if "\n" in text:
        return f"line {error.lineno} column {error.colno}"
    return f"column {min(error.pos, len(text)) + 1}"


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return an object; a key must stand in it once."""
    values = dict(pairs)
    if len(values) < len(pairs):
        double, _ = Counter(key for key, _ in pairs).most_common(1)[0]
        raise InputError(f"the key {shown(double)} stands twice in one object")
    return values


def _refuse_constant(word: str) -> Any:
    """Refuse NaN, Infinity and -Infinity, which JSON has not."""
    raise InputError(f"{word} is no JSON")


def _float(digits: str) -> float:
    """Return a number, if float64 holds it."""
    number = float(digits)
    if math.isinf(number):
        raise InputError(f"the number {shown(digits)} is too large for float64")
    return number
