"""Where bytes from outside come in: whatever a parser makes of them, one sentence names the file."""

import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from thresholds._checks import InputError, read_json

_LONGEST = 200  # characters of what a parser says
_OF_BAD_NUMBERS = (
    None,
    errno.EINVAL,
    errno.EOVERFLOW,
)  # an OSError's that a parser raised, or a place that is none


@contextmanager
def reading(path: str | os.PathLike[str], kind: str | None = None) -> Iterator[None]:
    """Turn whatever is raised while a file is parsed into an `InputError`, whose cause it is.

    Refusals pass, and so does what the system says of the file. `kind` is what it should be, if its name does not say.
    """
    try:
        yield
    except InputError:
        raise
    except OSError as error:
        if error.errno in _OF_BAD_NUMBERS:
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
    if isinstance(error, MemoryError):
        said = "it takes more memory than there is"
    elif isinstance(error, RecursionError):
        said = "it is nested too deeply"
    else:
        said = " ".join(str(error).split())
        # A parser that stumbles, over an index for one, says little without the name of the error.
        stumbled = isinstance(error, Exception) and not isinstance(
            error, InputError | ValueError | OSError | EOFError
        )
        said = f"{type(error).__name__} {said}".strip() if stumbled or not said else said
    said = said if len(said) <= _LONGEST else f"{said[:_LONGEST]}..."
    suffix = Path(path).suffix
    kind = kind or (f"a {suffix} file" if suffix in (".npz", ".npy") else None)
    return InputError(f"{path} cannot be read{'' if kind is None else f' as {kind}'}: {said}")
