"""What the simulations of this folder share: laws of one label's truth and scores, of which everything is known."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.special import ndtr

Floats = npt.NDArray[np.float64]
Truth = npt.NDArray[np.uint8]
Scores = npt.NDArray[np.float32]

SHAPES = ("continuous", "10 values", "3 values", "ties at top", "ties below", "dip")
_AT_TOP = 0.1  # of a "dip": false rows among the highest scores, per positive


@dataclass(frozen=True)
class Law:
    """Normal scores, those of positives higher by a shift, in one of the shapes.

    "10 values", "3 values": rounded to so many; "ties at top": all above the middle of the positives is one value;
    "ties below": all below the middle of the negatives is one value; "dip": some negatives have the highest scores, so
    that precision rises before it falls.
    """

    positives: int  # that are expected
    rate: float
    shift: float
    shape: str

    def __str__(self) -> str:
        """Name the law."""
        return f"{self.positives} positives, rate {self.rate:g}, shift {self.shift:g}, {self.shape}"

    @property
    def n_rows(self) -> int:
        """Rows of a sample."""
        return round(self.positives / self.rate)

    @property
    def edges(self) -> Floats:
        """Where a new value begins, from the lowest up."""
        n_values = int(self.shape.split()[0])
        return np.linspace(-2, self.shift + 2, n_values + 1)[1:-1]

    def draw(self, rng: np.random.Generator, n_samples: int) -> tuple[Truth, Scores]:
        """Draw samples, one a column: truth and scores (n_rows, n_samples)."""
        shape = (self.n_rows, n_samples)
        truth = (rng.random(shape, np.float32) < self.rate).view(np.uint8)
        scores = rng.standard_normal(shape, np.float32) + np.float32(self.shift) * truth
        return truth, self.shaped(scores, truth, rng)

    def shaped(self, scores: Scores, truth: Truth, rng: np.random.Generator) -> Scores:
        """Bring normal scores into the shape."""
        if self.shape.endswith("values"):
            return np.searchsorted(self.edges, scores, side="right").astype(np.float32)
        if self.shape == "ties at top":
            return np.minimum(scores, np.float32(self.shift))
        if self.shape == "ties below":
            return np.maximum(scores, np.float32(0))
        if self.shape == "dip":
            at_top = (truth == 0) & (rng.random(truth.shape, np.float32) < self.share_at_top)
            scores[at_top] = 0.5 * rng.standard_normal(np.count_nonzero(at_top), np.float32) + self.shift + 2.5
        return scores

    @property
    def share_at_top(self) -> float:
        """Share of the negatives that have the highest scores."""
        return _AT_TOP * self.rate / (1 - self.rate) if self.shape == "dip" else 0.0

    def above(self, thresholds: Floats) -> tuple[Floats, Floats]:
        """Probabilities of a positive, and of a negative, to score at or above thresholds; +inf is never."""
        at = thresholds.astype(np.float64)
        if self.shape.endswith("values"):
            lowest = np.clip(np.ceil(at), 0, self.edges.size + 1)  # the lowest value that is predicted
            at = np.concatenate([[-np.inf], self.edges, [np.inf]])[lowest.astype(np.int64)]
        if self.shape == "ties at top":
            at = np.where(at > np.float32(self.shift), np.inf, at)
        if self.shape == "ties below":
            at = np.where(at <= 0, -np.inf, at)
        share = self.share_at_top
        false = (1 - share) * ndtr(-at) + share * ndtr((self.shift + 2.5 - at) / 0.5)
        return ndtr(self.shift - at), false

    def measures(self, thresholds: Floats) -> tuple[Floats, Floats, Floats]:
        """Precision (1 of nothing), recall and F1 of the population at thresholds."""
        recall, false = self.above(thresholds)
        hits, alarms = self.rate * recall, (1 - self.rate) * false
        predicted = hits + alarms
        precision = np.divide(hits, predicted, out=np.ones_like(hits), where=predicted > 0)
        return precision, recall, 2 * hits / (self.rate + predicted)

    def probabilities(self, scores: npt.NDArray[np.floating]) -> Floats:
        """Turn scores into probabilities of truth, or what rises with them: those of the normal law."""
        at = scores.astype(np.float64)
        if self.shape.endswith("values"):
            at = np.linspace(-2, self.shift + 2, self.edges.size + 2)[:-1][at.astype(np.int64)]
        odds = (1 - self.rate) / self.rate * np.exp(self.shift**2 / 2 - self.shift * at)
        return 1 / (1 + odds)

    def score_at(self, probability: Floats) -> Floats:
        """Return the lowest score with so high a probability."""
        with np.errstate(divide="ignore"):
            odds = (1 - probability) / probability
            at = (self.shift**2 / 2 - np.log(odds * self.rate / (1 - self.rate))) / self.shift
        if self.shape.endswith("values"):
            lowest_of_values = np.linspace(-2, self.shift + 2, self.edges.size + 2)[:-1]
            return np.searchsorted(lowest_of_values, at).astype(np.float64)
        return at
