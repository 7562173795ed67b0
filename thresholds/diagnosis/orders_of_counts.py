"""What the tests of labels read of counts of blocks of rows, which know of a run of cells its weight and ends alone."""

from collections.abc import Callable, Iterator
from typing import TypeVar

import numpy as np

from thresholds._arrays import threads
from thresholds._arrays.blocks import by_cells
from thresholds._arrays.grouped import group_of
from thresholds._arrays.types import Booleans, Ints
from thresholds._engine.histograms import Histograms
from thresholds._kernels.evidence import cuts_within
from thresholds._kernels.keys import to_keys
from thresholds.data.asked import CountedItems
from thresholds.data.counted import CountedProblem
from thresholds.diagnosis.orders import Order, Ranks, TieSizes

Result = TypeVar("Result")

_ROWS_AT_ONCE = 2**20


def over_counted_orders(
    problem: CountedProblem,
    function: Callable[[slice, Order, TieSizes], Result],
    overprediction: float,
    n_jobs: int | None,
    progress: bool,
) -> list[Result]:
    """Apply `function` to some labels after another, on threads; return the results in the order of the labels.

    It is given the labels, their order, and their tie groups. What lies in a run counts as if no two cells were tied.
    """

    def apply(labels: slice) -> Result:
        return function(labels, *_order_of(problem, labels, overprediction))

    pieces = list(by_cells(problem.n_labels, int(problem.rows_of_label.sum()), _ROWS_AT_ONCE))
    return threads.run(apply, pieces, n_jobs=n_jobs, progress=progress, title="labels")


def _order_of(
    problem: CountedProblem, labels: slice, overprediction: float
) -> tuple[Order, TieSizes]:
    """Return the order of some labels and their tie groups, and say what is to be known of their runs."""
    items = problem.items(labels.start, labels.stop)
    groups = items.histograms
    order = Order.of(groups, overprediction)
    # Which tie groups are runs: label after label, from the top down.
    are_runs = items.are_runs[np.lexsort((~items.keys, items.label))]  # (n_groups,)
    if are_runs.any():
        for apart in to_keys(np.array([problem.missing, -np.inf], problem.dtype)):
            items.ask_at(np.full(order.positives.size, apart))  # Many cells may be tied there.
        _ask_for_end(items, groups, order.positives, overprediction, whole=True)
        _ask_for_end(items, groups, order.positives, 1.0, whole=False)
        ranks = _without_ties_in_runs(order.ranks, groups.offsets, groups.weights, are_runs)
        order = order._replace(ranks=ranks)

    def tie_sizes(wanted: Booleans) -> Iterator[tuple[Ints, Ints]]:
        for label in range(wanted.size):
            own = slice(groups.offsets[label], groups.offsets[label + 1] if wanted[label] else 0)
            sizes, in_runs = groups.weights[own], are_runs[own]
            # Each cell of a run is a tie group of its own.
            n_of_group = np.where(in_runs, sizes, 1)
            yield (
                np.array([0, n_of_group.sum()]),
                np.repeat(np.where(in_runs, 1, sizes), n_of_group),
            )

    return order, tie_sizes


def _without_ties_in_runs(ranks: Ranks, offsets: Ints, weight: Ints, are_runs: Booleans) -> Ranks:
    """Return the ranks where the cells of a run are not tied; AUROC and placements are the same."""
    tied = np.where(are_runs, 0, weight).astype(np.float64)  # (n_groups,)
    columns = [column.copy() for column in ranks[3:]]
    for j in np.unique(group_of(offsets)[are_runs]):
        own = slice(offsets[j], offsets[j + 1])
        size, sizes = tied[own], weight[own].astype(np.float64)
        n = sizes.sum()
        below = n - sizes.cumsum()  # rows below each group
        mid_rank = below + 0.5 * (sizes + 1)

        # The largest tie group, the lowest of several, and all other rows.
        at = size.size - 1 - int(size[::-1].argmax()) if size.any() else -1
        largest, largest_rank = (size[at], mid_rank[at]) if at >= 0 else (0.0, 0.0)
        others = n - largest
        mean = (0.5 * n * (n + 1) - largest * largest_rank) / others if others else 0.0
        between = sizes * (mid_rank - mean) ** 2
        if at >= 0:
            between[at] = 0.0
        # Ranks within a run vary, unless all of it is tied.
        within = np.where(are_runs[own], sizes * (sizes**2 - 1) / 12, 0.0)
        freedom = max(others - 1, 1)
        variance, least = (between + within).sum() / freedom, between.sum() / freedom
        cubes = (size**3 - size).sum()
        for column, value in zip(
            columns, (cubes, largest, largest_rank, mean, variance, least), strict=True
        ):
            column[j] = value
    return Ranks(*ranks[:3], *columns)


def _ask_for_end(
    items: CountedItems, groups: Histograms, positives: Ints, ratio: float, *, whole: bool
) -> None:
    """Say that runs are to be known down to the lowest cut that predicts so much: the one that it may lie in.

    Where the score of the cut is asked for, the run that it ends is to be known as a `whole`. A label without positives
    has no such cut.
    """
    offsets, n_groups = groups.offsets, groups.weights.size
    # The tie group of the lowest cut that parts no run, -1 for none.
    cut, _, _ = cuts_within(offsets, groups.hits, groups.weights, positives, ratio)  # (n_labels,)
    after = np.where(cut >= 0, cut + 1, offsets[:-1])
    keys = to_keys(groups.lowest.copy())
    keys = np.append(keys, keys.dtype.type(0))  # which no score has
    items.ask_inside(keys[np.where((after < offsets[1:]) & (positives > 0), after, n_groups)])
    if whole:
        items.ask_inside(keys[np.where(cut >= 0, cut, n_groups)])
