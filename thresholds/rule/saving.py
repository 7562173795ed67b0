"""Rules as JSON: exact, readable, and free of code. The form is `rule.schema.json`."""

import json
import math
import os
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from typing import Any, ClassVar

from thresholds import _checks
from thresholds._checks import InputError
from thresholds.atomic import write_atomically

FORMAT = "thresholds.rule"
FORMAT_VERSION = 1


class Saved(ABC):
    """A rule that can be saved as JSON."""

    own_fields: ClassVar[tuple[str, ...]] = ()  # that no other kind of rule has in its JSON

    @abstractmethod
    def to_dict(self) -> dict[str, Any]:
        """Return the rule as plain values, in the form of `rule.schema.json`."""

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the rule as JSON; it comes back bit for bit. A file is replaced whole or not at all."""
        text = json.dumps(self.to_dict(), indent=1, allow_nan=False, ensure_ascii=False)
        write_atomically(path, lambda stream: stream.write((text + "\n").encode()))


def header(kind: str) -> dict[str, Any]:
    """Return the fields that every saved rule begins with."""
    return {"format": FORMAT, "version": FORMAT_VERSION, "kind": kind}


def refuse_unknown(values: Mapping[str, Any], known: Iterable[str]) -> None:
    """Refuse fields that are not known, which this version would pass over without a word."""
    unknown = sorted(set(values) - set(known))
    if unknown:
        raise InputError(
            f"the field {_checks.shown(unknown[0])} is unknown, expected those that rule.save writes; a newer version"
            " may know more"
        )


def to_json(value: float) -> float | str | None:
    """Write +inf as null (never) and -inf as a word: JSON has neither."""
    if math.isinf(value):
        return None if value > 0 else "-inf"
    return value


def from_json(value: float | str | None) -> float:
    """Read what `to_json` wrote."""
    if value is None:
        return math.inf
    if value == "-inf":
        return -math.inf
    return _checks.real(value, "a threshold")
