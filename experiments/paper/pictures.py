"""One style for all pictures: sizes of a two-column paper, a palette that colour-blind readers can tell apart."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from matplotlib import rc_context
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter

COLUMN, PAGE = 3.4, 7.0  # inches: one column of a paper, and both

# Okabe and Ito 2008.
BLUE, ORANGE, GREEN, PURPLE, SKY, AMBER = "#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00"
COLOURS = (BLUE, ORANGE, GREEN, PURPLE, SKY, AMBER)
GREY, LIGHT_GREY = "#666666", "#BBBBBB"
MAP = "cividis"  # for surfaces and matrices

STYLE: dict[str, Any] = {
    "font.size": 8,
    "axes.titlesize": 8,
    "axes.labelsize": 8,
    "legend.fontsize": 7,
    "xtick.labelsize": 7,
    "ytick.labelsize": 7,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.linewidth": 0.6,
    "lines.linewidth": 1.2,
    "lines.markersize": 4,
    "legend.frameon": False,
    "savefig.dpi": 200,
    "svg.fonttype": "path",  # the same picture whatever fonts the reader has
    "svg.hashsalt": "thresholds",  # the same bytes in every run
}


@contextmanager
def styled() -> Iterator[None]:
    """Draw and save in the style of this module."""
    with rc_context(STYLE):
        yield


def figure(width: float = COLUMN, height: float = 2.4) -> Figure:
    """An empty figure of that many inches; `figure(...).subplots()` gives its axes."""
    return Figure(figsize=(width, height), layout="constrained")


def percent(ax: Axes, axis: str = "x") -> None:
    """Label an axis of shares in per cent."""
    (ax.xaxis if axis == "x" else ax.yaxis).set_major_formatter(FuncFormatter(lambda share, _: f"{100 * share:g} %"))


def ticks(ax: Axes, values: Sequence[float], axis: str = "y") -> None:
    """Label a logarithmic axis with these values, as plain numbers."""
    (ax.yaxis if axis == "y" else ax.xaxis).set_ticks(values, [f"{value:g}" for value in values])
    ax.tick_params(axis=axis, which="minor", length=0, labelleft=False, labelbottom=False)


def save(drawn: Figure, path: Path) -> None:
    """Write a picture; `.svg` without a date, so that equal pictures are equal files."""
    drawn.savefig(path, facecolor="white", metadata={"Date": None} if path.suffix == ".svg" else {})
