"""What a guard, or limits, did to the thresholds of a fit."""

import re
from collections.abc import Iterator
from typing import Any

import numpy as np

from thresholds._arrays.types import Booleans, Floats, Numbers, Texts
from thresholds._results.fields import names, of_labels, record, value
from thresholds._results.plain import plain
from thresholds._results.result import Result
from thresholds._results.tables import Column, Table, tabulate
from thresholds._results.words import counted

_LIMITS = re.compile(r"\b(max_overprediction|min_precision|min_recall)=")

_MOVED_FURTHEST = (
    Column("name", "moved furthest", is_words=True),
    Column("unguarded", write="{:.4g}".format),
    Column("guarded", write="{:.4g}".format),
    Column("predicted_after", "predicted", "{:,g}".format),
    Column("predicted_before", "instead of", "{:,g}".format),
    Column("f_after", "F there", "{:.4f}".format),
    Column("f_before", "instead of", "{:.4f}".format),
    Column("reason", "why", is_words=True),
)


def names_limits(guard: str) -> bool:
    """Whether the name of what guards a rule has limits in it."""
    return _LIMITS.search(guard) is not None


@record
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

    guard: str | None = value()
    unguarded: Floats = of_labels(form="figure")
    guarded: Floats = of_labels(form="figure")
    predicted_before: Numbers = of_labels()
    predicted_after: Numbers = of_labels()
    f_before: Floats = of_labels(form="figure")
    f_after: Floats = of_labels(form="figure")
    reason: Texts = of_labels()
    label_names: tuple[str, ...] | None = names(default=None)
    fell_back: Booleans | None = of_labels(default=None)

    @property
    def n_fell_back(self) -> int:
        """How many labels fell back on always."""
        return 0 if self.fell_back is None else int(np.count_nonzero(self.fell_back))

    @property
    def has_limits(self) -> bool:
        """Whether limits were set."""
        return self.guard is not None and names_limits(self.guard)

    @property
    def moved(self) -> Booleans:
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
            "predicted_before": plain(self.predicted_before.sum()),
            "predicted_after": plain(self.predicted_after.sum()),
        }

    def to_dict(self) -> dict[str, Any]:
        """Return columns of plain values for JSON: NaN as None, infinite numbers as "inf" and "-inf"."""
        return {name: plain(column) for name, column in self._rows().items()}

    def _rows(self) -> dict[str, Any]:
        """Return columns, one row a label."""
        n_labels = self.moved.size
        columns = super()._rows()
        columns["moved"] = self.moved
        columns["reason"] = columns.pop("reason")
        columns["fell_back"] = self.fell_back
        if self.fell_back is None:
            columns["fell_back"] = np.zeros(n_labels, np.bool_)
        return dict(columns)

    def _parts(self, k: int) -> Iterator[str | Table]:
        """Sum up, and list the k labels that were moved furthest."""
        yield self._summary()
        if k and self.moved.any():
            furthest = self._furthest(min(k, int(np.count_nonzero(self.moved))))
            columns = {name: column[furthest] for name, column in self._rows().items()}
            yield tabulate(columns, _MOVED_FURTHEST)

    def _summary(self) -> str:
        """Say how many thresholds were moved, and what that does to predictions."""
        figures = self.in_figures()
        summary = (
            f"guard {self.guard}: moved {figures['n_moved']:,} of {self.moved.size:,} thresholds,"
            f" {figures['n_to_predict_less']:,} to predict less; predicts {figures['predicted_after']:,.10g} instead of"
            f" {figures['predicted_before']:,.10g}"
        )
        if self.n_fell_back:
            fall = "falls" if self.n_fell_back == 1 else "fall"
            labels = f"{counted(self.n_fell_back, 'label')} {fall}"
            always = "always, as far as limits allow" if self.has_limits else "always"
            summary += f"; {labels} back on {always}: on these rows the guard's cuts reach less F than that"
        return summary

    def _furthest(self, k: int) -> Any:
        """Return the k labels whose number of predictions changed most, as a ratio; none count as half a row."""
        before = np.maximum(self.predicted_before, 0.5)
        after = np.maximum(self.predicted_after, 0.5)
        return np.argsort(-np.abs(np.log(after / before)), kind="stable")[:k]
