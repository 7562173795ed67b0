"""An old rule against a new one: rows predicted, or thresholds, with the reasons of `diff_rules`."""

import io

import numpy as np
import pytest

import thresholds
from thresholds import ThresholdRule, TopKRule
from thresholds.plots import DifferenceDisplay

inf = np.inf
NAMES = ("a", "b", "c", "d")
SCORES = np.random.default_rng(0).random((200, 4))


def offsets(display: DifferenceDisplay) -> list[list[float]]:
    """Where all marks are: in data, and for those at a border its name."""
    axes = display.ax_
    found = []
    for marks in axes.collections:
        places = marks.get_offsets()
        parts = (axes.transData + axes.transAxes.inverted()).transform(places)  # of the axes
        for place, part in zip(places.tolist(), parts.round(6).tolist(), strict=True):
            names = ({0.015: "left", 0.985: "right"}, {0.015: "bottom", 0.985: "top"})
            found.append([name.get(p, at) for name, p, at in zip(names, part, place, strict=True)])
    return found


def texts(display: DifferenceDisplay) -> list[str]:
    """All that is written within the axes."""
    return [text.get_text() for text in display.ax_.texts]


def test_with_scores_rows_predicted_are_drawn() -> None:
    old = ThresholdRule([0.5, 0.2, 0.3, 0.9], label_names=NAMES)
    new = ThresholdRule([0.5, 0.6, 0.2, inf], label_names=NAMES)
    display = thresholds.diff_rules(old, new, SCORES).plot()
    before, after = old.predict(SCORES).sum(axis=0), new.predict(SCORES).sum(axis=0)
    place = [NAMES.index(name) for name in display.name]
    assert display.quantity == "predicted"
    assert display.name[0] == "b", "the largest change first"
    assert display.name[-1] == "a", "what stayed last"
    np.testing.assert_array_equal(display.old, before[place])
    np.testing.assert_array_equal(display.new, after[place])
    for j in range(3):
        assert [before[j], after[j]] in offsets(display)
    assert [before[3], "bottom"] in offsets(display), "never predicted now: at the lower border"
    assert "never predicted now: 1" in texts(display)
    assert {"b", "c", "d"} <= set(texts(display)), "labels at a border are named, too"
    assert "a" not in texts(display)
    assert display.to_frame().columns.tolist() == ["name", "old", "new", "reason"]


def test_without_scores_thresholds_are_drawn() -> None:
    old = ThresholdRule([0.5, -inf, 0.3, inf], label_names=NAMES)
    new = ThresholdRule([0.4, 0.2, inf, 0.1], label_names=NAMES)
    display = thresholds.diff_rules(old, new).plot()
    assert display.quantity == "threshold"
    expected = [[0.5, 0.4], ["left", 0.2], [0.3, "top"], ["right", 0.1]]
    assert sorted(offsets(display), key=str) == sorted(expected, key=str)
    assert {
        "lower, or always predicted, before: 1",
        "never predicted before: 1",
        "never predicted now: 1",
    } <= set(texts(display))
    assert display.ax_.get_xlim() == display.ax_.get_ylim()
    assert display.ax_.get_xscale() == "log"
    of_logits = thresholds.diff_rules(ThresholdRule([-1.0, 2.0]), ThresholdRule([-3.0, 2.5])).plot()
    assert of_logits.ax_.get_xscale() == "linear"


def test_a_threshold_just_above_0_is_left_to_the_border() -> None:
    old = ThresholdRule([0.5, 0.3, 0.2, 1e-38])
    display = thresholds.diff_rules(old, ThresholdRule([0.4, 0.3, 0.1, 0.1])).plot()
    assert ["left", 0.1] in offsets(display)
    assert display.ax_.get_xlim()[0] == pytest.approx(0.1 / 1.5)


def test_reasons_have_looks_and_words() -> None:
    reasons = np.array(["news", "noise", "noise", ""])
    values = np.array([1.0, 2.0, 3.0, 4.0])
    display = DifferenceDisplay(np.array(NAMES), values, values[::-1], reasons, "predicted", "threshold").plot()
    (legend,) = display.figure_.legends
    assert [text.get_text() for text in legend.get_texts()] == [
        "not moved (1 label)",
        "noise: the rows of the fits cannot tell why (2 labels)",
        "news: more or less often true at the same score (1 label)",
    ]
    colours = [tuple(found.get_facecolor()[0]) for found in display.ax_.collections]
    assert len(set(colours)) == 3


def test_rules_without_thresholds_need_scores() -> None:
    difference = thresholds.diff_rules(ThresholdRule([0.5] * 4), TopKRule(1), SCORES)
    display = difference.plot()
    assert offsets(display) != []
    assert "no thresholds to compare (4 labels)" in [text.get_text() for text in display.figure_.legends[0].get_texts()]


def test_rules_without_a_label_in_common() -> None:
    difference = thresholds.diff_rules(
        ThresholdRule([0.5], label_names=("a",)), ThresholdRule([0.5], label_names=("b",))
    )
    difference.plot().figure_.savefig(io.BytesIO(), dpi=40)
