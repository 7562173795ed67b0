"""What NumPy answers before a kernel is worth loading: the same as the kernel, bit for bit."""

import os
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import thresholds
from tests.kernels.draws import DRAWS, KERNELS, Array
from tests.kernels.test_without_compilation import reached
from thresholds import metrics
from thresholds._kernels import _jit, cache_folders, sorting
from thresholds._kernels._jit import StandIns, kernel_after, late_kernel, late_kernel_of
from thresholds.search.counting import passes

WITH_STAND_IN = {name: kernel for name, kernel in KERNELS.items() if kernel.stand_in is not None}
IN_NUMPY = {name for name, kernel in WITH_STAND_IN.items() if kernel.n_steps is None}
# Loops that Python runs are held to what is compiled in `test_without_compilation.py`; here those that call NumPy's.
CALLING_NUMPY = [name for name in DRAWS if name in WITH_STAND_IN and reached({name}) & IN_NUMPY]


@pytest.fixture
def fresh(monkeypatch: pytest.MonkeyPatch) -> None:
    """A process that has called nothing yet, on a machine of any speed."""
    monkeypatch.setattr(StandIns, "seconds_left", 1000.0)
    for kernel in (*WITH_STAND_IN.values(), passes.note_positives):
        monkeypatch.setattr(kernel, "_loaded", None)


# Each one


@pytest.mark.each_value
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("name", CALLING_NUMPY)
def test_a_stand_in_gives_what_its_kernel_does(name: str, dtype: Any) -> None:
    kernel = WITH_STAND_IN[name]
    assert kernel.stand_in is not None
    for seed in range(100 if name in IN_NUMPY else 10):
        given, also_given = (DRAWS[name](np.random.default_rng(seed), dtype) for _ in range(2))
        found, expected = kernel.stand_in(*given), kernel.dispatcher(*also_given)
        for ours, theirs in zip(_several((given, found)), _several((also_given, expected)), strict=True):
            assert np.asarray(ours).dtype == np.asarray(theirs).dtype, seed
            np.testing.assert_array_equal(ours, theirs, str(seed))


def _several(result: Any) -> list[Any]:
    if isinstance(result, tuple):
        return [value for part in result for value in _several(part)]
    return [] if result is None else [result]


# When they answer


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The time of a thread, which passes when it is told to; stand-ins have half a second of it."""
    now = [0.0]
    monkeypatch.setattr(_jit, "time", SimpleNamespace(thread_time=lambda: now[0]))
    monkeypatch.setattr(StandIns, "seconds_left", 0.5)
    return now


def adding(clock: list[float], seconds: float) -> tuple[_jit.Kernel[..., int], list[int]]:
    """A kernel whose stand-in takes so long, and what was asked of the stand-in."""
    answers = []

    def add_in_numpy(values: Array, more: int = 0) -> int:
        answers.append(values.size)
        clock[0] += seconds
        return int(values.sum()) + more

    @kernel_after(add_in_numpy)
    def add(values: Array, more: int = 0) -> int:
        total = more
        for value in values:
            total += value
        return total

    return add, answers


def test_stand_ins_answer_until_they_have_taken_their_time(clock: list[float], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_jit, "is_kept", lambda _: True)
    add, answers = adding(clock, 0.2)
    assert StandIns.can_do(0.16)
    assert not StandIns.can_do(0.17)
    assert [add(np.ones(9, np.int64)), add(values=np.ones(9, np.int64), more=1)] == [9, 10]
    assert StandIns.seconds_left == pytest.approx(0.1)
    assert not add.is_loaded
    assert [add(np.ones(9, np.int64)), add(values=np.ones(9, np.int64), more=1)] == [9, 10]
    assert answers == [9, 9]
    assert add.is_loaded


def test_a_stand_in_that_sorts_is_known_to_take_long_before_it_has_worked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(StandIns, "seconds_left", 2.0)
    monkeypatch.setattr(_jit, "is_kept", lambda _: True)
    answers = []

    def largest_in_numpy(values: Array) -> float:
        answers.append(values.size)
        return float(np.sort(values)[-1])

    @kernel_after(largest_in_numpy, seconds_per_element=1e-5)
    def largest(values: Array) -> float:
        most = values[0]
        for value in values:
            most = max(most, value)
        return most

    assert largest(np.arange(9.0)) == 8
    assert largest(np.arange(300_000.0)) == 299_999
    assert largest.is_loaded
    assert answers == [9]


def test_who_knows_how_much_will_come_in_pieces_has_the_kernel_from_the_first_on(
    clock: list[float], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_jit, "is_kept", lambda _: True)
    add, answers = adding(clock, 0.0)
    add.expect(10**7)  # which takes .1 s
    assert add(np.ones(9, np.int64)) == 9
    assert not add.is_loaded
    add.expect(10**8)
    assert add(np.ones(9, np.int64)) == 9
    assert add.is_loaded
    assert answers == [9]


def test_what_was_never_compiled_may_take_as_long_as_that_takes(
    clock: list[float], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_jit, "_TO_COMPILE", 1.0)  # a byte
    add, answers = adding(clock, 1.0)
    for _ in range(9):
        add(np.ones(9, np.int64))
    assert len(answers) == 9
    assert StandIns.seconds_left == 0.5


def test_a_loop_is_run_in_python_while_it_is_short(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(StandIns, "seconds_left", 2.0)

    @late_kernel
    def add(values: Array) -> int:
        total = 0
        for value in values:
            total += value
        return total

    @late_kernel_of(lambda n: float(n) ** 2)
    def halve(n: int) -> float:
        return n / 2

    assert (add(np.ones(1000, np.int64)), halve(100)) == (1000, 50.0)
    assert not add.is_loaded
    assert not halve.is_loaded
    assert (add(np.ones(10**7, np.int64)), halve(10**6)) == (10**7, 500_000.0)
    assert add.is_loaded
    assert halve.is_loaded


def test_who_forbids_stand_ins_has_kernels_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(StandIns, "seconds_left", 0)
    add, answers = adding([0.0], 0.0)
    assert add(np.ones(9, np.int64)) == 9
    assert add.is_loaded
    assert answers == []


def test_a_kernel_is_kept_whose_lock_was_held_since_it_was_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    loop = sorting.sorted_groups.py_func
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path))
    monkeypatch.setattr(cache_folders, "__file__", str(tmp_path / "_kernels" / "cache_folders.py"))
    lock = tmp_path / "_kernels_0" / cache_folders.name_of_lock(loop)
    lock.parent.mkdir()
    written = Path(loop.__code__.co_filename).stat().st_mtime
    found = []
    for age in (None, -1.0, 1.0):
        if age is not None:
            lock.touch()
            os.utime(lock, (written + age, written + age))
        cache_folders._locks.cache_clear()
        found.append(cache_folders.is_kept(loop))
    cache_folders._locks.cache_clear()
    assert found == [False, False, True]


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
        assert not passes.note_positives.is_loaded
        found.append(thresholds.fit_empirical(truth, scores).thresholds)
    assert passes.note_positives.is_loaded
    np.testing.assert_array_equal(found[0], found[2])
    np.testing.assert_array_equal(found[1], found[2])


@pytest.mark.usefixtures("fresh")
def test_a_stand_in_looks_at_no_flags_as_its_kernel_does_not() -> None:
    p = np.random.default_rng(0).random((50, 3))
    p[0] = 1e-310
    weights = np.arange(1, 51) / 3
    with np.errstate(all="raise"):
        assert thresholds.fit_expected(p, sample_weight=weights).objective > 0


# Fits as a whole


@pytest.mark.usefixtures("fresh")
@pytest.mark.parametrize("average", ["macro", "weighted", "micro"])
def test_first_fits_and_their_figures_are_those_that_follow(average: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    for seed in range(5):
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


CALLS: dict[str, Callable[[Array, Array], list[Array]]] = {
    "cross_fit, shrink": lambda truth, scores: folds_of(thresholds.cross_fit(truth, scores, guard="shrink")),
    "cross_fit, no guard": lambda truth, scores: folds_of(thresholds.cross_fit(truth, scores, guard=None)),
    "weights": lambda truth, scores: figures_of(
        thresholds.fit_empirical(truth, scores, sample_weight=np.arange(1, len(truth) + 1) / 3)
    ),
    "probabilities": lambda truth, scores: figures_of(thresholds.fit_expected(1 / (1 + np.exp(-scores)))),
    "top-k": lambda truth, scores: [thresholds.fit(truth, scores, "top-k").to_dict()["k"]],
}


def folds_of(found: thresholds.CrossFit) -> list[Array]:
    return [*figures_of(found.rule), found.fold_thresholds, np.array(found.out_of_fold)]


def figures_of(rule: thresholds.ThresholdRule) -> list[Array]:
    return [rule.thresholds, np.array(rule.objective)]


@pytest.mark.usefixtures("fresh")
@pytest.mark.parametrize("name", CALLS)
def test_what_else_is_called_first_gives_what_follows(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(3)
    truth = (rng.random((90, 7)) < rng.choice([0.05, 0.3, 0.9], 7)).astype(np.uint8)
    scores = np.round(rng.normal(size=truth.shape) + truth, 1)
    first = CALLS[name](truth, scores)
    assert not any(kernel.is_loaded for kernel in WITH_STAND_IN.values())
    monkeypatch.setattr(StandIns, "seconds_left", 0)
    for found, expected in zip(CALLS[name](truth, scores), first, strict=True):
        np.testing.assert_array_equal(found, expected)
    assert any(kernel.is_loaded for kernel in WITH_STAND_IN.values())
