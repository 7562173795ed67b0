"""How are many labels shown at once? Points, a density of points, some names, and marks at a border."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from thresholds._arrays.types import Floats
from thresholds.plots.style import BLACK, GREY, Look, drawable

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.text import Text

MOST_POINTS = 2000  # of one look; more are drawn as a density

_CELLS = (40, 28)  # of a density, across and up
_GAPS = (3.0, 9.0, 18.0)  # points: between a mark and its name, from near to far
_MARK = 1.5  # points: from the middle of a mark to where a name may begin


def points(axes: "Axes", x: Floats, y: Floats, look: Look, label: str, **options: Any) -> None:
    """Mark points (x, y), n each: few of them large, many small; of very many their density.

    Points that are not finite are left out. Scales of the axes must have been set.
    """
    is_shown = np.isfinite(x) & np.isfinite(y)
    x = x[is_shown]
    y = y[is_shown]
    if x.size > MOST_POINTS:
        density(axes, x, y, look, label, zorder=options.get("zorder", 1.5))
        return
    size = 16.0 if x.size <= 100 else 9.0 if x.size <= 500 else 5.0
    if look.marker == ".":
        size *= 2  # It is drawn half as large.
    axes.scatter(
        x,
        y,
        s=options.pop("s", size),
        color=look.colour,
        marker=look.marker,
        label=label,
        linewidths=0.6 if look.marker in "x+" else 0,
        **{"alpha": 0.8, "zorder": 2.5} | options,
    )


def density(
    axes: "Axes", x: Floats, y: Floats, look: Look, label: str, *, zorder: float = 1.5
) -> None:
    """Shade the plane by how many points (x, y) there are, in cells that are equal on the scales of the axes.

    The cells divide the axes where limits have been set, else the range of the points.
    """
    from matplotlib.colors import LinearSegmentedColormap

    places = axes.transScale.transform(np.column_stack([x, y]))  # (n, 2)
    lowest, highest = places.min(axis=0), places.max(axis=0)  # (2,) each
    ends = axes.transScale.transform(np.column_stack([axes.get_xlim(), axes.get_ylim()]))
    is_set = [not axes.get_autoscalex_on(), not axes.get_autoscaley_on()]
    lowest, highest = np.where(is_set, ends, [lowest, highest])
    sides = np.stack([lowest, highest], axis=1)  # (2, 2)
    number, across, up = np.histogram2d(places[:, 0], places[:, 1], bins=_CELLS, range=sides)
    axes.pcolormesh(
        axes.xaxis.get_transform().inverted().transform(across),
        axes.yaxis.get_transform().inverted().transform(up),
        np.log2(1 + np.ma.masked_equal(number.T, 0)),
        cmap=LinearSegmentedColormap.from_list("density", ["white", look.colour]),
        vmin=-1,  # The palest cell is to be seen.
        rasterized=True,
        linewidth=0,
        zorder=zorder,
    )
    axes.scatter([], [], s=16, color=look.colour, marker="s", label=label)


def at_border(
    axes: "Axes", at: Floats, side: str, look: Look, text: str = "", label: str | None = None
) -> None:
    """Mark what lies beyond an axis at its border, `side` "top", "bottom", "left" or "right", and say what that is.

    `at` are places along that border, in data.
    """
    is_upright = side in ("left", "right")
    place = np.full(at.size, 0.985 if side in ("top", "right") else 0.015)
    x, y = (place, at) if is_upright else (at, place)
    axes.scatter(
        x,
        y,
        s=9,
        color=look.colour,
        marker=look.marker,
        label=label,
        linewidths=0.6,
        alpha=0.7,
        transform=axes.get_yaxis_transform() if is_upright else axes.get_xaxis_transform(),
        zorder=2.5,
    )
    if text:
        name_border(axes, side, text)


def name_border(axes: "Axes", side: str, text: str) -> None:
    """Say beside a border what lies there."""
    is_upright = side in ("left", "right")
    inner = 0.96 if side in ("top", "right") else 0.04
    axes.text(
        *((inner, 0.96) if is_upright else (0.98, inner)),
        text,
        transform=axes.transAxes,
        color=GREY,
        ha=side if is_upright else "right",
        va="top" if is_upright else side,
        rotation=90 if is_upright else 0,
    )


def name_points(
    axes: "Axes", x: Floats, y: Floats, names: Sequence[object], k: int, most: int = 22
) -> "list[Text]":
    """Write names beside points (x, y), those first that come first, at most k; a name without room is left out.

    Names keep clear of each other, of the marks that could be named, of other texts, of a legend and of the borders; a
    line leads to the mark. To be called last, when limits and legends are set.

    Returns
    -------
    list of the texts that were written
    """
    is_shown = np.isfinite(x) & np.isfinite(y)
    candidates = np.flatnonzero(is_shown)[: 3 * k]
    figure = axes.figure.figure
    figure.draw_without_rendering()  # Where things lie is known only then.

    # Boxes are left, bottom, right and top, in pixels: the frame, and what is taken already.
    frame = axes.get_window_extent().extents  # (4,)
    pixels = figure.dpi / 72  # of a point
    centres = axes.transData.transform(np.column_stack([x, y])[candidates])  # (n_candidates, 2)
    reach = _MARK * pixels
    taken = [np.concatenate([centre - reach, centre + reach]) for centre in centres]
    legend = axes.get_legend()
    taken += [drawn.get_window_extent().extents for drawn in (*axes.texts, legend) if drawn]
    written: list[Text] = []
    for j, centre in zip(candidates.tolist(), centres, strict=True):
        if len(written) == k:
            break
        text = _beside(axes, x[j], y[j], drawable(names[j], most))
        box = _moved_to_room(text, centre, frame, np.array(taken), pixels)
        if box is None:
            text.remove()
        else:
            taken.append(box)
            written.append(text)
    return written


def _beside(axes: "Axes", x: float, y: float, name: str) -> "Text":
    """Write a name with a line that leads to a point, with a pale edge where it stands on other marks."""
    from matplotlib.patheffects import withStroke

    text = axes.annotate(
        name,
        (x, y),
        (0, 0),
        textcoords="offset points",
        color=BLACK,
        zorder=4,
        path_effects=[withStroke(linewidth=1.5, foreground="white", alpha=0.8)],
        arrowprops={"arrowstyle": "-", "linewidth": 0.4, "color": GREY, "shrinkA": 0},
    )
    text.set_in_layout(False)
    return text


def _moved_to_room(
    text: "Text", centre: Floats, frame: Floats, taken: Floats, pixels: float
) -> Floats | None:
    """Move a text to the nearest place beside its mark that is free, and return the box it takes; None without one."""
    size = text.get_window_extent().size  # (2,)
    for shift in _around(size, pixels):
        low = centre + shift
        box = np.concatenate([low, low + size])  # (4,)
        if _is_within(box, frame) and not _touches(box, taken):
            text.set_position(tuple(shift / pixels))
            return box
    return None


def _around(size: Floats, pixels: float) -> Floats:
    """Return where the lower left corner of a text may lie, seen from its mark, nearest first, (n, 2); in pixels."""
    width, height = size
    places = []
    for points in _GAPS:
        gap = points * pixels
        right, left, middle = gap, -width - gap, -width / 2
        above, below, beside = gap, -height - gap, -height / 2
        places += [(right, beside), (left, beside), (middle, above), (middle, below)]
        places += [(right, above), (right, below), (left, above), (left, below)]
    return np.array(places)


def _is_within(box: Floats, frame: Floats) -> bool:
    """Whether a box lies within another."""
    return bool((box[:2] >= frame[:2]).all() and (box[2:] <= frame[2:]).all())


def _touches(box: Floats, taken: Floats) -> bool:
    """Whether a box has a point in common with one of others, (n, 4)."""
    return bool(((box[:2] < taken[:, 2:]) & (box[2:] > taken[:, :2])).all(axis=1).any())
