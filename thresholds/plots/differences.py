"""What changed between two rules? The old one against the new one, label by label."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from thresholds._arrays.types import Booleans, Floats
from thresholds._checks import InputError
from thresholds.comparison.differences import NEWS, NOISE, SETTINGS, UNKNOWN
from thresholds.plots import style
from thresholds.plots.base import Display
from thresholds.plots.crowds import at_border, name_points, points
from thresholds.plots.scales import logarithmic
from thresholds.results import counted, rows_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from thresholds.comparison.differences import RuleDifference

_FAR = 1e6  # times below the median: too far to be shown on one scale with it
_MEANINGS = {
    "": "not moved",
    NOISE: "noise: the rows of the fits cannot tell why",
    SETTINGS: "moved, fitted with other settings",
    UNKNOWN: "moved, for an unknown reason",
    NEWS: "news: more or less often true at the same score",
}


@dataclass(eq=False, repr=False)
class DifferenceDisplay(Display):
    """What the new rule does with each label against what the old one did: rows predicted, or thresholds.

    Labels have the colour and the marker of the reason for which they moved (`diff_rules`). Those on the diagonal are
    predicted as often as before, though not necessarily in the same rows. Labels beyond the axes, never or always
    predicted, are at the borders.

    Attributes
    ----------
    names : (n_labels,) str, labels of both rules, those that changed most first
    old, new : (n_labels,) rows predicted by each rule if `quantity` is "predicted", else thresholds
    reasons : (n_labels,) str: "news", "noise", "settings", "unknown", or "" for a label that stayed
    quantity : "predicted" or "threshold"
    part : what may have moved, as `RuleDifference.part`; "" for rules that have nothing of the kind for each label
    n_samples : rows that were decided; None without scores
    ax_, axes_, figure_ : once drawn
    """

    _height = 0.95

    names: npt.NDArray[np.str_]
    old: Floats
    new: Floats
    reasons: npt.NDArray[np.str_]
    quantity: str
    part: str
    n_samples: int | None

    @classmethod
    def from_difference(cls, difference: "RuleDifference") -> "DifferenceDisplay":
        """Take rows predicted from `thresholds.diff_rules` where it had scores, else thresholds.

        Raises
        ------
        InputError
            Without scores, for rules that have no threshold for each label.
        """
        table = difference.table
        is_counted = difference.n_samples is not None
        if is_counted:
            old, new = table["predicted_before"], table["predicted_after"]
        else:
            old, new = table["old_threshold"], table["new_threshold"]
        if np.isnan(old).any() or np.isnan(new).any():
            raise InputError(
                "difference has rules without a threshold for each label, expected some, or a difference with scores"
            )
        changed = difference.largest
        order = np.concatenate(
            [changed, np.setdiff1d(np.arange(table.size), changed)]
        )  # (n_labels,)
        return cls(
            names=table["name"][order],
            old=old[order].astype(np.float64),
            new=new[order].astype(np.float64),
            reasons=table["verdict"][order],
            quantity="predicted" if is_counted else "threshold",
            part=difference.part,
            n_samples=difference.n_samples,
        )

    def plot(
        self, ax: "Axes | None" = None, *, k: int = 8, width: float | None = None
    ) -> "DifferenceDisplay":
        """Draw it.

        Parameters
        ----------
        ax : matplotlib Axes to draw on; None for a new figure
        k : labels to name at most, those that changed most
        width : of a new figure, in inches; None for a column of a page
        """
        with self._drawing(ax, width) as (axes,):
            low, high = self._set_scales(axes)
            axes.axline((low, low), (high, high), color=style.BLACK, linewidth=0.8, zorder=1)
            is_inner = (np.minimum(self.old, self.new) >= low) & (
                np.maximum(self.old, self.new) <= high
            )
            for reason, look in style.REASONS.items():
                at = self.reasons == reason  # (n_labels,)
                if at.any():
                    meaning = _MEANINGS[reason] if self.part else "rules of two kinds"
                    label = f"{meaning} ({counted(int(at.sum()), 'label')})"
                    points(axes, self.old[at & is_inner], self.new[at & is_inner], look, label)
                    self._draw_at_borders(axes, at, look, low, high)
            what = "threshold" if self.quantity == "threshold" else "rows predicted"
            self._name_axes(f"{what}, old rule", f"{what}, new rule")
            self._legend(n_columns=1)

            # Names stand at the borders, too.
            changed = self.old != self.new
            across = np.clip(self.old[changed], low, high)
            up = np.clip(self.new[changed], low, high)
            name_points(axes, across, up, self.names[changed].tolist(), k)
        return self

    def _set_scales(self, axes: "Axes") -> tuple[float, float]:
        """Give both axes one scale, logarithmic where all values are above 0, and return their common limits.

        A threshold just above 0, as sparse scores have, is many powers of ten from the others: it is left to a border.
        """
        both = np.concatenate([self.old, self.new])
        shown = both[np.isfinite(both)]
        if self.quantity == "predicted":
            shown = shown[shown > 0]
        if shown.size == 0:
            shown = np.ones(1)
        low, high = float(shown.min()), float(shown.max())
        if low > 0:
            logarithmic(axes)
            low = float(shown[shown * _FAR > np.median(shown)].min())
            low, high = low / 1.5, high * 1.5
        else:
            margin = 0.05 * (high - low) or 1.0
            low, high = low - margin, high + margin
        axes.set_xlim(low, high)
        axes.set_ylim(low, high)
        return low, high

    def _draw_at_borders(
        self, axes: "Axes", at: Booleans, look: style.Look, low: float, high: float
    ) -> None:
        """Mark labels beyond the limits, as those that one of the rules never predicts; not those beyond both."""
        lower = "never predicted" if self.quantity == "predicted" else "lower, or always predicted"
        old_is_inner = (self.old >= low) & (self.old <= high)  # (n_labels,)
        new_is_inner = (self.new >= low) & (self.new <= high)  # (n_labels,)
        for side, beyond, places, text in (
            ("left", (self.old < low) & new_is_inner, self.new, f"{lower} before"),
            ("right", (self.old > high) & new_is_inner, self.new, "never predicted before"),
            ("bottom", (self.new < low) & old_is_inner, self.old, f"{lower} now"),
            ("top", (self.new > high) & old_is_inner, self.old, "never predicted now"),
        ):
            if (at & beyond).any():
                at_border(axes, places[at & beyond], side, look, text)

    def _records(self) -> Any:
        """Return the labels."""
        return rows_of(
            {"name": self.names, "old": self.old, "new": self.new, "reason": self.reasons}
        )
