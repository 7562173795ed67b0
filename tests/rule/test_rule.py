"""What rules decide: dense and sparse scores, every dtype and layout, ties, infinities."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import sparse

from tests.naive import exhaustive as naive
from thresholds import FixedRule, InputError, ThresholdRule, TopKRule, fit_empirical

Array = NDArray[np.generic]
inf = float("inf")
TINY = float(np.finfo(np.float64).smallest_subnormal)
FLOATS = (np.float16, np.float32, np.float64)
INTEGERS = (np.int8, np.uint8, np.int16, np.int32, np.uint32, np.int64, np.uint64)


def scores_on_levels(rng: np.random.Generator, shape: tuple[int, int], dtype: type = np.float64) -> Array:
    """Scores of many ties, of both signs."""
    return (rng.integers(-4, 5, shape) / 4).astype(dtype)


def sparse_scores(seed: int, missing: float = 0.0) -> tuple[sparse.csr_array, Array]:
    """Scores of which half are absent, with some explicit zeros, and the same as a dense array."""
    rng = np.random.default_rng(seed)
    dense = scores_on_levels(rng, (60, 7))
    row, column = np.nonzero(rng.random(dense.shape) < 0.5)
    cells = sparse.csr_array((dense[row, column], (row, column)), shape=dense.shape)
    dense[:] = missing
    dense[row, column] = cells.tocoo().data
    return cells, dense


# Decisions


def test_positive_from_the_threshold_upwards() -> None:
    rule = ThresholdRule([0.5, -1.0])
    scores = [[0.5, -1.0], [np.nextafter(0.5, 0), np.nextafter(-1.0, -2)], [np.nextafter(0.5, 1), 0.0], [-inf, -inf]]
    assert rule.predict(scores).tolist() == [[1, 1], [0, 0], [1, 1], [0, 0]]


def test_infinite_thresholds_are_never_and_always() -> None:
    scores = [[-inf, -inf], [np.finfo(float).max, np.finfo(float).min], [0.0, 0.0]]
    assert ThresholdRule([inf, -inf]).predict(scores).tolist() == [[0, 1], [0, 1], [0, 1]]


def test_signed_zeros_are_one_number() -> None:
    for threshold in (0.0, -0.0):
        assert ThresholdRule([threshold]).predict([0.0, -0.0, -TINY, TINY]).tolist() == [1, 1, 0, 1]
        assert str(ThresholdRule([threshold]).thresholds[0]) == "0.0"


@pytest.mark.parametrize("dtype", [*FLOATS, *INTEGERS, np.bool_])
def test_every_dtype_is_decided_in_exact_comparison(dtype: type) -> None:
    rng = np.random.default_rng(1)
    scores = rng.integers(0, 2 if dtype is np.bool_ else 6, (50, 4)).astype(dtype)
    if np.dtype(dtype).kind == "f":
        scores = (scores / dtype(7)).astype(dtype)
    for _ in range(20):
        cut = scores[0].astype(np.float64)
        cut = np.nextafter(cut, rng.choice([-inf, inf, *cut], 4))
        decided = ThresholdRule(cut).predict(scores)
        np.testing.assert_array_equal(decided, naive.decide(scores, cut))
        assert decided.dtype == np.uint8


@pytest.mark.parametrize("narrow", [np.float16, np.float32])
def test_narrow_scores_decide_alike_in_both_precisions(narrow: type) -> None:
    rng = np.random.default_rng(2)
    limits = np.finfo(narrow)
    special = [0.0, limits.smallest_subnormal, limits.smallest_normal, limits.max, -limits.max, -inf]
    scores = np.append(rng.standard_normal(494), special).astype(narrow)[:, None]
    between = [np.nextafter(float(s), to) for s in scores[::5, 0] for to in (-inf, inf)]
    for cut in [*between, 0.1, 1 / 3, TINY, -TINY, 1e300, -1e300, inf, -inf, 65519.9, 3.4028235677973366e38]:
        rule = ThresholdRule([cut])
        np.testing.assert_array_equal(rule.predict(scores), rule.predict(scores.astype(np.float64)))
        np.testing.assert_array_equal(rule.predict(scores), naive.decide(scores, [cut]))


@pytest.mark.parametrize("dtype", [np.int64, np.uint64])
def test_large_integers_are_compared_exactly(dtype: type) -> None:
    scores = np.array([2**53 - 2, 2**53 - 1, 2**53], dtype)
    assert ThresholdRule([2.0**53 - 1]).predict(scores).tolist() == [0, 1, 1]


def memory_map(x: Array, folder: Path) -> Array:
    """The array, mapped read-only from a file."""
    np.save(folder / "scores.npy", x)
    return np.load(folder / "scores.npy", mmap_mode="r")


LAYOUTS: dict[str, Callable[[Array, Path], object]] = {
    "Fortran order": lambda x, _: np.asfortranarray(x),
    "strided view": lambda x, _: np.repeat(np.repeat(x, 2, axis=0), 3, axis=1)[::2, ::3],
    "reversed view": lambda x, _: x[::-1, ::-1].copy()[::-1, ::-1],
    "list": lambda x, _: x.tolist(),
    "tuple of rows": lambda x, _: tuple(x),
    "object array": lambda x, _: x.astype(object),
    "big-endian": lambda x, _: x.astype(x.dtype.newbyteorder(">")),
    "masked array without masked cells": lambda x, _: np.ma.array(x),
    "read-only memory map": memory_map,
}


@pytest.mark.parametrize("layout", LAYOUTS)
def test_layouts_do_not_matter(layout: str, tmp_path: Path) -> None:
    scores = scores_on_levels(np.random.default_rng(3), (50, 4))
    for rule in (ThresholdRule([0.25, 0.0, -0.5, inf]), TopKRule(2)):
        decided = rule.predict(LAYOUTS[layout](scores, tmp_path))
        assert type(decided) is np.ndarray
        np.testing.assert_array_equal(decided, rule.predict(scores))


@pytest.mark.parametrize("container", [list, tuple, np.array])
def test_one_dimension_stays_one_dimension(container: Callable[[object], object]) -> None:
    decided = ThresholdRule([0.5]).predict(container([0.4, 0.5, 0.6]))
    assert decided.tolist() == [0, 1, 1]
    assert TopKRule(1).predict(container([0.4, 0.5])).tolist() == [1, 1]


def test_a_column_stays_a_column() -> None:
    assert ThresholdRule([0.5]).predict([[0.4], [0.6]]).tolist() == [[0], [1]]


def parts(*matrices: Array | sparse.csr_array) -> list[list[float]]:
    """All that the matrices hold, the room that CSR arrays have to spare included."""
    arrays = [(x,) if isinstance(x, np.ndarray) else (x.indptr, x.indices, x.data) for x in matrices]
    return [array.ravel().tolist() for several in arrays for array in several]


@pytest.mark.parametrize("rule", [ThresholdRule([0.25, 0.1]), FixedRule(0.5, 2), TopKRule(1)], ids=str)
def test_input_is_never_modified(rule: ThresholdRule | TopKRule) -> None:
    dense = np.array([[-0.0, 0.5], [-inf, 0.25]])
    unsorted = sparse.csr_array((np.array([0.5, 0.25]), np.array([1, 0]), np.array([0, 2, 2])), shape=(2, 2))
    roomy = unsorted.copy()
    roomy.data, roomy.indices = np.array([0.5, 0.25, 7.0]), np.array([1, 0, 0], np.int32)
    before = parts(dense, unsorted, roomy)
    for scores in (dense, unsorted, roomy):
        rule.predict(scores)
    assert parts(dense, unsorted, roomy) == before


# Sparse scores

KINDS = [
    kind
    for name in ("csr", "csc", "coo", "lil", "dok", "bsr", "dia")
    for kind in (getattr(sparse, f"{name}_array"), getattr(sparse, f"{name}_matrix"))
]


@pytest.mark.parametrize("kind", KINDS)
def test_sparse_scores_are_decided_as_dense_ones(kind: type) -> None:
    cells, dense = sparse_scores(4)
    for rule in (ThresholdRule([0.25, 0.5, 1.0, 0.75, inf, 2.0, TINY]), TopKRule(2)):
        decided = rule.predict(kind(cells))
        np.testing.assert_array_equal(decided.toarray(), rule.predict(dense))
        assert decided.format == "csr"
        assert decided.dtype == np.uint8
        assert isinstance(decided, sparse.spmatrix) == issubclass(kind, sparse.spmatrix)
        assert (decided.data == 1).all()
        decided.check_format(full_check=True)
        assert decided.has_canonical_format


def test_explicit_zeros_on_a_diagonal_are_cells_like_others() -> None:
    cells = sparse.dia_array((np.array([[1.0, 0.0, 2.0]]), [0]), shape=(3, 3))
    assert FixedRule(1.5, 3).predict(cells).toarray().tolist() == [[0, 0, 0], [0, 0, 0], [0, 0, 1]]


@pytest.mark.parametrize("missing", [0.0, -0.25, 0.5, -1e9, -inf])
def test_absent_scores_are_worth_missing(missing: float) -> None:
    cells, dense = sparse_scores(5, missing)
    cut = np.array([0.25, -0.5, 0.5, -inf, inf, 0.0, 1.0])
    rule = ThresholdRule(cut, missing=missing)
    decided = rule.predict(cells, dense=True)
    assert type(decided) is np.ndarray
    assert decided.dtype == np.uint8
    np.testing.assert_array_equal(decided, rule.predict(dense))
    np.testing.assert_array_equal(rule.predict(dense, dense=True), rule.predict(dense))
    top = TopKRule(3, missing=missing)
    np.testing.assert_array_equal(top.predict(cells).toarray(), top.predict(dense))
    sparsely = ThresholdRule(np.where(cut > missing, cut, inf), missing=missing)
    np.testing.assert_array_equal(sparsely.predict(cells).toarray(), sparsely.predict(dense))
    np.testing.assert_array_equal(sparsely.predict(cells, dense=True), sparsely.predict(dense))


def test_a_fit_whose_answer_would_be_dense_is_told_so_first() -> None:
    truth, scores = np.ones((3, 1000), int), sparse.csr_array(np.eye(3, 1000))
    message = (
        "^y_score is sparse, and the threshold .* of label 0 is not above missing=0.0, so that nearly all cells would"
        " be positive: fit the rule without keep_sparse=False, or pass dense=True for a dense answer of 2.0 GB$"
    )
    with pytest.raises(InputError, match=message):
        fit_empirical(truth, scores, keep_sparse=False).predict(sparse.csr_array((2_000_000, 1000)))
    lowered = fit_empirical(truth, scores, keep_sparse=True).replace({0: 0.0})
    with pytest.raises(InputError, match="be positive: raise the threshold, or pass dense=True"):
        lowered.predict(sparse.csr_array((2_000_000, 1000)))
    kept = fit_empirical(truth, scores, keep_sparse=True).predict(scores)
    assert kept.toarray().tolist() == scores.toarray().tolist()


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int32, np.uint8, np.bool_])
def test_sparse_dtypes(dtype: type) -> None:
    dense = np.array([[0, 1, 1], [1, 0, 0]], dtype)
    for cut in (0.5, 1.0, np.nextafter(1.0, 2)):
        rule = FixedRule(cut, 3)
        np.testing.assert_array_equal(rule.predict(sparse.csr_array(dense)).toarray(), rule.predict(dense))


def test_an_empty_sparse_matrix_is_decided() -> None:
    assert FixedRule(0.5, 3).predict(sparse.csr_array((4, 3))).nnz == 0
    assert FixedRule(0.0, 3).predict(sparse.csr_array((4, 3)), dense=True).all()


def test_wide_indices_are_taken() -> None:
    cells, dense = sparse_scores(6)
    cells.indices, cells.indptr = cells.indices.astype(np.int64), cells.indptr.astype(np.int64)
    np.testing.assert_array_equal(FixedRule(0.5, 7).predict(cells).toarray(), FixedRule(0.5, 7).predict(dense))


# The k highest


def test_top_k_takes_the_first_of_equal_labels() -> None:
    scores = [[1.0, 2.0, 2.0, 0.0], [1.0, 1.0, 1.0, 1.0], [-inf, 0.0, -0.0, -inf]]
    assert TopKRule(2).predict(scores).tolist() == [[0, 1, 1, 0], [1, 1, 0, 0], [0, 1, 1, 0]]


@pytest.mark.parametrize("k", [0, 1, 3, 6, 7, 100])
def test_top_k_equals_its_definition(k: int) -> None:
    for dtype in FLOATS:
        scores = scores_on_levels(np.random.default_rng(7), (40, 7), dtype)
        np.testing.assert_array_equal(TopKRule(k).predict(scores), naive.samples_top_k(scores, k))


@pytest.mark.parametrize(("missing", "first"), [(1e300, 1), (-1e300, 0)])
def test_top_k_takes_absent_scores_beyond_the_dtype_of_the_others(missing: float, first: int) -> None:
    cells = sparse.csr_array((np.array([0.5], np.float32), [0], [0, 1]), shape=(1, 3))
    assert TopKRule(1, missing=missing).predict(cells).indices.tolist() == [first]


def test_top_k_crosses_blocks_of_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("thresholds.rule.top_k._BLOCK_CELLS", 50)
    cells, dense = sparse_scores(8)
    tall = sparse.vstack([cells] * 80, format="csr")
    expected = np.tile(naive.samples_top_k(dense, 2), (80, 1))
    np.testing.assert_array_equal(TopKRule(2).predict(tall).toarray(), expected)
    np.testing.assert_array_equal(TopKRule(2).predict(np.tile(dense, (80, 1))), expected)
