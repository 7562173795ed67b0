"""Over-prediction against support: what is drawn is what `diagnose` counted."""

import io
from functools import cache

import numpy as np
import pytest
from matplotlib.collections import PathCollection

import thresholds
from thresholds.plots import OverpredictionDisplay

STATES = ["restrained", "overpredicted", "suspect", "platypus", "unsupported", "restrained"]


def display_of(predicted: list[int], positives: list[int], states: list[str]) -> OverpredictionDisplay:
    """A display of such counts on 1,000 rows."""
    names = np.array([f"label {j}" for j in range(len(states))])
    counts = np.array(positives), np.array(predicted)
    with np.errstate(divide="ignore", invalid="ignore"):
        return OverpredictionDisplay(names, *counts, counts[1] / counts[0], np.array(states), 3.0, 1000)


def drawn(display: OverpredictionDisplay, text: str) -> list[tuple[float, float]]:
    """The points whose text in the legend begins so."""
    for found in display.ax_.collections:
        if isinstance(found, PathCollection) and str(found.get_label()).startswith(text):
            return [(x, y) for x, y in found.get_offsets().tolist()]
    return []


def test_it_takes_what_a_diagnosis_counted() -> None:
    rng = np.random.default_rng(0)
    y_true = rng.random((300, 4)) < [0.3, 0.1, 0.02, 0.0]
    y_score = rng.random((300, 4))
    rule = thresholds.ThresholdRule([0.9, 0.2, -np.inf, 0.5], label_names=("a", "b", "c", "d"))
    diagnosis = thresholds.diagnose(y_true, y_score, rule)
    display = diagnosis.plot()
    assert isinstance(display, OverpredictionDisplay)
    predicted = rule.predict(y_score)
    assert display.name.tolist() == ["a", "b", "c", "d"]
    assert display.n_positives.tolist() == y_true.sum(axis=0).tolist()
    assert display.predicted.tolist() == predicted.sum(axis=0).tolist()
    assert display.state.tolist() == diagnosis.state.tolist()
    assert (display.limit, display.n_samples) == (3.0, 300)
    frame = display.to_frame()
    np.testing.assert_array_equal(frame["overprediction"], diagnosis.table["overprediction"])


@cache
def six_labels() -> OverpredictionDisplay:
    """One display, drawn, of labels in five states."""
    return display_of([20, 200, 50, 1000, 0, 0], [20, 50, 0, 10, 0, 40], STATES).plot()


def test_each_label_lies_at_its_counts_with_the_look_of_its_state() -> None:
    display = six_labels()
    assert drawn(display, "overpredicted") == [(50, 4)]
    assert drawn(display, "platypus") == [(10, 100)]
    assert drawn(display, "suspect") == [(0.5, 100)], "no positives are drawn as half a row"
    assert drawn(display, "restrained")[0] == (20, 1)
    height = (display.ax_.transData + display.ax_.transAxes.inverted()).transform(drawn(display, "restrained"))[1, 1]
    assert drawn(display, "restrained")[1][0] == 40
    assert height == pytest.approx(0.015), "what is never predicted is at the border"
    assert "never predicted: 2" in [text.get_text() for text in display.ax_.texts]
    colours = {tuple(found.get_facecolor()[0][:3]) for found in display.ax_.collections if len(found.get_offsets())}
    assert len(colours) == 4, "grey for two states, each of the others has its own"


def test_the_legend_says_how_many_labels_and_what_share_of_predictions() -> None:
    (legend,) = six_labels().figure_.legends
    texts = [text.get_text() for text in legend.get_texts()]
    assert "3 times as often as true" in texts
    assert "platypus (scores know little): 1 label, 79%" in texts
    assert "restrained (not too often): 2 labels, 2%" in texts


def test_the_worst_labels_are_named_first() -> None:
    display = display_of([20, 200, 50, 1000, 0, 400], [20, 50, 0, 10, 0, 390], STATES)
    assert display.worst.tolist() == [3, 1, 2, 5, 0, 4]
    named = display.plot(k=2).ax_.texts
    assert [text.get_text() for text in named if text.get_text().startswith("label")] == ["label 3", "label 1"]


def test_a_label_that_is_predicted_in_every_row_lies_on_the_dotted_line() -> None:
    line = next(line for line in six_labels().ax_.lines if line.get_label() == "predicted in every row")
    x, y = np.log(line.get_data())
    assert np.interp(np.log(10), x, y) == pytest.approx(np.log(100)), "label 3, on all 1,000 rows"


def test_thirty_thousand_labels_are_shaded_and_those_flagged_are_marked() -> None:
    rng = np.random.default_rng(0)
    positives = np.geomspace(1, 1000, 30_000)
    positives = positives.astype(int)
    predicted = (positives * rng.random(30_000) * 3).astype(int)
    states = np.where(np.arange(30_000) % 100 == 0, "platypus", "restrained")
    display = display_of(predicted.tolist(), positives.tolist(), states.tolist()).plot()
    assert len(drawn(display, "platypus")) == 300


def test_labels_that_are_never_true_and_never_predicted_are_drawn_too() -> None:
    display = display_of([0, 7], [0, 0], ["unsupported"] * 2).plot()
    assert len(drawn(display, "unsupported")) == 2
    display.figure_.savefig(io.BytesIO(), dpi=40)
