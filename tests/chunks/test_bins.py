"""Bins of neighbouring scores: never more than allowed, as fine as that leaves them, and the same in any order."""

from fractions import Fraction
from functools import reduce
from itertools import pairwise, permutations
from operator import add

import numpy as np
import pytest
from numpy.random import Generator
from scipy import sparse

import thresholds
from tests.cases import Case, small_cases
from tests.naive import bins as naive
from thresholds._engine.histograms import histograms
from thresholds._engine.problem import Problem
from thresholds._kernels.keys import to_scores
from thresholds.chunks.best_cases import highest_f
from thresholds.chunks.bins import Bins


def bins_of(truth: object, scores: object, most: int | None, **about: object) -> Bins:
    """All labels of some rows."""
    problem = Problem.of(truth, scores, **about)
    return Bins.of(histograms(problem, None), most)


def assert_same(found: Bins, expected: Bins) -> None:
    """Every array is the same."""
    for name in ("starts", "lowest", "highest", "positive_weights", "weights", "dropped"):
        np.testing.assert_array_equal(getattr(found, name), getattr(expected, name), name)


def drawn(rng: Generator, n_rows: int, dtype: str, n_labels: int = 3) -> tuple[np.ndarray, np.ndarray]:
    """Rows whose scores are probabilities, some of them tied, or logits of both signs."""
    truth = (rng.random((n_rows, n_labels)) < [0.1, 0.3, 0.6][:n_labels]).astype(np.uint8)
    scores = (rng.normal(size=truth.shape) + truth).astype(dtype)
    scores[:, 0] = 1 / (1 + np.exp(-scores[:, 0].round(2)))
    return truth, scores


@pytest.mark.each_value(case=15)
@pytest.mark.parametrize("most", [None, 2, 3, 5, 16])
@pytest.mark.parametrize("case", list(small_cases(60, seed=3)), ids=str)
def test_bins_are_those_of_the_definition(case: Case, most: int | None) -> None:
    dtype = Problem.of(case.y_true, case.y_score).dtype
    weights = np.ones(len(case.y_true)) if case.sample_weight is None else case.sample_weight
    if (weights % 1 != 0).any():
        weights = (weights > 0).astype(float)
    problem = Problem.of(case.y_true, case.y_score, sample_weight=weights)
    found = Bins.of(histograms(problem, None), most)
    for j in range(problem.n_labels):
        scores = case.y_score[:, j].astype(dtype)
        dropped, expected = naive.bins_of(case.y_true[:, j], scores, weights, dtype.itemsize, most)
        at = slice(found.starts[j], found.starts[j + 1])
        unit = Fraction(problem.unit)
        assert [
            naive.Bin(low, high, int(positives) * unit, int(weight) * unit)
            for low, high, positives, weight in zip(
                to_scores(found.lowest[at]).tolist(),
                to_scores(found.highest[at]).tolist(),
                found.positive_weights[at],
                found.weights[at],
                strict=True,
            )
        ] == expected
        assert found.dropped[j] == dropped


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("most", [None, 7, 40])
def test_parts_add_up_in_any_order_and_any_tree(most: int | None, dtype: str) -> None:
    rng = np.random.default_rng(1)
    truth, scores = drawn(rng, 400, dtype)
    edges = [0, 1, 30, 31, 200, 400]
    parts = [bins_of(truth[a:b], scores[a:b], most) for a, b in pairwise(edges)]
    whole = bins_of(truth, scores, most)
    for order in list(permutations(parts))[::11]:
        assert_same(reduce(add, order), whole)
        assert_same((order[0] + order[1]) + (order[2] + (order[3] + order[4])), whole)


def test_sparse_rows_unknown_cells_and_weights_add_up() -> None:
    rng = np.random.default_rng(2)
    truth, scores = drawn(rng, 300, "float32")
    stored = sparse.csr_array(np.where(rng.random(scores.shape) < 0.3, scores, 0))
    known = np.where(rng.random(truth.shape) < 0.2, -1, truth.astype(int))
    weights = rng.integers(0, 4, 300)
    for y_true, y_score in ((truth, scores), (known, scores), (truth, stored), (known, stored)):
        parts = []
        for rows in np.array_split(np.arange(300), 4):
            problem = Problem.of(y_true[rows], y_score[rows], missing=0.25, unknown=-1, sample_weight=weights[rows])
            assert problem.unit == 1
            parts.append(Bins.of(histograms(problem, None), 20))
        whole = Problem.of(y_true, y_score, missing=0.25, unknown=-1, sample_weight=weights)
        assert_same(reduce(add, parts), Bins.of(histograms(whole, None), 20))


def test_a_label_of_few_scores_loses_nothing() -> None:
    rng = np.random.default_rng(3)
    truth, scores = drawn(rng, 3000, "float32")
    scores[:, 1] = scores[:, 1].round(1)
    found = bins_of(truth, scores, 200)
    assert found.dropped[1] == 0
    assert found.are_exact[found.starts[1] : found.starts[2]].all()
    assert found.dropped[2] > 0
    assert 100 < np.diff(found.starts)[2] <= 200


def test_all_cells_are_in_a_bin_and_bins_do_not_overlap() -> None:
    rng = np.random.default_rng(4)
    truth, scores = drawn(rng, 2000, "float32")
    found = bins_of(truth, scores, 50)
    assert (found.positives == truth.sum(axis=0)).all()
    assert (found.weight_of_label == 2000).all()
    assert (found.lowest <= found.highest).all()
    of_one_label = found.label[1:] == found.label[:-1]
    assert (found.lowest[:-1] > found.highest[1:])[of_one_label].all()


@pytest.mark.each_value(case=10)
@pytest.mark.parametrize("average", ["macro", "weighted", "micro"])
@pytest.mark.parametrize("most", [None, 2, 3])
@pytest.mark.parametrize("case", list(small_cases(25, seed=5)), ids=str)
def test_no_order_of_the_cells_within_bins_exceeds_the_bound(case: Case, most: int | None, average: str) -> None:
    beta = Fraction(case.beta)
    problem = Problem.of(case.y_true, case.y_score)
    found = Bins.of(histograms(problem, None), most)
    labels = [
        naive.bins_of(truth, scores, np.ones(len(truth)), problem.dtype.itemsize, most)[1]
        for truth, scores in zip(case.y_true.T, case.y_score.T.astype(problem.dtype), strict=True)
    ]
    bound = highest_f(found, average, beta=case.beta, zero_division=case.zero_division)
    assert bound == pytest.approx(float(naive.highest_f(labels, average, beta, int(case.zero_division))), abs=1e-12)


@pytest.mark.parametrize("average", ["macro", "weighted", "micro"])
@pytest.mark.parametrize("most", [None, 5, 60])
def test_the_bound_is_at_least_the_best_f_of_the_rows(average: str, most: int | None) -> None:
    rng = np.random.default_rng(6)
    for dtype in ("float32", "float64", "float16"):
        truth, scores = drawn(rng, 500, dtype)
        best = thresholds.fit_empirical(truth, scores, average, beta=1.3).objective
        bound = highest_f(bins_of(truth, scores, most), average, beta=1.3, zero_division=0.0)
        assert bound >= best
        if most is None:
            assert bound == best
        else:
            assert bound < best + 0.5
