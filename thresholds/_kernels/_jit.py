"""How kernels are compiled: on first use, without the interpreter lock, cached on disk where that is safe.

Numba keys its cache on the file that holds a kernel, so a kernel may call only what its own file defines:
otherwise a change elsewhere would go unnoticed (numba issue 6845 and its relatives).
"""

import os
from collections.abc import Callable
from typing import Any, ParamSpec, TypeVar, cast

from numba import njit

P = ParamSpec("P")
R = TypeVar("R")

CACHE_SWITCH = "THRESHOLDS_DISK_CACHE"


def kernel(function: Callable[P, R]) -> Callable[P, R]:
    """Compile `function` when it is first called."""
    if os.environ.get(CACHE_SWITCH, "1") != "0":
        try:
            return _compile(function, cache=True)
        except RuntimeError:
            pass  # No place to cache in: a read-only installation without a home folder.
    return _compile(function, cache=False)


def _compile(function: Callable[P, R], *, cache: bool) -> Callable[P, R]:
    """Give Numba's lazily compiled form of `function`."""
    decorate = cast("Callable[[Any], Any]", njit(nogil=True, cache=cache))
    return cast("Callable[P, R]", decorate(function))
