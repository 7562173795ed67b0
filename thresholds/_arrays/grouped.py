"""Sums of groups of items, which lie one group after another: those of group j are `starts[j]:starts[j + 1]`."""

from typing import Any

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


def highest_of_groups(starts: Ints, values: Any, of_none: Any = 0) -> Any:
    """Return the highest value of each group, (n_groups,)."""
    highest = np.full(starts.size - 1, of_none, values.dtype)
    has_some = np.diff(starts) > 0
    if has_some.any():
        highest[has_some] = np.maximum.reduceat(values, starts[:-1][has_some])
    return highest


def follow(starts: Ints, wanted: Booleans) -> Booleans:
    """Tell which items come right after one that is wanted, in the same group, (n_items,)."""
    follows = np.append(False, wanted[:-1])[: wanted.size]
    follows[starts[:-1][np.diff(starts) > 0]] = False
    return follows


def precede(starts: Ints, wanted: Booleans) -> Booleans:
    """Tell which items come right before one that is wanted, in the same group, (n_items,)."""
    precedes = np.append(wanted[1:], False)[: wanted.size]
    precedes[starts[1:][np.diff(starts) > 0] - 1] = False
    return precedes
