"""A cut of each label: what a search for thresholds finds."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from thresholds._arrays.types import Booleans, Floats, Ints
from thresholds._checks import Placement
from thresholds._engine.placement import place
from thresholds._engine.problem import Problem


class Cuts(NamedTuple):
    """A cut of each label, and what it counts, in the unit of the problem's weights."""

    score: Floats  # (n_labels,) +inf for never
    lower: Floats  # (n_labels,) the next lower score, NaN without one
    tp: Ints  # (n_labels,)
    predicted: Ints  # (n_labels,)
    positives: Ints  # (n_labels,)

    def placed(self, problem: Problem, placement: Placement) -> Floats:
        """Put thresholds into the gaps below the cuts, (n_labels,)."""
        # Sparse predictions stay above `missing` also where no cell of a label is absent.
        lower = np.fmax(self.lower, problem.missing) if problem.keep_sparse else self.lower
        return place(self.score, lower, placement, problem.scores.dtype)

    def but(self, where: Booleans, others: "Cuts") -> "Cuts":
        """Take the cuts of others for some labels, (n_labels,)."""
        return Cuts(
            np.where(where, others.score, self.score),
            np.where(where, others.lower, self.lower),
            np.where(where, others.tp, self.tp),
            np.where(where, others.predicted, self.predicted),
            np.where(where, others.positives, self.positives),
        )


def joined(parts: Sequence[Cuts]) -> Cuts:
    """Join the cuts of consecutive labels."""
    if len(parts) == 1:
        return parts[0]
    return Cuts(*map(np.concatenate, zip(*parts, strict=True)))
