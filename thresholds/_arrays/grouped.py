"""Sums of groups of items, which lie one group after another: those of group j are `starts[j]:starts[j + 1]`."""

import numpy as np

from thresholds._arrays.types import Booleans, Integers, Ints


def group_of(starts: Ints) -> Ints:
    """Return the group of each item, (n_items,)."""
    return np.arange(starts.size - 1).repeat(np.diff(starts))


def sums_of_groups(starts: Ints, values: Booleans | Integers) -> Ints:
    """Add up whole numbers of each group, or count what is true, (n_groups,)."""
    sums: Ints = np.append(0, values.cumsum(dtype=np.int64))
    return sums[starts[1:]] - sums[starts[:-1]]


def sums_so_far(starts: Ints, values: Booleans | Integers) -> Ints:
    """Add up whole numbers of each group up to each item, this one too, (n_items,)."""
    sums: Ints = np.append(0, values.cumsum(dtype=np.int64))
    return sums[1:] - sums[starts[:-1]].repeat(np.diff(starts))
