"""Blocks of rows: every cell once, in order, where it is or as a copy."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy import sparse

from thresholds._kernels.counting import ROWS_AT_ONCE
from thresholds.data.problem import Problem
from thresholds.search.counting import blocks as module
from thresholds.search.counting.blocks import Blocks

Array = np.ndarray[Any, np.dtype[Any]]

WIDTHS = (1, 2, 3, 5, 7, 8, 12, 31, 32, 63, 64, 65, 72, 100, 130)


@pytest.fixture(params=[2**18, 700], ids=["one block", "many blocks"], autouse=True)
def _room(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Blocks of any size."""
    monkeypatch.setattr(module, "_MAX_CELLS", request.param)


def problem_of(width: int, dtype: str = "float32", truth: Callable[[Array], Any] = np.asarray) -> Problem:
    """197 rows whose scores are all different."""
    scores = np.arange(197 * width).reshape(197, width).astype(dtype)
    return Problem.of(truth((np.random.default_rng(width).random((197, width)) < 0.3).astype(np.uint8)), scores)


def cells(stripe: Blocks, blocks: list[Array]) -> Array:
    """Put blocks back into rows of the matrix."""
    return np.concatenate([stripe.by_row(block).reshape(-1, stripe.n_labels) for block in blocks])


@pytest.mark.each_value
@pytest.mark.parametrize("rows", [slice(0, 197), slice(40, 103), slice(196, 197)], ids=str)
@pytest.mark.parametrize("width", WIDTHS)
def test_blocks_hold_every_cell_once_in_order(width: int, rows: slice) -> None:
    problem = problem_of(width)
    for labels in (slice(0, width), slice(width // 3, width // 3 + 1), slice(width // 2, width)):
        stripe = Blocks(problem, labels, rows)
        scores = [block.copy() for block in stripe.scores()]
        truth = [(at, words.copy().view(np.uint8)) for at, words in stripe.truth()]
        found = cells(stripe, scores)
        n_rows = rows.stop - rows.start
        np.testing.assert_array_equal(found[:n_rows], problem.scores[rows, labels])
        assert np.isnan(found[n_rows:]).all(), "where there is no row"
        used = stripe.n_labels * stripe.rows_side_by_side
        assert all(np.isnan(block[:, used:]).all() for block in scores), "where there is no label"
        found = cells(stripe, [block for _, block in truth])
        np.testing.assert_array_equal(found[:n_rows], problem.truth[rows, labels])
        assert not found[n_rows:].any()
        assert not any(block[:, used:].any() for _, block in truth)
        assert [at for at, _ in truth] == np.append(0, np.cumsum([len(block) for block in scores]))[:-1].tolist()


@pytest.mark.parametrize("width", WIDTHS)
def test_scores_and_truth_come_together(width: int) -> None:
    stripe = Blocks(problem_of(width), slice(0, width), slice(3, 190))
    scores, words = zip(*[(block.copy(), words.copy()) for block, words in stripe.scores_and_truth()], strict=True)
    for block, expected in zip(scores, stripe.scores(), strict=True):
        np.testing.assert_array_equal(block, expected)
    for block, (_, expected_words) in zip(words, stripe.truth(), strict=True):
        np.testing.assert_array_equal(block, expected_words)


@pytest.mark.parametrize("width", WIDTHS)
def test_rows_of_blocks_are_whole_words_and_long(width: int) -> None:
    stripe = Blocks(problem_of(width), slice(0, width), slice(0, 197))
    assert stripe.n_columns % 8 == 0
    assert stripe.n_columns >= 64
    assert stripe.n_columns - stripe.n_labels * stripe.rows_side_by_side < 8
    assert stripe.rows_side_by_side == 1 or stripe.n_labels < 64
    assert all(
        len(block) % ROWS_AT_ONCE == 0 and stripe.n_labels <= block.shape[1] <= stripe.n_columns
        for block in stripe.scores()
    )
    if width == 1:
        assert stripe.rows_side_by_side == 64
    if width == 100:
        assert (stripe.rows_side_by_side, stripe.n_columns) == (1, 104)


@pytest.mark.parametrize("width", WIDTHS)
def test_values_of_labels_go_to_their_columns_and_back(width: int) -> None:
    stripe = Blocks(problem_of(width), slice(0, width), slice(0, 197))
    values = np.arange(3.0 * width).reshape(3, width)
    spread = stripe.to_columns(values, np.inf)
    used = stripe.n_labels * stripe.rows_side_by_side
    assert spread.shape == (3, stripe.n_columns)
    assert np.isposinf(spread[:, used:]).all()
    np.testing.assert_array_equal(spread[:, :used], values[:, stripe.column_labels[:used]])
    np.testing.assert_array_equal(
        stripe.by_row(spread), np.broadcast_to(values[:, np.newaxis], (3, stripe.rows_side_by_side, stripe.n_labels))
    )


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_rows_that_are_blocks_already_are_not_copied(dtype: str) -> None:
    problem = problem_of(64, dtype)
    for given, kinds in ((problem, [True]), (problem_of(64, dtype, lambda truth: truth.astype(bool)), [True])):
        stripe = Blocks(given, slice(0, 64), slice(0, 192))
        assert [np.shares_memory(block, given.scores) for block in stripe.scores()][:1] == kinds
        assert [np.shares_memory(words, given.truth) for _, words in stripe.truth()][:1] == kinds


@pytest.mark.parametrize(
    "lay",
    [np.asfortranarray, lambda a: np.pad(a, ((0, 0), (0, 8)))[:, :64], lambda a: a.astype(a.dtype.newbyteorder())],
    ids=["F", "in a wider matrix", "other byte order"],
)
def test_other_rows_are_copied_into_one_block_after_another(lay: Callable[[Array], Array]) -> None:
    problem = problem_of(64)
    given = Problem.of(np.asfortranarray(problem.truth), lay(problem.scores))
    stripe = Blocks(given, slice(0, 64), slice(0, 192))
    blocks = list(stripe.scores())
    assert not any(np.shares_memory(block, given.scores) for block in blocks)
    assert all(np.shares_memory(block, blocks[0]) for block in blocks)
    assert all(block.dtype == np.float32 and block.flags.carray for block in blocks)
    np.testing.assert_array_equal(
        cells(stripe, [block.copy() for block in stripe.scores()])[:192], problem.scores[:192]
    )


@pytest.mark.parametrize("kind", [sparse.csr_array, sparse.csc_matrix, sparse.coo_array])
def test_sparse_truth_comes_as_words(kind: type) -> None:
    for width in (5, 64, 100):
        dense, given = problem_of(width), problem_of(width, truth=kind)
        for labels in (slice(0, width), slice(1, 4)):
            of_dense, of_sparse = (list(Blocks(p, labels, slice(7, 150)).truth()) for p in (dense, given))
            assert len(of_dense) == len(of_sparse)
        stripe = Blocks(given, slice(0, width), slice(7, 150))
        found = cells(stripe, [words.copy().view(np.uint8) for _, words in stripe.truth()])
        np.testing.assert_array_equal(found[:143], dense.truth[7:150])


@pytest.mark.parametrize(("dtype", "block_dtype"), [("float16", "float32"), ("int8", "float32"), ("int64", "float64")])
def test_other_numbers_become_floats_that_hold_them(dtype: str, block_dtype: str) -> None:
    scores = np.arange(-60, 60).reshape(40, 3).astype(dtype)
    stripe = Blocks(Problem.of(np.zeros((40, 3), bool), scores), slice(0, 3), slice(0, 40))
    (block,) = [block.copy() for block in stripe.scores()]
    assert block.dtype == block_dtype
    np.testing.assert_array_equal(cells(stripe, [block])[:40], scores)
