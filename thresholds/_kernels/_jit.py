"""How kernels are compiled: on first use, without the interpreter lock, cached on disk where that is safe.

Numba keys its cache on the file that holds a kernel, so a kernel may call only what its own file defines:
otherwise a change elsewhere would go unnoticed (numba issue 6845 and its relatives).
"""

import contextlib
import os
from collections.abc import Callable
from typing import Any, ParamSpec, TypeVar, cast

from numba import njit
from numba.core.caching import FunctionCache

P = ParamSpec("P")
R = TypeVar("R")

CACHE_SWITCH = "THRESHOLDS_DISK_CACHE"


class _OptionalCache(FunctionCache):
    """Numba's disk cache, made a convenience: damaged, full or vanished, it costs a compilation, not an error."""

    def load_overload(self, signature: Any, target_context: Any) -> Any:
        """Give the compiled kernel, None if it cannot be read."""
        with contextlib.suppress(Exception):
            return super().load_overload(signature, target_context)  # type: ignore[no-untyped-call]
        return None

    def save_overload(self, signature: Any, data: Any) -> None:
        """Keep the compiled kernel if it can be written."""
        with contextlib.suppress(Exception):
            super().save_overload(signature, data)  # type: ignore[no-untyped-call]


def kernel(function: Callable[P, R]) -> Callable[P, R]:
    """Compile `function` when it is first called."""
    compiled = cast("Callable[[Any], Any]", njit(nogil=True))(function)
    if os.environ.get(CACHE_SWITCH, "1") != "0":
        with contextlib.suppress(RuntimeError):  # No place to cache in: a read-only installation, no home folder.
            compiled._cache = _OptionalCache(function)  # type: ignore[no-untyped-call]
    return cast("Callable[P, R]", compiled)
