"""What Dask, xarray or Ibis has not computed yet is never computed unasked: decided block by block, or refused."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import thresholds
from thresholds import metrics

da = pytest.importorskip("dask.array", reason="make test-integrations installs dask")

N_LABELS = 4
LAZY = r"is lazy \(dask Array\), expected values in memory"


@pytest.fixture
def truth() -> Any:
    return (np.random.default_rng(0).random((100, N_LABELS)) < 0.3).astype(np.uint8)


@pytest.fixture
def scores(truth: Any) -> Any:
    noise = np.random.default_rng(1).random(truth.shape)
    return ((noise + truth) / 2).astype(np.float32)


def never(block: Any) -> Any:
    """Stand for what Dask would compute."""
    raise AssertionError("computed without being asked to")


def uncomputable(cells: Any) -> Any:
    """Give an array of Dask that nobody may compute."""
    return da.from_array(cells, chunks=(30, 2)).map_blocks(never, dtype=cells.dtype, meta=cells[:0])


TAKERS: dict[str, Callable[[Any, Any], Any]] = {
    "fit_empirical": thresholds.fit_empirical,
    "fit_empirical, unknown": lambda y_true, y_score: thresholds.fit_empirical(y_true, y_score, unknown=-1),
    "fit_regions": thresholds.fit_regions,
    "calibrate": thresholds.calibrate,
    "cross_fit": thresholds.cross_fit,
    "diagnose": lambda y_true, y_score: thresholds.diagnose(y_true, y_score, thresholds.FixedRule(0.5, N_LABELS)),
    "compare": lambda y_true, y_score: thresholds.compare(
        {"half": thresholds.FixedRule(0.5, N_LABELS)}, y_true, y_score
    ),
    "macro_auroc": metrics.macro_auroc,
    "f1_score": lambda y_true, y_score: metrics.f1_score(y_true, y_true, average="macro"),
    "f1_score of classes": lambda y_true, y_score: metrics.f1_score(y_true[:, 0], y_true[:, 0]),
}


@pytest.mark.parametrize("name", TAKERS)
def test_arrays_of_dask_are_refused_before_anything_is_computed(name: str, truth: Any, scores: Any) -> None:
    with pytest.raises(
        thresholds.InputError,
        match=r"y_\w+ is lazy \(dask Array\), expected .*: compute it, or fit by thresholds.fit_chunks",
    ):
        TAKERS[name](uncomputable(truth), uncomputable(scores))


def test_scores_alone_are_refused_too(scores: Any) -> None:
    watching = thresholds.FixedRule(0.5, N_LABELS).watching(scores)
    for call in (thresholds.fit_expected, watching.check):
        with pytest.raises(thresholds.InputError, match=LAZY):
            call(uncomputable(scores))


def test_lists_of_columns_are_not_computed(truth: Any, scores: Any) -> None:
    columns = [uncomputable(scores)[:, j] for j in range(N_LABELS)]
    with pytest.raises(thresholds.InputError, match=f"y_score {LAZY}"):
        thresholds.fit_empirical(truth.T, columns)


def test_weights_are_not_computed(truth: Any, scores: Any) -> None:
    with pytest.raises(thresholds.InputError, match=f"sample_weight {LAZY}"):
        thresholds.fit_empirical(truth, scores, sample_weight=uncomputable(scores)[:, 0])


def test_data_arrays_of_xarray_count_by_what_they_hold(scores: Any) -> None:
    xarray = pytest.importorskip("xarray", reason="make test-integrations installs xarray")
    rule = thresholds.FixedRule(0.5, N_LABELS)
    assert rule.predict(xarray.DataArray(scores)).tolist() == rule.predict(scores).tolist()
    with pytest.raises(thresholds.InputError, match=r"y_score is lazy \(xarray DataArray\), expected values in memory"):
        rule.predict(xarray.DataArray(uncomputable(scores)))


def test_columns_of_ibis_are_expressions() -> None:
    ibis = pytest.importorskip("ibis", reason="make test-integrations installs ibis")
    table = ibis.table({"cat": "float32"}, name="anywhere")  # There is no such table to compute it from.
    with pytest.raises(
        thresholds.InputError,
        match=r"y_score is lazy \(ibis FloatingColumn\), expected .*: compute it, or add up thresholds.Counts",
    ):
        thresholds.FixedRule(0.5, 1).predict(table.cat)


# Decisions


def applied(truth: Any, scores: Any) -> list[Callable[[Any], Any]]:
    """What turns scores into decisions, or probabilities, row by row."""
    calibrator = thresholds.calibrate(truth, scores, "platt")
    return [
        thresholds.fit_empirical(truth, scores).predict,
        thresholds.fit_empirical(truth, scores, max_predicted_per_row=2).predict,
        thresholds.TopKRule(2).predict,
        thresholds.InstanceRule().predict,
        thresholds.CalibratedRule(calibrator, thresholds.InstanceRule()).predict,
        calibrator.transform,
    ]


@pytest.mark.parametrize("which", range(6))
@pytest.mark.parametrize("chunks", [(30, N_LABELS), (40, 3)])
def test_decisions_about_an_array_of_dask_are_made_when_it_computes_them(
    which: int, chunks: tuple[int, int], truth: Any, scores: Any
) -> None:
    function = applied(truth, scores)[which]
    expected = function(scores)
    found = function(da.from_array(scores, chunks=chunks))
    assert isinstance(found, da.Array)
    assert found.dtype == expected.dtype
    assert found.compute().tolist() == expected.tolist()
    assert isinstance(function(uncomputable(scores)), da.Array)  # Nothing has been computed.


def test_one_label_is_one_dimension(scores: Any) -> None:
    rule = thresholds.FixedRule(0.5, 1)
    found = rule.predict(da.from_array(scores[:, 0], chunks=30))
    assert found.compute().tolist() == rule.predict(scores[:, 0]).tolist()


def test_blocks_that_a_filter_left_empty_stay_empty(scores: Any) -> None:
    rule = thresholds.FixedRule(0.5, N_LABELS)
    lazy = da.from_array(scores, chunks=(30, N_LABELS))
    kept = np.arange(len(scores)) >= 30
    found = rule.predict(lazy[da.from_array(kept, chunks=30)])  # of unknown length
    assert found.compute().tolist() == rule.predict(scores[kept]).tolist()


def test_another_number_of_labels_is_refused_at_once(scores: Any) -> None:
    with pytest.raises(thresholds.InputError, match="y_score has 4 labels, expected 3 as the rule has"):
        thresholds.FixedRule(0.5, 3).predict(uncomputable(scores))


def test_a_block_is_checked_when_it_is_computed(scores: Any) -> None:
    scores[50, 1] = np.nan
    found = thresholds.FixedRule(0.5, N_LABELS).predict(da.from_array(scores, chunks=(30, N_LABELS)))
    with pytest.raises(thresholds.InputError, match="y_score has NaN at row 20, label 1"):  # of its block
        found.compute()
