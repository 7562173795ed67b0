"""In which folders compiled kernels may be kept: these are Numba's, in its order."""

import os
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
