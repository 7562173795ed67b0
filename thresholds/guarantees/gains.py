"""What a floor gains or loses in a row: one definition for precision and recall, micro and mean over rows.

Each of these is a ratio of two means over rows, E found / E asked, with 0 <= found_i <= asked_i <= most:

    micro recall         found = tp,                 asked = positives             most = n_labels
    micro precision      found = tp,                 asked = predictions           most = n_labels
    mean row recall      found = tp / positives,     asked = 1 if any are true     most = 1
    mean row precision   found = tp / predictions,   asked = 1 if any is predicted most = 1

so a row without positives has no recall, one without predictions no precision, and neither is counted (as in
`metrics.recall_score(..., average="samples", zero_division=nan)`). A floor is kept iff the mean *gain* is not negative:

    E found >= floor E asked   iff   E (found - floor asked) >= 0,   each gain being at least -floor most.

The recall of a row can only rise as cuts fall, that of precision may do anything.
"""

from typing import Literal, NamedTuple

import numpy as np

from thresholds._arrays.types import Floats, Numbers

Of = Literal["precision", "recall"]


class RowFloor(NamedTuple):
    """A floor of micro precision or recall, or of its mean over rows."""

    of: Of
    floor: float
    by_row: bool  # a mean over rows, not micro

    def most(self, n_labels: int) -> int:
        """Return the most that may be asked in a row."""
        return 1 if self.by_row else n_labels

    def most_lost(self, n_labels: int) -> float:
        """Return the most that can be lost in a row."""
        return self.floor * self.most(n_labels)

    def asked(self, tp: Numbers, predicted: Numbers, positives: Numbers) -> tuple[Floats, Floats]:
        """Return what is found and what is asked, of the shape of `tp`."""
        among = predicted if self.of == "precision" else np.broadcast_to(positives, tp.shape)
        if not self.by_row:
            return np.asarray(tp, np.float64), np.asarray(among, np.float64)
        return tp / np.maximum(among, 1), (among > 0).astype(np.float64)

    def gains(self, tp: Numbers, predicted: Numbers, positives: Numbers) -> Floats:
        """Return the gain of each row, of the shape of `tp`."""
        found, asked = self.asked(tp, predicted, positives)
        return np.asarray(found - self.floor * asked)

    def __str__(self) -> str:
        """Name it."""
        return f"{'mean row' if self.by_row else 'micro'} {self.of}"
