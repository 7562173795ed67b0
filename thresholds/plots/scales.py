"""How are counts, ratios and shares of very different sizes shown on one axis? What lies beyond its ends?"""

from typing import TYPE_CHECKING, Any

import numpy as np

from thresholds._arrays.types import Floats

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_EDGE = 0.015  # of the axes: from the border to what lies beyond it
_SHORT = 50.0  # highest over lowest value of an axis that has too few powers of ten to be read by


def logarithmic(axes: "Axes", which: str = "xy") -> None:
    """Make axes logarithmic, "x", "y" or both, with ticks that are numbers: 1,000 in place of a power of ten."""
    if "x" in which:
        axes.set_xscale("log")
        _write_numbers(axes.xaxis)
    if "y" in which:
        axes.set_yscale("log")
        _write_numbers(axes.yaxis)


def within(axes: "Axes", x: Floats, y: Floats) -> tuple[Floats, Floats]:
    """Return where points (x, y) are drawn: those beyond the limits of the axes just inside the border."""
    to_data = axes.transAxes + axes.transData.inverted()
    (left, bottom), (right, top) = to_data.transform([(_EDGE, _EDGE), (1 - _EDGE, 1 - _EDGE)])
    lowest_x, highest_x = axes.get_xlim()
    lowest_y, highest_y = axes.get_ylim()
    return (
        np.where(x < lowest_x, left, np.where(x > highest_x, right, x)),
        np.where(y < lowest_y, bottom, np.where(y > highest_y, top, y)),
    )


def per_cent(axes: "Axes", which: str) -> None:
    """Make the axis "x" or "y" of shares logarithmic, with ticks in per cent; the sign belongs into its label."""
    logarithmic(axes, which)
    _write_numbers(axes.xaxis if which == "x" else axes.yaxis, 100)


def _write_numbers(axis: Any, unit: float = 1) -> None:
    """Write numbers, in a unit, at powers of ten, and on a short axis at 2 and 5 times these."""
    from matplotlib.ticker import FuncFormatter

    def write(value: float, _: int) -> str:
        return f"{unit * value:,.6g}"

    def write_if_short(value: float, _: int) -> str:
        lowest, highest = axis.get_view_interval()
        is_2_or_5 = f"{value:e}"[0] in "25"
        return write(value, 0) if highest < _SHORT * lowest and is_2_or_5 else ""

    axis.set_major_formatter(FuncFormatter(write))
    axis.set_minor_formatter(FuncFormatter(write_if_short))
    axis.set_tick_params(which="minor", pad=5.0)  # Texts stand in line with those of longer ticks.
