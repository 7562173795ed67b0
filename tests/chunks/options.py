"""Data and options of fits, for tests that hold counts against rows."""

import itertools
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

import thresholds
from thresholds import Candidates, Counts

KINDS = ("plain", "probable", "rounded", "float16", "masked", "weighted", "sparse", "unknown")

GUARDED = (
    {"average": "macro", "guard": "shrink"},
    {"average": "weighted", "guard": "shrink"},
    {"average": "micro", "guard": "pool"},
    {"average": "macro", "guard": "auto", "max_overprediction": 2.0, "min_recall": 0.3},
)
LIMITED = (
    {"average": "macro", "max_overprediction": 1.5},
    {"average": "macro", "min_precision": 0.5},
    {"average": "macro", "min_recall": 0.5, "beta": 2.0},
    {"average": "macro", "max_predicted": 150.0},
    {"average": "micro", "max_predicted": 150.0},
)
PROMISED = (
    {"average": "macro", "min_recall": 0.5, "confidence": 0.8, "guard": "shrink"},
    {"average": "macro", "min_precision": 0.5, "confidence": 0.8},
    {
        "average": "macro",
        "min_precision": 0.4,
        "min_recall": 0.3,
        "confidence": 0.7,
        "family": "all",
    },
)
SHARED = (
    {"average": "micro", "per_label": False},
    {"average": "macro", "per_label": False},
    {"average": "weighted", "per_label": False, "zero_division": 1.0},
    {"average": "macro", "per_label": False, "max_predicted": 100.0},
)


class Rows(NamedTuple):
    """Truth and scores, with what a fit is told of them."""

    y_true: Any
    y_score: Any
    about: dict[str, Any]

    def blocks(self, rng: np.random.Generator) -> list["Rows"]:
        """Part the rows at places drawn at random, some blocks empty no more."""
        n = self.y_score.shape[0]
        edges = np.unique([0, *rng.integers(0, n, 3).tolist(), n])
        return [self._of(slice(*pair)) for pair in itertools.pairwise(edges)]

    def _of(self, rows: slice) -> "Rows":
        about = dict(self.about)
        if "sample_weight" in about:
            about["sample_weight"] = about["sample_weight"][rows]
        return Rows(self.y_true[rows], self.y_score[rows], about)


def rows_of(kind: str, rng: np.random.Generator) -> Rows:
    """Draw rows of a kind."""
    n, m = int(rng.integers(100, 400)), int(rng.integers(2, 6))
    truth = (rng.random((n, m)) < rng.uniform(0.0, 0.3, m)).astype(np.uint8)
    scores: Any = rng.normal(size=(n, m)) + 1.2 * truth
    about: dict[str, Any] = {}
    if kind == "probable":
        scores = (1 / (1 + np.exp(-scores))).astype(np.float32)
    if kind == "rounded":
        scores = scores.round(1)
    if kind == "float16":
        scores = scores.astype(np.float16)
    if kind == "masked":
        scores[rng.random((n, m)) < 0.1] = -np.inf
    if kind == "weighted":
        about["sample_weight"] = rng.integers(0, 4, n)
    if kind == "sparse":
        scores = (1 / (1 + np.exp(-scores))).round(2)
        scores[rng.random((n, m)) < 0.6] = 0
        scores = sparse.csr_array(scores)
    if kind == "unknown":
        truth = np.where(rng.random((n, m)) < 0.2, np.nan, truth)
        about["unknown"] = "nan"
    return Rows(truth, scores, about)


def fitted(rows: Rows, options: dict[str, Any]) -> Any:
    """Fit the rows themselves."""
    return thresholds.fit_empirical(rows.y_true, rows.y_score, **rows.about, **options, n_jobs=1)


def tie_groups(blocks: list[Rows]) -> Counts:
    """Count every score."""
    return sum(Counts.of(block.y_true, block.y_score, **block.about) for block in blocks)


def passes(blocks: list[Rows], options: dict[str, Any], most: int = 12) -> tuple[Counts, int]:
    """Count at candidates until nothing is needed, and say after how many passes over the rows."""
    every = sum(Candidates.of(block.y_true, block.y_score, **block.about) for block in blocks)
    candidates = every.needed_for(**options)
    for n_passes in range(2, most):
        counts = sum(Counts.of(block.y_true, block.y_score, candidates, **block.about) for block in blocks)
        candidates = counts.needed_for(**options, candidates=every)
        if candidates is None:
            return counts, n_passes
    raise AssertionError("passes go on and on")


def differences(one: Any, other: Any) -> list[str]:
    """Name what two rules differ in, of all that a fit finds."""
    differing = []
    if not np.array_equal(one.thresholds, other.thresholds):
        differing.append("thresholds")
    if not np.array_equal(one.unsupported, other.unsupported):
        differing.append("unsupported")
    differing += [name for name in ("objective", "budget") if getattr(one, name) != getattr(other, name)]
    for name in ("guarantees", "guard_report"):
        first, second = getattr(one, name), getattr(other, name)
        if (first is None) != (second is None):
            differing.append(name)
        elif first is not None:
            columns = zip(first.to_dict().items(), second.to_dict().items(), strict=True)
            differing += [f"{name}: {a[0]}" for a, b in columns if a != b]
    return differing
