"""Rows of every kind, in parts, and counts of these added in any order."""

import pickle
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numpy.random import Generator
from scipy import sparse

from thresholds import Counts
from thresholds.counts.ranges import ScoreRanges

KINDS = ("dense", "ties", "near one", "far", "masked", "huge", "float16", "weighted", "unknown", "sparse")


class Rows(NamedTuple):
    """Truth and scores, and what a fit is told of them."""

    y_true: Any
    y_score: Any
    sample_weight: Any
    about: dict[str, Any]

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return int(self.y_score.shape[0])

    def at(self, rows: Any) -> tuple[Any, Any, dict[str, Any]]:
        """Some rows: truth, scores, and keyword arguments."""
        weights = {} if self.sample_weight is None else {"sample_weight": self.sample_weight[rows]}
        return self.y_true[rows], self.y_score[rows], {**self.about, **weights}


def draw(kind: str, rng: Generator, n_rows: int | None = None) -> Rows:
    """Some hundred rows, of few labels; scores know something of most."""
    n_rows = int(rng.integers(1, 700)) if n_rows is None else n_rows
    shape = n_rows, int(rng.integers(1, 5))
    y_true = (rng.random(shape) < rng.uniform(0, 0.7, shape[1]) ** 2).astype(np.int8)
    y_score = rng.standard_normal(shape) + rng.uniform(-1, 3, shape[1]) * y_true
    y_score = y_score.astype(rng.choice(["f4", "f8"]))
    weights, about = None, {}
    if kind == "ties":
        y_score = y_score.round(1)
    elif kind == "near one":
        y_score = 1 - y_score.dtype.type(1e-4) / (1 + np.exp(-y_score))
    elif kind == "far":
        y_score = y_score + 1000
    elif kind == "masked":
        y_score[rng.random(shape) < 0.2] = -np.inf
        y_score[rng.random(shape) < 0.1] = -0.0
    elif kind == "huge":
        y_score = y_score * y_score.dtype.type(1e37)
    elif kind == "float16":
        y_score = y_score.astype(np.float16)
    elif kind == "weighted":
        weights = rng.integers(0, 4, n_rows) * 3.0
        weights[0] = 3.0
    elif kind == "unknown":
        y_true[rng.random(shape) < 0.3] = -1
        y_true[0] = 0
        about["unknown"] = -1
    elif kind == "sparse":
        y_score = sparse.csr_array(np.where(rng.random(shape) < 0.5, y_score, 0))
        about["missing"] = float(rng.choice([0.0, 0.5, -1.5, -np.inf]))
        y_true = sparse.csr_array(y_true) if rng.random() < 0.5 else y_true
    return Rows(y_true, y_score, weights, about)


def parts(n_rows: int, rng: Generator) -> list[Any]:
    """One to six parts of the rows, shuffled, some of them empty."""
    cuts = np.sort(rng.integers(0, n_rows + 1, int(rng.integers(0, 6))))
    return np.split(rng.permutation(n_rows), cuts)


def added(rows: Rows, rng: Generator, ranges: ScoreRanges | None = None, most: int | None = None) -> Counts:
    """Counts of parts of the rows, sent, and added two at a time, whichever these are; in few bins if asked."""
    left = []
    for some in parts(rows.n_rows, rng):
        y_true, y_score, about = rows.at(some)
        counts = Counts.of(y_true, y_score, ranges, **about)
        if ranges is None and most is not None:
            counts = replace(counts, bins=counts.bins.merged(most), most=most)
        left.append(pickle.loads(pickle.dumps(counts)))
    while len(left) > 1:
        first = left.pop(int(rng.integers(len(left))))
        left.append(first + left.pop(int(rng.integers(len(left)))))
    return left[0]


def fitted(rows: Rows, rng: Generator, average: str, most: int | None = None, **options: Any) -> Any:
    """The rule of two passes over the rows, without a guard unless one is asked for."""
    options = {"guard": None, **options}
    counts = added(rows, rng, most=most)
    needed = counts.needed_for(average, **options)
    if needed is not None:
        counts = counts.with_scores(added(rows, rng, needed))
    return counts.fit(average, **options)
