"""What weighs at which score of a label: the statistic that guards, tests of labels, calibration and plots read.

A histogram has bins, which fall. A bin is one score, with all cells that have it, or several neighbouring scores. Both
are read alike: what lies at or above the lowest score of a bin is known exactly, and a threshold there decides as
counted.

Bins of several scores hold all cells of a label whose keys (`_kernels/keys.py`) agree but for their last d bits: scores
that agree in their leading binary digits. Each label has the least d that leaves it at most `MOST_BINS` bins. A label
of no more distinct scores has d = 0, and nothing is lost. No more rows take bins away, and bins of d + 1 are unions of
those of d: so d depends on the rows alone, not on their order, nor on how they came in blocks.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any, TypeVar

import numpy as np

from thresholds._arrays.blocks import in_pieces
from thresholds._arrays.grouped import group_of, highest_of_groups, sums_of_groups, sums_so_far
from thresholds._arrays.types import Booleans, Bytes, Floats, Ints, Keys, Scores
from thresholds._engine.best_cuts import is_small
from thresholds._engine.columns import Memory, over_labels
from thresholds._engine.cuts import Cuts
from thresholds._engine.leading_bits import bit_length, differing_bits, fewest_dropped
from thresholds._engine.problem import Problem
from thresholds._engine.sparse import with_absent
from thresholds._engine.staircase import Columns, Steps
from thresholds._kernels.keys import to_keys, to_scores

Result = TypeVar("Result")

MOST_BINS = 1024  # of a label
_BINS_AT_ONCE = 2**20
_LABELS_AT_ONCE = 2**12
_CELLS_AT_ONCE = 2**17  # of exact histograms: fresh memory for more costs as much as the sort


@dataclass(frozen=True, slots=True)
class Histograms:
    """The bins of labels, one label after another; those of label j are `offsets[j]:offsets[j + 1]`, and fall.

    Weights are in the unit of the problem's. Cells of unknown truth are in no bin.
    """

    offsets: Ints  # (n_labels + 1,)
    # (n_bins,) each: no score of a bin is lower, or higher, and bins do not overlap. Where a label has a bin for each
    # of its scores, both are that score; else they are where the leading bits begin and end.
    lowest: Scores
    highest: Scores
    hits: Ints  # (n_bins,) weight of the positives
    weights: Ints  # (n_bins,) weight of all cells, above 0

    @property
    def n_labels(self) -> int:
        """Number of labels."""
        return self.offsets.size - 1

    @property
    def nbytes(self) -> int:
        """Bytes of all arrays."""
        columns = (self.offsets, self.lowest, self.highest, self.hits, self.weights)
        return sum(column.nbytes for column in columns)

    @property
    def middle(self) -> Floats:
        """The middle of each bin, (n_bins,): its score where it has but one."""
        lowest, highest = self.lowest.astype(np.float64), self.highest.astype(np.float64)
        half_width = np.zeros(lowest.size)
        np.subtract(highest / 2, lowest / 2, out=half_width, where=lowest < highest)
        return np.asarray(lowest + half_width)

    @property
    def label(self) -> Ints:
        """The label of each bin, (n_bins,)."""
        return group_of(self.offsets)

    @property
    def positives(self) -> Ints:
        """Weight of the positives of each label, (n_labels,)."""
        return sums_of_groups(self.offsets, self.hits)

    @property
    def totals(self) -> Ints:
        """Weight of all cells of each label, (n_labels,)."""
        return sums_of_groups(self.offsets, self.weights)

    @property
    def present(self) -> Ints:
        """Weight of the cells of each label that are not masked, that is, above -inf, (n_labels,)."""
        return sums_of_groups(self.offsets, np.where(self.lowest > -np.inf, self.weights, 0))

    @property
    def tp(self) -> Ints:
        """Weight of the positives down to each bin, its own among them, (n_bins,)."""
        return sums_so_far(self.offsets, self.hits)

    @property
    def predicted(self) -> Ints:
        """Weight of all cells down to each bin, its own among them, (n_bins,)."""
        return sums_so_far(self.offsets, self.weights)

    @property
    def steps(self) -> Steps:
        """The steps of each label: the bins that have positives, each with the next lower score."""
        steps = np.flatnonzero(self.hits > 0)  # (n_steps,)
        offsets = steps.searchsorted(self.offsets)
        n_steps = np.diff(offsets)  # (n_labels,)
        below = np.minimum(steps + 1, self.highest.size - 1)
        lower = self.highest[below].astype(np.float64)
        lower[steps + 1 == np.repeat(self.offsets[1:], n_steps)] = np.nan
        weight = np.append(0, self.weights.cumsum())  # of all bins before each
        hits = self.hits[steps]
        return Steps(
            offsets,
            cut=self.lowest[steps].astype(np.float64),
            lower=lower,
            tp=sums_so_far(offsets, hits),
            predicted=weight[steps + 1] - np.repeat(weight[self.offsets[:-1]], n_steps),
            positives=sums_of_groups(offsets, hits),
        )

    @property
    def cuts(self) -> Steps:
        """The cuts at all bins, each at its lowest score; those that gain no positive are no steps."""
        lower = np.append(self.highest[1:], np.nan).astype(np.float64)
        lower[self.offsets[1:][self.offsets[1:] > 0] - 1] = np.nan
        return Steps(
            self.offsets,
            cut=self.lowest.astype(np.float64),
            lower=lower[: self.lowest.size],
            tp=self.tp,
            predicted=self.predicted,
            positives=self.positives,
        )

    def n_above(self, thresholds: Floats) -> Ints:
        """Return how many bins of each label lie wholly above its threshold, (n_labels,)."""
        return sums_of_groups(self.offsets, self.lowest > thresholds[self.label])

    def bins_at(self, ranks: Floats) -> Ints:
        """Return the bin of each label that has a rank, (n_labels,), counted by weight from the top.

        Beyond the last rank it is the last bin. A label without bins has the number of all bins.
        """
        so_far = np.append(0, self.weights.cumsum())
        # Of whole numbers the first that is not below the rank: exact, however large they are.
        wanted = so_far[self.offsets[:-1]] + np.ceil(ranks).astype(np.int64)
        place = so_far[1:].searchsorted(wanted)
        place = np.clip(
            place, self.offsets[:-1], np.maximum(self.offsets[1:] - 1, self.offsets[:-1])
        )
        return np.where(np.diff(self.offsets) > 0, place, self.lowest.size)

    def cuts_after(self, n_bins: Ints) -> Cuts:
        """Return the cut of each label that predicts so many of its bins, (n_labels,), in the gap below them."""
        has_cut, has_lower = n_bins > 0, n_bins < np.diff(self.offsets)
        last = self.offsets[:-1] + n_bins - 1  # (n_labels,)
        so_far, hits_so_far = np.append(0, self.weights.cumsum()), np.append(0, self.hits.cumsum())
        lowest = np.append(self.lowest, np.inf).astype(np.float64)
        highest = np.append(self.highest, np.nan).astype(np.float64)
        return Cuts(
            score=np.where(has_cut, lowest[np.where(has_cut, last, -1)], np.inf),
            lower=np.where(has_lower, highest[np.where(has_lower, last + 1, -1)], np.nan),
            tp=hits_so_far[last + 1] - hits_so_far[self.offsets[:-1]],
            predicted=so_far[last + 1] - so_far[self.offsets[:-1]],
            positives=self.positives,
        )

    def blocks_of_labels(self) -> Iterator[slice]:
        """Return some labels after others, few enough for copies of their bins, and for arrays of their own."""
        size = min(_LABELS_AT_ONCE, _BINS_AT_ONCE * self.n_labels // max(1, self.lowest.size))
        return in_pieces(slice(0, self.n_labels), max(1, size))

    def of_labels(self, labels: slice) -> "Histograms":
        """Return the histograms of some labels, as views."""
        offsets = self.offsets[labels.start : labels.stop + 1]
        bins = slice(offsets[0], offsets[-1])
        return Histograms(
            offsets - offsets[0],
            self.lowest[bins],
            self.highest[bins],
            self.hits[bins],
            self.weights[bins],
        )

    def take(self, labels: Ints) -> "Histograms":
        """Return the histograms of some labels, in any order."""
        n_bins = np.diff(self.offsets)[labels]
        offsets = np.append(0, n_bins.cumsum())
        bins = np.arange(offsets[-1]) + np.repeat(self.offsets[labels] - offsets[:-1], n_bins)
        columns = (self.lowest, self.highest, self.hits, self.weights)
        return Histograms(offsets, *(column[bins] for column in columns))

    def where(self, wanted: Booleans) -> "Histograms":
        """Leave out the bins that are not wanted, (n_bins,)."""
        if wanted.all():
            return self
        return Histograms(
            np.append(0, np.cumsum(wanted))[self.offsets],
            self.lowest[wanted],
            self.highest[wanted],
            self.hits[wanted],
            self.weights[wanted],
        )

    def merged(self, most: int = MOST_BINS) -> "Histograms":
        """Return at most so many bins of each label.

        Masked cells, which score -inf, have a bin of their own beside these.
        """
        return self if (np.diff(self.offsets) <= most).all() else _merged(self, most)

    def divided_by(self, divisor: int) -> "Histograms":
        """Return the same with weights in another unit, so many times as large: it divides all of them."""
        if divisor == 1:
            return self
        return replace(self, hits=self.hits // divisor, weights=self.weights // divisor)

    def in_place_of(self, wanted: Booleans, others: "Histograms") -> "Histograms":
        """Take others in place of the bins that are wanted, (n_bins,), of the same labels and scores."""
        return _by_score([self.where(~wanted), others])


class Reading:
    """Reads histograms off columns: of all scores, or of `most` bins a label."""

    def __init__(self, problem: Problem, most: int | None = None) -> None:
        self._by_sorting = is_small(problem)
        self._most = most
        self._problem = problem

    def __call__(self, columns: Columns, memory: Memory) -> Histograms:
        """Return the histograms of some labels; bins are kept for whoever asks for the same at once."""
        if self._most is None:
            return self._read(columns, memory)
        if memory.bins is None or memory.bins[0] is not columns or memory.bins[1] != self._most:
            memory.bins = columns, self._most, self._read(columns, memory)
        return memory.bins[2]  # type: ignore[no-any-return]

    def _read(self, columns: Columns, memory: Memory) -> Histograms:
        """Read the histograms of some labels."""
        return self.of_cells(with_absent(self._problem, columns), memory)

    def of_cells(self, columns: Columns, memory: Memory) -> Histograms:
        """Return the histograms of the cells of some labels, what is absent of sparse scores among them."""
        by_sorting = self._by_sorting
        found = tie_groups_by_sorting(columns) if by_sorting else self._by_kernels(columns, memory)
        return found if self._most is None else found.merged(self._most)

    def _by_kernels(self, columns: Columns, memory: Memory) -> Histograms:
        """Sort or count them with the kernels; more bins than the kernels have room for are sorted."""
        # Numba is imported here, where it is first needed.
        from thresholds._kernels import histograms as kernels

        bits = columns.scores.view(f"u{columns.scores.itemsize}")
        sizes = columns.ends - columns.starts  # (n_labels,)
        longest = int(sizes.max(initial=0))
        if memory.sorting is None or memory.sorting.place.size < longest:
            memory.sorting = kernels.room_for(longest, bits.itemsize)
        given = bits, columns.truth, columns.weights, columns.starts, columns.ends
        most, is_counted = self._most, False
        if most is None or most > MOST_BINS:
            groups = kernels.groups_for(int(sizes.sum()), bits.dtype)
            offsets = kernels.tie_groups(*given, memory.sorting, groups)
        else:
            is_counted = True
            # One more bin is that of masked cells.
            groups = kernels.groups_for(int(np.minimum(sizes, most + 1).sum()), bits.dtype)
            masked = to_keys(np.array([-np.inf], columns.scores.dtype))[0]
            offsets = kernels.leading_bits(*given, np.uint64(masked), most, memory.sorting, groups)
        lowest, highest, hits, weights = (column[: offsets[-1]] for column in groups)
        lowest = to_scores(lowest)
        return Histograms(
            offsets,
            lowest,
            _highest_scores(highest) if is_counted else lowest,
            hits,
            weights,
        )


def histograms(
    problem: Problem,
    most: int | None = MOST_BINS,
    *,
    labels: Ints | None = None,
    n_jobs: int | None = -1,
    progress: bool = False,
) -> Histograms:
    """Return the histograms of all labels, or of some, `most` bins of each at most; None for a bin of each score."""
    if problem.is_counted:
        counted: Any = problem
        return counted.histograms(most, labels)  # type: ignore[no-any-return]
    if labels is not None:
        problem = problem.at_labels(labels)
    read = Reading(problem, most)
    return joined(over_labels(problem, read, n_jobs=n_jobs, progress=progress))


def over_histograms(
    problem: Problem,
    function: Callable[[Histograms, int], Result],
    *,
    n_jobs: int | None = -1,
    progress: bool = False,
) -> list[Result]:
    """Apply `function` to the exact histograms of a few labels at a time, and to the number of the first of these.

    Return the results in the order of the labels. The problem may be one that was counted elsewhere.
    """
    if problem.is_counted:
        counted: Any = problem
        return [function(found, first) for found, first in counted.histograms_in_pieces()]
    read = Reading(problem)

    def apply(columns: Columns, memory: Memory) -> list[Result]:
        pieces = columns.in_pieces(_CELLS_AT_ONCE)
        return [function(read(piece, memory), piece.first) for piece in pieces]

    return list(chain.from_iterable(over_labels(problem, apply, n_jobs=n_jobs, progress=progress)))


def added(parts: Sequence[Histograms], most: int | None = MOST_BINS) -> Histograms:
    """Add up histograms of the same labels on other rows each, with at most so many bins of each label; None for any.

    The parts have a bin for each score, or were merged to no fewer bins. The sum is what all rows give at once.
    """
    together = _by_score(parts)
    if most is None and np.array_equal(together.lowest, together.highest):
        return _with_equal_scores_as_one(together)
    return _merged(together, most)


def _by_score(parts: Sequence[Histograms]) -> Histograms:
    """Put the bins of the same labels in order, the highest first; those of equal scores stay apart."""
    label = np.concatenate([part.label for part in parts])
    lowest, highest, hits, weights = (
        np.concatenate([getattr(part, name) for part in parts])
        for name in ("lowest", "highest", "hits", "weights")
    )
    keys = to_keys(lowest.copy())
    if keys.itemsize == 4:
        # Parts are in order already, and are merged in less time than they are sorted.
        order = ((label.astype(np.uint64) << np.uint64(32)) | ~keys).argsort(kind="stable")
    else:
        order = np.lexsort((~keys, label))
    offsets = np.sum([part.offsets for part in parts], axis=0)
    return Histograms(offsets, lowest[order], highest[order], hits[order], weights[order])


def _with_equal_scores_as_one(found: Histograms) -> Histograms:
    """Merge bins of one score each, which are in order."""
    firsts = np.flatnonzero(_differs(found.label) | _differs(found.lowest))
    if firsts.size == found.lowest.size:
        return found
    scores = found.lowest[firsts]
    return Histograms(
        np.searchsorted(firsts, found.offsets),
        scores,
        scores,
        np.add.reduceat(found.hits, firsts),
        np.add.reduceat(found.weights, firsts),
    )


def _merged(found: Histograms, most: int | None) -> Histograms:
    """Merge bins of equal leading bits, the least d of each label that leaves at most so many; None for any number.

    The bins are in order. Those of one label may be of several histograms, each of which has its own d.
    """
    label, n_labels = found.label, found.n_labels
    lowest, highest = to_keys(found.lowest.copy()), to_keys(found.highest.copy())
    n_bits = 8 * lowest.itemsize
    is_masked = found.lowest == -np.inf  # (n_bins,)
    is_first = _differs(label)

    # 1. See how many bits were dropped before: no bin lies in two of those that are made.
    dropped = highest_of_groups(found.offsets, bit_length(lowest ^ highest))  # (n_labels,)
    cells = lowest >> _shift(dropped[label], n_bits)

    # 2. Find the least d that leaves each label few enough.
    differing = differing_bits(lowest, label)  # (n_bins,)
    if most is not None:
        # Bins that belong together already are one.
        of_unmasked = (is_first | _differs(cells)) & ~is_masked
        fewest = fewest_dropped(differing[of_unmasked], label[of_unmasked], n_labels, most)
        dropped = np.maximum(dropped, fewest)

    # 3. Let bins reach as far as their leading bits, within the scores of the label.
    shift = _shift(dropped[label], n_bits)
    firsts = np.flatnonzero(is_first | _differs(lowest >> shift) | _differs(is_masked))
    of_bin, shift, is_masked = label[firsts], shift[firsts], is_masked[firsts]
    low = lowest[firsts] >> shift << shift
    high = low | ((lowest.dtype.type(1) << shift) - lowest.dtype.type(1))
    least, greatest = _ends_of_scores(found, lowest, highest)
    low, high = np.maximum(low, least[of_bin]), np.minimum(high, greatest[of_bin])
    low[is_masked] = high[is_masked] = lowest[firsts][is_masked]
    return Histograms(
        np.searchsorted(firsts, found.offsets),
        to_scores(low),
        _highest_scores(high),
        np.add.reduceat(found.hits, firsts) if firsts.size else found.hits,
        np.add.reduceat(found.weights, firsts) if firsts.size else found.weights,
    )


def _differs(values: Any) -> Booleans:
    """Tell which values differ from the one before, (n_values,); the first does."""
    return np.append(True, values[1:] != values[:-1])[: values.size]


def _shift(dropped: Ints, n_bits: int) -> Keys:
    """Return numbers of bits as keys are shifted by."""
    return dropped.astype(f"u{n_bits // 8}")


def _ends_of_scores(found: Histograms, lowest: Keys, highest: Keys) -> tuple[Keys, Keys]:
    """Return the lowest and the highest key of each label, (n_labels,) each, but for masked cells."""
    is_masked = found.lowest == -np.inf
    nothing = lowest.dtype.type(0)
    # Of falling keys the lowest is the highest of what they lack of all ones.
    least = ~highest_of_groups(found.offsets, np.where(is_masked, nothing, ~lowest))
    return least, highest_of_groups(found.offsets, np.where(is_masked, nothing, highest))


def joined(parts: list[Histograms]) -> Histograms:
    """Join the histograms of consecutive labels, which are let go one after another: many labels take much memory."""
    if len(parts) == 1:
        return parts[0]
    offsets = np.append(0, np.concatenate([np.diff(part.offsets) for part in parts]).cumsum())
    first = parts[0]
    columns = [
        np.empty(offsets[-1], column.dtype)
        for column in (first.lowest, first.highest, first.hits, first.weights)
    ]
    del first
    start = 0
    parts.reverse()
    while parts:
        part = parts.pop()
        bins = slice(start, start + part.lowest.size)
        own = (part.lowest, part.highest, part.hits, part.weights)
        for column, values in zip(columns, own, strict=True):
            column[bins] = values
        start = bins.stop
    return Histograms(offsets, *columns)


def tie_groups_by_sorting(columns: Columns) -> Histograms:
    """Return a bin for each score of some labels, by NumPy: what small problems are read with."""
    found = [_tie_groups(*columns.of_label(label)) for label in range(columns.n_labels)]
    nothing = columns.scores[:0], np.empty(0, np.int64), np.empty(0, np.int64)
    scores, hits, weights = map(np.concatenate, zip(nothing, *found, strict=True))
    n_bins = [of_label[0].size for of_label in found]
    return Histograms(np.append(0, np.cumsum(n_bins)), scores, scores, hits, weights)


def _tie_groups(scores: Scores, truth: Bytes, weights: Ints | None) -> tuple[Scores, Ints, Ints]:
    """Return the distinct scores of a label, falling, and what positives and all cells at each weigh."""
    # 1. Sort the scores. Weights have to be moved along, truth has not: scores alone are sorted in half the time.
    falling = None if weights is None else scores.argsort()[::-1]
    ranked = np.sort(scores)[::-1] if falling is None else scores[falling]  # (n_cells,)
    firsts = np.flatnonzero(np.append(True, ranked[1:] != ranked[:-1])[: ranked.size])
    distinct = ranked[firsts] + 0.0  # (n_bins,) -0.0 becomes 0.0

    # 2. Add up what has each score.
    if falling is not None and weights is not None:
        moved = weights[falling]
        return distinct, _sums(truth[falling] * moved, firsts), _sums(moved, firsts)
    of_hits = distinct[::-1].searchsorted(scores[truth.view(np.bool_)])
    hits = np.bincount(of_hits, minlength=firsts.size)[::-1]
    return distinct, hits, np.diff(firsts, append=ranked.size)


def _highest_scores(keys: Keys) -> Scores:
    """Return the scores of keys up to which bins reach: below 0 up to the next number, as -0.0 is 0."""
    of_minus_zero = keys.dtype.type((1 << (8 * keys.itemsize - 1)) - 1)
    return to_scores(keys - (keys == of_minus_zero))


def _sums(values: Ints, firsts: Ints) -> Ints:
    """Add up values from each place to the next; there may be none."""
    return np.add.reduceat(values, firsts) if firsts.size else np.empty(0, np.int64)
