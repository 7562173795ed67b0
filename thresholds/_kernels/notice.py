"""One line on stderr as the first kernel is compiled: those who wait for it should know why, and what mends it.

Nothing is said of kernels that are loaded from disk. Nothing that goes wrong here stops a fit.
"""

import contextlib
import os
import sys
from functools import cache
from typing import Any

SWITCH = "THRESHOLDS_COMPILE_NOTICE"

_WAITS = "thresholds: compiling kernels, which may take a minute,"


@cache
def tell_of_compilation() -> None:
    """Have Numba say when it compiles one of our kernels; its events are an experiment of its own, and may move."""
    with contextlib.suppress(Exception):
        from numba.core import event

        class Listener(event.Listener):
            def on_start(self, found: Any) -> None:
                with contextlib.suppress(Exception):
                    dispatcher = found.data["dispatcher"]
                    if dispatcher.py_func.__module__.startswith("thresholds."):
                        say(dispatcher.stats.cache_path)

            def on_end(self, found: Any) -> None:
                """Say nothing."""

        event.register("numba:compile", Listener())  # type: ignore[no-untyped-call]


class Notice:
    """Whether it was given in this process."""

    given = False


def say(folder: str | None) -> None:
    """Say, once in a process, whether this happens again; `folder` is where kernels are kept, if anywhere."""
    if Notice.given or sys.stderr is None or os.environ.get(SWITCH, "1") == "0":
        return
    Notice.given = True
    if folder is None:
        often = "in every process, as no folder for them can be written: NUMBA_CACHE_DIR=FOLDER names one"
    else:
        often = f"once: they are kept in {folder}; `thresholds warmup` does it beforehand"
    print(f"{_WAITS} {often}", file=sys.stderr, flush=True)
