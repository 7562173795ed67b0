"""What weighs where: items that are added up over blocks of rows.

A *tally* is a set of `Items`, each key of a label once, its weight and the positive part of it added up over rows. Two
forms add up:

* *tie groups*: every distinct key of a label. Two tallies add by union.
* *candidates and runs*: of each label k keys, the candidates, which rise. Cells with the key of a candidate are an
  item, and so are those of each *run*: below the first candidate, between two, above the last. A label has 2 k + 1
  items, a run and a candidate by turns. The key of a run is the highest in it, 0 if it is empty. Two tallies at the
  same candidates add item by item: weights by sum, keys by maximum.

Both together are one tally: some keys of each label are *opened*, an interval in which all of them are kept.
"""

from collections.abc import Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from thresholds._arrays.grouped import group_of, sums_of_groups
from thresholds._arrays.types import Booleans, Ints, Keys
from thresholds._engine.histograms import Histograms, over_histograms
from thresholds._engine.problem import Problem
from thresholds._kernels.keys import to_keys, to_scores
from thresholds._kernels.tallies import add_lists


class Items(NamedTuple):
    """What weighs at some keys of labels, one label after another; those of label j are `starts[j]:starts[j + 1]`."""

    starts: Ints  # (n_labels + 1,)
    keys: Keys  # (n_items,)
    positive_weights: Ints  # (n_items,) the part of the weight that is positive
    weights: Ints  # (n_items,)

    @property
    def label(self) -> Ints:
        """The label of each item, (n_items,)."""
        return group_of(self.starts)

    def of(self, first: int, last: int) -> "Items":
        """Return those of labels `first:last`, as views."""
        starts = self.starts[first : last + 1]
        at = slice(starts[0], starts[-1])
        return Items(starts - starts[0], *(column[at] for column in self[1:]))

    def where(self, wanted: Booleans) -> "Items":
        """Return some of the items, (n_items,); a label may be left without."""
        starts = np.append(0, wanted.cumsum())[self.starts]
        return Items(starts, *(column[wanted] for column in self[1:]))

    @classmethod
    def of_histograms(cls, found: Histograms) -> "Items":
        """Return the bins of exact histograms, whose keys rise then."""
        rising = _reversed(found.offsets)
        return cls(
            found.offsets, to_keys(found.lowest[rising]), found.hits[rising], found.weights[rising]
        )

    @property
    def histograms(self) -> Histograms:
        """A bin for each item, all of which weigh something, at its key."""
        falling = np.lexsort((~self.keys, self.label))
        scores = to_scores(self.keys[falling])
        return Histograms(
            self.starts, scores, scores, self.positive_weights[falling], self.weights[falling]
        )


class LabelKeys(NamedTuple):
    """Distinct keys of each label, which rise: those of label j are `starts[j]:starts[j + 1]`."""

    starts: Ints  # (n_labels + 1,)
    keys: Keys  # (n_keys,)

    @property
    def label(self) -> Ints:
        """The label of each key, (n_keys,)."""
        return group_of(self.starts)

    def of(self, first: int, last: int) -> "LabelKeys":
        """Return those of labels `first:last`, as views."""
        starts = self.starts[first : last + 1]
        return LabelKeys(starts - starts[0], self.keys[starts[0] : starts[-1]])

    def in_order(self, order: Ints) -> "LabelKeys":
        """Return those of the labels in another order, (n_labels,)."""
        starts, at = items_in_order(self.starts, order)
        return LabelKeys(starts, self.keys[at])

    def where(self, wanted: Booleans) -> "LabelKeys":
        """Return some of the keys, (n_keys,)."""
        at = np.flatnonzero(wanted)
        return LabelKeys(np.searchsorted(at, self.starts), self.keys[at])


class Opened(NamedTuple):
    """The keys of each label that are all kept: from the lowest to the highest; none where that is lower."""

    lowest: Keys  # (n_labels,)
    highest: Keys  # (n_labels,)

    def of(self, first: int, last: int) -> "Opened":
        """Return those of labels `first:last`."""
        return Opened(self.lowest[first:last], self.highest[first:last])

    def contains(self, keys: "LabelKeys | Items") -> Booleans:
        """Tell which keys of labels are opened, (n_keys,)."""
        sizes = np.diff(keys.starts)  # (n_labels,)
        lowest, highest = (np.repeat(ends, sizes) for ends in self)
        return np.asarray((keys.keys >= lowest) & (keys.keys <= highest))

    @classmethod
    def nothing(cls, n_labels: int, dtype: "np.dtype[np.unsignedinteger[Any]]") -> "Opened":
        """Open no key of any label."""
        return cls(np.ones(n_labels, dtype), np.zeros(n_labels, dtype))

    @classmethod
    def everything(cls, n_labels: int, dtype: "np.dtype[np.unsignedinteger[Any]]") -> "Opened":
        """Open all keys of all labels."""
        highest = np.full(n_labels, np.iinfo(dtype).max, dtype)
        return cls(np.zeros(n_labels, dtype), highest)


class Tally(NamedTuple):
    """What weighs at the keys of each label."""

    counted: Items  # at candidates and in runs: 2 k + 1 items of a label that has k candidates
    tied: Items  # at each distinct key that is opened; a label may have none

    def __add__(self, other: "Tally") -> "Tally":  # type: ignore[override]
        """Add what was counted on other rows, at the same candidates."""
        counted = Items(
            self.counted.starts,
            np.maximum(self.counted.keys, other.counted.keys),
            self.counted.positive_weights + other.counted.positive_weights,
            self.counted.weights + other.counted.weights,
        )
        return Tally(counted, union(self.tied, other.tied))

    def __iadd__(self, other: "Tally") -> "Tally":  # type: ignore[override]
        """Add what was counted on other rows, at the same candidates, in the arrays of this tally."""
        np.maximum(self.counted.keys, other.counted.keys, out=self.counted.keys)
        np.add(
            self.counted.positive_weights,
            other.counted.positive_weights,
            out=self.counted.positive_weights,
        )
        np.add(self.counted.weights, other.counted.weights, out=self.counted.weights)
        return self._replace(tied=union(self.tied, other.tied))

    @property
    def candidates(self) -> LabelKeys:
        """The candidates at which was counted."""
        counted = self.counted
        sizes = np.diff(counted.starts) // 2  # (n_labels,)
        return LabelKeys(np.append(0, sizes.cumsum()), counted.keys[are_candidates(counted.starts)])

    def rising(self) -> tuple[Items, Booleans]:
        """Return all items of each label by rising key, and which of them are runs; those without weight stay."""
        is_run = ~are_candidates(self.counted.starts)
        if not self.tied.keys.size:
            return self.counted, is_run
        label = np.concatenate([part.label for part in self])
        columns = [np.concatenate(pair) for pair in zip(*(part[1:] for part in self), strict=True)]
        order = np.lexsort((columns[0], label))
        starts = self.counted.starts + self.tied.starts
        are_runs = np.append(is_run, np.zeros(self.tied.keys.size, np.bool_))
        return Items(starts, *(column[order] for column in columns)), are_runs[order]

    @property
    def positives(self) -> Ints:
        """The weight of the positives of each label, (n_labels,)."""
        of_counted, of_tied = (sums_of_groups(part.starts, part.positive_weights) for part in self)
        return of_counted + of_tied

    @property
    def has_positive_runs(self) -> bool:
        """Whether a positive lies in a run, and so at a key that is not known."""
        is_run = ~are_candidates(self.counted.starts)
        return bool(self.counted.positive_weights.any(where=is_run))

    def of(self, first: int, last: int) -> "Tally":
        """Return what weighs at the keys of labels `first:last`, as views."""
        return Tally(*(items.of(first, last) for items in self))

    def items(self, divisor: int) -> Items:
        """Return all that weighs something, weights divided by what divides them all."""
        whole = _side_by_side(self.counted, self.tied) if self.tied.keys.size else self.counted
        kept = whole.where(whole.weights > 0)
        if divisor == 1:
            return kept
        return kept._replace(
            positive_weights=kept.positive_weights // divisor, weights=kept.weights // divisor
        )

    def floors(self, lowest: Keys, *, count_rows: bool) -> Keys:
        """Return the lowest key that the cells of each of the `items` may have; of a run that may be less than its key.

        `lowest` (n_labels,) is the lowest key of each label that has weight. Where weights `count_rows`, a run of
        weight 1 is a cell, whose key is known.
        """
        starts, keys, _, weights = self.counted
        is_run = ~are_candidates(starts)
        floors = keys.copy()
        floors[1:] = np.where(is_run[1:], keys[:-1] + keys.dtype.type(1), keys[1:])
        floors[starts[:-1]] = lowest
        if count_rows:
            floors = np.where(is_run & (weights == 1), keys, floors)
        return Tally(self.counted._replace(keys=floors), self.tied).items(1).keys


def _side_by_side(first: Items, second: Items) -> Items:
    """Return the items of both, of each label those of the first before those of the second."""
    sizes = np.stack([np.diff(first.starts), np.diff(second.starts)], axis=1)  # (n_labels, 2)
    of_second = np.repeat(np.tile([False, True], len(sizes)), sizes.reshape(-1))  # (n_items,)
    columns = []
    for one, other in zip(first[1:], second[1:], strict=True):
        column = np.empty(of_second.size, one.dtype)
        column[~of_second], column[of_second] = one, other
        columns.append(column)
    return Items(first.starts + second.starts, *columns)


def items_in_order(starts: Ints, order: Ints) -> tuple[Ints, Ints]:
    """Return where labels start in another order, (n_labels + 1,), and which items come then, (n_items,)."""
    sizes = np.diff(starts)[order]
    moved = np.append(0, sizes.cumsum())
    return moved, np.arange(moved[-1]) + np.repeat(starts[:-1][order] - moved[:-1], sizes)


def distinct(label: Ints, keys: Keys, n_labels: int) -> LabelKeys:
    """Return each key (n_keys,) of each label once."""
    if keys.itemsize == 4:
        # Both in one number: NumPy sorts these ten times as fast as pairs.
        both = np.sort((label.astype(np.uint64) << np.uint64(32)) | keys)
        label, keys = (both >> np.uint64(32)).astype(np.int64), both.astype(np.uint32)
    else:
        order = np.lexsort((keys, label))
        label, keys = label[order], keys[order]
    firsts = np.flatnonzero(_begins(label, keys))
    starts = np.searchsorted(label[firsts], np.arange(n_labels + 1))
    return LabelKeys(starts, keys[firsts])


def union_of_keys(parts: Sequence[LabelKeys]) -> LabelKeys:
    """Return each key that is in any of some lists of the same labels once."""
    nothing = np.empty(0, np.int64)
    whole, *others = parts
    for other in others:
        whole = LabelKeys(*add_lists(*whole, nothing, nothing, *other, nothing, nothing)[:2])
    return whole


def joined_keys(parts: Sequence[LabelKeys]) -> LabelKeys:
    """Join the keys of consecutive labels."""
    return LabelKeys(_joined_starts(parts), np.concatenate([part.keys for part in parts]))


def union(first: Items, second: Items) -> Items:
    """Add up the tie groups of the same labels."""
    if not second.keys.size:
        return first
    return Items(*add_lists(*first, *second)) if first.keys.size else second


def tie_groups(items: Items) -> Items:
    """Add up items of the same label and key; keys rise, and groups without weight are left out."""
    # 1. Sort the items of each label.
    order = np.lexsort((items.keys, items.label))
    label, keys = items.label[order], items.keys[order]
    # 2. Add up those of equal keys.
    firsts = np.flatnonzero(_begins(label, keys))
    bounds = np.append(firsts, keys.size)
    groups = Items(
        firsts.searchsorted(items.starts),
        keys[firsts],
        sums_of_groups(bounds, items.positive_weights[order]),
        sums_of_groups(bounds, items.weights[order]),
    )
    return groups.where(groups.weights > 0)


def tally_of(groups: Items, candidates: LabelKeys, opened: Opened) -> Tally:
    """Count tie groups of some labels at candidates, and keep those that are opened."""
    counted = _empty_runs(candidates)
    return Tally(counted, _count(groups, candidates, opened, counted))


def tally_of_problem(
    problem: Problem, candidates: LabelKeys, opened: Opened, *, n_jobs: int | None
) -> tuple[Tally, Keys]:
    """Count the cells of a problem at candidates; return the lowest key of each label, too, (n_labels,).

    Without a key that has weight, that is the highest there is.
    """
    counted = _empty_runs(candidates)

    def count(found: Histograms, first: int) -> tuple[Items, Keys]:
        last = first + found.n_labels
        groups = Items.of_histograms(found)
        own = candidates.of(first, last), opened.of(first, last), counted.of(first, last)
        return _count(groups, *own), lowest_of(groups)

    tied, lowest = zip(*over_histograms(problem, count, n_jobs=n_jobs), strict=True)
    return Tally(counted, _joined_items(tied)), np.concatenate(lowest)


def _count(groups: Items, candidates: LabelKeys, opened: Opened, counted: Items) -> Items:
    """Count tie groups into `counted`, a run and a candidate by turns; return those that are opened."""
    is_open = opened.contains(groups)
    if is_open.all():
        return groups
    _count_between(groups.where(~is_open), candidates, counted)
    return groups.where(is_open)


def _count_between(groups: Items, candidates: LabelKeys, counted: Items) -> None:
    """Count tie groups at each candidate and in the runs between two."""
    so_far, hits_so_far = (
        np.append(0, weights.cumsum()) for weights in (groups.weights, groups.positive_weights)
    )
    # A label at a time, as candidates may be many more than groups.
    for j, (first, last) in enumerate(pairwise(groups.starts.tolist())):
        # 1. Where each run, and each candidate, begins among the groups; the next begins where it ends.
        own = candidates.keys[candidates.starts[j] : candidates.starts[j + 1]]
        up = groups.keys[first:last]
        edges = np.zeros(2 * own.size + 2, np.int64)
        edges[1:-1:2] = up.searchsorted(own)
        edges[2:-1:2] = up.searchsorted(own, "right")
        edges[-1] = up.size
        edges += first

        # 2. Add up what lies between two of these places.
        items = counted.of(j, j + 1)
        items.weights[:] = np.diff(so_far[edges])
        items.positive_weights[:] = np.diff(hits_so_far[edges])
        is_filled = edges[1:] > edges[:-1]
        items.keys[is_filled] = groups.keys[edges[1:][is_filled] - 1]  # the highest


def lowest_of(groups: Items) -> Keys:
    """Return the lowest key of tie groups of each label, the highest there is without one, (n_labels,)."""
    dtype = groups.keys.dtype
    keys = np.append(groups.keys, dtype.type(0))
    top = np.full(1, np.iinfo(dtype).max, dtype)
    return np.where(np.diff(groups.starts) > 0, keys[groups.starts[:-1]], top)


def joined(parts: Sequence[Tally]) -> Tally:
    """Join the tallies of consecutive labels."""
    return Tally(*(_joined_items(items) for items in zip(*parts, strict=True)))


def _joined_items(parts: Sequence[Items]) -> Items:
    """Join the items of consecutive labels."""
    arrays = (np.concatenate(arrays) for arrays in zip(*(part[1:] for part in parts), strict=True))
    return Items(_joined_starts(parts), *arrays)


def _joined_starts(parts: Sequence[LabelKeys | Items]) -> Ints:
    """Return where each label starts once consecutive labels are joined."""
    sizes = np.concatenate([np.diff(part.starts) for part in parts])  # (n_labels,)
    return np.append(0, sizes.cumsum())


def _empty_runs(candidates: LabelKeys) -> Items:
    """Return a run and a candidate by turns, of label after label, in which nothing weighs."""
    starts = 2 * candidates.starts + np.arange(candidates.starts.size)
    keys = np.zeros(starts[-1], candidates.keys.dtype)
    keys[are_candidates(starts)] = candidates.keys
    return Items(starts, keys, *np.zeros((2, keys.size), np.int64))


def _begins(label: Ints, keys: Keys) -> Booleans:
    """Tell which of sorted items differ from the one before, (n_items,)."""
    begins = np.ones(keys.size, np.bool_)
    begins[1:] = (keys[1:] != keys[:-1]) | (label[1:] != label[:-1])
    return begins


def _reversed(starts: Ints) -> Ints:
    """Return the places of items, each label's from its last to its first, (n_items,)."""
    sizes = np.diff(starts)
    return np.repeat(starts[:-1] + starts[1:] - 1, sizes) - np.arange(starts[-1])


def are_candidates(starts: Ints) -> Booleans:
    """Tell which items are candidates: every second one of each label, (n_items,)."""
    # Those at odd places, but in labels that begin at one: there the others.
    are = np.repeat(starts[:-1] % 2 == 1, np.diff(starts))
    np.logical_not(are[1::2], out=are[1::2])
    return are
