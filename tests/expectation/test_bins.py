"""The best cuts from sums of bins of blocks: those of all rows at once, by exact arithmetic, however rows are cut."""

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from numpy.random import Generator
from scipy import sparse

from tests.naive.expected import best_cut_of_counts
from thresholds.expectation.bins import CutSearch, ProbabilityBins, n_bins_of
from thresholds.expectation.counts import Probabilities, best_cuts

pytestmark = pytest.mark.each_value

Array = np.ndarray[Any, Any]
KINDS = ("rounded", "any", "few", "tiny", "equal", "mostly absent")


def drawn(rng: Generator, kind: str, dtype: Any, n: int = 120, n_labels: int = 3) -> Array:
    p = rng.random((n, n_labels))
    if kind == "rounded":
        p = np.round(p * 64) / 64
    if kind == "few":
        p = p**30
    if kind == "tiny":
        p *= 1e-12
    if kind == "equal":
        p[:] = p[0, 0]
    if kind == "mostly absent":
        p[rng.random(p.shape) < 0.9] = 0
    return p.astype(dtype)


def search(p: Array, weights: Array, beta: float, pooled: bool, pieces: int = 3) -> tuple[CutSearch, int]:
    """Look for the cuts by passes over pieces of the rows, the last piece first; return how many passes that took."""
    found = CutSearch(ProbabilityBins.at_first(p.shape[1], p.dtype, weights.max()), beta, pooled=pooled)
    n_passes = 0
    while found.bins is not None:
        partials = []
        for rows in np.array_split(np.arange(p.shape[0]), pieces):
            sums = found.bins.empty()
            found.bins.add(p[rows], weights[rows], sums)
            partials.append(sums)
        found.take(sum(reversed(partials), found.bins.empty()))
        n_passes += 1
    return found, n_passes


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("kind", KINDS)
def test_the_cut_of_each_label_is_the_exact_one_rounded(kind: str, dtype: Any) -> None:
    for seed in range(3):
        rng = np.random.default_rng(seed)
        p = drawn(rng, kind, dtype)
        weights = np.ones(len(p)) if seed % 2 else rng.integers(0, 4, len(p)).astype(float)
        beta = (0.5, 1.0, 2.0)[seed % 3]
        found, _ = search(p, weights, beta, pooled=False)
        for label in range(p.shape[1]):
            cut, tp, predicted = best_cut_of_counts(p[:, label], weights, beta)
            assert found.cuts[label] == pytest.approx(float(cut), rel=4e-16)
            assert found.sums[0, label] == pytest.approx(float(tp), rel=4e-16)
            assert found.sums[1, label] == float(predicted)


@pytest.mark.parametrize("pooled", [False, True])
@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
@pytest.mark.parametrize("kind", KINDS)
def test_it_is_that_of_all_rows_in_memory(kind: str, dtype: Any, pooled: bool) -> None:
    for seed in range(4):
        rng = np.random.default_rng(seed)
        p = drawn(rng, kind, dtype)
        p = p.astype(np.float32) if dtype is np.float16 else p
        weights = None if seed % 2 else np.round(rng.random(len(p)), seed // 2)
        given = Probabilities.of(p, weights)
        cuts, counts = best_cuts(given, 1.0, pooled=pooled)
        found, _ = search(p, given.weights, 1.0, pooled)
        expected = counts.sums[2] > 0
        np.testing.assert_allclose(found.cuts[expected], cuts[expected], rtol=1e-14)
        np.testing.assert_allclose(found.sums, counts.sums, rtol=1e-14)


def test_bits_do_not_depend_on_how_rows_are_cut_and_ordered() -> None:
    rng = np.random.default_rng(0)
    p = drawn(rng, "any", np.float64, 500)
    weights = rng.random(500)
    order = rng.permutation(500)
    first, _ = search(p, weights, 1.0, pooled=False, pieces=1)
    second, _ = search(p[order], weights[order], 1.0, pooled=False, pieces=7)
    np.testing.assert_array_equal(first.cuts, second.cuts)
    np.testing.assert_array_equal(first.sums, second.sums)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_without_weights_sums_are_exact(dtype: Any) -> None:
    p = np.maximum(drawn(np.random.default_rng(0), "any", dtype, 3000, 2), dtype(1e-9))
    found, _ = search(p, np.ones(len(p)), 1.0, pooled=False)
    for label in range(2):
        assert found.sums[2, label] == float(sum(Fraction(float(x)) for x in p[:, label]))


def test_sparse_rows_give_the_bits_of_dense_ones() -> None:
    p = drawn(np.random.default_rng(0), "mostly absent", np.float32)
    weights = np.arange(len(p), dtype=float)
    dense, _ = search(p, weights, 1.0, pooled=False)
    found, _ = search(sparse.csr_array(p), weights, 1.0, pooled=False)  # type: ignore[arg-type]
    np.testing.assert_array_equal(found.cuts, dense.cuts)
    np.testing.assert_array_equal(found.sums, dense.sums)


def test_a_label_of_zeros_is_not_predicted() -> None:
    found, n_passes = search(np.zeros((5, 2), np.float32), np.ones(5), 1.0, pooled=False)
    assert n_passes == 1
    assert (found.sums == 0).all()
    assert (found.cuts > 0).all()


def test_three_passes_are_enough_for_many_rows() -> None:
    p = drawn(np.random.default_rng(0), "any", np.float32, 20_000)
    _, n_passes = search(p, np.ones(20_000), 1.0, pooled=False)
    assert n_passes <= 3


def test_passes_are_few_at_worst() -> None:
    """Cells that lie as near to the cut as floats can, so that only bins of one probability tell them apart."""
    near = np.nextafter(np.float32(0.4), np.float32(1)) + np.zeros((40, 1), np.float32)
    p = np.concatenate([near, np.full((40, 1), 0.4, np.float32), np.full((9, 1), 0.7, np.float32)])
    for dtype, most in ((np.float32, 5), (np.float64, 9)):
        _, n_passes = search(p.astype(dtype), np.ones(len(p)), 1.0, pooled=False)
        assert n_passes <= most


def test_memory_is_bounded_where_labels_are_many() -> None:
    assert n_bins_of(10) == 256
    assert n_bins_of(8_000) == 64
    assert n_bins_of(670_000) == 8
