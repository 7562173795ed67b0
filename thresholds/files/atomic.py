"""Writing files whole or not at all."""

import errno
import os
import secrets
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import IO


def write_atomically(path: str | os.PathLike[str], write: Callable[[IO[bytes]], object]) -> None:
    """Let `write` fill a temporary file beside `path`, then move it there; on an error nothing is left.

    What is no regular file, a pipe or a device, is written to as it is.
    """
    target = Path(os.path.realpath(path))
    if target.is_dir() or os.fspath(path).endswith(os.sep):
        raise IsADirectoryError(errno.EISDIR, "is a folder, expected a file", os.fspath(path))
    if target.exists() and not target.is_file():
        try:
            with open(target, "wb") as stream:
                write(stream)
        except BrokenPipeError as error:
            raise BrokenPipeError(error.errno, error.strerror, os.fspath(path)) from None
        return
    temporary = target.with_name(f".{target.name}.{secrets.token_hex(8)}")
    try:
        with open(temporary, "xb") as stream:
            write(stream)
        if target.exists():
            shutil.copymode(target, temporary)
        os.replace(temporary, target)
    except BaseException as error:
        temporary.unlink(missing_ok=True)
        if isinstance(error, OSError) and str(error.filename) == str(temporary):
            raise OSError(error.errno, error.strerror, os.fspath(path)) from None
        raise
