"""What the tests of labels read of the order of their scores, a tile of labels at a time.

Of cells that weigh 1 each little more is read than the positives: where these lie among all cells says what the tests
need, but for ties, which are few. Where many cells are tied, or weigh otherwise, all tie groups are walked through.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from thresholds._arrays.grouped import group_of, sums_of_groups
from thresholds._arrays.types import Booleans, Floats, Ints, Keys
from thresholds._kernels.evidence import best_cuts, rank_statistics
from thresholds._kernels.keys import to_keys, to_scores
from thresholds.data.panels import Panel, TieGroups
from thresholds.data.problem import Items, Problem
from thresholds.data.tallies import items_in_order

MANY_TIED = 0.1  # of the rows in one tie group: then the sum of ranks is not normal, but given how many lie outside


class Ranks(NamedTuple):
    """What the tests of AUROC and of ranks need of the order of the scores; one entry a label."""

    auroc: Floats
    positives_variance: Floats  # of the placements of positives: the shares of negatives below them
    negatives_variance: Floats
    tie_cubes: Floats  # the sum of t^3 - t over tie groups of t rows
    n_most_tied: Floats  # rows of the largest tie group
    # What follows is of labels with many tied rows, and may be NaN of others.
    most_tied_rank: Floats  # their mid-rank
    others_mean: Floats  # of the mid-ranks of all other rows
    others_variance: Floats
    # The same where all ties are known. Counts do not know them: the variance is between both.
    others_least_variance: Floats

    def reversed(self, n: Ints) -> "Ranks":
        """Return those of the negated scores, whose placements vary as much."""
        return self._replace(
            auroc=1 - self.auroc,
            most_tied_rank=n + 1 - self.most_tied_rank,
            others_mean=n + 1 - self.others_mean,
        )


class CutsWithin(NamedTuple):
    """The lowest cut of each label that predicts at most so much; one entry a label."""

    score: Floats  # +inf for none
    lower: Floats  # the next lower score, NaN without one
    tp: Ints
    predicted: Ints


class Order(NamedTuple):
    """What the tests of a tile of labels read."""

    positives: Ints  # (n_labels,) 0 for a label without known rows
    ranks: Ranks
    tp: Ints  # (n_labels,) of the cut of best F1
    predicted: Ints  # (n_labels,)
    cap: CutsWithin  # at most so many times the positives
    top: CutsWithin  # at most as many as the positives
    # The sizes of the tie groups of some labels, from the top down, as offsets and sizes.
    tie_sizes: Callable[[Ints], tuple[Ints, Ints]]
    has_runs: bool  # whether each cell of some items is to be taken for a tie group of its own


def read_order(problem: Problem, items: Items, overprediction: float) -> Order:
    """Read a tile of labels; the cap predicts at most `overprediction` times the positives."""
    if isinstance(items, Panel):
        cubes, most_tied = _ties(items)
        if not (most_tied > MANY_TIED * np.diff(items.starts)).any():
            return _read_positives(items, cubes, most_tied, overprediction)
    return _read_tie_groups(problem, items, overprediction)


def _read_positives(panel: Panel, cubes: Floats, most_tied: Ints, overprediction: float) -> Order:
    """Read a panel few of whose items are tied."""
    positives = panel.positives
    offsets, hit, size = panel.between_positives()
    figures = np.full((9, positives.size), np.nan)
    figures[:3] = rank_statistics(offsets, hit, size)[:3]
    figures[3], figures[4] = cubes, most_tied
    ranks = Ranks(*figures)
    tp, predicted, *_ = best_cuts(offsets, hit, size, positives, 1.0)

    n_items = np.diff(panel.starts)  # (n_labels,)

    def within(ratio: float) -> CutsWithin:
        found = panel.within(_most_within(ratio, positives, n_items))  # (n_labels,)
        score, lower = np.full(found.size, np.inf), np.full(found.size, np.nan)
        lowest = panel.starts[1:] - found  # (n_labels,) the lowest item
        exists, has_lower = found > 0, (found > 0) & (found < n_items)
        score[exists] = to_scores(panel.keys[lowest[exists]])
        lower[has_lower] = to_scores(panel.keys[lowest[has_lower] - 1])
        return CutsWithin(score, lower, panel.hits_above(np.arange(found.size), found), found)

    cap, top = within(overprediction), within(1.0)
    return Order(positives, ranks, tp, predicted, cap, top, panel.tie_sizes, False)


def _ties(panel: Panel) -> tuple[Floats, Ints]:
    """Return the sum of t^3 - t over the tie groups of t items, and the size of the largest, of each group."""
    # Items that equal the one before come in runs: one less than the tie group has items.
    firsts = np.flatnonzero(np.diff(panel.tied, prepend=-1) != 1)
    sizes = np.diff(firsts, append=panel.tied.size) + 1  # (n_tie_groups,)
    group = np.searchsorted(panel.starts, panel.tied[firsts], "right") - 1
    n_groups = panel.starts.size - 1
    real = sizes.astype(np.float64)
    most = np.ones(n_groups, np.int64)
    np.maximum.at(most, group, sizes)
    return np.bincount(group, real * real * real - real, n_groups).astype(np.float64), most


def _most_within(ratio: float, positives: Ints, n: Ints) -> Ints:
    """Return the most predictions, of n, that are at most `ratio` times the positives, (n_labels,)."""
    some = np.maximum(positives, 1)
    most = np.minimum(np.floor(ratio * some), n).astype(np.int64)
    # A product may be rounded to the other side of what the ratio of both is.
    most += (most < n) & ((most + 1) / some <= ratio)
    most -= (most > 0) & (most / some > ratio)
    return np.where(positives > 0, most, 0)


def _read_tie_groups(problem: Problem, items: Items, overprediction: float) -> Order:
    """Read all tie groups of a tile of labels."""
    offsets, key, hit, weight = TieGroups.of(items)
    positives = sums_of_groups(offsets, hit)
    cuts = best_cuts(offsets, hit, weight, positives, overprediction)
    tp, predicted, cap, cap_predicted = cuts
    _, _, top, top_predicted = best_cuts(offsets, hit, weight, positives, 1.0)

    # Of counts, what lies in a run counts as if no two cells were tied.
    statistics = rank_statistics(offsets, hit, weight)
    ranks = Ranks(*statistics, *statistics[-1:])  # All ties are known.
    are_runs = np.zeros(key.size, np.bool_)
    if items.has_runs:
        for apart in to_keys(np.array([problem.missing, -np.inf], problem.dtype)):
            items.ask_at(np.full(positives.size, apart))  # Many cells may be tied there.
        are_runs = _are_runs(items)
        ranks = _without_ties_in_runs(ranks, offsets, weight, are_runs)
        _ask_for_end(items, offsets, key, positives, cap, whole=True)
        _ask_for_end(items, offsets, key, positives, top, whole=False)

    def within(cut: Ints, of_cut: Ints) -> CutsWithin:
        below = np.where((cut >= 0) & (cut + 1 < offsets[1:]), cut + 1, -1)
        return CutsWithin(
            _scores_at(key, cut, np.inf),
            _scores_at(key, below, np.nan),
            _hits_down_to(cut, offsets, hit),
            of_cut,
        )

    def tie_sizes(labels: Ints) -> tuple[Ints, Ints]:
        starts, groups = items_in_order(offsets, labels)
        sizes, in_runs = weight[groups], are_runs[groups]
        if not in_runs.any():
            return starts, sizes
        # Each cell of a run is one of its own.
        n_of_group = np.where(in_runs, sizes, 1)
        starts = np.append(0, n_of_group.cumsum())[starts]
        return starts, np.repeat(np.where(in_runs, 1, sizes), n_of_group)

    return Order(
        positives,
        ranks,
        tp,
        predicted,
        within(cap, cap_predicted),
        within(top, top_predicted),
        tie_sizes,
        bool(are_runs.any()),
    )


def _scores_at(key: Keys, group: Ints, of_none: float) -> Floats:
    """Return the score of a tie group of each label, (n_labels,)."""
    scores = np.full(group.size, of_none)
    exists = group >= 0  # (n_labels,)
    scores[exists] = to_scores(key[group[exists]])
    return scores


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
    items: Items, offsets: Ints, key: Keys, positives: Ints, cut: Ints, *, whole: bool
) -> None:
    """Say that runs are to be known down to the lowest cut that predicts so much: the one that it may lie in.

    `cut` (n_labels,) is the tie group of the lowest cut that parts no run, -1 for none. Where the score of the cut is
    asked for, the run that it ends is to be known as a `whole`. A label without positives has no such cut.
    """
    after = np.where(cut >= 0, cut + 1, offsets[:-1])  # (n_labels,)
    padded = np.append(key, np.iinfo(key.dtype).max)  # No score has that key.
    items.ask_inside(padded[np.where((after < offsets[1:]) & (positives > 0), after, key.size)])
    if whole:
        items.ask_inside(padded[np.where(cut >= 0, cut, key.size)])


def _hits_down_to(cut: Ints, offsets: Ints, hits: Ints) -> Ints:
    """Add up the positives of each label's tie groups from the top down to the cut, -1 for none."""
    so_far = np.append(0, np.cumsum(hits))
    return np.where(cut >= 0, so_far[cut + 1] - so_far[offsets[:-1]], 0)
