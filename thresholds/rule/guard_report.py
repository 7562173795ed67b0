"""What a guard, or limits, did to the thresholds of a fit."""

import re
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from thresholds._arrays.types import Floats
from thresholds.results import ReadOnly, as_text, names_of

_SHOWN = 5  # labels in the text
_LIMITS = re.compile(r"\b(max_overprediction|min_precision|min_recall)=")


def names_limits(guard: str) -> bool:
    """Whether the name of what guards a rule has limits in it."""
    return _LIMITS.search(guard) is not None


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
    fell_back : bool (n_labels,), labels that fell back on always: predicted on all rows but those whose score is masked
        (-inf) or, where predictions stay sparse, `missing`, as far as limits allow; where these allow no hit, never. On
        the rows of the fit the guard's cuts reach less of the average F that is fitted (macro or weighted) than
        predicting every label always: the scores know next to nothing, or rank backwards. None is for no label
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
        """How many labels fell back on always."""
        return 0 if self.fell_back is None else int(np.count_nonzero(self.fell_back))

    @property
    def has_limits(self) -> bool:
        """Whether limits were set."""
        return self.guard is not None and names_limits(self.guard)

    @property
    def moved(self) -> npt.NDArray[np.bool_]:
        """Whether other rows are predicted than by the in-sample optimum."""
        return np.asarray(self.predicted_before != self.predicted_after)

    def to_dict(self) -> dict[str, npt.NDArray[Any]]:
        """Return the columns by name, for a data frame."""
        names = names_of(self.label_names, self.moved.size)
        fell_back = np.zeros(self.moved.size, np.bool_) if self.fell_back is None else self.fell_back
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
        return {"name": names} | {name: getattr(self, name) for name in columns} | {"fell_back": fell_back}

    def __str__(self) -> str:
        """Sum up, and list the labels that were moved furthest."""
        moved = self.moved
        fewer = np.count_nonzero(moved & (self.predicted_after < self.predicted_before))
        first = (
            f"guard {self.guard}: moved {np.count_nonzero(moved):,} of {moved.size:,} thresholds, {fewer:,} to predict"
            f" less; predicts {self.predicted_after.sum():,.10g} instead of {self.predicted_before.sum():,.10g}"
        )
        if self.n_fell_back:
            labels = "1 label falls" if self.n_fell_back == 1 else f"{self.n_fell_back:,} labels fall"
            always = "always, as far as limits allow" if self.has_limits else "always"
            first += f"; {labels} back on {always}: on these rows the guard's cuts reach less F than that"
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
