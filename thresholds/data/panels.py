"""Panels: a few labels whose scores are sorted once, from which all questions about a label are answered by walking.

NumPy sorts, in vector registers where the processor has them, but carries nothing along. Nothing need be: the keys of
the positives are sorted apart, and merged with those of all cells. Within a tie group it is not known which of the
cells is positive, nor does anybody ask.
"""

import itertools
from functools import cached_property
from typing import NamedTuple

import numpy as np

from thresholds._arrays.types import Ints, Keys
from thresholds._kernels._jit import StandIns
from thresholds._kernels.evidence import group_by_ties
from thresholds._kernels.sorting import (
    Steps,
    listed_positives,
    sorted_groups,
    unit_staircases,
)
from thresholds.data.problem import Items, Problem


class Panel(Items):
    """Items that weigh 1 each, sorted: the keys of each group rise, and of equal keys the positive ones come first."""

    true_starts: Ints  # (n_groups + 1,)
    true_keys: Keys  # (n_positives,) the keys of the positives, which rise in each group
    steps: Steps  # of the staircases

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
        starts, keys, truth, weights = items
        true_starts, true_keys = listed_positives(starts, keys, truth)
        with StandIns.working():
            _sort_groups(starts, keys)
            _sort_groups(true_starts, true_keys)
        marks = np.zeros_like(truth)
        steps = unit_staircases(starts, keys, true_starts, true_keys, marks)
        panel = cls(starts, keys, marks, weights)
        panel.true_starts, panel.true_keys, panel.steps = true_starts, true_keys, steps
        return panel

    @cached_property
    def positives(self) -> Ints:
        """Number of positives of each group, (n_groups,)."""
        return np.diff(self.true_starts)


def label_items(problem: Problem, first: int, last: int) -> Items:
    """Return the items of labels `first:last`: a panel where each weighs 1."""
    items = problem.label_items(first, last)
    return Panel.sorting(items) if items.is_unweighted else items


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
        return cls(*group_by_ties(starts, up, row, positive_weights, weights))
