"""One threshold for all labels of dense scores, found by counting: the same as by sorting all cells.

`one_cut._WORTH_COUNTING` and `passes._WORTH_COUNTING` say from how many cells on one counts; sorting is the witness,
which `test_empirical.py` holds to an exhaustive search.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import thresholds
from thresholds._checks import Average
from thresholds.data.problem import Problem
from thresholds.search import one_cut, one_cut_dense, one_cut_shares
from thresholds.search.counting import passes

Array = np.ndarray[Any, Any]
AVERAGES = ("macro", "weighted", "micro", "samples")
NEVER = 10**15


def fit(y_true: Array, y_score: Array, average: str, **settings: Any) -> tuple[float, float]:
    rule = thresholds.fit_empirical(y_true, y_score, average, per_label=False, **settings)
    return float(rule.thresholds[0]), rule.objective


def informative(rng: np.random.Generator, n: int, m: int) -> tuple[Array, Array]:
    y_true = (rng.random((n, m)) < rng.uniform(0.02, 0.5, m)).astype(np.uint8)
    return y_true, (rng.normal(size=(n, m)) + y_true * rng.uniform(0, 3, m)).astype(np.float32)


def tied(rng: np.random.Generator, n: int, m: int) -> tuple[Array, Array]:
    y_true, y_score = informative(rng, n, m)
    return y_true, np.rint(y_score * 2) / 2


def masked(rng: np.random.Generator, n: int, m: int) -> tuple[Array, Array]:
    y_true, y_score = informative(rng, n, m)
    y_score[rng.random((n, m)) < 0.3] = -np.inf
    return y_true, y_score


def some_empty(rng: np.random.Generator, n: int, m: int) -> tuple[Array, Array]:
    y_true, y_score = informative(rng, n, m)
    y_true[:, : m // 2] = 0
    y_true[: n // 3] = 0
    return y_true, y_score


def uninformative(rng: np.random.Generator, n: int, m: int) -> tuple[Array, Array]:
    return (rng.random((n, m)) < 0.05).astype(np.uint8), rng.random((n, m))


def constant(rng: np.random.Generator, n: int, m: int) -> tuple[Array, Array]:
    return (rng.random((n, m)) < 0.2).astype(np.uint8), np.full((n, m), 0.25)


def no_positives(rng: np.random.Generator, n: int, m: int) -> tuple[Array, Array]:
    return np.zeros((n, m), np.uint8), rng.normal(size=(n, m))


KINDS = (informative, tied, masked, some_empty, uninformative, constant, no_positives)


@pytest.mark.each_value
@pytest.mark.parametrize("average", AVERAGES)
@pytest.mark.parametrize("kind", KINDS)
def test_counting_equals_sorting(
    kind: Callable[..., tuple[Array, Array]], average: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    rng = np.random.default_rng(len(kind.__name__))
    monkeypatch.setattr(one_cut, "_WORTH_BOUNDING", 1)
    for name, value in (("BLOCK_CELLS", 97), ("_PIECE_CELLS", 500), ("_SAMPLE_CELLS", 300)):
        monkeypatch.setattr(one_cut_dense, name, value)
    all_settings: list[dict[str, Any]] = [{}, {"zero_division": 1.0}, {"beta": 2.0, "n_jobs": 1}, {"n_jobs": 3}]
    for k, (n, m) in enumerate(((1, 1), (7, 5), (400, 3), (90, 41))):
        y_true, y_score = kind(rng, n, m)
        for settings in all_settings[k % 2 :: 2]:
            found = []
            for least in (0, NEVER):
                monkeypatch.setattr(one_cut, "_WORTH_COUNTING", least)
                monkeypatch.setattr(passes, "_WORTH_COUNTING", least)
                found.append(fit(y_true, y_score, average, **settings))
            assert found[0] == found[1]


def as_probabilities(scores: Array) -> Array:
    """Scores of any kind within [0, 1], in the same order; masked ones are 0."""
    finite = np.where(np.isfinite(scores), scores, -40.0)
    return np.asarray((1 / (1 + np.exp(-finite.astype(np.float64) - 1))).astype(scores.dtype))


@pytest.mark.parametrize("kind", KINDS)
def test_counting_shares_of_truth_equals_sorting(
    kind: Callable[..., tuple[Array, Array]], monkeypatch: pytest.MonkeyPatch
) -> None:
    rng = np.random.default_rng(len(kind.__name__))
    monkeypatch.setattr(one_cut, "_WORTH_BOUNDING", 1)
    monkeypatch.setattr(one_cut_shares, "BLOCK_CELLS", 97)
    monkeypatch.setattr(one_cut_shares, "_SAMPLE_CELLS", 300)
    monkeypatch.setattr(one_cut_dense, "_PIECE_CELLS", 500)
    all_settings: list[dict[str, Any]] = [{}, {"zero_division": 1.0, "beta": 2.0}, {"beta": 0.3, "n_jobs": 3}]
    for n, m in ((1, 1), (7, 5), (400, 3), (90, 41)):
        p = as_probabilities(kind(rng, n, m)[1])
        for settings in all_settings:
            found = []
            for least in (0, NEVER):
                monkeypatch.setattr(one_cut, "_WORTH_COUNTING", least)
                rule = thresholds.fit_expected(p, "samples", per_label=False, **settings)
                found.append((rule.thresholds.tolist(), rule.objective))
            assert found[0] == found[1]


@pytest.mark.parametrize("average", AVERAGES)
def test_layout_and_dtype_do_not_matter(average: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(one_cut, "_WORTH_COUNTING", 0)
    monkeypatch.setattr(one_cut, "_WORTH_BOUNDING", 1)
    monkeypatch.setattr(passes, "_WORTH_COUNTING", 0)
    y_true, y_score = informative(np.random.default_rng(3), 300, 9)
    y_score = y_score.astype(np.float16)
    expected = fit(y_true, y_score, average)
    padded = np.zeros((300, 18), np.float16)
    padded[:, ::2] = y_score
    for scores in (np.asfortranarray(y_score), padded[:, ::2]):
        for truth in (y_true.astype(bool), np.asfortranarray(y_true), y_true.astype(float)):
            assert fit(truth, scores, average) == expected
    for dtype in (np.float32, np.float64):  # A threshold lies in the gap, at a number of the dtype.
        exact = thresholds.fit_empirical(y_true, y_score.astype(dtype), average, per_label=False, placement="score")
        half = thresholds.fit_empirical(y_true, y_score, average, per_label=False, placement="score")
        np.testing.assert_array_equal(exact.thresholds, half.thresholds)


@pytest.mark.parametrize("average", ["macro", "weighted", "samples"])
def test_sampled_positives_may_all_lie_above_the_best_cut(average: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(one_cut_dense, "_SAMPLE_CELLS", 1000)  # every 40th row
    monkeypatch.setattr(one_cut, "_WORTH_BOUNDING", 1)
    y_true, y_score = np.zeros((40_000, 1), np.uint8), np.arange(40_000.0)[:, np.newaxis]
    y_true[::40], y_score[::40] = 1, 1e6 + np.arange(1000.0)[:, np.newaxis]
    y_true[1::4] = 1
    found = []
    for least in (0, NEVER):
        monkeypatch.setattr(one_cut, "_WORTH_COUNTING", least)
        found.append(fit(y_true, y_score, average))
    assert found[0] == found[1]


@pytest.mark.parametrize("average", ["macro", "samples"])
def test_few_cells_are_sorted_at_the_usual_size(average: Average) -> None:
    rng = np.random.default_rng(5)
    y_true = (rng.random((3000, 200)) < 0.03).astype(np.uint8)
    y_score = rng.normal(size=y_true.shape) + 3 * y_true
    search = one_cut_dense.MeanCut(Problem.of(y_true, y_score), average, 1.0, 0.0)
    narrowed = search._narrow()
    assert narrowed is not None
    keys, *_ = search._collect(*narrowed[:2])
    assert 0 < keys.size < y_score.size / 8


def test_rounds_that_leave_many_cells_go_on_until_few_enough_are_left_to_sort() -> None:
    rng = np.random.default_rng(2)
    rates = np.exp(rng.uniform(np.log(1e-3), np.log(0.3), 200))
    y_true = (rng.random((3000, 200)) < rates).astype(np.uint8)
    y_score = rng.normal(size=y_true.shape) + y_true * rng.uniform(0, 3, 200)
    assert one_cut_dense.MeanCut(Problem.of(y_true, y_score), "weighted", 1.0, 0.0)._narrow() is not None
