"""Rows of a fit, copied, of which its profile is made when somebody asks for it: that takes longer than a small fit."""

from dataclasses import replace

from thresholds._arrays.types import Ints, Matrix, Numbers
from thresholds._results.fields import Record, record, value


@record
class KeptRows(Record):
    """What a rule keeps of the scores of its fit until its profile is read.

    Attributes
    ----------
    rows : (n_sampled, n_labels), dense or CSR
    n_rows : of the fit
    predicted : (n_labels,), on how many of all rows each label is predicted; None: not counted
    """

    rows: Matrix = value()
    n_rows: int = value()
    predicted: Numbers | None = value(default=None)

    @property
    def n_labels(self) -> int:
        """Number of labels."""
        return int(self.rows.shape[1])

    def taken(self, places: Ints) -> "KeptRows":
        """Return the same of some labels, in that order."""
        predicted = None if self.predicted is None else self.predicted[places]
        return replace(self, rows=self.rows[:, places], predicted=predicted)
