"""Cuts among which a fit may choose where only some thresholds are shown: steps, and ends of ranges."""

import numpy as np

from thresholds._arrays.types import Booleans
from thresholds._engine.histograms import Histograms
from thresholds._engine.staircase import Steps
from thresholds.guarantees.ranges import Ranges


def shown_cuts(found: Histograms, allowed: Ranges) -> Steps:
    """Return the steps that lie in ranges, and cuts at the high ends of ranges at which there is no step.

    Between two steps F only falls on the way down, so the best cut of a range is a step or its high end. A range has
    the whole gap below each of its cuts, as it ends at scores; "always" is a cut at -inf, whether a cell lies there or
    not. `found` has a bin for each score.
    """
    found = _with_always(found, (allowed.high == -np.inf).any(axis=0))
    ranges = np.flatnonzero(~np.isnan(allowed.high).all(axis=1))
    # 1. Steps, and high ends.
    label = found.label  # (n_bins,)
    is_wanted = found.hits > 0
    for k in ranges:
        is_wanted |= found.lowest == allowed.high[k][label]
    # 2. Those of them that lie in a range.
    cuts = found.cuts.where(is_wanted)
    label, score = cuts.label, cuts.cut
    is_allowed = np.zeros(score.size, np.bool_)
    for k in ranges:
        low, high = allowed.low[k][label], allowed.high[k][label]  # (n_cuts,)
        is_allowed |= (low < score) & (score <= high)
        is_allowed |= (low == -np.inf) & (score == -np.inf)
    return cuts.where(is_allowed)


def _with_always(found: Histograms, wanted: Booleans) -> Histograms:
    """Give labels (n_labels,) that are to be predicted always a bin at -inf, if they have scores and no such bin."""
    lasts = found.offsets[1:]
    has_bins = np.diff(found.offsets) > 0
    wanted = wanted & has_bins
    wanted[has_bins] &= found.lowest[lasts[has_bins] - 1] > -np.inf
    if not wanted.any():
        return found
    at = lasts[wanted]
    return Histograms(
        found.offsets + np.append(0, wanted.cumsum()),
        np.insert(found.lowest, at, -np.inf),
        np.insert(found.highest, at, -np.inf),
        np.insert(found.hits, at, 0),
        np.insert(found.weights, at, 0),
    )
