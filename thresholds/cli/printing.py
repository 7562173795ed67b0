"""What commands print: plain values as JSON, and errors."""

import json
import sys
from contextlib import suppress
from typing import Any

from thresholds.results import as_plain_values


def as_json(values: dict[str, Any]) -> str:
    """Return one JSON object, NaN as null and infinite numbers as words: JSON has neither."""
    return json.dumps(as_plain_values(values), indent=1, allow_nan=False)


def print_error(line: str) -> None:
    """Print a line on stderr; that nobody reads that changes neither what is done nor the exit status."""
    with suppress(OSError):
        print(line, file=sys.stderr, flush=True)
