"""Rules by measures, and by pairs: what is drawn is what `compare` found."""

import numpy as np
import pytest
from matplotlib import pyplot
from matplotlib.collections import LineCollection, PathCollection

import thresholds
from thresholds.comparison.result import Comparison
from thresholds.plots import AgreementDisplay, ComparisonDisplay

CUTS = {"low $x": 0.3, "high": 0.9, "middle": 0.5, "middle too": 0.502}


@pytest.fixture(scope="module")
def comparison() -> Comparison:
    """Four rules, two of which hardly differ, and are far better than the others."""
    rng = np.random.default_rng(0)
    y_true = rng.random((400, 3)) < 0.2
    y_score = np.clip(rng.normal(0.35, 0.12, size=(400, 3)) + 0.3 * y_true, 0, 1)
    rules = {name: thresholds.FixedRule(cut, 3) for name, cut in CUTS.items()}
    return thresholds.compare(rules, y_true, y_score)


def test_rules_have_their_intervals_the_best_first(comparison: Comparison) -> None:
    display = comparison.plot(measure=["micro", "macro"])
    assert isinstance(display, ComparisonDisplay)
    measures = {row.rule: row for row in comparison.measures}
    in_order = sorted(CUTS, key=lambda name: -measures[name].micro)
    assert display.rules.tolist() == in_order
    for panel, axes in enumerate(display.axes_):
        intervals = [measures[name].intervals[("micro", "macro")[panel]] for name in in_order]
        bars = [bar for c in axes.collections if isinstance(c, LineCollection) for bar in c.get_segments()]
        expected = [[[low, line], [high, line]] for line, (_, low, high) in enumerate(intervals)]
        assert sorted(np.array(bars).tolist(), key=lambda bar: bar[0][1]) == expected
        marks = [c for c in axes.collections if isinstance(c, PathCollection)]
        assert sorted((y, x) for c in marks for x, y in c.get_offsets().tolist()) == [
            (line, value) for line, (value, *_) in enumerate(intervals)
        ]
    assert [text.get_text() for text in display.ax_.get_yticklabels()] == [n.replace("$", r"\$") for n in in_order]
    assert [text.get_text() for text in display.axes_[1].get_yticklabels()] == [""] * 4
    assert [axes.get_xlabel() for axes in display.axes_] == ["micro F1", "macro F1, all labels"]


def test_rules_that_may_be_the_best_have_a_look_of_their_own(comparison: Comparison) -> None:
    display = ComparisonDisplay.from_comparison(comparison).plot()
    tied = {name for name, behind in comparison.behind_best["macro"].items() if behind.tied}
    assert tied == {"middle", "middle too"}
    marks = {c.get_label(): c for c in display.ax_.collections if isinstance(c, PathCollection)}
    at = {text: set(display.rules[c.get_offsets()[:, 1].astype(int)]) for text, c in marks.items()}
    assert at == {"may be the best": tied, "shown to be behind it": {"low $x", "high"}}
    (legend,) = display.figure_.legends
    assert legend.get_title().get_text() == "bars: 95 % intervals"
    colours = {tuple(c.get_facecolor()[0]) for c in marks.values()}
    shapes = {len(c.get_paths()[0].vertices) for c in marks.values()}
    assert len(colours) == len(shapes) == 2
    assert display.to_frame()["is_behind"].tolist() == [False, False, True, True]


def test_names_stand_at_each_axes_that_is_given(comparison: Comparison) -> None:
    _, grid = pyplot.subplots(1, 2)
    comparison.plot(grid[1])
    assert "middle" in [text.get_text() for text in grid[1].get_yticklabels()]
    assert grid[1].get_legend() is not None


def test_without_intervals_nothing_is_said_of_the_best() -> None:
    rules = {name: thresholds.FixedRule(cut, 1) for name, cut in CUTS.items()}
    display = thresholds.compare(rules, [[1], [0]], [[0.6], [0.4]], confidence=None).plot()
    assert np.isnan(display.low).all()
    assert not display.is_behind.any()
    assert display.figure_.legends == []
    assert not [c for c in display.ax_.collections if isinstance(c, LineCollection) and len(c.get_segments())]


def test_each_pair_of_rules_is_drawn_once_with_its_figure(comparison: Comparison) -> None:
    display = AgreementDisplay.from_comparison(comparison).plot()
    place = [comparison.agreement.rules.index(name) for name in display.rules]
    np.testing.assert_array_equal(display.pairs, comparison.agreement.pairs[np.ix_(place, place)])
    (image,) = display.ax_.images
    shown = image.get_array()
    written = {text.get_position(): text.get_text() for text in display.ax_.texts}
    rows = [text.get_text() for text in display.ax_.get_yticklabels()]
    columns = [text.get_text() for text in display.ax_.get_xticklabels()]
    assert len(written) == 6
    for (column, row), text in written.items():
        rule, other = (name.replace(r"\$", "$") for name in (rows[row], columns[column]))
        between = comparison.agreement.pairs[
            comparison.agreement.rules.index(rule), comparison.agreement.rules.index(other)
        ]
        assert shown[row, column] == between
        assert text == ("1" if between == 1 else f"{min(between, 0.99):.2f}"[1:])
    assert shown.count() == 6
    assert len(display.to_frame()) == 6


def test_rules_that_decide_alike_are_neighbours(comparison: Comparison) -> None:
    order = comparison.agreement.plot().rules.tolist()
    assert abs(order.index("middle") - order.index("middle too")) == 1


@pytest.mark.parametrize("n_rules", [2, 25])
def test_up_to_25_rules_have_room(n_rules: int) -> None:
    rng = np.random.default_rng(0)
    pairs = rng.random((n_rules, n_rules))
    pairs = np.where(np.eye(n_rules), 1, (pairs + pairs.T) / 2)
    display = AgreementDisplay(np.array([f"rule {k}, shared" for k in range(n_rules)]), pairs).plot()
    cell = display.ax_.get_window_extent().width / (n_rules - 1)
    assert all(text.get_window_extent().width < cell for text in display.ax_.texts)
    assert all(text.get_fontsize() >= 5 for text in display.ax_.texts)


def test_figures_too_small_to_be_read_become_a_scale_of_colours() -> None:
    n_rules = 25
    names = np.array([f"rule {k}" for k in range(n_rules)])
    display = AgreementDisplay(names, np.full((n_rules, n_rules), 0.5)).plot(width=2.5)
    assert len(display.ax_.texts) == 0
    assert len(display.figure_.axes) == 2
