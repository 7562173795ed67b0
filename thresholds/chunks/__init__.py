"""My data do not fit into memory, or lie on a cluster: how do I fit them?

A fit needs of each label what weighs at which score. That adds up over rows: `Counts` of blocks, made wherever these
lie, are added, in any order, and fitted, with the result of all rows, bit for bit.
"""

from typing import TYPE_CHECKING, Any

_HOME = {
    "Candidates": "candidates",
    "Counts": "counts",
    "fit_expected": "expected",
    "compare": "comparing",
    "cross_fit": "cross_fitting",
    "diagnose": "comparing",
    "fit": "fitting",
}

__all__ = sorted(_HOME)

if TYPE_CHECKING:
    from thresholds.chunks.candidates import Candidates as Candidates
    from thresholds.chunks.comparing import compare as compare
    from thresholds.chunks.comparing import diagnose as diagnose
    from thresholds.chunks.counts import Counts as Counts
    from thresholds.chunks.cross_fitting import cross_fit as cross_fit
    from thresholds.chunks.expected import fit_expected as fit_expected
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
