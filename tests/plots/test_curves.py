"""Curves of labels: what is drawn is what cuts reach, counted here one by one."""

from typing import Any

import numpy as np
import pandas as pd
import pytest
from matplotlib import pyplot
from scipy import sparse

import thresholds
from thresholds.metrics import f_interval
from thresholds.plots import FCurveDisplay, PrecisionRecallDisplay

NAMES = ["cat", "dog", "owl"]
RNG = np.random.default_rng(0)
Y = (RNG.random((200, 3)) < [0.4, 0.1, 0.0]).astype(np.uint8)
S = (RNG.normal(size=Y.shape) + 1.5 * Y).round(1)
RULE = thresholds.ThresholdRule([0.55, 1.0, np.inf], label_names=NAMES)


def reached(j: int, threshold: float, weight: np.ndarray, beta: float) -> tuple[float, float, float]:
    """Precision, recall and F of a cut, from the definitions."""
    predicted = S[:, j] >= threshold
    tp = (weight * (predicted & (Y[:, j] == 1))).sum()
    precision = tp / (weight * predicted).sum()
    recall = tp / (weight * Y[:, j]).sum()
    return precision, recall, 0 if tp == 0 else (1 + beta**2) * precision * recall / (beta**2 * precision + recall)


@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("beta", [1.0, 2.0])
def test_every_point_is_what_a_cut_there_reaches(kind: type, beta: float) -> None:
    weight = 1.0 + np.arange(200) % 3
    display = FCurveDisplay.from_predictions(Y, kind(S), rule=RULE, beta=beta, sample_weight=weight, label=["dog", 0])
    assert [curve.name for curve in display.curves] == ["dog", "cat"]
    for j, curve in zip((1, 0), display.curves, strict=True):
        points = [reached(j, threshold, weight, beta) for threshold in curve.threshold]
        precision, recall, f = np.transpose(points)
        np.testing.assert_allclose(curve.precision, precision, rtol=1e-12)
        np.testing.assert_allclose(curve.recall, recall, rtol=1e-12)
        np.testing.assert_allclose(curve.f, f, rtol=1e-12)
        cuts = np.unique(S[:, j])
        assert curve.f[curve.best] == pytest.approx(max(reached(j, cut, weight, beta)[2] for cut in cuts))
        assert curve.f_of_all == pytest.approx(reached(j, -np.inf, weight, beta)[2])
        assert curve.rule.threshold == RULE.thresholds[j]
        at_rule = reached(j, RULE.thresholds[j], weight, beta)
        assert (curve.rule.precision, curve.rule.recall, curve.rule.f) == pytest.approx(at_rule)
        low, high = f_interval(curve.tp, curve.predicted, curve.positives, beta=beta)
        np.testing.assert_array_equal((curve.f_low, curve.f_high), (low, high))


def test_the_curve_goes_through_what_the_rule_reaches() -> None:
    curve = FCurveDisplay.from_predictions(Y, S, rule=RULE, label="cat").curves[0]
    place = curve.threshold.tolist().index(0.55)
    assert curve.f[place] == curve.rule.f
    assert (np.diff(curve.threshold) < 0).all()
    without = FCurveDisplay.from_predictions(Y, S, label=0).curves[0]
    assert without.rule is None
    assert without.threshold[without.best] == curve.threshold[curve.best]


def test_the_lines_that_are_drawn() -> None:
    display = FCurveDisplay.from_predictions(Y, S, rule=RULE, label="cat")
    curve = display.curves[0]
    assert display.plot() is display
    lines = {line.get_label(): line for line in display.ax_.lines}
    drawn = curve.predicted <= 0.95 * 200
    np.testing.assert_array_equal(lines["F1 on these rows"].get_xdata(), curve.threshold[drawn])
    np.testing.assert_array_equal(lines["F1 on these rows"].get_ydata(), curve.f[drawn])
    assert lines["best on these rows"].get_xydata().tolist() == [[curve.threshold[curve.best], curve.f.max()]]
    assert lines["the rule"].get_xydata().tolist() == [[0.55, curve.rule.f]]
    assert lines["predicting every row"].get_ydata()[0] == curve.f_of_all
    assert display.ax_.get_title("left").startswith("cat")
    display.figure_.draw_without_rendering()


def test_precision_is_drawn_against_recall() -> None:
    display = PrecisionRecallDisplay.from_predictions(Y, S, rule=RULE, label=1).plot()
    curve = display.curves[0]
    lines = {line.get_label(): line for line in display.ax_.lines}
    drawn = lines["at each threshold, on these rows"]
    np.testing.assert_array_equal(drawn.get_xydata(), np.column_stack([curve.recall, curve.precision]))
    assert lines["the rule"].get_xydata().tolist() == [[curve.rule.recall, curve.rule.precision]]
    assert lines["share of positives"].get_ydata()[0] == Y[:, 1].mean()
    recall, precision = lines["F1 of 0.2, 0.4, 0.6, 0.8"].get_data()
    f = 2 * recall * precision / (recall + precision)
    np.testing.assert_allclose(f, f[0])


def test_labels_that_are_never_predicted_or_never_true_can_be_drawn() -> None:
    for kind in (FCurveDisplay, PrecisionRecallDisplay):
        display = kind.from_predictions(Y, S, rule=RULE).plot()
        owl = display.curves[2]
        assert owl.best == -1
        assert owl.f_of_all == 0
        assert np.isnan(owl.recall).all()
        display.figure_.draw_without_rendering()
    texts = [text.get_text() for text in FCurveDisplay.from_predictions(Y, S, rule=RULE).plot().axes_[2].texts]
    assert "never predicted by the rule" in texts


@pytest.mark.parametrize("kind", [FCurveDisplay, PrecisionRecallDisplay])
def test_a_label_of_which_nothing_is_known_can_be_drawn(kind: Any) -> None:
    y_true = np.array([[1, np.nan], [0, np.nan], [1, np.nan]])
    display = kind.from_predictions(y_true, [[0.9, 0.1], [0.2, 0.6], [0.4, 0.3]], unknown="nan").plot()
    curve = display.curves[1]
    assert (curve.n_samples, curve.best) == (0, -1)
    assert [curve.threshold.tolist(), curve.predicted.tolist(), curve.f.tolist()] == [[np.inf], [0], [0]]


def test_thresholds_that_lie_far_apart_have_a_logarithmic_axis() -> None:
    for scores, scale in ((S + 5, "linear"), (np.exp(3 * S), "log"), (S, "linear")):
        axes = FCurveDisplay.from_predictions(Y, scores, label=0).plot(pyplot.figure().subplots()).ax_
        assert axes.get_xscale() == scale


def test_labels_go_by_name() -> None:
    frame = pd.DataFrame(S, columns=NAMES)[["owl", "dog", "cat"]]
    truth = pd.DataFrame(Y, columns=NAMES)
    expected = FCurveDisplay.from_predictions(Y, S, rule=RULE, label="dog").to_frame()
    found = FCurveDisplay.from_predictions(truth, frame, rule=RULE, label="dog").to_frame()
    pd.testing.assert_frame_equal(found, expected)
    assert [*expected] == ["label", "threshold", "tp", "predicted", "precision", "recall", "f", "f_low", "f_high"]


def test_of_many_labels_those_with_most_positives_are_shown() -> None:
    y_true = (np.arange(40)[:, np.newaxis] < np.arange(20)).astype(np.uint8)  # label j has j positives
    display = FCurveDisplay.from_predictions(y_true, np.arange(800.0).reshape(40, 20))
    assert [curve.name for curve in display.curves] == [str(j) for j in range(8, 20)]


def test_another_rule_has_a_level_in_place_of_a_threshold() -> None:
    display = FCurveDisplay.from_predictions(Y, S, rule=thresholds.TopKRule(1), label=0)
    top = S[:, 0] >= S.max(axis=1)
    first = np.flatnonzero(top)
    assert display.curves[0].rule.recall == pytest.approx(Y[first, 0].sum() / Y[:, 0].sum(), abs=0.1)
    assert np.isnan(display.curves[0].rule.threshold)
    axes = display.plot(pyplot.figure().subplots()).ax_
    assert "the rule" in [text.get_text() for text in axes.texts]
