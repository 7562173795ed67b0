"""What a rule promises of new rows for all labels together: micro precision and recall, or their means over rows."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any, Literal, get_args

import numpy as np

from thresholds import _checks
from thresholds._arrays.types import Ints
from thresholds._checks.options import EXPECTED
from thresholds.results import Result, Table, as_plain_values, counted, in_percent
from thresholds.rule.guarantees import (
    ALWAYS,
    NEVER,
    STORED,
    UNITS,
    assumption_of,
    new_rows_of,
    number_needed,
)
from thresholds.rule.saving import refuse_unknown

RowAverage = Literal["micro", "samples"]
_AVERAGES = get_args(RowAverage)


@dataclass(frozen=True, eq=False, repr=False)
class RowGuarantees(Result):
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

    average: RowAverage
    confidence: float | str
    units: str
    n_tested: int
    n_labels: int
    min_precision: float | None = None
    min_recall: float | None = None
    instead: str = ""
    needed: float = np.nan

    def __post_init__(self) -> None:
        """Check what may come from a file."""
        _checks.option(self.average, "average", _AVERAGES)
        if self.confidence != EXPECTED:
            _checks.inside(self.confidence, "confidence")
        _checks.option(self.units, "units", UNITS)
        _checks.count(self.n_tested, "n_tested", 0)
        _checks.count(self.n_labels, "n_labels", 1)
        for name in ("min_precision", "min_recall"):
            if getattr(self, name) is not None:
                _checks.share(getattr(self, name), name)
        _checks.option(self.instead, "instead", ("", NEVER, ALWAYS, STORED))
        super().__post_init__()

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

    def taken(self, _: Ints) -> "RowGuarantees":
        """Return the same: the order of the labels changes nothing."""
        return self

    def with_names(self, _: Sequence[str] | None) -> "RowGuarantees":
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

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, in the form of `rule.schema.json`."""
        return {item.name: as_plain_values(getattr(self, item.name)) for item in fields(self)}

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> "RowGuarantees":
        """Build it from what `to_dict` gave."""
        refuse_unknown(values, [item.name for item in fields(cls)])
        words = {None: np.nan, "inf": np.inf}
        needed = values["needed"]
        is_word = needed is None or needed == "inf"
        return cls(
            **{**values, "needed": words[needed] if is_word else number_needed(needed, "needed")}
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

    def _records(self) -> dict[str, list[Any]]:
        """Return one row."""
        return {name: [value] for name, value in self.to_dict().items()}

    def _tables(self, _: int) -> Iterator[str | Table]:
        """Say what is promised, and what is assumed."""
        yield f"{self.in_words()}\nassumed: {self.assumption}"
