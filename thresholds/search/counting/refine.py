"""What is left of some labels after counting at a few cuts: narrowed further in buckets, then sorted."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from thresholds._arrays.types import Floats, Ints, Keys
from thresholds._kernels.keys import to_scores
from thresholds._kernels.refine import BUCKETS, bound_buckets, count_buckets, extremes, keep_buckets, to_buckets
from thresholds._kernels.sorting import staircases_between
from thresholds.search.staircase import Staircase

_FEW = 4096  # keys that are sorted faster than narrowed further


@dataclass
class Lists:
    """Keys, or scores, of some labels: those of label j are `sizes[j]` from `firsts[j]` on."""

    firsts: Ints
    sizes: Ints
    keys: Keys

    @property
    def arrays(self) -> tuple[Ints, Ints, Keys]:
        """What kernels take."""
        return self.firsts, self.sizes, self.keys

    def of(self, labels: Ints | slice) -> "Lists":
        """Return some labels."""
        return Lists(self.firsts[labels], self.sizes[labels], self.keys)

    def part(self, labels: slice) -> "Lists":
        """Return consecutive labels, with their part of the memory."""
        firsts, sizes = self.firsts[labels], self.sizes[labels].copy()
        return Lists(firsts - firsts[0], sizes, self.keys[firsts[0] : firsts[-1] + sizes[-1]])

    def buckets(self, ends: Keys, scales: Floats) -> npt.NDArray[np.uint16]:
        """Return the bucket of every key."""
        room = np.empty(max(1, int(self.sizes.max())), self.keys.dtype)
        buckets = np.empty(self.keys.size, np.uint16)
        to_buckets(*self.arrays, ends, scales, room, room.view(f"f{room.itemsize}"), buckets)
        return buckets

    def sort(self) -> None:
        """Sort the keys of each label upwards; few are left, and NumPy needs no compilation for that."""
        for first, size in zip(self.firsts.tolist(), self.sizes.tolist(), strict=True):
            self.keys[first : first + size].sort()

    def keep(self, buckets: npt.NDArray[np.uint16], bottom: Ints, top: Ints) -> Keys:
        """Keep the keys of some buckets of each label; give the highest key below them."""
        below = np.zeros(self.sizes.size, self.keys.dtype)
        keep_buckets(*self.arrays, buckets, bottom, top, below)
        return below


@dataclass
class Left:
    """What is left of some labels, and what is known of the rest."""

    scores: Lists
    hits: Lists  # the scores of positives among them
    above: Ints  # (n_labels,) what lies above
    hits_above: Ints
    below: Keys  # (n_labels,) the next lower key
    positives: Ints
    low_ratio: Floats  # between which the best tp / (B P + predicted) lies
    high_ratio: Floats
    recall_part: npt.NDArray[Any]  # B P; -1 where the ratio is not that of the label alone
    slack: float

    def staircase(self) -> Staircase:
        """Return the steps among which the best ones are."""
        many = np.flatnonzero((self.scores.sizes > _FEW) & (self.hits.sizes > 0))
        while many.size:
            before = self.scores.sizes[many]
            self._refine(many)
            after = self.scores.sizes[many]
            many = many[(2 * after < before) & (after > _FEW)]
        for of_labels in (self.scores, self.hits):
            of_labels.sort()
        size = int(self.hits.sizes.sum())
        offsets = np.zeros(self.positives.size + 1, np.int64)
        key, lower = np.empty(size, self.below.dtype), np.empty(size, self.below.dtype)
        tp, fp, higher = np.empty((3, size), np.int64)
        steps_of_all = (offsets, key, lower, tp, fp, higher)
        lists = (self.scores.arrays, self.hits.arrays)
        staircases_between(*lists, self.above, self.hits_above, self.below, steps_of_all)
        steps = offsets[-1]
        of_steps = (to_scores(key[:steps]), to_scores(lower[:steps]), tp[:steps], fp[:steps], higher[:steps])
        return Staircase(offsets, *of_steps, self.positives)

    def _refine(self, labels: Ints) -> None:
        """Drop the scores of some labels among which no best cut can be, by counting in buckets."""
        scores, hits = self.scores.of(labels), self.hits.of(labels)
        ends = np.repeat(scores.keys[scores.firsts, np.newaxis], 2, axis=1)
        extremes(*scores.arrays, ends)
        scales = _scales(ends)
        buckets, hit_buckets = scores.buckets(ends, scales), hits.buckets(ends, scales)
        counts, hit_counts = np.zeros((2, labels.size, BUCKETS), np.int64)
        count_buckets(scores.firsts, scores.sizes, buckets, counts)
        count_buckets(hits.firsts, hits.sizes, hit_buckets, hit_counts)
        above, hits_above = self.above[labels], self.hits_above[labels]
        bottom, top = np.empty((2, labels.size), np.int64)
        bounds = (self.low_ratio[labels], self.high_ratio[labels], self.recall_part[labels], self.slack)
        bound_buckets(counts, hit_counts, above, hits_above, *bounds, bottom, top)
        under = scores.keep(buckets, bottom, top)
        hits.keep(hit_buckets, bottom, top)
        self.above[labels], self.hits_above[labels] = above, hits_above
        self.below[labels] = np.maximum(self.below[labels], under)
        self.scores.sizes[labels], self.hits.sizes[labels] = scores.sizes, hits.sizes


def _scales(ends: Keys) -> Floats:
    """Return buckets per unit of score where scores lie on both sides of 0, else 0: then bits are linear enough."""
    low, high = to_scores(ends).astype(np.float64).T
    with np.errstate(all="ignore"):  # Infinite widths, and those that are too small for a float.
        scales = (BUCKETS - 1) / (high - low)
    return np.where((low < 0) & (high >= 0) & np.isfinite(scales), scales, 0.0)
