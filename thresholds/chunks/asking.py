"""What one more pass over the rows has to count, so that counts tell all that a fit asks."""

from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np

from thresholds._kernels.keys import to_scores
from thresholds.chunks.candidates import Candidates, Seen
from thresholds.data.counted import CountedProblem, Kind
from thresholds.data.tallies import Items, LabelKeys


def next_candidates(problem: CountedProblem, kind: Kind) -> Candidates:
    """Return candidates that know what a fit to a problem asked in vain, and all that the counts of it know."""
    known = problem.tally.candidates
    tied = LabelKeys(*problem.tally.tied[:2])
    weight_of_row = problem.total_weight / problem.n_present
    keys, opened = problem.asked.candidates([known, tied], problem.weight_in, weight_of_row)
    ends = np.array([problem.lowest.min(), *map(_highest, problem.tally)], problem.lowest.dtype)
    lowest, *highest = to_scores(ends).tolist()
    weight = problem.total_weight * Fraction(problem.unit)
    seen = Seen(problem.n_samples, weight, 1.0, lowest, max(highest))
    return Candidates(replace(kind, unit=1.0), keys, opened, seen)


def _highest(items: Items) -> Any:
    """Return the highest key that has weight, 0 where none has."""
    return items.keys.max(where=items.weights > 0, initial=0)
