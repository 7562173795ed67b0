"""How are a few named things compared? One line for each, with its name, marks along it, and intervals."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from thresholds._arrays.types import Floats
from thresholds.plots.style import Look

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MOST_LINES = 25  # that can be read one below the other

_LINE_HEIGHT = 0.15  # inches
_AROUND = 0.4  # inches: what is above and below the lines


def height_of(n_lines: int) -> float:
    """Return the height, in inches, of a panel of so many lines."""
    return _AROUND + _LINE_HEIGHT * max(n_lines, 4)


def name_lines(axes: "Axes", texts: Sequence[str]) -> None:
    """Give the axes one line for each text, which can be drawn, the first at the top."""
    axes.set_yticks(np.arange(len(texts)), texts)
    axes.set_ylim(len(texts) - 0.4, -0.6)
    axes.grid(False, axis="y")
    axes.tick_params(axis="y", length=0)
    if axes.get_xscale() == "linear":
        axes.locator_params(axis="x", nbins=5)  # Names leave little room for numbers.


def intervals(axes: "Axes", at: Floats, low: Floats, high: Floats, look: Look) -> None:
    """Draw intervals from `low` to `high` on the lines `at`, (n,) each; nothing where a bound is NaN."""
    is_known = ~(np.isnan(low) | np.isnan(high))
    axes.hlines(
        at[is_known],
        low[is_known],
        high[is_known],
        color=look.colour,
        linewidth=1.0,
        zorder=2.2,
    )


def marks(
    axes: "Axes", at: Floats, x: Floats, look: Look, label: str, *, filled: bool = True
) -> None:
    """Mark x on the lines `at`, (n,) each, filled or as outlines."""
    axes.scatter(
        x,
        at,
        s=18,
        marker=look.marker,
        facecolor=look.colour if filled else "white",
        edgecolor=look.colour,
        linewidths=0.9,
        label=label,
        zorder=2.6,
    )
