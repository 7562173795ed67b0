"""Rows cut into blocks, and what is made of them added in any order, as any engine would."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeVar

import numpy as np
from numpy.random import Generator

Part = TypeVar("Part")


def blocks(n_rows: int, rng: Generator) -> list[slice]:
    """One to six blocks of rows, in any order."""
    n_cuts = int(rng.integers(0, min(6, n_rows)))
    cuts = sorted(rng.choice(np.arange(1, n_rows), n_cuts, replace=False).tolist()) if n_cuts else []
    parts = [slice(a, b) for a, b in zip([0, *cuts], [*cuts, n_rows], strict=True)]
    return [parts[k] for k in rng.permutation(len(parts))]


def added(parts: Sequence[Part], rng: Generator) -> Part:
    """The sum of all parts, two of them at a time, whichever these are."""
    left: list[Any] = list(parts)
    while len(left) > 1:
        first = left.pop(int(rng.integers(len(left))))
        second = left.pop(int(rng.integers(len(left))))
        left.append(first + second)
    return left[0]


def over_blocks(make: Callable[[slice], Part], n_rows: int, rng: Generator) -> Part:
    """What is made of each block, added."""
    return added([make(rows) for rows in blocks(n_rows, rng)], rng)


def seeds(count: int) -> Iterator[Generator]:
    """Generators, each with its own seed."""
    return map(np.random.default_rng, range(count))
