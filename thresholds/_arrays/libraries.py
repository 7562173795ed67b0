"""Libraries that the caller has imported, and that are never imported here."""

import sys
from types import ModuleType
from typing import Any

# Libraries, but for Dask, whose arrays, columns and frames are expressions: NumPy computes them when it reads them.
_OF_EXPRESSIONS = frozenset({"cubed", "ibis", "pyspark"})


def imported(name: str) -> ModuleType | None:
    """Return a library if its import is complete: another thread may be in the middle of it."""
    module = sys.modules.get(name)
    being_imported = getattr(getattr(module, "__spec__", None), "_initializing", False)
    return None if being_imported else module


def library_of(value: object) -> str:
    """Return the name of the library that defines what a value is."""
    return type(value).__module__.partition(".")[0]


def is_lazy(value: Any) -> bool:
    """Whether a value has not been computed yet: of Dask, of xarray with Dask inside, an expression of others."""
    if hasattr(type(value), "__dask_graph__"):
        return value.__dask_graph__() is not None
    return library_of(value) in _OF_EXPRESSIONS


def is_dask_array(value: Any) -> bool:
    """Whether a value is an array of Dask."""
    dask = imported("dask.array")
    return dask is not None and isinstance(value, dask.Array)
