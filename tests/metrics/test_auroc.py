"""AUROC: against scikit-learn, for what leaves ranks alone, and for scores that a sparse matrix leaves out.

Small cases against every pair of a positive and a negative are in `test_metrics_equal_twin.py`.
"""

from collections.abc import Callable

import numpy as np
import pytest
from numpy.random import Generator
from numpy.typing import NDArray
from scipy import sparse
from sklearn.metrics import roc_auc_score

from thresholds import metrics as ours

Array = NDArray[np.generic]
inf = float("inf")


def rng_of(*numbers: int) -> Generator:
    """A generator of its own for each test and case."""
    return np.random.default_rng(numbers)


def scored(shape: tuple[int, int], ties: bool) -> tuple[Array, Array]:
    """Truth with both classes in every label, and scores that follow it weakly."""
    rng = rng_of(*shape, ties)
    y_true = (rng.random(shape) < 0.3).astype(np.uint8)
    y_true[0], y_true[-1] = 0, 1
    y_score = rng.standard_normal(shape) + y_true
    return y_true, np.round(2 * y_score) / 2 if ties else y_score


RANKED = [(2, 1), (5, 3), (40, 4), (9001, 2), (70_000, 2)]


@pytest.mark.parametrize("ties", [True, False])
@pytest.mark.parametrize("shape", RANKED)
def test_auroc_equals_scikit_learn(shape: tuple[int, int], ties: bool) -> None:
    y_true, y_score = scored(shape, ties)
    for weights in (None, rng_of(9).integers(1, 4, shape[0]), rng_of(9).exponential(size=shape[0])):
        expected = [roc_auc_score(y, s, sample_weight=weights) for y, s in zip(y_true.T, y_score.T, strict=True)]
        got = ours.auroc(y_true, y_score, sample_weight=weights)
        np.testing.assert_allclose(got, expected, rtol=0, atol=1e-12)
        assert ours.macro_auroc(y_true, y_score, sample_weight=weights) == pytest.approx(np.mean(expected), abs=1e-12)
        assert ours.auroc(y_true[:, 0], y_score[:, 0], sample_weight=weights) == pytest.approx(got[0], abs=1e-13)


@pytest.mark.parametrize("ties", [True, False])
@pytest.mark.parametrize("shape", RANKED)
def test_auroc_reads_the_order_of_scores_alone(shape: tuple[int, int], ties: bool) -> None:
    y_true, y_score = scored(shape, ties)
    weights = rng_of(10).integers(0, 4, shape[0])
    weights[[0, -1]] = 1
    for given_weights in (None, weights):
        expected = ours.auroc(y_true, y_score, sample_weight=given_weights)
        ranks = np.unique(y_score, return_inverse=True)[1].reshape(shape)
        for same in (np.exp(y_score), 3 * y_score - 7, ranks, np.where(ranks == 0, -inf, y_score)):
            np.testing.assert_array_equal(ours.auroc(y_true, same, sample_weight=given_weights), expected)
        for arguments in ((y_true, -y_score), (1 - y_true, y_score)):
            got = ours.auroc(*arguments, sample_weight=given_weights)
            np.testing.assert_allclose(got, 1 - expected, rtol=0, atol=1e-15)


@pytest.mark.each_value
@pytest.mark.parametrize("dtype", ["bool", "u1", "i1", "i8", "f2", "f4", ">f4", ">i2", "O"])
@pytest.mark.parametrize("put", [np.asarray, np.asfortranarray, lambda x: np.repeat(x, 2, axis=0)[::2], list])
def test_auroc_of_scores_of_any_dtype(dtype: str, put: Callable[[Array], object]) -> None:
    y_true, y_score = scored((60, 3), ties=True)
    few = np.clip(2 * y_score, 0, 9).astype(dtype)
    expected = [roc_auc_score(y, s.astype(float)) for y, s in zip(y_true.T, few.T, strict=True)]
    np.testing.assert_allclose(ours.auroc(y_true, put(few)), expected, rtol=0, atol=1e-15)


@pytest.mark.each_pair
@pytest.mark.parametrize("missing", [0.0, -inf, -1.0, 0.5, 1e30])
@pytest.mark.parametrize("put", [sparse.csr_array, sparse.csc_array, sparse.coo_matrix])
@pytest.mark.parametrize("shape", [(5, 3), (40, 4), (9001, 2)])
def test_absent_scores_are_missing_ones(shape: tuple[int, int], put: Callable[[Array], object], missing: float) -> None:
    """Also beside stored scores that are negative, equal to `missing`, or zero."""
    y_true, y_score = scored(shape, ties=True)
    stored = rng_of(11).random(shape) < 0.4
    marked = put(np.where(stored, y_score + 100, 0))  # so that zeros are stored, too
    marked.data -= 100
    filled = np.where(stored, y_score, missing)
    for weights in (None, rng_of(12).integers(1, 4, shape[0]), rng_of(12).exponential(size=shape[0])):
        expected = ours.auroc(y_true, filled, sample_weight=weights)
        for truth in (y_true, put(y_true)):
            np.testing.assert_allclose(
                ours.auroc(truth, marked, sample_weight=weights, missing=missing), expected, rtol=0, atol=1e-15
            )
