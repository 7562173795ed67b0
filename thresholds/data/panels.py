"""Panels: a few labels whose scores are sorted once, from which all questions about a label are answered by walking.

NumPy sorts, in vector registers where the processor has them, but carries nothing along. Nothing need be: the keys of
the positives are sorted apart, and merged with those of all cells. Within a tie group it is not known which of the
cells is positive, nor does anybody ask.
"""

import itertools
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, fields
from functools import cached_property
from threading import Lock
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from thresholds._arrays.blocks import in_pieces
from thresholds._arrays.types import Bytes, Ints, Keys
from thresholds._kernels.items import between_ranks
from thresholds._kernels.sorting import (
    Steps,
    listed_positives,
    sorted_groups,
    unit_staircases,
)
from thresholds._kernels.tallies import add_equal_keys
from thresholds.data.problem import Items, Problem
from thresholds.data.tiles import Pass, Passes, in_passes

_SORTED_AT_ONCE = 16  # labels: float32 columns that share a cache line
_SORTING = Lock()  # held while a problem makes room for what is sorted

# What is asked of the items of labels, the first and the last of which are given.
Question: TypeAlias = Callable[[Items, int, int], Any]


class SortedKeys(NamedTuple):
    """Keys of items that weigh 1 each, and those of the positive ones, both rising in each group."""

    starts: Ints  # (n_groups + 1,)
    keys: Keys  # (n_items,)
    true_starts: Ints  # (n_groups + 1,)
    true_keys: Keys  # (n_positives,)

    @classmethod
    def of(cls, starts: Ints, keys: Keys, truth: Bytes) -> "SortedKeys":
        """Sort the keys of each group in place."""
        return cls.of_positives(starts, keys, *listed_positives(starts, keys, truth))

    @classmethod
    def of_positives(
        cls, starts: Ints, keys: Keys, true_starts: Ints, true_keys: Keys
    ) -> "SortedKeys":
        """Sort the keys of each group, and those of its positives, in place."""
        _sort_groups(starts, keys)
        _sort_groups(true_starts, true_keys)
        return cls(starts, keys, true_starts, true_keys)


class Panel(Items):
    """Items that weigh 1 each, sorted: the keys of each group rise, and of equal keys the positive ones come first."""

    true_starts: Ints  # (n_groups + 1,)
    true_keys: Keys  # (n_positives,) the keys of the positives, which rise in each group

    @classmethod
    def of(cls, items: Items) -> "Panel":
        """Sort a copy of unweighted items."""
        if isinstance(items, cls):
            return items
        starts, keys, truth, weights = items
        return cls.sorting(Items(starts, keys.copy(), truth, weights))

    @classmethod
    def sorting(cls, items: Items) -> "Panel":
        """Sort unweighted items, whose keys are sorted in place."""
        return cls.of_sorted(SortedKeys.of(items.starts, items.keys, items.positive_weights))

    @classmethod
    def of_sorted(cls, in_order: SortedKeys) -> "Panel":
        """Return the panel of sorted keys, and mark the positives."""
        panel = cls.marked(in_order, np.zeros(in_order.keys.size, np.uint8))
        _ = panel.steps  # They mark the positives.
        return panel

    @classmethod
    def marked(cls, in_order: SortedKeys, marks: Bytes) -> "Panel":
        """Return the panel of sorted keys, (n_items,) `marks` of which are those of the positives."""
        panel = cls(in_order.starts, in_order.keys, marks, np.empty(0, np.int64))
        panel.true_starts, panel.true_keys = in_order.true_starts, in_order.true_keys
        return panel

    @cached_property
    def steps(self) -> Steps:
        """The staircases; the first of equal keys are marked as positive, as many as are."""
        starts, keys, marks, _ = self
        return unit_staircases(starts, keys, self.true_starts, self.true_keys, marks)

    def higher_than(self, key: Any) -> "Panel":
        """Return the panel of the items above a key."""
        if (self.keys > key).all():
            return self
        cells = self.starts, self.keys, self.true_starts, self.true_keys
        return Panel.of_sorted(SortedKeys(*_above(key, *cells[:2]), *_above(key, *cells[2:])))

    def tie_groups(self) -> Items:
        """Return the distinct keys of each group, rising, with positives and items of each."""
        starts, keys, marks, _ = self
        is_first = np.append(True, keys[1:] != keys[:-1])  # (n_items,)
        is_first[starts[:-1]] = True
        firsts = np.flatnonzero(is_first)  # (n_tie_groups,)
        of_positives = np.searchsorted(firsts, np.flatnonzero(marks), "right") - 1
        hits = np.bincount(of_positives, minlength=firsts.size)
        sizes = np.diff(firsts, append=keys.size)
        return Items(np.searchsorted(firsts, starts), keys[firsts], hits, sizes)

    def counts_at_cuts(self, cuts: Keys) -> Ints:
        """Return true positives and items of each group at or above cuts that rise, (2, n_groups, n_cuts)."""
        # A cut is looked up among sorted keys, where others look up each key among the cuts.
        both = (self.true_starts, self.true_keys), (self.starts, self.keys)
        counts = [
            [
                last - first - keys[first:last].searchsorted(cuts)
                for first, last in itertools.pairwise(starts.tolist())
            ]
            for starts, keys in both
        ]
        return np.array(counts, np.int64).reshape(2, -1, cuts.size)

    @cached_property
    def positives(self) -> Ints:
        """Number of positives of each group, (n_groups,)."""
        return np.diff(self.true_starts)

    def round_ranks(self, ranks: Ints) -> "RoundRanks":
        """Return what lies from one rank to another, (2, n_groups); the highest key alone where nothing does."""
        starts, keys, marks, _ = self
        firsts, ends, n_true_above = between_ranks(starts, keys, marks, ranks)
        return RoundRanks(keys, marks, firsts, ends, np.stack([starts[1:] - ends, n_true_above]))


class RoundRanks(NamedTuple):
    """The items of each group round some ranks, sorted as in a panel: those of group g are `firsts[g]:ends[g]`."""

    keys: Keys
    marks: Bytes  # of the positives
    firsts: Ints  # (n_groups,)
    ends: Ints  # (n_groups,)
    above: Ints  # (2, n_groups) items above, and positives


@dataclass(frozen=True)
class SortedOnce(Problem):
    """A dense problem without weights whose labels are sorted once for all that ask, which takes 5 bytes a cell."""

    @cached_property
    def _pieces(self) -> "list[_Piece]":
        """The labels in pieces that are sorted together."""
        return [_Piece(labels) for labels in in_pieces(slice(0, self.n_labels), _SORTED_AT_ONCE)]

    @cached_property
    def _sorted(self) -> tuple[Keys, Bytes]:
        """Room for the sorted keys, and for marks of the positives, (n_labels, n_samples) both."""
        shape = self.n_labels, self.n_samples
        return np.empty(shape, f"u{self.dtype.itemsize}"), np.empty(shape, np.uint8)

    @contextmanager
    def reading(self, first: int, last: int) -> Iterator[None]:
        """Copy nothing together: pieces are, when they are sorted."""
        yield

    def label_items(self, first: int, last: int) -> Items:
        """Return the panel of labels `first:last`."""
        return self.panel(first, last)

    def panel(self, first: int, last: int) -> Panel:
        """Return the panel of labels `first:last`, which nobody may change."""
        with _SORTING:
            (keys, marks), pieces = self._sorted, self._pieces
        own = pieces[first // _SORTED_AT_ONCE : (last - 1) // _SORTED_AT_ONCE + 1]
        true_keys = [listed for piece in own for listed in piece.true_keys(self, keys, marks)]
        true_keys = true_keys[first - own[0].labels.start :][: last - first]
        return Panel.marked(
            SortedKeys(
                np.arange(last - first + 1) * self.n_samples,
                keys[first:last].reshape(-1),
                np.cumsum([0, *(listed.size for listed in true_keys)]),
                np.concatenate(true_keys),
            ),
            marks[first:last].reshape(-1),
        )


class _Piece:
    """A few labels of a problem, which whoever asks first sorts."""

    def __init__(self, labels: slice) -> None:
        self.labels = labels
        self._lock = Lock()
        self._true_keys: list[Keys] = []  # of each label, once it is sorted

    def true_keys(self, problem: Problem, keys: Keys, marks: Bytes) -> list[Keys]:
        """Sort the labels into `keys` and `marks` if nobody has; return the keys of the positives of each."""
        with self._lock:
            if not self._true_keys:
                first, last = self.labels.start, self.labels.stop
                panel = Panel.sorting(Problem.label_items(problem, first, last))
                keys[first:last] = panel.keys.reshape(last - first, -1)
                marks[first:last] = panel.positive_weights.reshape(last - first, -1)
                self._true_keys = np.split(panel.true_keys, panel.true_starts[1:-1])
            return self._true_keys


def sorted_once(problem: Problem) -> Problem:
    """Return a problem whose labels are sorted once for all that ask, if it is dense and without weights."""
    if not (problem.is_dense and problem.is_dense_unweighted and type(problem) is Problem):
        return problem
    return SortedOnce(**{one.name: getattr(problem, one.name) for one in fields(problem)})


def label_items(problem: Problem, first: int, last: int) -> Items:
    """Return the items of labels `first:last`: a panel where each weighs 1, or what is left of one."""
    ready = problem.panel(first, last)
    if ready is not None:
        return ready
    if problem.is_dense_unweighted:
        keys, *positives = problem.keys_and_positives(first, last)
        starts = np.arange(last - first + 1) * problem.n_samples
        return Panel.of_sorted(SortedKeys.of_positives(starts, keys.reshape(-1), *positives))
    items = problem.label_items(first, last)
    return Panel.sorting(items) if items.is_unweighted else items


def ask(
    problem: Problem,
    questions: Sequence[Question],
    *,
    n_jobs: int | None = -1,
    progress: bool = False,
) -> list[list[Any]]:
    """Ask questions about all labels, each tile of which is sorted once; return the answers to each, tile by tile."""
    return in_passes(problem, asking(problem, questions), n_jobs=n_jobs, progress=progress)


def asking(problem: Problem, questions: Sequence[Question]) -> Passes[list[list[Any]]]:
    """Ask questions in a pass over tiles, as `ask` does: beside fits, it may be."""
    if not questions:
        return []

    def answers(first: int, last: int) -> list[Any]:
        items = label_items(problem, first, last)
        return [question(items, first, last) for question in questions]

    tiles = yield Pass(answers, light=problem.is_read_alone)
    return [list(of_question) for of_question in zip(*tiles, strict=True)]


def _above(key: Any, starts: Ints, keys: Keys) -> tuple[Ints, Keys]:
    """Return where groups start that keep the keys above one, (n_groups + 1,), and these."""
    is_above = keys > key  # (n_keys,)
    return np.append(0, is_above.cumsum())[starts], keys[is_above]


def _sort_groups(starts: Ints, keys: Keys) -> None:
    """Sort the keys of each group upwards, in place."""
    sizes = np.diff(starts)
    if sizes.size and sizes[0] > 0 and (sizes == sizes[0]).all():
        keys.reshape(sizes.size, -1).sort(axis=1)
        return
    for first, last in itertools.pairwise(starts.tolist()):
        if last - first > 1:
            keys[first:last].sort()


class TieGroups(NamedTuple):
    """Items of equal score, added up: the groups of label j are `offsets[j]:offsets[j + 1]`, from the top down."""

    offsets: Ints  # (n_labels + 1,)
    key: Keys  # (n_groups,)
    positive_weight: Ints  # (n_groups,)
    weight: Ints  # (n_groups,) above 0

    @classmethod
    def of(cls, items: Items) -> "TieGroups":
        """Add up items of equal score; those of a panel are sorted already."""
        starts, keys, positive_weights, weights = items
        if isinstance(items, Panel):
            up, row = keys, np.empty(0, np.int32)
        else:
            up, row = sorted_groups(starts, keys)
        offsets, *groups = add_equal_keys(starts, up, row, positive_weights, weights)
        sizes = np.diff(offsets)
        falling = (offsets[:-1] + offsets[1:] - 1).repeat(sizes) - np.arange(offsets[-1])
        return cls(offsets, *(column[falling] for column in groups))
