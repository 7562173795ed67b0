"""What a rule keeps of its fit is made when it is read: of copies, once, and as it would have been at the fit."""

import copy
import gc
import pickle
import threading
import weakref
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

import thresholds
from thresholds.results import Later, as_given

N_ROWS = {"all rows kept": 300, "some": 12_000}


def data(n_rows: int) -> tuple[np.ndarray, np.ndarray]:
    """Truth and scores (n_rows, 30)."""
    rng = np.random.default_rng(0)
    y_true = rng.random((n_rows, 30)) < 0.2
    return y_true, rng.normal(size=y_true.shape).astype(np.float32) + y_true


def is_made(rule: thresholds.ThresholdRule) -> bool:
    """Whether the quantiles are made."""
    assert rule.fitted_on is not None
    return not isinstance(as_given(rule.fitted_on, "quantiles"), Later)


@pytest.fixture(params=N_ROWS.values(), ids=N_ROWS.keys())
def case(request: pytest.FixtureRequest) -> tuple[np.ndarray, np.ndarray]:
    return data(request.param)


def test_a_fit_makes_no_quantiles(case: tuple[np.ndarray, np.ndarray]) -> None:
    rule = thresholds.fit_empirical(*case)
    assert not is_made(rule)
    assert rule.fitted_on is not None
    assert rule.fitted_on.quantiles
    assert is_made(rule)


def test_what_happens_to_the_scores_after_a_fit_changes_nothing(case: tuple[np.ndarray, np.ndarray]) -> None:
    y_true, y_score = case
    expected = thresholds.fit_empirical(y_true, y_score).to_dict()
    rule = thresholds.fit_empirical(y_true, y_score)
    y_score[:] = 0
    assert rule.to_dict() == expected


@pytest.mark.parametrize("n_rows", N_ROWS.values())
def test_the_scores_of_a_fit_are_let_go_at_once(n_rows: int) -> None:
    y_true, y_score = data(n_rows)
    scores = weakref.ref(y_score)
    rule = thresholds.fit_empirical(y_true, y_score)
    del y_score
    gc.collect()
    assert scores() is None
    assert rule.profile is not None


@pytest.mark.parametrize(
    "copied",
    [copy.copy, copy.deepcopy, lambda rule: pickle.loads(pickle.dumps(rule)), replace],
    ids=["copy", "deepcopy", "pickle", "replace"],
)
def test_copies_have_it_made(
    copied: Callable[[thresholds.ThresholdRule], thresholds.ThresholdRule], case: tuple[np.ndarray, np.ndarray]
) -> None:
    rule = thresholds.fit_empirical(*case)
    again = copied(rule)
    assert again.to_dict() == rule.to_dict()
    assert again.fitted_on == rule.fitted_on


def test_a_pickle_holds_no_scores(case: tuple[np.ndarray, np.ndarray]) -> None:
    assert len(pickle.dumps(thresholds.fit_empirical(*case))) < 10_000


def test_threads_read_the_same(case: tuple[np.ndarray, np.ndarray]) -> None:
    expected = thresholds.fit_empirical(*case).to_dict()
    rule = thresholds.fit_empirical(*case)
    begin = threading.Barrier(8)
    found: list[object] = []

    def read() -> None:
        begin.wait()
        found.append(rule.to_dict())

    workers = [threading.Thread(target=read) for _ in range(8)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert found == [expected] * 8


def test_reading_changes_no_hash_and_no_equality(case: tuple[np.ndarray, np.ndarray]) -> None:
    first, second = (thresholds.fit_empirical(*case).fitted_on for _ in range(2))
    assert first == second
    assert hash(first) == hash(second)
