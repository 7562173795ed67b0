"""How much of what was reached is luck? F in the sample against F on other rows, and how far thresholds may move."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import numpy.typing as npt

from thresholds import _checks
from thresholds._arrays.types import Dense, Floats, Texts
from thresholds._results.words import in_percent
from thresholds.plots import style
from thresholds.plots.base import Display, of_kind, one_or_more
from thresholds.plots.crowds import name_points, points
from thresholds.plots.lines_of_names import MOST_LINES, height_of, intervals, marks, name_lines
from thresholds.plots.scales import logarithmic, per_cent
from thresholds.validation.bootstrap import ThresholdBootstrap
from thresholds.validation.cross_fit import CrossFit

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_FEWEST_IN_CLASS = 10  # labels, of which a tenth can be told
_QUANTILES = (0.1, 0.5, 0.9)
_QUANTITIES = ("predicted", "threshold", "f")
_IN_BRACKETS = "in brackets: rows with the label"
_NAME = 20  # characters of a name on a line of its own


@dataclass(eq=False, repr=False)
class OptimismDisplay(Display):
    """How much higher the F of each label is where its threshold was chosen than on other rows, against its positives.

    Up to 25 labels are drawn one below the other, by name, with both figures. Of more, the difference of both is drawn
    against the number of positives, with the median and the middle eight tenths of labels that have about as many. That
    of a single label is mostly chance where positives are few; the median is what fitting costs.

    Attributes
    ----------
    name : str (n_labels,), labels with positives, those with most first
    n_positives : (n_labels,), rows in which the label is true, or their weight
    claimed : float64 (n_labels,), F in the sample
    found : float64 (n_labels,), F on other rows, as far as it is known
    claimed_on, found_on : in words, which rows these are, or what was done to the figure
    average : in words, which mean F follows
    mean_claimed, mean_found : that F, in the sample and on other rows
    beta : of all F
    ax_, axes_, figure_ : once drawn

    Examples
    --------
    >>> import numpy as np, thresholds
    >>> y_true = np.arange(60)[:, None] % [3, 10] == 0
    >>> y_score = np.random.default_rng(0).random((60, 2)) + 0.5 * y_true
    >>> result = thresholds.cross_fit(y_true, y_score, guard=None, label_names=("a", "b"))
    >>> display = thresholds.plots.OptimismDisplay.from_cross_fit(result)
    >>> display.optimism.round(2)
    array([0.12, 0.13])
    """

    _columns = ("name", "n_positives", "claimed", "found", "optimism")

    name: Texts
    n_positives: npt.NDArray[Any]
    claimed: Floats
    found: Floats
    claimed_on: str
    found_on: str
    average: str
    mean_claimed: float
    mean_found: float
    beta: float

    @classmethod
    def from_cross_fit(cls, result: CrossFit) -> Self:
        """Take the F of each label in the sample and out of fold.

        Parameters
        ----------
        result : what `thresholds.cross_fit` found

        Returns
        -------
        the display, not yet drawn

        Raises
        ------
        InputError
            For what is no `CrossFit`.
        """
        table = of_kind(result, "result", CrossFit).spread
        return cls(
            **_of_labels(table, "f_in_sample", "f_out_of_fold"),
            claimed_on="in the sample",
            found_on="out of fold",
            average=result.average,
            mean_claimed=result.in_sample,
            mean_found=result.out_of_fold,
            beta=result.rule.beta,
        )

    @classmethod
    def from_bootstrap(cls, result: ThresholdBootstrap) -> Self:
        """Take the F that each label claims, and what is left of it, of thresholds without a guard.

        Parameters
        ----------
        result : what `thresholds.bootstrap_thresholds` found

        Returns
        -------
        the display, not yet drawn

        Raises
        ------
        InputError
            For what is no `ThresholdBootstrap`.
        """
        table = of_kind(result, "result", ThresholdBootstrap).table
        return cls(
            **_of_labels(table, "f", "f_corrected"),
            claimed_on="in the sample",
            found_on="corrected",
            average="macro",
            mean_claimed=result.macro_f,
            mean_found=result.macro_f_corrected,
            beta=result.beta,
        )

    @property
    def optimism(self) -> Floats:
        """How much higher F is in the sample, (n_labels,)."""
        return np.asarray(self.claimed - self.found)

    @property
    def _is_by_name(self) -> bool:
        """Whether labels are few enough to stand one below the other."""
        return self.name.size <= MOST_LINES

    def plot(self, ax: object = None, *, width: float | None = None, k: int = 5) -> Self:
        """Draw it.

        Parameters
        ----------
        ax : matplotlib Axes to draw on; None for a new figure
        width : of a new figure in inches; None is 3.4, a column
        k : of more than 25 labels, how many are named at most, the most optimistic first; names without room are left
            out

        Returns
        -------
        the display itself
        """
        k = _checks.count(k, "k", 0)
        with self._drawing(ax, width) as (axes,):
            if self._is_by_name:
                self._draw_by_name(axes)
            else:
                self._draw_by_positives(axes, k)
            self._title(self._about_average())
        return self

    def _about_average(self) -> str:
        """Say what all labels reach together."""
        claimed = f"{self.mean_claimed:.3f} {self.claimed_on}"
        return f"{self.average} F{self.beta:g} {claimed}, {self.mean_found:.3f} {self.found_on}"

    def _panel_height(self, width: float) -> float:
        """Return the height of a panel of that width, in inches."""
        return height_of(self.name.size) if self._is_by_name else super()._panel_height(width)

    def _draw_by_name(self, axes: "Axes") -> None:
        """Draw both figures of each label on a line of its own."""
        lines = np.arange(self.name.size, dtype=np.float64)
        pairs = zip(style.drawable_names(self.name.tolist(), _NAME), self.n_positives, strict=True)
        name_lines(axes, [f"{name} ({positives:,g})" for name, positives in pairs])
        axes.hlines(lines, self.found, self.claimed, color=style.GREY, linewidth=1.0, zorder=2)
        marks(axes, lines, self.claimed, style.BEFORE, self.claimed_on, filled=False)
        marks(axes, lines, self.found, style.AFTER, self.found_on)
        axes.set_xlim(0, 1.05 * max(self.claimed.max(initial=0.1), self.found.max(initial=0.1)))
        axes.set_xlabel(f"F{self.beta:g}")
        self._legend(title=_IN_BRACKETS)

    def _draw_by_positives(self, axes: "Axes", k: int) -> None:
        """Draw the difference of both figures, and its median among labels with about as many positives."""
        logarithmic(axes, "x")
        axes.axhline(0, color=style.BLACK, linewidth=0.8, zorder=2)
        points(axes, self.n_positives, self.optimism, style.LABEL, "a label")
        middle, (low, median, high) = self._in_classes()
        axes.fill_between(
            middle,
            low,
            high,
            color=style.SKY,
            alpha=0.35,
            linewidth=0,
            label="the middle 80 %",
            zorder=2.2,
        )
        axes.plot(middle, median, color=style.BLUE, label="their median", zorder=3)
        self._name_axes(
            "rows with the label", f"F{self.beta:g} {self.claimed_on} − {self.found_on}"
        )
        self._legend(n_columns=3)
        named = np.argsort(-self.optimism, kind="stable")
        name_points(
            axes, self.n_positives[named], self.optimism[named], self.name[named].tolist(), k
        )

    def _in_classes(self) -> tuple[Floats, Floats]:
        """Return the positives in the middle of each class, (n_classes,), and the optimism there, (3, n_classes).

        Each class has twice as many positives as the next. Of its labels the lower tenth, the median and the upper
        tenth are told; a class of few labels is one with the next.
        """
        of_label = np.floor(np.log2(np.maximum(self.n_positives, 1)))  # (n_labels,), falling
        starts = [0]
        for start in np.flatnonzero(np.diff(of_label)) + 1:
            if start - starts[-1] >= _FEWEST_IN_CLASS:
                starts.append(int(start))
        if len(starts) > 1 and self.name.size - starts[-1] < _FEWEST_IN_CLASS:
            starts.pop()
        classes = np.split(np.arange(self.name.size), starts[1:])
        middle = np.array([np.median(self.n_positives[labels]) for labels in classes])
        optimism = [np.quantile(self.optimism[labels], _QUANTILES) for labels in classes]
        return middle, np.transpose(optimism)


def _of_labels(table: Dense, claimed: str, found: str) -> dict[str, Any]:
    """Return the fields of labels that have positives, those with most first, from columns of a table."""
    order = np.argsort(-table["n_positives"], kind="stable")
    rows = table[order[table["n_positives"][order] > 0]]
    columns = {"name": "name", "n_positives": "n_positives", "claimed": claimed, "found": found}
    return {field: rows[column] for field, column in columns.items()}


@dataclass(eq=False, repr=False)
class BootstrapDisplay(Display):
    """How far thresholds may move on other rows, and what is left of the F that they claim, with intervals.

    Thresholds have no common scale, so by default the share of the rows is shown that each predicts. An end of an
    interval beyond the axes is drawn at the border: a threshold that predicts no row, or all of them.

    Attributes
    ----------
    table : structured array (n_shown,), rows of `ThresholdBootstrap.table`, from the top down
    quantities : tuple of "predicted", "threshold" and "f", one for each panel
    n_labels, n_samples, confidence, beta : of the bootstrap
    ax_, axes_, figure_ : once drawn

    Examples
    --------
    >>> import numpy as np, thresholds
    >>> y_true = np.arange(60)[:, None] % [3, 10] == 0
    >>> y_score = np.random.default_rng(0).random((60, 2)) + 0.5 * y_true
    >>> found = thresholds.bootstrap_thresholds(y_true, y_score, n_bootstraps=50)
    >>> display = thresholds.plots.BootstrapDisplay.from_bootstrap(found, quantity="f")
    >>> display.table["name"].tolist()
    ['1', '0']
    """

    table: npt.NDArray[Any]
    quantities: tuple[str, ...]
    n_labels: int
    n_samples: int
    confidence: float
    beta: float

    @classmethod
    def from_bootstrap(
        cls,
        result: ThresholdBootstrap,
        *,
        k: int = 20,
        quantity: str | Sequence[str] = ("predicted", "f"),
    ) -> Self:
        """Take the k labels whose thresholds may move furthest.

        Parameters
        ----------
        result : what `thresholds.bootstrap_thresholds` found
        k : labels at most
        quantity : "predicted" (the share of the rows that a threshold predicts), "threshold", or "f" (claimed, and
            corrected), or some of them, with a panel each

        Returns
        -------
        the display, not yet drawn

        Raises
        ------
        InputError
            For what is no `ThresholdBootstrap`, and for another quantity.
        """
        k = _checks.count(k, "k", 1)
        return cls(
            table=of_kind(result, "result", ThresholdBootstrap).table[result.least_certain[:k]],
            quantities=one_or_more(quantity, "quantity", _QUANTITIES),
            n_labels=result.n_labels,
            n_samples=result.n_samples,
            confidence=result.confidence,
            beta=result.beta,
        )

    @property
    def _n_panels(self) -> int:
        """One for each quantity."""
        return len(self.quantities)

    def _panel_height(self, width: float) -> float:
        """Return the height of a panel of that width, in inches."""
        return height_of(self.table.size)

    def plot(self, ax: object = None, *, width: float | None = None) -> Self:
        """Draw each label on a line of its own.

        Parameters
        ----------
        ax : matplotlib Axes to draw on, as many as there are quantities; None for a new figure
        width : of a new figure in inches; None is 3.4, a column, and with several quantities 7, a page

        Returns
        -------
        the display itself
        """
        with self._drawing(ax, width) as all_axes:
            names = style.drawable_names(self.table["name"].tolist(), _NAME)
            pairs = zip(names, self.table["n_positives"], strict=True)
            texts = [f"{name} ({positives:,})" for name, positives in pairs]
            for axes, quantity in zip(all_axes, self.quantities, strict=True):
                if quantity == "predicted":
                    self._draw_shares(axes)
                elif quantity == "threshold":
                    self._draw_thresholds(axes)
                else:
                    self._draw_f(axes)
                name_lines(axes, self._at_left(axes, texts))
            self._title(self._about_labels())
            self._legend(
                n_columns=2, title=f"bars: {in_percent(self.confidence)} intervals; {_IN_BRACKETS}"
            )
        return self

    def _about_labels(self) -> str:
        """Say which labels are shown."""
        n_shown = self.table.size
        if n_shown == self.n_labels:
            return "Labels by how far their thresholds may move"
        return f"{n_shown} of {self.n_labels:,} labels whose thresholds may move furthest"

    @property
    def _lines(self) -> Floats:
        """The line of each label, (n_shown,)."""
        return np.arange(self.table.size, dtype=np.float64)

    def _draw_shares(self, axes: "Axes") -> None:
        """Draw the share of rows that is predicted, and that in which the label is true; none is half a row."""
        half = 0.5 / self.n_samples
        low, share, high = (
            np.maximum(self.table[name], half)
            for name in ("predicted_low", "predicted", "predicted_high")
        )
        base_rate = np.maximum(self.table["n_positives"] / self.n_samples, half)  # (n_shown,)
        intervals(axes, self._lines, low, high, style.CURVE)
        marks(axes, self._lines, base_rate, style.REFERENCE, "rows with the label", filled=False)
        marks(axes, self._lines, share, style.CURVE, "rows that the threshold predicts")
        per_cent(axes, "x")  # last, as matplotlib 3.9 warns of a logarithmic axis without values
        axes.set_xlabel("share of all rows (%)")

    def _draw_thresholds(self, axes: "Axes") -> None:
        """Draw thresholds; an end that predicts no row, or all, lies at the border."""
        ends = np.stack([self.table[f"threshold{end}"] for end in ("_low", "", "_high")])
        shown = ends[np.isfinite(ends)]
        if shown.size and shown.min() > 0:
            logarithmic(axes, "x")
            limits = shown.min() / 1.3, shown.max() * 1.3
        else:
            margin = 0.05 * np.ptp(shown) if shown.size else 0.0
            limits = (
                shown.min(initial=0.0) - (margin or 1.0),
                shown.max(initial=0.0) + (margin or 1.0),
            )
        low, threshold, high = np.clip(ends, *limits)
        intervals(axes, self._lines, low, high, style.CURVE)
        marks(axes, self._lines, threshold, style.CURVE, "threshold")
        axes.set_xlim(limits)
        axes.set_xlabel("threshold")

    def _draw_f(self, axes: "Axes") -> None:
        """Draw the F that is claimed, and what is left of it."""
        table = self.table
        intervals(axes, self._lines, table["f_low"], table["f_high"], style.AFTER)
        marks(axes, self._lines, table["f"], style.BEFORE, "claimed, in the sample", filled=False)
        marks(axes, self._lines, table["f_corrected"], style.AFTER, "corrected")
        axes.set_xlim(0, 1)
        axes.set_xlabel(f"F{self.beta:g}")

    def _rows(self) -> Any:
        """Return the rows of the table."""
        return self.table
