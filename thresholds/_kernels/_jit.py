"""How kernels are compiled: on first use, without the interpreter lock, cached on disk where that is safe.

To import Numba and load what it once compiled takes a second, to compile it many: longer than many a fit. So Numba is
imported when a kernel is first needed, and most kernels have a *stand-in*, with the same results: plain NumPy, or the
loop itself, run by Python. It answers until it has taken as long as Numba would: then compiled loops pay.

Numba keys its cache on the file that holds a kernel, so a kernel may call only what its own file defines: a change
elsewhere would go unnoticed (numba issue 1833). `disk_cache.py` says where the cache lies.
"""

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache, cached_property, partial, update_wrapper, wraps
from types import FunctionType
from typing import Any, Generic, ParamSpec, TypeVar

import numpy as np

from thresholds._arrays.threads import off_main_thread
from thresholds._kernels.cache_folders import is_kept
from thresholds._kernels.disk_cache import keep_on_disk
from thresholds._kernels.notice import tell_of_compilation
from thresholds._kernels.numba_start import import_numba
from thresholds.errors import need

P = ParamSpec("P")
R = TypeVar("R")

_TO_LOAD = 2.0  # seconds: Numba, with what it compiled before
_ONCE_NUMBA_IS_LOADED = 0.1  # to load one more kernel is cheap
_TO_COMPILE = 4e-4  # for each byte of Python's code, of all that a kernel calls
_NOTHING_LEFT = 1e-9  # more than 0, which forbids stand-ins

# What a stand-in is expected to take, before it has been seen at work: seconds for each step.
_IN_NUMPY = 1e-8
_IN_PYTHON = 1e-6
_FIXED = 1000  # steps of any call
_LOST_IN_PYTHON = 6.0  # A second of a loop counts so often, as compiled it takes next to nothing.


class StandIns:
    """What the stand-ins of a process may still do."""

    seconds_left = _TO_LOAD  # of all threads; who writes 0 forbids them

    @classmethod
    def can_do(cls, seconds: float) -> bool:
        """Whether they will not run out of time over so much work, even where it takes three times as long."""
        return 3 * seconds <= cls.seconds_left

    @classmethod
    @contextmanager
    def working(cls) -> Iterator[None]:
        """Take what is done meanwhile off their time."""
        start = time.thread_time()
        yield
        cls.spend(time.thread_time() - start)

    @classmethod
    def spend(cls, seconds: float) -> None:
        """Note that one has worked so long."""
        if cls.seconds_left > 0:
            cls.seconds_left = max(cls.seconds_left - seconds, _NOTHING_LEFT)


class Kernel(Generic[P, R]):
    """A function that Numba compiles when it is first needed, by Python or by another kernel."""

    def __init__(
        self,
        function: Callable[P, R],
        stand_in: Callable[P, R] | None = None,
        n_steps: Callable[..., float] | None = None,
        seconds_per_step: float = _IN_NUMPY,
        **options: Any,
    ) -> None:
        self.py_func, self.stand_in, self._options = function, stand_in, options
        self.n_steps = n_steps  # where the stand-in is the loop itself, in Python
        self._seconds_per_step = seconds_per_step  # of the stand-in
        self._loaded: Any = None
        update_wrapper(self, function)

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        """Have the stand-in answer as long as it may, else what Numba compiled."""
        if self.stand_in is not None and not self.is_loaded and StandIns.seconds_left > 0:
            n_steps = _FIXED + (self.n_steps or _n_elements)(*args, **kwargs)
            if self._may_stand_in(n_steps):
                start = time.thread_time()
                result = self.stand_in(*args, **kwargs)
                self._note(time.thread_time() - start, n_steps)
                return result
        arguments = map(_as_if_writable, args)
        return self.dispatcher(*arguments, **kwargs)  # type: ignore[no-any-return]

    def expect(self, n_steps: float) -> None:
        """Load the loop if its stand-in may not take so many steps in all: who calls it piece by piece knows that."""
        if self.stand_in is not None and not self._may_stand_in(n_steps):
            _ = self.dispatcher

    @cached_property
    def _seconds_left(self) -> float:
        """What its stand-in may take beside the time of all: as long as this kernel takes to compile."""
        return 0.0 if is_kept(self.py_func) else _TO_COMPILE * _size_of_code(self.py_func)

    @property
    def _lost(self) -> float:
        """Which part of the time of its stand-in is lost to those who go on: where it is a loop in Python, more."""
        return 1.0 if self.n_steps is None else _LOST_IN_PYTHON

    def _may_stand_in(self, n_steps: float) -> bool:
        """Whether the stand-in may answer, as it is expected to take less than what is left."""
        of_all = n_steps * self._seconds_per_step - self._seconds_left
        return of_all * self._lost < StandIns.seconds_left

    def _note(self, seconds: float, n_steps: float) -> None:
        """Note how long the stand-in has taken."""
        self._seconds_per_step = max(self._seconds_per_step, seconds / n_steps)
        of_all = max(seconds - self._seconds_left, 0.0)
        self._seconds_left = max(self._seconds_left - seconds, 0.0)
        StandIns.spend(of_all * self._lost)

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
                    self._loaded = off_main_thread(_dispatcher, self.py_func, self._options)
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


def late_kernel(function: Callable[P, R]) -> Kernel[P, R]:
    """Compile a loop, of about as many steps as its arguments have elements, when to run it in Python takes longer."""
    return late_kernel_of(_n_elements)(function)


def late_kernel_of(
    n_steps: Callable[..., float],
) -> Callable[[Callable[P, R]], Kernel[P, R]]:
    """Compile a loop when to run it in Python takes longer: `n_steps` of its arguments are what it takes at most."""
    return lambda function: Kernel(function, _uncompiled(function), n_steps, _IN_PYTHON, nogil=True)


def kernel_after(
    stand_in: Callable[P, R], *, seconds_per_element: float = _IN_NUMPY
) -> Callable[[Callable[P, R]], Kernel[P, R]]:
    """Compile a function when `stand_in`, which gives the same, may no longer answer.

    One that sorts says what it takes for each element of its arguments: its first call may have many.
    """
    return lambda function: Kernel(
        function, stand_in, seconds_per_step=seconds_per_element, nogil=True
    )


_LOCK = threading.RLock()


def _dispatcher(function: Callable[..., Any], options: dict[str, Any]) -> Any:
    """Have Numba compile what is called, and cache it on disk where that is safe."""
    need("numba", "a compiled loop")
    numba = import_numba()
    if numba.config.DISABLE_JIT:
        return _uncompiled(function)
    compiled = numba.njit(**options)(function)
    keep_on_disk(compiled, function)
    tell_of_compilation()
    # What Numba calls for arguments of a kind that it has not seen: it loads what is kept on disk, or compiles.
    compiled._compile_for_args = partial(off_main_thread, compiled._compile_for_args)
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


def _n_elements(*arguments: Any, **named: Any) -> int:
    """Return how many elements arrays have, those in tuples too."""
    return sum(
        value.size if isinstance(value, np.ndarray) else _n_elements(*value)
        for value in (*arguments, *named.values())
        if isinstance(value, np.ndarray | tuple)
    )


def _size_of_code(function: Callable[..., Any]) -> int:
    """Return the bytes of the code of a kernel and of those that it calls."""
    return len(function.__code__.co_code) + sum(
        _size_of_code(called.py_func) for called in _kernels_in(function).values()
    )


def _kernels_in(function: Callable[..., Any]) -> "dict[str, Kernel[..., Any]]":
    """Return the kernels that a function calls."""
    called = {name: function.__globals__.get(name) for name in function.__code__.co_names}
    return {name: value for name, value in called.items() if isinstance(value, Kernel)}


def _uncompiled(function: Callable[P, R]) -> Callable[P, R]:
    """Return what Python makes of a kernel and of all that it calls.

    It does not look at floating-point flags, as compiled code does not; the tests hold both to one result.
    """
    made = cache(lambda: _in_python(function))  # when it is called: all of its file is read by then

    @wraps(function)
    def call(*args: P.args, **kwargs: P.kwargs) -> R:
        with np.errstate(all="ignore"):
            return made()(*args, **kwargs)  # type: ignore[no-any-return]

    return call


def _in_python(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function that calls the stand-ins of other kernels, or the Python functions that they are."""
    called = {
        name: kernel.stand_in or _in_python(kernel.py_func)
        for name, kernel in _kernels_in(function).items()
    }
    return FunctionType(
        function.__code__,
        {**function.__globals__, **called},
        function.__name__,
        function.__defaults__,
        function.__closure__,
    )
