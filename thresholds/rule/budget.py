"""What a budget of predictions left of F, and how much more any thresholds could have reached within it."""

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any

from thresholds import _checks
from thresholds._checks import InputError
from thresholds.results import Result, Table, records_of
from thresholds.rule.saving import refuse_unknown


@dataclass(frozen=True, repr=False)
class Budget(Result):
    """How a fit kept `max_predicted`, the most cells that it might predict on its rows.

    Attributes
    ----------
    max_predicted : the budget: cells, or their weight
    predicted : what the rule predicts on the rows of the fit, in cells whose truth is known
    objective : the F-measure that it reaches there
    bound : an F-measure that no thresholds exceed there within the budget
    is_optimal : whether these thresholds are shown to be the best within it, but for rounding
        The bound may be somewhat higher also then: it is that of the labels' concave majorants.
    """

    max_predicted: float
    predicted: float
    objective: float
    bound: float
    is_optimal: bool

    def __post_init__(self) -> None:
        """Check what may come from a file."""
        most = _checks.positive(self.max_predicted, "max_predicted")
        if not 0 <= _checks.finite(self.predicted, "predicted") <= most:
            raise InputError(
                f"predicted of the budget is {self.predicted}, expected 0 to {most:g}, its max_predicted"
            )
        _checks.share(self.objective, "objective of the budget")
        if not self.objective <= _checks.finite(self.bound, "bound"):
            raise InputError(
                f"bound of the budget is {self.bound}, expected at least {self.objective}, its objective"
            )
        _checks.option(self.is_optimal, "is_optimal", (True, False))

    @property
    def gap(self) -> float:
        """How much more F others could reach within the budget at most: 0 if none can."""
        return 0.0 if self.is_optimal else self.bound - self.objective

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, in the form of `rule.schema.json`."""
        return asdict(self)

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> "Budget":
        """Build it from what `to_dict` gave."""
        names = [item.name for item in fields(cls)]
        refuse_unknown(values, names)
        return cls(**{name: values[name] for name in names})

    def in_words(self, where: str = "the rows of the fit") -> str:
        """Say what was predicted of how much, and whether more could be reached."""
        best = "no thresholds do better within it"
        if not self.is_optimal:
            best = f"others could reach {self.bound:.4f} within it at most"
        return (
            f"budget of {self.max_predicted:,.10g} predictions on {where}, {self.predicted:,.10g} made:"
            f" {best}"
        )

    def _records(self) -> list[dict[str, Any]]:
        """Return the values in one row."""
        return records_of([self])

    def _tables(self, _: int) -> Iterator[str | Table]:
        """Say it in a sentence."""
        yield f"{self.in_words()}; objective {self.objective:.4f}"
