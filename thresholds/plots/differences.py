"""What changed between two rules? The old one against the new one, label by label."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

import numpy as np

from thresholds import _checks
from thresholds._arrays.types import Floats, Texts
from thresholds._checks import InputError
from thresholds._results.words import counted
from thresholds.comparison.differences import NEWS, NOISE, SETTINGS, UNKNOWN, RuleDifference
from thresholds.plots import style
from thresholds.plots.base import Display, of_kind
from thresholds.plots.crowds import name_border, name_points, points
from thresholds.plots.scales import logarithmic, within

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_FAR = 1e6  # times below the median: too far to be shown on one scale with it
_MEANINGS = {
    "": "not moved",
    NOISE: "noise: the rows of the fits cannot tell why",
    SETTINGS: "moved, fitted with other settings",
    UNKNOWN: "moved, why is not known",
    NEWS: "news: more or less often true at the same score",
}
_WITHOUT_PARTS = "no thresholds to compare"


@dataclass(eq=False, repr=False)
class DifferenceDisplay(Display):
    """What the new rule does with each label against what the old one did: rows predicted, or thresholds.

    Labels have the colour and the marker of the reason for which they moved (`diff_rules`). Those on the diagonal are
    predicted as often as before, though not necessarily in the same rows. Labels beyond the axes, as those that are
    never predicted, lie on the borders.

    Attributes
    ----------
    name : str (n_labels,), labels of both rules, those that changed most first
    old, new : float64 (n_labels,), rows that each rule predicts if `quantity` is "predicted", else thresholds
    reason : str (n_labels,), "news", "noise", "settings", "unknown", or "" for a label that stayed
    quantity : "predicted" or "threshold"
    part : what may have moved, as `RuleDifference.part`; "" for rules that have nothing of the kind for each label
    ax_, axes_, figure_ : once drawn

    Examples
    --------
    >>> import thresholds
    >>> old = thresholds.ThresholdRule([0.5, 0.2], label_names=("cat", "dog"))
    >>> new = thresholds.ThresholdRule([0.5, 0.4], label_names=("cat", "dog"))
    >>> difference = thresholds.diff_rules(old, new, [[0.3, 0.1], [0.7, 0.3], [0.6, 0.9]])
    >>> display = thresholds.plots.DifferenceDisplay.from_difference(difference)
    >>> for name, before, after in zip(display.name, display.old, display.new):
    ...     print(name, before, after)
    dog 2.0 1.0
    cat 2.0 2.0
    """

    _height = 0.95
    _columns = ("name", "old", "new", "reason")

    name: Texts
    old: Floats
    new: Floats
    reason: Texts
    quantity: str
    part: str

    @classmethod
    def from_difference(cls, difference: RuleDifference) -> Self:
        """Take rows predicted from a difference that was found with scores, else thresholds.

        Parameters
        ----------
        difference : what `thresholds.diff_rules` found

        Returns
        -------
        the display, not yet drawn

        Raises
        ------
        InputError
            For what is no `RuleDifference`; without scores, for rules that have no threshold for each label.
        """
        table = of_kind(difference, "difference", RuleDifference).table
        quantity = "threshold" if difference.n_samples is None else "predicted"
        if quantity == "predicted":
            old, new = table["predicted_before"], table["predicted_after"]
        else:
            old, new = table["old_threshold"], table["new_threshold"]
        if np.isnan(old).any() or np.isnan(new).any():
            raise InputError(
                "difference has rules without a threshold for each label, expected a difference with scores"
            )
        changed = difference.largest
        unchanged = np.setdiff1d(np.arange(table.size), changed)
        order = np.concatenate([changed, unchanged])  # (n_labels,)
        return cls(
            name=table["name"][order],
            old=old[order].astype(np.float64),
            new=new[order].astype(np.float64),
            reason=table["verdict"][order],
            quantity=quantity,
            part=difference.part,
        )

    def plot(self, ax: object = None, *, width: float | None = None, k: int = 8) -> Self:
        """Draw a mark for each label.

        Parameters
        ----------
        ax : matplotlib Axes to draw on; None for a new figure
        width : of a new figure in inches; None is 3.4, a column
        k : how many labels are named at most, those first that changed most; names without room are left out

        Returns
        -------
        the display itself
        """
        k = _checks.count(k, "k", 0)
        with self._drawing(ax, width) as (axes,):
            self._set_scales(axes)
            x, y = within(axes, self.old, self.new)  # (n_labels,) each
            for place, (reason, look) in enumerate(style.REASONS.items()):
                is_so = self.reason == reason  # (n_labels,)
                if is_so.any():
                    meaning = _MEANINGS[reason] if self.part else _WITHOUT_PARTS
                    text = f"{meaning} ({counted(int(np.count_nonzero(is_so)), 'label')})"
                    points(axes, x[is_so], y[is_so], look, text, zorder=2.3 + 0.1 * place)
            what = "threshold" if self.quantity == "threshold" else "rows predicted"
            self._name_axes(f"{what}, old rule", f"{what}, new rule")
            self._legend(n_columns=1)
            has_changed = self.old != self.new
            names = self.name[has_changed].tolist()
            name_points(axes, x[has_changed], y[has_changed], names, k)
        return self

    def _set_scales(self, axes: "Axes") -> None:
        """Give both axes one scale, logarithmic where no value is negative, draw its diagonal, and name the borders.

        A threshold just above 0, as sparse scores have, is many powers of ten from the others: it is left to a border.
        """
        both = np.concatenate([self.old, self.new])
        shown = both[np.isfinite(both)]
        if self.quantity == "predicted":
            shown = shown[shown > 0]
        if shown.size == 0:
            shown = np.ones(1)
        if shown.min() > 0:
            logarithmic(axes)
            shown = shown[shown * _FAR > np.median(shown)]
            limits = shown.min() / 1.5, shown.max() * 1.5
        else:
            room = 0.05 * np.ptp(shown) or 1.0
            limits = shown.min() - room, shown.max() + room
        axes.set(xlim=limits, ylim=limits)
        ends = [(limit, limit) for limit in limits]
        axes.axline(*ends, color=style.BLACK, linewidth=0.6, zorder=2.8)
        self._name_borders(axes, *limits)

    def _name_borders(self, axes: "Axes", low: float, high: float) -> None:
        """Say what lies beyond the limits, and how many labels."""
        lower = "never predicted" if self.quantity == "predicted" else "lower, or always predicted,"
        for side, when, is_beyond, text in (
            ("left", "before", self.old < low, lower),
            ("right", "before", self.old > high, "never predicted"),
            ("bottom", "now", self.new < low, lower),
            ("top", "now", self.new > high, "never predicted"),
        ):
            if is_beyond.any():
                name_border(axes, side, f"{text} {when}: {np.count_nonzero(is_beyond):,}")
