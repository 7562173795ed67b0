"""Staircases of sparse scores: those of the items, and of their definition, without sorting the entries."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from numpy.random import Generator
from scipy import sparse

from tests.naive import entries as twin
from thresholds import InputError, fit_empirical
from thresholds.data.problem import Problem
from thresholds.search import entries, staircase
from thresholds.search.staircase import Staircase

Array = np.ndarray[Any, Any]
UNKNOWN = -1


def drawn(rng: Generator) -> Problem:
    """Ties, both zeros stored and absent, masked scores, rows without weight, unknown truth, labels without entries."""
    n, m = rng.integers(1, 40), rng.integers(1, 12)
    scores = np.round(rng.normal(size=(n, m)), rng.integers(0, 3)).astype(rng.choice([np.float32, np.float64]))
    scores[rng.random((n, m)) < 0.05] = -np.inf
    scores[rng.random((n, m)) < 0.05] = -0.0
    row, column = np.nonzero(rng.random((n, m)) < rng.random())
    stored = sparse.csr_array((scores[row, column], (row, column)), shape=(n, m))
    truth = (rng.random((n, m)) < rng.choice([0, 0.1, 0.6])).astype(np.int8)
    if rng.integers(2):
        truth[rng.random((n, m)) < 0.2] = UNKNOWN
    truth[0, 0] = 1
    weights = rng.choice([0, 1, 2.5, 1 / 3], n)
    weights[0] = 1
    return Problem.of(
        sparse.csr_array(truth) if rng.integers(2) else truth,
        stored,
        sample_weight=weights if rng.integers(2) else None,
        missing=rng.choice([0.0, -1.0, 0.5, -np.inf]),
        unknown=UNKNOWN,
        keep_sparse=bool(rng.integers(2)),
    )


def with_lower(stairs: Staircase, problem: Problem) -> Staircase:
    """The same, what is absent lying below all cuts that keep predictions sparse."""
    if not problem.keep_sparse:
        return stairs
    lowest = stairs.score.dtype.type(problem.missing)
    return replace(stairs, lower=np.fmax(stairs.lower, lowest))


def check_same(got: Staircase, expected: Staircase) -> None:
    for name in Staircase.__slots__:
        found, wanted = np.asarray(getattr(got, name)), np.asarray(getattr(expected, name))
        assert found.dtype == wanted.dtype
        np.testing.assert_array_equal(found, wanted, name)


@pytest.mark.parametrize("seed", range(60))
def test_the_staircases_are_those_of_the_items(seed: int) -> None:
    problem = drawn(np.random.default_rng(seed))
    expected = staircase.of_labels(problem, 0, problem.n_labels)
    for n_jobs in (1, 3):
        check_same(staircase.of_entries(problem, n_jobs=n_jobs), with_lower(expected, problem))


@pytest.mark.parametrize("seed", range(60, 80))
def test_the_staircases_are_those_of_the_definition(seed: int) -> None:
    problem = drawn(np.random.default_rng(seed))
    stairs = staircase.of_entries(problem)
    scores = np.full(problem.scores.shape, problem.missing)
    entries = problem.scores.tocoo()
    scores[entries.row, entries.col] = entries.data
    truth = problem.truth.toarray() if sparse.issparse(problem.truth) else problem.truth
    unknown = np.zeros(scores.shape, bool)
    if problem.unknown is not None:
        unknown = problem.unknown.toarray() if sparse.issparse(problem.unknown) else problem.unknown
    for j in range(problem.n_labels):
        columns = (scores[:, j].tolist(), truth[:, j].tolist(), problem.row_weights.tolist(), (~unknown[:, j]).tolist())
        expected = twin.staircase(*columns)
        if problem.keep_sparse:
            expected = [
                step._replace(lower=np.fmax(step.lower, problem.missing))
                for step in expected
                if step.score > problem.missing
            ]
        own = slice(stairs.offsets[j], stairs.offsets[j + 1])
        found = zip(*(getattr(stairs, name)[own].tolist() for name in twin.Step._fields), strict=True)
        for got, wanted in zip(found, expected, strict=True):
            np.testing.assert_array_equal(got, wanted)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("index", [np.int32, np.int64])
def test_many_labels_positives_and_parts(dtype: type, index: type, monkeypatch: pytest.MonkeyPatch) -> None:
    """A label with more candidates than are counted in registers, or sorted by insertion, and some of them close."""
    monkeypatch.setattr(entries, "_ENTRIES_OF_PART", 500)
    rng = np.random.default_rng(1)
    n, m = 400, 1000
    row, column = np.repeat(np.arange(n), 20), (m * rng.random(20 * n) ** 3).astype(int)
    row, column = np.unique(np.stack([row, column]), axis=1)
    cells = rng.random(row.size)
    cells[::2] = 0.5 + 1e-5 * cells[::2]
    scores = sparse.csr_array((cells.astype(dtype), (row, column)), shape=(n, m))
    scores = sparse.csr_array((scores.data, scores.indices.astype(index), scores.indptr.astype(index)), shape=(n, m))
    truth = sparse.csr_array((rng.random(row.size) < 0.6, (row, column)), shape=(n, m))
    for weights in (None, rng.exponential(size=n)):
        for keep_sparse in (True, False):
            problem = Problem.of(truth, scores, sample_weight=weights, keep_sparse=keep_sparse)
            expected = staircase.of_labels(problem, 0, m)
            assert np.diff(expected.offsets).max() > 70
            check_same(staircase.of_entries(problem, n_jobs=3), with_lower(expected, problem))


@pytest.mark.parametrize("average", ["macro", "weighted", "micro"])
def test_threads_do_not_matter(average: str) -> None:
    problem = drawn(np.random.default_rng(7))
    one, many = (fit_empirical(problem.truth, problem.scores, average, n_jobs=n_jobs) for n_jobs in (1, 4))
    np.testing.assert_array_equal(one.thresholds, many.thresholds)
    assert one.objective == many.objective


def test_a_rule_fitted_to_sparse_scores_applies_to_sparse_scores() -> None:
    """The second label has its positive where no score is stored: to predict it always would reach more F."""
    truth = np.array([[1, 1], [0, 0]])
    scores = sparse.csr_array([[0.5, 0.0], [0.2, 0.4]])
    rule = fit_empirical(truth, scores)
    assert rule.thresholds[1] == np.inf
    assert rule.predict(scores).toarray().tolist() == [[1, 0], [0, 0]]
    anywhere = fit_empirical(truth, scores, keep_sparse=False)
    assert anywhere.thresholds[1] <= 0
    assert anywhere.objective > rule.objective
    with pytest.raises(InputError, match=r"keep_sparse=False"):
        anywhere.predict(sparse.csr_array((10**7, 2)))
    dense = fit_empirical(truth, scores.toarray())
    np.testing.assert_array_equal(dense.thresholds, anywhere.thresholds)


def test_cells_stored_twice_are_refused() -> None:
    scores = sparse.csr_array(([0.5, 0.2, 0.1], [1, 1, 0], [0, 2, 3]), shape=(2, 2))
    with pytest.raises(InputError, match="y_score is a malformed sparse array: a cell is stored twice"):
        fit_empirical(np.eye(2, dtype=int), scores)


def test_columns_that_do_not_rise_are_sorted_and_left_alone() -> None:
    rising = sparse.csr_array([[0.5, 0.2], [0.1, 0.7]])
    falling = sparse.csr_array(([0.2, 0.5, 0.7, 0.1], [1, 0, 1, 0], [0, 2, 4]), shape=(2, 2))
    truth = np.eye(2, dtype=int)
    got, expected = fit_empirical(truth, falling), fit_empirical(truth, rising)
    np.testing.assert_array_equal(got.thresholds, expected.thresholds)
    assert falling.indices.tolist() == [1, 0, 1, 0]
