"""My data do not fit into memory, or lie on a cluster: how do I fit them?

A fit needs of each label what weighs at which score. That adds up over rows.
"""

from typing import TYPE_CHECKING, Any

_HOME = {
    "fit": "fitting",
}

__all__ = sorted(_HOME)

if TYPE_CHECKING:
    from thresholds.chunks.fitting import fit as fit


def __getattr__(name: str) -> Any:
    """Import a public name when it is first used."""
    from importlib import import_module

    if name in _HOME:
        value = getattr(import_module(f"thresholds.chunks.{_HOME[name]}"), name)
        globals()[name] = value
        return value
    raise AttributeError(f"module 'thresholds.chunks' has no attribute {name!r}")


def __dir__() -> list[str]:
    """List the public names."""
    return __all__
