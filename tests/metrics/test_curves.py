"""Curves that are drawn: each point is what a cut there reaches."""

import numpy as np
import pytest
from scipy import sparse

import thresholds
from thresholds._engine.problem import Problem
from thresholds.metrics.curves import curves


def scores_with_ties(n_samples: int = 300) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(1)
    y_true = (rng.random((n_samples, 4)) < [0.3, 0.05, 0.0, 1.0]).astype(np.uint8)
    return y_true, (rng.normal(size=y_true.shape) + y_true).round(1).clip(0)


@pytest.mark.parametrize("most", [3, 7, 1000])
@pytest.mark.parametrize("beta", [0.5, 1.0])
@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array])
def test_each_point_is_what_a_cut_there_reaches(most: int, beta: float, kind: type) -> None:
    y_true, y_score = scores_with_ties()
    weight = np.arange(300) % 3
    problem = Problem.of(y_true, kind(y_score), sample_weight=weight)
    rule = thresholds.fit_empirical(y_true, y_score, sample_weight=weight, beta=beta, guard=None)
    for label, curve in enumerate(curves(problem, range(4), most=most, beta=beta)):
        predicted = y_score[:, label, np.newaxis] >= curve.threshold  # (n_samples, n_points)
        is_true = y_true[:, label, np.newaxis] != 0
        np.testing.assert_array_equal(curve.predicted, weight @ predicted)
        np.testing.assert_array_equal(curve.tp, weight @ (predicted & is_true))
        assert curve.positives == weight @ y_true[:, label]
        assert curve.threshold.size <= most
        assert curve.predicted[-1] == curve.n_samples == weight.sum()
        assert (np.diff(curve.threshold) < 0).all()
        if curve.positives:
            reached = weight @ (y_score[:, label] >= rule.thresholds[label])
            assert curve.predicted[curve.best] == reached
            assert curve.f(beta)[curve.best] == curve.f(beta).max()
            np.testing.assert_array_equal(curve.precision, curve.tp / curve.predicted)
            assert curve.recall[-1] == 1
        else:
            assert curve.best == -1
            assert np.isnan(curve.recall).all()


def test_thinned_curves_keep_the_highest_steps_and_reach_the_lowest() -> None:
    n_positives = 2000
    y_true = np.ones((n_positives + 1, 1), np.uint8)
    y_true[-1] = 0  # the lowest score, so that predicting all is no step
    problem = Problem.of(y_true, np.arange(n_positives + 1, 0, -1)[:, np.newaxis] / (n_positives + 2))
    (curve,) = curves(problem, [0], most=80)
    np.testing.assert_array_equal(curve.predicted[:4], [1, 2, 3, 4])
    assert n_positives in curve.predicted
    assert np.diff(curve.predicted).max() < n_positives / 30
