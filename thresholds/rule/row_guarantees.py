"""What a rule guarantees of new rows for all labels together: micro precision and recall, or their means over rows."""

from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from typing import Any, Literal, Self, get_args

import numpy as np

from thresholds import _checks
from thresholds._checks.options import EXPECTED
from thresholds._results.fields import record, value
from thresholds._results.result import SavedResult
from thresholds._results.words import counted, in_percent
from thresholds.rule.guarantees import (
    ALWAYS,
    NEVER,
    STORED,
    UNITS,
    Guarantees,
    assumption_of,
    new_rows_of,
    number_needed,
)

RowAverage = Literal["micro", "samples"]
_AVERAGES = get_args(RowAverage)


def _option(*known: str) -> Any:
    """Return a check that a value is one of a few."""
    return lambda given, name: _checks.option(given, name, known)


def _confidence(given: Any, name: str) -> float | str:
    """Check a probability, or the word for an expectation."""
    return EXPECTED if given == EXPECTED else _checks.inside(given, name)


def _needed(given: Any, name: str) -> float:
    """Check how many rows would show the floors; NaN if they are shown, or each elsewhere."""
    return given if given != given else number_needed(given, name)


@record
class RowGuarantees(SavedResult):
    """Floors of all labels together that hold on new rows: of micro precision and recall, or of their means over rows.

    What is promised is the precision and the recall among all rows that may come, not those of a sample of them.

    Attributes
    ----------
    average : "micro", or "samples" for means over rows
        Rows without positives have no recall, rows without predictions no precision: means leave them out.
    confidence : the probability, inside (0, 1), or "expected"
        A number: of many fits, each on rows of its own, at most 1 - confidence break a floor that they promise.
        "expected": the floor of recall holds on average over fits; any one of them may break it.
    units : "rows" or "groups": what is exchangeable
    n_tested : how many rows, or groups, showed the floors: those that did not fix which cuts are tested
    n_labels : the most positives, or predictions, that a row may have
    min_precision, min_recall : float or None, the floors
    instead : "never", "always" or "stored" where a floor could not be shown, else empty
        "never" where there is a floor of precision: nothing is predicted, so nothing wrongly; recall is not promised.
        "always" where there is a floor of recall alone: recall is 1. "stored", in place of "always" with `keep_sparse`:
        wherever a sparse matrix has a score above `missing`; positives elsewhere are missed.
    needed : about how many rows, or groups, like those of the fit would show the floors
        inf where no number would; NaN if all are shown, or each at other thresholds.
    """

    _shown = 5

    average: RowAverage = value(_option(*_AVERAGES))
    confidence: float | str = value(_confidence)
    units: str = value(_option(*UNITS))
    n_tested: int = value(partial(_checks.count, smallest=0))
    n_labels: int = value(partial(_checks.count, smallest=1))
    min_precision: float | None = value(_checks.share, default=None)
    min_recall: float | None = value(_checks.share, default=None)
    instead: str = value(_option("", NEVER, ALWAYS, STORED), default="")
    needed: float = value(_needed, default=np.nan, form="figure")

    @property
    def assumption(self) -> str:
        """What must be true of new rows, in words."""
        return assumption_of(self.units)

    @property
    def promised(self) -> bool:
        """Whether all floors are shown."""
        return self.instead == ""

    @property
    def what(self) -> str:
        """Of what the floors are."""
        return "micro" if self.average == "micro" else "mean row"

    def with_names(self, _: Sequence[str] | None) -> Self:
        """Return the same: it names no label."""
        return self

    def in_words(self) -> str:
        """Say what is promised, or that nothing can be and why."""
        how = (
            "on average over fits"
            if self.confidence == EXPECTED
            else f"with a confidence of {in_percent(float(self.confidence))}"
        )
        if self.promised:
            return f"promised on {new_rows_of(self.units)} {how}: {self._floors()}"
        return (
            f"nothing is promised: {self._floors()} cannot be shown {how} on"
            f" {counted(self.n_tested, self.units[:-1])}, and all labels are {self._where()};"
            f" {self._lacking()}"
        )

    def _floors(self) -> str:
        """Name the floors."""
        floors = {"precision": self.min_precision, "recall": self.min_recall}
        return " and ".join(
            f"{self.what} {what} of at least {floor:g}"
            for what, floor in floors.items()
            if floor is not None
        )

    def _where(self) -> str:
        """Say what is predicted where a floor could not be shown."""
        if self.instead == STORED:
            return "predicted wherever a score is stored, and nowhere else"
        return f"{self.instead} predicted"

    def _lacking(self) -> str:
        """Say how many rows would be enough."""
        if np.isnan(self.needed):
            return "each floor can be shown, but not both at one threshold"
        if np.isinf(self.needed):
            return f"no number of such {self.units} would show it"
        return f"about {self.needed:,.0f} {self.units} like these would show it"

    def _sentences(self) -> Iterable[str]:
        """Say what is guaranteed, and what is assumed."""
        yield f"{self.in_words()}\nassumed: {self.assumption}"


def guarantees_from_dict(values: Any) -> Guarantees | RowGuarantees:
    """Build guarantees from what `to_dict` gave: those of all labels together are of an average."""
    if isinstance(values, Mapping) and "average" in values:
        return RowGuarantees.from_dict(values)
    return Guarantees.from_dict(values)
