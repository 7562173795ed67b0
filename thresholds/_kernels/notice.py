"""One line on stderr while kernels are compiled: those who wait for it a minute should know why, and what mends it."""

import contextlib
import os
import sys
import threading
import time
from functools import cache
from typing import Any

from thresholds._kernels import cache_folders

SWITCH = "THRESHOLDS_COMPILE_NOTICE"

_PATIENCE = 2.0  # seconds


class CompileNotice:
    """Tells of compilation, once in a process, as soon as all of it has taken some seconds; "0" in `SWITCH` forbids it.

    What is loaded from the cache is not compiled. Nothing that goes wrong here stops a fit.
    """

    def __init__(self, patience: float = _PATIENCE) -> None:
        self.seconds_left = patience
        self.said = False
        self.folder: str | None = None  # where what is compiled is kept
        self._lock = threading.Lock()
        self._under_way = 0  # kernels that call others have these compiled meanwhile; and other threads may compile
        self._since = 0.0
        self._timer: threading.Timer | None = None

    def begin(self, folder: str | None) -> None:
        """Note that a kernel is being compiled, and in which folder it will be kept, if in any."""
        with self._lock:
            self.folder = folder
            self._under_way += 1
            if self._under_way > 1 or self.said:
                return
            self._since = time.monotonic()
            self._timer = threading.Timer(max(self.seconds_left, 0.0), self.say)
            self._timer.daemon = True
            self._timer.start()

    def end(self) -> None:
        """Note that it is compiled."""
        with self._lock:
            self._under_way -= 1
            if self._under_way or self._timer is None:
                return
            self._timer.cancel()
            self._timer = None
            self.seconds_left -= time.monotonic() - self._since
        if self.seconds_left <= 0:
            self.say()

    def say(self) -> None:
        """Print the line, unless it was."""
        with self._lock:
            first, self.said = not self.said, True
        if not first or sys.stderr is None or os.environ.get(SWITCH, "1") == "0":
            return
        with contextlib.suppress(Exception):  # A closed stderr is no reason to end a fit.
            print(f"thresholds: {_sentence(self.folder)}", file=sys.stderr, flush=True)


def _sentence(folder: str | None) -> str:
    """Say whether this happens again, and what to do against it."""
    waits = "compiling kernels, which may take a minute,"
    if folder is not None:
        return f"{waits} once: they are kept in {folder}; `thresholds warmup` does it beforehand"
    if cache_folders.is_off():
        return f"{waits} in every process, as {cache_folders.SWITCH} is 0: without it they are kept on disk"
    tried = " or ".join(cache_folders.folders_tried())
    return (
        f"{waits} in every process, as nothing can be written to {tried}: `thresholds warmup` as a user who can, or"
        " NUMBA_CACHE_DIR=FOLDER, keeps them on disk"
    )


NOTICE = CompileNotice()


@cache
def tell_of_compilation() -> None:
    """Have Numba tell `NOTICE` when it compiles a kernel; its events are an experiment of its own, and may move."""
    with contextlib.suppress(Exception):
        from numba.core import event

        class Listener(event.Listener):
            def on_start(self, found: Any) -> None:
                with contextlib.suppress(Exception):
                    kernel = found.data["dispatcher"]
                    if _is_ours(kernel):
                        NOTICE.begin(kernel._cache.cache_path)

            def on_end(self, found: Any) -> None:
                with contextlib.suppress(Exception):
                    if _is_ours(found.data["dispatcher"]):
                        NOTICE.end()

        event.register("numba:compile", Listener())  # type: ignore[no-untyped-call]


def _is_ours(dispatcher: Any) -> bool:
    """Whether a dispatcher is one of these kernels, not what users compile."""
    return str(dispatcher.py_func.__module__).startswith("thresholds.")
