"""What a rule keeps of its fit: figures, no scores, and nothing that changes later."""

import gc
import pickle
import weakref

import numpy as np
import pytest

import thresholds

N_ROWS = {"all rows described": 300, "some": 12_000}


@pytest.fixture(params=N_ROWS.values(), ids=N_ROWS.keys())
def case(request: pytest.FixtureRequest) -> tuple[np.ndarray, np.ndarray]:
    """Truth and scores (n_rows, 30)."""
    rng = np.random.default_rng(0)
    y_true = rng.random((request.param, 30)) < 0.2
    return y_true, rng.normal(size=y_true.shape).astype(np.float32) + y_true


def test_what_happens_to_the_scores_after_a_fit_changes_nothing(case: tuple[np.ndarray, np.ndarray]) -> None:
    y_true, y_score = case
    expected = thresholds.fit_empirical(y_true, y_score).to_dict()
    rule = thresholds.fit_empirical(y_true, y_score)
    y_score[:] = 0
    assert rule.to_dict() == expected


def test_the_scores_of_a_fit_are_let_go() -> None:
    rng = np.random.default_rng(0)
    y_score = rng.normal(size=(300, 30)).astype(np.float32)
    scores = weakref.ref(y_score)
    rule = thresholds.fit_empirical(y_score > 1, y_score)
    del y_score
    gc.collect()
    assert scores() is None
    assert rule.profile is not None


def test_a_pickle_holds_no_scores(case: tuple[np.ndarray, np.ndarray]) -> None:
    assert len(pickle.dumps(thresholds.fit_empirical(*case))) < 10_000


def test_two_fits_of_the_same_data_are_equal(case: tuple[np.ndarray, np.ndarray]) -> None:
    first, second = (thresholds.fit_empirical(*case) for _ in range(2))
    assert first == second
    assert first.fitted_on == second.fitted_on
    assert hash(first) == hash(second)
