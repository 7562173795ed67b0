"""What one more pass over the rows has to count, so that counts tell all that a fit asks."""

from dataclasses import replace
from fractions import Fraction

from thresholds._kernels.keys import to_scores
from thresholds.chunks.candidates import Candidates, Seen
from thresholds.data.counted import CountedProblem, Kind
from thresholds.data.tallies import LabelKeys, Tally


def next_candidates(problem: CountedProblem, kind: Kind, tally: Tally) -> Candidates:
    """Return candidates that know what a fit to a problem asked in vain, and all that the tally of it knows."""
    known = tally.candidates
    tied = LabelKeys(tally.tied.starts, tally.tied.keys)
    weight_of_row = problem.total_weight / problem.n_present
    keys, opened = problem.asked.candidates([known, tied], problem.items, weight_of_row)
    weighs = problem.items.weights > 0  # (n_items,)
    lowest = to_scores(problem.floors[weighs]).min()
    highest = to_scores(problem.items.keys[weighs]).max()
    weight = problem.total_weight * Fraction(problem.unit)
    seen = Seen(problem.n_samples, weight, 1.0, float(lowest), float(highest))
    return Candidates(replace(kind, unit=1.0), keys, opened, seen)
