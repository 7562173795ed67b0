"""Which labels are predicted too often? Over-prediction against support."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from thresholds._arrays.types import Booleans, Floats, Ints
from thresholds.diagnosis.result import STATES
from thresholds.plots import style
from thresholds.plots.base import Display
from thresholds.plots.crowds import at_border, name_points, points
from thresholds.plots.scales import logarithmic
from thresholds.results import counted, rows_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from thresholds.diagnosis import Diagnosis

_MEANINGS = {  # in a few words, after "predicted too often" where that is so
    "backwards": "turned round",
    "platypus": "scores know little",
    "suspect": "too few rows to tell",
    "unsupported": "never true",
    "overpredicted": "scores know it",
    "restrained": "not too often",
}
_NO_POSITIVES = 0.5  # where labels without positives are drawn: half a row


@dataclass(eq=False, repr=False)
class OverpredictionDisplay(Display):
    """How often each label is predicted for each time that it is true, against how often it is true; both logarithmic.

    Labels have the colour and the marker of their state (`diagnose`). A rule that cuts where F1 is best predicts a
    label too often if it is rare and the scores know little of it (Lipton et al. 2013, section 6): such labels lie
    above the dashed line. How large a mark is says nothing.

    Attributes
    ----------
    names : (n_labels,) str
    positives : (n_labels,) rows in which the label is true
    predicted : (n_labels,) rows in which it is predicted
    states : (n_labels,) str
    limit : predictions for each positive above which a label is over-predicted
    n_samples : rows
    ax_, axes_, figure_ : once drawn
    """

    _height = 0.95

    names: npt.NDArray[np.str_]
    positives: Ints
    predicted: Ints
    states: npt.NDArray[np.str_]
    limit: float
    n_samples: int

    @classmethod
    def from_diagnosis(cls, diagnosis: "Diagnosis") -> "OverpredictionDisplay":
        """Take the counts and states of `thresholds.diagnose`."""
        table = diagnosis.table
        return cls(
            names=table["name"],
            positives=table["n_positives"],
            predicted=table["predicted_positive"],
            states=diagnosis.state,
            limit=diagnosis.overprediction,
            n_samples=diagnosis.n_samples,
        )

    @property
    def overprediction(self) -> Floats:
        """Predictions for each positive, (n_labels,): infinite without positives, NaN where nothing is predicted."""
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.asarray(self.predicted / self.positives)

    @property
    def worst(self) -> Ints:
        """Labels from the worst on: over-predicted ones by their wrong predictions at the least, then the others."""
        excess = self.predicted - self.positives
        is_over = self.overprediction > self.limit
        return np.lexsort((-excess, ~is_over))

    def plot(
        self, ax: "Axes | None" = None, *, k: int = 8, width: float | None = None
    ) -> "OverpredictionDisplay":
        """Draw it.

        Parameters
        ----------
        ax : matplotlib Axes to draw on; None for a new figure
        k : labels to name at most, the worst first
        width : of a new figure, in inches; None for a column of a page
        """
        with self._drawing(ax, width) as (axes,):
            logarithmic(axes)
            x = np.maximum(self.positives, _NO_POSITIVES)  # (n_labels,)
            y = self.predicted / x  # (n_labels,)
            self._set_limits(axes, x, y)
            self._draw_lines(axes)

            # Few labels of many are flagged: they lie on top, so that the others do not hide them.
            for place, state in enumerate(STATES):
                in_state = self.states == state  # (n_labels,)
                if in_state.any():
                    self._draw_state(axes, state, x, y, in_state, zorder=2.8 - 0.1 * place)
            self._name_axes("rows in which the label is true", "predictions for each true row")
            self._legend(n_columns=1, title="state of labels, with their share of all predictions")
            named = self.worst[(self.predicted > 0)[self.worst]]
            name_points(axes, x[named], y[named], self.names[named].tolist(), k)
        return self

    def _set_limits(self, axes: "Axes", x: Floats, y: Floats) -> None:
        """Show all labels that are predicted, and the lines."""
        shown = np.append(y[self.predicted > 0], (1.0, self.limit))
        axes.set_xlim(x.min() / 1.6, x.max() * 1.6)
        axes.set_ylim(shown.min() / 2.5, shown.max() * 2.5)

    def _draw_lines(self, axes: "Axes") -> None:
        """Draw what is just right, what is too much, and what is most."""
        of_lines: dict[str, Any] = {"linewidth": 0.8, "zorder": 1}
        axes.axhline(1.0, color=style.GREY, **of_lines)
        text = f"{self.limit:g} times as often as true"
        axes.axhline(self.limit, color=style.BLACK, linestyle="--", label=text, **of_lines)
        ends = np.array(axes.get_xlim())
        if self.n_samples / ends[1] < axes.get_ylim()[1]:
            text = "predicted in every row"
            axes.plot(
                ends, self.n_samples / ends, color=style.GREY, linestyle=":", label=text, **of_lines
            )

    def _draw_state(
        self, axes: "Axes", state: str, x: Floats, y: Floats, in_state: Booleans, zorder: float
    ) -> None:
        """Mark the labels of a state; those that are never predicted at the lower border."""
        look = style.STATES[state]
        share = self.predicted[in_state].sum() / max(self.predicted.sum(), 1)
        label = (
            f"{state} ({_MEANINGS[state]}): {counted(int(in_state.sum()), 'label')}, {share:.0%}"
        )
        is_predicted = in_state & (self.predicted > 0)
        is_never = in_state & (self.predicted == 0)
        points(axes, x[is_predicted], y[is_predicted], look, label, zorder=zorder)
        if is_never.any():
            at_border(axes, x[is_never], "bottom", look, "never predicted")

    def _records(self) -> Any:
        """Return the labels."""
        return rows_of(
            {
                "name": self.names,
                "positives": self.positives,
                "predicted": self.predicted,
                "overprediction": self.overprediction,
                "state": self.states,
            }
        )
