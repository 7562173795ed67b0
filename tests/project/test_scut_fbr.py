"""SCutFBR.1, the rival that guards are compared with, label by label from its definition."""

import importlib
import math
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import sparse

import thresholds
from tests.naive import exhaustive as naive

sys.path.insert(0, str(Path(__file__).parents[2] / "experiments" / "guards"))
rival: Any = importlib.import_module("scut_fbr")

Array = NDArray[np.generic]
NEVER = naive.NEVER


def f1(truth: Array, scores: Array, cut: float) -> float:
    """F1 of one label at a cut; 0/0 is 0."""
    counts = naive.counts(truth, scores >= cut, naive.exact_weights(None, len(truth)))
    return float(naive.f_beta(*counts, 1.0, 0.0))


def mean_cut(truth: Array, scores: Array, fold: Array, fbr: float) -> float:
    """Mean over folds of the best cut, or of the highest score where the best F1 is not above `fbr`."""
    cuts = []
    for k in np.unique(fold):
        fold_truth, fold_scores = truth[fold == k], scores[fold == k]
        column = fold_truth[:, np.newaxis], fold_scores[:, np.newaxis]
        best = naive.best_macro(*column, 1.0, 0.0, None)[0][0]
        highest = float(fold_scores.max())
        cuts.append(best if f1(fold_truth, fold_scores, best) > fbr else highest if highest > -math.inf else NEVER)
    return NEVER if NEVER in cuts else sum(cut / len(cuts) for cut in cuts)


def chosen_cut(truth: Array, scores: Array, outer: Array, inner: Sequence[Array], candidates: Sequence[float]) -> float:
    """The cut of the last candidate that does best on each fold with a cut made on the others."""
    if not truth.any():
        return NEVER
    sums = []
    for fbr in sorted(candidates):
        cuts = [mean_cut(truth[outer != k], scores[outer != k], folds, fbr) for k, folds in enumerate(inner)]
        sums.append(sum(f1(truth[outer == k], scores[outer == k], cut) for k, cut in enumerate(cuts)))
    last = max(i for i, total in enumerate(sums) if total == max(sums))
    return mean_cut(truth, scores, outer, min(candidates) if max(sums) == 0 else sorted(candidates)[last])


@pytest.mark.soak  # of a rival that the library does not have
@pytest.mark.parametrize("options", [{}, {"candidates": (0.3, 0.7, 0.5), "random_state": 3}, {"n_folds": 2}], ids=str)
def test_it_is_its_definition(options: dict[str, Any]) -> None:
    n_folds, seed = options.get("n_folds", 3), options.get("random_state", 0)
    for i in range(12):
        rng = np.random.default_rng([2007, i])
        truth = (rng.random((int(rng.choice([9, 14, 40])), 3)) < [0.1, 0.3, 0.6]).astype(np.uint8)
        scores = np.round(rng.random(truth.shape) + 0.3 * truth, 1 if i % 2 else 6)
        scores[rng.random(truth.shape) < 0.2] = 0.0 if i % 3 else -math.inf
        outer = thresholds.multilabel_folds(truth, n_folds, random_state=seed)
        inner = [thresholds.multilabel_folds(truth[outer != k], n_folds, random_state=seed) for k in range(n_folds)]
        candidates = options.get("candidates", rival.CANDIDATES)
        expected = [chosen_cut(truth[:, j], scores[:, j], outer, inner, candidates) for j in range(3)]
        got = rival.scut_fbr(truth, scores, **options)
        np.testing.assert_allclose(got.thresholds, expected, rtol=1e-12)
        if i % 3:
            csr = rival.scut_fbr(sparse.csr_array(truth), sparse.csr_array(scores), **options)
            np.testing.assert_array_equal(csr.thresholds, got.thresholds)


@pytest.mark.parametrize("score", [0.1, 0.7, 0.3, 1 / 3])
@pytest.mark.parametrize("n_folds", [3, 5, 6])
def test_folds_of_one_mind_are_followed(score: float, n_folds: int) -> None:
    """The mean of equal cuts is that cut: no rounding takes the tie group away."""
    truth = np.tile([[1, 0], [0, 1], [0, 0]], (60, 1))
    rule = rival.scut_fbr(truth, np.where(truth, score, score / 2), n_folds=n_folds)
    assert rule.thresholds.tolist() == [score, score]


def test_an_f1_at_the_bound_itself_is_hopeless() -> None:
    truth = np.tile([[1, 0], [0, 1], [0, 0]], (20, 1))
    scores = truth + np.linspace(0, 0.5, 60)[:, np.newaxis]
    folds = thresholds.multilabel_folds(truth, 3, random_state=0)
    highest = np.mean([scores[folds == k].max(axis=0) for k in range(3)], axis=0)
    np.testing.assert_allclose(rival.scut_fbr(truth, scores, candidates=(1.0,)).thresholds, highest)
