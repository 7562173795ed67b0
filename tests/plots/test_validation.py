"""Optimism by label, with its median by positives; and labels whose thresholds may move, with their intervals."""

import io

import numpy as np
import pytest
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection, PathCollection

import thresholds
from thresholds._results.result import rows_of
from thresholds.plots import BootstrapDisplay, OptimismDisplay
from thresholds.validation.bootstrap import ThresholdBootstrap


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
    assert display.name.tolist() == ["B" * 50, "a$b"], "most positives first; without positives there is no F"
    assert display.n_positives.tolist() == [positives[1], positives[0]]
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
    np.testing.assert_allclose(dots, np.column_stack([display.n_positives, display.optimism]))
    named = [text.get_text() for text in display.ax_.texts]
    assert f"label {optimism.argmax()}" in named
    assert len(named) <= 5


def test_thirty_thousand_labels() -> None:
    rng = np.random.default_rng(0)
    display = display_of(rng.geometric(0.01, 30_000), rng.random(30_000)).plot()
    assert [type(found).__name__ for found in display.ax_.collections][:1] == ["QuadMesh"]


def test_without_any_positives_the_axes_are_empty() -> None:
    result = thresholds.cross_fit(np.zeros((9, 2)), np.arange(18.0).reshape(9, 2), cv=3)
    display = result.plot()
    assert display.name.size == 0
    display.figure_.savefig(io.BytesIO(), dpi=40)
    assert segments(display.ax_) == []


# How far thresholds may move


COLUMNS = (
    *("threshold", "threshold_low", "threshold_high", "predicted", "predicted_low", "predicted_high"),
    *("f", "f_corrected", "f_low", "f_high"),
)


def bootstrap_of(rows: list[tuple[float, ...]], n_positives: list[int]) -> ThresholdBootstrap:
    """A result with these figures of labels, in the order of the columns above."""
    columns = dict(zip(COLUMNS, np.array(rows).T, strict=True))
    names = np.array([f"label {j}" for j in range(len(rows))])
    table = rows_of({"name": names, "n_positives": np.array(n_positives), **columns})
    return ThresholdBootstrap(table, 0.5, 0.4, 1000, 200, 0.95, 1.0, 0)


FOUND = bootstrap_of(
    [
        (0.5, 0.4, 0.6, 0.10, 0.08, 0.12, 0.7, 0.65, 0.6, 0.7),
        (0.2, 0.1, np.inf, 0.02, 0.0, 0.3, 0.4, 0.1, 0.0, 0.5),
        (0.3, 0.2, 0.8, 0.05, 0.02, 0.06, 0.5, 0.4, 0.3, 0.5),
    ],
    [100, 3, 40],
)


def segments(axes: Axes) -> list[list[float]]:
    """The intervals: from where to where, and on which line."""
    found = [bar for c in axes.collections if isinstance(c, LineCollection) for bar in c.get_segments()]
    return [[start[0], end[0], start[1]] for start, end in found]


def marked(axes: Axes, text: str) -> list[float]:
    """Where the marks of that text lie, from the first line on."""
    (found,) = (c for c in axes.collections if isinstance(c, PathCollection) and c.get_label() == text)
    return found.get_offsets()[:, 0].tolist()


def test_labels_whose_thresholds_may_move_furthest_come_first() -> None:
    display = FOUND.plot()
    assert isinstance(display, BootstrapDisplay)
    assert display.table["name"].tolist() == ["label 1", "label 2", "label 0"]
    shares, f = display.axes_
    assert [text.get_text() for text in shares.get_yticklabels()] == ["label 1 (3)", "label 2 (40)", "label 0 (100)"]
    assert segments(shares) == [[0.0005, 0.3, 0], [0.02, 0.06, 1], [0.08, 0.12, 2]], "no row is half a row"
    assert marked(shares, "rows that the threshold predicts") == [0.02, 0.05, 0.1]
    assert marked(shares, "rows with the label") == [0.003, 0.04, 0.1]
    assert segments(f) == [[0, 0.5, 0], [0.3, 0.5, 1], [0.6, 0.7, 2]]
    assert marked(f, "claimed, in the sample") == [0.4, 0.5, 0.7]
    assert marked(f, "corrected") == [0.1, 0.4, 0.65]
    assert display.figure_.get_suptitle() == "Labels by how far their thresholds may move"
    display.figure_.savefig(io.BytesIO(), dpi=40)


def test_thresholds_that_may_be_infinite_reach_to_the_border() -> None:
    display = FOUND.plot(quantity="threshold", k=2)
    left, right = display.ax_.get_xlim()
    assert segments(display.ax_) == [[0.1, pytest.approx(right), 0], [0.2, 0.8, 1]]
    assert (left, right) == (pytest.approx(0.1 / 1.3), pytest.approx(0.8 * 1.3))
    assert display.ax_.get_xscale() == "log"
    assert display.figure_.get_suptitle() == "2 of 3 labels whose thresholds may move furthest"
    assert len(display.to_frame()) == 2
    of_logits = bootstrap_of([(-1.0, -np.inf, 2.0, 0.1, 0.0, 1.0, 0.5, 0.5, 0.5, 0.5)], [7]).plot(quantity="threshold")
    assert of_logits.ax_.get_xscale() == "linear"
    never = bootstrap_of([(np.inf, np.inf, np.inf, *(0.0,) * 7)], [0]).plot(quantity=["threshold", "predicted", "f"])
    never.figure_.savefig(io.BytesIO(), dpi=40)


def test_a_bootstrap_tells_of_optimism_too() -> None:
    display = OptimismDisplay.from_bootstrap(FOUND).plot()
    assert display.name.tolist() == ["label 0", "label 2", "label 1"]
    np.testing.assert_allclose(display.optimism, [0.05, 0.1, 0.3])
    assert display.figure_.get_suptitle() == "macro F1 0.500 in the sample, 0.400 corrected"
