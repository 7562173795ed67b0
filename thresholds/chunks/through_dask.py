"""Shards that are blocks of arrays of Dask: read where Dask's scheduler computes them, and added up there in a tree."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from importlib import import_module
from typing import Any

from thresholds._arrays.blocks import in_pieces
from thresholds.chunks.passes import Place, Read, Sum, Task
from thresholds.chunks.sources import Whole, rows_of

_N_TOGETHER = 8  # sums that meet on one worker: a tree over 4,096 blocks has four floors


def through_dask(function: Callable[[Task], Read], tasks: Iterable[Task]) -> Iterator[Read]:
    """Apply a function to tasks whose shards are `DaskBlock`s: the `map` of their passes.

    A pass is one graph. Of each block a few numbers come back, and of all together one sum.
    """
    delayed: Any = import_module("dask").delayed
    shared = delayed(function, pure=False)  # It may hold many candidates, and is sent once.
    read, together = delayed(_read, pure=False), delayed(_together, pure=False)
    groups: list[Any] = []
    for task in tasks:
        block: Any = task.shard
        groups.append(read(shared, task.begin, block.names, list(block.parts)))
    while len(groups) > 1:
        pieces = in_pieces(slice(0, len(groups)), _N_TOGETHER)
        groups = [together(groups[piece]) for piece in pieces]
    yield from groups[0].compute()


def _read(
    function: Callable[[Task], Read], begin: Place, names: Sequence[str], parts: Sequence[Any]
) -> list[Read]:
    """Apply a function to a block that is computed."""
    return [function(Task(Whole(rows_of(names, parts)), begin))]


def _together(groups: Sequence[Sequence[Read]]) -> list[Read]:
    """Add up what came of some blocks: the first has the sum of all."""
    reads = [read for group in groups for read in group]
    total = Sum()
    for read in reads:
        total.add(read.sum)
    return [reads[0]._replace(sum=total.value()), *(read._replace(sum=None) for read in reads[1:])]
