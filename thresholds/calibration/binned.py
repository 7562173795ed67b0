"""The cells of each label in bins of neighbouring scores: what curves are fitted to, and measured on.

Each label is sorted once, a few labels at a time, so that no list of all cells is ever made. A bin is at most 1/1024 as
wide as what lies between the 1st and the 99th percentile of the label's scores: of their log odds, where all scores are
probabilities. And it has at most 1/1024 of the label's cells: a curve that is steep where many lie finds narrow bins
there, however far the others are. The positives of a bin count as so many of their mean score, and so do the negatives.
So sums of scores over either are kept, and what a smooth curve of them adds up to is changed by no more than the square
of the width.
What a curve jumps at, and what is counted by itself, is the edge of a bin.

Of few cells a bin is a distinct score, and nothing is lost.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from thresholds._arrays.grouped import group_of, sums_of_groups
from thresholds._arrays.types import Floats, Ints
from thresholds._kernels.calibration import neighbours
from thresholds._kernels.keys import to_keys, to_scores
from thresholds._kernels.sorting import sorted_groups
from thresholds.calibration.by_class import edges_of, squares
from thresholds.calibration.cells import Cells, limits_of
from thresholds.data.panels import Panel, label_items
from thresholds.data.probable import are_probable
from thresholds.data.problem import Items, Problem
from thresholds.data.tiles import map_tiles
from thresholds.log_odds import log_odds

_MOST_EXACT = 2**18  # cells of all labels that are few
_WIDTHS = 1024  # of a bin, between the percentiles
_PARTS = 1024  # of a label's cells, of which a bin has one at most
_MIDDLE = (0.01, 0.99)

_NO_EDGES = np.empty(0)


class Edges(NamedTuple):
    """Scores from which bins begin, beside those that are wide enough."""

    of_all: Floats = _NO_EDGES  # rising
    of_label: tuple[Ints, Floats] | None = None  # those of label j are `[1][[0][j]:[0][j + 1]]`


class Binned(NamedTuple):
    """Cells in bins, label after label: of each bin, which rise, its negatives, then its positives."""

    all: Cells  # with their mean score, and with weights
    squares: Floats  # (n_cells,) the sum of squares of the weights of rows
    edges: Floats  # (n_labels, N_EDGES) those of `ScoresByClass`
    of_shares: bool  # whether all scores are in [0, 1], those apart that are missing

    @property
    def are_shares(self) -> bool:
        """Whether all scores are in [0, 1]."""
        scores = self.all.scores
        return self.of_shares and bool(np.all((scores >= 0) & (scores <= 1)))


def binned(
    problem: Problem,
    edges: Callable[[Items, int, int], Edges] = lambda *_: Edges(),
    *,
    n_jobs: int | None = -1,
    progress: bool = False,
) -> Binned:
    """Put the cells of a problem into bins; `edges` says where those of a tile of labels begin, from its items."""
    of_shares = are_probable(problem)
    heaviest = int(problem.row_weights.max())

    def of_tile(first: int, last: int) -> tuple[Cells, Floats, Floats]:
        items = rising_items(problem, first, last)
        return _of_tile(problem, items, edges(items, first, last), of_shares, heaviest)

    parts = map_tiles(problem, of_tile, n_jobs=n_jobs, progress=progress)
    sizes = np.concatenate([np.diff(cells.starts) for cells, _, _ in parts])
    _, scores, truth, weights = zip(*(cells for cells, _, _ in parts), strict=True)
    cells = Cells(
        np.append(0, sizes.cumsum()),
        np.concatenate(scores),
        np.concatenate(truth),
        np.concatenate(weights),
    )
    squared = np.concatenate([squared for _, squared, _ in parts])
    return Binned(cells, squared, np.concatenate([own for _, _, own in parts]), of_shares)


def counted_items(problem: Problem, first: int, last: int) -> Items:
    """Return the items of labels that have weight and are not masked."""
    starts, keys, positive_weights, weights = items = problem.label_items(first, last)
    masked = to_keys(np.array([-np.inf], problem.dtype))[0]
    counts = keys > masked  # (n_items,)
    if weights.size:
        counts &= weights > 0
    if counts.all():
        return items
    starts = np.append(0, counts.cumsum())[starts]
    if weights.size:
        weights = weights[counts]
    return Items(starts, keys[counts], positive_weights[counts], weights)


def rising_items(problem: Problem, first: int, last: int) -> Items:
    """Return these sorted upwards within each label: a panel where each weighs 1."""
    if problem.is_dense_unweighted:
        panel = label_items(problem, first, last)
        assert isinstance(panel, Panel), "no part of the rows is calibrated alone"
        return panel.higher_than(to_keys(np.array([-np.inf], problem.dtype))[0])
    items = counted_items(problem, first, last)
    if items.is_unweighted:
        return Panel.sorting(items)
    starts, keys, positive_weights, weights = items
    keys, places = sorted_groups(starts, keys)
    rows = places + np.repeat(starts[:-1], np.diff(starts))  # (n_items,)
    return Items(starts, keys, positive_weights[rows], weights[rows])


def _of_tile(
    problem: Problem, items: Items, edges: Edges, of_shares: bool, heaviest: int
) -> tuple[Cells, Floats, Floats]:
    """Return the cells in bins of some labels, their squared weights, and the edges of `ScoresByClass`."""
    starts, keys, positive_weights, weights = items
    scores = to_scores(keys).astype(np.float64)  # (n_items,)
    of_class = edges_of(starts, scores, weights)  # (n_labels, N_EDGES)
    if problem.n_stored <= _MOST_EXACT or scores.size == 0:
        offsets, firsts, of_bins = _distinct(starts, scores, positive_weights, weights)
        sums = np.zeros(of_bins.shape)
    else:
        # Missing scores are a bin of their own.
        apart = [problem.missing, np.nextafter(problem.missing, np.inf)]
        of_all = np.union1d(edges.of_all, apart)
        all_edges = of_all, *_merged(of_class, edges.of_label)
        widths = _widths(problem, starts, scores, of_shares)
        offsets, firsts, of_bins, sums = neighbours(
            starts, scores, positive_weights, weights, widths, _PARTS, of_shares, all_edges
        )

    # Means, which rounding may take out of their bin.
    lasts = np.append(firsts, scores.size)[1:] - 1  # (n_bins,)
    lowest, highest = scores[firsts], scores[lasts]
    some = of_bins > 0  # (2, n_bins)
    means = lowest + np.divide(sums, of_bins, out=np.zeros_like(sums), where=some)
    means = np.minimum(means, highest)

    # Negatives, then positives of each bin.
    squared = of_bins.astype(np.float64)
    if weights.size:
        parts = np.stack([weights - positive_weights, positive_weights])  # (2, n_items)
        squared = np.add.reduceat(squares(parts.astype(np.float64), heaviest), firsts, axis=1)
    kept = some.T.reshape(-1)  # (2 n_bins,)
    truth = np.tile(np.array([0, 1], np.uint8), firsts.size)
    cells = Cells(
        np.append(0, kept.cumsum())[2 * offsets],
        means.T.reshape(-1)[kept],
        truth[kept],
        of_bins.T.reshape(-1)[kept],
    )
    return cells, squared.T.reshape(-1)[kept], of_class


def _distinct(
    starts: Ints, scores: Floats, positive_weights: Ints, weights: Ints
) -> tuple[Ints, Ints, Ints]:
    """Return offsets and firsts of the distinct scores of labels, and their weights, as `neighbours` does."""
    is_first = np.append(True, scores[1:] != scores[:-1])[: scores.size]  # (n_items,)
    is_first[starts[:-1][np.diff(starts) > 0]] = True
    firsts = np.flatnonzero(is_first)
    offsets = np.append(0, is_first.cumsum())[starts]
    positive = np.add.reduceat(positive_weights, firsts, dtype=np.int64)
    total = (
        np.add.reduceat(weights, firsts) if weights.size else np.diff(firsts, append=scores.size)
    )
    return offsets, firsts, np.stack([total - positive, positive])


def _widths(problem: Problem, starts: Ints, scores: Floats, of_shares: bool) -> Floats:
    """Return how wide bins of each label are, (n_labels,): none where most of its scores are equal."""
    # Ranks among those that are not missing.
    n_below, n_missing = (
        sums_of_groups(starts, member)
        for member in (scores < problem.missing, scores == problem.missing)
    )
    n_others = np.diff(starts) - n_missing
    ends = []
    for share in _MIDDLE:
        rank = (share * (n_others - 1)).astype(np.int64)
        at = starts[:-1] + rank + np.where(rank >= n_below, n_missing, 0)
        ends.append(np.where(n_others > 0, scores[np.minimum(at, scores.size - 1)], 0.5))
    low, high = np.array(ends)
    if of_shares:
        least, most = limits_of(problem.scores.dtype)
        low, high = log_odds(np.clip([low, high], least, most))
    return np.asarray(high / _WIDTHS - low / _WIDTHS)


def _merged(of_class: Floats, of_label: tuple[Ints, Floats] | None) -> tuple[Ints, Floats]:
    """Return the edges of `ScoresByClass` and others of each label, rising."""
    n_labels, n_edges = of_class.shape
    starts, edges = np.arange(n_labels + 1) * n_edges, of_class.reshape(-1)
    if of_label is None:
        return starts, edges
    label = np.concatenate([group_of(starts), group_of(of_label[0])])
    edges = np.concatenate([edges, of_label[1]])
    return starts + of_label[0], edges[np.lexsort((edges, label))]
