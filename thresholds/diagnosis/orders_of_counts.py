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
from thresholds._kernels.keys import to_keys, to_scores
from thresholds.data.counted import CountedProblem
from thresholds.data.panels import TieGroups
from thresholds.data.problem import Items
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
    items = problem.label_items(labels.start, labels.stop)
    groups = TieGroups.of(items)
    scores = to_scores(groups.key)
    order = Order.of(
        Histograms(groups.offsets, scores, scores, groups.positive_weight, groups.weight),
        overprediction,
    )
    are_runs = np.zeros(scores.size, np.bool_)
    if items.has_runs:
        for apart in to_keys(np.array([problem.missing, -np.inf], problem.dtype)):
            items.ask_at(np.full(order.positives.size, apart))  # Many cells may be tied there.
        _ask_for_end(items, groups, order.positives, overprediction, whole=True)
        _ask_for_end(items, groups, order.positives, 1.0, whole=False)
        are_runs = _are_runs(items)
        ranks = _without_ties_in_runs(order.ranks, groups.offsets, groups.weight, are_runs)
        order = order._replace(ranks=ranks)

    def tie_sizes(wanted: Booleans) -> Iterator[tuple[Ints, Ints]]:
        for label in range(wanted.size):
            own = slice(groups.offsets[label], groups.offsets[label + 1] if wanted[label] else 0)
            sizes, in_runs = groups.weight[own], are_runs[own]
            # Each cell of a run is a tie group of its own.
            n_of_group = np.where(in_runs, sizes, 1)
            yield (
                np.array([0, n_of_group.sum()]),
                np.repeat(np.where(in_runs, 1, sizes), n_of_group),
            )

    return order, tie_sizes


def _are_runs(items: Items) -> Booleans:
    """Tell which tie groups are runs of counts, (n_groups,): label after label, from the top down."""
    weighing = np.flatnonzero(items.weights > 0)
    label = group_of(items.starts)[weighing]
    order = weighing[np.lexsort((~items.keys[weighing], label))]
    return items.are_runs[order]


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
    items: Items, groups: TieGroups, positives: Ints, ratio: float, *, whole: bool
) -> None:
    """Say that runs are to be known down to the lowest cut that predicts so much: the one that it may lie in.

    Where the score of the cut is asked for, the run that it ends is to be known as a `whole`. A label without positives
    has no such cut.
    """
    offsets, key, hits, weights = groups
    # The tie group of the lowest cut that parts no run, -1 for none.
    cut, _, _ = cuts_within(offsets, hits, weights, positives, ratio)  # (n_labels,)
    after = np.where(cut >= 0, cut + 1, offsets[:-1])
    padded = np.append(key, np.iinfo(key.dtype).max)  # No score has that key.
    items.ask_inside(padded[np.where((after < offsets[1:]) & (positives > 0), after, key.size)])
    if whole:
        items.ask_inside(padded[np.where(cut >= 0, cut, key.size)])
