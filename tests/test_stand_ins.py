"""What NumPy answers before a kernel is worth loading: the same as the kernel, bit for bit."""

import itertools
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from numpy.random import Generator

import thresholds
from thresholds import metrics, narrowing
from thresholds._kernels import _jit, choosing, confusion, keys, sorting
from thresholds._kernels._jit import Kernel, kernel_after

Array = np.ndarray[Any, Any]
Arguments = tuple[Any, ...]

MODULES = (choosing, confusion, keys, sorting)
WITH_STAND_IN: list[Kernel[..., Any]] = [
    value for module in MODULES for value in vars(module).values() if isinstance(value, Kernel) and value.stand_in
]


@pytest.fixture
def fresh(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A process that has called nothing yet."""
    for kernel in WITH_STAND_IN:
        monkeypatch.setattr(kernel, "_loaded", None)
        monkeypatch.setattr(kernel, "cells_left", 2**24)
    monkeypatch.setattr(narrowing.note_positives, "_loaded", None)
    return


# Each one


def tile(rng: Generator, dtype: Any) -> tuple[Array, Array]:
    """Keys and truth of labels with many ties, with both zeros and -inf, of all prevalences."""
    n_labels, n = rng.integers(1, 6), rng.integers(1, 40)
    scores = np.round(rng.normal(size=(n_labels, n)), rng.integers(0, 3)).astype(dtype)
    scores[rng.random(scores.shape) < 0.1] = -0.0
    scores[rng.random(scores.shape) < rng.choice([0, 0.1])] = -np.inf
    scores[rng.random(n_labels) < 0.1] = 0.5
    truth = rng.random((n_labels, n)) < rng.choice([0.0, 0.05, 0.5, 1.0], (n_labels, 1))
    return keys.to_keys(scores), truth.astype(np.uint8)


def of_staircases(rng: Generator, dtype: Any) -> Arguments:
    return tile(rng, dtype)


def of_steps(rng: Generator, dtype: Any) -> Arguments:
    offsets, _, _, tp, fp, _ = sorting.unit_staircases(*tile(rng, dtype))
    positives = np.array([tp[last - 1] if last > first else 0 for first, last in itertools.pairwise(offsets)])
    unit = 1 if dtype == np.float32 else 2**50  # of weights
    return offsets, tp * unit, fp * unit, positives * unit


def of_best_steps(rng: Generator, dtype: Any) -> Arguments:
    return *of_steps(rng, dtype), rng.choice([0.0, 0.25, 1.0, 4.0])


def of_hulls(rng: Generator, dtype: Any) -> Arguments:
    return of_steps(rng, dtype)[:3]


def of_keys(rng: Generator, dtype: Any) -> Arguments:
    special = [0.0, -0.0, np.inf, -np.inf, np.finfo(dtype).max, np.finfo(dtype).tiny / 4, -np.finfo(dtype).tiny]
    scores = np.append(rng.normal(size=9), special).astype(dtype)
    bits = rng.permutation(scores).view(f"u{scores.itemsize}")
    return bits, bits.dtype.type(1 << (8 * bits.itemsize - 1))


def of_scores(rng: Generator, dtype: Any) -> Arguments:
    bits, sign = of_keys(rng, dtype)
    found = np.append(keys.to_keys(bits.view(dtype)), bits.dtype.type(0))  # "no score"
    return found, sign, np.empty_like(found)


def of_counts(rng: Generator, dtype: Any) -> Arguments:
    shape = rng.integers(1, 600), rng.integers(1, 5)
    truth, predicted = (rng.random((2, *shape)) < 0.8).astype(np.uint8)
    return truth, predicted, rng.integers(0, 9, (3, shape[1]))


def of_rows(rng: Generator, dtype: Any) -> Arguments:
    truth, predicted, _ = of_counts(rng, dtype)
    return truth, predicted, np.empty((3, len(truth)), np.int64)


def of_classes(rng: Generator, dtype: Any) -> Arguments:
    true, predicted = rng.integers(0, 5, (2, 50))
    return true, predicted, rng.integers(0, 2**40, 50), np.zeros((3, 5), np.int64)


DRAWS: dict[str, Callable[[Generator, Any], Arguments]] = {
    "best_steps": of_best_steps,
    "_upper_hulls": of_hulls,
    "count_by_label": of_counts,
    "count_by_sample": of_rows,
    "count_classes": of_classes,
    "_flip": of_keys,
    "_flip_back": of_scores,
    "unit_staircases": of_staircases,
}


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("kernel", WITH_STAND_IN, ids=lambda kernel: kernel.py_func.__name__)
def test_a_stand_in_gives_what_its_kernel_does(kernel: Kernel[..., Any], dtype: Any) -> None:
    assert kernel.stand_in is not None
    for seed in range(100):
        given, also_given = (DRAWS[kernel.py_func.__name__](np.random.default_rng(seed), dtype) for _ in range(2))
        found, expected = kernel.stand_in(*given), kernel.dispatcher(*also_given)
        for ours, theirs in zip((*given, *_several(found)), (*also_given, *_several(expected)), strict=True):
            assert np.asarray(ours).dtype == np.asarray(theirs).dtype, seed
            np.testing.assert_array_equal(ours, theirs, str(seed))


def _several(result: Any) -> tuple[Any, ...]:
    return result if isinstance(result, tuple) else () if result is None else (result,)


# When they answer


def test_a_stand_in_answers_until_it_has_done_enough(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_jit, "_ENOUGH", 4 * (100 + _jit.CALL))
    answers = []

    def add_in_numpy(values: Array) -> int:
        answers.append(values.size)
        return int(values.sum())

    @kernel_after(add_in_numpy)
    def add(values: Array) -> int:
        total = 0
        for value in values:
            total += value
        return total

    assert [add(np.ones(size, np.int64)) for size in (100, 100, 1000, 100, 100)] == [100, 100, 1000, 100, 100]
    assert answers == [100, 100, 1000]
    assert add.is_loaded
    assert add(np.ones(1, np.int64)) == 1
    assert answers == [100, 100, 1000]


def test_what_asks_for_more_than_is_left_is_compiled_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_jit, "_ENOUGH", 5 * _jit.CALL)
    answers = []

    @kernel_after(answers.append, cost=10)
    def nothing(values: Array) -> None:
        pass

    assert nothing.stand_in_answers(5 * _jit.CALL)
    assert not nothing.stand_in_answers(5 * _jit.CALL + 1)
    nothing(np.empty(_jit.CALL // 2))
    assert answers == []
    assert nothing.is_loaded
    assert not nothing.stand_in_answers(1)


@pytest.mark.usefixtures("fresh")
def test_somewhat_larger_problems_are_sorted_first_and_counted_later() -> None:
    rng = np.random.default_rng(5)
    truth = (rng.random((30_000, 40)) < 0.05).astype(np.uint8)
    scores = (rng.normal(size=truth.shape) + truth).astype(np.float32)
    found = []
    while not narrowing.note_positives.is_loaded:
        found.append(thresholds.fit_empirical(truth, scores).thresholds)
        assert len(found) < 20
    assert len(found) > 5
    for earlier in found[:-1]:
        np.testing.assert_array_equal(earlier, found[-1])


# Fits as a whole


@pytest.mark.usefixtures("fresh")
@pytest.mark.parametrize("average", ["macro", "weighted", "micro"])
def test_first_fits_and_their_figures_are_those_that_follow(average: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    for seed in range(10):
        rng = np.random.default_rng(seed)
        truth = (rng.random((70, 9)) < rng.choice([0.03, 0.3, 0.9], 9)).astype(np.uint8)
        scores = np.round(rng.normal(size=truth.shape) + truth, 1)

        def fit_and_score(truth: Array = truth, scores: Array = scores) -> tuple[bytes, float, float]:
            rule = thresholds.fit_empirical(truth, scores, average, beta=0.5)
            decided = rule.predict(scores)
            realised = metrics.fbeta_score(truth, decided, beta=0.5, average=average, zero_division=0.0)
            return rule.thresholds.tobytes(), rule.objective, float(realised)

        first = fit_and_score()
        assert not any(kernel.is_loaded for kernel in WITH_STAND_IN)
        with monkeypatch.context() as patch:
            for kernel in WITH_STAND_IN:
                patch.setattr(kernel, "cells_left", 0)
                patch.setattr(kernel, "_loaded", None)
            assert fit_and_score() == first
            assert sorting.unit_staircases.is_loaded
        assert first[1] == first[2]
