"""What the tests of labels read of the order of their scores, some labels at a time."""

from typing import NamedTuple

import numpy as np

from thresholds._arrays.types import Floats, Ints, Scores
from thresholds._engine.histograms import Histograms
from thresholds._kernels.evidence import cuts_within, rank_statistics


class Ranks(NamedTuple):
    """What the tests of AUROC and of ranks need of the order of the scores; one entry a label."""

    auroc: Floats
    positives_variance: Floats  # of the placements of positives: the shares of negatives below them
    negatives_variance: Floats
    tie_cubes: Floats  # the sum of t^3 - t over tie groups of t rows
    n_most_tied: Floats  # rows of the largest tie group
    most_tied_rank: Floats  # their mid-rank
    others_mean: Floats  # of the mid-ranks of all other rows
    others_variance: Floats  # of labels with many tied rows

    def reversed(self, n: Ints) -> "Ranks":
        """Return those of the negated scores, whose placements vary as much."""
        return self._replace(
            auroc=1 - self.auroc,
            most_tied_rank=n + 1 - self.most_tied_rank,
            others_mean=n + 1 - self.others_mean,
        )


class CutsWithin(NamedTuple):
    """The lowest cut of each label that predicts at most so much; one entry a label."""

    score: Floats  # +inf for none
    lower: Floats  # the next lower score, NaN without one
    tp: Ints
    predicted: Ints


class Order(NamedTuple):
    """What the tests of some labels read."""

    positives: Ints  # (n_labels,) 0 for a label without known rows
    ranks: Ranks
    tp: Ints  # (n_labels,) of the cut of best F1
    predicted: Ints  # (n_labels,)
    cap: CutsWithin  # at most so many times the positives
    top: CutsWithin  # at most as many as the positives

    @classmethod
    def of(cls, histograms: Histograms, overprediction: float) -> "Order":
        """Read histograms, what is in a bin as tied; the cap predicts at most `overprediction` times the positives."""
        groups = histograms.offsets, histograms.hits, histograms.weights
        figures, (positives, tp, predicted) = rank_statistics(*groups)
        return cls(
            positives,
            Ranks(*figures),
            tp,
            predicted,
            _cuts_at(histograms, cuts_within(*groups, positives, overprediction)),
            _cuts_at(histograms, cuts_within(*groups, positives, 1.0)),
        )


def _cuts_at(histograms: Histograms, cuts: Ints) -> CutsWithin:
    """Return the cuts at a bin of each label, -1 for none, (3, n_labels) with what they count."""
    bins, tp, predicted = cuts
    below = np.where((bins >= 0) & (bins + 1 < histograms.offsets[1:]), bins + 1, -1)
    return CutsWithin(
        _scores_at(histograms.lowest, bins, np.inf),
        _scores_at(histograms.highest, below, np.nan),
        tp,
        predicted,
    )


def _scores_at(scores: Scores, bins: Ints, of_none: float) -> Floats:
    """Return the score of a bin of each label, (n_labels,), -1 for none."""
    found = np.full(bins.size, of_none)
    found[bins >= 0] = scores[bins[bins >= 0]]
    return found
