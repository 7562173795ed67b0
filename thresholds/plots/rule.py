"""Where do the thresholds of a rule lie? Against how rare each label is, with what calibration would lead to expect.

Where scores are calibrated probabilities, the threshold of the highest F-beta is F* / (1 + B), F* the F that it reaches
and B = beta^2: half of F1 (Lipton et al. 2013, section 4, for F1). F* is at least that of predicting every row, and at
most 1; so such thresholds of a label of base rate b lie

    from b / (B b + 1)    to 1 / (1 + B)
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

import numpy as np
import numpy.typing as npt

from thresholds import _checks
from thresholds._arrays.types import Booleans, Floats, Texts
from thresholds._checks import InputError
from thresholds._results.result import names_of
from thresholds.diagnosis import Diagnosis
from thresholds.diagnosis.states import FLAGGED
from thresholds.diagnosis.states import STATES as STATE_NAMES
from thresholds.plots.base import Display, of_kind
from thresholds.plots.crowds import at_border, name_border, name_points, points
from thresholds.plots.scales import logarithmic, per_cent
from thresholds.plots.style import CURVE, GREY, REFERENCE, SKY, STATES, Look
from thresholds.rule import ThresholdRule

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_FAR = 10.0  # times what all but a twentieth of the thresholds exceed: far from there
_FEW = 60  # labels: of more, half of the best F is not shown label by label


@dataclass(eq=False, repr=False)
class ThresholdsDisplay(Display):
    """The threshold of each label against its base rate.

    Labels that are never predicted lie on the upper border, those that always are on the lower one, and those without
    positives on the left one. Thresholds are on a logarithmic axis if none is negative and some are ten times as high
    as others; single ones that are far lower are on the lower border, too. With a diagnosis marks show states, and
    labels that are flagged are named, those first that are predicted most; without one, labels with most positives are.

    Where all thresholds, and the scores of the fit, lie in [0, 1], a shaded band shows where the best thresholds of
    calibrated probabilities lie: at half of the F1 that they reach, which is at least that of predicting every row. A
    threshold above it, and most of those below, tell of scores that are no calibrated probabilities, or of few rows.
    With a diagnosis and at most 60 labels, a dash marks half of the best F1 of each.

    Attributes
    ----------
    name : str (n_labels,)
    threshold : float64 (n_labels,), inf for never and -inf for always
    base_rate : float64 (n_labels,), the share of positives: in the diagnosis, without one in the rows of the fit
    state : str (n_labels,), as in `Diagnosis.state`; None without a diagnosis
    half_best_f : float64 (n_labels,), half of the highest F1 that any threshold reaches on the rows of the diagnosis;
        None without one
    order : int64 (n_labels,), labels in the order in which they are named
    beta : of the rule
    are_probabilities : whether all thresholds, and scores of the fit as far as they are known, lie in [0, 1]

    Examples
    --------
    >>> import thresholds
    >>> rule = thresholds.fit([[1, 0], [0, 1], [1, 0]], [[0.9, 0.2], [0.3, 0.4], [0.6, 0.1]], "macro")
    >>> display = thresholds.plots.ThresholdsDisplay.from_rule(rule)
    >>> display.base_rate.round(2)
    array([0.67, 0.33])
    """

    _columns = ("name", "threshold", "base_rate", "state", "half_best_f")

    name: Texts
    threshold: Floats
    base_rate: Floats
    state: Texts | None
    half_best_f: Floats | None
    order: npt.NDArray[np.int64]
    beta: float
    are_probabilities: bool

    @classmethod
    def from_rule(cls, rule: ThresholdRule, *, diagnosis: Diagnosis | None = None) -> Self:
        """Take thresholds from a rule, and how rare labels are, and their states, from a diagnosis of it.

        Parameters
        ----------
        rule : a threshold for each label
        diagnosis : of that rule; None for base rates of the rows of its fit (where rows were weighted, the weight of
            the positives over the number of rows)

        Returns
        -------
        the display, not yet drawn

        Raises
        ------
        InputError
            For another kind of rule, a diagnosis of other labels, and without one a rule that was not fitted.
        """
        rule = of_kind(rule, "rule", ThresholdRule)
        names = names_of(rule.label_names, rule.n_labels)
        within = rule.thresholds[np.isfinite(rule.thresholds)]
        seen = np.array(() if rule.fitted_on is None else rule.fitted_on.quantiles)
        are_shares = all(((values >= 0) & (values <= 1)).all() for values in (within, seen))
        if diagnosis is None:
            base_rate = _base_rate_of_fit(rule)
            order = np.argsort(-base_rate, kind="stable")
            return cls(names, rule.thresholds, base_rate, None, None, order, rule.beta, are_shares)
        table = of_kind(diagnosis, "diagnosis", Diagnosis).table
        if table["name"].tolist() != names.tolist():
            raise InputError(
                f"diagnosis has the labels {_checks.listed(table['name'].tolist())}, expected those of the rule,"
                f" {_checks.listed(names.tolist())}"
            )
        is_flagged = np.isin(table["state"], FLAGGED)
        order = np.lexsort((-table["predicted_positive"], ~is_flagged))
        half = table["best_f"] / 2
        return cls(
            names,
            rule.thresholds,
            table["base_rate"],
            table["state"],
            half,
            order[: np.count_nonzero(is_flagged)] if table.size > _FEW else order,
            rule.beta,
            are_shares,
        )

    def plot(self, ax: object = None, *, width: float | None = None, k: int = 8) -> Self:
        """Draw a mark for each label.

        Parameters
        ----------
        ax : matplotlib Axes to draw on; None for a new figure
        width : of a new figure in inches; None is 3.4, a column
        k : how many labels are named at most; names without room are left out

        Returns
        -------
        the display itself
        """
        k = _checks.count(k, "k", 0)
        x = np.where(self.base_rate > 0, self.base_rate, np.nan)
        y = np.where(np.isfinite(self.threshold), self.threshold, np.nan)
        with self._drawing(ax, width) as (axes,):
            self._set_scales(axes, x, y)
            y[y < axes.get_ylim()[0]] = np.nan  # They are drawn on the border.
            if self.are_probabilities:
                self._draw_band(axes)
                self._draw_halves(axes)
            for look, text, is_of_look in self._groups():
                points(axes, x[is_of_look], y[is_of_look], look, text)
                self._draw_borders(axes, is_of_look, look)
            self._say_borders(axes)
            self._name_axes("rows with the label (%)", "threshold")
            self._legend()
            name_points(axes, x[self.order], y[self.order], self.name[self.order].tolist(), k)
        return self

    def _groups(self) -> list[tuple[Look, str, Booleans]]:
        """Return each look with its name and its labels: states, those that flag a label last and so on top."""
        if self.state is None:
            return [(CURVE, "labels", np.ones(self.name.size, np.bool_))]
        present = [state for state in STATE_NAMES[::-1] if (self.state == state).any()]
        return [(STATES[state], state, self.state == state) for state in present]

    def _set_scales(self, axes: "Axes", x: Floats, y: Floats) -> None:
        """Set logarithmic axes where values lie far apart, and limits with room for the borders."""
        per_cent(axes, "x")
        known_x = x[~np.isnan(x)]
        if known_x.size:
            highest = known_x.max()  # above 1 where weights are
            axes.set_xlim(known_x.min() / 1.6, max(min(highest * 1.6, 1), highest))
        known = y[~np.isnan(y)]
        low = np.quantile(known[known > 0], 0.05) if (known > 0).any() else np.inf
        if known.size and known.min() >= 0 and known.max() > _FAR * low:
            logarithmic(axes, "y")
            lowest = max(known[known > 0].min(), low / _FAR)
            axes.set_ylim(lowest / 2, known.max() * 2)
        elif known.size:
            room = 0.08 * max(known.max() - known.min(), 1e-9)
            axes.set_ylim(known.min() - room, known.max() + room)

    def _draw_band(self, axes: "Axes") -> None:
        """Shade where the best thresholds of calibrated probabilities lie."""
        beta2 = self.beta**2
        lowest, highest = axes.get_xlim()
        rate = np.geomspace(lowest, highest, 100)
        axes.fill_between(
            rate,
            rate / (beta2 * rate + 1),
            1 / (1 + beta2),
            color=SKY,
            alpha=0.13,
            linewidth=0,
            zorder=0.5,
            label="best thresholds of\ncalibrated probabilities",
        )

    def _draw_halves(self, axes: "Axes") -> None:
        """Mark half of the best F1 of each label, and how far its threshold is from there."""
        if self.half_best_f is None or self.beta != 1 or self.name.size > _FEW:
            return
        is_drawn = np.isfinite(self.threshold) & (self.base_rate > 0) & (self.half_best_f > 0)
        x = self.base_rate[is_drawn]
        half = self.half_best_f[is_drawn]
        axes.vlines(x, half, self.threshold[is_drawn], color=REFERENCE.colour, linewidth=0.5)
        axes.plot(x, half, color=GREY, marker="_", linestyle="", label="half of its best F1")

    def _borders(self, axes: "Axes") -> list[tuple[str, str, Booleans]]:
        """Return what lies beyond the axes: on which side, what that is, and which labels."""
        lowest = axes.get_ylim()[0]
        has_positives = self.base_rate > 0
        is_always = self.threshold == -np.inf
        is_below = (self.threshold < lowest) & ~is_always
        return [
            ("top", "never predicted", has_positives & (self.threshold == np.inf)),
            ("bottom", "always predicted", has_positives & is_always),
            ("bottom", f"below {lowest:.1g}", has_positives & is_below),
            ("left", "no positives", ~has_positives),
        ]

    def _draw_borders(self, axes: "Axes", is_of_look: Booleans, look: Look) -> None:
        """Mark labels that lie beyond the axes."""
        for side, _, is_there in self._borders(axes):
            along = self.threshold.clip(*axes.get_ylim()) if side == "left" else self.base_rate
            at_border(axes, along[is_there & is_of_look], side, look)

    def _say_borders(self, axes: "Axes") -> None:
        """Say what lies beyond the axes, and how many labels."""
        texts: dict[str, list[str]] = {}
        for side, text, is_there in self._borders(axes):
            if is_there.any():
                texts.setdefault(side, []).append(f"{text}: {np.count_nonzero(is_there):,}")
        for side, parts in texts.items():
            name_border(axes, side, "; ".join(parts))


def _base_rate_of_fit(rule: ThresholdRule) -> Floats:
    """Return the share of positives of each label in the rows of a fit."""
    fitted_on = rule.fitted_on
    if fitted_on is None or fitted_on.n_labels != rule.n_labels:
        raise InputError(
            "rule was not fitted, so that the base rates of its labels are unknown, expected a rule that was, or a"
            " diagnosis of it"
        )
    return fitted_on.base_rates
