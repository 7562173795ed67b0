"""Options that are text, or None for what is usual: an encoding, words, what parts the labels of a cell."""

import codecs
from collections.abc import Iterable

from thresholds.errors import InputError, shown

_OF_HOSTS = ("idna", "punycode")  # encodings of names, not of text


def encoding(value: object, name: str) -> str | None:
    """Check the name of an encoding of text."""
    if value is None:
        return None
    try:
        if isinstance(value, str) and codecs.lookup(value).name not in _OF_HOSTS:
            "".encode(value)
            return value
    except (LookupError, ValueError):
        pass
    raise InputError(
        f"{name} is {shown(value)}, expected an encoding that Python knows, as 'cp1252'"
    )


def words(value: object, name: str) -> tuple[str, ...]:
    """Check words: one text, parted by commas, or several texts."""
    if value is None:
        return ()
    parts = value.split(",") if isinstance(value, str) else value
    found = tuple(parts) if isinstance(parts, Iterable) else ()
    if not found or not all(isinstance(word, str) and word.strip() for word in found):
        raise InputError(f"{name} is {shown(value)}, expected words, as 'yes,x'")
    return tuple(word.strip() for word in found)


def separator(value: object, name: str) -> str | None:
    """Check the text that parts the labels of a cell."""
    if value is None:
        return None
    if not isinstance(value, str) or not value:
        raise InputError(
            f"{name} is {shown(value)}, expected the text between the labels of a cell, as '|'"
        )
    return value
