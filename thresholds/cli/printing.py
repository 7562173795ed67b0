"""What commands print: plain values as JSON, and words about a rule that is saved."""

import json
import math
import sys
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from thresholds.rule import Rule


def as_json(values: dict[str, Any]) -> str:
    """Return one JSON object, NaN as null and infinite numbers as words: JSON has neither."""
    return json.dumps(_plain(values), indent=1, allow_nan=False)


def print_error(line: str) -> None:
    """Print a line on stderr; that nobody reads that changes neither what is done nor the exit status."""
    with suppress(OSError):
        print(line, file=sys.stderr, flush=True)


def saved(rule: "Rule", path: str, said: list[str], last: list[str]) -> None:
    """Save a rule when all that is to be said of it is known, and only then say it; `last` what is to be looked at."""
    rule.save(path)
    print("\n".join([*said, f"saved as {path}", *last]))


def _plain(values: Any) -> Any:
    """Replace what JSON does not have."""
    if isinstance(values, dict):
        return {key: _plain(value) for key, value in values.items()}
    if isinstance(values, list | tuple):
        return [_plain(value) for value in values]
    if isinstance(values, np.generic):
        values = values.item()
    if isinstance(values, float) and not math.isfinite(values):
        return None if math.isnan(values) else str(values)
    return values
