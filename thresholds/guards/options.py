"""Which guard: what callers may ask for, and which class answers to a name of `names.py`."""

from typing import TypeAlias

from thresholds import _checks
from thresholds._checks import InputError
from thresholds.guards.base import BaseGuard
from thresholds.guards.names import GuardName
from thresholds.guards.pool import Pool
from thresholds.guards.shrink import Shrink

Guard: TypeAlias = GuardName | BaseGuard | None  # what callers may ask for

GUARDS: dict[str, type[BaseGuard]] = {guard.name: guard for guard in (Shrink, Pool)}


def check_guard(guard: object) -> None:
    """Refuse what is no guard."""
    if not (guard is None or isinstance(guard, BaseGuard)):
        _checks.option(guard, "guard", (None, *GUARDS, "auto"))


def chosen_guard(guard: object, average: str, per_label: bool) -> BaseGuard | None:
    """Return the guard of a fit; "auto" is the one that suits what is maximised, None if there is none."""
    check_guard(guard)
    if guard is None:
        return None
    if guard == "auto":
        suitable = [kind for kind in GUARDS.values() if per_label and average in kind.averages]
        return suitable[0]() if suitable else None

    chosen = guard if isinstance(guard, BaseGuard) else GUARDS[str(guard)]()
    if not (per_label and average in chosen.averages):
        raise InputError(
            f"guard is {str(chosen)!r} with average {average!r}, per_label={per_label}; expected None or 'auto':"
            f" {chosen.name} is for {' and '.join(chosen.averages)} with a threshold for each label"
        )
    return chosen
