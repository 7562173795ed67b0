"""Bins of dense scores that are counted row by row, as they lie in memory: no label is taken apart."""

from collections.abc import Callable
from threading import Lock
from typing import Any, NamedTuple, TypeVar

import numpy as np

from thresholds._arrays import threads
from thresholds._arrays.blocks import ceil_div, equal_parts, in_pieces
from thresholds._arrays.types import Booleans, Bytes, Ints, Keys, Scores
from thresholds._kernels.counting import collect_from_bins, count_in_bins
from thresholds._kernels.keys import to_keys, to_scores
from thresholds.data.problem import Problem
from thresholds.search.counting.blocks import Blocks, padded_rows
from thresholds.search.counting.codes import bits_of

Result = TypeVar("Result")

_MAX_STRIPE = 1024  # labels, whose counts stay near the cache
_MAX_CELLS_PER_TASK = 2**23


class ScoreBins(NamedTuple):
    """Bins that never fall as scores rise: products of scores, or their bits where scores from 0 on are told apart.

    What lies below the first bin belongs to it, what lies above the last to that.
    """

    by_bits: bool
    from_score: Any  # the score at which bins begin,
    factor: Any  # and how many come to 1; 0 for a single bin
    from_bits: Any  # the same of bits,
    shift: Any  # and by how many places they are shifted
    n_bins: int

    @classmethod
    @np.errstate(over="ignore", divide="ignore", invalid="ignore")
    def between(cls, ends: Scores, n_bins: int, *, by_bits: bool) -> "ScoreBins":
        """Spread bins evenly over the scores between two finite ends, or over their bits, if none is negative."""
        ends = ends + ends.dtype.type(0)  # -0.0, whose bits are the lowest number, becomes 0.0.
        lowest, highest = ends
        first, last = bits_of(ends).tolist()
        n_places = max(0, (last - first).bit_length() - n_bins.bit_length() + 1)
        factor = ends.dtype.type(n_bins) / (highest - lowest)
        factor = factor if np.isfinite(factor) else ends.dtype.type(0)
        as_bits = bits_of(ends).dtype.type
        return cls(by_bits, lowest, factor, as_bits(first), as_bits(n_places), n_bins)

    def of_keys(self, keys: Keys) -> Ints:
        """Return the bin of each key, (n_keys,), as the loops do."""
        places: Any
        if self.by_bits:
            lowest = to_keys(np.array([self.from_score]))[0]
            places = np.maximum(keys, lowest)
            places -= lowest
            places >>= keys.dtype.type(self.shift)
        elif self.factor == 0:
            return np.zeros(keys.size, np.int64)
        else:
            places = to_scores(keys)
            with np.errstate(over="ignore"):
                places -= self.from_score
                places *= self.factor
            np.maximum(places, 0, out=places)
        np.minimum(places, self.n_bins - 1, out=places)
        return np.asarray(places, np.int64)


def count_scores_in_bins(
    problem: Problem, bins: ScoreBins, *, n_jobs: int | None = -1, progress: bool = False
) -> tuple[Ints, Keys]:
    """Count cells and positives in each bin, (2, n_bins), and find the lowest and the highest key, (2,) or none.

    Masked cells are none; nor are those whose truth is not known.
    """
    counts = np.zeros((2, bins.n_bins + 1), np.int64)  # the last is that of no cells
    adding = Lock()

    def count(blocks: Blocks) -> Scores:
        found = np.zeros(counts.shape, np.int32)
        lowest = np.full(blocks.n_columns, np.inf, problem.dtype)
        highest = -lowest
        for scores, words in blocks.scores_and_truth():
            count_in_bins(
                scores, bits_of(scores), words.view(np.uint8), bins, found, lowest, highest
            )
        with adding:
            counts[:] += found
        return np.array([lowest.min(), highest.max()])

    ends = np.array(over_blocks(problem, count, n_jobs, progress))  # (n_tasks, 2)
    lowest, highest = ends[:, 0].min(), ends[:, 1].max()
    found_ends = np.array([lowest, highest] if lowest <= highest else [], problem.dtype)
    return counts[:, :-1], to_keys(found_ends)


def scores_of_bins(
    problem: Problem,
    bins: ScoreBins,
    wanted: Booleans,
    *,
    n_jobs: int | None = -1,
    progress: bool = False,
) -> list[tuple[Keys, Bytes]]:
    """Return the keys of cells in wanted bins, and their truth, in parts; cells as `count_scores_in_bins` has them."""
    is_wanted = np.append(wanted, False).view(np.uint8)  # (n_bins + 1,)

    def collect(blocks: Blocks) -> tuple[Keys, Bytes]:
        room = np.empty(blocks.block_rows * blocks.n_columns + 1, problem.dtype)
        room_for_truth = np.empty(room.size, np.uint8)
        parts = []
        for scores, words in blocks.scores_and_truth():
            n = collect_from_bins(
                scores,
                bits_of(scores),
                words.view(np.uint8),
                bins,
                is_wanted,
                room,
                room_for_truth,
            )
            parts.append((room[:n].copy(), room_for_truth[:n].copy()))
        found, truth = (np.concatenate(arrays) for arrays in zip(*parts, strict=True))
        return to_keys(found), truth

    return over_blocks(problem, collect, n_jobs, progress)


def over_blocks(
    problem: Problem,
    function: Callable[[Blocks], Result],
    n_jobs: int | None,
    progress: bool,
    labels: slice | None = None,
) -> list[Result]:
    """Apply `function` to pieces of the rows of stripes of some labels, or of all, on threads."""
    labels = slice(0, problem.n_labels) if labels is None else labels
    n_stripes = ceil_div(labels.stop - labels.start, _MAX_STRIPE)
    stripes = list(equal_parts(labels, n_stripes))
    n_rows = padded_rows(_MAX_CELLS_PER_TASK // (stripes[0].stop - stripes[0].start))
    pieces = list(in_pieces(slice(0, problem.n_samples), n_rows))
    tasks = [Blocks(problem, stripe, rows) for stripe in stripes for rows in pieces]
    return threads.run(
        function,
        tasks,
        n_jobs=n_jobs,
        cells=problem.n_stored,
        progress=progress,
        title="counting",
    )
