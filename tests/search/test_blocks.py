"""Blocks of rows of lanes: every cell once, in order, where it is or as a copy."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy import sparse

from thresholds._kernels.counting import ROWS_AT_ONCE
from thresholds.data.problem import Problem
from thresholds.search.counting import blocks as lanes
from thresholds.search.counting.blocks import Lanes

Array = np.ndarray[Any, np.dtype[Any]]

WIDTHS = (1, 2, 3, 5, 7, 8, 12, 31, 32, 63, 64, 65, 72, 100, 130)


@pytest.fixture(params=[2**18, 700], ids=["one block", "many blocks"], autouse=True)
def _room(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Blocks of any size."""
    monkeypatch.setattr(lanes, "_BLOCK_CELLS", request.param)


def problem_of(width: int, dtype: str = "float32", truth: Callable[[Array], Any] = np.asarray) -> Problem:
    """197 rows whose scores are all different."""
    scores = np.arange(197 * width).reshape(197, width).astype(dtype)
    return Problem.of(truth((np.random.default_rng(width).random((197, width)) < 0.3).astype(np.uint8)), scores)


def cells(lane: Lanes, blocks: list[Array]) -> Array:
    """Put blocks of rows of lanes back into rows of the matrix."""
    return np.concatenate([lane.by_fold(block).reshape(-1, lane.n_labels) for block in blocks])


@pytest.mark.parametrize("rows", [slice(0, 197), slice(40, 103), slice(196, 197)], ids=str)
@pytest.mark.parametrize("width", WIDTHS)
def test_blocks_hold_every_cell_once_in_order(width: int, rows: slice) -> None:
    problem = problem_of(width)
    for labels in (slice(0, width), slice(width // 3, width // 3 + 1), slice(width // 2, width)):
        lane = Lanes(problem, labels, rows)
        scores = [block.copy() for block in lane.score_blocks()]
        truth = [(at, words.copy().view(np.uint8)) for at, words in lane.truth_blocks()]
        found = cells(lane, scores)
        n_rows = rows.stop - rows.start
        np.testing.assert_array_equal(found[:n_rows], problem.scores[rows, labels])
        assert np.isnan(found[n_rows:]).all(), "where there is no row"
        used = lane.n_labels * lane.folds
        assert all(np.isnan(block[:, used:]).all() for block in scores), "where there is no label"
        found = cells(lane, [block for _, block in truth])
        np.testing.assert_array_equal(found[:n_rows], problem.truth[rows, labels])
        assert not found[n_rows:].any()
        assert not any(block[:, used:].any() for _, block in truth)
        assert [at for at, _ in truth] == np.append(0, np.cumsum([len(block) for block in scores]))[:-1].tolist()


@pytest.mark.parametrize("width", WIDTHS)
def test_scores_and_truth_come_together(width: int) -> None:
    lane = Lanes(problem_of(width), slice(0, width), slice(3, 190))
    scores, words = zip(*[(block.copy(), words.copy()) for block, words in lane.blocks()], strict=True)
    for block, expected in zip(scores, lane.score_blocks(), strict=True):
        np.testing.assert_array_equal(block, expected)
    for block, (_, expected_words) in zip(words, lane.truth_blocks(), strict=True):
        np.testing.assert_array_equal(block, expected_words)


@pytest.mark.parametrize("width", WIDTHS)
def test_rows_of_lanes_are_whole_words_and_long(width: int) -> None:
    lane = Lanes(problem_of(width), slice(0, width), slice(0, 197))
    assert lane.width % 8 == 0
    assert lane.width >= 64
    assert lane.width - lane.n_labels * lane.folds < 8
    assert lane.folds == 1 or lane.n_labels < 64
    assert all(
        len(block) % ROWS_AT_ONCE == 0 and lane.n_labels <= block.shape[1] <= lane.width
        for block in lane.score_blocks()
    )
    if width == 1:
        assert lane.folds == 64
    if width == 100:
        assert (lane.folds, lane.width) == (1, 104)


@pytest.mark.parametrize("width", WIDTHS)
def test_values_of_labels_go_to_their_lanes_and_back(width: int) -> None:
    lane = Lanes(problem_of(width), slice(0, width), slice(0, 197))
    values = np.arange(3.0 * width).reshape(3, width)
    spread = lane.spread(values, np.inf)
    used = lane.n_labels * lane.folds
    assert spread.shape == (3, lane.width)
    assert np.isposinf(spread[:, used:]).all()
    np.testing.assert_array_equal(spread[:, :used], values[:, lane.label_of_lane[:used]])
    np.testing.assert_array_equal(
        lane.by_fold(spread), np.broadcast_to(values[:, np.newaxis], (3, lane.folds, lane.n_labels))
    )


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_rows_that_are_blocks_already_are_not_copied(dtype: str) -> None:
    problem = problem_of(64, dtype)
    for given, kinds in ((problem, [True]), (problem_of(64, dtype, lambda truth: truth.astype(bool)), [True])):
        lane = Lanes(given, slice(0, 64), slice(0, 192))
        assert [np.shares_memory(block, given.scores) for block in lane.score_blocks()][:1] == kinds
        assert [np.shares_memory(words, given.truth) for _, words in lane.truth_blocks()][:1] == kinds


@pytest.mark.parametrize(
    "lay",
    [np.asfortranarray, lambda a: np.pad(a, ((0, 0), (0, 8)))[:, :64], lambda a: a.astype(a.dtype.newbyteorder())],
    ids=["F", "in a wider matrix", "other byte order"],
)
def test_other_rows_are_copied_into_one_block_after_another(lay: Callable[[Array], Array]) -> None:
    problem = problem_of(64)
    given = Problem.of(np.asfortranarray(problem.truth), lay(problem.scores))
    lane = Lanes(given, slice(0, 64), slice(0, 192))
    blocks = list(lane.score_blocks())
    assert not any(np.shares_memory(block, given.scores) for block in blocks)
    assert all(np.shares_memory(block, blocks[0]) for block in blocks)
    assert all(block.dtype == np.float32 and block.flags.carray for block in blocks)
    np.testing.assert_array_equal(
        cells(lane, [block.copy() for block in lane.score_blocks()])[:192], problem.scores[:192]
    )


@pytest.mark.parametrize("kind", [sparse.csr_array, sparse.csc_matrix, sparse.coo_array])
def test_sparse_truth_comes_as_words(kind: type) -> None:
    for width in (5, 64, 100):
        dense, given = problem_of(width), problem_of(width, truth=kind)
        for labels in (slice(0, width), slice(1, 4)):
            of_dense, of_sparse = (list(Lanes(p, labels, slice(7, 150)).truth_blocks()) for p in (dense, given))
            assert len(of_dense) == len(of_sparse)
        lane = Lanes(given, slice(0, width), slice(7, 150))
        found = cells(lane, [words.copy().view(np.uint8) for _, words in lane.truth_blocks()])
        np.testing.assert_array_equal(found[:143], dense.truth[7:150])


@pytest.mark.parametrize(("dtype", "lanes_dtype"), [("float16", "float32"), ("int8", "float32"), ("int64", "float64")])
def test_other_numbers_become_floats_that_hold_them(dtype: str, lanes_dtype: str) -> None:
    scores = np.arange(-60, 60).reshape(40, 3).astype(dtype)
    lane = Lanes(Problem.of(np.zeros((40, 3), bool), scores), slice(0, 3), slice(0, 40))
    (block,) = [block.copy() for block in lane.score_blocks()]
    assert block.dtype == lanes_dtype
    np.testing.assert_array_equal(cells(lane, [block])[:40], scores)
