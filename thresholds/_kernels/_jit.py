"""How kernels are compiled: on first use, without the interpreter lock, cached on disk where that is safe.

To import Numba and load what it once compiled takes a second, to compile it several: longer than many a fit. So Numba
is imported when a kernel is first needed, and some kernels have a *stand-in* in plain NumPy, with the same results,
which answers until all stand-ins have worked for two seconds: then compiled loops pay.

Numba keys its cache on the file that holds a kernel, so a kernel may call only what its own file defines: a change
elsewhere would go unnoticed (numba issue 1833). `disk_cache.py` says where the cache lies.
"""

import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import update_wrapper, wraps
from importlib import import_module
from typing import Any, Generic, ParamSpec, TypeVar

import numpy as np

from thresholds._kernels.disk_cache import keep_on_disk
from thresholds._kernels.notice import tell_of_compilation
from thresholds.errors import need

P = ParamSpec("P")
R = TypeVar("R")

_ONCE_NUMBA_IS_LOADED = 0.1  # seconds: to load one more kernel is cheap


class StandIns:
    """What the stand-ins of a process may still do."""

    seconds_left = 2.0  # of all threads; about what it takes to load Numba, on two

    @classmethod
    def can_do(cls, seconds: float) -> bool:
        """Whether they will not run out of time over so much work, even where it takes three times as long."""
        return 3 * seconds <= cls.seconds_left

    @classmethod
    @contextmanager
    def working(cls) -> Iterator[None]:
        """Take what is done meanwhile off their time."""
        start = time.perf_counter()
        yield
        cls.seconds_left -= time.perf_counter() - start


class Kernel(Generic[P, R]):
    """A function that Numba compiles when it is first needed, by Python or by another kernel."""

    def __init__(
        self, function: Callable[P, R], stand_in: Callable[P, R] | None = None, **options: Any
    ) -> None:
        self.py_func, self.stand_in, self._options = function, stand_in, options
        self._loaded: Any = None
        update_wrapper(self, function)

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        """Have the stand-in answer as long as it may, else what Numba compiled."""
        if self.stand_in is None or self.is_loaded or StandIns.seconds_left <= 0:
            arguments = map(_as_if_writable, args)
            return self.dispatcher(*arguments, **kwargs)  # type: ignore[no-any-return]
        with StandIns.working():
            return self.stand_in(*args, **kwargs)

    @property
    def is_loaded(self) -> bool:
        """Whether Numba was asked for it."""
        return self._loaded is not None

    @property
    def dispatcher(self) -> Any:
        """What Numba makes of the function, the same for all threads."""
        if self._loaded is None:
            with _LOCK:
                if self._loaded is None:
                    self._loaded = _dispatcher(self.py_func, self._options)
                    StandIns.seconds_left = min(StandIns.seconds_left, _ONCE_NUMBA_IS_LOADED)
        return self._loaded

    @property
    def _numba_type_(self) -> Any:
        """What Numba reads where a kernel calls this one."""
        return self.dispatcher._numba_type_


def kernel(function: Callable[P, R]) -> Kernel[P, R]:
    """Compile `function` when it is first called."""
    return Kernel(function, nogil=True)


def summing_kernel(function: Callable[P, R]) -> Kernel[P, R]:
    """Compile a loop whose sums may be added up in any order, and so in vector registers, when it is first called."""
    return Kernel(function, nogil=True, fastmath={"reassoc"})


def kernel_after(stand_in: Callable[P, R]) -> Callable[[Callable[P, R]], Kernel[P, R]]:
    """Compile a function when `stand_in`, which gives the same, may no longer answer."""
    return lambda function: Kernel(function, stand_in, nogil=True)


_LOCK = threading.RLock()


def _dispatcher(function: Callable[..., Any], options: dict[str, Any]) -> Any:
    """Have Numba compile what is called, and cache it on disk where that is safe."""
    need("numba", "a compiled loop")
    # On another thread: Ctrl-C in the main one would leave half of Numba, for good.
    with ThreadPoolExecutor(1) as thread:
        numba = thread.submit(import_module, "numba").result()
    if numba.config.DISABLE_JIT:
        return _quiet(function)
    compiled = numba.njit(**options)(function)
    keep_on_disk(compiled, function)
    tell_of_compilation()
    return compiled


class _Writable:
    """The memory of an array, said to be writable; it lives as long as this does."""

    def __init__(self, array: np.ndarray[Any, Any]) -> None:
        self.array = array
        described = array.__array_interface__
        self.__array_interface__ = {**described, "data": (described["data"][0], False)}


def _as_if_writable(value: Any) -> Any:
    """Return an array that may not be written as one that might; anything else as it is.

    A kernel writes only to what it is given to be filled. Numba takes whether an array may be written for a part of its
    type, and would compile each kernel anew for each argument of a frame, or of a mapped file.
    """
    if isinstance(value, np.ndarray) and not value.flags.writeable:
        return np.asarray(_Writable(value))
    return value


def _quiet(function: Callable[..., Any]) -> Callable[..., Any]:
    """Call Python without a look at floating-point flags, as compiled code does; the tests hold both to one result."""

    @wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        with np.errstate(all="ignore"):
            return function(*args, **kwargs)

    return call
