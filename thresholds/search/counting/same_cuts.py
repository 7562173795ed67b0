"""What labels of dense scores count at cuts that all of them share, read row by row: no label is taken apart."""

from collections.abc import Callable
from threading import Lock
from typing import NamedTuple

import numpy as np

from thresholds._arrays.types import Ints, Keys, Scores, SmallInts
from thresholds._kernels.counting import collect_few, count_between_cuts
from thresholds._kernels.keys import to_keys, to_scores
from thresholds.data.problem import Problem
from thresholds.search.counting.blocks import Blocks
from thresholds.search.counting.codes import bits_of
from thresholds.search.counting.score_bins import ScoreBins, over_blocks

_N_BINS = 2**14
_MOST_OUTER = 8  # cuts at either end, which may lie outside
_LISTS = 4  # of sums of all labels: cells side by side are not added to one number


def keys_of_positives(problem: Problem, *, n_jobs: int | None = -1, progress: bool = False) -> Keys:
    """Return the keys of the positives of dense scores, (n_positives,), in no order."""

    def collect(blocks: Blocks) -> Scores:
        found = []
        labels = np.zeros(blocks.n_columns, np.int64)  # All go to one list.
        for scores, words in blocks.scores_and_truth():
            kept = np.empty(np.count_nonzero(words.view(np.uint8)), scores.dtype)
            collect_few(scores, words, labels, np.zeros(1, np.int64), kept)
            found.append(kept)
        return np.concatenate(found)

    parts = over_blocks(problem, collect, n_jobs, progress)
    return to_keys(np.concatenate(parts))


def count_at_same_cuts(
    problem: Problem,
    cuts: Keys,
    labels: slice,
    *,
    n_jobs: int | None = -1,
    progress: bool = False,
) -> Ints:
    """Return true positives and cells of some labels at or above cuts that rise, (2, n_labels, n_cuts)."""
    n_labels = labels.stop - labels.start
    between = np.zeros((2, n_labels, cuts.size + 1), np.int64)

    def lists_of(blocks: Blocks) -> tuple[Ints, slice]:
        own = slice(blocks.labels.start - labels.start, blocks.labels.stop - labels.start)
        return blocks.column_labels, own

    _count_between(problem, cuts, labels, lists_of, between, n_jobs, progress)
    return _at_or_above(between)


def count_all_at_same_cuts(
    problem: Problem, cuts: Keys, *, n_jobs: int | None = -1, progress: bool = False
) -> Ints:
    """Return true positives and cells of all labels together at or above cuts that rise, (2, n_cuts)."""
    between = np.zeros((2, _LISTS, cuts.size + 1), np.int64)

    def lists_of(blocks: Blocks) -> tuple[Ints, slice]:
        return np.arange(blocks.n_columns) % _LISTS, slice(0, _LISTS)

    everything = slice(0, problem.n_labels)
    _count_between(problem, cuts, everything, lists_of, between, n_jobs, progress)
    return _at_or_above(between.sum(axis=1))


class _Intervals(NamedTuple):
    """The intervals between cuts that rise; the bin of a score tells, but for a few steps, in which it lies."""

    bins: ScoreBins
    firsts: SmallInts  # (n_bins,) how many cuts lie in the bins before
    first_step: int  # the largest power of two that is no more than the cuts of any bin
    cuts: Scores  # (n_cuts + 2 first_step,) NaN beyond the last: nothing is as high

    @classmethod
    def of(cls, keys: Keys) -> "_Intervals":
        """Choose the bins over which cuts are spread best.

        These are bins of all scores, of those between the outermost cuts, which may be far from the others, or of bits
        where none is negative, so that probabilities near 0 are told apart.
        """
        cuts = to_scores(keys)
        inner = np.minimum([0, _MOST_OUTER], (cuts.size - 1) // 2)
        kinds = [
            ScoreBins.between(cuts[[n_outer, -1 - n_outer]], _N_BINS, by_bits=False)
            for n_outer in inner
        ]
        if cuts[0] >= 0:
            kinds.append(ScoreBins.between(cuts[[0, -1]], _N_BINS, by_bits=True))
        return min((cls._with(keys, bins) for bins in kinds), key=lambda found: found.first_step)

    @classmethod
    def _with(cls, keys: Keys, bins: ScoreBins) -> "_Intervals":
        """Count the cuts of each bin."""
        n_cuts = np.bincount(bins.of_keys(keys), minlength=bins.n_bins)  # (n_bins,)
        firsts = (n_cuts.cumsum() - n_cuts).astype(np.int32)
        first_step = 1 << (int(n_cuts.max()).bit_length() - 1)
        cuts = to_scores(keys)
        padded = np.full(cuts.size + 2 * first_step, np.nan, cuts.dtype)
        padded[: cuts.size] = cuts
        return cls(bins, firsts, first_step, padded)


def _count_between(
    problem: Problem,
    cuts: Keys,
    labels: slice,
    lists_of: Callable[[Blocks], tuple[Ints, slice]],
    between: Ints,
    n_jobs: int | None,
    progress: bool,
) -> None:
    """Add true positives and cells to what lies below the cuts, and from each to the next, (2, n_lists, n_cuts + 1).

    `lists_of` tells to which list each column of a block belongs, (n_columns,), and which lists these are.
    """
    intervals = _Intervals.of(cuts)
    adding = Lock()

    def count(blocks: Blocks) -> None:
        lists, own = lists_of(blocks)
        # Both in one number: true positives in the upper half, of fewer cells than the lower half can count.
        counts = np.zeros((own.stop - own.start, cuts.size + 1), np.int64)
        for scores, words in blocks.scores_and_truth():
            count_between_cuts(
                scores, bits_of(scores), words.view(np.uint8), lists, *intervals, counts
            )
        with adding:
            between[0, own] += counts >> 32
            between[1, own] += counts & 0xFFFFFFFF

    over_blocks(problem, count, n_jobs, progress, labels)


def _at_or_above(between: Ints) -> Ints:
    """Return what lies at or above each cut, (..., n_cuts), of what lies below it and from one to the next."""
    above: Ints = between[..., ::-1].cumsum(axis=-1)[..., ::-1]
    return above[..., 1:]
