"""Arrays of Dask are computed block by block, gathered, and fitted as arrays in memory are."""

from typing import Any

import numpy as np
import pytest
from scipy import sparse

import thresholds

dask = pytest.importorskip("dask", reason="make test-integrations installs dask")
da = pytest.importorskip("dask.array", reason="make test-integrations installs dask")

N_ROWS, N_LABELS = 1_000, 5


@pytest.fixture
def truth() -> Any:
    return np.random.default_rng(0).random((N_ROWS, N_LABELS)) < [0.5, 0.2, 0.1, 0.01, 0.0]


@pytest.fixture
def scores(truth: Any) -> Any:
    return (np.random.default_rng(1).normal(size=truth.shape) + truth).astype(np.float32)


def check(found: thresholds.ThresholdRule, expected: thresholds.ThresholdRule) -> None:
    """Hold a rule to another, with what it keeps of its fit."""
    assert found.thresholds.tolist() == expected.thresholds.tolist()
    assert found.objective == expected.objective
    assert found.to_dict() == expected.to_dict()


@pytest.mark.parametrize("average", ["macro", "weighted", "micro"])
@pytest.mark.parametrize("n_rows", [10, 130, N_ROWS])  # many blocks, some, and one
def test_the_rule_is_that_of_the_arrays(average: Any, n_rows: int, truth: Any, scores: Any) -> None:
    lazy = da.from_array(truth, chunks=(n_rows, 2)), da.from_array(scores, chunks=(n_rows, 3))
    check(thresholds.fit_empirical(lazy, average=average), thresholds.fit_empirical(truth, scores, average))


def test_truth_is_cut_as_the_scores_are(truth: Any, scores: Any) -> None:
    lazy = da.from_array(truth, chunks=(300, N_LABELS)), da.from_array(scores, chunks=(130, N_LABELS))
    check(thresholds.fit_empirical(lazy), thresholds.fit_empirical(truth, scores))


def test_weights_unknown_truth_and_half_precision(truth: Any, scores: Any) -> None:
    weights = np.random.default_rng(2).random(N_ROWS)
    partly = truth.astype(np.int8)
    partly[::7] = -1
    half = scores.astype(np.float16)
    lazy = tuple(da.from_array(part, chunks=(150, *part.shape[1:])) for part in (partly, half, weights))
    expected = thresholds.fit_empirical(partly, half, sample_weight=weights, unknown=-1)
    assert thresholds.fit_empirical(lazy, unknown=-1).thresholds.tolist() == expected.thresholds.tolist()


def test_sparse_blocks(truth: Any, scores: Any) -> None:
    stored = sparse.csr_array(np.where(scores > 1, scores, 0))
    lazy = da.from_array(stored.toarray(), chunks=(150, N_LABELS)).map_blocks(sparse.csr_array)
    found = thresholds.fit_empirical((da.from_array(truth, chunks=(150, N_LABELS)), lazy))
    check(found, thresholds.fit_empirical(truth, stored))


def test_blocks_of_unknown_length(truth: Any, scores: Any) -> None:
    kept = scores[:, 0] > 0
    lazy_scores = da.from_array(scores, chunks=(150, N_LABELS))
    lazy_truth = da.from_array(truth, chunks=(150, N_LABELS))
    is_kept = lazy_scores[:, 0] > 0
    found = thresholds.fit_empirical((lazy_truth[is_kept], lazy_scores[is_kept]))
    check(found, thresholds.fit_empirical(truth[kept], scores[kept]))


def test_other_functions_take_them(truth: Any, scores: Any) -> None:
    lazy = da.from_array(truth, chunks=(150, N_LABELS)), da.from_array(scores, chunks=(150, N_LABELS))
    rule = thresholds.fit_empirical(truth, scores)
    expected = thresholds.compare({"rule": rule}, truth, scores)
    assert thresholds.compare({"rule": rule}, lazy).to_dict() == expected.to_dict()
    assert thresholds.diagnose(lazy, rule=rule).to_dict() == thresholds.diagnose(truth, scores, rule).to_dict()


def test_each_block_is_computed_once(truth: Any, scores: Any) -> None:
    held: list[int] = []

    def made(block: Any, rows: Any) -> Any:
        held.append(len(rows))
        return block

    numbered = da.from_array(np.arange(N_ROWS)[:, np.newaxis], chunks=(100, 1))
    lazy = da.map_blocks(
        made, da.from_array(scores, chunks=(100, N_LABELS)), numbered, dtype=np.float32, meta=scores[:0]
    )
    with dask.config.set(scheduler="synchronous"):
        rule = thresholds.fit_empirical((da.from_array(truth, chunks=(100, N_LABELS)), lazy))
    assert held == [100] * 10
    check(rule, thresholds.fit_empirical(truth, scores))


def test_what_is_wrong_with_a_block_is_said_with_its_place(truth: Any, scores: Any) -> None:
    scores[250, 1] = np.nan
    lazy = da.from_array(truth, chunks=(100, N_LABELS)), da.from_array(scores, chunks=(100, N_LABELS))
    with pytest.raises(thresholds.InputError, match=r"y_score has NaN at row 50, label 1.* \(in shard 2"):
        thresholds.fit_empirical(lazy)


def test_arrays_that_are_no_arrays_of_dask_are_refused_beside_one(truth: Any, scores: Any) -> None:
    with pytest.raises(thresholds.InputError, match=r"^y_true is a ndarray, expected an array of Dask as y_score is$"):
        thresholds.fit_empirical((truth, da.from_array(scores)))


@pytest.mark.slow
@pytest.mark.filterwarnings("default")
def test_workers_compute_what_they_hold(truth: Any, scores: Any) -> None:
    distributed = pytest.importorskip("distributed", reason="make test-integrations installs distributed")
    lazy = [da.from_array(part, chunks=(100, N_LABELS)) for part in (truth, scores)]
    expected = thresholds.fit_empirical(truth, scores)
    with (
        distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster,
        distributed.Client(cluster),
    ):
        persisted = tuple(part.persist() for part in lazy)
        check(thresholds.fit_empirical(persisted), expected)
        assert expected.predict(persisted[1]).compute().tolist() == expected.predict(scores).tolist()
