"""What all displays look like: sizes, colours with their markers, axes, and names as a font can draw them.

Colours are those of Okabe and Ito 2008 ("Color Universal Design"), which colour-blind people tell apart. What has a
colour has also a marker or a dash of its own, so that a grey print can be read. Nothing global is changed: sizes are in
force while something is drawn, and each axes is dressed by itself.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple

from thresholds._results.text import on_one_line

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# Widths in inches: of a column of a printed page, and of the page.
COLUMN = 3.4
PAGE = 7.0

BLACK = "#000000"
GREY = "#7f7f7f"
ORANGE = "#E69F00"
SKY = "#56B4E9"
GREEN = "#009E73"
BLUE = "#0072B2"
VERMILLION = "#D55E00"
PURPLE = "#CC79A7"

_TEXT = 7.0  # points: of tick labels, legends and names
_TITLE = 8.0  # points: of titles and of what an axis shows
_LINE = 0.6  # points: of spines and ticks
_GRID = "#e4e4e4"
_UNKNOWN = "\N{WHITE SQUARE}"  # in place of a character that the font does not have

# What texts, lines and legends begin with while a display is drawn.
_IN_FORCE = {
    "font.size": _TEXT,
    "axes.labelsize": _TITLE,
    "axes.titlesize": _TITLE,
    "figure.labelsize": _TITLE,
    "figure.titlesize": _TITLE,
    "legend.fontsize": _TEXT,
    "legend.title_fontsize": _TEXT,
    "legend.frameon": False,
    "legend.handlelength": 1.6,
    "lines.linewidth": 1.2,
    "lines.markersize": 4.0,
    "savefig.bbox": None,
    "text.usetex": False,
}


class Look(NamedTuple):
    """How something is drawn wherever it occurs: as points, or as a line."""

    colour: str
    marker: str = "o"
    dash: str = "-"

    @property
    def line(self) -> dict[str, Any]:
        """How a line is drawn, as options of matplotlib."""
        return {"color": self.colour, "linestyle": self.dash}


# What a display of curves and of rules shows.
CURVE = Look(BLUE)
BEST = Look(VERMILLION, "*")  # the highest point of a curve
OF_RULE = Look(BLACK, "o", "--")  # what the rule in use does
REFERENCE = Look(GREY, "s", ":")  # what is reached without knowing anything
LABEL = Look(GREY, ".")  # a label of which nothing is said but where it lies
BEFORE = Look(ORANGE, "s", "--")
AFTER = Look(BLUE)

# States of labels (`Diagnosis.state`).
STATES = {
    "backwards": Look(VERMILLION, "v"),
    "platypus": Look(ORANGE, "s"),
    "suspect": Look(PURPLE, "D"),
    "unsupported": Look(GREY, "x"),
    "overpredicted": Look(SKY, "^"),
    "restrained": LABEL,
}

# Why a threshold moved (`RuleDifference`), the most important last; "" is one that stayed.
REASONS = {
    "": LABEL,
    "noise": Look(SKY),
    "settings": Look(PURPLE, "s"),
    "unknown": Look(PURPLE, "s"),
    "news": Look(VERMILLION, "D"),
}


@contextmanager
def in_force() -> Iterator[None]:
    """Have what is drawn take its sizes from here."""
    from matplotlib import rc_context

    with rc_context(_IN_FORCE):
        yield


def dress(axes: "Axes") -> None:
    """Give an axes thin spines on two sides, a light grid behind what is drawn, and small texts."""
    for side, spine in axes.spines.items():
        spine.set_linewidth(_LINE)
        spine.set_color(GREY)
        spine.set_visible(side in ("left", "bottom"))
    axes.grid(True, color=_GRID, linewidth=_LINE)
    axes.set_axisbelow(True)
    axes.tick_params(which="both", labelsize=_TEXT, width=_LINE, color=GREY)
    axes.tick_params(which="major", length=3)
    axes.tick_params(which="minor", length=1.5)
    for axis in (axes.xaxis, axes.yaxis):
        axis.label.set_size(_TITLE)
    axes.title.set_size(_TITLE)


def drawable(name: object, most: int = 28) -> str:
    """Return a name as it can be drawn: on one line, shortened in the middle, without formulas or unknown characters.

    Names that differ at the end stay different where they are shortened: half of what is kept is from there, as a
    drawing has room for half as much as a line of text (`results.shortened`).
    """
    text = on_one_line(str(name))
    if len(text) > most:
        n_last = (most - 1) // 2
        text = f"{text[: most - 1 - n_last].rstrip()}…{text[-n_last:].lstrip()}"
    known = "".join(c if c.isascii() or _can_draw(c) else _UNKNOWN for c in text)
    return known.replace("$", r"\$")  # Otherwise matplotlib reads a formula between two of them.


def drawable_names(names: Sequence[object], most: int = 28) -> list[str]:
    """Return names as they can be drawn."""
    return [drawable(name, most) for name in names]


def _can_draw(character: str) -> bool:
    """Whether one of the fonts in use has a character."""
    from matplotlib import rcParams

    return any(ord(character) in _characters_of(family) for family in rcParams["font.family"])


@cache
def _characters_of(family: str) -> frozenset[int]:
    """Return the characters that the font has which is found for a family."""
    from matplotlib.font_manager import FontProperties, findfont, get_font

    return frozenset(get_font(findfont(FontProperties(family=[family]))).get_charmap())
