"""What all displays have in common: axes that are made or taken, what is told of an axis, a legend.

A display is made by a constructor `from_...`, which computes, and keeps what is drawn in public fields. `plot` draws it
with matplotlib, on new axes or on those given, and may be called again.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from math import ceil
from typing import TYPE_CHECKING, Any, ClassVar, Self, TypeVar

import numpy as np
import numpy.typing as npt

from thresholds import _checks
from thresholds._checks import InputError
from thresholds._results.result import as_frame, rows_of
from thresholds._results.words import counted
from thresholds.errors import need
from thresholds.plots.style import COLUMN, PAGE, dress, in_force

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

T = TypeVar("T")

_LISTED = 16.0  # square points: of a mark in a legend

# Inches: of one of several panels, and of what stands below all of them.
_NARROWEST = 1.6
_LOWEST = 1.5
_BELOW = 0.5
_UNDER = 0.36  # inches: from an axis to what stands under its label


class Display(ABC):
    """What is drawn of a result, as arrays, and how.

    Attributes
    ----------
    ax_, axes_, figure_ : once drawn, the first axes, all of them in order, and their figure
    """

    _height: ClassVar[float] = 0.7  # of a panel, over its width
    _columns: ClassVar[Sequence[str]] = ()  # fields with one value for each row of the frame

    ax_: "Axes"
    axes_: "list[Axes]"
    figure_: "Figure"

    @property
    def _n_panels(self) -> int:
        """How many axes are drawn on."""
        return 1

    def _panel_height(self, width: float) -> float:
        """Return the height of a panel of that width, in inches."""
        return width * self._height

    def _rows(self) -> npt.NDArray[Any]:
        """Return what is drawn, as rows: `_columns`, those that there are."""
        columns = {name: getattr(self, name) for name in self._columns}
        return rows_of({name: values for name, values in columns.items() if values is not None})

    @abstractmethod
    def plot(self, ax: object = None, *, width: float | None = None) -> Self:
        """Draw on axes that are given, one for each panel, or on a new figure of that width, and return the display."""

    def to_frame(self) -> Any:
        """Return what is drawn as a pandas DataFrame."""
        return as_frame(self._rows())

    def __repr__(self) -> str:
        """Return the name of the display, and how many panels it has."""
        return f"<{type(self).__name__} of {counted(self._n_panels, 'panel')}>"

    @contextmanager
    def _drawing(self, ax: object, width: float | None) -> "Iterator[list[Axes]]":
        """Hand over dressed axes, one for each panel: those given, or new ones, `width` inches together.

        A new figure is a column wide if it has one panel, else a page. `ax` is one axes, or as many as panels.
        """
        need("matplotlib", f"{type(self).__name__}.plot()")
        with in_force():
            self.axes_ = self._new_axes(width) if ax is None else _given_axes(ax, self._n_panels)
            self.ax_ = self.axes_[0]
            self.figure_ = self.ax_.figure.figure
            self._is_own = ax is None
            for axes in self.axes_:
                dress(axes)
            yield self.axes_

    def _new_axes(self, width: float | None) -> "list[Axes]":
        """Return axes of a new figure, in rows of about as many."""
        from matplotlib import pyplot

        n_panels = self._n_panels
        if width is None:
            width = COLUMN if n_panels == 1 else PAGE
        width = _checks.positive(width, "width")
        n_across = max(1, min(n_panels, 3, int(width / _NARROWEST)))
        n_rows = ceil(n_panels / n_across)
        n_columns = ceil(n_panels / n_rows)
        height = max(self._panel_height(width / n_columns), _LOWEST)
        size = (width, n_rows * height + _BELOW)
        _, grid = pyplot.subplots(
            n_rows, n_columns, figsize=size, layout="constrained", squeeze=False
        )
        for axes in grid.flat[n_panels:]:
            axes.remove()
        return [*grid.flat[:n_panels]]

    def _name_axes(self, x: str, y: str) -> None:
        """Say what the axes show: of panels in a figure of our own, at the left and at the bottom only."""
        n_across = self.ax_.get_gridspec().ncols if self._is_own else 1
        n_panels = len(self.axes_)
        for k, axes in enumerate(self.axes_):
            if not self._is_own or k + n_across >= n_panels:
                axes.set_xlabel(x)
            if k % n_across == 0:
                axes.set_ylabel(y)

    def _at_left(self, axes: "Axes", texts: list[str]) -> list[str]:
        """Return what stands at the left of each line: of panels in a figure of our own, at the first of a row only."""
        spec = axes.get_subplotspec()
        is_inner = self._is_own and spec is not None and not spec.is_first_col()
        return [""] * len(texts) if is_inner else texts

    def _title(self, text: str) -> None:
        """Say something above: of the whole of a figure of our own, else of the first axes."""
        if self._is_own:
            self.figure_.suptitle(text)
        else:
            self.ax_.set_title(text)

    def _legend(self, *, n_columns: int | None = None, title: str | None = None) -> None:
        """Say what is what: once below the panels of a figure of our own, else below the first axes.

        What occurs in several panels is listed once. The title says what the texts are.
        """
        from matplotlib.collections import PathCollection

        listed: dict[str, Any] = {}
        for axes in self.axes_:
            for handle, text in zip(*axes.get_legend_handles_labels(), strict=True):
                listed.setdefault(text, handle)
        if not listed:
            return
        if n_columns is None:
            is_wide = self._is_own and self.figure_.get_size_inches()[0] >= (COLUMN + PAGE) / 2
            n_columns = 3 if is_wide else 2
        options = {"ncols": n_columns, "columnspacing": 1.2, "title": title}
        if self._is_own:
            options["loc"] = "outside lower center"
        else:
            options |= {"loc": "upper center"} | _below(self.ax_)
        owner = self.figure_ if self._is_own else self.ax_
        legend = owner.legend([*listed.values()], [*listed], **options)

        # Marks of many labels are too small to be told apart there.
        for handle in legend.legend_handles:
            if isinstance(handle, PathCollection):
                handle.set_sizes([_LISTED])


def _below(axes: "Axes") -> dict[str, Any]:
    """Return where a legend stands below an axes: in its middle, under the label of its axis."""
    from matplotlib.transforms import ScaledTranslation

    figure = axes.figure.figure
    down = ScaledTranslation(0, -_UNDER, figure.dpi_scale_trans)
    return {"bbox_to_anchor": (0.5, 0), "bbox_transform": axes.transAxes + down}


def rows_of_parts(
    parts: Sequence[Any], texts: Mapping[str, str], columns: Sequence[str]
) -> npt.NDArray[Any]:
    """Return the points of all parts of a display, one row each: `columns` are fields of the parts, (n_points,) each.

    Before these stand `texts` of the part, by their names and the fields that have them.
    """
    sizes = [getattr(part, columns[0]).size for part in parts]
    of_parts = {
        name: np.repeat([getattr(part, field) for part in parts], sizes)
        for name, field in texts.items()
    }
    of_points = {name: np.concatenate([getattr(part, name) for part in parts]) for name in columns}
    return rows_of(of_parts | of_points)


def of_kind(value: Any, name: str, kind: type[T]) -> T:
    """Check that an argument is a result of some kind."""
    if not isinstance(value, kind):
        article = "an" if kind.__name__[0] in "AEIOU" else "a"
        raise InputError(f"{name} is {_checks.shown(value)}, expected {article} {kind.__name__}")
    return value


def one_or_more(value: object, name: str, options: Sequence[str]) -> tuple[str, ...]:
    """Check an argument that is one of some options, or a list of them: there is a panel for each."""
    chosen: Sequence[object] = [value]
    if isinstance(value, Sequence) and not isinstance(value, str) and value:
        chosen = value
    return tuple(_checks.option(one, name, options) for one in chosen)


def _given_axes(ax: object, n_panels: int) -> "list[Axes]":
    """Check axes to draw on: as many as there are panels."""
    from matplotlib.axes import Axes

    given = [ax] if isinstance(ax, Axes) else _listed(ax)
    for axes in given:
        if not isinstance(axes, Axes):
            raise InputError(f"ax has {_checks.shown(axes)}, expected axes of matplotlib")
        if axes.name != "rectilinear":
            raise InputError(f"ax has {axes.name} axes, expected rectilinear ones")
    if len(given) != n_panels:
        raise InputError(f"ax has {len(given)} axes, expected {n_panels}, one for each panel")
    return given


def _listed(ax: object) -> list[Any]:
    """Return axes as a list: those of an array in rows, one after another."""
    if isinstance(ax, np.ndarray):
        return [*ax.flat]
    return [*ax] if isinstance(ax, Sequence) else [ax]
