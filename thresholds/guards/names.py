"""Which guards there are, by name, and which one a fit has; to list them for a command line loads none."""

from collections.abc import Mapping
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

# THE policy: which guard held best on other rows, by what is maximised (docs/guards.md, "Which to take").
USUAL_GUARD: Mapping[str, str] = {"macro": "shrink", "weighted": "shrink", "micro": "pool"}


def guard_of(
    average: str,
    *,
    per_label: bool = True,
    max_predicted: float | None = None,
    confidence: float | str | None = None,
) -> str | None:
    """Return the guard that "auto" is, and that a bare average asked for as a rule has; None where there is none.

    A guard moves thresholds: it would break a budget, and a floor that is guaranteed of all decisions together is one
    of the thresholds that were tested.
    """
    is_tested = average == "micro" and confidence is not None
    if not per_label or max_predicted is not None or is_tested:
        return None
    return USUAL_GUARD.get(average)


def class_of(name: str) -> Any:
    """Return the class of the guard of that name, a `BaseGuard`."""
    module, guard = _CLASSES[name]
    return getattr(import_module(module), guard)
