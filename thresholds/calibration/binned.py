"""The histogram of each label: what curves are fitted to, and measured on.

A bin of several scores (`_engine/histograms.py`) counts as so many cells at its middle. Cells that score `missing` are
a bin of their own, whatever lies beside; masked cells are in none. Where a curve jumps, a bin would have cells on both
sides: so bins of isotonic curves are split there, by a label's tie groups.

Where all scores of a label are probabilities, those above 1/2 share a bin if what they lack of 1 agrees in its leading
digits: bins are as narrow next to 1 as next to 0, in log odds. (By their own digits, the uppermost would reach from log
odds of 5 up to 17: Platt's curves of over-confident scores were off by up to .07, log-loss by half a per cent.)

A label of few scores has a bin for each, and nothing is lost.
"""

from collections.abc import Callable
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from thresholds._arrays.dtypes import rounded_up
from thresholds._arrays.grouped import sums_of_groups
from thresholds._arrays.sparse import is_sparse
from thresholds._arrays.types import Booleans, Floats, Ints, Scores
from thresholds._engine.columns import Memory, over_labels
from thresholds._engine.histograms import MOST_BINS, Histograms, Reading, joined
from thresholds._engine.problem import Problem
from thresholds._engine.staircase import Columns
from thresholds._kernels.keys import to_keys, to_scores
from thresholds.calibration.by_class import edges_of, squares

# Scores of labels; those of label j are `[1][[0][j]:[0][j + 1]]`.
Edges = tuple[Ints, Floats]

_SORTED_CELLS = 2**17  # at a time: the tie groups of more take as long to write as to find


class Binned(NamedTuple):
    """The bins of all labels, and what is asked of their cells beside."""

    bins: Histograms  # without masked cells
    class_edges: Floats  # (n_labels, N_EDGES) those of `ScoresByClass`
    # (2, n_labels) the sum of squares of the weights of negatives and of positives; None where each cell weighs 1
    squares: Floats | None
    of_shares: bool  # whether all scores are in [0, 1], those apart that are missing

    @classmethod
    def of_histograms(
        cls, found: Histograms, missing: float, squares: Floats | None = None
    ) -> "Binned":
        """Take histograms of all labels, of rows that need not be at hand.

        All cells of a bin that has `missing` between its ends count as missing. `squares` as in `Binned`.
        """
        bins = _unmasked(found)
        is_missing = (bins.lowest <= missing) & (missing <= bins.highest)  # (n_bins,)
        bins = replace(
            bins,
            lowest=np.where(is_missing, bins.lowest.dtype.type(missing), bins.lowest),
            highest=np.where(is_missing, bins.highest.dtype.type(missing), bins.highest),
        )
        is_probable = (bins.lowest >= 0) & (bins.highest <= 1)  # (n_bins,)
        of_shares = bool((is_probable | is_missing).all())
        return cls(bins, edges_of(bins), squares, of_shares)

    @property
    def are_shares(self) -> bool:
        """Whether all scores are in [0, 1]."""
        scores = self.bins.middle
        return self.of_shares and bool(np.all((scores >= 0) & (scores <= 1)))


def binned(
    problem: Problem,
    edges: Callable[[Histograms, int], Edges] | None = None,
    *,
    n_jobs: int | None = -1,
    progress: bool = False,
) -> Binned:
    """Read the bins of all labels.

    `edges` returns scores at which bins are to begin, from the tie groups of some labels and the number of the first.
    """
    read = _ReadingBins(problem, edges)
    parts = over_labels(problem, read, n_jobs=n_jobs, progress=progress)
    bins, class_edges, squared, are_shares = zip(*parts, strict=True)
    return Binned(
        joined(list(bins)),
        np.concatenate(class_edges),
        None if squared[0] is None else np.concatenate(squared, axis=1),
        all(are_shares),
    )


class _ReadingBins:
    """Reads the bins of some labels off their columns."""

    def __init__(self, problem: Problem, edges: Callable[[Histograms, int], Edges] | None) -> None:
        self._problem = problem
        self._missing = problem.dtype.type(problem.missing)
        self._bins, self._tie_groups = Reading(problem, MOST_BINS), Reading(problem)
        self._edges = edges
        # Absent cells keep their score.
        self._may_spread = not is_sparse(problem.scores) or problem.missing <= 0.5

    def __call__(self, columns: Columns, memory: Memory) -> Binned:
        """Return the bins of some labels."""
        bins = _with_missing_apart(self._read(columns, memory), columns, self._missing)
        class_edges = edges_of(bins)
        if self._edges is not None:
            bins = joined([*self._split(bins, columns, memory)])
        return Binned(
            bins,
            class_edges,
            self._squares(columns),
            _are_probable(columns.scores, self._missing),
        )

    def _read(self, columns: Columns, memory: Memory) -> Histograms:
        """Read the bins of unmasked cells, those of probabilities as narrow next to 1 as next to 0."""
        if not self._may_spread:
            return _unmasked(self._bins(columns, memory))
        # 1. Find the scores above 1/2 of labels that have nothing but probabilities.
        scores = columns.scores
        is_high = scores > 0.5  # (n_cells,)
        is_probable = np.ones(columns.n_labels, np.bool_)
        if scores.size and not (scores.min() >= 0 and scores.max() <= 1):
            starts = np.append(0, columns.ends)
            outside = (scores > 1) | ((scores < 0) & (scores > -np.inf))
            is_probable = sums_of_groups(starts, outside) == 0
            is_high &= np.repeat(is_probable, np.diff(starts))
        # 2. Put what they lack of 1 in their place, in their order.
        high = np.flatnonzero(is_high)
        spread = scores.copy()
        spread[high] = _mirrored(1 - scores[high])
        bins = _unmasked(self._bins(columns._replace(scores=spread), memory))
        return _gathered(bins, is_probable)

    def _split(self, bins: Histograms, columns: Columns, memory: Memory) -> list[Histograms]:
        """Split bins at the edges, some labels at a time."""
        assert self._edges is not None, "asked for where there are some"
        split = []
        for piece in columns.in_pieces(_SORTED_CELLS):
            first = piece.first - columns.first
            groups = _unmasked(self._tie_groups(piece, memory))
            edges = self._edges(groups, piece.first)
            split.append(
                _split(bins.of_labels(slice(first, first + piece.n_labels)), groups, edges)
            )
        return split

    def _squares(self, columns: Columns) -> Floats | None:
        """Return the sums of squares of the weights of negatives and of positives, (2, n_labels)."""
        row_weights = self._problem.unit_weights
        if row_weights is None:
            return None
        # 1. Those of cells that have a score.
        n_labels = columns.n_labels
        assert columns.weights is not None, "as rows have some"
        weights = np.resize(columns.weights, columns.scores.size).astype(np.float64)
        squared = np.where(columns.scores > -np.inf, weights**2, 0.0)  # (n_cells,)
        label = np.repeat(np.arange(n_labels), columns.ends - columns.starts)
        of_all = np.bincount(label, squared, n_labels)
        of_positives = np.bincount(label, squared * columns.truth, n_labels)
        sums = np.array([of_all - of_positives, of_positives])
        if self._missing == -np.inf or not is_sparse(self._problem.scores):
            return sums
        # 2. Those of absent cells: the most that so much weight can add up to.
        own = slice(columns.first, columns.first + n_labels)
        stored = np.bincount(label, weights, n_labels)
        absent = self._problem.weight_of_label[own] - stored
        heaviest = int(row_weights.max())
        return sums + squares(np.array([absent - columns.more, columns.more]), heaviest)


def _mirrored(scores: Scores) -> Scores:
    """Turn the order of numbers from 0 on round, about 1/2, so that their leading digits stay together."""
    half = to_keys(np.array([0.5], scores.dtype))[0]
    return to_scores(half + (half - to_keys(scores)))


def _gathered(bins: Histograms, is_probable: Booleans) -> Histograms:
    """Return bins of mirrored scores as bins of the probabilities that these were, of labels that have such."""
    lowest, highest = bins.lowest.copy(), bins.highest.copy()
    for ends, sign in ((lowest, 1), (highest, -1)):
        high = np.flatnonzero((ends > 0.5) & is_probable[bins.label])
        lacking = _mirrored(ends[high])
        # 1 less a probability is exact, 1 less something else is rounded: here to the inside of the bin.
        found = 1 - lacking
        is_outside = sign * (1 - found) > sign * lacking
        ends[high] = np.where(is_outside, np.nextafter(found, found.dtype.type(sign * 2)), found)
    return Histograms(bins.offsets, lowest, highest, bins.hits, bins.weights)


def _unmasked(bins: Histograms) -> Histograms:
    """Leave masked cells out."""
    return bins.where(bins.lowest > -np.inf)


def _with_missing_apart(bins: Histograms, columns: Columns, missing: Scores) -> Histograms:
    """Give cells that are `missing` a bin of their own."""
    # 1. Bins that may have others beside them become three: what lies above, they, and what lies below.
    shared = (bins.lowest < bins.highest) & (bins.lowest <= missing) & (missing <= bins.highest)
    if not shared.any():
        return bins
    three = np.repeat(np.arange(shared.size), np.where(shared, 3, 1))
    lowest, highest, hits, weights = (
        column[three] for column in (bins.lowest, bins.highest, bins.hits, bins.weights)
    )
    n_bins = np.diff(bins.offsets) + 2 * np.bincount(bins.label[shared], minlength=bins.n_labels)
    middle = np.flatnonzero(shared) + 2 * np.arange(np.count_nonzero(shared)) + 1
    lowest[middle - 1] = np.nextafter(missing, np.inf, dtype=lowest.dtype)
    lowest[middle] = highest[middle] = missing
    highest[middle + 1] = np.nextafter(missing, -np.inf, dtype=lowest.dtype)
    # 2. Count those above and below; the rest is missing.
    for label, at in zip(bins.label[shared].tolist(), middle.tolist(), strict=True):
        scores, truth, weight = columns.of_label(label)
        for place, inside in (
            (at - 1, (scores > missing) & (scores <= highest[at - 1])),
            (at + 1, (scores < missing) & (scores >= lowest[at + 1])),
        ):
            cells = np.flatnonzero(inside)
            own = np.ones(cells.size, np.int64) if weight is None else weight[cells]
            weights[place], hits[place] = own.sum(), own @ truth[cells].astype(np.int64)
        weights[at] -= weights[at - 1] + weights[at + 1]
        hits[at] -= hits[at - 1] + hits[at + 1]
    found = Histograms(np.append(0, n_bins.cumsum()), lowest, highest, hits, weights)
    return found.where(weights > 0)


def _split(bins: Histograms, groups: Histograms, edges: Edges) -> Histograms:
    """Return the bins of some labels, split at edges, from the tie groups that they are made of."""
    # 1. The first tie group of each bin. Labels that have as many bins as tie groups are split already.
    starts, scores = edges
    begins = np.ones(groups.lowest.size, np.bool_)
    for label in np.flatnonzero(np.diff(groups.offsets) > np.diff(bins.offsets)):
        first, last = groups.offsets[label : label + 2]
        rising = -groups.lowest[first:last]
        tops = bins.highest[bins.offsets[label] : bins.offsets[label + 1]]
        own_edges = rounded_up(scores[starts[label] : starts[label + 1]], rising.dtype)
        firsts = np.append(rising.searchsorted(-tops), rising.searchsorted(-own_edges, "right"))
        begins[first:last] = False
        begins[first + firsts[firsts < last - first]] = True
    # 2. Add up what is in each.
    firsts = np.flatnonzero(begins)
    if firsts.size == 0:
        return groups
    return Histograms(
        np.searchsorted(firsts, groups.offsets),
        groups.lowest[np.append(firsts[1:], begins.size) - 1],
        groups.highest[firsts],
        np.add.reduceat(groups.hits, firsts),
        np.add.reduceat(groups.weights, firsts),
    )


def _are_probable(scores: Scores, missing: Scores) -> bool:
    """Whether scores lie in [0, 1], those apart that are missing or masked."""
    if scores.size == 0 or (scores.min() >= 0 and scores.max() <= 1):
        return True
    is_inside = (scores >= 0) & (scores <= 1)
    return bool((is_inside | (scores == missing) | (scores == -np.inf)).all())
