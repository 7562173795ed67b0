"""One row of scores, a vector, for rules of several labels: decided as in a matrix, and given back as a vector.

Vectors of other libraries are in `tests/integrations/test_one_row.py`.
"""

import re
import warnings

import numpy as np
import pandas as pd
import pytest

import thresholds
from tests.rules import RULES
from thresholds import InputError, InstanceRule, ThresholdRule, TopKRule
from thresholds.rule import Rule

SEVERAL = sorted(name for name in RULES if name not in ("plain", "top k", "instance"))
NAMES = ("cat", "dog", "emu")
RULE = ThresholdRule([0.5, 0.2, 0.3], label_names=NAMES)

pytestmark = pytest.mark.filterwarnings("ignore::thresholds.rule.ScoreChangeWarning")


def rows_of(rule: Rule) -> np.ndarray:
    """Three rows of scores."""
    return np.random.default_rng(8).random((3, rule.n_labels)).round(2)


@pytest.mark.parametrize("name", SEVERAL)
def test_a_vector_is_decided_as_a_row_of_a_matrix(name: str) -> None:
    rule = RULES[name]
    matrix = rows_of(rule)
    for row, expected in zip(matrix, rule.predict(matrix), strict=True):
        for given in (row, list(row), tuple(row), [np.float64(score) for score in row], row.astype(object)):
            found = rule.predict(given)
            assert found.shape == (rule.n_labels,)
            assert found.dtype == np.uint8
            np.testing.assert_array_equal(found, expected)


def test_few_rows_of_regions_are_decided_as_many_are() -> None:
    for name in ("region", "fitted regions"):
        rule = RULES[name]
        scores = np.random.default_rng(2).integers(-20, 21, (100, 4)) / 20
        scores[::9, 1] = -np.inf
        scores[1::9] = [0.1, 1 / 3, 1 / 3, 0.1]
        for given in (scores, scores.astype(np.float16), scores.astype(np.float32), np.sign(scores).astype(int)):
            expected = rule.decide(given)
            np.testing.assert_array_equal(np.concatenate([rule.decide(row[np.newaxis]) for row in given]), expected)
            np.testing.assert_array_equal(rule.decide(given[:32]), expected[:32])


@pytest.mark.parametrize("rule", [ThresholdRule([0.5]), TopKRule(1), InstanceRule()], ids=lambda rule: rule.kind)
def test_a_vector_is_a_column_where_several_labels_are_not_known(rule: Rule) -> None:
    scores = [0.7, 0.1, 0.6]
    np.testing.assert_array_equal(rule.predict(scores), rule.predict(np.transpose([scores]))[:, 0])


def test_sets_of_names_make_a_row_of_a_vector() -> None:
    assert TopKRule(1).predict([0.1, 0.7, 0.6]).tolist() == [1, 1, 1]
    assert TopKRule(1, label_names=NAMES).predict([0.1, 0.7, 0.6]).tolist() == [0, 1, 0]
    assert InstanceRule(label_names=NAMES).predict([0.1, 0.9, 0.5]).tolist() == [0, 1, 1]
    assert InstanceRule(label_names=NAMES).predict([0.1, 0.4, 0.3], tail=[5.0]).tolist() == [1, 1, 1]


def test_a_series_goes_by_name() -> None:
    scores = pd.Series({"emu": 0.1, "cat": 0.6, "dog": 0.3}, name="row 7")
    for rule in (RULE, TopKRule(2, label_names=NAMES), InstanceRule(label_names=NAMES)):
        found = rule.predict(scores)
        assert found.index.tolist() == ["emu", "cat", "dog"]
        assert found.name == "row 7"
        assert found.tolist() == [0, 1, 1]
    assert RULE.rescale(scores).index.tolist() == ["emu", "cat", "dog"]
    assert (RULE.rescale(scores) >= 0.5).tolist() == [False, True, True]
    frame = pd.DataFrame([scores, scores[::-1]])
    assert RULE.predict(frame.iloc[0]).tolist() == RULE.predict(frame).iloc[0].tolist()


def test_a_series_whose_index_counts_goes_by_position() -> None:
    assert RULE.predict(pd.Series([0.6, 0.3, 0.1])).tolist() == [1, 1, 0]
    unnamed = ThresholdRule([0.5, 0.2, 0.3])
    found = unnamed.predict(pd.Series([0.6, 0.3, 0.1], index=["x", "y", "z"]))
    assert found.to_dict() == {"x": 1, "y": 1, "z": 0}


def test_probabilities_of_one_row() -> None:
    truth, scores = [[1, 0], [0, 1], [1, 1], [0, 0]], [[2.0, -1.0], [-3.0, 4.0], [1.0, 0.5], [-2.0, -2.0]]
    calibrator = thresholds.calibrate(truth, scores, "platt", label_names=["cat", "dog"])
    expected = calibrator.transform(scores)
    assert calibrator.transform(scores[1]).tolist() == expected[1].tolist()
    by_name = calibrator.transform(pd.Series({"dog": 4.0, "cat": -3.0}))
    assert by_name.to_dict() == {"dog": expected[1, 1], "cat": expected[1, 0]}


def test_rescaled_scores_of_one_row() -> None:
    scores = np.float32([0.6, 0.1, 0.3])
    found = RULE.rescale(scores)
    assert found.dtype == np.float32
    assert found.tolist() == RULE.rescale(scores[np.newaxis])[0].tolist()


def test_a_row_out_of_range_is_warned_of_once() -> None:
    truth, scores = np.random.default_rng(0).random((2, 50, 100))
    rule = thresholds.fit_empirical(truth < 0.3, scores)
    with pytest.warns(thresholds.ScoreChangeWarning, match="100% of the scores lie outside the range") as caught:
        rule.predict(9 + scores[0])
    assert [warning.filename for warning in caught] == [__file__]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        rule.predict(9 + scores[0])


@pytest.mark.parametrize(
    ("scores", "message"),
    [
        ([0.1, 0.2], "y_score is a vector of 2 scores, expected 3, one for each label, or a matrix (n_samples, 3)"),
        (np.zeros(4), "y_score is a vector of 4 scores, expected 3"),
        ([0.5], "y_score is a vector of 1 score, expected 3"),
        ([0.1, np.nan, 0.2], "y_score has NaN at row 0, label 'dog'"),
        (["a", "b", "c"], "y_score has"),
        ([], "y_score is empty"),
        (np.zeros((3, 1)), "y_score has 1 labels, expected 3 as the rule has; one row of 3 labels is a matrix (1, 3)"),
    ],
)
def test_bad_rows_are_refused(scores: object, message: str) -> None:
    with pytest.raises(InputError, match=re.escape(message)):
        RULE.predict(scores)
