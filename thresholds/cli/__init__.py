"""How is all of it used from the command line? Here it is parsed, called, printed.

Exit status: 0 done, 1 bad input (one line on stderr), 2 wrong usage, 3 a condition of `--fail-on` is broken, or with
`predict --strict` scores have changed gravely.
A stream that is closed from the start is not missed: nobody wants what would be printed there.
"""

import argparse
import io
import os
import signal
import sys
import threading
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any

from thresholds._atomic import refuse_no_place
from thresholds._checks import InputError
from thresholds.cli import printing
from thresholds.cli.commands import COMMANDS
from thresholds.cli.parser import parse
from thresholds.errors import MissingLibraryError

# What `pip install --no-deps` leaves out.
_DEPENDENCIES = ("numba", "scipy")
# Signals that end a program; Windows has no SIGHUP.
_ENDS = [getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name)]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command and give its exit status."""
    _replace_closed_streams()
    written = sys.argv[1:] if arguments is None else list(arguments)
    options = parse(written)
    options.written = written
    options.status = 0
    options.warnings = []
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    try:
        with _as_a_program(options.warnings):
            _refuse_no_place(options)
            COMMANDS[options.command].run(options)
            print(end="", flush=True)
    except BrokenPipeError as error:
        if error.filename is not None:
            return _fail(f"{error.filename}: its reader has gone")
        _print_no_more()  # The reader of what is printed, `head` perhaps, has seen enough.
    except (InputError, MissingLibraryError) as error:
        return _fail(str(error))
    except ModuleNotFoundError as error:
        library = (error.name or "").partition(".")[0]
        if library not in _DEPENDENCIES:
            raise
        return _fail(f"this command needs {library}: pip install {library}")
    except OSError as error:
        if error.filename is None:
            _print_no_more()
        return _fail(f"{error.filename or 'standard output'}: {error.strerror or error}")
    except MemoryError:
        return _fail("this takes more memory than there is")
    except KeyboardInterrupt:
        return _fail("interrupted", status=130)
    return int(options.status)


def _refuse_no_place(options: argparse.Namespace) -> None:
    """Refuse an output that cannot be written, before any work; not every command has one."""
    for name in ("output", "repair"):
        path = getattr(options, name, None)
        if path is not None:
            refuse_no_place(path)


@contextmanager
def _as_a_program(warned: list[str]) -> Iterator[None]:
    """Print warnings in one line, and keep them; end on a signal as on an error, so that no temporary file is left."""

    def show(message: Warning | str, *_: Any, **__: Any) -> None:
        warned.append(str(message))
        printing.print_error(f"thresholds: warning: {message}")

    show_before = warnings.showwarning
    warnings.showwarning = show

    # Only the main thread may handle signals.
    handlers_before = {}
    if threading.current_thread() is threading.main_thread():
        handlers_before = {number: signal.getsignal(number) for number in _ENDS}
    for number, handler in handlers_before.items():
        # Under nohup SIGHUP is ignored; None is none of Python's.
        if handler not in (signal.SIG_IGN, None):
            signal.signal(number, _end)
    try:
        yield
    finally:
        warnings.showwarning = show_before
        for number, handler in handlers_before.items():
            if handler is not None:
                signal.signal(number, handler)


def _end(number: int, _: object) -> None:
    """End with the status that a signal gives a process; another must not disturb that."""
    for other in _ENDS:
        signal.signal(other, signal.SIG_IGN)
    raise SystemExit(128 + number)


def _replace_closed_streams() -> None:
    """Put streams that lead nowhere in the place of closed ones, whose numbers files that are opened would take."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, mode))  # noqa: SIM115


def _print_no_more() -> None:
    """Let what is still to be printed go nowhere; Python would try again at its end, and fail."""
    with suppress(OSError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _fail(message: str, status: int = 1) -> int:
    """Print one line on stderr and give the exit status."""
    printing.print_error(f"thresholds: error: {' '.join(message.split())}")
    return status
