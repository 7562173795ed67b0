"""Which labels are predicted too often? Over-prediction against support."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from thresholds import _checks
from thresholds._arrays.types import Floats, Ints, Texts
from thresholds._results.words import counted
from thresholds.diagnosis import Diagnosis
from thresholds.diagnosis.states import STATES
from thresholds.plots import style
from thresholds.plots.base import Display, of_kind
from thresholds.plots.crowds import name_border, name_points, points
from thresholds.plots.scales import logarithmic, within

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_MEANINGS = {  # in as few words as a legend has room for
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
    above the dashed line. Labels without positives are drawn as if half a row were one; those that are never predicted
    lie on the lower border. How large a mark is says nothing.

    Attributes
    ----------
    name : str (n_labels,)
    n_positives : int64 (n_labels,), rows in which the label is true
    predicted : int64 (n_labels,), rows in which it is predicted
    overprediction : float64 (n_labels,), predictions over positives: inf without positives, NaN for 0/0
    state : str (n_labels,), as in `Diagnosis.state`
    limit : of `overprediction`, above which a label is over-predicted
    n_samples : rows
    ax_, axes_, figure_ : once drawn

    Examples
    --------
    >>> import thresholds
    >>> rule = thresholds.ThresholdRule([0.5, 0.1], label_names=("often", "rare"))
    >>> y_true = [[1, 0], [1, 0], [0, 0], [0, 0], [0, 1]]
    >>> y_score = [[0.9, 0.2], [0.8, 0.3], [0.6, 0.4], [0.3, 0.2], [0.1, 0.3]]
    >>> diagnosis = thresholds.diagnose(y_true, y_score, rule)
    >>> display = thresholds.plots.OverpredictionDisplay.from_diagnosis(diagnosis)
    >>> display.overprediction
    array([1.5, 5. ])
    """

    _height = 0.95
    _columns = ("name", "n_positives", "predicted", "overprediction", "state")

    name: Texts
    n_positives: Ints
    predicted: Ints
    overprediction: Floats
    state: Texts
    limit: float
    n_samples: int

    @classmethod
    def from_diagnosis(cls, diagnosis: Diagnosis) -> Self:
        """Take counts and states from a diagnosis.

        Parameters
        ----------
        diagnosis : what `thresholds.diagnose` found

        Returns
        -------
        the display, not yet drawn

        Raises
        ------
        InputError
            For what is no `Diagnosis`.
        """
        table = of_kind(diagnosis, "diagnosis", Diagnosis).table
        return cls(
            name=table["name"],
            n_positives=table["n_positives"],
            predicted=table["predicted_positive"],
            overprediction=table["overprediction"],
            state=table["state"],
            limit=diagnosis.overprediction,
            n_samples=diagnosis.n_samples,
        )

    @property
    def worst(self) -> Ints:
        """Labels from the worst on: over-predicted ones, those first that are predicted most in excess; the others."""
        excess = self.predicted - self.n_positives
        return np.lexsort((-excess, ~(self.overprediction > self.limit)))

    def plot(self, ax: object = None, *, width: float | None = None, k: int = 8) -> Self:
        """Draw a mark for each label.

        Parameters
        ----------
        ax : matplotlib Axes to draw on; None for a new figure
        width : of a new figure in inches; None is 3.4, a column
        k : how many labels are named at most, the worst first; names without room are left out

        Returns
        -------
        the display itself
        """
        k = _checks.count(k, "k", 0)
        x = np.maximum(self.n_positives, _NO_POSITIVES)  # (n_labels,)
        y = self.predicted / x  # (n_labels,)
        with self._drawing(ax, width) as (axes,):
            self._set_scales(axes, x, y)
            self._draw_lines(axes)
            x, y = within(axes, x, y)

            # Few labels of many are flagged: they lie on top, so that the others do not hide them.
            for place, state in enumerate(STATES):
                in_state = self.state == state  # (n_labels,)
                if in_state.any():
                    look = style.STATES[state]
                    text = self._about_state(state)
                    points(axes, x[in_state], y[in_state], look, text, zorder=2.8 - 0.1 * place)
            self._name_axes("rows with the label", "predictions per row with the label")
            self._legend(n_columns=1, title="state of labels, with their share of all predictions")
            named = self.worst[(self.predicted > 0)[self.worst]]
            name_points(axes, x[named], y[named], self.name[named].tolist(), k)
        return self

    def _set_scales(self, axes: "Axes", x: Floats, y: Floats) -> None:
        """Show all labels that are predicted, and the lines, and say how many are never predicted."""
        logarithmic(axes)
        is_never = self.predicted == 0
        shown = np.append(y[~is_never], (1.0, self.limit))
        axes.set_xlim(x.min() / 1.6, x.max() * 1.6)
        axes.set_ylim(shown.min() / 2.5, shown.max() * 2.5)
        if is_never.any():
            name_border(axes, "bottom", f"never predicted: {np.count_nonzero(is_never):,}")

    def _draw_lines(self, axes: "Axes") -> None:
        """Draw what is just right, what is too much, and what is most."""
        of_lines: dict[str, Any] = {"linewidth": 0.8, "zorder": 1}
        axes.axhline(1.0, color=style.GREY, **of_lines)
        text = f"{self.limit:g} times as often as true"
        axes.axhline(self.limit, color=style.BLACK, linestyle="--", label=text, **of_lines)
        ends = np.array(axes.get_xlim())
        most = self.n_samples / ends
        if most[1] < axes.get_ylim()[1]:
            text = "predicted in every row"
            axes.plot(ends, most, color=style.GREY, linestyle=":", label=text, **of_lines)

    def _about_state(self, state: str) -> str:
        """Say what a state means, how many labels are in it, and what share of all predictions they take."""
        in_state = self.state == state
        n_labels = counted(int(np.count_nonzero(in_state)), "label")
        share = self.predicted[in_state].sum() / max(self.predicted.sum(), 1)
        return f"{state} ({_MEANINGS[state]}): {n_labels}, {share:.0%}"
