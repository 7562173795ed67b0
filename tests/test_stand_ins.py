"""What NumPy answers before a kernel is worth loading: the same as the kernel, bit for bit."""

import itertools
import pkgutil
from collections.abc import Callable
from importlib import import_module
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from numpy.random import Generator

import thresholds
from thresholds import _kernels, metrics, narrowing
from thresholds._kernels import _jit, keys, sorting
from thresholds._kernels._jit import Kernel, StandIns, kernel_after

Array = np.ndarray[Any, Any]
Arguments = tuple[Any, ...]

MODULES = [import_module(f"{_kernels.__name__}.{module.name}") for module in pkgutil.iter_modules(_kernels.__path__)]
WITH_STAND_IN: dict[str, Kernel[..., Any]] = {
    value.py_func.__name__: value
    for module in MODULES
    for value in vars(module).values()
    if isinstance(value, Kernel) and value.stand_in is not None
}


@pytest.fixture
def fresh(monkeypatch: pytest.MonkeyPatch) -> None:
    """A process that has called nothing yet, on a machine of any speed."""
    monkeypatch.setattr(StandIns, "seconds_left", 1000.0)
    for kernel in (*WITH_STAND_IN.values(), narrowing.note_positives):
        monkeypatch.setattr(kernel, "_loaded", None)


# Each one


def tile(rng: Generator, dtype: Any) -> tuple[Array, Array]:
    """Keys and truth of labels with many ties, with both zeros and -inf, of all prevalences."""
    n_labels, n = rng.integers(1, 6), rng.choice([1, 7, 40, 3000])
    scores = np.round(rng.normal(size=(n_labels, n)), rng.integers(0, 3)).astype(dtype)
    scores[rng.random(scores.shape) < 0.1] = -0.0
    scores[rng.random(scores.shape) < rng.choice([0, 0.1])] = -np.inf
    scores[rng.random(scores.shape) < 0.1] = np.finfo(dtype).smallest_subnormal
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
    return *of_steps(rng, dtype), rng.choice([1e-200, 0.25, 1.0, 4.0, 1e200])


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
    kind = np.int64 if dtype == np.float32 else np.float64  # of weights
    return true, predicted, (rng.random(50) * 2**40).astype(kind), np.zeros((3, 5), kind)


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
@pytest.mark.parametrize("name", WITH_STAND_IN)
def test_a_stand_in_gives_what_its_kernel_does(name: str, dtype: Any) -> None:
    kernel = WITH_STAND_IN[name]
    assert kernel.stand_in is not None
    for seed in range(100):
        given, also_given = (DRAWS[name](np.random.default_rng(seed), dtype) for _ in range(2))
        found, expected = kernel.stand_in(*given), kernel.dispatcher(*also_given)
        for ours, theirs in zip((*given, *_several(found)), (*also_given, *_several(expected)), strict=True):
            assert np.asarray(ours).dtype == np.asarray(theirs).dtype, seed
            np.testing.assert_array_equal(ours, theirs, str(seed))


def _several(result: Any) -> tuple[Any, ...]:
    return result if isinstance(result, tuple) else () if result is None else (result,)


# When they answer


def test_stand_ins_answer_until_they_have_taken_their_time(monkeypatch: pytest.MonkeyPatch) -> None:
    now, answers = [0.0], []
    monkeypatch.setattr(_jit, "time", SimpleNamespace(perf_counter=lambda: now[0]))
    monkeypatch.setattr(StandIns, "seconds_left", 0.5)

    def add_in_numpy(values: Array, more: int = 0) -> int:
        answers.append(values.size)
        now[0] += 0.3
        return int(values.sum()) + more

    @kernel_after(add_in_numpy)
    def add(values: Array, more: int = 0) -> int:
        total = more
        for value in values:
            total += value
        return total

    assert StandIns.can_do(0.16)
    assert not StandIns.can_do(0.17)
    assert [add(np.ones(9, np.int64)), add(values=np.ones(9, np.int64), more=1)] == [9, 10]
    assert StandIns.seconds_left <= 0
    assert not add.is_loaded
    assert [add(np.ones(9, np.int64)), add(values=np.ones(9, np.int64), more=1)] == [9, 10]
    assert answers == [9, 9]
    assert add.is_loaded


def test_once_numba_is_loaded_they_have_less_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(StandIns, "seconds_left", 100.0)

    @_jit.kernel
    def twice(value: int) -> int:
        return 2 * value

    assert twice(4) == 8
    assert 0 < StandIns.seconds_left < 1


@pytest.mark.usefixtures("fresh")
def test_somewhat_larger_problems_are_sorted_first_and_counted_later() -> None:
    rng = np.random.default_rng(5)
    truth = (rng.random((30_000, 40)) < 0.05).astype(np.uint8)
    scores = (rng.normal(size=truth.shape) + truth).astype(np.float32)
    found = []
    for left in (1000.0, 1000.0, 0.0):
        StandIns.seconds_left = left
        assert not narrowing.note_positives.is_loaded
        found.append(thresholds.fit_empirical(truth, scores).thresholds)
    assert narrowing.note_positives.is_loaded
    np.testing.assert_array_equal(found[0], found[2])
    np.testing.assert_array_equal(found[1], found[2])


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
        assert not any(kernel.is_loaded for kernel in WITH_STAND_IN.values())
        with monkeypatch.context() as patch:
            patch.setattr(StandIns, "seconds_left", 0)
            for kernel in WITH_STAND_IN.values():
                patch.setattr(kernel, "_loaded", None)
            assert fit_and_score() == first
            assert sorting.unit_staircases.is_loaded
        assert first[1] == first[2]
