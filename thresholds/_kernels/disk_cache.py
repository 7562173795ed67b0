"""Compiled kernels are kept on disk: in the first folder of `cache_folders.py` that can be written.

Those before it, which cannot be written, are read all the same: what `thresholds warmup` compiled as the user who built
a container serves any other, on a read-only file system, too.

The cache is a convenience: damaged, full or vanished, it costs a compilation. It is no public part of Numba and may
move; then kernels are compiled anew in each process.
"""

import contextlib
import os
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any, ClassVar

from thresholds._kernels._compile_lock import CompileLock
from thresholds._kernels.cache_folders import is_off, name_of_lock


class Kept:
    """What this process compiled, and what became of it."""

    compiled: ClassVar[int] = 0  # kernels, each once for each combination of types
    loaded: ClassVar[int] = 0  # as many that were on disk
    lost: ClassVar[list[str]] = []  # of each kernel that could not be written, why


def keep_on_disk(compiled: Any, function: Callable[..., Any]) -> None:
    """Give a dispatcher its cache.

    Of several processes that need a kernel at once, as the workers of a cluster do, one compiles it.
    """
    with contextlib.suppress(ImportError, AttributeError):
        found = _cache_class()(function)
        compile_kernel = compiled.compile

        def compile_or_release(signature: Any) -> Any:
            """Compile; where that fails, nobody shall wait for what is never saved."""
            try:
                return compile_kernel(signature)
            except BaseException:
                found.lock.release()
                raise

        compiled._cache = found
        compiled.compile = compile_or_release


def folder_of_kernels() -> str | None:
    """Return the folder in which kernels are kept, None if there is none that can be written."""
    with contextlib.suppress(ImportError, AttributeError):
        return _cache_class()(folder_of_kernels).cache_path  # type: ignore[no-any-return]
    return None


@cache
def _cache_class() -> Any:
    """Return the class of caches; Numba is loaded here, when the first kernel is needed."""
    from numba.core import caching

    class Readable:
        """A folder that is there, and need not be written."""

        def ensure_cache_path(self) -> None:
            if not Path(self.get_cache_path()).is_dir():  # type: ignore[attr-defined]
                raise FileNotFoundError

    class Provided(Readable, caching.UserProvidedCacheLocator):
        """The folder of `NUMBA_CACHE_DIR`."""

    class Beside(Readable, caching.InTreeCacheLocator):
        """The folder beside the package."""

    def cache_in(locator: Any) -> Any:
        place = {"_locator_classes": [locator]}
        implementation = type("InOneFolder", (caching.CompileResultCacheImpl,), place)
        return type("ReadableCache", (caching.FunctionCache,), {"_impl_class": implementation})

    shipped = [cache_in(Provided), cache_in(Beside)]

    class KernelCache(caching._Cache):
        """The caches of one kernel: that in which it is kept, if any, and those in which it may be found."""

        def __init__(self, function: Callable[..., Any]) -> None:
            self._kept = None if is_off() else _made(caching.FunctionCache, function)
            self._readable = []  # in order, that in which it is kept last
            for make in [] if is_off() else shipped:
                found = _made(make, function)
                if found is not None:
                    if found.cache_path == self.cache_path:
                        break
                    self._readable.append(found)
            if self._kept is not None:
                self._readable.append(self._kept)
            self.lock = CompileLock(Path(self.cache_path or os.devnull, name_of_lock(function)))

        @property
        def cache_path(self) -> str | None:
            """The folder in which the kernel is kept."""
            return None if self._kept is None else self._kept.cache_path

        def load_overload(self, signature: Any, target_context: Any) -> Any:
            loaded = self._loaded(signature, target_context)
            if loaded is None and self._kept is not None and self.lock.acquire():
                # Another process may have saved it since; what it saves next must not wait for our compilation.
                loaded = self._loaded(signature, target_context)
                if loaded is not None:
                    self.lock.release()
            Kept.loaded += loaded is not None
            return loaded

        def _loaded(self, signature: Any, target_context: Any) -> Any:
            for each in self._readable:
                with contextlib.suppress(Exception):
                    loaded = each.load_overload(signature, target_context)
                    if loaded is not None:
                        return loaded
            return None

        def save_overload(self, signature: Any, data: Any) -> None:
            Kept.compiled += 1
            try:
                if self._kept is not None:
                    self._kept.save_overload(signature, data)
            except Exception as error:
                Kept.lost.append(getattr(error, "strerror", None) or repr(error))
            finally:
                self.lock.release()

        def enable(self) -> None:
            """Do nothing: it is always enabled, as are the next two for what never happens."""

        def disable(self) -> None:
            """Do nothing."""

        def flush(self) -> None:
            """Do nothing."""

    return KernelCache


def _made(make: Callable[[Any], Any], function: Callable[..., Any]) -> Any:
    """Return a cache, or None where there is no place for it, as in a read-only installation without a home folder."""
    with contextlib.suppress(RuntimeError, OSError):
        return make(function)
    return None
