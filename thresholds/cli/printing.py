"""How commands say what they did: as text or as one JSON object, then what is broken."""

import argparse
import json
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any

from thresholds._results.plain import plain

BROKEN = 3  # the exit status where a condition is broken


def finish(
    options: argparse.Namespace,
    text: Callable[[], str],
    values: Callable[[], dict[str, Any]],
    *,
    save: Callable[[], object] | None = None,
    broken: Sequence[str] = (),
) -> None:
    """Print what a command found, as text or JSON, and on stderr the conditions that are broken.

    All that is said is made before anything is saved, and only then printed.
    """
    said = as_json(values()) if options.json else text()
    if save is not None:
        save()
    print(said, flush=True)
    for line in broken:
        print_error(f"thresholds: failed: {line}")
    options.status = BROKEN if broken else 0


def as_json(values: dict[str, Any]) -> str:
    """Return one JSON object, NaN as null and infinite numbers as words: JSON has neither."""
    return json.dumps(plain(values), indent=1, allow_nan=False)


def print_error(line: str) -> None:
    """Print a line on stderr; that nobody reads that changes neither what is done nor the exit status."""
    with suppress(OSError):
        print(line, file=sys.stderr, flush=True)
