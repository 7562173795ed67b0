"""A lock beside Numba's cache: of several processes that need a kernel at once, one compiles it and the others load it.

The operating system keeps the lock on an open file and takes it back when the process ends, however it ends: a child
that was forked meanwhile closes its copy of the file at once. The file itself stays: to delete it would be a race.
Where no file can be made or locked, everybody compiles.
"""

import contextlib
import errno
import os
import sys
import time
from pathlib import Path
from typing import IO, ClassVar

from thresholds._arrays.threads import INTERRUPTED
from thresholds._kernels.notice import NOTICE

if sys.platform == "win32":
    import msvcrt

    def _lock(file: IO[bytes]) -> None:
        msvcrt.locking(file.fileno(), msvcrt.LK_NBLCK, 1)

    def _unlock(file: IO[bytes]) -> None:
        file.seek(0)
        msvcrt.locking(file.fileno(), msvcrt.LK_UNLCK, 1)

else:
    import fcntl

    def _lock(file: IO[bytes]) -> None:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)

    def _unlock(file: IO[bytes]) -> None:
        # Closing is not enough: a child that is just being forked may hold the file, too.
        fcntl.flock(file, fcntl.LOCK_UN)


_HELD_BY_ANOTHER = (errno.EACCES, errno.EAGAIN, errno.EWOULDBLOCK)
_BETWEEN_TRIES = 0.02  # seconds


class CompileLock:
    """What a process holds while it compiles one kernel."""

    # Seconds for one kernel, whose holder may be stopped; then none is waited for.
    patience: ClassVar[float] = 120.0
    open_files: ClassVar[set[IO[bytes]]] = set()

    def __init__(self, path: Path) -> None:
        self._path = path
        self._file: IO[bytes] | None = None

    def acquire(self) -> bool:
        """Wait for those who compile the same kernel; whether the lock is held then."""
        if CompileLock.patience <= 0:
            return False
        self.release()
        try:
            self._file = self._path.open("ab", buffering=0)
            CompileLock.open_files.add(self._file)
            if not self._tried(self._file):
                self._wait(self._file)
            os.utime(
                self._path
            )  # `cache_folders.is_kept` asks whether it was compiled since its file was written.
        except OSError:
            self.release()
        except BaseException:
            self.release()
            raise
        return self._file is not None

    def release(self) -> None:
        """Let others in, if the lock is held."""
        file, self._file = self._file, None
        if file is not None:
            CompileLock.open_files.discard(file)
            with contextlib.suppress(OSError, ValueError):  # ValueError in a forked child
                _unlock(file)
            with contextlib.suppress(OSError):
                file.close()

    def _tried(self, file: IO[bytes]) -> bool:
        """Whether the lock was free."""
        try:
            _lock(file)
        except OSError as error:
            if error.errno in _HELD_BY_ANOTHER:
                return False
            raise
        return True

    def _wait(self, file: IO[bytes]) -> None:
        """Try until the lock is free; who waits for another's compilation is told of it as if it were an own one."""
        end = time.monotonic() + CompileLock.patience
        NOTICE.begin(str(self._path.parent))
        try:
            while not self._tried(file):
                if INTERRUPTED.is_set():  # To compile takes seconds, to wait perhaps two minutes.
                    raise TimeoutError
                if time.monotonic() > end:
                    CompileLock.patience = 0.0
                    raise TimeoutError
                time.sleep(_BETWEEN_TRIES)
        finally:
            NOTICE.end()


def _close_in_child() -> None:
    """Leave the locks to the parent: closing a copy of a file gives no lock back."""
    for file in CompileLock.open_files:
        with contextlib.suppress(OSError):
            file.close()
    CompileLock.open_files.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_close_in_child)
