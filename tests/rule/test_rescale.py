"""`rule.rescale` puts every threshold at 0.5, and keeps the order of scores and the decisions."""

from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy import sparse

import thresholds

CUTS = st.one_of(st.floats(-50, 50), st.sampled_from([0.0, 0.5, 1.0, np.inf, -np.inf, 5e-324, np.nextafter(1, 0)]))


@given(
    cuts=st.lists(CUTS, min_size=1, max_size=4),
    dtype=st.sampled_from([np.float16, np.float32, np.float64]),
    data=st.data(),
)
def test_one_half_decides_as_the_thresholds_do(cuts: list[float], dtype: Any, data: st.DataObject) -> None:
    width = np.dtype(dtype).itemsize * 8
    cells = st.floats(-60, 60, width=width) | st.floats(0, 1, width=width)
    scores = data.draw(arrays(dtype, (6, len(cuts)), elements=cells))
    rule = thresholds.ThresholdRule(cuts)
    found = rule.rescale(scores)
    assert found.dtype == dtype
    assert ((found >= 0.5) == rule.predict(scores)).all()
    assert (found >= 0).all()
    assert (found <= 1).all()
    order = np.argsort(scores, axis=0)
    assert (np.diff(np.take_along_axis(found, order, axis=0), axis=0) >= 0).all()


def test_scores_far_beyond_the_lines_end_with_them() -> None:
    found = thresholds.ThresholdRule([1e-6]).rescale(np.array([[-1], [1]], np.float16))
    np.testing.assert_array_equal(found, np.array([[0], [1]], np.float16))


def test_probabilities_go_by_two_lines() -> None:
    rule = thresholds.ThresholdRule([0.2, 0.8])
    np.testing.assert_allclose(
        rule.rescale([[0.1, 0.4], [0.2, 0.9], [0.6, 1.0]]), [[0.25, 0.25], [0.5, 0.75], [0.75, 1]]
    )


def test_other_scores_go_through_the_logistic_function() -> None:
    found = thresholds.ThresholdRule([2.0]).rescale([[1.0], [2.0], [5.0], [-np.inf]])
    np.testing.assert_allclose(found[:, 0], [1 / (1 + np.e), 0.5, 1 / (1 + np.exp(-3)), 0])


def test_the_range_of_the_fit_tells_which() -> None:
    logits = np.array([[-3.0], [0.2], [0.4], [2.0]])
    rule = thresholds.fit_empirical([[0], [0], [1], [1]], logits, placement="mid")
    assert rule.thresholds.tolist() == [pytest.approx(0.3)]
    np.testing.assert_allclose(rule.rescale(logits), 1 / (1 + np.exp(0.3 - logits)))
    probabilities = thresholds.fit_empirical([[0], [1]], [[0.2], [0.4]], placement="mid")
    np.testing.assert_allclose(probabilities.rescale([[0.15]]), [[0.25]])


def test_a_threshold_of_0_is_always_reached() -> None:
    found = thresholds.ThresholdRule([0.0, 0.5]).rescale([[0.2, 0.2], [-np.inf, 0.6]])
    np.testing.assert_allclose(found, [[0.6, 0.2], [0.0, 0.6]])


def test_masked_scores_never_pass() -> None:
    assert thresholds.ThresholdRule([0.5, 3.0]).rescale([[-np.inf, -np.inf]]).tolist() == [[0.0, 0.0]]


def test_whole_numbers_give_float64() -> None:
    found = thresholds.FixedRule(2, 1).rescale(np.array([[1], [2], [3]]))
    assert found.dtype == np.float64
    assert (found[:, 0] >= 0.5).tolist() == [False, True, True]


def test_what_comes_out_is_of_the_kind_that_went_in() -> None:
    frame = pd.DataFrame({"dog": [0.1, 0.6], "cat": [0.3, 0.9]}, index=["x", "y"])
    rule = thresholds.ThresholdRule([0.6, 0.2], label_names=["cat", "dog"])
    found = rule.rescale(frame)
    assert found.columns.tolist() == ["dog", "cat"]
    assert found.index.tolist() == ["x", "y"]
    np.testing.assert_allclose(found, [[0.25, 0.25], [0.75, 0.875]])
    assert thresholds.FixedRule(0.5, 1).rescale([0.25, 0.75]).tolist() == [0.25, 0.75]


@pytest.mark.parametrize("kind", [sparse.csr_array, sparse.csc_array, sparse.csr_matrix])
def test_sparse_scores_stay_sparse(kind: Any) -> None:
    cells = np.array([[0.5, 0.0], [0.0, 0.2]])
    rule = thresholds.ThresholdRule([0.25, 0.8])
    found = rule.rescale(kind(cells))
    assert sparse.issparse(found)
    assert isinstance(found, sparse.csr_matrix) == (kind is sparse.csr_matrix)
    np.testing.assert_array_equal(found.toarray(), rule.rescale(cells))


@pytest.mark.parametrize(
    "rule",
    [
        thresholds.ThresholdRule([0.5, -1.0]),
        thresholds.ThresholdRule([0.5, 2.0]),
        thresholds.ThresholdRule([0.5, 0.0]),
        thresholds.ThresholdRule([0.5, 0.5], missing=-1.0),
        thresholds.ThresholdRule([0.5, -np.inf]),
    ],
    ids=["negative", "beyond 1", "0", "missing", "always"],
)
def test_sparse_scores_that_would_become_dense_are_refused(rule: Any) -> None:
    with pytest.raises(thresholds.InputError, match="y_score is sparse, and what it leaves out would not stay 0"):
        rule.rescale(sparse.csr_array([[0.5, 0.0]]))
