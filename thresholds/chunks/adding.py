"""What is made of blocks adds up field by field."""

import operator
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from typing import Any, Self

import numpy as np

from thresholds.chunks.counts import Counts, add_in_place


@dataclass(frozen=True)
class AddedUp:
    """What is made of a block: each field adds up for itself.

    Numbers and arrays add up, lists are joined, mappings add up by key; None is nothing.
    """

    def __add__(self, other: Self) -> Self:
        """Add what is made of other blocks."""
        return self._with(other, operator.add)

    def __iadd__(self, other: Self) -> Self:
        """Add what is made of other blocks in the arrays of this, which nobody else may have."""
        return self._with(other, _sum_in_place)

    def _with(self, other: Self, add: Callable[[Any, Any], Any]) -> Self:
        """Add each field."""
        pairs = ((getattr(self, each.name), getattr(other, each.name)) for each in fields(self))
        return type(self)(*(sum_of(first, second, add) for first, second in pairs))


def sum_of(first: Any, second: Any, add: Callable[[Any, Any], Any] = operator.add) -> Any:
    """Add what may be None; mappings key by key."""
    if first is None or second is None:
        return second if first is None else first
    if isinstance(first, Mapping):
        keys = {**first, **second}
        return {key: sum_of(first.get(key), second.get(key), add) for key in keys}
    return add(first, second)


def _sum_in_place(first: Any, second: Any) -> Any:
    """Return the sum of both, in place of the first if that is large."""
    if isinstance(first, Counts):
        return add_in_place(first, second)
    if isinstance(first, np.ndarray):
        return np.add(first, second, out=first)
    return first + second
