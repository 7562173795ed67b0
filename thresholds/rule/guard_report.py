"""What a guard, or limits, did to the thresholds of a fit."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from thresholds._arrays.types import Floats
from thresholds.results import (
    Result,
    Table,
    as_plain_values,
    counted,
    names_of,
    texts_when_read,
)

_LIMITS = re.compile(r"\b(max_overprediction|min_precision|min_recall)=")


def names_limits(guard: str) -> bool:
    """Whether the name of what guards a rule has limits in it."""
    return _LIMITS.search(guard) is not None


@texts_when_read("reason")
@dataclass(frozen=True, eq=False, repr=False)
class GuardReport(Result):
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
    fell_back : bool (n_labels,), labels that fell back on always; None for no label
        Why: on the rows of the fit the guard's cuts reach less of the average F that is fitted (macro or weighted) than
        predicting every label always. The scores know next to nothing, or rank backwards.
        1. Such a label is predicted on all rows but those whose score is masked (-inf) or, where predictions stay
           sparse, `missing`.
        2. Where limits forbid that, as far as they allow.
        3. Where they allow no true positive, never.
    """

    _shown = 5

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

    def in_figures(self) -> dict[str, Any]:
        """Return what `to_text(0)` says: numbers of thresholds and predictions, plain values."""
        fewer = self.moved & (self.predicted_after < self.predicted_before)  # (n_labels,)
        return {
            "guard": self.guard,
            "n_moved": int(np.count_nonzero(self.moved)),
            "n_to_predict_less": int(np.count_nonzero(fewer)),
            "n_fell_back": self.n_fell_back,
            "predicted_before": as_plain_values(self.predicted_before.sum()),
            "predicted_after": as_plain_values(self.predicted_after.sum()),
        }

    def to_dict(self) -> dict[str, Any]:
        """Return columns of plain values for JSON: NaN as None, infinite numbers as "inf" and "-inf"."""
        return {name: as_plain_values(column) for name, column in self._records().items()}

    def _records(self) -> dict[str, npt.NDArray[Any]]:
        """Return columns, one row a label."""
        n_labels = self.moved.size
        return {
            "name": names_of(self.label_names, n_labels),
            "unguarded": self.unguarded,
            "guarded": self.guarded,
            "predicted_before": self.predicted_before,
            "predicted_after": self.predicted_after,
            "f_before": self.f_before,
            "f_after": self.f_after,
            "moved": self.moved,
            "reason": self.reason,
            "fell_back": np.zeros(n_labels, np.bool_) if self.fell_back is None else self.fell_back,
        }

    def _tables(self, k: int) -> Iterator[str | Table]:
        """Sum up, and list the k labels that were moved furthest."""
        moved = self.moved  # (n_labels,)
        figures = self.in_figures()
        summary = (
            f"guard {self.guard}: moved {figures['n_moved']:,} of {moved.size:,} thresholds,"
            f" {figures['n_to_predict_less']:,} to predict less; predicts {figures['predicted_after']:,.10g} instead of"
            f" {figures['predicted_before']:,.10g}"
        )
        if self.n_fell_back:
            fall = "falls" if self.n_fell_back == 1 else "fall"
            labels = f"{counted(self.n_fell_back, 'label')} {fall}"
            always = "always, as far as limits allow" if self.has_limits else "always"
            summary += f"; {labels} back on {always}: on these rows the guard's cuts reach less F than that"
        yield summary
        if k and moved.any():
            yield self._furthest(min(k, int(np.count_nonzero(moved))))

    def _furthest(self, k: int) -> Table:
        """Lay out the k labels whose number of predictions changed most, as a ratio; none count as half a row."""
        before = np.maximum(self.predicted_before, 0.5)
        after = np.maximum(self.predicted_after, 0.5)
        order = np.argsort(-np.abs(np.log(after / before)), kind="stable")[:k]
        names = names_of(self.label_names, before.size)
        columns = [
            ("moved furthest", *(str(names[j]) for j in order)),
            ("unguarded", *(f"{self.unguarded[j]:.4g}" for j in order)),
            ("guarded", *(f"{self.guarded[j]:.4g}" for j in order)),
            ("predicted", *(f"{self.predicted_after[j]:,g}" for j in order)),
            ("instead of", *(f"{self.predicted_before[j]:,g}" for j in order)),
            ("F there", *(f"{self.f_after[j]:.4f}" for j in order)),
            ("instead of", *(f"{self.f_before[j]:.4f}" for j in order)),
            ("why", *(str(self.reason[j]) for j in order)),
        ]
        head, *body = zip(*columns, strict=True)
        return Table([head], body, left=(0, 7))
