"""What is left of some labels after counting at a few cuts: narrowed in buckets, then sorted."""

from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from thresholds._arrays.types import Booleans, Buckets, Floats, Ints, Keys, Scores, SmallInts
from thresholds._kernels.keys import to_scores
from thresholds._kernels.refine import (
    BUCKETS,
    bound_buckets,
    count_buckets,
    extremes,
    keep_buckets,
    to_buckets,
    weigh_buckets,
)
from thresholds._kernels.sorting import ListArrays, staircases_between, weighted_staircases
from thresholds.search.staircase import Staircase

_SORT_BELOW = 4096  # keys: fewer are sorted faster than narrowed further


@dataclass
class KeyLists:
    """Keys, or scores, of some labels: those of label j are `sizes[j]` from `firsts[j]` on."""

    firsts: Ints  # (n_labels,)
    sizes: Ints  # (n_labels,)
    keys: Keys  # (n_keys,) and what is no longer in any list
    # (n_keys,) or ~row, which is below 0, for a positive; empty where rows do not matter
    rows: SmallInts = field(default_factory=lambda: np.empty(0, np.int32))

    @property
    def arrays(self) -> ListArrays:
        """What kernels take."""
        return self.firsts, self.sizes, self.keys

    def of(self, labels: Ints | slice) -> "KeyLists":
        """Return the lists of some labels."""
        return KeyLists(self.firsts[labels], self.sizes[labels], self.keys, self.rows)

    def part(self, labels: slice) -> "KeyLists":
        """Return the lists of consecutive labels, with their part of the memory."""
        firsts = self.firsts[labels]
        sizes = self.sizes[labels].copy()
        places = slice(firsts[0], firsts[-1] + sizes[-1])
        return KeyLists(firsts - firsts[0], sizes, self.keys[places], self.rows[places])

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

    def keep(self, labels: Ints, buckets: Buckets, bottom: Ints, top: Ints) -> Keys:
        """Keep the keys of some buckets of each of some labels; return the highest below, (n_labels,)."""
        kept = self.of(labels)
        below = np.zeros(labels.size, self.keys.dtype)
        keep_buckets(*kept.arrays, buckets, bottom, top, below)
        self.sizes[labels] = kept.sizes
        return below


class LastSteps(NamedTuple):
    """What is known of a step of labels below which none is left: the value of many equal scores, seldom of others."""

    is_known: Booleans  # (n_labels,)
    score: Scores  # (n_labels,)
    tp: Ints  # (n_labels,)
    predicted: Ints  # (n_labels,)
    higher: Ints  # (n_labels,)
    any_below: Booleans  # (n_labels,) whether there are lower scores

    def of(self, labels: slice) -> "LastSteps":
        """Return those of some labels."""
        return LastSteps._make(values[labels] for values in self)

    def added_to(self, stairs: Staircase, below: Keys) -> Staircase:
        """Add those that are known to staircases, from the next lower key of each label, (n_labels,)."""
        labels = np.flatnonzero(self.is_known)
        if not labels.size:
            return stairs
        at = stairs.offsets[labels + 1]
        _, score, tp, predicted, higher, any_below = (values[labels] for values in self)
        lower = np.where(any_below, to_scores(below[labels]), score.dtype.type(np.nan))
        return Staircase(
            stairs.offsets + np.append(0, self.is_known.cumsum()),
            score=np.insert(stairs.score, at, score),
            lower=np.insert(stairs.lower, at, lower),
            tp=np.insert(stairs.tp, at, tp),
            fp=np.insert(stairs.fp, at, predicted - tp),
            higher=np.insert(stairs.higher, at, higher),
            positives=stairs.positives,
        )


@dataclass
class Remaining(ABC):
    """What is left of some labels, and what is known of the rest; counts are in the unit of the weights."""

    scores: KeyLists
    above: Ints  # (n_labels,) what all scores above count
    tp_above: Ints  # (n_labels,) what positives' scores among these count
    below: Keys  # (n_labels,) the next lower key
    n_positives: Ints  # (n_labels,) of the whole label
    low_ratio: Floats  # (n_labels,) between which the best tp / (B P + predicted) lies
    high_ratio: Floats  # (n_labels,)
    beta2_positives: Floats  # (n_labels,) B P, or OF_ALL_LABELS
    slack: float
    # (n_labels,) whether the best within limits is wanted, too: then nothing is dropped
    are_for_both: Booleans
    lowest: LastSteps

    def staircase(self) -> Staircase:
        """Return the steps among which the best ones are."""
        # Narrow each label as long as that halves it and much is left.
        many = self._worth_refining(np.flatnonzero(~self.are_for_both))
        while many.size:
            before = self.scores.sizes[many]
            self._refine(many)
            after = self.scores.sizes[many]
            many = self._worth_refining(many[2 * after < before])
        return self.lowest.added_to(self._sorted(), self.below)

    @abstractmethod
    def _worth_refining(self, labels: Ints) -> Ints:
        """Return those of the labels of which much is left; without a positive nothing can be best."""

    @abstractmethod
    def _buckets(self, labels: Ints, ends: Keys, scales: Floats) -> tuple[Buckets, ...]:
        """Return the bucket of every key of some labels, of each list of keys."""

    @abstractmethod
    def _counts(self, labels: Ints, buckets: tuple[Buckets, ...]) -> Ints:
        """Count what is in each bucket of each label, and positives there, (2, n_labels, BUCKETS)."""

    @abstractmethod
    def _keep(self, labels: Ints, buckets: tuple[Buckets, ...], bottom: Ints, top: Ints) -> Keys:
        """Keep some buckets of each label; return the highest key below, (n_labels,)."""

    @abstractmethod
    def _sorted(self) -> Staircase:
        """Sort what is left, and sweep it."""

    def _refine(self, labels: Ints) -> None:
        """Drop the scores of some labels among which no best cut can be, by counting in buckets."""
        # Buckets of equal width between the lowest and the highest key of each label.
        scores = self.scores.of(labels)
        ends = np.repeat(scores.keys[scores.firsts, np.newaxis], 2, axis=1)  # (n_labels, 2)
        extremes(*scores.arrays, ends)
        buckets = self._buckets(labels, ends, _scales(ends))

        # The outermost buckets that may hold the best cut; `above` and `tp_above` grow by what lies
        # above them.
        above = self.above[labels]
        tp_above = self.tp_above[labels]
        bottom, top = np.empty((2, labels.size), np.int64)
        counts, positive_counts = self._counts(labels, buckets)
        bound_buckets(
            counts,
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
        below = self._keep(labels, buckets, bottom, top)
        self.above[labels] = above
        self.tp_above[labels] = tp_above
        self.below[labels] = np.maximum(self.below[labels], below)


@dataclass
class UnitRemaining(Remaining):
    """What is left of some labels if each score counts once."""

    positives: KeyLists  # the scores of positives among them

    def _worth_refining(self, labels: Ints) -> Ints:
        is_long = self.scores.sizes[labels] > _SORT_BELOW
        return labels[is_long & (self.positives.sizes[labels] > 0)]

    def _buckets(self, labels: Ints, ends: Keys, scales: Floats) -> tuple[Buckets, ...]:
        return tuple(
            lists.of(labels).buckets(ends, scales) for lists in (self.scores, self.positives)
        )

    def _counts(self, labels: Ints, buckets: tuple[Buckets, ...]) -> Ints:
        counts = np.zeros((2, labels.size, BUCKETS), np.int64)
        for number, lists in enumerate((self.scores, self.positives)):
            count_buckets(
                lists.firsts[labels], lists.sizes[labels], buckets[number], counts[number]
            )
        return counts

    def _keep(self, labels: Ints, buckets: tuple[Buckets, ...], bottom: Ints, top: Ints) -> Keys:
        of_scores, of_positives = buckets
        below = self.scores.keep(labels, of_scores, bottom, top)
        self.positives.keep(labels, of_positives, bottom, top)
        return below

    def _sorted(self) -> Staircase:
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


@dataclass
class WeightedRemaining(Remaining):
    """What is left of some labels if rows have weights."""

    row_weights: Ints  # (n_samples,)

    def _worth_refining(self, labels: Ints) -> Ints:
        # A label without positives has no interval that holds one, so that none of its scores are left.
        return labels[self.scores.sizes[labels] > _SORT_BELOW]

    def _buckets(self, labels: Ints, ends: Keys, scales: Floats) -> tuple[Buckets, ...]:
        return (self.scores.of(labels).buckets(ends, scales),)

    def _counts(self, labels: Ints, buckets: tuple[Buckets, ...]) -> Ints:
        (own,) = buckets
        sums = np.zeros((2, labels.size, BUCKETS), np.int64)
        lists = self.scores.of(labels)
        weigh_buckets(*lists.arrays[:2], own, lists.rows, self.row_weights, sums[0], sums[1])
        return sums

    def _keep(self, labels: Ints, buckets: tuple[Buckets, ...], bottom: Ints, top: Ints) -> Keys:
        (own,) = buckets
        # Rows move as their keys do.
        scores = self.scores
        rows = KeyLists(scores.firsts, scores.sizes.copy(), scores.rows.view(np.uint32))
        rows.keep(labels, own, bottom, top)
        return scores.keep(labels, own, bottom, top)

    def _sorted(self) -> Staircase:
        # What is left of each label, one after another.
        lists = self.scores
        starts = np.append(0, lists.sizes.cumsum())  # (n_labels + 1,)
        left = np.arange(starts[-1]) + np.repeat(lists.firsts - starts[:-1], lists.sizes)
        rows = lists.rows[left]
        weights = self.row_weights[np.where(rows < 0, ~rows, rows)]
        offsets, key, lower, tp, fp, higher = weighted_staircases(
            starts, lists.keys[left], np.where(rows < 0, weights, 0), weights
        )

        # What lies above and below it.
        n_steps = np.diff(offsets)  # (n_labels,)
        above = np.repeat(self.above, n_steps)  # (n_steps,)
        tp_above = np.repeat(self.tp_above, n_steps)
        return Staircase(
            offsets,
            score=to_scores(key),
            lower=to_scores(np.where(lower > 0, lower, np.repeat(self.below, n_steps))),
            tp=tp + tp_above,
            fp=fp + above - tp_above,
            higher=higher + above,
            positives=self.n_positives,
        )


def _scales(ends: Keys) -> Floats:
    """Return buckets per unit of score where scores lie on both sides of 0, else 0 for bits."""
    low, high = to_scores(ends).astype(np.float64).T
    with np.errstate(all="ignore"):  # Infinite widths, and those that are too small for a float.
        scales = (BUCKETS - 1) / (high - low)
    return np.where((low < 0) & (high >= 0) & np.isfinite(scales), scales, 0.0)
