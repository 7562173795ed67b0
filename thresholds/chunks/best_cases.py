"""How much no threshold can exceed, where cells are known in bins only: what bounded memory may have cost.

A threshold within a bin takes some of its positives and some of its negatives. The best case is that it takes all
positives and no negative: with tp and predicted at or above the bin, of which n are its negatives,

    F <= (1 + b^2) tp / (b^2 P + predicted - n),    P the positives of the label.

(F rises with every positive that is taken alone, as it is at most 1 + b^2 over its denominator.) A bin of a
single score has no threshold within it, and counts as it is. The best cases of a label rise like the steps of a
staircase, so that the search of the fit itself finds the best of them.
"""

import numpy as np

from thresholds._arrays.types import Ints
from thresholds._checks import Average
from thresholds._engine.choosing import best_joint_steps, best_steps
from thresholds._engine.staircase import Steps
from thresholds._kernels.keys import to_scores
from thresholds.chunks.bins import Bins
from thresholds.metrics.averages import average_of, f_score
from thresholds.metrics.counts import ConfusionCounts


def highest_f(
    bins: Bins,
    average: Average,
    *,
    beta: float,
    zero_division: float,
    above: float = -np.inf,
) -> float:
    """Return an F that no thresholds exceed on the rows in bins, of "macro", "weighted" or "micro".

    It is the highest F where each bin is a single score. Only cuts `above` a score count.
    """
    steps = _best_cases(bins)
    if above > -np.inf:
        steps = steps.where(steps.cut > above)
    if average == "micro":
        chosen, _ = best_joint_steps(steps, beta**2)
    else:
        chosen = best_steps(steps, beta**2)
    cuts = steps.at(chosen)
    by_label = np.stack([cuts.tp, cuts.predicted, cuts.positives])  # (3, n_labels)
    counts = ConfusionCounts(by_label, bins.weight_of_label)
    return average_of(f_score(beta), counts, average, zero_division)


def _best_cases(bins: Bins) -> Steps:
    """Return the best case of every bin with positives as a step, at its highest score."""

    def up_to(weights: Ints) -> Ints:
        """Add up the bins of each label from the highest down."""
        total = np.append(0, weights.cumsum())  # (n_bins + 1,)
        return np.asarray(total[1:] - total[bins.starts[:-1]][bins.label])

    tp = up_to(bins.positive_weights)  # (n_bins,) at or above each bin
    negatives = bins.weights - bins.positive_weights
    fp = up_to(negatives) - np.where(bins.are_exact, 0, negatives)
    steps = Steps(
        bins.starts,
        cut=to_scores(bins.highest).astype(np.float64),
        lower=np.full(tp.size, np.nan),
        tp=tp,
        predicted=tp + fp,
        positives=bins.positives,
    )
    return steps.where(bins.positive_weights > 0)
