"""Every display takes or makes axes in one style, and shows names as they can be drawn."""

import sys
import warnings
from dataclasses import dataclass

import numpy as np
import pytest
from matplotlib import pyplot

from thresholds._results.result import Drawable
from thresholds.errors import InputError
from thresholds.plots.base import Display
from thresholds.plots.crowds import at_border, name_points, points
from thresholds.plots.style import CURVE, STATES, drawable

HOSTILE = [
    "a $x^2 b$ c",
    "$",
    "100 % \\frac{",
    "line\nbreak\x07",
    "心臓肥大",
    "<b>&amp;</b>",
    "é" * 100,
    "_under_^",
    "",
]


@dataclass(eq=False, repr=False)
class Dots(Display):
    """A display of nothing but some panels."""

    n: int = 1

    @property
    def _n_panels(self) -> int:
        return self.n

    @classmethod
    def from_number(cls, number: "Number", n: int = 1) -> "Dots":
        return cls(number.value * n)

    def plot(self, ax: object = None, *, width: float | None = None, text: str = "dot") -> "Dots":
        with self._drawing(ax, width) as all_axes:
            for axes in all_axes:
                points(axes, np.array([1.0, np.nan]), np.array([1.0, 2.0]), CURVE, text)
            self._name_axes("across", "up")
            self._legend()
        return self

    def _rows(self) -> dict[str, list[int]]:
        return {"n": [self.n]}


@dataclass
class Number(Drawable):
    _display = "Dots.from_number"
    value: int = 1


def test_without_axes_a_figure_of_a_column_is_made() -> None:
    display = Dots().plot()
    assert display.figure_.get_size_inches().tolist() == pytest.approx([3.4, 3.4 * 0.7 + 0.5])
    assert display.axes_ == [display.ax_]
    assert display.ax_.get_xlabel() == "across"
    assert [spine.get_visible() for spine in display.ax_.spines.values()].count(True) == 2


@pytest.mark.parametrize(
    ("n", "width", "grid"), [(2, None, (1, 2)), (4, None, (2, 2)), (5, 3.4, (3, 2)), (3, 1, (3, 1))]
)
def test_panels_stand_in_rows(n: int, width: float | None, grid: tuple[int, int]) -> None:
    display = Dots(n).plot(width=width)
    assert display.ax_.get_gridspec().get_geometry() == grid
    assert len(display.figure_.axes) == n
    assert display.figure_.get_size_inches()[0] == (width or 7.0)
    assert [text.get_text() for text in display.figure_.legends[0].get_texts()] == ["dot"], "once for all"
    named = [axes.get_xlabel() == "across" for axes in display.axes_]
    assert named == [k + grid[1] >= n for k in range(n)], "those below which there are none"
    assert [axes.get_ylabel() == "up" for axes in display.axes_] == [k % grid[1] == 0 for k in range(n)]


def test_axes_that_are_given_are_drawn_on() -> None:
    figure, grid = pyplot.subplots(1, 2)
    display = Dots(2).plot(grid)
    assert display.axes_ == [*grid]
    assert display.figure_ is figure
    assert display.ax_.get_legend() is not None
    assert Dots().plot(grid[1]).ax_ is grid[1]


@pytest.mark.parametrize(
    ("ax", "message"),
    [("left", "ax has 1 axes, expected 2, one for each panel"), ([1, 2], "ax has 1, expected axes of matplotlib")],
)
def test_other_axes_are_refused(ax: object, message: str) -> None:
    if ax == "left":
        ax = pyplot.figure().subplots()
    with pytest.raises(InputError) as refused:
        Dots(2).plot(ax)
    assert str(refused.value) == message


@pytest.mark.parametrize("projection", ["polar", "3d"])
def test_axes_that_are_not_rectilinear_are_refused(projection: str) -> None:
    axes = pyplot.figure().add_subplot(projection=projection)
    with pytest.raises(InputError, match=f"ax has {projection} axes, expected rectilinear ones"):
        Dots().plot(axes)


def test_without_matplotlib_one_sentence_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(ImportError) as refused:
        Dots().plot()
    assert str(refused.value) == "Dots.plot() needs matplotlib: pip install matplotlib"


def test_a_result_is_drawn_by_its_display(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("thresholds.plots.Dots", Dots, raising=False)
    display = Number(2).plot(n=3, width=7, text="of the display")
    assert isinstance(display, Dots)
    assert len(display.axes_) == 6
    assert repr(display) == "<Dots of 6 panels>"
    with pytest.raises(TypeError, match="unknown"):
        Number().plot(unknown=1)


@pytest.mark.parametrize("name", HOSTILE, ids=range(len(HOSTILE)))
def test_names_are_drawn_as_text(name: str) -> None:
    display = Dots().plot()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        display.ax_.set_title(drawable(name))
        display.figure_.draw_without_rendering()


def test_names_are_shortened_in_the_middle() -> None:
    assert drawable("a" * 20 + "b" * 20, 9) == "aaaa…bbbb"
    assert drawable("aaaa", 4) == "aaaa"
    assert drawable("心") == "□"
    assert drawable("a$b") == r"a\$b"


def test_names_keep_clear_of_each_other_and_of_the_frame() -> None:
    rng = np.random.default_rng(0)
    x, y = rng.random((2, 60))
    y[0] = np.inf
    axes = Dots().plot().ax_
    axes.set(xlim=(0, 1), ylim=(0, 1))
    other = axes.text(0.4, 0.4, "another text")
    texts = name_points(axes, x, y, [f"label {j}" for j in range(60)], 12)
    boxes = [text.get_window_extent() for text in (*texts, other)]
    assert 6 <= len(texts) <= 12
    assert "label 0" not in [text.get_text() for text in texts]
    assert not any(a.overlaps(b) for k, a in enumerate(boxes) for b in boxes[:k])
    frame = axes.get_window_extent()
    assert all(frame.containsx(box.x0) and frame.containsx(box.x1) for box in boxes)
    assert all(frame.containsy(box.y0) and frame.containsy(box.y1) for box in boxes)


def test_very_many_points_become_a_density() -> None:
    axes = pyplot.figure().subplots()
    axes.set_xscale("log")
    x = np.geomspace(1e-3, 1, 30_000)
    points(axes, x, 1 / x, CURVE, "labels")
    mesh = axes.collections[0]
    assert (2.0 ** mesh.get_array().compressed() - 1).sum() == pytest.approx(30_000)
    assert axes.get_legend_handles_labels()[1] == ["labels"]


@pytest.mark.parametrize("side", ["top", "bottom", "left", "right"])
def test_what_lies_beyond_is_marked_at_the_border(side: str) -> None:
    axes = pyplot.figure().subplots()
    at_border(axes, np.array([0.2, 0.4]), side, CURVE, "never")
    places = axes.collections[0].get_offsets()
    along, across = (1, 0) if side in ("left", "right") else (0, 1)
    assert places[:, along].tolist() == [0.2, 0.4]
    assert (places[:, across] > 0.5).all() == (side in ("top", "right"))


def test_states_are_told_apart_by_colour_and_by_marker() -> None:
    from thresholds.diagnosis.states import STATES as STATE_NAMES

    assert set(STATES) == set(STATE_NAMES)
    assert len({look.marker for look in STATES.values()}) == len(STATES)
    of_colour = {}
    for name, look in STATES.items():
        of_colour.setdefault(look.colour, []).append(name)
    assert all(len(names) == 1 or "restrained" in names for names in of_colour.values())
