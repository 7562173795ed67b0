"""Scores at ranks, and what lies above a score, label by label: found by selection, without sorting.

Of sorted scores those round some ranks can be kept, which then answer for all.
"""

from threading import Lock
from typing import Any, NamedTuple

import numpy as np

from thresholds._arrays.dtypes import rounded_up
from thresholds._arrays.types import Booleans, Floats, Ints, Keys
from thresholds._engine.placement import next_above as next_above
from thresholds._kernels.keys import to_keys, to_scores
from thresholds.data.panels import Panel
from thresholds.data.problem import Items, Problem


class Counts(NamedTuple):
    """What lies above a score of each label, and what lies at it; by weight."""

    above: Ints  # (n_labels,)
    tp_above: Ints
    tied: Ints
    tp_tied: Ints


class Room:
    """How many items may still be kept, by all threads together."""

    def __init__(self, n_items: int) -> None:
        self._left = n_items
        self._taking = Lock()

    def take(self, wanted: Ints) -> Booleans:
        """Take room for so many items of each group, (n_groups,); return for which there was."""
        with self._taking:
            has_room = wanted.cumsum() <= self._left
            self._left -= int(wanted[has_room].sum())
        return has_room


class KeptItems(Items):
    """The items of each group of a panel round some ranks; of those above it is known how many they are."""

    above: Ints  # (2, n_groups) items above, and positives
    present: Ints  # (n_groups,) all that are not masked

    @classmethod
    def of(cls, problem: Problem, items: Panel, ranks: Ints, room: Room) -> "KeptItems":
        """Keep what lies from one rank to another, (2, n_groups), and what ties with it; one of them without room."""
        keys, marks, firsts, ends, above = items.round_ranks(ranks)
        firsts = np.where(room.take(ends - firsts), firsts, ends - 1)
        places = [slice(*both) for both in zip(firsts.tolist(), ends.tolist(), strict=True)]
        kept = cls(
            np.append(0, (ends - firsts).cumsum()),
            np.concatenate([keys[own] for own in places]),
            np.concatenate([marks[own] for own in places]),
            items.weights,
        )
        kept.above = above
        kept.present = weight_present(problem, items)
        return kept

    def answer_at(self, ranks: Floats, dtype: np.dtype[Any]) -> Booleans:
        """Whether a cut of each group at a rank, with thresholds of that dtype, is that of all items."""
        above, lowest = self.above[0], self.above[0] + np.diff(self.starts)  # ranks, (n_groups,)
        ranks = np.clip(ranks, 1, np.maximum(self.present, 1))
        are_kept = (above < np.floor(ranks)) & (
            lowest >= np.minimum(np.ceil(ranks) + 1, self.present)
        )
        # A threshold that leaves out the highest of them lies in the gap above it, unless that has subnormal numbers.
        highest = to_scores(self.keys[self.starts[1:] - 1])
        tiny = np.finfo(dtype).tiny
        return np.asarray(are_kept & ((above == 0) | (highest < -tiny) | (highest >= tiny)))

    def counts_at(self, keys: Keys) -> Ints:
        """Count as all items do."""
        counts = super().counts_at(keys)
        counts[:2] += self.above
        return counts

    def keys_at(self, ranks: Floats) -> Keys:
        """Return the keys at two ranks of each group, (2, n_groups), as all items do, if they are among these."""
        from_top = np.ceil(ranks).astype(np.int64) - self.above[0]
        sizes = np.diff(self.starts)
        return np.asarray(self.keys[self.starts[1:] - np.clip(from_top, 1, sizes)])


def weight_present(problem: Problem, items: Items) -> Ints:
    """Return the weight (n_labels,) of the cells of each label that are not masked."""
    if isinstance(items, KeptItems):
        return items.present
    masked = to_keys(np.array([-np.inf], problem.dtype))[0]
    items.ask_at(np.full(items.starts.size - 1, masked))
    if items.is_unweighted and items.keys.min() > masked:
        return np.diff(items.starts)
    shown = items.keys > masked
    weights = shown if items.is_unweighted else np.where(shown, items.weights, 0)
    return np.asarray(np.add.reduceat(weights, items.starts[:-1], dtype=np.int64))


def keys_of(items: Items, scores: Floats) -> Keys:
    """Return keys of scores, rounded up into the dtype that those of the items are of."""
    dtype = np.dtype(np.float32 if items.keys.itemsize == 4 else np.float64)
    return to_keys(np.ascontiguousarray(rounded_up(scores, dtype)))


def rows_of(items: Items) -> Ints:
    """Return the weight (n_labels,) of all cells of each label: of weights 0 and 1 the number of rows."""
    if items.is_unweighted:
        return np.diff(items.starts)
    return np.asarray(np.add.reduceat(items.weights, items.starts[:-1]))


def count_at(items: Items, thresholds: Floats) -> Counts:
    """Count what lies above, and at, a threshold of each label."""
    keys = keys_of(items, thresholds)
    return Counts(*items.counts_at(keys))


def scores_at(items: Items, ranks: Floats | Ints, later: Floats | Ints) -> Floats:
    """Return the scores (2, n_labels) at two ranks of each label, in the unit of the weights."""
    both = np.stack([ranks, later]).astype(np.float64)
    return to_scores(items.keys_at(both)).astype(np.float64)
