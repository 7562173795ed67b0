"""Rules as JSON: exact, readable, and free of code. The form is `rule.schema.json`."""

import json
import os
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, NoReturn, TypeAlias

from thresholds import _checks
from thresholds._checks import InputError

_LONG = 1000  # A list with more values is read by programs alone.

FORMAT = "thresholds.rule"
FORMAT_VERSION = 1
HEADER: Mapping[str, Any] = {"format": FORMAT, "version": FORMAT_VERSION}  # of every saved rule


def check_header(values: object, name: str) -> None:
    """Refuse what does not begin as a saved rule does; `name` is what has the values, for an error."""
    if not isinstance(values, Mapping) or values.get("format") != FORMAT:
        raise InputError(f"{name} is not a rule: expected a JSON object with format {FORMAT!r}")
    if type(values.get("version")) is not int or values["version"] != FORMAT_VERSION:
        raise InputError(
            f"{name} has format version {_checks.shown(values.get('version'))}, expected {FORMAT_VERSION}"
        )


Read: TypeAlias = Callable[[Any], Any]  # builds a rule from its plain values


def built(cls: Any, values: Any, name: str, read: Read) -> Any:
    """Build a rule of a kind from plain values, whatever they are; `name` is what has them, for an error."""
    check_header(values, name)
    if values.get("kind") != cls.kind:
        raise InputError(
            f"{name} is a rule of the kind {_checks.shown(values.get('kind'))}, expected {cls.kind!r}; load_rule takes"
            " any kind"
        )
    try:
        return cls(**cls._read(values, read))
    except KeyError as error:
        raise InputError(f"{name} lacks {error}, expected the JSON of rule.save") from None
    except (TypeError, ValueError, IndexError) as error:
        raise InputError(f"{name} is not a rule: {error}") from None


def refuse_within(_: Any) -> NoReturn:
    """Refuse to build a rule within another one, whose kind may be any."""
    raise InputError("there is a rule within it, expected to be read by load_rule(values)")


def save(values: Mapping[str, Any], path: str | os.PathLike[str]) -> None:
    """Write plain values as JSON. A file is replaced whole or not at all."""
    from thresholds._atomic import write_atomically  # which whoever applies a rule need not load

    text = as_text(values) + "\n"
    write_atomically(path, lambda stream: stream.write(text.encode()))


def as_text(value: Any, depth: int = 0) -> str:
    """Write plain values as JSON, one to a line, but for long lists: each of these is one line."""
    write = partial(json.dumps, allow_nan=False, ensure_ascii=False)
    is_long = isinstance(value, list) and len(value) > _LONG
    if not isinstance(value, Mapping | list) or not value or is_long:
        return write(value)
    start, end = "\n" + " " * (depth + 1), "\n" + " " * depth
    if isinstance(value, list):
        return "[" + ",".join(start + as_text(item, depth + 1) for item in value) + end + "]"
    items = (f"{start}{write(key)}: {as_text(item, depth + 1)}" for key, item in value.items())
    return "{" + ",".join(items) + end + "}"
