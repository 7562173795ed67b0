"""What a fit asks of counts that these do not tell, and what has to be counted so that they do.

Counts at candidates know of a *run*, the cells of a label between two candidates, weight and highest key alone
(`tallies.py`). A fit that reads steps asks for no more, and a guard for all. A limit or a promise may ask for the score
at a rank, or for what lies above a score of its own, within a run. Such items answer as if all of the run lay at its
highest key, and note what was asked: a key to be counted apart, or a run to be known whole. Once a fit has run through,
the notes say at which candidates the next pass over the rows has to count (`Asked.candidates`); a fit without notes has
the result of the rows.

A run of many cells is not opened at once, but parted: at 1,024 keys that are evenly spaced between its ends. The next
fit asks for one of the parts. So a pass keeps few cells of each label, however many there are.
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple, TypeAlias

import numpy as np

from thresholds._arrays.grouped import sums_of_groups
from thresholds._arrays.types import Booleans, Ints, Keys
from thresholds.data.tallies import Items, LabelKeys, Opened, distinct, union_of_keys

# Cells in runs that are opened: of all labels together; and what one run may have of them, at least and at most.
_MOST_OPENED = 2**24
_FEW_CELLS = 2**10
_MANY_CELLS = 2**16
_N_PARTS = 1024  # of a run that has more
_FEW_PARTS = 256  # where cuts are given, and more than that
_FEW_CUTS = 32  # of a run: opening it would spare next to nothing

# The weight of each label in what is opened.
WeightIn: TypeAlias = Callable[[Opened], Ints]


class _Opening(NamedTuple):
    """Runs to be known whole."""

    label: Ints  # (n_runs,)
    lowest: Keys  # (n_runs,)
    highest: Keys  # (n_runs,)
    weight: Ints  # (n_runs,)


class Asked:
    """What was asked, and could not be told; written by many threads."""

    def __init__(self) -> None:
        self._keys: list[tuple[Ints, Keys]] = []
        self._runs: list[_Opening] = []
        self._is_all = False

    @property
    def nothing(self) -> bool:
        """Whether all that was asked is known."""
        return not (self._keys or self._runs or self._is_all)

    def note_all(self) -> None:
        """Note that all keys of all labels are to be known."""
        self._is_all = True

    def note_keys(self, label: Ints, keys: Keys) -> None:
        """Note keys of labels, (n_keys,) each, that are to be counted apart."""
        if label.size:
            self._keys.append((label, keys))

    def note_runs(self, label: Ints, lowest: Keys, highest: Keys, weight: Ints) -> None:
        """Note runs, (n_runs,) each, that are to be known whole."""
        if label.size:
            self._runs.append(_Opening(label, lowest, highest, weight))

    def candidates(
        self, known: Sequence[LabelKeys], weight_in: WeightIn, weight_of_row: float
    ) -> tuple[LabelKeys, Opened]:
        """Return the candidates, and the keys to be opened, of one more pass, which tell all that `known` keys do.

        `weight_in` gives the weight of each label in what is opened, (n_labels,).
        """
        n_labels, dtype = known[0].starts.size - 1, known[0].keys.dtype
        if self._is_all:
            nothing = LabelKeys(np.zeros(n_labels + 1, np.int64), np.empty(0, dtype))
            return nothing, Opened.everything(n_labels, dtype)
        parts = [*known]
        parts.extend(distinct(label, keys, n_labels) for label, keys in self._keys)
        opened = Opened.nothing(n_labels, dtype)
        if self._runs:
            runs = _Opening(*map(np.concatenate, zip(*self._runs, strict=True)))
            span = (runs.highest - runs.lowest).astype(np.float64)
            most = float(np.clip(_MOST_OPENED // n_labels, _FEW_CELLS, _MANY_CELLS))
            are_few = (runs.weight <= most * weight_of_row) | (span < most)
            parts.append(_parted(_Opening(*(column[~are_few] for column in runs)), n_labels))
            few = _Opening(*(column[are_few] for column in runs))
            opened = _opened(few, n_labels, weight_in, 2 * most * weight_of_row)
        return union_of_keys(parts), opened


class CountedItems(Items):
    """Items of which some are runs: they answer what they can, and note what they cannot."""

    floors: Keys  # (n_items,) no cell of an item is lower; those of a run may be lower than its key
    asked: Asked
    first: int  # the label of the first group

    @classmethod
    def with_floors(cls, items: Items, floors: Keys, asked: Asked, first: int) -> "CountedItems":
        """Make them of the items of labels from `first` on."""
        made = cls(*items)
        made.floors, made.asked, made.first = floors, asked, first
        return made

    @property
    def are_runs(self) -> Booleans:
        """Which items are runs, (n_items,)."""
        return self.floors < self.keys

    def ask_at(self, keys: Keys) -> None:
        """Note a key of each group, (n_groups,), that lies in a run."""
        group = self.label  # (n_items,)
        key = keys[group]
        is_inside = self.are_runs & (self.floors <= key) & (key <= self.keys)
        self.asked.note_keys(self.first + group[is_inside], key[is_inside])

    def ask_between(self, cuts: Keys) -> None:
        """Note those of some cuts, which rise, that part a run."""
        group = self.label  # (n_items,)
        n_below = np.searchsorted(cuts, self.floors, side="right")  # cuts that leave it whole
        n_inside = np.searchsorted(cuts, self.keys, side="right") - n_below
        n_inside = np.where(self.are_runs, np.maximum(n_inside, 0), 0)  # (n_items,)

        # Few cells are opened rather than parted by more cuts.
        are_few = (n_inside > _FEW_CUTS) & (self.weights < n_inside)
        self._note_runs(are_few)
        n_inside[are_few] = 0

        # Where cuts are very many, each in so many first: most of what lies between these is empty.
        step = np.where(n_inside > _N_PARTS, n_inside // _FEW_PARTS, 1)  # (n_items,)
        n_noted = n_inside // step
        before = n_noted.cumsum() - n_noted
        number = np.arange(n_noted.sum()) - np.repeat(before, n_noted)
        at = np.repeat(n_below, n_noted) + number * np.repeat(step, n_noted)
        self.asked.note_keys(self.first + np.repeat(group, n_noted), cuts[at])

    def ask_inside(self, keys: Keys) -> None:
        """Note the runs whose highest key is that of their group, (n_groups,); 0 is that of none."""
        self._note_runs(self.are_runs & (self.keys == keys[self.label]))

    def counts_at(self, keys: Keys) -> Ints:
        """Return weight and positive weight above a key of each group, then those at it, (4, n_groups)."""
        self.ask_at(keys)
        own = keys[self.label]  # (n_items,)
        counts = [
            sums_of_groups(self.starts, np.where(are_some, weights, 0))
            for are_some in (self.keys > own, self.keys == own)
            for weights in (self.weights, self.positive_weights)
        ]
        return np.stack(counts)

    def _note_runs(self, wanted: Booleans) -> None:
        """Note some runs, (n_items,), that are to be known whole."""
        group = self.label[wanted]
        self.asked.note_runs(
            self.first + group, self.floors[wanted], self.keys[wanted], self.weights[wanted]
        )


def _parted(runs: _Opening, n_labels: int) -> LabelKeys:
    """Return keys that part runs evenly."""
    part = np.arange(1, _N_PARTS, dtype=np.uint64)  # (n_parts - 1,)
    lowest, highest = (
        keys.astype(np.uint64)[:, np.newaxis] for keys in (runs.lowest, runs.highest)
    )
    keys = lowest + (highest - lowest) // np.uint64(_N_PARTS) * part  # (n_runs, n_parts - 1)
    label = np.repeat(runs.label, part.size)
    return distinct(label, keys.reshape(-1).astype(runs.lowest.dtype), n_labels)


def _opened(runs: _Opening, n_labels: int, weight_in: WeightIn, most: float) -> Opened:
    """Open runs: of each label all that were asked for, with what lies between; the highest if that weighs more."""
    opened = Opened.nothing(n_labels, runs.lowest.dtype)
    if not runs.label.size:
        return opened
    order = np.lexsort((runs.highest, runs.label))
    label, lowest, highest, _ = (column[order] for column in runs)
    firsts = np.flatnonzero(np.append(True, label[1:] != label[:-1]))
    lasts = np.append(firsts[1:], label.size) - 1
    opened.lowest[label[firsts]] = np.minimum.reduceat(lowest, firsts)
    opened.highest[label[firsts]] = highest[lasts]

    # What lies between, too, is kept score by score.
    is_much = weight_in(opened)[label[firsts]] > most
    opened.lowest[label[firsts[is_much]]] = lowest[lasts[is_much]]
    return opened
