"""The command line: parses, calls, prints.

Exit status: 0 done, 1 bad input (one line on stderr), 2 wrong usage, 3 a condition of `diagnose --fail-on` is broken.
"""

import io
import os
import signal
import sys
import threading
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from thresholds._checks import InputError
from thresholds.cli.parser import parser


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command and give its exit status."""
    options = parser().parse_args(arguments)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    try:
        with _as_a_program():
            options.run(options)
            print(end="", flush=True)
    except BrokenPipeError as error:
        if error.filename is not None:
            return _fail(f"{error.filename}: its reader has gone")
        # The reader of what is printed, `head` perhaps, has seen enough.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except InputError as error:
        return _fail(str(error))
    except OSError as error:
        return _fail(f"{error.filename or 'output'}: {error.strerror or error}")
    except KeyboardInterrupt:
        return _fail("interrupted", status=130)
    return int(options.status)


@contextmanager
def _as_a_program() -> Iterator[None]:
    """Print warnings in one line, and end on SIGTERM as on an error, so that no temporary file is left."""
    shown = warnings.showwarning
    warnings.showwarning = _one_line_warning
    alone = threading.current_thread() is threading.main_thread()
    before = signal.signal(signal.SIGTERM, _end) if alone else None
    try:
        yield
    finally:
        warnings.showwarning = shown
        if before is not None:
            signal.signal(signal.SIGTERM, before)


def _end(number: int, _: object) -> None:
    """End with the status that a signal gives a process."""
    raise SystemExit(128 + number)


def _one_line_warning(message: Warning | str, *_: Any, **__: Any) -> None:
    """Print a warning without the line of code that raised it."""
    hint = "; --logits reads a file of logits" if type(message).__name__ == "ScoreRangeWarning" else ""
    print(f"thresholds: warning: {message}{hint}", file=sys.stderr)


def _fail(message: str, status: int = 1) -> int:
    """Print one line on stderr and give the exit status."""
    print(f"thresholds: error: {' '.join(message.split())}", file=sys.stderr)
    return status
