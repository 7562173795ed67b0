"""How kernels are compiled: on first use, without the interpreter lock, cached on disk where that is safe.

Numba keys its cache on the file that holds a kernel, so a kernel may call only what its own file defines: a change
elsewhere would go unnoticed (numba issue 1833).
"""

import contextlib
import os
from collections.abc import Callable
from typing import Any, ParamSpec, TypeVar, cast

from numba import njit

P = ParamSpec("P")
R = TypeVar("R")

CACHE_SWITCH = "THRESHOLDS_DISK_CACHE"


def kernel(function: Callable[P, R]) -> Callable[P, R]:
    """Compile `function` when it is first called."""
    return _compiled(function, njit(nogil=True))


def summing_kernel(function: Callable[P, R]) -> Callable[P, R]:
    """Compile a loop whose sums may be added up in any order, and so in vector registers, when it is first called."""
    return _compiled(function, njit(nogil=True, fastmath={"reassoc"}))


def _compiled(function: Callable[P, R], compiler: Any) -> Callable[P, R]:
    """Apply a compiler, and cache what it makes on disk where that is safe."""
    compiled = cast("Callable[[Any], Any]", compiler)(function)
    if os.environ.get(CACHE_SWITCH, "1") != "0":
        # RuntimeError: no place to cache in, as in a read-only installation without a home folder. The others: the
        # cache is no public part of Numba and may move; then kernels are compiled anew in each process.
        with contextlib.suppress(RuntimeError, ImportError, AttributeError):
            compiled._cache = _optional_cache(function)
    return cast("Callable[P, R]", compiled)


def _optional_cache(function: Callable[..., Any]) -> Any:
    """Give Numba's disk cache, made a convenience: damaged, full or vanished, it costs a compilation, not an error."""
    from numba.core.caching import FunctionCache

    class OptionalCache(FunctionCache):
        def load_overload(self, signature: Any, target_context: Any) -> Any:
            with contextlib.suppress(Exception):
                return super().load_overload(signature, target_context)  # type: ignore[no-untyped-call]
            return None

        def save_overload(self, signature: Any, data: Any) -> None:
            with contextlib.suppress(Exception):
                super().save_overload(signature, data)  # type: ignore[no-untyped-call]

    return OptionalCache(function)  # type: ignore[no-untyped-call]
