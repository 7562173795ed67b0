"""The command line: parses, calls, prints.

Exit status: 0 done, 1 bad input (one line on stderr), 2 wrong usage, 3 a condition of `diagnose --fail-on` is broken.
"""

import io
import os
import sys
import warnings
from collections.abc import Sequence
from typing import Any

from thresholds._checks import InputError
from thresholds.cli.parser import parser


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command and give its exit status."""
    options = parser().parse_args(arguments)
    warnings.showwarning = _one_line_warning
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    try:
        options.run(options)
        print(end="", flush=True)
    except BrokenPipeError:  # The reader, `head` perhaps, has seen enough.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except InputError as error:
        return _fail(str(error))
    except OSError as error:
        return _fail(f"{error.filename or 'file'}: {error.strerror or error}")
    except KeyboardInterrupt:
        return _fail("interrupted", status=130)
    return int(options.status)


def _one_line_warning(message: Warning | str, *_: Any, **__: Any) -> None:
    """Print a warning without the line of code that raised it."""
    said = str(message)
    if type(message).__name__ == "ScoreRangeWarning" and "--logits" not in said:
        said += " --logits turns logits into probabilities."
    print(f"thresholds: warning: {said}", file=sys.stderr)


def _fail(message: str, status: int = 1) -> int:
    """Print one line on stderr and give the exit status."""
    print(f"thresholds: error: {' '.join(message.split())}", file=sys.stderr)
    return status
