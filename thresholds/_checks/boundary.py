"""Where bytes from outside come in: whatever a parser makes of them, one sentence names the file."""

import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from thresholds._checks import InputError
from thresholds._checks.strict_json import read_json
from thresholds.errors import MissingLibraryError

_LONGEST = 200  # characters of what a parser says

# The `errno` of an OSError that a parser raised, or a seek to a place that is none.
_OF_PARSERS = (None, errno.EINVAL, errno.EOVERFLOW)


@contextmanager
def reading(path: str | os.PathLike[str], kind: str | None = None) -> Iterator[None]:
    """Turn whatever is raised while a file is parsed into an `InputError`, whose cause it is.

    Refusals pass, and so does what the system says of the file. `kind` is what it should be, if its name does not say.
    """
    try:
        yield
    except (InputError, MissingLibraryError):
        raise
    except OSError as error:
        if error.errno in _OF_PARSERS:
            raise unreadable(path, error, kind) from error
        error.filename = error.filename or os.fspath(path)
        raise
    except Exception as error:
        raise unreadable(path, error, kind) from error


def reading_json(
    path: str | os.PathLike[str], kind: str | None = None, *, constants: bool = False
) -> Any:
    """Read a file of JSON; `constants` lets NaN and Infinity pass, where what is read is checked later."""
    with reading(path, kind):
        content = Path(path).read_bytes()
    try:
        return read_json(content, constants=constants)
    except InputError as error:
        raise unreadable(path, error, kind) from None


def unreadable(path: str | os.PathLike[str], error: object, kind: str | None = None) -> InputError:
    """Say that a file is damaged, or is not what its name says."""
    message = _message(error)
    if len(message) > _LONGEST:
        message = f"{message[:_LONGEST]}..."
    suffix = Path(path).suffix
    if not kind and suffix in (".npz", ".npy"):
        kind = f"a {suffix} file"
    as_kind = f" as {kind}" if kind else ""
    return InputError(f"{path} cannot be read{as_kind}: {message}")


def _message(error: object) -> str:
    """Say what a parser stumbled over."""
    if isinstance(error, MemoryError):
        return "it takes more memory than there is"
    if isinstance(error, RecursionError):
        return "it is nested too deeply"
    message = " ".join(str(error).split())

    # Of an index that is out of range, for one, a parser says little without the name of the error.
    speaks = isinstance(error, InputError | ValueError | OSError | EOFError)
    if not message or (isinstance(error, Exception) and not speaks):
        return f"{type(error).__name__} {message}".strip()
    return message
