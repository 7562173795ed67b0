"""Cuts among which a fit may choose where only some thresholds are shown: steps of the staircase, ends of ranges."""

from typing import Any

import numpy as np

from thresholds._arrays.types import Booleans, Floats
from thresholds.data.problem import Items
from thresholds.guarantees.ranges import Ranges
from thresholds.search.ranks import count_at, rows_of, scores_at
from thresholds.search.staircase import Staircase


def shown_cuts(items: Items, stairs: Staircase, allowed: Ranges) -> Staircase:
    """Return the steps that lie in ranges, and cuts at the high ends of ranges at which there is no step.

    Between two steps F only falls on the way down, so the best cut of a range is a step or its high end. A range has
    the whole gap below each of its cuts, as it ends at scores.
    """
    label = stairs.label
    is_allowed = np.zeros(stairs.score.size, np.bool_)
    has_step = np.isnan(allowed.high) | (allowed.high == np.inf)  # (n_ranges, n_labels)
    for k in np.flatnonzero(~np.isnan(allowed.high).all(axis=1)):
        low, high = allowed.low[k][label], allowed.high[k][label]  # (n_steps,)
        is_allowed |= (low < stairs.score) & (stairs.score <= high)
        is_allowed |= (low == -np.inf) & (stairs.score == -np.inf)
        has_step[k, label[stairs.score == high]] = True
    kept = stairs.where(is_allowed)
    for k in np.flatnonzero(~has_step.all(axis=1)):
        kept = _with_cuts(kept, items, allowed.high[k], ~has_step[k])
    return kept


def _with_cuts(stairs: Staircase, items: Items, at: Floats, wanted: Booleans) -> Staircase:
    """Add a cut at a score of each label that is wanted."""
    counts = count_at(items, at)
    tp = counts.tp_above + counts.tp_tied
    predicted = counts.above + counts.tied
    n_rows = rows_of(items)
    _, lower = scores_at(items, np.maximum(predicted, 1), np.minimum(predicted + 1, n_rows))
    lower = np.where(predicted < n_rows, lower, np.nan)

    # Among the steps, each in its place. A label without a known row has nothing to predict.
    added = np.flatnonzero(wanted & (n_rows > 0))
    label = np.concatenate([stairs.label, added])
    columns: dict[str, Any] = {
        "score": np.concatenate([stairs.score, at[added]]),
        "lower": np.concatenate([stairs.lower, lower[added]]),
        "tp": np.concatenate([stairs.tp, tp[added]]),
        "fp": np.concatenate([stairs.fp, (predicted - tp)[added]]),
        "higher": np.concatenate([stairs.higher, counts.above[added]]),
    }
    order = np.lexsort((-columns["score"], label))
    offsets = np.append(0, np.bincount(label, minlength=wanted.size).cumsum())
    return Staircase(
        offsets,
        **{name: values[order] for name, values in columns.items()},
        positives=stairs.positives,
    )
