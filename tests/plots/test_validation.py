"""Optimism by label: F in the sample against F out of fold, and its median by positives."""

import io

import numpy as np
import pytest
from matplotlib.collections import LineCollection, PathCollection

import thresholds
from thresholds.plots import OptimismDisplay


def display_of(positives: np.ndarray, optimism: np.ndarray) -> OptimismDisplay:
    """A display of labels with so many positives, rising or not, that are so much too high."""
    order = np.argsort(-positives, kind="stable")
    names = np.array([f"label {j}" for j in order])
    found = np.full(order.size, 0.25)
    words = ("in the sample", "out of fold", "macro")
    return OptimismDisplay(names, positives[order], found + optimism[order], found, *words, 0.4, 0.25, 1.0)


def test_few_labels_have_both_figures_on_a_line() -> None:
    rng = np.random.default_rng(3)
    y_true = rng.random((90, 3)) < [0.1, 0.4, 0.0]
    y_score = rng.normal(size=(90, 3)) + y_true
    result = thresholds.cross_fit(y_true, y_score, guard=None, beta=2, label_names=("a$b", "B" * 50, "none"))
    display = result.plot()
    positives = y_true.sum(axis=0)
    assert display.names.tolist() == ["B" * 50, "a$b"], "most positives first; without positives there is no F"
    assert display.positives.tolist() == [positives[1], positives[0]]
    np.testing.assert_array_equal(display.claimed, result.spread["f_in_sample"][[1, 0]])
    claimed, found = (c for c in display.ax_.collections if isinstance(c, PathCollection))
    assert claimed.get_offsets().tolist() == [[f, line] for line, f in enumerate(display.claimed.tolist())]
    assert found.get_offsets().tolist() == [[f, line] for line, f in enumerate(display.found.tolist())]
    texts = [text.get_text() for text in display.ax_.get_yticklabels()]
    assert texts == [rf"{'B' * 10}…{'B' * 9} ({positives[1]})", rf"a\$b ({positives[0]})"]
    assert display.figure_.get_suptitle() == (
        f"macro F2 {result.in_sample:.3f} in the sample, {result.out_of_fold:.3f} out of fold"
    )
    display.figure_.savefig(io.BytesIO(), dpi=40)
    assert display.to_frame()["optimism"].tolist() == (display.claimed - display.found).tolist()


def test_many_labels_have_the_median_of_those_with_about_as_many_positives() -> None:
    rng = np.random.default_rng(0)
    positives = rng.permutation(np.repeat([1, 2, 3, 4, 70, 100], [15, 8, 7, 4, 3, 20]))
    optimism = rng.normal(size=positives.size) / 10
    display = display_of(positives, optimism).plot()
    (median,) = (line for line in display.ax_.lines if line.get_label() == "their median")

    # Twice as many positives as the next: 64 to 127, 2 to 7 (of 4 to 7 there are too few), and 1.
    classes = [positives >= 64, (positives >= 2) & (positives < 8), positives == 1]
    np.testing.assert_allclose(median.get_xdata(), [np.median(positives[of]) for of in classes])
    np.testing.assert_allclose(median.get_ydata(), [np.median(optimism[of]) for of in classes])
    dots = display.ax_.collections[0].get_offsets()
    np.testing.assert_allclose(dots, np.column_stack([display.positives, display.optimism]))
    named = [text.get_text() for text in display.ax_.texts]
    assert f"label {optimism.argmax()}" in named
    assert len(named) <= 5


def test_labels_of_one_class_have_one_median() -> None:
    display = display_of(np.full(30, 5), np.linspace(0, 0.3, 30)).plot()
    (median,) = (line for line in display.ax_.lines if line.get_label() == "their median")
    assert median.get_xydata().tolist() == [[5, pytest.approx(0.15)]]


def test_thirty_thousand_labels() -> None:
    rng = np.random.default_rng(0)
    display = display_of(rng.geometric(0.01, 30_000), rng.random(30_000)).plot()
    display.figure_.savefig(io.BytesIO(), dpi=40)


def test_without_any_positives_the_axes_are_empty() -> None:
    result = thresholds.cross_fit(np.zeros((9, 2)), np.arange(18.0).reshape(9, 2), cv=3)
    display = result.plot()
    assert display.names.size == 0
    display.figure_.savefig(io.BytesIO(), dpi=40)
    assert not any(c.get_segments() for c in display.ax_.collections if isinstance(c, LineCollection))
