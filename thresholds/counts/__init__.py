"""My data lie on a cluster, or in a database: how do I fit them where they are?

A fit reads of each label what weighs at which score, and that adds up over rows: `Counts` of parts of the rows, made
wherever these lie, are added in any order, and fitted with the result of all rows at once.
"""

from typing import TYPE_CHECKING, Any

_HOME = {"Counts": "counts", "ScoreRanges": "ranges", "fit_chunks": "chunks"}

__all__ = sorted(_HOME)

if TYPE_CHECKING:
    from thresholds.counts.chunks import fit_chunks as fit_chunks
    from thresholds.counts.counts import Counts as Counts
    from thresholds.counts.ranges import ScoreRanges as ScoreRanges


def __getattr__(name: str) -> Any:
    """Import a public name when it is first used."""
    from importlib import import_module

    if name in _HOME:
        value = getattr(import_module(f"thresholds.counts.{_HOME[name]}"), name)
        globals()[name] = value
        return value
    raise AttributeError(f"module 'thresholds.counts' has no attribute {name!r}")


def __dir__() -> list[str]:
    """List the public names."""
    return __all__
