"""The names of a package, each imported when it is first used: so an import loads what is used, and no more."""

import sys
from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any


def when_used(package: str, homes: Mapping[str, str]) -> Callable[[str], Any]:
    """Return the `__getattr__` of a package, whose names are at home in modules of it."""

    def value_of(name: str) -> Any:
        """Import what has a name, once."""
        if name not in homes:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        value = getattr(import_module(f"{package}.{homes[name]}"), name)
        setattr(sys.modules[package], name, value)
        return value

    return value_of
