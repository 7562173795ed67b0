"""A report, and displays, of truth of which a part is not known."""

from typing import Any

import numpy as np
import pytest

import thresholds
from thresholds.plots import FCurveDisplay, ReliabilityDisplay

RNG = np.random.default_rng(4)
TRUTH = (RNG.random((400, 3)) < [0.4, 0.2, 0.1]).astype(int)
SCORES = RNG.normal(size=(400, 3)) + 2 * TRUTH
HIDDEN = np.where(RNG.random((400, 3)) < 0.3, -1, TRUTH)
HIDDEN[:20] = -1  # rows of which nothing is known


@pytest.fixture(scope="module")
def rule() -> Any:
    """A rule of all cells."""
    return thresholds.fit_empirical(TRUTH, SCORES)


def test_a_report_says_how_much_is_not_known_and_counts_the_rest(rule: Any) -> None:
    report = thresholds.make_report(HIDDEN, SCORES, rule, unknown=-1)
    share = (HIDDEN == -1).mean()
    said = f"In {100 * share:.0f} % of the cells (one label of one row each) the truth is not known."
    content: Any = report.content
    assert content.summary.cautions[0].startswith(said)
    marks = int((rule.predict(SCORES) & (HIDDEN != -1)).sum())
    assert f"On 400 rows, where the truth is known, it makes {marks} marks" in " ".join(content.summary.rule)
    assert content.per_row.true.sum() == (HIDDEN != -1).any(axis=1).sum()
    rest = thresholds.make_report(HIDDEN[20:], SCORES[20:], rule, unknown=-1).content
    for figure, of_rest in zip(content.summary.figures, rest.summary.figures, strict=True):
        assert figure.value == of_rest.value


def test_a_report_of_known_truth_says_nothing_of_it(rule: Any) -> None:
    content: Any = thresholds.make_report(TRUTH, SCORES, rule, unknown=-1).content
    assert not any("not known" in caution for caution in content.summary.cautions)
    assert "On 400 rows it makes" in " ".join(content.summary.rule)


def test_a_report_against_a_rule_of_fewer_labels_counts_the_known_cells_of_these() -> None:
    names = [str(j) for j in range(HIDDEN.shape[1])]
    new = thresholds.ThresholdRule(np.zeros(len(names)), label_names=names)
    old = thresholds.ThresholdRule([1.0, 0.5], label_names=[names[2], names[0]])
    report: Any = thresholds.make_report(HIDDEN, SCORES, new, against=old, unknown=-1)
    places = np.array([0, 2])
    alone: Any = thresholds.make_report(
        HIDDEN[:, places],
        SCORES[:, places],
        thresholds.ThresholdRule([0.0, 0.0], label_names=[names[0], names[2]]),
        against=old,
        unknown=-1,
    )
    assert report.content.against.changes == alone.content.against.changes


def test_a_report_may_fit_its_rule_itself() -> None:
    report = thresholds.make_report(HIDDEN, SCORES, unknown=-1)
    other = thresholds.make_report(np.where(HIDDEN == -1, np.nan, HIDDEN), SCORES, unknown="nan")
    assert str(report) == str(other)


@pytest.mark.parametrize("label", [0, 2])
def test_curves_of_a_label_are_those_of_its_known_rows(label: int) -> None:
    known = HIDDEN[:, label] != -1
    (hidden,) = FCurveDisplay.from_predictions(HIDDEN, SCORES, label=label, unknown=-1).curves
    (alone,) = FCurveDisplay.from_predictions(TRUTH[known, label], SCORES[known, label]).curves
    np.testing.assert_array_equal(hidden.f, alone.f)
    np.testing.assert_array_equal(hidden.threshold, alone.threshold)
    assert hidden.n_samples == alone.n_samples


def test_reliability_of_a_label_is_that_of_its_known_rows() -> None:
    p = 1 / (1 + np.exp(-SCORES))
    known = HIDDEN[:, 1] != -1
    (hidden,) = ReliabilityDisplay.from_predictions(HIDDEN, p, label=1, unknown=-1).parts
    (alone,) = ReliabilityDisplay.from_predictions(TRUTH[known, 1], p[known, 1], label=0).parts
    np.testing.assert_array_equal(hidden.observed, alone.observed)
    np.testing.assert_array_equal(hidden.predicted, alone.predicted)
