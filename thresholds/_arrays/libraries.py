"""Libraries that the caller has imported, and that are never imported here."""

import sys
from types import ModuleType


def imported(name: str) -> ModuleType | None:
    """Return a library if its import is complete: another thread may be in the middle of it."""
    module = sys.modules.get(name)
    being_imported = getattr(getattr(module, "__spec__", None), "_initializing", False)
    return None if being_imported else module
