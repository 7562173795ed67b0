"""What a rule promises of new rows together: micro precision and recall, or their means over rows."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from thresholds import _checks
from thresholds._arrays.types import Ints
from thresholds._checks import InputError
from thresholds.results import Result, Table, as_plain_values, counted, in_percent
from thresholds.rule.guarantees import ALWAYS, NEVER, UNITS, assumption_of
from thresholds.rule.saving import refuse_unknown

EXPECTED = "expected"  # a confidence: the floor is promised of an expectation

_AVERAGES = ("micro", "samples")


@dataclass(frozen=True, eq=False, repr=False)
class RowGuarantees(Result):
    """Floors of all labels together that hold on new rows: of micro precision and recall, or of their means over rows.

    Attributes
    ----------
    average : "micro", or "samples" for means over rows
        Rows without positives have no recall, rows without predictions no precision: means leave them out.
    confidence : the probability, inside (0, 1), or "expected"
        A number: of many fits, each on rows of its own, at most 1 - confidence break a floor that they promise.
        "expected": the floor holds on average over fits, and any one of them may break it.
    units : "rows" or "groups": what is exchangeable
    n_units : how many rows, or groups, showed the floors: all, or those that did not fix what was tested
    min_precision, min_recall : float or None, the floors
    precision_shown, recall_shown : whether each is promised
    instead : "never" or "always" where a floor could not be shown, else empty
        "never" where a floor of precision is not shown: nothing is predicted, so nothing wrongly. "always" where a floor
        of recall alone is not shown: recall is 1.
    needed : about how many rows, or groups, would show the floors if they were like those of the fit; None if all are shown
        inf where no number would.
    """

    _shown = 5

    average: str
    confidence: float | str
    units: str
    n_units: int
    min_precision: float | None
    min_recall: float | None
    precision_shown: bool
    recall_shown: bool
    instead: str = ""
    needed: float | None = None

    def __post_init__(self) -> None:
        """Check what may come from a file."""
        _checks.option(self.average, "average", _AVERAGES)
        if self.confidence != EXPECTED:
            _checks.inside(self.confidence, "confidence")
        _checks.option(self.units, "units", UNITS)
        _checks.option(self.instead, "instead", ("", NEVER, ALWAYS))
        super().__post_init__()

    @property
    def assumption(self) -> str:
        """What must be true of new rows, in words."""
        return assumption_of(self.units)

    def taken(self, _: Ints) -> "RowGuarantees":
        """Return the same: the order of the labels changes nothing."""
        return self

    def in_words(self) -> str:
        """Say what is promised, or that nothing is and why, in a sentence."""
        floors = " and ".join(
            f"{what} of at least {floor:g}"
            for what, floor in (("precision", self.min_precision), ("recall", self.min_recall))
            if floor is not None
        )
        floors = f"{'micro' if self.average == 'micro' else 'mean row'} {floors}"
        if not self.instead:
            how = "on average over fits" if self.confidence == EXPECTED else f"with a confidence of {in_percent(self.confidence)}"
            return f"promised on new rows {how}: {floors}"
        return f"{floors} cannot be shown on {counted(self.n_units, self.units[:-1])}, and all labels are {self.instead} predicted; {self._need()}"

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, in the form of `rule.schema.json`."""
        return {item.name: as_plain_values(getattr(self, item.name)) for item in fields(self)}
