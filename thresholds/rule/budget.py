"""What a budget of predictions left of F, and how much more any thresholds could have reached within it."""

from collections.abc import Iterable

from thresholds import _checks
from thresholds._checks import InputError
from thresholds._results.fields import record, value
from thresholds._results.result import SavedResult


@record
class Budget(SavedResult):
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

    max_predicted: float = value(_checks.positive)
    predicted: float = value(_checks.finite)
    objective: float = value(lambda f, _: _checks.share(f, "objective of the budget"))
    bound: float = value(_checks.finite)
    is_optimal: bool = value(_checks.flag)

    def _check(self) -> None:
        """Refuse more than the budget, and an objective above its bound."""
        if not 0 <= self.predicted <= self.max_predicted:
            raise InputError(
                f"predicted of the budget is {self.predicted}, expected 0 to {self.max_predicted:g}, its max_predicted"
            )
        if not self.objective <= self.bound:
            raise InputError(
                f"bound of the budget is {self.bound}, expected at least {self.objective}, its objective"
            )

    @property
    def gap(self) -> float:
        """How much more F others could reach within the budget at most: 0 if none can."""
        return 0.0 if self.is_optimal else self.bound - self.objective

    def in_words(self, where: str = "the rows of the fit") -> str:
        """Say what was predicted of how much, and whether more could be reached."""
        best = "no thresholds do better within it"
        if not self.is_optimal:
            best = f"others could reach {self.bound:.4f} within it at most"
        return (
            f"budget of {self.max_predicted:,.10g} predictions on {where}, {self.predicted:,.10g} made:"
            f" {best}"
        )

    def _sentences(self) -> Iterable[str]:
        """Say it in a sentence."""
        yield f"{self.in_words()}; objective {self.objective:.4f}"
