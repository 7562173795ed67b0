"""Thresholds against base rates."""

import numpy as np
import pytest

import thresholds
from thresholds.plots import ThresholdsDisplay

RNG = np.random.default_rng(0)
Y = (RNG.random((400, 5)) < [0.4, 0.1, 0.05, 0.02, 0.01]).astype(np.uint8)
S = 1 / (1 + np.exp(2 - RNG.normal(size=Y.shape) - 2 * Y))
S[:, 4] = RNG.random(400)
NAMES = ["cat", "dog", "owl", "emu", "$luck$"]
RULE = thresholds.fit_empirical(Y, S, label_names=NAMES)


def test_thresholds_are_drawn_against_base_rates() -> None:
    display = RULE.plot()
    assert isinstance(display, ThresholdsDisplay)
    np.testing.assert_allclose(display.base_rate, Y.mean(axis=0))
    np.testing.assert_array_equal(display.threshold, RULE.thresholds)
    points = display.ax_.collections[1].get_offsets()
    np.testing.assert_allclose(points, np.column_stack([Y.mean(axis=0), RULE.thresholds]))
    named = {text.get_text().replace("\\", "") for text in display.ax_.texts}
    assert set(NAMES) & named
    display.figure_.draw_without_rendering()


def test_a_diagnosis_gives_states_and_half_of_the_best_f1() -> None:
    diagnosis = thresholds.diagnose(Y, S, RULE)
    display = RULE.plot(diagnosis=diagnosis, k=0)
    np.testing.assert_array_equal(display.state, diagnosis.state)
    np.testing.assert_array_equal(display.half_best_f, diagnosis.table["best_f"] / 2)
    texts = [text.get_text() for text in display.figure_.legends[0].get_texts()]
    assert set(texts) - {"best thresholds of\ncalibrated probabilities", "half of its best F1"} == set(diagnosis.state)
    assert [*display.to_frame()] == ["name", "threshold", "base_rate", "state", "half_best_f"]
    flagged = np.isin(diagnosis.state, ("backwards", "platypus", "suspect"))
    assert flagged[display.order[: flagged.sum()]].all(), "these are named first"


def test_calibrated_probabilities_have_thresholds_in_the_band() -> None:
    """Best thresholds lie where half of the best F1 does: above b / (b + 1), below 1/2."""
    p = RNG.beta(0.5, 3, size=(20_000, 3))
    y_true = (RNG.random(p.shape) < p).astype(np.uint8)
    rule = thresholds.fit_empirical(y_true, p, placement="mid")
    display = ThresholdsDisplay.from_rule(rule, diagnosis=thresholds.diagnose(y_true, p, rule))
    assert display.are_probabilities
    np.testing.assert_allclose(display.threshold, display.half_best_f, atol=0.03)
    b = display.base_rate
    assert ((b / (b + 1) < display.half_best_f) & (display.half_best_f < 0.5)).all()
    axes = display.plot().ax_
    band = axes.collections[0].get_paths()[0].vertices
    assert band[:, 1].max() == 0.5
    np.testing.assert_allclose(band[band[:, 1] < 0.5, 1], (band[:, 0] / (band[:, 0] + 1))[band[:, 1] < 0.5])


def test_what_lies_beyond_the_axes_is_on_the_border() -> None:
    never = RULE.replace({"dog": np.inf, "owl": -np.inf})
    texts = [text.get_text() for text in never.plot(k=0).ax_.texts]
    assert texts == ["never predicted: 1", "always predicted: 1"]
    y_true = Y.copy()
    y_true[:, 0] = 0
    unsupported = thresholds.fit_empirical(y_true, S)  # never predicted, as it is never true
    assert unsupported.thresholds[0] == np.inf
    assert [text.get_text() for text in unsupported.plot(k=0).ax_.texts] == ["no positives: 1"]
    tiny = RULE.replace({"cat": 0.9, "dog": 0.02, "owl": 0.03, "emu": 1e-30})
    axes = tiny.plot(k=0).ax_
    assert axes.get_yscale() == "log"
    assert [text.get_text().split(":")[1] for text in axes.texts] == [" 1"]


def test_logits_have_a_linear_axis_and_no_band() -> None:
    rule = thresholds.fit_empirical(Y, np.log(S / (1 - S)))
    display = rule.plot()
    assert not display.are_probabilities
    assert display.ax_.get_yscale() == "linear"
    assert len(display.ax_.collections) == len(thresholds.fit_empirical(Y, S).plot().ax_.collections) - 1


def test_thirty_thousand_labels_become_a_density() -> None:
    fitted_on = thresholds.rule.fitted_on.FittedOn(
        10**6, tuple(range(1, 30_001)), "float32", "1", known_quantiles=np.array([0.0] * 3 + [1.0] * 4)
    )
    rule = thresholds.ThresholdRule(np.linspace(0.01, 0.9, 30_000), fitted_on=fitted_on)
    display = rule.plot()
    texts = [text.get_text() for text in display.figure_.legends[0].get_texts()]
    assert "labels" in texts
    display.figure_.draw_without_rendering()


def test_a_rule_that_was_not_fitted_needs_a_diagnosis() -> None:
    with pytest.raises(thresholds.InputError, match="rule was not fitted"):
        thresholds.FixedRule(0.5, 5).plot()
    fixed = thresholds.FixedRule(0.5, 5, label_names=NAMES)
    assert fixed.plot(diagnosis=thresholds.diagnose(Y, S, fixed)).threshold.tolist() == [0.5] * 5
