"""Which rule is best, and which decide alike? Rules by measures, and by pairs."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from thresholds._arrays.types import Booleans, Floats, Ints, Texts
from thresholds._checks import InputError
from thresholds._results.result import rows_of
from thresholds._results.words import in_percent
from thresholds.comparison.agreement import Agreement, written
from thresholds.comparison.result import CALLED, MEASURED, Comparison
from thresholds.plots import style
from thresholds.plots.base import Display, of_kind, one_or_more
from thresholds.plots.lines_of_names import height_of, intervals, marks, name_lines

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_NAME = 24  # characters of a rule's name
_MANY = 9  # pairs in a row, which take the width of a page
_CELL = 0.19  # inches: height of a pair
_OF_NAMES = 1.1  # inches: of the names below the pairs
_SMALLEST, _LARGEST = 4.0, 7.0  # points: of the figure of a pair
_OF_CELL = 0.38  # of the width of a cell: how large its figure is written
_DARK = 0.55  # of the way from the lowest figure to 1: where white can be read, and black no more
_PALEST, _DARKEST = 0.05, 0.9  # of the colour map: a figure can be read on either

_TIED = style.Look(style.BLUE, "o")  # with the best, which is one of them
_BEHIND = style.Look(style.ORANGE, "s")


@dataclass(eq=False, repr=False)
class ComparisonDisplay(Display):
    """Rules by what they reach, the best first, with intervals, and which of them may be as good as the best.

    Intervals of two rules may overlap although one is shown to be better: both are judged on the same rows, where they
    are right and wrong together. So the mark of a rule says whether it is behind, by the interval of the difference.

    Attributes
    ----------
    rules : str (n_rules,), by the first measure, the best first, equal ones in the order of the comparison
    measures : tuple of str, one for each panel: attributes of `Measures`
    value : float64 (n_rules, n_measures)
    low, high : float64 (n_rules, n_measures), the bounds of the intervals; NaN without
    is_behind : bool (n_rules, n_measures), rules that are shown to be behind the best
    confidence : of the intervals, and of what is shown; None without
    beta : of the F-measures
    ax_, axes_, figure_ : once drawn

    Examples
    --------
    >>> import thresholds
    >>> rules = {"fixed": thresholds.FixedRule(0.5, 2), "first": thresholds.TopKRule(1)}
    >>> comparison = thresholds.compare(rules, [[1, 0], [0, 1]], [[0.9, 0.6], [0.4, 0.7]])
    >>> display = thresholds.plots.ComparisonDisplay.from_comparison(comparison, measure="micro")
    >>> display.rules.tolist()
    ['first', 'fixed']
    """

    rules: Texts
    measures: tuple[str, ...]
    value: Floats
    low: Floats
    high: Floats
    is_behind: Booleans
    confidence: float | None
    beta: float

    @classmethod
    def from_comparison(
        cls, comparison: Comparison, *, measure: str | Sequence[str] = "macro"
    ) -> Self:
        """Take what rules reach by one measure, or by several.

        Parameters
        ----------
        comparison : what `thresholds.compare` found
        measure : "micro", "macro" (over all labels), "macro_supported" (over labels with positives), "weighted" or
            "samples", or some of them, with a panel each

        Returns
        -------
        the display, not yet drawn

        Raises
        ------
        InputError
            For what is no `Comparison`, and for another measure.
        """
        of_kind(comparison, "comparison", Comparison)
        measures = one_or_more(measure, "measure", MEASURED)
        rules = [row.rule for row in comparison.measures]
        values = np.array(
            [[getattr(row, name) for name in measures] for row in comparison.measures]
        )
        bounds = np.full((2, *values.shape), np.nan)  # (2, n_rules, n_measures)
        is_behind = np.zeros(values.shape, np.bool_)
        for j, name in enumerate(measures):
            behind = comparison.behind_best.get(name, {})
            for i, row in enumerate(comparison.measures):
                if name in row.intervals:
                    bounds[:, i, j] = row.intervals[name].lower, row.intervals[name].upper
                is_behind[i, j] = row.rule in behind and not behind[row.rule].tied
        order = np.argsort(-values[:, 0], kind="stable")
        low, high = bounds[:, order]
        return cls(
            rules=np.array(rules)[order],
            measures=measures,
            value=values[order],
            low=low,
            high=high,
            is_behind=is_behind[order],
            confidence=comparison.confidence,
            beta=comparison.beta,
        )

    @property
    def _n_panels(self) -> int:
        """One for each measure."""
        return len(self.measures)

    def _panel_height(self, width: float) -> float:
        """Return the height of a panel of that width, in inches."""
        return height_of(self.rules.size)

    def plot(self, ax: object = None, *, width: float | None = None) -> Self:
        """Draw each rule on a line of its own.

        Parameters
        ----------
        ax : matplotlib Axes to draw on, as many as there are measures; None for a new figure
        width : of a new figure in inches; None is 3.4, a column, and with several measures 7, a page

        Returns
        -------
        the display itself
        """
        with self._drawing(ax, width) as all_axes:
            names = style.drawable_names(self.rules.tolist(), _NAME)
            for j, axes in enumerate(all_axes):
                name_lines(axes, self._at_left(axes, names))
                self._draw(axes, j)
                axes.set_xlabel(self._in_words(self.measures[j]))
            if self.confidence is not None:
                self._legend(title=f"bars: {in_percent(self.confidence)} intervals")
        return self

    def _draw(self, axes: "Axes", j: int) -> None:
        """Draw what each rule reaches by the measure j."""
        lines = np.arange(self.rules.size, dtype=np.float64)
        behind = self.is_behind[:, j]  # (n_rules,)
        others = "may be the best" if self.rules.size > 1 else "the rule"
        for look, at, text in (
            (_TIED, ~behind, others),
            (_BEHIND, behind, "shown to be behind it"),
        ):
            if at.any():
                intervals(axes, lines[at], self.low[at, j], self.high[at, j], look)
                marks(axes, lines[at], self.value[at, j], look, text)

    def _in_words(self, measure: str) -> str:
        """Return what a measure is called."""
        name, _, rest = CALLED[measure].partition(", ")
        return f"{name} F{self.beta:g}" + (f", {rest}" if rest else "")

    def _rows(self) -> Any:
        """Return one row for each rule and measure."""
        n_rules, n_measures = self.value.shape
        return rows_of(
            {
                "rule": np.repeat(self.rules, n_measures),
                "measure": np.tile(self.measures, n_rules),
                "value": self.value.ravel(),
                "low": self.low.ravel(),
                "high": self.high.ravel(),
                "is_behind": self.is_behind.ravel(),
            }
        )


@dataclass(eq=False, repr=False)
class AgreementDisplay(Display):
    """How alike any two rules decide: the F1 between their decisions, 1 if they are the same, 0 with none in common.

    Rules that decide alike stand beside each other: their order is that of the leaves of a tree of averages, turned so
    that neighbours are as like as can be (Bar-Joseph, Gifford & Jaakkola 2001).

    Attributes
    ----------
    rules : str (n_rules,), in the order of the drawing
    pairs : float64 (n_rules, n_rules), F1 between the decisions of two rules, over all cells
    ax_, axes_, figure_ : once drawn

    Examples
    --------
    >>> import thresholds
    >>> rules = {f"at {cut}": thresholds.FixedRule(cut, 1) for cut in (0.2, 0.7, 0.3)}
    >>> comparison = thresholds.compare(rules, [[1], [0], [0]], [[0.9], [0.6], [0.25]])
    >>> display = thresholds.plots.AgreementDisplay.from_comparison(comparison)
    >>> display.rules.tolist()
    ['at 0.2', 'at 0.3', 'at 0.7']
    >>> display.pairs[0].round(2)
    array([1. , 0.8, 0.5])
    """

    rules: Texts
    pairs: Floats

    @classmethod
    def from_agreement(cls, agreement: Agreement) -> Self:
        """Take the pairs of `Comparison.agreement`.

        Parameters
        ----------
        agreement : of at least two rules

        Returns
        -------
        the display, not yet drawn

        Raises
        ------
        InputError
            For what is no `Agreement`.
        """
        of_kind(agreement, "agreement", Agreement)
        order = _by_likeness(agreement.pairs)
        return cls(np.array(agreement.rules)[order], agreement.pairs[np.ix_(order, order)])

    @classmethod
    def from_comparison(cls, comparison: Comparison) -> Self:
        """Take the pairs of a comparison.

        Parameters
        ----------
        comparison : what `thresholds.compare` found for at least two rules

        Returns
        -------
        the display, not yet drawn

        Raises
        ------
        InputError
            For what is no `Comparison`, and for one of a single rule.
        """
        agreement = of_kind(comparison, "comparison", Comparison).agreement
        if agreement is None:
            raise InputError(
                "comparison has 1 rule, expected at least 2: each is drawn against others"
            )
        return cls.from_agreement(agreement)

    def plot(self, ax: object = None, *, width: float | None = None) -> Self:
        """Draw the pairs, each once, with their figures.

        Parameters
        ----------
        ax : matplotlib Axes to draw on; None for a new figure
        width : of a new figure in inches; None is 3.4, a column, and 7, a page, for more than 9 rules

        Returns
        -------
        the display itself
        """
        n = self._n_shown
        if width is None:
            width = style.COLUMN if n < _MANY else style.PAGE
        with self._drawing(ax, width) as (axes,):
            is_again = np.triu(np.ones((n, n), np.bool_), 1)
            shown = np.ma.masked_array(self.pairs[1:, :-1], is_again)  # (n, n)
            image = axes.imshow(shown, cmap=_colours(), vmin=shown.min(), vmax=1.0, aspect="auto")
            names = style.drawable_names(self.rules.tolist(), _NAME)
            axes.set_yticks(np.arange(n), names[1:])
            axes.set_xticks(np.arange(n), names[:-1], rotation=90)
            axes.grid(False)
            axes.tick_params(length=0)
            for spine in axes.spines.values():
                spine.set_visible(False)
            self._title("F1 between the decisions of two rules: 1 if the same")

            # Figures too small to be read are left to a scale of colours.
            size = self._size_of_figures(axes)
            if size >= _SMALLEST:
                self._write_pairs(axes, shown, size)
            else:
                self.figure_.colorbar(image, ax=axes, shrink=0.6)
        return self

    def _size_of_figures(self, axes: "Axes") -> float:
        """Return how large figures are written that have room in their cells, in points."""
        self.figure_.draw_without_rendering()  # How large cells are is known only then.
        pixels = self.figure_.dpi / 72  # of a point
        cell = axes.get_window_extent().width / pixels / self._n_shown
        return float(min(_LARGEST, _OF_CELL * cell))

    def _write_pairs(self, axes: "Axes", shown: Any, size: float) -> None:
        """Write each figure into its cell."""
        lowest = float(shown.min())
        for (row, column), value in np.ndenumerate(shown.filled(np.nan)):
            if not np.isnan(value):
                is_dark = value - lowest > _DARK * (1 - lowest)
                axes.text(
                    column,
                    row,
                    _written(value),
                    ha="center",
                    va="center",
                    color="white" if is_dark else style.BLACK,
                    fontsize=size,
                )

    @property
    def _n_shown(self) -> int:
        """How many rows, and columns, are drawn: none is needed for a rule with itself."""
        return self.rules.size - 1

    def _panel_height(self, width: float) -> float:
        """Return the height of a panel of that width, in inches: names of rules, and a line for each."""
        return _OF_NAMES + _CELL * self._n_shown

    def _rows(self) -> Any:
        """Return the pairs, each once."""
        first, second = np.triu_indices(self.rules.size, 1)
        return rows_of(
            {
                "rule": self.rules[first],
                "other": self.rules[second],
                "f1": self.pairs[first, second],
            }
        )


def _by_likeness(pairs: Floats) -> Ints:
    """Return an order of rules in which those that decide alike are neighbours."""
    from scipy.cluster.hierarchy import leaves_list, linkage
    from scipy.spatial.distance import squareform

    if len(pairs) < 3:
        return np.arange(len(pairs))
    apart = squareform(1 - pairs, checks=False)
    order = np.asarray(leaves_list(linkage(apart, "average", optimal_ordering=True)), np.int64)
    # Either direction is as good: the first rule stands in the upper half.
    is_late = int(np.flatnonzero(order == 0)[0]) >= len(order) / 2
    return order[::-1] if is_late else order


def _colours() -> Any:
    """Return shades of blue, of one hue, so that they are told apart in grey, too."""
    from matplotlib import colormaps
    from matplotlib.colors import LinearSegmentedColormap

    shades = colormaps["Blues"](np.linspace(_PALEST, _DARKEST, 64))
    return LinearSegmentedColormap.from_list("agreement", shades)


def _written(value: float) -> str:
    """Write an F1 in as few characters as can be."""
    return "1" if value == 1 else written(value).removeprefix("0")
