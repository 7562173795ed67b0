"""In which folders compiled kernels may be kept: these are Numba's, in its order."""

import contextlib
import os
import sys
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

SWITCH = "THRESHOLDS_DISK_CACHE"


def is_off() -> bool:
    """Whether nothing shall be read from disk, nor kept there."""
    return os.environ.get(SWITCH, "1") == "0"


def folders_tried() -> list[str]:
    """Return that of `NUMBA_CACHE_DIR`, if it is set, `__pycache__` beside the package, and the user's cache folder."""
    from numba.core import caching

    found: list[Any] = [caching.InTreeCacheLocator, caching.UserWideCacheLocator]
    if os.environ.get("NUMBA_CACHE_DIR"):
        found.insert(0, caching.UserProvidedCacheLocator)
    return [each(folders_tried, __file__).get_cache_path() for each in found]


def name_of_lock(function: Callable[..., Any]) -> str:
    """Return the name of the file that is locked while a kernel is compiled; it stays beside what is kept."""
    return f"{function.__module__}.{function.__qualname__}.lock"


def is_kept(function: Callable[..., Any]) -> bool:
    """Whether a kernel seems to be on disk, as nearly as can be told without Numba: a wrong guess costs time alone.

    Its lock was held since its file was written.
    """
    locked = _locks().get(name_of_lock(function), -1.0)
    try:
        return locked >= Path(function.__code__.co_filename).stat().st_mtime
    except OSError:
        return False


@cache
def _locks() -> dict[str, float]:
    """Return the locks in all folders, and when each was held last."""
    if is_off():
        return {}
    here = Path(__file__).parent
    home = "Library/Caches" if sys.platform == "darwin" else ".cache"
    users = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / home, "numba")
    folders = [here / "__pycache__", *users.glob(f"{here.name}_*")]
    provided = os.environ.get("NUMBA_CACHE_DIR")
    if provided:
        folders += Path(provided).glob(f"{here.name}_*")
    found: dict[str, float] = {}
    for path in (path for folder in folders for path in folder.glob("*.lock")):
        with contextlib.suppress(OSError):
            found[path.name] = max(path.stat().st_mtime, found.get(path.name, 0.0))
    return found
