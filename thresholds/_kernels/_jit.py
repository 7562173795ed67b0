"""How kernels are compiled: by Numba, when they are first called, without the interpreter lock, and kept on disk.

Numba is imported with the first kernel: that takes as long as many a fit, which needs none. Its cache is keyed on the
file that holds a kernel, so a kernel may call only what its own file defines: a change elsewhere would go unnoticed
(numba issue 1833).
"""

import contextlib
import threading
from collections.abc import Callable
from functools import update_wrapper
from typing import Any, ClassVar, Generic, ParamSpec, TypeVar

import numpy as np

from thresholds._kernels.notice import tell_of_compilation
from thresholds.errors import need

P = ParamSpec("P")
R = TypeVar("R")

_LOCK = threading.RLock()


class Kernel(Generic[P, R]):
    """A function that Numba compiles when it is first called, by Python or by another kernel."""

    in_use: ClassVar[list["Kernel[..., Any]"]] = []  # those that were called

    def __init__(self, function: Callable[P, R], **options: Any) -> None:
        self.py_func, self._options = function, options
        self._dispatcher: Any = None
        update_wrapper(self, function)

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        """Call the compiled function. It returns numbers, arrays and plain tuples of these.

        A named tuple would be made by Python code, in which Ctrl-C may come up: Numba does not look whether it did, and
        reads what is not there.
        """
        try:
            return self.dispatcher(*map(_as_if_writable, args), **kwargs)  # type: ignore[no-any-return]
        except SystemError as error:
            raise _cause_of(error) from None

    @property
    def dispatcher(self) -> Any:
        """What Numba makes of the function, the same for all threads."""
        if self._dispatcher is None:
            with _LOCK:
                if self._dispatcher is None:
                    self._dispatcher = _dispatcher(self.py_func, self._options)
                    Kernel.in_use.append(self)
        return self._dispatcher

    @property
    def _numba_type_(self) -> Any:
        """What Numba reads where a kernel calls this one."""
        return self.dispatcher._numba_type_


def kernel(function: Callable[P, R]) -> Kernel[P, R]:
    """Compile `function` when it is first called."""
    return Kernel(function)


def summing_kernel(function: Callable[P, R]) -> Kernel[P, R]:
    """Compile a loop whose sums may be added up in any order, and so in vector registers, when it is first called."""
    return Kernel(function, fastmath={"reassoc"})


def kernel_of_finite(function: Callable[P, R]) -> Kernel[P, R]:
    """Compile a loop over numbers among which there is no NaN: comparisons may be done in vector registers."""
    return Kernel(function, error_model="numpy", fastmath={"nnan", "nsz"})


def part_of_kernel(function: Callable[P, R]) -> Kernel[P, R]:
    """Compile a part of such a loop, which only other kernels call: it needs no way in from Python."""
    inside = {"no_cpython_wrapper": True, "no_cfunc_wrapper": True, "cache": False}
    return Kernel(function, error_model="numpy", fastmath={"nnan", "nsz"}, **inside)


def _dispatcher(function: Callable[..., Any], options: dict[str, Any]) -> Any:
    """Have Numba compile what is called, and keep it on disk where a folder can be written."""
    need("numba", "a compiled loop")
    import numba

    if numba.config.DISABLE_JIT:  # type: ignore[attr-defined]
        # Compiled code does not look at floating-point flags.
        return np.errstate(all="ignore")(function)
    tell_of_compilation()
    options = {"nogil": True, "cache": True} | options
    try:
        dispatcher: Any = numba.njit(**options)(function)
    except RuntimeError:  # "cannot cache function": Numba finds no folder.
        return numba.njit(**options | {"cache": False})(function)
    if options["cache"]:
        dispatcher._cache = _Cache(dispatcher._cache)
    return dispatcher


class _Cache:
    """Numba's cache of a kernel on disk. Damaged, full or mixed up, it costs a compilation."""

    def __init__(self, on_disk: Any) -> None:
        self._on_disk = on_disk

    def __getattr__(self, name: str) -> Any:
        return getattr(self._on_disk, name)

    def load_overload(self, types: Any, context: Any) -> Any:
        """Return what was compiled for arguments of these types; None where there is nothing that can be used."""
        # Numba does not look whether two processes that save at once write to the same file.
        with contextlib.suppress(Exception):
            found = self._on_disk.load_overload(types, context)
            if found is None or tuple(found.signature.args) == tuple(types):
                return found
        # It begins anew.
        with contextlib.suppress(Exception):
            self._on_disk.flush()
        return None

    def save_overload(self, types: Any, compiled: Any) -> None:
        """Write what was compiled, if it can be written."""
        with contextlib.suppress(Exception):
            self._on_disk.save_overload(types, compiled)


def _cause_of(error: BaseException) -> BaseException:
    """Return what an error began with: Ctrl-C, if it came up while Numba made arrays of what a kernel returned."""
    while error.__cause__ is not None:
        error = error.__cause__
    return error


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
