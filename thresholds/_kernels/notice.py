"""One line on stderr while kernels are compiled: those who wait for it a minute should know why."""

import contextlib
import os
import sys
import threading
import time
from functools import cache
from typing import Any

SWITCH = "THRESHOLDS_COMPILE_NOTICE"

_PATIENCE = 2.0  # seconds


class CompileNotice:
    """Tells of compilation, once in a process, as soon as all of it has taken some seconds; "0" in `SWITCH` forbids it.

    What is loaded from the cache is not compiled. Nothing that goes wrong here stops a fit.
    """

    def __init__(self, patience: float = _PATIENCE) -> None:
        self.seconds_left = patience
        self.said = False
        self.cached = True
        self._lock = threading.Lock()
        self._under_way = 0  # kernels that call others have these compiled meanwhile; and other threads may compile
        self._since = 0.0
        self._timer: threading.Timer | None = None

    def begin(self, cached: bool = True) -> None:
        """Note that a kernel is being compiled, and whether it will be kept on disk."""
        with self._lock:
            self.cached = cached
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
        kept = (
            "once: they are kept on disk"
            if self.cached
            else "in every process: they are not kept on disk"
        )
        with contextlib.suppress(Exception):  # A closed stderr is no reason to end a fit.
            print(
                f"thresholds: compiling kernels, which may take a minute, {kept}",
                file=sys.stderr,
                flush=True,
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
                        NOTICE.begin(cached=kernel._cache.cache_path is not None)

            def on_end(self, found: Any) -> None:
                with contextlib.suppress(Exception):
                    if _is_ours(found.data["dispatcher"]):
                        NOTICE.end()

        event.register("numba:compile", Listener())  # type: ignore[no-untyped-call]


def _is_ours(dispatcher: Any) -> bool:
    """Whether a dispatcher is one of these kernels, not what users compile."""
    return str(dispatcher.py_func.__module__).startswith("thresholds.")
