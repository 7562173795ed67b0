"""What a guard, or limits, did to the thresholds of a fit."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from thresholds.tables import ReadOnly, as_text, names_of

Floats = npt.NDArray[np.float64]

_SHOWN = 5  # labels in the text


@dataclass(frozen=True, eq=False)
class GuardReport(ReadOnly):
    """Which thresholds were moved away from the in-sample optimum, how far and why; one entry a label.

    Attributes
    ----------
    guard : what moved them: a guard, limits or both
    unguarded, guarded : (n_labels,) thresholds of the in-sample optimum, and those of the rule
    predicted_before, predicted_after : (n_labels,) number, or weight, of rows predicted on the data of the fit
    f_before, f_after : (n_labels,) F-beta there: what is given up in the sample for new data
    moved : bool (n_labels,), whether other rows are predicted there than by the optimum
    reason : (n_labels,) str, empty where nothing was moved
    label_names : tuple of str, or None
    fell_back : bool (n_labels,), labels that are predicted always, as all that the guard reaches on these rows is less
        than that of predicting every label always: the scores know next to nothing, or rank backwards; None for none
    """

    guard: str | None
    unguarded: Floats
    guarded: Floats
    predicted_before: npt.NDArray[Any]
    predicted_after: npt.NDArray[Any]
    f_before: Floats
    f_after: Floats
    reason: npt.NDArray[np.str_]
    label_names: tuple[str, ...] | None = None
    fell_back: npt.NDArray[np.bool_] | None = None

    @property
    def n_fell_back(self) -> int:
        """How many labels are predicted always instead."""
        return 0 if self.fell_back is None else int(np.count_nonzero(self.fell_back))

    @property
    def moved(self) -> npt.NDArray[np.bool_]:
        """Whether other rows are predicted than by the in-sample optimum."""
        return np.asarray(self.predicted_before != self.predicted_after)

    def to_dict(self) -> dict[str, npt.NDArray[Any]]:
        """Give the columns by name, for a data frame."""
        names = names_of(self.label_names, self.moved.size)
        columns = (
            "unguarded",
            "guarded",
            "predicted_before",
            "predicted_after",
            "f_before",
            "f_after",
            "moved",
            "reason",
        )
        return {"name": names} | {name: getattr(self, name) for name in columns}

    def __str__(self) -> str:
        """Sum up, and list the labels that were moved furthest."""
        moved = self.moved
        fewer = np.count_nonzero(moved & (self.predicted_after < self.predicted_before))
        first = (
            f"guard {self.guard}: moved {np.count_nonzero(moved):,} of {moved.size:,} thresholds, {fewer:,} to predict"
            f" less; predicts {self.predicted_after.sum():,.10g} instead of {self.predicted_before.sum():,.10g}"
        )
        if self.n_fell_back:
            first += f"; falls back on predicting always for {self.n_fell_back:,}, as it reaches less than that does"
        if not moved.any():
            return first
        before, after = (np.maximum(counts, 0.5) for counts in (self.predicted_before, self.predicted_after))
        order = np.argsort(-np.abs(np.log(after / before)), kind="stable")[: min(_SHOWN, np.count_nonzero(moved))]
        names = self.to_dict()["name"]
        head = [("moved furthest", "unguarded", "guarded", "predicted", "instead of", "F there", "instead of", "why")]
        body = [
            (
                str(names[j]),
                *(f"{threshold:.4g}" for threshold in (self.unguarded[j], self.guarded[j])),
                *(f"{count[j]:,g}" for count in (self.predicted_after, self.predicted_before)),
                *(f"{value:.4f}" for value in (self.f_after[j], self.f_before[j])),
                str(self.reason[j]),
            )
            for j in order
        ]
        return f"{first}\n\n{as_text(head, body, left=(0, 7))}"
