"""What part of the rows of a label counts as independent: by its definition, each group left out in a loop."""

import numpy as np
import pytest
from numpy.random import Generator
from scipy import sparse, stats

from thresholds import ThresholdRule
from thresholds._engine.problem import Problem
from thresholds.metrics.clusters import IndependentShares, independent_shares
from thresholds.metrics.judging import decide_all

N, N_LABELS = 90, 5


def drawn(rng: Generator) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Truth and decisions that are alike in groups of different sizes, out of order; one label has nothing."""
    groups = rng.permutation(np.minimum(rng.geometric(0.08, N), 25) - 1)
    _, groups = np.unique(groups, return_inverse=True)
    level = rng.normal(size=(groups.max() + 1, N_LABELS))
    truth = (level[groups] + rng.normal(size=(N, N_LABELS)) > 0.8).astype(int)
    decided = (level[groups] + rng.normal(size=(N, N_LABELS)) > 0.8).astype(int)
    truth[:, 3] = decided[:, 3] = 0
    decided[:, 4] = truth[:, 4]  # all right, so that no variance is seen
    return truth, decided, groups


def share(x: np.ndarray, y: np.ndarray, has_part: np.ndarray, groups: np.ndarray, confidence: float) -> float:
    """The definition, for a ratio of sums of x and y over rows."""
    n = has_part.sum()
    if n == 0:
        return 1.0
    sizes = np.array([has_part[groups == group].sum() for group in np.unique(groups)])
    least = n / (sizes**2).sum()
    value = x.sum() / y.sum()
    of_rows = (((x - value * y) / y.sum()) ** 2).sum()
    if of_rows == 0 or np.count_nonzero(sizes) == 1:
        return float(least)
    changes = []
    for group in np.unique(groups):
        rest = groups != group
        if has_part[~rest].any():
            changes.append(0.0 if not y[rest].sum() else x[rest].sum() / y[rest].sum() - value)
    squares = np.square(changes)
    n_groups = squares.size
    freedom = n_groups - 1
    spread = (squares**2).sum() - squares.sum() ** 2 / n_groups
    if spread > 0:
        freedom = np.clip(2 * squares.sum() ** 2 / spread, 1, max(n_groups - 1, 1))
    level = (1 + confidence) / 2
    few = stats.norm.ppf(level) / stats.t.ppf(level, max(freedom, 1))
    return float(np.clip(of_rows / squares.sum() * few**2, least, 1))


def expected(
    truth: np.ndarray, decided: np.ndarray, groups: np.ndarray, beta: float, confidence: float
) -> IndependentShares:
    """All labels, by the definition."""
    columns = []
    for true, marked in zip(truth.T, decided.T, strict=True):
        both = true & marked
        columns.append(
            (
                share(both, marked, marked == 1, groups, confidence),
                share(both, true, true == 1, groups, confidence),
                share((1 + beta**2) * both, beta**2 * true + marked, (true | marked) == 1, groups, confidence),
            )
        )
    return IndependentShares(*np.array(columns).T)


def found(
    truth: object, decided: np.ndarray, groups: np.ndarray, beta: float = 1.0, confidence: float = 0.95
) -> IndependentShares:
    """Those of decisions that a rule takes."""
    rule = ThresholdRule(np.full(decided.shape[1], 0.5))
    scores = sparse.csr_array(decided.astype(float)) if sparse.issparse(truth) else decided.astype(float)
    problem = Problem.of(truth, scores, unknown=-1)
    return independent_shares(decide_all(rule, problem), problem, groups, beta, confidence)


@pytest.mark.parametrize("beta", [1.0, 2.0])
@pytest.mark.parametrize("seed", range(5))
def test_they_are_those_of_the_definition(seed: int, beta: float, monkeypatch: pytest.MonkeyPatch) -> None:
    truth, decided, groups = drawn(np.random.default_rng(seed))
    by_definition = expected(truth, decided, groups, beta, 0.9)
    # In blocks of few rows, which end where groups do.
    monkeypatch.setattr("thresholds._arrays.blocks._BLOCK_ROWS", 7)
    for kind in (np.asarray, sparse.csr_array):
        np.testing.assert_allclose(found(kind(truth), decided, groups, beta, 0.9), by_definition, rtol=1e-9)


def test_rows_of_one_group_each_all_count() -> None:
    truth, decided, _ = drawn(np.random.default_rng(7))
    assert np.array_equal(found(truth, decided, np.arange(N)), np.ones((3, N_LABELS)))


def test_three_copies_of_each_row_count_as_one() -> None:
    truth, decided, _ = drawn(np.random.default_rng(7))
    three = found(np.repeat(truth, 3, axis=0), np.repeat(decided, 3, axis=0), np.repeat(np.arange(N), 3))
    supported = [0, 1, 2, 4]
    np.testing.assert_allclose(np.array(three)[:, supported], 1 / 3)


def test_rows_that_are_not_known_are_in_no_group() -> None:
    truth, decided, groups = drawn(np.random.default_rng(3))
    hidden = truth.copy()
    hidden[:20] = -1
    some = found(hidden, decided, groups)
    np.testing.assert_allclose(some, expected(truth[20:], decided[20:], groups[20:], 1.0, 0.95), rtol=1e-9)


def test_a_label_in_one_group_alone_counts_once() -> None:
    truth = np.zeros((40, 1), int)
    truth[:8] = 1
    decided = np.zeros((40, 1), int)
    decided[2:10] = 1
    shares = found(truth, decided, np.repeat(np.arange(4), 10))
    np.testing.assert_allclose(np.concatenate(shares), [1 / 8, 1 / 8, 1 / 10])
