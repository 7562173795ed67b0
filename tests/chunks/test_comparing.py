"""Rules judged on rows in blocks: as on all rows at once, whatever the blocks are."""

import math
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from numpy.random import Generator
from scipy import sparse

import thresholds
from thresholds import chunks
from thresholds.comparison.result import CALLED

Array = np.ndarray[Any, Any]


@dataclass
class Blocks:
    """A function of blocks that can be pickled."""

    parts: list[Any]

    def __call__(self) -> Iterator[Any]:
        return iter(self.parts)


def drawn(rng: Generator, n: int = 300, n_labels: int = 4) -> tuple[Array, Array]:
    """Truth, and scores in [0, 1] of which no two are equal."""
    truth = rng.random((n, n_labels)) < [0.3, 0.1, 0.05, 0.2][:n_labels]
    logits = rng.normal(size=(n, n_labels)) + truth - 1
    return truth.astype(np.uint8), 1 / (1 + np.exp(-logits))


def cut(rng: Generator, *columns: Any) -> list[Any]:
    """Blocks of rows of random sizes."""
    n = columns[0].shape[0]
    ends = np.sort(rng.integers(0, n, 3))
    pieces = [slice(a, b) for a, b in zip([0, *ends], [*ends, n], strict=True)]
    return [tuple(column[rows] for column in columns) for rows in pieces]


def some_rules(y_true: Array, y_score: Array) -> dict[str, Any]:
    half = slice(0, len(y_true) // 2)
    return {
        "fixed": thresholds.FixedRule(0.5, y_true.shape[1]),
        "macro": thresholds.fit(y_true[half], y_score[half], "macro"),
        "top": thresholds.TopKRule(1),
        "instance": thresholds.InstanceRule(),
    }


def assert_near(found: Any, expected: Any, path: str = "") -> None:
    """Whether plain values are the same, floats but for ten digits."""
    if isinstance(expected, dict):
        assert found.keys() == expected.keys(), path
        for name, value in expected.items():
            assert_near(found[name], value, f"{path}.{name}")
    elif isinstance(expected, list):
        assert len(found) == len(expected), path
        for place, (ours, theirs) in enumerate(zip(found, expected, strict=True)):
            assert_near(ours, theirs, f"{path}[{place}]")
    elif isinstance(expected, float) and found is not None:
        assert found == pytest.approx(expected, rel=1e-10, abs=1e-12, nan_ok=True), path
    else:
        assert found == expected, path


def assert_same(found: Any, expected: Any) -> None:
    """Whether a comparison is that of rows, but for what it says it is not."""
    ours, theirs = found.to_dict(), expected.to_dict()
    for values in (ours, theirs):
        values.pop("rows")
    for measures in (*ours["measures"], *theirs["measures"]):
        for name in ("sum_over_positives", "calibration_slope"):
            measures.pop(name)
    assert_near(ours, theirs)
    for measure in CALLED:
        assert found.best(measure) == expected.best(measure)


@pytest.mark.parametrize(
    "options", [{}, {"beta": 2.0, "zero_division": 1.0}, {"confidence": None}, {"baseline": "top"}]
)
def test_a_comparison_is_that_of_all_rows(options: Any) -> None:
    for seed in range(3):
        rng = np.random.default_rng(seed)
        y_true, y_score = drawn(rng)
        rules = some_rules(y_true, y_score)
        found = chunks.compare(rules, Blocks(cut(rng, y_true, y_score)), **options)
        assert_same(found, thresholds.compare(rules, y_true, y_score, **options))


def test_one_rule_is_compared_with_nothing() -> None:
    rng = np.random.default_rng(0)
    y_true, y_score = drawn(rng)
    rules = {"fixed": thresholds.FixedRule(0.5, 4)}
    assert_same(chunks.compare(rules, (y_true, y_score)), thresholds.compare(rules, y_true, y_score))


def test_truth_may_be_unknown_and_scores_sparse() -> None:
    rng = np.random.default_rng(1)
    y_true, y_score = drawn(rng)
    rules = some_rules(y_true, y_score)
    partly = np.where(rng.random(y_true.shape) < 0.3, -1, y_true.astype(int))
    partly[5] = -1
    found = chunks.compare(rules, Blocks(cut(rng, partly, y_score)), unknown=-1)
    assert_same(found, thresholds.compare(rules, partly, y_score, unknown=-1))
    # Row 5 as a block: no truth of it is known.
    pieces = (slice(5), slice(5, 6), slice(6, None))
    apart = chunks.compare(rules, lambda: ((partly[rows], y_score[rows]) for rows in pieces), unknown=-1)
    assert_same(apart, found)

    rules = {"fixed": thresholds.FixedRule(0.5, 4), "low": thresholds.FixedRule(0.3, 4)}
    lists = sparse.csr_array(np.where(rng.random(y_score.shape) < 0.4, y_score, 0))
    found = chunks.compare(rules, Blocks(cut(rng, y_true, lists)))
    assert_same(found, thresholds.compare(rules, y_true, lists))


def test_neither_map_nor_the_order_of_shards_matters() -> None:
    rng = np.random.default_rng(2)
    y_true, y_score = drawn(rng)
    rules = some_rules(y_true, y_score)
    shards = [Blocks([block]) for block in cut(rng, y_true, y_score)]
    expected = chunks.compare(rules, shards, n_jobs=1).to_dict()
    with ThreadPoolExecutor(2) as pool:
        assert chunks.compare(rules, shards, map=pool.map).to_dict() == expected

    def backwards(function: Any, tasks: Any) -> list[Any]:
        return [function(task) for task in reversed(list(tasks))]

    assert chunks.compare(rules, shards, map=backwards).to_dict() == expected


def test_it_says_what_is_not_as_on_rows() -> None:
    rng = np.random.default_rng(0)
    y_true, y_score = drawn(rng)
    found = chunks.compare(some_rules(y_true, y_score), (y_true, y_score))
    assert "scores of negatives count as untied where labels are tested" in found.rows
    assert "how good probabilities are is left out" in found.rows
    assert math.isnan(found.measures[3].calibration_slope)


@pytest.mark.parametrize("unknown", [None, -1])
def test_a_diagnosis_is_that_of_all_rows(unknown: int | None) -> None:
    for seed in range(3):
        rng = np.random.default_rng(seed)
        y_true, y_score = drawn(rng, 400)
        truth = y_true.astype(int)
        if unknown is not None:
            truth = np.where(rng.random(truth.shape) < 0.2, unknown, truth)
        rule = thresholds.ThresholdRule([0.5, 0.1, 0.2, 0.4], label_names=["a", "b", "c", "d"])
        found = chunks.diagnose(rule, Blocks(cut(rng, truth, y_score)), unknown=unknown, overprediction=2.0)
        expected = thresholds.diagnose(truth, y_score, rule, unknown=unknown, overprediction=2.0)
        assert_near({**found.to_dict(), "note": ""}, {**expected.to_dict(), "note": ""})
        assert "scores of negatives between two candidates count as untied" in found.note
