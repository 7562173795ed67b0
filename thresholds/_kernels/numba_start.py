"""Numba is imported without SciPy's linear algebra, which it loads to see whether it is there: a third of its start.

`numba.np.arraymath` imports `scipy.linalg.cython_blas` and uses nothing of it: who compiles a product of matrices asks
for it again. A module stands in its place meanwhile, which becomes the real one as soon as anybody asks it for
anything. Where another version of Numba does otherwise, that changes how long its start takes, and nothing else.
"""

import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from importlib import import_module
from types import ModuleType
from typing import Any

_LINEAR_ALGEBRA = "scipy.linalg.cython_blas"
_ASKS_FOR_IT = "numba.np.arraymath"


class _Later(ModuleType):
    """A module that is loaded when it is first asked for anything."""

    def __getattr__(self, name: str) -> Any:
        _forget(self)
        return getattr(import_module(self.__name__), name)


def import_numba() -> Any:
    """Return Numba, whose loops can be compiled or loaded."""
    numba = import_module("numba")
    if not numba.config.DISABLE_JIT:
        with _standing_in(), suppress(ImportError):
            import_module(_ASKS_FOR_IT)
    return numba


@contextmanager
def _standing_in() -> Iterator[None]:
    """Have linear algebra seem to be loaded, unless it is."""
    later = _Later(_LINEAR_ALGEBRA)
    sys.modules.setdefault(_LINEAR_ALGEBRA, later)
    try:
        yield
    finally:
        _forget(later)


def _forget(later: ModuleType) -> None:
    """Have it loaded by whoever imports it next."""
    if sys.modules.get(_LINEAR_ALGEBRA) is later:
        del sys.modules[_LINEAR_ALGEBRA]
