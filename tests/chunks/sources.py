"""Rows in every form in which `fit_chunks` takes them, and engines that apply functions in odd ways."""

import random
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.random import Generator
from scipy import sparse

Function = Callable[[Any], Any]
KINDS = ["dense", "sparse", "whole weights", "weights", "unknown"]


@dataclass(frozen=True)
class Drawn:
    """Rows of a fit, and how they are to be read."""

    y_true: Any
    y_score: Any
    sample_weight: Any
    about: dict[str, Any]

    @property
    def n(self) -> int:
        """Number of rows."""
        return int(self.y_score.shape[0])

    def of(self, rows: slice) -> tuple[Any, ...]:
        """A block."""
        parts = (self.y_true, self.y_score, self.sample_weight)
        return tuple(part[rows] for part in parts if part is not None)

    def shards(self, rng: Generator) -> list["Blocks"]:
        """The rows in one to four shards, each in blocks of its own size."""
        cuts = np.sort(rng.integers(0, self.n + 1, rng.integers(0, 4)))
        edges = [0, *cuts.tolist(), self.n]
        return [Blocks(self.of(slice(first, last)), int(rng.integers(1, 400))) for first, last in pairwise(edges)]


@dataclass(frozen=True)
class Blocks:
    """A shard: its rows in blocks of one size, anew each time it is called; it can be pickled."""

    parts: tuple[Any, ...]
    size: int

    def __call__(self) -> Iterator[tuple[Any, ...]]:
        """Return the blocks."""
        for first in range(0, self.parts[0].shape[0], self.size):
            yield tuple(part[first : first + self.size] for part in self.parts)


def draw(rng: Generator, kind: str, n: int = 0) -> Drawn:
    """Random rows: ties or none, float16 to float64 or integers, few positives or many."""
    n = n or int(rng.integers(1, 1500))
    m = int(rng.integers(1, 8))
    truth = rng.random((n, m)) < rng.choice([0.02, 0.2, 0.7])
    scores = rng.normal(size=(n, m)) + truth
    dtype = str(rng.choice(["float16", "float32", "float64", "int8", "rounded"]))
    if dtype == "rounded":
        scores = np.round(scores, 1)
    elif dtype == "int8":
        scores = (30 * scores).astype(np.int8)
    elif dtype == "float16" and kind == "sparse":
        scores = scores.astype(np.float32)
    else:
        scores = scores.astype(dtype)
    y_true: Any = truth.astype(np.uint8)
    weights = None
    about: dict[str, Any] = {}
    if kind == "sparse":
        scores = sparse.csr_array(np.where(rng.random((n, m)) < 0.3, scores, scores.dtype.type(0)))
        about["missing"] = float(rng.choice([0, -1, 1]))
    if kind == "whole weights":
        weights = np.append(1.0, rng.integers(0, 4, n - 1))
    if kind == "weights":
        weights = rng.random(n) + 0.01
    if kind == "unknown":
        y_true = np.where(rng.random((n, m)) < 0.3, -1, y_true).astype(np.int8)
        y_true[0, 0] = 1
        about["unknown"] = -1
    return Drawn(y_true, scores, weights, about)


def in_any_order(function: Function, tasks: Iterable[Any]) -> list[Any]:
    """A map whose results come in another order than the tasks."""
    results = [function(task) for task in tasks]
    random.Random(0).shuffle(results)
    return results


def on_threads(function: Function, tasks: Iterable[Any]) -> list[Any]:
    """The map of an executor."""
    with ThreadPoolExecutor(3) as pool:
        return list(pool.map(function, tasks))
