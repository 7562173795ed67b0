"""What is left of some labels after counting at a few cuts: narrowed in buckets, then sorted."""

from dataclasses import dataclass

import numpy as np

from thresholds._arrays.types import Buckets, Floats, Ints, Keys
from thresholds._kernels.keys import to_scores
from thresholds._kernels.refine import (
    BUCKETS,
    bound_buckets,
    count_buckets,
    extremes,
    keep_buckets,
    to_buckets,
)
from thresholds._kernels.sorting import ListArrays, staircases_between
from thresholds.search.staircase import Staircase

_SORT_BELOW = 4096  # keys: fewer are sorted faster than narrowed further


@dataclass
class KeyLists:
    """Keys, or scores, of some labels: those of label j are `sizes[j]` from `firsts[j]` on."""

    firsts: Ints  # (n_labels,)
    sizes: Ints  # (n_labels,)
    keys: Keys  # (n_keys,) and what is no longer in any list

    @property
    def arrays(self) -> ListArrays:
        """What kernels take."""
        return self.firsts, self.sizes, self.keys

    def of(self, labels: Ints | slice) -> "KeyLists":
        """Return the lists of some labels."""
        return KeyLists(self.firsts[labels], self.sizes[labels], self.keys)

    def part(self, labels: slice) -> "KeyLists":
        """Return the lists of consecutive labels, with their part of the memory."""
        firsts = self.firsts[labels]
        sizes = self.sizes[labels].copy()
        return KeyLists(firsts - firsts[0], sizes, self.keys[firsts[0] : firsts[-1] + sizes[-1]])

    def buckets(self, ends: Keys, scales: Floats) -> Buckets:
        """Return the bucket of every key, (n_keys,)."""
        room = np.empty(max(1, int(self.sizes.max())), self.keys.dtype)
        buckets = np.empty(self.keys.size, np.uint16)
        to_buckets(*self.arrays, ends, scales, room, room.view(f"f{room.itemsize}"), buckets)
        return buckets

    def sort(self) -> None:
        """Sort the keys of each label upwards: few are left, and NumPy needs no compilation."""
        for first, size in zip(self.firsts.tolist(), self.sizes.tolist(), strict=True):
            self.keys[first : first + size].sort()

    def keep(self, buckets: Buckets, bottom: Ints, top: Ints) -> Keys:
        """Keep the keys of some buckets of each label; return the highest below, (n_labels,)."""
        below = np.zeros(self.sizes.size, self.keys.dtype)
        keep_buckets(*self.arrays, buckets, bottom, top, below)
        return below


@dataclass
class Remaining:
    """What is left of some labels, and what is known of the rest."""

    scores: KeyLists
    positives: KeyLists  # the scores of positives among them
    above: Ints  # (n_labels,) how many scores lie above
    tp_above: Ints  # (n_labels,) how many of these are positives'
    below: Keys  # (n_labels,) the next lower key
    n_positives: Ints  # (n_labels,) of the whole label
    low_ratio: Floats  # (n_labels,) between which the best tp / (B P + predicted) lies
    high_ratio: Floats  # (n_labels,)
    beta2_positives: Floats  # (n_labels,) B P, or OF_ALL_LABELS
    slack: float

    def staircase(self) -> Staircase:
        """Return the steps among which the best ones are."""
        # Narrow each label as long as that halves it and much is left; without a positive nothing
        # can be best.
        many = np.flatnonzero((self.scores.sizes > _SORT_BELOW) & (self.positives.sizes > 0))
        while many.size:
            before = self.scores.sizes[many]
            self._refine(many)
            after = self.scores.sizes[many]
            many = many[(2 * after < before) & (after > _SORT_BELOW)]

        # Sort what is left, and sweep it.
        self.scores.sort()
        self.positives.sort()
        max_steps = int(self.positives.sizes.sum())
        offsets = np.zeros(self.n_positives.size + 1, np.int64)
        key, lower = np.empty((2, max_steps), self.below.dtype)
        tp, fp, higher = np.empty((3, max_steps), np.int64)
        staircases_between(
            self.scores.arrays,
            self.positives.arrays,
            self.above,
            self.tp_above,
            self.below,
            (offsets, key, lower, tp, fp, higher),
        )
        n_steps = offsets[-1]
        return Staircase(
            offsets,
            score=to_scores(key[:n_steps]),
            lower=to_scores(lower[:n_steps]),
            tp=tp[:n_steps],
            fp=fp[:n_steps],
            higher=higher[:n_steps],
            positives=self.n_positives,
        )

    def _refine(self, labels: Ints) -> None:
        """Drop the scores of some labels among which no best cut can be, by counting in buckets."""
        scores = self.scores.of(labels)
        positives = self.positives.of(labels)

        # Buckets of equal width between the lowest and the highest key of each label.
        ends = np.repeat(scores.keys[scores.firsts, np.newaxis], 2, axis=1)  # (n_labels, 2)
        extremes(*scores.arrays, ends)
        scales = _scales(ends)
        score_buckets = scores.buckets(ends, scales)
        positive_buckets = positives.buckets(ends, scales)
        score_counts, positive_counts = np.zeros((2, labels.size, BUCKETS), np.int64)
        count_buckets(scores.firsts, scores.sizes, score_buckets, score_counts)
        count_buckets(positives.firsts, positives.sizes, positive_buckets, positive_counts)

        # The outermost buckets that may hold the best cut; `above` and `tp_above` grow by what lies
        # above them.
        above = self.above[labels]
        tp_above = self.tp_above[labels]
        bottom, top = np.empty((2, labels.size), np.int64)
        bound_buckets(
            score_counts,
            positive_counts,
            above,
            tp_above,
            self.low_ratio[labels],
            self.high_ratio[labels],
            self.beta2_positives[labels],
            self.slack,
            bottom,
            top,
        )

        # Drop what lies outside of them.
        below = scores.keep(score_buckets, bottom, top)
        positives.keep(positive_buckets, bottom, top)
        self.above[labels] = above
        self.tp_above[labels] = tp_above
        self.below[labels] = np.maximum(self.below[labels], below)
        self.scores.sizes[labels] = scores.sizes
        self.positives.sizes[labels] = positives.sizes


def _scales(ends: Keys) -> Floats:
    """Return buckets per unit of score where scores lie on both sides of 0, else 0 for bits."""
    low, high = to_scores(ends).astype(np.float64).T
    with np.errstate(all="ignore"):  # Infinite widths, and those that are too small for a float.
        scales = (BUCKETS - 1) / (high - low)
    return np.where((low < 0) & (high >= 0) & np.isfinite(scales), scales, 0.0)
