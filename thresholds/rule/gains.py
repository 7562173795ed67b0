"""What a prediction adds to F, by label and score: which labels of a row to keep where not all may be."""

from collections.abc import Iterable

from thresholds import _checks
from thresholds._arrays.types import Floats
from thresholds._checks import InputError
from thresholds._results.fields import of_labels, record, value
from thresholds._results.result import SavedResult
from thresholds._results.words import counted

OF_LABELS = ("at", "level", "slope", "worth", "even")


@record
class GainByScore(SavedResult):
    """What predicting a label at a score adds to the F that is maximised.

        gain = worth (p - even),    p = sigmoid(level + slope (x - at))

    p is how often the label is true at the score, x the score, or the log odds of scores that all lie in [0, 1].

    With P positives of a label, N predictions and F on the rows of the fit, one prediction more that is true with
    probability p adds ((1 + b^2) p - F) / (b^2 P + N) to the label's F, to first order. So `even` is F / (1 + b^2), and
    `worth` (1 + b^2) / (b^2 P + N), for a weighted mean times P; where the decisions of all labels, or of a row, are
    counted together, all labels have the same, and the order is that of p.
    """

    of_shares: bool = value(_checks.flag)
    at: Floats = of_labels(_checks.finites)
    level: Floats = of_labels(_checks.finites)
    slope: Floats = of_labels(_checks.finites)
    worth: Floats = of_labels(_checks.finites)
    even: Floats = of_labels(_checks.finites)

    def _check(self) -> None:
        """Refuse gains of no label, and a worth below 0."""
        super()._check()
        if not self.n_labels:
            raise InputError("at of gains has 0 values, expected at least 1")
        if self.worth.min() < 0:
            raise InputError(f"worth of gains has {self.worth.min()}, expected at least 0")

    def _sentences(self) -> Iterable[str]:
        """Say what is known."""
        x = "log odds of the scores" if self.of_shares else "scores"
        yield f"what a prediction adds to F, for {counted(self.n_labels, 'label')}: by logistic curves of the {x}"
