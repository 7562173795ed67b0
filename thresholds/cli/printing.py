"""What commands print: plain values as JSON, and words about a rule that is saved."""

import json
import sys
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from thresholds.results import as_plain_values

if TYPE_CHECKING:
    from thresholds.rule import Rule


def as_json(values: dict[str, Any]) -> str:
    """Return one JSON object, NaN as null and infinite numbers as words: JSON has neither."""
    return json.dumps(as_plain_values(values), indent=1, allow_nan=False)


def print_error(line: str) -> None:
    """Print a line on stderr; that nobody reads that changes neither what is done nor the exit status."""
    with suppress(OSError):
        print(line, file=sys.stderr, flush=True)


def saved(rule: "Rule", path: str, lines: list[str], warning: list[str]) -> None:
    """Save a rule when all that is to be said of it is known, and only then say it; `warning` comes last."""
    rule.save(path)
    print("\n".join([*lines, f"saved as {path}", *warning]))
