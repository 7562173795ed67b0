"""How several processes fit one rule: their rows are put together on the first, and all are told what it found.

A `DistributedSampler` deals the items of a data set out in turn: process r of W has the items r, r + W, r + 2 W, ...
It repeats items of the beginning until all processes have as many. Here rows are put back into the order of the data
set, and repeated ones are left out, so that folds and figures are the same with any number of processes.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

import numpy as np

from thresholds._arrays.types import Ints
from thresholds.training.accumulator import Accumulator

Found = TypeVar("Found")
RowsByLoader = Mapping[int, Accumulator]  # by number of the data loader


def on_first_process(
    rows: RowsByLoader, loaders: Sequence[Any], work: Callable[[RowsByLoader], Found]
) -> Found:
    """Do some work on the rows of all processes, once, and return what it gives on each of them.

    Parameters
    ----------
    rows : what this process has seen
    loaders : the data loaders of this process; where one is not known, rows stay in the order of the processes
    work : is given all rows; what it raises is raised by every process, as none may wait for another for ever
    """
    import torch.distributed as dist

    n_processes = dist.get_world_size() if dist.is_available() and dist.is_initialized() else 1
    if n_processes == 1:
        return work(rows)
    is_first = dist.get_rank() == 0
    parts: list[Any] | None = [None] * n_processes if is_first else None
    dist.gather_object(rows, parts)
    outcome: list[Any] = [None, None]  # what was found, what was raised
    if parts is not None:
        try:
            outcome[0] = work(_of_all(parts, loaders))
        except Exception as error:
            outcome[1] = error
    dist.broadcast_object_list(outcome)
    found, raised = outcome
    if raised is not None:
        raise raised
    return found  # type: ignore[no-any-return]


def _of_all(parts: Sequence[RowsByLoader], loaders: Sequence[Any]) -> RowsByLoader:
    """Put the rows of all processes together, loader by loader."""
    numbers = sorted({number for part in parts for number in part})
    together = {}
    for number in numbers:
        # A process without rows counts, as the others' places depend on its number.
        of_loader = [part.get(number, Accumulator()) for part in parts]
        n_items = None
        if number < len(loaders):
            n_items = n_dealt_out(loaders[number], len(parts))
        together[number] = in_order(of_loader, n_items)
    return together


def n_dealt_out(loader: Any, n_processes: int) -> int | None:
    """Return the size of the data set whose items a loader deals out in turn; None if it does otherwise."""
    from torch.utils.data import BatchSampler, DistributedSampler

    sampler = getattr(loader, "sampler", None)
    if (
        not isinstance(sampler, DistributedSampler)
        or sampler.shuffle
        or sampler.num_replicas != n_processes
        or type(loader.batch_sampler) is not BatchSampler
    ):
        return None
    return len(sampler.dataset)


def in_order(parts: Sequence[Accumulator], n_items: int | None) -> Accumulator:
    """Put the rows of all processes together, in the order of a data set of which they were dealt `n_items`.

    Where a process has more rows than it can have been dealt, items are no rows, and rows stay as they come.
    """
    unknown = next((part.unknown for part in parts if len(part)), None)
    together = Accumulator(unknown=unknown)
    for part in parts:
        together.merge(part)
    n_processes = len(parts)
    lengths = [len(part) for part in parts]
    if n_items is None or max(lengths) > -(-n_items // n_processes):
        return together

    # Where in the data set each row lies: (n_rows,).
    places = [
        number + n_processes * np.arange(length, dtype=np.int64)
        for number, length in enumerate(lengths)
    ]
    place: Ints = np.concatenate(places)
    order = np.argsort(place)
    order = order[place[order] < n_items]

    weights = together.sample_weight
    ordered = Accumulator(
        label_names=together.label_names, missing=together.missing, unknown=unknown
    )
    ordered.update(
        together.y_true[order],
        together.y_score[order],
        None if weights is None else weights[order],
    )
    return ordered
