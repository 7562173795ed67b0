"""Which guards there are, by name; to list them for a command line loads none."""

from importlib import import_module
from typing import Any, Literal, TypeAlias

# A line adds a guard: its name, the file and the class. Type checkers read the names below it.
_CLASSES = {
    "shrink": ("thresholds.guards.shrink", "Shrink"),
    "pool": ("thresholds.guards.pool", "Pool"),
}
GuardName: TypeAlias = Literal["auto", "shrink", "pool"]

GUARDS = tuple(_CLASSES)
GUARD_NAMES = ("auto", *GUARDS)  # what may be asked for


def class_of(name: str) -> Any:
    """Return the class of the guard of that name, a `BaseGuard`."""
    module, guard = _CLASSES[name]
    return getattr(import_module(module), guard)
