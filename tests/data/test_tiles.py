"""Fits that pass over tiles of labels, alone and side by side, and the parts of rows that they are of."""

import dataclasses

import numpy as np

import thresholds
from thresholds.data.parts import parts_of_rows
from thresholds.data.problem import Problem
from thresholds.data.tiles import Pass, Passes, side_by_side
from thresholds.search.staircase import of_labels

RNG = np.random.default_rng(3)
TRUTH = (RNG.random((90, 7)) < 0.3).astype(np.uint8)
SCORES = np.round(RNG.normal(size=TRUTH.shape), 1).astype(np.float32)
FOLDS = RNG.integers(-1, 3, 90)
PAIRS = [(np.flatnonzero(k != FOLDS), np.flatnonzero(k == FOLDS)) for k in range(3)]


def labels_of(n_passes: int) -> Passes[list[list[int]]]:
    """Pass over all tiles some times, and return which labels were there each time."""
    seen = []
    for _ in range(n_passes):
        tiles = yield Pass(lambda first, last: list(range(first, last)))
        seen.append([label for labels in tiles for label in labels])
    return seen


def test_each_fit_has_as_many_passes_as_it_wants() -> None:
    problem = Problem.of(TRUTH, SCORES)
    found = side_by_side(problem, [labels_of(n_passes) for n_passes in (2, 0, 3)])
    assert found == [[list(range(7))] * n_passes for n_passes in (2, 0, 3)]


def test_a_part_has_the_cells_and_the_staircases_of_its_rows() -> None:
    parts = parts_of_rows(Problem.of(TRUTH, SCORES), PAIRS)
    assert parts is not None
    for part, rows in zip(parts, [np.arange(90), *(to_fit for to_fit, _ in PAIRS)], strict=True):
        expected = Problem.of(TRUTH[rows], SCORES[rows])
        for labels in ((0, 3), (3, 7), (0, 3)):
            # A key and its truth as one number; the order of rows does not matter.
            cells, own = (
                2 * keys.astype(np.uint64) + truth
                for keys, truth in (one.keys_and_truth(*labels) for one in (part, expected))
            )
            np.testing.assert_array_equal(np.sort(cells, axis=1), np.sort(own, axis=1))
            found, apart = (dataclasses.astuple(of_labels(one, *labels)) for one in (part, expected))
            for column, of_rows in zip(found, apart, strict=True):
                np.testing.assert_array_equal(column, of_rows)


def test_other_rows_to_fit_on_than_those_outside_a_fold_are_no_parts() -> None:
    problem = Problem.of(TRUTH, SCORES)
    to_fit, judged = PAIRS[0]
    for rows in (to_fit[1:], to_fit[::-1], np.append(to_fit, to_fit[-1])):
        assert parts_of_rows(problem, [(rows, judged), *PAIRS[1:]]) is None


def test_folds_that_fall_back_and_others_are_fitted_side_by_side() -> None:
    # Fold 0 holds all that the scores know: the rule that has not seen it predicts always.
    folds = np.arange(600) % 3
    truth = RNG.random((600, 8)) < 0.3
    scores = RNG.normal(size=truth.shape) + 4 * truth * (folds == 0)[:, np.newaxis] - 0.5 * truth
    found = thresholds.cross_fit(truth, scores, cv=folds)
    apart = [thresholds.fit_empirical(truth[folds != k], scores[folds != k], guard="shrink") for k in range(3)]
    np.testing.assert_array_equal(found.fold_thresholds, [rule.thresholds for rule in apart])
    fell_back = [rule.guard_report.fell_back.any() for rule in apart if rule.guard_report is not None]
    assert fell_back == [True, False, False]


def test_labels_that_are_not_being_read_are_read_apart_and_readings_may_be_nested() -> None:
    rng = np.random.default_rng(5)
    problem, other = (Problem.of(rng.random((30, 9)) < 0.4, rng.random((30, 9))) for _ in range(2))
    alone = problem.keys_and_truth(6, 9), other.keys_and_truth(0, 4)
    with problem.reading(2, 7):
        within, outside = problem.keys_and_truth(3, 5), problem.keys_and_truth(6, 9)
        with other.reading(0, 9):
            of_other = other.keys_and_truth(0, 4)
        after = problem.keys_and_truth(3, 5)
    np.testing.assert_equal((outside, of_other), alone)
    np.testing.assert_equal(after, within)
    np.testing.assert_equal(after, problem.keys_and_truth(3, 5))
