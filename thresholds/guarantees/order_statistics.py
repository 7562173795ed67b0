"""Which cuts are shown to keep a floor of recall: from order statistics of the positives' scores.

Recall falls as the cut rises, so all that is needed is the highest cut that can be promised. The recall of a cut at the
r-th lowest of P positives follows the law Beta(P - r + 1, r), whatever the law of the scores (Wilks 1941; ties only
raise it), and every lower cut has at least as much. The highest cut is at the largest r for which

    P(Beta(P - r + 1, r) >= floor) >= 1 - delta,

in counts: the cut that finds the least number h of the positives for which P(Bin(P, floor) >= h) <= delta.
"""

import numpy as np

from thresholds._arrays.types import Floats
from thresholds._engine.staircase import Steps
from thresholds.guarantees.exact_tests import least_hits
from thresholds.guarantees.ranges import Ranges


def shown_recall(steps: Steps, floor: Floats, delta: Floats) -> Ranges:
    """Return the thresholds of labels that are shown to keep a floor of recall, one range for each.

    Parameters
    ----------
    steps : of the rows that are tested, each of weight 1 or 0
    floor : (n_labels,), NaN for a label without one
    delta : (n_labels,), the error allowed to each label

    Returns
    -------
    Ranges; of a label without a floor, or of which nothing is shown, there is none
    """
    hits = least_hits(steps.positives, floor, delta)  # (n_labels,)
    enough = np.flatnonzero(steps.tp >= hits[steps.label])
    first = np.append(enough, steps.tp.size)[np.searchsorted(enough, steps.offsets[:-1])]
    has_cut = first < steps.offsets[1:]
    high = np.full(floor.size, np.nan)
    high[has_cut] = steps.cut[first[has_cut]]
    return Ranges(np.where(has_cut, -np.inf, np.nan)[np.newaxis], high[np.newaxis])
