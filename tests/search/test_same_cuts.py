"""Counts at cuts that all labels share, and in bins, against looking at each score."""

from functools import partial

import numpy as np
import pytest
from numpy.random import Generator

from tests.cases import SCORES, draw_scores, draw_truth
from tests.guards.test_guards import check_same, large
from tests.guards.test_pool import pooled
from thresholds._kernels.keys import to_keys, to_scores
from thresholds.data.problem import Problem
from thresholds.guards import pool
from thresholds.search.counting import passes, same_cuts, score_bins
from thresholds.search.counting.score_bins import ScoreBins

pytestmark = pytest.mark.each_value


def drawn(rng: Generator, flavour: str, n_labels: int) -> tuple[Problem, np.ndarray]:
    """A problem, some of whose truth may be unknown, and cuts at some of its scores, rising."""
    scores = draw_scores(rng, (int(rng.integers(1, 60)), n_labels), flavour)
    truth = draw_truth(rng, scores).astype(np.int8)
    is_unknown = rng.random(truth.shape) < rng.choice([0, 0.3])
    problem = Problem.of(np.where(is_unknown, -1, truth), scores, unknown=-1)
    found = to_keys(np.unique(scores.astype(problem.dtype)))
    return problem, np.sort(rng.choice(found, rng.integers(1, found.size + 1), replace=False))


def known(problem: Problem) -> np.ndarray:
    """Which truth is known."""
    return np.ones(problem.truth.shape, bool) if problem.unknown is None else ~problem.unknown


@pytest.mark.parametrize("flavour", SCORES)
@pytest.mark.parametrize("n_labels", [1, 3, 70])
@pytest.mark.parametrize("n_bins", [2, 2**14])
def test_counts_are_those_of_comparing(
    flavour: str, n_labels: int, n_bins: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(score_bins, "_MAX_STRIPE", 64)
    monkeypatch.setattr(score_bins, "_MAX_CELLS_PER_TASK", 1000)
    monkeypatch.setattr(same_cuts, "_N_BINS", n_bins)
    rng = np.random.default_rng(n_labels)
    for _ in range(5):
        problem, cuts = drawn(rng, flavour, n_labels)
        reached = problem.scores.astype(problem.dtype)[..., np.newaxis] >= to_scores(cuts)  # (n, m, n_cuts)
        reached &= known(problem)[..., np.newaxis]
        expected = np.stack([(reached & (problem.truth == 1)[..., np.newaxis]).sum(axis=0), reached.sum(axis=0)])
        for labels in (slice(0, n_labels), slice(n_labels // 2, n_labels)):
            found = same_cuts.count_at_same_cuts(problem, cuts, labels)
            np.testing.assert_array_equal(found, expected[:, labels])
        np.testing.assert_array_equal(same_cuts.count_all_at_same_cuts(problem, cuts), expected.sum(axis=1))
        positives = to_keys(problem.scores.astype(problem.dtype)[problem.truth == 1])
        np.testing.assert_array_equal(np.sort(same_cuts.keys_of_positives(problem)), np.sort(positives))


@pytest.mark.parametrize("flavour", SCORES)
@pytest.mark.parametrize("n_labels", [1, 3, 70])
def test_cells_are_in_the_bins_of_their_keys(flavour: str, n_labels: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(score_bins, "_MAX_STRIPE", 64)
    monkeypatch.setattr(score_bins, "_MAX_CELLS_PER_TASK", 1000)
    rng = np.random.default_rng(n_labels)
    for _ in range(5):
        problem, cuts = drawn(rng, flavour, n_labels)
        scores = problem.scores.astype(problem.dtype)
        is_cell = (scores > -np.inf) & known(problem)
        keys, truth = to_keys(scores[is_cell]), problem.truth[is_cell]
        ends = to_scores(cuts[[0, -1]])
        if not np.isfinite(ends).all():
            continue
        for by_bits in (False, True) if ends[0] >= 0 else (False,):
            bins = ScoreBins.between(ends, int(rng.integers(1, 2000)), by_bits=by_bits)
            own = bins.of_keys(keys)
            assert (np.diff(bins.of_keys(np.sort(keys))) >= 0).all()
            counts, found_ends = score_bins.count_scores_in_bins(problem, bins)
            expected = [np.bincount(which, minlength=bins.n_bins) for which in (own, own[truth == 1])]
            np.testing.assert_array_equal(counts, expected)
            np.testing.assert_array_equal(found_ends, [keys.min(), keys.max()] if keys.size else [])
            wanted = rng.random(bins.n_bins) < 0.5
            parts = score_bins.scores_of_bins(problem, bins, wanted)
            found = np.sort(np.concatenate([2 * key.astype(object) + true for key, true in parts]))
            np.testing.assert_array_equal(found, np.sort((2 * keys.astype(object) + truth)[wanted[own]]))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_bins_that_begin_at_minus_zero_begin_at_zero(dtype: type) -> None:
    scores = np.array([[-0.0], [0.0], [0.25], [1.0]], dtype)
    bins = ScoreBins.between(scores[[0, -1], 0], 100, by_bits=True)
    assert bins == ScoreBins.between(scores[[1, -1], 0], 100, by_bits=True)
    assert bins.from_bits == 0
    problem = Problem.of(np.ones((4, 1), np.uint8), scores)
    counts, _ = score_bins.count_scores_in_bins(problem, bins)
    expected = np.bincount(bins.of_keys(to_keys(scores[:, 0].copy())), minlength=100)
    np.testing.assert_array_equal(counts, [expected, expected])
    assert counts[0, 0] == 2


def test_one_cut_far_from_the_others_does_not_leave_them_in_one_bin() -> None:
    cuts = np.append(np.linspace(-3, 3, 1000), 1e30).astype(np.float32)
    for found in (cuts, -cuts[::-1], 10.0 ** np.linspace(-30, 0, 1000, dtype=np.float32)):
        assert same_cuts._Intervals.of(to_keys(found)).first_step <= 8


def test_the_guard_pool_is_the_same_label_by_label(monkeypatch: pytest.MonkeyPatch) -> None:
    problem = large(shape=(1500, 70))
    steps = partial(pool._steps_of, Problem.of(problem.y_true, problem.y_score), 1, progress=False)
    assert type(steps()) is pool._StepsByTiles
    expected = pooled(problem)
    monkeypatch.setattr(passes, "_WORTH_COUNTING", 0)
    monkeypatch.setattr(pool, "_LABELS_COUNTED_AT_ONCE", 32)
    assert type(steps()) is pool._Steps
    check_same(pooled(problem, n_jobs=3), expected)
