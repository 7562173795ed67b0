"""Problems of all kinds: `draw(kind, seed)` gives one whose scores are of a kind, all else by chance."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache, cached_property
from typing import Any
from zlib import crc32

import numpy as np
from numpy.random import Generator

from tests.naive import cuts as naive
from thresholds._engine.choosing import CountLimits
from thresholds._engine.problem import Problem

Array = np.ndarray[Any, Any]

UNKNOWN = -1  # in truth
# Up to 32 scores are sorted by insertion, more are put into buckets, of which some of 700 rows are split again.
ROWS = (1, 2, 31, 32, 33, 40, 200, 700)


# What scores are made of: x, (n_samples, n_labels), follows truth, more or less


def signed(x: Array) -> Array:
    """1 or -1."""
    return np.where(x < 0, -1.0, 1.0)


def share(x: Array) -> Array:
    """A probability."""
    return np.asarray(1 / (1 + np.exp(-x)))


def mostly(value: float) -> Callable[[Generator, Array], Array]:
    """One value in nine cells of ten."""
    return lambda rng, x: np.where(rng.random(x.shape) < 0.9, value, x)


SCORES: dict[str, Callable[[Generator, Array], Array]] = {
    "normal": lambda rng, x: x,
    "rounded": lambda rng, x: np.round(x, 1),
    "constant": lambda rng, x: np.full(x.shape, 0.25),
    "two values": lambda rng, x: (x > 0) * 1.0,
    "mostly 0": mostly(0.0),
    "mostly masked": mostly(-np.inf),
    "all masked": lambda rng, x: np.full(x.shape, -np.inf),
    "mostly 0.5": mostly(0.5),
    "votes": lambda rng, x: rng.binomial(100, share(x)) / 100,
    "whole": lambda rng, x: np.clip(np.round(20 * x), -128, 127).astype(np.int8),
    "half precision": lambda rng, x: x.astype(np.float16),
    "near 0": lambda rng, x: share(x) ** 9,
    "near 0, widely": lambda rng, x: 10 ** (30 * (share(x) - 1)),
    "all sizes": lambda rng, x: signed(x) * 10 ** rng.uniform(-30, 30, x.shape),
    "to the ends": lambda rng, x: signed(x) * rng.choice([3e38, 1e38, 1.0], x.shape),
    "to the ends of doubles": lambda rng, x: signed(x) * rng.choice([1.7e308, 1e308, 1.0], x.shape),
    "subnormal": lambda rng, x: np.round(20 * x) * 1e-44,
    "subnormal doubles": lambda rng, x: np.round(20 * x) * 5e-324,
    "neighbours": lambda rng, x: 1 + np.round(20 * x) * 2.0**-52,
    "zeros of both signs": lambda rng, x: np.where(x > 1, x, np.copysign(0.0, x)),
    "useless": lambda rng, x: rng.normal(size=x.shape),
    "rows rise": lambda rng, x: np.sort(x, axis=0),
    "rows fall": lambda rng, x: np.sort(x, axis=0)[::-1],
    "one far above": lambda rng, x: np.where(rng.random(x.shape) < 0.02, 1e30, x),
    "one far below": lambda rng, x: np.where(rng.random(x.shape) < 0.02, -1e30, x),
}
SHARE_OF_TRUTH = (0.0, 0.01, 0.1, 0.5, 0.99, 1.0)
WEIGHTS: dict[str, Callable[[Generator, int], Array]] = {
    "ones": lambda rng, n: np.ones(n),
    "small and whole, some 0": lambda rng, n: rng.integers(0, 4, n),
    "large": lambda rng, n: rng.integers(0, 2**29, n),
    "fractional": lambda rng, n: rng.exponential(size=n),
    "one of all": lambda rng, n: np.arange(n) == n // 2,
    "one above all": lambda rng, n: np.append(1e9, rng.random(n - 1)),
}
LIMITS = {  # most predictions over positives, least recall, least precision
    "none": (np.inf, 0.0, 0.0),
    "predictions": (1.0, 0.0, 0.0),
    "few predictions": (0.3, 0.0, 0.0),
    "recall": (np.inf, 0.9, 0.0),
    "precision": (np.inf, 0.0, 0.8),
    "all": (2.0, 0.3, 0.2),
    "more than there is": (0.5, 1.0, 1.0),
}


@dataclass(frozen=True, eq=False)
class Data:
    """What a problem is made of."""

    truth: Array  # (n_samples, n_labels) bool
    scores: Array  # (n_samples, n_labels)
    beta: float
    weights: Array | None  # (n_samples,)
    known: Array  # (n_samples, n_labels) bool
    limits: CountLimits

    @property
    def unknown_truth(self) -> Array:
        """Truth with `UNKNOWN` where it is not known."""
        return np.where(self.known, self.truth, UNKNOWN).astype(np.int8)

    @cached_property
    def problem(self) -> Problem:
        """Truth and scores as they are."""
        return self.problem_of(self.unknown_truth if not self.known.all() else self.truth, self.scores)

    def problem_of(self, truth: object, scores: object, **options: Any) -> Problem:
        """The same in other forms."""
        unknown = None if self.known.all() else UNKNOWN
        return Problem.of(truth, scores, sample_weight=self.weights, unknown=unknown, **options)

    @cached_property
    def labels(self) -> list[naive.Label]:
        """The steps of each label from their definition."""
        return self.labels_above(None)

    def labels_above(self, missing: float | None) -> list[naive.Label]:
        """The steps of cuts above a score."""
        weights = self.problem.unit_weights
        weights = np.ones(len(self.truth), np.int64) if weights is None else weights
        columns = zip(self.scores.T, self.truth.T, self.known.T, strict=True)
        return [naive.label(scores, truth, weights, known, missing) for scores, truth, known in columns]

    @property
    def is_exact(self) -> bool:
        """Whether products of counts and beta^2 are exact in float64."""
        weights = self.problem.unit_weights
        total = self.truth.shape[1] * (len(self.truth) if weights is None else int(weights.sum()))
        return self.beta in (0.5, 1.0, 2.0) and total < 2**23

    def take(self, rows: Any = slice(None), labels: Any = slice(None)) -> "Data":
        """The data of some rows and labels, in any order."""
        return replace(
            self,
            truth=self.truth[rows][:, labels],
            scores=self.scores[rows][:, labels],
            weights=None if self.weights is None else self.weights[rows],
            known=self.known[rows][:, labels],
            limits=CountLimits._make(limit[labels] for limit in self.limits),
        )


@cache
def draw(kind: str, seed: int, shape: tuple[int, int] | None = None) -> Data:
    """Draw a problem: every kind of scores comes in all sizes, the rest as it falls."""
    rng = np.random.default_rng([crc32(kind.encode()), seed])
    n, m = shape or (ROWS[seed % len(ROWS)], int(rng.integers(1, 7)))
    truth = rng.random((n, m)) < rng.choice(SHARE_OF_TRUTH, m)
    # From labels that are ranked the wrong way round to those without a mistake.
    scores = SCORES[kind](rng, rng.normal(size=(n, m)) + rng.choice([-1, 0, 1, 3, 9], m) * truth)
    if scores.dtype == np.float64 and "doubles" not in kind:
        scores = scores.astype(rng.choice([np.float32, np.float64]))
    weights = WEIGHTS[rng.choice(list(WEIGHTS))](rng, n) if rng.random() < 0.5 else None
    known = rng.random((n, m)) >= rng.choice([0.0, 0.0, 0.3])
    has_weight = np.ones(n, bool) if weights is None else weights > 0
    if not known[has_weight].any():
        known[:] = True
    if not has_weight.any():
        weights = None
    limits = np.array([LIMITS[name] for name in rng.choice(list(LIMITS), m)])
    return Data(truth, scores, float(rng.choice([0.5, 1.0, 2.0, 0.7])), weights, known, CountLimits(*limits.T))
