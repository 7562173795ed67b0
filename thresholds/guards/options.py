"""Which guard: what callers may ask for, and which class answers to a name of `names.py`."""

from typing import TypeAlias

from thresholds import _checks
from thresholds._checks import InputError
from thresholds.guards.base import BaseGuard
from thresholds.guards.names import GuardName
from thresholds.guards.shrink import Shrink

Guard: TypeAlias = GuardName | BaseGuard | None  # what callers may ask for

GUARDS: dict[str, type[BaseGuard]] = {guard.name: guard for guard in (Shrink,)}


def chosen_guard(guard: object, average: str, per_label: bool) -> BaseGuard | None:
    """Return the guard of a fit; "auto" is the one that suits what is maximised."""
    is_guarded = per_label and average in ("macro", "weighted")
    if guard is None or isinstance(guard, BaseGuard):
        chosen = guard
    else:
        name: str = _checks.option(guard, "guard", (None, *GUARDS, "auto"))
        if name == "auto":
            return Shrink() if is_guarded else None
        chosen = GUARDS[name]()
    if chosen is not None and not is_guarded:
        raise InputError(
            f"guard is {str(chosen)!r} with average {average!r}, per_label={per_label}; expected None or 'auto': guards"
            " are for macro and weighted with a threshold for each label"
        )
    return chosen
