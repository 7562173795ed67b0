"""Writing files whole or not at all."""

import errno
import os
import secrets
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO

_NOT_SYNCED = (errno.EINVAL, errno.ENOTSUP, errno.ENOSYS)  # what file systems say that cannot
_SHOWN = 48  # characters of a name, so that a temporary one is not too long where the name is not


def write_atomically(path: str | os.PathLike[str], write: Callable[[IO[bytes]], object]) -> None:
    """Let `write` fill a temporary file beside `path`, then move it there; on an error nothing is left.

    The file is on the disk before it takes the place of another, so that a loss of power leaves one of the two, whole.
    What is no regular file, a pipe or a device, is written to as it is.
    """
    refuse_no_place(path)
    if os.path.exists(path) and not os.path.isfile(path):
        with _naming(path), open(path, "wb") as stream:
            write(stream)
        return
    target = Path(os.path.realpath(path))
    temporary = target.with_name(f"{_hidden(target)}{secrets.token_hex(8)}")
    try:
        with _naming(target), open(temporary, "xb") as stream:
            write(stream)
            stream.flush()
            _sync(stream.fileno())
        if target.exists():
            shutil.copymode(target, temporary)
        os.replace(temporary, target)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
    with suppress(OSError):  # The file is there; Windows opens no folders.
        _sync_folder(target.parent)


def refuse_no_place(path: str | os.PathLike[str]) -> None:
    """Refuse a path that no file can be written to, which is asked before the work whose result it is to hold.

    Raises
    ------
    OSError
        For a folder, for a file in a folder that is not there or may not be written to, and for a pipe or device that
        may not be written to.
    """
    name = os.fspath(path)
    if os.path.isdir(path) or name.endswith(os.sep):
        raise IsADirectoryError(errno.EISDIR, "is a folder, expected a file", name)
    if os.path.exists(path) and not os.path.isfile(path):
        if not os.access(path, os.W_OK):
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), name)
        return
    folder = os.path.dirname(os.path.realpath(path))
    if not os.path.exists(folder):
        raise FileNotFoundError(
            errno.ENOENT, "its folder does not exist, expected one that does", name
        )
    if not os.path.isdir(folder):
        raise NotADirectoryError(errno.ENOTDIR, "is in a file, expected it in a folder", name)
    if not os.access(folder, os.W_OK | os.X_OK):
        raise PermissionError(
            errno.EACCES, "its folder may not be written to, expected one that may", name
        )


@contextmanager
def _naming(path: str | os.PathLike[str]) -> Iterator[None]:
    """Have what the system says of a file that is written name `path`; other files keep their names."""
    try:
        yield
    except OSError as error:
        ours = error.filename is None or os.path.basename(error.filename).startswith(_hidden(path))
        if error.errno is None or not ours:
            raise
        raise OSError(error.errno, error.strerror, os.fspath(path)) from None


def _hidden(path: str | os.PathLike[str]) -> str:
    """Return what the name of a temporary file beside `path` begins with."""
    return f".{Path(path).name[:_SHOWN]}."


def _sync_folder(folder: Path) -> None:
    """Have the name of a file in a folder on the disk."""
    opened = os.open(folder, os.O_RDONLY)
    try:
        _sync(opened)
    finally:
        os.close(opened)


def _sync(opened: int) -> None:
    """Wait until a file is on the disk, where the file system can tell."""
    try:
        os.fsync(opened)
    except OSError as error:
        if error.errno not in _NOT_SYNCED:
            raise
